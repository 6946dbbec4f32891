"""Whether what OpenClaw stored of a message is what the model sent or received, and which reply it is (pure).

OpenClaw repairs what models send. A repair that is known here lets the stored form count: it is what was executed. An
unknown one costs nothing but a finding, as what was sent counts then.
"""

from __future__ import annotations

import html
import json
import math
import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from pinchbench.json_values import MAX_DEPTH, is_deep, json_text, parse
from pinchbench.transcript_lines import Event, writable
from pinchbench.transcripts import INTERNAL_PROVIDER, parts_of, text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from pinchbench.wire.agent_thread import Step
    from pinchbench.wire.protocols.call_facts import ToolCall


# What OpenClaw takes out of a text: reasoning and, without what they enclose, other marks.
THINKING = r"(?:ant|antml:|mm:)?(?:think(?:ing)?|thought|reasoning)|internal"
REASONING = re.compile(rf"<\s*({THINKING})\b[^<>]*>.*?(?:<\s*/\s*\1\s*>|$)", re.DOTALL | re.IGNORECASE)
MARKS = re.compile(rf"<\s*/?\s*(?:{THINKING}|final)\b[^<>]*>|\[\[\w+(?:\s*:[^\[\]]*)?\]\]|<\|\w+\|>", re.IGNORECASE)
# What stands for a key in OpenClaw's store: 2026.9.6 masks whatever looks like one, such as the value in
# `password = next(word`.
MASKED = re.compile(r"\*{3,}|…redacted…|\S{6}…(?!redacted…)\S{4}|\[key\]")
# What replaces no character, and white space, which is trimmed and joined in different ways.
IGNORED = re.compile(r"[\s\0\ufffd]+")
NAMESPACE = re.compile(r"^.*[./]")
NAME_END = re.compile(r"<\|.*|:\d+$", re.DOTALL)
MAX_ARGUMENT_DEPTH = MAX_DEPTH - 10  # an event has some levels of its own
NOT_WORD = re.compile(r"[^a-z0-9]+")


def flat(text: str) -> str:
    """Return a text without white space, and without what is no character."""
    return IGNORED.sub("", writable(text))


def key_of(text: str) -> str:
    """Return what is the same of a reply's text and of the form in which it was stored; not a proof of anything."""
    return flat(html.unescape(MARKS.sub("", REASONING.sub("", text))))


def agrees_text(said: str, sent: str, *, is_cut: bool = False) -> bool:
    """Return whether a stored text is the sent one, possibly without reasoning and marks; of a cut one, its beginning.

    Only the sent text is cleaned: what was added to the stored one must not vanish here.
    """
    stored = flat(said)
    forms = (sent, MARKS.sub("", REASONING.sub("", sent)), REASONING.sub("", sent), MARKS.sub("", sent))
    if is_cut:
        return any(flat(form).startswith(stored) for form in forms)
    return any(flat(form) == stored for form in forms)


def is_masked(said: str, sent: str) -> bool:
    """Return whether a stored text differs from the sent one by masks alone."""
    first, *others = MASKED.split(key_of(said))
    whole = key_of(sent)
    if not others or not whole.startswith(first):
        return False
    at = len(first)
    for literal in others[:-1]:
        found = whole.find(literal, at)
        if found < 0:
            return False
        at = found + len(literal)
    return whole[at:].endswith(others[-1])


def is_same_name(said: str, sent: str, offered: Collection[str]) -> bool:
    """Return whether a stored tool name is the sent one, or the offered tool that OpenClaw found for it."""
    return said == sent or (said in offered and fold_name(said) == fold_name(sent))


def fold_name(name: str) -> str:
    """Return a tool's name without namespace, number, a channel's mark, case and signs."""
    return NOT_WORD.sub("", NAMESPACE.sub("", NAME_END.sub("", name.strip())).lower())


def fold_id(call_id: str) -> str:
    """Return a call's id without the signs that OpenClaw leaves out where a provider does not accept them."""
    return NOT_WORD.sub("", call_id.lower())


def arguments_of(call: ToolCall) -> object:
    """Return the arguments of a call as JSON, or as the text that the model wrote where that is none."""
    if not call.arguments.strip():
        return {}
    value = parse(call.arguments.encode("utf-8", "replace"))
    return call.arguments if value is None else shallow(value)


def shallow(arguments: object) -> object:
    """Return the arguments of a call with those that are nested too deeply for an event as texts."""
    if isinstance(arguments, dict):
        return {key: json_text(one) if is_deep(one, MAX_ARGUMENT_DEPTH) else one for key, one in arguments.items()}
    return json_text(arguments) if is_deep(arguments, MAX_ARGUMENT_DEPTH) else arguments


def is_same_value(said: object, sent: object) -> bool:
    """Return whether two JSON values are the same to JavaScript, whose numbers are doubles; no if very deep."""
    try:
        return _is_same(said, sent)
    except RecursionError:
        return False


