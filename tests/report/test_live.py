"""What a person sees while a run goes on, and at its end."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from anyio import create_memory_object_stream, fail_after
from rich.console import Console

from pinchbench.model import (
    Event,
    GradingType,
    Notice,
    Outcome,
    OutputLine,
    Reason,
    RunBegan,
    Task,
    Trial,
    TrialActivity,
    TrialBegan,
    TrialEnded,
    TrialKey,
    Turn,
    Usage,
)
from pinchbench.report.live import LiveView
from pinchbench.report.summary import print_plan, print_summary

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
@pytest.mark.parametrize("is_terminal", [False, True])
async def test_what_a_slow_reader_has_no_room_for_is_counted_and_the_count_is_shown(is_terminal: bool) -> None:
    shown: list[bool] = []
    console = Console(file=io.StringIO(), width=160, force_terminal=is_terminal, color_system=None)

    def is_full() -> bool:
        shown.append(True)
        return len(shown) < 20

    sender, receiver = create_memory_object_stream[Event](40)
    for _ in range(40):
        sender.send_nowait(Notice(text="one"))
    sender.close()
    view = LiveView(console, is_full=is_full)
    with fail_after(5), receiver:
        await view.watch(receiver)
    view.say_left_out()

    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    [left_out] = re.findall(r"… (\d+) lines were not shown\n", text)
    assert text.count("  one") + int(left_out) == 40
    assert text.index("not shown") < text.index("  one")


@pytest.mark.anyio
async def test_a_reader_that_stays_slow_hears_of_what_it_missed_at_the_end() -> None:
    console = Console(file=io.StringIO(), width=160)
    full = [True]
    view = LiveView(console, is_full=lambda: full[0])
    sender, receiver = create_memory_object_stream[Event](1)
    sender.send_nowait(Notice(text="one"))
    sender.close()
    with fail_after(5), receiver:
        await view.watch(receiver)
    view.say_left_out()
    full[0] = False
    view.say_left_out()
    view.say_left_out()

    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "… 1 lines were not shown\n"


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


def test_the_plan_shows_task_text_as_it_is_but_for_control_characters() -> None:
    console = Console(file=io.StringIO(), width=160, force_terminal=True, color_system=None)
    turns = (Turn(prompt="Hi"),)
    task = Task(
        task_id="task_a", name="a", category="[/x]\x1b[2J", grading_type=GradingType.AUTOMATED, prompt="Hi", turns=turns
    )
    trial = Trial(key=KEY, task=task, timeout_s=1)

    print_plan(console, [trial], concurrency=1, worst_case_s=1)

    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "[/x] [2J" in text
    assert "\x1b" not in text
