"""Text of agents, judges and providers on a terminal: it can say anything, and do nothing."""

import re
import unicodedata
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import anyio
from anyio import create_memory_object_stream, fail_after
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console, Group

from fuzz.examples import examples_of
from fuzz.mutation import HOSTILE_TEXTS
from made_tasks import made_task
from past_runs import aggregate_of, facts_of
from pinchbench.events import (
    Event,
    Notice,
    OutputLine,
    RegradeBegan,
    RunBegan,
    TrialActivity,
    TrialBegan,
    TrialEnded,
    TrialGraded,
)
from pinchbench.model.ending import Reason
from pinchbench.model.grade import Grade, JudgeGrade, Ungraded
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType, Turn
from pinchbench.model.trial import Trial, TrialKey
from pinchbench.model.usage import Usage
from pinchbench.report.terminal.listings import print_plan
from pinchbench.report.terminal.live import LiveView
from pinchbench.report.terminal.summary import print_summary
from pinchbench.report.text import plain, plain_lines

# Unicode's Bidi_Control: all that reorders what is next to it
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
ATTACKS = (
    "\x1b[2J\x1b[31mred",
    "\x1b]52;c;cm0gLXJmIC8=\x07",
    "\x1b]0;title\x1b\\",
    "\x1b]8;;http://x\x1b\\link",
    "\x9b31m\x9d52;c;x\x9c",
    "\x08\x08\x7f\r\x0b\x0c\x00",
    "a\u202egnp.exe\u2066b\u061cc",
    "one\ntwo\r\nthree\u2028four\u2029five\x85six",
    "\ud800half",
    "[bold red]markup[/] [link=http://x]y[/link]",
    "\x1bP+q544e\x1b\\\x1b_Gx\x1b\\",
    "\x0e\x0f\x1b(0",
)
HOSTILE = st.one_of(
    st.sampled_from(ATTACKS),
    st.lists(st.sampled_from([*ATTACKS, *HOSTILE_TEXTS, *BIDI, "word", " "]), max_size=5).map("".join),
    st.text(max_size=20),
    st.text(st.characters(categories=["Cc", "Cf", "Cs", "Zl", "Zp"]), max_size=12),
)
# what rich itself writes to a terminal: colours, the cursor's ways, and to clear a line
OF_RICH = re.compile(r"\x1b\[(?:[0-9;]*m|\?25[lh]|[0-9]*[AGK])|\r")


def dangers(text: str, *, allowed: str = "") -> list[str]:
    """The characters of a text that a terminal would obey, or can't be given."""
    bad = ("Cc", "Cs", "Zl", "Zp")
    return [char for char in text if char not in allowed and (unicodedata.category(char) in bad or char in BIDI)]


@given(text=HOSTILE, width=st.integers(0, 12))
@examples_of("plain")
def test_plain_text_is_one_line_that_a_terminal_only_shows(text: str, width: int) -> None:
    line = plain(text, width=width)
    assert dangers(line) == []
    assert line == line.strip()
    assert not width or len(line) <= width
    assert plain(line, width=width) == line
    assert not text.isascii() or not text.isprintable() or width or line == text.strip()
    lines = plain_lines(text)
    assert dangers(lines, allowed="\n\t") == []
    assert lines.count("\n") == text.count("\n")
    assert plain_lines(lines) == lines


def events(said: str, key: TrialKey) -> list[Event]:
    usage = Usage(requests=1, total_tokens=1500, cost_usd=0.5)
    outcome = Outcome(key=key, reason=Reason.PROVIDER_ERROR, digest="d", slot=1, evidence=said, note=said, usage=usage)
    judge = JudgeGrade(score=0.5, model=said, votes=(0.5,), calls=1)
    return [
        RunBegan(run_id="r", model=said, trials=2, slots=1, folder=Path("results")),
        TrialBegan(slot=1, key=key, timeout_s=60),
        TrialActivity(slot=1, key=key, text=said, usage=usage),
        OutputLine(key=key, stream="stdout", text=said),
        Notice(text=said),
        TrialEnded(outcome=outcome),
        TrialGraded(grade=Grade(key=key, grading_type=GradingType.LLM_JUDGE, score=0.5, judge=judge, notes=(said,))),
        TrialGraded(
            grade=Grade(key=key, grading_type=GradingType.AUTOMATED, ungraded=Ungraded.CHECK_RAISED, notes=(said,))
        ),
        RegradeBegan(run=said, trials=1),
    ]


def on_terminal(draw: Callable[[Console], None]) -> str:
    console = Console(file=StringIO(), width=100, force_terminal=True, color_system="standard", legacy_windows=False)
    draw(console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def live(said: str, key: TrialKey) -> str:
    async def show(console: Console) -> None:
        told = events(said, key)
        sender, receiver = create_memory_object_stream[Event](len(told))
        for event in told:
            sender.send_nowait(event)
        sender.close()
        with fail_after(60), receiver:
            view = LiveView(console)
            await view.watch(receiver)
            # what stands there between two events
            view._take(told[1])
            view._take(told[2])
            console.print(Group(*view._rows()))

    return on_terminal(lambda console: anyio.run(show, console))


def summary(said: str, key: TrialKey) -> str:
    outcomes = [one.outcome for one in events(said, key) if isinstance(one, TrialEnded)]
    good = Outcome(key=TrialKey(task_id=key.task_id, repetition=2), reason=Reason.COMPLETED, digest="d", note=said)
    ungraded = Outcome(
        key=TrialKey(task_id=key.task_id, repetition=3), reason=Reason.COMPLETED, digest="d", evidence=said
    )
    outcomes += [good, ungraded]
    judge = JudgeGrade(score=0.5, model=said, votes=(0.5,), calls=1)
    grades = {
        good.key: Grade(key=good.key, grading_type=GradingType.LLM_JUDGE, score=0.5, judge=judge, notes=(said,)),
        ungraded.key: Grade(
            key=ungraded.key, grading_type=GradingType.AUTOMATED, ungraded=Ungraded.CHECK_DIED, notes=(said,)
        ),
    }
    other = TrialKey(task_id="task_z", repetition=1)
    plan = [*(one.key for one in outcomes), other]
    facts = facts_of(plan, model=said, categories={key.task_id: said, "task_z": "writing"})
    data = aggregate_of(outcomes, facts, grades.values(), stopped=said)
    task = made_task(task_id=key.task_id, name=said, category=said, prompt=said, turns=(Turn(prompt=said),))

    def draw(console: Console) -> None:
        print_summary(console, data, outcomes, grades, folder=Path("results", "r"))
        print_plan(console, [Trial(key=key, task=task, timeout_s=60)], concurrency=1, worst_case_s=60)

    return on_terminal(draw)


@given(HOSTILE)
@examples_of("live")
def test_hostile_text_never_reaches_a_terminal_raw(said: str) -> None:
    key = TrialKey(task_id="task_a", repetition=1)
    for report in (live, summary):
        harmless = set(OF_RICH.findall(report("word", key)))
        text = report(said, key)
        assert set(OF_RICH.findall(text)) <= harmless
        assert dangers(OF_RICH.sub("", text), allowed="\n") == []


@given(HOSTILE)
@example(ATTACKS[0])
@examples_of("task ids")
def test_a_hostile_task_id_never_reaches_a_terminal_raw(said: str) -> None:
    key = TrialKey(task_id=f"task_{said}", repetition=1)
    for report in (live, summary):
        assert dangers(OF_RICH.sub("", report("word", key)), allowed="\n") == []
