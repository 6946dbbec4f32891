"""What a person sees at the end of a run."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from past_runs import Made, PlannedRun, aggregate_of, facts_of, grade_of, outcome_of, random_trials, write_run
from pinchbench.model.ending import Reason
from pinchbench.model.grade import CheckGrade, Grade, JudgeGrade, Ungraded
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.report.terminal.summary import print_summary
from pinchbench.results.finished_run import read_run
from text_console import TextConsole

OUTCOME = outcome_of(
    reason=Reason.PROVIDER_ERROR, note="401 \x1b[31mno\x1b[0m", usage=Usage(requests=2, total_tokens=1500)
)


def _summary(
    outcomes: list[Outcome],
    grades: list[Grade],
    *,
    planned: int = 0,
    width: int = 160,
) -> str:
    console = TextConsole(width)
    given = {grade.key: grade for grade in grades}
    missing = [TrialKey(task_id=f"task_z{number}", repetition=1) for number in range(planned - len(outcomes))]
    facts = facts_of(
        [*(outcome.key for outcome in outcomes), *missing], categories={"task_a": "coding", "task_b": "writing"}
    )
    data = aggregate_of(outcomes, facts, grades)
    print_summary(console, data, outcomes, given, folder=Path("results/r"))
    return console.text


def test_the_summary_names_what_says_nothing_about_the_model() -> None:
    text = _summary([OUTCOME], [], planned=3)

    assert "1 of 3 trials" in text
    assert "task_a: provider error (infrastructure failure; not in the score): 401" in text
    assert "No score: no trial has one." in text
    assert "Excluded from the score: 1 failed for infrastructure reasons, 2 not run; 3 tasks without any score." in text
    assert "\x1b" not in text


def test_trials_that_were_stopped_are_not_counted_as_done() -> None:
    text = _summary([replace(OUTCOME, reason=Reason.INTERRUPTED)], [], planned=2)

    assert "0 of 2 trials" in text
    assert "Excluded from the score: 1 stopped, 1 not run" in text


def test_the_summary_tells_the_score_with_its_interval_and_what_it_leaves_out() -> None:
    judge = JudgeGrade(score=0.5, model="judge-1", calls=2, cached=1, usage=Usage(requests=2, total_tokens=2400))
    second = TrialKey(task_id="task_a", repetition=2)
    grades = [
        grade_of("task_a", 1.0),
        grade_of(second, 0.5, grading_type=GradingType.LLM_JUDGE, judge=judge),
        grade_of("task_b", 0.0),
        grade_of(
            "task_c",
            ungraded=Ungraded.NO_JUDGE,
            grading_type=GradingType.HYBRID,
            check=CheckGrade(score=0.9),
            notes=("no judge \x1b[31mwas asked for",),
        ),
    ]

    text = _summary([outcome_of(one.key) for one in grades], grades)

    assert re.search(r"Score 0\.375 \(95% interval 0\.\d+ to [01]\.\d+\), the mean of 2 tasks \(3 trials\)\.", text)
    assert "Passed (score of 0.8 or more): 0% of 1 task in all 2 trials, 100% in at least one." in text
    assert "Excluded from the score: 1 ungraded; 1 task without any score." in text
    assert "Without their judge, the checks of 1 task give 0.90; not in the score." in text
    assert "\ntask_c: " not in text
    assert "1 trial is ungraded: no judge was given. `pinchbench-async regrade r --judge MODEL` grades them.\n" in text
    assert "Judge judge-1: 2 calls for 1 trial, 1 from the cache, 2.4k tokens, cost not reported" in text
    rows = [line.split()[:2] for line in text.splitlines()[1:5]]
    assert rows == [["task_a", "0.75"], ["task_b", "0.00"], ["task_c", "ungraded"], ["4", "of"]]
    assert "\x1b" not in text


@pytest.mark.parametrize("width", [56, 60, 80, 100])
def test_a_narrow_terminal_or_a_long_id_takes_from_the_ids_and_never_from_the_scores(width: int) -> None:
    long = f"task_{'x' * 80}"
    grades = [grade_of(long, 0.25), grade_of("task_a", ungraded=Ungraded.NO_JUDGE)]

    head, *lines = _summary([outcome_of(one.key) for one in grades], grades, width=width).splitlines()

    assert max(map(len, (head, *lines[:3]))) <= width
    assert {"task", "score", "passed", "excluded"} <= set(head.split())
    assert ("cost" in head, "time" in head) == (width >= 60, width >= 80)
    assert re.search(r"task_a +ungraded +– +1", lines[1])
    assert re.search(r"task_x+… +0\.25 +0 of 1", lines[0])


def _shown(
    folder: Path, trials: Mapping[str, tuple[Made, ...]], *, width: int = 80, terminal: bool = False, **planned: Any
) -> str:
    """The summary of a run with such trials."""
    run = read_run(write_run(folder, PlannedRun(trials=trials, **planned)))
    console = TextConsole(width, force_terminal=terminal, legacy_windows=False)
    titles = run.facts.titles
    print_summary(console, run.data, run.outcomes, run.grades, folder=Path("results/r"), titles=titles)
    return console.text


def test_repetitions_are_one_row_a_task_that_says_how_many_passed_and_adds_up_what_they_took(tmp_path: Path) -> None:
    made = (Made(score=1.0, took_s=30, tokens=1000), Made(score=0.25, took_s=60), Made(score=0.5, took_s=45))

    text = _shown(tmp_path, {"task_a": made, "task_b": (Made(),)})

    assert re.search(r"^task_a +0\.58 +2 of 3 +2:15 +11\.0k +\$0\.0330$", text, re.MULTILINE)
    assert "task_a@2: score 0.25: file there 0.25" in text


def test_a_category_has_an_interval_and_a_task_has_none(tmp_path: Path) -> None:
    lines = _shown(tmp_path, random_trials(tasks=8, repetitions=2)).splitlines()

    with_interval = [line for line in lines if re.search(r"0\.\d\d–[01]\.\d\d", line)]
    assert [line.split()[0] for line in with_interval] == ["basics", "data", "coding", "writing"]


def test_what_failed_is_one_line_each_by_how_much_it_matters(tmp_path: Path) -> None:
    trials = {
        "task_low": (Made(score=0.25), Made(score=0.0)),
        "task_late": (Made(score=0.5, reason=Reason.TIMED_OUT),),
        "task_unjudged": (Made(score=None, ungraded=Ungraded.JUDGE_UNREACHABLE, notes=("no answer",)),),
        "task_lost": (Made(score=None, reason=Reason.NO_TRANSCRIPT, note="It left no transcript."),),
        "task_noted": (Made(note="It was slow to leave."),),
        "task_good": (Made(),),
    }

    lines = _shown(tmp_path, trials, width=160).splitlines()

    start = next(place for place, line in enumerate(lines) if line.startswith("task_late: "))
    trials_of_lines = " ".join(line.split(": ")[0] for line in lines[start : start + 6])
    assert trials_of_lines == "task_late task_low@2 task_low task_unjudged task_lost task_noted"
    assert lines[start] == "task_late: timed out, score 0.50"
    assert lines[start + 1].startswith("task_low@2: score 0.00: file there 0.00, is clear (judge) 0.00; ")


def test_a_trial_that_fails_twice_over_has_one_line_and_no_empty_note(tmp_path: Path) -> None:
    trials = {
        "task_late": (Made(score=None, reason=Reason.TIMED_OUT),),
        "task_unjudged": (Made(score=None, ungraded=Ungraded.JUDGE_UNREACHABLE, notes=("\x1b",)),),
        "task_noted": (Made(score=0.25, note="It was slow to leave.", notes=(" ",)),),
    }

    lines = _shown(tmp_path, trials, width=160).splitlines()

    failures = [line for line in lines if re.match(r"task_\w+: ", line)]
    assert failures == [
        "task_noted: completed: It was slow to leave.; score 0.25: file there 0.25, is clear (judge) 0.25",
        "task_late: timed out; ungraded, its turn did not come; `pinchbench-async regrade` grades it",
        "task_unjudged: ungraded, judge unreachable",
    ]


def test_the_cost_of_a_scripted_model_is_called_made_up(tmp_path: Path) -> None:
    text = _shown(tmp_path, {"task_a": (Made(),)}, model="demo/oracle")

    assert "; those of a scripted model are made up\n" in text


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("terminal", [True, False])
def test_however_much_went_wrong_the_end_of_a_run_fits_on_a_screen_and_the_score_is_last(
    tmp_path: Path, width: int, *, terminal: bool
) -> None:
    failed = {f"task_{number:03d}": (Made(score=number / 100),) for number in reversed(range(40))}
    lost = {f"task_lost_{number:02d}": (Made(score=None, reason=Reason.NO_TRANSCRIPT),) for number in range(30)}
    unjudged = {f"task_u{number:02d}": (Made(score=None, ungraded=Ungraded.NO_JUDGE),) for number in range(34)}
    noted = {f"task_noted_{number:02d}": (Made(note="It was slow to leave."),) for number in range(12)}

    text = _shown(tmp_path, {**unjudged, **noted, **failed, **lost}, width=width, terminal=terminal)

    lines = text.splitlines()
    assert len(lines) <= 24
    assert text.count("Score ") == 1
    assert "Score 0." in "".join(lines[-2:])
    named = re.findall(r"^(task_\w+): ", text, re.MULTILINE)
    assert named == sorted(failed)[: len(named)]
    assert f"and {82 - len(named)} more, which the report names" in lines
    assert "34 trials are ungraded: no judge was given." in text.replace("\n", " ")
    assert all(name in re.split(r"\s+|, ", text) for name in ("interval", "tokens", "cost")), (
        "a column is shown, or named as omitted"
    )


def test_the_tasks_have_rows_only_if_there_is_room_for_all(tmp_path: Path) -> None:
    few = _shown(tmp_path / "few", random_trials(tasks=6, repetitions=1))
    many = _shown(tmp_path / "many", random_trials(tasks=40, repetitions=1))

    assert re.search(r"^  task_", few, re.MULTILINE)
    assert not re.search(r"^  task_", many, re.MULTILINE)
    assert "40 of 40 trials" in many


def test_an_infrastructure_failure_that_the_agent_may_have_caused_is_named_so_next_to_the_score(tmp_path: Path) -> None:
    again = (Reason.GUARDIAN_LOST, Reason.GUARDIAN_LOST)
    lost = Made(score=None, reason=Reason.GUARDIAN_LOST, retried=again, note="The guardian is gone.")
    once = Made(score=None, reason=Reason.GUARDIAN_LOST)

    text = _shown(tmp_path, {"task_good": (Made(), Made()), "task_lost": (lost,), "task_once": (once,)}, width=160)

    assert "task_lost: guardian lost (infrastructure failure that the agent may have caused; not in the score)" in text
    assert "task_once: guardian lost (infrastructure failure; not in the score)" in text
    assert "Score 1.000 " in text
    assert (
        "1 trial without a score that the agent may have caused: its evidence can't be trusted, or every attempt failed"
        " while other trials worked. Not in the score; counted as 0, the score would be 0.500."
        " task_lost (3 × guardian_lost).\n"
    ) in text


def test_colours_come_on_a_terminal_alone_and_change_no_word(tmp_path: Path) -> None:
    trials = random_trials(tasks=6, repetitions=2, trouble=0.5)

    piped = _shown(tmp_path / "a", trials, width=400)
    drawn = _shown(tmp_path / "b", trials, width=400, terminal=True)

    assert "\x1b[" not in piped
    assert "\x1b[1m" in drawn
    assert re.sub(r"\x1b\[[0-9;]*m", "", drawn) == piped


def test_no_row_of_the_table_is_wider_than_a_terminal_of_eighty_columns(tmp_path: Path) -> None:
    long = {f"task_{number:02d}_conflicting_sources": (Made(took_s=4000), Made(score=0.5)) for number in range(12)}

    lines = _shown(tmp_path, long).splitlines()

    assert max(map(len, lines[:18])) <= 80
    assert "cost" in lines[0]


@pytest.mark.parametrize(
    ("width", "line"), [(120, "Sort a pile (task_low@2): score 0.25"), (60, "Sort a pile, trial 2: score 0.25")]
)
def test_a_failure_has_its_tasks_title_and_the_id_where_it_fits(tmp_path: Path, width: int, line: str) -> None:
    trials = {"task_low": (Made(), Made(score=0.25))}

    assert f"\n{line}: file there" in _shown(tmp_path, trials, width=width, titles={"task_low": "Sort a pile"})
