"""A quarter of a small depot's shipments, as untidy as exports are."""

from datetime import datetime, timedelta

from craft.dice import Dice

CARRIERS = ("Norlink", "Postwagen", "Bluebird", "Ostfracht")
COUNTRIES = ("AT", "CH", "CZ", "DE", "IT", "SI")


def shipments() -> str:
    """The export: some rows twice, carriers in several spellings, some costs with a decimal comma."""
    dice = Dice(20260214)
    rows: list[str] = []
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
        if dice.chance(0.05):
            rows.append(row)
    return "shipment_id,shipped_on,carrier,country,weight_kg,cost_eur,status\n" + "\n".join(rows) + "\n"


def files() -> dict[str, bytes]:
    return {"depot/shipments.csv": shipments().encode()}
