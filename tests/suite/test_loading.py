"""A folder of task files in, a suite out."""

from pathlib import Path

import pytest

from made_tasks import task_text
from pinchbench.defaults import SuiteFormat
from pinchbench.errors import SuiteError
from pinchbench.model.task import Task
from pinchbench.suite.loading import find_tasks_folder, load_suite, solution_of
from pinchbench.suite.select import find_task, select_tasks
from suite_packs import write_wildclaw

CHECK = "def grade(transcript, workspace_path):\n    return {'done': 1.0}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "tasks"
    folder.mkdir()
    return folder


def put(path: Path, content: str | bytes = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def put_task(root: Path, task_id: str = "task_a", *, head: str = "", name: str | None = None) -> Path:
    text = f"---\nid: {task_id}\ngrading_type: llm_judge\n{head}\n---\n## Prompt\nHi\n"
    return put(root / f"{name or task_id}.md", text)


def put_fixture_task(root: Path, source: str, *, dest: str = "in") -> Path:
    return put_task(root, head=f"workspace_files: [{{source: '{source}', dest: {dest}}}]")


def only_task(root: Path) -> Task:
    [task] = load_suite(root).suite.tasks
    return task


def ids(root: Path) -> list[str]:
    return [task.task_id for task in load_suite(root).suite.tasks]


def message(root: Path, *, skip_broken: bool = False) -> str:
    with pytest.raises(SuiteError) as caught:
        load_suite(root, skip_broken=skip_broken)
    return str(caught.value)


def test_tasks_are_read_in_the_order_of_their_ids(root: Path) -> None:
    put_task(root, "task_b", name="task_1")
    put_task(root, "task_a", name="task_2")
    put_task(root, "welcome", name="other")
    suite = load_suite(root).suite
    assert [task.task_id for task in suite.tasks] == ["task_a", "task_b", "welcome"]
    assert suite.root == root


def test_other_markdown_folders_and_templates_are_no_tasks(root: Path) -> None:
    put_task(root)
    put(root / "README.md", "---\nid: readme\n---\n")
    put(root / "notes.md", "# Notes\n\nid: nothing\n")
    put(root / "blog.md", "---\ntitle: x\n---\n")
    put(root / "latin.md", b"\xff\xfe")
    put_task(root, "task_XX_name", name="TASK_TEMPLATE")
    put_task(root / "old", "task_old")
    (root / "task_folder.md").mkdir()
    assert ids(root) == ["task_a"]


@pytest.mark.parametrize("skip_broken", [True, False])
def test_a_folder_without_tasks_is_reported_in_a_sentence(root: Path, skip_broken: bool) -> None:
    put(root / "README.md")
    assert message(root, skip_broken=skip_broken).startswith(f"The tasks folder {root} holds no task files.")


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("README.md", "# claw-eval\n", "It looks like claw-eval"),
        ("README.md", "# Mine\n\nNot claw-eval.", "It holds 1 README.md."),
        ("T901_note/grader.py", "x", "It looks like claw-eval, which is not supported: its graders"),
        ("tasks/T901_note/grader.py", "x", "It looks like claw-eval"),
        ("injection/901_mine/task_1/references/eval_rule.md", "x", "It looks like UniClawBench"),
        ("cases/a.yaml", "x", "It holds 1 */a.yaml.\nTasks are, by format:\n  pinchbench      task_*.md"),
        ("SafeClawBench/1.json", "x", "It looks like SafeClawBench"),
        (".git/objects/a", "x", "It is empty."),
        ("task.toml", "x", "It is one task: name the folder above it"),
        ("packs/mine/task_a.md", "x", "Tasks are in {root}/packs/mine: name one with --tasks-dir."),
        (None, "", "It is empty."),
    ],
)
def test_an_unknown_folder_is_described_next_to_the_formats_that_are_read(
    root: Path, file: str | None, text: str, said: str
) -> None:
    if file:
        put(root / file, text)
    assert said.format(root=root) in message(root)
    assert "\n  harbor          */task.toml with tests/test.sh" in message(root)


@pytest.mark.parametrize("place", ["tasks_mine", "mine/tasks"])
def test_a_checkout_is_named_by_its_folder_whatever_its_name(root: Path, place: str) -> None:
    put(root / "README.md", "# claw-eval-mine\n\nMade after claw-eval.\n")
    put_task(root / place, "first", name="01")
    assert ids(root) == ["first"]


def test_a_format_that_is_named_is_looked_for_in_other_folders_alone(root: Path) -> None:
    put_task(root / "packs" / "mine")
    with pytest.raises(SuiteError, match=r"holds no task files\. It holds 1 "):
        load_suite(root, suite_format=SuiteFormat.HARBOR)


