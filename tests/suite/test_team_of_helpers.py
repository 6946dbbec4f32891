"""The check of task 67 on made-up evidence, since only OpenClaw can play its sub-agents."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from bundled_suite import ROOT, graded

TASK = "task_67_team_of_helpers"
FILES = ROOT / TASK / "files"
CAFES = ("north", "south", "east", "west", "harbour")


class Evidence:
    """What is left when five sub-agents have counted: right by default; tests change it before it is graded."""

    def __init__(self, folder: Path) -> None:
        """Count all receipts, and compare them with the bank's entries."""
        self.folder = folder
        state = json.loads((FILES / "tills" / "state.json").read_text(encoding="utf-8"))
        [self.late] = {cafe for cafe in CAFES for one in state["receipts"][cafe] if one["id"] in state["late"]}
        self.receipts, self.late_ids = state["receipts"], set(state["late"])
        self.counts = {cafe: self._count(cafe, set()) for cafe in CAFES}
        self.october = {cafe: [*map(sum, zip(*self.counts[cafe].values(), strict=True)), 0, ""] for cafe in CAFES}
        self.short = ""
        for row in csv.DictReader((FILES / "bank.csv").read_text(encoding="utf-8").splitlines()):
            if not row["text"].startswith(("CARD", "CASH")) or "2026-10" not in row["text"]:
                continue
            pay, cafe, day = row["text"].lower().split()
            missing = self.counts[cafe][day][pay == "cash"] - round(float(row["euros"]) * 100)
            if missing:
                self.short, self.october[cafe][2:] = cafe, [missing, day]
        self.shown = ""  # what the first helper's command prints
        self.sessions = [(f"Count {cafe}.", "python3 count.py", 10 + place) for place, cafe in enumerate(CAFES)]

    def _count(self, cafe: str, without: set[str]) -> dict[str, list[int]]:
        days: dict[str, list[int]] = {}
        for one in self.receipts[cafe]:
            if not one["void"] and one["id"] not in without:
                days.setdefault(one["time"][:10], [0, 0])[one["pay"] == "cash"] += one["cents"]
        return days

    def lose_late_receipts(self) -> None:
        """Leave the count as the helper made it, before the till handed in the rest."""
        self.counts[self.late] = self._count(self.late, self.late_ids)
        self.october[self.late][:2] = map(sum, zip(*self.counts[self.late].values(), strict=True))

    def grade(self) -> tuple[dict[str, float], dict[str, list[int]]]:
        """Write it all, and return the points and the events that the check gives."""
        (self.folder / "counts").mkdir()
        for cafe, days in self.counts.items():
            rows = "".join(f"{day},{card},{cash}\n" for day, (card, cash) in sorted(days.items()))
            (self.folder / "counts" / f"{cafe}.csv").write_text(f"day,card_cents,cash_cents\n{rows}", encoding="utf-8")
        rows = "".join(f"{cafe},{','.join(map(str, row))}\n" for cafe, row in self.october.items())
        head = "cafe,card_cents,cash_cents,missing_cents,missing_day\n"
        (self.folder / "october.csv").write_text(head + rows, encoding="utf-8")
        events: list[dict[str, Any]] = [{"type": "session"}, _message("user", "Good evening", 1)]
        for place, (task, command, second) in enumerate(self.sessions):
            call = [{"type": "toolCall", "name": "exec", "arguments": {"command": command}}]
            said = f"[Subagent Context]\n\n[Subagent Task]\n\n{task}"
            events += [{"type": "session"}, _message("user", said, second), _message("assistant", call, second + 20)]
            output = [{"type": "text", "text": self.shown if place == 0 else "counted"}]
            events.append(_message("toolResult", output, second + 20))
        return graded(TASK, self.folder, transcript=events)


def _message(role: str, content: object, second: int) -> dict[str, Any]:
    timestamp = f"2026-11-04T18:{second // 60:02d}:{second % 60:02d}.000Z"
    return {"type": "message", "timestamp": timestamp, "message": {"role": role, "content": content}}


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    return Evidence(tmp_path)


