"""A city's site for street parties: the days that are taken, the neighbours' applications, and what they want of it."""

import json
from datetime import date, timedelta

from craft.dice import Dice

SEED = 20260504
STREETS = ("Elm Row", "Elm Road", "Elm Court", "Elder Row", "Oak Row")
OURS = STREETS[0]
KINDS = ("Flea market", "Children's run", "Summer cinema")
MONTHS = ("May", "June", "July", "August")


class World:
    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        saturdays = [date(2026, 6, 6) + timedelta(7 * week) for week in range(6)]
        place = dice.below(4)
        self.asked, self.day = saturdays[place], saturdays[place + 2]
        self.taken = {name: {} for name in STREETS}
        # The day that is wanted is taken, and so is the Saturday after it; the Sunday is free.
        for day in saturdays[place : place + 2]:
            self.taken[OURS][f"{day}"] = dice.pick(("road works", "marathon", "procession"))
        free = {self.day + timedelta(days) for days in (-14, -13, -7, -6, 0, 1)}
        for name in STREETS:
            for day in dice.sample([date(2026, 6, 1) + timedelta(days) for days in range(70)], 9):
                if name != OURS or day not in free:
                    self.taken[name].setdefault(f"{day}", dice.pick(("road works", "removal", "film team")))
        self.low, self.high = 2 * dice.between(1, 8), 2 * dice.between(12, 30)
        self.start, self.end = dice.between(12, 14), dice.between(18, 20)
        self.people, self.barriers = 5 * dice.between(7, 20), dice.between(3, 9)
        self.phone = f"0555 {dice.between(100000, 999999)}"
        kind, other = dice.sample(KINDS, 2)
        gone, alike = dice.sample([date(2026, 5, 9) + timedelta(days) for days in range(20)], 2)
        self.kind, self.gone = kind, gone
        old = dice.shuffled([(kind, gone), (kind, alike), (other, gone)])
        self.applications = {
            f"{number}": {"kind": one, "street": OURS, "date": f"{day}"} for number, (one, day) in enumerate(old, 4101)
        }
        self.withdrawn = next(
            name for name, one in self.applications.items() if one["kind"] == kind and one["date"] == f"{gone}"
        )


def long_day(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 5]} 2026"


def files(seed: int = SEED) -> dict[str, bytes]:
    world = World(seed)
    state = {"streets": STREETS, "taken": world.taken, "applications": world.applications}
    return {"site/state.json": json.dumps(state, indent=1).encode() + b"\n"}


def expected(seed: int = SEED) -> dict[str, object]:
    """The application as it should be, and the id of the one to be withdrawn."""
    world = World(seed)
    want = {
        "street": OURS, "from": world.low, "to": world.high, "date": f"{world.day}",
        "start": f"{world.start}:00", "end": f"{world.end}:00", "closed_from": f"{world.start - 1}:00", "closed_until": f"{world.end + 1}:00",
        "people": world.people, "music": f"{world.end - 1}:00", "barriers": world.barriers, "name": "Bruno Adler", "phone": world.phone,
    }  # fmt: skip
    return {"want": want, "withdrawn": world.withdrawn}


def particulars(seed: int) -> list[str]:
    """What the prompt says of it."""
    world = World(seed)
    return [
        f"from number {world.low} to number {world.high}",
        f"on {long_day(world.asked)}, {world.start}:00 to {world.end}:00, about {world.people} people",
        f"{world.barriers} barriers",
        f"the {world.kind.lower()} on {long_day(world.gone)}",
        world.phone,
    ]
