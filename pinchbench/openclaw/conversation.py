"""What an agent needs of whoever answers it: the next message of a user, after each of the agent's answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pinchbench.model.ending import Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class UserReply:
    """What the user says next; nothing, if the conversation is over.

    `failed` is the reason with which the attempt fails where nobody knows what the user would say, and `note` says why.
    """

    message: str = ""
    failed: Reason | None = None
    note: str = ""


class ConversationUser(Protocol):
    """The user of one attempt."""

    async def reply_to(self, answer: str) -> UserReply:
        """Return what the user says to the agent's last answer; a failure is part of what is returned.

        A cancellation ends what it waits for.
        """
