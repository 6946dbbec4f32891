"""Prints how many groups a plan has: `python3 count.py HOUSE PLAN`, such as `python3 count.py school ../../groups_school.csv`."""

import csv
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if any(row.values())]


def count(house, plan):
    """Return the number of groups; ValueError says why a plan can't be used."""
    wanted = {row["person"]: set(row["doors"].split()) for row in rows(HERE / f"{house}.csv")}
    opened = {person: set() for person in wanted}
    for number, row in enumerate(plan, 1):
        for person in row["people"].split():
            if person not in opened:
                raise ValueError(f"group {number}: there is no {person} in this house")
            opened[person].update(row["doors"].split())
    for person, doors in wanted.items():
        if more := sorted(opened[person] - doors):
            raise ValueError(f"{person} could open {' '.join(more)}, and must not")
        if less := sorted(doors - opened[person]):
            raise ValueError(f"{person} could not open {' '.join(less)}")
    return len(plan)


if __name__ == "__main__":
    try:
        print(count(sys.argv[1], rows(sys.argv[2])))
    except (AttributeError, KeyError, TypeError):
        sys.exit("the plan must have the columns doors,people and both of them in each row")
    except ValueError as error:
        sys.exit(str(error))
