"""`report.html` in a real browser: what a reader sees, clicks and prints."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from browser import opened
from mischief import mischievous_calls, mischievous_transcript, transcript_line
from past_runs import Made, PlannedRun, random_trials, write_run
from pinchbench.model.ending import Reason
from pinchbench.model.grade import Ungraded
from pinchbench.report.html.report_page import write_report
from pinchbench.results.finished_run import read_run


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with something of everything."""
    folder = tmp_path_factory.mktemp("report")
    trials = {
        "task_apple": (Made(score=1.0, took_s=10), Made(score=0.9, took_s=12)),
        "task_birch": (Made(score=0.2, took_s=99, stderr="E: no luck\n" * 3000), Made(score=0.4, took_s=80)),
        "task_cedar": (
            Made(score=None, ungraded=Ungraded.JUDGE_UNREACHABLE, notes=("Nobody answered.",)),
            Made(score=0.7),
        ),
        "task_dogwood": (
            Made(reason=Reason.NO_TRANSCRIPT, score=None, note="It left nothing."),
            Made(score=0.6, retried=(Reason.PROVIDER_ERROR,)),
        ),
        "task_elm": (
            Made(score=0.5, transcript=mischievous_transcript(), exchanges=mischievous_calls()),
            Made(score=1.0, transcript=transcript_line({"role": "user", "content": "word " * 20_000 + "the end"})),
        ),
    }
    nuts = dict.fromkeys(("task_dogwood", "task_elm"), "nuts")
    categories = {"task_apple": "fruit", "task_cedar": "<b>wood</b>", **nuts}
    run = write_run(folder, PlannedRun(trials=trials, categories=categories))
    path = folder / "report.html"
    write_report([read_run(run)], path)
    return path


def _tasks(page: Page) -> list[str]:
    """The tasks that are shown, in order."""
    return [one.removeprefix("▸").strip() for one in page.locator("tr.task:visible th").all_inner_texts()]


def test_it_opens_without_a_complaint_or_a_request_and_says_how_it_went(browser: Browser, report: Path) -> None:
    with opened(browser, report) as watched:
        text = watched.page.locator(".headline").inner_text()

        assert "mock/m1" in text
        assert "95% interval" in text
        assert "1 failed for infrastructure reasons" in text
        assert "2026.9.6" in text
        assert watched.page.locator(".plot svg:visible").count() == 1
        assert watched.complaints == []
        assert watched.requests == []


def test_a_head_sorts_its_column_by_mouse_and_by_keyboard_and_says_so(browser: Browser, report: Path) -> None:
    with opened(browser, report) as watched:
        page = watched.page
        score = page.locator(".task-table th", has_text="Score").first

        score.locator("button").click()
        descending = _tasks(page)
        assert score.get_attribute("aria-sort") == "descending"
        score.locator("button").focus()
        page.keyboard.press("Enter")

        assert descending[0] == "task_apple"
        assert descending[-1] == "task_birch"
        assert score.get_attribute("aria-sort") == "ascending"
        assert _tasks(page) == descending[::-1]
        assert watched.complaints == []


def test_filters_leave_the_tasks_that_fit_and_say_how_many(browser: Browser, report: Path) -> None:
    with opened(browser, report) as watched:
        page = watched.page
        page.locator("select[name=state]").select_option("failed")
        failed = _tasks(page)
        page.locator("select[name=state]").select_option("ungraded")
        ungraded = _tasks(page)
        page.locator("select[name=state]").select_option("excluded")
        left_out = _tasks(page)
        page.locator("select[name=state]").select_option("")
        page.locator("select[name=category]").select_option("fruit")
        fruit = _tasks(page)
        page.locator("select[name=category]").select_option("")
        page.locator("input[name=text]").fill("left NOTHING")

        assert failed == ["task_birch"]
        assert ungraded == ["task_cedar"]
        assert left_out == ["task_dogwood"]
        assert fruit == ["task_apple"]
        assert _tasks(page) == ["task_dogwood"]
        assert page.locator(".shown").inner_text() == "1 of 5 tasks"
        page.locator("input[name=text]").fill("no such thing")
        assert page.locator(".nothing").is_visible()


def test_a_trial_has_an_address_and_back_leads_back(browser: Browser, report: Path) -> None:
    with opened(browser, report, anchor="#trial/task_dogwood@2") as watched:
        page = watched.page
        assert page.locator("#trial h1").inner_text() == "task_dogwood@2"
        assert page.locator("#trial .big").inner_text() == "0.60"
        assert "provider error" in page.locator("#trial").inner_text()
        assert page.locator("#overview").is_hidden()
        assert "attempt 2" in page.locator("#trial").inner_text()
        assert page.locator(".fold", has_text="ls task_dogwood").locator("pre").count() == 2

        page.get_by_text("previous trial").click()
        expect(page.locator("#trial h1")).to_have_text("task_dogwood")
        assert "There is no transcript." in page.locator("#trial").inner_text()
        assert page.locator("#trial .big").inner_text() == "no score"
        page.go_back()
        expect(page.locator("#trial h1")).to_have_text("task_dogwood@2")
        page.get_by_role("link", name="all tasks").click()

        expect(page.locator("#overview")).to_be_visible()
        assert page.locator("tr.trial:visible").count() == 2
        assert watched.complaints == []


