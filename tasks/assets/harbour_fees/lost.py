"""Prints what a berth plan loses: `python3 lost.py QUAY PLAN`, such as `python3 lost.py north ../berths_north.csv`.

Fees are counted in prices of a half metre for a night, which is the same for all nights of these plans.
"""

import csv
import sys
from collections import Counter
from datetime import date
from itertools import combinations
from pathlib import Path

QUAYS = Path(__file__).resolve().parent / "quays"


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def fees(boat):
    nights = (date.fromisoformat(boat["depart"]) - date.fromisoformat(boat["arrive"])).days
    return -(-int(boat["length_cm"]) // 50) * nights * (1.5 if int(boat["hulls"]) > 1 else 1)


def lost(quay, plan):
    """Return the fees that a plan loses and those of all boats; ValueError says why a plan can't be used."""
    boats = {row["boat"]: row for row in rows(QUAYS / f"{quay}.csv")}
    parts = [row for row in rows(QUAYS / "depths.csv") if row["quay"] == quay]
    end = max(int(part["to_cm"]) for part in parts)
    twice = [boat for boat, count in Counter(row["boat"] for row in plan).items() if count > 1]
    if twice:
        raise ValueError(f"{twice[0]} stands in the plan twice")
    taken = {}
    for row in plan:
        if row["boat"] not in boats:
            raise ValueError(f"{row['boat']} has no booking for this quay")
        boat, start = boats[row["boat"]], int(row["from_cm"])
        stop = start + int(boat["length_cm"])
        if start < 0 or stop > end:
            raise ValueError(f"{row['boat']} is not at the quay")
        for part in parts:
            if start < int(part["to_cm"]) and int(part["from_cm"]) < stop and int(part["depth_cm"]) < int(boat["draught_cm"]):
                raise ValueError(f"{row['boat']} would run aground")
        taken[row["boat"]] = (start, stop, boat["arrive"], boat["depart"])
    for (name, one), (other_name, other) in combinations(taken.items(), 2):
        if one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]:
            raise ValueError(f"{name} and {other_name} are in the same place at the same time")
    everything = sum(map(fees, boats.values()))
    return everything - sum(fees(boats[name]) for name in taken), everything


if __name__ == "__main__":
    try:
        missed, everything = lost(sys.argv[1], rows(sys.argv[2]))
        print(f"{missed:g} of {everything:g}, {100 * missed / everything:.2f} %")
    except ValueError as error:
        sys.exit(str(error))
