"""Tasks tried without an agent: what is not as a script states is found, and nothing stays behind."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from anyio import create_task_group, fail_after, open_process, to_thread

from fake_judge import failing, fake_judge, good
from made_tasks import task_text
from pinchbench.authoring.check import check_tasks
from pinchbench.authoring.check_results import CheckedTask, Part
from pinchbench.authoring.template import write_skeleton
from pinchbench.cli.selected_tasks import with_solutions
from pinchbench.config.asked_models import JudgeConfig
from pinchbench.grading.check_sandbox import CheckSandbox
from pinchbench.model.task import GradingType
from pinchbench.sandbox.levels import Level, find_support
from pinchbench.suite.loading import load_suite, solution_of
from pinchbench.suite.solution import load_solution
from sampling import sampled
from suite_packs import put, write_claw_bench, write_harbor, write_wildclaw

pytestmark = pytest.mark.usefixtures("checks_in_process")

REFUSED = find_support().reason(Level.NAMESPACES)

CHECK = """
    def grade(transcript, workspace_path):
        from pathlib import Path
        done = Path(workspace_path, "done.txt")
        said = sum(entry.get("message", {}).get("role") == "assistant" for entry in transcript)
        return {"done": float(done.exists()), "said": min(1.0, said / 2)}
"""


@pytest.fixture(autouse=True)
def run_root(tmp_path: Path) -> Iterator[Path]:
    """Where scripts are played; it is empty again after each test."""
    folder = tmp_path / "pb"
    yield folder
    assert not folder.exists() or list(folder.iterdir()) == []


def suite(folder: Path, *, check: str = CHECK, solution: str | None = None) -> Path:
    """Write a suite of one task, `task_a`."""
    root = folder / "tasks"
    put(root / "task_a" / "task.md", task_text(check=check))
    if solution is not None:
        put(root / "solutions" / "task_a.yaml", solution)
    return root


async def results(root: Path, **options: Any) -> tuple[CheckedTask, ...]:
    tasks = [(task, load_solution(root, task.task_id)) for task in load_suite(root).suite.tasks]
    reported: list[CheckedTask] = []

    def show(some: Sequence[CheckedTask]) -> None:
        reported.extend(some)

    found = await check_tasks(tasks, show=show, run_root=root.parent / "pb", **options)
    assert sorted(reported, key=str) == sorted(found, key=str)
    return found


async def test_scripts_that_score_as_they_state_have_no_problems(tmp_path: Path) -> None:
    root = suite(
        tmp_path,
        solution="""
            turns: [{steps: [{tool: exec, args: {command: touch done.txt}}], answer: Done.}]
            near_misses:
              - {name: Told only, check: [0.2, 0.3], turns: [{answer: Done.}]}
              - {name: Told nothing, check: [0.7, 0.8], turns: [{steps: [{tool: read, args: {path: x}}], answer: x}]}
        """,
    )
    found = await results(root)
    assert [(one.part, one.check, bool(one.problems)) for one in found] == [
        (Part.ORACLE, 1.0, False),
        (Part.NEAR_MISS, 0.25, False),
        (Part.NEAR_MISS, None, True),  # there is no file to read
        (Part.NOTHING, 0.25, True),  # it says so much by a polite answer
    ]
    assert found[3].problems == ("its check gives 0.250, not 0 to 0.2 (done 0.00, said 0.50)",)


SAYS = "turns: [{answer: Done.}]"
LIED = "def grade(t, w): return {'a': 1, 'events': {'harmed': [0, 3], 'false_claim': [1, 3]}}\n"


@pytest.mark.parametrize(
    ("check", "solution", "part", "problem"),
    [
        (CHECK, SAYS, Part.ORACLE, "its check gives 0.250, not 1 to 1"),
        (CHECK, "turns: [{answer: a}, {answer: b}]", Part.ORACLE, "it has 2 turns, the task 1"),
        (
            CHECK,
            f"{SAYS}\nnear_misses: [{{name: n, judge: [0, 0.5], {SAYS}}}]",
            Part.NEAR_MISS,
            "it does not state its score",
        ),
        (LIED, SAYS, Part.ORACLE, "its check counts false_claim 1 of 3: a solution does nothing wrong"),
        ("def grade(t, w): raise KeyError('x')\n", None, Part.NOTHING, "its check gave no score, check_raised"),
        ("def grade(t, w): return {}\n", None, Part.NOTHING, "its check gave no score, check_no_scores"),
    ],
)
async def test_what_is_not_as_stated_is_named(
    tmp_path: Path, check: str, solution: str | None, part: Part, problem: str
) -> None:
    found = await results(suite(tmp_path, check=check, solution=solution))
    [one] = [one for one in found if one.part is part]
    assert one.problems
    assert one.problems[0].startswith(problem)


async def test_rubrics_are_tried_with_a_judge_alone(tmp_path: Path) -> None:
    for grading in (GradingType.HYBRID, GradingType.LLM_JUDGE):
        write_skeleton(tmp_path / "new", f"task_{grading.value}", grading=grading, category="mine")
    unjudged = await results(tmp_path / "new")
    assert {one.judge for one in unjudged} == {None}
    assert [one.problems for one in unjudged] == [()] * 8
    async with fake_judge(good(0.9)) as judge:
        config = JudgeConfig(model="judge-1", base_url=judge.base_url, cache=False)
        judged = await results(tmp_path / "new", judge=config)
    assert {one.judge for one in judged} == {0.9}
    wrong = [(one.part, one.problems) for one in judged if one.problems]
    assert {part for part, _ in wrong} == {Part.NEAR_MISS, Part.NOTHING}
    assert len(wrong) == 6
    assert all(problems[0].startswith("the judge gives 0.900, not 0") for _, problems in wrong)


async def test_a_judge_that_can_not_be_asked_is_asked_once_and_is_no_fault_of_the_task(tmp_path: Path) -> None:
    write_skeleton(tmp_path / "new", "task_a", grading=GradingType.HYBRID, category="mine")
    async with fake_judge(failing(401)) as judge:
        config = JudgeConfig(model="judge-1", base_url=judge.base_url, cache=False)
        found = await results(tmp_path / "new", judge=config)
    assert len(judge.requests) == 1
    assert [one.problems for one in found] == [()] * 4
    assert all(one.untried.startswith("its rubric: judge_refused: ") for one in found)


async def test_a_task_whose_program_is_missing_is_not_tried(tmp_path: Path) -> None:
    root = suite(tmp_path, solution="turns: [{answer: Done.}]")
    path = root / "task_a" / "task.md"
    head = "id: task_a\nprerequisites: [sh, no-such-program, a good mood]"
    path.write_text(path.read_text(encoding="utf-8").replace("id: task_a", head), encoding="utf-8")
    for one in await results(root):
        assert (one.untried, one.problems) == ("the program no-such-program is missing", ())


class TestEndingEarly:
    @staticmethod
    def stuck(folder: Path) -> tuple[Path, Path]:
        """A suite whose solution says that it is there and then stays; and the pipe by which it says so."""
        fifo = folder / "reached"
        os.mkfifo(fifo)
        command = f"echo $$ > {fifo}; exec sleep 600"
        solution = f'turns: [{{steps: [{{tool: exec, args: {{command: "{command}"}}}}], answer: Done.}}]'
        return suite(folder, solution=solution), fifo

    @staticmethod
    def command(root: Path) -> list[str]:
        where = ["--tasks-dir", str(root), "--run-root", str(root.parent / "pb")]
        return [sys.executable, "-m", "pinchbench", "tasks", "check", *where]

    async def test_a_cancellation_leaves_nothing_behind(self, tmp_path: Path) -> None:
        root, fifo = self.stuck(tmp_path)
        with fail_after(240):
            async with create_task_group() as group:
                group.start_soon(results, root)
                pid = int(await to_thread.run_sync(fifo.read_text, abandon_on_cancel=True))
                group.cancel_scope.cancel()
        assert not psutil.pid_exists(pid)

    @pytest.mark.parametrize("number", sampled([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], {signal.SIGTERM}))
    async def test_a_signal_says_what_was_done_and_leaves_nothing_behind(
        self, tmp_path: Path, number: signal.Signals
    ) -> None:
        root, fifo = self.stuck(tmp_path)
        async with await open_process(self.command(root)) as runner:
            with fail_after(240):
                pid = int(await to_thread.run_sync(fifo.read_text, abandon_on_cancel=True))
                runner.send_signal(number)
                assert runner.stderr is not None
                said = b"".join([part async for part in runner.stderr]).decode()
                assert await runner.wait() == 128 + number
        assert not psutil.pid_exists(pid)
        assert f"{number.name}: Ending the running scripts." in said
        assert f"Error: {number.name} came; 0 of 1 tasks were checked." in said

    async def test_what_a_killed_one_left_is_removed_by_the_next(self, tmp_path: Path) -> None:
        root, fifo = self.stuck(tmp_path)
        async with await open_process(self.command(root)) as runner:
            with fail_after(240):
                await to_thread.run_sync(fifo.read_text, abandon_on_cancel=True)
                runner.send_signal(signal.SIGKILL)
                await runner.wait()
        assert len(list((tmp_path / "pb").iterdir())) == 1
        (root / "solutions" / "task_a.yaml").unlink()
        await results(root)


async def test_the_solutions_of_other_formats_are_played_and_their_scores_reported(tmp_path: Path) -> None:
    loaded = load_suite(write_claw_bench(tmp_path / "pack"))
    tasks = [(task, solution_of(loaded.suite, task)) for task in loaded.suite.tasks if task.task_id == "mail-001"]
    found = await check_tasks(tasks, show=lambda _: None, run_root=tmp_path / "pb")
    assert [(one.part, one.problems) for one in found] == [(Part.ORACLE, ()), (Part.NOTHING, ())]
    assert [one.check for one in found] == [pytest.approx(19 / 20), pytest.approx(4 / 20)]
    assert not list((tmp_path / "pack").rglob("*beside*"))


@pytest.mark.usefixtures("checks_apart")
@pytest.mark.skipif(bool(REFUSED), reason=f"needs namespaces: {REFUSED}")
@pytest.mark.parametrize(
    ("write", "scores"), [(write_harbor, [0.5, 0.0]), (write_wildclaw, [0.75, 0.0])], ids=["harbor", "wildclaw"]
)
async def test_solutions_of_tasks_that_state_paths_are_played_where_these_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], Path], scores: list[float]
) -> None:
    monkeypatch.setattr("pinchbench.authoring.check.check_sandbox", CheckSandbox)  # in tests there is none otherwise
    root = write(tmp_path / "pack")
    if write is write_wildclaw:
        command = "test -f /root/skills/minutes/SKILL.md && printf hello > /tmp_workspace/out.txt"
        step = f"{{tool: exec, args: {{command: {command!r}}}}}"
        put(root / "solutions" / "01_Office_task_1_minutes.yaml", f"turns: [{{steps: [{step}], answer: Done.}}]\n")
    suite = load_suite(root).suite
    found = await check_tasks(with_solutions(suite, suite.tasks), show=lambda _: None, run_root=tmp_path / "pb")
    assert [(one.part, one.untried, one.check) for one in found] == [
        (Part.ORACLE, "", scores[0]),
        (Part.NOTHING, "", scores[1]),
    ], found


async def test_scripts_say_what_a_simulated_user_says_and_may_differ_in_it(tmp_path: Path) -> None:
    solution = """
        turns:
          - answer: For which day?
          - user: For Friday.
            steps: [{tool: write, args: {path: done.txt, content: Friday}}]
            answer: Done.
        near_misses:
          - name: Asked nothing
            check: [0, 0]
            turns:
              - answer: Done.
    """
    check = """
        def grade(transcript, workspace_path):
            said = [one["message"]["content"] for one in transcript if one.get("message", {}).get("role") == "user"]
            return {"asked": float("For Friday." in str(said))}
    """
    root = suite(tmp_path, check=check, solution=solution)
    file = root / "task_a" / "task.md"
    file.write_text(file.read_text("utf-8") + "\n## Simulated User\n\nYou are Ada.\n", "utf-8")
    found = await results(root)
    assert [(one.name, one.problems) for one in found] == [("oracle", ()), ("Asked nothing", ()), ("nothing", ())]
