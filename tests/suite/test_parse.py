"""Task Markdown in, task out."""

import json
import math
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinchbench.model.task import GradingType, SimulatedUser, Task, Turn, WorkspaceFile
from pinchbench.suite.check_code import check_problem
from pinchbench.suite.fixtures import relative_path
from pinchbench.suite.formats.markdown_folder import is_template
from pinchbench.suite.parse import head_id, parse_task
from pinchbench.suite.reading import BrokenTaskError

PATH = Path("tasks/task_x.md")
CHECK = "def grade(transcript, workspace_path):\n    return {'done': 1.0}"


def body(*, prompt: str = "Do it.", check: str = CHECK) -> str:
    return f"\n## Prompt\n\n{prompt}\n\n## Automated Checks\n\n```python\n{check}\n```\n"


def text(head: str = "id: task_x", rest: str | None = None) -> str:
    return f"---\n{dedent(head).strip()}\n---\n{body() if rest is None else rest}"


def parse(source: str) -> Task:
    return parse_task(source, path=PATH).task


def problems(source: str) -> list[tuple[int, str]]:
    with pytest.raises(BrokenTaskError) as caught:
        parse_task(source, path=PATH)
    assert all(problem.path == PATH for problem in caught.value.problems)
    return [(problem.line, problem.reason) for problem in caught.value.problems]


FULL = """\
---
id: task_full
name: A full task
category: data
grading_type: hybrid
timeout_seconds: 90
grading_weights: {automated: 3, llm_judge: 1}
workspace_files:
  - source: depot/in.csv
  - source: assets/big
    dest: data/big
  - path: ./notes//a.txt
    content: |
      one
      two
prerequisites: [cli:git, "npm:x"]
network: true
difficulty: 3
released: 2026-01-02
---

# A title that is ignored

## Prompt

Do it.

## expected behavior  ##

It is done.

## Grading Criteria

- [ ] one
- [x] two
* [X]\tthree
- not a box

## Automated Checks

Words before the fence.

```python
def grade(transcript, workspace_path):
    return {"done": 1.0}
```

## LLM Judge Rubric\t

Judge well.

## Something Else

Ignored.

## Additional Notes

A note.
"""


@pytest.mark.parametrize(
    ("title", "language", "refused"),
    [
        ("Seed Post", "bash", True),
        ("Workspace Setup", "sh", True),
        ("Setup", "json", False),
        ("How people do it", "bash", False),
    ],
)
def test_a_section_whose_script_would_have_to_run_first_is_a_problem(title: str, language: str, refused: bool) -> None:
    source = text(rest=f"{body()}\n## {title}\n\n```{language}\nmkdir x\n```\n")
    if refused:
        [(line, said)] = problems(source)
        assert (line, said.partition(":")[0]) == (16, f"`## {title}` prepares something that this runner does not")
    else:
        assert parse(source).task_id == "task_x"


def test_checks_in_the_head_are_a_problem_and_their_names_are_not() -> None:
    [(line, said)] = problems(text("id: task_x\nchecks: [made, right]\noutcome_check: {unsafe_if: [made]}"))
    assert (line, said.partition(":")[0]) == (4, "`outcome_check` has no meaning here")


def test_a_rubric_in_the_head_is_a_problem_where_a_judge_would_get_no_other() -> None:
    head = "id: task_x\ngrading_type: hybrid\nrubric_version: '2'\nrubrics: [{content: It is there.}]"
    said = "`rubrics` has no meaning here: grade in `## Automated Checks`, or by a `## LLM Judge Rubric`"
    assert problems(text(head)) == [(5, said)]
    assert parse(text(head, f"{body()}\n## LLM Judge Rubric\n\nBe fair.\n")).llm_judge_rubric == "Be fair."
    assert parse(text(head.replace("hybrid", "automated"))).llm_judge_rubric is None


