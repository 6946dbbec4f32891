"""Where a model is asked, and what one message of a conversation with it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from pinchbench.model.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_REPLY = 16_000  # characters of an unreadable reply that are kept and shown to its model again


class Role(StrEnum):
    """The author of a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """A model's reply.

    `text` is valid Unicode. `problem` says why the reply can't be read as an answer (cut short, refused, not what the
    protocol specifies); `text` is then what was received instead. `calls` counts the requests sent, including failed
    ones; `cost_usd` is None if no price was reported. `model` is the model that the reply names, empty if it names
    none.
    """

    text: str
    usage: Usage = Usage()
    cost_usd: float | None = None
    calls: int = 1
    model: str = ""
    problem: str = ""


class ChatError(Exception):
    """A model gave no reply. The message is a sentence for the user; `calls` requests were sent."""

    def __init__(self, sentence: str, *, calls: int = 0, usage: Usage = Usage(), cost_usd: float | None = None) -> None:
        """Keep the sentence, and the usage and cost of the calls."""
        super().__init__(sentence)
        self.calls = calls
        self.usage = usage
        self.cost_usd = cost_usd


class ChatUnreachableError(ChatError):
    """No answer was received after all retries. The next question may succeed."""


class ChatRefusedError(ChatError):
    """The endpoint refused, and a retry won't help."""

    def __init__(
        self,
        sentence: str,
        *,
        lasting: bool,
        calls: int = 0,
        usage: Usage = Usage(),
        cost_usd: float | None = None,
    ) -> None:
        """`lasting`: the account, the model or the address was refused, not only this question."""
        super().__init__(sentence, calls=calls, usage=usage, cost_usd=cost_usd)
        self.lasting = lasting


class Endpoint(Protocol):
    """Where a model is asked. Serves many calls at once."""

    @property
    def model(self) -> str:
        """The model, as requested."""

    def describe(self) -> Mapping[str, object]:
        """Return everything besides the question that shapes the answers, as JSON: model, address, parameters.

        It never contains a key.
        """

    async def ask(self, conversation: Sequence[Message], schema: Mapping[str, object]) -> Reply:
        """Return the next message of a conversation, which should be JSON that fits `schema`.

        Raises ChatUnreachableError and ChatRefusedError. On cancellation, everything it started is ended first.
        """
