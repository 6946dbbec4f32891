"""A family's grocer for a month: a catalogue in which each thing that was said decides, and what is right on each day."""

import csv
import io
import json
from datetime import date, timedelta

from craft.dice import Dice

SEED = 20260504
DAYS = ("05-04", "05-06", "05-09", "05-13", "05-15", "05-18", "05-20", "05-22", "05-25", "05-27", "05-28", "06-03")
LAST = len(DAYS)
BRANDS = ("Brightfield", "Oakwell", "Fennimore", "Tarnside", "Hollis", "Peverell", "Marchmont", "Dunmore")
NUTS = ("hazelnut", "almond", "walnut", "cashew", "pistachio")
APPLES = ("Braeburn", "Elstar", "Jonagold", "Topaz", "Rubinette")
DOCTORS = ("Albrecht", "Sandoval", "Kowalik", "Lindgren", "Okafor")
# What the products of a kind may have that somebody does not want, and their types; of those wanted by anybody the last.
KINDS = {
    "milk": (("lactose", "brand"), ("whole", "low-fat")),
    "butter": (("lactose", "brand"), ("salted", "unsalted")),
    "cheese": (("lactose", "brand"), ("young", "mature")),
    "yoghurt": (("lactose", "brand", "added sugar"), ("plain", "fruit")),
    "bread": (("nut", "other nut", "gluten", "brand"), ("white", "wholegrain")),
    "muesli": (("nut", "other nut", "gluten", "added sugar", "brand"), ("crunchy",)),
    "pasta": (("gluten", "brand"), ("spaghetti", "penne")),
    "coffee": (("brand",), ("strong", "mild", "medium")),
    "apples": (("brand",), ("Gala", "Pinova", "apple")),
    "eggs": (("brand",), ("barn", "free-range")),
    "biscuits": (("nut", "other nut", "gluten", "added sugar", "brand"), ("butter",)),
    "juice": (("added sugar", "brand"), ("orange", "cherry")),
    "jam": (("added sugar", "brand"), ("plum", "cherry")),
    "cake": (("lactose", "nut", "other nut", "gluten", "added sugar", "brand"), ("sponge",)),
    "sparkling wine": (("brand",), ("dry", "sweet")),
}
# What the family has said: in which conversation, and for which it holds.
RULES = {
    "lactose": (1, 1, LAST), "nut": (1, 1, 6), "other nut": (7, 7, LAST), "brand": (2, 2, 7), "gluten": (5, 5, 8),
    "added sugar": (8, 8, LAST),
}  # fmt: skip
TYPES = {
    "bread": [("wholegrain", 3, 4, 7)], "coffee": [("mild", 2, 2, 5), ("medium", 6, 6, LAST)], "apples": [("apple", 3, 3, LAST)],
    "eggs": [("free-range", 5, 5, LAST)], "pasta": [("penne", 5, 5, LAST)],
}  # fmt: skip
PACKS = {"milk": [(3, 2, 2, 8), (2, 9, 9, LAST)], "bread": [(2, 3, 4, 7)]}
USUAL = ("milk", "bread", "eggs", "butter", "apples")
ORDERS = {
    1: ("milk", "bread", "muesli", "coffee", "apples"),
    2: ("milk", "coffee", "biscuits", "juice"),
    3: (*USUAL, "cheese"),
    4: USUAL,
    5: ("pasta", "muesli", "coffee", "bread", "eggs"),
    6: (*USUAL, "yoghurt", "coffee"),
    7: ("coffee", "cake", "biscuits", "juice"),
    8: (*USUAL, "yoghurt", "coffee", "jam"),
    9: ("bread", "pasta", "muesli", "milk"),
    10: ("milk", "bread", "eggs", "apples", "yoghurt"),
    11: ("milk", "bread", "eggs", "apples", "yoghurt", "juice", "biscuits"),
    12: ("cake", "juice", "muesli", "pasta", "coffee", "cheese"),
}
USUAL_SINCE = {4: USUAL, 6: (*USUAL, "yoghurt"), 8: (*USUAL, "yoghurt"), 10: ORDERS[10], 11: ORDERS[10]}
ONCE = {(7, "coffee"): ("strong", 2), (12, "cake"): (None, 3), (12, "juice"): (None, 4)}
NEIGHBOUR = {4: ("jam", "milk", "coffee"), 10: ("milk", "jam", "biscuits")}
HOURS = ("09:00", "11:00", "14:00", "17:00", "19:00")
EARLIEST = [("17:00", 1, 1, 8), ("11:00", 9, 9, LAST)]
THURSDAYS = (4, 4, 10)
HOW = """# How we order from Marlow's

For each order there is one file, named after the day on which it is made, such as `orders/2026-05-01.json`:

    {"slot": "K100", "items": {"P1000": 1, "P1001": 2}}

- `items` are products from `catalogue.csv` with the number of packs: one product for each thing that was asked for, and one pack of it
  unless somebody has said something else.
- What was said decides which products are possible. Of those, the cheapest is taken. `contains` is complete.
- `slot` is when they deliver: the first one in `slots.csv` on a later day than that of the order that suits the household.
- What has been ordered can't be changed.
"""


