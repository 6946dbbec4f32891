"""Grading while agents run: what is graded when, by whom, and what becomes of it when something is wrong."""

import json
import re
import shutil
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest
from anyio import create_memory_object_stream, create_task_group
from anyio.streams.memory import MemoryObjectReceiveStream

from fake_judge import failing, fake_judge, good
from fakes import Heard, fake_openclaw, make_suite, run_config
from past_runs import as_older_release
from pinchbench.config.asked_models import JudgeConfig
from pinchbench.config.rerun_configs import RegradeConfig
from pinchbench.config.run_config import RunConfig
from pinchbench.errors import ConfigError, ResultsError, SuiteError
from pinchbench.events import Event, TrialEnded, TrialGraded
from pinchbench.files.archive import Kept
from pinchbench.files.archive_write import keep_workspace
from pinchbench.model.ending import Reason
from pinchbench.model.grade import Grade, Ungraded
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.results.finished_run import Result
from pinchbench.results.journal.journal import JournalWriter, read_journal
from pinchbench.results.records import GradeGiven, Record, RegradeStarted
from pinchbench.runner.again.grade_again import regrade
from pinchbench.runner.run_benchmark import run_benchmark
from pinchbench.runner.signals import Interrupt
from pinchbench.runner.stream_ends import grade_trials, limit_grading
from processes import living

RUN_LIMIT_S = 120
CHECK = """
from pathlib import Path
return {"made": Path(workspace_path, "out.txt").read_text() == "hello", "half": 0.5}
"""
RAISES = "raise ValueError('no idea')"
DIES = "import os; os._exit(1)"
SHOWS = """
import os
print(workspace_path, transcript, sorted(os.environ.items()))
return {"paths": hash((workspace_path, str(transcript))) % 1000 / 1000}
"""


def write_task(
    folder: Path,
    task_id: str,
    kind: GradingType = GradingType.AUTOMATED,
    *,
    check: str = CHECK,
    prompt: str = "Write out.txt.",
) -> None:
    """Write a task with a check, unless it is for a judge alone; the fake agent does write `out.txt`."""
    weights = "grading_weights: {automated: 0.75, llm_judge: 0.25}"
    own = "" if kind is GradingType.LLM_JUDGE else check
    make_suite(folder, {task_id: prompt}, kind=kind, check=own, head=weights)


def a_run(folder: Path, **kinds: GradingType) -> RunConfig:
    config = run_config(folder, fake_openclaw(folder), {})
    for task_id, kind in kinds.items():
        write_task(folder, task_id, kind)
    return config


def judged_by(base_url: str, *, concurrency: int = 4) -> JudgeConfig:
    return JudgeConfig(model="judge-1", base_url=base_url, concurrency=concurrency)


def scores(result: Result) -> dict[str, float | None]:
    return {str(key): grade.score for key, grade in sorted(result.grades.items())}


def reasons(result: Result) -> dict[str, Ungraded | None]:
    return {str(key): grade.ungraded for key, grade in sorted(result.grades.items())}


async def test_every_kind_of_task_gets_its_grade(tmp_path: Path) -> None:
    config = a_run(tmp_path, task_a=GradingType.AUTOMATED, task_b=GradingType.HYBRID, task_c=GradingType.LLM_JUDGE)
    async with fake_judge(good(0.25)) as judge:
        result = await run_benchmark(replace(config, judge=judged_by(judge.base_url)))
    assert scores(result) == {"task_a": 0.75, "task_b": 0.625, "task_c": 0.25}
    assert result.complete
    data = json.loads(result.path.read_text("utf-8"))
    assert data["score"]["mean"] == pytest.approx((0.75 + 0.625 + 0.25) / 3)
    assert data["score"]["tasks"] == data["score"]["trials"] == 3
    assert data["judge"]["calls"] == 2
    assert data["judge"]["models"] == ["judge-1"]
    [first] = data["tasks"][1]["runs"]
    assert first["grade"]["breakdown"] == {"automated.made": 1.0, "automated.half": 0.5}
    assert living(tmp_path) == []
    facts = json.loads((result.folder / "run.json").read_text("utf-8"))
    assert facts["config"]["judge"]["model"] == "judge-1"


