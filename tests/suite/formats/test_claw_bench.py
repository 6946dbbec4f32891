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


BROKEN = [
    ("task.toml", 'id = "mail-001"', 'id = "mail/001"', "task.toml", 1, "can't be a folder name"),
    ("task.toml", 'id = "mail-001"', 'id = "workspace"', "task.toml", 1, "is reserved"),
    ("task.toml", 'id = "mail-001"', 'id = ""', "task.toml", 1, "`id` is missing"),
    (
        "task.toml",
        'id = "mail-001"',
        'id = "sums-001-total"',
        "../../sums/sums-001-total/task.toml",
        1,
        "already taken",
    ),
    ("task.toml", 'title = "Hello"', "title = 3", "task.toml", 2, "`title` must be text"),
    ("task.toml", 'domain = "mail"', "domain = [1]", "task.toml", 3, "`domain` must be text"),
    ("task.toml", "timeout = 120", "timeout = 0", "task.toml", 5, "`timeout` must be a number"),
    ("task.toml", "timeout = 120", 'timeout = "long"', "task.toml", 5, "`timeout` must be a number"),
    ("task.toml", "timeout = 120", "timeout = true", "task.toml", 5, "`timeout` must be a number"),
    ("task.toml", "timeout = 120", "timeout 120", "task.toml", 5, "not valid TOML"),
    ("task.toml", 'tags = ["short"]', "tags = [", "task.toml", 8, "not valid TOML"),
    ("instruction.md", None, None, "instruction.md", 1, "can't be read"),
    ("verifier/test_output.py", "    assert json", "  assert json", "verifier/test_output.py", 8, "not valid Python"),
    (
        "verifier/test_output.py",
        "import json",
        "import json\nimport (",
        "verifier/test_output.py",
        2,
        "not valid Python",
    ),
    ("../../conftest.py", None, None, "verifier/test_output.py", 1, "need conftest.py"),
    (
        "../../conftest.py",
        "def pytest_addoption(parser):",
        "def pytest_addoption(parser)",
        "../../conftest.py",
        6,
        "not valid",
    ),
    ("../../conftest.py", '"--workspace"', '"--folder"', "../../conftest.py", 1, "adds no option --workspace"),
    ("task.toml", 'title = "Hello"', 'id = "mail-002"', "task.toml", 2, "not valid TOML"),
    ("task.toml", "timeout = 120", "timeout = -1", "task.toml", 5, "`timeout` must be a number"),
    ("task.toml", "timeout = 120", "timeout = nan", "task.toml", 5, "`timeout` must be a number"),
    ("task.toml", "timeout = 120", "timeout = inf", "task.toml", 5, "`timeout` must be a number"),
    ("task.toml", "timeout = 120", "timeout = 86401", "task.toml", 5, "`timeout` must be a number"),
    ("task.toml", 'id = "mail-001"', "id = 1", "task.toml", 1, "`id` must be text"),
    ("task.toml", 'id = "mail-001"', 'id = "../mail"', "task.toml", 1, "can't be a folder name"),
    (
        "task.toml",
        'id = "mail-001"',
        'id = "SUMS-001-total"',
        "../../sums/sums-001-total/task.toml",
        1,
        "already taken",
    ),
    ("verifier/test_output.py", "weight(5)", "weight(-5)", "verifier/test_output.py", 11, "at least 0"),
    ("verifier/test_output.py", "weight(5)", 'weight("5")', "verifier/test_output.py", 11, "must be a number"),
    ("verifier/test_output.py", "weight(5)", "weight(True)", "verifier/test_output.py", 11, "must be a number"),
    ("verifier/test_output.py", "weight(5)", "weight()", "verifier/test_output.py", 11, "needs a number"),
    (
        "verifier/test_output.py",
        "return json.loads(",
        "return json.loads((",
        "verifier/test_output.py",
        24,
        "not valid Python",
    ),
    ("verifier/test_output.py", "import json", "import json\0", "verifier/test_output.py", 1, "NUL character"),
]


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_is_named_with_file_and_line(
    tasks: Path, case: tuple[str, str | None, str | None, str, int, str]
) -> None:
    name, whole, broken, place, line, reason = case
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
