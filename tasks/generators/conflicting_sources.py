"""The operator's passenger counts for task_09_conflicting_sources; the other documents are written by hand."""

from datetime import date, timedelta

from craft.dice import Dice

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


def made() -> tuple[list[str], dict[date, int]]:
    """The lines of the table, and the valid count of each weekday that counts."""
    dice = Dice(60901)
    rows, truth = [], {}
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
            if kind == "weekday":
                truth[day] = count
        day += timedelta(days=1)
    # The export has the rows in the order in which they were published.
    rows.sort()
    lines = ["published,date,day_type,boardings,status"]
    lines += [f"{published},{day},{kind},{count},{status}" for published, day, kind, count, status in rows]
    return lines, truth


def files() -> dict[str, bytes]:
    return {"conflicting_sources/library/ridership_counts.csv": ("\n".join(made()[0]) + "\n").encode()}
