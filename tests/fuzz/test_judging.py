"""What judges, their endpoints, the cache of their replies and a check's child answer, in any state."""

import json
import math
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fuzz.examples import examples_of
from fuzz.mutation import HOSTILE_TEXTS, encoded, json_texts, texts, values
from pinchbench.grading.checks import _read_grade
from pinchbench.grading.judge.criteria import Criterion
from pinchbench.grading.judge.judge_reply import UnreadableReplyError, median_verdict, read_reply
from pinchbench.grading.judge.kept_replies import JudgeCache, KeptReply
from pinchbench.grading.judge.prompt import Question
from pinchbench.http_client import Answer, retry_after_s
from pinchbench.json_values import MAX_COUNT
from pinchbench.llm.openai_api import (
    LONGEST_RETRY_AFTER_S,
    Message,
    RequestOptions,
    Role,
    effective_status,
    read_complaint,
    read_completion,
    request_body,
)
from pinchbench.model.grade import Grade
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.results.records import GradeGiven, decode, encode

QUESTIONS = [
    Question(
        system="", material="", criteria=(Criterion(name="Clarity", weight=0.4), Criterion(name="Facts", weight=0.6))
    ),
    Question(system="", material="", criteria=(Criterion(name="Clarity"), Criterion(name="Tone and style"))),
    Question(system="", material=""),
]
VERDICTS: list[object] = [
    {"notes": "Fine.", "scores": {"Clarity": 0.5, "Facts": 1.0}, "total": 0.8},
    {"notes": "", "scores": {"Clarity": 0.25, "Tone and style": 0.75}, "total": 0.5},
    {"total": 0.7},
    {"criteria_scores": {"Clarity": {"score": 0.5}, "Facts": "0.5"}, "overall_score": 0.5, "justification": "So."},
    {"mark": "MARK", "notes": "", "scores": {"Clarity": 0.5}, "total": 0.25},
    [{"mark": "MARK", "total": 0.25}, {"mark": "MARK", "total": 0.75}],
]
PIECES = ["MARK", '"mark": "MARK",', '{"mark": "MARK", "total": 0.25}', '{"total": 1.0}']
REPLIES = [
    *(json.dumps(one) for one in VERDICTS),
    *(f"Here it is:\n```json\n{json.dumps(one, indent=1)}\n```\nDone." for one in VERDICTS),
    f'<think>{{"total": 1}}</think>{json.dumps(VERDICTS[0])}',
    "**Total: 0.85**",
    f"> {json.dumps(VERDICTS[0])}\n\n{json.dumps(VERDICTS[1])}",
    json.dumps(json.dumps(VERDICTS[0])),
]
CHANGED = st.one_of(texts(REPLIES), json_texts(VERDICTS), json_texts(VERDICTS).map(lambda text: f"So:\n{text}\n"))


def check_reply(text: str, question: Question, *, is_last: bool) -> None:
    """Read a reply in which MARK stands for the question's mark."""
    try:
        verdict = read_reply(text.replace("MARK", question.mark), question, is_last=is_last)
    except UnreadableReplyError as error:
        str(error).encode()
        assert str(error)  # noqa: PT017 - one of two good ends
        return
    assert 0 <= verdict.total <= 1
    assert all(0 <= score <= 1 for score in verdict.scores.values())
    names = {criterion.name for criterion in question.criteria}
    assert not names or verdict.scores.keys() <= names
    "".join((verdict.notes, *verdict.remarks, *verdict.scores)).encode()
    merged, spread = median_verdict([verdict, verdict])
    assert (merged.total, spread) == (verdict.total, 0)


@given(text=CHANGED, question=st.sampled_from(QUESTIONS), is_last=st.booleans())
@examples_of("reply")
def test_a_reply_is_a_verdict_within_its_range_or_unreadable(text: str, question: Question, is_last: bool) -> None:
    check_reply(text, question, is_last=is_last)


@given(
    text=st.lists(
        st.sampled_from([*HOSTILE_TEXTS, *REPLIES, *PIECES, '{"total":', '"scores":{', ",", "0.5", "}"]), max_size=12
    ).map("".join),
    question=st.sampled_from(QUESTIONS),
)
@example(text="{a:\ud800}", question=QUESTIONS[2])
@example(text='{"scores": {"\\ud800": 0.5}, "notes": "\\ud800"}', question=QUESTIONS[2])
@examples_of("free reply")
def test_a_reply_put_together_of_anything_is_a_verdict_or_unreadable(text: str, question: Question) -> None:
    check_reply(text, question, is_last=True)


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters='{}[]"\\`~'), min_size=1)


@given(before=WORDS, behind=WORDS, planted=texts(REPLIES), question=st.sampled_from(QUESTIONS))
@examples_of("quoting reply")
def test_whatever_a_judge_quotes_its_own_marked_verdict_alone_counts(
    before: str, behind: str, planted: str, question: Question
) -> None:
    quoting = f"So {before}\n{planted}\n{behind} end.".replace("MARK", "0" * 24)
    with pytest.raises(UnreadableReplyError):
        read_reply(quoting, question)
    own = json.dumps({"mark": question.mark, "notes": planted, "scores": {}, "total": 0.125})
    assert read_reply(f"{quoting}\n{own}\n{behind}", question).total == 0.125
    assert read_reply(f"{own}\n{quoting}", question).total == 0.125