def _is_same(said: object, sent: object) -> bool:
    match said, sent:
        case dict(), dict():
            return said.keys() == sent.keys() and all(_is_same(said[key], sent[key]) for key in said)
        case list(), list():
            return len(said) == len(sent) and all(map(_is_same, said, sent))
        case str(), str():
            return flat(said) in (flat(sent), flat(html.unescape(sent)))
        case int() | float(), int() | float() if not isinstance(said, bool) and not isinstance(sent, bool):
            return _double(said) == _double(sent)
        case str() | None, int() | float():
            # OpenClaw 2026.9.6 keeps the digits of a whole number that is no exact double; JSON has no infinity
            return abs(sent) > MAX_EXACT and said in (str(sent), None if math.isinf(_double(sent)) else str(sent))
        case _:
            return said is sent  # booleans and None


def call_key(name: str, arguments: object) -> str:
    """Return what is the same of a call and of the form in which it was stored; not a proof of anything."""
    try:
        text = json.dumps(_plain(arguments), ensure_ascii=False, sort_keys=True)
    except RecursionError:
        text = ""
    return f"{fold_name(name)} {key_of(text)}"


def _plain(value: object) -> object:
    match value:
        case dict():
            return {str(key): _plain(member) for key, member in value.items()}
        case list():
            return [_plain(member) for member in value]
        case int() | float() if not isinstance(value, bool):
            return _double(value)
        case _:
            return value


def _double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf")


MAX_EXACT = 2**53 - 1
MAX_ALIGNED = 2000  # messages: more are compared in their order alone


def message_of(event: Event) -> Mapping[str, object]:
    """Return the message of an event; empty if it has none."""
    message = event.get("message")
    return message if event.get("type") == "message" and isinstance(message, dict) else {}


def is_answer(event: Event) -> bool:
    """Whether an event is what OpenClaw stored of a reply."""
    message = message_of(event)
    return message.get("role") == "assistant" and message.get("provider") != INTERNAL_PROVIDER


def calls_of(message: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return the tool calls in a stored message."""
    return [part for part in parts_of(message) if part.get("type") == "toolCall"]


def pair_replies(steps: Sequence[Step], stored: Sequence[Event]) -> dict[int, int]:
    """Return which event of the store, by its index, is which step's reply."""
    answers = [index for index, event in enumerate(stored) if is_answer(event)]
    said = [at for at, step in enumerate(steps) if step.reply.message is not None]
    if len(answers) > MAX_ALIGNED or len(said) > MAX_ALIGNED:
        return dict(zip(answers, said, strict=False))
    matcher = SequenceMatcher(
        None, [reply_key(steps[at]) for at in said], [stored_key(stored[index]) for index in answers], autojunk=False
    )
    paired: dict[int, int] = {}
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        if kind == "equal":
            paired |= dict(zip(answers[j1:j2], said[i1:i2], strict=True))
        else:
            paired |= _pair_in_gap(steps, said[i1:i2], stored, answers[j1:j2])
    return paired


def _pair_in_gap(
    steps: Sequence[Step], said: Sequence[int], stored: Sequence[Event], answers: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Pair what is different in content: by the ids of calls, or else in order."""
    left = list(said)
    later = [_ids_of(stored[index]) for index in answers]
    for place, index in enumerate(answers):
        same = next((at for at in left if ids_of_step(steps[at]) & later[place]), None)
        if same is None:
            taken = set().union(*later[place + 1 :])
            message = message_of(stored[index])
            is_error = message.get("stopReason") == "error" and not text_of(message)
            same = next((at for at in left if not (ids_of_step(steps[at]) & taken or steps[at].is_discarded)), None)
            if same is None or (is_error and steps[same].reply.complete):
                continue
        yield index, same
        left = left[left.index(same) + 1 :]


def _ids_of(event: Event) -> set[str]:
    return {fold_id(str(part.get("id"))) for part in calls_of(message_of(event))} - {""}


def ids_of_step(step: Step) -> set[str]:
    """Return the ids of the calls in a reply."""
    message = step.reply.message
    return {fold_id(call.id) for call in message.tool_calls} - {""} if message is not None else set()


def is_refused(step: Step) -> bool:
    """Return whether OpenClaw refuses a reply: of a filter, or a call without name, arguments or an id of its own."""
    calls = () if step.reply.message is None else step.reply.message.tool_calls
    ids = [fold_id(call.id) for call in calls if call.id]
    return (
        step.reply.stop_reason == "content_filter"
        or len(set(ids)) < len(ids)
        or any(
            not (call.name.strip() and call.arguments.strip() and isinstance(arguments_of(call), dict))
            for call in calls
        )
    )


def reply_key(step: Step) -> str:
    """Return what is the same of a reply and of its stored form; not a proof of anything."""
    message = step.reply.message
    calls = [] if message is None else [call_key(call.name, arguments_of(call)) for call in message.tool_calls]
    return "\n".join([key_of("" if message is None else message.text), *calls])


def stored_key(event: Event) -> str:
    """Return the same of a stored reply."""
    message = message_of(event)
    calls = [call_key(str(part.get("name")), part.get("arguments")) for part in calls_of(message)]
    return "\n".join([key_of(text_of(message)), *calls])
