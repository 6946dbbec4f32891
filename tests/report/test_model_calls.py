"""Sentences about the calls of a model: what OpenClaw hides, where the time went, and what the cost consists of."""

from dataclasses import replace
from pathlib import Path

import pytest

from past_runs import Made, PlannedRun, write_run
from pinchbench.model.facts import PrefixBreak, PrefixCause, PromptFacts, WireFacts
from pinchbench.model.usage import Usage
from pinchbench.report.model_calls import cost_reasons, model_calls_sentence, model_time_text, reason_texts, why_dearer
from pinchbench.results.compare.samples import Sample, find_sides
from pinchbench.results.finished_run import read_run
from pinchbench.results.result_json import Aggregate

USAGE = Usage(requests=2, input_tokens=4_500, output_tokens=500, total_tokens=5_000)  # as `Made` has it


def _data(folder: Path, *facts: WireFacts | None) -> Aggregate:
    trials = {f"task_{number}": (Made(wire=one),) for number, one in enumerate(facts)}
    return read_run(write_run(folder, PlannedRun(trials=trials))).data


@pytest.mark.parametrize("model", ["m1-mini", "m1-5", "m2"])
def test_another_model_that_answered_is_named(tmp_path: Path, model: str) -> None:
    data = _data(tmp_path, WireFacts(calls=2, usage=USAGE, models=("m1", model)))

    assert model_calls_sentence(data) == f"2 model calls: models that answered instead of mock/m1: {model} (1 trial)."


def test_calls_that_failed_are_counted_by_their_status(tmp_path: Path) -> None:
    one = WireFacts(calls=5, failed=(429, 0, 429), wire_retries=(503,), usage=USAGE)
    data = _data(tmp_path, one, WireFacts(calls=2, failed=(200,), usage=USAGE), WireFacts(calls=1, usage=USAGE))

    assert model_calls_sentence(data) == (
        "8 model calls: 4 failed in 2 trials (2 × 429, no reply, incomplete reply); the wire retried 1 (503)."
    )


def test_usage_that_differs_is_shown_from_both_sides_unless_a_reply_did_not_report_it(tmp_path: Path) -> None:
    more = Usage(requests=3, input_tokens=6_000, output_tokens=1_000, total_tokens=7_000)
    differing = WireFacts(calls=3, usage=more)
    unknown = WireFacts(calls=3, usage=Usage(), unreported=1)
    data = _data(tmp_path, differing, unknown, WireFacts(calls=2, usage=USAGE))

    assert model_calls_sentence(data) == "8 model calls: in 1 trial OpenClaw counts 5.0k tokens and the provider 7.0k."


def test_the_time_is_added_up_and_the_queue_named_where_there_was_one(tmp_path: Path) -> None:
    quick = WireFacts(calls=1, model_s=30.0, between_s=5.0)
    between = "between its replies (tools and OpenClaw)"

    assert model_time_text(_data(tmp_path / "a", quick, None)) == f"30.0 s in the model, 5.0 s {between}"
    held = WireFacts(calls=1, model_s=60.0, between_s=5.0, queued_s=4.0)
    begun = WireFacts(calls=1, model_s=1.0, start_s=7.0)
    assert model_time_text(_data(tmp_path / "d", begun)).startswith("7.0 s in OpenClaw's start, 1.0 s in the model")
    told = f"1 min 30 s in the model, 10.0 s {between}, 4.0 s in the queue of the wire"
    assert model_time_text(_data(tmp_path / "b", quick, held)) == told
    assert model_time_text(_data(tmp_path / "c", None)) == ""


THIRD = PrefixBreak(call=3, in_turn=3, cause=PrefixCause.TIME, where="Time", at=40, again=600)