def test_every_part_of_the_format_is_read() -> None:
    parsed = parse_task(FULL, path=PATH)
    assert parsed.id_line == 2
    assert parsed.dest_lines == (9, 10, 12)
    task = parsed.task
    assert (task.task_id, task.name, task.category) == ("task_full", "A full task", "data")
    assert task.grading_type is GradingType.HYBRID
    assert task.timeout_s == 90
    assert task.grading_weights == {"automated": 0.75, "llm_judge": 0.25}
    assert task.workspace_files == (
        WorkspaceFile(dest="in.csv", source=Path("depot/in.csv")),
        WorkspaceFile(dest="data/big", source=Path("assets/big")),
        WorkspaceFile(dest="notes/a.txt", content="one\ntwo\n"),
    )
    assert task.prerequisites == ("cli:git", "npm:x")
    assert task.network
    assert task.prompt == "Do it."
    assert task.turns == (Turn(prompt="Do it."),)
    assert task.expected_behavior == "It is done."
    assert task.grading_criteria == ("one", "two", "three")
    assert task.automated_checks == 'def grade(transcript, workspace_path):\n    return {"done": 1.0}'
    assert task.llm_judge_rubric == "Judge well."
    assert task.additional_notes == "A note."
    assert task.path == PATH
    assert json.loads(json.dumps(task.frontmatter, allow_nan=False)) == task.frontmatter
    assert task.frontmatter["difficulty"] == 3
    assert task.frontmatter["released"] == "2026-01-02"


@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029"])
def test_what_only_yaml_takes_for_the_end_of_a_line_does_not_count_as_one(mark: str) -> None:
    [(line, reason)] = problems(text(f"id: task_x\nname: 'a{mark}{mark}b'\ntimeout_seconds: never"))
    assert line == 4
    assert "timeout_seconds" in reason


def test_values_that_yaml_would_convert_stay_as_they_were_written() -> None:
    head = """
        id: 007
        name: 2026-01-01
        category: 1_000
        prerequisites: [1.50, yes]
        workspace_files:
          - {path: 2024-02-30, content: 2024-01-01}
          - {path: 0x1F, content: 1e3}
          - {path: on, content: }
    """
    task = parse(text(head))
    assert (task.task_id, task.name, task.category) == ("007", "2026-01-01", "1_000")
    assert task.prerequisites == ("1.50", "yes")
    assert [(file.dest, file.content) for file in task.workspace_files] == [
        ("2024-02-30", "2024-01-01"),
        ("0x1F", "1e3"),
        ("on", ""),
    ]


