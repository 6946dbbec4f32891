"""A sports hall's bookings, and what a club wants booked, cancelled and changed on its site."""

import json
from datetime import date, timedelta

from craft.dice import Dice

SEED = 20260921
CLUB = "Finch Club"
ROOMS = ("Court A", "Court B", "Small hall")
HOURS = [f"{hour:02d}:00" for hour in range(9, 21)]


class World:
    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        october = [date(2026, 10, 1) + timedelta(days) for days in range(31)]
        self.court_day, self.cancelled, self.alike = dice.sample([one for one in october[4:] if one.weekday() < 5], 3)
        self.hall_day = next(
            one for one in (date(2026, 11, day) for day in range(dice.pick((1, 8, 15)), 30)) if one.weekday() == 5
        )
        self.court, other = dice.sample(ROOMS[:2], 2)
        self.court_hour, self.hall_hour = HOURS[dice.between(7, 10)], HOURS[dice.between(1, 4)]
        self.old_hour = HOURS[dice.between(7, 10)]
        self.phone = f"0555 {dice.between(100000, 999999)}"
        self.people = dice.sample(range(5, 12), 2)
        self.bookings: dict[str, dict[str, object]] = {}
        self.gone = self.add(other, self.cancelled, self.old_hour, CLUB, mine=True)
        self.add(other, self.alike, self.old_hour, CLUB, mine=True)
        self.add(self.court, self.cancelled, HOURS[2], CLUB, mine=True)
        # The hour that is wanted in the hall is taken, and so is the one after it.
        place = HOURS.index(self.hall_hour)
        for hour in HOURS[place : place + 2]:
            self.add("Small hall", self.hall_day, hour, "Yoga", mine=False)
        self.free_hour = HOURS[place + 2]
        for _ in range(30):
            room, day, hour = dice.pick(ROOMS), dice.pick(october), dice.pick(HOURS)
            is_free = all(
                (one["room"], one["date"], one["time"]) != (room, f"{day}", hour) for one in self.bookings.values()
            )
            if is_free and (room, day, hour) != (self.court, self.court_day, self.court_hour):
                self.add(room, day, hour, dice.pick(("Badminton", "Judo", "Dance")), mine=False)

    def add(self, room: str, day: date, hour: str, title: str, *, mine: bool) -> str:
        name = f"{len(self.bookings) + 101}"
        people = self.dice.between(4, 12)
        self.bookings[name] = {
            "room": room,
            "date": f"{day}",
            "time": hour,
            "title": title,
            "people": people,
            "mine": mine,
        }
        return name


def long_day(day: date) -> str:
    return f"{day.day} {day:%B} 2026"


def files(seed: int = SEED) -> dict[str, bytes]:
    world = World(seed)
    state = {"bookings": world.bookings, "profile": {"name": CLUB, "phone": "0555 010203"}}
    return {"site/state.json": json.dumps(state, indent=1).encode() + b"\n"}


def expected(seed: int = SEED) -> dict[str, object]:
    """The two new bookings, the id of the one to be cancelled, and the new number."""
    world = World(seed)
    court = {"room": world.court, "date": f"{world.court_day}", "time": world.court_hour, "people": world.people[0]}
    hall = {"room": "Small hall", "date": f"{world.hall_day}", "time": world.free_hour, "people": world.people[1]}
    return {"new": [one | {"title": CLUB} for one in (court, hall)], "cancelled": world.gone, "phone": world.phone}


def particulars(seed: int) -> list[str]:
    """What the prompt says of it."""
    world = World(seed)
    return [
        f"{world.court} on {long_day(world.court_day)} at {world.court_hour}, for {world.people[0]} people",
        f"Small hall on {long_day(world.hall_day)} at {world.hall_hour}, for {world.people[1]} people",
        f"our booking on {long_day(world.cancelled)} at {world.old_hour}",
        world.phone,
    ]
