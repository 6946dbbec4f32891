"""A run as its page shows it: the terminal's numbers, at each event, while real processes work on it."""

import fcntl
import re
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from anyio import fail_after, to_thread
from anyio.streams.memory import MemoryObjectReceiveStream
from starlette.datastructures import QueryParams

from fakes import fake_openclaw, make_suite, run_config
from past_runs import BEGAN, Made, PlannedRun, random_trials, write_run
from pinchbench.events import Event, TrialBegan, TrialEnded, TrialGraded
from pinchbench.model.ending import Reason
from pinchbench.model.facts import WireFacts
from pinchbench.model.grade import Ungraded
from pinchbench.model.trial import TrialKey
from pinchbench.report.html.task_rows import Stage, task_rows
from pinchbench.report.terminal.run_progress import RunProgress
from pinchbench.report.terminal.screen import totals_parts
from pinchbench.results.finished_run import read_run
from pinchbench.results.journal import tail
from pinchbench.results.journal.journal import JournalWriter
from pinchbench.results.manifest import read_facts
from pinchbench.results.paths import RunFiles, write_json
from pinchbench.results.records import GradeGiven, TrialFinished, TrialsSkipped, TrialStarted, decode
from pinchbench.results.run_list import run_entry
from pinchbench.runner.run_benchmark import run_benchmark
from pinchbench.serve import live_run
from pinchbench.serve.live_run import SHOWN_S, LiveRun
from pinchbench.serve.pages import run_page
from pinchbench.serve.run_catalogue import Catalogue

pytestmark = pytest.mark.usefixtures("checks_in_process")

RUN_LIMIT_S = 240
TASKS = {
    "task_good": ("Do something.", "return {'made': 1.0}"),
    "task_half": ("Do something.", "return {'made': 1.0, 'right': 0.0}"),
    "task_unlucky": ("scenario: exit 3", "return {'made': 0.1}"),
    "task_gone": ("scenario: no_session", "return {'made': 1.0}"),
    "task_broken_check": ("Do something.", "return {'score': 85}"),
}


def _numbers(progress: RunProgress) -> list[str]:
    """What the terminal shows in its last rows, without the time, which no two clocks read alike."""
    assert progress.began is not None
    return [
        part for part in totals_parts(progress, progress.began) if not part.startswith(("about ", "time left", "0.0 s"))
    ]


async def test_the_page_has_the_terminal_s_numbers_at_each_event_of_a_run_with_failures(tmp_path: Path) -> None:
    config = run_config(tmp_path, fake_openclaw(tmp_path), {})
    for task_id, (prompt, check) in TASKS.items():
        make_suite(tmp_path, {task_id: prompt}, check=check)
    config = replace(config, runs=2, concurrency=2, infra_retries=1, fail_fast=False)
    terminal, terminal_states = RunProgress(), []
    page_states: list[list[str]] = []
    pages: list[LiveRun] = []

    async def watch(events: MemoryObjectReceiveStream[Event]) -> None:
        async for event in events:
            if not isinstance(event, TrialBegan | TrialEnded | TrialGraded) and terminal.began is not None:
                continue  # what agents do just now, no file tells
            terminal.take(event, 0.0)
            if terminal.began is None:
                continue
            terminal_states.append(_numbers(terminal))
            if not pages:
                [files] = (config.output_dir / path.name for path in config.output_dir.iterdir() if path.is_dir())
                pages.append(LiveRun(RunFiles(output_dir=files.parent, name=files.name)))
            await to_thread.run_sync(pages[0].read)
            page_states.append(_numbers(pages[0].progress))

    with fail_after(RUN_LIMIT_S):
        result = await run_benchmark(config, observer=watch)
    [page] = pages
    page.read()
    one_by_one = LiveRun(page.files)
    replayed = []
    for event in one_by_one._followed.read():
        one_by_one.take(event)
        replayed.append(_numbers(one_by_one.progress))

    assert len(terminal_states) > 30
    assert {tuple(state) for state in page_states} <= {tuple(state) for state in replayed}
    assert [state for state in replayed if state in terminal_states] == replayed
    assert replayed[-1] == terminal_states[-1] == _numbers(page.progress)
    assert any("being graded" in part for state in terminal_states for part in state)
    assert "2 excluded (infrastructure)" in replayed[-1]
    assert "2 ungraded" in replayed[-1]
    assert "2 retried" in replayed[-1]
    assert page.score_so_far == result.data.score
    assert not page.is_running
    assert page.snapshot()["state"] == "unfinished", "two are ungraded"


