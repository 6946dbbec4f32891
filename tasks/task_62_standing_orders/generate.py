"""Standing orders for a month, with summer time, holidays and another time zone, and what is sent for them when."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from craft.dice import Dice

SEED = 20260302
BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
HOLIDAYS = {
    "2026-01-01": "New Year", "2026-04-03": "Good Friday", "2026-04-06": "Easter Monday", "2026-05-01": "Labour Day",
    "2026-05-14": "Ascension Day", "2026-05-25": "Whit Monday", "2026-10-03": "Unity Day", "2026-12-25": "Christmas Day",
}  # fmt: skip
# The sentence that is sent on each order, and the hours and minutes at which it may be.
SENTENCES = {
    "rent": ("The rent for the boathouse is due today.", "The instalment for the dinghies is due today."),
    "boats": ("Boat check tomorrow at eight.", "Rigging check tomorrow at eight."),
    "dana": ("The entry list closes tonight.", "The regatta office closes tonight."),
    "bins": ("Bins out tonight.", "Bottles out tonight."),
}
HOURS = {"rent": (9, 10), "boats": (18, 19), "later": (16, 17), "dana": (8, 9), "bins": (7, 8)}


class World:
    """The times and the words of one form."""

    def __init__(self, seed: int) -> None:
        dice = Dice(seed)
        self.said = {key: dice.pick(texts) for key, texts in SENTENCES.items()}
        minutes = dice.sample((5, 10, 15, 20, 25, 35, 40, 45, 50, 55), len(HOURS))
        self.at = {
            key: time(dice.pick(hours), minute) for (key, hours), minute in zip(HOURS.items(), minutes, strict=True)
        }

    def sent(self) -> list[dict]:
        found = [self.one("rent", "ben", self.third_working_day())]
        found.append(self.one("boats", "vera", date(2026, 3, 26)))
        found.append(self.one("boats", "olu", date(2026, 4, 9), at="later", fresh=True))
        found.append(self.one("dana", "dana", date(2026, 3, 30), zone=NEW_YORK))
        # Not in the week of 20 April, when they are closed.
        for day in (date(2026, 4, 7), date(2026, 4, 14)):
            late = any(f"{day - timedelta(back)}" in HOLIDAYS for back in (0, 1))
            found.append(self.one("bins", "ben", day + timedelta(late), fresh=True))
        return found

    @staticmethod
    def third_working_day() -> date:
        days = (date(2026, 4, day) for day in range(1, 31))
        return [day for day in days if day.weekday() < 5 and f"{day}" not in HOLIDAYS][2]

    def one(
        self, key: str, to: str, day: date, *, at: str = "", zone: ZoneInfo = BERLIN, fresh: bool = False
    ) -> dict[str, object]:
        """What is sent: on which order, to whom, when in UTC, and whether a later message has changed it."""
        due = datetime.combine(day, self.at[at or key], zone).astimezone(UTC)
        return {"order": key, "to": to, "at": f"{due:%Y-%m-%dT%H:%M}", "changed": fresh}


def files(seed: int = SEED) -> dict[str, bytes]:
    del seed
    rows = ["date,name", *(f"{day},{name}" for day, name in HOLIDAYS.items())]
    return {"holidays.csv": ("\n".join(rows) + "\n").encode()}


def expected(seed: int = SEED) -> dict[str, object]:
    world = World(seed)
    return {"said": world.said, "sent": world.sent()}


def particulars(seed: int = SEED) -> list[str]:
    """The sentences and times, as the messages and the solution have them."""
    world = World(seed)
    return [*world.said.values(), *(f"{at.hour}:{at.minute:02d}" for at in world.at.values())]
