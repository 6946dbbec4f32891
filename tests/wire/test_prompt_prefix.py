"""Planted changes of a prompt's beginning: each is named at its call, with its cause."""

from collections.abc import Sequence
from typing import Any

import pytest

from pinchbench.model.facts import PrefixBreak, PrefixCause
from pinchbench.wire.exchange import Exchange
from pinchbench.wire.exchange_facts import read_all
from pinchbench.wire.prompt_prefix import prompt_facts
from wire.exchanges import CHAT, exchange, sse

SYSTEM = "You are an assistant.\n## Time\nIt is {time}.\n## MEMORY.md\nLikes {memory}.\n## Style\nBe {style}."
HELD = {"time": "2026-11-23 10:00", "memory": "tea", "style": "brief"}
TALK = ("Read the file.", "I read it.", "And the other one.", "I read that, too.", "Compare them.")


def _chat(system: str, tools: Sequence[str], talk: Sequence[str]) -> dict[str, Any]:
    roles = ("user", "assistant")
    spoken = [{"role": roles[place % 2], "content": text} for place, text in enumerate(talk)]
    messages = [{"role": "system", "content": system}, *spoken]
    return {"messages": messages, "tools": [{"type": "function", "function": {"name": one}} for one in tools]}


def _recorded(third: dict[str, Any]) -> list[Exchange]:
    """Return three calls of one turn, which grow by two messages each; `third` says what is different in the last."""
    tools = third.pop("tools", ("read", "exec"))
    talk = third.pop("talk", TALK)
    system = SYSTEM.format(**HELD)
    return [
        exchange(CHAT, _chat(system, ("read", "exec"), TALK[:1]), number=1),
        exchange(CHAT, _chat(system, ("read", "exec"), TALK[:3]), number=2),
        exchange(CHAT, _chat(SYSTEM.format(**{**HELD, **third}), tools, talk), number=3),
    ]


@pytest.mark.parametrize(
    ("third", "cause", "where"),
    [
        ({"time": "2026-11-23 10:07"}, PrefixCause.TIME, "Time"),
        ({"tools": ("exec", "read")}, PrefixCause.TOOLS, ""),
        ({"memory": "coffee"}, PrefixCause.MEMORY, "MEMORY.md"),
        ({"style": "kind"}, PrefixCause.SYSTEM, "Style"),
        ({"talk": ("Summary of what came before: files were read.", TALK[1])}, PrefixCause.COMPACTION, "message 1"),
        ({"talk": (TALK[0], "I read a part.", *TALK[2:])}, PrefixCause.HISTORY, "message 2"),
    ],
    ids=("time", "tools", "memory", "system", "compaction", "history"),
)
def test_a_changed_beginning_is_named_at_its_call(third: dict[str, Any], cause: PrefixCause, where: str) -> None:
    found = prompt_facts(read_all(_recorded(dict(third))))

    [broken] = found.breaks
    assert (broken.call, broken.in_turn, broken.cause, broken.where) == (3, 3, cause, where)
    assert found.broken == 1


def test_a_conversation_that_only_grows_breaks_nothing() -> None:
    found = prompt_facts(read_all(_recorded({})))

    assert (found.breaks, found.broken, found.again) == ((), 0, 0)
    assert (found.tools, found.system) == (3 * len("readexec"), 3 * len(SYSTEM.format(**HELD)))
    assert found.history == sum(len(text) for end in (1, 3, 5) for text in TALK[:end])


def _used(prompt: int, cached: int) -> bytes:
    usage = {"prompt_tokens": prompt, "prompt_tokens_details": {"cached_tokens": cached}, "completion_tokens": 1}
    return sse(
        {"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}], "usage": usage}, end="[DONE]"
    )


def test_what_is_read_again_is_what_came_after_the_first_changed_character() -> None:
    first, second = ("a" * 300 + text + "b" * 100 for text in ("Mon 10:00", "Mon 10:01"))
    calls = [
        exchange(CHAT, _chat(first, (), ("c" * 100, "d")), _used(1000, 0), number=1),
        exchange(CHAT, _chat(second, (), ("c" * 100, "d", "e")), _used(1010, 590), number=2),
    ]

    at = 300 + len("Mon 10:0")
    again = round(1000 * (1 - at / (len(first) + 101)))
    assert prompt_facts(read_all(calls)).breaks == (
        PrefixBreak(call=2, in_turn=2, cause=PrefixCause.TIME, where="", at=at, again=again),
    )


def test_a_new_session_with_the_same_prompt_is_no_break_even_if_it_asks_for_a_summary() -> None:
    system = SYSTEM.format(**HELD)
    calls = [
        exchange(CHAT, _chat(system, ("read",), TALK), number=1),
        exchange(CHAT, _chat(system, ("read",), ("Write a summary of the inbox.",)), number=2, turn=1),
    ]

    assert prompt_facts(read_all(calls)).broken == 0
