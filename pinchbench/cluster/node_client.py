"""A node as the runner sees it: its set-up, its slots, what they report, and whether it lives."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, assert_never

import anyio
import msgspec
from anyio import CapacityLimiter, Event, create_task_group, move_on_after, to_thread

from pinchbench.cluster.copying import PIECE_BYTES, copy_files
from pinchbench.cluster.link import LEASE_S, NodeLostError, within_lease
from pinchbench.cluster.messages import (
    Activity,
    End,
    Ended,
    EndTrial,
    Forget,
    InputPart,
    NodeReady,
    Output,
    RateLimited,
    Refused,
    RelayOpened,
    StartTrial,
    Stop,
    Told,
    Used,
    UserAsked,
    UserDropped,
    Waits,
    decode_from_node,
    encode,
    frame,
)
from pinchbench.cluster.relay import carry_relay
from pinchbench.cluster.row import Row
from pinchbench.cluster.user_model import UserAnswers
from pinchbench.errors import ClusterError
from pinchbench.files.folders import set_aside
from pinchbench.model.ending import Reason
from pinchbench.process.disk import is_disk_full
from pinchbench.results.evidence import Evidence, digests_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio import CancelScope

    from pinchbench.chat.endpoint import Endpoint
    from pinchbench.cluster.link import NodeInfo, NodeLink
    from pinchbench.cluster.messages import Begin, FromNode, ToNode
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import Attempt
    from pinchbench.results.paths import RunFiles
    from pinchbench.runner.run_context import RunContext
    from pinchbench.runner.slot import TrialCallbacks

END_LIMIT_S = 60.0  # for a node to end its trials and remove its folders, which takes it 30 s at most
EVIDENCE_NAMES = frozenset(path.name for path in Evidence(folder=Path()).of_agent)
LOST = "the node {name} was lost: {why}"


@dataclass(kw_only=True, slots=True)
class _Running:
    """An attempt that runs on the node. `outcome` is there once `ended` is set, unless the node was lost."""

    callbacks: TrialCallbacks
    ended: Event = field(default_factory=Event)
    outcome: Outcome | None = None


class NodeClient:
    """One node of a run. Create inside an event loop; `attend` runs for as long as the node is used."""

    def __init__(
        self,
        info: NodeInfo,
        link: NodeLink,
        run: RunContext,
        *,
        copying: CapacityLimiter,
        tell: Callable[[str], None],
        user_model: Endpoint | None = None,
    ) -> None:
        """`link` belongs to this object from now on; `tell` gets sentences of the set-up, which all nodes say alike.

        `copying` limits how many pieces of evidence are in memory at once, of all nodes together. `user_model` plays
        simulated users.
        """
        self.info = info
        self._link = link
        self._run = run
        self._copying = copying
        self._tell = tell
        self._user_model = user_model
        self._users: UserAnswers | None = None  # while the node is attended to
        self._begin: Begin | None = None
        self._relay: RelayOpened | None = None
        self._relay_opened = Event()
        self._outgoing: list[bytes] = []  # frames that wait for the call that sends them
        self._has_outgoing = Event()
        self._running: dict[int, _Running] = {}
        self._settled = Event()  # ready, refused or lost
        self._closing = Event()
        self._refused = ""
        self._row = Row()
        self.lost = ""  # why, as a part of a sentence; empty while it lives
        self.retired = ""  # why it gets no further trials, as a sentence; empty while it does
        self.ready: NodeReady | None = None

    async def set_up(self, begin: Begin, inputs: Path | None) -> NodeReady:
        """Let the node set up its slots; `inputs` is the archive that goes with it. Raises ClusterError."""
        self._begin = begin
        try:
            await self._send(begin)
            if inputs is not None:
                async with await anyio.open_file(inputs, "rb") as file:
                    while part := await file.read(PIECE_BYTES):
                        await self._send(InputPart(data=part))
                await self._send(InputPart(data=b""))
        except NodeLostError as error:
            self._lose(str(error))
        await self._settled.wait()
        if self.ready is None:
            raise ClusterError(
                f"The node {self.info.name} can't take part. {self._refused or f'it was lost: {self.lost}.'}"
            )
        return self.ready

    async def attend(self) -> None:
        """Take what the node reports until `close`, then let it end.

        Whatever happens, the node is let go: what runs on it ends within some seconds.
        """
        try:
            async with create_task_group() as group:
                group.start_soon(self._deliver, group.cancel_scope)
                if self._user_model is not None:
                    self._users = UserAnswers(self._user_model, self._post, group, masked=self._run.redactor.text)
                group.start_soon(self._pass_on, group.cancel_scope)
                group.start_soon(self._carry)
                await self._listen()
                group.cancel_scope.cancel()
        finally:
            with move_on_after(LEASE_S, shield=True):
                await self._link.close()

    def close(self) -> None:
        """The node is not needed any more."""
        self._closing.set()

    @property
    def failing(self) -> str:
        """Why the node should be left out, as a sentence; empty while its trials do not keep failing alike."""
        return self._row.why

    def retire(self, why: str) -> None:
        """Give the node no further trials; `why` is a sentence. It is let go when those that run have ended."""
        if self.retired or self.lost:
            return
        self.retired = why
        self._run.observer.tell(f"The node {self.info.name} gets no further trials. {why}")
        self._close_if_idle()

    def _close_if_idle(self) -> None:
        if self.retired and not self._running:
            self.close()

    async def make(self, slot: int, attempt: Attempt, callbacks: TrialCallbacks, files: RunFiles) -> Outcome:
        """Make an attempt in a slot of the node, and fetch its evidence. Raises NodeLostError."""
        if self.lost:
            raise NodeLostError(self.lost)
        running = self._running[slot] = _Running(callbacks=callbacks)
        try:
            start = StartTrial(
                slot=slot, key=attempt.key, attempt=attempt.number, shows_output=callbacks.output is not None
            )
            self._post(start)
            async with create_task_group() as group:
                group.start_soon(self._end_when, callbacks.stop, slot)
                await running.ended.wait()
                group.cancel_scope.cancel()
            if running.outcome is None:
                raise NodeLostError(self.lost)
            outcome = await self._fetch(running.outcome, files.trial(attempt.key, attempt.number))
            self._post(Forget(evidence=outcome.evidence, workspace=outcome.workspace))
        finally:
            del self._running[slot]
            self._close_if_idle()
        self._row.take(outcome)
        return outcome

    async def _end_when(self, stop: Event, slot: int) -> None:
        await stop.wait()
        self._post(EndTrial(slot=slot))

    async def _send(self, message: ToNode) -> None:
        if self.lost:
            raise NodeLostError(self.lost)
        await within_lease(self._link.send(frame(encode(message))))

    def _post(self, message: ToNode) -> None:
        """Send a message soon, with others that wait: a call for each takes more of this process than all else."""
        self._outgoing.append(frame(encode(message)))
        self._has_outgoing.set()

    async def _deliver(self, attending: CancelScope) -> None:
        """Send what is posted; without an answer, the node is lost."""
        try:
            while True:
                await self._has_outgoing.wait()
                frames, self._outgoing, self._has_outgoing = b"".join(self._outgoing), [], Event()
                await within_lease(self._link.send(frames))
        except NodeLostError as error:
            self._lose(str(error))
            attending.cancel()

    async def _listen(self) -> None:
        """Ask for events until the node's program has ended, or the node is lost."""
        seen = 0
        try:
            while (events := await within_lease(self._link.events(seen))) is not None:
                seen += len(events)
                for event in events:
                    self._take(decode_from_node(event))
        except NodeLostError as error:
            self._lose(str(error))
        except msgspec.MsgspecError as error:
            self._lose(f"it sent what could not be read: {error}")
        else:
            self._lose(self._refused or "its program has ended")

    def _lose(self, why: str) -> None:
        if self.lost:
            return
        self.lost = why.removesuffix(".")
        if self.ready is not None and not self._closing.is_set():
            self._run.observer.tell(f"Trials are retried elsewhere: {LOST.format(name=self.info.name, why=self.lost)}.")
        self._settled.set()
        for running in self._running.values():
            running.ended.set()

    async def _pass_on(self, attending: CancelScope) -> None:
        """Tell the node what the run is asked to do, and when it is over; then give it a limited time."""

        async def tell(event: Event, message: ToNode) -> None:
            await event.wait()
            self._post(message)

        async with create_task_group() as group:
            group.start_soon(tell, self._run.interrupt.stop, Stop())
            group.start_soon(tell, self._run.interrupt.hurry, Stop(hurry=True))
            await tell(self._closing, End())
            await anyio.sleep(END_LIMIT_S)
            attending.cancel()

    async def _carry(self) -> None:
        """Carry what the node's programs send to the run's endpoint, from when the node leads to it."""
        await self._relay_opened.wait()
        if self._relay is None or self._begin is None or self._begin.relay is None:
            return  # nobody has asked for it
        try:
            await carry_relay(self._relay, self._begin.relay, self._begin.slots)
        except OSError as error:
            self._refused = f"--relay can't connect to port {self._relay.port} of {self.info.address}: {error}."
            self._lose(self._refused)

    def _take(self, message: FromNode) -> None:
        match message:
            case RelayOpened():
                self._relay = message
                self._relay_opened.set()
            case Told():
                if self.ready is not None:
                    self._run.observer.tell(f"{self.info.name}: {message.text}")
                else:
                    self._tell(message.text)
            case Refused():
                self._refused = message.why
            case NodeReady():
                self.ready = message
                self._settled.set()
            case UserAsked() | UserDropped():
                if self._users is not None:
                    self._users.take(message)
            case Activity() | Output() | Waits() | RateLimited() | Used() | Ended():
                if (running := self._running.get(message.slot)) is not None:
                    _report(running, message)
            case _:
                assert_never(message)

    async def _fetch(self, outcome: Outcome, folder: Path) -> Outcome:
        """Copy the evidence of an attempt, and check that it is what the node says. Raises NodeLostError."""
        assert self.ready is not None  # noqa: S101 - trials come after
        stated = outcome.files or {}
        names = stated.keys() & EVIDENCE_NAMES
        source = PurePosixPath(self.ready.folder) / outcome.evidence
        try:
            await to_thread.run_sync(_make_folder, folder)
            arrived = await copy_files(self._link, source, names, folder, self._copying)
            for name in names:
                if arrived[name] != stated[name]:
                    raise OSError(f"{name} did not arrive as it was written")  # noqa: TRY301
        except OSError as error:
            arrived = await to_thread.run_sync(digests_of, Evidence(folder=folder).of_agent)
            return _without_evidence(replace(outcome, files=arrived), error)
        return outcome


def _make_folder(folder: Path) -> None:
    set_aside(folder)
    folder.mkdir(mode=0o700, parents=True)


def _without_evidence(outcome: Outcome, error: OSError) -> Outcome:
    """Return an outcome whose evidence could not be moved; one that measures nothing keeps its reason."""
    if not outcome.reason.is_final:
        return outcome
    reason = Reason.DISK_FULL if is_disk_full(error) else Reason.EVIDENCE_LOST
    return replace(outcome, reason=reason, note=f"The evidence could not be moved from its node: {error}")


def _report(running: _Running, message: Activity | Output | Waits | RateLimited | Used | Ended) -> None:
    callbacks = running.callbacks
    match message:
        case Activity():
            callbacks.activity(message.text, message.usage)
        case Output():
            if callbacks.output is not None:
                callbacks.output(message.stream, message.text)
        case Waits():
            callbacks.waits(message.text, message.next_s)
        case RateLimited():
            callbacks.rate_limited()
        case Used():
            callbacks.used(message.usage)
        case Ended():
            running.outcome = message.outcome
            running.ended.set()
