"""Say in sentences what a comparison leaves out, which tasks only one side passes, and how to read its tests (pure)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pinchbench.report.text import many, some
from pinchbench.results.compare.verdict import UNPAIRED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinchbench.results.compare.comparison import Comparison
    from pinchbench.results.compare.samples import LeftOut

MOST_NAMED = 12  # task ids in one sentence


def unpaired_sentences(comparison: Comparison) -> Iterator[str]:
    """Yield the tasks that are excluded from every number, by reason."""
    for why in dict.fromkeys(comparison.unpaired.values()):
        named = [task_id for task_id, reason in comparison.unpaired.items() if reason is why]
        phrase = UNPAIRED[why].format(a=comparison.a.label, b=comparison.b.label)
        yield f"Not compared, {phrase}: {some(named, MOST_NAMED)}."


def flip_sentences(comparison: Comparison) -> Iterator[str]:
    """Yield which tasks one side passes and the other fails, by the mean of their scores."""
    a, b = comparison.a.label, comparison.b.label
    now_passed = [task.task_id for task in comparison.tasks if task.flipped > 0]
    now_failed = [task.task_id for task in comparison.tasks if task.flipped < 0]
    counts = Counter((task.passed_a, task.passed_b) for task in comparison.tasks)
    yield (
        f"Passed (mean score of {comparison.threshold:g} or more): {a} {comparison.paired_a.passed}, {b}"
        f" {comparison.paired_b.passed} of {many(len(comparison.tasks), 'task')};"
        f" both {counts[True, True]}, neither {counts[False, False]}."
    )
    if now_passed:
        yield f"Only {b} passes {len(now_passed)}: {some(now_passed, MOST_NAMED)}."
    if now_failed:
        yield f"Only {a} passes {len(now_failed)}: {some(now_failed, MOST_NAMED)}."


def significance_sentences(comparison: Comparison) -> Iterator[str]:
    """Explain how to read the intervals and tests."""
    if comparison.difference.low is not None:
        yield (
            "In brackets is the range that holds the true difference 95 times in 100; p is how often chance alone"
            " would make one as big."
        )
    tested = sum(one.difference.p is not None for one in comparison.categories)
    if tested > 1:
        yield (
            f"The p of the {tested} categories are not adjusted: where nothing differs, one in 20 is below 0.05 all the"
            " same."
        )


def left_out_text(left_out: LeftOut) -> str:
    """Describe the trials excluded from a mean; empty if there are none."""
    caused = left_out.possibly_caused_by_agent - left_out.untrusted
    infrastructure = f"infrastructure failure{'' if left_out.infrastructure == 1 else 's'}"
    if caused:
        infrastructure += f" ({caused} possibly caused by the agent)"
    parts = (
        (left_out.ungraded, "ungraded"),
        (left_out.infrastructure, infrastructure),
        (left_out.untrusted, "untrusted"),
        (left_out.prerequisite_missing, "prerequisite missing"),
        (left_out.skipped, "skipped"),
        (left_out.not_run, "not run"),
    )
    return ", ".join(f"{number} {name}" for number, name in parts if number)