def test_nothing_of_a_hostile_transcript_or_exchange_runs_or_hides(browser: Browser, report: Path) -> None:
    with opened(browser, report, anchor="#trial/task_elm") as watched:
        page = watched.page
        page.get_by_role("button", name="unfold all").click()
        page.evaluate("for (const one of document.querySelectorAll('#trial details')) one.open = true")
        whole = page.locator("#trial").inner_text()
        calls = page.locator("section.card", has=page.get_by_role("heading", name="Calls of the model")).inner_text()

        assert "6 calls, 6 failed" in calls  # a finish reason that OpenClaw does not know fails a call, too
        assert "failed: 500" in calls
        for mischief in ("</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>", "‹U+202E›gnp.exe", "␀"):
            assert calls.count(mischief) >= 5  # model, system prompt, tool, message, reply
            assert whole.count(mischief) - calls.count(mischief) >= 4
        assert "\u202e" not in whole
        assert "{{ 7 * 7 }}" in whole.replace(calls, "")
        assert page.locator("img, iframe, a[href^=javascript]").count() == 0
        assert page.locator("script:not([type])").count() == 1
        assert watched.complaints == []
        assert watched.requests == []


def test_names_notes_and_logs_are_text_wherever_they_are_shown(browser: Browser, tmp_path: Path) -> None:
    text = "\"'><img src=x onerror=alert(1)></title></style></svg></option></script><script>alert(2)</script>"
    name = "a<i>&amp;\"' onmouseover=alert(3) %3Cb%3E"
    made = Made(score=0.2, note=text, notes=(text,), stderr=text, retried=(Reason.PROVIDER_ERROR,))
    ungraded = Made(score=None, ungraded=Ungraded.JUDGE_UNREACHABLE, notes=(text,))
    run = PlannedRun(
        trials={name: (made, ungraded), "task_b": (made,)},
        model=f"m/{name}",
        categories={name: text, "task_b": text + "2"},
        config={text: text},
    )
    write_report([read_run(write_run(tmp_path, run))], tmp_path / "report.html")

    with opened(browser, tmp_path / "report.html", width=360) as watched:
        page = watched.page
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        assert page.title() == f"m/{name} · PinchBench"
        page.get_by_role("button", name="unfold all").click()
        assert page.locator("tr.trial .note", has_text=text).count() == 3
        page.locator("select[name=category]").select_option(text)
        assert _tasks(page) == [name]
        page.locator("tr.trial a").first.click()
        expect(page.locator("#trial h1")).to_have_text(name)
        page.evaluate("for (const one of document.querySelectorAll('#trial details')) one.open = true")
        shown = page.locator("#trial").inner_text()
        page.get_by_role("link", name="next trial").click()
        expect(page.locator("#trial h1")).to_have_text(f"{name}@2")

        assert shown.count(text) >= 6  # category, note, the attempts' two, the judge's, stderr
        assert page.locator("img, i:not(.meter > i), [onmouseover], [onerror]").count() == 0
        assert watched.complaints == []
        assert watched.requests == []


def test_the_colours_follow_the_system(browser: Browser, report: Path) -> None:
    grounds = set()
    for is_dark in (False, True):
        with opened(browser, report, is_dark=is_dark) as watched:
            grounds.add(watched.page.evaluate("getComputedStyle(document.body).backgroundColor"))

    assert len(grounds) == 2


def test_without_scripts_all_tables_can_be_read(browser: Browser, report: Path) -> None:
    with opened(browser, report, has_script=False) as watched:
        assert watched.page.locator("tr.trial:visible").count() == 10
        assert watched.page.locator(".plot svg:visible").count() == 1
        assert watched.page.locator(".controls:visible, .unfold:visible").count() == 0


def test_several_runs_share_a_page_and_their_trials_keep_apart(browser: Browser, tmp_path: Path) -> None:
    trials = random_trials(tasks=3, repetitions=2)
    runs = [
        write_run(tmp_path, PlannedRun(trials=trials, model=model, run_id=f"20260102-030000-000{number}"))
        for number, model in enumerate(("mock/one", "mock/two"))
    ]
    write_report([read_run(run) for run in runs], tmp_path / "both.html")

    with opened(browser, tmp_path / "both.html") as watched:
        page = watched.page
        page.locator(".overview th", has_text="Model").locator("button").click(click_count=2)
        models = page.locator(".overview tbody th a").all_inner_texts()
        page.evaluate("location.hash = '#2/trial/task_001@2'")
        page.locator("h1", has_text="task_001@2").wait_for()

        assert models == ["mock/two", "mock/one"]
        assert "mock/two" in page.locator("#trial").inner_text()
        assert page.evaluate(
            "new Set([...document.querySelectorAll('[id]')].map(one => one.id)).size"
        ) == page.evaluate("document.querySelectorAll('[id]').length")
        assert watched.complaints == []


@pytest.mark.long
def test_five_hundred_trials_are_all_there(browser: Browser, tmp_path: Path) -> None:
    run = write_run(tmp_path, PlannedRun(trials=random_trials(tasks=125, repetitions=4, trouble=0.1), slots=8))
    write_report([read_run(run)], tmp_path / "report.html")

    with opened(browser, tmp_path / "report.html") as watched:
        page = watched.page
        page.get_by_text("unfold all").click()

        assert page.locator("tr.trial").count() == 500
        assert page.locator("script.trial-data").count() == 500
        assert page.locator("script.trial-data").last.get_attribute("data-anchor") == "trial/task_124@4"
        assert watched.complaints == []
