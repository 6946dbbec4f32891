"""Traces on their way to a collector: taken at once, sent by a task of their own, and never waited for by a run."""

from __future__ import annotations

import logging
import secrets
import time
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from anyio import (
    CapacityLimiter,
    EndOfStream,
    WouldBlock,
    create_memory_object_stream,
    create_task_group,
    current_time,
    move_on_after,
    to_thread,
)
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from pinchbench.errors import ConfigError
from pinchbench.events import RunBegan, TrialEnded, TrialGraded
from pinchbench.publish.otel.spans import TraceContext, attempt_span, call_span, grade_span, trace_of
from pinchbench.results.evidence_files import Evidence
from pinchbench.wire.exchange_facts import facts_of
from pinchbench.wire.recording import RecordingReader

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from opentelemetry.sdk.trace import ReadableSpan

    from pinchbench.events import Event

HELD = 2_000  # ended and graded attempts on their way
TOGETHER = 50  # of them in one request
MOST_CALLS = 1_000  # of an attempt
MOST_RECORDED_BYTES = 20_000_000  # of a recording, as it lies on the disk: reading more takes long
LIMIT_S = 5.0  # for a collector to take a request, and for what is on its way when the run is over
TRACES_PATH = "/v1/traces"


@dataclass(frozen=True, kw_only=True, slots=True)
class Collector:
    """A collector: `url` takes traces and may hold a key, and `host` is for sentences."""

    url: str = field(repr=False)
    host: str