NO_FOLDER_NAME = ("../x", "a b", "-x", ".x", "é", "a/b", "A" * 101, "x\\y")
NO_TIMEOUT = ("0", "-1", ".nan", ".inf", "86401", "soon", "true", "[1]", "1e999", "9" * 5000, "1:30")
NO_WEIGHTS = ("{automated: -1}", "{automated: 0, llm_judge: 0}", "{automated: much}", "[1, 2]", "0.5")
NO_SESSION = ("''", "{id: a}", "[a]", "{prompt: '  '}", "{prompt: {a: b}}")
NO_FILE = ("{dest: a}", "{source: a, content: b, path: c}", "{content: a}", "{path: a, source: }", "[a]")
SETUP = (
    *(
        "pre_exec_command: rm -rf ~/x",
        "postExec: [a]",
        "setup: a",
        "set_up_script: a",
        "docker_image: a",
        "env: {A: b}",
    ),
    *("init-command: a", "mcp_servers: {a: {}}", "teardown: a"),
    *("pip_packages: [pandas]", "before_all: [a]", "memory_seed: [a]", "initial_state: {a: b}", "secrets: [A]"),
    *("input_files: [a.csv]", "attachments: [{path: a}]", "dataset_dir: a", "cwd: a", "freeze_time: 2024-01-01"),
    *("turns: [a, b]", "follow_ups: [a]", "system_prompt: a", "disallowed_tools: [exec]", "user_simulator: {a: b}"),
    *("environment: {API_KEY: a}", "openclaw_config: {a: b}"),
)
PROBLEMS = (
    *((f"id: {value}", 2, "can't be a folder name") for value in NO_FOLDER_NAME),
    *(
        (f"id: {value}", 2, f"`id` {value!r} is reserved")  # these are links to the workspaces
        for value in ("Workspace", "workspace-2", "workspace-12.new", "workspace.NEW")
    ),
    *((f"id: x\ntimeout_seconds: {value}", 3, "must be a number above 0 and at most 86400") for value in NO_TIMEOUT),
    *(
        (f"id: x\ngrading_type: hybrid\ngrading_weights: {value}", 4, "`grading_weights` needs positive numbers")
        for value in NO_WEIGHTS
    ),
    *(
        (f"id: x\nruns: {value}", 3, "`runs` must be a whole number from 1 to 1000")
        for value in ("0", "-1", "1001", "2.5", "true", "often", "[3]")
    ),
    *(
        (f"id: x\n{key}: 300", 3, f"`{key}` has no meaning here: state the limit as `timeout_seconds`")
        for key in ("timeout_minutes", "time_limit", "max_seconds")
    ),
    ("id: x\nrequires_network: true", 3, "`requires_network` has no meaning here: state it as `network: true`"),
    ("id: x\ngrading_type: hybrid\nweights: {automated: 1, llm_judge: 3}", 4, "state the weights as `grading_weights`"),
    ("id: x\ngrading_type: hybrid\ngrading_weights: {automated: 1, judge: 3}", 4, "`judge` of `grading_weights`"),
    ("id: x\ntier: harder", 3, "`tier` is 'harder', not one of standard, hard"),
    ("id: x\ntier: 'very hard'", 3, "`tier` is 'very hard', not one of standard, hard"),
    ("id: x\ntier: [hard]", 3, "`tier` must be text"),
    *((f"id: x\nsessions:\n  - ok\n  - {value}", 5, "must be a text, or have a `prompt`") for value in NO_SESSION),
    ("id: x\nsessions:\n  - prompt: a\n    new_session: often", 5, "`new_session` must be true or false"),
    ("id: x\nsessions: hello", 3, "`sessions` must be a list"),
    *(
        (f"id: x\nworkspace_files:\n  - {value}", 4, "a workspace file needs `source` (and `dest`), or `path` and")
        for value in NO_FILE
    ),
    ("id: x\nworkspace_files:\n  - {path: a, content: {b: c}}", 4, "must be text: put it into quotes or behind `|`"),
    ("id: x\nworkspace_files:\n  - {path: a/, content: b}", 4, "`path` names a folder"),
    ("id: x\nworkspace_files:\n  - ../a", 4, "`workspace_files` '../a' holds `..`"),
    ("id: x\nworkspace_files:\n  - {source: c/a, dest: b/}\n  - {source: a, dest: b/}", 5, "two workspace files have"),
    *((f"id: x\n{key}", 3, f"`{key.partition(':')[0]}` prepares something that") for key in SETUP),
    ("id: x\nopenclaw: {plugins: [a]}", 3, "`openclaw.plugins` prepares something that"),
    ("id: x\nsessions:\n  - {prompt: a, setup_command: b}", 4, "`setup_command` prepares something that"),
    ("id: x\nworkspace_files:\n  - {source: a, target: b}", 4, "`target` of a workspace file is not known"),
    ("id: x\nworkspace_files:\n  - {path: a, content: b, encoding: base64}", 4, "`encoding` of a workspace file"),
    ("id: x\nworkspace_files:\n  - $WORKSPACE/a", 4, "starts with $WORKSPACE: it must be relative"),
    (f"id: x\nworkspace_files:\n  - {{path: {'ä' * 128}, content: b}}", 4, "has a name of more than 255 bytes"),
    ('id: x\nname: "\\0"', 3, "an escape such as \\0 stands for NUL"),
    ("id: x\nworkspace_files:\n  - {path: [a], content: b}", 4, "`path` must be text"),
    ("id: x\nworkspace_files:\n  - {source: [a]}", 4, "`source` must be text"),
    ("id: x\nworkspace_files:\n  - {path: a/b, content: ''}\n  - {source: c, dest: ./a//b}", 5, "the place 'a/b'"),
    ("id: x\nname: a: b", 3, "not valid YAML: mapping values are not allowed here"),
    ("id: x\nsessions:\n\t- a", 4, "found character '\\t' that cannot start any token"),
    ("id: x\nname: a\x07b", 3, "not valid YAML: it holds a character that YAML does not allow"),
    ("id: x\nname: *nobody", 3, "found undefined alias"),
    ("id: x\nbase: &b {a: 1}\nmore: {<<: *b}", 4, "merge keys (<<) are not supported: write the values out"),
    ("id: x\n? [a, b]\n: c", 3, "a key must be plain text"),
    ('id: x\nname: "\\ud800"', 3, "an escape such as \\ud800 stands for half a character"),
    ("- id: x", 2, "the YAML head must hold `key: value` lines"),
    ("# nothing", 2, "the YAML head must hold `key: value` lines"),
    ("id: x\nloop: &a [*a]", 3, "nested too deeply"),
    (f"id: x\nname: {'[' * 5000}", 2, "not valid YAML, or nested too deeply"),
)


