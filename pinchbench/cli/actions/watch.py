"""What `watch` does."""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING

import anyio
from anyio import create_memory_object_stream, create_task_group, open_signal_receiver, sleep, to_thread

from pinchbench.cli.actions.altered import warn_of_altered
from pinchbench.cli.output import print_result
from pinchbench.errors import ResultsError
from pinchbench.events import Event, RunEnded
from pinchbench.report.terminal.console import END_LIMIT_S, report_console, stderr_writer
from pinchbench.report.terminal.live import LiveView, can_draw
from pinchbench.report.terminal.summary import print_summary
from pinchbench.results.finished_run import read_run
from pinchbench.results.journal.lock import is_written
from pinchbench.results.journal.tail import FollowedRun
from pinchbench.results.paths import find_run, runs_of

if TYPE_CHECKING:
    from pathlib import Path
    from signal import Signals

    from rich.console import Console

    from pinchbench.results.paths import RunFiles


EVENTS_HELD = 100


POLL_S = 0.5  # too short to notice, too long to load the disk


def watch_run(*, run: str | None, output_dir: Path) -> None:
    """Watch a run that goes on in another terminal, from its journal."""
    files = _chosen(run, output_dir)
    followed = FollowedRun(files)
    with stderr_writer() as writer:
        console = report_console(writer)
        draws = can_draw(console, os.environ)
        view = LiveView(console, is_full=writer.is_full, draws=draws, quiet="")
        number = anyio.run(partial(_follow, files, followed, view, draws=draws))
        writer.be_patient(END_LIMIT_S)
        view.say_left_out()
        if number is not None:
            console.print("The watching has ended; the run goes on by itself.", highlight=False)
            sys.exit(128 + number)
        _sum_up(console, files)
    if files.aggregate.is_file():
        print_result(files.aggregate, stands_in=files.aggregate)


def _chosen(run: str | None, output_dir: Path) -> RunFiles:
    if run is not None:
        return find_run(run, output_dir)
    if not (runs := runs_of(output_dir)):
        raise ResultsError(f"{output_dir} holds no runs; name one that is elsewhere, or say where with --output-dir.")
    return runs[0]


async def _follow(files: RunFiles, followed: FollowedRun, view: LiveView, *, draws: bool) -> Signals | None:
    """Show the run until no process writes it any more, or a signal arrives, which is returned."""
    came: Signals | None = None
    # handled as long as anything is drawn: an impatient second Ctrl-C must not leave a terminal without its cursor
    with open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        async with create_task_group() as group:

            async def listen() -> None:
                nonlocal came
                async for number in signals:
                    came = came or number
                    group.cancel_scope.cancel()

            group.start_soon(listen)
            await _show(files, followed, view, draws=draws)
            group.cancel_scope.cancel()
    return came


async def _show(files: RunFiles, followed: FollowedRun, view: LiveView, *, draws: bool) -> None:
    view.catch_up(await to_thread.run_sync(followed.read))
    if not await to_thread.run_sync(_is_written, files):
        return
    facts = followed.facts
    view.say(f"Watching {facts.config.get('model')}, run {facts.run_id}; Ctrl-C ends the watching, not the run.")
    if not draws:
        await view.say_totals()
    # bounded: reading waits for the display
    sender, events = create_memory_object_stream[Event](EVENTS_HELD)
    with events:
        async with create_task_group() as group:
            group.start_soon(view.watch, events)
            with sender:
                goes_on = True
                while goes_on:
                    await sleep(POLL_S)
                    # checked before reading, so that what a runner writes before it ends is still read
                    goes_on = await to_thread.run_sync(_is_written, files)
                    for event in await to_thread.run_sync(followed.read):
                        await sender.send(event)
                await sender.send(RunEnded())


def _is_written(files: RunFiles) -> bool:
    try:
        return is_written(files.journal)
    except OSError as error:
        raise ResultsError(f"The run {files.folder} can't be watched any more: {error.strerror}.") from error


def _sum_up(console: Console, files: RunFiles) -> None:
    """Print the summary of the run in its present state, and how to continue if something is left."""
    run = read_run(files)
    warn_of_altered([run])
    print_summary(console, run.data, run.outcomes, run.grades, folder=files.folder)
    if run.unfinished:
        died = "" if run.end is not None else "The runner of this run has died: "
        left = f"{died}{run.unfinished} of {len(run.facts.plan)} trials are left"
        again = f"pinchbench-async resume {files.argument}"
        console.print(f"{left}; go on with: {again}", soft_wrap=True, highlight=False, markup=False)
