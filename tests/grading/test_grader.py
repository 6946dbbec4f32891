"""Parts of a grade into one."""

import json
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from hypothesis import given
from hypothesis import strategies as st

from fakes import until
from made_tasks import made_task
from pinchbench.files.archive_write import keep_workspace
from pinchbench.grading.checks import GradeJob
from pinchbench.grading.grader import Grader, combine
from pinchbench.grading.judge.judge_reply import REPLY_CHARS
from pinchbench.grading.judge.kept_replies import Judgement, Vote
from pinchbench.grading.judge.prompt import FILE_BYTES, FILES_BYTES, Question, make_question
from pinchbench.model.grade import CheckGrade, Grade, JudgeGrade, Ungraded
from pinchbench.model.task import PINCHBENCH_RULE, GradingType, ScoreRule, WorkspaceFile
from pinchbench.model.trial import TrialKey
from pinchbench.results.evidence_files import Evidence

SCORES = st.floats(0, 1)


def graded(
    kind: GradingType,
    *,
    check: CheckGrade | None = None,
    judge: JudgeGrade | None = None,
    share: float = 0.5,
    rule: ScoreRule = PINCHBENCH_RULE,
) -> Grade:
    weights = {"automated": share, "llm_judge": 1 - share}
    task = made_task(grading_type=kind, grading_weights=weights, rule=rule)
    return combine(KEY, task, check=check, judge=judge, graded_at=12.5)


def test_a_hybrid_task_is_weighted_and_its_breakdown_says_whose_is_whose() -> None:
    grade = graded(
        GradingType.HYBRID,
        check=CheckGrade(score=1.0, breakdown={"form": 1.0}),
        judge=JudgeGrade(score=0.5, breakdown={"form": 0.5}),
        share=0.6,
    )
    assert grade.score == pytest.approx(0.8)
    assert grade.breakdown == {"automated.form": 1.0, "llm_judge.form": 0.5}


@given(check=SCORES, judge=SCORES, share=SCORES)
def test_a_hybrid_score_lies_between_those_of_its_parts(check: float, judge: float, share: float) -> None:
    grade = graded(GradingType.HYBRID, check=CheckGrade(score=check), judge=JudgeGrade(score=judge), share=share)
    assert grade.score is not None
    assert 0 <= grade.score <= 1
    assert min(check, judge) - 1e-9 <= grade.score <= max(check, judge) + 1e-9


def test_a_hybrid_task_without_its_judge_has_no_score_and_keeps_its_check() -> None:
    check = CheckGrade(score=1.0, breakdown={"form": 1.0})
    grade = graded(GradingType.HYBRID, check=check, judge=JudgeGrade(ungraded=Ungraded.NO_JUDGE, notes=("none",)))
    assert (grade.score, grade.ungraded) == (None, Ungraded.NO_JUDGE)
    assert grade.check == check
    assert grade.breakdown == {"automated.form": 1.0}


@pytest.mark.parametrize(("points", "score"), [(0.74, 0.4 * 0.74), (0.75, 0.4 * 0.75 + 0.6 * 0.5)])
def test_a_judge_behind_a_gate_counts_as_0_below_it(points: float, score: float) -> None:
    gated = ScoreRule(text="", judge_gate=0.75)
    check, judge = CheckGrade(score=points), JudgeGrade(score=0.5)
    grade = graded(GradingType.HYBRID, check=check, judge=judge, share=0.4, rule=gated)
    assert grade.score == pytest.approx(score)
    assert any("the judge counts as 0" in note for note in grade.notes) is (points < 0.75)


KEY = TrialKey(task_id="task_a", repetition=1)
CHECK = "def grade(transcript, workspace_path):\n    return {'turns': len(transcript) / 4}\n"
MESSAGE = {"type": "message", "message": {"role": "assistant", "content": "I have written out.txt."}}


@dataclass
class FixedJudge:
    """Answers what a test gave it, and keeps the questions."""

    grade_given: JudgeGrade | Exception = field(default_factory=lambda: JudgeGrade(score=0.5))
    asked: list[Question] = field(default_factory=list)
    replies: tuple[str, ...] = ("hm", '{"total": 0.5}')

    async def grade(self, question: Question) -> Judgement:
        self.asked.append(question)
        if isinstance(self.grade_given, Exception):
            raise self.grade_given
        return Judgement(grade=self.grade_given, votes=(Vote(replies=self.replies), Vote(replies=("{}",), cached=True)))


