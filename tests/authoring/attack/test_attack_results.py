"""The table of attacked checks."""

from dataclasses import replace

from pinchbench.authoring.attack.attack_results import (
    AttackedTask,
    Played,
    finding_lines,
    table_head,
    table_line,
)

KILLED = Played(name="a.csv: row 1 dropped", kind="dropped", score=0.5, killed=True)
SURVIVED = Played(name="a.csv: cut", kind="cut", score=1.0, killed=False)
CHEAT = Played(name="claim", kind="cheat", score=0.1, killed=True)
PAID = Played(name="links", kind="cheat", score=0.4, killed=False)
RAISED = Played(name="verdict", kind="cheat", score=None, killed=False, ungraded="check_raised: KeyError")
SOUND = AttackedTask(task_id="task_a", score=1.0, mutants=(KILLED,), cheats=(CHEAT,))
WEAK = AttackedTask(task_id="task_bb", score=1.0, mutants=(KILLED, SURVIVED), cheats=(CHEAT, PAID, RAISED))


def test_a_line_has_the_tasks_figures() -> None:
    lines = [table_head(width=7), table_line(SOUND, width=7), table_line(WEAK, width=7)]
    assert lines == [
        "task            mutants  killed  score  best cheat",
        "task_a   ok           1       1  1.000  0.10 claim",
        "task_bb  WEAK         2       1  0.500  none verdict",
    ]


def test_what_a_check_missed_is_named() -> None:
    assert finding_lines(SOUND) == ""
    assert finding_lines(WEAK).split("\n") == [
        "task_bb: survived: a.csv: cut (1.00)",
        "task_bb: paid: links (0.40)",
        "task_bb: paid: verdict (none, check_raised: KeyError)",
    ]


def test_a_check_that_pays_for_the_opposite_is_not_sound_whatever_else_it_notices() -> None:
    denied = Played(name="a.md: negated", kind="negated", score=1.0, killed=False)
    assert replace(SOUND, mutants=(KILLED,) * 40).is_sound
    assert not replace(SOUND, mutants=(*(KILLED,) * 40, denied)).is_sound
