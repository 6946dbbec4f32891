"""Adding suites from folders, and removing them."""

from pathlib import Path

import pytest

from command_line import call, clean_environment
from pinchbench.authoring.added_suites import add_pack, remove_pack
from pinchbench.errors import ConfigError, SuiteError
from pinchbench.files.user_data import pack_names, packs_dir
from pinchbench.suite.named import read_pack
from suite_packs import put

TASK = """
    ---
    id: task_ledger
    category: books
    grading_type: llm_judge
    ---
    ## Prompt

    Hi
"""


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    monkeypatch.setenv("PINCHBENCH_DATA", str(folder))
    return folder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "pack"
    put(folder / "tasks" / "task_ledger.md", TASK)
    put(folder / "LICENSE.md", "\nMIT License\n\nPermission\n")
    return folder


def test_a_folder_is_copied_with_its_format_licence_digest_and_tasks(source: Path) -> None:
    pack, remarks = add_pack("ours", source)

    assert (remarks, pack.source, pack.format) == ("", str(source), "pinchbench")
    assert (pack.licence, pack.tasks) == ("LICENSE.md: MIT License", {"task_ledger": "books"})
    assert len(pack.digest) == 64
    assert read_pack("ours") == pack
    assert (pack.folder / "tasks" / "task_ledger.md").is_file()
    assert not pack.find_change()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "is not a name"),
        ("../x", "is not a name"),
        ("Ours", "is not a name"),
        ("a:b", "is not a name"),
        ("core", "stands for the keyword core"),
        ("task_00_sanity", "stands for the task task_00_sanity"),
        ("coding", "stands for the category coding"),
    ],
)
def test_a_name_that_means_something_else_is_refused(source: Path, name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        add_pack(name, source)


def test_a_name_is_given_once_until_it_is_removed(source: Path) -> None:
    add_pack("ours", source)
    with pytest.raises(ConfigError, match=r"was added already, from .*pack. .*suite ours --remove"):
        add_pack("ours", source)
    assert remove_pack("ours") == packs_dir() / "ours"
    assert pack_names() == []
    add_pack("ours", source)
    assert pack_names() == ["ours"]


def test_a_suite_whose_tasks_are_all_refused_is_not_added_and_the_reasons_name_the_users_files(
    tmp_path: Path,
) -> None:
    source = tmp_path / "pack"
    put(source / "tasks" / "task_one.md", "---\nid: task_one\n")
    with pytest.raises(SuiteError) as caught:
        add_pack("ours", source)
    assert f"{source}/tasks/task_one.md:1:" in str(caught.value)
    assert ".staging" not in str(caught.value)


def test_broken_tasks_are_named_and_the_others_added(source: Path) -> None:
    put(source / "tasks" / "task_broken.md", "---\nid: task_broken\n")
    pack, remarks = add_pack("ours", source)
    assert list(pack.tasks) == ["task_ledger"]
    assert f"{source}/tasks/task_broken.md:1" in remarks
    assert "--skip-broken" in remarks


def test_a_link_that_leads_out_of_the_suite_is_refused(source: Path, tmp_path: Path) -> None:
    put(tmp_path / "outside.txt", "x")
    (source / "link").symlink_to(tmp_path / "outside.txt")
    with pytest.raises(SuiteError, match=r"can't be pinned: the link .*/pack/link leads out"):
        add_pack("ours", source)


def test_the_commands_add_list_and_remove_a_suite_and_notice_a_change(source: Path, tmp_path: Path, data: Path) -> None:
    env = clean_environment(tmp_path, PINCHBENCH_DATA=str(data))
    added = call("suite", "ours", "pack", cwd=tmp_path, env=env)
    folder = data / "suites" / "ours" / "files"
    listed = call("suite", cwd=tmp_path, env=env)
    tasks = call("tasks", "list", "--suite", "ours:books", cwd=tmp_path, env=env)
    plan = call("--model", "demo/null", "--suite", "ours", "--dry-run", "--json", cwd=tmp_path, env=env)
    put(folder / "tasks" / "more.txt", "x")
    changed = call("suite", "--json", cwd=tmp_path, env=env)
    refused = call("tasks", "list", "--suite", "ours", cwd=tmp_path, env=env)
    removed = call("suite", "ours", "--remove", cwd=tmp_path, env=env)

    assert added.stderr == (
        "1 task in the format pinchbench. Licence: LICENSE.md: MIT License. `--suite ours` names them.\n"
    )
    assert added.stdout == f"{folder}\n"
    assert listed.stdout.startswith(f"ours  pinchbench  1 task  {source}, 2")
    assert listed.stdout.endswith("(LICENSE.md: MIT License)\n")
    assert tasks.stdout.startswith("task_ledger  books")
    assert '"task_id": "task_ledger"' in plan.stdout
    assert changed.returncode == refused.returncode == 3
    assert '"changed": "the files in ' in changed.stdout
    assert "suite ours --remove" in refused.stderr
    assert removed.returncode == 0
    assert call("suite", cwd=tmp_path, env=env).stdout == ""
