"""Estimate how much of a model's score is memorised: the public form of its tasks against fresh forms (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from pinchbench.results.compare.comparison import unlike_settings
from pinchbench.results.compare.paired_difference import Difference, Pair, untested_difference
from pinchbench.results.compare.samples import PUBLIC_FORM, Sample, TaskTrials
from pinchbench.results.statistics import Estimate, estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


NO_DIFFERENCE = frozenset({"form", "suite"})  # settings in which the sides may differ: the tasks are paired anyhow


@dataclass(frozen=True, kw_only=True, slots=True)
class Memorisation:
    """The public form of a model's tasks against fresh forms of the same tasks, all forms pooled.

    Attributes:
        difference: public − fresh over `tasks`, with its 95% interval over tasks; no test. Above 0 where the public
            tasks scored more.
        public, fresh: the scores on the same tasks.
        forms: the seeds of the fresh forms, in order.
        tasks: public − fresh of each task that has scores in both, by id.
        only_public: tasks that were run in no fresh form, as those that have none.
        other: tasks that were run in fresh forms alone, have no score in one of the two, or have changed among the runs
            of one form.
    """

    model: str
    public_runs: tuple[str, ...]
    fresh_runs: tuple[str, ...]
    forms: tuple[str, ...]
    difference: Difference
    public: Estimate
    fresh: Estimate
    tasks: Mapping[str, float]
    only_public: tuple[str, ...]
    other: tuple[str, ...]


def memorisation_of(sides: Sequence[Sample]) -> tuple[Memorisation, ...]:
    """Return an estimate for each model that was run in the public form and in a fresh one, with the same settings."""
    found = []
    for group in _alike(sides):
        public = [side for side in group if side.form == PUBLIC_FORM]
        fresh = [side for side in group if side.form != PUBLIC_FORM]
        if public and fresh:
            found.append(_memorisation(public, fresh))
    return tuple(found)


def _alike(sides: Iterable[Sample]) -> list[list[Sample]]:
    """Return the sides in groups of one model whose settings are alike except for the form."""
    groups: list[list[Sample]] = []
    for side in sides:
        for group in groups:
            unlike = [found.setting for one in group for found in unlike_settings(one, side)]
            if side.model == group[0].model and set(unlike) <= NO_DIFFERENCE:
                group.append(side)
                break
        else:
            groups.append([side])
    return groups


def _memorisation(public: Sequence[Sample], fresh: Sequence[Sample]) -> Memorisation:
    of_public, of_fresh = _by_task(public), _by_task(fresh)
    changed = {task_id for forms in (public, fresh) for task_id in _changed(forms)}
    pairs = {
        task_id: Pair(a=of_fresh[task_id], b=scores)
        for task_id, scores in of_public.items()
        if scores and of_fresh.get(task_id) and task_id not in changed
    }
    only_public = [task_id for task_id in of_public if task_id not in of_fresh]
    ids = dict.fromkeys((*of_public, *of_fresh))
    return Memorisation(
        model=public[0].model,
        public_runs=tuple(chain.from_iterable(side.runs for side in public)),
        fresh_runs=tuple(chain.from_iterable(side.runs for side in fresh)),
        forms=tuple(sorted({side.form for side in fresh}, key=lambda form: (len(form), form))),
        difference=untested_difference(list(pairs.values())),
        public=estimate([pair.b for pair in pairs.values()]),
        fresh=estimate([pair.a for pair in pairs.values()]),
        tasks={task_id: pair.difference for task_id, pair in sorted(pairs.items())},
        only_public=tuple(only_public),
        other=tuple(task_id for task_id in ids if task_id not in pairs and task_id not in only_public),
    )


def _by_task(sides: Iterable[Sample]) -> dict[str, tuple[float, ...]]:
    """Return the scores of all trials of each task."""
    found: dict[str, tuple[float, ...]] = {}
    for side in sides:
        for task_id, task in side.tasks.items():
            found[task_id] = found.get(task_id, ()) + task.scores
    return found


def _changed(sides: Iterable[Sample]) -> Iterator[str]:
    """Yield the tasks of which one form has scores in several versions."""
    first: dict[tuple[str, str], TaskTrials] = {}
    for side in sides:
        for task_id, task in side.tasks.items():
            if task.scores and first.setdefault((side.form, task_id), task).version != task.version:
                yield task_id
