"""A trial, which is one task run once, the attempts at it, and what is seen of one while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from pinchbench.model.task import Task
    from pinchbench.model.usage import Usage


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
    """One try at a trial. `number` counts from 1; only an attempt that ended by itself earns the next number."""

    trial: Trial
    number: int = 1

    @property
    def key(self) -> TrialKey:
        """Which trial."""
        return self.trial.key


class TrialEvents:
    """What is seen of a running attempt. A class that inherits from this one overrides what it wants to know.

    The methods are called on the event loop and must not block.
    """

    wants_output: bool = False  # else `output` is not called

    def activity(self, text: str, usage: Usage) -> None:
        """Take a line about what the agent does or waits for, and its usage so far as the transcript states it."""

    def output(self, stream: str, text: str) -> None:
        """Take a line of `stdout` or `stderr`."""

    def waits(self, text: str, next_s: float) -> None:
        """Take a sentence about a failed model call, and in how many seconds it is made again."""

    def rate_limited(self) -> None:
        """Count a call that the provider rejected as too many requests, even if OpenClaw makes it again itself."""

    def used(self, usage: Usage) -> None:
        """Take the usage so far as the wire has measured it, if the run has a budget."""