def test_several_folders_of_tasks_are_named(root: Path) -> None:
    put(root / "README.md", "# claw-eval\n")
    put_task(root / "tasks_de", "task_a")
    put_task(root / "tasks_fr" / "old", "task_b")
    put_task(root / "tasks_fr", "task_c")
    assert f"Tasks are in {root}/tasks_de and {root}/tasks_fr: name one with --tasks-dir." in message(root)


def test_a_file_in_place_of_a_folder_is_named_with_its_folder(root: Path) -> None:
    path = put_task(root)
    assert message(path) == f"{path} is a file. Name its folder with --tasks-dir {root}, and the task with --suite."


def test_many_problems_of_one_kind_are_one_line(root: Path) -> None:
    for number in range(40):
        put_fixture_task(root, f"gone-{number}.csv")
        (root / "task_a.md").rename(root / f"task_a{number:02}.md")
    put(root / "task_b.md", "no head")
    lines = message(root).splitlines()
    assert len(lines) == 5
    assert "task_a00.md:4: the source 'gone-0.csv' is missing" in lines[1]
    assert lines[1].endswith("(and 39 more like this)")
    assert lines[3] == "`tasks list --json` has them all."


def test_all_problems_of_all_files_are_listed(root: Path) -> None:
    put_task(root)
    put(root / "task_b.md", "no head")
    put_task(root, "task_c", head="timeout_seconds: 0\nsessions: 1")
    text = message(root)
    assert f"{root}/task_b.md:1: no YAML head between two `---` lines\n" in text
    assert f"{root}/task_c.md:4: `timeout_seconds` must be" in text
    assert f"{root}/task_c.md:5: `sessions` must be a list\n" in text
    assert text.endswith("--skip-broken leaves them out and runs the rest.")


@pytest.mark.parametrize("second", ["task_a", "Task_A"])
def test_an_id_belongs_to_one_file(root: Path, second: str) -> None:
    first = put_task(root, name="task_1")
    put_task(root, second, name="task_2")
    assert f"{root}/task_2.md:2: the id {second!r} is already taken by {first}\n" in message(root)
    assert load_suite(root, skip_broken=True).suite.tasks[0].path == first


def test_a_prompt_with_a_heading_is_noted(root: Path) -> None:
    put(root / "task_a.md", "---\nid: task_a\ngrading_type: llm_judge\n---\n## Prompt\nHi\n## Form\n")
    assert load_suite(root).note == (
        "A line with ## is part of the prompt, where other PinchBench runners cut it off: task_a.md:7."
    )


def test_a_section_with_the_answer_is_not_sent_and_is_noted(root: Path) -> None:
    put(root / "task_a.md", "---\nid: task_a\ngrading_type: llm_judge\n---\n## Prompt\nHi\n## Solution\n42\n")
    assert only_task(root).prompt == "Hi"
    assert load_suite(root).note == "Agents don't get sections that are for graders: task_a.md:7."


@pytest.mark.parametrize(("source", "dest"), [("a.txt", "sub/a.txt"), ("folder", "sub")])
def test_a_dest_with_a_slash_at_its_end_is_a_folder(root: Path, source: str, dest: str) -> None:
    put(root / "assets" / "a.txt")
    put(root / "assets" / "folder" / "a.txt")
    put_fixture_task(root, source, dest="sub/")
    assert [file.dest for file in only_task(root).workspace_files] == [dest]


def put_checked(path: Path, check: str) -> Path:
    return put(path, task_text(check=check))


@pytest.mark.parametrize("place", ["scripts", "tasks/scripts"])
def test_a_check_finds_the_modules_of_its_pack_and_needs_no_others(root: Path, place: str) -> None:
    lib = put(root.parent / place / "lib_mine.py", "import json")
    put_checked(root / "task_a.md", f"import lib_mine, lib_gone\n{CHECK}")
    task = only_task(root)
    assert (task.modules, task.prerequisites) == (root.parent / place, ("module:lib_gone",))
    put(lib, "import os")
    assert only_task(root).digest != task.digest


@pytest.mark.parametrize("call", ['__import__("lib_mine")', 'importlib.import_module("lib_mine")'])
def test_a_module_that_is_imported_by_a_call_is_found_with_what_it_needs(root: Path, call: str) -> None:
    put(root / "scripts" / "lib_mine.py", "import json\nimport lib_gone\n")
    put_checked(root / "task_a.md", f"import importlib\nmine = {call}\n{CHECK}")
    task = only_task(root)
    assert (task.modules, task.prerequisites) == (root / "scripts", ("module:lib_gone",))


def test_a_bad_link_in_a_packs_package_is_a_problem_of_the_task_that_imports_it(root: Path) -> None:
    package = put(root / "scripts" / "lib_mine" / "__init__.py").parent
    (package / "data").symlink_to(root / "gone")
    put_checked(root / "task_a.md", f"import lib_mine\n{CHECK}")
    assert f"{root}/task_a.md:2: the link {package}/data leads nowhere" in message(root)


