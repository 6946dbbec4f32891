"""Going on with a run: finished trials stay, the others start afresh, and the result is as if nothing had happened."""

import fcntl
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from anyio import CancelScope

from chaos.ledger import timeless
from fake_judge import fake_judge, good
from fakes import Heard, calls, fake_openclaw, make_suite, open_gate, run_config
from past_runs import die_after
from pinchbench.config.asked_models import JudgeConfig
from pinchbench.config.rerun_configs import RegradeConfig, ResumeConfig
from pinchbench.config.run_config import RunConfig
from pinchbench.errors import ChangedError, ConfigError, ResultsError
from pinchbench.events import RunBegan, TrialBegan
from pinchbench.files import folders
from pinchbench.model.ending import Reason
from pinchbench.process.leftovers import identity
from pinchbench.results.finished_run import Result
from pinchbench.results.journal.journal import JournalWriter, read_journal
from pinchbench.results.records import GradeGiven, Record, RunFinished, RunResumed, TrialFinished
from pinchbench.runner.again.grade_again import regrade
from pinchbench.runner.again.rerun import resume
from pinchbench.runner.run_benchmark import run_benchmark
from pinchbench.runner.run_folders import HOMES, OWNER, owned_homes, sweep_homes

pytestmark = pytest.mark.usefixtures("checks_in_process")

TASKS = {"task_a": "Write out.txt.", "task_b": "Write out.txt.", "task_c": "Write out.txt."}


def a_run(folder: Path, prompts: dict[str, str] | None = None) -> RunConfig:
    config = run_config(folder, fake_openclaw(folder), TASKS if prompts is None else prompts)
    return replace(config, retry_delay_s=0.01, infra_retries=0)


def again(config: RunConfig, run: str | None = None, *, accept: bool = False, **settings: object) -> ResumeConfig:
    return ResumeConfig(run=run, output_dir=config.output_dir, accept_changes=accept, settings=settings)


def journal_of(config: RunConfig) -> Path:
    [path] = config.output_dir.glob("*/journal.jsonl")
    return path


def is_end_of(task_id: str) -> Callable[[Record], bool]:
    return lambda record: isinstance(record, TrialFinished) and record.outcome.key.task_id == task_id


def started(config: RunConfig) -> list[str]:
    """The tasks whose agent was started, in order, by their session ids."""
    sessions = [
        next(word.removeprefix("--session-id=") for word in call if word.startswith("--session-id="))
        for call in calls(config.tasks_dir.parent / "bin" / "openclaw" if config.tasks_dir else journal_of(config))
        if call[0] == "agent" and "--help" not in call
    ]
    return [session.rpartition("_")[0] for session in sessions]


async def a_dead_run(folder: Path) -> RunConfig:
    """A run of three tasks whose runner was killed when the second had ended."""
    config = a_run(folder)
    await run_benchmark(config)
    die_after(journal_of(config), is_end_of("task_b"))
    return config


def homes_of(config: RunConfig) -> Path:
    [folder] = config.run_root.iterdir()
    return folder / HOMES


def changes_of(result: Result) -> object:
    return json.loads(result.path.read_text("utf-8"))["changes"]


def told(result: Result) -> object:
    return timeless(json.loads(result.path.read_text("utf-8")))


async def test_a_run_that_died_goes_on_where_it_was_and_comes_to_the_same_result(tmp_path: Path) -> None:
    undisturbed, config = a_run(tmp_path / "one"), a_run(tmp_path / "other")
    for folder in ("one", "other"):
        make_suite(tmp_path / folder, {"task_b": TASKS["task_b"]}, head="runs: 3")
    whole = await run_benchmark(undisturbed)
    first = await run_benchmark(config)
    die_after(journal_of(config), is_end_of("task_c"))
    first.path.unlink()
    seen = Heard()
    result = await resume(again(config), observer=seen)
    assert result.run_id == first.run_id
    assert result.complete
    assert told(result) == told(whole)
    assert started(config) == ["task_a", "task_b", "task_c", "task_b", "task_b", "task_b", "task_b"]
    [begun] = [event for event in seen.events if isinstance(event, RunBegan)]
    assert (begun.trials, begun.done) == (5, 3)
    earlier = begun.earlier
    assert earlier.passed + earlier.failed + earlier.ungraded + len(begun.to_grade) == 3
    assert [str(event.key) for event in seen.events if isinstance(event, TrialBegan)] == ["task_b@2", "task_b@3"]
    records = read_journal(journal_of(config)).records
    assert [type(record) for record in records].count(RunResumed) == 1
    assert isinstance(records[-1], RunFinished)


