"""Lots of timber whose sellers bargain by hidden habits, and a year of earlier bargaining with them."""

import csv
import io
import json
import sys
from datetime import date, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path

from craft.dice import Dice

sys.dont_write_bytecode = True  # nothing is left beside what a service gets
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "assets" / "timber_desk"))
from seller import answer, begun, next_ask  # noqa: E402 - the one that the service runs

TASK = "task_65_timber_desk"
SEED = 20261208
HOUSES = ("Aumann", "Birkholt", "Corvell", "Dunmore", "Eskerry", "Fjelde", "Garrow", "Hallam")
LOTS, PAST = 6, 56  # of a house: lots now, and earlier ones
GOODS = {"oak boards": 640, "larch beams": 390, "spruce beams": 270, "ash boards": 520, "pine battens": 230}
GRADES = {"A": 118, "B": 100, "C": 84}
BEGIN = date(2025, 1, 6)
BREADTH, OFFERS = 40, 16  # of the search: states kept of a round, and offers tried in each


def habits(dice: Dice) -> dict:
    """Return how a house bargains: what all of its sellers have in common."""
    kind = dice.pick(("early", "late", "steady", "mirror"))
    much = dice.between(24, 40)
    yields = {
        "early": [2 * much, much, much // 2, *[much // 4] * 6],
        "late": [3, 4, 6, much, *[min(80, 2 * much)] * 5],
        "steady": [much] * 9,
        "mirror": [8] * 9,
    }[kind]
    return {
        "yields": yields,
        "mirrors": dice.between(50, 90) if kind == "mirror" else dice.pick((0, 0, 25)),
        "base": dice.pick((0, 10, 20, 40)),
        "insult": dice.between(60, 80),
        "raise": dice.pick((0, 3, 6, 10)),
        "patience": dice.pick((0, 1, 1)),
        "rounds": dice.between(4, 7) if kind != "late" else dice.between(5, 8),
        "markup": dice.between(20, 40),
        "worth": dice.between(92, 108),
    }


def lot(dice: Dice, house: dict) -> dict:
    goods, grade, amount = dice.pick(list(GOODS)), dice.pick(list(GRADES)), dice.between(8, 60)
    worth = GOODS[goods] * GRADES[grade] * amount * house["worth"] // 10000
    mood = dice.bell(1, 0.2)
    least = round(dice.bell(worth, worth * 0.05))
    ask = least * (100 + dice.between(house["markup"] - 10, house["markup"] + 10)) // 100
    return {
        "goods": goods,
        "grade": grade,
        "amount": amount,
        "least": least,
        "ask": ask // 5 * 5,
        # Sellers of a house differ a little.
        "yields": [max(1, round(one * mood)) for one in house["yields"]],
        "mirrors": max(0, house["mirrors"] + dice.between(-10, 10)) if house["mirrors"] else 0,
        "base": house["base"],
        "insult": house["insult"] + dice.between(-5, 5),
        "raise": max(0, house["raise"] + dice.between(-2, 2)) if house["raise"] else 0,
        "patience": dice.pick((house["patience"], house["patience"], 0)),
        "rounds": house["rounds"] + dice.pick((-1, 0, 0, 1)),
    }


def bargained(dice: Dice, one: dict) -> list[tuple]:
    """Return what an earlier buyer and a seller said, one row for each: round, who, what, price."""
    state, rows = begun(one), [(1, "seller", "ask", one["ask"])]
    first, step, goal = dice.between(55, 92), dice.between(0, 5), dice.between(80, 97)
    offer, said = one["ask"] * first // 100, "ask"
    while True:
        if said == "last ask" or state[1] * 100 <= one["ask"] * goal:
            if state[1] * 100 <= one["ask"] * max(goal, 96):
                return [*rows, (state[0], "buyer", "takes it", state[1])]
            return [*rows, (state[0], "buyer", "goes away", "")]
        rows.append((state[0], "buyer", "offer", offer))
        said, state = answer(one, state, offer)
        if said == "accepted":
            return [*rows, (state[0], "seller", "accepts", offer)]
        if said == "ended":
            return [*rows, (state[0], "seller", "goes away", "")]
        rows.append((state[0], "seller", said, state[1]))
        offer = min(state[1] - 5, offer + one["ask"] * dice.between(0, 2 * step) // 100)


def cheapest(one: dict) -> tuple[list, int]:
    """Return the offers that get a lot at nearly the least price there is, and that price. 0 takes the last ask."""
    best = ([0], one["ask"])
    front = [(begun(one), [])]
    for _ in range(one["rounds"]):
        found = {}
        for state, way in front:
            _, ask, before, _, _ = state
            least = max(before, 1)
            offended = -(-ask * one["insult"] // 100)
            moves = {least, max(least, offended), max(least, before + -(-ask * one["raise"] // 1000))}
            low = max(moves)
            moves |= {low + (ask - low) * place // OFFERS for place in range(OFFERS)}
            # The least offer that is accepted now.
            bottom, top = 1, ask
            while bottom < top:
                middle = (bottom + top) // 2
                bottom, top = (bottom, middle) if middle >= next_ask(one, state, middle) else (middle + 1, top)
            for offer in sorted({*moves, top}):
                said, after = answer(one, state, offer)
                if said == "accepted":
                    best = min(best, ([*way, offer], offer), key=lambda pair: pair[1])
                elif said != "ended":
                    best = min(best, ([*way, offer, 0], after[1]), key=lambda pair: pair[1])
                    if said == "ask":
                        key = (after[1] * 200 // one["ask"], after[2] * 100 // one["ask"], after[3])
                        if key not in found or after[1] < found[key][0][1]:
                            found[key] = (after, [*way, offer])
        front = sorted(found.values(), key=lambda pair: pair[0][1] + pair[0][2] // 4)[:BREADTH]
    return best


@cache
def made(seed: int) -> tuple[dict[str, dict], list[tuple]]:
    """Return the lots by name, with their house and the cheapest way to get them; and the rows of the earlier ones."""
    dice = Dice(seed)
    lots, past = [], []
    for house in HOUSES:
        known = habits(dice)
        for _ in range(LOTS):
            one = lot(dice, known)
            offers, best = cheapest(one)
            lots.append(one | {"house": house, "offers": offers, "best": best})
        for _ in range(PAST):
            one = lot(dice, known)
            past.append((BEGIN + timedelta(days=dice.below(360)), house, one, bargained(dice, one)))
    names = {f"L{number:02}": one for number, one in enumerate(dice.shuffled(lots), 1)}
    rows = []
    for number, (day, house, one, said) in enumerate(sorted(past, key=lambda deal: (deal[0], deal[1])), 1):
        what = (f"D{number:03}", day.isoformat(), house, one["goods"], one["grade"], one["amount"])
        rows += [(*what, *line) for line in said]
    return names, rows


def table(rows: list[tuple]) -> bytes:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue().encode()


def form_of(seed: int) -> str:
    return sha256(f"{TASK} {seed}".encode()).hexdigest()[:12]


def files(seed: int = SEED) -> dict[str, bytes]:
    lots, past = made(seed)
    rows = [(name, one["house"], one["goods"], one["grade"], one["amount"], one["ask"]) for name, one in lots.items()]
    head = ("deal", "date", "house", "goods", "grade", "cubic_metres", "round", "who", "what", "price")
    served = ("ask", "base", "insult", "least", "mirrors", "patience", "raise", "rounds", "yields")
    data = {"form": form_of(seed), "lots": {name: {key: one[key] for key in served} for name, one in lots.items()}}
    return {
        "timber_files/lots.csv": table([("lot", "house", "goods", "grade", "cubic_metres", "ask"), *rows]),
        "timber_files/earlier.csv": table([head, *past]),
        "timber_desk/lots.json": json.dumps(data, separators=(",", ":")).encode() + b"\n",
    }


def particulars(seed: int) -> list[str]:
    """Return what the solution offers for each lot; 0 takes what the seller asks."""
    return [f"{name}: {' '.join(map(str, one['offers']))}" for name, one in made(seed)[0].items()]


def expected(seed: int = SEED) -> dict:
    lots = {name: [one["house"], one["ask"], one["best"]] for name, one in made(seed)[0].items()}
    return {"form": form_of(seed), "lots": lots}
