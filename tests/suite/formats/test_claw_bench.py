"""claw-bench's folders: what a task is made of them, and what is wrong with one."""

import shutil
from pathlib import Path

import pytest

from pinchbench.defaults import SuiteFormat
from pinchbench.errors import SuiteError
from pinchbench.model.task_programs import PytestVerifier
from pinchbench.suite.loading import load_suite, read_suite, solution_of
from suite_packs import put, write_claw_bench


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return write_claw_bench(tmp_path)


def test_ids_are_those_of_flat_files_and_otherwise_the_folders_names(tasks: Path) -> None:
    loaded = load_suite(tasks.parent)
    assert loaded.suite.format is SuiteFormat.CLAW_BENCH
    found = {task.task_id: (task.name, task.category, task.timeout_s) for task in loaded.suite.tasks}
    assert found == {"mail-001": ("Hello", "mail", 120), "sums-001-total": ("Total", "sums", 300)}
    assert "2 for a test without a weight" in loaded.suite.tasks[0].rule.text


def test_a_task_has_its_set_up_its_data_and_its_tests(tasks: Path) -> None:
    task = load_suite(tasks).suite.by_id["mail-001"]
    assert task.setup is not None
    assert (task.setup.folder, task.setup.script) == (tasks / "mail" / "mail-001-hello", "environment/setup.sh")
    assert [file.dest for file in task.workspace_files] == [".hidden", "deep", "seed.json"]
    assert isinstance(task.verifier, PytestVerifier)
    assert (task.verifier.root, task.verifier.needs) == (tasks, ("pytest",))
    assert load_suite(tasks).suite.by_id["sums-001-total"].prerequisites == ("module:numpy", "module:pytest")


def test_modules_that_tests_import_at_their_beginning_are_needed_unless_they_lie_next_to_them(tasks: Path) -> None:
    file = tasks / "mail" / "mail-001-hello" / "verifier" / "test_output.py"
    put(file.parent / "wanted.py", "x = 1\n")
    lines = "import os, blobs.text\nfrom wanted import x\nimport pytest\n"
    put(file, lines + "def test_it(workspace):\n    import sys\n    sys.path.insert(0, '.')\n    import theirs, yaml\n")
    task = load_suite(tasks).suite.by_id["mail-001"]
    assert task.prerequisites == ("module:blobs", "module:pytest", "module:yaml")
    assert isinstance(task.verifier, PytestVerifier)
    assert task.verifier.needs == ("blobs", "pytest", "yaml")


def test_the_prompt_names_the_workspace_by_its_path(tasks: Path, tmp_path: Path) -> None:
    [turn] = load_suite(tasks).suite.by_id["mail-001"].turns
    said = turn.prompt_in(tmp_path / "ws")
    assert f"Write hello to {tmp_path}/ws/out.txt, and a report to `{tmp_path}/ws/report.json`." in said
    assert f"Your workspace is the folder {tmp_path}/ws." in said


@pytest.mark.parametrize("place", ["$WORKSPACE/out.txt", "${CLAW_WORKSPACE}/out.txt", "./workspace/out.txt"])
def test_a_variable_in_the_prompt_is_the_workspace_too(tasks: Path, tmp_path: Path, place: str) -> None:
    put(tasks / "mail" / "mail-001-hello" / "instruction.md", f"Write hello to {place}, not to $WORKSPACES/x.")
    [turn] = load_suite(tasks).suite.by_id["mail-001"].turns
    assert f"Write hello to {tmp_path}/ws/out.txt, not to $WORKSPACES/x." in turn.prompt_in(tmp_path / "ws")


@pytest.mark.parametrize("name", ["task.toml", "instruction.md", "verifier/test_output.py", "../../conftest.py"])
def test_files_may_begin_with_a_byte_order_mark(tasks: Path, name: str) -> None:
    path = tasks / "mail" / "mail-001-hello" / name
    path.write_text("\ufeff" + path.read_text("utf-8"), encoding="utf-8")
    assert "\ufeff" not in load_suite(tasks).suite.by_id["mail-001"].prompt


def test_a_solution_is_played_where_there_is_one(tasks: Path) -> None:
    suite = load_suite(tasks).suite
    solution = solution_of(suite, suite.by_id["mail-001"])
    assert solution is not None
    assert solution.reads == (tasks / "mail" / "mail-001-hello",)
    assert solution_of(suite, suite.by_id["sums-001-total"]) is None


def test_the_digest_is_of_all_but_the_solution(tasks: Path) -> None:
    folder = tasks / "mail" / "mail-001-hello"
    digests = [load_suite(tasks).suite.by_id["mail-001"].digest]
    for name in ("task.toml", "instruction.md", "environment/data/deep/in.txt", "verifier/test_output.py"):
        put(folder / name, (folder / name).read_text("utf-8") + "\n")
        digests.append(load_suite(tasks).suite.by_id["mail-001"].digest)
    put(tasks / "conftest.py", (tasks / "conftest.py").read_text("utf-8") + "\n")
    digests.append(load_suite(tasks).suite.by_id["mail-001"].digest)
    assert len(set(digests)) == len(digests)
    put(folder / "solution" / "solve.sh", "exit 0\n")
    assert load_suite(tasks).suite.by_id["mail-001"].digest == digests[-1]


