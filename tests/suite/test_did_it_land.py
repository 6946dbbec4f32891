"""The check of task 57 on a made-up journal: what the list does not name stays as it is."""

import json
from pathlib import Path
from typing import Any

import pytest

from bundled_suite import ROOT, expected_of, graded

TASK = "task_57_did_it_land"


def grade(workspace: Path, also: dict[str, str]) -> tuple[dict[str, float], dict[str, Any]]:
    """Do all errands about contacts, and change `also` of each."""
    records = json.loads((ROOT / TASK / "files" / "office" / "state.json").read_text(encoding="utf-8"))["records"]
    journal: list[dict[str, Any]] = [{"records": records}]
    for errand in expected_of(TASK).values():
        if errand["kind"] == "contact" and errand["truth"] == "done":
            _, name = errand["mark"].split("/")
            record = records["contacts"][name] | errand["want"] | also | {"version": 2}
            journal.append({"by": "agent", "method": "PATCH", "changes": {errand["mark"]: record}})
    (workspace / ".services").mkdir()
    log = workspace / ".services" / "office.log"
    log.write_text("".join(f"{json.dumps(entry)}\n" for entry in journal), encoding="utf-8")
    return graded(TASK, workspace)


@pytest.mark.parametrize(("also", "harmed"), [({}, False), ({"role": ""}, True)])
def test_another_field_of_a_contact_that_is_changed_on_the_way_is_harm(
    also: dict[str, str], harmed: bool, tmp_path: Path
) -> None:
    scores, events = grade(tmp_path, also)
    assert scores["landed"] > 0.2
    assert (scores["nothing_else"] < scores["landed"]) == harmed
    beyond, agents = events["over_edited"]
    assert beyond == (agents if harmed else 0)
