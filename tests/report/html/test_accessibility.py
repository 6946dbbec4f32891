"""Every page that is written: axe-core finds nothing on it, and paper shows its colours and its ids whole."""

import re
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from browser import opened, violations
from past_experiments import write_variants
from past_runs import Made, PlannedRun, random_trials, write_run
from pinchbench.experiment.experiment_page import read_experiment_runs, write_experiment
from pinchbench.model.ending import Reason
from pinchbench.model.grade import Ungraded
from pinchbench.report.html.report_page import write_report
from pinchbench.report.html.variants_page import write_comparison
from pinchbench.results.compare.comparison import compare
from pinchbench.results.compare.samples import side_of
from pinchbench.results.finished_run import read_run
from sampling import sampled

LONG = "task_14_conflicting_sources_of_many_words"
TRIALS = {
    "task_apple": (Made(score=1.0, took_s=10), Made(score=0.9, took_s=12)),
    "task_birch": (
        Made(score=0.2, stderr="E: no luck\n" * 3000),
        Made(score=0.4, reason=Reason.TIMED_OUT, note="Late."),
    ),
    "task_cedar": (Made(score=None, ungraded=Ungraded.JUDGE_UNREACHABLE, notes=("Nobody answered.",)), Made(score=0.7)),
    "task_dogwood": (Made(reason=Reason.NO_TRANSCRIPT, score=None), Made(score=0.6, retried=(Reason.PROVIDER_ERROR,))),
    "task_elm": (Made(score=None, reason=Reason.GATEWAY_LOST, retried=(Reason.GATEWAY_LOST,), note="It is gone."),),
    LONG: (Made(score=0.3, took_s=4000), Made(score=0.5)),
}
# of each page, what its address may end in
PAGES: Mapping[str, tuple[str, ...]] = {
    "mixed": ("", "task/task_cedar", "trial/task_birch@2", "trial/task_dogwood@2", "trial/task_elm"),
    "good": ("", "trial/task_a"),
    "several": ("", "2/trial/task_001@2"),
    "empty": ("",),
    "compare": ("",),
    "experiment": ("", "pair/high/task_001@2"),
}
PAPER_PX = 718  # A4 with Chromium's margins
PHONE_PX = 360


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    planned = {
        "mixed": PlannedRun(trials=TRIALS),
        "good": PlannedRun(trials={"task_a": (Made(),)}),
        "empty": PlannedRun(trials={"task_a": ()}, planned_beyond=1, has_ended=False),
        "one": PlannedRun(trials=random_trials(tasks=9, repetitions=2, trouble=0.2), model="mock/one"),
        "two": PlannedRun(trials=random_trials(tasks=9, repetitions=2, ability=0.4, seed=1), model="mock/two"),
    }
    runs = {name: read_run(write_run(folder / name, run)) for name, run in planned.items()}
    for name in ("mixed", "good", "empty"):
        write_report([runs[name]], folder / f"{name}.html")
    write_report([runs["one"], runs["two"]], folder / "several.html")
    sides = [side_of([runs["one"]]), side_of([runs["two"]])]
    write_comparison(folder / "compare.html", sides, compare(sides))
    files = write_variants(folder / "experiment", tasks=4, repetitions=2, variants={"low": 0.4, "high": 0.9})
    write_experiment(read_experiment_runs(files), folder / "experiment.html")
    return folder


def _show_all(page: Page, anchor: str) -> None:
    page.evaluate("anchor => { location.hash = anchor; }", anchor)
    place = "#trial" if "trial/" in anchor else "#pair" if anchor.startswith("pair/") else "main"
    page.locator(f"{place} h1:visible").first.wait_for()
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.evaluate("for (const one of document.querySelectorAll('tbody:not(.open) .unfold')) one.click()")


@pytest.mark.parametrize("name", sampled(PAGES, {"good"}))
def test_axe_finds_nothing_and_nothing_overflows_by_day_or_night_on_a_desk_or_a_phone(
    browser: Browser, pages: Path, name: str
) -> None:
    found: list[object] = []
    with opened(browser, pages / f"{name}.html") as watched:
        page = watched.page
        for scheme, width in (("light", 1280), ("dark", PHONE_PX)):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.set_viewport_size({"width": width, "height": 900})
            for anchor in PAGES[name]:
                _show_all(page, anchor)
                found += [(anchor, scheme, width, *one) for one in violations(page)]
                if page.evaluate("document.documentElement.scrollWidth") > width:
                    found.append((anchor, width, "overflows"))
                if width == PHONE_PX:
                    assert page.locator(".plot .wide:visible").count() == 0

    assert found == []


@pytest.mark.parametrize("name", sampled(["mixed", "compare", "experiment"], {"compare"}))
def test_paper_keeps_every_id_in_one_piece_and_on_the_sheet(browser: Browser, pages: Path, name: str) -> None:
    with opened(browser, pages / f"{name}.html", width=PAPER_PX, is_dark=True) as watched:
        page = watched.page
        page.emulate_media(media="print")
        lines = page.evaluate("""
            const cells = "td.task-cell, th.task-cell[scope=row], .paired th[scope=row], .matrix th[scope=row]";
            Array.from(document.querySelectorAll(cells), cell => {
              const range = document.createRange();
              range.selectNodeContents(cell);
              const rows = new Set(Array.from(range.getClientRects(), box => Math.round(box.bottom)));
              return [cell.textContent.trim(), cell.getClientRects().length, rows.size];
            })
        """)

        assert len(lines) >= (4 if name == "experiment" else 9)
        assert [line for line in lines if line[1:] != [1, 1]] == []
        assert (LONG in [line[0] for line in lines]) is (name == "mixed")
        assert page.evaluate("document.documentElement.scrollWidth") == PAPER_PX


def test_paper_keeps_the_colours_though_a_browser_prints_no_backgrounds(browser: Browser, pages: Path) -> None:
    with opened(browser, pages / "mixed.html", is_dark=True) as watched:
        pdf = watched.page.pdf(print_background=False)

    streams = re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL)
    drawn = b"\n".join(zlib.decompress(one) for one in streams if one.startswith(b"x"))
    fills = {
        tuple(round(float(part) * 255) for part in colour.split()) for colour in re.findall(rb"([\d. ]+) rg", drawn)
    }
    notice, failed_badge = (0xFD, 0xF4, 0xE1), (0xFC, 0xEC, 0xEA)
    assert {notice, failed_badge} <= fills
