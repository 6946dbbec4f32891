"""What a run that can't say anything tells its user."""

from __future__ import annotations

import pytest

from pinchbench.model import Outcome, Reason, TrialKey
from pinchbench.runner.diagnose import SANITY, diagnose


def outcome(reason: Reason, note: str = "") -> Outcome:
    return Outcome(key=TrialKey(task_id=SANITY, repetition=1), reason=reason, digest="d", note=note)


@pytest.mark.parametrize(
    ("note", "advice"),
    [
        ("401 Incorrect API key provided", "is it set, valid"),
        ("403 Forbidden", "is it set, valid"),
        ("402 Insufficient credits", "out of credit"),
        ("429 You exceeded your current quota, check your billing", "out of credit"),
        ("429 Too Many Requests", "lower --concurrency"),
        ("404 The model `gpt-9` does not exist", "spelled as OpenClaw names it"),
        ("503 upstream connect error", "is it up, and reachable"),
    ],
)
def test_what_a_provider_says_is_read_for_what_to_do(note: str, advice: str) -> None:
    said = diagnose(outcome(Reason.PROVIDER_ERROR, note))
    assert advice in said
    assert said.startswith(f"task_00_sanity: provider_error ({note}). ")
    assert "--no-fail-fast" in said


@pytest.mark.parametrize("reason", [one for one in Reason if not one.counts])
def test_every_reason_that_says_nothing_about_the_model_has_a_sentence(reason: Reason) -> None:
    said = diagnose(outcome(reason, "first\nsecond"))
    assert said.startswith(f"task_00_sanity: {reason.value} (first second). ")
    assert said.count(". ") >= 1
    assert "\n" not in said
