"""Writes the starter suite's fixtures; the same bytes on every run, system and Python version.

Run it as `python3 tasks/assets/generate.py [FOLDER]`; without a folder it writes beside itself.
"""

from __future__ import annotations

import random
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

CARRIERS = ("Norlink", "Postwagen", "Bluebird", "Ostfracht")
COUNTRIES = ("AT", "CH", "CZ", "DE", "IT", "SI")


class Dice:
    """Draws from `random()` alone: the one method whose numbers Python promises to keep."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def chance(self, share: float) -> bool:
        return self._random.random() < share

    def below(self, limit: int) -> int:
        return int(self._random.random() * limit)

    def pick(self, values: tuple[str, ...]) -> str:
        return values[self.below(len(values))]


def shipments() -> str:
    """A quarter of a small depot's shipments, as untidy as exports are."""
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


def gateway_log() -> str:
    """Two hours of an API gateway, with a bad release of the pricing service in the middle."""
    dice = Dice(20260311)
    begin = datetime(2026, 3, 11, 8, 0, 0)
    bad_from, bad_until = datetime(2026, 3, 11, 8, 40, 30), datetime(2026, 3, 11, 9, 17, 10)
    lines: list[str] = []
    moment = begin
    while moment < begin + timedelta(hours=2):
        path = dice.pick(("/v2/checkout", "/v2/checkout", "/v2/search", "/v2/cart", "/v2/account"))
        status, millis = 200, 40 + dice.below(260)
        if path == "/v2/checkout" and bad_from <= moment < bad_until and dice.chance(0.65):
            status, millis = 502, 3000 + dice.below(90)
        elif path == "/v2/search" and dice.chance(0.04):
            status, millis = 502, 900 + dice.below(400)
        elif dice.chance(0.03):
            status = 404
        upstream = "pricing" if path == "/v2/checkout" else path.removeprefix("/v2/")
        customer = f"c{310 + dice.below(90)}"
        lines.append(
            f"{moment:%Y-%m-%dT%H:%M:%SZ} gw-{1 + dice.below(3)} {path} status={status} ms={millis} "
            f"upstream={upstream} customer={customer}"
        )
        moment += timedelta(seconds=5 + dice.below(21))
    return "\n".join(lines) + "\n"


def deploys() -> str:
    """The releases of that day in the office's local time, one hour ahead of UTC."""
    office = timezone(timedelta(hours=1))
    entries = (
        (8, 41, 0, "search", "2.3.1", "release"),
        (9, 5, 20, "account", "1.19.4", "release"),
        (9, 40, 30, "pricing", "4.12.0", "release"),
        (9, 58, 0, "cart", "3.0.7", "release"),
        (10, 17, 10, "pricing", "4.11.6", "rollback"),
        (10, 44, 45, "search", "2.3.2", "release"),
    )
    rows = [
        f"{datetime(2026, 3, 11, hour, minute, second, tzinfo=office).isoformat()},{service},{version},{kind}"
        for hour, minute, second, service, version, kind in entries
    ]
    return "deployed_at,service,version,kind\n" + "\n".join(rows) + "\n"


def main(folder: Path) -> None:
    for name, text in (
        ("depot/shipments.csv", shipments()),
        ("outage/gateway.log", gateway_log()),
        ("outage/deploys.csv", deploys()),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # Bytes, because text mode would write other line ends on some systems.
        path.write_bytes(text.encode("utf-8"))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent)
