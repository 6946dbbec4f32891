"""What a reader of a run's score must know."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from past_runs import Made, PlannedRun, aggregate_of, facts_of, grade_of, outcome_of, write_run
from pinchbench.model.facts import PrefixBreak, PrefixCause, PromptFacts, WireFacts
from pinchbench.model.grade import Grade, JudgeGrade
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType
from pinchbench.model.usage import Usage
from pinchbench.report.remarks import remarks
from pinchbench.results.finished_run import read_run
from pinchbench.results.paths import RunFiles


def _of(folder: Path, plan: PlannedRun) -> list[str]:
    """The remarks on a run."""
    run = read_run(write_run(folder, plan))
    return list(remarks(run.data, run.outcomes, run.grades, run.files))


def _said(folder: Path, outcomes: Sequence[Outcome], grades: Iterable[Grade] = (), *, about: str = "") -> list[str]:
    """The remarks on these trials that are about something."""
    given = {grade.key: grade for grade in grades}
    data = aggregate_of(outcomes, facts_of(one.key for one in outcomes), given.values())
    said = remarks(data, outcomes, given, RunFiles(output_dir=folder, name="r"))
    return [one for one in said if about in one]


def _judged(folder: Path, *parts: JudgeGrade) -> str:
    """The remark on the judge that gave these grades."""
    judged = {f"task_{number}": part for number, part in enumerate(parts)}
    outcomes = [outcome_of(task_id) for task_id in judged]
    grades = [
        grade_of(task_id, part.score, grading_type=GradingType.LLM_JUDGE, judge=part)
        for task_id, part in judged.items()
    ]
    [said] = _said(folder, outcomes, grades, about="Judge")
    return said


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ((0.25, 0.5), "$0.7500."),
        ((0.25, None), "$0.2500, cost not reported for 1 of 2 calls."),
        ((None, None), "cost not reported by the endpoint."),
    ],
)
def test_a_part_of_the_judges_cost_is_never_shown_as_the_whole(
    tmp_path: Path, costs: tuple[float | None, ...], said: str
) -> None:
    told = _judged(tmp_path, *(JudgeGrade(score=0.5, model="judge-1", calls=1, cost_usd=cost) for cost in costs))

    assert told.startswith(f"Judge judge-1: 2 calls for 2 trials, 0 from the cache, 0 tokens, {said} Certificate: none")


def test_the_certificate_of_a_judge_is_named_or_that_it_has_none(tmp_path: Path) -> None:
    certified = "0123456789ab of 2026-01-02, faults: length"
    without, named = (
        _judged(tmp_path, JudgeGrade(score=0.5, model="judge-1", certificate=one)) for one in ("", certified)
    )

    assert "Certificate: none; `pinchbench-async judge check` makes one." in without
    assert f"Certificate: {certified}." in named


def test_each_limit_stands_next_to_what_was_used_of_it(tmp_path: Path) -> None:
    limits = {"max_tokens": 230_000, "max_cost": 5.0, "max_hours": 2.0}
    trials = {
        "task_a": (Made(tokens=100_000, cost_usd=0.5, took_s=600),),
        "task_b": (Made(tokens=104_000, cost_usd=0.7),),
    }

    said = _of(tmp_path, PlannedRun(trials=trials, config=limits))

    assert "Used: 206.0k of 230.0k tokens, $1.2020 of $5.00, 10 min 12 s of 2 h 00 min." in said


def test_what_was_reused_is_named_and_counts_against_no_limit(tmp_path: Path) -> None:
    files = write_run(tmp_path, PlannedRun(trials={"task_a": (Made(cost_usd=0.5), Made(cost_usd=0.75))}))
    run = read_run(files)
    outcomes = [replace(one, reused_from="r0" if one.key.repetition == 1 else "") for one in run.outcomes]
    limited = structs.replace(run.facts, config={**run.facts.config, "max_cost": 5.0})
    data = aggregate_of(outcomes, limited)

    said = list(remarks(data, outcomes, {}, files))

    assert "Used: $0.7500 of $5.00." in said
    assert any(one.startswith("Reused: 1 from r0, of 2 trials.") for one in said)


def test_prompts_whose_beginning_changes_are_named_where_much_is_read_again_for_that(tmp_path: Path) -> None:
    def said(again: int) -> str:
        broken = PrefixBreak(call=3, in_turn=3, cause=PrefixCause.TOOLS, again=again)
        wire = WireFacts(
            calls=4, usage=Usage(input_tokens=1000), prompts=PromptFacts(breaks=(broken,), broken=1, again=again)
        )
        return "\n".join(_of(tmp_path / str(again), PlannedRun(trials={"task_a": (Made(wire=wire),)})))

    assert (
        "Of 1.0k tokens of prompts, 300 were read again because their beginning had changed: 1 of 4 calls,"
        " mostly at call 3 of a turn (the tools 1)."
    ) in said(300)
    assert "read again" not in said(90)


def test_what_openclaw_hides_of_its_calls_and_where_their_time_went_is_said(tmp_path: Path) -> None:
    wire = WireFacts(calls=3, failed=(429,), unreported=1, models=("m2",), model_s=12.0, between_s=3.0)

    assert _of(tmp_path / "with", PlannedRun(trials={"task_a": (Made(wire=wire),)}))[-2:] == [
        "3 model calls: 1 failed in 1 trial (429); models that answered instead of mock/m1: m2 (1 trial).",
        "Time of the agents, added up: 12.0 s in the model, 3.0 s between its replies (tools and OpenClaw).",
    ]
    assert "model call" not in "".join(_of(tmp_path / "without", PlannedRun(trials={"task_a": (Made(),)})))


@pytest.mark.parametrize(
    ("score", "tool_calls", "said"),
    [
        (0.0, (0, 0), "None of 2 trials has a tool call."),
        (0.0, (0,), "The trial has no tool call."),
        (0.0, (0, 1), ""),
        (1.0, (0, 0), ""),  # tasks that need no tool
    ],
)
def test_a_run_that_lost_points_without_any_tool_call_names_the_servers_settings(
    tmp_path: Path, score: float, tool_calls: tuple[int, ...], said: str
) -> None:
    outcomes = [outcome_of(f"task_{n}", transcript_length=3, tool_calls=calls) for n, calls in enumerate(tool_calls)]
    grades = [grade_of(one.key, score) for one in outcomes]

    told = _said(tmp_path, outcomes, grades, about="tool call")

    assert [one[: len(said)] for one in told] == [said] * bool(said)
    assert all("--enable-auto-tool-choice" in one for one in told)


@pytest.mark.parametrize(
    ("costs", "said"), [((0.5, 0.0), ["cost are at least so much: of 1 trial not"]), ((0.5, 0.5), []), ((0.0, 0.0), [])]
)
def test_a_sum_of_known_and_unknown_costs_is_named_as_the_least(
    tmp_path: Path, costs: tuple[float, float], said: list[str]
) -> None:
    usages = [Usage(requests=1, total_tokens=9, cost_usd=cost) for cost in costs]

    told = _said(tmp_path, [outcome_of(f"task_{n}", usage=usage) for n, usage in enumerate(usages)], about="at least")

    assert [words in one for words, one in zip(said, told, strict=True)] == [True] * len(said)


@pytest.mark.parametrize(("total_tokens", "is_said"), [(9, True), (0, False)])
def test_tokens_that_every_trial_reported_in_part_are_named_as_the_least(
    tmp_path: Path, total_tokens: int, *, is_said: bool
) -> None:
    usage, wire = Usage(requests=1, total_tokens=total_tokens), WireFacts(calls=2, usage=Usage(), unreported=1)

    said = _said(tmp_path, [outcome_of(usage=usage, wire=wire)], about="tokens are at least so much")

    assert bool(said) is is_said


def test_a_judge_of_the_models_family_is_named_next_to_its_score(tmp_path: Path) -> None:
    model = facts_of([]).model
    grade = grade_of(grading_type=GradingType.LLM_JUDGE, score=0.5, judge=JudgeGrade(score=0.5, model=model))

    said = _said(tmp_path, [outcome_of()], [grade])

    assert f"{model} is of the same family as its judge {model}, which may favour it." in said
