import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.items import intervals_held
from past_runs import Made, PlannedRun, write_run
from pinchbench.model.ending import Reason
from pinchbench.results.task_statistics import find_subjects, item_statistics

DIGESTS = {task: hashlib.sha256(task.encode()).hexdigest() for task in ("a", "b")}  # as past_runs has them


def _write(folder: Path, number: int, *scores: float, model: str = "mock/m", **config: object) -> str:
    run_id = f"20260102-030000-{number:04d}"
    trials = {task: (Made(score=score),) for task, score in zip("abc", scores, strict=False)}
    return write_run(folder, PlannedRun(trials=trials, run_id=run_id, model=model, config=config)).name


def test_runs_of_one_model_with_the_same_settings_are_one_variant(tmp_path: Path) -> None:
    _write(tmp_path, 1, 0.2, 0.4)
    _write(tmp_path, 2, 0.6)
    _write(tmp_path, 3, 0.9, thinking="high")
    _write(tmp_path, 4, 1.0, model="mock/other")

    found = find_subjects(tmp_path, digests=DIGESTS)

    assert found.subjects == ({"a": (1.0,)}, {"a": (0.9,)}, {"a": (0.6, 0.2), "b": (0.4,)})
    assert found.excluded == ()


@pytest.mark.parametrize("config", [{"openclaw_config": {"tools": {"deny": ["exec"]}}}, {"env": {"LANG": "C"}}])
def test_what_a_run_adds_for_its_agents_makes_another_variant(tmp_path: Path, config: dict[str, object]) -> None:
    _write(tmp_path, 1, 0.2)
    _write(tmp_path, 2, 0.6, **config)  # type: ignore[arg-type]

    assert len(find_subjects(tmp_path, digests=DIGESTS).subjects) == 2


def test_scores_on_other_versions_of_a_task_are_excluded_and_named(tmp_path: Path) -> None:
    name = _write(tmp_path, 1, 0.2, 0.4)

    found = find_subjects(tmp_path, digests={**DIGESTS, "b": "changed"})

    assert found.subjects == ({"a": (0.2,)},)
    assert found.excluded == (f"{name} had other versions of b, which are not used.",)


def test_trials_that_do_not_count_and_tasks_that_were_not_asked_for_have_no_score(tmp_path: Path) -> None:
    trials = {"a": (Made(score=0.5), Made(score=None, reason=Reason.NO_TRANSCRIPT)), "c": (Made(),)}
    write_run(tmp_path, PlannedRun(trials=trials))

    (found,) = find_subjects(tmp_path, digests=DIGESTS).subjects

    assert found == {"a": (0.5,)}


def test_built_in_models_replays_and_unreadable_runs_are_excluded_and_counted(tmp_path: Path) -> None:
    _write(tmp_path, 1, 1.0, model="demo/oracle")
    replay = _write(tmp_path, 2, 1.0, replay={"folder": "/elsewhere"})
    broken = _write(tmp_path, 3, 1.0)
    (tmp_path / broken / "run.json").write_text("{", encoding="utf-8")

    found = find_subjects(tmp_path, digests=DIGESTS)

    assert found.subjects == ()
    assert [sentence.split(":")[0] for sentence in found.excluded] == [
        f"{broken} can't be read",
        f"{replay} is not used",
        "Built-in models say nothing about others; their runs (1) are not used.",
    ]


Scores = st.sampled_from([0.0, 0.25, 0.5, 1.0])
Subjects = st.lists(
    st.dictionaries(st.sampled_from(["t1", "t2", "t3", "t4"]), st.lists(Scores, min_size=1, max_size=3), min_size=1),
    min_size=1,
    max_size=7,
)


def test_a_task_that_agrees_with_the_others_discriminates_and_one_that_contradicts_them_misleads() -> None:
    found = item_statistics(
        [{"good": (level,), "other": (level,), "third": (level,), "wrong": (1 - level,)} for level in (0, 0.2, 0.5, 1)]
    )

    by_task = {item.task_id: item.discrimination for item in found}
    assert by_task["good"] is not None
    assert by_task["wrong"] is not None
    assert by_task["good"].value == pytest.approx(1)
    assert by_task["wrong"].value == pytest.approx(-1)


@pytest.mark.parametrize(
    ("subjects", "reasons"),
    [
        ([{"t": (1.0, 0.0)}], ["Discrimination needs", "The noise share needs two variants"]),
        ([{"t": (1.0,)}, {"t": (0.0,)}], ["Discrimination needs", "The noise share needs repetitions"]),
        ([{"t": (1.0, 1.0), "u": (0.5,), "v": (level,)} for level in (0, 0.2, 0.5, 1)],
         ["Discrimination is undefined", "The noise share is undefined"]),
    ],
)  # fmt: skip
def test_what_can_not_be_estimated_says_why(subjects: list[dict[str, tuple[float, ...]]], reasons: list[str]) -> None:
    item = item_statistics(subjects)[0]

    assert (item.discrimination, item.noise_share) == (None, None)
    assert [sentence.startswith(reason) for sentence, reason in zip(item.unknown, reasons, strict=True)] == [True] * 2


@given(Subjects)
def test_each_interval_contains_its_value_and_stays_in_its_range(subjects: list[dict[str, list[float]]]) -> None:
    found = item_statistics(subjects)

    assert all(0 <= item.noise_share <= 1 for item in found if item.noise_share is not None)
    for value, least in (*((item.mean, 0) for item in found), *((item.discrimination, -1) for item in found)):
        if value is not None and value.low is not None and value.high is not None:
            assert least <= value.low <= value.value <= value.high <= 1


@pytest.mark.long
def test_nine_of_ten_intervals_hold_the_true_value() -> None:
    held, known = intervals_held(models=8, repetitions=3, suites=6)

    assert held > 0.9
    assert known > 0.9
