"""A quarter of movements in five warehouses, what their stock is worth by its layers, and a sale to fill it up from."""

from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from hashlib import sha256
from zoneinfo import ZoneInfo

from craft.dice import Dice

SEED = 20260331
LOCAL = ZoneInfo("Europe/Vienna")
MARCH = datetime(2026, 4, 1, tzinfo=LOCAL)
FEBRUARY = datetime(2026, 3, 1, tzinfo=LOCAL)
SITES = ("graz", "linz", "steyr", "villach", "wels")
FIELDS = ("id", "at", "site", "item", "kind", "quantity", "unit", "ref", "to_site")


class Move:
    def __init__(self, number: int, at: datetime, site: str, item: str, kind: str, quantity: int, unit: str, ref: str, to_site: str = "") -> None:  # fmt: skip
        self.number, self.at, self.site, self.item, self.kind = number, at, site, item, kind
        self.quantity, self.unit, self.ref, self.to_site = quantity, unit, ref, to_site

    @property
    def id(self) -> str:
        return f"M-{self.number:05d}"

    def row(self) -> str:
        at = f"{self.at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        values = (self.id, at, self.site, self.item, self.kind, self.quantity, self.unit, self.ref, self.to_site)
        return "(" + ",".join(f"{value}" if isinstance(value, int) else f"'{value}'" for value in values) + ")"


class Warehouse:
    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        self.items = [f"I-{number:02d}" for number in range(1, 23)]
        self.packs: list[tuple[str, date, int]] = []
        self.prices: dict[str, int] = {}
        for item in self.items:
            size = dice.pick((6, 10, 12, 24))
            self.packs.append((item, date(2025, 1, 1), size))
            if dice.chance(0.5):
                day = date(2026, 1, 10) + timedelta(days=dice.below(70))
                self.packs.append((item, day, dice.pick([one for one in (5, 6, 8, 10, 12, 20, 24) if one != size])))
            self.prices[item] = dice.between(40, 2500)
        self.invoices: list[tuple[str, int]] = []
        self.number = 100
        self.receipts = 0
        self.moves: list[Move] = []
        self.late: list[Move] = []
        at = datetime(2026, 1, 1, 6, tzinfo=UTC)
        for site in SITES:
            for item in self.items:
                if dice.chance(0.8):
                    at += timedelta(seconds=dice.between(61, 400))
                    self._receipt(at, site, item)
        while at < datetime(2026, 4, 3, tzinfo=UTC):
            at += timedelta(minutes=dice.between(3, 200))
            self._any(at)
        for edge in (MARCH, FEBRUARY):
            for minutes in (-100, -61, -20, -2, 0, 7, 50):
                self._any(edge.astimezone(UTC) + timedelta(minutes=minutes))
        self._more()

    def _new(self, at: datetime, *about: object, **more: str) -> Move:
        self.number += 1
        return Move(self.number, at, *about, **more)  # type: ignore[arg-type]

    def pieces(self, move: Move) -> int:
        if move.unit == "piece":
            return move.quantity
        day = move.at.astimezone(LOCAL).date()
        sizes = [(since, size) for item, since, size in self.packs if item == move.item and since <= day]
        return move.quantity * max(sizes)[1]

    def _receipt(self, at: datetime, site: str, item: str) -> None:
        dice = self.dice
        self.receipts += 1
        ref = f"R-{self.receipts:04d}"
        move = self._new(at, site, item, "receipt", dice.between(2, 9), "pack", ref)
        self.moves.append(move)
        if dice.chance(0.9):
            price = self.prices[item] * dice.between(85, 120) // 100
            self.invoices.append((ref, price * self.pieces(move) + dice.between(0, 40)))
            if dice.chance(0.15):
                self.invoices.append((ref, -dice.between(50, 900)))

    def _any(self, at: datetime) -> None:
        dice = self.dice
        site, item = dice.pick(SITES), dice.pick(self.items)
        draw = dice.below(100)
        if draw < 27:
            self._receipt(at, site, item)
            return
        unit = "pack" if dice.chance(0.2) else "piece"
        quantity = dice.between(1, 2) if unit == "pack" else dice.between(1, 26)
        ref = f"S-{dice.between(10000, 99999)}"
        if draw < 72:
            self.moves.append(self._new(at, site, item, "sale", quantity, unit, ref))
        elif draw < 82:
            other = dice.pick([one for one in SITES if one != site])
            self.moves.append(self._new(at, site, item, "transfer", quantity, unit, ref, to_site=other))
        elif draw < 88:
            self.moves.append(self._new(at, site, item, "return", dice.between(1, 4), "piece", ref))
        elif draw < 92:
            self.moves.append(self._new(at, site, item, "scrap", dice.between(1, 6), "piece", ref))
        else:
            self.moves.append(self._new(at, site, item, "count", dice.between(0, 60), "piece", ref))

    def _more(self) -> None:
        """Scanned twice, voided, and brought in late."""
        dice = self.dice
        for move in dice.sample(self.moves, 60):
            again, at = dice.between(1, 2), move.at
            for _ in range(again):
                at += timedelta(seconds=dice.pick((1, 4, 20, 45, 60, 61, 90)))
                self.moves.append(
                    self._new(
                        at, move.site, move.item, move.kind, move.quantity, move.unit, move.ref, to_site=move.to_site
                    )
                )
        voids = []
        for move in dice.sample(self.moves, 70):
            voids.append(
                self._new(
                    move.at + timedelta(minutes=dice.between(5, 30000)),
                    move.site,
                    move.item,
                    "void",
                    0,
                    "piece",
                    move.id,
                )
            )
        for move in dice.sample(voids, 14):
            voids.append(
                self._new(
                    move.at + timedelta(minutes=dice.between(5, 9000)),
                    move.site,
                    move.item,
                    "void",
                    0,
                    "piece",
                    move.id,
                )
            )
        self.moves += voids
        kept = self.moves
        self.moves = []
        for _ in range(26):
            at = datetime(2026, 1, 3, tzinfo=UTC) + timedelta(minutes=dice.below(86 * 1440))
            self._any(at)
        self.late, self.moves = self.moves, kept
        for move in dice.sample(kept, 6):
            self.late.append(self._new(move.at + timedelta(days=9), move.site, move.item, "void", 0, "piece", move.id))
        # The ids tell nothing about the order of the times.
        self.moves.sort(key=lambda move: (move.at, move.number))

    def value(self, closing: datetime, *, has_late: bool) -> dict:
        moves = sorted(self.moves + (self.late if has_late else []), key=lambda move: (move.at, move.id))
        gone: set[str] = set()
        for move in sorted(
            (one for one in moves if one.kind == "void"), key=lambda one: (one.at, one.id), reverse=True
        ):
            if move.id not in gone:
                gone.add(move.ref)
        last_seen: dict[tuple, datetime] = {}
        costs: dict[str, int] = defaultdict(int)
        for ref, amount in self.invoices:
            costs[ref] += amount
        layers: dict[tuple[str, str], list[list]] = defaultdict(list)
        latest: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
        shortages, sold, lost = {}, Fraction(0), Fraction(0)

        def take(place: tuple[str, str], wanted: int) -> tuple[list[list], int]:
            taken = []
            while wanted and layers[place]:
                first = layers[place][0]
                part = min(wanted, first[0])
                taken.append([part, first[1]])
                first[0] -= part
                wanted -= part
                if not first[0]:
                    layers[place].pop(0)
            return taken, wanted

        for move in moves:
            if move.kind == "void" or move.id in gone:
                continue
            same = (move.site, move.item, move.kind, move.quantity, move.unit, move.ref, move.to_site)
            before = last_seen.get(same)
            last_seen[same] = move.at
            if move.at >= closing or (before is not None and move.at - before <= timedelta(seconds=60)):
                continue
            place, pieces = (move.site, move.item), self.pieces(move)
            if move.kind == "receipt":
                each = Fraction(costs[move.ref], pieces) if move.ref in costs else latest[place]
                latest[place] = each
                layers[place].append([pieces, each])
            elif move.kind == "return":
                layers[place].append([pieces, latest[place]])
            elif move.kind == "count":
                here = sum(layer[0] for layer in layers[place])
                if pieces > here:
                    layers[place].append([pieces - here, latest[place]])
                taken, _ = take(place, max(0, here - pieces))
                lost += sum(part * each for part, each in taken)
            else:
                taken, missing = take(place, pieces)
                if missing:
                    shortages[move.id] = missing
                cost = sum(part * each for part, each in taken)
                if move.kind == "sale":
                    sold += cost
                elif move.kind == "scrap":
                    lost += cost
                else:
                    layers[move.to_site, move.item] += taken
        stock = {}
        for (site, item), own in layers.items():
            if pieces := sum(layer[0] for layer in own):
                stock[f"{site} {item}"] = [pieces, cents(sum(part * each for part, each in own))]
        total = sum((part * each for own in layers.values() for part, each in own), Fraction(0))
        sums = {"value_cents": cents(total), "sold_cents": cents(sold), "lost_cents": cents(lost)}
        return {"stock": stock, "shortages": shortages, "sums": sums}


