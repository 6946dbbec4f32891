"""Five cafés' receipts of a month, of which some come late, and the bank's entries, of which one is too small."""

import csv
import io
import json
from datetime import date, timedelta
from hashlib import sha256

from craft.dice import Dice

SEED = 20261031
CAFES = ("north", "south", "east", "west", "harbour")
DAYS = [one for one in (date(2026, 10, 1) + timedelta(days) for days in range(31)) if one.weekday() != 0]
OTHERS = ("Rent", "Power", "Coffee beans", "Flour", "Insurance", "Repair of the mill", "Wages", "Milk")


class World:
    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        self.receipts: dict[str, list[dict[str, object]]] = {}
        self.totals: dict[tuple[str, date, str], int] = {}
        for cafe in CAFES:
            self.receipts[cafe] = [one for day in DAYS for one in self.day(cafe, day)]
            for number, one in enumerate(self.receipts[cafe], dice.between(1000, 9000)):
                one["id"] = f"{cafe[0].upper()}{number}"
        late, self.short = dice.sample(CAFES, 2)
        counted = [one for one in self.receipts[late] if not one["void"] and one["cents"] > 0]
        first = dice.between(len(counted) // 2, len(counted) - 9)
        self.late, self.late_cafe = [one["id"] for one in counted[first : first + 6]], late
        self.missing_day = dice.pick(DAYS[3:-3])
        self.missing = 100 * dice.between(20, 60)

    def day(self, cafe: str, day: date) -> list[dict[str, object]]:
        dice, found = self.dice, []
        for minute in sorted(dice.between(8 * 60, 18 * 60 - 1) for _ in range(dice.between(4, 7))):
            pay, cents = dice.pick(("card", "card", "cash")), dice.between(350, 9900)
            found.append(
                {"time": f"{day}T{minute // 60:02d}:{minute % 60:02d}", "pay": pay, "cents": cents, "void": ""}
            )
        found.append({"time": f"{day}T18:00", "pay": "cash", "cents": dice.between(9000, 14000), "void": ""})
        found.append({"time": f"{day}T18:01", "pay": "card", "cents": dice.between(9000, 14000), "void": ""})
        chance = dice.share()
        if chance < 0.15:
            dice.pick(found[:4])["void"] = "yes"
        elif chance < 0.3:
            found[3]["cents"] = -dice.between(300, 2500)
        for pay in ("card", "cash"):
            counted = (one["cents"] for one in found if one["pay"] == pay and not one["void"])
            self.totals[cafe, day, pay] = sum(counted)
        return found

    def bank(self) -> list[tuple[str, str, str]]:
        """The bank's entries of October and of the first days of November: the day that one is for is in its text."""
        dice, rows = self.dice, []
        for (cafe, day, pay), cents in self.totals.items():
            if pay == "cash" and (cafe, day) == (self.short, self.missing_day):
                cents -= self.missing
            rows.append((day + timedelta(2 if pay == "card" else 1), f"{pay.upper()} {cafe.upper()} {day}", cents))
        for cafe in CAFES:  # of the month before
            for pay, days in (("card", (29, 30)), ("cash", (30,))):
                for day in days:
                    before = date(2026, 9, day)
                    booked = before + timedelta(2 if pay == "card" else 1)
                    rows.append((booked, f"{pay.upper()} {cafe.upper()} {before}", dice.between(15000, 42000)))
        rows += [(dice.pick(DAYS), dice.pick(OTHERS), -dice.between(4000, 240000)) for _ in range(30)]
        return [(f"{day}", text, f"{cents / 100:.2f}") for day, text, cents in sorted(rows)]


def files(seed: int = SEED) -> dict[str, bytes]:
    world = World(seed)
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(("date", "text", "euros"))
    out.writerows(world.bank())
    state = {"receipts": world.receipts, "late": world.late}
    return {"tills/state.json": json.dumps(state).encode() + b"\n", "bank.csv": text.getvalue().encode()}


def expected(seed: int = SEED) -> dict[str, object]:
    """The sums of each café, a digest of those by day, what the bank has too little of, and the café whose receipts come late."""
    world = World(seed)
    sums = {
        cafe: {pay: sum(world.totals[cafe, day, pay] for day in DAYS) for pay in ("card", "cash")} for cafe in CAFES
    }
    days = {
        cafe: sha256(
            "\n".join(
                f"{day.day} {world.totals[cafe, day, 'card']} {world.totals[cafe, day, 'cash']}" for day in DAYS
            ).encode()
        ).hexdigest()[:16]
        for cafe in CAFES
    }
    short = {"cafe": world.short, "day": f"{world.missing_day}", "cents": world.missing}
    return {"sums": sums, "days": days, "short": short, "late": world.late_cafe}
