"""What the runner and the proxy tell each other: one line of JSON a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import anyio
import msgspec

from pinchbench.decoding import json_decoder
from pinchbench.defaults import DivergencePolicy, ProtocolName
from pinchbench.model.usage import Usage  # noqa: TC001 - msgspec reads the annotations

if TYPE_CHECKING:
    from collections.abc import Callable


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """A provider behind the proxy.

    Attributes:
        id: its name in OpenClaw's configuration, which recordings state.
        base_url: the URL to which the proxy appends the rest of a request's path.
        key: its API key; empty if it has none.
        api: its protocol; None if that is not known.
        max_requests: how many requests may be in flight; None without a limit of ours.
        serves: the model that requests may ask for, apart from the one that a trial's first request names.
        model: the model that is asked for instead of the one in the request; empty for that one.
        host: the host at which clients ask it through the tunnel; empty if they do not.
    """

    id: str
    base_url: str
    key: str = ""
    api: ProtocolName | None = None
    max_requests: int | None = None
    serves: str = ""
    model: str = ""
    host: str = ""

    def __repr__(self) -> str:
        """Return it without the key, for logs and tracebacks."""
        return f"Provider(id={self.id!r}, base_url={self.base_url!r})"


class Configure(msgspec.Struct, frozen=True, kw_only=True, tag="configure"):
    """The first message to the proxy.

    Attributes:
        provider: whose requests it relays.
        folder: an existing folder for its Unix socket.
        reports_usage: whether `CallUsed` is sent, for which each reply has to be read.
        max_recording_bytes: how large the recording of a trial may become; None without a limit.
    """

    provider: Provider
    folder: str
    reports_usage: bool = False
    max_recording_bytes: int | None = None


class ReplaySource(msgspec.Struct, frozen=True, kw_only=True):
    """The recording whose replies a trial's requests get.

    Attributes:
        path: its file.
        policy: what happens to a request that was not recorded.
        fork_at: the number of the recorded exchange from which on a model answers; None without.
        fork_turn: the index of the turn from which on a model answers; None without.
        simulated: from when to when the trial's clock goes, in seconds since the epoch; None with the real clock.
    """

    path: str
    policy: DivergencePolicy = DivergencePolicy.STOP
    fork_at: int | None = None
    fork_turn: int | None = None
    simulated: tuple[float, float] | None = None


class Lease(msgspec.Struct, frozen=True, kw_only=True, tag="lease"):
    """Let a token's requests pass from now on, as those of this trial. Answered, with a problem if it can't.

    Attributes:
        token: the unguessable part of a slot's address.
        path: the file of its recording.
        replay: what answers its requests instead of the provider; None without.
    """

    token: str
    trial: str
    path: str
    replay: ReplaySource | None = None


class SetTurn(msgspec.Struct, frozen=True, kw_only=True, tag="turn"):
    """Requests of this token belong to another turn of its trial from now on."""

    token: str
    turn: int


class Release(msgspec.Struct, frozen=True, kw_only=True, tag="release"):
    """End a lease: its exchanges are cut. Answered once all are recorded, with a problem if some are not."""

    token: str


Command: TypeAlias = Configure | Lease | SetTurn | Release


class Ready(msgspec.Struct, frozen=True, kw_only=True, tag="ready"):
    """The proxy listens.

    Attributes:
        port: that of 127.0.0.1.
        socket: the path of its Unix socket.
        tunnel_port: the port of 127.0.0.1 for HTTPS by CONNECT; 0 if the provider has no host.
        tunnel_socket: the path of a Unix socket for the same, but to the provider alone; empty without that port.
        certificate: the one that clients of the tunnel must trust, as PEM; empty without that port.
    """

    port: int
    socket: str
    tunnel_port: int = 0
    tunnel_socket: str = ""
    certificate: str = ""


class Answered(msgspec.Struct, frozen=True, kw_only=True, tag="answered"):
    """A lease has begun or ended; `problem` is a part of a sentence, and empty if all is well."""

    token: str
    problem: str = ""


class CallFailed(msgspec.Struct, frozen=True, kw_only=True, tag="call_failed"):
    """An exchange has ended without a complete and successful reply; `status` is 0 if there was none."""

    trial: str
    number: int
    status: int


class PaceChanged(msgspec.Struct, frozen=True, kw_only=True, tag="pace"):
    """A provider has refused requests, and the window of those in flight is smaller now."""

    provider: str
    window: int


class CallUsed(msgspec.Struct, frozen=True, kw_only=True, tag="used"):
    """What a call used, as the provider reported it, or else an estimate; only with `Configure.reports_usage`."""

    trial: str
    usage: Usage
    is_estimate: bool = False


class Held(msgspec.Struct, frozen=True, kw_only=True, tag="held"):
    """Whether all that a trial waits for is its turn in the queue of the wire."""

    trial: str
    is_held: bool


class DestinationRefused(msgspec.Struct, frozen=True, kw_only=True, tag="refused"):
    """A trial that may connect to its model alone asked the tunnel for another host."""

    trial: str
    host: str


class RequestRefused(msgspec.Struct, frozen=True, kw_only=True, tag="request_refused"):
    """A trial asked for what the wire does not pass on; `what` is an endpoint, a model or another trial's address.

    `trial` is empty if it is not known which trial asked.
    """

    trial: str
    what: str


class LimitExceeded(msgspec.Struct, frozen=True, kw_only=True, tag="exceeded"):
    """A trial has used too much of the wire, which answers it no more; `used` is a part of a sentence."""

    trial: str
    used: str


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """The proxy can't go on; `reason` is a part of a sentence."""

    reason: str


WireEvent: TypeAlias = CallFailed | PaceChanged | CallUsed | Held | DestinationRefused | RequestRefused | LimitExceeded
Report: TypeAlias = Ready | Answered | WireEvent | Failed

LOST = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, anyio.IncompleteRead)
"""Errors of the connection between the two when the other end has gone."""
decode_command: Callable[[bytes], Command] = json_decoder(Command).decode
decode_report: Callable[[bytes], Report] = json_decoder(Report).decode
"""Both read a line of the other end. They raise msgspec.MsgspecError."""


def encode(message: Command | Report) -> bytes:
    """Return a message as a line."""
    return msgspec.json.encode(message) + b"\n"
