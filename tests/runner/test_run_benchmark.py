"""Whole runs with the fake OpenClaw: each situation has its name, and nothing is lost or left."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import msgspec
import pytest
from anyio.streams.memory import MemoryObjectReceiveStream

from fakes import Heard, fake_openclaw, make_suite, open_gate, run_config
from pinchbench.config.run_config import RunConfig
from pinchbench.events import Event, OutputLine, RunBegan, TrialActivity, TrialBegan, TrialEnded, TrialGraded
from pinchbench.model.ending import Reason, Status
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.openclaw.agent_progress import WAITING
from pinchbench.openclaw.homes.private import PrivateHome
from pinchbench.results.finished_run import Result
from pinchbench.results.journal.journal import read_journal
from pinchbench.results.records import GradeGiven, Record, RunFinished, RunStarted, TrialFinished, TrialStarted, encode
from pinchbench.runner.plan.prepare import prepare
from pinchbench.runner.run_benchmark import run_benchmark
from pinchbench.transcript_lines import parse_line
from processes import living
from sampling import sampled

pytestmark = pytest.mark.usefixtures("checks_in_process")

LINGER_S = 10.0  # well beyond what a process takes to exit, on a machine that does much else

SCENARIOS: dict[str, tuple[str, Status, Reason]] = {
    "task_answers": ("", Status.SUCCESS, Reason.COMPLETED),
    "task_big": ("scenario: big 500", Status.SUCCESS, Reason.COMPLETED),
    "task_damaged": ("scenario: damaged", Status.SUCCESS, Reason.COMPLETED),
    "task_daemonises": ("scenario: daemonise", Status.SUCCESS, Reason.COMPLETED),
    "task_exits_3": ("scenario: exit 3", Status.ERROR, Reason.NONZERO_EXIT),
    "task_exits_early": ("scenario: exit_early 3", Status.ERROR, Reason.AGENT_NOT_STARTED),
    "task_fallback": ("scenario: fallback", Status.ERROR, Reason.MODEL_FALLBACK),
    "task_fallback_note": ("scenario: fallback_note", Status.ERROR, Reason.MODEL_FALLBACK),
    "task_floods": ("scenario: flood 4", Status.SUCCESS, Reason.COMPLETED),
    "task_floods_one_line": ("scenario: flood 4 never", Status.SUCCESS, Reason.COMPLETED),
    "task_holds_stdout": ("scenario: hold_stdout", Status.SUCCESS, Reason.COMPLETED),
    "task_killed": ("scenario: die SIGKILL", Status.ERROR, Reason.KILLED_BY_SIGNAL),
    "task_lingers": ("scenario: linger", Status.SUCCESS, Reason.COMPLETED),
    "task_no_model": ("scenario: print hello\nscenario: silent", Status.ERROR, Reason.NO_MODEL_CALL),
    "task_no_session": ("scenario: no_session", Status.ERROR, Reason.NO_TRANSCRIPT),
    "task_plain": ("scenario: plain", Status.SUCCESS, Reason.COMPLETED),
    "task_refused": ("scenario: refused\nscenario: silent", Status.ERROR, Reason.PROVIDER_ERROR),
    "task_refused_once": ("scenario: refused", Status.SUCCESS, Reason.COMPLETED),
    "task_slow_start": ("scenario: slow_start 0.5", Status.SUCCESS, Reason.COMPLETED),
    "task_terminated": ("scenario: die SIGTERM", Status.ERROR, Reason.KILLED_BY_SIGNAL),
}


def by_task(result: Result) -> dict[str, Outcome]:
    return {outcome.key.folder: outcome for outcome in result.outcomes}


def kinds(records: Sequence[Record]) -> list[type[Record]]:
    return [type(record) for record in records]


@pytest.mark.parametrize("store", sampled(["jsonl", "sqlite"], {"sqlite"}))
async def test_every_situation_has_its_name_and_nothing_is_lost_or_left(tmp_path: Path, store: str) -> None:
    program = fake_openclaw(tmp_path, store=store)
    prompts = {task_id: prompt or "Do something." for task_id, (prompt, _, _) in SCENARIOS.items()}
    config = replace(
        run_config(tmp_path, program, prompts), concurrency=4, linger_s=LINGER_S, infra_retries=0, fail_fast=False
    )
    result = await run_benchmark(config)
    assert living(tmp_path) == []
    outcomes = by_task(result)
    told = {task_id: (one.status, one.reason) for task_id, one in outcomes.items()}
    assert told == {task_id: (status, reason) for task_id, (_, status, reason) in SCENARIOS.items()}
    assert result.planned == len(result.outcomes) == len(SCENARIOS)
    assert not result.complete
    journal = read_journal(result.folder / "journal.jsonl")
    assert journal.problems == ()
    assert Counter(kinds(journal.records)) == {
        RunStarted: 1,
        TrialStarted: len(SCENARIOS),
        TrialFinished: len(SCENARIOS),
        GradeGiven: sum(reason.is_valid for _, _, reason in SCENARIOS.values()),
        RunFinished: 1,
    }
    assert outcomes["task_answers"].store == store
    assert outcomes["task_answers"].exit_code == 0
    assert outcomes["task_exits_3"].exit_code == 3
    assert outcomes["task_killed"].exit_code == -9
    assert "401 invalid api key" in outcomes["task_refused"].note
    assert outcomes["task_fallback"].models == ("mock/m1", "mock/another")
    assert outcomes["task_big"].tool_calls == 501
    assert outcomes["task_daemonises"].leftovers
    assert any("sleep" in command for command in outcomes["task_holds_stdout"].leftovers)
    assert "did not exit" in outcomes["task_lingers"].note
    assert outcomes["task_floods"].peak_rss_bytes > 0
    damaged = outcomes["task_damaged"]
    assert damaged.damaged_lines == 3
    lines = (result.folder / damaged.evidence / "transcript.jsonl").read_bytes().split(b"\n")
    events = [event for line in lines for event in parse_line(line).events]
    assert [event["raw"] for event in events if "raw" in event] == [
        '{"type":"message","id":"torn","timest',
        "not JSON at all \u2028 é",
    ]
    assert {"s1", "s2"} <= {event.get("id") for event in events}
    assert damaged.transcript_length == len(events)


async def test_the_aggregate_has_the_keys_of_the_seed(tmp_path: Path) -> None:
    config = run_config(tmp_path, fake_openclaw(tmp_path), {"task_b": "Hi", "task_a": "Ho"})
    result = await run_benchmark(config)
    assert result.path == tmp_path / "results" / f"mock-m1_{result.run_id}.json"
    data = json.loads(result.path.read_text("utf-8"))
    assert result.complete
    assert data == json.loads(msgspec.json.encode(result.data))
    assert list(data)[:4] == ["model", "run_id", "timestamp", "tasks"]
    assert (data["model"], data["run_id"], type(data["timestamp"])) == ("mock/m1", result.run_id, float)
    assert [task["task_id"] for task in data["tasks"]] == ["task_a", "task_b"]
    seed = ["task_id", "status", "timed_out", "execution_time", "transcript_length", "workspace"]
    for task in data["tasks"]:
        assert list(task)[:6] == seed
        assert [type(task[key]) for key in seed] == [str, str, bool, float, int, str]
        assert task["status"] == "success"
        assert task["transcript_length"] == 6
        assert (tmp_path / "runs" / result.run_id / task["task_id"] / "out.txt").read_text("utf-8") == "hello"
        assert task["workspace"] == str(tmp_path / "runs" / result.run_id / task["task_id"])
    assert data["counts"]["planned"] == data["counts"]["success"] == 2
    assert data["usage"]["requests"] == 4


async def test_repetitions_have_workspaces_of_their_own_which_are_kept_while_homes_are_deleted(tmp_path: Path) -> None:
    prompts = {"task_a": "scenario: leave_state mark", "task_b": "scenario: leave_state mark"}
    config = replace(run_config(tmp_path, fake_openclaw(tmp_path), prompts), runs=3, concurrency=2)
    result = await run_benchmark(config)
    folder = tmp_path / "runs" / result.run_id
    names = ["task_a", "task_a@2", "task_a@3", "task_b", "task_b@2", "task_b@3"]
    assert sorted(path.name for path in folder.iterdir()) == names
    # what a trial left in its OpenClaw state is not there for the next one in the slot
    assert {(folder / name / "found.txt").read_text("utf-8") for name in names} == {"no"}
    assert {folder.stat().st_mode & 0o777, *((folder / name).stat().st_mode & 0o777 for name in names)} == {0o700}
    assert sorted(by_task(result)) == names
    assert [(task.task_id, len(task.runs)) for task in result.data.tasks] == [("task_a", 3), ("task_b", 3)]
    assert len({outcome.session_ids for outcome in result.outcomes}) == 6


@pytest.mark.parametrize(
    ("asked", "planned"),
    [
        (None, ["task_a", "task_b", "task_c", "task_a@2", "task_b@2", "task_b@3"]),
        (1, ["task_a", "task_b", "task_c"]),
        (2, ["task_a", "task_b", "task_c", "task_a@2", "task_b@2", "task_c@2"]),
    ],
)
def test_a_task_has_as_many_trials_as_it_states_unless_the_run_says_how_many(
    tmp_path: Path, asked: int | None, planned: list[str]
) -> None:
    config = run_config(tmp_path, tmp_path, {"task_c": "c"})
    make_suite(tmp_path, {"task_b": "b"}, head="runs: 3")
    make_suite(tmp_path, {"task_a": "a"}, head="runs: 2")
    assert [str(trial.key) for trial in prepare(replace(config, runs=asked)).trials] == planned


def earlier_run(config: RunConfig, model: str, **took_s: float) -> None:
    """Write the journal of a run whose tasks took so long."""
    folder = config.output_dir / f"{model}_20200101-000000-0000"
    folder.mkdir(parents=True)
    with (folder / "journal.jsonl").open("wb") as journal:
        for task_id, seconds in took_s.items():
            key = TrialKey(task_id=task_id, repetition=1)
            outcome = Outcome(key=key, reason=Reason.COMPLETED, digest="", execution_time_s=seconds)
            journal.write(encode(TrialFinished(outcome=outcome)))


async def test_what_is_expected_to_take_longest_is_started_first_and_the_result_stays_in_the_plans_order(
    tmp_path: Path,
) -> None:
    prompts = {"task_00_sanity": "Hi", "task_a": "Hi", "task_b": "Hi", "task_c": "Hi"}
    config = run_config(tmp_path, fake_openclaw(tmp_path), prompts)
    earlier_run(config, "mock-m1", task_a=3.0, task_b=20.0, task_c=9.0)
    result = await run_benchmark(config)
    records = read_journal(result.folder / "journal.jsonl").records
    order = [record.key.task_id for record in records if isinstance(record, TrialStarted)]
    assert order == ["task_00_sanity", "task_b", "task_c", "task_a"]
    plan = json.loads((result.folder / "run.json").read_text("utf-8"))["plan"]
    assert [task_id for task_id, _ in plan] == sorted(prompts)
    tasks = json.loads(result.path.read_text("utf-8"))["tasks"]
    assert [task["task_id"] for task in tasks] == sorted(prompts)


@pytest.mark.parametrize(
    ("model", "earlier", "expected_s"),
    [
        ("a/b", "mock-m1", {"task_a": 20}),
        ("a/b", "demo-oracle", {}),
        ("demo/null", "demo-oracle", {"task_a": 20}),
        ("demo/null", "mock-m1", {}),
    ],
)
def test_runs_of_scripted_models_are_no_history_of_real_ones_nor_the_other_way_round(
    tmp_path: Path, model: str, earlier: str, expected_s: dict[str, float]
) -> None:
    config = replace(run_config(tmp_path, tmp_path, {"task_a": "Hi"}), model=model, base_url=None, api_key_env=None)
    earlier_run(config, earlier, task_a=20.0)
    assert prepare(config).expected_s == expected_s


async def test_an_observer_hears_the_run_in_order(tmp_path: Path) -> None:
    heard = Heard()
    prompts = {"task_a": "scenario: print one two"}
    config = replace(run_config(tmp_path, fake_openclaw(tmp_path), prompts), verbose=True)
    result = await run_benchmark(config, observer=heard)
    key = TrialKey(task_id="task_a", repetition=1)
    began = next(event for event in heard.events if isinstance(event, RunBegan))
    assert (began.run_id, began.trials, began.slots, began.folder) == (result.run_id, 1, 1, result.folder)
    assert TrialBegan(slot=1, key=key, timeout_s=30) in heard.events
    shown = [event.text for event in heard.events if isinstance(event, OutputLine) and event.stream == "stdout"]
    assert shown == ["one", "two", "All done."]
    activity = [event for event in heard.events if isinstance(event, TrialActivity)]
    assert {event.text for event in activity} <= {WAITING, "write out.txt", "All done."}
    assert heard.events[-2:] == [TrialEnded(outcome=result.outcomes[0]), TrialGraded(grade=result.grades[key])]


async def test_an_observer_that_fails_or_never_reads_does_no_harm(tmp_path: Path) -> None:
    async def fails(events: MemoryObjectReceiveStream[Event]) -> None:
        await events.receive()
        raise OSError("the terminal is gone")

    async def never_reads(_: MemoryObjectReceiveStream[Event]) -> None:
        await anyio.sleep_forever()

    config = run_config(tmp_path, fake_openclaw(tmp_path), {"task_a": "Hi"})
    for observer in (fails, never_reads):
        result = await run_benchmark(config, observer=observer)
        assert result.complete


async def test_a_program_that_vanishes_after_the_setup_is_an_outcome_of_each_trial(tmp_path: Path) -> None:
    program = fake_openclaw(tmp_path)
    prompts = {"task_a": f"scenario: remove {program}", "task_b": "Hi", "task_c": "Hi"}
    result = await run_benchmark(run_config(tmp_path, program, prompts))
    assert [one.reason for one in result.outcomes] == [
        Reason.COMPLETED,
        Reason.COMMAND_NOT_FOUND,
        Reason.COMMAND_NOT_FOUND,
    ]
    assert str(program) in result.outcomes[1].note
    assert result.outcomes[1].exit_code is None


async def test_a_bug_in_a_stage_is_one_trials_outcome_with_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare_home = PrivateHome.prepare

    async def broken(self: PrivateHome, workspace: Path) -> None:
        if workspace.name == "task_b":
            raise RuntimeError("a bug of ours")
        await prepare_home(self, workspace)

    monkeypatch.setattr(PrivateHome, "prepare", broken)
    config = run_config(tmp_path, fake_openclaw(tmp_path), {"task_a": "Hi", "task_b": "Hi", "task_c": "Hi"})
    result = await run_benchmark(config)
    assert [one.reason for one in result.outcomes] == [Reason.COMPLETED, Reason.RUNNER_BUG, Reason.COMPLETED]
    assert "Traceback" in result.outcomes[1].note
    assert "RuntimeError: a bug of ours" in result.outcomes[1].note


async def test_a_cancelled_run_kills_its_agents_and_journals_them_as_interrupted(tmp_path: Path) -> None:
    async with open_gate() as gate:
        prompts = {f"task_{number}": f"scenario: gate {gate.port}" for number in range(3)}
        config = replace(run_config(tmp_path, fake_openclaw(tmp_path), prompts), concurrency=2)
        async with anyio.create_task_group() as group:
            group.start_soon(run_benchmark, config)
            guests = [await gate.next() for _ in range(2)]
            group.cancel_scope.cancel()
        for guest in guests:
            await guest.gone()
    assert living(tmp_path) == []
    [journal] = (tmp_path / "results").glob("*/journal.jsonl")
    outcomes = read_journal(journal).state.outcomes
    assert [(one.reason, one.note) for one in outcomes] == [(Reason.INTERRUPTED, "cancelled")] * 2
    assert not list((tmp_path / "runs").glob("*/.homes"))


async def test_a_long_prompt_reaches_the_agent_whole(tmp_path: Path) -> None:
    prompt = "x" * 300_000 + "\nscenario: record record.json\nsay é\u2028ü"
    for release in ("2026.6.5", "2026.9.6"):
        program = fake_openclaw(tmp_path, release=release)
        result = await run_benchmark(run_config(tmp_path, program, {"task_a": prompt}))
        [outcome] = result.outcomes
        assert outcome.reason is Reason.COMPLETED
        first = (result.folder / outcome.evidence / "transcript.jsonl").read_bytes().split(b"\n")[2]
        assert json.loads(first)["message"]["content"][0]["text"] == prompt
