"""The settings of the commands, each declared once, and what their values may be: options, keys, checks, docs.

`--help` waits for this module, so it imports nothing beyond the standard library.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pinchbench.defaults import (
    APIS,
    DEFAULT_MARGIN,
    DEFAULT_OUTPUT_DIR,
    DEFAULT_PASS_THRESHOLD,
    DEFAULT_RUN_ROOT,
    MAX_MODEL,
    MAX_RUNS,
    MAX_SEED,
    THINKING_LEVELS,
    Isolation,
    Network,
    Sandbox,
    SuiteFormat,
)
from pinchbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Kind(StrEnum):
    """What a setting's value is."""

    TEXT = "text"
    INTEGER = "whole number"
    NUMBER = "number"
    FLAG = "true or false"
    LIST = "list"
    TEXTS = "text, or a list of them"
    PATH = "folder"
    FILES = "folder or files"
    VARIABLES = "variables"
    OBJECT = "settings of OpenClaw"


class Scope(StrEnum):
    """Where a setting may stand in an experiment's file, and what it belongs to.

    What the comparison rests on is the same for all variants: tasks, repetitions, the judge, and where results go.
    """

    EXPERIMENT = "the experiment"
    VARIANT = "a variant"
    JUDGE = "the judge"
    USER = "the user's model"
    COMMAND = ""  # no key of an experiment


class Section(StrEnum):
    """The title of the settings in help and documentation, in their order."""

    MODEL = "The model"
    TASKS = "What is run"
    JUDGE = "Judging"
    USER = "Simulated users"
    AGENTS = "What the agents have"
    REACH = "What the agents can reach"
    LIMITS = "Limits of the run"
    RETRIES = "Failures"
    WIRE = "Requests to the model"
    GATE = "Gate"
    PLACES = "OpenClaw and places"
    OUTPUT = "What is shown and sent"


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """A setting.

    Attributes:
        name: `max-cost` is the option `--max-cost`, the variable `PINCHBENCH_MAX_COST` and the key of a file.
        commands: the commands that have it; none for a key of experiments alone.
        default: of a run; None if it is off, or said in `help`. Flags are off.
        least: the smallest value; with `is_above`, the number that it must exceed.
        choices: the only values; empty for any.
        scope: where it may stand in an experiment's file.
        is_basic: whether `--help` shows it, or `--help-all` alone.
        is_measured: whether a run's numbers depend on it: another value for a resumed run has to be accepted.
        field: the field of `RunConfig`, `JudgeConfig` or `UserModelConfig` that it fills.
        negates: a flag such as `no-wire`, which turns its field off.
    """

    name: str
    kind: Kind
    section: Section
    help: str
    commands: frozenset[str]
    default: Any = None
    least: float | None = None
    is_above: bool = False
    most: float | None = None
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    scope: Scope = Scope.VARIANT
    is_basic: bool = False
    is_measured: bool = False
    field: str
    negates: bool = False

    @property
    def range(self) -> str:
        """The range as a part of a sentence; empty for any number."""
        low, high = self.least, self.most
        if low is not None and high is not None and not self.is_above:
            return f"it goes from {low:.15g} to {high:.15g}"
        bounds = [f"{'above' if self.is_above else 'at least'} {low:.15g}"] if low is not None else []
        bounds += [f"at most {high:.15g}"] if high is not None else []
        return f"it is {' and '.join(bounds)}" if bounds else ""

    def check(self, value: object, *, named: str = "") -> None:
        """Raise ConfigError for a number that is out of range and a text that is none of the choices; None passes.

        `named` is what the sentence calls the setting: its option if empty.
        """
        named = named or f"--{self.name}"
        if value is None:
            return
        if self.choices and value not in self.choices:
            raise ConfigError(f"{named} {value} is not one of its values; they are {', '.join(self.choices)}.")
        if isinstance(value, int | float) and self.range:
            low = -math.inf if self.least is None else self.least
            high = math.inf if self.most is None else self.most
            fits = low < value <= high if self.is_above else low <= value <= high
            if not fits or math.isinf(value):
                raise ConfigError(f"{named} {value} is out of range; {self.range}.")


