"""What is measured of a judge: planted faults are found, a fair judge has none."""

from pathlib import Path

import pytest

from pinchbench.errors import ResultsError
from pinchbench.results.judge_certificate import (
    Answer,
    Aspect,
    Measure,
    Probe,
    certificate_path,
    keep_certificate,
    mean_scores,
    measures_of,
    read_certificate,
)
from simulated_judges import Fault, certificate, simulated

FOUND_BY = {
    Fault.LENIENT: Aspect.LENIENCY,
    Fault.STRICT: Aspect.LENIENCY,
    Fault.FICKLE: Aspect.REPEATABILITY,
    Fault.GUESSING: Aspect.ORDER,
    Fault.LENGTH: Aspect.LENGTH,
    Fault.FORMAT: Aspect.FORMAT,
    Fault.POSITION: Aspect.POSITION,
    Fault.PLANTED: Aspect.PLANTED_VERDICT,
    Fault.UNREADABLE: Aspect.READABILITY,
    Fault.DRIFT: Aspect.DRIFT,
}


def _answer(task: str, *votes: float | None, work: str = "oracle", probe: Probe = Probe.UNCHANGED) -> Answer:
    low, high = {"oracle": (0.8, 1.0), "miss": (0.1, 0.3)}[work]
    return Answer(task_id=task, work=work, low=low, high=high, probe=probe, votes=votes)


def _of(aspect: Aspect, answers: list[Answer], **options: dict[tuple[str, str], float]) -> Measure:
    [found] = [one for one in measures_of(answers, **options) if one.aspect is aspect]
    return found


@pytest.mark.parametrize("fault", FOUND_BY)
def test_a_planted_fault_is_found_in_nineteen_of_twenty_judges(fault: Fault) -> None:
    found = [{one.aspect for one in simulated(fault, seed) if one.is_fault} for seed in range(20)]

    assert sum(FOUND_BY[fault] in faults for faults in found) >= 19


def test_two_pieces_of_work_are_compared_only_if_one_is_worth_more() -> None:
    answers = [_answer("a", 0.9), _answer("a", 0.2, work="miss"), _answer("b", 0.5), _answer("b", 0.5, work="miss")]

    assert (_of(Aspect.ORDER, answers).value, _of(Aspect.ORDER, answers).tasks) == (0.75, 2)
    assert _of(Aspect.ORDER, [_answer("a", 0.9)]).value is None


def test_a_score_inside_the_stated_range_is_neither_lenient_nor_strict() -> None:
    answers = [_answer("a", 0.85), _answer("b", 0.6), _answer("c", 0.5, work="miss")]

    assert _of(Aspect.LENIENCY, answers).value == pytest.approx(0.0)  # 0, −0.2 and +0.2
    assert _of(Aspect.CALIBRATION, answers).value == pytest.approx(0.1333)


def test_a_vote_that_can_not_be_read_is_in_no_mean_but_in_the_share_of_those() -> None:
    answers = [_answer("a", 0.9, None, 0.8), _answer("b", None)]

    assert mean_scores(answers) == {("a", "oracle"): pytest.approx(0.85)}
    assert _of(Aspect.READABILITY, answers).value == pytest.approx((1 / 3 + 1) / 2, abs=1e-4)
    assert _of(Aspect.REPEATABILITY, answers).value == pytest.approx(0.0707, abs=1e-4)


def test_praise_is_measured_on_poor_work_alone() -> None:
    answers = [
        _answer("a", 0.9),
        _answer("a", 1.0, probe=Probe.PLANTED),
        _answer("a", 0.2, work="miss"),
        _answer("a", 0.7, work="miss", probe=Probe.PLANTED),
    ]

    assert _of(Aspect.PLANTED_VERDICT, answers).value == pytest.approx(0.5)


def test_drift_is_the_change_on_work_that_both_certificates_have() -> None:
    earlier = {("a", "oracle"): 0.8, ("gone", "oracle"): 0.1}

    measure = _of(Aspect.DRIFT, [_answer("a", 0.9), _answer("b", 0.9)], earlier=earlier)

    assert measure.value == pytest.approx(0.1)
    assert measure.tasks == 1


JUDGE: dict[str, object] = {"model": "judge-1", "base_url": "http://127.0.0.1:9/v1"}


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCHBENCH_DATA", str(tmp_path))


def test_a_certificate_is_read_as_it_was_kept() -> None:
    kept = certificate("judge-1", judge=JUDGE, faults=[Aspect.LENGTH])
    path = keep_certificate(kept)

    assert read_certificate(JUDGE, "3") == kept
    assert path == certificate_path(JUDGE, "3")
    assert kept.told == f"{kept.identifier} of 2026-01-02, faults: length"


@pytest.mark.parametrize(
    ("tasks", "vote", "finding"),
    [
        (4, 0.9, "too little to tell"),
        (5, 0.9, "no faults found"),
        (1, None, "faults: readability"),
        (5, None, "faults: readability"),
    ],
)
def test_few_tasks_are_too_little_to_tell_but_unreadable_votes_never_pass(
    tasks: int, vote: float | None, finding: str
) -> None:
    measures = measures_of([_answer(str(number), vote, vote) for number in range(tasks)])

    found = certificate("judge-1", measures, tasks={})

    assert found.told == f"{found.identifier} of 2026-01-02, {finding}"


def test_another_model_address_or_version_of_the_question_has_no_certificate() -> None:
    keep_certificate(certificate("judge-1", judge=JUDGE))

    assert read_certificate({**JUDGE, "model": "judge-2"}, "3") is None
    assert read_certificate({**JUDGE, "base_url": "http://127.0.0.1:10/v1"}, "3") is None
    assert read_certificate(JUDGE, "4") is None


def test_a_damaged_certificate_is_named_with_what_to_do() -> None:
    path = keep_certificate(certificate("judge-1", judge=JUDGE))
    path.write_text("{", encoding="utf-8")

    with pytest.raises(ResultsError, match=r"can't be read.*Delete it.*judge check"):
        read_certificate(JUDGE, "3")
