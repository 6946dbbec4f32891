"""Prints what a choice of lots costs: `python3 cost.py SITE CHOICE`, such as `python3 cost.py graz ../../buy_graz.csv`."""

import csv
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cost(site, choice):
    """Return the cost of all that the site needs, in cents, and what it is at the list price; ValueError says what is wrong."""
    needs, lots = rows(HERE / f"{site}_needs.csv"), rows(HERE / f"{site}_lots.csv")
    bought = {row["lot"]: int(row["buy"]) for row in choice}
    if len(bought) != len(choice) or set(bought) != {row["lot"] for row in lots}:
        raise ValueError("a choice must have each lot once")
    if not set(bought.values()) <= {0, 1}:
        raise ValueError("a lot is bought (1) or not (0)")
    price = {row["item"]: int(row["list_cents"]) for row in needs}
    left = {row["item"]: int(row["pieces"]) for row in needs}
    listed = sum(left[item] * price[item] for item in left)
    cents = 0
    for row in lots:
        if bought[row["lot"]]:
            cents += int(row["pieces"]) * price[row["item"]] * 60 // 100
            left[row["item"]] -= int(row["pieces"])
    return cents + sum(max(0, left[item]) * price[item] for item in left), listed


if __name__ == "__main__":
    try:
        cents, listed = cost(sys.argv[1], rows(sys.argv[2]))
        print(f"{cents} cents, {cents / listed:.2%} of the list price")
    except ValueError as error:
        sys.exit(str(error))