def _values(kind: type[StrEnum]) -> tuple[str, ...]:
    return tuple(one.value for one in kind)


def _declare(
    name: str,
    kind: Kind,
    section: Section,
    help: str,  # noqa: A002 - the name that click has for it
    commands: str = "run",
    **settings: Any,  # noqa: ANN401 - the other attributes of `Setting`
) -> Setting:
    given: dict[str, Any] = {"field": name.removeprefix("no-").replace("-", "_"), "negates": name.startswith("no-")}
    given |= {"commands": frozenset(commands.split()), "default": False if kind is Kind.FLAG else None, **settings}
    return Setting(name=name, kind=kind, section=section, help=help, **given)


_RUNS = "run resume"
_ALL = "run resume replay regrade experiment"
_JUDGING = "run resume regrade replay check judge"

SETTINGS: Mapping[str, Setting] = MappingProxyType({
    one.name: one
    for one in (
        _declare("model", Kind.TEXT, Section.MODEL,
                 "Model as OpenClaw names it, such as anthropic/claude-sonnet-4-6, or ENDPOINT/MODEL of the settings"
                 " file. Built in, without a provider: demo/oracle plays the solutions, demo/null does nothing. May be"
                 " repeated: models are run side by side and compared with the first.",
                 "run resume doctor", is_basic=True, is_measured=True),
        _declare("base-url", Kind.TEXT, Section.MODEL, "An endpoint for the model's provider, such as a local server.",
                 "run resume doctor", metavar="URL", is_basic=True, is_measured=True),
        _declare("api", Kind.TEXT, Section.MODEL,
                 "That endpoint's protocol, by OpenClaw's name (default: openai-completions). For Ollama: ollama.",
                 "run resume doctor", choices=APIS, is_measured=True),
        _declare("api-key-env", Kind.TEXT, Section.MODEL,
                 "The environment variable that holds that endpoint's key.",
                 "run resume doctor", metavar="NAME", is_basic=True),
        _declare("price-in", Kind.NUMBER, Section.MODEL, "What a million tokens sent to that endpoint cost.", _RUNS,
                 metavar="USD", least=0, is_measured=True),
        _declare("price-out", Kind.NUMBER, Section.MODEL, "What a million tokens of its answers cost.", _RUNS,
                 metavar="USD", least=0, is_measured=True),
        _declare("thinking", Kind.TEXT, Section.MODEL, "OpenClaw's thinking level.", _RUNS,
                 choices=THINKING_LEVELS, is_basic=True, is_measured=True),
        _declare("accept-unknown-model", Kind.FLAG, Section.MODEL,
                 "Run a model that OpenClaw's catalogue does not list.", _RUNS),
        _declare("suite", Kind.TEXT, Section.TASKS,
                 "all, core, hard, automated-only, a category, task ids; commas mix. NAME or NAME:…: an added suite, or"
                 " tasks of it. May be repeated: several suites in one run, each with its own score.",
                 "run replay regrade check judge doctor list", default="all", scope=Scope.EXPERIMENT, is_basic=True),
        _declare("keyword", Kind.TEXT, Section.TASKS,
                 "Of these, the tasks whose id, name or category fits: words, joined by and, or, not and parentheses.",
                 metavar="EXPR", scope=Scope.COMMAND),
        _declare("last-failed", Kind.FLAG, Section.TASKS,
                 "Of these, the tasks that did not pass in the last run of the model in --output-dir.",
                 scope=Scope.COMMAND),
        _declare("reuse", Kind.TEXT, Section.TASKS,
                 "Count the trials of an earlier run whose task, model, settings and OpenClaw are the same, and run the"
                 " rest. Results mark what was reused; the run says why the rest was not.", metavar="RUN",
                 scope=Scope.EXPERIMENT),
        _declare("limit", Kind.INTEGER, Section.TASKS, "Of these, the first N tasks.", metavar="N", least=1,
                 scope=Scope.COMMAND),
        _declare("tasks-dir", Kind.PATH, Section.TASKS,
                 "The suite's folder (default: the bundled tasks, or that of the run that is named).",
                 "run resume replay regrade check judge doctor list", scope=Scope.EXPERIMENT),
        _declare("suite-format", Kind.TEXT, Section.TASKS,
                 "The format of its tasks (default: detected from the files).", "run check judge doctor list",
                 choices=_values(SuiteFormat), scope=Scope.EXPERIMENT),
        _declare("form", Kind.INTEGER, Section.TASKS,
                 "A fresh form of the tasks: other data, other answers. Tasks without one are left out.", "run list",
                 metavar="SEED", least=0, most=MAX_SEED, scope=Scope.EXPERIMENT, is_measured=True),
        _declare("form-from", Kind.TEXT, Section.TASKS,
                 "The same with a seed drawn from a public text that nobody could know before, such as closing prices"
                 " of the day: the first four bytes of the SHA-256 of its UTF-8.", "run list", metavar="TEXT",
                 scope=Scope.EXPERIMENT),
        _declare("runs", Kind.INTEGER, Section.TASKS, "Repetitions of each task (default: 1, or what the task states).",
                 least=1, most=MAX_RUNS, scope=Scope.EXPERIMENT, is_basic=True),
        _declare("concurrency", Kind.INTEGER, Section.TASKS,
                 "Trials at once; about 1 GB of memory each.",
                 "run resume replay doctor", default=1, least=1, most=1024, scope=Scope.EXPERIMENT, is_basic=True),
        _declare("cluster", Kind.TEXT, Section.TASKS,
                 "Run the trials on the nodes of a Ray cluster that this machine is part of, and grade them here. ray:"
                 " the one that RAY_ADDRESS or the last `ray start` names. ray://HOST:PORT: the one with this head.",
                 "run resume replay experiment", metavar="ray[://HOST:PORT]", scope=Scope.COMMAND),
        _declare("until", Kind.TEXT, Section.TASKS,
                 "End an experiment as soon as each variant is decided to be better, worse or equal within --margin, or"
                 " what --runs leaves can hardly decide it.",
                 "experiment", choices=("decided",), scope=Scope.COMMAND),
        _declare("seed", Kind.INTEGER, Section.TASKS,
                 "The order of the trials: the same number gives the same one.",
                 "", least=0, most=MAX_SEED, scope=Scope.EXPERIMENT),
        _declare("skip-broken", Kind.FLAG, Section.TASKS, "Leave broken task files out instead of stopping.",
                 scope=Scope.EXPERIMENT),
        _declare("judge", Kind.TEXTS, Section.JUDGE,
                 "Who grades what a check can't: openai/MODEL, openrouter/MODEL, anthropic/MODEL, ENDPOINT/MODEL of the"
                 " settings file, or openclaw:MODEL (an agent without tools). May be repeated: the mean of the judges'"
                 " grades counts, and their agreement is reported.",
                 f"{_JUDGING} doctor", metavar="MODEL", scope=Scope.JUDGE, field="model", is_basic=True,
                 is_measured=True),
        _declare("judge-base-url", Kind.TEXT, Section.JUDGE,
                 "An OpenAI-compatible endpoint for a judge that is not in the settings file.", _JUDGING,
                 metavar="URL", scope=Scope.COMMAND),
        _declare("judge-api-key-env", Kind.TEXT, Section.JUDGE,
                 "The environment variable that holds that endpoint's key.", _JUDGING, metavar="NAME",
                 scope=Scope.COMMAND),
        _declare("judge-votes", Kind.INTEGER, Section.JUDGE,
                 "How often the judge is asked about each trial; the median counts.", _JUDGING, default=1, least=1,
                 most=25, scope=Scope.JUDGE, field="votes", is_measured=True),
        _declare("judge-concurrency", Kind.INTEGER, Section.JUDGE, "Calls to the judge at once.", "", default=4,
                 least=1, most=64, scope=Scope.JUDGE, field="concurrency"),
        _declare("no-judge-cache", Kind.FLAG, Section.JUDGE, "Ignore cached answers of the judge.", _JUDGING,
                 scope=Scope.JUDGE, field="cache"),
        _declare("pass-threshold", Kind.NUMBER, Section.JUDGE, "The score from which a trial counts as passed.",
                 default=DEFAULT_PASS_THRESHOLD, least=0, is_above=True, most=1, scope=Scope.EXPERIMENT,
                 is_measured=True),
        _declare("user-model", Kind.TEXT, Section.USER,
                 "Who plays the user of tasks that have a simulated one: PROVIDER/MODEL, as for --judge.", _RUNS,
                 metavar="MODEL", scope=Scope.USER, field="model", is_basic=True, is_measured=True),
        _declare("skills", Kind.PATH, Section.AGENTS, "A folder of skills that the agents have in addition to"
                 " OpenClaw's own."),
        _declare("workspace-files", Kind.FILES, Section.AGENTS,
                 "A folder whose content, such as AGENTS.md, is added to each workspace."),
        _declare("openclaw-config", Kind.OBJECT, Section.AGENTS,
                 "Settings, as in openclaw.json, that are merged into that of the agents.", metavar="FILE",
                 is_measured=True),
        _declare("env", Kind.VARIABLES, Section.AGENTS,
                 "An environment variable that the agents get, without a key. May be repeated.",
                 metavar="NAME=VALUE", is_measured=True),
        _declare("pass-env", Kind.LIST, Section.AGENTS,
                 "An environment variable of yours that the agents get too; by default they get what every program"
                 " needs and the key of their model. May be repeated.", _RUNS, metavar="NAME"),
        _declare("isolation", Kind.TEXT, Section.REACH,
                 "private: an OpenClaw state of its own for each trial. shared: agents in your own ~/.openclaw, through"
                 " your gateway.",
                 "run doctor", default="private", choices=_values(Isolation), is_basic=True, is_measured=True),
        _declare("sandbox", Kind.TEXT, Section.REACH,
                 "namespaces: each trial sees its workspace, the system and OpenClaw alone, and nothing of you."
                 " landlock: it can neither read nor change anything else. auto: the first that the machine allows."
                 " none: agents run as you.", default="auto", choices=_values(Sandbox), is_basic=True),
        _declare("network", Kind.TEXT, Section.REACH,
                 "What a sandboxed trial can connect to. model: the model alone, or everything if its task states"
                 " `network: true`. none: the model alone; tasks that state it are not run. auto: model, if the wire"
                 " has the model's endpoint, else open.", default="auto", choices=_values(Network), is_basic=True),
        _declare("sandbox-allow", Kind.LIST, Section.REACH,
                 "A path that sandboxed trials see too, writable with :rw. May be repeated.", metavar="PATH[:rw]"),
        # One trial of the core suite uses at most 1.26 GiB, 34 tasks and 4 MiB of home (2026.9.6): the rest is for what
        # agents build and run.
        _declare("max-memory", Kind.NUMBER, Section.REACH,
                 "Memory of a trial's processes together; one that exceeds a limit of these is ended, and graded.",
                 metavar="GIB", default=8.0, least=2),
        _declare("max-processes", Kind.INTEGER, Section.REACH, "Its processes and threads at once.", "",
                 default=2048, least=200),
        _declare("max-disk", Kind.NUMBER, Section.REACH, "The GiB of its workspace and its home.", "",
                 default=10.0, least=0.1),
        _declare("max-cost", Kind.NUMBER, Section.LIMITS, "End the run before it costs more, the judge included.",
                 _RUNS, metavar="USD", least=0, is_above=True, is_basic=True),
        _declare("max-tokens", Kind.INTEGER, Section.LIMITS, "End the run before it uses more tokens.", _RUNS,
                 metavar="N", least=1),
        _declare("max-hours", Kind.NUMBER, Section.LIMITS, "End the run after this time.", _RUNS, metavar="H", least=0,
                 is_above=True, is_basic=True),
        _declare("exitfirst", Kind.FLAG, Section.LIMITS,
                 "End the run at the first trial that does not pass, and exit with 11.", scope=Scope.COMMAND),
        _declare("timeout-multiplier", Kind.NUMBER, Section.LIMITS, "Scales every task's time limit.",
                 "run resume replay", default=1.0, least=0, is_above=True, most=100, is_measured=True),
        _declare("infra-retries", Kind.INTEGER, Section.RETRIES,
                 "How many times a trial is retried after an infrastructure failure.", _RUNS, default=2, least=0,
                 most=20),
        _declare("no-fail-fast", Kind.FLAG, Section.RETRIES,
                 "Neither pause nor end the run when many trials fail for the same infrastructure reason.", _RUNS),
        _declare("no-preflight", Kind.FLAG, Section.RETRIES,
                 "Do not ask the endpoints of the model, the judge and the user's model one question first.", _RUNS),
        _declare("no-wire", Kind.FLAG, Section.WIRE, "Do not record the requests between OpenClaw and the model.",
                 _RUNS),
        _declare("max-requests", Kind.INTEGER, Section.WIRE,
                 "Requests to the model at once; fewer while it answers 429.", _RUNS, metavar="N", least=1, most=1000),
        _declare("fail-under", Kind.NUMBER, Section.GATE, "Exit with 11 if the score is below X.",
                 "run resume regrade experiment", metavar="X", least=0, most=1, scope=Scope.COMMAND, is_basic=True),
        _declare("baseline", Kind.TEXT, Section.GATE,
                 "Compare with a run, or with a file that `baseline` wrote, and exit with 11 if this run is worse.",
                 "run resume regrade experiment", metavar="RUN|FILE", scope=Scope.COMMAND, is_basic=True),
        _declare("margin", Kind.NUMBER, Section.GATE,
                 "The loss against the baseline that does not matter; with --until decided, the difference of variants"
                 f" that does not (default: {DEFAULT_MARGIN:g}).", "run resume regrade experiment", metavar="M",
                 least=0, most=1, scope=Scope.COMMAND),
        _declare("openclaw", Kind.TEXT, Section.PLACES,
                 "Which OpenClaw (default: the one on PATH, else the newest that `openclaw install` installed).",
                 "run resume replay regrade check judge doctor", metavar="PATH|VERSION", is_basic=True),
        _declare("output-dir", Kind.PATH, Section.PLACES,
                 "Where results go, and where a run that is named is looked for.",
                 "run resume replay regrade doctor", default=DEFAULT_OUTPUT_DIR, scope=Scope.EXPERIMENT, is_basic=True),
        _declare("run-root", Kind.PATH, Section.PLACES, "Where workspaces go; they are kept.",
                 "run resume replay regrade check judge doctor", default=DEFAULT_RUN_ROOT, scope=Scope.EXPERIMENT),
        _declare("otlp", Kind.TEXT, Section.OUTPUT,
                 "Send OpenTelemetry traces of trials, model calls and scores to the collector at this URL, by OTLP"
                 " over HTTP; OTEL_EXPORTER_OTLP_HEADERS holds its headers.", "run resume experiment", metavar="URL",
                 scope=Scope.COMMAND),
        _declare("no-report", Kind.FLAG, Section.OUTPUT, "Write no report.html at the end.",
                 "run resume replay regrade", scope=Scope.COMMAND),
        _declare("no-upload", Kind.FLAG, Section.OUTPUT,
                 "Accepted as in PinchBench's own runner; nothing is sent before `upload RUN` in any case.",
                 scope=Scope.COMMAND),
        _declare("dry-run", Kind.FLAG, Section.OUTPUT,
                 "Show what would be run and how long it can take; start nothing.", "run experiment",
                 scope=Scope.COMMAND, is_basic=True),
        _declare("json", Kind.FLAG, Section.OUTPUT, "Print the whole result as JSON instead of its path.", _ALL,
                 scope=Scope.COMMAND, is_basic=True),
        _declare("quiet", Kind.FLAG, Section.OUTPUT, "Print nothing but errors and the result's path.",
                 "run resume replay regrade", scope=Scope.COMMAND),
        _declare("verbose", Kind.FLAG, Section.OUTPUT, "Show the agents' stdout and stderr as they come.", _RUNS,
                 scope=Scope.COMMAND, is_basic=True),
    )
})  # fmt: skip
OF_A_RUN = (Scope.EXPERIMENT, Scope.VARIANT)
DEFAULTS: Mapping[str, Any] = MappingProxyType({one.name: one.default for one in SETTINGS.values()})


