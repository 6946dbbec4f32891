"""Groups of commands that are imported when they are called, and help that never breaks a word."""

from __future__ import annotations

import shutil
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from pinchbench.report.text import folded

if TYPE_CHECKING:
    from collections.abc import Mapping

ENDLESS = 100_000  # columns: longer than any text of ours
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


class Formatter(click.HelpFormatter):
    """A help formatter that never breaks a line within a word, not even preformatted lines of a docstring.

    Click breaks long words and at hyphens, so it formats unbroken lines, which are folded at the end.
    """

    def __init__(self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None) -> None:
        """Initialise click's formatter with a width that no line reaches."""
        super().__init__(indent_increment, width=ENDLESS)
        self._columns = min(width or shutil.get_terminal_size().columns, max_width or ENDLESS)

    def getvalue(self) -> str:
        """Return all that was written, folded to the width."""
        return folded(super().getvalue(), self._columns)


# What other programs call it, by the command here.
_OTHER_NAMES = {
    "history": ("runs", "list", "ls", "results", "log", "logs"),
    "list": ("ls",),
    "run": ("eval", "bench", "benchmark", "test", "start", "exec"),
    "report": ("show", "html", "summary"),
    "serve": ("view", "ui", "web", "open", "dashboard"),
    "compare": ("diff",),
    "resume": ("continue", "retry"),
    "ctl": ("stop", "pause", "cancel", "kill", "status"),
    "regrade": ("grade", "score", "rescore"),
    "doctor": ("check", "diagnose", "health"),
    "check": ("validate", "lint", "verify", "test"),
    "new": ("create", "init", "add"),
    "publish": ("share", "bundle"),
    "upload": ("submit", "register", "push"),
    "demo": ("example", "quickstart"),
    "openclaw install": ("install", "setup", "update", "upgrade"),
    "--help": ("help",),
    "--version": ("version",),
}


class _Context(click.Context):
    formatter_class = Formatter


class LazyGroup(click.Group):
    """A group that knows the lines of its commands, and imports a command when it is called or asked for its help."""

    context_class = _Context

    def __init__(self, *args: Any, lines: Mapping[str, str], modules: Mapping[str, str], **settings: Any) -> None:  # noqa: ANN401
        """Initialise the group: `lines` say what each command does, by its name; the other arguments are for click.

        A command is the function of that name in `pinchbench.cli`, in the module that `modules` gives for it, or in
        that of its own name.
        """
        super().__init__(*args, **settings)
        self.lines = lines
        self._modules = modules

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the commands in the order in which users need them."""
        return [*self.lines, *self.commands]

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None for an unknown one."""
        if cmd_name not in self.lines:
            return self.commands.get(cmd_name)
        module = import_module(f"pinchbench.cli.{self._modules.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        use_formatter(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown one is an error that names the one of that meaning, or the most similar."""
        known = self.list_commands(ctx)
        if args[0] not in known:
            from difflib import get_close_matches  # help does not wait for it

            there = {*known, "--help", "--version"}
            meant = [one for one, others in _OTHER_NAMES.items() if args[0] in others and one.split()[0] in there]
            if near := meant or get_close_matches(args[0], known, n=1):
                raise click.UsageError(f"No such command {args[0]!r}. Did you mean {near[0]!r}?", ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands."""
        own = {name: command.get_short_help_str(ENDLESS) for name, command in self.commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl([*self.lines.items(), *own.items()])


def use_formatter(command: click.Command) -> None:
    """Let the help of a command, and of those in it, be written by `Formatter`, and give each `--version`."""
    command.context_class = _Context
    if not any("--version" in one.opts for one in command.params):
        shown = {"package_name": "pinchbench-async", "prog_name": "pinchbench-async"}
        click.version_option(None, "--version", "shows_version", hidden=True, **shown)(command)
    if isinstance(command, click.Group):
        for one in command.commands.values():
            use_formatter(one)
