"""Trials that end on a node one after another for the same reason of the machine (pure)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinchbench.model.ending import Reason

if TYPE_CHECKING:
    from pinchbench.model.outcome import Outcome

MAX_ROW = 3  # trials that end alike for a reason of the machine, until its node is left out
OF_MACHINE = frozenset(
    {
        Reason.AGENT_NOT_STARTED,
        Reason.COMMAND_NOT_FOUND,
        Reason.DISK_FULL,
        Reason.EVIDENCE_LOST,
        Reason.GATEWAY_LOST,
        Reason.GUARDIAN_LOST,
        Reason.WIRE_LOST,
        Reason.WORKSPACE_FAILED,
    }
)


class Row:
    """The last trials of a node that ended alike, for a reason of the machine."""

    def __init__(self) -> None:
        """No trial has ended yet."""
        self._outcomes: list[Outcome] = []

    def take(self, outcome: Outcome) -> None:
        """Take the end of a trial."""
        alike = [before for before in self._outcomes if before.reason is outcome.reason]
        if outcome.reason in OF_MACHINE:
            self._outcomes = [*alike[1 - MAX_ROW :], outcome]
        elif outcome.reason is not Reason.INTERRUPTED:
            self._outcomes = []

    @property
    def why(self) -> str:
        """Why the node should be left out, as a sentence; empty while its trials do not keep failing alike."""
        if len(self._outcomes) < MAX_ROW:
            return ""
        last = self._outcomes[-1]
        return f"{MAX_ROW} trials in a row ended there as {last.reason}: {last.note or 'without a note'}."
