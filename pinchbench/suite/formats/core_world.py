"""The background services and the scripted user of a task of clawbench Core."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pinchbench.model.task import WORKSPACE_MARK, Turn, TurnGate
from pinchbench.model.task_programs import MAX_SERVICES, Service
from pinchbench.sandbox.sandbox_spec import WORKSPACE
from pinchbench.suite.formats.core_completion import OF_RUNNER, RUNNER_MARK, filled, read_env, read_place
from pinchbench.suite.world_fields import LOWEST_PORT, port_problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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


def read_services(fields: FieldReader, setup: Mapping[str, YamlNode]) -> tuple[tuple[Service, ...], Mapping[str, str]]:
    """Return the services of a set-up, which work in the workspace, and their ports and addresses by placeholder.

    What can't be provided here is a problem.
    """
    marks = {WORKSPACE_MARK: WORKSPACE, "{python_exe}": "python3"}
    placeholders: dict[str, str] = {}
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
        placeholders[f"{{{name}_port}}"] = str(port)
        nulls = {key for key, value in (item.fields or {}).items() if value.is_null}
        url, ready = ("", "") if "url_template" in nulls else _address(fields, values, port)
        ready = "" if "ready_path" in nulls else ready
        if url:
            placeholders[f"{{{name}_url}}"] = url
        found.append(_service(fields, item, values, {**marks, **placeholders}, name=name, port=port, ready=ready))
    return tuple(found), placeholders


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


DEFAULT_MAX_TURNS = 20
MAX_TURNS = 1000
VARIANTS = ("clear", "ambiguous")
USER, PHASE = ("turns", "max_turns"), ("name", "user", "timeout_seconds")
OTHER_GATES = ("when_tool_family", "when_tool_name", "when_last_tool_failed")
TURN = ("message", "variant_messages", "after_assistant_turns", "when_assistant_contains", *OTHER_GATES)


def read_turns(
    fields: FieldReader, top: Mapping[str, YamlNode], root: YamlNode, marks: Mapping[str, str]
) -> tuple[Turn, ...]:
    """Return the turns of a task's `phases`, or without any of its `user`; what can't be played is a problem.

    `marks` are what stands for services in messages, each with what it stands for.
    """
    phases = fields.items(top, "phases")
    if phases:
        return tuple(
            turn for number, phase in enumerate(phases) for turn in _phase(fields, phase, marks, new_session=number > 0)
        )
    if (user := top.get("user")) is None:
        fields.problem(root, "it has neither `user` nor `phases`")
        return ()
    return tuple(_turns(fields, user, marks, new_session=False))


def _phase(fields: FieldReader, node: YamlNode, marks: Mapping[str, str], *, new_session: bool) -> Iterator[Turn]:
    phase = fields.mapping(node, "a phase", known=PHASE)
    if (limit := phase.get("timeout_seconds")) is not None:
        fields.problem(limit, "a phase has a limit of its own: here all turns of a task have one together")
    if (user := phase.get("user")) is None:
        fields.problem(node, "a phase needs a `user`")
    else:
        yield from _turns(fields, user, marks, new_session=new_session)


def _turns(fields: FieldReader, node: YamlNode, marks: Mapping[str, str], *, new_session: bool) -> Iterator[Turn]:
    user = fields.mapping(node, "`user`", known=USER)
    turns = fields.items(user, "turns")
    if not turns:
        fields.problem(node, "`user` has no `turns`")
    most = fields.whole(user, "max_turns", DEFAULT_MAX_TURNS, low=1, high=MAX_TURNS)
    for number, turn in enumerate(turns[:most]):
        is_first = number == 0
        yield _turn(fields, turn, marks, is_first=is_first and not new_session, new_session=new_session and is_first)


def _turn(fields: FieldReader, node: YamlNode, marks: Mapping[str, str], *, is_first: bool, new_session: bool) -> Turn:
    turn = fields.mapping(node, "a turn", known=TURN)
    for key in OTHER_GATES:
        if (value := turn.get(key)) is not None and value.value is not False:
            fields.problem(value, f"`{key}` depends on the suite's own classes and records of tool calls")
    # the suite's runner takes the variant `clear` unless another is asked for, and without one the message
    variants = (
        fields.mapping(turn["variant_messages"], "`variant_messages`", known=VARIANTS)
        if "variant_messages" in turn
        else {}
    )
    prompt = filled((fields.text(variants, "clear") or fields.text(turn, "message")).strip(), marks)
    if not prompt:
        fields.problem(node, "a turn needs a `message`")
    if found := RUNNER_MARK.search(prompt):
        fields.problem(node, f"{found[0]} {OF_RUNNER}")
    replies = fields.whole(turn, "after_assistant_turns", 0, low=0, high=MAX_TURNS)
    pattern = fields.pattern(turn, "when_assistant_contains")
    gate = TurnGate(replies=replies, pattern=pattern) if replies or pattern else None
    if is_first and gate is not None and not gate.holds(0, ""):
        fields.problem(node, "the first turn waits for a reply, and so would never be sent")
    return Turn(prompt=prompt, new_session=new_session, names_workspace=WORKSPACE_MARK in prompt, gate=gate)
