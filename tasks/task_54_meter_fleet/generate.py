"""A fleet of meters behind a controller, some of which cannot take the new version."""

import base64
import csv
import hashlib
import io
import json
from hashlib import sha256

from craft.dice import Dice

SEED = 20260616
SITES = ("bakehouse", "ferry", "harbour", "library", "mill", "pool", "school", "tower", "yard")
NEVER = 10**9


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


class Fleet:
    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        self.frozen = set(dice.sample(SITES, 2))
        self.devices: dict[str, dict] = {}
        names = [f"D-{value}" for value in sorted(dice.sample(range(100, 400), 66))]
        gateways = dict(zip(dice.sample(names, len(SITES)), SITES, strict=True))
        for name in names:
            charge = dice.between(45, 99) if dice.chance(0.82) else dice.between(12, 39)
            one = {
                "site": gateways.get(name) or dice.pick(SITES), "role": "gateway" if name in gateways else dice.pick(("meter", "meter", "valve")),
                "hardware": dice.pick("ABBBCCCD"), "version": dice.pick(("2.4.9", "2.4.1", "2.3.7", "2.4.10", "1.12.0")),
                "interval": dice.pick((60, 120, 300, 900, 45)), "charge": charge,
                "told": charge if dice.chance(0.5) else dice.between(20, 99), "online_from": 0, "serial": "",
            }  # fmt: skip
            if dice.chance(0.09):
                one["version"] = dice.pick(("2.5.0", "2.10.0", "2.5.1"))
            if dice.chance(0.16):
                one["online_from"] = dice.pick((90, 170, 240, 290, NEVER, NEVER))
            one |= {
                "installing": "", "ready_at": 0, "staged": "", "down_until": 0, "up_at": 0, "sick_at": 0, "boots": 0,
                "dead": False, "previous": "", "stubborn": 1 if dice.chance(0.22) else 0, "weak": False,
            }  # fmt: skip
            self.devices[name] = one
        self.trial = {hardware: self._trial(hardware) for hardware in "BCD"}
        free = [
            name
            for name, one in self.devices.items()
            if self.can(one) and one["hardware"] in "BC" and name not in self.trial.values()
        ]
        for name in dice.sample(free, 4):
            self.devices[name]["weak"] = True
        for name in dice.sample([name for name in free if not self.devices[name]["weak"]], 2):
            self.devices[name]["stubborn"] = 5
        for name in self.trial.values():
            if name:
                self.devices[name]["stubborn"] = min(1, self.devices[name]["stubborn"])
        low = [name for name, one in self.devices.items() if self.outcome(name, one) == "battery"]
        self.replaced = dice.sample(low, (len(low) + 1) // 2)
        for name in self.replaced:
            self.devices[name]["serial"] = f"NB{dice.between(100000, 999999)}"

    def can(self, one: dict) -> bool:
        return (
            number(one["version"]) < (2, 5, 0) and one["hardware"] != "A" and one["site"] not in self.frozen
            and one["online_from"] < 300 and one["charge"] >= 40
        )  # fmt: skip

    def _trial(self, hardware: str) -> str:
        fit = [
            name
            for name, one in self.devices.items()
            if one["hardware"] == hardware and self.can(one) and not one["online_from"] and one["role"] != "gateway"
        ]
        return min(fit, default="")

    def outcome(self, name: str, one: dict) -> str:
        return (
            "current" if number(one["version"]) >= (2, 5, 0)
            else "hardware" if one["hardware"] == "A"
            else "frozen" if one["site"] in self.frozen
            else "offline" if one["online_from"] > 300
            else "battery" if one["charge"] < 40
            else "failed" if name == self.trial["D"]
            else "halted" if one["hardware"] == "D"
            else "failed" if one["weak"] or one["stubborn"] > 1
            else "upgraded"
        )  # fmt: skip


def table(head: tuple[str, ...], rows: list) -> bytes:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([head, *rows])
    return file.getvalue().encode()


def files(seed: int = SEED) -> dict[str, bytes]:
    fleet = Fleet(seed)
    state = {"tick": 0, "orders": 0, "events": [], "devices": fleet.devices}
    plain = json.dumps(state).encode()
    mask = hashlib.shake_256(b"fleet").digest(len(plain))
    made = {"fleet.state": base64.b64encode(bytes(a ^ b for a, b in zip(plain, mask, strict=True))) + b"\n"}
    made["freeze.csv"] = table(("site", "until"), [(site, "2026-09-30") for site in sorted(fleet.frozen)])
    serials = [(name, fleet.devices[name]["serial"]) for name in sorted(fleet.replaced)]
    made["replaced.csv"] = table(("device", "serial"), serials)
    return {f"meter_fleet/{name}": data for name, data in made.items()}


def expected(seed: int = SEED) -> dict:
    fleet = Fleet(seed)
    devices = {}
    for name, one in fleet.devices.items():
        first = fleet.outcome(name, one)
        last = first
        if first == "battery" and name in fleet.replaced:
            last = fleet.outcome(name, one | {"charge": 96})
        if one["hardware"] == "B" and last == "upgraded":
            last = "withdrawn"
        version = "2.5.0" if last == "upgraded" else one["version"]
        devices[name] = [first, last, version, one["interval"], one["hardware"], one["site"], one["role"]]
    kept = ("freeze.csv", "replaced.csv")
    given = files(seed)
    return {
        "devices": devices,
        "trial": fleet.trial,
        "replaced": sorted(fleet.replaced),
        "given": {name: sha256(given[f"meter_fleet/{name}"]).hexdigest()[:16] for name in kept},
    }