@pytest.mark.parametrize(("head", "line", "reason"), PROBLEMS, ids=range(len(PROBLEMS)))
def test_a_head_that_can_not_be_used_is_a_problem_at_its_line(head: str, line: int, reason: str) -> None:
    [(found, said)] = problems(f"---\n{head}\n---\n{body()}")
    assert found == line
    assert reason in said


@pytest.mark.parametrize(
    "described",
    [
        "environment: {type: sandbox, requirements: [web_search]}",
        "fixtures: {robot_id: robot-1}",
        "required_tools: [read_file, write_file]",
        "requirements: [python3]",
        "inject_date: true",
        "runs_recommended: 2",
        "attack_category: direct",
        "expected_files: [report.md]",
        "output_dir: out",
        "inputs: [a table of sales]",
        "turns: single",
        "names: {EN: Mail, ZH: Post}",
        "seed: 42",
        "persona: a busy manager",
        "max_turns: 5",
        "tier: L2",
        "tier: reasoning",
        "input_modality: text-only",
        "workspace_dir: ./workspace",
    ],
)
def test_keys_by_which_packs_describe_their_tasks_ask_for_no_set_up(described: str) -> None:
    assert parse(text(f"id: task_x\n{described}")).task_id == "task_x"


@pytest.mark.parametrize(
    ("head", "name", "value"),
    [
        # an id is text, whatever it looks like, and not every name that begins as a link to a workspace is one
        *(
            (f"id: {value}", "task_id", value)
            for value in ("2024_01_01", "2024-01-01", "1e5", "12.30.45", "no", "A" * 100)
        ),
        *((f"id: {value}", "task_id", value) for value in ("workspaces", "workspace-a", "workspace-", "workspace.old")),
        *((f"id: x\ntimeout_seconds: {value}", "timeout_s", 90) for value in ("90", "'90'", "90.0", "9e1", "+90")),
        *((f"id: x\ntimeout_seconds: {value}", "timeout_s", 600) for value in ("0600", "'0600'", "+0600", "00600")),
        ("id: x\ntimeout_seconds: 090", "timeout_s", 90),
        (
            "id: x\nworkspace_files: [a/b.csv]",
            "workspace_files",
            (WorkspaceFile(dest="a/b.csv", source=Path("a/b.csv")),),
        ),
        *((f"id: x\ngrading_type: {name}", "grading_type", "llm_judge") for name in ("LLM Judge", "llm-judge")),
        ("id: x\nruns: 5", "runs", 5),
        ("id: x\nruns: '1000'", "runs", 1000),
        ("id: x\nruns:", "runs", 1),
        ("id: x", "runs", 1),
        ("id: x", "tier", "standard"),
        ("id: x\ntier: hard", "tier", "hard"),
        ("id: x\ntier: Standard", "tier", "standard"),
        ("id: x\nnetwork: true", "network", True),
        ("id: x\nnetwork: true", "own_servers", False),
        ("id: x\nnetwork: false", "network", False),
        ("id: x\nnetwork: own", "network", False),
        ("id: x\nnetwork: own", "own_servers", True),
        ("id: x\nprerequisites:\n  - cli: gh\n  - git", "prerequisites", ("cli:gh", "git")),
        *(
            (f"id: x\ngrading_type: Hybrid{weights}", "grading_weights", {"automated": share, "llm_judge": 1 - share})
            for weights, share in (
                ("", 0.5),
                ("\ngrading_weights: {automated: 60, llm_judge: 40}", 0.6),
                ("\ngrading_weights: {automated: 0.5}", 0.5),
                ("\ngrading_weights: {llm_judge: 1, automated: 0, x: 1}", 0.0),
            )
        ),
    ],
)
def test_a_value_may_be_written_in_several_ways(head: str, name: str, value: object) -> None:
    assert getattr(parse(text(head)), name) == value