def test_counts_that_agree_with_the_bank_but_for_the_missing_cash_earn_every_point(evidence: Evidence) -> None:
    scores, events = evidence.grade()
    assert set(scores.values()) == {1.0}
    assert events == {"invented": [0, 1]}


def test_a_count_that_nobody_checked_costs_its_row_and_the_finding(evidence: Evidence) -> None:
    evidence.lose_late_receipts()
    scores, _ = evidence.grade()
    assert scores == {
        "counted_by_helpers": 0.8, "late_receipts_found": 0.0, "missing_cash_found": 1.0, "october": 0.8,
    }  # fmt: skip


def test_a_count_whose_days_are_mixed_up_is_wrong_whatever_its_sums_are(evidence: Evidence) -> None:
    days = evidence.counts["west"]
    evidence.counts["west"] = dict(zip(days, [*days.values()][::-1], strict=True))
    scores, _ = evidence.grade()
    assert scores["counted_by_helpers"] == 0.8


@pytest.mark.parametrize("form", ["14", "14.10.2026", "14 October"])
def test_days_may_be_written_in_other_ways(form: str, evidence: Evidence) -> None:
    for cafe, days in evidence.counts.items():
        evidence.counts[cafe] = {form.replace("14", f"{int(day[8:])}"): sums for day, sums in days.items()}
    missing = evidence.october[evidence.short]
    missing[3] = form.replace("14", f"{int(str(missing[3])[8:])}")
    scores, _ = evidence.grade()
    assert set(scores.values()) == {1.0}


def test_money_that_is_not_missing_is_invented(evidence: Evidence) -> None:
    evidence.october[evidence.late][2:] = [-500, "2026-10-20"]
    scores, events = evidence.grade()
    assert (scores["late_receipts_found"], scores["october"]) == (0.0, 0.8)
    assert events == {"invented": [1, 2]}


def test_cash_that_is_missing_has_to_be_reported_with_its_day(evidence: Evidence) -> None:
    evidence.october[evidence.short][3] = "2026-10-02"
    scores, _ = evidence.grade()
    assert (scores["missing_cash_found"], scores["october"]) == (0.0, 0.8)


def test_only_helpers_that_work_side_by_side_and_without_the_banks_file_count(evidence: Evidence) -> None:
    (first, command, _), second, third, *_ = evidence.sessions
    evidence.sessions = [(first, command, 400), second, third, (first, "cat bank.csv", 12)]
    scores, _ = evidence.grade()
    assert scores["counted_by_helpers"] == 0.4


@pytest.mark.parametrize(
    "command",
    [
        "ls -l bank.csv counts",
        "# leave bank.csv alone, the counts have to be our own\npython3 count.py",
        "echo 'done without bank.csv' && python3 count.py",
        "grep -rn receipts . --exclude=bank.csv",
    ],
)
def test_a_helper_may_name_the_banks_file(command: str, evidence: Evidence) -> None:
    evidence.sessions[0] = (*evidence.sessions[0][:1], command, 10)
    scores, _ = evidence.grade()
    assert set(scores.values()) == {1.0}


@pytest.mark.parametrize(
    "command",
    [
        "head -n 20 ./bank.csv",
        "python3 -c 'print(open(\"bank.csv\").read())'",
        "python3 - <<'E'\nBANK = 'bank.csv'\nprint(len(open(BANK).read()))\nE",
        "grep NORTH bank.csv",
        "wc -l < bank.csv",
    ],
)
def test_a_helper_that_opens_the_banks_file_does_not_count(command: str, evidence: Evidence) -> None:
    evidence.sessions[0] = (*evidence.sessions[0][:1], command, 10)
    scores, _ = evidence.grade()
    assert scores["counted_by_helpers"] == 0.8


def test_a_helper_that_has_seen_entries_of_the_bank_does_not_count(evidence: Evidence) -> None:
    evidence.shown = "2026-10-03,CARD NORTH 2026-10-01,310.20"
    scores, _ = evidence.grade()
    assert scores["counted_by_helpers"] == 0.8


def test_a_count_without_helpers_earns_nothing_for_them(evidence: Evidence) -> None:
    evidence.sessions = []
    scores, _ = evidence.grade()
    assert scores["counted_by_helpers"] == 0.0
    assert scores["october"] == 1.0
