"""The sentence about trials without a score that the agent may have caused (pure)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pinchbench.report.text import many, plain

if TYPE_CHECKING:
    from pinchbench.results.result_json import Aggregate, CausedTrial

MOST_NAMED = 12


def caused_by_agent_told(data: Aggregate) -> str:
    """Return what a reader of the mean must know about them; empty if there are none."""
    caused = data.possibly_caused_by_agent
    if not caused.trials or caused.score_if_zero is None:
        return ""
    more = len(caused.trials) - MOST_NAMED
    named = ", ".join(map(_told, caused.trials[:MOST_NAMED])) + (f" and {more} more" if more > 0 else "")
    return (
        f"{many(len(caused.trials), 'trial')} without a score that the agent may have caused: its evidence can't be"
        f" trusted, or every attempt failed while other trials worked. Not in the score; counted as 0, the score"
        f" would be {caused.score_if_zero:.3f}. {named}."
    )


def _told(trial: CausedTrial) -> str:
    counted = ", ".join(f"{number} × {reason}" for reason, number in Counter(trial.reasons).items())
    return f"{plain(str(trial.key))} ({plain(counted)})"
