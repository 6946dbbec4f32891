"""The program on a node: sets up slots for a run of another machine, and makes the attempts that it is sent.

Started as `python -m pinchbench.cluster.node FD` with an open socket. It leaves its parent at once, and ends, with all
that it started, when the socket is closed or has been silent for `LEASE_S`.
"""

from __future__ import annotations

import os
import socket
import sys
import traceback
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import msgspec
from anyio import CancelScope, create_memory_object_stream, create_task_group, fail_after, move_on_after, to_thread
from anyio.abc import TaskGroup, UNIXSocketStream

from pinchbench.cluster import messages
from pinchbench.cluster.asked_user_model import AskedUserModel
from pinchbench.cluster.host import read_hardware
from pinchbench.cluster.inputs import places_in, unpack_inputs
from pinchbench.cluster.messages import FromNode, ToNode
from pinchbench.config.run_config import RunConfig
from pinchbench.decoding import convert
from pinchbench.errors import PinchBenchError, first_error
from pinchbench.events import Event, Notice
from pinchbench.files.folders import remove_folder
from pinchbench.model.trial import Attempt, TrialEvents
from pinchbench.openclaw.homes.user_state import secrets_of
from pinchbench.redaction import mask_outcome
from pinchbench.results.paths import RunFiles
from pinchbench.runner.plan.prepare import Prepared, prepare_named
from pinchbench.runner.plan.trial_plan import trial_of
from pinchbench.runner.run_context import Redactor, RunContext, RunObserver
from pinchbench.runner.run_folders import HOMES, open_work_folder
from pinchbench.runner.setup.make_homes import make_slots, settle
from pinchbench.runner.setup.open_wire import open_access
from pinchbench.runner.setup.preflight import ask_before_run
from pinchbench.runner.setup.set_up import require_capacity, versions
from pinchbench.runner.setup.this_machine import identified, read_machine_for
from pinchbench.runner.signals import Interrupt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from pinchbench.model.outcome import Outcome
    from pinchbench.model.usage import Usage
    from pinchbench.runner.trial.slot import LocalSlot

LEASE_S = 20.0  # without a word from the runner; it speaks at least every second
# Until its first word: it waits for the slowest node to start, and packs what the nodes need.
FIRST_WORD_S = 300.0
INPUTS = "inputs"  # next to the homes: no trial sees it
INBOX = 4  # messages that wait while files are written
CHATTER_HELD = 1000  # messages on their way to the runner, beyond which what agents say is left out
CLEAN_UP_LIMIT_S = 30.0  # deleting workspaces and evidence
MAX_WHY = 4000  # characters of a traceback


