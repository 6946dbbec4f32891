"""The files of a run: made once, written whole or not at all."""

import errno
import os
import secrets
from pathlib import Path

import pytest

from pinchbench.errors import ResultsError
from pinchbench.model.trial import TrialKey
from pinchbench.results.paths import create_run, find_run, write_json


def test_a_runs_files_lie_next_to_its_aggregate(tmp_path: Path) -> None:
    files = create_run(tmp_path / "new" / "results", "m_r")
    assert files.aggregate == tmp_path / "new" / "results" / "m_r.json"
    assert files.journal == files.folder / "journal.jsonl"
    assert files.trial(TrialKey(task_id="task_a", repetition=2)) == files.folder / "trials" / "task_a" / "2"
    assert files.folder.stat().st_mode & 0o777 == 0o700
    assert (files.folder / "trials").is_dir()


def test_a_runs_folder_is_for_the_user_alone_whatever_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o277)
    try:
        files = create_run(tmp_path, "m_r")
    finally:
        os.umask(before)
    assert files.folder.stat().st_mode & 0o777 == 0o700
    assert (files.folder / "trials").stat().st_mode & 0o777 == 0o700


def test_a_run_that_could_not_be_made_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mkdir = Path.mkdir

    def full(path: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        if path.name == "trials":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        mkdir(path, mode, parents=parents, exist_ok=exist_ok)

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(ResultsError, match=r"no space left.*--output-dir"):
        create_run(tmp_path, "m_r")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a link away")
def test_results_do_not_go_where_a_link_of_another_users_leads_but_where_the_users_own_does(tmp_path: Path) -> None:
    place = tmp_path / "shared"
    place.mkdir()
    place.chmod(0o1777)
    (tmp_path / "real").mkdir()
    (place / "results").symlink_to("../real")
    create_run(place / "results", "m_1")
    os.chown(place / "results", 12345, -1, follow_symlinks=False)
    for output_dir in (place / "results", place / "results" / "more"):
        with pytest.raises(ResultsError, match=r"results is a link that another user has put there.*--output-dir"):
            create_run(output_dir, "m_2")
    assert [one.name for one in (tmp_path / "real").iterdir()] == ["m_1"]


def test_json_goes_to_a_name_that_nobody_can_guess_and_follows_no_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.json").symlink_to("precious")
    (tmp_path / "precious").write_text("precious", encoding="utf-8")
    write_json(tmp_path / "a.json", {})
    assert not (tmp_path / "a.json").is_symlink()
    monkeypatch.setattr(secrets, "token_hex", lambda _: "guessed")
    (tmp_path / ".guessed.new").symlink_to("precious")
    with pytest.raises(ResultsError, match="can't be written: File exists"):
        write_json(tmp_path / "a.json", {"new": 1})
    assert (tmp_path / "precious").read_text("utf-8") == "precious"
    assert (tmp_path / ".guessed.new").is_symlink()
    assert (tmp_path / "a.json").read_bytes() == b"{}\n"


@pytest.mark.parametrize(("umask", "asked", "mode"), [(0o027, {}, 0o640), (0, {"mode": 0o600}, 0o600)])
def test_json_may_be_shared_as_the_umask_says_unless_it_is_private_and_have_the_longest_of_names(
    tmp_path: Path, umask: int, asked: dict[str, int], mode: int
) -> None:
    path = tmp_path / ("x" * 255)
    before = os.umask(umask)
    try:
        write_json(path, {}, **asked)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == mode


def test_a_writer_that_is_broken_off_leaves_no_other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken_off(_: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken_off)
        with pytest.raises(KeyboardInterrupt):
            write_json(tmp_path / "a.json", {})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_a_failure_keeps_the_old_file_and_leaves_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "a.json"
    path.write_text("old", encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync" if call == "fsync" else "replace", full)
        with pytest.raises(ResultsError, match=r"a\.json can't be written: No space left on device"):
            write_json(path, {"new": True})
    assert path.read_text("utf-8") == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]


def test_a_run_is_found_by_folder_aggregate_name_and_id(tmp_path: Path) -> None:
    for name in ("m_20260101-000000-aaaa", "n_20260101-000000-bbbb"):
        write_json(create_run(tmp_path, name).provenance, {})
    name = "m_20260101-000000-aaaa"
    for said in (str(tmp_path / name), str(tmp_path / f"{name}.json"), name, "20260101-000000-aaaa"):
        found = find_run(said, tmp_path)
        assert (found.folder, found.name) == (tmp_path / name, name)


def test_a_run_that_is_not_there_is_reported_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"^There is no file or folder nope\.json\. .* has no run 'nope\.json'"):
        find_run("nope.json", tmp_path)
    with pytest.raises(ResultsError, match=r"There is no folder \S*nowhere\."):
        find_run("x", tmp_path / "nowhere")
    with pytest.raises(ResultsError, match=r"has no run 'x'. It holds no runs."):
        find_run("x", tmp_path)
    write_json(create_run(tmp_path, "m_1").provenance, {})
    write_json(create_run(tmp_path, "n_1").provenance, {})
    write_json(create_run(tmp_path, "k_2").provenance, {})
    with pytest.raises(ResultsError, match=r"has no run 'x'. The newest runs: k_2, m_1, n_1."):
        find_run("x", tmp_path)
    with pytest.raises(ResultsError, match=r"has more than one run '1': m_1, n_1\."):
        find_run("1", tmp_path)


def test_a_run_is_found_from_a_file_in_it_and_by_its_real_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = create_run(tmp_path, "m_1")
    write_json(files.provenance, {})
    assert find_run(str(files.provenance), tmp_path).folder == files.folder
    monkeypatch.chdir(files.folder / "trials")
    assert find_run("..", tmp_path).folder == files.folder
    with pytest.raises(ResultsError, match=r"no run: there is no run\.json"):
        find_run(".", tmp_path)
    monkeypatch.chdir(files.folder)
    with pytest.raises(ResultsError, match="has no run 'x'"):
        find_run("x", tmp_path)
