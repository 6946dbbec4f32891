"""Durations from earlier runs: the newest ones, with journals in any state, within limits."""

import os
from pathlib import Path

import pytest

from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.results.records import RunStarted, TrialFinished, encode
from pinchbench.runner.plan import past_durations
from pinchbench.runner.plan.past_durations import past_trials

TASKS = ("task_a", "task_b")


def ended(
    task_id: str = "task_a",
    took_s: float = 1.0,
    *,
    reason: Reason = Reason.COMPLETED,
    setup_s: float = 0.0,
    usage: Usage = Usage(),
) -> bytes:
    outcome = Outcome(
        key=TrialKey(task_id=task_id, repetition=1),
        reason=reason,
        digest=f"digest of {task_id}",
        usage=usage,
        execution_time_s=took_s,
        setup_s=setup_s,
        timeout_s=100.0,
    )
    return encode(TrialFinished(outcome=outcome))


def name(number: int, slug: str = "m") -> str:
    """Of the folder of a run; a higher number is a later run."""
    return f"{slug}_20260102-{number:06}-9f3a"


def a_run(output_dir: Path, number: int, *lines: bytes, slug: str = "m") -> Path:
    folder = output_dir / name(number, slug)
    folder.mkdir(parents=True)
    journal = folder / "journal.jsonl"
    journal.write_bytes(encode(RunStarted(run_id=str(number), model=slug, at=0, trials=9)) + b"".join(lines))
    return journal


def past(output_dir: Path) -> list[tuple[str, float, bool]]:
    found = past_trials(output_dir, slug="m", task_ids=TASKS)
    return [(one.task_id, one.took_s, one.same_model) for one in found]


def test_a_trial_cost_what_its_model_calls_did_where_their_price_is_known(tmp_path: Path) -> None:
    priced, unpriced = Usage(requests=2, total_tokens=9, cost_usd=0.5), Usage(requests=2, total_tokens=9)
    a_run(tmp_path, 1, *(ended(usage=usage) for usage in (priced, unpriced, Usage())))
    assert [one.cost_usd for one in past_trials(tmp_path, slug="m", task_ids=TASKS)] == [0.5, None, None]


def test_a_trial_that_timed_out_counts_as_its_limit_at_least(tmp_path: Path) -> None:
    a_run(tmp_path, 1, ended(took_s=99, reason=Reason.TIMED_OUT), ended(took_s=103, reason=Reason.TIMED_OUT))
    assert [took_s for _, took_s, _ in past(tmp_path)] == [100, 103]


@pytest.mark.parametrize("reason", [one for one in Reason if one not in (Reason.COMPLETED, Reason.TIMED_OUT)])
def test_a_trial_that_broke_down_tells_nothing(tmp_path: Path, reason: Reason) -> None:
    a_run(tmp_path, 1, ended(reason=reason))
    assert past(tmp_path) == []


def test_the_newest_runs_of_the_model_are_read_whatever_else_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_durations, "MAX_RUNS", 2)
    for number in range(4):
        a_run(tmp_path, number, ended(took_s=number), ended("task_b", number))
        a_run(tmp_path, 10 + number, ended(took_s=50), slug="m-2")
    assert [took_s for task_id, took_s, _ in past(tmp_path) if task_id == "task_a"] == [3, 2]


def test_other_models_are_asked_only_where_the_model_has_not_run_all_tasks(tmp_path: Path) -> None:
    a_run(tmp_path, 1, ended())
    a_run(tmp_path, 2, ended(took_s=2), ended("task_b", 3), ended("task_of_another_suite"), slug="other_m")
    assert past(tmp_path) == [("task_a", 1, True), ("task_a", 2, False), ("task_b", 3, False)]
    a_run(tmp_path, 3, ended("task_b", 4))
    assert past(tmp_path) == [("task_b", 4, True), ("task_a", 1, True)]


def test_what_is_torn_or_strange_is_left_out_and_harms_nothing(tmp_path: Path) -> None:
    whole = ended(took_s=3.5)
    a_run(
        tmp_path,
        1,
        whole[:40] + b"\n",
        b'{"type":"outcome","outcome":{"reason":"of_a_later_release"}}\n',
        b"\0\0\0\xff\n",
        ended(took_s=-1),
        whole.replace(b"3.5", b"1e400"),
        b'{"type":"outcome"' + b"[" * past_durations.MAX_LINE_BYTES + b"\n",
        whole,
        whole[:-9],
    )
    (tmp_path / name(2)).mkdir()
    (tmp_path / name(3)).mkdir()
    (tmp_path / name(3) / "journal.jsonl").mkdir()
    (tmp_path / name(4)).mkdir()
    os.mkfifo(tmp_path / name(4) / "journal.jsonl")
    (tmp_path / name(5)).write_text("{}", encoding="utf-8")
    assert past(tmp_path) == [("task_a", 3.5, True)]


def test_of_a_long_journal_only_the_end_is_read_and_of_all_together_no_more_than_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [ended(took_s=number) for number in range(10, 90)]
    monkeypatch.setattr(past_durations, "MAX_BYTES", len(lines[0]) * 14 + 20)
    a_run(tmp_path, 1, *lines)
    a_run(tmp_path, 2, *lines[:5])
    found = [took_s for _, took_s, _ in past(tmp_path)]
    assert found[:5] == [10, 11, 12, 13, 14], "the newest run is the shorter one"
    assert found[5:] in ([87, 88, 89], [86, 87, 88, 89]), "half of what the newest one has left"