def check_fields(config: object, *scopes: Scope) -> None:
    """Check the numbers and choices of a config against their settings. Raises ConfigError, naming the option."""
    for one in SETTINGS.values():
        if one.scope in scopes and one.kind is not Kind.FLAG:
            one.check(getattr(config, one.field))


def absolute_path(path: Path, *, option: str) -> Path:
    """Return the path that `option` means, `~` and the current folder put in.

    Raises ConfigError when there is no such home, the current folder is gone, or the path is no text.
    """
    try:
        absolute = path.expanduser().absolute()
        above = next((one for one in (absolute, *absolute.parents) if one.name == ".."), None)
        if above is not None:  # no sandbox accepts it; what comes after may be a planted link, and stays
            absolute = above.resolve() / absolute.relative_to(above)
    except RuntimeError as error:
        raise ConfigError(f"{option} {str(path)!r} names a home folder that does not exist.") from error
    except OSError as error:
        raise ConfigError(f"{option} {str(path)!r}: the current folder can't be found: {error.strerror}.") from error
    if not _is_text(str(absolute)):
        raise ConfigError(f"The path {str(absolute)!r} is not valid UTF-8; results could not name it.")
    return absolute


def check_text(option: str, value: str | None) -> None:
    """Raise ConfigError, naming `option`, when `value` can not be written as UTF-8."""
    if value is not None and not _is_text(value):
        raise ConfigError(f"{option} is not valid UTF-8; results could not name it.")