async def test_what_an_unfinished_attempt_left_is_kept_aside(tmp_path: Path) -> None:
    config = await a_dead_run(tmp_path)
    workspace = homes_of(config).with_name("task_c")
    (workspace / "half.txt").write_text("not finished", encoding="utf-8")
    evidence = journal_of(config).with_name("trials") / "task_c" / "1"
    (evidence / "stdout.log").write_text("half a word", encoding="utf-8")
    result = await resume(again(config))
    assert sorted(path.name for path in workspace.iterdir()) == ["out.txt"]
    assert (workspace.with_name("task_c~1") / "half.txt").read_text("utf-8") == "not finished"
    assert (evidence.with_name("1~1") / "stdout.log").read_text("utf-8") == "half a word"
    assert [outcome.attempt for outcome in result.outcomes] == [1, 1, 1]


async def test_trials_that_ended_without_their_grade_are_graded_and_not_run_again(tmp_path: Path) -> None:
    config = a_run(tmp_path)
    async with fake_judge(good(0.5)) as judge:
        config = replace(config, judge=JudgeConfig(model="judge-1", base_url=judge.base_url, cache=False))
        await run_benchmark(config)
        records = read_journal(journal_of(config)).records
        path = journal_of(config)
        path.unlink()
        with JournalWriter(path) as journal:
            journal.append([one for one in records if not isinstance(one, GradeGiven | RunFinished)])
        result = await resume(again(config))
    assert started(config) == ["task_a", "task_b", "task_c"]
    assert [grade.score for grade in result.grades.values()] == [0.5, 0.5, 0.5]
    assert result.complete
    assert result.unfinished == 0


async def test_trials_that_said_nothing_about_the_model_are_retried_and_both_attempts_are_kept(tmp_path: Path) -> None:
    once = tmp_path / "once"
    config = a_run(tmp_path, {"task_a": f"scenario: only_once {once}", "task_b": "Write out.txt."})
    once.touch()
    first = await run_benchmark(config)
    once.unlink()
    assert [outcome.reason for outcome in first.outcomes] == [Reason.NO_TRANSCRIPT, Reason.COMPLETED]
    assert first.unfinished == 1
    result = await resume(again(config))
    assert [outcome.reason for outcome in result.outcomes] == [Reason.COMPLETED, Reason.COMPLETED]
    assert [outcome.attempt for outcome in result.outcomes] == [2, 1]
    trials = result.folder / "trials" / "task_a"
    assert sorted(path.name for path in trials.iterdir()) == ["1", "1.attempt2"]
    retries = json.loads(result.path.read_text("utf-8"))["retries"]
    assert (retries["trials"], retries["attempts"], retries["recovered"]) == (1, 1, 1)


async def test_a_changed_task_is_named_and_refused_and_run_again_when_accepted(tmp_path: Path) -> None:
    config = await a_dead_run(tmp_path)
    make_suite(tmp_path, {"task_a": "Write out.txt, and do it well."})
    before = journal_of(config).read_bytes()
    with pytest.raises(ChangedError, match="task_a has changed"):
        await resume(again(config))
    assert journal_of(config).read_bytes() == before
    result = await resume(again(config, accept=True))
    assert started(config)[:3] == ["task_a", "task_b", "task_c"]
    assert sorted(started(config)[3:]) == ["task_a", "task_c"], (
        "which of them is first depends on what they took before"
    )
    attempts = {outcome.key.task_id: outcome.attempt for outcome in result.outcomes}
    assert attempts == {"task_a": 2, "task_b": 1, "task_c": 1}
    assert changes_of(result) == ["task_a has changed"]
    assert (await resume(again(config, result.run_id))).complete, "what was accepted once is how the run is"


async def test_another_setting_and_another_release_are_named_and_refused_and_in_the_result_when_accepted(
    tmp_path: Path,
) -> None:
    config = await a_dead_run(tmp_path)
    with pytest.raises(ChangedError, match="--thinking: not given → high"):
        await resume(again(config, thinking="high"))
    fake_openclaw(tmp_path, release="2026.7.1")
    named = pytest.RaisesExc(ChangedError, match=r"openclaw: 2026\.6\.5 → 2026\.7\.1")
    with pytest.RaisesGroup(named, flatten_subgroups=True):
        await resume(again(config))
    result = await resume(again(config, accept=True, thinking="high"))
    assert changes_of(result) == ["--thinking: not given → high", "openclaw: 2026.6.5 → 2026.7.1"]


def test_options_that_make_another_plan_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="takes no runs, suite"):
        ResumeConfig(output_dir=tmp_path, settings={"suite": "core", "runs": 2})


async def test_a_run_with_nothing_left_is_only_told_again(tmp_path: Path) -> None:
    config = a_run(tmp_path)
    first = await run_benchmark(config)
    before = journal_of(config).read_bytes()
    first.path.unlink()
    result = await resume(again(config, first.run_id))
    assert result.path.is_file()
    assert journal_of(config).read_bytes() == before


async def test_a_run_that_another_process_works_on_is_left_alone(tmp_path: Path) -> None:
    config = await a_dead_run(tmp_path)
    alone = pytest.raises(ResultsError, match="Another pinchbench-async")
    with JournalWriter(journal_of(config), go_on=True), alone:
        await resume(again(config))


