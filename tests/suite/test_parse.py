"""Task Markdown in, task out."""

from __future__ import annotations

import json
import math
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pinchbench.model.task import GradingType, SimulatedUser, Task, Turn, WorkspaceFile
from pinchbench.suite.check_code import check_problem
from pinchbench.suite.parse import BrokenTaskError, head_id, parse_task
from pinchbench.suite.paths import relative_path
from pinchbench.suite.template import is_template

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


def test_a_short_head_gets_the_defaults() -> None:
    task = parse(text("id: task_x\nworkspace_files:\nsessions: []\nname: ~"))
    assert (task.name, task.category, task.timeout_s) == ("task_x", "uncategorized", 120)
    assert task.grading_type is GradingType.AUTOMATED
    assert task.workspace_files == ()
    assert task.grading_weights == {"automated": 1.0, "llm_judge": 0.0}


def test_crlf_and_a_bom_change_nothing() -> None:
    assert parse("\ufeff" + FULL.replace("\n", "\r\n")) == parse(FULL)


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


@pytest.mark.parametrize("task_id", ["2024_01_01", "2024-01-01", "1e5", "12:30:45".replace(":", "."), "no", "A" * 100])
def test_ids_are_text_whatever_they_look_like(task_id: str) -> None:
    assert parse(text(f"id: {task_id}")).task_id == task_id


@pytest.mark.parametrize("value", ["90", "'90'", "90.0", "9e1", "+90"])
def test_a_timeout_may_be_written_in_several_ways(value: str) -> None:
    assert parse(text(f"id: x\ntimeout_seconds: {value}")).timeout_s == 90


@pytest.mark.parametrize("value", ["0", "-1", ".nan", ".inf", "86401", "soon", "true", "[1]", "1e999", "9" * 5000])
def test_a_timeout_out_of_range_is_a_problem(value: str) -> None:
    [(line, reason)] = problems(text(f"id: x\ntimeout_seconds: {value}"))
    assert line == 3
    assert reason == "`timeout_seconds` must be a number above 0 and at most 86400"


@pytest.mark.parametrize(
    ("weights", "automated"),
    [("{automated: 60, llm_judge: 40}", 0.6), ("{automated: 0.5}", 0.5), ("{llm_judge: 1, automated: 0, x: 1}", 0.0)],
)
def test_weights_are_normalised(weights: str, automated: float) -> None:
    task = parse(text(f"id: x\ngrading_type: hybrid\ngrading_weights: {weights}"))
    assert task.grading_weights == {"automated": automated, "llm_judge": 1 - automated}


def test_a_hybrid_task_without_weights_is_half_and_half() -> None:
    assert parse(text("id: x\ngrading_type: Hybrid")).grading_weights == {"automated": 0.5, "llm_judge": 0.5}


@pytest.mark.parametrize(
    "weights", ["{automated: -1}", "{automated: 0, llm_judge: 0}", "{automated: much}", "[1, 2]", "0.5"]
)
def test_weights_that_are_no_shares_are_a_problem(weights: str) -> None:
    [(line, reason)] = problems(text(f"id: x\ngrading_type: hybrid\ngrading_weights: {weights}"))
    assert line == 4
    assert "`grading_weights` needs positive numbers" in reason


def test_a_fence_inside_a_fence_does_not_end_it() -> None:
    check = 'TEXT = """\n````markdown\n```\n## Prompt\n~~~\n````\n"""\n' + CHECK
    rest = f"## Prompt\n\nDo it.\n\n## Automated Checks\n\n`````python\n{check}\n`````  \n\n## Additional Notes\n\nN\n"
    task = parse(text(rest=rest))
    assert task.automated_checks == check
    assert (task.prompt, task.additional_notes) == ("Do it.", "N")


def test_a_backtick_line_with_words_behind_it_does_not_end_a_fence() -> None:
    prompt = "~~~~ text\n~~~\n## Prompt\n~~~~ not yet\n```\n~~~~"
    assert parse(text(rest=body(prompt=prompt))).prompt == prompt


