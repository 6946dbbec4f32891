"""The page on which a model is chosen, in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from browser import opened, violations
from past_experiments import write_variants
from pinchbench.experiment.experiment_page import read_experiment_runs
from pinchbench.report.choice_text import answers, columns, picks
from pinchbench.report.html.safe_text import safe_line
from pinchbench.report.html.variants_page import choice_page
from pinchbench.results.compare.choice import Choice
from sampling import sampled

MISCHIEF = "small </script><script>alert(1)</script> {{ 7 * 7 }} \u202egnp"


@pytest.fixture(scope="module")
def choice(tmp_path_factory: pytest.TempPathFactory) -> Choice:
    variants = {"large": 0.8, "default": 0.6, MISCHIEF: 0.4}
    files = write_variants(tmp_path_factory.mktemp("runs"), tasks=9, repetitions=2, variants=variants)
    return read_experiment_runs(files).choice()


@pytest.mark.parametrize("width", sampled([1280, 360], {360}))
@pytest.mark.parametrize("is_dark", sampled([False, True], {True}))
def test_a_phone_and_a_desk_show_the_answers_and_the_table_without_scrolling_sideways(
    browser: Browser, choice: Choice, tmp_path: Path, width: int, is_dark: bool
) -> None:
    path = tmp_path / "choice.html"
    path.write_text(choice_page(choice), encoding="utf-8")
    with opened(browser, path, width=width, is_dark=is_dark) as watched:
        page = watched.page
        assert page.evaluate("document.documentElement.scrollWidth") == width
        names = page.locator("#choice .answers dd:not(.under)").all_inner_texts()
        assert names == [safe_line(one.name) for one in picks(choice)]
        assert page.locator("#choice .answers div").last.inner_text().split("\n") == [
            safe_line(text) for text in (picks(choice)[-1].question, picks(choice)[-1].name, picks(choice)[-1].why)
        ]
        more = answers(choice)[len(names) :]
        assert page.locator("#doubts p").all_inner_texts()[: len(more)] == [safe_line(one) for one in more]
        assert page.locator("#choice tbody tr").count() == 3
        assert page.locator("#choice tbody tr").first.locator("th, td").count() == len(columns(choice))
        for name in ("95% interval", "cost per solved task", "9 of 10 within"):  # too long for half of a phone
            cell = page.locator(f'#choice tbody td[data-label="{name}"]').first
            share = cell.evaluate("cell => cell.offsetWidth / cell.parentElement.offsetWidth")
            assert share == 1 or width > 900, name
        assert "{{ 7 * 7 }} ‹U+202E›gnp" in page.locator("#choice tbody").inner_text()
        assert violations(page) == []
        assert watched.complaints == []
        assert watched.requests == []
