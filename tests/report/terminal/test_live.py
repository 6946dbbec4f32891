"""What a person sees while a run goes on, and before it."""

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio import create_memory_object_stream, create_task_group, fail_after, sleep
from anyio.lowlevel import checkpoint
from rich.console import Console, ConsoleDimensions
from rich.live import Live

from pinchbench.events import (
    Event,
    Notice,
    OutputLine,
    RunBegan,
    TrialActivity,
    TrialBegan,
    TrialEnded,
    TrialGraded,
    TrialWaits,
)
from pinchbench.model.ending import Reason
from pinchbench.model.grade import Grade, Ungraded
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType, Task, Turn
from pinchbench.model.trial import Trial, TrialKey
from pinchbench.model.usage import Usage
from pinchbench.report.terminal.listings import print_plan
from pinchbench.report.terminal.live import LiveView, can_draw
from text_console import TextConsole

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
BEGAN = RunBegan(run_id="r", model="mock/m1", trials=2, slots=1, folder=Path("results/r"))
EVENTS: list[Event] = [
    BEGAN,
    TrialBegan(slot=1, key=KEY, timeout_s=60),
    TrialActivity(slot=1, key=KEY, text="exec ls\x1b[2J", usage=Usage(total_tokens=7)),
    TrialWaits(slot=1, key=KEY, text="429, retry 4 of 9", next_s=29.7),
    OutputLine(key=KEY, stream="stderr", text="careful\x07"),
    TrialEnded(outcome=OUTCOME),
    TrialGraded(grade=Grade(key=KEY, grading_type=GradingType.AUTOMATED, score=0.5)),
    TrialGraded(
        grade=Grade(
            key=KEY,
            grading_type=GradingType.AUTOMATED,
            ungraded=Ungraded.CHECK_RAISED,
            notes=("ValueError: \x1b[31mno",),
        )
    ),
    Notice(text="SIGINT: no new trials."),
]


async def _show(view: LiveView, events: Sequence[Event]) -> None:
    """Show these events, and end."""
    sender, receiver = create_memory_object_stream[Event](len(events))
    for event in events:
        sender.send_nowait(event)
    sender.close()
    with fail_after(60), receiver:
        await view.watch(receiver)


async def test_without_a_terminal_every_event_is_a_plain_line_with_its_time() -> None:
    console = TextConsole()
    await _show(LiveView(console), EVENTS)

    text = console.text
    assert "\x1b" not in text
    assert "\x07" not in text
    lines = text.splitlines()
    first_words = [line[10:].split()[0] for line in lines]
    assert " ".join(first_words) == "mock/m1: started waiting task_a provider_error graded ungraded SIGINT:"
    assert all(line[2] == line[5] == ":" for line in lines)
    assert lines[2].endswith("task_a: 429, retry 4 of 9, next in 30 s")


async def test_a_start_follows_the_end_before_it_in_its_slot_and_a_failed_call_promises_no_retry() -> None:
    other = TrialKey(task_id="task_b", repetition=1)
    console = TextConsole()
    told: list[Event] = [
        TrialBegan(slot=1, key=KEY, timeout_s=30),
        TrialWaits(slot=1, key=KEY, text="model call 1 429", next_s=0.0),
        TrialWaits(slot=1, key=KEY, text="429, retry 1 of 9", next_s=2.0),
        TrialBegan(slot=1, key=other, timeout_s=30),
        TrialEnded(outcome=Outcome(key=KEY, reason=Reason.COMPLETED, digest="d", slot=1)),
    ]
    await _show(LiveView(console), told)

    lines = [line[10:].strip() for line in console.text.splitlines()]
    assert [line.partition("  ")[0] for line in lines] == ["started", "call failed", "waiting", "completed", "started"]
    assert [line for line in lines if "next in" in line] == ["waiting  task_a: 429, retry 1 of 9, next in 2 s"]
    assert lines[-1] == "started  task_b"


@pytest.mark.parametrize("is_terminal", [False, True])
async def test_what_a_slow_reader_has_no_room_for_is_counted_and_the_count_is_shown(is_terminal: bool) -> None:
    shown: list[bool] = []
    console = TextConsole(force_terminal=is_terminal, color_system=None)

    def is_full() -> bool:
        shown.append(True)
        return len(shown) < 20

    view = LiveView(console, is_full=is_full)
    await _show(view, [Notice(text="one")] * 40)
    view.say_left_out()

    text = console.text
    [left_out] = re.findall(r"… (\d+) lines were not shown\n", text)
    assert text.count("  one") + int(left_out) == 40
    assert text.index("not shown") < text.index("  one")


async def test_a_reader_that_stays_slow_hears_of_what_it_missed_at_the_end() -> None:
    console = TextConsole()
    full = [True]
    view = LiveView(console, is_full=lambda: full[0])
    await _show(view, [Notice(text="one")])
    view.say_left_out()
    full[0] = False
    view.say_left_out()
    view.say_left_out()

    assert console.text == "… 1 lines were not shown\n"