def particulars(seed: int) -> list[str]:
    """The brand that has gone wrong, the neighbour's, the two nuts, the apples and the doctor."""
    if seed == SEED:
        return [*BRANDS[:2], *NUTS[:2], APPLES[0], DOCTORS[0]]
    dice = Dice(seed)
    return [*dice.sample(BRANDS, 2), *dice.sample(NUTS, 2), dice.pick(APPLES), dice.pick(DOCTORS)]


def live(session: int) -> set[str]:
    return {rule for rule, (_, first, last) in RULES.items() if first <= session <= last}


def holding(spans: list[tuple], session: int) -> tuple | None:
    """The entry that holds in a conversation: a value, when it was said, and the first and last conversation."""
    return next((one for one in spans if one[2] <= session <= one[3]), None)


class World:
    """The catalogue, the slots, and what is right in each order.

    A product that has more of what is not wanted costs less. So the cheapest one that is possible has everything that may
    be there on that day, and whoever forgets a thing, or keeps one that was taken back, chooses another one.
    """

    def __init__(self, seed: int) -> None:
        self.dice = Dice(seed + 1)
        self.brand, self.hers, self.nut, self.other, self.apple, _ = particulars(seed)
        self.rows: list[dict] = []
        for kind in KINDS:
            self._products(kind)
        numbers = iter(self.dice.sample(range(1000, 9999), len(self.rows)))
        for row in self.rows:
            row["item"] = f"P{next(numbers)}"
        self.slots = self._slots()

    def _products(self, kind: str) -> None:
        dice, (unwanted, types) = self.dice, KINDS[kind]
        sets = {frozenset(), frozenset(unwanted)}
        for session in (one for one, kinds in ORDERS.items() if kind in kinds):
            free = frozenset(unwanted) - live(session)
            sets |= {free, *(free | {rule} for rule in live(session) & {*unwanted})}
        base = dice.between(30, 55) * 10
        others = [one for one in BRANDS if one not in (self.brand, self.hers)]
        entries = [
            (has, kept, others, base - 23 * len(has) + 9 * place)
            for place, kept in enumerate(types)
            for has in sorted(sets, key=sorted)
        ]
        entries += [(frozenset(), dice.pick(types), others, base + dice.between(4, 12) * 10) for _ in range(2)]
        if kind in {one for kinds in NEIGHBOUR.values() for one in kinds}:
            plain = frozenset(unwanted) - {"brand", "added sugar"}
            entries += [
                (has, types[0], [self.hers], base + 40 - 23 * len(has))
                for has in {frozenset(), plain, plain | ({"added sugar"} & {*unwanted})}
            ]
        used: set[int] = set()
        for has, kept, brands, price in sorted(entries, key=lambda one: (sorted(one[0]), *one[1:])):
            cents = price + dice.between(0, 7)
            while cents in used:
                cents += 1
            used.add(cents)
            self.rows.append(
                {
                    "kind": kind, "type": kept, "has": has, "organic": dice.pick(("yes", "no", "no")),
                    "brand": self.brand if "brand" in has else dice.pick(brands), "cents": cents,
                }
            )  # fmt: skip

    def _slots(self) -> list[tuple[str, str, str]]:
        """The free slots: on some days the first that would suit is taken."""
        dice, found = self.dice, []
        numbers = iter(dice.sample(range(100, 999), 250))
        days = [date(2026, 5, 5) + timedelta(days=one) for one in range(35)]
        for day in (one for one in days if one.weekday() < 6):
            taken = dice.pick(("", "", "14:00", "17:00", "19:00"))
            found += [(f"K{next(numbers)}", day.isoformat(), hour) for hour in HOURS if hour != taken]
        return found

    def cheapest(self, kind: str, *, without: set[str], kept: str | None = None, brand: str = "") -> str:
        fits = [
            row for row in self.rows
            if row["kind"] == kind and not row["has"] & without and kept in (None, row["type"]) and brand in ("", row["brand"])
        ]  # fmt: skip
        return min(fits, key=lambda row: row["cents"], default={"item": ""})["item"]

    def first_slot(self, session: int, earliest: str, *, thursdays: bool) -> str:
        today = f"2026-{DAYS[session - 1]}"
        return next(
            name for name, day, hour in self.slots
            if day > today and hour >= earliest and (thursdays or date.fromisoformat(day).weekday() != 3)
        )  # fmt: skip

    def item(self, session: int, kind: str) -> dict[str, object]:
        """What is right for one thing in an order of the family, on what it depends, and what others would choose."""
        unwanted = {*KINDS[kind][0]}
        rules, wanted = live(session) & unwanted, holding(TYPES.get(kind, []), session)
        once = ONCE.get((session, kind), (None, None))
        kept = once[0] or (wanted[0] if wanted else None)
        right = self.cheapest(kind, without=rules, kept=kept)
        # Each thing that was said earlier and holds, left out; and each that held and does not any more, kept.
        left_out = [self.cheapest(kind, without=rules - {one}, kept=kept) for one in rules if RULES[one][0] < session]
        if wanted and wanted[1] < session and not once[0]:
            left_out.append(self.cheapest(kind, without=rules))
        lifted = {one for one in unwanted if RULES[one][2] < session}
        stale = [self.cheapest(kind, without=rules | {one}, kept=kept) for one in lifted]
        old = [one[0] for one in TYPES.get(kind, []) if one[3] < session]
        if (7, kind) in ONCE and session > 7:
            old.append(ONCE[7, kind][0])
        stale += [self.cheapest(kind, without=rules, kept=one) for one in old]
        if right in ("", *left_out, *stale):
            raise ValueError(f"{kind} in conversation {session} does not depend on all that was said")
        packs = holding(PACKS.get(kind, []), session)
        changed = any(one[3] < session for one in PACKS.get(kind, []))
        earlier = bool(packs and packs[1] < session)
        return {
            "item": right, "packs": once[1] or (packs[0] if packs else 1),
            "group": "changed" if stale else "kept" if left_out else "now",
            "packs_group": "" if once[1] else "changed" if changed else "kept" if earlier else "",
            "stale": sorted({*stale} - {""}),
        }  # fmt: skip

    def slot(self, session: int) -> dict[str, object]:
        earliest, thursdays = holding(EARLIEST, session), not THURSDAYS[1] <= session <= THURSDAYS[2]
        right = self.first_slot(session, earliest[0], thursdays=thursdays)
        stale = [self.first_slot(session, one[0], thursdays=thursdays) for one in EARLIEST if one[3] < session]
        if session > THURSDAYS[2]:
            stale.append(self.first_slot(session, earliest[0], thursdays=False))
        at_any_time = self.first_slot(session, "00:00", thursdays=thursdays)
        return {
            "slot": right, "stale": sorted({*stale} - {right}), "needed": session > 1 and right != at_any_time,
        }  # fmt: skip

    def hers_of(self, session: int) -> dict[str, object]:
        items = {}
        for kind in NEIGHBOUR[session]:
            right = self.cheapest(kind, without={"added sugar"}, brand=self.hers)
            wrong = [self.cheapest(kind, without={"added sugar"}), self.cheapest(kind, without=set())]
            if kind != "milk" and kind != "coffee":
                wrong.append(self.cheapest(kind, without=set(), brand=self.hers))
            if kind in ("milk", "biscuits"):
                wrong.append(self.cheapest(kind, without={"added sugar", *live(session)}, brand=self.hers))
            if right in ("", *wrong):
                raise ValueError(f"{kind} for the neighbour does not depend on all that was said")
            items[kind] = {
                "item": right, "packs": 1, "group": "kept" if session > 4 else "now", "packs_group": "", "stale": [],
            }  # fmt: skip
        slot = {"slot": self.first_slot(session, "00:00", thursdays=True), "stale": [], "needed": session > 4}
        return {"items": items, "slot": slot}


