"""A judge's certificate in words, on the terminal and as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinchbench.report.html.document import PageLook, PageSection, write_document
from pinchbench.report.terminal.line_format import Column, print_table
from pinchbench.report.text import many
from pinchbench.results.judge_certificate import FEWEST_TASKS, TOO_LITTLE, Aspect, JudgeCertificate, Measure

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rich.console import Console


MEANINGS: Mapping[Aspect, str] = {
    Aspect.ORDER: "share of pairs of works that it puts in the right order",
    Aspect.CALIBRATION: "distance of its scores from the stated range",
    Aspect.LENIENCY: "how far its scores are above the range, negative below",
    Aspect.REPEATABILITY: "standard deviation of its votes on one work",
    Aspect.LENGTH: "what a longer last message adds to a score",
    Aspect.FORMAT: "what Markdown decoration adds to a score",
    Aspect.POSITION: "what the reverse order of the criteria adds to a score",
    Aspect.PLANTED_VERDICT: "what praise in the agent's files and words adds to poor work's score",
    Aspect.READABILITY: "share of replies that can't be read as a verdict",
    Aspect.DRIFT: "change of its scores since its earlier certificate",
}


def verdict_text(certificate: JudgeCertificate) -> str:
    """Return the verdict as a sentence."""
    model = certificate.judge.get("model")
    if certificate.faults:
        return f"The judge {model} has faults: {', '.join(certificate.faults)}."
    if certificate.finding == TOO_LITTLE:
        asked = many(len(certificate.tasks), "task")
        return f"There is too little to tell of the judge {model}: {asked}, and at least {FEWEST_TASKS} are needed."
    return f"No fault was found in the judge {model}."


def value_text(measure: Measure) -> str:
    """Return a measured value with its interval, as `0.02 (−0.01 to 0.05)`."""
    if measure.value is None:
        return "–"
    value = f"{measure.value:.3f}".replace("-", "−")
    if measure.low is None or measure.high is None:
        return value
    return f"{value} ({measure.low:.3f} to {measure.high:.3f})".replace("-", "−")


def tolerated_text(measure: Measure) -> str:
    """Return the values that are tolerated, as `−0.03 to 0.03`."""
    if measure.perfect:
        return f"from {measure.perfect - measure.tolerated:g}"
    if measure.aspect in (Aspect.CALIBRATION, Aspect.REPEATABILITY, Aspect.READABILITY):
        return f"up to {measure.tolerated:g}"
    return f"−{measure.tolerated:g} to {measure.tolerated:g}"


LOOK = PageLook(template="judge.html.j2")
FAULT = "fault"
LEAST_MEANING = {"what it is": 16}  # columns of the explanation on a narrow terminal


def write_certificate_page(certificate: JudgeCertificate, path: Path) -> None:
    """Write the page of a certificate. Blocks. Raises ResultsError if it can't be written."""
    write_document(path, LOOK, **certificate_values(certificate))


def _finding(measure: Measure) -> str:
    if measure.is_fault:
        return FAULT
    if not measure.tasks:
        return "not measured"
    return TOO_LITTLE if measure.low is None else "no fault found"


def certificate_values(certificate: JudgeCertificate) -> dict[str, object]:
    """Return what the page of a certificate shows."""
    sections = (_measured(certificate), _scores(certificate))
    return {"verdict": verdict_text(certificate), "certificate": certificate, "sections": sections}


def print_certificate(console: Console, certificate: JudgeCertificate) -> None:
    """Print what was measured, one aspect a row, and the verdict."""
    measured = _measured(certificate)
    columns = [Column(name, is_right=name == "tasks", least=LEAST_MEANING.get(name)) for name in measured.columns]
    print_table(console, columns, measured.rows)
    for sentence in (*measured.sentences, verdict_text(certificate)):
        console.print(sentence, markup=False, soft_wrap=True)


def _measured(certificate: JudgeCertificate) -> PageSection:
    return PageSection(
        id="measured",
        title="Measured",
        sentences=(
            "Means over tasks with 95% intervals; a fault is a whole interval beyond what is tolerated.",
            *(f"Not measured: {sentence}" for sentence in certificate.not_measured),
        ),
        columns=("aspect", "verdict", "measured (95%)", "tolerated", "tasks", "what it is"),
        rows=tuple(
            (str(one.aspect), _finding(one), value_text(one), tolerated_text(one), str(one.tasks), MEANINGS[one.aspect])
            for one in certificate.measures
        ),
        bad=FAULT,
    )


def _scores(certificate: JudgeCertificate) -> PageSection:
    return PageSection(
        id="scores",
        title="Scores",
        sentences=("The mean of the votes on each unchanged piece of work.",),
        columns=("task", "work", "stated range", "score", "in range"),
        rows=tuple(
            (
                one.task_id,
                one.work,
                f"{one.low:g} to {one.high:g}",
                "–" if one.score is None else f"{one.score:.2f}",
                "no" if one.score is not None and not one.low <= one.score <= one.high else "yes",
            )
            for one in certificate.scores
        ),
    )
