"""Traces on their way to a real HTTP server, which takes them, refuses them, or never answers."""

import threading
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after, to_thread
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from fakes import nobody_listening
from http_server import HttpServer, Request, Response, running
from past_runs import Made, PlannedRun, write_run
from pinchbench.errors import ConfigError
from pinchbench.events import Event
from pinchbench.model.ending import Reason
from pinchbench.publish.otel import exporter as module
from pinchbench.publish.otel.exporter import TraceExporter
from pinchbench.results.journal.journal import read_journal
from pinchbench.results.journal.tail import FollowedRun
from wire.exchanges import CHAT, exchange

CALLS = (exchange(CHAT, {"model": "m1"}, b"{}", number=1), exchange(CHAT, {"model": "m1"}, b"{}", number=2, status=500))
RUN = PlannedRun(
    trials={
        "task_a": (Made(score=1.0, exchanges=CALLS),),
        "task_b": (Made(score=0.5, retried=(Reason.GATEWAY_LOST,)),),
    }
)


class FakeCollector(HttpServer[Request]):
    def __init__(self, response: Response) -> None:
        super().__init__()
        self._response = response

    async def respond(self, request: Request) -> Response:
        self.record(request)
        return self._response

    @property
    def spans(self) -> list[dict[str, Any]]:
        return [
            span
            for request in self.requests
            for resource in MessageToDict(ExportTraceServiceRequest.FromString(request.body))["resourceSpans"]
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        ]


def events_of(folder: Path) -> list[Event]:
    """Write a run that has ended, and return its events."""
    files = write_run(folder, RUN)
    replay = FollowedRun(files)
    records = read_journal(files.journal).records
    return [replay.begin(0.0), *(event for record in records for event in replay.tell(record, 0.0))]


async def export(folder: Path, port: int) -> list[str]:
    """Send the events of a run as it is made, until the thread that sends has ended; return the warnings."""
    told: list[str] = []
    exporter = TraceExporter(f"http://127.0.0.1:{port}")

    def send() -> None:
        with exporter.sending(warn=told.append):
            hear = exporter.listener(warn=told.append)
            for event in events_of(folder):
                hear(event)
            exporter.end({"": 0.75}, 0)
        for thread in threading.enumerate():
            if thread.name == "otlp":
                thread.join()

    with fail_after(60):
        await to_thread.run_sync(send)
    return told


async def test_a_collector_gets_the_run_its_attempts_their_calls_and_scores_as_one_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=abc")
    async with running(FakeCollector(Response())) as collector:
        told = await export(tmp_path, collector.port)

    assert told == []
    assert {(one.path, one.headers["api-key"]) for one in collector.requests} == {("/v1/traces", "abc")}
    names = sorted(one["name"] for one in collector.spans)
    assert names == [
        *["chat m1"] * 2,
        "evaluate task_a",
        "evaluate task_b",
        *["invoke_agent openclaw"] * 3,
        "pinchbench run",
    ]
    assert len({one["traceId"] for one in collector.spans}) == 1
    ids = {one["spanId"] for one in collector.spans}
    assert len(ids) == len(names)
    assert {one["parentSpanId"] for one in collector.spans if "parentSpanId" in one} < ids
    [run] = [one for one in collector.spans if "parentSpanId" not in one]
    assert {"key": "pinchbench.score", "value": {"doubleValue": 0.75}} in run["attributes"]


@pytest.mark.parametrize(
    ("response", "limit_s"), [(Response(status=400), 20.0), (Response(status=503), 0.5), (Response(silent=True), 0.1)]
)
async def test_a_collector_that_takes_nothing_is_named_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, response: Response, limit_s: float
) -> None:
    monkeypatch.setattr(module, "LIMIT_S", limit_s)
    async with running(FakeCollector(response)) as collector:
        told = await export(tmp_path, collector.port)

    assert len(told) == 1
    assert "at the collector 127.0.0.1: it " in told[0]


async def test_a_recording_that_can_not_be_read_costs_its_spans_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise ValueError("damaged")

    monkeypatch.setattr(module, "RecordingReader", fail)
    async with running(FakeCollector(Response())) as collector:
        told = await export(tmp_path, collector.port)

    assert len(told) == 1
    assert "they can't be made (ValueError)" in told[0]
    assert "pinchbench run" in {one["name"] for one in collector.spans}
    assert "evaluate task_b" in {one["name"] for one in collector.spans}


async def test_a_collector_that_is_not_there_and_more_than_can_be_held_are_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HELD", 1)
    with nobody_listening() as port:
        told = await export(tmp_path, port)

    assert len(told) == 1


@pytest.mark.parametrize("url", ["127.0.0.1:4318", "grpc://host", "http://", "http://[::1"])
def test_what_is_no_url_of_http_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="--otlp needs the URL"):
        TraceExporter(url)
