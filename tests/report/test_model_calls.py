"""What is said of the calls of the model: only what OpenClaw hides, and where the time went."""

from pathlib import Path

import pytest

from past_runs import Made, PlannedRun, write_run
from pinchbench.model.facts import WireFacts
from pinchbench.model.usage import Usage
from pinchbench.report.model_calls import model_calls_sentence, model_time_text
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
