"""What is drawn of a run: it fits, whatever the terminal and whatever the agents say."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from past_runs import grade_of, outcome_of
from pinchbench.events import (
    GradedBefore,
    RegradeBegan,
    RunBegan,
    SetUpStep,
    TrialActivity,
    TrialBegan,
    TrialEnded,
    TrialGraded,
    TrialWaits,
)
from pinchbench.model.ending import Reason
from pinchbench.model.grade import JudgeGrade
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.report.terminal.run_progress import RunProgress
from pinchbench.report.terminal.screen import ECHO_COLUMNS, screen_rows, time_left, totals_parts


def board_of(slots: int = 4, failures: int = 6, *, said: str = "exec ls", name: str = "task_{}") -> RunProgress:
    run_progress = RunProgress()
    run_progress.take(
        RunBegan(run_id="r", model="m", trials=100, slots=slots, folder=Path("r"), max_cost_usd=20.0), 0.0
    )
    for number in range(failures):
        key = TrialKey(task_id=name.format(number), repetition=1)
        outcome = outcome_of(key, Reason.TIMED_OUT, note=said, execution_time_s=2520.0)
        run_progress.take(TrialEnded(outcome=outcome), 1.0)
        grade = grade_of(key, 0.0, grading_type=GradingType.HYBRID, judge=JudgeGrade(score=0.0, cost_usd=0.01))
        run_progress.take(TrialGraded(grade=grade), 1.0)
    for slot in range(1, slots + 1):
        key = TrialKey(task_id=name.format(slot), repetition=2)
        run_progress.take(TrialBegan(slot=slot, key=key, timeout_s=120, attempt=1 + slot % 2), 2.0)
        run_progress.take(TrialActivity(slot=slot, key=key, text=said, usage=Usage(total_tokens=12_300)), 3.0)
    return run_progress


def drawn(run_progress: RunProgress, width: int, height: int) -> list[str]:
    return [row.plain for row in screen_rows(run_progress, 60.0, columns=width, rows=height)]


def test_in_a_cluster_each_slot_has_its_node_next_to_it() -> None:
    run_progress = board_of(2)
    run_progress.slots[1].node = "first"
    run_progress.slots[2].node = "a-machine-with-a-long-name"

    rows = drawn(run_progress, 100, 30)
    assert rows[0].startswith("1 first            task_1@2 #2 ━")
    assert rows[1].startswith("2 a-machin…ng-name task_2@2    ━"), "what tells nodes of one host apart is the end"
    assert all(len(row) <= 40 for row in drawn(run_progress, 40, 30))


@pytest.mark.parametrize(
    ("next_s", "shown"),
    [(30.0, "429, retry 4 of 9, next in 30 s"), (0.4, "429, retry 4 of 9, next in 1 s")],
)
def test_a_slot_in_which_openclaw_waits_says_for_what_and_how_long(next_s: float, shown: str) -> None:
    run_progress = board_of()
    key = run_progress.slots[1].key
    run_progress.take(TrialWaits(slot=1, key=key, text="429, retry 4 of 9", next_s=next_s), 60.0)

    assert drawn(run_progress, 100, 30)[0].endswith(f"12.3k {shown}")
    run_progress.slots[1].next_at = 59.0
    assert drawn(run_progress, 100, 30)[0].endswith("12.3k 429, retry 4 of 9, waiting for the model")


def test_the_totals_name_everything_and_add_up() -> None:
    assert list(totals_parts(board_of(), 125.0)) == [
        "6 of 100 done",
        "0 passed",
        "6 failed",
        "mean 0.00 of 6 trials",
        "49.2k tokens",
        "cost unknown",
        "judge $0.0600 of it",
        "2 min 05 s",
        "about 40 min left",
    ]


def test_each_limit_stands_next_to_what_is_used_of_it_and_a_resumed_runs_counts_are_those_of_all_of_it() -> None:
    run_progress = RunProgress()
    began = RunBegan(
        run_id="r",
        model="m",
        trials=10,
        slots=1,
        folder=Path("r"),
        done=3,
        earlier=GradedBefore(passed=2, failed=1, scores={"task_x": (0.5, 0.75, 1.0)}),
        max_cost_usd=5.0,
        max_tokens=230_000,
        max_hours=2.0,
        spent=Usage(total_tokens=200_000, cost_usd=1.0),
        judge_spent=Usage(total_tokens=5_000, cost_usd=0.2),
    )
    key = TrialKey(task_id="task_a", repetition=1)
    run_progress.take(began, 0.0)
    run_progress.take(TrialBegan(slot=1, key=key, timeout_s=120), 0.0)
    run_progress.take(TrialActivity(slot=1, key=key, text="", usage=Usage(total_tokens=1_000, cost_usd=0.05)), 0.0)

    assert list(totals_parts(run_progress, 720.0)) == [
        "3 of 10 done (3 of them before)",
        "2 passed",
        "1 failed",
        "mean 0.75 of 3 trials",
        "206.0k of 230.0k tokens",
        "$1.2500 of $5.00",
        "judge $0.2000 of it",
        "12 min 00 s of 2 h 00 min since it was resumed",
        "time left –",
    ]


def test_before_the_first_reply_no_cost_is_claimed() -> None:
    run_progress = RunProgress()
    run_progress.take(RunBegan(run_id="r", model="m", trials=2, slots=1, folder=Path("r")), 0.0)
    assert not [part for part in totals_parts(run_progress, 10.0) if "$" in part or "cost" in part]


def test_a_run_that_has_not_begun_and_grading_again_have_their_own_words() -> None:
    run_progress = RunProgress()
    assert list(totals_parts(run_progress, 1.0)) == ["getting ready"]
    run_progress.take(SetUpStep(text="looking for OpenClaw"), 2.0)
    run_progress.take(SetUpStep(text="making a home"), 3.0)
    assert list(totals_parts(run_progress, 25.0)) == ["getting ready: making a home", "23.0 s"]
    run_progress.take(RegradeBegan(run="r", trials=7), 0.0)
    assert list(totals_parts(run_progress, 1.0)) == ["0 of 7 graded again"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (2, "about 5 s left"),
        (12, "about 10 s left"),
        (100, "about 2 min left"),
        (5000, "about 83 min left"),
        (7200, "about 2 h left"),
        (8200, "about 2 h 15 min left"),
    ],
)
def test_the_time_left_is_as_exact_as_it_can_be(seconds: float, text: str) -> None:
    assert time_left(seconds) == text


def test_with_more_slots_than_rows_the_others_are_counted_and_the_totals_stay() -> None:
    rows = drawn(board_of(slots=30), 80, 24)

    assert len(rows) == 23
    assert rows[16].startswith("17 task_17@2")
    assert rows[17] == "and 13 more slots"
    assert sum(row.startswith("✗") for row in rows) == 2
    assert rows[-3].startswith("6 of 100 done")


@given(
    width=st.integers(1, 220),
    height=st.integers(1, 60),
    slots=st.integers(0, 70),
    failures=st.integers(0, 9),
    said=st.text(max_size=60),
    name=st.text(st.characters(exclude_characters="{}"), max_size=50).map(lambda text: f"task_{text}{{}}"),
)
def test_nothing_that_is_drawn_goes_beyond_the_terminal(  # noqa: PLR0917 - hypothesis gives them by name
    width: int, height: int, slots: int, failures: int, said: str, name: str
) -> None:
    run_progress = board_of(slots, failures, said=said, name=name)
    rows = screen_rows(run_progress, 60.0, columns=width, rows=height)

    assert 1 <= len(rows) <= max(1, height - 1)
    assert all(row.cell_len <= max(1, width - 1) for row in rows)
    assert all("\n" not in row.plain for row in rows)
    # what is typed is shown behind the last row
    assert rows[-1].cell_len <= max(1, width - ECHO_COLUMNS)
