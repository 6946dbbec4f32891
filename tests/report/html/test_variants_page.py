"""The page of an experiment in a real browser."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from browser import opened
from past_experiments import write_variants
from past_runs import Made, PlannedRun, random_trials, write_run
from pinchbench.experiment.experiment_page import read_experiment_runs, write_experiment
from pinchbench.model.ending import Reason
from pinchbench.report.html.document import PageSection, write_document
from pinchbench.report.html.variants_page import LOOK, ShownVariant, experiment_values, report_links, write_comparison
from pinchbench.results.compare import paired_difference
from pinchbench.results.compare.comparison import compare
from pinchbench.results.compare.samples import find_sides, side_of
from pinchbench.results.finished_run import read_run
from sampling import sampled

MISCHIEF = "</script><script>alert(1)</script><img src=x onerror=alert(2)> {{ 7 * 7 }} \u202egnp"
SECTION = PageSection(
    id="decision",
    title="Decision",
    sentences=("After 12 blocks, `high` is better.", MISCHIEF),
    columns=("variant", "evidence"),
    rows=(("high", "25.3"), (MISCHIEF, "none")),
)
PHONE = 360  # pixels


def _write(path: Path, **values: Any) -> None:
    write_document(path, LOOK, **experiment_values(**values, link=report_links(path.parent)))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two variants that have run and one that has not, some tasks alike."""
    folder = tmp_path_factory.mktemp("small")
    files = write_variants(folder, tasks=9, repetitions=2, variants={"low": 0.9, "high": 0.93})
    read = read_experiment_runs(files)
    gone = replace(read.variants[0], name="gone", run=None, side=None, failed=f"No release. {MISCHIEF}")
    _write(
        files.page,
        name=read.name,
        variants=[*read.variants, gone],
        comparisons=read.comparisons,
        sections=[SECTION],
    )
    return files.page


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = write_variants(tmp_path_factory.mktemp("large"), tasks=24, repetitions=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paired_difference, "DRAWN_WAYS", 200)  # it takes seconds, and changes a digit
        write_experiment(read_experiment_runs(files), files.page)
    return files.page


def _shown(page: Page) -> list[str]:
    return page.locator(".matrix tbody th:visible").all_inner_texts()


@pytest.mark.parametrize("is_dark", sampled([False, True], {True}))
def test_a_phone_shows_it_without_scrolling_sideways(browser: Browser, large: Path, is_dark: bool) -> None:
    with opened(browser, large, width=PHONE, is_dark=is_dark) as watched:
        page = watched.page
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE
        assert page.locator(".plot .narrow svg:visible").count() == 2
        page.locator(".matrix td a").first.click()
        page.locator("#pair h1").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE
        left, right = (one.bounding_box() for one in page.locator(".sides > div").all())
        assert left is not None
        assert right is not None
        assert right["y"] >= left["y"] + left["height"]


def test_the_heads_of_the_table_of_tasks_stay_in_sight_and_hide_no_link_that_has_the_focus(
    browser: Browser, large: Path
) -> None:
    with opened(browser, large, anchor="#tasks") as watched:
        page = watched.page
        table = page.get_by_role("group", name="Tasks", exact=True)
        table.focus()
        page.keyboard.press("End")
        expect(page.locator(".matrix tbody tr").last).to_be_in_viewport(ratio=1)
        expect(page.locator(".matrix thead th").last).to_be_in_viewport(ratio=1)

        page.locator(".matrix td a").last.focus()
        for _ in range(40):
            page.keyboard.press("Shift+Tab")
        head, focused = (page.locator(one).bounding_box() for one in (".matrix thead th >> nth=0", ":focus"))
        assert head is not None
        assert focused is not None
        assert focused["y"] >= head["y"] + head["height"]


def test_a_variant_without_a_run_is_named_and_text_from_outside_stays_text(browser: Browser, small: Path) -> None:
    with opened(browser, small) as watched:
        page = watched.page
        assert "gone could not be run: No release. </script>" in page.locator(".notice").all_inner_texts()[-1]
        assert "{{ 7 * 7 }} ‹U+202E›gnp" in page.locator("#decision").inner_text()
        assert page.locator("#decision code").inner_text() == "high"
        assert page.locator("#decision td").first.inner_text() == "25.3"
        assert watched.complaints == []
        assert watched.requests == []


def test_only_tasks_that_differ_are_shown_and_sorted_by_keyboard(browser: Browser, small: Path) -> None:
    with opened(browser, small) as watched:
        page = watched.page
        every = _shown(page)
        different = page.locator(".matrix tr[data-different] th").all_inner_texts()
        assert 0 < len(different) < len(every) == 9
        switch = page.get_by_role("switch", name="only the ")
        switch.focus()
        page.keyboard.press("Space")
        assert _shown(page) == different
        expect(page.locator("#tasks .shown")).to_have_text(f"{len(different)} of 9 tasks")

        page.locator(".matrix th", has_text="spread").get_by_role("button").focus()
        page.keyboard.press("Enter")
        order = _shown(page)
        assert sorted(order) == sorted(different)
        assert order != different
        switch.focus()
        page.keyboard.press("Space")
        assert sorted(_shown(page)) == sorted(every)