async def test_on_a_terminal_what_is_drawn_goes_away_and_the_lines_stay() -> None:
    console = TextConsole(100, force_terminal=True, legacy_windows=False)
    await _show(LiveView(console), EVENTS)

    text = console.text
    assert "provider_error" in text
    assert "\x1b[2J" not in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def test_the_plan_shows_task_text_as_it_is_but_for_control_characters() -> None:
    console = TextConsole(force_terminal=True, color_system=None)
    turns = (Turn(prompt="Hi"),)
    task = Task(
        task_id="task_a", name="a", category="[/x]\x1b[2J", grading_type=GradingType.AUTOMATED, prompt="Hi", turns=turns
    )
    trial = Trial(key=KEY, task=task, timeout_s=1)

    print_plan(console, [trial], concurrency=1, worst_case_s=1)

    assert "[/x] [2J" in console.text
    assert "\x1b" not in console.text


@pytest.mark.parametrize(
    ("environ", "draws"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "CI": "", "NO_COLOR": ""}, True),
        ({"TERM": "xterm", "CI": "false"}, True),
        ({"TERM": "xterm", "CI": "true"}, False),
        ({"TERM": "xterm", "CI": "", "NO_COLOR": "1"}, True),  # which takes the colours alone
        ({"TERM": "dumb"}, False),
    ],
)
def test_lines_are_drawn_again_only_where_a_person_looks_and_a_terminal_can(
    environ: dict[str, str], draws: bool
) -> None:
    console = Console(file=_Screen(), _environ=environ, legacy_windows=False)

    assert can_draw(console, environ) is draws
    assert not can_draw(Console(file=io.StringIO(), force_terminal=True, _environ=environ), environ)


class _Screen(io.StringIO):
    """A file that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.virtual_clock
async def test_a_log_gets_the_totals_each_minute_in_which_something_goes_on() -> None:
    console = TextConsole()
    sender, receiver = create_memory_object_stream[Event](10)
    view = LiveView(console)

    def totals() -> list[str]:
        return [line.split(maxsplit=1)[1] for line in console.text.splitlines() if " so far " in line]

    with fail_after(10_000), receiver:
        async with create_task_group() as group:
            group.start_soon(view.watch, receiver)
            with sender:
                await sender.send(replace(BEGAN, slots=0))
                await sender.send(EVENTS[1])
                await sleep(59)
                assert totals() == []
                await sleep(2)
                assert len(totals()) == 1
                await sleep(60)
                assert len(totals()) == 2  # the slot is still at work
                await sender.send(TrialEnded(outcome=OUTCOME))
                await sleep(600)
                assert len(totals()) == 3  # and then nothing more

    assert totals()[-1].startswith("so far  1 of 2 done · 0 passed · 0 failed · 1 excluded (infrastructure)")


async def test_a_flood_of_lines_draws_the_rows_below_it_a_few_times_and_loses_none() -> None:
    console = TextConsole(height=30, force_terminal=True, color_system=None)
    events = [BEGAN, EVENTS[1], *(OutputLine(key=KEY, stream="stdout", text=f"line {n}.") for n in range(950))]
    await _show(LiveView(console), events)

    text = console.text
    assert re.findall(r"line (\d+)\.", text) == [str(n) for n in range(950)]
    assert text.count("0 of 1 done") + text.count("0 of 2 done") < 30


def _cells(shown: str, width: int, height: int) -> list[str]:
    """What stands on a terminal after this output: lines longer than its width go on in the next row."""
    rows, row, column = [[" "] * width for _ in range(height)], 0, 0

    def next_row() -> None:
        nonlocal row
        row += 1
        if row == height:
            rows.pop(0)
            rows.append([" "] * width)
            row -= 1

    for found in re.finditer(r"\x1b\[([?0-9;]*)([A-Za-z])|(.|\n)", shown):
        arguments, command, char = found.groups()
        if command == "A":
            row = max(0, row - int(arguments or 1))
        elif command == "K":
            rows[row] = [" "] * width
        elif command is not None:
            assert command in "mhl", found
        elif char == "\r":
            column = 0
        elif char == "\n":
            column = 0
            next_row()
        else:
            if column == width:
                column = 0
                next_row()
            rows[row][column] = char
            column += 1
    return ["".join(one).rstrip() for one in rows]


@pytest.mark.parametrize("width", [39, 41, 60, 79, 120])
async def test_a_terminal_that_is_made_narrower_or_wider_shows_each_row_once(width: int) -> None:
    console = TextConsole(80, height=30, force_terminal=True, color_system=None)
    view = LiveView(console)
    for n in range(1, 5):
        view._board.take(TrialBegan(slot=n, key=KEY, timeout_s=60), anyio.current_time())
        view._board.take(TrialActivity(slot=n, key=KEY, text="word " * 30, usage=Usage()), anyio.current_time())

    with Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False) as live:
        view._live = live
        view._redraw(live)
        # the terminal folds what stands there, as those that reflow do, and the cursor stays behind the last row
        folded = "\n".join(row.rstrip() for row in _cells(console.text, 80, 30) if row.strip())
        console.file.seek(0)
        console.file.truncate()
        console.file.write(folded)
        console.size = ConsoleDimensions(width, 30)
        view.say("a line")
        await checkpoint()

    shown = [row for row in _cells(console.text, width, 30) if row]
    assert [row[10:] for row in shown] == ["a line"]
