"""A quarter of a small depot's shipments, as untidy as exports are."""

from collections import Counter
from datetime import datetime, timedelta

from craft.dice import Dice

SEED = 20260214
CARRIERS = ("Norlink", "Postwagen", "Bluebird", "Ostfracht")
COUNTRIES = ("AT", "CH", "CZ", "DE", "IT", "SI")


def shipments(seed: int) -> tuple[list[str], list[tuple]]:
    """The first export by a seed with other numbers of shipments than the public one, which may have been memorised."""
    rows, sent = drawn(seed)
    known = numbers(drawn(SEED)[1])
    while seed != SEED and any(one == other for one, other in zip(numbers(sent), known, strict=True)):
        seed += 1_000_003
        rows, sent = drawn(seed)
    return rows, sent


def numbers(sent: list[tuple]) -> list[int]:
    """How many shipments there are, in all and in each month."""
    months = Counter(shipped.month for _, shipped, _, _, _ in sent)
    return [len(sent), *(months[month] for month in (1, 2, 3))]


def drawn(seed: int) -> tuple[list[str], list[tuple]]:
    """The export's rows (some twice, carriers in several spellings, some costs with a decimal comma), and the shipments."""
    dice = Dice(seed)
    rows: list[str] = []
    sent: list[tuple] = []
    for number in range(1, 341):
        shipped = datetime(2026, 1, 2) + timedelta(days=number * 88 // 341)
        carrier = dice.pick(CARRIERS)
        spelled = (carrier, carrier, carrier, carrier.upper(), carrier.lower(), f" {carrier} ")[dice.below(6)]
        cents = 390 + dice.below(8200)
        cost = f"{cents // 100}.{cents % 100:02}" if dice.chance(0.8) else f'"{cents // 100},{cents % 100:02}"'
        weight = "" if dice.chance(0.04) else f"{(2 + dice.below(298)) / 10:.1f}"
        status = "cancelled" if dice.chance(0.08) else ("delivered", "delivered", "in transit")[dice.below(3)]
        row = f"S{1000 + number},{shipped:%Y-%m-%d},{spelled},{dice.pick(COUNTRIES)},{weight},{cost},{status}"
        rows.append(row)
        if status != "cancelled":
            sent.append((f"S{1000 + number}", shipped, carrier, weight, cents))
        if dice.chance(0.05):
            rows.append(row)
    return rows, sent


def files(seed: int = SEED) -> dict[str, bytes]:
    head = "shipment_id,shipped_on,carrier,country,weight_kg,cost_eur,status"
    return {"depot/shipments.csv": ("\n".join([head, *shipments(seed)[0]]) + "\n").encode()}


def expected(seed: int = SEED) -> dict:
    _, sent = shipments(seed)
    costs = Counter()
    for _, _, carrier, _, cents in sent:
        costs[carrier.lower()] += cents
    return {
        "shipments": len(sent),
        "costs": {carrier: cents / 100 for carrier, cents in costs.items()},
        "weightless": [key for key, _, _, weight, _ in sent if not weight],
        "costliest": max(sent, key=lambda one: one[4])[0],
        "months": Counter(f"{shipped:%Y-%m}" for _, shipped, _, _, _ in sent),
    }
