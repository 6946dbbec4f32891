"""What a workspace held, by its git history and its files' times."""

import os
from pathlib import Path

from history_states import BEGAN, UserState
from pinchbench.authoring.history.workspace_past import WorkspacePast


def test_a_file_is_restored_byte_for_byte_as_of_a_commit(state: UserState) -> None:
    state.put({"a.bin": b"\x00\xff\r\n", "deep/ü b.txt": "one"})
    state.commit(at=BEGAN)
    state.put({"deep/ü b.txt": "later"})
    state.commit(at=BEGAN + 100)
    past = WorkspacePast(folder=state.workspace)

    first, second = past.commits

    assert past.committed("a.bin", first) == b"\x00\xff\r\n"
    assert (past.committed("deep/ü b.txt", first), past.committed("deep/ü b.txt", second)) == (b"one", b"later")
    assert past.commit_before(BEGAN - 1) is None
    assert (past.commit_before(BEGAN + 99), past.commit_before(BEGAN + 100)) == (first, second)
    assert list(past.commits_after(BEGAN)) == [second]
    assert past.committed("missing", first) is None


def test_a_workspace_without_git_and_a_missing_one_have_no_commits(tmp_path: Path) -> None:
    past = WorkspacePast(folder=tmp_path / "none")

    assert (past.commits, past.files, past.tree(past.commit_before(BEGAN)), past.on_disk("a")) == (
        (),
        frozenset(),
        {},
        None,
    )


def test_links_lead_nowhere_and_tools_folders_are_not_listed(state: UserState, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    state.put({"a.txt": "a", "node_modules/x/index.js": "x"})
    (state.workspace / "link").symlink_to(tmp_path / "secret")
    (state.workspace / "folder").symlink_to(tmp_path)
    os.mkfifo(state.workspace / "pipe")
    past = WorkspacePast(folder=state.workspace)

    assert past.on_disk("a.txt") == (BEGAN - 1000, b"a")
    assert [past.on_disk(name) for name in ("link", "folder/secret", "pipe", "../state/openclaw.json")] == [None] * 4
    assert "node_modules/x/index.js" not in past.files


def test_nothing_that_a_repositorys_config_names_is_started(state: UserState, tmp_path: Path) -> None:
    state.put({"a.txt": "a"})
    state.commit()
    trap = tmp_path / "trap"
    with (state.workspace / ".git" / "config").open("a", encoding="utf-8") as file:
        file.write(f'[core]\n\tfsmonitor = "touch {trap}"\n\tpager = "touch {trap}"\n[log]\n\tshowSignature = true\n')
    past = WorkspacePast(folder=state.workspace)
    before = state.snapshot()

    assert past.committed("a.txt", past.commits[0]) == b"a"
    assert not trap.exists()
    assert state.snapshot() == before
