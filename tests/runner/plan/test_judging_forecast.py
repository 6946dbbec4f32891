"""What judging a plan will use, going by earlier grades of the same judges."""

from pathlib import Path

import pytest

from past_runs import Made, PlannedRun, write_run
from pinchbench.model.grade import Grade, JudgeGrade
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.results.records import GradeGiven, encode
from pinchbench.runner.plan.judging_forecast import PastVote, forecast, past_votes

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