def read_collector(url: str) -> Collector:
    """Return the collector at a base URL, to which `/v1/traces` is added unless it ends so. Raises ConfigError."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        raise ConfigError(
            "--otlp needs the URL of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318."
        )
    path = parts.path.rstrip("/")
    path = path if path.endswith(TRACES_PATH) else path + TRACES_PATH
    return Collector(url=urlunsplit(parts._replace(path=path, fragment="")), host=host)


@dataclass(slots=True)
class _RunTrace:
    """The trace of a run in this session; `began` is in seconds since the epoch."""

    context: TraceContext
    run: RunBegan
    began: float


@dataclass(frozen=True, kw_only=True, slots=True)
class _Item:
    """What spans are to be made of."""

    trace: _RunTrace
    event: TrialEnded | TrialGraded


class TraceExporter:
    """Sends traces to a collector."""

    def __init__(self, collector: Collector) -> None:
        """Nothing is sent before `sending`."""
        self._collector = collector
        self._exporter: SpanExporter = OTLPSpanExporter(
            collector.url, timeout=LIMIT_S
        )  # reads OTEL_EXPORTER_OTLP_HEADERS
        self._traces: list[_RunTrace] = []
        self._way: MemoryObjectSendStream[_Item] | None = None
        self._dropped = 0
        self._has_warned = False
        self._ended = 0.0

    def listener(self, variant: str = "") -> Callable[[Event], None]:
        """Return what takes the events of a run, and never waits; `variant` names the run in an experiment."""
        trace: _RunTrace | None = None

        def hear(event: Event) -> None:
            nonlocal trace
            match event:
                case RunBegan():
                    trace = _began(event, variant)
                    self._traces.append(trace)
                case TrialEnded() if event.outcome.reused_from:
                    pass  # it was sent by the run that made it
                case TrialEnded() | TrialGraded() if trace is not None and self._way is not None:
                    try:
                        self._way.send_nowait(_Item(trace=trace, event=event))
                    except WouldBlock:
                        self._dropped += 1
                case _:
                    pass

        return hear

    @asynccontextmanager
    async def sending(self, *, warn: Callable[[str], None]) -> AsyncGenerator[None]:
        """Send what is heard within the block; at its end, wait a little for what is on its way.

        `warn` gets a sentence, once, when something is lost.
        """
        self._way, waiting = create_memory_object_stream[_Item](HELD)
        async with create_task_group() as group:
            group.start_soon(self._export, waiting, warn)
            try:
                yield
            finally:
                self._way.close()
                self._way = None
                self._ended = time.time()
                group.cancel_scope.deadline = current_time() + LIMIT_S
        if self._dropped:
            self._warn(f"{self._dropped} outcomes and grades came faster than they could be sent", warn)

    async def send_last(
        self, *, scores: Mapping[str, float | None], exit_code: int | None, warn: Callable[[str], None]
    ) -> None:
        """Send the span of each run, whose end is the end of its trace; `scores` are by variant, `""` without any."""
        spans = [_run_span(one, self._ended, scores.get(one.context.variant), exit_code) for one in self._traces]
        try:
            if spans:
                with move_on_after(LIMIT_S) as limit:
                    await self._send(lambda: spans, CapacityLimiter(1), warn)
                if limit.cancelled_caught:
                    self._warn("it takes too long", warn)
        finally:
            self._exporter.shutdown()

    async def _export(self, waiting: MemoryObjectReceiveStream[_Item], warn: Callable[[str], None]) -> None:
        reading = CapacityLimiter(1)
        with waiting:
            async for first in waiting:
                items = [first]
                with suppress(WouldBlock, EndOfStream):
                    while len(items) < TOGETHER:
                        items.append(waiting.receive_nowait())
                await self._send(partial(_spans, items), reading, warn)

    async def _send(
        self, make: Callable[[], list[ReadableSpan]], limiter: CapacityLimiter, warn: Callable[[str], None]
    ) -> None:
        def send() -> SpanExportResult:
            with _quiet():
                return self._exporter.export(make())

        try:
            result = await to_thread.run_sync(send, limiter=limiter, abandon_on_cancel=True)
        except Exception as error:  # noqa: BLE001 - a recording that can't be read, or a bug here, must not end a run
            self._warn(f"they can't be made ({type(error).__name__})", warn)
        else:
            if result is not SpanExportResult.SUCCESS:
                self._warn("it can't be reached, refuses them or takes too long", warn)

    def _warn(self, problem: str, warn: Callable[[str], None]) -> None:
        if not self._has_warned:
            self._has_warned = True
            warn(
                f"Spans have not arrived at the collector {self._collector.host}: {problem}. They are dropped; the run"
                " does not depend on it."
            )


@contextmanager
def _quiet() -> Generator[None]:
    """Keep OpenTelemetry's warnings off the terminal: they repeat the collector's URL."""
    logger = logging.getLogger("opentelemetry")
    nowhere, propagated = logging.NullHandler(), logger.propagate
    logger.addHandler(nowhere)
    logger.propagate = False
    try:
        yield
    finally:
        logger.propagate = propagated
        logger.removeHandler(nowhere)


def _began(event: RunBegan, variant: str) -> _RunTrace:
    context = TraceContext(
        trace_id=trace_of(event.run_id), run_span=secrets.randbits(64) or 1, model=event.model, variant=variant
    )
    return _RunTrace(context=context, run=event, began=time.time() - event.ago_s)


def _run_span(trace: _RunTrace, ended: float, score: float | None, exit_code: int | None) -> ReadableSpan:
    return trace.context.span(
        "pinchbench run",
        trace.context.run_span,
        began=trace.began,
        ended=ended,
        error=str(exit_code) if exit_code else "",
        attributes={
            "gen_ai.request.model": trace.context.model,
            "pinchbench.run.id": trace.run.run_id,
            "pinchbench.variant": trace.context.variant or None,
            "pinchbench.trials": trace.run.trials,
            "pinchbench.score": score,
            "process.exit.code": exit_code,
        },
    )


def _spans(items: list[_Item]) -> list[ReadableSpan]:
    return [span for item in items for span in _spans_of(item)]


def _spans_of(item: _Item) -> Iterator[ReadableSpan]:
    """Yield the spans of an ended attempt, its recorded calls included, or of a grade. Blocks."""
    context, event = item.trace.context, item.event
    if isinstance(event, TrialGraded):
        yield grade_span(context, event.grade)
        return
    outcome = event.outcome
    yield attempt_span(context, outcome)
    recording = Evidence(folder=item.trace.run.folder / outcome.evidence).wire
    with suppress(OSError):  # not recorded, or gone
        if outcome.evidence and recording.stat().st_size <= MOST_RECORDED_BYTES:
            for exchange in islice(RecordingReader(recording), MOST_CALLS):
                yield call_span(context, outcome, exchange, facts_of(exchange))
