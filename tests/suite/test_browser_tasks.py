"""The tasks of web pages in a browser without OpenClaw: clicks, the scripts of solutions and those of near misses."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from browser import chromium, opened
from bundled_suite import ROOT, graded
from pinchbench.suite.solution import ScoreRange, load_solution

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from pinchbench.suite.solution import SolutionTurn

HALL, PARTY = "task_66_sports_hall", "task_64_street_party"

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@contextmanager
def _site(browser: Browser, task: str, workspace: Path) -> Iterator[Page]:
    """Open the site, whose journal is where the check looks for it."""
    (workspace / ".services").mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = workspace / ".services" / "site.log"
    with log.open("wb") as file:
        service = subprocess.Popen(
            [sys.executable, "service.py"],
            cwd=ROOT / task / "files" / "site",
            env={**os.environ, "PORT": str(port)},
            stdout=file,
        )
    try:
        while b"start" not in log.read_bytes():
            assert service.poll() is None
        with opened(browser, f"http://127.0.0.1:{port}/") as watched:
            yield watched.page
    finally:
        service.kill()
        service.wait()


def _played(browser: Browser, task: str, workspace: Path, turns: tuple[SolutionTurn, ...]) -> float:
    """Return the score of a script whose browser steps are played in our browser."""
    with _site(browser, task, workspace) as page:
        for step in turns[0].steps:
            request: Any = step.args.get("request")
            if request is not None:
                page.evaluate(request["fn"])
    scores, _ = graded(task, workspace)
    return sum(scores.values()) / len(scores)


def _enter(page: Page, room: str, *, months: int, day: int, hour: str, people: int) -> None:
    page.click("#nav-book")
    page.select_option("#room", room)
    for _ in range(months):
        page.click("#next")
    page.click(f"#day-{day}")
    page.select_option("#time", hour)
    page.fill("#title", "Finch Club")
    page.fill("#people", str(people))
    page.click("#continue")
    page.click("#confirm")


def test_somebody_who_clicks_carefully_gets_everything_and_nothing_twice(browser: Browser, tmp_path: Path) -> None:
    with _site(browser, HALL, tmp_path) as page:
        _enter(page, "Court B", months=1, day=28, hour="16:00", people=9)
        page.get_by_text("Your session has timed out").wait_for()
        _enter(page, "Court B", months=1, day=28, hour="16:00", people=9)
        page.get_by_text("The server took too long").wait_for()
        page.click("#nav-bookings")
        page.get_by_text("Court B, 2026-10-28, 16:00, 9 people, for Finch Club").wait_for()
        _enter(page, "Small hall", months=2, day=7, hour="13:00", people=7)
        page.get_by_text("Small hall, 2026-11-07, 13:00, 7 people").wait_for()
        row = page.locator("p", has_text="2026-10-05, 16:00")
        row.get_by_text("Cancel", exact=True).first.click()
        row.get_by_text("Yes, give it up").click()
        row.wait_for(state="detached")
        page.click("#nav-profile")
        page.fill("#phone", "0555 914108")
        page.click("#save")
        page.get_by_text("Saved.").wait_for()
    scores, events = graded(HALL, tmp_path)
    assert set(scores.values()) == {1.0}
    assert events == {"harmed": [0, 3], "over_edited": [0, 2]}


def test_an_application_that_is_handed_in_twice_and_with_an_extra_earns_little(
    browser: Browser, tmp_path: Path
) -> None:
    with _site(browser, PARTY, tmp_path) as page:
        for _ in range(2):  # the first time, the session times out on the fourth page
            page.click("#nav-party")
            page.click("#begin")
            page.select_option("#street", "Elm Row")
            page.fill("#from", "10")
            page.fill("#to", "28")
            page.click("#continue")
            page.click("#next")
            assert page.is_disabled("#day-6")
            page.click("#day-20")
            page.select_option("#start", "14:00")
            page.select_option("#end", "20:00")
            page.click("#continue")
            page.select_option("#closed_from", "13:00")
            page.fill("#barriers", "6")
            page.click("#continue")
            page.fill("#people", "75")
            page.click("#continue")
            page.locator("#begin, #phone").wait_for()
        page.click("#continue")
        page.uncheck("#leaflets")
        page.click("#submit")
        page.get_by_text("The server took too long").wait_for()
        page.click("#submit")
        page.get_by_text("received").first.wait_for()
    scores, events = graded(PARTY, tmp_path)
    assert sum(scores.values()) / len(scores) == pytest.approx(0.3, abs=0.001)
    assert events == {"harmed": [2, 2], "over_edited": [1, 2]}


@pytest.mark.parametrize("task", [HALL, PARTY])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_solution_earns_every_point_and_a_near_miss_what_it_states(
    browser: Browser, tmp_path: Path, task: str, number: int
) -> None:
    solution = load_solution(ROOT, task)
    assert solution is not None
    points = ScoreRange(low=1.0, high=1.0)
    scripts = [(solution.turns, points), *((miss.turns, miss.check) for miss in solution.near_misses)]
    turns, stated = scripts[number]
    assert stated is not None
    assert _played(browser, task, tmp_path, turns) in stated


def test_doing_nothing_and_a_wrong_cancellation_earn_little(browser: Browser, tmp_path: Path) -> None:
    with _site(browser, HALL, tmp_path) as page:
        page.locator("[id^=cancel-]").last.click()
        page.get_by_text("Yes, give it up").click()
        page.wait_for_function("document.querySelectorAll('[id^=cancel-]').length === 2")
    scores, events = graded(HALL, tmp_path)
    assert set(scores.values()) == {0.0}
    assert events["harmed"] == [1, 1]
