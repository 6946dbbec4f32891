"""What a person sees while a run goes on, and at its end."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from anyio import create_memory_object_stream, fail_after
from rich.console import Console

from pinchbench.model import (
    Event,
    Notice,
    Outcome,
    OutputLine,
    Reason,
    RunBegan,
    TrialActivity,
    TrialBegan,
    TrialEnded,
    TrialKey,
    Usage,
)
from pinchbench.report.live import LiveView
from pinchbench.report.summary import print_summary

KEY = TrialKey(task_id="task_a", repetition=1)
OUTCOME = Outcome(
    key=KEY,
    reason=Reason.PROVIDER_ERROR,
    digest="d",
    slot=1,
    evidence="trials/task_a/1",
    note="401 \x1b[31mno\x1b[0m",
    usage=Usage(requests=2, total_tokens=1500),
)
EVENTS: list[Event] = [
    RunBegan(run_id="r", model="mock/m1", trials=2, slots=1, folder=Path("results/r")),
    TrialBegan(slot=1, key=KEY, timeout_s=60),
    TrialActivity(slot=1, key=KEY, text="exec ls\x1b[2J", usage=Usage(total_tokens=7)),
    OutputLine(key=KEY, stream="stderr", text="careful\x07"),
    TrialEnded(outcome=OUTCOME),
    Notice(text="SIGINT: no new trials."),
]


async def _show(console: Console) -> str:
    sender, receiver = create_memory_object_stream[Event](len(EVENTS))
    for event in EVENTS:
        sender.send_nowait(event)
    sender.close()
    with fail_after(5), receiver:
        await LiveView(console).watch(receiver)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.anyio
async def test_without_a_terminal_every_event_is_a_plain_line_with_its_time() -> None:
    text = await _show(Console(file=io.StringIO(), width=160))

    assert "\x1b" not in text
    assert "\x07" not in text
    lines = text.splitlines()
    assert [line[10:].split()[0] for line in lines] == ["mock/m1:", "started", "task_a", "provider_error", "SIGINT:"]
    assert all(line[2] == line[5] == ":" for line in lines)


@pytest.mark.anyio
async def test_on_a_terminal_what_is_drawn_goes_away_and_the_lines_stay() -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=True, legacy_windows=False)

    text = await _show(console)

    assert "provider_error" in text
    assert "\x1b[2J" not in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def test_the_summary_names_what_says_nothing_about_the_model_and_where_to_look() -> None:
    console = Console(file=io.StringIO(), width=160)

    print_summary(console, [OUTCOME], planned=3, folder=Path("results/r"))

    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "1 of 3 trials" in text
    assert "task_a: provider_error (says nothing about the model; counted for nobody) 401" in text
    assert "results/r/trials/task_a/1" in text
    assert "\x1b" not in text
