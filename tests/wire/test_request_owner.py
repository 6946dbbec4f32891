"""Which trial a request belongs to, where several share an address."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from pinchbench.wire.request_owner import Mark, owner_of


@dataclass
class Trial:
    name: str
    mark: Mark | None


PATH = "/v1/chat/completions"


def trials(*paths: str) -> list[Trial]:
    return [Trial(path, Mark(path)) for path in paths]


def asks(system: str, user: str = "hi") -> bytes:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return json.dumps({"model": "m", "messages": messages}).encode()


def owner(known: list[Trial], body: bytes) -> str | None:
    found = owner_of(known, PATH, body)
    return found.name if found else None


def test_the_system_prompt_decides_whatever_a_tool_has_printed() -> None:
    known = trials("/tmp/r/task_1", "/tmp/r/task_2")

    assert owner(known, asks("Your workspace is /tmp/r/task_2.", "see /tmp/r/task_1")) == "/tmp/r/task_2"


@pytest.mark.parametrize("longer", ["/tmp/r/task_10", "/tmp/r/task_1@2", "/tmp/r/task_1.attempt2", "/tmp/r/task_1-b"])
def test_a_path_that_begins_with_another_is_not_taken_for_it(longer: str) -> None:
    known = trials("/tmp/r/task_1", longer)

    assert owner(known, asks(f"Workspace: {longer}.")) == longer
    assert owner(known, asks("Workspace: /tmp/r/task_1.")) == "/tmp/r/task_1"
    assert owner(known, asks("Files: /tmp/r/task_1/notes.txt")) == "/tmp/r/task_1"


def test_without_a_system_prompt_the_first_place_in_the_body_decides() -> None:
    known = trials("/tmp/r/täsk_1", "/tmp/r/task_2")
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "in /tmp/r/täsk_1 not /tmp/r/task_2"}]})

    assert owner(known, body.encode()) == "/tmp/r/täsk_1"


def test_a_request_that_names_no_trial_belongs_to_none() -> None:
    assert owner(trials("/tmp/r/task_1"), asks("a recap")) is None
    assert owner(trials("/tmp/r/task_1"), b"\x00 not JSON") is None