def test_headings_inside_a_fenced_prompt_are_part_of_the_prompt() -> None:
    prompt = "Write this:\n\n```markdown\n## Expected Behavior\n\n## Grading Criteria\n- [ ] no\n```\n\nThank you."
    task = parse(text(rest=body(prompt=prompt)))
    assert task.prompt == prompt
    assert task.expected_behavior == ""
    assert task.grading_criteria == ()


@pytest.mark.parametrize(
    "prompt",
    [
        "- ```sh\n  ls\n  ```",
        "1. Run\n   ```sh\n   ls\n   ```",
        "1. Run\n    ```sh\n    ls\n    ```",
        "Write ```x``` inline",
        "``` not `` a fence ```",
        "### Prompt\n\n#Prompt\n\n    ## Automated Checks",
    ],
)
def test_the_section_after_such_a_prompt_is_found(prompt: str) -> None:
    task = parse(text(rest=body(prompt=prompt)))
    assert task.prompt == prompt
    assert task.automated_checks == CHECK


@pytest.mark.parametrize("fence", ["```", "``` py", "~~~python3", "```Python title=x"])
def test_the_check_may_be_fenced_in_several_ways(fence: str) -> None:
    marks = fence[:3]
    rest = f"## Prompt\nDo it.\n## AUTOMATED  CHECKS\n{fence}\n{CHECK}\n{marks}\n"
    assert parse(text(rest=rest)).automated_checks == CHECK


def test_a_python_fence_wins_over_a_fence_without_a_language() -> None:
    rest = f"## Prompt\nDo it.\n## Automated Checks\n```\nusage\n```\n```json\n{{}}\n```\n```python\n{CHECK}\n```\n"
    assert parse(text(rest=rest)).automated_checks == CHECK


def test_an_indented_fence_gives_code_without_the_indent() -> None:
    code = "\n".join(f"  {line}" for line in CHECK.split("\n"))
    rest = f"## Prompt\nDo it.\n## Automated Checks\n  ```python\n{code}\n  ```\n"
    assert parse(text(rest=rest)).automated_checks == CHECK


def test_the_last_of_two_equal_sections_counts() -> None:
    assert parse(text(rest="## Prompt\nfirst\n" + body(prompt="second"))).prompt == "second"


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


def test_a_prompt_beside_sessions_is_kept_but_not_sent() -> None:
    task = parse(text("id: x\nsessions: [Hello]", body(prompt="See the sessions.")))
    assert task.prompt == "See the sessions."
    assert task.turns == (Turn(prompt="Hello"),)


@pytest.mark.parametrize("session", ["''", "{id: a}", "[a]", "{prompt: '  '}", "{prompt: {a: b}}"])
def test_a_session_without_text_is_a_problem(session: str) -> None:
    [(line, reason)] = problems(text(f"id: x\nsessions:\n  - ok\n  - {session}"))
    assert line == 5
    assert reason == "a session must be a text, or have a `prompt`"


def test_new_session_must_be_a_truth_value() -> None:
    [(line, reason)] = problems(text("id: x\nsessions:\n  - prompt: a\n    new_session: often"))
    assert (line, reason) == (5, "`new_session` must be true or false")


def test_sessions_must_be_a_list() -> None:
    assert problems(text("id: x\nsessions: hello")) == [(3, "`sessions` must be a list")]


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("../x", "holds `..`: it must stay inside its folder"),
        ("a/../../x", "holds `..`: it must stay inside its folder"),
        ("/etc/passwd", "is absolute: it must be relative to the workspace"),
        ("~/x", "starts with ~: it must be relative to the workspace"),
        ("C:/x", "names a drive: it must be relative to the workspace"),
        ("a\\b", "holds a backslash: write / between the parts"),
        ("", "is empty"),
        ("  ", "is empty"),
        ("./", "names a folder, not a place in it"),
        ("a\0b", "holds a control character"),
        ("a\nb", "holds a control character"),
    ],
)
@pytest.mark.parametrize("key", ["dest", "path", "source"])
def test_paths_that_leave_the_workspace_are_refused(key: str, place: str, reason: str) -> None:
    other = {"dest": "source: a.txt", "path": "content: hi", "source": "dest: a.txt"}[key]
    [(line, said)] = problems(text(f"id: x\nworkspace_files:\n  - {other}\n    {key}: {json.dumps(place)}"))
    assert line == 5
    assert said == f"`{key}` {place!r} {reason}"


