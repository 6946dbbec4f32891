"""Prints what a plan loses: `python3 cost.py SHOP PLAN`, such as `python3 cost.py ashby ../../days_ashby.csv`."""

import csv
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MEASURES = ("eur", "lines", "pages", "minutes")


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cost(shop, plan):
    """Return what is lost, and what can be lost, in euros; ValueError says why a plan can't be used."""
    (limits,) = (row for row in rows(HERE / "limits.csv") if row["shop"] == shop)
    day_of = {row["payment"]: int(row["day"]) for row in plan}
    payments = rows(HERE / f"{shop}.csv")
    if len(day_of) != len(plan) or set(day_of) != {row["payment"] for row in payments}:
        raise ValueError("a plan must have each payment once")
    if not all(0 <= day <= int(limits["days"]) for day in day_of.values()):
        raise ValueError(f"days are whole numbers from 1 to {limits['days']}, or 0 for a payment that is not in the plan")
    used, suppliers, lost, total = {}, set(), 0, 0
    for row in payments:
        day = day_of[row["payment"]]
        discount, late = int(row["discount_eur"]), int(row["late_eur"])
        total += discount + late
        lost += discount * (day == 0 or day > int(row["discount_until"])) + late * (day == 0 or day > int(row["due"]))
        if day == 0:
            continue
        if day < int(row["from"]):
            raise ValueError(f"{row['payment']} is paid before day {row['from']}")
        if (day, row["supplier"]) in suppliers:
            raise ValueError(f"{row['supplier']} is paid twice on day {day}")
        suppliers.add((day, row["supplier"]))
        for measure in MEASURES:
            used[day, measure] = used.get((day, measure), 0) + int(row[measure])
            if used[day, measure] > int(limits[measure]):
                raise ValueError(f"day {day} has too many {measure}")
    return lost, total


if __name__ == "__main__":
    try:
        print("{} of {} euros".format(*cost(sys.argv[1], rows(sys.argv[2]))))
    except ValueError as error:
        sys.exit(str(error))
