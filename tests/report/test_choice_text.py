"""What is said of models to choose from."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from past_runs import Made, PlannedRun, write_run
from pinchbench.report.choice_text import answers, columns, markdown, notes, rank_text, rows
from pinchbench.results.compare.choice import Choice, choice_of
from pinchbench.results.compare.samples import find_sides


def _choice(folder: Path, **models: tuple[float, float | None, float]) -> Choice:
    """Make models of a score, a cost and a time; every other task is easier for all by 0.1."""
    for number, (model, (score, cost, took_s)) in enumerate(models.items()):
        trials = {
            f"task_{n}": tuple(Made(score=score + 0.1 * (n % 2), cost_usd=cost, took_s=took_s) for _ in range(2))
            for n in range(8)
        }
        write_run(folder, PlannedRun(trials=trials, model=f"mock/{model}", run_id=f"20260102-03000{number}-000a"))
    return choice_of(find_sides([f"mock/{model}" for model in models], folder))


def test_three_sentences_answer_which_is_best_cheapest_and_fastest(tmp_path: Path) -> None:
    found = _choice(tmp_path, dear=(0.8, 0.5, 90.0), cheap=(0.77, 0.05, 20.0), bad=(0.2, 0.001, 1.0))
    best, cheapest, fastest, loss, what_would_tell = answers(found)
    assert best == "Best: mock/dear, score 0.850; the data can't tell it from mock/cheap."
    assert cheapest.startswith(
        "Cheapest within 0.05 of the highest score: mock/cheap, $0.0500 instead of $0.5000 per solved task."
    )
    assert fastest.startswith(
        "Fastest within 0.05 of the highest score: mock/cheap, 20.0 s instead of 1 min 30 s at the median."
    )
    assert loss.startswith("mock/cheap scores 0.030 less than mock/dear (")
    assert what_would_tell.startswith("Which of mock/dear and mock/cheap is better? ")


def test_a_model_that_is_better_than_all_others_needs_no_more_data(tmp_path: Path) -> None:
    found = _choice(tmp_path, a=(0.1, 0.1, 30.0), b=(0.8, 0.0, 30.0))  # 0: no price is known
    assert answers(found) == (
        "Best: mock/b, score 0.850; the data show it to be better than mock/a.",
        "Cheapest within 0.05 of the highest score: unknown, as none of them has a known price and a solved task.",
        "Fastest within 0.05 of the highest score: mock/b, 30.0 s at the median.",
    )


def test_a_much_cheaper_model_that_scores_less_is_named(tmp_path: Path) -> None:
    found = _choice(tmp_path, cheap=(0.4, 0.01, 30.0), cheapest=(0.1, 0.001, 29.0), best=(0.8, 0.1, 31.0))
    best, cheapest, fastest, *_ = answers(found)
    assert best.endswith("the data show it to be better than each of the others.")
    assert cheapest == (
        "Cheapest within 0.05 of the highest score: mock/best, $0.1000 per solved task. Cheaper, but scores less:"
        " mock/cheap, $0.0200, score 0.450."
    )
    assert fastest.endswith("mock/best, 31.0 s at the median.")


def test_a_model_whose_price_is_unknown_is_named_where_others_are_cheapest(tmp_path: Path) -> None:
    found = _choice(tmp_path, a=(0.8, 0.1, 30.0), b=(0.8, 0.0, 30.0))
    assert answers(found)[1] == (
        "Cheapest within 0.05 of the highest score: mock/a, $0.1000 per solved task. That of mock/b is unknown."
    )


def test_each_row_has_a_text_for_each_column_and_a_judge_of_a_models_provider_is_named(tmp_path: Path) -> None:
    found = _choice(tmp_path, a=(0.5, 0.1, 30.0), b=(0.2, None, 200.0))
    assert dict(zip(columns(found), rows(found)[0], strict=True)) == {
        "model": "mock/a",
        "rank": "1",
        "score": "0.550",
        "95% interval": rows(found)[0][3],
        "cost per solved task": "$0.1000",
        "median time": "30.0 s",
        "9 of 10 within": "30.0 s",
        "passes 2 of 2": "100%",
        "timed out": "0",
        "excluded": "0",
        "tokens": "5.0k",
        "cached": rows(found)[0][11],
    }
    assert "mock/a is of the same family as its judge mock/judge, which may favour it." in notes(found)
    assert markdown(found).count("\n| mock/") == 2


@pytest.mark.parametrize(
    ("ranks", "text"), [((), "–"), ((2,), "2"), ((1, 2), "1–2"), ((1, 2, 3), "1–3"), ((1, 3), "1, 3")]
)
def test_ranks_are_written_briefly(ranks: Sequence[int], text: str) -> None:
    assert rank_text(ranks) == text