def cents(value: Fraction) -> int:
    return int((2 * value + 1) // 2)


def insert(moves: list[Move]) -> str:
    lines = []
    for start in range(0, len(moves), 50):
        rows = ",\n".join(move.row() for move in moves[start : start + 50])
        lines.append(f"INSERT INTO moves ({', '.join(FIELDS)}) VALUES\n{rows};\n")
    return "".join(lines)


def files(seed: int = SEED) -> dict[str, bytes]:
    house = Warehouse(seed)
    head = (
        "CREATE TABLE moves (id TEXT PRIMARY KEY, at TEXT, site TEXT, item TEXT, kind TEXT, quantity INTEGER, unit TEXT, ref TEXT, to_site TEXT);\n"
        "CREATE TABLE packs (item TEXT, since TEXT, pieces INTEGER);\n"
        "CREATE TABLE invoices (ref TEXT, cents INTEGER);\n"
    )
    packs = ",\n".join(f"('{item}','{since}',{size})" for item, since, size in house.packs)
    invoices = ",\n".join(f"('{ref}',{amount})" for ref, amount in house.dice.shuffled(house.invoices))
    text = f"{head}INSERT INTO packs (item, since, pieces) VALUES\n{packs};\nINSERT INTO invoices (ref, cents) VALUES\n{invoices};\n"
    made = {"warehouse.sql": text + insert(house.dice.shuffled(house.moves)), "late.sql": insert(house.late)}
    return {f"stock_layers/{name}": data.encode() for name, data in made.items()}


def expected(seed: int = SEED) -> dict:
    house = Warehouse(seed)
    before = house.value(MARCH, has_late=False)
    final = house.value(MARCH, has_late=True)
    stock = {place: [*one, int(before["stock"].get(place) != one)] for place, one in final["stock"].items()}
    given = {name[13:]: sha256(data).hexdigest()[:16] for name, data in files(seed).items()}
    return {**final, "stock": stock, "february": house.value(FEBRUARY, has_late=True), "given": given}
