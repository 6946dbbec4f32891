"""Spans: their places in a trace, their times, and names of the conventions."""

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from mischief import MISCHIEF, mischievous_calls
from pinchbench.model.ending import Reason
from pinchbench.model.grade import Grade, Ungraded
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.publish.otel.spans import (
    TraceContext,
    attempt_span,
    attempt_span_id,
    call_span,
    grade_span,
    trace_of,
)
from pinchbench.wire.exchange_facts import facts_of
from wire.exchanges import CHAT, exchange, sse

KEY = TrialKey(task_id="task_a", repetition=2)
CONTEXT = TraceContext(trace_id=trace_of("r1"), run_span=1, model="google/gemini-9", variant="quick")
OUTCOME = Outcome(
    key=KEY,
    reason=Reason.COMPLETED,
    digest="",
    attempt=3,
    started_at=1000.25,
    ended_at=1002.5,
    usage=Usage(requests=1, input_tokens=5, cache_read_tokens=10, output_tokens=7, cost_usd=0.5),
)


def attributes(span: ReadableSpan | Event) -> dict[str, object]:
    return dict(span.attributes or {})


def test_an_attempt_is_a_span_below_its_run_with_what_it_used() -> None:
    span = attempt_span(CONTEXT, OUTCOME)

    assert (span.context.trace_id, span.context.span_id) == (
        CONTEXT.trace_id,
        attempt_span_id(CONTEXT.trace_id, KEY, 3),
    )
    assert span.parent is not None
    assert span.parent.span_id == CONTEXT.run_span
    assert (span.start_time, span.end_time) == (1000250000000, 1002500000000)
    assert span.status.status_code is StatusCode.UNSET
    found = attributes(span)
    assert found["gen_ai.operation.name"] == "invoke_agent"
    assert found["gen_ai.provider.name"] == "gcp.gemini"
    assert found["gen_ai.usage.input_tokens"] == 15
    assert found["pinchbench.repetition"] == 2
    assert "gen_ai.conversation.id" not in found, "nothing is said of what is not known"


def test_a_call_is_a_client_s_span_below_its_attempt() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 3}}
    delta = {"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}
    reply = sse({"model": "m1-2026", "choices": [delta], "usage": usage}, end="[DONE]")
    one = exchange(CHAT, {"model": "m1", "messages": []}, reply, number=4, began_at=1000.5, ended_s=1.5)

    span = call_span(CONTEXT, OUTCOME, one, facts_of(one))

    assert (span.name, span.kind) == ("chat m1", SpanKind.CLIENT)
    assert span.parent is not None
    assert span.parent.span_id == attempt_span_id(CONTEXT.trace_id, KEY, 3)
    assert (span.start_time, span.end_time) == (1000500000000, 1002000000000)
    found = attributes(span)
    assert found["gen_ai.response.model"] == "m1-2026"
    assert (found["gen_ai.usage.input_tokens"], found["gen_ai.usage.output_tokens"]) == (9, 4)
    assert found["gen_ai.usage.cache_read.input_tokens"] == 3
    assert found["http.response.status_code"] == 200


def test_a_score_is_an_event_of_the_grading_and_a_missing_one_is_never_0() -> None:
    grade = Grade(
        key=KEY, grading_type=GradingType.AUTOMATED, attempt=3, score=0.25, graded_at=1003.0, notes=("secret",)
    )
    span = grade_span(CONTEXT, grade)
    [event] = span.events
    assert event.name == "gen_ai.evaluation.result"
    assert attributes(event)["gen_ai.evaluation.score.value"] == 0.25
    assert "secret" not in span.to_json()

    without = Grade(key=KEY, grading_type=GradingType.AUTOMATED, ungraded=Ungraded.CHECK_TIMED_OUT, graded_at=1003.0)
    span = grade_span(CONTEXT, without)
    assert "gen_ai.evaluation.score.value" not in attributes(span)
    assert attributes(span)["error.type"] == "check_timed_out"


def test_what_models_say_is_in_no_span_but_names_of_models() -> None:
    calls = mischievous_calls()
    spans = [call_span(CONTEXT, OUTCOME, one, facts_of(one)) for one in calls]
    assert len({one.context.span_id for one in spans}) == len(calls) == len(MISCHIEF) + 1
    assert {key for one in spans for key, value in attributes(one).items() if value in MISCHIEF} <= {
        "gen_ai.request.model",
        "gen_ai.response.model",
    }