INDENTED = "\n".join(f"  {line}" for line in CHECK.split("\n"))


@pytest.mark.parametrize(
    "checks",
    [
        *(f"## AUTOMATED  CHECKS\n{fence}\n{CHECK}\n{fence[:3]}\n" for fence in ("```", "``` py", "~~~python3")),
        f"## Automated Checks\n```Python title=x\n{CHECK}\n```\n",
        f"## Automated Checks\n```\nusage\n```\n```json\n{{}}\n```\n```python\n{CHECK}\n```\n",  # its language wins
        f"## Automated Checks\n  ```python\n{INDENTED}\n  ```\n",
        f"## Automated Checks\n```python\n{CHECK}",
    ],
)
def test_the_check_may_be_fenced_in_several_ways(checks: str) -> None:
    assert parse(text(rest=f"## Prompt\nDo it.\n{checks}")).automated_checks == CHECK


@pytest.mark.parametrize(("opening", "end"), [("```markdown", "```"), ("<!--", "-->"), ("<PRE class=x>", "</pre> x")])
def test_headings_inside_a_fence_or_html_are_part_of_the_prompt(opening: str, end: str) -> None:
    prompt = f"Write this:\n\n{opening}\n## Expected Behavior\n\n## Grading Criteria\n- [ ] no\n{end}\n\nThank you."
    task = parse(text(rest=body(prompt=prompt)))
    assert task.prompt == prompt
    assert parse_task(text(rest=body(prompt=prompt)), path=PATH).prompt_heading == 10
    assert task.expected_behavior == ""
    assert task.grading_criteria == ()


@pytest.mark.parametrize(
    ("heading", "stays"),
    [
        ("Part one", True),
        ("Format", True),
        ("Expected Behaviour", False),
        ("grading  criteria ##", False),
        ("Env", False),
        ("Output", True),
        ("Example Output", True),
        ("Solution Format", True),
        ("Answer Requirements", True),
        ("Expected Files", True),
        ("Deliverables", True),
        ("Connect to Oracle", True),
        ("Hidden costs", True),
        ("Solution", False),
        ("✅ Solution (do not show)", False),
        ("5. Sample solutions:", False),
        ("Answer", False),
        ("Answer Key", False),
        ("Expected Output", False),
        ("Expected Answer", False),
        ("Golden output", False),
        ("Grading Notes", False),
        ("Hidden tests", False),
        ("Notes for the graders", False),
        ("参考答案", False),
        ("Scoring Rubric", False),
        ("Rubric", False),
        ("Reference Answer", False),
        ("Ground truth", False),
        ("3. Grading Criteria", False),
        ("**Automated Checks**:", False),
    ],
)
def test_a_heading_that_is_no_section_stays_in_the_prompt(heading: str, stays: bool) -> None:
    found = parse_task(text(rest=body(prompt=f"Do it.\n\n## {heading}\n\nMore.")), path=PATH)
    assert found.task.prompt == (f"Do it.\n\n## {heading}\n\nMore." if stays else "Do it.")
    assert found.prompt_heading == (9 if stays else None)


def test_an_answer_below_a_heading_of_the_first_level_is_not_sent_and_other_headings_are() -> None:
    prompt = "Do it.\n\n# Data\n\nMore.\n\n# Env\n\nAnd this."
    found = parse_task(text(rest=body(prompt=f"{prompt}\n\n# Solution\n\n42")), path=PATH)
    assert (found.task.prompt, found.answers) == (prompt, (17,))
    rubric = "## LLM Judge Rubric\n\nBe strict.\n\n# Solution\n\n42"
    assert parse(text(rest=f"{body()}\n{rubric}")).llm_judge_rubric == "Be strict.\n\n# Solution\n\n42"


