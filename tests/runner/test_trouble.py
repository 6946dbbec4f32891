"""Runs in trouble: retries, outages, a budget that is used up, and what their results say."""

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio.streams.memory import MemoryObjectReceiveStream

from fakes import SCORED_BY_MODEL, Heard, fake_openclaw, make_suite, run_config
from pinchbench.config.rerun_configs import ResumeConfig
from pinchbench.config.run_config import RunConfig
from pinchbench.errors import ResultsError
from pinchbench.events import Event, PaceChanged, TrialEnded
from pinchbench.model.ending import Reason, Stop
from pinchbench.results.finished_run import Result
from pinchbench.results.journal.journal import read_journal
from pinchbench.results.records import PaceSet, RunFinished, TrialFinished
from pinchbench.runner.again.rerun import resume
from pinchbench.runner.run_benchmark import run_benchmark
from processes import living

pytestmark = pytest.mark.usefixtures("checks_in_process")


def a_run(folder: Path, **prompts: str) -> RunConfig:
    """A run of tasks whose check gives 1."""
    make_suite(folder, prompts, check=SCORED_BY_MODEL)
    return run_config(folder, fake_openclaw(folder), {})


def data_of(result: Result) -> dict[str, object]:
    data: dict[str, object] = json.loads(result.path.read_text("utf-8"))
    return data


def at(data: object, *path: str) -> object:
    for key in path:
        assert isinstance(data, dict)
        data = data[key]
    return data


async def test_a_failure_of_the_infrastructure_is_retried_and_the_result_says_what_that_did(tmp_path: Path) -> None:
    config = a_run(
        tmp_path,
        task_a="Write out.txt.",
        task_b=f"scenario: outage {tmp_path / 'b'} 2 503 unavailable",
        task_c=f"scenario: outage {tmp_path / 'c'} 9 503 unavailable",
    )
    seen = Heard()
    result = await run_benchmark(replace(config, fail_fast=False), observer=seen)
    told = {outcome.key.task_id: (outcome.reason, outcome.attempt) for outcome in result.outcomes}
    assert told == {
        "task_a": (Reason.COMPLETED, 1),
        "task_b": (Reason.COMPLETED, 3),
        "task_c": (Reason.PROVIDER_ERROR, 3),
    }
    data = data_of(result)
    assert at(data, "score", "mean") == 1.0
    assert at(data, "score", "trials") == 2
    assert at(data, "left_out", "infrastructure") == 1
    retries = {key: at(data, "retries", key) for key in ("trials", "attempts", "recovered")}
    assert retries == {"trials": 2, "attempts": 4, "recovered": 1}
    assert at(data, "retries", "first_attempts", "score", "trials") == 1
    assert at(data, "retries", "first_attempts", "left_out", "infrastructure") == 2
    kept = sorted(path.name for path in (result.folder / "trials" / "task_b").iterdir())
    assert kept == ["1", "1.attempt2", "1.attempt3"]
    for outcome in read_journal(result.folder / "journal.jsonl").state.attempts:
        assert (result.folder / outcome.evidence / "stdout.log").is_file()
    ended = [
        (event.outcome.key.task_id, event.outcome.attempt, event.retried)
        for event in seen.events
        if isinstance(event, TrialEnded)
    ]
    assert ended[:3] == [("task_a", 1, False), ("task_b", 1, True), ("task_c", 1, True)]
    assert sorted(ended[3:]) == [("task_b", 2, True), ("task_b", 3, False), ("task_c", 2, True), ("task_c", 3, False)]


async def test_a_run_that_can_not_work_is_inconclusive_and_never_0(tmp_path: Path) -> None:
    prompts = {f"task_{number}": "scenario: refused\nscenario: silent" for number in range(20)}
    seen = Heard()
    result = await run_benchmark(a_run(tmp_path, **prompts), observer=seen)
    assert result.stop is Stop.INCONCLUSIVE
    assert "is it set, valid" in result.stopped
    data = data_of(result)
    assert (at(data, "score", "mean"), data["stop"], data["stopped"]) == (None, "inconclusive", result.stopped)
    assert at(data, "left_out", "not_run") == 19
    records = read_journal(result.folder / "journal.jsonl").records
    assert [(record.limit, record.is_end) for record in records if isinstance(record, PaceSet)] == [
        (0, False),
        (0, True),
    ]
    told = [event for event in seen.events if isinstance(event, PaceChanged)]
    assert [(event.limit, event.is_end) for event in told] == [(0, False), (0, True)]
    assert told[-1].why == result.stopped
    assert isinstance(seen.events[seen.events.index(told[0]) - 1], TrialEnded)  # the reason comes first
    assert sum(isinstance(record, TrialFinished) for record in records) == 2
    assert isinstance(records[-1], RunFinished)
    assert records[-1].stop is Stop.INCONCLUSIVE


async def test_an_output_folder_that_vanishes_ends_the_run_with_a_clear_error_and_nothing_running(
    tmp_path: Path,
) -> None:
    config = a_run(tmp_path, **{f"task_{number}": "Write out.txt." for number in range(8)})

    async def observer(events: MemoryObjectReceiveStream[Event]) -> None:
        async for event in events:
            if isinstance(event, TrialEnded):
                await anyio.Path(config.output_dir).rename(tmp_path / "elsewhere")
                return

    gone = pytest.RaisesExc(ResultsError, match="journal")
    with pytest.RaisesGroup(gone, flatten_subgroups=True):
        await run_benchmark(replace(config, concurrency=2), observer=observer)
    assert living(tmp_path) == []
    assert not list((tmp_path / "runs").glob("*/.homes"))
    [folder] = (tmp_path / "elsewhere").glob("*/journal.jsonl")
    result = await resume(ResumeConfig(run=str(folder.parent)))
    assert result.complete


@pytest.mark.parametrize(
    ("scenario", "reason"), [("kill_guardian", "guardian_lost"), ("die SIGKILL", "killed_by_signal")]
)
async def test_an_agent_that_ends_its_own_trial_each_time_is_suspected_and_the_score_says_what_it_would_be(
    tmp_path: Path, scenario: str, reason: str
) -> None:
    config = a_run(tmp_path, task_a="Write out.txt.", task_b=f"scenario: {scenario}")
    result = await run_benchmark(replace(config, fail_fast=False, infra_retries=1))
    data = data_of(result)
    assert at(data, "score", "mean") == 1.0
    assert at(data, "left_out", "infrastructure") == 1
    assert data["possibly_caused_by_agent"] == {
        "trials": [{"task_id": "task_b", "repetition": 1, "reasons": [reason, reason]}],
        "score_if_zero": 0.5,
    }
