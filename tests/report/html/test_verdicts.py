"""What the page of an experiment says of comparisons, gates and tasks."""

import re
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Browser

from browser import opened, violations
from past_experiments import write_variants
from pinchbench.experiment.experiment_page import read_experiment_runs, write_experiment
from pinchbench.experiment.experiment_record import RecordedSequential, read_record, write_record
from pinchbench.report.html.report_page import write_report
from pinchbench.report.html.verdicts import matrix_rows, verdicts_of
from pinchbench.results.compare.samples import NONE_LEFT_OUT, Sample, TaskTrials, side_of
from pinchbench.results.compare.verdict import SequentialComparison, SequentialVerdict
from pinchbench.results.gate.baseline_file import Stability
from pinchbench.results.gate.gate_record import write_gate
from pinchbench.results.gate.gate_run import Gate


def _compared(variant: str, verdict: SequentialVerdict, mean: float | None = 0.2) -> SequentialComparison:
    return SequentialComparison(
        variant=variant, verdict=verdict, blocks=7, mean=mean, low=0.05, high=0.35, e_value=57.3, decided_at=40.0
    )


@pytest.mark.parametrize(
    ("verdict", "badge"),
    [
        (SequentialVerdict.BETTER, "good"),
        (SequentialVerdict.WORSE, "bad"),
        (SequentialVerdict.EQUAL, "good"),
        (SequentialVerdict.UNDECIDABLE, "warn"),
        (SequentialVerdict.BUDGET, "warn"),
        (SequentialVerdict.STOPPED, "warn"),
        (SequentialVerdict.OPEN, "warn"),
    ],
)
def test_what_was_decided_on_the_way_is_shown_with_its_own_evidence(verdict: SequentialVerdict, badge: str) -> None:
    found = verdicts_of((), [_compared("high", verdict)], baseline="low")
    one = found.by_variant["high"]

    assert (one.word, one.badge) == (verdict.value, badge)
    assert (one.difference.mean, one.difference.low, one.difference.high) == (0.2, 0.05, 0.35)
    assert one.sentence.endswith("The difference is 0.200 (0.050 to 0.350), after 7 paired trials. Its e-value is 57.")
    assert one.outlook == ()
    assert "from an e-value of 40 on" in found.notes[0]


def test_an_experiment_that_ended_when_it_was_decided_shows_no_p(browser: Browser, tmp_path: Path) -> None:
    abilities = {"low": 0.4, "high": 0.9, "same": 0.4}
    files = write_variants(tmp_path, tasks=6, repetitions=2, variants=abilities)
    write_experiment(read_experiment_runs(files), files.page)
    assert "adjusted for their number" in files.page.read_text(encoding="utf-8")
    compared = (
        _compared("high", SequentialVerdict.BETTER),
        _compared("same", SequentialVerdict.UNDECIDABLE, mean=None),
    )
    sequential = RecordedSequential(tasks=("task_000",), runs=2, margin=0.05, comparisons=compared)
    write_record(files, msgspec.structs.replace(read_record(files), sequential=sequential), failed={})
    write_experiment(read_experiment_runs(files), files.page)

    with opened(browser, files.page) as watched:
        page = watched.page
        assert re.findall(r"adjusted|\bp [=<] ", page.locator("main").inner_text()) == []
        verdicts = page.locator("#variants .verdicts > li")
        assert verdicts.first.inner_text().startswith("better high: Decided: better than low. The difference is 0.200")
        assert verdicts.last.inner_text().startswith("undecidable same: Undecidable: ")
        assert verdicts.locator(".badge").all_inner_texts() == ["better", "undecidable"]
        assert page.locator("#choice .answers dd").first.inner_text() == "high"
        assert "high: 0.200" in (page.locator("#variants .plot .wide").get_attribute("aria-label") or "").replace(
            "+", ""
        )
        assert watched.complaints == []


MISCHIEF = "<img src=x onerror=alert(1)> {{ 7 * 7 }}"


def test_each_rule_of_a_gate_is_shown_with_its_verdict_and_why_tasks_were_not_compared(
    browser: Browser, tmp_path: Path
) -> None:
    files = write_variants(tmp_path, tasks=9, repetitions=2, variants={"low": 0.9, "high": 0.3}, trouble=0.0)
    low, high = (one.run for one in read_experiment_runs(files).variants)
    assert low is not None
    assert high is not None
    stability = Stability(min_trials=1, max_spread=0.2)
    gate = Gate(least_score=0.1, margin=0.05, name=MISCHIEF, baseline=side_of([low]), stability=stability)
    write_gate(high.files, gate.judge(high, is_complete=False))
    report = high.files.folder / "report.html"
    write_report([high], report)

    with opened(browser, report) as watched:
        card = watched.page.locator("section.card", has=watched.page.locator(".verdicts code", has_text="worse"))
        assert card.locator("h2 .badge").inner_text() == "failed"
        assert card.locator("li .badge").all_inner_texts() == ["passed", "failed"]
        assert [card.locator(f"li .badge.{look}").count() for look in ("good", "bad")] == [1, 1]
        assert f"The baseline is {MISCHIEF} of example/low; the margin is 0.05." in card.inner_text()
        assert "The run was incomplete" in card.inner_text()
        card.locator("summary").click()
        assert card.locator("dd").first.inner_text().startswith("in quarantine; varies: ")
        assert violations(watched.page) == []
        assert watched.complaints == []
        assert watched.requests == []


def _side(**scores: tuple[float, ...] | None) -> Sample:
    tasks = {
        task_id: TaskTrials(
            task_id=task_id,
            category="c",
            scores=own or (),
            left_out=msgspec.structs.replace(NONE_LEFT_OUT, infrastructure=int(own is None)),
        )
        for task_id, own in scores.items()
    }
    return Sample(label="s", model="m/m", runs=("r",), tasks=tasks)


def test_a_task_differs_if_a_variant_is_a_tenth_from_the_baseline() -> None:
    baseline = _side(near=(0.8,), far=(0.8,), low=(0.1,))
    other = _side(near=(0.71,), far=(0.7,), low=(0.19,))

    assert [row.task_id for row in matrix_rows([baseline, other], 0.5) if row.is_different] == ["far"]


def test_a_cell_has_the_mean_the_difference_and_what_is_not_in_it() -> None:
    [row] = matrix_rows([_side(task=(1.0, 0.8)), _side(task=(0.3,)), _side(task=(0.903,)), _side(task=None)], 0.5)
    baseline, worse, alike, excluded = row.cells

    assert (baseline.score, baseline.trials, baseline.difference, baseline.shade) == (0.9, 2, "", 4)
    assert (worse.difference, worse.direction) == ("−0.60", -1)
    assert (alike.difference, alike.direction) == ("", 0)
    assert (excluded.score, excluded.left_out, excluded.shade) == (None, 1, 0)
    assert round(row.spread, 3) == 0.603