@pytest.mark.parametrize(
    "title", ["Expected Behaviour", "Expected Behavior:", "2. *Expected behavior*", "✅ Expected Behavior"]
)
def test_a_decorated_or_misspelt_title_is_that_of_its_section(title: str) -> None:
    assert parse(text(rest=f"##\u00a0Prompt:\nDo it.\n##\u00a0{title}\nThis.\n{body()}")).expected_behavior == "This."


@pytest.mark.parametrize(
    "prompt",
    [
        "- ```sh\n  ls\n  ```",
        "1. Run\n   ```sh\n   ls\n   ```",
        "1. Run\n    ```sh\n    ls\n    ```",
        "Write ```x``` inline",
        "``` not `` a fence ```",
        "### Prompt\n\n#Prompt\n\n    ## Automated Checks",
        "~~~~ text\n~~~\n## Prompt\n~~~~ not yet\n```\n~~~~",
    ],
)
def test_the_section_after_such_a_prompt_is_found(prompt: str) -> None:
    task = parse(text(rest=body(prompt=prompt)))
    assert task.prompt == prompt
    assert task.automated_checks == CHECK


def test_sessions_are_sent_one_after_another() -> None:
    head = """
        id: x
        sessions:
          - First.
          - {id: 02, message: Second.}
          - id: later
            new_session: true
            prompt: |
              Third.
          - {prompt: 2026-01-01, new_session: }
    """
    task = parse(text(head, body(prompt="")))
    assert task.turns == (
        Turn(prompt="First."),
        Turn(prompt="Second.", id="02"),
        Turn(prompt="Third.", id="later", new_session=True),
        Turn(prompt="2026-01-01"),
    )
    assert task.prompt == "First.\n\nSecond.\n\nThird.\n\n2026-01-01"


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("../x", "holds `..`: it must stay inside its folder"),
        ("a/../../x", "holds `..`: it must stay inside its folder"),
        ("/etc/passwd", "is absolute: it must be relative to the workspace"),
        ("~/x", "starts with ~: it must be relative to the workspace"),
        ("C:/x", "names a drive: it must be relative to the workspace"),
        ("a\\b", "holds a backslash: write / between the parts"),
        ("${WORKSPACE}/a", "starts with ${WORKSPACE}: it must be relative to the workspace"),
        ("{{ workspace }}/a", "starts with {{ workspace }}: it must be relative to the workspace"),
        ("{workspace}/a", "starts with {workspace}: it must be relative to the workspace"),
        ("%WORKSPACE%/a", "starts with %WORKSPACE%: it must be relative to the workspace"),
        ("<workspace>/a", "starts with <workspace>: it must be relative to the workspace"),
        ("", "is empty"),
        ("  ", "is empty"),
        ("./", "names a folder, not a place in it"),
        ("a\x01b", "holds a control character"),
        ("a\nb", "holds a control character"),
    ],
)
@pytest.mark.parametrize("key", ["dest", "path", "source"])
def test_paths_that_leave_the_workspace_are_refused(key: str, place: str, reason: str) -> None:
    other = {"dest": "source: a.txt", "path": "content: hi", "source": "dest: a.txt"}[key]
    [(line, said)] = problems(text(f"id: x\nworkspace_files:\n  - {other}\n    {key}: {json.dumps(place)}"))
    assert line == 5
    assert said == f"`{key}` {place!r} {reason}"


def test_all_problems_of_a_file_are_reported_at_once() -> None:
    head = """
        name: [a]
        grading_type: magic
        timeout_seconds: never
        workspace_files: x
        prerequisites: {a: b}
        network: open
    """
    found = problems(text(head, "## Expected Behavior\n\nNothing.\n"))
    assert [line for line, _ in found] == [2, 2, 2, 3, 4, 5, 6, 7]
    reasons = [reason for _, reason in found]
    assert "`id` is missing" in reasons
    assert "`grading_type` is 'magic', not one of automated, llm_judge, hybrid" in reasons
    assert "no text under `## Prompt` and no `sessions`" in reasons