TOML, TESTS, CONFTEST = "task.toml", "verifier/test_output.py", "../../conftest.py"
OTHER = "../../sums/sums-001-total/task.toml"
BROKEN = [
    # file, old, new (None: no such file), the file that is named, line, reason
    (TOML, 'id = "mail-001"', 'id = "mail/001"', TOML, 1, "can't be a folder name"),
    (TOML, 'id = "mail-001"', 'id = "workspace"', TOML, 1, "is reserved"),
    (TOML, 'id = "mail-001"', 'id = ""', TOML, 1, "`id` is missing"),
    (TOML, 'id = "mail-001"', 'id = "sums-001-total"', OTHER, 1, "already taken"),
    (TOML, 'title = "Hello"', "title = 3", TOML, 2, "`title` must be text"),
    (TOML, 'domain = "mail"', "domain = [1]", TOML, 3, "`domain` must be text"),
    (TOML, "timeout = 120", "timeout = 0", TOML, 5, "`timeout` must be a number"),
    (TOML, "timeout = 120", 'timeout = "long"', TOML, 5, "`timeout` must be a number"),
    (TOML, "timeout = 120", "timeout = true", TOML, 5, "`timeout` must be a number"),
    (TOML, "timeout = 120", "timeout 120", TOML, 5, "not valid TOML"),
    (TOML, 'tags = ["short"]', "tags = [", TOML, 8, "not valid TOML"),
    ("instruction.md", None, None, "instruction.md", 1, "can't be read"),
    (TESTS, "    assert json", "  assert json", TESTS, 8, "not valid Python"),
    (TESTS, "import json", "import json\nimport (", TESTS, 2, "not valid Python"),
    (CONFTEST, None, None, TESTS, 1, "need conftest.py"),
    (CONFTEST, "def pytest_addoption(parser):", "def pytest_addoption(parser)", CONFTEST, 6, "not valid"),
    (CONFTEST, '"--workspace"', '"--folder"', CONFTEST, 1, "adds no option --workspace"),
    (TOML, 'title = "Hello"', 'id = "mail-002"', TOML, 2, "not valid TOML"),
    (TOML, "timeout = 120", "timeout = 86401", TOML, 5, "`timeout` must be a number"),
    (TOML, "timeout = 120", "time_out = 120", TOML, 5, "`time_out` has no meaning here: did you mean `timeout`?"),
    (TOML, "timeout = 120", "timeout_seconds = 9", TOML, 5, "state the limit as `timeout`"),
    (TOML, "timeout = 120", "max_seconds = 9", TOML, 5, "state the limit as `timeout`"),
    (TOML, "timeout = 120", 'setup_script = "a.sh"', TOML, 5, "`setup_script` is not known, and could matter"),
    (TOML, 'tags = ["short"]', '[meta]\ndocker.image = "a"', TOML, 7, "`meta.docker` is not known, and could matter"),
    (TOML, 'id = "mail-001"', "id = 1", TOML, 1, "`id` must be text"),
    (TOML, 'id = "mail-001"', 'id = "../mail"', TOML, 1, "can't be a folder name"),
    (TOML, 'id = "mail-001"', 'id = "SUMS-001-total"', OTHER, 1, "already taken"),
    (TESTS, "weight(5)", "weight(-5)", TESTS, 11, "at least 0"),
    (TESTS, "weight(5)", 'weight("5")', TESTS, 11, "must be a number"),
    (TESTS, "weight(5)", "weight(True)", TESTS, 11, "must be a number"),
    (TESTS, "weight(5)", "weight()", TESTS, 11, "needs a number"),
    (TESTS, "return json.loads(", "return json.loads((", TESTS, 24, "not valid Python"),
    (TESTS, "import json", "import json\x00", TESTS, 1, "NUL character"),
]


def test_keys_that_are_not_known_are_named(tasks: Path) -> None:
    toml = tasks / "mail" / "mail-001-hello" / TOML
    assert load_suite(tasks).note == ""
    put(toml, toml.read_text("utf-8") + '\nskills_allowed = true\nreviewed_by = "Ada"\n[metadata]\nauthor = "Bo"\n')
    said = "task.toml has keys that are not known, and are ignored: `metadata`, `reviewed_by`."
    assert load_suite(tasks).note == said


@pytest.mark.parametrize(("name", "whole", "broken", "place", "line", "reason"), BROKEN)
def test_what_is_wrong_is_named_with_file_and_line(  # noqa: PLR0917 - a table
    tasks: Path, name: str, whole: str | None, broken: str | None, place: str, line: int, reason: str
) -> None:
    folder = tasks / "mail" / "mail-001-hello"
    if whole is None or broken is None:
        (folder / name).unlink()
    else:
        text = (folder / name).read_text("utf-8")
        assert whole in text
        put(folder / name, text.replace(whole, broken, 1))
    problems = read_suite(tasks).problems
    assert ((folder / place).resolve(), line) in [(problem.path, problem.line) for problem in problems], problems
    assert reason in str([problem.reason for problem in problems])
    with pytest.raises(SuiteError):
        load_suite(tasks)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("task.toml", b'id = "\xff"\n', "not UTF-8"),
        ("task.toml", b"[" * 100_000, "not valid TOML"),
        ("task.toml", b"#" * (4 * 1024 * 1024 + 1), "larger than 4 MiB"),
        ("instruction.md", b"\xff", "not UTF-8"),
        ("instruction.md", b" \n", "there is no instruction"),
        ("verifier/test_output.py", b"\xff", "not UTF-8"),
        ("verifier/test_output.py", b"", "it holds no tests"),
        ("verifier/test_output.py", b"def check_it():\n    pass\n", "it holds no tests"),
        ("environment/data", b"x", "it must be a folder"),
    ],
)
def test_a_file_of_another_kind_is_named(tasks: Path, name: str, data: bytes, reason: str) -> None:
    path = tasks / "mail" / "mail-001-hello" / name
    if path.is_dir():
        shutil.rmtree(path)
    path.write_bytes(data)
    problems = read_suite(tasks).problems
    assert (path, 1) in [(problem.path, problem.line) for problem in problems], problems
    assert reason in str([problem.reason for problem in problems])