@pytest.mark.parametrize(
    "item", ["a.csv", "{dest: a}", "{source: a, content: b, path: c}", "{content: a}", "{path: a, source: }", "[a]"]
)
def test_a_workspace_file_needs_a_source_or_a_content(item: str) -> None:
    [(line, reason)] = problems(text(f"id: x\nworkspace_files:\n  - {item}"))
    assert (line, reason) == (4, "a workspace file needs `source` (and `dest`), or `path` and `content`")


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("{path: a, content: {b: c}}", "`content` must be text: put it into quotes or behind `|`"),
        ("{path: [a], content: b}", "`path` must be text"),
        ("{source: [a]}", "`source` must be text"),
    ],
)
def test_the_parts_of_a_workspace_file_must_be_text(item: str, reason: str) -> None:
    assert problems(text(f"id: x\nworkspace_files:\n  - {item}")) == [(4, reason)]


def test_a_place_used_twice_is_a_problem() -> None:
    head = "id: x\nworkspace_files:\n  - {path: a/b, content: ''}\n  - {source: c, dest: ./a//b}"
    assert problems(text(head)) == [(5, "two workspace files have the place 'a/b'")]


def test_all_problems_of_a_file_are_told_at_once() -> None:
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
    ("network", "found"),
    [("true", (True, False)), ("false", (False, False)), ("own", (False, True))],
)
def test_a_task_states_what_network_its_trials_need(network: str, found: tuple[bool, bool]) -> None:
    task = parse(text(f"id: task_a\nnetwork: {network}"))
    assert (task.network, task.own_servers) == found


@pytest.mark.parametrize("task_id", ["../x", "a b", "-x", ".x", "é", "a/b", "A" * 101, "x\\y"])
def test_an_id_that_is_no_folder_name_is_a_problem(task_id: str) -> None:
    [(line, reason)] = problems(text(f"id: {task_id}"))
    assert line == 2
    assert "can't be a folder name" in reason


@pytest.mark.parametrize("task_id", ["Workspace", "workspace-2", "workspace-12.new", "workspace.NEW"])
def test_the_names_of_the_links_to_the_workspaces_are_reserved(task_id: str) -> None:
    assert problems(text(f"id: {task_id}")) == [(2, f"`id` {task_id!r} is reserved")]


@pytest.mark.parametrize("task_id", ["workspaces", "workspace-a", "workspace-", "workspace.old", "my-workspace"])
def test_what_only_looks_like_the_name_of_a_link_is_an_id(task_id: str) -> None:
    assert parse(text(f"id: {task_id}")).task_id == task_id


def test_a_task_with_checks_needs_a_fence() -> None:
    reason = "`grading_type: hybrid` needs a python fence under `## Automated Checks`"
    assert problems(text("id: x\ngrading_type: hybrid", "## Prompt\nHi\n")) == [(3, reason)]
    no_fence = "## Prompt\nHi\n## Automated Checks\ndef grade(): ...\n```json\n{}\n```\n"
    assert problems(text("id: x\ngrading_type: hybrid", no_fence)) == [(7, reason)]


def test_a_fence_that_never_ends_is_named_where_it_hides_something() -> None:
    [(_, reason)] = problems(text(rest="## Prompt\n\n```\nHi\n\n## Automated Checks\n"))
    assert reason.endswith("(the fence that opens on line 6 never ends and swallows what follows)")


def test_a_check_may_run_to_the_end_of_the_file() -> None:
    rest = f"## Prompt\nHi\n## Automated Checks\n```python\n{CHECK}"
    assert parse(text(rest=rest)).automated_checks == CHECK