def test_a_check_that_raises_is_a_zero_in_the_public_layout_alone(root: Path) -> None:
    put_checked(root / "task_a.md", CHECK)
    flat = only_task(root).rule
    (root / "task_a").mkdir()
    (root / "task_a.md").rename(root / "task_a" / "task.md")
    own = only_task(root).rule
    assert (flat.failed_is_zero, own.failed_is_zero) == (True, False)
    assert "a check that raises an exception, or returns no number, is a score of 0" in flat.text


@pytest.mark.parametrize("place", ["tasks/assets", "tasks/fixtures", "assets", "fixtures"])
@pytest.mark.parametrize("source", ["a/in.csv", "assets/a/in.csv", "fixtures/a/in.csv", "./a/in.csv"])
def test_sources_are_found_in_four_folders(root: Path, place: str, source: str) -> None:
    fixture = put(root.parent / place / "a" / "in.csv")
    put_fixture_task(root, source)
    [file] = only_task(root).workspace_files
    assert (file.source, file.dest) == (fixture.resolve(), "in")


def test_a_task_may_have_a_folder_of_its_own_and_keeps_its_digest(root: Path) -> None:
    put(root / "assets" / "in.csv", "x")
    flat = put_fixture_task(root, "in.csv")
    digest = only_task(root).digest
    flat.rename(put(root / "task_a" / "task.md"))
    near = put(root / "task_a" / "files" / "in.csv", "x")
    put(root / "task_a" / "solution.yaml", "turns: [{answer: Own.}]")
    put(root / "solutions" / "task_a.yaml", "turns: [{answer: Shared.}]")
    suite = load_suite(root).suite
    [task] = suite.tasks
    assert (task.digest, task.workspace_files[0].source) == (digest, near.resolve())
    solution = solution_of(suite, task)
    assert solution is not None
    assert solution.turns[0].answer == "Own."


def test_a_missing_source_is_a_problem_at_its_line(root: Path) -> None:
    put(root / "in.csv")
    put_fixture_task(root, "in.csv")
    assert f"{root}/task_a.md:4: the source 'in.csv' is missing (looked in " in message(root)


def test_a_source_must_not_lead_out_through_a_link(root: Path) -> None:
    put(root.parent / "secret" / "key")
    (root / "assets").mkdir()
    (root / "assets" / "key").symlink_to(root.parent / "secret" / "key")
    (root / "assets" / "folder").symlink_to(root.parent / "secret")
    put_fixture_task(root, "key")
    assert "the source 'key' leads out of" in message(root)
    put_fixture_task(root, "folder/key")
    assert "the source 'folder/key' leads out of" in message(root)


@pytest.mark.parametrize(
    ("target", "reason"),
    [("../other.txt", "leads out of the source"), ("gone", "leads nowhere"), ("deep", "stands for a folder")],
)
def test_a_folder_with_a_bad_link_is_a_problem(root: Path, target: str, reason: str) -> None:
    put(root / "assets" / "other.txt")
    put(root / "assets" / "set" / "deep" / "a.txt")
    (root / "assets" / "set" / "link").symlink_to(target)
    put_fixture_task(root, "set")
    assert reason in message(root)


def test_files_can_be_placed_below_a_folder(root: Path) -> None:
    put(root / "assets" / "set" / "in.csv")
    put_task(root, head="workspace_files:\n  - {path: set/b, content: x}\n  - {source: set}")
    assert len(only_task(root).workspace_files) == 2


def test_the_digest_changes_with_the_file_and_its_fixtures_only(root: Path) -> None:
    path = put_fixture_task(root, "set")
    fixture = put(root / "assets" / "set" / "a.txt", "one")
    first = only_task(root).digest
    assert len(first) == 64
    put(root / "assets" / "unused.txt")
    put(root / "manifest.yaml", "categories: {other: [task_a]}")
    assert only_task(root).digest == first

    seen = {first}
    put(fixture, "two")
    seen.add(only_task(root).digest)
    fixture.rename(fixture.with_name("b.txt"))
    seen.add(only_task(root).digest)
    put(root / "assets" / "set" / "c" / "d.txt")
    seen.add(only_task(root).digest)
    put(path, path.read_bytes() + b"\n")
    seen.add(only_task(root).digest)
    assert len(seen) == 5


def test_the_digest_does_not_depend_on_where_the_folder_is(root: Path, tmp_path: Path) -> None:
    put_fixture_task(root, "set")
    put(root / "assets" / "set" / "a.txt")
    here = only_task(root).digest
    assert only_task(root.rename(tmp_path / "elsewhere")).digest == here


