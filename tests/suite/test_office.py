"""The office that tasks can have as a service: what its calls do, how it misbehaves when asked to, and its journal."""

import json
from collections.abc import Mapping, Sequence
from runpy import run_path
from typing import Any

import pytest

from pinchbench.files.user_data import bundled_tasks_dir

OFFICE = run_path(str(bundled_tasks_dir() / "craft" / "office" / "service.py"))["Office"]
ANNA = {"name": "Anna", "phone": "1"}
RECORDS = {
    "contacts": {"p1": ANNA, "p2": {"name": "Ben", "phone": "2"}},
    "sites": {"s1": {"title": "Home", "draft": "old", "live": "old"}},
    "mail": {"m1": {"from": "ben@b.example", "to": "us", "subject": "Hi", "text": "Long", "folder": "inbox"}},
}
MAIL = {"to": "ben@b.example", "subject": "Party", "text": "Come."}
EVENT = {"title": "Talk", "date": "2026-05-04", "start": "10:00", "end": "11:00"}


class World:
    """An office and its journal."""

    def __init__(self, *oddities: Mapping[str, object], key: str | None = None) -> None:
        self.journal: list[dict[str, Any]] = []
        state = {"records": json.loads(json.dumps(RECORDS)), "oddities": oddities, "key": key}
        self._office = OFFICE(state, lambda entry: self.journal.append(json.loads(json.dumps(entry))))

    def call(self, method: str, place: str, body: object = None, if_match: str = "") -> tuple[int, dict[str, Any]]:
        status, answer = self._office.call(method, place, body, if_match)
        return status, json.loads(json.dumps(answer))

    def look(self, place: str) -> dict[str, Any]:
        return self.call("GET", place)[1]

    def folded(self) -> dict[str, dict[str, Any]]:
        """Return the records as the journal alone tells them."""
        seed = self.journal[0]["records"]
        found = {f"{kind}/{name}": record for kind, records in seed.items() for name, record in records.items()}
        for entry in self.journal[1:]:
            found.update(entry["changes"])
        return {place: record for place, record in found.items() if record is not None}


class TestCalls:
    def test_lists_leave_out_long_texts_and_search_them(self) -> None:
        world = World()
        [mail] = world.look("/mail?q=long")["items"]
        assert (mail["id"], "text" in mail) == ("m1", False)
        assert world.look("/mail/m1")["text"] == "Long"
        assert world.look("/contacts?name=Ben")["total"] == 1
        assert world.look("/contacts?page=2") == {"items": [], "total": 2, "next": None}

    def test_a_change_needs_the_version_that_was_read_if_it_names_one(self) -> None:
        world = World()
        assert world.call("PATCH", "/contacts/p1", {"phone": "3"}, '"1"')[1]["version"] == 2
        assert world.call("PATCH", "/contacts/p1", {"phone": "4"}, "1")[0] == 409
        assert world.call("PATCH", "/contacts/p1", {"phone": "5"})[0] == 200
        assert world.look("/contacts/p1")["phone"] == "5"

    def test_a_page_is_live_when_it_is_published_and_ids_are_never_given_again(self) -> None:
        world = World()
        world.call("PATCH", "/sites/s1", {"draft": "new"})
        assert world.look("/sites/s1")["live"] == "old"
        world.call("POST", "/sites/s1/publish", {})
        assert world.look("/sites/s1")["live"] == "new"
        first = world.call("POST", "/calendar", EVENT)[1]["id"]
        assert world.call("DELETE", f"/calendar/{first}")[0] == 200
        assert world.call("POST", "/calendar", EVENT)[1]["id"] != first

    def test_a_ticket_needs_a_title_alone_and_keeps_what_a_change_does_not_name(self) -> None:
        world = World()
        assert world.call("POST", "/tickets", {"owner": "anna@a.example"})[0] == 422
        made = world.call("POST", "/tickets", {"title": "Lamp", "owner": "anna@a.example"})[1]["id"]
        world.call("PATCH", f"/tickets/{made}", {"status": "closed"})
        assert world.look(f"/tickets/{made}") == {
            "id": "t1", "title": "Lamp", "owner": "anna@a.example", "status": "closed", "version": 2,
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("method", "place", "body", "status"),
        [
            ("GET", "/nothing", None, 404),
            ("GET", "/contacts/p9", None, 404),
            ("PATCH", "/contacts/p9", {}, 404),
            ("PUT", "/contacts/p1", {}, 405),
            ("POST", "/contacts", [], 400),
            ("POST", "/contacts", {"phone": "1"}, 422),
            ("PATCH", "/contacts/p1", {"name": {"a": {}}}, 422),
            ("PATCH", "/contacts/p1", {"version": 7}, 422),
            ("PATCH", "/mail/m1", {"text": "forged"}, 405),
            ("DELETE", "/mail/m1", None, 405),
        ],
    )
    def test_what_is_not_possible_is_refused_and_changes_nothing(
        self, method: str, place: str, body: object, status: int
    ) -> None:
        world = World()
        before = world.folded()
        assert world.call(method, place, body)[0] == status
        assert world.folded() == before
        assert world.journal[-1]["status"] == status


