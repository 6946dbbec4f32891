"""Two trials of a task side by side."""

from datetime import date
from pathlib import Path

import pytest

from past_runs import Made, PlannedRun, write_run
from pinchbench.report.html.side_by_side import (
    DifferingPart,
    FirstDifference,
    Step,
    embedded_pairs,
    first_difference,
    steps_of,
)
from pinchbench.results.finished_run import PastRun, read_run
from pinchbench.transcripts import Message, Role, ToolCall
from pinchbench.wire.normalise import Normaliser

ASKED = Step(role=Role.USER, text="Write it.")
LISTED = Step(role=Role.ASSISTANT, text="I look.", calls=(("exec", '{"command":"ls"}'),))
DONE = Step(role=Role.ASSISTANT, text="Done.")


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ([ASKED, LISTED, DONE], None),
        ([ASKED, LISTED], FirstDifference(at=2, part=DifferingPart.END)),
        ([ASKED, LISTED, ASKED], FirstDifference(at=2, part=DifferingPart.SPEAKER)),
        ([ASKED, DONE], FirstDifference(at=1, part=DifferingPart.TEXT)),
        ([ASKED, Step(role=Role.ASSISTANT, text="I look.")], FirstDifference(at=1, part=DifferingPart.CALL)),
        ([], FirstDifference(at=0, part=DifferingPart.END)),
    ],
)
def test_the_first_difference_is_in_who_speaks_the_text_or_the_calls(
    other: list[Step], found: FirstDifference | None
) -> None:
    assert first_difference([ASKED, LISTED, DONE], other) == found
    assert first_difference(other, [ASKED, LISTED, DONE]) == found


def test_times_ids_places_and_answers_of_tools_make_no_difference() -> None:
    def steps(workspace: str, run: str, at: str) -> list[Step]:
        call = ToolCall(id=run, name="exec", arguments={"command": f"ls {workspace}/a.md", "timeout": 5})
        normaliser = Normaliser(places={workspace: "<workspace>", run: "<run>"}, today=date(2026, 1, 2))
        messages = [
            Message(role=Role.USER, text=f"[Fri {at} UTC] Work in\n {workspace}."),
            Message(role=Role.ASSISTANT, text=f"That is run {run}.", calls=(call,)),
            Message(role=Role.TOOL, text=f"at {at}", call_id=run),
            Message(role=Role.TOOL, text="an answer to no call", call_id=run),
        ]
        return list(steps_of(messages, normaliser))

    one = steps("/tmp/one/task", "20260102-030000-0001", "2026-01-02 03:00")

    assert one == steps("/tmp/two/task", "20260102-040000-0002", "2026-01-02 04:10")
    assert [step.role for step in one] == [Role.USER, Role.ASSISTANT, Role.TOOL]


def _run(folder: Path, number: int, **trials: tuple[Made, ...]) -> PastRun:
    run = PlannedRun(trials=trials, run_id=f"20260102-030000-000{number}", model=f"mock/m{number}")
    return read_run(write_run(folder, run))


def test_the_first_repetition_of_every_task_comes_before_the_second_of_any(tmp_path: Path) -> None:
    trials = {"task_a": (Made(), Made()), "task_b": (Made(), Made())}
    variants = [("one", _run(tmp_path, 1, **trials)), ("two", _run(tmp_path, 2, **trials))]
    whole = embedded_pairs(variants, ["task_b", "task_a"])
    part = embedded_pairs(variants, ["task_b", "task_a"], total_bytes=len(whole.trials["one/task_b"]) * 3)
    one = embedded_pairs(variants, ["task_b", "task_a"], total_bytes=1)

    assert list(whole.pairs) == ["two/task_b", "two/task_a", "two/task_b@2", "two/task_a@2"]
    assert list(part.pairs) == ["two/task_b", "two/task_a"]
    assert part.left_out == ()
    assert list(one.pairs) == ["two/task_b"]
    assert one.left_out == ("task_a",)
    assert one.first == {("two", "task_b"): "two/task_b"}
