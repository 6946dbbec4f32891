"""`ctl`: control a run from another terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import OUTPUT_DIR, Number, option
from pinchbench.cli.output import print_result
from pinchbench.errors import CommandRefusedError, ConfigError, ResultsError
from pinchbench.runner.ctl import commands

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pinchbench.results.paths import RunFiles
    from pinchbench.runner.ctl.commands import Command


@click.group(context_settings=CONTEXT)
@click.argument("run", metavar="RUN")
def ctl(run: str) -> None:
    """Control a run from another terminal.

    RUN is a run's id, its folder, or its results file. Each command is written to the run's journal before it is done,
    so that it holds after a crash too, and is answered once it is done. TRIAL is named as everywhere: `task_id`, or
    `task_id@2` for the second repetition. Of a run that has ended, `requeue`, `skip`, new limits and `note` are
    recorded, and `resume` applies them.

    \b
    pinchbench-async ctl 20260102-030405-9f3a status
    pinchbench-async ctl 20260102-030405-9f3a requeue task_07 --reason "the provider was down"
    """  # noqa: D301 - \b is click's mark for lines that stay as they are


def _command(
    name: str, *arguments: Callable[[Any], Any]
) -> Callable[[Callable[..., Command | tuple[Command, ...]]], None]:
    """Add a command with these arguments: the decorated function returns what the run is asked to do."""

    def add(command_of: Callable[..., Command | tuple[Command, ...]]) -> None:
        def perform(*, as_json: bool, output_dir: Path, **options: Any) -> None:  # noqa: ANN401 - click's own types
            from pinchbench.results.paths import find_run

            context = click.get_current_context().parent
            assert context is not None  # noqa: S101 - it is the group
            asked = command_of(**options)
            files = find_run(context.params["run"], output_dir)
            for command in asked if isinstance(asked, tuple) else (asked,):
                ask(command, files, as_json=as_json)

        perform.__doc__ = command_of.__doc__
        for one in (
            option("--json", "as_json", is_flag=True, help="Print the reply as a line of JSON."),
            OUTPUT_DIR,
            *reversed(arguments),
        ):  # fmt: skip
            perform = one(perform)
        ctl.command(name, context_settings=CONTEXT)(perform)

    return add


TRIAL = click.argument("trial", metavar="TRIAL")


@_command("status")
def _status() -> Command:
    """Show the state of the run: running and waiting trials, grades, and what was used.

    \b
    pinchbench-async ctl 20260102-030405-9f3a status
    """  # noqa: D301
    return commands.Status()


@_command("pause")
def _pause() -> Command:
    """Start no trial until `continue`, not even after a crash and `resume`; trials that run go on.

    \b
    pinchbench-async ctl 20260102-030405-9f3a pause
    """  # noqa: D301
    return commands.Pause()


@_command("continue")
def _continue() -> Command:
    """Start trials again; a run that has paused itself makes its next try at once.

    \b
    pinchbench-async ctl 20260102-030405-9f3a continue
    """  # noqa: D301
    return commands.Continue()


@_command(
    "set",
    click.option("--concurrency", type=int, metavar="N", help="Run at most N trials at once, up to the number of slots"
                 " that this session has set up."),
    click.option("--max-cost", type=float, metavar="USD", help="End the run before it costs more."),
    click.option("--max-tokens", type=int, metavar="N", help="End the run before it uses more tokens."),
)  # fmt: skip
def _set(*, concurrency: int | None, max_cost: float | None, max_tokens: int | None) -> tuple[Command, ...]:
    """Change the concurrency of the run, or the limits of the whole run.

    \b
    pinchbench-async ctl 20260102-030405-9f3a set --concurrency 2
    pinchbench-async ctl 20260102-030405-9f3a set --max-cost 12.50 --max-tokens 5000000
    """  # noqa: D301
    limits = commands.Budget(max_cost=max_cost, max_tokens=max_tokens)
    changes: tuple[Command, ...] = () if limits == commands.Budget() else (limits,)
    changes += () if concurrency is None else (commands.Concurrency(concurrency),)
    if not changes:
        raise ConfigError("Say what to change: --concurrency, --max-cost or --max-tokens.")
    return changes


@_command(
    "skip",
    click.argument("what", metavar="TRIAL|TASK"),
    click.option("--stop", is_flag=True, help="End the trial, which is running; this takes up to 19 s."),
)
def _skip(*, what: str, stop: bool) -> Command:
    """Do not run a waiting trial, or all waiting trials of a task; with --stop, end a running trial.

    Skipped trials are in no score, are counted, and do not run again unless they are requeued.

    \b
    pinchbench-async ctl 20260102-030405-9f3a skip task_07
    pinchbench-async ctl 20260102-030405-9f3a skip task_07@2 --stop
    """  # noqa: D301
    return commands.StopTrial(what) if stop else commands.Skip(what)


@_command("requeue", TRIAL, option("--reason", default="", metavar="TEXT", help="Kept in the result."))
def _requeue(*, trial: str, reason: str) -> Command:
    """Make another attempt at a trial that has ended or was skipped. The result has the score with and without it.

    \b
    pinchbench-async ctl 20260102-030405-9f3a requeue task_07 --reason "the provider was down"
    """  # noqa: D301
    return commands.Requeue(trial, reason)


@_command(
    "note",
    click.argument("text", metavar="TEXT"),
    click.option("--trial", default="", metavar="TRIAL", help="The trial that it is about (default: the whole run)."),
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="A word to find it by. May be repeated."),
    click.option(
        "--score",
        type=Number(0, 1),
        metavar="X",
        help="Your own score for that trial, next to the measured one; TEXT is the reason.",
    ),
)
def _note(*, text: str, trial: str, tags: tuple[str, ...], score: float | None) -> Command:
    """Write a note on the run or one of its trials, or a score of your own, which the result keeps.

    The run may be working or have ended. No measured grade changes: the result, the summary and the report have the
    score as measured and with yours, count the trials whose score is yours, and give your reasons.

    \b
    pinchbench-async ctl 20260102-030405-9f3a note "the laptop was on battery from here on" --tag battery
    pinchbench-async ctl 20260102-030405-9f3a note "the check overlooks a file" --trial task_07@2 --score 1
    """  # noqa: D301
    if score is None:
        return commands.Note(text, trial, tags)
    if not trial:
        raise ConfigError("--score is that of a trial: name it with --trial.")
    if tags:
        raise ConfigError("--tag goes with a note; write it without --score.")
    return commands.Override(trial, score, text)


def ask(command: Command, files: RunFiles, *, as_json: bool) -> None:
    """Give a command to a run, and print the reply. Raises CommandRefusedError."""
    try:
        reply = _reply_to(command, files)
    except CommandRefusedError as error:
        reply = commands.Reply(ok=False, text=str(error))
    if not (reply.ok or as_json):
        raise CommandRefusedError(reply.text)
    print_result(msgspec.json.encode(reply).decode() if as_json else reply.text)
    if not reply.ok:
        sys.exit(CommandRefusedError.exit_code)


def _reply_to(command: Command, files: RunFiles) -> commands.Reply:
    """Ask the runner, or carry out the command here if no runner listens on the run's socket.

    Blocks. Raises CommandRefusedError, ResultsError.
    """
    from pinchbench.results.journal.journal import is_written
    from pinchbench.runner.ctl.commands import send_command
    from pinchbench.runner.ctl.run_commands import carry_out_offline

    if (reply := send_command(files.control_socket, command)) is not None:
        return reply
    try:
        is_working = is_written(files.journal)
    except FileNotFoundError:
        is_working = True  # there is no journal yet
    except OSError as error:
        raise ResultsError(f"{files.journal} can't be read: {error.strerror}.") from error
    if is_working and not isinstance(command, commands.Status):
        raise CommandRefusedError(
            f"A pinchbench-async works on {files.folder} but takes no commands: it is setting the run up, grading it"
            " again, or ending. Try again in a moment."
        )
    return carry_out_offline(files, command, is_working=is_working)
