"""The scripted user of a task of clawbench Core: turns with gates, in one session or in phases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pinchbench.model.task import WORKSPACE_MARK, Turn, TurnGate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pinchbench.suite.reading import FieldReader
    from pinchbench.suite.yaml_nodes import YamlNode

OF_RUNNER = "stands for a service, or something else of the suite's own runner"
DEFAULT_MAX_TURNS = 20
MAX_TURNS = 1000
VARIANTS = ("clear", "ambiguous")
USER, PHASE = ("turns", "max_turns"), ("name", "user", "timeout_seconds")
OTHER_GATES = ("when_tool_family", "when_tool_name", "when_last_tool_failed")
TURN = ("message", "variant_messages", "after_assistant_turns", "when_assistant_contains", *OTHER_GATES)
# Names of services, and others that the suite's runner fills in.
RUNNER_MARK = re.compile(r"\{(?:(?:\w+_)?(?:port|url|node_path)|repo_root|task_id|model|prompt_variant)\}")


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


def filled(text: str, marks: Mapping[str, str]) -> str:
    """Return a text with what its marks stand for."""
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return text


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
