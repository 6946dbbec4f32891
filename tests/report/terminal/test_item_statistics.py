from __future__ import annotations

import io

from rich.cells import cell_len

from pinchbench.report.terminal.console import report_console
from pinchbench.report.terminal.item_statistics import print_item_statistics
from pinchbench.results.soundness.items import Item, ItemStatistics, Value

FULL = Item(
    task_id="task_27_trace_across_services",
    mean=Value(value=0.63, low=0.41, high=0.8),
    discrimination=Value(value=-0.12, low=-0.45, high=-0.001),
    noise_share=Value(value=0.5, low=0.25, high=1.0),
    subjects=12,
    trials=36,
)
BARE = Item(
    task_id="task_2\x1b[2J",
    mean=Value(value=1.0),
    discrimination=None,
    noise_share=None,
    subjects=1,
    trials=1,
    unknown=("No repetitions.",),
)


def _printed(width: int) -> list[str]:
    text = io.StringIO()
    console = report_console(text, is_terminal=False)
    console.width = width
    statistics = ItemStatistics(items=(FULL, BARE), subjects=12, noise_share=Value(value=0.4))
    print_item_statistics(console, statistics, {FULL.task_id: "log-analysis"})
    return text.getvalue().splitlines()


def test_a_line_has_the_numbers_of_a_task_with_their_intervals() -> None:
    head, full, bare, *_ = [" ".join(line.split()) for line in _printed(150)]

    assert head == "task category mean (95 %) discrimination noise share variants trials"
    assert full == (
        "task_27_trace_across_services log-analysis 0.63 (0.41–0.80) −0.12 (−0.45 to 0.00) 0.50 (0.25–1.00) 12 36"
    )
    assert bare == "task_2 [2J 1.00 – – 1 1"


def test_80_columns_hold_every_number() -> None:
    head, full, *_ = _printed(80)

    assert max(cell_len(line) for line in (head, full)) <= 80
    assert full.endswith("0.63 (0.41–0.80)  −0.12 (−0.45 to 0.00)  0.50 (0.25–1.00)")


def test_what_is_known_of_all_tasks_and_what_is_missing_is_told_below() -> None:
    assert _printed(80)[-3:] == [
        "From 37 trials of 12 variants.",
        "Noise share of the suite: 0.40.",
        "1 task: No repetitions.",
    ]