class Outbox:
    """Messages on their way to the runner. Only `deliver` waits."""

    def __init__(self) -> None:
        """Nothing is on its way. Create inside an event loop."""
        self._sender, self._receiver = create_memory_object_stream[FromNode](float("inf"))

    def put(self, message: FromNode) -> None:
        """Send a message soon, if anybody still receives."""
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._sender.send_nowait(message)

    def chat(self, message: FromNode) -> None:
        """Send a message soon, unless too many are on their way."""
        if self._sender.statistics().current_buffer_used < CHATTER_HELD:
            self.put(message)

    async def deliver(self, stream: UNIXSocketStream, everything: CancelScope) -> None:
        """Send what is put until `close`; cancel `everything` when nobody receives any more."""
        try:
            with self._receiver:
                async for message in self._receiver:
                    await stream.send(messages.frame(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            everything.cancel()

    def close(self) -> None:
        """Nothing more is put."""
        self._sender.close()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Slots:
    slots: tuple[LocalSlot, ...]
    run: RunContext
    outbox: Outbox
    user_model: AskedUserModel | None
    stops: dict[int, anyio.Event] = field(default_factory=dict)  # of the trial that runs in a slot, or ran last


async def serve(stream: UNIXSocketStream) -> None:
    """Serve one run over a connection, until the runner ends it, or the connection is lost.

    Everything that was started is gone on return: processes, homes, workspaces and evidence.
    """
    outbox = Outbox()
    sender, inbox = create_memory_object_stream[ToNode](INBOX)
    async with stream, create_task_group() as delivery:
        delivery.start_soon(outbox.deliver, stream, delivery.cancel_scope)
        with CancelScope() as lease:
            async with create_task_group() as group:
                group.start_soon(take_in, stream, sender, lease)
                with inbox:
                    try:
                        await _run(inbox, outbox)
                    except* PinchBenchError as errors:
                        outbox.put(messages.Refused(why=str(first_error(errors))))
                    except* Exception:  # noqa: BLE001 - a bug is reported to the runner: nobody reads what is printed here
                        outbox.put(messages.Refused(why=f"It failed: {traceback.format_exc()[-MAX_WHY:]}"))
                group.cancel_scope.cancel()
        outbox.close()


async def take_in(stream: UNIXSocketStream, sender: MemoryObjectSendStream[ToNode], lease: CancelScope) -> None:
    """Take messages in; cancel `lease` when none comes any more."""
    frames = messages.FrameReader()
    limit_s = FIRST_WORD_S
    with sender, suppress(anyio.BrokenResourceError, anyio.EndOfStream, TimeoutError, ValueError, msgspec.MsgspecError):
        while True:
            with fail_after(limit_s):
                data = await stream.receive()
            limit_s = LEASE_S
            for message in map(messages.decode_to_node, frames.feed(data)):
                if not isinstance(message, messages.Beat):
                    await sender.send(message)
    lease.cancel()


async def _run(inbox: MemoryObjectReceiveStream[ToNode], outbox: Outbox) -> None:
    begin = await inbox.receive()
    assert isinstance(begin, messages.Begin)  # noqa: S101 - the runner's first message
    config = convert(begin.config, RunConfig, dec_hook=lambda _, value: Path(str(value)))
    # a new one: the program of a session that was killed a moment ago may still be cleaning up
    async with open_work_folder(config.run_root, prefix=f"{begin.run_id}-node-{begin.node}-") as work:
        try:
            folder = work / HOMES / INPUTS
            if begin.sends_inputs:
                config = await _receive_inputs(inbox, folder, config)
            config = replace(config, output_dir=work / "results")
            planning = partial(prepare_named, config, places_in(folder, begin.suites), begin.tasks)
            prepared = await to_thread.run_sync(planning)
            await _serve_slots(begin, prepared, work, inbox, outbox)
        finally:
            with move_on_after(CLEAN_UP_LIMIT_S, shield=True):
                await to_thread.run_sync(partial(_remove_work, work), abandon_on_cancel=True)


def _remove_work(work: Path) -> None:
    """Remove all but the homes, which their owner removes. Blocks."""
    for path in work.iterdir():
        if path.name != HOMES:
            remove_folder(path)


async def _receive_inputs(inbox: MemoryObjectReceiveStream[ToNode], folder: Path, config: RunConfig) -> RunConfig:
    """Receive the files that the run reads into a new folder; return its options with their places here."""
    archive = folder.with_name("inputs.tar.gz")
    async with await anyio.open_file(archive, "wb") as file:
        while isinstance(part := await inbox.receive(), messages.InputPart) and part.data:
            await file.write(part.data)
    return await to_thread.run_sync(unpack_inputs, archive, folder, config)


async def _serve_slots(
    begin: messages.Begin, prepared: Prepared, work: Path, inbox: MemoryObjectReceiveStream[ToNode], outbox: Outbox
) -> None:
    config = prepared.config
    await to_thread.run_sync(require_capacity, begin.slots)
    machine = await to_thread.run_sync(read_machine_for, config)
    redactor = Redactor(secrets_of(machine.user, config.api_key_env))

    async def observe(events: MemoryObjectReceiveStream[Event]) -> None:
        async for event in events:
            if isinstance(event, Notice):
                outbox.put(messages.Told(text=event.text))

    run = RunContext(
        prepared=prepared,
        resumption=None,
        run_id=begin.run_id,
        files=RunFiles(output_dir=config.output_dir, name=begin.name),
        interrupt=Interrupt(),
        observer=RunObserver(observe, redactor),
        redactor=redactor,
    )
    async with create_task_group() as observing:
        observing.start_soon(run.observer.attend)
        with closing(run.observer), closing(run.interrupt):
            async with open_access(run, machine, has_budget=begin.has_budget) as access:
                machine = await identified(machine)
                run = run.settled(await ask_before_run(config, machine, tell=run.observer.tell))
                user_model = AskedUserModel(begin.user_model, outbox.put) if begin.user_model else None
                run, sandboxing = await settle(run, access.wire)
                slots = await make_slots(run, sandboxing, work, machine, access, user_model=user_model)
                ready = messages.NodeReady(
                    folder=str(run.files.folder),
                    versions=await versions(machine.openclaw),
                    digests={trial.key.task_id: trial.task.digest for trial in prepared.trials},
                    unmet={attempt.key.task_id: sentence for attempt, sentence in prepared.unmet},
                    sandbox=run.prepared.config.sandbox,
                    network=run.prepared.config.network,
                    served=run.prepared.config.served,
                    agents=[slot.agent_id for slot in slots],
                    hardware=await to_thread.run_sync(read_hardware),
                )
                outbox.put(ready)
                async with create_task_group() as trials:
                    serving = _Slots(slots=slots, run=run, outbox=outbox, user_model=user_model)
                    await _make_trials(serving, inbox, trials)
                    trials.cancel_scope.cancel()


async def _make_trials(serving: _Slots, inbox: MemoryObjectReceiveStream[ToNode], trials: TaskGroup) -> None:
    """Act on messages until the runner says that it was the last."""
    run = serving.run
    tasks = {trial.key.task_id: trial.task for trial in run.prepared.trials}
    multiplier = run.prepared.config.timeout_multiplier
    async for message in inbox:
        match message:
            case messages.StartTrial():
                # the runner's plan counts: a run that is resumed may have more trials of a task than that states by now
                trial = trial_of(message.key, tasks[message.key.task_id], timeout_multiplier=multiplier)
                attempt = Attempt(trial=trial, number=message.attempt)
                serving.stops[message.slot] = anyio.Event()  # here, for the next message may be about it
                trials.start_soon(_make_attempt, serving, message.slot, attempt)
            case messages.Stop() | messages.EndTrial():
                _stop(serving, message)
            case messages.UserReplied() | messages.UserFailed():
                if serving.user_model is not None:
                    serving.user_model.take(message)
            case messages.Forget():
                folders = run.files.folder / message.evidence, Path(message.workspace)
                trials.start_soon(partial(to_thread.run_sync, _remove, folders, abandon_on_cancel=True))
            case messages.End():
                return
            case messages.Begin() | messages.InputPart() | messages.Beat():
                pass


def _stop(serving: _Slots, message: messages.Stop | messages.EndTrial) -> None:
    if isinstance(message, messages.EndTrial):
        serving.stops[message.slot].set()
        return
    serving.run.interrupt.stop.set()
    for stop in serving.stops.values():
        stop.set()
    if message.hurry:
        serving.run.interrupt.hurry.set()


class _Events(TrialEvents):
    """What is seen of an attempt in a slot: sent to the runner, redacted."""

    def __init__(self, slot: int, serving: _Slots) -> None:
        self.wants_output = serving.run.prepared.config.verbose
        self._slot = slot
        self._put, self._chat = serving.outbox.put, serving.outbox.chat
        self._redacted = serving.run.redactor.text

    def activity(self, text: str, usage: Usage) -> None:
        self._chat(messages.Seen(slot=self._slot, method="activity", text=self._redacted(text), usage=usage))

    def output(self, stream: str, text: str) -> None:
        self._chat(messages.Seen(slot=self._slot, method="output", stream=stream, text=self._redacted(text)))

    def waits(self, text: str, next_s: float) -> None:
        self._chat(messages.Seen(slot=self._slot, method="waits", text=self._redacted(text), next_s=next_s))

    def rate_limited(self) -> None:
        self._put(messages.Seen(slot=self._slot, method="rate_limited"))

    def used(self, usage: Usage) -> None:
        self._put(messages.Seen(slot=self._slot, method="used", usage=usage))


async def _make_attempt(serving: _Slots, slot: int, attempt: Attempt) -> None:
    stop = serving.stops[slot]
    if serving.run.interrupt.stop.is_set():
        stop.set()

    def done(outcome: Outcome) -> None:
        serving.outbox.put(messages.Ended(slot=slot, outcome=mask_outcome(outcome, serving.run.redactor.secrets)))

    await serving.slots[slot - 1].run(attempt, _Events(slot, serving), done, stop=stop)


def _remove(folders: Iterable[Path]) -> None:
    for folder in folders:
        remove_folder(folder)


async def _serve(number: int) -> None:
    os.set_inheritable(number, False)
    await serve(await UNIXSocketStream.from_socket(socket.socket(fileno=number)))


def main() -> None:
    """Leave the parent, and serve."""
    if os.fork():
        os._exit(0)
    anyio.run(_serve, int(sys.argv[1]))


if __name__ == "__main__":
    main()
