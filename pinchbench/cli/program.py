"""The program's command: a group of commands, of which `run` is the default."""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING, Any

import click

from pinchbench.cli.lazy import CONTEXT, Formatter, LazyGroup

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

PROGRAM = "pinchbench-async"
# By section, the line of each command: that of its docstring, which is not imported for it.
SECTIONS = {
    "Run": {
        "run": "Run a suite (the default command).",
        "demo": "Run the core of the suite with the scripted model that is built in.",
        "experiment": "Run variants side by side and compare them with the first.",
        "resume": "Resume an unfinished run.",
        "ctl": "Control a run from another terminal.",
        "regrade": "Grade a run again from what it kept, without running an agent.",
        "replay": "Run the tasks of a run again while the recorded replies of its model are served.",
    },
    "Look at it": {
        "serve": "Show the runs and experiments of a folder in a browser, live.",
        "history": "List the runs of an output folder, the newest first.",
        "report": "Write a run, several, or an experiment as one HTML page, and print its path.",
        "choose": "Show which model is best, which is cheapest, and which is fastest.",
        "compare": "Compare B with A, paired by task, and say whether it is better.",
        "baseline": "Save a baseline for later runs.",
        "export": "Write a run in the format of another tool.",
        "verify": "Check that the files of runs are what the runner wrote.",
    },
    "Share it": {
        "publish": "Write a run as one file that others can check without the model.",
        "upload": "Send a run to the public leaderboard.",
    },
    "Tasks and set-up": {
        "tasks": "Look at the tasks of a suite and check them.",
        "judge": "Examine a judge before you trust its grades.",
        "suite": "Add a suite of other tasks for `--suite NAME[:selection]`, or list the suites that were added.",
        "openclaw": "Install OpenClaw for this program, separate from any other on the machine.",
        "doctor": "Check whether a run would work here, and say what to do if not.",
    },
}
# Of commands that share one, by the command.
MODULES = (
    dict.fromkeys(("demo", "experiment"), "run")
    | dict.fromkeys(("resume", "regrade", "replay"), "again")
    | {"report": "export", "choose": "compare", "baseline": "gate", "verify": "history", "upload": "publish"}
    | {"suite": "tasks", "doctor": "openclaw"}
)
EXIT_CODES = {
    "0": "all trials are valid and graded",
    "1": "a bug in this program, with its traceback",
    "2": "an option, a value or a task name is wrong, or a run to be resumed was made otherwise",
    "3": "the suite is missing or broken; `tasks check`: scores are not as stated; `judge check`: the judge has faults",
    "4": "OpenClaw is missing, can't be installed or can't be set up",
    "5": "the run finished, but some trials failed for infrastructure reasons, were excluded as untrusted, or could not"
    " be graded",
    "6": "results or workspaces can't be written or read, or a run can't be found or is in use",
    "7": "the run stopped itself: many trials failed for the same infrastructure reason",
    "8": "the budget is used up",
    "9": "`upload`: the leaderboard can't be reached, or rejects the run",
    "10": "the files of a run are not what the runner wrote, and `verify` names them; `regrade`: the scores of a bundle"
    " are not reached again",
    "11": "the gate (`--fail-under`, `--baseline`) failed: the score is too low, or the run is worse than its baseline;"
    " or a trial did not pass, with `-x`",
    "130": "Ctrl-C (129 SIGHUP, 143 SIGTERM); what had finished is in the result",
}


class _NoArgumentsError(click.UsageError):
    """No arguments were given: show what is here and the first steps instead of the whole help."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Look at this machine, and print what was found and the next commands."""
        import anyio

        from pinchbench.doctor.openclaw_findings import first_look
        from pinchbench.report.text import plain

        findings, model = anyio.run(first_look)
        steps = {
            "openclaw install": "installs OpenClaw and a Node.js for it in your cache folder, 800 MB",
            "demo": "tries it without a key, in about five minutes",
            f"doctor --model {model}": "checks this machine, and asks the model one question",
            f"--model {model} --suite core --dry-run": "says how long a run can take; nothing is sent",
        }
        if findings[0].level == "ok":
            del steps["openclaw install"]
        formatter = Formatter() if self.ctx is None else self.ctx.make_formatter()
        formatter.write_text("PinchBench async finds out how good a model is as the brain of an OpenClaw agent.")
        with formatter.section("Found here"):
            formatter.write_dl([(one.subject, plain(one.said)) for one in findings])
        # unfolded: a command that is broken over two lines can't be copied
        lines = "".join(f"  {PROGRAM} {plain(words)}\n      {why}\n" for words, why in steps.items())
        end = f"`{PROGRAM} --help` lists all commands and options."
        click.echo(f"{formatter.getvalue()}\nNext:\n{lines}\n{end}", file=file, err=file is None)


class _DefaultRun(LazyGroup):
    """A group that accepts the options of `run`: `pinchbench-async --model …` runs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {"-h", "--help", "--version"}
        by_option = args and args[0].startswith("-") and args[0] not in own
        # click treats empty variables as not set; a shell that completes a command's name also passes no arguments
        by_environment = not args and bool(os.environ.get("PINCHBENCH_MODEL")) and not ctx.resilient_parsing
        if by_option or by_environment:
            args = ["run", *args]
        elif not args and not ctx.resilient_parsing:
            raise _NoArgumentsError("", ctx)
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Complete a command, or an option of the default one."""
        from click.shell_completion import CompletionItem

        if not incomplete.startswith("-"):
            return [CompletionItem(name, help=line) for name, line in self.lines.items() if name.startswith(incomplete)]
        from pinchbench.cli.run import run

        items = super().shell_complete(ctx, incomplete)
        there = {item.value for item in items}
        return items + [one for one in run.shell_complete(ctx, incomplete) if one.value not in there]

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by purpose."""
        for title, lines in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(lines.items()))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from pinchbench.cli.run import run

        self.format_commands(ctx, formatter)
        for title, rows in run.option_sections(ctx):
            with formatter.section(f"Options of `run`, the default command: {title}"):
                formatter.write_dl(rows)

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the exit codes."""
        with formatter.section("Exit codes"):
            formatter.write_dl(list(EXIT_CODES.items()))


@click.group(
    cls=_DefaultRun,
    lines={name: line for lines in SECTIONS.values() for name, line in lines.items()},
    modules=MODULES,
    context_settings=CONTEXT,
)
@click.version_option(package_name="pinchbench-async", prog_name=PROGRAM)
def cli() -> None:
    """Find out how good a model is as the brain of an OpenClaw agent.

    Runs a suite of tasks on real OpenClaw, several at once, each in a workspace of its own, and writes one results
    file. Its path is printed to stdout; everything else goes to stderr. To start with, and without a provider:

    \b
    pinchbench-async demo
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
