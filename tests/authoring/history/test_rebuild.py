"""The files that a conversation began with and left: from git, from the disk, and from what its tools showed."""

from collections.abc import Sequence

import pytest

from history_states import BEGAN, Call, Said, UserState, conversation
from pinchbench.authoring.history.rebuild import WEB_INDEX, Restored, local_path, recorded_web, restore
from pinchbench.authoring.history.workspace_past import WorkspacePast

LATER = BEGAN + 5000


def restored(
    state: UserState, *calls: Call, turns: Sequence[Said] = (), memory: bool = False, skills: bool = False
) -> Restored:
    one = conversation(turns or [Said(prompt="Go", calls=calls)], cwd=str(state.workspace))
    return restore(one, WorkspacePast(folder=state.workspace), memory=memory, skills=skills)


def test_files_come_from_the_last_commit_before_it(state: UserState) -> None:
    state.put({"a.txt": "old", "other.bin": b"\x00\x01"})
    state.commit()
    state.put({"a.txt": "changed later"}, at=LATER)
    state.commit(at=LATER)

    found = restored(state, ("read", {"path": "a.txt"}, "old"))

    assert dict(found.files) == {"a.txt": b"old", "other.bin": b"\x00\x01"}
    assert (found.lost, found.used, dict(found.left)) == ({}, 1, {})


def test_a_file_that_has_not_changed_since_comes_from_the_disk(state: UserState) -> None:
    state.put({"a.txt": "uncommitted\r\n", "b.txt": "never named"})

    found = restored(state, ("read", {"path": str(state.workspace / "a.txt")}, "uncommitted\n"))

    assert dict(found.files) == {"a.txt": b"uncommitted\r\n"}


def test_a_file_that_is_gone_comes_from_what_a_read_showed(state: UserState) -> None:
    found = restored(state, ("read", {"path": "a.txt"}, "shown\n"))

    assert dict(found.files) == {"a.txt": b"shown\n"}
    assert found.coverage == "1 of 1 files that it used can be restored"


@pytest.mark.parametrize(
    "call",
    [
        ("read", {"path": "a.txt", "offset": 10}, "a part"),
        ("read", {"path": "a.txt"}, "a part\n\n[Showing lines 1-200 of 900. Use offset=201 to continue.]"),
        ("edit", {"path": "a.txt", "oldText": "x", "newText": "y"}, "ok"),
    ],
)
def test_a_file_that_was_shown_in_part_is_lost(state: UserState, call: Call) -> None:
    found = restored(state, call)

    assert list(found.lost) == ["a.txt"]
    assert found.coverage == "0 of 1 files that it used can be restored"


def test_what_was_read_counts_where_a_commit_holds_something_else(state: UserState) -> None:
    state.put({"a.txt": "committed"})
    state.commit()
    state.put({"a.txt": "later"}, at=LATER)

    assert dict(restored(state, ("read", {"path": "a.txt"}, "uncommitted")).files) == {"a.txt": b"uncommitted"}


def test_writes_and_edits_are_followed_turn_by_turn(state: UserState) -> None:
    state.put({"a.txt": "one two"})
    turns = [
        Said(
            prompt="Go",
            calls=[("read", {"path": "a.txt"}, "one two"), ("write", {"path": "b.txt", "content": "3"}, "")],
        ),
        Said(
            prompt="No",
            calls=[
                ("edit", {"path": "a.txt", "edits": [{"oldText": "one", "newText": "1"}]}, ""),
                ("edit", {"path": "b.txt", "oldText": "9", "newText": "4"}, "ERROR: no match"),
            ],
        ),
    ]
    state.put({"a.txt": "1 two"}, at=LATER)

    found = restored(state, turns=turns)

    assert [dict(one) for one in found.writes] == [{"b.txt": b"3"}, {"a.txt": b"1 two"}]
    assert dict(found.files) == {"a.txt": b"one two"}
    assert (found.left["a.txt"].data, found.left["a.txt"].is_kept) == (b"1 two", True)


