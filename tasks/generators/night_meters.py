"""Six districts of a water network with leaks and valves that don't shut, and few readings to find them."""

import csv
import io
import json
from functools import cache
from hashlib import sha256
from typing import NamedTuple

from craft.dice import Dice

TASK = "task_64_night_meters"
SEED = 20261207


class Size(NamedTuple):
    """Rows and columns of blocks, leaks, valves that don't shut, readings, and the meter's error (tenths of a litre)."""

    rows: int
    columns: int
    leaks: int
    passing: int
    readings: int
    error: int


SIZES = {
    "abbey": Size(5, 6, 6, 3, 14, 15),
    "bridge": Size(5, 7, 7, 3, 15, 15),
    "castle": Size(6, 7, 8, 4, 17, 15),
    "docks": Size(6, 8, 9, 4, 18, 20),
    "east": Size(7, 8, 10, 5, 20, 20),
    "forge": Size(7, 9, 12, 5, 22, 20),
}
LOOPS = 0.55  # of the neighbours that a tree leaves apart, how many are joined all the same


def district(dice: Dice, size: Size) -> dict:
    places = [(row, column) for row in range(size.rows) for column in range(size.columns)]
    names = dict(zip(places, (f"B{number:02}" for number in range(1, len(places) + 1)), strict=True))
    pairs = [(one, (one[0] + down, one[1] + 1 - down)) for one in places for down in (0, 1)]
    pairs = dice.shuffled([pair for pair in pairs if pair[1] in names])
    group = {place: place for place in places}

    def top(place: tuple[int, int]) -> tuple[int, int]:
        while group[place] != place:
            place = group[place]
        return place

    joined = []
    for one, other in pairs:
        if top(one) != top(other):
            group[top(one)] = top(other)
            joined.append((one, other))
        elif dice.chance(LOOPS):
            joined.append((one, other))
    joined.sort()
    valves = {f"V{number:02}": [names[one], names[other]] for number, (one, other) in enumerate(joined, 1)}
    inlet = names[dice.between(0, size.rows - 1), 0]
    blocks = [name for name in names.values() if name != inlet]
    return {
        "valves": valves,
        "inlet": inlet,
        "leaks": {name: dice.between(60, 300) for name in sorted(dice.sample(blocks, size.leaks))},
        "passing": sorted(dice.sample(list(valves), size.passing)),
        "readings": size.readings,
        "error": size.error,
    }


@cache
def districts(seed: int) -> dict[str, dict]:
    return {name: district(Dice(seed * 8 + place), size) for place, (name, size) in enumerate(SIZES.items(), 1)}


def table(rows: list[tuple]) -> bytes:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue().encode()


def files(seed: int = SEED) -> dict[str, bytes]:
    result, every = {}, districts(seed)
    for name, one in every.items():
        rows = [(valve, *blocks) for valve, blocks in one["valves"].items()]
        result[f"night_plans/{name}.csv"] = table([("valve", "block", "other_block"), *rows])
    rows = [
        (name, one["inlet"], SIZES[name].rows * SIZES[name].columns, len(one["valves"]), len(one["leaks"]),
         len(one["passing"]), one["error"] / 10, one["readings"])
        for name, one in every.items()
    ]  # fmt: skip
    head = ("district", "inlet", "blocks", "valves", "leaks", "valves_that_pass", "meter_error", "readings")
    result["night_plans/districts.csv"] = table([head, *rows])
    form = sha256(f"{TASK} {seed}".encode()).hexdigest()[:12]
    data = json.dumps({"form": form, "districts": every}, separators=(",", ":"))
    result["night_meters/districts.json"] = data.encode() + b"\n"
    return result


def findings(seed: int) -> dict[str, dict]:
    return {name: {"leaks": [*one["leaks"]], "valves": one["passing"]} for name, one in districts(seed).items()}


def particulars(seed: int) -> list[str]:
    """Return what the solution says of each district."""
    return [f'"{name}": {json.dumps(found)}' for name, found in findings(seed).items()]


def expected(seed: int = SEED) -> dict:
    return findings(seed)
