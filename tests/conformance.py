"""Compares a checkout of a public suite with what is known about it: `python tests/conformance.py PATH`.

Nothing is run. The scores of solutions, and of doing nothing, are what `pinchbench-async tasks check --json` gives.
The numbers are those of one release of each suite; a later one may differ.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from pinchbench.defaults import SuiteFormat
from pinchbench.model.task_programs import AssertionsVerifier
from pinchbench.suite.loading import read_suite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pinchbench.model.task import LoadedSuite, Task


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is known about a suite, and how it is found in what was read of it."""

    name: str
    known: object
    found: Callable[[LoadedSuite], object]


def _counts(value: Callable[[Task], object]) -> Callable[[LoadedSuite], dict[object, int]]:
    return lambda loaded: dict(Counter(map(value, loaded.suite.tasks)))


def _of(task: str, value: Callable[[Task], object]) -> Callable[[LoadedSuite], list[object]]:
    """Return a value of the one task whose id contains a text."""
    return lambda loaded: [value(one) for one in loaded.suite.tasks if task in one.task_id]


def _loaded(loaded: LoadedSuite) -> int:
    return len(loaded.suite.tasks)


def _weights(task: Task) -> tuple[float, float]:
    return round(task.grading_weights["automated"], 3), round(task.grading_weights["llm_judge"], 3)


def _inline(task: Task) -> int:
    return sum(file.content is not None for file in task.workspace_files)


def _assertions(task: Task) -> int:
    verifier = task.verifier
    return len(verifier.files) + len(verifier.commands) if isinstance(verifier, AssertionsVerifier) else 0


def _read_paths(loaded: LoadedSuite) -> set[Path]:
    return {one.path for one in loaded.suite.tasks if one.path is not None}


def _paths(loaded: LoadedSuite) -> set[Path]:
    """Return the files of all tasks of clawbench Core, those that are refused among them."""
    refused = {one.path for one in loaded.problems if one.path.parent.name.startswith("tier")}
    return _read_paths(loaded) | refused


TASKS = "tasks that load"
REFUSED = "files that are refused"
FACTS: Mapping[SuiteFormat, tuple[Fact, ...]] = MappingProxyType(
    {
        SuiteFormat.QWENCLAW: (
            Fact(TASKS, 100, _loaded),
            Fact(REFUSED, 0, lambda loaded: len(loaded.problems)),
            Fact("grading", {"hybrid": 99, "automated": 1}, _counts(lambda one: one.grading_type.value)),
            Fact("limits", {1800.0: 100}, _counts(lambda one: one.timeout_s)),
            Fact(
                "tasks of the weights 0.4 and 0.6",
                34,
                lambda loaded: sum(_weights(one) == (0.4, 0.6) for one in loaded.suite.tasks),
            ),
            Fact("weights of 00035", [(0.583, 0.417)], _of("_00035_", _weights)),
            Fact("weights of 00059", [(0.583, 0.417)], _of("_00059_", _weights)),
            Fact("weights of 00033", [(0.5, 0.5)], _of("_00033_", _weights)),
            Fact("files in heads", 1187, lambda loaded: sum(len(one.workspace_files) for one in loaded.suite.tasks)),
            Fact("of these inline", 23, lambda loaded: sum(map(_inline, loaded.suite.tasks))),
            Fact("files of 00029", [194], _of("_00029_", lambda one: len(one.workspace_files))),
            Fact("inline files of 00035", [10], _of("_00035_", _inline)),
        ),
        SuiteFormat.CLAW_BENCH: (
            Fact(TASKS, 319, _loaded),
            Fact(REFUSED, 0, lambda loaded: len(loaded.problems)),
            Fact(
                "levels", {"L1": 45, "L2": 130, "L3": 113, "L4": 31}, _counts(lambda one: one.frontmatter.get("level"))
            ),
            Fact(
                "tasks with the limits 120, 180 and 900, and without one",
                (78, 74, 2, 65),
                lambda loaded: tuple(
                    sum(one.frontmatter.get("timeout") == limit for one in loaded.suite.tasks)
                    for limit in (120, 180, 900, None)
                ),
            ),
            Fact("domains", 34, lambda loaded: len({one.category for one in loaded.suite.tasks})),
            Fact("tasks with data", 242, lambda loaded: sum(bool(one.workspace_files) for one in loaded.suite.tasks)),
            Fact("cal-001 is an id", True, lambda loaded: "cal-001" in loaded.suite.by_id),
            Fact(
                "acct-001-journal-entries is an id",
                True,
                lambda loaded: "acct-001-journal-entries" in loaded.suite.by_id,
            ),
        ),
        SuiteFormat.WILDCLAW: (
            # task 10 of category 01, and tasks 1 to 7 of category 06
            Fact(TASKS, 8, lambda loaded: len(loaded.suite.by_id)),
            Fact(REFUSED, 52, lambda loaded: len({one.path for one in loaded.problems})),
        ),
        SuiteFormat.HARBOR: (
            Fact(TASKS, 0, lambda loaded: len(loaded.suite.by_id)),
            Fact(
                "task folders that are refused (LiveClawBench)",
                134,
                lambda loaded: len({one.path.relative_to(loaded.suite.root).parts[0] for one in loaded.problems}),
            ),
        ),
        SuiteFormat.CLAWBENCH_CORE: (
            Fact(TASKS, 17, _loaded),
            Fact(REFUSED, 2, lambda loaded: len(_paths(loaded) - _read_paths(loaded))),
            Fact(
                "tiers",
                {"tier1": 2, "tier2": 6, "tier3": 5, "tier4": 5, "tier5": 1},
                lambda loaded: dict(sorted(Counter(path.parent.name for path in _paths(loaded)).items())),
            ),
            Fact("variants that are not read", 8, lambda loaded: loaded.note.count("-perturbed")),
            Fact("limit of t1-fs-quick-note", [240.0], _of("t1-fs-quick-note", lambda one: one.timeout_s)),
            Fact("checks of t1-fs-quick-note", [2], _of("t1-fs-quick-note", _assertions)),
            Fact("limit of t4-life-trip-plan", [960.0], _of("t4-life-trip-plan", lambda one: one.timeout_s)),
            Fact("turns of t4-life-trip-plan", [3], _of("t4-life-trip-plan", lambda one: len(one.turns))),
        ),
    }
)


def compare(loaded: LoadedSuite) -> Iterator[tuple[bool, str]]:
    """Yield for each fact whether it holds, and a line that says so."""
    for fact in FACTS.get(loaded.suite.format, ()):
        found = fact.found(loaded)
        holds = found == fact.known
        yield holds, f"{'same' if holds else 'OTHER'}  {fact.name}: {found}" + ("" if holds else f", not {fact.known}")


def main(arguments: list[str]) -> int:
    """Print what holds; return 1 if something differs."""
    if len(arguments) != 1:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    loaded = read_suite(Path(arguments[0]))
    lines = list(compare(loaded))
    said = [f"{loaded.suite.root}: format {loaded.suite.format}", *(line for _, line in lines)]
    said += [str(problem) for problem in loaded.problems] + [loaded.note] * bool(loaded.note)
    sys.stdout.write("\n".join(said) + "\n")
    return 0 if all(holds for holds, _ in lines) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
