"""A trial whose requests pass through the wire: what is open, and where it is recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import anyio

if TYPE_CHECKING:
    from anyio import CancelScope
    from anyio.streams.memory import MemoryObjectSendStream

    from pinchbench.wire.draft import Draft
    from pinchbench.wire.exchange import Exchange
    from pinchbench.wire.playback import Playback
    from pinchbench.wire.request_owner import Mark


class Recorder(Protocol):
    """Where a trial's exchanges go. Its calls may block: they are made in a thread, one at a time."""

    def append(self, exchange: Exchange) -> object:
        """Write one. Raises OSError."""

    def close(self) -> None:
        """End the recording. Raises OSError."""


@dataclass(kw_only=True, eq=False)
class TrialLease:
    """A trial that has a token. `turn` may be set. With `shared`, `mark` finds its requests among those of others."""

    token: str
    shared: str = ""
    mark: Mark | None = None
    trial: str
    turn: int
    recorder: Recorder | None
    playback: Playback | None = None
    drafts: MemoryObjectSendStream[Draft]
    exchanges: int = 0
    waiting: int = 0  # of its exchanges, for their turn
    is_held: bool = False
    open: set[CancelScope] = field(default_factory=set)
    ended: anyio.Event | None = None  # that all exchanges have, once the lease has been released
    written: anyio.Event = field(default_factory=anyio.Event)
    problem: str = ""
