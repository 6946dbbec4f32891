"""Sessions in either store, read as they are, and hostile ones, which harm nothing."""

import os
from pathlib import Path

import pytest

from history_states import BEGAN, Said, UserState
from pinchbench.authoring.history import stored_sessions as module
from pinchbench.authoring.history.stored_sessions import stored_sessions
from pinchbench.errors import ConfigError

STORES = ("jsonl", "sqlite")


def database(state: UserState) -> Path:
    return state.folder / "agents" / "main" / "agent" / "openclaw-agent.sqlite"


@pytest.mark.parametrize("store", STORES)
def test_all_sessions_of_all_agents_are_read_and_nothing_is_written(tmp_path: Path, store: str) -> None:
    state = UserState(folder=tmp_path / "state", store=store)
    state.converse("one", [Said(prompt="Hello")])
    state.converse("two", [Said(prompt="Hello")])
    state.converse("three", [Said(prompt="Hello")], agent="other")
    before = state.snapshot()

    found = [(one.agent, one.session_id, len(one.events)) for one in stored_sessions(state.folder)]

    assert found == [("main", "one", 3), ("main", "two", 3), ("other", "three", 3)]
    assert state.snapshot() == before


def test_a_database_without_its_log_is_read_as_well(tmp_path: Path) -> None:
    state = UserState(folder=tmp_path / "state", store="sqlite")
    state.converse("one", [Said(prompt="Hello")])
    for name in ("-wal", "-shm"):
        database(state).with_name(database(state).name + name).unlink(missing_ok=True)

    assert [one.session_id for one in stored_sessions(state.folder)] == ["one"]


def test_a_state_of_both_stores_has_the_sessions_of_both(state: UserState) -> None:
    state.converse("old", [Said(prompt="Hello")])
    state.store = "sqlite"
    state.converse("new", [Said(prompt="Hello")])

    assert [one.session_id for one in stored_sessions(state.folder)] == ["old", "new"]


def test_files_that_have_not_changed_since_are_not_opened(state: UserState) -> None:
    state.converse("old", [Said(prompt="Hello")])
    os.utime(state.folder / "agents" / "main" / "sessions" / "old.jsonl", (BEGAN, BEGAN))

    assert list(stored_sessions(state.folder, since=BEGAN + 1)) == []


def test_what_is_no_transcript_is_left_alone(state: UserState, tmp_path: Path) -> None:
    state.converse("one", [Said(prompt="Hello")])
    sessions = state.folder / "agents" / "main" / "sessions"
    (sessions / "one.trajectory.jsonl").write_text("{}\n", encoding="utf-8")
    (sessions / "sessions.json").write_text("{}", encoding="utf-8")
    (tmp_path / "elsewhere.jsonl").write_text('{"type":"session"}\n', encoding="utf-8")
    (sessions / "link.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    os.mkfifo(sessions / "pipe.jsonl")

    assert [one.session_id for one in stored_sessions(state.folder)] == ["one"]


def test_a_linked_database_is_not_followed(tmp_path: Path) -> None:
    other = UserState(folder=tmp_path / "other", store="sqlite")
    other.converse("foreign", [Said(prompt="Hello")])
    state = UserState(folder=tmp_path / "state", store="sqlite")
    database(state).parent.mkdir(parents=True)
    database(state).symlink_to(database(other))

    found = list(stored_sessions(state.folder))

    assert [(one.session_id, bool(one.problem)) for one in found] == [("openclaw-agent.sqlite", True)]


def test_a_database_that_is_none_is_a_problem_and_not_an_error(tmp_path: Path) -> None:
    state = UserState(folder=tmp_path / "state", store="sqlite")
    database(state).parent.mkdir(parents=True)
    database(state).write_bytes(b"not a database at all" * 100)

    assert ["database can't be read" in one.problem for one in stored_sessions(state.folder)] == [True]


@pytest.mark.parametrize("store", STORES)
def test_a_huge_session_is_left_out_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    monkeypatch.setattr(module, "MAX_SESSION_BYTES", 10_000)
    state = UserState(folder=tmp_path / "state", store=store)
    state.converse("huge", [Said(prompt="x" * 20_000)])
    state.converse("small", [Said(prompt="Hello")])

    found = {one.session_id: (len(one.events), one.problem) for one in stored_sessions(state.folder)}

    assert found == {"huge": (0, "it is larger than 0 MiB"), "small": (3, "")}


def test_an_unknown_agent_and_a_missing_state_are_named(state: UserState, tmp_path: Path) -> None:
    state.converse("one", [Said(prompt="Hello")])

    with pytest.raises(ConfigError, match=r"no agent 'mian'\. There are: main"):
        list(stored_sessions(state.folder, agent="mian"))
    with pytest.raises(ConfigError, match="Name its folder with --state"):
        list(stored_sessions(tmp_path / "nowhere"))
