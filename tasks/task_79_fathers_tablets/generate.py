"""Two weeks of reminders of a tablet: what is due when, by the orders of each day and by what Otto answers."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from craft.dice import Dice

SEED = 20260906
BERLIN = ZoneInfo("Europe/Berlin")
REMINDERS = ("Good morning Otto, time for your tablet.", "Dear Otto, please take your tablet now.")
ALARMS = ("Otto hasn't taken his tablet.", "Nothing from Otto about his tablet yet.")
BINS = ("Hanne, please put Otto's bins out.", "Hanne, it's time for Otto's bins.")
TAKEN = ("Taken, with my coffee.", "It went down well, thank you dear.")
NOT_YET = "Yes yes, later, the paper has just come."
PATIENCE = timedelta(minutes=45)


def day(number: int) -> date:
    return date(2026, 9, number)


def clock(at: time) -> str:
    return f"{at.hour}:{at.minute:02d}"


class World:
    """The times and the words of one form, and on which of three days Otto says that he has taken it."""

    def __init__(self, seed: int) -> None:
        dice = Dice(seed)
        self.said = {"tablet": dice.pick(REMINDERS), "alarm": dice.pick(ALARMS), "bins": dice.pick(BINS)}
        self.before = time(8, dice.pick((5, 10, 15, 20, 25)))
        self.after = time(7, dice.pick((20, 25, 30, 35, 40)))
        self.bins = time(17, dice.pick((5, 10, 25, 40, 50)))
        # What he says on the 7th, 9th and 16th. On the 12th and 14th he says nothing.
        self.answers = dice.shuffled((*TAKEN, NOT_YET))

    def sent(self) -> list[dict[str, str]]:
        answers = dict(zip((7, 9, 16), self.answers, strict=True))
        found = []
        # Friday the 11th has been put off to Saturday, and the 16th is the last day.
        for number in (7, 9, 12, 14, 16):
            at = self.before if number == 7 else self.after
            found.append(self.one("tablet", "otto", number, at))
            if answers.get(number) not in TAKEN:
                late = (datetime.combine(day(number), at) + PATIENCE).time()
                found.append(self.one("alarm", "hanne" if number == 14 else "karin", number, late))
        return [*found, self.one("bins", "hanne", 12, self.bins)]

    @staticmethod
    def one(order: str, to: str, number: int, at: time) -> dict[str, str]:
        due = datetime.combine(day(number), at, BERLIN).astimezone(UTC)
        return {"order": order, "to": to, "at": f"{due:%Y-%m-%dT%H:%M}"}


def files(seed: int = SEED) -> dict[str, bytes]:
    del seed
    return {}


def expected(seed: int = SEED) -> dict[str, object]:
    world = World(seed)
    return {"said": world.said, "sent": world.sent()}


def particulars(seed: int = SEED) -> list[str]:
    """The sentences, the times, and what Otto says, as the messages and the solution have them."""
    world = World(seed)
    patience = (datetime.combine(day(7), world.before) + PATIENCE).time()
    times = (world.before, patience, world.after, world.bins)
    return [*world.said.values(), *map(clock, times), *world.answers]
