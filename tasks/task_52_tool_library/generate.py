"""Six weeks of requests to a library of tools, decided by rules that change from message to message."""

import csv
import io
import json
from collections import Counter
from datetime import date, timedelta
from hashlib import sha256

from craft.dice import Dice

SEED = 20260504
START = date(2026, 5, 4)  # the Monday of week 1
RATES = {"A": 110, "B": 255, "C": 615}
HOLIDAY = date(2026, 6, 15)
# What the messages name.
WRONG, RIGHT, QUIET = "M-012", "M-021", "M-040"
MOWER, SAW, OTHER_SAW = "T-031", "T-008", "T-018"


class Desk:
    """The rules as they stand in a week, and what is lent."""

    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        self.tools = {f"T-{number:03d}": dice.pick("AABBBCC") for number in range(1, 43)}
        self.tools |= {MOWER: "B", SAW: "C", OTHER_SAW: "C"}
        self.members: dict[str, dict] = {}
        for number in range(1, 66):
            name = f"M-{number:03d}"
            self.members[name] = {
                "group": "garden" if dice.chance(0.35) else "",
                "paid_until": START + timedelta(days=dice.pick((-20, 12, 25, 39))) if dice.chance(0.15) else date(2026, 12, 31),
                "training": "yes" if dice.chance(0.7) else "",
                "overdue": "yes" if dice.chance(0.08) else "",
            }  # fmt: skip
        for name in (WRONG, RIGHT, QUIET):
            self.members[name] = {"group": "", "paid_until": date(2026, 12, 31), "training": "yes", "overdue": ""}
        self.requests = {week: self._week(week) for week in range(1, 7)}
        self.lent: dict[str, tuple[str, date, date]] = {}  # by request: tool, first day, due day

    def _week(self, week: int) -> list[dict]:
        dice, monday = self.dice, START + timedelta(days=7 * (week - 1))
        made = []
        for place in range(44):
            member = dice.pick(list(self.members))
            tool = dice.pick(list(self.tools))
            if dice.chance(0.14):
                tool = dice.pick((MOWER, SAW, OTHER_SAW))
            days = dice.pick((1, 2, 2, 3, 3, 4, 5, 6, 7, 7, 8))
            if place in (3, 11, 19, 27, 35):
                member = QUIET
            elif place in (5, 13, 21, 29):
                member, days = (WRONG, RIGHT)[place % 16 > 8], dice.pick((8, 9, 10, 10, 11))
                tool = dice.pick(
                    [name for name, kind in self.tools.items() if kind == "C" and name not in (SAW, OTHER_SAW)]
                )
            if dice.chance(0.03):
                member = f"M-{dice.between(90, 99):03d}"
            made.append(
                {
                    "id": f"W{week}-{place + 1:02d}", "member": member, "tool": tool, "days": days,
                    "from": f"{monday + timedelta(days=dice.between(1, 17))}", "counter": dice.pick(("north", "south")),
                }
            )  # fmt: skip
        return made

    def due(self, request: dict, week: int) -> date:
        day = date.fromisoformat(request["from"]) + timedelta(days=request["days"])
        closed = {6, 0} if request["counter"] == "north" else {6, 2} if week >= 2 else {6}
        while day.weekday() in closed or (day == HOLIDAY and week >= 4):
            day += timedelta(days=1)
        return day

    def decide(self, request: dict, week: int, *, exception: str) -> tuple[str, str, int, str]:
        """The decision, its reason, the fee in cents and the due day."""
        one = self.members.get(request["member"])
        first, due, kind = date.fromisoformat(request["from"]), self.due(request, week), self.tools[request["tool"]]
        broken = {MOWER} if week == 1 else {SAW} if week < 5 else {SAW, OTHER_SAW}
        festival = {3: (date(2026, 6, 1), date(2026, 6, 14)), 5: (date(2026, 6, 8), date(2026, 6, 21))}.get(
            0 if week < 3 else 3 if week < 5 else 5
        )
        is_exempt = request["member"] == exception and kind == "C"
        reason = ""
        if one is None or one["paid_until"] < first:
            reason = "member"
        elif one["overdue"]:
            reason = "overdue"
        elif request["tool"] in broken:
            reason = "broken"
        elif kind == "C" and not one["training"]:
            reason = "training"
        elif kind == "C" and festival and first <= festival[1] and due > festival[0] and request["member"] != exception:
            reason = "reserved"
        elif request["days"] > (10 if is_exempt else 7):
            reason = "days"
        elif any(
            tool == request["tool"] and first < until and begin < due and number != request["id"]
            for number, (tool, begin, until) in self.lent.items()
        ):
            reason = "taken"
        if reason:
            self.lent.pop(request["id"], None)
            return "decline", reason, 0, ""
        if week in (3, 4) and request["days"] > 5:
            return "ask", "long", 0, ""
        fee = RATES[kind] * request["days"]
        if one and one["group"] == "garden":
            percent = 70 if week >= 2 and first <= date(2026, 5, 31) else 80
            fee = (fee * percent + 50) // 100
        if request["member"] == QUIET and week < 4:
            fee = 0
        self.lent[request["id"]] = (request["tool"], first, due)
        return "lend", "", fee, f"{due}"

    def play(self) -> tuple[dict, dict]:
        """All decisions by request, and the corrections of week 3."""
        decided, corrections = {}, {}
        for week, requests in self.requests.items():
            if week == 3:
                for member in (WRONG, RIGHT):
                    for early in (1, 2):
                        for request in self.requests[early]:
                            if request["member"] == member:
                                now = self.decide(request, early, exception=RIGHT)
                                if now != decided[request["id"]]:
                                    corrections[request["id"]] = now
            exception = WRONG if week < 3 else RIGHT
            for request in requests:
                decided[request["id"]] = self.decide(request, week, exception=exception)
        return decided, corrections


def table(head: list[str], rows: list[list[str]]) -> bytes:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([head, *rows])
    return file.getvalue().encode()


def files(seed: int = SEED) -> dict[str, bytes]:
    desk = Desk(seed)
    rows = [
        [name, one["group"], f"{one['paid_until']}", one["training"], one["overdue"]]
        for name, one in desk.members.items()
    ]
    made = {"members.csv": table(["member", "group", "paid_until", "training", "overdue"], rows)}
    made["tools.csv"] = table(["tool", "class"], [[name, kind] for name, kind in sorted(desk.tools.items())])
    for week, requests in desk.requests.items():
        for request in requests:
            made[f"week{week}/{request['id']}.json"] = (json.dumps(request) + "\n").encode()
    return {f"tool_library/{name}": data for name, data in made.items()}


def expected(seed: int = SEED) -> dict:
    desk = Desk(seed)
    decided, corrections = desk.play()
    final = decided | corrections
    given = files(seed)
    return {
        "decided": {name: list(one) for name, one in decided.items()},
        "corrections": {name: list(one) for name, one in corrections.items()},
        "counts": dict(Counter(one[1] for one in final.values() if one[0] == "decline")),
        "fees": sum(one[2] for one in final.values()),
        "given": {name[13:]: sha256(data).hexdigest()[:8] for name, data in given.items() if name.endswith(".csv")},
    }
