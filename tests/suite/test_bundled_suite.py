"""The bundled suite as a whole: what it holds, how its files are made, and some of its checks in detail."""

import json
import re
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from statistics import correlation, mean, median
from typing import Any

import pytest

from bundled_suite import ROOT, SUITE, TASKS
from pinchbench.files.workspace import fill_workspace
from pinchbench.model.task import GradingType, Task, Tier
from pinchbench.suite.check_code import find_canary
from pinchbench.suite.solution import load_solution
from sampling import sampled

CATEGORIES = {
    *("coding", "data-analysis", "documents", "log-analysis", "meetings-email"),
    *("memory", "productivity", "research", "safety", "system-skills", "writing"),
}
HARD = [task for task in SUITE.tasks if task.tier is Tier.HARD]
GENERATORS_LIMIT_S = 900  # they work for twelve seconds, and a busy machine takes many times as long
STREAM = re.compile(rb"stream\r?\n(.*?)\r?\nendstream", re.DOTALL)
TEXTS = {".md", ".txt", ".csv", ".json", ".yaml", ".yml", ".eml", ".html", ".ics", ".py", ".log", ".sql", ".ndjson"}
HOST = re.compile(r"(?:https?://|[\w.]@)([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)")
NAMESPACES = {"schemas.openxmlformats.org", "www.w3.org"}
FICTIONAL = re.compile(r"(?:^|\.)(?:example|example\.(?:org|com|net)|test|invalid|local)$|^127\.0\.0\.1$|^[^.]+$")

# A check gets its transcript on stdin and answers with JSON, as it would in the runner's child process.
_GRADE = """
import inspect, json, sys
names = {}
exec(compile(open(sys.argv[1], encoding="utf-8").read(), sys.argv[1], "exec"), names)
chat = {"chat": []} if "chat" in inspect.signature(names["grade"]).parameters else {}
scores = names["grade"](json.load(sys.stdin), sys.argv[2], **chat)
scores.pop("events", None)
print(json.dumps(scores))
"""


def test_the_readme_counts_the_tasks_as_they_are() -> None:
    text = " ".join((ROOT.parent / "README.md").read_text(encoding="utf-8").split())
    kinds = Counter(task.grading_type for task in SUITE.tasks)
    both, check, judge = (kinds[kind] for kind in (GradingType.HYBRID, GradingType.AUTOMATED, GradingType.LLM_JUDGE))

    assert f"{len(SUITE.tasks)} tasks in eleven categories" in text
    assert f"{check} are graded by a check, {both} by a check and a judge, {judge} by a judge alone" in text
    assert f"`--suite hard` is {len(HARD)} long ones" in text


def grade(task: Task, workspace: Path, answer: str = "Done.") -> dict[str, float]:
    code = workspace.parent / "check.py"
    code.write_text(task.automated_checks or "", encoding="utf-8")
    reply = {"role": "assistant", "content": [{"type": "text", "text": answer}]}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _GRADE, str(code), str(workspace)],
        input=json.dumps([{"type": "message", "message": reply}]),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    scores: dict[str, float] = json.loads(done.stdout)
    return scores


def human_minutes(task: Task) -> int:
    """Return how long a person needs for a task, as its head states."""
    return int(str(task.frontmatter["human_minutes"]))


def near_miss_scores(task_id: str) -> list[float]:
    """Return what the near misses of a task earn: the middles of the ranges they state."""
    solution = load_solution(ROOT, task_id)
    assert solution is not None
    return [(one.low + one.high) / 2 for miss in solution.near_misses if (one := miss.check or miss.judge)]


def test_the_suite_has_over_forty_tasks_of_eleven_categories_and_three_ways_to_grade() -> None:
    assert len(SUITE.tasks) >= 40
    numbers = [int(task.task_id.split("_")[1]) for task in SUITE.tasks]
    assert numbers == sorted(set(numbers)), "a number that went with its task is not given again"
    assert SUITE.run_first == ("task_00_sanity",)
    by_category = Counter(task.category for task in SUITE.tasks)
    assert by_category.keys() == CATEGORIES
    assert min(by_category.values()) >= 3
    kinds = Counter(task.grading_type for task in SUITE.tasks)
    assert kinds[GradingType.AUTOMATED] >= 24
    assert kinds[GradingType.HYBRID] >= 12
    assert kinds[GradingType.LLM_JUDGE] >= 4