async def test_a_check_that_raises_leaves_its_trial_ungraded_and_the_run_incomplete(tmp_path: Path) -> None:
    config = a_run(tmp_path)
    write_task(tmp_path, "task_a", check=RAISES)
    (folder := tmp_path / "tasks" / "task_a").mkdir()
    (tmp_path / "tasks" / "task_a.md").rename(folder / "task.md")
    result = await run_benchmark(config)
    assert reasons(result) == {"task_a": Ungraded.CHECK_RAISED}
    assert not result.complete
    assert result.outcomes[0].reason is Reason.COMPLETED
    assert "no idea" in (result.folder / "trials" / "task_a" / "1" / "check.log").read_text("utf-8")


async def test_a_slow_judge_never_holds_up_a_slot(tmp_path: Path) -> None:
    all_ended = anyio.Event()
    ended: list[TrialKey] = []
    graded_before: list[TrialKey] = []

    async def observer(events: MemoryObjectReceiveStream[Event]) -> None:
        async for event in events:
            if isinstance(event, TrialEnded):
                ended.append(event.outcome.key)
                if len(ended) == 8:
                    all_ended.set()
            elif isinstance(event, TrialGraded) and not all_ended.is_set():
                graded_before.append(event.grade.key)

    config = a_run(tmp_path, **{f"task_{number}": GradingType.LLM_JUDGE for number in range(8)})
    # the judge answers nobody before the last agent has ended
    async with fake_judge(replace(good(0.5), until=all_ended)) as judge:
        result = await run_benchmark(replace(config, judge=judged_by(judge.base_url, concurrency=2)), observer=observer)
        assert judge.most_at_once <= 2
    assert graded_before == []
    assert set(scores(result).values()) == {0.5}
    assert len(result.grades) == 8


async def test_grading_again_adds_records_and_keeps_the_old_ones(tmp_path: Path) -> None:
    config = a_run(tmp_path, task_a=GradingType.AUTOMATED, task_b=GradingType.HYBRID)
    first = await run_benchmark(config)
    before = read_journal(first.folder / "journal.jsonl").records
    again = RegradeConfig(run=first.run_id, output_dir=config.output_dir, run_root=config.run_root)
    heard = Heard()
    async with fake_judge(good(1.0)) as judge:
        second = await regrade(replace(again, judge=judged_by(judge.base_url)), observer=heard)
        assert "scenario" not in json.dumps([asked.json for asked in judge.requests])
    assert scores(second) == {"task_a": 0.75, "task_b": 0.8125}
    assert second.path == first.path
    assert json.loads(second.path.read_text("utf-8"))["score"]["tasks"] == 2
    journal = read_journal(first.folder / "journal.jsonl")
    assert journal.records[: len(before)] == before
    added = journal.records[len(before) :]
    assert [type(record) for record in added] == [RegradeStarted, GradeGiven, GradeGiven]
    assert [event.grade.score for event in heard.events if isinstance(event, TrialGraded)] == [
        record.grade.score for record in added if isinstance(record, GradeGiven)
    ]

    # the judge's answer is cached: asked once more, it need not be there
    third = await regrade(again)
    assert scores(third) == scores(second)
    assert third.grades[TrialKey(task_id="task_b", repetition=1)].judge is not None
    assert living(tmp_path) == []
    assert sorted(path.name for path in config.run_root.iterdir()) == [first.run_id]


async def test_a_copied_run_is_graded_again_to_the_byte(tmp_path: Path) -> None:
    config = a_run(tmp_path)
    write_task(tmp_path, "task_a", check=SHOWS)
    first = await run_benchmark(config)
    copied = tmp_path / "copied"
    shutil.copytree(config.output_dir, copied)
    second = await regrade(RegradeConfig(run=first.run_id, output_dir=copied, run_root=config.run_root))
    logs = [next(folder.glob("**/check.log")).read_bytes() for folder in (first.folder, second.folder)]
    assert logs[0] == logs[1]
    assert str(config.run_root / "checks" / "task_a" / "workspace").encode() in logs[0]
    assert first.run_id.encode() not in logs[0]
    assert scores(first) == scores(second)


