"""The verdict of a gate as pages show it (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinchbench.results.gate.rules import GateVerdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinchbench.results.gate.record import GateRecord

BADGES: Mapping[GateVerdict, str] = {
    GateVerdict.PASSED: "good",
    GateVerdict.FAILED: "bad",
    GateVerdict.CANNOT_TELL: "warn",
    GateVerdict.NOT_APPLICABLE: "bad",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownRule:
    """A rule, or the whole gate with an empty `rule`: its verdict in words, the badge's class, and a sentence."""

    word: str
    badge: str
    rule: str = ""
    sentence: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownGate:
    """A gate's verdict, its rules, what to know about the baseline, and why tasks were not compared, by their ids."""

    whole: ShownRule
    rules: tuple[ShownRule, ...]
    about: tuple[str, ...]
    not_compared: Mapping[str, str]


def shown_gate(record: GateRecord) -> ShownGate:
    """Return what a page shows of a verdict. Its texts are not escaped."""
    baseline = record.baseline
    about = []
    if baseline is not None:
        about = [f"The baseline is {baseline.name} of {baseline.model}; the margin is {baseline.margin:g}."]
        about += baseline.warnings
    if not record.is_complete:
        about.append("The run was not complete, which decides its exit code, not the gate.")
    return ShownGate(
        whole=_shown(record.verdict),
        rules=tuple(_shown(one.verdict, rule=one.rule, sentence=one.sentence) for one in record.rules),
        about=tuple(about),
        not_compared={} if baseline is None else baseline.not_compared,
    )


def _shown(verdict: GateVerdict, *, rule: str = "", sentence: str = "") -> ShownRule:
    return ShownRule(word=verdict.replace("_", " "), badge=BADGES[verdict], rule=rule, sentence=sentence)
