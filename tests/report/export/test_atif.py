"""A run as ATIF trajectories, checked against the rules of the format."""

import json
from dataclasses import replace
from math import fsum
from pathlib import Path
from typing import Any

from atif import Trajectory

from hostile_transcripts import MIXED
from past_runs import Made, PlannedRun, random_trials, write_run
from pinchbench.report.export.atif import write_atif
from pinchbench.results.finished_run import read_run

TOTALS = {
    "total_prompt_tokens": "prompt_tokens",
    "total_completion_tokens": "completion_tokens",
    "total_cached_tokens": "cached_tokens",
    "total_cost_usd": "cost_usd",
}


def check(told: dict[str, Any]) -> None:
    """The format's own validator, and what it leaves to the writer: unique calls, and totals that add up."""
    trajectory = Trajectory.model_validate(told)
    assert told["schema_version"] == "ATIF-v1.7"
    assert trajectory.trajectory_id == f"{trajectory.session_id}/{told['extra']['attempt']}"
    ids = [call["tool_call_id"] for step in told["steps"] for call in step.get("tool_calls", [])]
    assert len(ids) == len(set(ids))
    for step in told["steps"]:
        metrics = step.get("metrics", {})
        assert step.get("llm_call_count", 0) == bool(metrics)  # a call of which no provider told is not counted
        assert metrics.get("cached_tokens", 0) <= metrics.get("prompt_tokens", 0)
    totals = told["final_metrics"]
    assert totals["total_steps"] == len(told["steps"])
    for total, part in TOTALS.items():
        assert totals.get(total, 0) == fsum(step.get("metrics", {}).get(part, 0) for step in told["steps"])


def export(tmp_path: Path, run: PlannedRun = MIXED) -> Path:
    folder = tmp_path / "atif"
    write_atif(read_run(write_run(tmp_path / "results", run)), folder)
    return folder


def read(folder: Path, name: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((folder / name).read_bytes())
    return told


def test_every_trajectory_keeps_the_rules_of_the_format(tmp_path: Path) -> None:
    folder = export(tmp_path, replace(MIXED, trials={**MIXED.trials, **random_trials(tasks=5, repetitions=2)}))
    files = sorted(folder.glob("trials/*/*.json"))
    assert len(files) == 18
    for path in files:
        check(json.loads(path.read_bytes()))


def test_the_index_has_each_planned_trial_and_no_others(tmp_path: Path) -> None:
    folder = export(tmp_path)
    rows = read(folder, "index.json")["trials"]
    told = {(row["task_id"], row["repetition"]): (row["file"], row["score"], row["left_out"]) for row in rows}
    assert len(told) == len(rows) == 15
    assert told["task_a", 2] == ("trials/task_a/2.json", 0.4, None)
    assert told["task_b", 1] == ("trials/task_b/1.json", 0.0, None)
    assert told["task_c", 1] == (None, None, "infrastructure")
    assert told["task_c", 2] == ("trials/task_c/2.json", None, "judge_unreachable")
    assert told["task_e", 2] == (None, 0.3, None)  # an empty transcript is no trajectory
    assert told["task_a", 3] == (None, None, "not_run")
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == {"index.json"} | {row["file"] for row in rows if row["file"] is not None}


def test_a_turn_has_its_calls_what_they_gave_and_what_it_used(tmp_path: Path) -> None:
    told = read(export(tmp_path), "trials/task_a/1.json")
    user, asking, answer = told["steps"]
    assert (user["source"], user["message"]) == ("user", "Please see to task_a.")
    assert asking["reasoning_content"] == "I should look first."
    assert asking["tool_calls"] == [
        {"tool_call_id": "call_1", "function_name": "exec", "arguments": {"command": "ls task_a"}}
    ]
    assert asking["observation"] == {"results": [{"source_call_id": "call_1", "content": "notes.md\nreport.md"}]}
    assert asking["metrics"] == {"prompt_tokens": 2500, "completion_tokens": 10, "cached_tokens": 0, "cost_usd": 0.0075}
    assert answer["timestamp"] == "2026-01-02T03:00:05.000+00:00"
    assert told["agent"]["version"] == "2026.9.6"
    assert told["extra"]["score"] == 1.0


def test_of_a_trial_that_was_retried_the_attempt_that_counts_is_reported(tmp_path: Path) -> None:
    told = read(export(tmp_path), "trials/task_d/1.json")
    assert (told["extra"]["attempt"], told["extra"]["attempts"]) == (2, 2)
    assert told["extra"]["evidence"] == "trials/task_d/1.attempt2"


def test_hostile_transcripts_keep_their_order_and_their_sessions(tmp_path: Path) -> None:
    told = read(export(tmp_path), "trials/task_e/1.json")
    sources = [step["source"] for step in told["steps"]]
    assert sources == ["user", "agent", "system", "system", "system", "user", "agent", "agent", "system", "system"]
    asking = told["steps"][1]
    assert asking["observation"]["results"] == [
        {"source_call_id": "c", "content": "one"},
        {"source_call_id": "c~2", "content": "two", "extra": {"is_error": True}},
    ]
    assert asking["metrics"]["prompt_tokens"] == 950
    orphan = told["steps"][3]
    assert orphan["observation"] == {"results": [{"content": "three: of no call"}]}
    assert [step.get("extra", {}).get("session", 1) for step in told["steps"]] == [1] * 5 + [2] * 5
    assert "no system prompts" in told["notes"]
    check(told)


def test_a_long_text_is_cut_and_says_so(tmp_path: Path) -> None:
    text = json.dumps({"role": "user", "content": "y" * 3_000_000})
    line = f'{{"type":"message","id":"m","timestamp":"2026-01-02T03:00:00.000Z","message":{text}}}\n'
    told = read(export(tmp_path, PlannedRun(trials={"task_a": (Made(transcript=line),)})), "trials/task_a/1.json")
    assert told["steps"][0]["message"].endswith("y\n[2000000 more characters were cut]")


def test_a_transcript_that_can_not_be_read_keeps_no_others(tmp_path: Path) -> None:
    files = write_run(tmp_path / "results", MIXED)
    broken = files.folder / "trials" / "task_a" / "1" / "transcript.jsonl"
    broken.unlink()
    broken.mkdir()
    write_atif(read_run(files), tmp_path / "atif")
    told = read(tmp_path / "atif", "trials/task_a/1.json")
    check(told)
    assert "can't be read" in told["steps"][0]["message"]
    check(read(tmp_path / "atif", "trials/task_a/2.json"))


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "results", MIXED))
    for name in ("one", "two"):
        write_atif(run, tmp_path / name)
    names = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.json"))
    assert names == sorted(path.relative_to(tmp_path / "two") for path in (tmp_path / "two").rglob("*.json"))
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in names)


def test_what_was_written_to_the_cache_is_part_of_the_prompt_and_distinguished(tmp_path: Path) -> None:
    usage = {"input": 900, "output": 10, "cacheRead": 50, "cacheWrite": 30, "totalTokens": 990}
    message = {"role": "assistant", "model": "m1", "content": [{"type": "text", "text": "Done."}], "usage": usage}
    line = json.dumps({"type": "message", "id": "m", "timestamp": "2026-01-02T03:00:00.000Z", "message": message})
    told = read(
        export(tmp_path, PlannedRun(trials={"task_a": (Made(transcript=line + "\n"),)})), "trials/task_a/1.json"
    )
    check(told)
    metrics = told["steps"][0]["metrics"]
    assert (metrics["prompt_tokens"], metrics["extra"]) == (980, {"cache_creation_input_tokens": 30})
