"""Prints how many rights the cards of a choice load: `python3 count.py HOUSE CHOICE`, such as `count.py school load_school.csv`."""

import csv
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if any(row.values())]


def count(house, chosen):
    """Return the number of rights to be paid for; ValueError says why a choice can't be used."""
    approved = {f"{row['person']}:{door}" for row in rows(HERE / f"{house}.csv") for door in row["doors"].split()}
    cards = {row["card"]: row["rights"].split() for row in rows(HERE / f"{house}_cards.csv")}
    loaded = []
    for card in chosen:
        if card not in cards:
            raise ValueError(f"there is no card {card} of this house")
        loaded += cards[card]
    if len(set(chosen)) < len(chosen):
        raise ValueError("a card is chosen twice")
    if more := sorted(set(loaded) - approved):
        raise ValueError(f"nobody has approved {' '.join(more)}")
    if less := sorted(approved - set(loaded)):
        raise ValueError(f"no card loads {' '.join(less)}")
    return len(loaded)


if __name__ == "__main__":
    try:
        print(count(sys.argv[1], [row["card"].strip() for row in rows(sys.argv[2])]))
    except (AttributeError, KeyError):
        sys.exit("the choice must have the column card, and nothing else")
    except ValueError as error:
        sys.exit(str(error))
