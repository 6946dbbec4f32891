"""A trial, which is one task run once, and the attempts at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from pinchbench.model.task import Task


class TrialKey(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """Which trial: the task and its repetition, counted from 1.

    A struct, whose hash is computed in C: a run of tens of thousands of trials is read with millions of look-ups.
    """

    task_id: str
    repetition: int

    @property
    def folder(self) -> str:
        """The name of this trial's workspace: the task id alone for the first repetition."""
        return self.task_id if self.repetition == 1 else f"{self.task_id}@{self.repetition}"

    def __str__(self) -> str:
        """Read as `task_01_calendar` or `task_01_calendar@2`."""
        return self.folder


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One task, run once."""

    key: TrialKey
    task: Task
    timeout_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One try at a trial. `number` counts from 1; only an attempt that ended by itself earns the next number.

    `is_alone`: no other trial of the run or the experiment may run at the same time.
    """

    trial: Trial
    number: int = 1
    is_alone: bool = False

    @property
    def key(self) -> TrialKey:
        """Which trial."""
        return self.trial.key
