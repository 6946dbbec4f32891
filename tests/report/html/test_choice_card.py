"""The card of models to choose from, in a real browser."""

from pathlib import Path

from playwright.sync_api import Browser

from browser import opened
from past_experiments import write_variants
from pinchbench.experiment.experiment_page import read_experiment_runs
from pinchbench.report.html.choice_card import choice_card


def test_no_text_of_the_card_leaves_it(browser: Browser, tmp_path: Path) -> None:
    files = write_variants(
        tmp_path / "runs", tasks=9, repetitions=2, variants={"large": 0.8, "a </text> b": 0.6, "c" * 99: 0.4}
    )
    path = tmp_path / "card.svg"
    path.write_text(choice_card(read_experiment_runs(files).choice()), encoding="utf-8")
    with opened(browser, path) as watched:
        outside = watched.page.evaluate(
            "(([card]) => [...card.querySelectorAll('text')].map(one => one.getBBox()).filter(box => box.x < 0 ||"
            " box.y < 0 || box.x + box.width > card.viewBox.baseVal.width || box.y + box.height >"
            " card.viewBox.baseVal.height))([document.documentElement]).length"
        )
        assert watched.page.locator("text").count() > 20
        assert outside == 0
