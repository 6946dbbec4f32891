"""A fleet of meters behind a controller, some of which cannot take the new version, and a workshop for meters of other towns.

Each lot of the workshop is made around a hidden plan in which its benches hardly ever stand idle.
"""

import base64
import csv
import hashlib
import io
import json
from hashlib import sha256
from itertools import pairwise
from typing import NamedTuple

from craft.dice import Dice

TASK = "task_54_meter_fleet"
SEED = 20260616
SITES = ("bakehouse", "ferry", "harbour", "library", "mill", "pool", "school", "tower", "yard")
NEVER = 10**9
# The benches of each lot, and after about how many minutes the hidden plan is finished.
LOTS = {"canal": (8, 700), "castle": (9, 760), "hilltop": (10, 820), "market": (12, 880), "meadow": (14, 940),
        "station": (16, 1000)}  # fmt: skip
STEP = (9, 55)  # the shortest and the longest step, in minutes
# How long each hardware keeps its count without power. If it were a few minutes only, no search would come near the hidden plan.
KEEPS = {"A": 45, "B": 60, "C": 90, "D": 120}


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


class Lot(NamedTuple):
    length: int
    steps: list[tuple]
    begins: list[int]


def lot(seed: int, benches: int, about: int) -> Lot:
    """Fill the benches from the left: whenever one is free, a device that waits, or a new one, goes on it."""
    dice = Dice(seed)
    length = about + dice.between(-25, 25)
    free = dict.fromkeys(range(1, benches + 1), 0)
    routes: list[list[tuple[int, int, int]]] = []
    wanted: list[int] = []  # steps of each device
    while min(free.values()) < length:
        bench = min(free, key=lambda name: (free[name], name))
        begin = free[bench] + (dice.between(1, 3) if length - free[bench] > 2 * STEP[1] and dice.chance(0.05) else 0)
        left, minutes = length - begin, dice.between(*STEP)
        # Nothing tells the last step of a bench: it is no longer or shorter than others.
        minutes = left if left <= STEP[1] and left - minutes < STEP[0] else min(minutes, left - STEP[0])
        waits = {}
        for device, route in enumerate(routes):
            wait = begin - sum(route[-1][1:])
            if len(route) < wanted[device] and route[-1][0] != bench and 0 <= wait <= 60:
                waits[device] = wait
        if not waits or (begin < length * 0.8 and dice.chance(0.15)):
            device = len(routes)
            routes.append([])
            wanted.append(dice.between(5, 9))
        else:
            device = max(waits, key=lambda one: waits[one]) if dice.chance(0.6) else dice.pick(list(waits))
        routes[device].append((bench, begin, minutes))
        free[bench] = begin + minutes
    steps, begins = [], []
    for number, route in enumerate(dice.shuffled(routes), 1):
        wait = max((then - begin - minutes for (_, begin, minutes), (_, then, _) in pairwise(route)), default=0)
        fit = [hardware for hardware, keeps in KEEPS.items() if keeps >= wait]
        hardware = fit[0] if dice.chance(0.6) else dice.pick(fit)
        steps += [(f"W{number:03}", hardware, step, one[0], one[2]) for step, one in enumerate(route, 1)]
        begins += [begin for _, begin, _ in route]
    return Lot(length, steps, begins)


def lots(seed: int) -> dict[str, Lot]:
    return {name: lot(seed + place, *LOTS[name]) for place, name in enumerate(LOTS, 1)}


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
    made["workshop/hardware.csv"] = table(("hardware", "keeps"), list(KEEPS.items()))
    for name, one in lots(seed).items():
        made[f"workshop/{name}.csv"] = table(("device", "hardware", "step", "bench", "minutes"), one.steps)
    return {f"meter_fleet/{name}": data for name, data in made.items()}


def particulars(seed: int) -> list[str]:
    """Return the hidden plans, as they stand in the solution: when each step begins, in the order of the steps."""
    return [f"{name}: {' '.join(map(str, one.begins))}" for name, one in lots(seed).items()]


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
    kept = ("freeze.csv", "replaced.csv", "workshop/hardware.csv", *(f"workshop/{name}.csv" for name in LOTS))
    given = files(seed)
    return {
        "devices": devices,
        "trial": fleet.trial,
        "replaced": sorted(fleet.replaced),
        "lots": {name: one.length for name, one in lots(seed).items()},
        "given": {name: sha256(given[f"meter_fleet/{name}"]).hexdigest()[:16] for name in kept},
    }
