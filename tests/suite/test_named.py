"""What `--suite NAME` stands for, and the records of added suites."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from pinchbench.defaults import SuiteFormat
from pinchbench.errors import SelectionError, SuiteError
from pinchbench.files.user_data import packs_dir
from pinchbench.model.task import LoadedSuite, Task
from pinchbench.suite.loading import solution_of
from pinchbench.suite.named import (
    NamedTasks,
    Pack,
    SuitePlace,
    find_suites,
    find_tasks,
    load_named,
    load_places,
    read_pack,
    tree_digest,
)
from pinchbench.suite.select import select_tasks
from suite_packs import put, write_claw_bench, write_qwenclaw

TASK = "---\nid: task_a\ncategory: Ours\ngrading_type: llm_judge\n---\n## Prompt\n\nHi\n"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCHBENCH_DATA", str(tmp_path / "data"))


def write_task(folder: Path) -> object:
    return put(folder / "task_ledger.md", "x")


def put_pack(
    name: str, write: Callable[[Path], object] = write_task, suite_format: SuiteFormat = SuiteFormat.PINCHBENCH
) -> Pack:
    files = packs_dir() / name / "files"
    write(files)
    pack = Pack(name=name, source="/elsewhere", digest=tree_digest(files), format=suite_format, added_at=1.0)
    (files.parent / "pack.json").write_bytes(msgspec.json.encode(pack))
    return pack


@pytest.mark.parametrize(
    ("expression", "selection"),
    [("ours", "all"), ("ours:core,books", "core,books"), (" ours ", "all"), ("ours:", "")],
)
def test_a_name_stands_for_the_suites_folder_format_and_what_is_selected_of_it(expression: str, selection: str) -> None:
    pack = put_pack("ours")
    assert find_tasks(expression, tasks_dir=None, suite_format=None) == NamedTasks(
        tasks_dir=pack.folder, suite_format=SuiteFormat.PINCHBENCH, selection=selection
    )


def test_with_a_folder_a_name_is_one_of_its_tasks(tmp_path: Path) -> None:
    put_pack("ours")
    folder = put(tmp_path / "tasks" / "task_a.md", TASK).parent
    found = find_tasks("ours", tasks_dir=folder, suite_format=None)
    assert found == NamedTasks(tasks_dir=folder, suite_format=None, selection="ours")


@pytest.mark.parametrize("expression", ["theirs", "ours:core"])
def test_a_folder_and_an_added_suite_that_it_does_not_have_are_an_error_that_names_both(
    tmp_path: Path, expression: str
) -> None:
    put_pack("ours")
    put_pack("theirs")
    folder = put(tmp_path / "tasks" / "task_a.md", TASK).parent
    with pytest.raises(
        SelectionError, match=f"--suite {expression[:4]}.* names an added suite, and --tasks-dir {folder}"
    ):
        find_suites(expression, tasks_dir=folder, suite_format=None)


@pytest.mark.parametrize("name", ["coding", "task_00_sanity", "core"])
def test_a_name_that_the_bundled_suite_has_too_is_an_error_that_names_both(name: str) -> None:
    put_pack(name)
    with pytest.raises(SelectionError, match=f"added from /elsewhere, or the .* {name} of the bundled suite"):
        find_tasks(name, tasks_dir=None, suite_format=None)


@pytest.mark.parametrize("expression", ["core,ours", "ours,core", "core, ours:books"])
def test_an_added_suite_among_other_names_is_refused(expression: str) -> None:
    put_pack("ours")
    put_pack("theirs")
    with pytest.raises(SelectionError, match="Give each suite a --suite of its own"):
        find_tasks(expression, tasks_dir=None, suite_format=None)


@pytest.mark.parametrize("change", ["more", "less", "other", "link", "all"])
def test_files_that_have_changed_are_refused_with_what_to_do(change: str) -> None:
    pack = put_pack("ours")
    task = pack.folder / "task_ledger.md"
    match change:
        case "more":
            put(pack.folder / "more.txt", "x")
        case "less":
            put(pack.folder / "more.txt", "x")
            task.unlink()
        case "other":
            task.write_text("y", encoding="utf-8")
        case "link":
            (pack.folder / "out").symlink_to("/etc")
        case _:
            task.unlink()
            pack.folder.rmdir()
    with pytest.raises(
        SuiteError, match=r"has changed since it was added: .*suite ours --remove. and add it again from"
    ):
        find_tasks("ours", tasks_dir=None, suite_format=None)


@pytest.mark.parametrize("text", [b"", b"{}", b"[" * 100_000, b'{"name": 1}', b"\xff"])
def test_a_record_that_cannot_be_read_is_an_error_that_says_what_to_do(text: bytes) -> None:
    put_pack("ours")
    (packs_dir() / "ours" / "pack.json").write_bytes(text)
    with pytest.raises(SuiteError, match="suite ours --remove"):
        read_pack("ours")


@pytest.fixture
def qwen() -> None:
    """Add a suite named qwen."""
    put_pack("qwen", write_qwenclaw, SuiteFormat.QWENCLAW)


def load(expressions: str, tasks_dir: Path | None = None) -> tuple[LoadedSuite, tuple[Task, ...]]:
    return load_named(find_suites(expressions, tasks_dir=tasks_dir, suite_format=None))


@pytest.mark.usefixtures("qwen")
def test_several_suites_are_one_with_a_name_a_rule_and_categories_for_each(tmp_path: Path) -> None:
    claw = write_claw_bench(tmp_path / "claw")
    loaded, chosen = load("mail ; qwen:task_00002_calls", claw)
    assert [(task.task_id, task.category) for task in chosen] == [
        ("mail-001", "claw: mail"),
        ("task_00002_calls", "qwen: data"),
    ]
    assert [(part.name, part.format) for part in loaded.suite.parts] == [
        ("claw", SuiteFormat.CLAW_BENCH),
        ("qwen", SuiteFormat.QWENCLAW),
    ]
    assert "claw-bench" in chosen[0].rule.text
    assert "QwenClawBench" in chosen[1].rule.text
    assert solution_of(loaded.suite, chosen[0]) is not None
    assert (
        load_places(
            [SuitePlace(name=part.name, folder=part.root, format=part.format) for part in loaded.suite.parts]
        ).suite
        == loaded.suite
    )
    by_name = {task.task_id for task in select_tasks(loaded.suite, "qwen")}
    assert by_name == {task.task_id for task in select_tasks(loaded.suite, "all")} - {"mail-001", "sums-001-total"}


@pytest.mark.usefixtures("qwen")
def test_suites_that_have_an_id_in_common_are_refused_with_both_places(tmp_path: Path) -> None:
    folder = put(
        tmp_path / "own" / "a.md", "---\nid: TASK_00002_calls\ngrading_type: llm_judge\n---\n## Prompt\n\nHi\n"
    )
    with pytest.raises(SuiteError, match=r"own \(.*own\) and qwen .* both have a task task_00002_calls"):
        load("all;qwen", folder.parent)