class TestOddities:
    def test_a_lost_change_is_confirmed_and_not_stored_as_often_as_stated(self) -> None:
        world = World({"call": "PATCH contacts/p1", "does": "lose", "times": 1})
        assert world.call("PATCH", "/contacts/p1", {"phone": "3"})[1]["phone"] == "3"
        assert world.look("/contacts/p1")["phone"] == "1"
        world.call("PATCH", "/contacts/p1", {"phone": "3"})
        assert world.look("/contacts/p1")["phone"] == "3"

    def test_a_batch_says_what_it_received_not_what_it_made(self) -> None:
        world = World({"call": "POST calendar", "where": {"title": "Walk"}, "does": "lose"})
        assert world.call("POST", "/calendar/batch", [EVENT, EVENT | {"title": "Walk"}]) == (200, {"received": 2})
        assert [one["title"] for one in world.look("/calendar")["items"]] == ["Talk"]

    def test_mail_that_bounces_comes_back_later(self) -> None:
        world = World({"call": "POST mail", "where": {"to": "ben@"}, "does": "bounce", "after": 2})
        assert world.call("POST", "/mail", MAIL)[0] == 201
        assert [world.look("/mail?folder=inbox")["total"] for _ in range(3)] == [1, 1, 2]
        assert world.look("/mail?q=undelivered")["items"][0]["subject"] == "Undelivered: Party"

    @pytest.mark.parametrize(
        ("odd", "status", "phones"),
        [
            ({"does": "refuse", "error": "no"}, 403, ["1", "1", "1"]),
            ({"does": "hold"}, 202, ["1", "1", "1"]),
            ({"does": "hold", "decision": "approve", "after": 2}, 202, ["1", "1", "3"]),
            ({"does": "fail"}, 503, ["3", "3", "3"]),
            ({"does": "revert", "after": 2}, 200, ["3", "3", "1"]),
        ],
    )
    def test_a_change_may_be_refused_wait_fail_or_be_undone(
        self, odd: Mapping[str, object], status: int, phones: Sequence[str]
    ) -> None:
        world = World({"call": "PATCH contacts/p1", **odd})
        assert world.call("PATCH", "/contacts/p1", {"phone": "3"})[0] == status
        assert [world.look("/contacts/p1")["phone"] for _ in range(3)] == phones

    @pytest.mark.parametrize("place", ["/contacts", "/contacts/p1"])
    def test_a_colleague_changes_what_was_read_before_it_is_written(self, place: str) -> None:
        edits = {"contacts/p1": {"notes": "moved", "name+": " B."}, "contacts/p2": None}
        world = World({"call": "GET contacts/p1", "does": "edit", "skip": 1, "by": "Ruben", "edits": edits})
        world.call("GET", place)
        world.call("GET", place)
        assert world.call("PATCH", "/contacts/p1", {"phone": "3"}, "1")[0] == 409
        world.call("PATCH", "/contacts/p1", {"phone": "3"}, "2")
        assert world.folded()["contacts/p1"] == ANNA | {
            "name": "Anna B.", "phone": "3", "notes": "moved", "changed_by": "Ruben", "version": 3,
        }  # fmt: skip
        assert "contacts/p2" not in world.folded()
        assert [entry["by"] for entry in world.journal[1:]] == ["agent", "agent", "Ruben", "Ruben", "agent", "agent"]


class TestEvents:
    """What the task's timeline lets happen in the office."""

    def test_an_event_with_the_key_changes_records_in_the_name_of_a_colleague(self) -> None:
        world = World(key="k")
        edits = {"contacts/p1": {"phone": "9"}, "contacts/p2": None, "mail/m2": {"subject": "New", "folder": "inbox"}}
        assert world.call("POST", "/events", {"key": "k", "by": "Ben", "edits": edits}) == (200, {})
        folded = world.folded()
        assert folded["contacts/p1"]["phone"] == "9"
        assert "contacts/p2" not in folded
        assert world.look("/mail?folder=inbox")["total"] == 2
        assert [entry["by"] for entry in world.journal[1:]] == ["Ben", "agent"]

    def test_a_caller_without_the_key_finds_no_such_place(self) -> None:
        for world, key in ((World(key="k"), "other"), (World(), None)):
            assert world.call("POST", "/events", {"key": key, "by": "Ben", "edits": {"contacts/p2": None}})[0] == 404
            assert "contacts/p2" in world.folded()
