"""The order in which trials start: the longest first, so that the run does not end with one long trial (pure)."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from pinchbench.runner.scheduling.diagnosis import SANITY_TASKS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.model.trial import Attempt, TrialKey

# How many times the longest trial of a repetition has to fit into what it and those after it leave to each slot: with
# less, the last repetition of a task that takes long sticks out at the end (simulated: tests/bench/start_order.py).
ROOM = 1.5


def start_order(
    attempts: Sequence[Attempt],
    *,
    expected_s: Mapping[str, float],
    slots: int,
    first: Sequence[str] = (),
    seed: int | None = None,
) -> tuple[Attempt, ...]:
    """The attempts in the order in which they are to be started.

    The sanity task and then the tasks `first` come first, once each. The others follow, longest expected first:
    repetition after repetition, so that an early stop leaves whole ones, or all together where one takes so long
    that its last repetition would be the end of the run. `expected_s` is by task id; a task without is expected to take
    its limit. What is expected to take equally long stays in the given order, or is shuffled by `seed`: the same
    seed gives the same order, whatever else is among the attempts.
    """
    places = {task_id: place for place, task_id in enumerate(dict.fromkeys((*SANITY_TASKS, *first)))}
    length_s = {attempt.key: expected_s.get(attempt.key.task_id, attempt.trial.timeout_s) for attempt in attempts}
    whole_repetitions = _end_even(length_s, slots=slots)

    def place(attempt: Attempt) -> tuple[int, int, float, bytes]:
        key = attempt.key
        is_first = key.repetition == 1 and key.task_id in places
        return (
            places[key.task_id] if is_first else len(places),
            key.repetition if whole_repetitions else 0,
            -length_s[key],
            b"" if seed is None else _lot(seed, key.task_id),
        )

    return tuple(sorted(attempts, key=place))


def _end_even(length_s: Mapping[TrialKey, float], *, slots: int) -> bool:
    """Whether the slots end at about the same time although each repetition begins with its longest trial."""
    if slots <= 1:
        return True
    lengths_s: dict[int, list[float]] = {}
    for key, expected in length_s.items():
        lengths_s.setdefault(key.repetition, []).append(expected)
    left_s = 0.0
    for repetition in sorted(lengths_s, reverse=True):
        left_s += sum(lengths_s[repetition])
        if ROOM * max(lengths_s[repetition]) > left_s / slots:
            return False
    return True


def _lot(seed: int, task_id: str) -> bytes:
    """A task's place among its equals: drawn for each by itself, so that it stays when others are done or gone."""
    return blake2b(f"{seed} {task_id}".encode(), digest_size=8).digest()