async def test_a_mended_check_grades_what_was_kept_and_the_change_is_reported(tmp_path: Path) -> None:
    config = a_run(tmp_path, task_b=GradingType.AUTOMATED)
    write_task(tmp_path, "task_a", check=DIES)
    first = await run_benchmark(config)
    for workspace in (config.run_root / first.run_id).iterdir():
        (workspace / "out.txt").write_text("changed since", encoding="utf-8")
    write_task(tmp_path, "task_a")
    heard = Heard()
    again = RegradeConfig(run=str(first.path), run_root=config.run_root, only_ungraded=True)
    second = await regrade(again, observer=heard)
    assert scores(second) == {"task_a": 0.75, "task_b": 0.75}
    assert heard.notices == ["Changed since the run, and graded as they are now: task_a."]
    assert second.grades[TrialKey(task_id="task_a", repetition=1)].digest != first.outcomes[0].digest
    assert second.complete


async def test_a_run_that_is_being_written_is_not_graded_again(tmp_path: Path) -> None:
    config = a_run(tmp_path, task_a=GradingType.AUTOMATED)
    first = await run_benchmark(config)
    again = RegradeConfig(run=str(first.folder), run_root=config.run_root)
    writer = JournalWriter(first.folder / "journal.jsonl", go_on=True)
    told = pytest.RaisesExc(ResultsError, match="Another pinchbench-async is writing the run")
    with writer, pytest.RaisesGroup(told):
        await regrade(again)
    write_task(tmp_path, "task_new")
    with pytest.RaisesGroup(pytest.RaisesExc(ConfigError, match="names no task of the run")):
        await regrade(replace(again, suite="task_new"))


async def test_a_failure_to_grade_takes_no_score_away_and_is_reported(tmp_path: Path) -> None:
    config = a_run(tmp_path, task_a=GradingType.HYBRID, task_b=GradingType.AUTOMATED)
    async with fake_judge(good(0.25)) as judge:
        first = await run_benchmark(replace(config, judge=judged_by(judge.base_url)))
    heard = Heard()
    again = RegradeConfig(run=first.run_id, output_dir=config.output_dir, run_root=config.run_root)
    async with fake_judge(failing(401)) as refuses:
        second = await regrade(replace(again, judge=judged_by(refuses.base_url)), observer=heard)
    assert scores(second) == scores(first) == {"task_a": 0.625, "task_b": 0.75}
    assert heard.notices == ["task_a: judge_refused; its earlier score of 0.62 stays."]
    assert second.complete

    # the judge that gave a score is the one that is asked next, not the one that refused; its answer is cached
    third = await regrade(again)
    grade = third.grades[TrialKey(task_id="task_a", repetition=1)]
    assert grade.graded_at > second.grades[grade.key].graded_at
    assert grade.score == 0.625


async def test_evidence_that_was_cut_off_since_gives_no_score(tmp_path: Path) -> None:
    config = a_run(tmp_path, task_a=GradingType.AUTOMATED, task_b=GradingType.LLM_JUDGE)
    first = await run_benchmark(config)
    for task_id in ("task_a", "task_b"):
        transcript = first.folder / "trials" / task_id / "1" / "transcript.jsonl"
        transcript.write_bytes(b"".join(transcript.read_bytes().splitlines(keepends=True)[:3]))
    journal = first.folder / "journal.jsonl"  # a newer release would refuse the transcripts
    journal.write_bytes(re.sub(rb'"files":{[^}]*}', b'"files":null', as_older_release(journal.read_bytes())))
    write_task(tmp_path, "task_a", prompt="Another one.")
    again = RegradeConfig(run=first.run_id, output_dir=config.output_dir, run_root=config.run_root)
    async with fake_judge() as judge:
        second = await regrade(replace(again, judge=judged_by(judge.base_url)))
        assert judge.requests == []
    assert reasons(second) == {"task_a": Ungraded.EVIDENCE_LOST, "task_b": Ungraded.EVIDENCE_LOST}


async def test_a_broken_task_of_the_run_is_an_error_and_that_of_another_is_not(tmp_path: Path) -> None:
    config = a_run(tmp_path, task_a=GradingType.AUTOMATED)
    first = await run_benchmark(config)
    again = RegradeConfig(run=first.run_id, output_dir=config.output_dir, run_root=config.run_root)
    write_task(tmp_path, "task_new", check="return (")
    assert (await regrade(again)).complete
    write_task(tmp_path, "task_a", check="return (")
    told = pytest.RaisesExc(SuiteError, match="task_a.md:.*the check is not valid Python")
    with pytest.RaisesGroup(told):
        await regrade(again)


