"""The page of a comparison in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from browser import chromium, opened
from past_runs import PlannedRun, random_trials, write_run
from pinchbench.report.html.compare import write_comparison
from pinchbench.results.compare.comparison import compare
from pinchbench.results.compare.samples import find_sides

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("comparison")
    names = ["20260102-030000-000a", "20260103-030000-000b"]
    for seed, name in enumerate(names):
        trials = random_trials(tasks=9, repetitions=2, seed=seed, trouble=0.2)
        write_run(folder, PlannedRun(trials=trials, run_id=name, model=f"mock/{'a-long-name-' * seed}{seed}"))
    path = folder / "compare.html"
    write_comparison(compare(find_sides(names, folder)), path)
    return path


def test_it_opens_without_a_complaint_or_a_request_and_sorts_its_tasks(browser: Browser, comparison: Path) -> None:
    with opened(browser, comparison) as watched:
        page = watched.page
        assert "The data can't tell A from B" in page.locator("h1").inner_text()
        assert page.locator(".plot svg:visible").count() == 2

        head = page.locator("table.paired th", has_text="B − A")
        head.locator("button").click()
        values = [
            float(cell.get_attribute("data-value") or "") for cell in page.locator("table.paired td:nth-child(5)").all()
        ]

        assert head.get_attribute("aria-sort") == "descending"
        assert len(values) > 4
        assert values == sorted(values, reverse=True)
        assert watched.complaints == []
        assert watched.requests == []


def test_a_phone_shows_it_without_scrolling_sideways(browser: Browser, comparison: Path) -> None:
    with opened(browser, comparison, width=360) as watched:
        assert watched.page.evaluate("document.documentElement.scrollWidth") == 360
        assert watched.page.locator(".plot .narrow svg:visible").count() == 2
