"""An experiment's file: what its variants share and what differs, read with the line of each problem."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, cast

from msgspec import Meta

from pinchbench.config.asked_models import JudgeConfig, UserModelConfig, several_judges
from pinchbench.config.run_config import RunConfig
from pinchbench.config.served import Endpoint, chat_at, run_at
from pinchbench.config.settings import SETTINGS, Scope
from pinchbench.defaults import DEFAULT_MARGIN
from pinchbench.errors import ConfigError, ExperimentError
from pinchbench.experiment.file_reader import FileReader
from pinchbench.runner.scheduling.meter import NO_LIMITS, BudgetLimits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pinchbench.suite.yaml_nodes import YamlNode

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")  # of an experiment or a variant; it becomes part of file names
NAME_RULE = "1 to 60 letters, digits, dots, dashes and underscores, beginning with a letter or digit"
FEWEST_VARIANTS = 2
MOST_VARIANTS = 20
OWN_KEYS = ("name", "variants", "baseline", "budget", "until", "margin", "endpoints")
DECIDED = "decided"
BUDGET = MappingProxyType({field.name.replace("_", "-"): field.name for field in fields(BudgetLimits)})
MARGIN = ("a number from 0 to 1", Annotated[float, Meta(ge=0, le=1)])
DEFAULT_SEED = 1  # an order that is shuffled the same way each time


@dataclass(frozen=True, kw_only=True, slots=True)
class Variant:
    """A variant: the options of its run, and the settings that its section of the file has."""

    name: str
    config: RunConfig
    differs: Mapping[str, object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiment:
    """What to compare.

    Attributes:
        name: the experiment's name, part of the names of its files.
        variants: 2 to 20, the baseline first.
        seed: decides the order of trials.
        budget: what all variants may use together.
        margin: the largest difference, in 0-1, that counts as equal in an experiment that ends when it is decided; None
            if every trial is made.
    """

    name: str
    variants: tuple[Variant, ...]
    seed: int
    budget: BudgetLimits = NO_LIMITS
    margin: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Section:
    """The settings of one mapping: values by field for a run, its judge and its user's model, and as written."""

    run: Mapping[str, object]
    judge: Mapping[str, object]
    user: Mapping[str, object]
    written: Mapping[str, object]


def read_experiment(path: Path, endpoints: Mapping[str, Endpoint] = MappingProxyType({})) -> Experiment:
    """Read an experiment's file. Paths in it are relative to its folder. Blocks.

    `endpoints` are those of the settings file; the experiment's own win. Raises ExperimentError, with every problem and
    its line.
    """
    return _Reader(path, endpoints).read()


def of_models(configs: Sequence[RunConfig]) -> Experiment:
    """Return the experiment that compares models, by runs that differ in nothing else. Raises ConfigError."""
    models = [one.model for one in configs]
    if repeated := sorted({one for one in models if models.count(one) > 1}):
        raise ConfigError(f"--model {repeated[0]} is given twice; an experiment compares different models.")
    names = [re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip("-.")[:60] for model in models]
    variants = tuple(
        Variant(name=name, config=replace(config, seed=DEFAULT_SEED), differs={"model": config.model})
        for name, config in zip(names, configs, strict=True)
    )
    return Experiment(name="models", variants=variants, seed=DEFAULT_SEED)