@pytest.mark.parametrize(("beyond", "state"), [(0, "complete"), (1, "unfinished")])
def test_a_run_that_does_not_go_on_is_complete_or_unfinished(tmp_path: Path, beyond: int, state: str) -> None:
    run = LiveRun(write_run(tmp_path, PlannedRun(trials={"task_a": (Made(score=1.0),)}, planned_beyond=beyond)))
    run.read()
    assert run.snapshot()["state"] == state


SEALS = re.compile(rb',"seq":[0-9]+,"chain":"[0-9a-f]+"')
LATER_FIELDS = re.compile(rb',"(?:files|wire|replay|sandbox|load|services|node)":(?:null|\[\]|"")')


@pytest.mark.parametrize("kind", ["finished", "killed", "running", "of an older release"])
def test_a_page_has_the_report_s_rows_and_the_same_bytes_whether_its_run_was_read_at_once_or_as_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    clock = SimpleNamespace(time=lambda: BEGAN + 86_400, monotonic=lambda: 1_000_000.0)
    monkeypatch.setattr(live_run, "time", clock)
    monkeypatch.setattr(tail, "time", clock)
    gone = Made(score=None, reason=Reason.GATEWAY_LOST, retried=(Reason.GATEWAY_LOST,), note="It is gone.")
    trials = {**random_trials(tasks=8, repetitions=3, trouble=0.4), "task_gone": (gone,)}
    files = write_run(tmp_path, PlannedRun(trials=trials, planned_beyond=1, slots=3))
    journal = files.journal.read_bytes()
    if kind == "of an older release":
        journal = LATER_FIELDS.sub(b"", SEALS.sub(b"", journal))
    lines = journal.splitlines(keepends=True)
    if kind in ("killed", "running"):
        lines = [*lines[: len(lines) * 2 // 3], b'{"type":"outc']
    pages = []
    with ExitStack() as stack:
        files.journal.write_bytes(b"".join(lines))
        if kind == "running":
            lock = stack.enter_context(files.journal.open("rb+"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        whole = LiveRun(files)
        whole.read()
        whole.trials()
        growing = LiveRun(files)
        written = b"".join(lines)
        with files.journal.open("rb+") as file:
            file.truncate(0)
            for line in lines:
                file.write(line)
                file.flush()
                growing.read()
                growing.trials()
                growing.snapshot()
        assert files.journal.read_bytes() == written
        for run in (whole, growing):
            run.version, run.snapshot_at = 0, -SHOWN_S  # how often it was read is told too
            run._shown = {}
            asked = QueryParams("sort=-score&search=task&state=excluded")
            monkeypatch.setattr(Catalogue, "follow", lambda *_, run=run, **_more: nullcontext(run))
            pages.append(
                [
                    run_page(Catalogue(tmp_path), files.name, query).body
                    for query in (QueryParams(), QueryParams("sort=note"), asked)
                ]
            )

    assert pages[0] == pages[1]
    assert whole.is_running == (kind == "running")
    past = read_run(files)
    assert [one.row for one in growing.trials()] == [one.row for one in whole.trials()]
    report = {row.name: row for task in task_rows(past, "") for row in task.trials}
    for row in (one.row for one in whole.trials()):
        own = replace(row, href="")
        assert own == replace(report[row.name], href="") or (kind == "running" and row.state is not Stage.PASSED)
    assert whole.score_so_far == growing.score_so_far == past.data.score
    assert whole.caused_by_agent == growing.caused_by_agent == past.caused_by_agent
    if kind == "finished":
        assert past.caused_by_agent == {TrialKey(task_id="task_gone", repetition=1)}
        assert growing.row(TrialKey(task_id="task_gone", repetition=1)).href.endswith("/trial/task_gone")
    assert f">{past.data.score.mean:.3f}</p>".encode() in pages[0][0]


def test_while_a_run_goes_on_each_trial_is_in_one_of_eight_states_and_no_waiting_one_counts_as_excluded(
    tmp_path: Path,
) -> None:
    trials = {
        "task_again": (Made(retried=(Reason.PROVIDER_ERROR,)),),
        "task_waiting": (),
        "task_skipped": (),
        "task_grading": (Made(score=None),),
        "task_passed": (Made(),),
        "task_failed": (Made(score=0.25),),
        "task_ungraded": (Made(score=None, ungraded=Ungraded.CHECK_DIED),),
        "task_excluded": (Made(score=None, reason=Reason.NO_TRANSCRIPT),),
        "task_stopped": (Made(score=None, reason=Reason.INTERRUPTED),),
        "task_running": (Made(),),
    }
    files = write_run(tmp_path, PlannedRun(trials=trials, planned_beyond=0, has_ended=False))
    facts = read_facts(files.provenance)
    plan = [*facts.plan, ("task_waiting", 1), ("task_skipped", 1)]
    write_json(files.provenance, msgspec.structs.replace(facts, plan=plan))
    records = [decode(line) for line in files.journal.read_bytes().splitlines()]
    kept = [
        one
        for one in records
        if not (isinstance(one, TrialFinished | GradeGiven) and "task_running" in msgspec.json.encode(one).decode())
        and not (isinstance(one, TrialFinished) and one.outcome.key.task_id == "task_again" and not one.retried)
        and not (isinstance(one, TrialStarted) and one.key.task_id == "task_again" and one.attempt == 2)
    ]
    files.journal.unlink()
    skipped = TrialsSkipped(at=BEGAN, keys=(TrialKey(task_id="task_skipped", repetition=1),))
    with JournalWriter(files.journal) as journal:
        journal.append([*kept, skipped])
        run = LiveRun(files)
        run.read()
        states = {one.key.task_id: (one.row.state.value, one.row.reason) for one in run.trials()}
        entry = run_entry(files)
    afterwards = LiveRun(files)
    afterwards.read()

    assert states == {
        "task_running": ("running", ""),
        "task_again": ("waiting", "again, after provider error"),
        "task_waiting": ("waiting", ""),
        "task_skipped": ("excluded", "skipped by the user"),
        "task_grading": ("grading", ""),
        "task_passed": ("passed", ""),
        "task_failed": ("failed", ""),
        "task_ungraded": ("ungraded", "check crashed"),
        "task_excluded": ("excluded", "no transcript"),
        "task_stopped": ("stopped", "interrupted"),
    }
    assert (entry.excluded, entry.pending) == (4, 4)
    own = {one.key.task_id: one.row.state.value for one in afterwards.trials()}
    assert [own[f"task_{name}"] for name in ("running", "waiting", "stopped", "grading", "skipped")] == [
        *["stopped"] * 3,
        "ungraded",
        "excluded",
    ]


def test_a_row_says_what_was_known_when_it_was_listed(tmp_path: Path) -> None:
    files = write_run(tmp_path, PlannedRun(trials={"task_a": (Made(score=0.25),)}))
    journal = files.journal.read_bytes().splitlines(keepends=True)
    files.journal.write_bytes(journal[0])
    run = LiveRun(files)
    run.read()
    [before] = run.trials()
    files.journal.write_bytes(b"".join(journal))
    run.read()
    [after] = run.trials()

    assert (before.row.state, before.row.score) == (Stage.STOPPED, None)
    assert (after.row.state, after.row.score) == (Stage.FAILED, 0.25)
    assert run.trials() == [after]  # it is made again only where something has changed


def test_the_wire_s_figures_are_added_up_over_attempts(tmp_path: Path) -> None:
    one = WireFacts(calls=3, failed=(429, 500), first_token_s=0.4)
    two = WireFacts(calls=2, wire_retries=(429,), first_token_s=0.8)
    trials = {"task_a": (Made(wire=one),), "task_b": (Made(wire=two),), "task_c": (Made(),)}
    run = LiveRun(write_run(tmp_path, PlannedRun(trials=trials)))
    run.read()

    assert run.snapshot()["wire"] == [
        "5 model calls in 2 ended attempts",
        "3 failed (2 × 429, 500)",
        "first token after 0.60 s (median)",
    ]


def test_an_ended_run_s_time_stands_still_and_its_failures_lead_to_their_trials(tmp_path: Path) -> None:
    trials = {"task_a": (Made(score=0.1),), "task_b": (Made(score=None, ungraded=Ungraded.JUDGE_REFUSED),)}
    run = LiveRun(write_run(tmp_path, PlannedRun(trials=trials)))
    run.read()
    state = run.snapshot()
    failures = state["failures"]
    assert isinstance(failures, list)

    assert state["totals"] == run.snapshot()["totals"]
    assert "42.5 s" in str(state["totals"])
    assert [one["label"] for one in failures] == ["ungraded, judge refused", "score 0.10"]
    assert [one["href"] for one in failures] == [
        f"/run/{run.files.name}/trial/task_b",
        f"/run/{run.files.name}/trial/task_a",
    ]
