"""The operator's passenger counts for task_09_conflicting_sources; the other documents are written by hand, and a form has its
own figures in them.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from math import ceil

from craft.dice import Dice

SEED = 60901
PUBLIC_BOARDINGS = 12949
OTHER_COSTS = 273 + 319 + 253  # in table 3, in tenths of a million
NUMBERS = {7: "seven", 8: "eight", 9: "nine", 10: "ten"}
HOLIDAYS = {date(2025, 11, 11), date(2025, 12, 25), date(2025, 12, 26), date(2026, 1, 1), date(2026, 1, 6)}
VOID = {date(2025, 10, 22), date(2025, 11, 6), date(2025, 11, 19), date(2026, 1, 29)}
REVISED = {
    date(2025, 10, 14),
    date(2025, 11, 4),
    date(2025, 11, 13),
    date(2025, 11, 27),
    date(2025, 12, 9),
    date(2026, 2, 3),
}


@dataclass
class Figures:
    """The figures of the documents, in tenths where they have a decimal: of a million, a kilometre, or a minute."""

    track: int
    depot: int
    depot_corrected: int
    budget: int
    stops: int
    length: int
    walking: int
    trees: int
    flood_wall: int

    @property
    def cost(self) -> int:
        return self.track + OTHER_COSTS + self.depot

    @property
    def corrected_cost(self) -> int:
        return self.cost - self.depot + self.depot_corrected

    @property
    def saved(self) -> int:
        return 153 - (self.walking - 97)

    @property
    def trees_felled(self) -> int:
        return self.trees - self.flood_wall


PUBLIC = Figures(
    track=968, depot=21, depot_corrected=56, budget=1615, stops=8, length=51, walking=136, trees=214, flood_wall=90
)


def drawn(seed: int) -> Figures:
    """The figures of a form; all answers but the day are other ones than those of the public form."""
    if seed == SEED:
        return PUBLIC
    dice = Dice(seed + 1)
    while True:
        depot = dice.between(12, 29)
        figures = Figures(
            track=dice.between(941, 1042),
            depot=depot,
            depot_corrected=depot + dice.between(21, 67),
            budget=dice.between(1521, 1689),
            stops=dice.pick((7, 9, 10)),
            length=dice.between(43, 68),
            walking=dice.between(121, 157),
            trees=dice.between(190, 310),
            flood_wall=dice.between(45, 85),
        )
        costs = {figures.cost, figures.corrected_cost}
        whole = {
            figures.saved % 10,
            figures.cost % 10,
            figures.corrected_cost % 10,
            figures.budget % 10,
            figures.length % 10,
        }
        if (
            not costs & {PUBLIC.cost, PUBLIC.corrected_cost, 1750, 2100}
            and figures.budget != PUBLIC.budget
            and figures.length not in (PUBLIC.length, PUBLIC.length + 2)
            and figures.saved not in (PUBLIC.saved, 120)
            and figures.trees_felled not in (PUBLIC.trees_felled, PUBLIC.trees, 96, 300)
            and 0 not in whole
        ):
            return figures


def table(seed: int) -> list[tuple]:
    """The rows of the operator's table, in the order in which they were published.

    In a form, the mean is another one than the public form's and than those of superseded and void rows.
    """
    while seed != SEED and len({PUBLIC_BOARDINGS, *map(round, means(counted(seed)))}) < 4:
        seed += 1
    return counted(seed)


def counted(seed: int) -> list[tuple]:
    dice = Dice(seed)
    rows = []
    day = date(2025, 10, 5)
    while day <= date(2026, 2, 28):
        kind = "sunday_holiday" if day.isoweekday() == 7 or day in HOLIDAYS else "weekday"
        if kind == "weekday" and day.isoweekday() == 6:
            kind = "saturday"
        mean = {"weekday": 12_600, "saturday": 11_300, "sunday_holiday": 6_900}[kind]
        count = int(dice.bell(mean + (day - date(2025, 10, 5)).days * 9, mean * 0.045))
        first = int(count * (1.06 + 0.05 * dice.share()))
        published = day + timedelta(days=2)
        rows.append((published, day, kind, first, "provisional"))
        later = published + timedelta(days=dice.between(18, 26))
        if day in VOID:
            rows.append((later, day, kind, int(count * 0.4), "void"))
        else:
            rows.append((later, day, kind, count, "final"))
            if day in REVISED:
                count -= dice.between(600, 1400)
                rows.append((later + timedelta(days=dice.between(9, 15)), day, kind, count, "final"))
        day += timedelta(days=1)
    return sorted(rows)


def means(table: list[tuple]) -> tuple[float, float, float]:
    """The mean of November's weekdays: by the rules, with superseded rows, and with void rows as well."""
    rows = [row for row in table if row[1].month == 11 and row[2] == "weekday" and row[4] != "provisional"]
    final = [row for row in rows if row[4] == "final"]
    latest = {row[1]: row[3] for row in final}
    counts = (list(latest.values()), [row[3] for row in final], [row[3] for row in rows])
    right, superseded, void = (sum(some) / len(some) for some in counts)
    return right, superseded, void


def expected(seed: int = SEED) -> dict:
    figures = drawn(seed)
    return {
        "q1": figures.corrected_cost / 10, "q2": figures.budget / 10, "q3": "2025-10-05", "q4": figures.stops - 1,
        "q5": round(means(table(seed))[0]), "q6": figures.length / 10, "q7": figures.saved / 10, "q8": figures.trees_felled,
    }  # fmt: skip


def files(seed: int = SEED) -> dict[str, bytes]:
    lines = ["published,date,day_type,boardings,status"]
    lines += [f"{published},{day},{kind},{count},{status}" for published, day, kind, count, status in table(seed)]
    return {"conflicting_sources/library/ridership_counts.csv": ("\n".join(lines) + "\n").encode()}


def particulars(seed: int) -> list[str]:
    figures = drawn(seed)
    right, superseded, void = means(table(seed))
    stops = NUMBERS[figures.stops]
    about = ceil(figures.saved / 10)
    tenths = (
        figures.track, figures.depot, figures.depot_corrected, figures.depot_corrected - figures.depot, figures.cost,
        figures.corrected_cost, round(figures.cost * 1.19), figures.budget, figures.length, figures.length + 1,
        figures.length + 2, figures.length - 2, figures.walking, figures.walking - 97, figures.walking + 138, figures.saved,
    )  # fmt: skip
    return [
        *(f"{tenth / 10:.1f}" for tenth in tenths),
        f"{figures.length / 10 + 0.24:.2f} km", f"{figures.length / 10 + 0.24:.2f} (contractor",
        f"{stops} stops", f"{stops.capitalize()} new stops", f"{stops} were built", f"Stops built | {figures.stops}",
        f"Stops | {figures.stops} |", f"{figures.stops} stops", f"Stops | {figures.stops + 1} |", f'"value": {figures.stops},',
        f"q4 | {figures.stops - 1} |", f"({figures.stops - 1}, [",
        f"got about {about}", f"says about {about}", f'"value": {about},',
        str(figures.trees), str(figures.flood_wall), str(figures.trees_felled),
        f"q5 | {round(right)} |", f"{right:,.0f}", f"{right:,.2f}", f"{superseded:,.0f}", f"{void:,.0f}",
    ]  # fmt: skip
