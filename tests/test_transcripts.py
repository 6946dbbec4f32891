"""A transcript reads as a conversation, whatever state it is in and whatever a model made up."""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from past_runs import Made, PlannedRun, write_run
from pinchbench.errors import ResultsError
from pinchbench.model.usage import Usage
from pinchbench.results.finished_run import read_run
from pinchbench.transcripts import MAX_LINE_BYTES, SHOWN_BYTES, Message, Role, ToolCall, conversation, read_conversation

STAMP = "2026-01-02T03:00:00.000Z"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
KEYS = st.sampled_from(
    ("role", "content", "provider", "model", "stopReason", "errorMessage", "usage", "toolCallId", "arguments", "type")
)


def said(**message: object) -> dict[str, object]:
    return {"type": "message", "timestamp": STAMP, "message": message}


def only(**message: object) -> Message:
    [one] = conversation([said(**message)])
    return one


def test_a_session_is_reported_in_order(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, PlannedRun(trials={"task_a": (Made(),)})))

    messages = read_conversation(run.files.folder / run.outcomes[0].evidence / "transcript.jsonl")

    assert [one.role for one in messages] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    question, call, result, answer = messages
    assert question.text == "Please see to task_a."
    assert (call.thinking, call.calls) == (
        "I should look first.",
        (ToolCall(id="call_1", name="exec", arguments={"command": "ls task_a"}),),
    )
    assert (result.call_id, result.tool, result.text, result.is_error) == (
        "call_1",
        "exec",
        "notes.md\nreport.md",
        False,
    )
    assert (answer.text, answer.stop, answer.model) == ("I have seen to **task_a**.", "stop", "mock/m1")
    assert answer.usage == Usage(requests=1, input_tokens=2500, output_tokens=10, total_tokens=2510, cost_usd=0.0075)
    assert [one.at for one in messages if one.at is not None] == sorted(one.at or 0 for one in messages)


def test_sessions_are_numbered_by_their_headers() -> None:
    first: dict[str, object] = {"type": "session", "id": "a"}
    second: dict[str, object] = {"type": "session", "id": "b"}
    talk = said(role="user", content="hello")

    assert [one.session for one in conversation([talk, first, talk, first, talk, second, talk])] == [1, 1, 1, 2]


def test_what_openclaw_writes_for_itself_is_left_out() -> None:
    events: list[dict[str, object]] = [
        {"type": "model_change", "modelId": "m"},
        said(role="assistant", provider="openclaw", model="delivery-mirror", content="again"),
        said(role="system", content="be good"),
    ]

    assert list(conversation(events)) == []


def test_an_error_of_the_provider_is_reported() -> None:
    failed = only(
        role="assistant", provider="p", model="m", content=[], stopReason="error", errorMessage="429 slow down"
    )

    assert (failed.stop, failed.error) == ("error", "429 slow down")


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ('{"path": "a"}', {"path": "a"}),
        ("{torn", {"text": "{torn"}),
        ('"\ud800"', {"text": '"\ufffd"'}),
        ("[1]", {"value": [1]}),
        (None, {}),
        (7, {"value": 7}),
    ],
)
def test_arguments_are_an_object_whatever_a_model_made_up(written: object, arguments: object) -> None:
    message = only(role="assistant", content=[{"type": "toolCall", "id": 1, "name": "exec", "arguments": written}])

    assert message.calls == (ToolCall(id="1", name="exec", arguments=arguments),)  # type: ignore[arg-type]


def test_a_torn_line_is_a_note_between_what_was_said(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    good = json.dumps(said(role="user", content="hello"))
    path.write_text(f'{good}\n{{"type": "mess\n{good}\n', encoding="utf-8")

    assert [(one.role, one.text) for one in read_conversation(path)] == [
        (Role.USER, "hello"),
        (Role.NOTE, '{"type": "mess'),
        (Role.USER, "hello"),
    ]


def test_a_line_beyond_all_bounds_is_not_read_into_the_conversation(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    after = json.dumps(said(role="user", content="hello")).encode()
    path.write_bytes(b'{"type": "message"' + b" " * (2 * MAX_LINE_BYTES) + b"}\n" + after + b"\n")

    note, next_one = read_conversation(path)

    assert (note.role, len(note.text)) == (Role.NOTE, SHOWN_BYTES)
    assert next_one.text == "hello"


def test_no_transcript_has_no_messages(tmp_path: Path) -> None:
    assert read_conversation(tmp_path / "transcript.jsonl") == ()


def test_a_transcript_that_is_no_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=str(tmp_path)):
        read_conversation(tmp_path)


@given(st.dictionaries(KEYS, JSON | st.sampled_from(["assistant", "user", "toolResult"])))
def test_no_message_is_too_strange_to_be_reported_and_written(message: dict[str, object]) -> None:
    for one in conversation([said(**message), {"type": "message", "message": message}, {"message": [message]}]):
        msgspec.json.encode(one)