def check_model(option: str, model: str) -> None:
    """Raise ConfigError, naming `option`, when `model` is too long or no name."""
    if len(model) > MAX_MODEL:
        raise ConfigError(f"{option} is longer than {MAX_MODEL} characters; it looks like anthropic/claude-sonnet-4-6.")
    if not model.strip() or model != model.strip() or re.search(r"[\x00-\x1f]", model):
        raise ConfigError(f"{option} {model!r} is not a model name; it looks like anthropic/claude-sonnet-4-6.")


def check_url(option: str, url: str, *, key_option: str) -> None:
    """Raise ConfigError, naming `option`, when `url` is no plain http(s) URL; a key in it belongs elsewhere."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(f"{option} is not a URL; it looks like http://127.0.0.1:8000/v1.")
    if parts.username is not None:
        raise ConfigError(f"{option} must not hold a user name or key; put the key where {key_option} points.")
    if "?" in url or "#" in url:
        raise ConfigError(f"{option} must not have a query or fragment; put a key where {key_option} points.")


def check_key(option: str, name: str) -> None:
    """Raise ConfigError, naming `option`, when `name` is no environment variable or one that is not set."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ConfigError(f"{option} takes the name of an environment variable, not the key itself.")
    if not os.environ.get(name):
        raise ConfigError(f"{option} {name}: that environment variable is not set.")


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