def test_the_manifest_orders_and_names(root: Path) -> None:
    put_task(root, "task_a", head="category: own")
    put_task(root, "task_b", head="category: own")
    put(
        root / "manifest.yaml",
        "run_first: [task_b, task_b]\ncore: [task_b, task_a]\ncategories: {2026: [task_a], late: "
        "[task_a]}\nnotes: [gone]\n",
    )
    suite = load_suite(root).suite
    assert suite.run_first == ("task_b",)
    assert suite.core == ("task_b", "task_a")
    assert [task.category for task in suite.tasks] == ["2026", "own"]


LISTS = {
    "flat": "tasks:\n  - task_a\n  - task_b\n",
    "by file": "tasks: [one, two.md]",
    "as mappings": "tasks: [{id: task_a, name: A}, {id: task_b}]",
    "by category": "run_first: [task_b]\ncategories:\n  x: [task_a]\n",
    "tasks by category": "tasks: {x: [task_a], y: [task_b]}",
    "with a core": "core: [task_b]\ntasks: [task_a]",
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS.keys())
@pytest.mark.parametrize("name", ["manifest.yaml", "manifest.yml"])
def test_a_manifest_that_lists_tasks_selects_them(root: Path, text: str, name: str) -> None:
    put_task(root, "task_a", name="one")
    put_task(root, "task_b", name="two")
    put_task(root, "task_descriptive_name", head="category: category_name", name="TASK_TEMPLATE")
    put_task(root, "task_c")
    put(root / "task_d.md", "no head")
    put(root / name, text)
    loaded = load_suite(root)
    suite = loaded.suite
    assert [task.task_id for task in suite.tasks] == ["task_a", "task_b"]
    assert {task.task_id for task in select_tasks(suite, "all")} == {"task_a", "task_b"}
    assert [task.task_id for task in suite.unlisted] == ["task_c", "task_descriptive_name"]
    assert loaded.problems == ()
    assert loaded.note == (
        f"{name} does not list 3 files: TASK_TEMPLATE.md (task_descriptive_name), task_c.md (task_c),"
        " task_d.md (can't be used: no YAML head between two `---` lines). Not run unless --suite names the task's id."
    )
    assert [task.task_id for task in select_tasks(suite, "task_c,task_a")] == ["task_a", "task_c"]


def test_the_template_of_a_pack_without_a_manifest_runs_only_by_its_id(root: Path) -> None:
    put_task(root)
    put_task(root, "task_descriptive_name", name="TASK_TEMPLATE")
    loaded = load_suite(root)
    assert [task.task_id for task in loaded.suite.tasks] == ["task_a"]
    assert loaded.note.startswith("1 file can only be meant as a template: TASK_TEMPLATE.md (task_descriptive_name).")
    assert find_task(loaded.suite, "task_descriptive_name").path == root / "TASK_TEMPLATE.md"


def test_a_listed_task_that_does_not_exist_is_a_problem_at_its_line(root: Path) -> None:
    put_task(root, "task_calendar")
    path = put(root / "manifest.yaml", "tasks:\n  - task_calender\n  - task_weather")
    text = message(root)
    assert (
        f"{path}:2: `tasks` names the task 'task_calender', which does not exist: did you mean 'task_calendar'?" in text
    )
    assert f"{path}:3: `tasks` names the task 'task_weather', which does not exist\n" in text


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("core:\n  - task_a\n  - task_z", 3, "`core` names the task 'task_z', which does not exist"),
        ("categories:\n  x: [task_z]", 2, "`categories.x` names the task 'task_z', which does not exist"),
        ("run_first: task_a", 1, "`run_first` must be a list of task ids"),
        ("run_first: [[task_a]]", 1, "`run_first` must hold task ids only"),
        ("categories: [x]", 1, "`categories` must map names to lists of task ids"),
        ("- task_a", 1, "the manifest must hold `key: value` lines"),
        ("a: b: c", 1, "not valid YAML: mapping values are not allowed here"),
    ],
)
def test_a_broken_manifest_is_a_problem(root: Path, text: str, line: int, reason: str) -> None:
    put_task(root)
    path = put(root / "manifest.yaml", text)
    assert f"{path}:{line}: {reason}\n" in message(root)
    assert [task.task_id for task in load_suite(root, skip_broken=True).suite.tasks] == ["task_a"]


@pytest.mark.parametrize("call", ["is_dir", "iterdir", "is_file"])
def test_a_folder_that_cannot_be_read_is_reported(root: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    put_task(root)

    def refuse(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(type(root), call, refuse)
        with pytest.raises(SuiteError, match=r"tasks can't be read: Permission denied\."):
            load_suite(root)


def test_a_format_that_is_named_is_read_in_the_folder_that_has_it(tmp_path: Path) -> None:
    tasks = write_wildclaw(tmp_path)
    assert find_tasks_folder(tmp_path, SuiteFormat.WILDCLAW)[1] == tasks
    assert find_tasks_folder(tmp_path, SuiteFormat.QWENCLAW)[1] == tmp_path
