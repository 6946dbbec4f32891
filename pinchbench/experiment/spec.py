"""An experiment's file: what its variants share and what differs, read with the line of each problem."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from pinchbench.config.judge import JudgeConfig
from pinchbench.config.run import RunConfig
from pinchbench.config.user_model import UserModelConfig
from pinchbench.defaults import DEFAULT_MARGIN, Isolation, Network, Sandbox
from pinchbench.errors import ConfigError, ExperimentError
from pinchbench.experiment.settings import SETTINGS, Kind, Scope
from pinchbench.runner.additions import WHOLE
from pinchbench.runner.scheduling.meter import NO_LIMITS, BudgetLimits
from pinchbench.suite.spelling import misspelt
from pinchbench.suite.yaml_nodes import YamlTextError, read_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pinchbench.experiment.settings import Setting
    from pinchbench.suite.yaml_nodes import YamlNode

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")  # of an experiment or a variant; it becomes part of file names
NAME_RULE = "1 to 60 letters, digits, dots, dashes and underscores, beginning with a letter or digit"
FEWEST_VARIANTS = 2
MOST_VARIANTS = 20
OWN_KEYS = ("name", "variants", "baseline", "budget", "until", "margin")
DECIDED = "decided"
BUDGET = MappingProxyType({field.name.replace("_", "-"): field.name for field in fields(BudgetLimits)})
DEFAULT_SEED = 1  # an order that is shuffled the same way each time
ENUMS: Mapping[str, type[Isolation | Sandbox | Network]] = {
    "isolation": Isolation,
    "sandbox": Sandbox,
    "network": Network,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Variant:
    """A variant: the options of its run, and the settings that its section of the file has."""

    name: str
    config: RunConfig
    differs: Mapping[str, object]


@dataclass(frozen=True, kw_only=True, slots=True)
class UntilDecided:
    """An experiment ends when it is decided; differences of up to `margin`, in 0-1, count as equal."""

    margin: float = DEFAULT_MARGIN


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiment:
    """What to compare.

    Attributes:
        name: the experiment's name, part of the names of its files.
        variants: 2 to 20, the baseline first.
        seed: decides the order of trials.
        budget: what all variants may use together.
        until: when it ends; None if every trial is made.
    """

    name: str
    variants: tuple[Variant, ...]
    seed: int
    budget: BudgetLimits = NO_LIMITS
    until: UntilDecided | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Section:
    """The settings of one mapping: values by field for a run, its judge and its user's model, and as written."""

    run: Mapping[str, object]
    judge: Mapping[str, object]
    user: Mapping[str, object]
    written: Mapping[str, object]


def read_experiment(path: Path) -> Experiment:
    """Read an experiment's file. Paths in it are relative to its folder. Blocks.

    Raises ExperimentError, with every problem and its line.
    """
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise ExperimentError(path, [(1, f"it can't be read: {error.strerror}")]) from error
    except UnicodeDecodeError as error:
        raise ExperimentError(path, [(1, "it is not text in UTF-8")]) from error
    return _Reader(path).read(text)


def of_models(models: tuple[str, ...], config: RunConfig, *, until: UntilDecided | None = None) -> Experiment:
    """Return the experiment that compares models, and nothing else. Raises ConfigError."""
    if repeated := sorted({one for one in models if models.count(one) > 1}):
        raise ConfigError(f"--model {repeated[0]} is given twice; an experiment compares different models.")
    seed = DEFAULT_SEED if config.seed is None else config.seed
    names = [re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip("-.")[:60] for model in models]
    variants = tuple(
        Variant(name=name, config=replace(config, model=model, seed=seed), differs={"model": model})
        for name, model in zip(names, models, strict=True)
    )
    return Experiment(name="models", variants=variants, seed=seed, until=until)


