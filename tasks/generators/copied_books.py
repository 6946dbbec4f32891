"""Copies of eight old books, page by page made from others, some of which are lost: which from which, only the generator knows."""

import csv
import io
from functools import lru_cache
from typing import NamedTuple

from craft.dice import Dice

TASK = "task_66_copied_books"
SEED = 20261209
PAGES, PLACES = 24, 40
# Copies that were made, those of them that are lost, and errors in a thousand words.
BOOKS = {"bestiary": (20, 3, 45), "cookery": (26, 5, 42), "herbal": (32, 7, 38),
         "hymnal": (40, 9, 35), "itinerary": (48, 11, 32), "physic": (56, 13, 30), "psalter": (44, 10, 34), "statutes": (36, 8, 36)}  # fmt: skip
READINGS = "abcd"
LOST = "lost"
FIRST, YEARS, UNSURE = 1180, 300, 20


class Book(NamedTuple):
    """`pages` are the readings of each copy that is left, by page; `years` when it was made, roughly; `sources` what each of its pages was copied from."""

    pages: dict[str, list[str]]
    years: dict[str, int]
    sources: dict[str, list[str]]


def sources_of(dice: Dice, number: int) -> list[int]:
    """Return from which copies a scribe copied the pages: mostly one, some changed once or several times."""
    if number == 0:
        return [-1] * PAGES
    # Newer copies are nearer at hand.
    near = [max(0, number - 1 - int(abs(dice.bell(0, 1)) * number / 2.2)) for _ in range(dice.pick((1, 2, 2, 3)))]
    now, found = near[0], []
    for _ in range(PAGES):
        if dice.chance(0.2):
            now = dice.pick(near)
        found.append(now)
    return found


def book(seed: int, made: int, lost: int, errors: int) -> Book:
    dice = Dice(seed)
    # Some places are easily misread, and each has its likely wrong readings.
    ease = [[dice.pick((0.3, 0.3, 0.5, 1, 3)) for _ in range(PLACES)] for _ in range(PAGES)]
    letters = [[dice.shuffled(READINGS) for _ in range(PLACES)] for _ in range(PAGES)]
    texts: list[list[list[str]]] = []
    sources: list[list[int]] = []
    for number in range(made):
        sources.append(sources_of(dice, number))
        text = []
        for page, source in enumerate(sources[-1]):
            row = [letters[page][place][0] for place in range(PLACES)] if source < 0 else list(texts[source][page])
            for place in range(PLACES):
                order = letters[page][place]
                if dice.share() * 1000 < errors * ease[page][place]:
                    row[place] = order[dice.pick((1, 1, 1, 1, 2, 2, 3))]
                elif row[place] != order[0] and dice.chance(0.01):
                    # A scribe who knows better.
                    row[place] = order[0]
            text.append(row)
        texts.append(text)
    gone = set(dice.sample(range(made), lost))
    names = {
        number: f"M{place:02}"
        for place, number in enumerate(dice.shuffled([one for one in range(made) if one not in gone]), 1)
    }
    pages = {}
    for number, name in sorted(names.items(), key=lambda pair: pair[1]):
        pages[name] = ["".join(worn(dice, row)) for row in texts[number]]
    years = {name: FIRST + YEARS * number // made + dice.between(-UNSURE, UNSURE) for number, name in names.items()}
    return Book(
        pages, years, {name: [names.get(one, LOST) for one in sources[number]] for number, name in names.items()}
    )


def worn(dice: Dice, row: list[str]) -> list[str]:
    """Return a page on which mice or water have taken some words."""
    if not dice.chance(0.25):
        return row
    first, count = dice.below(PLACES), dice.between(5, 30)
    return ["-" if first <= place < first + count else reading for place, reading in enumerate(row)]


@lru_cache(maxsize=3)
def books(seed: int) -> dict[str, Book]:
    return {name: book(seed + place, *sizes) for place, (name, sizes) in enumerate(BOOKS.items())}


def runs(sources: list[str]) -> list[tuple[int, int, str]]:
    """Return first page, last page and source of each run of pages."""
    found: list[tuple[int, int, str]] = []
    for page, source in enumerate(sources, 1):
        if found and found[-1][2] == source:
            found[-1] = (found[-1][0], page, source)
        else:
            found.append((page, page, source))
    return found


def files(seed: int = SEED) -> dict[str, bytes]:
    made = {}
    for name, one in books(seed).items():
        file = io.StringIO()
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("copy", "year", *(f"page_{page}" for page in range(1, PAGES + 1))))
        out.writerows([copy, one.years[copy], *rows] for copy, rows in one.pages.items())
        made[f"copied_books/{name}.csv"] = file.getvalue().encode()
    return made


def particulars(seed: int) -> list[str]:
    """Return what was copied from what, as the solution has it: a line for each book, with runs of pages."""
    return [
        f"{name}: "
        + " ".join(
            f"{copy},{first},{last},{source}"
            for copy, pages in one.sources.items()
            for first, last, source in runs(pages)
        )
        for name, one in books(seed).items()
    ]


def expected(seed: int = SEED) -> dict:
    return {name: {copy: " ".join(pages) for copy, pages in one.sources.items()} for name, one in books(seed).items()}