@pytest.mark.parametrize(
    ("check", "line", "reason"),
    [
        ("import os\ndef grade(:\n    pass", 13, "the check is not valid Python: "),
        ("x = 1\n\nreturn x", 14, "the check is not valid Python: "),
        ("def grade_all(transcript, workspace_path): ...", 12, "the check defines no function `grade"),
        ("print(grade)", 12, "the check defines no function `grade"),
        ("x = '\0'", 12, "the check is not valid Python: "),
        ("", 12, "the check defines no function `grade"),
        ("x = '\ud800'", 12, "the check is not valid Python: "),
        ("x = " + "(" * 5000 + ")" * 5000, 12, "the check is not valid Python: "),
    ],
)
def test_a_check_that_can_not_run_is_a_problem_at_its_line(check: str, line: int, reason: str) -> None:
    [(found, said)] = problems(text(rest=body(check=check)))
    assert found == line
    assert said.startswith(reason)


@pytest.mark.parametrize(
    "check",
    [
        "from x import grade",
        "grade = lambda transcript, workspace_path: {}",
        (
            "try:\n    import x\nexcept ImportError:\n    x = None\nelse:\n    pass\nif x is None:\n    def "
            "grade(t, w): ..."
        ),
        "import re\nP = '\\d'\ndef grade(t, w): ...",
    ],
)
def test_every_way_to_define_grade_is_accepted(check: str) -> None:
    assert check_problem(check) is None


def test_aliases_that_multiply_without_end_are_refused() -> None:
    lines = ["id: x", "a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    [(_, reason)] = problems(text("\n".join(lines)))
    assert reason == "the YAML is nested too deeply or holds too many values"


@pytest.mark.parametrize(
    ("source", "task_id"),
    [
        ("---\nid: a # comment\n---\n", "a"),
        ("---\n'id' : \"a\"\n---\n", "a"),
        ("---\nname: [broken\nid: a\n---\n", "a"),
        ("---\nname: id\n---\n", None),
        ("id: a\n", None),
    ],
)
def test_the_id_of_a_head_is_found_even_where_the_head_is_broken(source: str, task_id: str | None) -> None:
    assert head_id(source) == task_id


@pytest.mark.parametrize(
    ("stem", "task_id", "template"),
    [
        ("TASK_TEMPLATE", "task_descriptive_name", True),
        ("task0_template", "task0_template", True),
        ("_template", "task_a", True),
        ("new-task.template", "my_task", True),
        ("task_XX_name", "task_XX_name", True),
        ("anything", "XX", True),
        ("task_email_template", "task_email_template", False),
        ("task_templates", "task_01", False),
        ("task_XXL", "task_XXL", False),
    ],
)
def test_templates_are_known_by_their_id_or_a_name_that_is_not_their_id(
    stem: str, task_id: str, template: bool
) -> None:
    assert is_template(stem, task_id) is template


@pytest.mark.parametrize(
    ("head", "line", "key", "meant"),
    [
        ("id: x\ntimeout_second: 9", 3, "timeout_second", "timeout_seconds"),
        ("id: x\ntimeout: 9", 3, "timeout", "timeout_seconds"),
        ("id: x\nTimeout-Seconds: 9", 3, "Timeout-Seconds", "timeout_seconds"),
        ("id: x\ngrading_tpye: hybrid", 3, "grading_tpye", "grading_type"),
        ("id: x\nnmae: y", 3, "nmae", "name"),
        ("id: x\nworkspace_file: []", 3, "workspace_file", "workspace_files"),
        ("id: x\nprerequisits: [git]", 3, "prerequisits", "prerequisites"),
        ("id: x\nworkspace_files:\n  - {source: a, dst: b}", 4, "dst", "dest"),
        ("id: x\nsessions:\n  - {prompt: a, new_sesion: true}", 4, "new_sesion", "new_session"),
        ("id: x\ngrading_type: hybrid\ngrading_weights: {automated: 1, llm-judge: 2}", 4, "llm-judge", "llm_judge"),
    ],
)
def test_a_misspelt_key_is_a_problem_that_names_the_key_that_was_meant(
    head: str, line: int, key: str, meant: str
) -> None:
    assert (line, f"`{key}` has no meaning here: did you mean `{meant}`?") in problems(text(head))


# A busy machine is no reason to fail.
SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=60)
INLINE = WORDS.filter(lambda value: bool(value.strip()))