class _Reader:
    """Reads one file and collects its problems."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._problems: list[tuple[int, str]] = []

    def read(self, text: str) -> Experiment:
        try:
            root = read_yaml(text.removeprefix("\ufeff"))
        except YamlTextError as error:
            raise ExperimentError(self._path, [(error.line, error.reason)]) from error
        if root is None or root.fields is None:
            raise ExperimentError(self._path, [(1, "it must hold `key: value` lines, `variants` among them")])
        shared = self._section({key: node for key, node in root.fields.items() if key not in OWN_KEYS}, is_top=True)
        name = self._name(root)
        judge = self._judge(shared, root)
        if (user := self._user(shared, root)) is not None:
            shared = replace(shared, run={**shared.run, "user": user})
        variants = self._variants(root, shared, judge)
        variants = self._baseline_first(root.fields.get("baseline"), variants)
        budget = self._budget(root.fields.get("budget"), variants)
        until = self._until(root.fields.get("until"), root.fields.get("margin"))
        if self._problems:
            raise ExperimentError(self._path, sorted(self._problems))
        seed = variants[0].config.seed or 0
        return Experiment(name=name, variants=variants, seed=seed, budget=budget, until=until)

    def _problem(self, node: YamlNode, reason: str) -> None:
        self._problems.append((node.line, reason))

    def _name(self, root: YamlNode) -> str:
        assert root.fields is not None  # noqa: S101 - checked by the caller
        node = root.fields.get("name")
        name = self._path.stem if node is None else node.text or ""
        if not NAME.fullmatch(name):
            self._problem(node or root, f"the experiment's name {name!r} is not {NAME_RULE}; set it with `name:`")
        return name

    def _judge(self, shared: _Section, root: YamlNode) -> JudgeConfig | None:
        if not shared.judge:
            return None
        if "model" not in shared.judge:
            self._problem(root, "a setting of the judge needs `judge: MODEL`")
            return None
        try:
            return JudgeConfig(**cast("Any", shared.judge))
        except ConfigError as error:
            self._problem(root, str(error))
            return None

    def _user(self, shared: _Section, root: YamlNode) -> UserModelConfig | None:
        if not shared.user:
            return None
        if "model" not in shared.user:
            self._problem(root, "a setting of the user's model needs `user-model: MODEL`")
            return None
        try:
            return UserModelConfig(**cast("Any", shared.user))
        except ConfigError as error:
            self._problem(root, str(error))
            return None

    def _variants(self, root: YamlNode, shared: _Section, judge: JudgeConfig | None) -> tuple[Variant, ...]:
        assert root.fields is not None  # noqa: S101 - checked by the caller
        node = root.fields.get("variants")
        if node is None or node.fields is None:
            self._problem(node or root, "`variants:` must map a name to the settings of each variant")
            return ()
        if not FEWEST_VARIANTS <= len(node.fields) <= MOST_VARIANTS:
            self._problem(node, f"an experiment has {FEWEST_VARIANTS} to {MOST_VARIANTS} variants")
        found = (self._variant(name, child, shared, judge) for name, child in node.fields.items())
        variants = tuple(one for one in found if one is not None)
        self._check_different(node, variants)
        return variants

    def _variant(self, name: str, node: YamlNode, shared: _Section, judge: JudgeConfig | None) -> Variant | None:
        if not NAME.fullmatch(name):
            self._problem(node, f"the variant's name {name!r} is not {NAME_RULE}")
        if node.fields is None and not node.is_null:
            self._problem(node, f"the variant {name} must hold `key: value` lines")
            return None
        own = self._section(node.fields or {}, is_top=False)
        settings = {"seed": DEFAULT_SEED, **shared.run, **own.run}
        if "model" not in settings:
            self._problem(node, f"the variant {name} has no `model`, and neither has the experiment")
            return None
        try:
            config = RunConfig(**cast("Any", settings), judge=judge)  # their kinds are checked by `_value`
        except ConfigError as error:
            self._problem(node, f"variant {name}: {error}")
            return None
        return Variant(name=name, config=config, differs=own.written)

    def _check_different(self, node: YamlNode, variants: tuple[Variant, ...]) -> None:
        seen: dict[str, str] = {}
        for one in variants:
            settings = repr(one.config)
            if settings in seen:
                self._problem(node, f"the variants {seen[settings]} and {one.name} are the same")
            seen.setdefault(settings, one.name)

    def _baseline_first(self, node: YamlNode | None, variants: tuple[Variant, ...]) -> tuple[Variant, ...]:
        if node is None:
            return variants
        if node.text not in [one.name for one in variants]:
            self._problem(node, f"`baseline` names no variant: {node.text!r}")
        return tuple(sorted(variants, key=lambda one: one.name != node.text))

    def _budget(self, node: YamlNode | None, variants: tuple[Variant, ...]) -> BudgetLimits:
        if node is None:
            return NO_LIMITS
        found: dict[str, object] = {}
        for key, child in (node.fields or {}).items():
            if key not in BUDGET:
                self._problem(child, f"`{key}` is not a limit of a budget; they are {', '.join(BUDGET)}")
            elif (value := self._value(key, SETTINGS[key], child)) is None:
                continue
            elif not isinstance(value, int | float) or value <= 0:
                self._problem(child, f"`{key}` is above 0")
            else:
                found[BUDGET[key]] = value
        if not node.fields:
            self._problem(node, f"`budget` has at least one of {', '.join(BUDGET)}")
        unpriced = [one.name for one in variants if one.config.base_url is not None and one.config.price_in is None]
        if "max_cost" in found and unpriced:
            self._problem(
                node,
                f"`max-cost` needs the prices of the endpoint of {', '.join(unpriced)}: state `price-in` and"
                " `price-out`, or use `max-tokens`",
            )
        return BudgetLimits(**cast("Any", found))

    def _until(self, until: YamlNode | None, margin: YamlNode | None) -> UntilDecided | None:
        if until is not None and until.text != DECIDED:
            self._problem(until, f"`until` is `{DECIDED}`, or is left out to make every trial")
        if margin is None:
            return None if until is None else UntilDecided()
        size = _number(margin)
        if until is None:
            self._problem(margin, f"`margin` needs `until: {DECIDED}`")
        if size is not None and 0 <= size <= 1:
            return UntilDecided(margin=size)
        self._problem(margin, "`margin` takes a number from 0 to 1")
        return None

    def _section(self, fields: Mapping[str, YamlNode], *, is_top: bool) -> _Section:
        known = [
            *(name for name, one in SETTINGS.items() if is_top or one.scope is Scope.VARIANT),
            *(OWN_KEYS if is_top else ()),
        ]
        near = dict(misspelt(fields, known=known))
        run: dict[str, object] = {}
        judge: dict[str, object] = {}
        user: dict[str, object] = {}
        written: dict[str, object] = {}
        for key, node in fields.items():
            setting = SETTINGS.get(key)
            if setting is None:
                hint = f": did you mean `{near[key]}`?" if key in near else ""
                self._problem(node, f"`{key}` is not a setting of {'an experiment' if is_top else 'a variant'}{hint}")
            elif not is_top and setting.scope is not Scope.VARIANT:
                self._problem(node, f"`{key}` is the same for all variants: it stands above `variants`")
            elif (value := self._value(key, setting, node)) is not None:
                {Scope.JUDGE: judge, Scope.USER: user}.get(setting.scope, run)[setting.field] = value
                written[key] = node.value
        return _Section(run=run, judge=judge, user=user, written=written)

    def _value(self, key: str, setting: Setting, node: YamlNode) -> object | None:
        expected, read = READERS[setting.kind]
        value = read(node)
        if value is None:
            self._problem(node, f"`{key}` takes {expected}")
            return None
        if setting.kind is Kind.FLAG:
            return value is not setting.negates
        if setting.kind is Kind.PATH:
            return self._place(str(value))
        if isinstance(value, dict) and setting.kind is Kind.FILES:
            return {place: str(self._place(str(source))) for place, source in value.items()}
        if setting.choices and value not in setting.choices:
            self._problem(node, f"`{key}` is one of {', '.join(setting.choices)}")
            return None
        kind = ENUMS.get(setting.field)
        return value if kind is None else kind(str(value))

    def _place(self, text: str) -> Path:
        """Return a path of the file, which is relative to its folder."""
        return self._path.parent / Path(text).expanduser()


def _integer(node: YamlNode) -> int | None:
    return node.value if isinstance(node.value, int) and not isinstance(node.value, bool) else None


def _number(node: YamlNode) -> float | None:
    return float(node.value) if isinstance(node.value, int | float) and not isinstance(node.value, bool) else None


def _flag(node: YamlNode) -> bool | None:
    return node.value if isinstance(node.value, bool) else None


def _texts(node: YamlNode) -> tuple[str, ...] | None:
    texts = [item.text for item in node.items or ()]
    return tuple(text for text in texts if text is not None) if node.items and None not in texts else None


def _object(node: YamlNode) -> dict[str, object] | None:
    return {key: child.value for key, child in node.fields.items()} if node.fields is not None else None


def _members(node: YamlNode) -> dict[str, str] | None:
    texts = {key: child.text for key, child in (node.fields or {}).items()}
    found = {key: text for key, text in texts.items() if text is not None}
    return found if node.fields is not None and len(found) == len(texts) else None


def _files(node: YamlNode) -> dict[str, str] | None:
    return {WHOLE: node.text} if node.text else _members(node)


READERS: Mapping[Kind, tuple[str, Callable[[YamlNode], object | None]]] = MappingProxyType(
    {
        Kind.TEXT: ("text", lambda node: node.text),
        Kind.PATH: ("a path", lambda node: node.text or None),
        Kind.INTEGER: ("a whole number", _integer),
        Kind.NUMBER: ("a number", _number),
        Kind.FLAG: ("true or false", _flag),
        Kind.LIST: ("a list of texts", _texts),
        Kind.FILES: ("a folder, or files by their places in the workspace", _files),
        Kind.VARIABLES: ("values by name", _members),
        Kind.OBJECT: ("settings by name", _object),
    }
)