def _wire(*breaks: PrefixBreak, tools: int = 400, cached: int = 500, prompt: int = 1000, output: int = 10) -> WireFacts:
    prompts = PromptFacts(
        tools=tools,
        system=300,
        history=200,
        results=100,
        breaks=breaks,
        broken=len(breaks),
        again=sum(one.again for one in breaks),
    )
    usage = Usage(
        requests=4,
        input_tokens=prompt - cached,
        cache_read_tokens=cached,
        output_tokens=output,
        total_tokens=prompt + output,
    )
    return WireFacts(calls=4, failed=(429,), usage=usage, models=("m1",), prompts=prompts)


def test_a_run_has_a_text_for_each_question_over_its_recorded_trials() -> None:
    trials = [(Usage(), wire) for wire in (_wire(THIRD), _wire(THIRD), _wire(), WireFacts(calls=9), None)]
    found = cost_reasons(trials)
    assert found is not None
    assert reason_texts(found) == {
        "trials": "3",
        "calls per trial": "4.0",
        "prompts from the cache": "50%",
        "calls with a changed beginning": "2 of 12 calls, mostly at call 3 of a turn (a time stamp 2)",
        "read again for that": "1.2k tokens (40% of the prompts)",
        "prompts consist of": "tools 40%, system prompt 30%, history 20%, results of tools 10%",
        "failed calls": "3 (3 × 429)",
        "answered by": "m1",
    }


def test_what_automations_used_while_nobody_asked_is_stated() -> None:
    found = cost_reasons([(Usage(), replace(_wire(prompt=900, output=100), unasked_tokens=250))])
    assert found is not None
    assert reason_texts(found)["used by automations without a request"] == "250 tokens (25% of all)"


def test_trials_of_earlier_releases_have_no_reasons() -> None:
    assert cost_reasons([(Usage(), WireFacts(calls=9)), (Usage(), None)]) is None


@pytest.mark.parametrize(
    ("dear", "cost", "because"),
    [
        (
            _wire(THIRD, cached=0),
            2.0,
            "costs more per trial than mock/a (2.0 times) because its cache breaks at call 3 of a turn: a time stamp",
        ),
        (
            _wire(prompt=2000, tools=2400),
            2.0,
            "costs more per trial than mock/a (2.0 times) because its prompts have 1.2k more tokens of tools per trial",
        ),
        (
            _wire(output=900),
            0.0,
            "uses more tokens per trial than mock/a (1.9 times) because it writes 890 more tokens per trial in",
        ),
        (_wire(), 2.0, "costs more per trial than mock/a (2.0 times) because its tokens cost 2.0 times as much."),
        (
            _wire(cached=0, output=212),
            6.0,
            "costs more per trial than mock/a (6.0 times) because its tokens cost 5.0 times as much (0% of its prompts",
        ),
    ],
    ids=("cache", "tools", "output", "prices", "prices-and-tokens"),
)
def test_the_dearer_of_two_is_named_with_what_makes_it_so(
    tmp_path: Path, dear: WireFacts, cost: float, because: str
) -> None:
    assert why_dearer(_sides(tmp_path, dear, cost)).startswith(f"mock/b {because}")


def test_models_that_cost_about_the_same_need_no_reason(tmp_path: Path) -> None:
    assert why_dearer(_sides(tmp_path, _wire(), 1.05)) == ""


def test_servers_that_count_no_tokens_give_no_reason(tmp_path: Path) -> None:
    assert why_dearer(_sides(tmp_path, _wire(cached=0, prompt=0, output=0), 5.0)) == ""


def _sides(folder: Path, dear: WireFacts, cost: float) -> tuple[Sample, ...]:
    """Return mock/a, whose trial costs a dollar, and mock/b; if that has no price, neither has one."""
    for number, (model, wire, usd) in enumerate((("a", _wire(), 1.0), ("b", dear, cost))):
        made = Made(wire=wire, cost_usd=usd if cost else 0.0)
        run_id = f"20260102-03000{number}-000a"
        write_run(folder, PlannedRun(trials={"task_a": (made,)}, model=f"mock/{model}", run_id=run_id))
    return find_sides(["mock/a", "mock/b"], folder)
