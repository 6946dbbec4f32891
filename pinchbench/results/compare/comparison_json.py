"""A comparison as JSON: the keys of `compare --json` (pure)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pinchbench.results.compare.paired_difference import ALPHA, POWER
from pinchbench.results.compare.samples import Sample, Spent, TaskTrials
from pinchbench.results.compare.verdict import notes, outlook, verdict, warnings
from pinchbench.results.statistics import SEED, failure_sheet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinchbench.results.compare.comparison import Comparison, PairedTask
    from pinchbench.results.compare.memorisation import Memorisation


def record(comparisons: Sequence[Comparison], memorisation: Sequence[Memorisation] = ()) -> dict[str, object]:
    """Build what `compare --json` prints. Null stands for an unknown value.

    All differences are B - A, and those of `memorisation` public - fresh.
    """
    return {
        "schema": 1,
        "baseline": _side(comparisons[0].a),
        "seed": SEED,
        "alpha": ALPHA,
        "power": POWER,
        "notes": list(notes(comparisons)),
        "comparisons": [_comparison(one) for one in comparisons],
        "memorisation": [_memorisation(one) for one in memorisation],
    }


def _memorisation(found: Memorisation) -> dict[str, object]:
    difference = found.difference
    untested = {"mean": difference.mean, "low": difference.low, "high": difference.high, "tasks": difference.tasks}
    return {**_members(found), "difference": untested}


def _members(value: object) -> dict[str, object]:
    """Return a value's fields by name."""
    found: dict[str, object] = msgspec.to_builtins(value)
    return found


def _comparison(comparison: Comparison) -> dict[str, object]:
    needed = comparison.needed
    return {
        **({"suite": comparison.suite} if comparison.suite else {}),
        "b": _side(comparison.b),
        "verdict": comparison.verdict.value,
        "sentence": verdict(comparison),
        "outlook": list(outlook(comparison)),
        "warnings": list(warnings(comparison)),
        "unlike": msgspec.to_builtins(comparison.unlike),
        "difference": {**_members(comparison.difference), "p_adjusted": comparison.p},
        "scores": {
            "a": {**_members(comparison.paired_a), **_events([task.a for task in comparison.tasks])},
            "b": {**_members(comparison.paired_b), **_events([task.b for task in comparison.tasks])},
        },
        "needed": {
            "detectable": needed.detectable,
            "repetitions": needed.repetitions,
            "tasks": needed.tasks,
            "repetitions_now": needed.at_repetitions,
        },
        "pass_threshold": comparison.threshold,
        "categories": {
            one.category: {"difference": _members(one.difference), "a": _members(one.a), "b": _members(one.b)}
            for one in comparison.categories
        },
        "tasks": [_task(one) for one in comparison.tasks],
        "unpaired": {task_id: why.value for task_id, why in comparison.unpaired.items()},
    }


def _side(side: Sample) -> dict[str, object]:
    return {name: getattr(side, name) for name in ("label", "model", "runs", "settings", "unfinished")}


def _events(tasks: Sequence[TaskTrials]) -> dict[str, object]:
    """Return what went wrong, by the name that the result has for it; nothing where checks count nothing."""
    sheet = failure_sheet(one for task in tasks for one in task.events)
    return {"events": msgspec.to_builtins(sheet)} if sheet else {}


def _task(task: PairedTask) -> dict[str, object]:
    return {
        "task_id": task.task_id,
        "category": task.category,
        "difference": task.difference,
        "flipped": task.flipped,
        "a": _trials(task.a, has_passed=task.passed_a),
        "b": _trials(task.b, has_passed=task.passed_b),
    }


def _trials(trials: TaskTrials, *, has_passed: bool) -> dict[str, object]:
    return {
        "score": trials.mean,
        "scores": list(trials.scores),
        "passed": has_passed,
        "left_out": msgspec.to_builtins(trials.left_out),
        "spent": msgspec.to_builtins(Spent.of(trials.valid)),
        **_events([trials]),
    }
