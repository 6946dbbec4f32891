"""A judge's certificate in words, on the terminal and as a page."""

import io
import re
from pathlib import Path

import pytest
from msgspec import structs

from pinchbench.report.certificate import (
    print_certificate,
    value_text,
    write_certificate_page,
)
from pinchbench.report.terminal.console import report_console
from pinchbench.results.judge_certificate import Aspect, JudgeCertificate, Measure, WorkScore
from simulated_judges import Fault, certificate, simulated


def _measure(aspect: Aspect, *, value: float | None, low: float | None = None, perfect: float = 0.0) -> Measure:
    high = None if low is None else -low
    return Measure(aspect=aspect, value=value, low=low, high=high, tasks=6, tolerated=0.1, perfect=perfect)


@pytest.mark.parametrize(
    ("value", "low", "told"),
    [(None, None, "–"), (-0.02, None, "−0.020"), (0.02, -0.05, "0.020 (−0.050 to 0.050)")],
)
def test_a_value_is_reported_with_its_interval(value: float | None, low: float | None, told: str) -> None:
    assert value_text(_measure(Aspect.LENGTH, value=value, low=low)) == told


def _certificate(model: str, fault: Fault) -> JudgeCertificate:
    scores = [
        WorkScore(task_id="task_a", work="oracle", low=0.8, high=1.0, score=0.5),
        WorkScore(task_id="task_a", work="nothing", low=0.0, high=0.2, score=None),
    ]
    return certificate(model, simulated(fault, 1), scores=scores, not_measured=["Taste."])


def test_each_aspect_has_a_row_and_a_fault_is_marked() -> None:
    text = io.StringIO()
    print_certificate(report_console(text, is_terminal=False), _certificate("judge-1", Fault.FORMAT))

    shown = text.getvalue()
    assert all(aspect in shown for aspect in Aspect)
    [fault] = [line for line in shown.splitlines() if re.search(r" fault  ", line)]
    assert fault.startswith("format ")
    assert "Not measured: Taste." in shown
    assert "The judge judge-1 has faults: format." in shown


def test_too_few_tasks_are_no_praise(tmp_path: Path) -> None:
    measures = [structs.replace(one, low=None, high=None) for one in simulated(Fault.NOTHING, 1)]
    made = structs.replace(_certificate("judge-1", Fault.NOTHING), measures=measures)
    write_certificate_page(made, tmp_path / "page.html")

    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "There is too little to tell of the judge judge-1: 1 task, and at least 5 are needed." in page
    assert page.count(">too little to tell</td>") == sum(one.tasks > 0 for one in measures)
    assert "no fault found" not in page


def test_a_fault_and_what_was_measured_are_shown(tmp_path: Path) -> None:
    write_certificate_page(_certificate("judge-1", Fault.LENGTH), tmp_path / "page.html")

    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "The judge judge-1 has faults: length." in page
    assert page.count('<span class="badge bad">fault</span>') == 1
    assert "2026-01-02 03:00 UTC" in page
    assert "0.8 to 1" in page
    assert "Not measured: Taste." in page


def test_a_name_is_text_and_never_markup(tmp_path: Path) -> None:
    write_certificate_page(_certificate("<script>alert(1)</script>", Fault.NOTHING), tmp_path / "page.html")

    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