def test_a_score_leads_to_both_trials_with_their_first_difference_marked(browser: Browser, large: Path) -> None:
    with opened(browser, large) as watched:
        page = watched.page
        page.get_by_role("switch", name="only the ").check()
        page.locator(".matrix th", has_text="spread").get_by_role("button").press("Enter")
        order = _shown(page)
        page.locator(".matrix tbody tr").first.get_by_role("link", name="large in").press("Enter")
        expect(page.locator("#pair h1")).to_have_text(f"{order[0]}: default and large")
        expect(page.locator("#pair h1")).to_be_focused()
        cards = page.locator(".sides .card h2")
        assert [text.split()[0] for text in cards.all_inner_texts()] == ["default", "large"]
        marked = page.locator(".first-difference")
        assert marked.count() == 2
        assert len(set(marked.all_inner_texts())) == 2
        left, right = (one.bounding_box() for one in page.locator(".sides > div").all())
        assert left is not None
        assert right is not None
        assert right["x"] > left["x"] + left["width"] - 1

        page.get_by_role("navigation", name="Repetition").get_by_role("link", name="2").press("Enter")
        expect(page.locator("#pair h1")).to_have_text(f"{order[0]}@2: default and large")
        page.go_back()
        page.go_back()
        expect(page.locator("#overview")).to_be_visible()
        assert _shown(page) == order
        assert watched.complaints == []


def test_what_an_agent_wrote_stays_text_in_both_trials(browser: Browser, tmp_path: Path) -> None:
    call = {"type": "toolCall", "id": "1", "name": MISCHIEF, "arguments": {MISCHIEF: MISCHIEF}}
    content = [{"type": "text", "text": MISCHIEF}, call]
    messages = [
        {"role": "assistant", "content": content},
        {"role": "toolResult", "toolCallId": "1", "content": [{"type": "text", "text": MISCHIEF}]},
    ]
    lines = "".join(json.dumps({"type": "message", "message": one}) + "\n" for one in messages)
    shown = []
    for number, score in enumerate((1.0, 0.0)):
        trials = {"task": (Made(score=score, transcript=lines * (number + 1)),)}
        planned = PlannedRun(trials=trials, titles={"task": "Sort"}, run_id=f"20260102-030000-000{number}")
        run = read_run(write_run(tmp_path, planned))
        shown.append(ShownVariant(name=f"v{number}", run=run, side=side_of([run], label=f"v{number}")))
    path = tmp_path / "experiment.html"
    sides = [one.side for one in shown if one.side is not None]
    _write(path, name=MISCHIEF, variants=shown, comparisons=compare(sides))

    with opened(browser, path, anchor="#pair/v1/task") as watched:
        expect(watched.page.locator("#pair h1")).to_have_text("Sort: v0 and v1")
        fold = watched.page.locator("#pair details.alike")
        fold.locator("summary").first.click()
        assert fold.inner_text().count("<img src=x onerror=alert(2)> {{ 7 * 7 }} ‹U+202E›gnp") >= 2
        assert "</script><script>alert(1)" in watched.page.locator(".first-difference").inner_text()
        assert watched.complaints == []
        assert watched.requests == []


def test_runs_that_differ_in_nothing_but_their_numbers_have_no_list_of_what_differs(tmp_path: Path) -> None:
    names = ["20260102-030000-000a", "20260103-030000-000b", "20260104-030000-000c"]
    for ability, name in zip((0.3, 0.9, 0.9), names, strict=True):
        trials = random_trials(tasks=9, repetitions=2, ability=ability)
        write_run(tmp_path, PlannedRun(trials=trials, run_id=name, model=f"mock/{'other' if name[-1] == 'c' else 'm'}"))
    pages = []
    for pair in (names[:2], names[1:]):
        sides = find_sides(pair, tmp_path)
        write_comparison(tmp_path / "compare.html", sides, compare(sides))
        pages.append((tmp_path / "compare.html").read_text(encoding="utf-8"))

    assert "What differs" not in pages[0]
    assert "What differs" in pages[1]
    assert ">OpenClaw release<" not in pages[1]
    assert "By category" in pages[1]
    assert "mock/other, the baseline" not in pages[1]


def test_runs_have_their_names_and_small_categories_are_one_line(tmp_path: Path) -> None:
    trials = random_trials(tasks=3, repetitions=2)
    lost = {"task_lost": (Made(score=None, reason=Reason.NO_TRANSCRIPT),)}
    categories = {"task_000": "alone", "task_001": "data", "task_002": "data"}
    for model, more in (("mock/a", lost), ("mock/b", {})):
        write_run(tmp_path, PlannedRun(trials=trials | more, model=model, categories=categories))
    sides = find_sides(["mock/a", "mock/b"], tmp_path)
    path = tmp_path / "compare.html"

    write_comparison(path, sides, compare(sides))

    page = path.read_text(encoding="utf-8")
    small = re.findall(r'<tr><th scope="row">(alone|data)</th>.*>(\d)</td>.*data-label="mock/b">([^<]*)</td>', page)
    assert small == [("alone", "1", "0.000"), ("data", "2", "0.000")]
    assert "Scores of mock/a and differences to it; too few tasks for intervals." in page
    resume = f"<code>pinchbench-async resume {sides[0].runs[0]}</code> runs or grades them."
    assert f"Excluded from the scores (1 failed for infrastructure reasons): mock/a 1 of 7 trials. {resume}" in page
    assert "Not compared, only in mock/a: task_lost." in page
    assert '<th scope="col">mock/b</th>' in page