@pytest.mark.parametrize(
    ("check", "line", "reason"),
    [
        ("import os\ndef grade(:\n    pass", 13, "the check is not valid Python: "),
        ("x = 1\n\nreturn x", 14, "the check is not valid Python: "),
        ("def grade_all(transcript, workspace_path): ...", 12, "the check defines no function `grade"),
        ("print(grade)", 12, "the check defines no function `grade"),
        ("x = '\0'", 12, "the check is not valid Python: "),
        ("", 12, "the check defines no function `grade"),
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


def test_a_check_nested_too_deeply_is_a_problem_not_a_crash() -> None:
    assert check_problem("x = " + "(" * 5000 + ")" * 5000) is not None


def test_a_check_with_half_a_character_is_a_problem_not_a_crash() -> None:
    found = check_problem("x = '\ud800'")
    assert found is not None
    assert found[0] == 1


def test_a_judged_task_needs_neither_check_nor_rubric() -> None:
    task = parse(text("id: x\ngrading_type: llm_judge", "## Prompt\nHi\n## Grading Criteria\n- [ ] polite\n"))
    assert (task.automated_checks, task.llm_judge_rubric) == (None, None)
    assert task.grading_weights == {"automated": 0.0, "llm_judge": 1.0}
    broken = "## Prompt\nHi\n## Automated Checks\n```python\nnot python\n```\n"
    assert parse(text("id: x\ngrading_type: llm_judge", broken)).automated_checks == "not python"


@pytest.mark.parametrize(
    "source", ["", "\n\n", "# Title\n", "---\nid: x\n", "--\nid: x\n--\n", "text\n---\nid: x\n---\n"]
)
def test_a_file_without_a_head_is_a_problem(source: str) -> None:
    assert problems(source) == [(1, "no YAML head between two `---` lines")]


@pytest.mark.parametrize(
    ("head", "line", "reason"),
    [
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
    ],
)
def test_a_head_that_is_no_usable_yaml_is_a_problem_at_its_line(head: str, line: int, reason: str) -> None:
    [(found, said)] = problems(f"---\n{head}\n---\n{body()}")
    assert found == line
    assert reason in said


def test_aliases_that_multiply_without_end_are_refused() -> None:
    lines = ["id: x", "a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    [(_, reason)] = problems(text("\n".join(lines)))
    assert reason == "the YAML is nested too deeply or holds too many values"


def test_a_head_nested_beyond_reason_is_refused() -> None:
    [(_, reason)] = problems(text("id: x\nname: " + "[" * 5000))
    assert reason == "not valid YAML, or nested too deeply"


def test_numbers_json_can_not_carry_stay_text() -> None:
    task = parse(text(f"id: x\nbig: {'9' * 30}\nhuge: {'9' * 5000}\nhex: 0x{'f' * 5000}\nnan: .nan\nodd: !!int x"))
    assert task.frontmatter["big"] == "9" * 30
    assert task.frontmatter["nan"] == ".nan"
    assert task.frontmatter["odd"] == "x"
    json.dumps(task.frontmatter, allow_nan=False)


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


def test_keys_of_other_task_packs_are_no_misspelt_ones() -> None:
    own = "subcategory: a\nmulti_session: true\ndifficulty: 3\nmodality: text\nsession: local\ntier: 2\nnames: [a]"
    assert parse(text(f"id: x\ncategory: a\ntimeout_seconds: 9\ntimeout: 5\n{own}")).timeout_s == 9


@pytest.mark.parametrize(("head", "tier"), [("", "standard"), ("tier: hard", "hard"), ("tier: Standard", "standard")])
def test_a_task_is_of_the_standard_tier_unless_it_names_another(head: str, tier: str) -> None:
    assert parse(text(f"id: x\n{head}")).tier == tier


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("harder", "`tier` is 'harder', not one of standard, hard"),
        ("'very hard'", "`tier` is 'very hard', not one of standard, hard"),
        ("[hard]", "`tier` must be text"),
    ],
)
def test_an_unknown_tier_is_a_problem_at_its_line(value: str, reason: str) -> None:
    assert (3, reason) in problems(text(f"id: x\ntier: {value}"))


def test_a_prerequisite_may_have_a_space_behind_its_colon() -> None:
    assert parse(text("id: x\nprerequisites:\n  - cli: gh\n  - git")).prerequisites == ("cli:gh", "git")


# A busy machine is no reason to fail.
SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

# Pieces that make arbitrary text look like a task often enough to reach every corner.
PIECES = st.sampled_from(
    [
        *("---\n", "id: x\n", "name: ", "sessions:\n", "  - ", "workspace_files:\n", "grading_type: hybrid\n"),
        *(
            "## Prompt\n",
            "## Automated Checks\n",
            "```python\n",
            "```\n",
            "~~~\n",
            "def grade(t, w): ...\n",
            "&a ",
            "*a",
        ),
        *("path: a, content: ", "{", "}", "[", "]", "\n", "\r\n", "\t", "!!float ", "<<: ", "? ", "|\n", "'", '"\\'),
    ],
)
NOISE = st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=40).map("".join)