def a_job(folder: Path, kind: GradingType, files: tuple[WorkspaceFile, ...] = ()) -> GradeJob:
    """A trial whose agent has written `out.txt` and said so."""
    workspace, evidence = folder / "workspace", Evidence(folder=folder / "evidence")
    workspace.mkdir(exist_ok=True)
    evidence.folder.mkdir()
    (workspace / "out.txt").write_text("hello", encoding="utf-8")
    evidence.transcript.write_text(f"{json.dumps(MESSAGE)}\n" * 2, encoding="utf-8")
    keep_workspace(workspace, evidence.workspace)
    weights = {"automated": 0.5, "llm_judge": 0.5}
    task = made_task(
        grading_type=kind, grading_weights=weights, automated_checks=CHECK, workspace_files=files, digest="d"
    )
    return GradeJob(
        key=KEY,
        task=task,
        evidence=evidence,
        workspace=str(workspace),
        transcript_length=2,
        ended_at=1_000_000_000.0,
        timeout_s=30,
        marker="test-grader",
    )


async def grade_of(folder: Path, judge: FixedJudge, job: GradeJob, secrets: tuple[str, ...] = ()) -> Grade:
    with fail_after(60):
        return await a_grader(folder, judge, secrets).grade(job)


def a_grader(folder: Path, judge: FixedJudge | None = None, secrets: tuple[str, ...] = ()) -> Grader:
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    return Grader(judges=() if judge is None else (judge,), scratch=scratch, secrets=secrets)  # type: ignore[arg-type]


async def test_a_hybrid_task_is_graded_by_both(tmp_path: Path) -> None:
    judge = FixedJudge()
    grade = await grade_of(tmp_path, judge, a_job(tmp_path, GradingType.HYBRID))
    assert (grade.score, grade.breakdown, grade.digest) == (0.5, {"automated.turns": 0.5}, "d")
    assert isinstance(grade.check, CheckGrade)
    assert grade.judge is not None
    assert grade.judge == JudgeGrade(score=0.5, replies_digest=grade.judge.replies_digest)
    [question] = judge.asked
    assert "I have written out.txt." in question.material
    assert "hello" in question.material


@pytest.mark.parametrize(("gate", "asked"), [(0.5, 1), (0.75, 0)])
async def test_a_judge_behind_a_gate_is_asked_only_when_the_check_gives_enough(
    tmp_path: Path, gate: float, asked: int
) -> None:
    judge = FixedJudge(grade_given=JudgeGrade(score=1.0))
    job = a_job(tmp_path, GradingType.HYBRID)  # its check gives 0.5
    rule = ScoreRule(text="", judge_gate=gate, recomputes_judge=False)
    grade = await grade_of(tmp_path, judge, replace(job, task=replace(job.task, rule=rule)))
    assert len(judge.asked) == asked
    assert grade.score == pytest.approx(0.25 + 0.5 * asked)


async def test_all_replies_of_a_judge_are_kept_by_their_digest_and_without_keys(tmp_path: Path) -> None:
    judge = FixedJudge(replies=("the key is sk-0123456789abcdef \ud800", "x" * (REPLY_CHARS + 1)))
    job = a_job(tmp_path, GradingType.LLM_JUDGE)
    digests = []
    for score in (0.5, 0.5, 0.25):
        judge.grade_given = JudgeGrade(score=score, prompt_version="3")
        judge.replies = (*judge.replies, "again") if score == 0.25 else judge.replies
        grade = await grade_of(tmp_path, judge, job, secrets=("sk-0123456789abcdef",))
        assert grade.judge is not None
        digests.append(grade.judge.replies_digest)

    first, same, other = digests
    assert (first, len({first, other})) == (same, 2)
    assert len(list(job.evidence.folder.glob("judge-*.json"))) == 2  # an earlier grade may be the one that counts
    for digest in (first, other):
        assert sha256(job.evidence.judge_replies(digest).read_bytes()).hexdigest() == digest
    kept = json.loads(job.evidence.judge_replies(first).read_bytes())
    assert kept["mark"] == judge.asked[0].mark
    assert kept["votes"][0]["replies"] == ["the key is [key] \ufffd", "x" * REPLY_CHARS]
    assert (kept["votes"][1]["replies"], kept["votes"][1]["cached"]) == (["{}"], True)