@pytest.mark.parametrize("task_id", TASKS)
def test_a_task_says_what_it_expects(task_id: str) -> None:
    task = TASKS[task_id]
    assert task.path is not None
    assert task.path.parent.name == task_id
    assert task.expected_behavior
    assert task.grading_criteria
    assert task.name != task_id
    assert task.frontmatter.get("asks")
    assert task.frontmatter.get("low_score")
    assert 120 <= task.timeout_s <= (600 if human_minutes(task) < 120 else 3600)
    assert set(task.prerequisites) <= {"git", "GNU coreutils and findutils"}
    assert bool(task.llm_judge_rubric) == (task.grading_type is not GradingType.AUTOMATED)
    if task.grading_type is GradingType.HYBRID:  # its check finds facts, whatever is said of them
        assert "A false statement that would make" in (task.llm_judge_rubric or "")


def test_each_task_has_a_canary_of_its_own_in_its_check_and_its_solution() -> None:
    canaries = {}
    for task_id, task in TASKS.items():
        canary = canaries[task_id] = str(task.frontmatter.get("canary"))
        solution = (SUITE.root / task_id / "solution.yaml").read_text("utf-8")
        assert find_canary([canary.encode()]) == canary
        assert solution.startswith(f"# {canary}\n")
        assert task.automated_checks is None or task.automated_checks.startswith(f"# {canary}\n")
        assert canary not in task.prompt

    assert len(set(canaries.values())) == len(TASKS)


@pytest.mark.parametrize("task_id", TASKS)
def test_a_task_has_a_solution_and_two_near_misses_that_are_no_solutions(task_id: str) -> None:
    judged = TASKS[task_id].grading_type is GradingType.LLM_JUDGE
    solution = load_solution(ROOT, task_id)
    assert solution is not None
    misses = solution.near_misses
    assert len(misses) == 2
    assert all((miss.judge if judged else miss.check) is not None for miss in misses)
    assert max(one.high for miss in misses for one in (miss.check, miss.judge) if one is not None) <= 0.9


class TestCore:
    def test_it_is_a_dozen_with_one_of_each_category_in_less_than_a_quarter_of_the_time(self) -> None:
        core = [TASKS[task_id] for task_id in SUITE.core]
        usual = [task for task in SUITE.tasks if task.tier is Tier.STANDARD]
        assert 10 <= len(core) <= 14
        assert {task.category for task in core} == {task.category for task in usual}
        assert {task.tier for task in core} == {Tier.STANDARD}
        assert sum(task.timeout_s for task in core) < sum(task.timeout_s for task in SUITE.tasks) / 4

    def test_it_orders_simulated_models_nearly_as_the_whole_suite_does(self) -> None:
        partial = {task_id: near_miss_scores(task_id) for task_id in TASKS}
        agreed = [self._agreement(Random(seed), partial) for seed in range(200)]
        assert mean(agreed) >= 0.9

    @staticmethod
    def _agreement(dice: Random, partial: Mapping[str, list[float]]) -> float:
        """How well the scores of simulated models in both suites go together: their correlation.

        A model solves a task, or does one of its near misses, or nothing, the more rarely the harder the task is for
        it.
        """
        models = [0.1 * step for step in range(1, 10)]
        hardness = {task_id: dice.random() for task_id in TASKS}

        def score(task_id: str, ability: float) -> float:
            margin = ability - hardness[task_id] + dice.gauss(0, 0.2)
            near = dice.choice(partial[task_id])
            return 1.0 if margin > 0 else near if margin > -0.4 else 0.0

        scores = [{task_id: score(task_id, ability) for task_id in TASKS} for ability in models]
        whole = [mean(one.values()) for one in scores]
        core = [mean(one[task_id] for task_id in SUITE.core) for one in scores]
        return correlation(whole, core)


