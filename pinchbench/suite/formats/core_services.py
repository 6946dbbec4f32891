"""The background services of a task of clawbench Core, and what stands for them in its messages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinchbench.model.task import WORKSPACE_MARK
from pinchbench.model.task_programs import MAX_SERVICES, Service
from pinchbench.sandbox.sandbox_spec import WORKSPACE
from pinchbench.suite.formats.core_completion import programs_of, read_env, read_place
from pinchbench.suite.formats.core_user import OF_RUNNER, RUNNER_MARK, filled
from pinchbench.suite.service_fields import LOWEST_PORT, port_problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinchbench.suite.reading import FieldReader
    from pinchbench.suite.yaml_nodes import YamlNode

FIRST_PORT = 18101  # of a service that states none: in a trial's own namespaces, any port is free
DEFAULT_LIMIT_S, MAX_LIMIT_S = 20, 600
DEFAULT_URL = "http://127.0.0.1:{port}"
OTHER_SIGNS = ("ready_status", "ready_contains", "ready_file")
SERVICE = (
    *("name", "command", "cwd", "env", "port", "port_env", "url_template", "ready_path", "startup_timeout_seconds"),
    *OTHER_SIGNS,
)
_NAME = re.compile(r"[A-Za-z]\w{0,39}")
_URL = re.compile(r"http://(?:127\.0\.0\.1|localhost):\{port\}(?P<path>/[!-z|~]*)?")
_PATH = re.compile(r"/?[!-~]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class CoreServices:
    """The services of a task, what stands for their ports and addresses, and what their commands need."""

    services: tuple[Service, ...] = ()
    marks: Mapping[str, str] = field(default_factory=dict)
    prerequisites: tuple[str, ...] = ()


def read_services(fields: FieldReader, setup: Mapping[str, YamlNode]) -> CoreServices:
    """Return the services of a set-up, which work in the workspace; what can't be had here is a problem."""
    marks = {WORKSPACE_MARK: WORKSPACE, "{python_exe}": "python3"}
    told: dict[str, str] = {}
    found: list[Service] = []
    items = fields.items(setup, "background_services")
    if len(items) > MAX_SERVICES:
        fields.problem(items[MAX_SERVICES], f"a task has at most {MAX_SERVICES} services")
    for item in items:
        values = fields.mapping(item, "a service", known=SERVICE)
        name = fields.text(values, "name")
        if not _NAME.fullmatch(name) or any(one.name == name for one in found):
            fields.problem(item, f"a service needs a `name` of its own that is a word: {name[:80]!r}")
        port = fields.whole(values, "port", _free_port(found), low=LOWEST_PORT, high=65535)
        if reason := port_problem(port, found):
            fields.problem(values.get("port", item), reason)
        told[f"{{{name}_port}}"] = str(port)
        nulls = {key for key, value in (item.fields or {}).items() if value.is_null}
        url, ready = ("", "") if "url_template" in nulls else _address(fields, values, port)
        ready = "" if "ready_path" in nulls else ready
        if url:
            told[f"{{{name}_url}}"] = url
        found.append(_service(fields, item, values, {**marks, **told}, name=name, port=port, ready=ready))
    programs = {program for one in found for program in programs_of(one.command[-1])}
    return CoreServices(
        services=tuple(found), marks=told, prerequisites=tuple(f"cli:{one}" for one in sorted(programs))
    )


def _free_port(others: list[Service]) -> int:
    return next(port for port in range(FIRST_PORT, FIRST_PORT + MAX_SERVICES**2) if not port_problem(port, others))


def _address(fields: FieldReader, values: Mapping[str, YamlNode], port: int) -> tuple[str, str]:
    """Return the URL of a service, and the path that has to answer; both may be empty."""
    template = fields.text(values, "url_template", DEFAULT_URL)
    match = _URL.fullmatch(template)
    if match is None:
        fields.problem(values["url_template"], f"`url_template` must begin with {DEFAULT_URL}")
        return "", ""
    path = fields.text(values, "ready_path", "/")
    if not _PATH.fullmatch(path):
        fields.problem(values["ready_path"], "`ready_path` must be the path of a URL")
    return template.replace("{port}", str(port)), f"{(match['path'] or '').rstrip('/')}/{path.lstrip('/')}"


def _service(
    fields: FieldReader,
    item: YamlNode,
    values: Mapping[str, YamlNode],
    marks: Mapping[str, str],
    *,
    name: str,
    port: int,
    ready: str,
) -> Service:
    command = filled(fields.text(values, "command").strip(), marks)
    if not command:
        fields.problem(item, "a service needs a `command`")
    if found := RUNNER_MARK.search(command):
        fields.problem(values["command"], f"{found[0]} {OF_RUNNER}")
    for key in OTHER_SIGNS:
        if (sign := values.get(key)) is not None and (key != "ready_status" or sign.value != 200):  # noqa: PLR2004
            fields.problem(sign, f"`{key}`: here a service is ready when it answers with a status of 2xx")
    port_env = fields.text(values, "port_env", "PORT")
    limit = fields.whole(values, "startup_timeout_seconds", DEFAULT_LIMIT_S, low=1, high=MAX_LIMIT_S)
    return Service(
        name=name,
        command=("sh", "-c", command),
        port=port,
        cwd=read_place(fields, values, "cwd", item),
        ready=ready,
        limit_s=float(limit),
        env={**read_env(fields, values, marks), **({port_env: str(port)} if port_env else {})},
    )
