"""A calendar that a colleague plans in while its entries are moved out of a house that closes."""

from datetime import date, timedelta

from craft.dice import Dice
from craft.office import office_files

SEED = 20260921
OWNER = "ida@weavers-yard.example"
OLD, SENTENCE, OPENING = "Old Mill", "Moved from the Old Mill.", date(2026, 10, 1)
WHAT = (
    "Loom course", "Dye workshop", "Guild meeting", "Open studio", "School visit", "Spinning evening", "Pattern class",
    "Members' breakfast", "Lecture", "Felting for families", "Sewing circle", "Exhibition talk", "Volunteers' meeting",
    "Basket weaving", "Carding day", "Story hour", "Knit and talk", "Silk painting", "Repair evening", "Board meeting",
)  # fmt: skip
NOTES = (
    "Projector needed.", "Key at the desk.", "Bring own materials.", "Coffee for all.", "Ramp needed.", "Deposit paid.",
    "Two helpers.", "No tables.",
)  # fmt: skip
ADDED = (
    "Caterer comes at noon.", "Two more helpers.", "Press is coming.", "Start with the tour.", "Ask Olu for the big loom.",
    "Bring the red boxes.", "Needs two tables.",
)  # fmt: skip
ELSEWHERE = ("Library", "Town hall", "School gym", "Church room")


class World:
    """The calendar as it is in the morning, and what Ruben does to it while others read it."""

    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        days = [OPENING + timedelta(day) for day in range(60)]
        fridays = [day for day in days if day.weekday() == 4]
        others = dice.shuffled([day for day in days if day.weekday() != 4])
        entries = [self.entry(day) for day in (*others[:24], *dice.sample(fridays, 5))]
        entries += [self.entry(date(2026, 9, day)) for day in dice.sample(range(22, 31), 5)]
        entries += [self.entry(day) | {"place": dice.pick(("Attic", "Canteen", "Library"))} for day in others[24:32]]
        self.calendar = {f"e{number}": one for number, one in enumerate(dice.shuffled(entries), 1)}
        self.oddities: list[dict] = []
        self.scope = [
            name for name, one in self.calendar.items() if one["place"] == OLD and one["date"] >= f"{OPENING}"
        ]
        free = [f"{day}" for day in others[33:]]
        mine = dice.shuffled(
            [name for name in self.scope if date.fromisoformat(self.calendar[name]["date"]).weekday() != 4]
        )
        added = dice.shuffled(ADDED)
        for place, (name, note) in enumerate(zip(mine[:7], added, strict=True)):
            self.edit(place % 2, name, {"notes+": f" {note}"})
        for place, name in enumerate(mine[7:11]):  # another number of people, for which another room is right
            few = self.calendar[name]["people"] <= 10
            self.edit(place % 2, name, {"people": dice.between(27, 60) if few else dice.between(4, 9)})
        for place, name in enumerate(mine[11:14]):
            friday = next(day for day in fridays if f"{day}" not in {one["date"] for one in self.calendar.values()})
            fridays.remove(friday)
            self.calendar[name]["people"] = dice.between(12, 24)
            self.edit(place % 2, name, {"date": f"{friday}"})
        for name in mine[14:16]:
            self.edit(0, name, None)
        for place, name in enumerate(mine[16:19]):
            self.edit(place % 2, name, {"place": dice.pick(ELSEWHERE), "notes+": " Ruben found a room."})
        for place, day in enumerate(free[:2]):
            one = self.entry(date.fromisoformat(day))
            self.edit(place, mine[19 + place], one, new=f"e{len(self.calendar) + 1 + place}")
        self.moves = "Moves\n\nLoom course, 2026-08-29: Attic (Ruben)\nStory hour, 2026-09-05: Canteen (Ruben)\n"
        self.lines = [
            f"{dice.pick(WHAT)}, 2026-12-{day:02d}: {dice.pick(ELSEWHERE)} (Ruben)\n"
            for day in dice.sample(range(1, 24), 2)
        ]
        for version, line in enumerate(self.lines, 1):
            self.oddities.append(self.reading("drive/d1", 0, version) | {"edits": {"drive/d1": {"text+": line}}})

    @staticmethod
    def reading(place: str, skip: int, version: int = 1) -> dict:
        """Ruben comes after a record was read, for the first time or once more, as long as nobody else has written it."""
        return {"call": f"GET {place}", "does": "edit", "by": "Ruben", "skip": skip, "where": {"version": version}}

    def entry(self, day: date) -> dict:
        dice = self.dice
        start, people = (
            dice.between(9, 17),
            dice.pick((dice.between(4, 10), dice.between(12, 25), dice.between(26, 60))),
        )
        return {
            "title": dice.pick(WHAT), "date": f"{day}", "start": f"{start:02d}:00", "end": f"{start + 2:02d}:00", "place": OLD,
            "people": people, "notes": " ".join(dice.sample(NOTES, dice.between(1, 2))),
        }  # fmt: skip

    def edit(self, skip: int, name: str, change: dict | None, *, new: str = "") -> None:
        self.oddities.append(self.reading(f"calendar/{name}", skip) | {"edits": {f"calendar/{new or name}": change}})


def files(seed: int = SEED) -> dict[str, bytes]:
    world = World(seed)
    drive = {"d1": {"name": "Moves", "folder": "house", "text": world.moves, "shared_with": []}}
    records = {"calendar": world.calendar, "drive": drive}
    return office_files({"owner": OWNER, "records": records, "oddities": world.oddities})


def expected(seed: int = SEED) -> dict[str, object]:
    """The entries that had to move in the morning, and the lines of Ruben in the file; the rest is in the journal."""
    world = World(seed)
    return {"scope": world.scope, "lines": world.lines}
