"""What a person sees while an experiment goes on."""

import io
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from anyio import create_memory_object_stream, create_task_group, sleep
from rich.console import Console

from past_runs import grade_of, outcome_of
from pinchbench.events import Event, GradedBefore, RunBegan, TrialBegan, TrialEnded, TrialGraded
from pinchbench.model.ending import Reason
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.report.terminal.experiment_table import LEGEND, ExperimentView

TASKS = 8
SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")  # of a terminal


def _events(
    scores: Sequence[float], *, lost: int = 0, before: Mapping[str, tuple[float, ...]] | None = None
) -> list[Event]:
    """A run whose tasks get these scores, of which the first `lost` trials fail for an infrastructure reason."""
    earlier = GradedBefore(scores=before or {}, passed=len(before or {}))
    began = RunBegan(run_id="r", model="m/m", trials=20, slots=2, folder=Path("r"), earlier=earlier)
    events: list[Event] = [began]
    for number, score in enumerate(scores):
        key = TrialKey(task_id=f"task_{number}", repetition=1)
        reason = Reason.PROVIDER_ERROR if number < lost else Reason.COMPLETED
        usage = Usage(requests=1, total_tokens=1000, cost_usd=0.01)
        outcome = outcome_of(key, reason, slot=1, evidence="trials/t/1", usage=usage)
        events += [TrialBegan(slot=1, key=key, timeout_s=60), TrialEnded(outcome=outcome)]
        if reason is Reason.COMPLETED:
            events.append(TrialGraded(grade=grade_of(key, score)))
    return [*events, TrialBegan(slot=2, key=TrialKey(task_id="task_9", repetition=1), timeout_s=60)]


class Screen(io.StringIO):
    """A terminal or a pipe that keeps each write by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []

    def write(self, text: str) -> int:
        self.writes.append(text)
        return super().write(text)


async def _shown(
    runs: Mapping[str, list[Event]], *, width: int = 160, seconds: int = 61, is_terminal: bool = False
) -> Screen:
    """What is written of these runs in so many seconds."""
    screen = Screen()
    console = Console(file=screen, width=width, height=24, force_terminal=is_terminal, color_system=None)
    view = ExperimentView(console, list(runs), draws=is_terminal, is_full=lambda: False)
    with ExitStack() as streams:
        async with create_task_group() as group:
            group.start_soon(view.draw)
            for name, events in runs.items():
                sender, receiver = create_memory_object_stream[Event](len(events))
                streams.enter_context(sender)
                streams.enter_context(receiver)
                for event in events:
                    sender.send_nowait(event)
                group.start_soon(view.observe(name), receiver)
            await sleep(seconds)
            group.cancel_scope.cancel()
    return screen


def _rows(screen: Screen) -> list[str]:
    """The lines without those of single events, which begin with a time of day."""
    return [line for line in screen.getvalue().splitlines() if line[2:3] != ":"]


def _fields(line: str) -> list[str]:
    return re.split(r"\s{2,}", line)


@pytest.mark.virtual_clock
async def test_a_pipe_gets_the_variants_side_by_side_once_a_minute_while_they_change() -> None:
    runs = {
        "low": _events([0.2, 0.3] * (TASKS // 2)),
        "high": _events([0.9, 0.8] * (TASKS // 2), lost=1),
        "same": _events([0.3, 0.2] * (TASKS // 2)),
        "none": _events([]),
    }
    screen = await _shown(runs, seconds=5 * 60)
    head, low, high, same, none, legend = _rows(screen)

    assert _fields(head) == [
        "variant", "done", "score (95%)", "difference (95%)", "excl.", "cost", "running", "tokens",
    ]  # fmt: skip
    assert re.fullmatch(r"low +8/20 +0\.25 \(0\.\d\d, 0\.\d\d\) +baseline +0 +\$0\.0800 +1 +8\.0k", low)
    assert re.fullmatch(
        r"high +8/20 +0\.84 \(0\.\d\d, 0\.\d\d\) +\+0\.5\d \(\+0\.\d\d, \+0\.\d\d\) +1 +\$0\.0800 +1 +8\.0k", high
    )
    assert re.search(r" \? \+0\.00 \(−0\.\d\d, \+0\.\d\d\) ", same)
    assert none.split() == ["none", "0/20", "–", "–", "0", "$0.0000", "1", "0"]
    assert legend == LEGEND
    assert "\x1b" not in screen.getvalue()


@pytest.mark.virtual_clock
@pytest.mark.parametrize("is_terminal", [False, True])
async def test_a_row_fits_into_80_columns_with_everything_that_matters(is_terminal: bool) -> None:
    runs = {
        "a-variant-with-a-long-name": _events([0.2, 0.3] * (TASKS // 2)),
        "another-variant-with-one": _events([0.3, 0.2] * (TASKS // 2)),
    }
    lines = [SEQUENCE.sub("", line) for line in _rows(await _shown(runs, width=80, is_terminal=is_terminal))]
    head = max(place for place, line in enumerate(lines) if line.startswith("variant"))
    table = [line.strip() for line in lines[head : head + 5]]

    assert max(map(len, table)) <= 80
    assert _fields(table[0]) == ["variant", "done", "score (95%)", "difference (95%)", "excl.", "cost"]
    assert table[1].startswith("a-variant-w")
    assert "? +0.00 (−0." in table[2]
    assert table[3:] == ["no room for: running, tokens", LEGEND]


@pytest.mark.virtual_clock
async def test_a_terminal_is_redrawn_in_one_write_and_only_if_something_changed() -> None:
    runs = {"low": _events([0.2, 0.3]), "high": _events([0.9, 0.8])}
    short, long = [await _shown(runs, seconds=seconds, is_terminal=True) for seconds in (2, 600)]

    assert len(short.writes) == len(long.writes)
    drawn = [text for text in long.writes if "high" in text and "variant" in text]
    assert drawn
    assert all(text.count("variant") == 1 for text in drawn)
    assert SEQUENCE.sub("", long.writes[-1]).strip() == ""
    assert long.getvalue().count("\x1b[?25l") == long.getvalue().count("\x1b[?25h") == 1
