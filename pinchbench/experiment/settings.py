"""The settings of an experiment's file: the options of a run by their names, and what kind of value each takes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from pinchbench.defaults import Isolation, Network, Sandbox, SuiteFormat

if TYPE_CHECKING:
    from collections.abc import Mapping


class Kind(StrEnum):
    """What a setting's value is; the values are the types of JSON Schema, but for paths and variables."""

    TEXT = "string"
    INTEGER = "integer"
    NUMBER = "number"
    FLAG = "boolean"
    LIST = "array"
    PATH = "path"
    FILES = "files"
    VARIABLES = "variables"
    OBJECT = "object"


class Scope(StrEnum):
    """Where a setting may stand: for the whole experiment alone, or for variants as well."""

    EXPERIMENT = "experiment"
    VARIANT = "variant"
    JUDGE = "judge"
    USER = "user"


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """A setting: the field of `RunConfig` that it fills, and its values.

    With the scopes `JUDGE` and `USER`, it is a field of `JudgeConfig` and `UserModelConfig`.

    `negates`: a flag such as `no-wire`, which turns the field off.
    """

    field: str
    kind: Kind
    scope: Scope = Scope.VARIANT
    choices: tuple[str, ...] = ()
    negates: bool = False


def _of(field: str, kind: Kind, scope: Scope = Scope.VARIANT, choices: tuple[str, ...] = ()) -> Setting:
    return Setting(field=field, kind=kind, scope=scope, choices=choices)


def _values(kind: type[Isolation | Sandbox | Network | SuiteFormat]) -> tuple[str, ...]:
    return tuple(one.value for one in kind)


# What the comparison rests on is the same for all variants: tasks, repetitions, the judge, and where results go.
SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {
        "suite": _of("suite", Kind.TEXT, Scope.EXPERIMENT),
        "tasks-dir": _of("tasks_dir", Kind.PATH, Scope.EXPERIMENT),
        "suite-format": _of("suite_format", Kind.TEXT, Scope.EXPERIMENT, choices=_values(SuiteFormat)),
        "form": _of("form", Kind.INTEGER, Scope.EXPERIMENT),
        "runs": _of("runs", Kind.INTEGER, Scope.EXPERIMENT),
        "concurrency": _of("concurrency", Kind.INTEGER, Scope.EXPERIMENT),
        "seed": _of("seed", Kind.INTEGER, Scope.EXPERIMENT),
        "output-dir": _of("output_dir", Kind.PATH, Scope.EXPERIMENT),
        "run-root": _of("run_root", Kind.PATH, Scope.EXPERIMENT),
        "pass-threshold": _of("pass_threshold", Kind.NUMBER, Scope.EXPERIMENT),
        "skip-broken": _of("skip_broken", Kind.FLAG, Scope.EXPERIMENT),
        "model": _of("model", Kind.TEXT),
        "base-url": _of("base_url", Kind.TEXT),
        "api-key-env": _of("api_key_env", Kind.TEXT),
        "price-in": _of("price_in", Kind.NUMBER),
        "price-out": _of("price_out", Kind.NUMBER),
        "accept-unknown-model": _of("accept_unknown_model", Kind.FLAG),
        "thinking": _of("thinking", Kind.TEXT),
        "openclaw": _of("openclaw", Kind.TEXT),
        "isolation": _of("isolation", Kind.TEXT, choices=_values(Isolation)),
        "sandbox": _of("sandbox", Kind.TEXT, choices=_values(Sandbox)),
        "network": _of("network", Kind.TEXT, choices=_values(Network)),
        "sandbox-allow": _of("sandbox_allow", Kind.LIST),
        "max-memory": _of("max_memory", Kind.NUMBER),
        "max-processes": _of("max_processes", Kind.INTEGER),
        "max-disk": _of("max_disk", Kind.NUMBER),
        "pass-env": _of("pass_env", Kind.LIST),
        "skills": _of("skills", Kind.PATH),
        "workspace-files": _of("workspace_files", Kind.FILES),
        "openclaw-config": _of("openclaw_config", Kind.OBJECT),
        "env": _of("env", Kind.VARIABLES),
        "timeout-multiplier": _of("timeout_multiplier", Kind.NUMBER),
        "infra-retries": _of("infra_retries", Kind.INTEGER),
        "retry-timeouts": _of("retry_timeouts", Kind.FLAG),
        "retry-timeouts-alone": _of("retry_timeouts_alone", Kind.FLAG),
        "no-fail-fast": Setting(field="fail_fast", kind=Kind.FLAG, negates=True),
        "no-preflight": Setting(field="preflight", kind=Kind.FLAG, negates=True),
        "probes": _of("probes", Kind.INTEGER, Scope.EXPERIMENT),
        "no-wire": Setting(field="wire", kind=Kind.FLAG, negates=True),
        "max-requests": _of("max_requests", Kind.INTEGER),
        "wire-retries": _of("wire_retries", Kind.INTEGER),
        "max-cost": _of("max_cost", Kind.NUMBER),
        "max-tokens": _of("max_tokens", Kind.INTEGER),
        "max-hours": _of("max_hours", Kind.NUMBER),
        "user-model": _of("model", Kind.TEXT, Scope.USER),
        "user-base-url": _of("base_url", Kind.TEXT, Scope.USER),
        "user-api-key-env": _of("api_key_env", Kind.TEXT, Scope.USER),
        "judge": _of("model", Kind.TEXT, Scope.JUDGE),
        "judge-base-url": _of("base_url", Kind.TEXT, Scope.JUDGE),
        "judge-api-key-env": _of("api_key_env", Kind.TEXT, Scope.JUDGE),
        "judge-votes": _of("votes", Kind.INTEGER, Scope.JUDGE),
        "judge-concurrency": _of("concurrency", Kind.INTEGER, Scope.JUDGE),
        "no-judge-cache": Setting(field="cache", kind=Kind.FLAG, scope=Scope.JUDGE, negates=True),
    }
)
