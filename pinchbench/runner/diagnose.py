"""What is wrong when the sanity task could not run: a sentence for each reason (pure)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pinchbench.model import Outcome, Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

SANITY = "task_00_sanity"

_REFUSED = re.compile(r"\b40[13]\b|api.?key|unauthori[sz]ed|authenticat|forbidden|credential", re.IGNORECASE)
_OUT_OF_CREDIT = re.compile(r"\b402\b|quota|credit|billing|payment", re.IGNORECASE)
_BUSY = re.compile(r"\b429\b|rate.?limit|overloaded", re.IGNORECASE)
_UNKNOWN = re.compile(r"\b404\b|not.?found|unknown model|does not exist", re.IGNORECASE)

_ADVICE: Mapping[Reason, str] = {
    Reason.COMMAND_NOT_FOUND: "OpenClaw's program has gone; `pinchbench-async openclaw install` gets another.",
    Reason.AGENT_NOT_STARTED: "OpenClaw did not start its agent; its own words are in stderr.log.",
    Reason.NO_TRANSCRIPT: "OpenClaw ran but left no session where this release keeps them; is the release supported?",
    Reason.NO_MODEL_CALL: "The model never answered: is there a key for its provider, and can it be reached?",
    Reason.MODEL_FALLBACK: "Another model answered than the one that was asked for; set no fallbacks for it.",
    Reason.WORKSPACE_FAILED: "The workspace could not be made; is the disk full?",
    Reason.EVIDENCE_LOST: "What the trial left could not be kept; is the disk full?",
    Reason.GUARDIAN_LOST: "The process that owns a trial was killed; is the machine out of memory?",
    Reason.KILLED_BY_SIGNAL: "OpenClaw was killed; is the machine out of memory?",
}


def diagnose(outcome: Outcome) -> str:
    """Say why a run that began with this outcome would say nothing about the model, and what to do."""
    note = " ".join(outcome.note.split())[:300]
    said = f" ({note})" if note else ""
    return (
        f"{outcome.key}: {outcome.reason.value}{said}. {_advice(outcome)} The run was stopped, as the other tasks would"
        " end alike; `--no-fail-fast` goes on all the same."
    )


def _advice(outcome: Outcome) -> str:
    if outcome.reason is not Reason.PROVIDER_ERROR:
        return _ADVICE.get(outcome.reason, "The trial says nothing about the model.")
    if _OUT_OF_CREDIT.search(outcome.note):
        return "The provider wants payment: is the account out of credit?"
    if _REFUSED.search(outcome.note):
        return "The provider refused the key: is it set, valid, and allowed to use this model?"
    if _BUSY.search(outcome.note):
        return "The provider has too many requests: try again later, or with a lower --concurrency."
    if _UNKNOWN.search(outcome.note):
        return "The provider does not know this model: is --model spelled as OpenClaw names it?"
    return "The provider failed; is it up, and reachable from here?"
