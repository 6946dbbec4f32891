"""What is recognised in a transcript: requests, and what keeps them from being asked again."""

import pytest

from history_states import BEGAN, Said, transcript
from pinchbench.authoring.history.conversations import Conversation, conversations_of, is_inside, own_words
from pinchbench.authoring.history.stored_sessions import StoredSession
from pinchbench.transcript_lines import Event

WORKSPACE = "/home/ada/.openclaw/workspace"


def found(*turns: Said, more: list[Event] | None = None) -> list[Conversation]:
    events = [*transcript(turns, at=BEGAN, cwd=WORKSPACE), *(more or [])]
    return list(conversations_of(StoredSession(agent="main", session_id="s", events=tuple(events))))


def obstacles(*turns: Said) -> tuple[str, ...]:
    return found(*turns)[0].obstacles


def test_a_conversation_has_its_turns_cost_time_and_model() -> None:
    read = ("read", {"path": "a.txt"}, "A")
    (one,) = found(Said(prompt="Read a.txt", calls=[read]), Said(prompt="And now?", answer="Nothing."))

    assert [turn.prompt for turn in one.turns] == ["Read a.txt", "And now?"]
    assert one.turns[1].answer == "Nothing."
    assert (one.usage.requests, round(one.usage.cost_usd, 2), one.model) == (3, 0.03, "mock/m1")
    assert (one.workspace, one.tools, one.obstacles) == (WORKSPACE, {"read": 1}, ())
    assert one.ended_at - one.began_at == 5


def test_a_long_pause_begins_another_conversation() -> None:
    later = transcript([Said(prompt="Good morning")], at=BEGAN + 9 * 3600, cwd=WORKSPACE)[1:]

    first, second = found(Said(prompt="Good night"), more=later)

    assert (first.turns[0].prompt, second.turns[0].prompt) == ("Good night", "Good morning")
    assert second.notes == ("it continues an earlier conversation",)
    assert first.key != second.key


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (("x_search", {"query": "x"}, "y"), "live web: x_search"),
        (("browser", {}, "y"), "live web: browser"),
        (("message", {"action": "send"}, "y"), "channels: message"),
        (("nodes", {}, "y"), "devices or media: nodes"),
        (("sessions_spawn", {"task": "x"}, "y"), "other sessions: sessions_spawn"),
        (("automations", {}, "y"), "OpenClaw itself: automations"),
        (("crm_lookup", {}, "y"), "tools of yours: crm_lookup"),
        (("memory_search", {"query": "x"}, "y"), "your agent's memory, which it searched"),
        (("exec", {"command": "cd a && curl -s https://x.y"}, "y"), "live web or this machine: curl"),
        (("exec", {"command": "git push"}, "y"), "live web or this machine: git push"),
        (("exec", {"command": "cat ~/notes.txt"}, "y"), "files outside its workspace"),
        (("read", {"path": "/home/ada/letter.txt"}, "y"), "files outside its workspace"),
    ],
)
def test_what_a_folder_alone_does_not_give_is_an_obstacle(call: tuple[str, dict[str, object], str], why: str) -> None:
    assert obstacles(Said(prompt="Go", calls=[call])) == (why,)


def test_the_web_is_an_obstacle_only_where_its_reply_is_not_recorded() -> None:
    said = Said(prompt="Go", calls=[("web_search", {"query": "x"}, "y"), ("web_fetch", {"url": "https://x.y"}, "")])
    events = transcript([said], at=BEGAN, cwd=WORKSPACE)
    (torn,) = conversations_of(StoredSession(agent="main", session_id="s", events=(*events[:-2], events[-1])))

    assert (obstacles(said), torn.obstacles) == ((), ("live web: web_fetch",))


def test_work_in_the_workspace_is_no_obstacle() -> None:
    calls = [
        ("read", {"path": f"{WORKSPACE}/a.txt"}, "A"),
        ("exec", {"command": "python3 -m unittest > /dev/null 2>&1; ls /usr/bin"}, ""),
        ("edit", {"path": "./a.txt", "oldText": "A", "newText": "B"}, ""),
    ]

    assert obstacles(Said(prompt="Go", calls=calls)) == ()


def test_an_aborted_conversation_and_one_without_an_answer_are_left_out() -> None:
    why = "it was ended before the agent had answered"

    assert obstacles(Said(prompt="Go", stop="aborted", answer="")) == (why,)
    unanswered = transcript([Said(prompt="Go")], at=BEGAN, cwd=WORKSPACE)[:2]
    (one,) = conversations_of(StoredSession(agent="main", session_id="s", events=tuple(unanswered)))
    assert one.obstacles == (why,)


def test_damaged_lines_are_an_obstacle_and_a_compaction_is_noted() -> None:
    compaction: Event = {"type": "compaction", "timestamp": "2026-05-28T20:26:42+00:00"}
    (compacted,) = found(Said(prompt="Go"), more=[compaction])
    (damaged,) = found(Said(prompt="Go"), more=[{"raw": '{"type":"mess', "parse_error": "torn"}])

    assert compacted.obstacles == ()
    assert damaged.obstacles == ("parts of its transcript are damaged",)


@pytest.mark.parametrize(
    "prompt", ["[cron:1 brief] Write the brief", "Read HEARTBEAT.md if it exists", "System: woken"]
)
def test_turns_that_nobody_wrote_are_no_conversations(prompt: str) -> None:
    assert found(Said(prompt=prompt)) == []


@pytest.mark.parametrize(
    "text",
    [
        "Count it",
        "[Sun 2026-11-29 05:40 UTC] Count it",
        "Count it\n<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nsecret\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>",
        'Conversation info (untrusted metadata):\n```json\n{"sender": 1}\n```\n\nCount it',
    ],
)
def test_what_openclaw_puts_around_a_message_is_removed(text: str) -> None:
    assert own_words(text) == "Count it"


@pytest.mark.parametrize(
    ("path", "inside"),
    [("a/b", True), (f"{WORKSPACE}/a", True), ("/etc/passwd", False), ("../a", False), ("~/a", False)],
)
def test_paths_in_the_workspace_are_told_from_others(path: str, *, inside: bool) -> None:
    assert is_inside(path, WORKSPACE) is inside
