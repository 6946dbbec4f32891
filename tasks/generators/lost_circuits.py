"""What eight small controllers do, each made from a hidden circuit of few cells."""

import csv
import hashlib
import io
from typing import NamedTuple

from craft.dice import Dice

TASK = "task_60_lost_circuits"
SEED = 20261203
# Inputs, outputs and cells of each hidden circuit. Up to about 40 cells, annealing finds one as good within minutes; beyond
# that, each of its steps looks at more cells over more cases, and it needs far more of them.
SIZES = {"barrier": (9, 3, 24), "boiler": (10, 4, 36), "crane": (10, 5, 48), "dryer": (11, 5, 56),
         "heater": (11, 6, 64), "hoist": (12, 6, 72), "lathe": (12, 6, 84), "mixer": (12, 6, 96)}  # fmt: skip
KINDS = ("and", "or", "xor", "nand", "nor", "xnor")


class Circuit(NamedTuple):
    inputs: int
    outputs: list[int]
    cells: list[tuple[str, str, str, str]]


def inputs_of(count: int) -> dict[str, int]:
    """Return what each input is in all cases, as the bits of a number: case 0 is the lowest bit."""
    return {
        f"i{number}": sum(1 << case for case in range(1 << count) if case >> (count - number) & 1)
        for number in range(1, count + 1)
    }


def joined(kind: str, one: int, other: int, mask: int) -> int:
    plain = kind.removeprefix("n") if kind != "xnor" else "xor"
    value = {"and": one & other, "or": one | other, "xor": one ^ other}[plain]
    return value if plain == kind else value ^ mask


def attempt(dice: Dice, count: int, outputs: int, cells: int) -> Circuit | None:
    """Draw a circuit without cells that do nothing, or None if this one has any."""
    mask = (1 << (1 << count)) - 1
    values = inputs_of(count)
    unused = list(values)
    made: list[tuple[str, str, str, str]] = []
    # The cells whose second input nothing used before; the others take one that is in use.
    merging = {0, *dice.sample(range(1, min(cells, count + 2)), count - outputs - 1)}
    for number in range(cells):
        for _ in range(40):
            first = dice.pick(unused)
            second = dice.pick([name for name in values if name != first and (name in unused) == (number in merging)])
            kind = dice.pick(KINDS)
            value = joined(kind, values[first], values[second], mask)
            pairs = (values[first] ^ one for one in (0, mask)), [values[second] ^ one for one in (0, mask)]
            ones = bin(value).count("1") / (1 << count)
            known = value in values.values() or value ^ mask in values.values()
            if not known and 0.12 < ones < 0.88 and all(a & b for a in pairs[0] for b in pairs[1]):
                break
        else:
            return None
        name = f"n{number + 1:02}"
        made.append((name, kind, first, second))
        values[name] = value
        unused = [one for one in unused if one not in (first, second)] + [name]
    if len(unused) != outputs or any(name.startswith("i") for name in unused):
        return None
    names = {old: f"o{place}" for place, old in enumerate(dice.shuffled(unused), 1)}
    circuit = [tuple(names.get(one, one) for one in cell) for cell in made]
    tables = {names[old]: values[old] for old in unused}
    return Circuit(count, [tables[f"o{place}"] for place in range(1, outputs + 1)], circuit)


def circuit(seed: int, count: int, outputs: int, cells: int) -> Circuit:
    dice = Dice(seed)
    while True:
        found = attempt(dice, count, outputs, cells)
        if found:
            return found


def circuits(seed: int) -> dict[str, Circuit]:
    return {name: circuit(seed + place, *SIZES[name]) for place, name in enumerate(SIZES)}


def files(seed: int = SEED) -> dict[str, bytes]:
    made = {}
    for name, one in circuits(seed).items():
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["inputs", "outputs"])
        for case in range(1 << one.inputs):
            writer.writerow([f"{case:0{one.inputs}b}", "".join(str(table >> case & 1) for table in one.outputs)])
        made[f"lost_circuits/{name}.csv"] = file.getvalue().encode()
    return made


def particulars(seed: int) -> list[str]:
    """Return the hidden circuits, as they stand in the solution."""
    return [f"{name}: {' '.join(','.join(cell) for cell in one.cells)}" for name, one in circuits(seed).items()]


def expected(seed: int = SEED) -> dict:
    digests = {name.partition("/")[2]: hashlib.sha256(data).hexdigest()[:20] for name, data in files(seed).items()}
    return {"given": digests, "cells": {name: len(one.cells) for name, one in circuits(seed).items()}}
