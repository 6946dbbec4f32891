"""What happens in a run as spans, with the names of OpenTelemetry's conventions for generative AI (pure).

A span holds names and numbers; what agents, models and judges say is in none.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, TypeAlias

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from pinchbench.defaults import ProtocolName
from pinchbench.model.ending import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.model.usage import Usage
    from pinchbench.wire.exchange import Exchange
    from pinchbench.wire.protocols.call_facts import ExchangeFacts

Attribute: TypeAlias = "str | int | float | bool | None"

NANOSECONDS = 1_000_000_000
SERVICE = "pinchbench-async"
AGENT = "openclaw"
PROVIDERS = {"google": "gcp.gemini"}  # the convention's own name, where it is another than OpenClaw's


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceContext:
    """The trace of a run in one session, and the span that others are below. All sessions of a run share a trace."""

    trace_id: int
    run_span: int
    model: str = ""
    variant: str = ""

    def span(
        self,
        name: str,
        span_id: int,
        *,
        began: float,
        ended: float,
        attributes: Mapping[str, Attribute],
        parent: int = 0,
        kind: SpanKind = SpanKind.INTERNAL,
        error: str = "",
        events: tuple[Event, ...] = (),
    ) -> ReadableSpan:
        """Return a span. Times are in seconds since the epoch; attributes that are None are left out.

        It is made as a whole, not by a tracer: its ids and times are those of something that has ended.
        """
        release = version(SERVICE)
        return ReadableSpan(
            name,
            context=self._context(span_id),
            parent=self._context(parent) if parent else None,
            resource=Resource({"service.name": SERVICE, "service.version": release}),
            attributes=known({**attributes, "error.type": error or None}),
            events=events,
            kind=kind,
            status=Status(StatusCode.ERROR if error else StatusCode.UNSET),
            start_time=nanoseconds(began),
            end_time=nanoseconds(max(began, ended)),
            instrumentation_scope=InstrumentationScope(SERVICE, release),
        )

    def _context(self, span_id: int) -> SpanContext:
        return SpanContext(self.trace_id, span_id, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def nanoseconds(at: float) -> int:
    """Return a time as OpenTelemetry has it."""
    return round(at * NANOSECONDS)


def known(attributes: Mapping[str, Attribute]) -> dict[str, str | int | float | bool]:
    """Return the attributes that are not None."""
    return {name: value for name, value in attributes.items() if value is not None}


def trace_of(run_id: str) -> int:
    """Return the id of a run's trace."""
    return _id(run_id, digits=32)


def attempt_span_id(trace_id: int, key: TrialKey, attempt: int) -> int:
    """Return the id of an attempt's span: its calls and its grade name it as their parent."""
    return _id(f"{trace_id:032x} {key} {attempt}")


def _id(text: str, *, digits: int = 16) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:digits], 16)


def attempt_span(context: TraceContext, outcome: Outcome) -> ReadableSpan:
    """Return the span of an attempt at a trial."""
    is_fine = outcome.reason is Reason.COMPLETED
    return context.span(
        f"invoke_agent {AGENT}",
        attempt_span_id(context.trace_id, outcome.key, outcome.attempt),
        parent=context.run_span,
        began=outcome.started_at,
        ended=outcome.ended_at,
        error="" if is_fine else outcome.reason.value,
        attributes={
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": AGENT,
            "gen_ai.provider.name": _provider(context.model.partition("/")[0]),
            "gen_ai.request.model": context.model,
            "gen_ai.conversation.id": next(iter(outcome.session_ids), None),
            **_usage(outcome.usage),
            **_trial(context, outcome.key, outcome.attempt),
            "pinchbench.trial.outcome": outcome.reason.value,
            "pinchbench.trial.cost_usd": outcome.usage.known_cost_usd,
            "pinchbench.trial.tool_calls": outcome.tool_calls,
            "pinchbench.trial.execution_time_s": outcome.execution_time_s,
        },
    )


def call_span(context: TraceContext, outcome: Outcome, exchange: Exchange, facts: ExchangeFacts) -> ReadableSpan:
    """Return the span of a call of the model that the wire has recorded."""
    reply = facts.reply
    operation = "generate_content" if facts.protocol is ProtocolName.GEMINI else "chat"
    model = facts.request.model
    parent = attempt_span_id(context.trace_id, outcome.key, outcome.attempt)
    return context.span(
        f"{operation} {model}".rstrip(),
        _id(f"{parent:016x} {exchange.number}"),
        parent=parent,
        kind=SpanKind.CLIENT,
        began=exchange.began_at,
        ended=exchange.began_at + exchange.ended_s,
        error="" if reply.complete else str(exchange.status or exchange.end.value),
        attributes={
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": _provider(exchange.provider),
            "gen_ai.request.model": model,
            "gen_ai.response.model": reply.model or None,
            "gen_ai.response.id": reply.response_id or None,
            **(_usage(reply.usage) if reply.usage is not None else {}),
            "http.response.status_code": exchange.status or None,
            "pinchbench.call.number": exchange.number,
            "pinchbench.call.queued_s": exchange.queued_s,
            "pinchbench.call.first_token_s": reply.first_content_s,
        },
    )


def grade_span(context: TraceContext, grade: Grade) -> ReadableSpan:
    """Return the span of a trial's grading, whose event is the score."""
    parent = attempt_span_id(context.trace_id, grade.key, grade.attempt)
    attributes: dict[str, Attribute] = {
        "gen_ai.evaluation.name": "pinchbench",
        "gen_ai.evaluation.score.value": grade.score,
        "gen_ai.evaluation.score.label": None if grade.ungraded is None else f"ungraded, {grade.ungraded.value}",
    }
    return context.span(
        f"evaluate {grade.key}",
        _id(f"{parent:016x} grade {grade.graded_at}"),
        parent=parent,
        began=grade.graded_at - grade.took_s,
        ended=grade.graded_at,
        error="" if grade.ungraded is None else grade.ungraded.value,
        attributes={**attributes, **_trial(context, grade.key, grade.attempt)},
        events=(Event("gen_ai.evaluation.result", known(attributes), nanoseconds(grade.graded_at)),),
    )


def _trial(context: TraceContext, key: TrialKey, attempt: int) -> dict[str, Attribute]:
    return {
        "pinchbench.task.id": key.task_id,
        "pinchbench.repetition": key.repetition,
        "pinchbench.attempt": attempt,
        "pinchbench.variant": context.variant or None,
    }


def _usage(usage: Usage) -> dict[str, Attribute]:
    """Return what was used; the convention counts cached tokens as input."""
    return {
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens or None,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens or None,
    }


def _provider(name: str) -> str:
    return PROVIDERS.get(name, name)
