"""Options of commands, made from the table of settings, and commands whose help groups them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from pinchbench.config.settings import SETTINGS, Kind, Section, Setting
from pinchbench.defaults import Isolation, Network, Sandbox, SuiteFormat
from pinchbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from enum import StrEnum


FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
REST = "Other options"
SHOWS_ALL = "pinchbench.shows_all"  # the key in a context's `meta`
# What these commands do not state is as in the run that they go on with: no default, and nothing from the environment.
OF_ITS_RUN = ("resume", "replay")
OF_THE_COMMAND = ("output-dir",)
SEVERAL = (Kind.LIST, Kind.TEXTS, Kind.VARIABLES)


class _SuiteType(click.types.StringParamType):
    """An expression of `--suite`; `;` stands between several in the environment variable."""

    envvar_list_splitter: ClassVar[str] = ";"


class Integer(click.IntRange):
    """A whole number of a range; a message does not speak of ranges where a text is no number."""

    name = "integer"


class Number(click.FloatRange):
    """A number of a range."""

    name = "number"


# What other programs call it, by the option here.
_OTHER_NAMES = {
    "--base-url": ("--api-base", "--endpoint", "--url", "--host", "--server"),
    "--api-key-env": ("--api-key", "--key", "--token"),
    "--thinking": ("--reasoning", "--effort", "--reasoning-effort"),
    "--suite": ("--task", "--tasks", "--category", "--dataset"),
    "--suite core": ("--core",),
    "--keyword": ("--k", "--filter", "--grep", "--match", "--pattern"),
    "--limit": ("--max-samples", "--max-tasks", "--first", "--head"),
    "--last-failed": ("--lf", "--failed", "--failed-first", "--ff"),
    "--quiet": ("--silent", "--no-progress"),
    "--tasks-dir": ("--tasks-path", "--suite-dir", "--data-dir"),
    "--runs": ("--repeat", "--repeats", "--trials", "--epochs", "--repetitions", "--samples", "--count"),
    "--dry-run": ("--dry", "--plan", "--preview"),
    "--version": ("-V",),
    "--concurrency": (
        *("-j", "-n", "--jobs", "--workers", "--parallel", "--threads", "--processes", "--max-workers", "--slots"),
    ),
    "--judge": ("--grader", "--judge-model", "--scorer"),
    "--max-cost": ("--budget", "--max-price", "--cost-limit"),
    "--max-hours": ("--max-time", "--time-limit"),
    "--timeout-multiplier": ("--timeout", "--timeout-factor"),
    "--infra-retries": ("--retries", "--retry", "--max-retries"),
    "--output-dir": ("--output", "--out", "--results", "--results-dir", "--log-dir"),
    "--exitfirst": ("--fail-fast", "--maxfail", "--bail", "--stop-on-failure"),
    "--fail-under": ("--threshold", "--min-score"),
    "--openclaw": ("--openclaw-version", "--binary", "--program"),
    "--verbose": ("--debug", "--loud", "--show-output"),
}


def suggesting(error: click.NoSuchOption) -> click.UsageError:
    """Return the error with the option of that meaning or nearly that spelling, not one that only shares letters."""
    if error.ctx is None:
        return error
    from pinchbench.suite.yaml_nodes import misspelt

    known = {name for one in error.ctx.command.get_params(error.ctx) for name in one.opts if name.startswith("--")}
    wanted = error.option_name.partition("=")[0]
    meant = [name for name, others in _OTHER_NAMES.items() if wanted in others and name.partition(" ")[0] in known]
    opposite = f"--no-{wanted.removeprefix('--')}"
    near = meant or [one for _, one in misspelt([wanted], known=known - {opposite})]
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return click.UsageError(f"No such option {wanted!r}.{hint}", ctx=error.ctx)


def _joined(_context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> str | None:
    return ";".join(value) if value else None


def _head_of(_context: click.Context, _parameter: click.Parameter, cluster: str | None) -> str | None:
    """Return the head of the Ray cluster that --cluster names, as HOST:PORT; empty for this machine's cluster."""
    if cluster is None:
        return None
    engine, _, head = cluster.partition("://")
    if engine != "ray" or ("://" in cluster) != bool(head):
        raise ConfigError(f"--cluster {cluster} is neither `ray` nor `ray://HOST:PORT`.")
    return head


def _member_of(kind: type[StrEnum]) -> dict[str, Any]:
    return {"callback": lambda _context, _parameter, value: kind(value) if value else None}


SPECIAL: dict[str, dict[str, Any]] = {
    "cluster": {"callback": _head_of},
    "suite": {"type": _SuiteType(), "multiple": True, "callback": _joined},
    "suite-format": _member_of(SuiteFormat),
    "isolation": _member_of(Isolation),
    "sandbox": _member_of(Sandbox),
    "network": _member_of(Network),
}
NAMES = {
    "exitfirst": ("-x", "--exitfirst"),
    "json": ("--json", "as_json"),
    "keyword": ("-k", "--keyword"),
    "quiet": ("-q", "--quiet"),
    "verbose": ("-v", "--verbose"),
}


