"""The public form of a model's tasks against fresh forms: what is paired, pooled and left out."""

import json
from dataclasses import replace

import pytest

from pinchbench.results.compare.comparison import Conclusion, Unpaired, compare
from pinchbench.results.compare.comparison_json import record
from pinchbench.results.compare.memorisation import memorisation_of
from pinchbench.results.compare.paired_difference import Pair, untested_difference
from pinchbench.results.compare.samples import Sample, TaskTrials
from pinchbench.results.compare.verdict import verdict


def _side(run: str, form: str | None, scores: dict[str, tuple[float, ...]], **settings: str) -> Sample:
    return Sample(
        label=run,
        model="mock/a",
        runs=(run,),
        settings=settings | ({} if form is None else {"form": form}),
        tasks={
            name: TaskTrials(task_id=name, category="data", version=((f"{name} {form}",), (name,)), scores=own)
            for name, own in scores.items()
        },
    )


PUBLIC = _side("p", "public", {"one": (1.0, 0.8), "two": (0.6,), "old": (1.0,), "lost": ()})
SEVEN = _side("f7", "7", {"one": (0.5,), "two": (0.6,), "lost": (0.5,)})
TEN = _side("f10", "10", {"one": (0.3,), "two": (0.4,), "new": (0.5,)})


def test_fresh_forms_are_pooled_and_paired_by_task_with_the_public_one() -> None:
    [found] = memorisation_of([TEN, PUBLIC, SEVEN])

    assert (found.public_runs, found.fresh_runs, found.forms) == (("p",), ("f10", "f7"), ("7", "10"))
    assert found.tasks == {"one": pytest.approx(0.5), "two": pytest.approx(0.1)}
    assert found.difference == untested_difference([Pair(a=(0.3, 0.5), b=(1.0, 0.8)), Pair(a=(0.4, 0.6), b=(0.6,))])
    assert found.difference.mean == pytest.approx(0.3)
    assert [found.public.mean, found.fresh.mean] == pytest.approx([0.75, 0.45])


def test_tasks_without_a_fresh_form_or_without_a_score_are_left_out_and_named() -> None:
    [found] = memorisation_of([PUBLIC, SEVEN, TEN])

    assert found.only_public == ("old",)
    assert found.other == ("lost", "new")
    told = json.loads(json.dumps(record(compare([PUBLIC, SEVEN, TEN]), memorisation=[found])))
    assert set(told["memorisation"][0]) == {
        "model", "public_runs", "fresh_runs", "forms", "difference", "public", "fresh", "tasks", "only_public", "other",
    }  # fmt: skip


@pytest.mark.parametrize(
    "sides",
    [
        [PUBLIC, replace(PUBLIC, runs=("p2",))],
        [SEVEN, TEN],
        [PUBLIC, replace(SEVEN, model="mock/b")],
        [
            replace(PUBLIC, settings={"form": "public", "judge": "x"}),
            replace(SEVEN, settings={"form": "7", "judge": "y"}),
        ],
    ],
    ids=["public alone", "fresh alone", "two models", "two judges"],
)
def test_there_is_no_estimate_unless_one_model_was_run_in_both_with_the_same_settings(sides: list[Sample]) -> None:
    assert memorisation_of(sides) == ()


def test_variants_that_differ_in_settings_have_an_estimate_each() -> None:
    def settings(side: Sample, level: str) -> Sample:
        return replace(side, settings={**side.settings, "thinking level": level})

    sides = [settings(side, level) for side in (PUBLIC, SEVEN) for level in ("low", "high")]

    assert [(one.public_runs, one.fresh_runs) for one in memorisation_of(sides)] == [(("p",), ("f7",))] * 2


def test_forms_are_not_paired_as_if_they_were_the_same_task_and_runs_of_old_releases_are_public() -> None:
    public = _side("p", None, {"one": (1.0,)})
    same_digest = replace(public, settings={"form": "7"}, runs=("f7",))

    [found] = compare([public, same_digest])

    assert (found.verdict, found.unpaired) == (Conclusion.NOTHING_PAIRED, {"one": Unpaired.OTHER_FORM})
    assert verdict(found) == "Nothing can be compared task by task: p and p are different forms of the tasks."
    assert len(memorisation_of([public, same_digest])) == 1
