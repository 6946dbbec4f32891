"""Reading the services of a task's head (pure)."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.model.task_programs import MAX_SERVICES, MODEL_PORT, SERVICE_LIMIT_S, Service
from pinchbench.suite.fixtures import relative_path
from pinchbench.suite.yaml_nodes import KeyScope, misspelt_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pinchbench.suite.yaml_nodes import YamlNode


LOWEST_PORT, HIGHEST_PORT = 1024, 65535  # those below are for root
MAX_LIMIT_S = 600.0
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_READY = re.compile(r"/[!-~]*")


def read_services(
    items: Sequence[YamlNode], problem: Callable[[YamlNode, str], None]
) -> tuple[tuple[Service, ...], tuple[int, ...]]:
    """Return the services of a list, and each one's line; what can't be used is reported to `problem`.

    The sources of their folders are still relative and unchecked.
    """
    if len(items) > MAX_SERVICES:
        problem(items[MAX_SERVICES], f"a task has at most {MAX_SERVICES} services")
    found: list[tuple[Service, int]] = []
    for item in items:
        service = _ServiceReader(item, problem).read()
        if service is None:
            continue
        others = [one for one, _ in found]
        if reason := port_problem(service.port, others):
            problem((item.fields or {})["port"], reason)
        if any(one.name == service.name for one in others):
            problem(item, f"two services have the name {service.name!r}")
        found.append((service, item.line))
    return tuple(one for one, _ in found), tuple(line for _, line in found)


def port_problem(port: int, others: Iterable[Service]) -> str:
    """Return why a service can't have a port with other services; empty if it can."""
    if not LOWEST_PORT <= port <= HIGHEST_PORT:
        return f"`port` must be a whole number from {LOWEST_PORT} to {HIGHEST_PORT}"
    if port == MODEL_PORT:
        return f"the port {port} is the one of the model"
    return f"two services have the port {port}" if any(one.port == port for one in others) else ""


class _ServiceReader:
    """Reads one service."""

    def __init__(self, item: YamlNode, problem: Callable[[YamlNode, str], None]) -> None:
        self._item = item
        self._tell = problem
        self._is_whole = True
        fields = item.fields or {}
        self._fields = {key: node for key, node in fields.items() if not node.is_null}

    def read(self) -> Service | None:
        """Return the service; None if it has problems."""
        if self._item.fields is None:
            self._problem(self._item, "a service must be a mapping with `name`, `command` and `port`")
            return None
        told = dict(misspelt_keys(self._fields, KeyScope.SERVICE))
        for key in self._fields:
            if key not in KeyScope.SERVICE.value:
                self._problem(self._fields[key], told.get(key, f"`{key[:80]}` of a service is not known"))
        name, port = self._fields.get("name"), self._fields.get("port")
        if name is None or name.text is None or not _NAME.fullmatch(name.text):
            rule = "1 to 40 small letters, digits, `_` or `-`, the first a letter"
            self._problem(name, f"`name` of a service must be {rule}")
        if port is None or isinstance(port.value, bool) or not isinstance(port.value, int):
            self._problem(port, f"`port` must be a whole number from {LOWEST_PORT} to {HIGHEST_PORT}")
        service = Service(
            name=name.text or "" if name is not None else "",
            command=self._command(),
            port=port.value if port is not None and isinstance(port.value, int) else 0,
            folder=self._folder(),
            ready=self._ready(),
            limit_s=self._limit(),
            env=self._env(),
        )
        return service if self._is_whole else None

    def _problem(self, node: YamlNode | None, reason: str) -> None:
        self._is_whole = False
        self._tell(node or self._item, reason)

    def _command(self) -> tuple[str, ...]:
        node = self._fields.get("command")
        words = () if node is None else tuple(one.text for one in node.items or () if one.text is not None)
        if node is None or not words or len(words) < len(node.items or ()) or not words[0]:
            self._problem(node, "`command` must be a list of texts: [python3, serve.py]")
        return words

    def _folder(self) -> Path | None:
        node = self._fields.get("folder")
        if node is None:
            return None
        try:
            return Path(relative_path(node.text or ""))
        except ValueError as error:
            self._problem(node, f"`folder` {str(node.value)[:200]!r} {error}")
            return None

    def _ready(self) -> str:
        node = self._fields.get("ready")
        if node is None:
            return ""
        if node.text is None or not _READY.fullmatch(node.text):
            self._problem(node, "`ready` must be the path of a URL, such as /health")
        return node.text or ""

    def _limit(self) -> float:
        node = self._fields.get("limit")
        if node is None:
            return SERVICE_LIMIT_S
        number = node.value
        is_number = isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
        if not is_number or not 0 < float(number) <= MAX_LIMIT_S:  # type: ignore[arg-type]
            self._problem(node, f"`limit` must be a number of seconds above 0 and at most {MAX_LIMIT_S:.0f}")
            return SERVICE_LIMIT_S
        return float(number)  # type: ignore[arg-type]

    def _env(self) -> Mapping[str, str]:
        node = self._fields.get("env")
        if node is None:
            return {}
        values = {name: child.text for name, child in (node.fields or {}).items() if child.text is not None}
        if node.fields is None or len(values) < len(node.fields):
            self._problem(node, "`env` must map names to texts")
        return values
