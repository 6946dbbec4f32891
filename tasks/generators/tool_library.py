"""Six weeks of requests to a library of tools, decided by rules that change from message to message; and a season of its depots.

The season of each depot is made around a hidden plan that serves all projects but those that the rules don't allow.
"""

import csv
import io
import json
from collections import Counter
from datetime import date, timedelta
from hashlib import sha256
from typing import NamedTuple

from craft.dice import Dice

TASK = "task_52_tool_library"
SEED = 20260504
START = date(2026, 5, 4)  # the Monday of week 1
RATES = {"A": 110, "B": 255, "C": 615}
HOLIDAY = date(2026, 6, 15)
# What the messages name.
WRONG, RIGHT, QUIET = "M-012", "M-021", "M-040"
MOWER, SAW, OTHER_SAW = "T-031", "T-008", "T-018"
OPENING = date(2026, 7, 1)  # of the depots
CLOSED = {"north": (6, 0), "south": (6, 2)}  # weekdays, as they are after week 2
# The tools and days of each depot's season. With fewer of them a search of all plans would end.
DEPOTS = {
    "brook": (16, 52),
    "chapel": (18, 55),
    "dock": (20, 58),
    "gate": (22, 61),
    "orchard": (24, 64),
    "yard": (26, 66),
}


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


class Project(NamedTuple):
    name: str
    member: str
    people: int
    counter: str
    loans: list[tuple[str, int, int]]  # tool, days after the beginning, days
    begin: int  # in the hidden plan: days after the opening; -1 if the rules don't allow it


def routes_of(dice: Dice, tools: int, length: int) -> list[list[tuple[int, int, int]]]:
    """Fill a season from its beginning: whenever a tool is free, a project whose last loan has just ended, or a new one, takes it."""
    free = dict.fromkeys(range(1, tools + 1), 0)
    routes: list[list[tuple[int, int, int]]] = []
    wanted: list[int] = []  # loans of each project
    while min(free.values()) < length:
        tool = min(free, key=lambda number: (free[number], number))
        day, days = free[tool], dice.between(1, 6)
        fit = [
            place
            for place, route in enumerate(routes)
            if len(route) < wanted[place] and route[-1][0] != tool and 0 <= day - sum(route[-1][1:]) <= 2
        ]
        if dice.chance(0.03) or (not fit and (OPENING + timedelta(days=day)).weekday() == 6):
            free[tool] += 1
            continue
        if fit:
            place = dice.pick(fit)
        else:
            place = len(routes)
            routes.append([])
            wanted.append(dice.between(3, 6))
        free[tool] = min(length, day + days)
        routes[place].append((tool, day, free[tool] - day))
    return routes


def season(seed: int, depot: str, members: dict[str, dict]) -> tuple[dict[str, str], list[Project]]:
    """Return the classes of a depot's tools, and its projects."""
    tools, length = DEPOTS[depot]
    dice = Dice(seed + length)
    kinds = {f"{depot[0].upper()}-{number:02}": dice.pick("AABBBC") for number in range(1, tools + 1)}
    names = list(kinds)
    good = [name for name, one in members.items() if f"{one['paid_until']}" > "2026-12" and not one["overdue"]]
    good = [name for name in good if name not in (WRONG, RIGHT, QUIET)]
    trained = [name for name in good if members[name]["training"]]
    drafts: list[tuple[str, str, list[tuple[str, int, int]], int]] = []
    for route in routes_of(dice, tools, length):
        begin = route[0][1]
        loans = [(names[tool - 1], day - begin, days) for tool, day, days in route]
        weekday = (OPENING + timedelta(days=begin)).weekday()
        counter = dice.pick([name for name, closed in CLOSED.items() if weekday not in closed])
        member = dice.pick(trained if any(kinds[tool] == "C" for tool, *_ in loans) else good)
        drafts.append((member, counter, loans, begin))
    # Projects that the rules don't allow: their loans are those of others, in disorder.
    bad = [name for name, one in members.items() if one["overdue"] or f"{one['paid_until']}" < "2026-07"]
    raw = [name for name in good if not members[name]["training"]]
    costly = [name for name, kind in kinds.items() if kind == "C"] or names
    for number in range(len(drafts) // 8):
        _, counter, loans, _ = dice.pick(drafts)
        loans = [(dice.pick(names), after, days) for _, after, days in loans]
        member = dice.pick(trained)
        if number % 3 == 0 or not raw or kinds[costly[0]] != "C":
            member = dice.pick([*bad, "M-093"])
        elif number % 3 == 1:
            member, loans[0] = dice.pick(raw), (dice.pick(costly), *loans[0][1:])
        else:
            member, loans[-1] = dice.pick([WRONG, member]), (dice.pick(costly), loans[-1][1], dice.between(8, 10))
        drafts.append((member, counter, loans, -1))
    projects = [
        Project(f"{depot[0].upper()}P{number:03}", member, dice.between(3, 9), counter, loans, begin)
        for number, (member, counter, loans, begin) in enumerate(dice.shuffled(drafts), 1)
    ]
    return kinds, projects


def seasons(seed: int) -> dict[str, tuple[dict[str, str], list[Project]]]:
    members = Desk(seed).members
    return {depot: season(seed, depot, members) for depot in DEPOTS}


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
    ends = [[depot, f"{OPENING}", f"{OPENING + timedelta(days=days - 1)}"] for depot, (_, days) in DEPOTS.items()]
    made["season/depots.csv"] = table(["depot", "first", "last"], ends)
    kinds: dict[str, str] = {}
    for depot, (some, projects) in seasons(seed).items():
        kinds |= some
        rows = [
            [one.name, one.member, f"{one.people}", one.counter, tool, f"{after}", f"{days}"]
            for one in projects
            for tool, after, days in one.loans
        ]
        head = ["project", "member", "people", "counter", "tool", "after", "days"]
        made[f"season/{depot}.csv"] = table(head, rows)
    made["season/tools.csv"] = table(["tool", "class"], [list(one) for one in kinds.items()])
    return {f"tool_library/{name}": data for name, data in made.items()}


def particulars(seed: int) -> list[str]:
    """Return the hidden plans, as they stand in the solution: on which day each project begins, in the order of the projects."""
    return [
        f"{depot}: {' '.join(str(one.begin) for one in projects)}" for depot, (_, projects) in seasons(seed).items()
    ]


def expected(seed: int = SEED) -> dict:
    desk = Desk(seed)
    decided, corrections = desk.play()
    final = decided | corrections
    given = files(seed)
    return {
        "decided": {name: list(one) for name, one in decided.items()},
        "corrections": {name: list(one) for name, one in corrections.items()},
        "counts": dict(Counter(one[1] for one in final.values() if one[0] == "decline")),
        "barred": sorted(one.name for _, some in seasons(seed).values() for one in some if one.begin < 0),
        "fees": sum(one[2] for one in final.values()),
        "given": {name[13:]: sha256(data).hexdigest()[:8] for name, data in given.items() if name.endswith(".csv")},
    }
