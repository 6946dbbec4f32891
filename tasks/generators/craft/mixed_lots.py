"""Mixed lots of a sale for five warehouses, of which a hidden choice has exactly what each of them needs."""

from typing import NamedTuple

from craft.dice import Dice

# Items, lots on offer, and lots of the hidden choice for each site. Of 190 lots annealing found that choice within 40 seconds;
# of 420 it was still far from it.
SIZES = {"graz": (58, 400, 44), "linz": (62, 440, 47), "steyr": (67, 480, 51),
         "villach": (73, 530, 56), "wels": (80, 580, 61)}  # fmt: skip


class Sale(NamedTuple):
    prices: list[int]  # list prices in cents, of which 60 % are whole cents
    lots: list[dict[int, int]]  # pieces by item
    chosen: set[int]

    def needs(self) -> list[int]:
        """Return how many pieces of each item the site needs."""
        return [sum(self.lots[lot].get(item, 0) for lot in self.chosen) for item in range(len(self.prices))]


def sale(seed: int, items: int, count: int, chosen: int) -> Sale:
    dice = Dice(seed)
    prices = [dice.between(24, 180) * 5 for _ in range(items)]
    while True:
        lots = [
            {item: dice.between(1, 9) for item in dice.sample(range(items), dice.between(4, 7))} for _ in range(count)
        ]
        made = Sale(prices, lots, set(dice.sample(range(count), chosen)))
        if all(made.needs()):
            return made


def sales(seed: int) -> dict[str, Sale]:
    return {site: sale(seed + place, *SIZES[site]) for place, site in enumerate(SIZES)}


def tables(seed: int) -> dict[str, str]:
    """Return the files of the sale by their names."""
    made = {}
    for site, one in sales(seed).items():
        needs = enumerate(zip(one.needs(), one.prices, strict=True), 1)
        made[f"{site}_needs.csv"] = "item,pieces,list_cents\n" + "".join(
            f"G-{item:02},{pieces},{price}\n" for item, (pieces, price) in needs
        )
        made[f"{site}_lots.csv"] = "lot,item,pieces\n" + "".join(
            f"L-{number:03},G-{item + 1:02},{pieces}\n"
            for number, lot in enumerate(one.lots, 1)
            for item, pieces in sorted(lot.items())
        )
    return made


def choices(seed: int) -> list[str]:
    """Return the numbers of the lots of each hidden choice."""
    return [f"{site}: {' '.join(str(lot + 1) for lot in sorted(one.chosen))}" for site, one in sales(seed).items()]