async def test_a_judge_that_nothing_needs_is_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = a_run(tmp_path, task_a=GradingType.AUTOMATED, task_b=GradingType.LLM_JUDGE)
    monkeypatch.setenv("JUDGE_KEY", "sk-0123456789")
    async with fake_judge() as judge:
        first = await run_benchmark(replace(config, judge=replace(judged_by(judge.base_url), api_key_env="JUDGE_KEY")))
    monkeypatch.delenv("JUDGE_KEY")
    again = RegradeConfig(run=first.run_id, output_dir=config.output_dir, run_root=config.run_root)
    assert (await regrade(replace(again, suite="task_a"))).complete
    told = pytest.RaisesExc(
        ConfigError, match="can't be asked again; name one with --judge. The judge's api-key-env JUDGE_KEY"
    )
    with pytest.RaisesGroup(told):
        await regrade(again)


async def test_what_could_not_be_kept_of_a_workspace_is_not_graded_as_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pinchbench.files.archive_write.MAX_FILE_BYTES", 1)
    config = a_run(tmp_path, task_a=GradingType.AUTOMATED)
    result = await run_benchmark(replace(config, infra_retries=0))
    (outcome,) = result.outcomes
    assert (outcome.reason, result.data.score.mean) == (Reason.EVIDENCE_LOST, None)
    assert "is larger than" in outcome.note
    assert outcome.not_kept


async def test_a_run_that_is_cancelled_while_a_workspace_is_kept_just_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = anyio.Event(), threading.Event()

    def keep_slowly(workspace: Path, archive: Path) -> Kept:
        anyio.from_thread.run_sync(begun.set)
        go_on.wait(RUN_LIMIT_S)
        return keep_workspace(workspace, archive)

    monkeypatch.setattr("pinchbench.runner.trial.attempt.keep_workspace", keep_slowly)
    config = a_run(tmp_path, task_a=GradingType.AUTOMATED)
    async with create_task_group() as group:
        group.start_soon(run_benchmark, config)
        await begun.wait()
        group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            for _ in range(100):  # until the graders have gone
                await anyio.lowlevel.checkpoint()
        go_on.set()
    [journal] = config.output_dir.glob("*/journal.jsonl")
    [outcome] = read_journal(journal).state.outcomes
    assert (outcome.reason, read_journal(journal).state.grades) == (Reason.COMPLETED, {})


class HeldGrader:
    """Grades only once it is let go."""

    def __init__(self) -> None:
        self.begun = 0
        self.news = anyio.Event()
        self.let_go = anyio.Event()

    async def grade(self, job: TrialKey) -> Grade:
        self.begun += 1
        self.news.set()
        await self.let_go.wait()
        return Grade(key=job, grading_type=GradingType.AUTOMATED, score=1.0)


@pytest.mark.parametrize("how", ["hurry", "stop", "neither"])
async def test_a_hurry_ends_the_grading_and_a_stop_lets_it_finish_what_it_has_begun(how: str) -> None:
    grader = HeldGrader()
    interrupt = Interrupt()
    graded: list[Grade] = []
    sender, jobs = create_memory_object_stream[TrialKey](3)
    records, written = create_memory_object_stream[Record](10)
    with sender:
        for number in range(3):
            sender.send_nowait(TrialKey(task_id=f"task_{number}", repetition=1))
    with written:
        async with create_task_group() as clock:
            async with create_task_group() as grading:
                clock.start_soon(limit_grading, interrupt, grading.cancel_scope)  # noqa: ASYNC111 - harmless when over
                work = partial(grade_trials, begin_no_more=interrupt.stop)
                grading.start_soon(work, grader, jobs, records, graded.append)
                await grader.news.wait()
                if how != "neither":
                    interrupt.stop.set()
                if how == "hurry":
                    interrupt.hurry.set()
                if how != "hurry":
                    grader.let_go.set()
            clock.cancel_scope.cancel()
        given = [record async for record in written]
    assert [record.grade for record in given if isinstance(record, GradeGiven)] == graded
    assert len(given) == {"hurry": 0, "stop": 1, "neither": 3}[how]
    assert grader.begun == {"hurry": 1, "stop": 1, "neither": 3}[how]
