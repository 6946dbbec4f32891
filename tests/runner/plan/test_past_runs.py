"""What trials took and judging used in earlier runs: the newest ones, with journals in any state, within limits."""

import os
from pathlib import Path

import pytest

from past_runs import Made, PlannedRun, write_run
from pinchbench.model.ending import Reason
from pinchbench.model.grade import Grade, JudgeGrade
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.results.records import GradeGiven, RunStarted, TrialFinished, encode
from pinchbench.runner.plan import past_runs
from pinchbench.runner.plan.past_runs import PastVote, forecast, past_trials, past_votes

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
    monkeypatch.setattr(past_runs, "MAX_RUNS", 2)
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
        b'{"type":"outcome"' + b"[" * past_runs.MAX_LINE_BYTES + b"\n",
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
    monkeypatch.setattr(past_runs, "MAX_BYTES", len(lines[0]) * 14 + 20)
    a_run(tmp_path, 1, *lines)
    a_run(tmp_path, 2, *lines[:5])
    found = [took_s for _, took_s, _ in past(tmp_path)]
    assert found[:5] == [10, 11, 12, 13, 14], "the newest run is the shorter one"
    assert found[5:] in ([87, 88, 89], [86, 87, 88, 89]), "half of what the newest one has left"


DEAR = PastVote(model="dear", task_id="task_a", tokens=1000.0, cost_usd=0.5)
CHEAP = PastVote(model="cheap", task_id="task_a", tokens=100.0, cost_usd=0.01)
FREE = PastVote(model="local", task_id="task_b", tokens=300.0, cost_usd=None)


def _judged(model: str, *, votes: int = 1, **used: object) -> JudgeGrade:
    usage = Usage(requests=votes, total_tokens=100 * votes)
    return JudgeGrade(**{"score": 0.5, "model": model, "votes": (0.5,) * votes, "usage": usage, "calls": votes} | used)  # type: ignore[arg-type]


def _journal(output_dir: Path, *judges: JudgeGrade) -> None:
    folder = output_dir / "mock-m1_20260102-030405-9f3a"
    folder.mkdir()
    key = TrialKey(task_id="task_a", repetition=1)
    grades = [Grade(key=key, grading_type=GradingType.LLM_JUDGE, judge=one) for one in judges]
    (folder / "journal.jsonl").write_bytes(b"".join(encode(GradeGiven(grade=one)) for one in grades))


def test_a_task_costs_what_it_cost_and_an_unknown_one_the_mean_of_the_known_ones() -> None:
    dearer = PastVote(model="dear", task_id="task_b", tokens=3000.0, cost_usd=1.5)

    found = forecast(["task_a", "task_b", "task_c"], {"dear": 1}, [DEAR, dearer])

    assert (found.trials, found.tokens, found.cost_usd) == (3, 1000 + 3000 + 2000, 0.5 + 1.5 + 1.0)
    assert found.unknown == found.unpriced == ()


def test_all_judges_and_votes_are_summed_and_those_that_nothing_is_known_of_are_named() -> None:
    votes = {"dear": 1, "cheap": 3, "local": 1, "new": 1}

    found = forecast(["task_a", "task_a"], votes, [DEAR, CHEAP, FREE])

    assert found.tokens == 2 * (1000 + 3 * 100 + 300)
    assert found.cost_usd == pytest.approx(2 * (0.5 + 3 * 0.01))
    assert (found.unknown, found.unpriced) == (("new",), ("local", "new"))
    assert forecast(["task_a"], {"new": 1}, []).tokens is None


def test_what_each_judge_used_is_read_from_journals_and_cached_replies_are_not(tmp_path: Path) -> None:
    several = JudgeGrade(model="a and b", judges=(_judged("a", cost_usd=0.2), _judged("b", votes=2)), calls=3)
    _journal(tmp_path, several, _judged("c", cached=1), _judged("d", calls=0), _judged("e"))

    found = {one.model: one for one in past_votes(tmp_path)}

    assert found.keys() == {"a", "b", "e"}
    assert (found["a"].tokens, found["a"].cost_usd) == (100, 0.2)
    assert (found["b"].tokens, found["b"].cost_usd) == (100, None)


def test_a_vote_whose_cost_was_unknown_is_forecast_at_the_stated_prices(tmp_path: Path) -> None:
    usage = Usage(requests=2, input_tokens=900, output_tokens=100, total_tokens=1000)
    _journal(tmp_path, _judged("a", votes=2, usage=usage), _judged("b", usage=usage, cost_usd=0.2))

    found = {one.model: one.cost_usd for one in past_votes(tmp_path, {"a": (1.0, 10.0), "b": (1.0, 10.0)})}

    assert found == {"a": pytest.approx(0.0019 / 2), "b": 0.2}


def test_runs_of_any_model_count_and_a_folder_without_runs_knows_nothing(tmp_path: Path) -> None:
    assert past_votes(tmp_path / "nowhere") == ()
    write_run(tmp_path, PlannedRun(trials={"task_a": (Made(), Made())}, model="mock/other"))

    assert [(one.model, one.tokens, one.cost_usd) for one in past_votes(tmp_path)] == [("mock/judge", 1000, 0.001)] * 2