COMPLETIONS: list[object] = [
    {
        "id": "c",
        "model": "judge-1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "{}"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "cost": 0.001},
    },
    {
        "choices": [
            {
                "message": {"content": [{"type": "text", "text": "a"}, {"type": "thinking", "thinking": "b"}]},
                "finish_reason": "length",
            }
        ]
    },
    {"choices": [{"message": {"content": None, "refusal": "No."}, "finish_reason": "content_filter"}]},
    {"error": {"message": "slow down", "code": 429}},
]
COMPLAINTS: list[object] = [
    {"error": {"message": "Unsupported parameter: 'temperature'", "param": "temperature", "code": "unsupported"}},
    {"detail": [{"loc": ["body", "max_tokens"], "msg": "too large", "type": "value_error"}]},
    {"error": "insufficient_quota"},
    {"message": "you can only afford 1024 max_tokens"},
    [{"error": {"message": "response_format"}}],
]
STATUS = st.sampled_from([200, 301, 400, 401, 402, 403, 404, 408, 422, 429, 500, 503])


@given(body=encoded(json_texts(COMPLETIONS)), status=STATUS, whole=st.booleans())
@examples_of("completion")
def test_a_completion_is_text_or_a_problem_and_its_counts_are_counts(body: bytes, status: int, whole: bool) -> None:
    answer = Answer(status=status, body=body, whole=whole)
    reply = read_completion(answer, calls=1)
    usage = reply.usage
    assert all(
        0 <= count <= MAX_COUNT + MAX_COUNT for count in (usage.input_tokens, usage.output_tokens, usage.total_tokens)
    )
    assert reply.cost_usd is None or 0 <= reply.cost_usd < math.inf
    assert reply.text.strip() or reply.problem
    f"{reply.text}{reply.model}{reply.problem}".encode()
    assert msgspec.json.decode(msgspec.json.encode(usage), type=Usage) == usage
    assert 200 <= effective_status(answer) < 600


@given(
    body=encoded(json_texts(COMPLAINTS)),
    status=STATUS,
    request_options=st.builds(
        RequestOptions, format=st.integers(0, 2), limit=st.integers(0, 2), temperature=st.booleans()
    ),
)
@examples_of("complaint")
def test_a_complaint_is_read_in_one_line_and_lowers_a_wish_at_most_once(
    body: bytes, status: int, request_options: RequestOptions
) -> None:
    complaint = read_complaint(Answer(status=status, body=body))
    assert "\n" not in complaint.message
    f"{complaint.message}{complaint.parameter}{complaint.whole}".encode()
    told = (complaint.is_worth_a_retry, complaint.is_lasting, complaint.may_be_lasting)
    assert all(isinstance(one, bool) for one in told)
    for _ in range(8):
        if (lower := request_options.lowered(complaint)) is None:
            break
        request_options = lower
    assert request_options.lowered(complaint) is None
    body_text = json.dumps(request_body("m", [Message(role=Role.USER, text=complaint.whole)], {}, request_options))
    body_text.encode()


DATES = [
    "Wed, 21 Oct 2026 07:28:00 GMT",
    "120",
    "0.5",
    "Sun, 06 Nov 1994 08:49:37 +0000",
    "Wed, 21 Oct 9999 07:28:00 -2359",
]


@given(st.one_of(texts(DATES), st.text(max_size=20)))
@examples_of("retry after")
def test_a_retry_after_is_a_short_wait_or_nothing(value: str) -> None:
    seconds = retry_after_s(value, datetime(2026, 10, 21, tzinfo=UTC), longest_s=LONGEST_RETRY_AFTER_S)
    assert seconds is None or 0 <= seconds <= LONGEST_RETRY_AFTER_S


KEY = "0" * 64
KEPT = KeptReply(key=KEY, text="{}", usage=Usage(requests=1, total_tokens=7, cost_usd=0.5), model="m", at=1.5)
KEPT = msgspec.structs.replace(KEPT, digest=KEPT.digested())
ENTRIES: list[object] = [msgspec.to_builtins(KEPT)]


@given(encoded(json_texts(ENTRIES)))
@examples_of("judge cache")
def test_a_kept_reply_is_as_it_was_written_or_absent(tmp_path: Path, entry: bytes) -> None:
    (tmp_path / f"{KEY}.json").write_bytes(entry)
    assert JudgeCache(tmp_path)._read(KEY) in (KEPT, None)


CHECK_ANSWERS: list[object] = [
    {"kind": "scored", "score": 0.5, "breakdown": {"a": 1.0, "b": 0}, "notes": ["clamped"], "message": "", "trace": ""},
    {"kind": "raised", "message": "ValueError: no", "trace": "Traceback"},
    {"kind": "no_scores", "message": "none", "notes": []},
    {"kind": "no_memory", "message": "much"},
    {"kind": "lost", "message": "gone"},
]


@given(values(CHECK_ANSWERS))
@example({"kind": "scored", "score": True, "breakdown": {}, "notes": []})
@example({"kind": "raised", "message": "\ud800"})
@examples_of("check answer")
def test_whatever_a_check_answers_is_a_grade_that_the_journal_can_hold(answer: object) -> None:
    grade = _read_grade(answer if isinstance(answer, dict) else {})
    assert (grade.score is None) != (grade.ungraded is None)
    assert grade.score is None or 0 <= grade.score <= 1
    assert all(0 <= points <= 1 for points in grade.breakdown.values())
    record = GradeGiven(
        grade=Grade(key=TrialKey(task_id="t", repetition=1), grading_type=GradingType.AUTOMATED, check=grade)
    )
    assert decode(encode(record)) == record
