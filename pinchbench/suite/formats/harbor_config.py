"""`task.toml` of a Harbor task: what of it counts without a container, and what needs one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pinchbench.config.additions import check_variables
from pinchbench.errors import ConfigError
from pinchbench.suite.parse import MAX_TIMEOUT_S
from pinchbench.suite.toml_text import line_of, read_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

VERIFIER_LIMIT_S = 600.0
UNCATEGORIZED = "uncategorized"
# By table: the keys that are read, and those that have no meaning without a container.
_KNOWN = {
    "agent": {"timeout_sec", "user"},
    "verifier": {"timeout_sec", "user", "env", "environment_mode"},
    "environment": {
        *("build_timeout_sec", "cpus", "memory", "memory_mb", "storage", "storage_mb"),
        *("docker_image", "gpus", "mcp_servers", "healthcheck", "env", "workdir", "network_mode", "allow_internet"),
    },
}


@dataclass(frozen=True, kw_only=True, slots=True)
class HarborConfig:
    """What `task.toml` says. `agent_limit_s` is 0 without a limit; `name` is empty where the folder's counts."""

    name: str = ""
    category: str = UNCATEGORIZED
    agent_limit_s: float = 0.0
    verifier_limit_s: float = VERIFIER_LIMIT_S
    workdir: str = ""
    network: bool = True
    env: Mapping[str, str] = field(default_factory=dict)
    verifier_env: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, object] = field(default_factory=dict)


def read_config(path: Path, problem: Callable[[Path, int, str], None]) -> HarborConfig:
    """Read it; `problem` is called with file, line and reason. Blocks. Raises BrokenTaskError if it is no TOML."""
    values, text = read_toml(path)
    return _Reader(values, text, lambda key, reason: problem(path, line_of(text, key), reason)).read()


class _Reader:
    def __init__(self, values: Mapping[str, Any], text: str, problem: Callable[[str, str], None]) -> None:
        self._values = values
        self._text = text
        self._problem = problem

    def read(self) -> HarborConfig:
        agent, verifier, environment = (self._table(name) for name in _KNOWN)
        self._refuse_containers(environment, verifier)
        for table in (agent, verifier):
            if table.get("user") not in (None, "root"):
                self._problem("user", "it needs a user of its own (`user`)")
        metadata = self._table("metadata")
        return HarborConfig(
            name=self._string(self._table("task"), "name").rpartition("/")[2],
            category=self._string(metadata, "category") or self._string(metadata, "domain") or UNCATEGORIZED,
            agent_limit_s=self._limit(agent, 0.0),
            verifier_limit_s=self._limit(verifier, VERIFIER_LIMIT_S),
            workdir=self._string(environment, "workdir"),
            network=self._network(environment),
            env=self._env(environment),
            verifier_env=self._env(verifier),
            metadata={
                key: value if isinstance(value, str | int | float | bool) else str(value)
                for key, value in metadata.items()
            },
        )

    def _table(self, name: str) -> Mapping[str, Any]:
        table = self._values.get(name, {})
        if not isinstance(table, dict):
            self._problem(name, f"`{name}` must be a table")
            return {}
        for key in table.keys() - _KNOWN.get(name, table.keys()):
            if table[key] not in ("", [], {}):  # which say what leaving the key out says
                self._problem(key, f"`{key}` of [{name}] is not known, and could matter")
        return table

    def _refuse_containers(self, environment: Mapping[str, Any], verifier: Mapping[str, Any]) -> None:
        mode = verifier.get("environment_mode", "shared")
        needs = (
            ("docker_image", "an image", environment.get("docker_image")),
            ("gpus", "graphics processors", environment.get("gpus")),
            ("mcp_servers", "MCP servers", environment.get("mcp_servers")),
            ("healthcheck", "a service that is up before the agent starts", environment.get("healthcheck")),
            ("environment_mode", "a second environment for its tests", mode != "shared"),
            ("steps", "several steps, each with tests of its own", self._values.get("steps")),
        )
        for key, what, is_set in needs:
            if is_set:
                self._problem(key, f"it needs {what} (`{key}`)")

    def _string(self, table: Mapping[str, Any], key: str) -> str:
        value = table.get(key, "")
        if not isinstance(value, str):
            self._problem(key, f"`{key}` must be text")
            return ""
        return value.strip()

    def _limit(self, table: Mapping[str, Any], otherwise: float) -> float:
        value = table.get("timeout_sec", otherwise)
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not is_number or (value != otherwise and not 0 < value <= MAX_TIMEOUT_S):
            self._problem("timeout_sec", f"`timeout_sec` must be a number above 0 and at most {MAX_TIMEOUT_S:.0f}")
            return otherwise
        return float(value)

    def _network(self, environment: Mapping[str, Any]) -> bool:
        mode, allowed = environment.get("network_mode"), environment.get("allow_internet")
        if mode not in (None, "public", "no-network"):
            self._problem("network_mode", "it needs a network with a list of allowed hosts (`network_mode`)")
        if not isinstance(allowed, bool | None):
            self._problem("allow_internet", "`allow_internet` must be true or false")
        return mode == "public" if mode is not None else allowed is not False

    def _env(self, table: Mapping[str, Any]) -> dict[str, str]:
        env = table.get("env", {})
        if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
            self._problem("env", "`env` must be a table of texts")
            return {}
        for name, value in env.items():
            if "${" in value:
                self._problem(
                    name, f"the variable {name} takes its value from the user's environment, which is not supported"
                )
        try:
            check_variables(env, model="", passed=())
        except ConfigError as error:
            self._problem(next(iter(env)), str(error).removeprefix("--env "))
        return env