async def test_a_runner_that_died_before_its_journal_loses_nothing(tmp_path: Path) -> None:
    config = a_run(tmp_path)
    await run_benchmark(config)
    journal_of(config).unlink()
    result = await resume(again(config))
    assert [outcome.reason for outcome in result.outcomes] == [Reason.COMPLETED] * 3


async def test_a_record_that_was_torn_when_the_runner_died_costs_its_trial_another_run(tmp_path: Path) -> None:
    config = await a_dead_run(tmp_path)
    path = journal_of(config)
    path.write_bytes(path.read_bytes()[:-40])
    result = await resume(again(config))
    assert started(config) == ["task_a", "task_b", "task_c", "task_b", "task_c"]
    assert [outcome.reason for outcome in result.outcomes] == [Reason.COMPLETED] * 3
    assert len(result.problems) == 1


async def test_a_cancelled_run_goes_on_and_can_be_cancelled_and_go_on_again(tmp_path: Path) -> None:
    async with open_gate() as gate:
        config = a_run(tmp_path, dict.fromkeys(TASKS, f"scenario: gate {gate.port}"))
        with CancelScope() as scope:
            await run_benchmark(config, observer=gate.closing_after(1, scope))
        assert scope.cancelled_caught
        attempts = read_journal(journal_of(config)).state.attempts
        assert [one.reason for one in attempts] == [Reason.COMPLETED, Reason.INTERRUPTED]
        with CancelScope() as scope:
            await resume(again(config), observer=gate.closing_after(1, scope))
        assert scope.cancelled_caught
        async with gate.opened():
            result = await resume(again(config))
    assert [outcome.reason for outcome in result.outcomes] == [Reason.COMPLETED] * 3
    assert started(config) == ["task_a", "task_b", "task_b", "task_c", "task_c"]


async def test_a_retry_that_was_promised_is_made_on_resume_and_no_further_one(tmp_path: Path) -> None:
    config = a_run(tmp_path, {"task_a": f"scenario: outage {tmp_path / 'calls'} 9 503 unavailable"})
    config = replace(config, infra_retries=1, fail_fast=False)
    await run_benchmark(config)
    die_after(journal_of(config), lambda record: isinstance(record, TrialFinished) and record.retried)
    await resume(again(config))
    attempts = read_journal(journal_of(config)).state.attempts
    assert [(one.reason, one.attempt) for one in attempts] == [(Reason.PROVIDER_ERROR, 1), (Reason.PROVIDER_ERROR, 2)]


async def test_what_was_moved_and_accepted_is_graded_again_where_it_is_now(tmp_path: Path) -> None:
    config = await a_dead_run(tmp_path)
    moved = (tmp_path / "tasks").rename(tmp_path / "moved")
    run = (await resume(again(config, tasks_dir=moved))).run_id
    again_graded = await regrade(RegradeConfig(run=run, output_dir=config.output_dir, run_root=config.run_root))
    assert len(again_graded.grades) == 3


async def test_a_living_runner_keeps_its_homes_from_a_copy_of_its_results(tmp_path: Path) -> None:
    config = await a_dead_run(tmp_path)
    alone = pytest.RaisesExc(ResultsError, match="Another pinchbench-async works in")
    async with owned_homes(homes_of(config).parent):
        with pytest.RaisesGroup(alone, flatten_subgroups=True):
            await resume(again(config))
        assert (homes_of(config) / OWNER).exists()
    assert (await resume(again(config))).complete


async def a_run_that_died_with_its_container(folder: Path) -> RunConfig:
    """A dead run whose homes are of another pid namespace."""
    config = await a_dead_run(folder)
    homes_of(config).mkdir()
    pid, started, boot, _ = identity().split()
    (homes_of(config) / OWNER).write_text(f"{pid} {started} {boot} 1", encoding="utf-8")
    return config


async def test_a_run_that_died_with_its_container_is_resumed_in_the_next(tmp_path: Path) -> None:
    config = await a_run_that_died_with_its_container(tmp_path)
    assert (await resume(again(config))).complete
    assert not homes_of(config).exists()


@pytest.mark.parametrize("is_local", [True, False])
async def test_the_homes_of_a_runner_in_another_container_that_may_live_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_local: bool
) -> None:
    config = await a_run_that_died_with_its_container(tmp_path)
    alone = pytest.RaisesExc(ResultsError, match="Another pinchbench-async works in .* another container.* remove ")
    with (homes_of(config) / OWNER).open() as owner:
        if is_local:
            fcntl.flock(owner, fcntl.LOCK_EX)
        else:
            monkeypatch.setattr(folders, "LOCAL", frozenset())  # as on a network file system, where locks prove nothing
        with pytest.RaisesGroup(alone, flatten_subgroups=True):
            await resume(again(config))
        sweep_homes(config.run_root)

    assert homes_of(config).exists()