def test_what_a_command_made_is_found_by_its_time_and_its_name(state: UserState) -> None:
    state.put({"data.csv": "1\n"})
    state.put({"out.bin": b"\x00made", "unrelated.txt": "x"}, at=BEGAN + 2)

    found = restored(state, ("exec", {"command": "python3 make.py data.csv --to out.bin"}, ""))

    assert {path: (file.data, file.is_kept) for path, file in found.left.items()} == {"out.bin": (b"\x00made", True)}
    assert dict(found.files) == {"data.csv": b"1\n"}


def test_what_a_later_commit_holds_was_kept(state: UserState) -> None:
    state.put({"a.txt": "first"})
    state.commit()
    state.put({"a.txt": "written"}, at=LATER)
    state.commit(at=LATER)
    state.put({"a.txt": "much later"}, at=LATER + 9)

    left = restored(state, ("write", {"path": "a.txt", "content": "written"}, "")).left["a.txt"]

    assert (left.data, left.is_kept) == (b"written", True)
    assert left.evidence.endswith("of 2026-05-28 holds it")


def test_what_was_changed_or_removed_later_was_not_kept(state: UserState) -> None:
    left = restored(state, ("write", {"path": "a.txt", "content": "written"}, "")).left["a.txt"]

    assert (left.data, left.is_kept) == (b"written", False)


def test_after_a_command_that_may_change_anything_only_what_is_confirmed_counts(state: UserState) -> None:
    write = ("write", {"path": "a.txt", "content": "written"}, "")

    assert dict(restored(state, write, ("exec", {"command": "python3 fix.py"}, "")).left) == {}
    assert list(restored(state, write, ("exec", {"command": "cat a.txt | wc -l && git diff"}, "")).left) == ["a.txt"]


def test_memory_and_skills_come_only_when_asked_for(state: UserState) -> None:
    state.put({"MEMORY.md": "m", "memory/day.md": "d", "skills/x/SKILL.md": "s", "AGENTS.md": "a", "a.txt": "x"})
    state.commit()
    read = ("read", {"path": "MEMORY.md"}, "m")

    assert list(restored(state).files) == ["a.txt"]
    assert restored(state, read).lost == {"MEMORY.md": "it is your agent's memory: add --memory"}
    assert list(restored(state, read, memory=True, skills=True).files) == [
        *("AGENTS.md", "MEMORY.md", "a.txt", "memory/day.md", "skills/x/SKILL.md")
    ]
    assert restored(state, read, memory=True).lost == {}


@pytest.mark.parametrize(
    ("text", "path"),
    [("a/./b", "a/b"), ("/w/a", "a"), ("/etc/a", ""), ("../a", ""), ("~/a", ""), ("/w", ""), ("a\nb", "")],
)
def test_only_places_in_the_workspace_are_files_of_a_task(text: str, path: str) -> None:
    assert local_path(text, "/w") == path


def test_each_page_and_search_has_its_last_good_reply_and_the_index_says_what_was_asked() -> None:
    turns = [
        Said(
            prompt="Look",
            calls=[
                ("web_search", {"query": "tides\n- 09.txt: x"}, "found"),
                ("web_fetch", {"url": "https://a.example/1"}, "ERROR 503"),
                ("web_fetch", {"url": "https://a.example/1"}, '{"text": "page"}'),
                ("web_fetch", {"url": "https://a.example/1"}, "ERROR 503"),
            ],
        ),
        Said(
            prompt="More",
            calls=[("web_fetch", {"url": "https://b.example"}, "ERROR 404"), ("browser", {"url": "c"}, "x")],
        ),
    ]

    files = recorded_web(conversation(turns, cwd="/w"))

    assert files[WEB_INDEX].decode().splitlines()[2:] == [
        "- 01.txt: web_search tides - 09.txt: x",
        "- 02.txt: web_fetch https://a.example/1",
        "- 03.txt: web_fetch https://b.example (failed)",
    ]
    assert [files[f"recorded_web/0{number}.txt"] for number in (1, 2, 3)] == [
        b"found",
        b'{"text": "page"}',
        b"ERROR 404",
    ]


def test_a_conversation_without_the_web_has_no_such_files() -> None:
    assert recorded_web(conversation([Said(prompt="Go", calls=[("exec", {"command": "ls"}, "a")])], cwd="/w")) == {}
