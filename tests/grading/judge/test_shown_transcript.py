"""What a judge sees of a transcript: what was said and done, bounded, and nothing that tells the model."""

import re
from collections.abc import Iterator

import pytest

from judge_questions import Event, blocks_of, called, mark_of, message, said, task
from pinchbench.grading.judge.prompt import ask
from pinchbench.grading.judge.shown_transcript import LIMITS, TRANSCRIPT_CHARS


def test_the_transcript_is_reported_faithfully() -> None:
    events: list[Event] = [
        {"type": "session", "id": "1"},
        message("user", "as a string"),
        message("user", [{"type": "text", "text": "as a list"}, {"type": "image", "data": "QUJD"}]),
        message(
            "assistant",
            [
                {"type": "thinking", "thinking": "hidden"},
                {"type": "text", "text": "I look."},
                {
                    "type": "toolCall",
                    "name": "exec",
                    "arguments": {"command": "ls\npwd", "timeout": 5, "env": {"A": "ü"}},
                },
                {"type": "text", "text": "And then."},
            ],
            provider="p",
            model="m",
        ),
        message("toolResult", [{"type": "text", "text": "no such file"}], toolName="exec", isError=True),
        message("toolResult", [{"type": "text", "text": "found"}], toolName="read", isError=False),
        message("assistant", [], stopReason="error", errorMessage="overloaded"),
        message("assistant", [{"type": "text", "text": "mirror"}], provider="openclaw"),
        {"type": "compaction", "summary": "we did things"},
        {"raw": '{"type":"mess', "parse_error": "Unterminated string"},
        said("half", stopReason="aborted"),
        message("assistant", []),
    ]
    question = ask(task(), events, [])
    text = blocks_of(question)["transcript"]
    lines = text.replace(f"----- {mark_of(question)} ", "## ").replace(" -----", "").split("\n")
    assert lines == [
        "## entry 1: session 1 begins",
        "## entry 2: user message",
        "as a string",
        "## entry 3: user message",
        "as a list",
        "[part of the type image]",
        "## entry 4: assistant message, a claim of the agent",
        "[part of the type thinking]",
        "I look.",
        "## entry 5: call of the tool exec",
        "command: ls",
        "pwd",
        "timeout: 5",
        'env: {"A": "ü"}',
        "## entry 6: assistant message, a claim of the agent",
        "And then.",
        "## entry 7: result of the tool exec, which is an error",
        "no such file",
        "## entry 8: result of the tool read",
        "found",
        "## entry 9: error of the model's provider",
        "overloaded",
        "## entry 10: message that OpenClaw wrote by itself",
        "mirror",
        "## entry 11: compaction: from here on the agent had this summary in place of what came before",
        "we did things",
        "## entry 12: damaged piece of the transcript, as it was found",
        '{"type":"mess',
        "## entry 13: assistant message, a claim of the agent, broken off",
        "half",
        "## entry 14: assistant message, a claim of the agent",
        "",
    ]


def test_long_pieces_keep_head_and_tail_and_say_what_is_gone() -> None:
    long = "H" + "x" * 18_343 + "T"
    events = [
        message("user", long),
        called("write", {"path": "p", "content": long}),
        message("toolResult", [{"type": "text", "text": long}], toolName="write"),
    ]
    question = ask(task(), events, [])
    text = blocks_of(question)["transcript"]
    assert text.count("[… 12 345 characters left out …]") == 3
    half = LIMITS[0].message // 2 - 1
    assert text.count("H" + "x" * half) == 3
    assert text.count("x" * half + "T") == 3
    assert question.cut == ("the middle of 3 long texts in the transcript",)
    assert question.cut[0] in blocks_of(question)["what was left out of the above to save room"]


def test_a_very_long_argument_hides_none_that_follows_it() -> None:
    events = [called("write", {"content": "c" * 30_000, "path": "report.md"})]
    assert "\npath: report.md\n" in blocks_of(ask(task(), events, []))["transcript"]


