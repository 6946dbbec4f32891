"""A node as the runner sees it: its set-up, its slots, what they report, their evidence, and whether it lives."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, assert_never

import anyio
import msgspec
from anyio import CancelScope, CapacityLimiter, Event, create_task_group, current_time, move_on_after, to_thread

from pinchbench.cluster import messages
from pinchbench.cluster.admission import Row
from pinchbench.cluster.asked_user_model import UserAnswers
from pinchbench.errors import ClusterError
from pinchbench.files.folders import set_aside
from pinchbench.model.ending import Reason
from pinchbench.model.usage import Usage
from pinchbench.process.capacity import is_disk_full
from pinchbench.results.evidence_files import Evidence, digests_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinchbench.llm.openai_api import Endpoint
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import Attempt, TrialEvents
    from pinchbench.runner.run_context import RunContext


EVIDENCE_NAMES = frozenset(path.name for path in Evidence(folder=Path()).of_agent)
# The first piece of a file is small, so that a slow network moves it within the lease. Pieces of 16 MB come twice as
# fast as pieces of 4 MB: 287 and 145 MB/s, measured on loopback with a load of 25 on two cores.
FIRST_BYTES = 1024 * 1024
LARGEST_BYTES = 16 * 1024 * 1024
QUICK_S = 1.0  # a piece that took less is followed by a larger one


async def copy_evidence(
    link: messages.NodeLink, node_folder: str, outcome: Outcome, folder: Path, limiter: CapacityLimiter
) -> Outcome:
    """Copy the evidence that an outcome states into a new folder; return the outcome as it is recorded.

    `node_folder` is the run's folder on the node, and `limiter` counts the pieces that are in memory. Evidence that
    does not arrive as stated makes an attempt that measures something `evidence_lost`. Raises NodeLostError.
    """
    stated = outcome.files or {}
    source = PurePosixPath(node_folder) / outcome.evidence
    try:
        await to_thread.run_sync(_make_folder, folder)
        for name in stated.keys() & EVIDENCE_NAMES:
            if await _copy(link, str(source / name), folder / name, limiter) != stated[name]:
                raise OSError(f"{name} did not arrive as it was written")  # noqa: TRY301
    except OSError as error:
        outcome = replace(outcome, files=await to_thread.run_sync(digests_of, Evidence(folder=folder).of_agent))
        if not outcome.reason.is_final:
            return outcome  # it measures nothing, whatever has arrived
        reason = Reason.DISK_FULL if is_disk_full(error) else Reason.EVIDENCE_LOST
        return replace(outcome, reason=reason, note=f"The evidence could not be moved from its node: {error}")
    return outcome


def _make_folder(folder: Path) -> None:
    set_aside(folder)
    folder.mkdir(mode=0o700, parents=True)


async def _copy(link: messages.NodeLink, path: str, to: Path, limiter: CapacityLimiter) -> str:
    """Copy a file of the node into a new one; return its SHA-256. Raises OSError, also if it is not there."""
    digest = hashlib.sha256()
    async with await anyio.open_file(to, "xb") as file:
        offset, size, is_whole = 0, FIRST_BYTES, False
        while not is_whole:
            async with limiter:
                began = current_time()
                data = await messages.within_lease(link.read(path, offset, size))
                is_quick = current_time() - began < QUICK_S
                digest.update(data)
                await file.write(data)
            offset, is_whole = offset + len(data), len(data) < size
            size = min(2 * size, LARGEST_BYTES) if is_quick else FIRST_BYTES
    return digest.hexdigest()


END_LIMIT_S = 60.0  # for a node to end its trials and remove its folders, which takes it 30 s at most
INPUT_BYTES = 4 * 1024 * 1024  # of the archive of inputs in one message
LOST = "the node {name} was lost: {why}"


@dataclass(kw_only=True, slots=True)
class _Running:
    """An attempt that runs on the node. `outcome` is there once `ended` is set, unless the node was lost.

    `used` is what the transcript and the wire have reported so far: nothing else is known if the node is lost.
    """

    events: TrialEvents
    used: Usage = Usage()
    ended: Event = field(default_factory=Event)
    outcome: Outcome | None = None

    def take(self, message: messages.Seen | messages.Ended) -> None:
        """Take what is seen of the attempt, or its end."""
        if isinstance(message, messages.Ended):
            self.outcome = message.outcome
            self.ended.set()
            return
        self.used = self.used.at_least(message.usage)
        match message.method:
            case "activity":
                self.events.activity(message.text, message.usage)
            case "output":
                self.events.output(message.stream, message.text)
            case "waits":
                self.events.waits(message.text, message.next_s)
            case "rate_limited":
                self.events.rate_limited()
            case "used":
                self.events.used(message.usage)


class NodeClient:
    """One node of a run. Create inside an event loop; `attend` runs for as long as the node is used."""

    def __init__(
        self,
        info: messages.NodeInfo,
        link: messages.NodeLink,
        run: RunContext,
        *,
        copying: CapacityLimiter,
        report: Callable[[str], None],
        user_model: Endpoint | None = None,
    ) -> None:
        """`link` belongs to this object from now on; `report` gets sentences of the set-up, which all nodes say alike.

        `copying` limits how many pieces of evidence are in memory at once, of all nodes together. `user_model` plays
        simulated users.
        """
        self.info = info
        self._link = link
        self._run = run
        self.files = run.files
        self._copying = copying
        self._report = report
        self._user_model = user_model
        self._users: UserAnswers | None = None  # while the node is attended to
        self._outgoing: list[bytes] = []  # frames that wait for the call that sends them
        self._has_outgoing = Event()
        self._running: dict[int, _Running] = {}
        self._settled = Event()  # ready, refused or lost
        self._closing = Event()
        self._refused = ""
        self._row = Row()
        self.lost = ""  # why, as a part of a sentence; empty while it lives
        self.retired = ""  # why it gets no further trials, as a sentence; empty while it does
        self.ready: messages.NodeReady | None = None

    async def set_up(self, begin: messages.Begin, inputs: Path | None) -> messages.NodeReady:
        """Let the node set up its slots; `inputs` is the archive that goes with it. Raises ClusterError."""
        try:
            await self._send(begin)
            if inputs is not None:
                async with await anyio.open_file(inputs, "rb") as file:
                    while part := await file.read(INPUT_BYTES):
                        await self._send(messages.InputPart(data=part))
                await self._send(messages.InputPart(data=b""))
        except messages.NodeLostError as error:
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
                await self._listen()
                group.cancel_scope.cancel()
        finally:
            with move_on_after(messages.LEASE_S, shield=True):
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

    async def make(self, slot: int, attempt: Attempt, events: TrialEvents, *, stop: Event) -> Outcome:
        """Make an attempt in a slot of the node, and fetch its evidence. Raises NodeLostError."""
        if self.lost:
            raise messages.NodeLostError(self.lost)
        running = self._running[slot] = _Running(events=events)
        try:
            self._post(messages.StartTrial(slot=slot, key=attempt.key, attempt=attempt.number))
            outcome = await self._outcome_of(running, slot, stop)
            assert self.ready is not None  # noqa: S101 - trials come after
            folder = self.files.trial(attempt.key, attempt.number)
            outcome = await copy_evidence(self._link, self.ready.folder, outcome, folder, self._copying)
            self._post(messages.Forget(evidence=outcome.evidence, workspace=outcome.workspace))
        except messages.NodeLostError as error:
            raise messages.NodeLostError(str(error), running.used) from error
        finally:
            del self._running[slot]
            self._close_if_idle()
        self._row.take(outcome)
        return outcome

    async def _outcome_of(self, running: _Running, slot: int, stop: Event) -> Outcome:
        async with create_task_group() as group:
            group.start_soon(self._end_when, stop, slot)
            await running.ended.wait()
            group.cancel_scope.cancel()
        if running.outcome is None:
            raise messages.NodeLostError(self.lost)
        return running.outcome

    async def _end_when(self, stop: Event, slot: int) -> None:
        await stop.wait()
        self._post(messages.EndTrial(slot=slot))

    async def _send(self, message: messages.ToNode) -> None:
        if self.lost:
            raise messages.NodeLostError(self.lost)
        await messages.within_lease(self._link.send(messages.frame(message)))

    def _post(self, message: messages.ToNode) -> None:
        """Send a message soon, with others that wait: a call for each takes more of this process than all else."""
        self._outgoing.append(messages.frame(message))
        self._has_outgoing.set()

    async def _deliver(self, attending: CancelScope) -> None:
        """Send what is posted; without an answer, the node is lost."""
        try:
            while True:
                await self._has_outgoing.wait()
                frames, self._outgoing, self._has_outgoing = b"".join(self._outgoing), [], Event()
                await messages.within_lease(self._link.send(frames))
        except messages.NodeLostError as error:
            self._lose(str(error))
            attending.cancel()

    async def _listen(self) -> None:
        seen = 0
        try:
            while (events := await messages.within_lease(self._link.events(seen))) is not None:
                seen += len(events)
                for event in events:
                    self._take(messages.decode_from_node(event))
        except messages.NodeLostError as error:
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

        async def notify(event: Event, message: messages.ToNode) -> None:
            await event.wait()
            self._post(message)

        async with create_task_group() as group:
            group.start_soon(notify, self._run.interrupt.stop, messages.Stop())
            group.start_soon(notify, self._run.interrupt.hurry, messages.Stop(hurry=True))
            await notify(self._closing, messages.End())
            await anyio.sleep(END_LIMIT_S)
            attending.cancel()

    def _take(self, message: messages.FromNode) -> None:
        match message:
            case messages.Told():
                if self.ready is not None:
                    self._run.observer.tell(f"{self.info.name}: {message.text}")
                else:
                    self._report(message.text)
            case messages.Refused():
                self._refused = message.why
            case messages.NodeReady():
                self.ready = message
                self._settled.set()
            case messages.UserAsked() | messages.UserDropped():
                if self._users is not None:
                    self._users.take(message)
            case messages.Seen() | messages.Ended():
                if (running := self._running.get(message.slot)) is not None:
                    running.take(message)
            case _:
                assert_never(message)