def option(*names: str, **settings: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - click's own types
    """Define an option with an environment variable of its name: `--output-dir` is `PINCHBENCH_OUTPUT_DIR`."""
    long = next(name for name in names if name.startswith("--"))
    variable = "PINCHBENCH_" + long.removeprefix("--").replace("-", "_").upper()
    return click.option(*names, envvar=variable, **settings)


def setting_option(name: str, command: str = "run", **others: Any) -> Callable[[Any], Any]:  # noqa: ANN401
    """Define the option of a setting as a command has it; `others` are settings of click that differ."""
    setting = SETTINGS[name]
    define = click.option if command in OF_ITS_RUN and name not in (*OF_THE_COMMAND, "json") else option
    return define(*NAMES.get(name, (f"--{name}",)), **{**_of(setting, command), **others})


def setting_options(command: str, **others: dict[str, Any]) -> Callable[[Any], Any]:
    """Give a command all options that it has by the table of settings.

    `others` are settings of click, by the name of the option with underscores, that are as this command has them.
    """

    def decorate(function: Any) -> Any:  # noqa: ANN401 - click's own types
        for setting in reversed([*SETTINGS.values()]):
            if command in setting.commands:
                how = others.get(setting.name.replace("-", "_"), {})
                function = setting_option(setting.name, command, **how)(function)
        return function

    return decorate


def config_fields(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options by the names of the fields that they fill: `no_wire` is the opposite of the field `wire`."""
    found = dict(options)
    for one in SETTINGS.values():
        if one.negates and (value := found.pop(one.name.replace("-", "_"), None)) is not None:
            found[one.field] = not value
    return found


def _of(setting: Setting, command: str) -> dict[str, Any]:
    of_its_run = command in OF_ITS_RUN and setting.name not in OF_THE_COMMAND
    text = setting.help
    if command == "resume" and setting.is_measured:
        text += " Another value than the run's needs --accept-changes."
    if setting.kind is Kind.FLAG:
        return {"is_flag": True, "help": text}
    default = None if of_its_run else setting.default
    several = setting.kind in SEVERAL
    how: dict[str, Any] = {"type": _type(setting), "metavar": setting.metavar, "help": text, "multiple": several}
    how |= SPECIAL.get(setting.name, {})
    if default is not None:
        how |= {"default": (default,) if how["multiple"] else default, "show_default": True}
    return how


def _type(setting: Setting) -> click.ParamType[Any] | None:
    if setting.choices:
        return click.Choice(setting.choices)
    match setting.kind:
        case Kind.INTEGER:
            least, most = (None if one is None else int(one) for one in (setting.least, setting.most))
            return Integer(least, most)
        case Kind.NUMBER:
            return Number(setting.least, setting.most, min_open=setting.is_above)
        case Kind.PATH | Kind.FILES:
            return FOLDER
        case Kind.OBJECT:
            return FILE
        case Kind.TEXT | Kind.TEXTS | Kind.LIST | Kind.VARIABLES | Kind.FLAG:
            return None


class SettingsCommand(click.Command):
    """A command whose help shows the basic settings by section, and with `--help-all` all of them."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Add `--help-all`, where it shows more than `--help`."""
        params = super().get_params(ctx)
        if any(not _is_basic(one) for one in self.params):
            params.append(
                click.Option(
                    ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all,
                    help="Show this message with all options, and exit.",
                )
            )  # fmt: skip
        return params

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, one section each."""
        for title, rows in self.option_sections(ctx, shows_all=bool(ctx.meta.get(SHOWS_ALL))):
            with formatter.section(title):
                formatter.write_dl(rows)

    def option_sections(
        self, ctx: click.Context, *, shows_all: bool = False
    ) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield the options as click formats them, by title; titles without options are omitted."""
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in (*(one.value for one in Section), REST)}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option) and (shows_all or _is_basic(parameter)):
                setting = _setting(parameter)
                record = parameter.get_help_record(ctx)
                if record is not None:
                    rows[REST if setting is None else setting.section.value].append(record)
        yield from ((title, found) for title, found in rows.items() if found)


def _setting(parameter: click.Parameter) -> Setting | None:
    long = next((name for name in parameter.opts if name.startswith("--")), "")
    return SETTINGS.get(long.removeprefix("--"))


def _is_basic(parameter: click.Parameter) -> bool:
    setting = _setting(parameter)
    return setting is None or setting.is_basic


def _show_all(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        context.meta[SHOWS_ALL] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


OUTPUT_DIR = setting_option("output-dir")
