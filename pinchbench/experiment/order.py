"""The order of an experiment's trials: the same for all variants, and shuffled by a seed (pure)."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from pinchbench.runner.scheduling.diagnosis import SANITY_TASKS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinchbench.model import Attempt, TrialKey


def in_order(attempts: Iterable[Attempt], *, seed: int) -> tuple[Attempt, ...]:
    """Return a variant's attempts in the order in which they are started.

    Repetition after repetition, so that an early end leaves whole ones; the sanity task first. Tasks are shuffled anew
    for each repetition. The place of a trial depends on its key and the seed alone: it stays when others are done.
    """

    def place(attempt: Attempt) -> tuple[int, bool, bytes]:
        key = attempt.key
        return key.repetition, key.task_id not in SANITY_TASKS, _lot(seed, key)

    return tuple(sorted(attempts, key=place))


def _lot(seed: int, key: TrialKey) -> bytes:
    return blake2b(f"{seed} {key.task_id} {key.repetition}".encode(), digest_size=8).digest()
