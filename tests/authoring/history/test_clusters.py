"""Similar requests are of one group."""

from __future__ import annotations

from history_states import BEGAN, Call, Said, transcript
from pinchbench.authoring.history.clusters import cluster
from pinchbench.authoring.history.conversations import Conversation, conversations_of
from pinchbench.authoring.history.stored_sessions import StoredSession


def asked(prompt: str, *calls: Call) -> Conversation:
    events = transcript([Said(prompt=prompt, calls=calls)], at=BEGAN, cwd="/w")
    return next(conversations_of(StoredSession(agent="main", session_id=prompt, events=tuple(events))))


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
