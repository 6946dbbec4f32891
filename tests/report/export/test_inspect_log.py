"""A run as a log of Inspect AI, read back by Inspect."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import pytest

from hostile_transcripts import MIXED
from past_runs import write_run
from pinchbench.model.ending import Stop
from pinchbench.results.finished_run import PastRun, read_run
from pinchbench.results.records import RunFinished

if TYPE_CHECKING:
    from pathlib import Path

    from inspect_ai.log import EvalLog


@dataclass(frozen=True, kw_only=True, slots=True)
class Logs:
    """The logs that Inspect read, by their endings, and the run they were written from."""

    run: PastRun
    folder: Path
    read: dict[str, EvalLog]

    def of(self, suffix: str) -> dict[str, Any]:
        log: dict[str, Any] = json.loads(self.read[suffix].model_dump_json())
        return log

    def sample(self, task: str, epoch: int) -> dict[str, Any]:
        found: dict[str, Any] = next(
            one for one in self.of(".eval")["samples"] if (one["id"], one["epoch"]) == (task, epoch)
        )
        return found


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Logs:
    from inspect_ai.log import read_eval_log

    from pinchbench.report.export.inspect_log import FORMATS, write_inspect

    folder = tmp_path_factory.mktemp("logs")
    run = read_run(write_run(tmp_path_factory.mktemp("results"), MIXED))
    paths = {suffix: folder / f"run{suffix}" for suffix in FORMATS}
    for path in paths.values():
        write_inspect(run, path)
    return Logs(run=run, folder=folder, read={suffix: read_eval_log(str(path)) for suffix, path in paths.items()})


def metrics(log: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {
        score["name"]: {name: metric["value"] for name, metric in score["metrics"].items()}
        for score in log["results"]["scores"]
    }


@pytest.mark.parametrize("suffix", [".eval", ".json"])
def test_inspect_reads_a_log_and_lists_its_samples(logs: Logs, suffix: str) -> None:
    from inspect_ai.log import read_eval_log_sample_summaries

    log = logs.of(suffix)
    keys = {(key.task_id, key.repetition) for key in logs.run.attempts}

    assert {(one["id"], one["epoch"]) for one in log["samples"]} == keys
    summaries = read_eval_log_sample_summaries(str(logs.folder / f"run{suffix}"))
    assert {(one.id, one.epoch) for one in summaries} == keys
    assert log["eval"]["model"] == "mock/m1"
    assert log["eval"]["config"]["epochs"] == 3


def test_the_score_is_that_of_the_run_and_its_samples_give_it_again(logs: Logs) -> None:
    log = logs.of(".eval")
    told = logs.run.data.score
    final = metrics(log)["final"]
    assert final["mean"] == told.mean
    assert (final["ci_low"], final["ci_high"]) == (told.low, told.high)
    by_task: dict[str, list[float]] = {}
    for one in log["samples"]:
        if one["scores"] is not None and "final" in one["scores"]:
            by_task.setdefault(one["id"], []).append(one["scores"]["final"]["value"])
    means = {task: sum(scores) / len(scores) for task, scores in by_task.items()}
    assert sum(means.values()) / len(means) == pytest.approx(final["mean"])
    entry = next(one for one in log["results"]["scores"] if one["name"] == "final")
    assert (entry["scored_samples"], entry["unscored_samples"]) == (4, 1)
    assert log["results"]["headline"] == {"scorer": "final", "score": "final", "metric": "mean", "reducer": None}


def test_a_trial_without_a_score_has_none_and_says_why(logs: Logs) -> None:
    lost, waiting = logs.sample("task_c", 1), logs.sample("task_c", 2)
    assert lost["scores"] is None
    assert lost["metadata"]["left_out"] == "infrastructure"
    assert lost["error"]["message"] == "no_transcript: OpenClaw left no transcript."
    assert lost["messages"] == []
    assert waiting["scores"] is None
    assert waiting["metadata"]["left_out"] == "judge_unreachable"
    assert waiting["error"] is None
    results = logs.of(".eval")["results"]
    assert results["metadata"]["left_out"]["not_run"] == 5
    assert (results["total_samples"], results["completed_samples"]) == (15, 9)


def test_scores_say_what_they_are_made_of(logs: Logs) -> None:
    scores = logs.sample("task_a", 2)["scores"]
    assert scores["check"]["metadata"]["breakdown"] == {"file_there": 0.4}
    assert scores["judge"]["metadata"]["votes"] == [0.4]
    assert scores["judge"]["explanation"] == "The answer names its sources."
    assert scores["final"]["answer"] == "I have seen to **task_a@2**."


def test_messages_calls_and_their_times_are_there(logs: Logs) -> None:
    whole = logs.sample("task_a", 1)
    user, asking, tool, answer = whole["messages"]
    assert [one["role"] for one in whole["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert whole["input"] == user["content"] == "Please see to task_a."
    assert [part["type"] for part in asking["content"]] == ["reasoning", "text"]
    assert asking["tool_calls"][0]["id"] == tool["tool_call_id"] == "call_1"
    assert answer["model"] == "mock/m1"
    assert whole["output"]["choices"][0]["stop_reason"] == "stop"
    assert whole["output"]["completion"] == "I have seen to **task_a**."
    first, used, last = whole["events"]
    assert (first["event"], used["event"], last["event"]) == ("model", "tool", "model")
    assert [one["id"] for one in last["input"]] == [user["id"], asking["id"], tool["id"]]
    assert used["timestamp"] == first["completed"]
    assert last["working_time"] == 1.0


def test_usage_is_the_agents_and_the_judges_apart(logs: Logs) -> None:
    stats = logs.of(".eval")["stats"]
    told = logs.run.data.usage
    assert stats["model_usage"]["mock/m1"]["total_tokens"] == told.total_tokens
    assert stats["model_usage"]["mock/m1"]["total_cost"] == pytest.approx(told.cost_usd)
    judged = sum(grade.judge.usage.total_tokens for grade in logs.run.grades.values() if grade.judge is not None)
    assert stats["role_usage"]["grader"]["total_tokens"] == judged
    costs = [grade.judge.cost_usd for grade in logs.run.grades.values() if grade.judge is not None]
    assert stats["role_usage"]["grader"]["total_cost"] == pytest.approx(sum(cost for cost in costs if cost))
    assert logs.sample("task_a", 1)["role_usage"]["grader"]["total_tokens"] == 1000
    assert logs.sample("task_a", 1)["role_usage"]["grader"]["total_cost"] == 0.001


def test_hostile_transcripts_are_read_too(logs: Logs) -> None:
    whole = logs.sample("task_e", 1)
    asking = whole["messages"][1]
    assert [call["id"] for call in asking["tool_calls"]] == ["c", "c~2"]
    assert asking["tool_calls"][0]["arguments"]["big"] == str(10**40)
    tools = [one for one in whole["messages"] if one["role"] == "tool"]
    assert [one["tool_call_id"] for one in tools] == ["c", "c~2", None, None]
    assert tools[1]["error"] == {"type": "unknown", "message": "two"}
    assert [one["event"] for one in whole["events"]].count("info") == 3  # where the lines are that are no records
    assert [one["metadata"] for one in whole["messages"] if one["role"] == "user"] == [None, {"session": 2}]
    assert [one["content"] for one in whole["input"]] == ["Go on\ufffd.", "And now?"]
    models = [one for one in whole["events"] if one["event"] == "model"]
    assert [one["content"] for one in models[1]["input"]] == ["And now?"]  # a session of its own begins anew
    assert logs.sample("task_e", 2)["messages"] == []


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (None, "started"),
        (RunFinished(at=1.0), "success"),
        (RunFinished(at=1.0, interrupted="SIGINT"), "cancelled"),
        (RunFinished(at=1.0, stopped="It cost enough.", stop=Stop.BUDGET), "cancelled"),
    ],
)
def test_a_run_that_is_not_done_says_how_it_stands(tmp_path: Path, end: RunFinished | None, status: str) -> None:
    from pinchbench.report.export.inspect_log import write_inspect

    run = replace(read_run(write_run(tmp_path / "results", MIXED)), end=end)
    write_inspect(run, tmp_path / "run.eval")
    with ZipFile(tmp_path / "run.eval") as archive:
        assert json.loads(archive.read("header.json"))["status"] == status