class _Reader(FileReader):
    """Reads an experiment's file."""

    def __init__(self, path: Path, endpoints: Mapping[str, Endpoint]) -> None:
        super().__init__(path)
        self._endpoints = endpoints

    def read(self) -> Experiment:
        root = self.root()
        if root is None or root.fields is None:
            reason = "it must hold `key: value` lines, `variants` among them"
            raise ExperimentError(self.path, self.problems or [(1, reason)])
        self._endpoints = {**self._endpoints, **self.endpoints(root.fields.get("endpoints"))}
        shared = self._section({key: node for key, node in root.fields.items() if key not in OWN_KEYS}, is_top=True)
        name = self._name(root, root.fields.get("name"))
        judge = self._judge(shared, root)
        if (user := self._user(shared, root)) is not None:
            shared = replace(shared, run={**shared.run, "user": user})
        variants = self._variants(root, shared, judge)
        variants = self._baseline_first(root.fields.get("baseline"), variants)
        budget = self._budget(root.fields.get("budget"), variants)
        margin = self._margin(root.fields.get("until"), root.fields.get("margin"))
        if self.problems:
            raise ExperimentError(self.path, sorted(self.problems))
        seed = variants[0].config.seed or 0
        return Experiment(name=name, variants=variants, seed=seed, budget=budget, margin=margin)

    def _name(self, root: YamlNode, node: YamlNode | None) -> str:
        name = self.path.stem if node is None else node.text or ""
        if not NAME.fullmatch(name):
            self.problem(node or root, f"the experiment's name {name!r} is not {NAME_RULE}; set it with `name:`")
        return name

    def _judge(self, shared: _Section, root: YamlNode) -> JudgeConfig | None:
        if not shared.judge:
            return None
        if "model" not in shared.judge:
            self.problem(root, "a setting of the judge needs `judge: MODEL`")
            return None
        try:
            places = (chat_at(self._endpoints, one, option="`judge`") for one in cast("Any", shared.judge["model"]))
            return several_judges([JudgeConfig(**{**cast("Any", shared.judge), **at}) for at in places])
        except ConfigError as error:
            self.problem(root, str(error))
            return None

    def _user(self, shared: _Section, root: YamlNode) -> UserModelConfig | None:
        if not shared.user:
            return None
        if "model" not in shared.user:
            self.problem(root, "a setting of the user's model needs `user-model: MODEL`")
            return None
        try:
            return UserModelConfig(**chat_at(self._endpoints, str(shared.user["model"]), option="`user-model`"))
        except ConfigError as error:
            self.problem(root, str(error))
            return None

    def _variants(self, root: YamlNode, shared: _Section, judge: JudgeConfig | None) -> tuple[Variant, ...]:
        node = (root.fields or {}).get("variants")
        if node is None or node.fields is None:
            self.problem(node or root, "`variants:` must map a name to the settings of each variant")
            return ()
        if not FEWEST_VARIANTS <= len(node.fields) <= MOST_VARIANTS:
            self.problem(node, f"an experiment has {FEWEST_VARIANTS} to {MOST_VARIANTS} variants")
        found = (self._variant(name, child, shared, judge) for name, child in node.fields.items())
        variants = tuple(one for one in found if one is not None)
        self._check_different(node, variants)
        return variants

    def _variant(self, name: str, node: YamlNode, shared: _Section, judge: JudgeConfig | None) -> Variant | None:
        if not NAME.fullmatch(name):
            self.problem(node, f"the variant's name {name!r} is not {NAME_RULE}")
        if node.fields is None and not node.is_null:
            self.problem(node, f"the variant {name} must hold `key: value` lines")
            return None
        own = self._section(node.fields or {}, is_top=False)
        settings = {"seed": DEFAULT_SEED, **shared.run, **own.run}
        if "model" not in settings:
            self.problem(node, f"the variant {name} has no `model`, and neither has the experiment")
            return None
        try:
            at = {} if "base_url" in settings else run_at(self._endpoints, str(settings["model"]))
            config = RunConfig(**cast("Any", {**at, **settings}), judge=judge)  # their kinds are checked by `_value`
        except ConfigError as error:
            self.problem(node, f"variant {name}: {error}")
            return None
        return Variant(name=name, config=config, differs=own.written)

    def _check_different(self, node: YamlNode, variants: tuple[Variant, ...]) -> None:
        first = {repr(one.config): one.name for one in reversed(variants)}
        for one in variants:
            if (same := first[repr(one.config)]) != one.name:
                self.problem(node, f"the variants {same} and {one.name} are the same")

    def _baseline_first(self, node: YamlNode | None, variants: tuple[Variant, ...]) -> tuple[Variant, ...]:
        if node is None:
            return variants
        if node.text not in [one.name for one in variants]:
            self.problem(node, f"`baseline` names no variant: {node.text!r}")
        return tuple(sorted(variants, key=lambda one: one.name != node.text))

    def _budget(self, node: YamlNode | None, variants: tuple[Variant, ...]) -> BudgetLimits:
        if node is None:
            return NO_LIMITS
        found: dict[str, object] = {}
        for key, child in (node.fields or {}).items():
            if key not in BUDGET:
                self.problem(child, f"`{key}` is not a limit of a budget; they are {', '.join(BUDGET)}")
            elif (value := self.value(SETTINGS[key], child)) is None:
                continue
            else:
                found[BUDGET[key]] = value
        if not node.fields:
            self.problem(node, f"`budget` has at least one of {', '.join(BUDGET)}")
        unpriced = [one.name for one in variants if one.config.base_url is not None and one.config.price_in is None]
        if "max_cost" in found and unpriced:
            self.problem(
                node,
                f"`max-cost` needs the prices of the endpoint of {', '.join(unpriced)}: state `price-in` and"
                " `price-out`, or use `max-tokens`",
            )
        return BudgetLimits(**cast("Any", found))

    def _margin(self, until: YamlNode | None, margin: YamlNode | None) -> float | None:
        if until is not None and until.text != DECIDED:
            self.problem(until, f"`until` is `{DECIDED}`, or is left out to make every trial")
        if margin is None:
            return None if until is None else DEFAULT_MARGIN
        if until is None:
            self.problem(margin, f"`margin` needs `until: {DECIDED}`")
        size: float | None = self.converted("margin", margin, MARGIN)
        return size

    def _section(self, fields: Mapping[str, YamlNode], *, is_top: bool) -> _Section:
        allowed = {
            name: one
            for name, one in SETTINGS.items()
            if one.scope is not Scope.COMMAND and (is_top or one.scope is Scope.VARIANT)
        }
        run: dict[str, object] = {}
        judge: dict[str, object] = {}
        user: dict[str, object] = {}
        written: dict[str, object] = {}
        unknown: dict[str, YamlNode] = {}
        for key, node in fields.items():
            if (setting := allowed.get(key)) is not None:
                if (value := self.value(setting, node)) is not None:
                    {Scope.JUDGE: judge, Scope.USER: user}.get(setting.scope, run)[setting.field] = value
                    written[key] = node.value
            elif key in SETTINGS and SETTINGS[key].scope is not Scope.COMMAND:
                self.problem(node, f"`{key}` is the same for all variants: it stands above `variants`")
            else:
                unknown[key] = node
        known = (*allowed, *(OWN_KEYS if is_top else ()))
        self.check_keys(unknown, known, of="an experiment" if is_top else "a variant")
        return _Section(run=run, judge=judge, user=user, written=written)