@SETTINGS
@given(source=NOISE, headed=st.booleans())
@example(source="id: !!float 1:2:x\nname: !!int ''\n---\n", headed=True)
@example(source='a: "\\UFFFFFFFF"\n---\n', headed=True)
def test_arbitrary_text_is_a_task_or_a_list_of_problems(source: str, headed: bool) -> None:
    source = "---\n" + source if headed else source
    lines = source.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    head_id(source)
    try:
        task = parse(source)
    except BrokenTaskError as error:
        broken = error
    else:
        json.dumps(task.frontmatter, allow_nan=False)
        assert math.isclose(sum(task.grading_weights.values()), 1)
        return
    assert broken.problems
    assert all(1 <= problem.line <= lines and problem.reason for problem in broken.problems)


WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=60)
INLINE = WORDS.filter(lambda value: bool(value.strip()))


@SETTINGS
@given(
    name=INLINE,
    contents=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r")), max_size=4),
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


def test_a_task_may_state_how_often_it_is_run() -> None:
    assert parse(text("id: task_x\nruns: 5")).runs == 5
    assert parse(text("id: task_x\nruns: '1000'")).runs == 1000
    assert parse(text("id: task_x\nruns:")).runs == parse(text()).runs == 1


@pytest.mark.parametrize("said", ["0", "-1", "1001", "2.5", "true", "often", "[3]"])
def test_a_number_of_runs_that_can_not_be_made_is_a_problem(said: str) -> None:
    [(line, reason)] = problems(text(f"id: task_x\nruns: {said}"))
    assert (line, reason) == (3, "`runs` must be a whole number from 1 to 1000")


USER = "\n## Simulated User\n\nYou are Ada.\n"


def test_a_task_may_have_a_simulated_user() -> None:
    assert parse(text(rest=body() + USER)).simulated_user == SimulatedUser(script="You are Ada.", most_messages=10)
    found = parse(text("id: task_x\nuser_messages: 3", rest=body() + USER)).simulated_user
    assert found == SimulatedUser(script="You are Ada.", most_messages=3)
    assert parse(text()).simulated_user is None


@pytest.mark.parametrize(
    ("head", "section", "said"),
    [
        ("user_messages: 0", USER, "whole number from 1 to 50"),
        ("user_messages: 2.5", USER, "whole number from 1 to 50"),
        ("user_messages: many", USER, "whole number from 1 to 50"),
        ("user_messages: 3", "", "needs a section `## Simulated User`"),
        ("user_message: 3", USER, "did you mean `user_messages`?"),
        ("sessions: [Do it.]", USER, "can't have `sessions`"),
        ("name: x", "\n## Simulated User\n", "has no text"),
    ],
)
def test_a_simulated_user_that_can_not_be_played_is_a_problem(head: str, section: str, said: str) -> None:
    [(_, reason)] = problems(text(f"id: task_x\n{head}", rest=body() + section))
    assert said in reason
