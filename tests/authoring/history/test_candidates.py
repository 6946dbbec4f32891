"""What of a history can be asked again, why the rest can't, and which stand for all."""

from pathlib import Path

from history_states import BEGAN, Call, Said, UserState, conversation
from pinchbench.authoring.history.candidates import (
    DAY_S,
    EMPTY_REASON,
    Candidate,
    cluster,
    find_history,
    workspaces_of,
)
from pinchbench.authoring.history.conversations import Conversation


def found(state: UserState, *, since: float = 0.0, until: float = BEGAN + 10 * DAY_S) -> dict[str, Candidate]:
    config = {"agents": {"defaults": {"workspace": str(state.workspace)}}}
    candidates, _ = find_history(state.folder, config=config, since=since, until=until)
    return {one.conversation.session_id: one for one in candidates}


def write(path: str, text: str) -> Said:
    return Said(prompt=f"Write {text} to {path}", calls=[("write", {"path": path, "content": text}, "ok")])


def test_each_conversation_is_usable_or_has_its_reasons(state: UserState) -> None:
    state.put({"kept.txt": "42"}, at=BEGAN + 10 * DAY_S)
    state.converse("kept", [write("kept.txt", "42")])
    state.converse("changed", [write("gone.txt", "43")], at=BEGAN + 100)
    state.converse("lost", [Said(prompt="x", calls=[("read", {"path": "a", "offset": 3}, "…")])], at=BEGAN + 200)
    state.converse("web", [Said(prompt="Weather?", calls=[("browser", {}, "sun")])], at=BEGAN + 300)

    result = found(state)

    assert {name: list(one.obstacles) for name, one in result.items()} == {
        "web": ["live web: browser"],
        "lost": ["files that are gone: 0 of 1 files that it used can be restored"],
        "changed": [EMPTY_REASON],
        "kept": [],
    }
    assert [name for name, one in result.items() if one.is_suggested] == ["kept"]


def test_files_are_read_in_no_folder_but_the_agents_workspaces(state: UserState, tmp_path: Path) -> None:
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "key.txt").write_text("secret", encoding="utf-8")
    state.converse("hostile", [Said(prompt="x", calls=[("read", {"path": "key.txt"}, "shown")])], cwd=str(secrets))

    (one,) = found(state).values()

    assert one.obstacles[0] == "its workspace is not one that your OpenClaw's config names"
    assert b"secret" not in one.restored.files.values()


def test_two_conversations_at_once_that_changed_the_same_file_are_left_out(state: UserState) -> None:
    state.converse("one", [write("same.txt", "1")])
    state.converse("two", [write("same.txt", "2")], at=BEGAN + 1)
    state.converse("three", [write("other.txt", "3")], at=BEGAN + 1)

    why = "another conversation changed its files at the same time"

    assert {name: why in one.obstacles for name, one in found(state).items()} == {
        "one": True,
        "two": True,
        "three": False,
    }


def test_a_group_of_similar_requests_has_one_suggestion_its_share_and_its_frequency(state: UserState) -> None:
    for number in range(3):
        state.put({f"sum{number}.txt": f"{number}"}, at=BEGAN + 50 * DAY_S)
        state.converse(f"s{number}", [write(f"sum{number}.txt", f"{number}")], at=BEGAN + number * DAY_S)
    state.converse("other", [Said(prompt="Tell me a joke about cats")], at=BEGAN + DAY_S)

    result = found(state, until=BEGAN + 15 * DAY_S)

    assert [one.share for one in result.values()] == [0.75, 0.25, 0.75, 0.75]
    assert [round(one.monthly, 3) for one in result.values()] == [6.0, 2.0, 6.0, 6.0]
    assert sum(one.is_suggested for one in result.values()) == 1


def test_older_conversations_are_not_listed(tmp_path: Path) -> None:
    state = UserState(folder=tmp_path / "state", store="sqlite")
    state.converse("old", [write("a.txt", "1")])
    state.converse("new", [write("b.txt", "1")], at=BEGAN + 100)

    assert list(found(state, since=BEGAN + 50)) == ["new"]


def test_workspaces_are_those_of_both_forms_of_the_config(tmp_path: Path) -> None:
    (tmp_path / "workspace-work").mkdir()
    config = {
        "agents": {"defaults": {}, "list": [{"id": "a", "workspace": "/a"}, 3], "entries": {"b": {"workspace": "/b"}}}
    }

    assert {str(path) for path in workspaces_of(config, tmp_path)} == {
        *("/a", "/b", str(tmp_path / "workspace"), str(tmp_path / "workspace-work"))
    }


def asked(prompt: str, *calls: Call) -> Conversation:
    return conversation([Said(prompt=prompt, calls=calls)], cwd="/w")


def test_similar_requests_are_of_one_group_and_others_are_not() -> None:
    mail: Call = ("read", {"path": "inbox.md"}, "")
    groups = cluster(
        [
            asked("Draft a reply to the mail of the bank in inbox.md", mail),
            asked("Repair the failing tests of parser.py", ("exec", {"command": "pytest"}, "")),
            asked("Draft a short reply to the mail of my landlord in inbox.md", mail),
            asked("Repair the failing tests of report.py please", ("exec", {"command": "pytest"}, "")),
        ]
    )

    assert groups == (0, 1, 0, 1)


def test_nothing_has_no_groups_and_empty_requests_have_one() -> None:
    assert cluster([]) == ()
    assert len(set(cluster([asked("?"), asked("!")]))) == 2
