"""Records of a gateway's log, as 2026.9.6 and 2026.6.5 write them, and whose turns they belong to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pinchbench.openclaw.complaints import ComplaintReader
from pinchbench.openclaw.homes.gateway_log import KEPT_BYTES, UNCLAIMED, GatewayLog, LogPart, LogRecord, parse_record

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio

NAME = '{"subsystem":"agent/embedded"}'
TIME = "2026-11-23T03:09:57.858+00:00"
REFUSED = {
    "event": "embedded_run_agent_end",
    "tags": ["error_handling"],
    "runId": "run-1",
    "isError": True,
    "error": "API rate limit reached. Please try again later.",
    "failoverReason": "rate_limit",
    "model": "m1",
    "provider": "mock",
    "rawErrorPreview": "429 Rate limit reached for m1.",
    "rawErrorHash": "sha256:458c",
}
RETRY = "transient same-model retry 4/9 for mock/m1 reason=rate_limit: delayMs=30000"


def line(message: str, fields: dict[str, object] | None = None, *, trace: str = "") -> str:
    record: dict[str, object] = {"0": NAME, "1": fields or message, "_meta": {"name": NAME, "logLevelName": "WARN"}}
    traced = {"traceId": trace, "spanId": "55da"} if trace else {}
    return json.dumps({**record, "time": TIME, "hostname": "vm", "message": message, **traced})


def refused(run: str = "run-1", *, trace: str = "") -> str:
    return line("embedded run agent end", {**REFUSED, "runId": run}, trace=trace)


def parsed(text: str) -> LogRecord:
    record = parse_record(text.encode())
    assert record is not None
    return record


class Trials:
    """A log with listeners for trials `a` and `b`, and what they were given."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "openclaw.log"
        self.log = GatewayLog(self.path)
        self.given: dict[str, list[str]] = {"a": [], "b": []}

    async def write(self, *lines: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(f"{one}\n" for one in lines)
        await self.log.poll()

    def take(self, name: str, record: LogRecord) -> None:
        self.given[name].append(record.text.partition("] ")[2][:12])


def test_a_record_reads_as_it_stands_on_stderr_and_tells_complaints_the_same() -> None:
    record = parsed(refused(trace="t1"))
    assert (record.run_id, record.trace_id, record.at) == ("run-1", "t1", 1795403397.858)
    assert record.text.startswith(f"{TIME} [agent/embedded] embedded run agent end: runId=run-1 isError=true")
    reader = ComplaintReader()
    reader.feed_log(record.text, record.at)
    assert (reader.complaints.provider, reader.rate_limits) == ("429 Rate limit reached for m1.", 1)
    reader.feed_log(parsed(line(RETRY)).text, record.at)
    assert reader.retry is not None
    assert (str(reader.retry), reader.retry.delay_s) == ("429, retry 4 of 9", 30.0)
    assert reader.rate_limits == 1
    reader.answered(record.at + 1)
    assert reader.complaints.provider == ""


def test_a_turn_is_named_in_the_words_where_there_is_no_field() -> None:
    assert parsed(line("⇄ res ✓ agent 445ms runId=3113-76be conn=5")).run_id == "3113-76be"


@pytest.mark.parametrize(
    "text", ["", "no json", "[1]", '{"time": "x"}', '{"message": 3}', "[" * 9000, '{"message":"x"', '"x"']
)
def test_what_is_no_record_is_none(text: str) -> None:
    assert parse_record(text.encode()) is None


@pytest.mark.parametrize("meta", [None, 3, {"name": "{"}, {"name": "[]"}, {"name": None}, {}])
def test_a_record_of_another_shape_is_still_one(meta: object) -> None:
    assert parsed(json.dumps({"message": "x\ny", "time": 3, "_meta": meta})).text.endswith("] x y")


async def test_records_go_to_the_trial_whose_turn_or_trace_or_session_they_name(tmp_path: Path) -> None:
    trials = Trials(tmp_path)
    async with trials.log.listening(lambda record: trials.take("a", record)) as a:
        a.expect_session("task_1_17954")
        a.expect_run("run-a")
        async with trials.log.listening(lambda record: trials.take("b", record)) as b:
            b.expect_session("task_1_17954_2")
            b.expect_run("run-b")
            await trials.write(
                line("gateway ready"),
                refused("run-b", trace="t2"),
                line(RETRY, trace="t2"),
                refused("run-a", trace="t1"),
                line(RETRY, trace="t1"),
                line(RETRY, trace="t3"),
                line("lane error: session:agent:x:explicit:task_1_17954_2 durationMs=3"),
            )
            assert trials.given == {
                "a": ["embedded run", "transient sa"],
                "b": ["embedded run", "transient sa", "lane error: "],
            }


async def test_what_was_written_before_the_turn_was_known_is_not_lost(tmp_path: Path) -> None:
    trials = Trials(tmp_path)
    async with trials.log.listening(lambda record: trials.take("a", record)) as a:
        others = [line("model fetch", trace=f"other-{number}") for number in range(UNCLAIMED // 2)]
        await trials.write(
            line("tool search", trace="t1"), refused("run-a", trace="t1"), line(RETRY, trace="t1"), *others
        )
        assert trials.given["a"] == []
        a.expect_run("run-a")
        assert sorted(trials.given["a"]) == ["embedded run", "tool search", "transient sa"]
        await trials.write(line(RETRY, trace="t1"))
        assert len(trials.given["a"]) == 4


async def test_a_log_that_nobody_listened_to_is_read_on_where_it_was_left(tmp_path: Path) -> None:
    trials = Trials(tmp_path)
    for run in ("run-a", "run-b"):
        async with trials.log.listening(lambda record: trials.take("a", record)) as a:
            a.expect_run(run)
            await trials.write(refused("run-a"), refused("run-b"))
    assert len(trials.given["a"]) == 3  # of run-b the first time was held for it


def test_what_is_kept_of_a_long_log_is_its_end() -> None:
    part = LogPart()
    assert part.text == ""
    for number in range(3 * KEPT_BYTES // 1000):
        part.add(LogRecord(at=0.0, text=f"{number} {'x' * 1000}", line=""))
    head, *lines = part.text.rstrip("\n").split("\n")
    assert KEPT_BYTES - 2000 < len(part.text) < KEPT_BYTES + 2000
    assert head == f"… {3 * KEPT_BYTES // 1000 - len(lines)} earlier records are left out"
    assert lines[-1].startswith(f"{3 * KEPT_BYTES // 1000 - 1} ")