def generated(expression: str) -> dict[str, Any]:
    """Return what an expression is with the names of `craft.form`, which bytecode in `tasks` would change."""
    program = f"from craft.form import *; print(json.dumps({expression}))"
    command = [sys.executable, "-B", "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=GENERATORS_LIMIT_S, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class TestHardTier:
    def test_its_tasks_take_people_longer_than_the_others(self) -> None:
        usual = median(human_minutes(task) for task in SUITE.tasks if task not in HARD)
        assert min(map(human_minutes, HARD)) >= 2 * usual

    @pytest.mark.parametrize("task", sampled(HARD, HARD[::5]), ids=lambda task: task.task_id)
    def test_its_checks_give_nothing_for_nothing(self, task: Task, tmp_path: Path) -> None:
        workspace = tmp_path / "workspace"
        fill_workspace(workspace, task.workspace_files)
        scores = grade(task, workspace)
        assert max(scores.values()) == 0

    @pytest.mark.long
    def test_its_checks_hold_the_values_that_the_generators_work_out(self) -> None:
        texts = generated("{str(path): text for path, text in expected_texts(Path()).items()}")
        for path, text in texts.items():
            assert text == (ROOT / path).read_text(encoding="utf-8"), "make it anew with: make suite"

    @pytest.mark.long
    def test_its_generators_make_other_files_and_other_answers_from_another_seed(self) -> None:
        found = generated("changed_by(Path(), 1)")
        assert found.keys() >= {task.task_id for task in HARD}
        assert set(map(tuple, found.values())) == {(True, True)}


class TestFixtures:
    @staticmethod
    def _meaning(path: Path) -> object:
        """What a file says, apart from how this machine's zlib and git have packed it."""
        data = path.read_bytes()
        if path.suffix == ".pdf" and b"FlateDecode" in data:
            head = data[: data.index(b"stream")]
            return head, [zlib.decompress(stream) for stream in STREAM.findall(data)]
        if path.suffix == ".gz":
            return zlib.decompress(data, wbits=31)
        if path.suffix == ".bundle":
            done = subprocess.run(
                ["git", "bundle", "list-heads", str(path)], capture_output=True, check=True, cwd=path.parent
            )
            return done.stdout
        return data

    @pytest.mark.long
    def test_the_generators_write_the_fixtures_as_they_are(self, tmp_path: Path) -> None:
        subprocess.run([sys.executable, "-B", str(ROOT), str(tmp_path)], timeout=GENERATORS_LIMIT_S, check=True)
        made = sorted(path for path in tmp_path.rglob("*") if path.is_file())
        assert len(made) > 100
        for path in made:
            assert self._meaning(path) == self._meaning(ROOT / path.relative_to(tmp_path)), path

    def test_every_fixture_belongs_to_a_task_and_is_small(self) -> None:
        sources = [file.source for task in SUITE.tasks for file in task.workspace_files if file.source is not None]
        sources += [one.folder for task in SUITE.tasks for one in task.services if one.folder is not None]
        files = [path for path in ROOT.glob("task_*/files/**/*") if path.is_file()]
        for path in files:
            assert not {path, *path.parents}.isdisjoint(sources), path
        assert sum(path.stat().st_size for path in files) < 6 * 1024 * 1024

    def test_no_task_names_a_host_that_could_exist(self) -> None:
        files = [path for path in ROOT.rglob("*") if path.is_file() and path.suffix in TEXTS]
        found = {
            (path.relative_to(ROOT).as_posix(), host.lower())
            for path in files
            # calendars and mails break long lines with a blank
            for host in HOST.findall(path.read_text(encoding="utf-8", errors="replace").replace("\n ", ""))
        }
        assert {(name, host) for name, host in found if host not in NAMESPACES and not FICTIONAL.search(host)} == set()


@pytest.mark.parametrize(
    ("start", "end", "points"),
    [
        ("DTSTART:20260514T173000Z", "DTEND:20260514T190000Z", 1.0),
        ("DTSTART:20260514T193000", "DURATION:PT1H30M", 1.0),
        ("DTSTART;TZID=Europe/Berlin:20260514T193000", "DTEND;TZID=Europe/Berlin:20260514T210000", 1.0),
        ("DTSTART:20260514T193000Z", "DTEND:20260514T210000Z", 0.5),
        ("DTSTART:20260515T193000", "DTEND:20260515T210000", 0.0),
    ],
)
def test_the_calendar_check_reads_times_by_their_meaning(start: str, end: str, points: float, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    lines = ["BEGIN:VCALENDAR", "BEGIN:VEVENT", "UID:1", "DTSTAMP:20260101T000000Z", start, end]
    lines += ["SUMMARY:Extra choir", "  rehearsal", "END:VEVENT", "END:VCALENDAR", ""]
    (workspace / "rehearsal.ics").write_bytes("\r\n".join(lines).encode("utf-8"))
    scores = grade(TASKS["task_01_calendar"], workspace)
    assert (scores["well_formed"], scores["title"]) == (1.0, 1.0)
    assert (scores["start"], scores["end"]) == (points, points)
