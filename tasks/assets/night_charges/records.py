"""Prints how many records a choice of extracts has: `python3 records.py ISSUER CHOICE`, such as `python3 records.py adler ../buy_adler.csv`."""

import csv
import sys
from pathlib import Path

EVIDENCE = Path(__file__).resolve().parent / "evidence"


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def records(issuer, choice):
    """Return the records of a choice, and how many charges are contested; ValueError says why it can't be used."""
    extracts = {row["extract"]: row["refs"].split() for row in rows(EVIDENCE / f"{issuer}.csv")}
    names = [row["extract"] for row in choice]
    for name in names:
        if name not in extracts:
            raise ValueError(f"{name} is no extract of this issuer")
        if names.count(name) > 1:
            raise ValueError(f"{name} stands there twice")
    contested = {ref for refs in extracts.values() for ref in refs}
    missing = contested.difference(*(extracts[name] for name in names))
    if missing:
        raise ValueError(f"{len(missing)} contested charges are missing, such as {min(missing)}")
    return sum(len(extracts[name]) for name in names), len(contested)


if __name__ == "__main__":
    try:
        print("{} records for {} contested charges".format(*records(sys.argv[1], rows(sys.argv[2]))))
    except ValueError as error:
        sys.exit(str(error))
