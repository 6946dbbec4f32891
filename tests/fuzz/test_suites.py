"""Task files, manifests and solutions in any state: a value or a list of problems, and nothing else."""

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fuzz.examples import examples_of
from fuzz.mutation import data, texts
from made_tasks import made_task
from pinchbench.errors import SuiteError
from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.grading.judge.criteria import read_criteria
from pinchbench.model.task import GradingType, Task, TaskProblem
from pinchbench.suite.fixtures import relative_path
from pinchbench.suite.loading import load_suite
from pinchbench.suite.parse import head_id, parse_task
from pinchbench.suite.reading import BrokenTaskError
from pinchbench.suite.solution import parse_solution
from pinchbench.suite.suite_manifest import parse_manifest
from pinchbench.suite.yaml_nodes import YamlNode, YamlTextError, read_yaml

ROOT = bundled_tasks_dir()
RICH_TASK = """---
id: task_rich
name: "Rich"
category: coding
grading_type: hybrid
timeout_seconds: 90.5
grading_weights: {automated: 0.25, llm_judge: 0.75}
prerequisites: [git, "node 24"]
sessions:
  - prompt: first
    id: one
  - message: |
      second
    new_session: true
  - third
workspace_files:
  - source: assets/data.csv
    dest: in/data.csv
  - path: notes.txt
    content: |
      a
       b
  - source: data.csv
date: 2026-01-01
flag: !!bool yes
time: 12:30:45
---
## Prompt
Do *it*.
~~~~text
## Not a heading
~~~~
## Expected Behavior
Works.
## Grading Criteria
- [ ] one
* [x] two
## Automated Checks ##
1. ```python
   import re
   def grade(transcript, workspace_path):
       return {"one": 1.0}
   ```
## LLM Judge Rubric
### Criterion 1: Clarity (weight: 40 %)
### Criterion 2: Facts (60 %)
- **Excellent** (100 %): all
## Additional Notes
none
"""
# The short ones are enough to begin with: what is drawn from long texts takes long and finds no more.
TASKS = [RICH_TASK, *(path.read_text("utf-8") for path in sorted(ROOT.glob("task_0[0-5]_*/task.md")))]
HEADS = [text.split("---")[1] for text in TASKS]
SOLUTIONS = [path.read_text("utf-8") for path in sorted(ROOT.glob("*/solution.yaml"))]
MANIFESTS = [
    (ROOT / "manifest.yaml").read_text("utf-8"),
    (
        "run_first: [task_a]\ncore:\n- task_a\n- task_b\ncategories:\n  coding: [task_a, task_x]\n  writing: "
        "[task_b, task_a]\n"
    ),
]
YAMLS = [
    *HEADS,
    "a: &a [1, 2.5, .inf, .nan, 0o17, 0x1f, 1_000, 12:30, ~, yes, on]\nb: *a\n",
    "base: &b {x: 1}\nover:\n  <<: *b\n",
    '"\\ud83d\\ude00": "\\x07\\u202e"\n? [complex]\n: v\n',
    "!!set {a, b}\n",
    "a: !!int x\nb: !!binary aGk=\nc: !!timestamp 2026-13-45\nd: !!float _\ne: !!int 0b\nf: !!bool maybe\n",
    "%YAML 1.1\n--- >-\n folded\n text\n...\n",
    "[" * 80 + "]" * 80,
    "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: &d [*c, *c]\n",
    "a: &a\n  - *a\n",
    "|\n  text\n",
]
PATH = Path("task_fuzz.md")


def nodes(root: YamlNode) -> Iterator[YamlNode]:
    yield root
    for child in (*(root.items or ()), *(root.fields or {}).values()):
        yield from nodes(child)


def check_problems(problems: Sequence[TaskProblem], lines: int) -> None:
    assert problems
    assert all(1 <= problem.line <= lines and problem.reason for problem in problems)


def check_task(task: Task, root: Path | None = None) -> None:
    assert 0 < task.timeout_s <= 24 * 60 * 60
    assert math.isclose(sum(task.grading_weights.values()), 1.0)
    assert all(0 <= weight <= 1 for weight in task.grading_weights.values())
    assert task.turns
    assert all(turn.prompt.strip() for turn in task.turns)
    assert relative_path(task.task_id) == task.task_id
    assert "/" not in task.task_id
    for file in task.workspace_files:
        assert relative_path(file.dest) == file.dest
        assert (file.source is None) != (file.content is None)
        if file.source is not None:
            # relative as it was written; below the suite's own folders once it was found
            assert root is None or file.source.is_relative_to(root)
            assert root is not None or not file.source.is_absolute()
            assert ".." not in file.source.parts
    if task.grading_type is not GradingType.LLM_JUDGE:
        assert task.automated_checks is not None
        compile(task.automated_checks, "<check>", "exec", dont_inherit=True)
    # whatever is kept of a task can be written down
    for text in (task.name, task.category, task.prompt, json.dumps(task.frontmatter, allow_nan=False)):
        text.encode()