@SETTINGS
@given(
    name=INLINE,
    contents=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\0")), max_size=4),
    prompt=st.lists(WORDS, min_size=1, max_size=4).map("\n".join),
    seconds=st.floats(min_value=0.001, max_value=86400),
    shares=st.tuples(*[st.floats(min_value=0.001, max_value=1e6)] * 2),
)
def test_what_is_written_is_what_is_read(
    name: str, contents: list[str], prompt: str, seconds: float, shares: tuple[float, float]
) -> None:
    # JSON is YAML, as long as no escape stands for half a character.
    head = {
        "id": "x",
        "name": name,
        "grading_type": "hybrid",
        "timeout_seconds": seconds,
        "grading_weights": dict(zip(("automated", "llm_judge"), shares, strict=True)),
        "workspace_files": [{"path": f"f{place}", "content": content} for place, content in enumerate(contents)],
    }
    lines = "\n".join(f"{key}: {escaped(value)}" for key, value in head.items())
    # The longest fence wins, whatever the prompt holds.
    fence = "`" * 70
    fenced = f"{fence}\n{prompt}\n{fence}"
    task = parse(f"---\n{lines}\n---\n{body(prompt=fenced)}")
    assert task.name == name.strip()
    assert [file.content for file in task.workspace_files] == contents
    assert task.prompt == fenced
    assert task.timeout_s == seconds
    assert math.isclose(task.grading_weights["automated"], shares[0] / sum(shares))


def escaped(value: object) -> str:
    """Write JSON with YAML's escapes for what lies beyond the first plane."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{escaped(key)}: {escaped(child)}" for key, child in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(escaped, value)) + "]"
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(character):08x}" for character in value) + '"'
    return json.dumps(value)


@SETTINGS
@given(place=st.text(st.characters(codec="utf-8"), max_size=12) | st.lists(st.sampled_from([*"./~ab\\:"])).map("".join))
def test_a_path_that_is_accepted_stays_inside(place: str) -> None:
    try:
        accepted = relative_path(place)
    except ValueError:
        return
    assert not Path(accepted).is_absolute()
    assert ".." not in Path(accepted).parts
    assert Path("w", accepted).parts == ("w", *accepted.split("/"))
    assert relative_path(accepted) == accepted


USER = "\n## Simulated User\n\nYou are Ada.\n"


def test_the_sessions_of_a_task_with_a_simulated_user_are_what_the_user_says_without_a_model() -> None:
    task = parse(text("id: task_x\nsessions: [Do it., 'No, 2.', Thanks.]", rest=body() + USER))

    assert [turn.prompt for turn in task.turns] == ["Do it."]
    assert task.simulated_user == SimulatedUser(script="You are Ada.", most_messages=10, messages=("No, 2.", "Thanks."))


@pytest.mark.parametrize(
    ("head", "section", "said"),
    [
        ("user_messages: 0", USER, "whole number from 1 to 50"),
        ("user_messages: 2.5", USER, "whole number from 1 to 50"),
        ("user_messages: many", USER, "whole number from 1 to 50"),
        ("user_messages: 3", "", "needs a section `## Simulated User`"),
        ("user_message: 3", USER, "did you mean `user_messages`?"),
        ("user_messages: 1\nsessions: [Do it., No., Thanks.]", USER, "at most 1 messages (`user_messages`)"),
        ("sessions: [Do it., {prompt: And, new_session: true}]", USER, "all in one session"),
        ("name: x", "\n## Simulated User\n", "has no text"),
    ],
)
def test_a_simulated_user_that_can_not_be_played_is_a_problem(head: str, section: str, said: str) -> None:
    [(_, reason)] = problems(text(f"id: task_x\n{head}", rest=body() + section))
    assert said in reason
