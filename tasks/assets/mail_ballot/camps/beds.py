"""Prints how many people get no bed: `python3 beds.py CAMP PLAN`, such as `python3 beds.py ridge ../../cabins_ridge.csv`."""

import csv
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def left(camp, plan):
    """Return how many people have no bed; ValueError says why a plan can't be used."""
    groups = {group: people for group, *people in (row.values() for row in rows(HERE / f"{camp}.csv"))}
    taken = []
    for row in plan:
        if row["group"] not in groups:
            raise ValueError(f"there is no group {row['group']} in this camp")
        taken += groups[row["group"]]
    if twice := sorted(person for person in set(taken) if taken.count(person) > 1):
        raise ValueError(f"more than one bed for {' '.join(twice)}")
    return len({person for people in groups.values() for person in people} - set(taken))


if __name__ == "__main__":
    try:
        print(left(sys.argv[1], rows(sys.argv[2])))
    except KeyError:
        sys.exit("the plan must have the column group")
    except ValueError as error:
        sys.exit(str(error))
