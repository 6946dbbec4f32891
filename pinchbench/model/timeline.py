"""What happens in a trial besides the user's turns: chat messages, interrupts, days that pass, events of services."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping


class Ability(StrEnum):
    """What a task lets the agent use of OpenClaw, besides its files and its shell."""

    CHAT = "chat"
    AUTOMATIONS = "automations"
    SUBAGENTS = "subagents"
    BROWSER = "browser"
    MEMORY = "memory"
    IMAGES = "images"


NEED_GATEWAY = frozenset({Ability.CHAT, Ability.AUTOMATIONS, Ability.SUBAGENTS})


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatMessage:
    """A message that comes in by chat, and starts a turn of the agent.

    `sender` is a name without spaces. `is_owner`: the agent works for this person, who may command everything.
    """

    sender: str
    is_owner: bool

    def __str__(self) -> str:
        """Return a phrase such as `message from sam, the owner`."""
        return f"message from {self.sender}" + (", the owner" if self.is_owner else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Interrupt:
    """A message of the owner's that comes in while the agent is still busy with the step before it.

    It comes once the model has been called `after_calls` times in that step, and before its next call; never, if the
    step ends earlier.
    """

    sender: str
    after_calls: int

    def __str__(self) -> str:
        """Return a phrase such as `message from sam while the agent works, after 5 calls of the model`."""
        calls = "call" if self.after_calls == 1 else "calls"
        return f"message from {self.sender} while the agent works, after {self.after_calls} {calls} of the model"


@dataclass(frozen=True, kw_only=True, slots=True)
class Advance:
    """Time passes, and what the agent has scheduled until then happens when it is due.

    Either to `to_s`, in seconds since the epoch, or by `by_s` seconds.
    """

    to_s: float | None = None
    by_s: float = 0.0

    def __str__(self) -> str:
        """Return a phrase such as `1 day, 2:00:00 pass`, or `time passes until 2026-03-02T07:30:00+00:00`."""
        if self.to_s is None:
            return f"{timedelta(seconds=self.by_s)} pass"
        return f"time passes until {datetime.fromtimestamp(self.to_s, UTC).isoformat()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceEvent:
    """Something that happens to a service: a POST request with `body` as JSON to `path` on its port."""

    service: str
    path: str
    body: Mapping[str, object]

    def __str__(self) -> str:
        """Return a phrase such as `POST /mails to the service mail: {"from": "bob"}`."""
        return f"POST {self.path} to the service {self.service}: {json.dumps(self.body, ensure_ascii=False)}"


TimelineEvent: TypeAlias = ChatMessage | Interrupt | Advance | ServiceEvent
