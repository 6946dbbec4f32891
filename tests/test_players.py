"""The table of players: which tasks are played, and what tells two players apart."""

from bundled_suite import TASKS
from players import is_played, line_of


def test_hard_tasks_with_services_are_played_if_no_openclaw_is_needed() -> None:
    played = {task_id for task_id, task in TASKS.items() if is_played(task, ())}
    assert {"task_57_did_it_land", "task_65_ask_or_act", "task_69_notes_into_tickets"} <= played
    assert played.isdisjoint({"task_40_shop_api", "task_43_payment_run", "task_67_team_of_helpers"})
    assert is_played(TASKS["task_57_did_it_land"], ["task_57_did_it_land"])
    assert not is_played(TASKS["task_57_did_it_land"], ["task_58_house_requests"])
    assert is_played(TASKS["task_63_month_of_sessions"], ["task_63_month_of_sessions"])


def test_a_step_lies_between_the_worst_of_one_player_and_the_best_of_the_next() -> None:
    scores = {"careful": [1.0, 0.9], "hasty": [0.5, 0.7], "blind": [0.3, 0.4], "idle": [0.0, 0.0]}
    _, *cells = line_of("task_a", scores).split()
    assert cells == ["0.95", "0.60", "0.35", "0.00", "0.10", "0.60"]