@pytest.mark.parametrize("kind", [GradingType.AUTOMATED, GradingType.LLM_JUDGE])
async def test_only_those_are_asked_that_the_task_names(tmp_path: Path, kind: GradingType) -> None:
    judge = FixedJudge()
    grade = await grade_of(tmp_path, judge, a_job(tmp_path, kind))
    assert grade.score == 0.5
    assert (grade.check is not None, len(judge.asked)) == (
        kind is GradingType.AUTOMATED,
        int(kind is GradingType.LLM_JUDGE),
    )


@pytest.mark.parametrize("lost", ["transcript", "workspace"])
@pytest.mark.parametrize("kind", list(GradingType))
async def test_lost_evidence_is_named_and_nobody_is_asked_about_the_rest(
    tmp_path: Path, kind: GradingType, lost: str
) -> None:
    job = a_job(tmp_path, kind)
    getattr(job.evidence, lost).unlink()
    judge = FixedJudge()
    grade = await grade_of(tmp_path, judge, job)
    assert (grade.score, grade.ungraded, judge.asked) == (None, Ungraded.EVIDENCE_LOST, [])


async def test_a_bug_costs_one_trial_its_grade_and_shows_its_traceback(tmp_path: Path) -> None:
    judge = FixedJudge(grade_given=ZeroDivisionError("a bug of ours"))
    grade = await grade_of(tmp_path, judge, a_job(tmp_path, GradingType.LLM_JUDGE))
    assert (grade.score, grade.ungraded) == (None, Ungraded.GRADER_BUG)
    assert "ZeroDivisionError: a bug of ours" in grade.notes[0]


async def test_a_cancellation_ends_the_check_and_is_passed_on(tmp_path: Path) -> None:
    job = a_job(tmp_path, GradingType.AUTOMATED)
    endless = "def grade(transcript, workspace_path):\n    print('begun', flush=True)\n    while True: pass\n"
    job = replace(job, task=replace(job.task, automated_checks=endless))
    grader, log = a_grader(tmp_path), job.evidence.check_log
    with fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(grader.grade, job)
            await until(lambda: "begun" in log.read_text("utf-8") if log.exists() else False)
            group.cancel_scope.cancel()
    assert not (tmp_path / "scratch").exists()


def test_the_judge_is_told_which_files_are_the_tasks_own(tmp_path: Path) -> None:
    source = tmp_path / "given"
    (source / "sub").mkdir(parents=True)
    long = "a line of a long table\n" * (FILE_BYTES // 20)
    for name, text in (("same.txt", "same"), ("changed.txt", "before"), ("sub/long.csv", long)):
        (source / name).write_text(text, encoding="utf-8")
    workspace = tmp_path / "workspace"
    (workspace / "data" / "sub").mkdir(parents=True)
    for name, text in (("same.txt", "same"), ("changed.txt", "behind"), ("sub/long.csv", long), ("new.txt", "new")):
        (workspace / "data" / name).write_text(text, encoding="utf-8")
    (workspace / "note.md").write_text("a note", encoding="utf-8")
    files = (
        WorkspaceFile(dest="data", source=source),
        WorkspaceFile(dest="note.md", content="a note"),
    )
    job = a_job(tmp_path, GradingType.LLM_JUDGE, files)
    material = make_question(job.task, job.evidence, transcript_length=2).material
    places = {name: material.index(name) for name in ("same.txt", "long.csv", "note.md")}
    shown = {name: material.index(f"BEGIN file data/{name}") for name in ("changed.txt", "new.txt")}
    assert max(places["same.txt"], places["long.csv"], places["note.md"]) < min(shown["changed.txt"], shown["new.txt"])


def test_a_heap_of_long_files_does_not_hide_a_short_one(tmp_path: Path) -> None:
    heap = tmp_path / "workspace" / "cache"
    heap.mkdir(parents=True)
    for number in range(FILES_BYTES // FILE_BYTES + 6):
        (heap / f"{number:03}.log").write_text("x" * FILE_BYTES, encoding="utf-8")
    source = tmp_path / "given.log"
    source.write_text("y" * FILE_BYTES, encoding="utf-8")
    (tmp_path / "workspace" / "out").mkdir()
    (tmp_path / "workspace" / "out" / "report.md").write_text("THE REPORT", encoding="utf-8")
    job = a_job(tmp_path, GradingType.LLM_JUDGE, (WorkspaceFile(dest="cache/069.log", source=source),))
    question = make_question(job.task, job.evidence, transcript_length=2)
    assert "THE REPORT" in question.material
    assert question.cut[-1] == "the contents of 7 files that had no room to be read"
    # nobody has compared it with the task's own
    assert f"- cache/069.log: {FILE_BYTES} bytes, not shown: too large\n" in question.material
