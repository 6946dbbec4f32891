"""Prints what a list of packs keeps more than once: `python3 count.py ARCHIVE LIST`, such as `python3 count.py maps ../../keep_maps.csv`."""

import csv
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def surplus(archive, listed):
    """Return the GB that are kept more than once, and those of one copy of everything; ValueError says why a list can't be used."""
    sizes = {row["block"]: int(row["gb"]) for row in rows(HERE / archive / "blocks.csv")}
    packs = {row["pack"]: row["blocks"].split() for row in rows(HERE / archive / "packs.csv")}
    kept = [row["pack"] for row in listed]
    if len(set(kept)) < len(kept) or not set(kept) <= set(packs):
        raise ValueError("a list has packs of the archive, each at most once")
    copies = Counter(block for pack in kept for block in packs[pack])
    if lost := sizes.keys() - copies.keys():
        raise ValueError(f"{len(lost)} blocks would be lost, {min(lost)} for example")
    return sum(sizes[block] * (count - 1) for block, count in copies.items()), sum(sizes.values())


if __name__ == "__main__":
    try:
        print("{} GB more than once, beside {} GB once".format(*surplus(sys.argv[1], rows(sys.argv[2]))))
    except ValueError as error:
        sys.exit(str(error))