@given(texts(TASKS))
@example("---\nid: !!float 1:2:x\nname: !!int ''\n---\n")
@example('---\na: "\\UFFFFFFFF"\n---\n')
@examples_of("task")
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_a_task_file_is_a_usable_task_or_a_list_of_problems_that_name_its_lines(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()  # a file that is no UTF-8 is refused before it is parsed
    if (task_id := head_id(text)) is not None:
        assert "\n" not in task_id
    try:
        parsed = parse_task(text, path=PATH)
    except BrokenTaskError as error:
        lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 2
        check_problems(error.problems, lines)
        return
    check_task(parsed.task)
    assert len(parsed.dest_lines) == len(parsed.task.workspace_files)


@given(text=texts(TASKS), kept=st.sampled_from(["prompt", "head"]))
@examples_of("criteria")
def test_the_criteria_of_any_rubric_have_names_and_weights_that_are_shares(text: str, kept: str) -> None:
    task = made_task(
        llm_judge_rubric=text if kept == "head" else None,
        grading_criteria=tuple(text.split("\n")) if kept == "prompt" else (),
    )
    criteria = read_criteria(task)
    names = [one.name for one in criteria]
    assert len({name.casefold() for name in names}) == len(names)
    "".join(names).encode()
    weights = [one.weight for one in criteria if one.weight is not None]
    assert len(weights) in (0, len(criteria))
    assert not weights or math.isclose(sum(weights), 1.0)
    assert all(0 < weight <= 1 for weight in weights)


@given(texts(YAMLS))
@examples_of("yaml")
def test_a_yaml_text_is_nodes_that_can_be_written_as_json_or_has_a_line_that_is_wrong(text: str) -> None:
    try:
        root = read_yaml(text)
    except YamlTextError as error:
        check_problems([TaskProblem(path=PATH, line=error.line, reason=error.reason)], text.count("\n") + 2)
        return
    for node in nodes(root) if root is not None else ():
        assert node.line >= 1
        assert node.text is None or not (node.items or node.fields)
        assert not isinstance(node.value, float) or math.isfinite(node.value)
        assert not isinstance(node.value, str) or node.value.encode() is not None


@given(texts(MANIFESTS))
@examples_of("manifest")
def test_a_manifest_names_only_tasks_that_exist(text: str) -> None:
    known = {"task_a": "task_a", "task_b": "task_b", "task_b.md": "task_b", "task_00_sanity": "task_00_sanity"}
    manifest = parse_manifest(text, path=PATH, known=known)
    named = {*manifest.run_first, *manifest.core, *manifest.categories}
    assert named | (manifest.listed or set()) <= set(known.values())
    assert manifest.listed is None or named <= manifest.listed
    assert all(problem.line >= 1 and problem.reason for problem in manifest.problems)


@given(texts(SOLUTIONS))
@examples_of("solution")
def test_a_solution_has_turns_or_its_problem_has_a_line(text: str) -> None:
    try:
        solution = parse_solution(text, path=PATH)
    except SuiteError as error:
        assert str(error).startswith(f"{PATH}:")  # noqa: PT017 - one of two good ends
        return
    assert solution.turns
    assert all(step.tool for turn in solution.turns for step in turn.steps)


@pytest.fixture(scope="module")
def suite_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suite")
    (folder / "assets").mkdir()
    (folder / "assets" / "data.csv").write_text("a,b\n", encoding="utf-8")
    return folder


@given(
    files=st.lists(data([text.encode() for text in TASKS]), min_size=1, max_size=2),
    manifest=data([text.encode() for text in MANIFESTS]),
)
@examples_of("task files")
def test_a_folder_of_such_files_is_a_suite_or_one_sentence_with_all_problems(
    suite_folder: Path, files: list[bytes], manifest: bytes
) -> None:
    for number in range(2):
        (suite_folder / f"task_{number}.md").write_bytes(files[number] if number < len(files) else b"no task")
    (suite_folder / "manifest.yaml").write_bytes(manifest)
    try:
        loaded = load_suite(suite_folder, skip_broken=True)
    except SuiteError as error:
        assert str(suite_folder) in str(error)  # noqa: PT017 - one of two good ends
        return
    for task in loaded.suite.tasks:
        check_task(task, suite_folder.resolve())
        assert len(task.digest) == 64
    ids = [task.task_id.lower() for task in loaded.suite.tasks]
    assert len(set(ids)) == len(ids)
