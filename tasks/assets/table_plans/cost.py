"""Prints the points of a plan, or what is wrong: `python3 cost.py MEETING PLAN`, such as `cost.py may tables_may.csv`."""

import csv
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def points(meeting, plan):
    """Return the points of each evening; ValueError says why a plan can't be used."""
    (about,) = (row for row in rows(HERE / "meetings.csv") if row["meeting"] == meeting)
    people = {row["person"]: row for row in rows(HERE / meeting / "people.csv")}
    seats = {int(row["table"]): int(row["seats"]) for row in rows(HERE / meeting / "tables.csv")}
    if sorted(row["person"] for row in plan) != sorted(people):
        raise ValueError("the plan must have each person once")
    found, before = [], {}
    for evening in ("1", "2"):
        table_of = {row["person"]: int(row[f"evening_{evening}"]) for row in plan}
        away = {person for person, row in people.items() if row["away"] == evening}
        if any((table == 0) != (person in away) for person, table in table_of.items()):
            raise ValueError(f"exactly those who are away in evening {evening} must have 0 there")
        here = {person: table for person, table in table_of.items() if table}
        taken = Counter(here.values())
        if any(number > seats.get(table, 0) for table, number in taken.items()):
            raise ValueError(f"a table of evening {evening} has too many people, or doesn't exist")
        hosts = Counter(table for person, table in here.items() if people[person]["host"])
        if any(hosts[table] < int(about["hosts"]) for table in seats):
            raise ValueError(f"a table of evening {evening} has too few hosts")
        meals = Counter((table, people[person]["meal"]) for person, table in here.items() if people[person]["meal"])
        if any(number > int(about["meals"]) for number in meals.values()):
            raise ValueError(f"a table of evening {evening} has too many of a special meal")
        again = [person for person, table in here.items() if before.get(person) == table]
        if again:
            raise ValueError(f"person {again[0]} is at the same table in both evenings")
        before = here
        met = [row for row in rows(HERE / meeting / "met.csv") if row["day"] == evening]
        found.append(sum(here[row["person"]] == here[other] for row in met for other in row["met"].split()))
    return found


if __name__ == "__main__":
    try:
        for number, cost in enumerate(points(sys.argv[1], rows(sys.argv[2])), 1):
            print(f"evening {number}: {cost} points")
    except (KeyError, TypeError, ValueError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