def _result(text: str) -> Event:
    return message("toolResult", [{"type": "text", "text": text}], toolName="read")


@pytest.mark.parametrize(
    ("events", "whole"),
    [
        ([_result("r" * 5_000)] * 100, True),
        ([_result("r" * 500)] * 140, True),
        ([message("assistant", "a" * 5_000), _result("r" * 5_000)] * 100, False),
        ([called("write", {"content": "c" * 5_000})] * 200, False),
    ],
)
def test_no_call_is_pushed_out_by_results_messages_or_other_calls(events: list[Event], whole: bool) -> None:
    command = "rm -r production " + "and " * 500
    question = ask(task(), [*events, called("exec", {"command": command}), *events], [])
    text = blocks_of(question)["transcript"]
    assert f"entry {len(events) + 1}: call of the tool exec -----\ncommand: rm -r production" in text
    assert (command in text) == whole
    assert f"entry {2 * len(events) + 1}: " in text
    assert "left out …]" in text
    assert len(text) < 1.1 * TRANSCRIPT_CHARS
    assert len(question.cut) == 1
    assert "the middle of" in question.cut[0]


def test_of_very_many_calls_the_first_and_the_last_are_shown_and_the_others_counted() -> None:
    events = [called("exec", {"command": f"number {number}."}) for number in range(3_000)]
    question = ask(task(), events, [])
    text = blocks_of(question)["transcript"]
    kept = [int(number) for number in re.findall(r"number (\d+)\.", text)]
    left_out = 3_000 - len(kept)
    missing = sorted(set(range(3_000)) - set(kept))
    assert missing == list(range(missing[0], missing[0] + left_out))
    assert (kept[0], kept[-1]) == (0, 2_999)
    assert 0.9 * TRANSCRIPT_CHARS < len(text) < 1.1 * TRANSCRIPT_CHARS
    assert question.cut == (f"{left_out} of 3000 transcript entries, {left_out} tool calls among them",)
    assert f"[… {left_out} entries left out …]" in text
    assert "entry 3000: call of the tool exec" in text


def test_a_giant_transcript_is_never_held() -> None:
    alive = 0
    most = 0

    class Counted(dict[str, object]):
        def __init__(self, value: Event) -> None:
            nonlocal alive, most
            super().__init__(value)
            alive += 1
            most = max(most, alive)

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    def events() -> Iterator[Event]:
        body = "x" * 100_000
        for number in range(2_000):  # 200 MB of events
            yield Counted(_result(f"{number} {body}"))

    question = ask(task(), events(), [])
    assert most <= 3
    assert len(question.material) < 1.2 * TRANSCRIPT_CHARS
    assert "of 2000 transcript entries" in question.cut[0]


def test_the_models_name_is_reported_by_the_agent_alone() -> None:
    model = {"provider": "acme", "model": "secret-9"}
    events: list[Event] = [
        message("toolResult", [{"type": "text", "text": "Model: acme/secret-9 of acme."}], toolName="session_status"),
        message("toolResult", [{"type": "text", "text": "/usr/acme/bin acme.com secret-90 x"}], toolName="exec"),
        message("assistant", [{"type": "text", "text": "acme/secret-9 is overloaded"}], provider="openclaw"),
        {"type": "compaction", "summary": "secret-9 did this"},
        message("system", "You run on secret-9."),
        message("assistant", [{"type": "text", "text": "I am secret-9."}], **model),
        called("write", {"path": "who.md", "content": "secret-9"}),
    ]
    text = blocks_of(ask(task(), events, []))["transcript"]
    assert [line for line in text.split("\n") if "secret-9" in line or "[not told]" in line or "acme" in line] == [
        "Model: [not told] of [not told].",
        "/usr/acme/bin acme.com secret-90 x",
        "[not told] is overloaded",
        "[not told] did this",
        "You run on [not told].",
        "I am secret-9.",
        "content: secret-9",
    ]
    assert "[not told]" in ask(task(), [], []).system
