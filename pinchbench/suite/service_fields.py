"""Reading the services of a task's head (pure)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.model.task_programs import MAX_SERVICES, MODEL_PORT, SERVICE_LIMIT_S, Service
from pinchbench.suite.yaml_nodes import KeyScope, misspelt_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pinchbench.suite.reading import FieldReader
    from pinchbench.suite.yaml_nodes import YamlNode


LOWEST_PORT, HIGHEST_PORT = 1024, 65535  # those below are for root
MAX_LIMIT_S = 600.0
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_READY = re.compile(r"/[!-~]*")


def read_services(fields: FieldReader, items: Sequence[YamlNode]) -> tuple[tuple[Service, ...], tuple[int, ...]]:
    """Return the services of a list, and each one's line; what can't be used is a problem.

    The sources of their folders are still relative and unchecked.
    """
    if len(items) > MAX_SERVICES:
        fields.problem(items[MAX_SERVICES], f"a task has at most {MAX_SERVICES} services")
    found: list[Service] = []
    for item in items:
        service = _read(fields, item)
        if service.port and (reason := port_problem(service.port, found)):
            fields.problem((item.fields or {})["port"], reason)
        if any(one.name == service.name for one in found):
            fields.problem(item, f"two services have the name {service.name!r}")
        found.append(service)
    return tuple(found), tuple(map(fields.line, items))


def port_problem(port: int, others: Iterable[Service]) -> str:
    """Return why a service can't have a port with other services; empty if it can."""
    if not LOWEST_PORT <= port <= HIGHEST_PORT:
        return f"`port` must be a whole number from {LOWEST_PORT} to {HIGHEST_PORT}"
    if port == MODEL_PORT:
        return f"the port {port} is the one of the model"
    return f"two services have the port {port}" if any(one.port == port for one in others) else ""


def _read(fields: FieldReader, item: YamlNode) -> Service:
    if item.fields is None:
        fields.problem(item, "a service must be a mapping with `name`, `command` and `port`")
    values = {key: node for key, node in (item.fields or {}).items() if not node.is_null}
    meant = dict(misspelt_keys(values, KeyScope.SERVICE))
    for key in values.keys() - set(KeyScope.SERVICE.value):
        fields.problem(values[key], meant.get(key, f"`{key[:80]}` of a service is not known"))
    name = values["name"].text or "" if "name" in values else ""
    if not _NAME.fullmatch(name):
        rule = "1 to 40 small letters, digits, `_` or `-`, the first a letter"
        fields.problem(values.get("name", item), f"`name` of a service must be {rule}")
    command = [one.text for one in values.get("command", item).items or ()]
    if not command or None in command or not command[0]:
        fields.problem(values.get("command", item), "`command` must be a list of texts: [python3, serve.py]")
    if "port" not in values:
        fields.problem(item, port_problem(0, ()))
    ready = fields.text(values, "ready")
    if ready and not _READY.fullmatch(ready):
        fields.problem(values["ready"], "`ready` must be the path of a URL, such as /health")
    return Service(
        name=name,
        command=tuple(word or "" for word in command),
        port=fields.whole(values, "port", 0, low=LOWEST_PORT, high=HIGHEST_PORT),
        folder=Path(fields.place(values["folder"], "folder")) if "folder" in values else None,
        ready=ready,
        limit_s=fields.above_zero(values, "limit", SERVICE_LIMIT_S, high=MAX_LIMIT_S, unit=" of seconds"),
        env=fields.env(values),
    )
