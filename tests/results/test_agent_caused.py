"""Which infrastructure failures an agent may have caused, and where a reader sees it."""

from pathlib import Path

import msgspec
import pytest

from past_runs import Made, PlannedRun, outcome_of, write_run
from pinchbench.model.ending import Ending, Reason
from pinchbench.model.trial import TrialKey
from pinchbench.report.export.github import github_lines
from pinchbench.report.html.report_page import write_report
from pinchbench.report.terminal.compare_table import print_comparisons
from pinchbench.report.terminal.listings import history_legend
from pinchbench.results.agent_caused import LOCAL, SHARED, possibly_caused_by_agent
from pinchbench.results.compare.comparison import compare
from pinchbench.results.compare.samples import side_of
from pinchbench.results.finished_run import read_run
from pinchbench.results.run_list import past_runs
from pinchbench.results.run_state import TrialState
from text_console import TextConsole

Span = tuple[Reason, float, float]
WORKS = Reason.COMPLETED


def caused(**trials: list[Span]) -> set[str]:
    """The suspected ones of trials with such attempts: why, from when, and until when."""
    attempts = {
        TrialKey(task_id=task, repetition=1): TrialState(
            outcomes=tuple(
                outcome_of(task, reason, attempt=number, started_at=1e6 + start, ended_at=1e6 + end)
                for number, (reason, start, end) in enumerate(spans, start=1)
            )
        )
        for task, spans in trials.items()
    }
    return {key.task_id for key in possibly_caused_by_agent(attempts)}


@pytest.mark.parametrize("reason", [one for one in Reason if one.ending is Ending.UNTRUSTED])
def test_untrusted_evidence_is_the_agents_doing_at_the_first_attempt(reason: Reason) -> None:
    assert caused(task_a=[(reason, 0.0, 10.0)]) == {"task_a"}
    assert caused(task_a=[(reason, 0.0, 10.0)], task_b=[(WORKS, 0, 100)]) == {"task_a"}


@pytest.mark.parametrize("reason", sorted(LOCAL | SHARED))
def test_a_trial_that_fails_in_every_attempt_while_others_work_may_have_been_failed_by_its_agent(
    reason: Reason,
) -> None:
    failing = [(reason, 0.0, 10.0), (reason, 20.0, 30.0)]

    assert caused(task_a=failing, task_b=[(WORKS, 0, 100)]) == {"task_a"}
    assert caused(task_a=failing) == set()
    assert caused(task_a=failing, task_b=[(WORKS, 100_000, 100_010)]) == set()
    assert caused(task_a=failing[:1], task_b=[(WORKS, 0, 100)]) == set()
    assert caused(task_a=[*failing, (WORKS, 40, 50)], task_b=[(WORKS, 0, 100)]) == set()


@pytest.mark.parametrize("reason", sorted(SHARED))
def test_what_the_provider_or_the_machine_does_to_several_trials_at_once_is_no_agents_doing(reason: Reason) -> None:
    outage = [(reason, 0.0, 10.0), (reason, 20.0, 30.0)]

    assert caused(task_a=outage, task_b=outage, task_c=[(WORKS, 0, 100)]) == set()
    assert caused(task_a=outage, task_b=[(reason, 5, 9), (WORKS, 20, 90)], task_c=[(WORKS, 0, 100)]) == set()
    assert caused(task_a=outage, task_b=[(reason, 9000, 9001), (WORKS, 9010, 9020)], task_c=[(WORKS, 0, 100)]) == {
        "task_a"
    }


def test_one_at_a_time_the_trials_before_and_after_tell_that_all_else_works() -> None:
    failing = [(Reason.KILLED_BY_SIGNAL, 100.0, 110.0), (Reason.KILLED_BY_SIGNAL, 120.0, 130.0)]

    assert caused(task_a=failing, task_b=[(WORKS, 50, 99)]) == {"task_a"}
    assert caused(task_a=failing, task_b=[(WORKS, 131, 140)]) == {"task_a"}


LOST = Made(score=None, reason=Reason.GATEWAY_LOST, retried=(Reason.GATEWAY_LOST,))


def test_the_result_lists_them_and_says_what_the_score_would_be_with_them_as_zero(tmp_path: Path) -> None:
    trials = {"task_a": (Made(score=0.8), LOST), "task_b": (Made(score=0.6),), "task_c": (LOST,)}
    data = read_run(write_run(tmp_path, PlannedRun(trials=trials, slots=3))).data
    told = msgspec.json.decode(msgspec.json.encode(data))

    assert told["score"]["mean"] == pytest.approx(0.7)
    reasons = ["gateway_lost", "gateway_lost"]
    assert told["possibly_caused_by_agent"] == {
        "trials": [
            {"task_id": "task_a", "repetition": 2, "reasons": reasons},
            {"task_id": "task_c", "repetition": 1, "reasons": reasons},
        ],
        "score_if_zero": pytest.approx(1.0 / 3),
    }
    assert [one["possibly_caused_by_agent"] for one in told["tasks"][0]["runs"]] == [False, True]
    assert told["categories"]["data"]["possibly_caused_by_agent"] == {"trials": [], "score_if_zero": None}
    assert told["categories"]["coding"]["possibly_caused_by_agent"]["score_if_zero"] == 0.0


def test_history_compare_report_and_markdown_tell_of_them_next_to_the_mean(tmp_path: Path) -> None:
    trials = {f"task_{letter}": (Made(score=0.8),) for letter in "abcdefg"}
    write_run(tmp_path, PlannedRun(trials=trials, model="mock/fair", run_id="20260102-030000-0001"))
    files = write_run(tmp_path, PlannedRun(trials={**trials, "task_x": (LOST,)}, run_id="20260102-030000-0002"))
    fair, run = (read_run(one) for one in (write_run(tmp_path / "fair", PlannedRun(trials=trials)), files))
    console = TextConsole(120)

    print_comparisons(console, compare([side_of([fair]), side_of([run])]))
    write_report([run], tmp_path / "report.html")

    assert (
        "1 of mock-m1_20260102-030000-0002's trials have no score, which the agent may have caused:"
        " evidence that can't be trusted, or failures in every attempt while others worked. Counted as 0,"
        " they would make mock-m1_20260102-030000-0002's mean over all its tasks 0.700." in console.text
    )
    listed = past_runs(tmp_path)
    assert {one.run_id: one.caused_by_agent for one in listed} == {
        "20260102-030000-0001": 0,
        "20260102-030000-0002": 1,
    }
    assert (
        "20260102-030000-0002: 1 trial without a score that the agent may have caused; counted as 0, the score "
        "would be 0.700." in history_legend(listed)
    )
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "counted as 0, the score would be 0.700" in page
    assert "gateway lost, possibly caused by the agent" in page
    assert "that the agent may have caused" in "".join(github_lines(run))
