"""`watch`: show a run of another process from its journal."""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_run
from pinchbench.cli.options import CONTEXT, FOLDER, option
from pinchbench.cli.output import print_result, warn_of_altered
from pinchbench.errors import ResultsError

if TYPE_CHECKING:
    from pathlib import Path
    from signal import Signals

    from rich.console import Console

    from pinchbench.report.terminal.live import LiveView
    from pinchbench.results.journal.tail import FollowedRun
    from pinchbench.results.paths import RunFiles

EVENTS_HELD = 100
POLL_S = 0.5  # too short to notice, too long to load the disk


@click.command(context_settings=CONTEXT)
@click.argument("run", metavar="[RUN]", required=False, shell_complete=complete_run)
@option("--output-dir", type=FOLDER, default=defaults.DEFAULT_OUTPUT_DIR, show_default=True,
        help="Where RUN is looked for.")  # fmt: skip
def watch(*, run: str | None, output_dir: Path) -> None:
    """Watch a run that goes on in another terminal, from its journal.

    RUN is a run's id, its folder, or its results file; without it, the newest run. Shows what `run` itself shows, but
    for what the agents are doing just now, which no journal tells. Ends with the run, with its summary and exit code 0,
    also when its runner has died. Ctrl-C ends the watching alone, never the run, with exit code 130.

    \b
    pinchbench-async watch
    ssh -t bench pinchbench-async watch 20260102-030405-9f3a --output-dir /data/results
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    import anyio  # noqa: PLC0415 - `--help` must not wait for it

    from pinchbench.report.terminal.console import END_LIMIT_S, report_console, stderr_writer  # noqa: PLC0415 - as above
    from pinchbench.report.terminal.live import LiveView, can_draw  # noqa: PLC0415 - as above
    from pinchbench.results.journal.tail import FollowedRun  # noqa: PLC0415 - as above

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
    from pinchbench.results.paths import find_run, runs_of  # noqa: PLC0415 - as above

    if run is not None:
        return find_run(run, output_dir)
    if not (runs := runs_of(output_dir)):
        raise ResultsError(f"{output_dir} holds no runs; name one that is elsewhere, or say where with --output-dir.")
    return runs[0]


async def _follow(files: RunFiles, followed: FollowedRun, view: LiveView, *, draws: bool) -> Signals | None:
    """Show the run until no process writes it any more, or a signal arrives, which is returned."""
    from anyio import create_task_group, open_signal_receiver  # noqa: PLC0415 - as above

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
    from anyio import create_memory_object_stream, create_task_group, sleep, to_thread  # noqa: PLC0415 - as above

    from pinchbench.events import Event, RunEnded  # noqa: PLC0415 - as above

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
    from pinchbench.results.journal.lock import is_written  # noqa: PLC0415 - as above

    try:
        return is_written(files.journal)
    except OSError as error:
        raise ResultsError(f"The run {files.folder} can't be watched any more: {error.strerror}.") from error


def _sum_up(console: Console, files: RunFiles) -> None:
    """Print the summary of the run in its present state, and how to continue if something is left."""
    from pinchbench.report.terminal.summary import print_summary  # noqa: PLC0415 - as above
    from pinchbench.results.finished_run import read_run  # noqa: PLC0415 - as above

    run = read_run(files)
    warn_of_altered([run])
    print_summary(console, run.data, run.outcomes, run.grades, folder=files.folder)
    if run.unfinished:
        died = "" if run.end is not None else "The runner of this run has died: "
        left = f"{died}{run.unfinished} of {len(run.facts.plan)} trials are left"
        again = f"pinchbench-async resume {files.argument}"
        console.print(f"{left}; go on with: {again}", soft_wrap=True, highlight=False, markup=False)
