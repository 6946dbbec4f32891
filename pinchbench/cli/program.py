"""The program's command: a group of commands, of which `run` is the default."""

from __future__ import annotations

import os

import click

from pinchbench.cli.openclaw import openclaw
from pinchbench.cli.options import CONTEXT
from pinchbench.cli.regrade import regrade
from pinchbench.cli.resume import resume
from pinchbench.cli.run import run
from pinchbench.cli.tasks import tasks


class _DefaultRun(click.Group):
    """A group whose options are those of `run`: `pinchbench-async --model …` runs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {"-h", "--help", "--version"}
        by_option = args and args[0].startswith("-") and args[0] not in own
        by_environment = not args and bool(os.environ.get("PINCHBENCH_MODEL"))  # for click, empty is not set
        if by_option or by_environment:
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        run = self.commands["run"]
        rows = [row for option in run.get_params(ctx) if (row := option.get_help_record(ctx)) is not None]
        with formatter.section("Options of `run`, the default command"):
            formatter.write_dl(rows)
        self.format_commands(ctx, formatter)


@click.group(
    cls=_DefaultRun,
    context_settings=CONTEXT,
    epilog="Try it without any provider: pinchbench-async --model demo/oracle --concurrency 4",
)
@click.version_option(package_name="pinchbench-async", prog_name="pinchbench-async")
def cli() -> None:
    """Find out how good a model is as the brain of an OpenClaw agent.

    Runs a suite of tasks on real OpenClaw, several at once, each in a workspace of its own, and writes one results
    file. Its path is printed to stdout; everything else goes to stderr.
    """


for _command in (run, resume, regrade, tasks, openclaw):
    cli.add_command(_command)
