"""Send traces to a collector from a thread of its own, so that no run waits for it."""

from __future__ import annotations

import logging
import secrets
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from pinchbench.errors import ConfigError
from pinchbench.events import Event, RunBegan, TrialEnded, TrialGraded
from pinchbench.publish.otel.spans import TraceContext, attempt_span, call_span, grade_span, trace_of
from pinchbench.results.evidence_files import Evidence
from pinchbench.wire.exchange_facts import facts_of
from pinchbench.wire.recording import RecordingReader

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    from opentelemetry.sdk.trace import ReadableSpan


HELD = 2_000  # ended and graded attempts on their way
MOST_CALLS = 1_000  # of an attempt
MOST_RECORDED_BYTES = 20_000_000  # of a recording, as it lies on the disk: reading more takes long
LIMIT_S = 5.0  # for a collector to take a request, and for what is on its way when the run is over
TRACES_PATH = "/v1/traces"


def _endpoint(url: str) -> tuple[str, str]:
    """Return a collector's URL for traces, which may contain a key, and its host. Raises ConfigError."""
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
    return urlunsplit(parts._replace(path=path, fragment="")), host


@dataclass(slots=True)
class _RunTrace:
    """The trace of a run in this session; times are in seconds since the epoch, `ended` that of its last event."""

    context: TraceContext
    run: RunBegan
    began: float
    ended: float


class TraceExporter:
    """Sends traces to a collector, from a thread that nothing waits for longer than a few seconds."""

    def __init__(self, url: str) -> None:
        """`url` is the collector's; `/v1/traces` is added unless it ends so. Raises ConfigError."""
        endpoint, self._host = _endpoint(url)
        self._exporter: SpanExporter = OTLPSpanExporter(endpoint, timeout=LIMIT_S)  # reads OTEL_EXPORTER_OTLP_HEADERS
        self._traces: list[_RunTrace] = []
        self._waiting: SimpleQueue[Callable[[], Iterable[ReadableSpan]] | None] = SimpleQueue()
        self._problem = ""
        self._has_warned = False

    def listener(self, variant: str = "", *, warn: Callable[[str], None]) -> Callable[[Event], None]:
        """Return a listener for the events of a run, which never waits; `variant` names the run in an experiment.

        `warn` gets a sentence, once, when something is lost.
        """
        trace: _RunTrace | None = None

        def hear(event: Event) -> None:
            nonlocal trace
            match event:
                case RunBegan():
                    trace = _began(event, variant)
                    self._traces.append(trace)
                case TrialEnded() if event.outcome.reused_from:
                    pass  # it was sent by the run that made it
                case TrialEnded() | TrialGraded() if trace is not None:
                    trace.ended = time.time()
                    if self._waiting.qsize() < HELD:
                        self._waiting.put(partial(_spans_of, trace, event))
                    else:
                        self._problem = self._problem or "outcomes and grades came faster than they could be sent"
                case _:
                    pass
            self._warn(warn)

        return hear

    @contextmanager
    def sending(self, *, warn: Callable[[str], None]) -> Generator[None]:
        """Send the events of the block; at its end, wait a few seconds for those not sent yet."""
        sender = Thread(target=self._send_all, name="otlp", daemon=True)
        sender.start()
        try:
            yield
        finally:
            self._waiting.put(None)
            sender.join(LIMIT_S)
            if sender.is_alive():
                self._problem = self._problem or "it takes too long"
            self._warn(warn)

    def end(self, scores: Mapping[str, float | None], exit_code: int) -> None:
        """Send the span of each run, whose end is the end of its trace; `scores` are by variant, `""` without any."""
        spans = [_run_span(one, scores.get(one.context.variant), exit_code) for one in self._traces]
        if spans:
            self._waiting.put(lambda: spans)

    def _send_all(self) -> None:
        with _quiet():
            for make in iter(self._waiting.get, None):
                problem = self._send(make)
                self._problem = self._problem or problem
        self._exporter.shutdown()

    def _send(self, make: Callable[[], Iterable[ReadableSpan]]) -> str:
        """Send spans; return what went wrong, or an empty text."""
        try:
            result = self._exporter.export(list(make()))
        except Exception as error:  # noqa: BLE001 - a recording that can't be read, or a bug here, must not end a run
            return f"they can't be made ({type(error).__name__})"
        is_sent = result is SpanExportResult.SUCCESS
        return "" if is_sent else "it can't be reached, refuses them or takes too long"

    def _warn(self, warn: Callable[[str], None]) -> None:
        if self._problem and not self._has_warned:
            self._has_warned = True
            warn(
                f"Spans have not arrived at the collector {self._host}: {self._problem}. They are dropped; the run does"
                " not depend on it."
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
    now = time.time()
    return _RunTrace(context=context, run=event, began=now - event.ago_s, ended=now)


def _run_span(trace: _RunTrace, score: float | None, exit_code: int) -> ReadableSpan:
    return trace.context.span(
        "pinchbench run",
        trace.context.run_span,
        began=trace.began,
        ended=trace.ended,
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


def _spans_of(trace: _RunTrace, event: TrialEnded | TrialGraded) -> Iterator[ReadableSpan]:
    """Yield the spans of an ended attempt, its recorded calls included, or of a grade. Blocks."""
    context = trace.context
    if isinstance(event, TrialGraded):
        yield grade_span(context, event.grade)
        return
    outcome = event.outcome
    yield attempt_span(context, outcome)
    recording = Evidence(folder=trace.run.folder / outcome.evidence).wire
    with suppress(OSError):  # not recorded, or gone
        if outcome.evidence and recording.stat().st_size <= MOST_RECORDED_BYTES:
            for exchange in islice(RecordingReader(recording), MOST_CALLS):
                yield call_span(context, outcome, exchange, facts_of(exchange))