def files(seed: int = SEED) -> dict[str, bytes]:
    world = World(seed)
    names = {"nut": world.nut, "other nut": world.other, "apple": world.apple}
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(("item", "kind", "type", "brand", "organic", "contains", "price_cents"))
    for row in sorted(world.rows, key=lambda one: (one["kind"], one["item"])):
        contains = sorted(names.get(one, one) for one in row["has"] if one != "brand")
        cells = (row["item"], row["kind"], names.get(row["type"], row["type"]), row["brand"], row["organic"])
        rows.writerow((*cells, ";".join(contains), row["cents"]))
    until = dict(zip(HOURS, ("11:00", "13:00", "16:00", "19:00", "21:00"), strict=True))
    slots = "slot,date,from,to\n" + "".join(f"{name},{day},{hour},{until[hour]}\n" for name, day, hour in world.slots)
    return {
        "shop/HOW.md": HOW.encode(), "shop/catalogue.csv": out.getvalue().encode(), "shop/slots.csv": slots.encode(),
    }  # fmt: skip


def expected(seed: int = SEED) -> dict[str, object]:
    """What is right in each order, by the name of its file, and the products of each kind."""
    world = World(seed)
    orders: dict[str, object] = {}
    for session, kinds in ORDERS.items():
        day = f"2026-{DAYS[session - 1]}"
        orders[day] = {"items": {kind: world.item(session, kind) for kind in kinds}, "slot": world.slot(session)}
        if session in NEIGHBOUR:
            orders[f"{day}-winter"] = world.hers_of(session)
    kinds = {kind: sorted(row["item"] for row in world.rows if row["kind"] == kind) for kind in KINDS}
    return json.loads(json.dumps({"orders": orders, "kinds": kinds}))
