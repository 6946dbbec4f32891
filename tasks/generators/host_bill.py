"""Eight clusters of virtual machines, each around a hidden placement that fills every host but for a few gigabytes."""

import csv
import hashlib
import io
from typing import NamedTuple

from craft.dice import Dice

TASK = "task_59_host_bill"
SEED = 20261202
# Hosts of the hidden placement of each cluster.
SIZES = {"amber": 14, "basalt": 16, "chalk": 19, "flint": 22, "garnet": 25, "jasper": 30, "onyx": 36, "slate": 44}
# What a host has, and the least of it that a machine takes.
KINDS = ((64, 512, 4000), (96, 768, 6000), (128, 1024, 9600))
LEAST = (2, 8, 50)
# How much of a host the hidden placement leaves free at most, in each measure and in thousandths of it. If it left nothing, the
# few sets of machines that fill a host exactly could be listed, and the placement be put together from them.
FREE = 12


class Cluster(NamedTuple):
    host: tuple[int, int, int]
    machines: list[tuple]
    plan: dict[str, int]


def shares(dice: Dice, whole: int, count: int, least: int) -> list[int]:
    """Cut a whole number into random parts, none of which is much smaller than the others."""
    weights = [dice.between(30, 170) for _ in range(count)]
    parts = [max(least, whole * weight // sum(weights)) for weight in weights]
    parts[parts.index(max(parts))] += whole - sum(parts)
    return parts


def cluster(seed: int, hosts: int) -> Cluster:
    dice = Dice(seed)
    host = dice.pick(KINDS)
    places = []
    for place in range(1, hosts + 1):
        count = dice.between(3, 7)
        filled = [whole - dice.below(whole * FREE // 1000 + 1) for whole in host]
        columns = [shares(dice, whole, count, least) for whole, least in zip(filled, LEAST, strict=True)]
        places += [(place, *needs) for needs in zip(*columns, strict=True)]
    places = dice.shuffled(places)
    plan = {f"vm{number:03}": place for number, (place, *_) in enumerate(places, 1)}
    # Copies of one service, which are on different hosts in the hidden placement.
    services: dict[str, str] = {}
    left = dice.shuffled(list(plan))
    number = 0
    while len(services) < len(plan) * 2 // 5:
        number += 1
        copies: list[str] = []
        for name in list(left):
            if len(copies) < 4 and plan[name] not in {plan[copy] for copy in copies}:
                copies.append(name)
                left.remove(name)
        services |= dict.fromkeys(copies, f"service-{number:02}")
    machines = []
    for name, (_, *needs) in zip(plan, places, strict=True):
        size = sum(need / whole for need, whole in zip(needs, host, strict=True))
        machines.append((name, *needs, services.get(name, ""), round(size * dice.between(360, 440))))
    return Cluster(host, machines, plan)


def clusters(seed: int) -> dict[str, Cluster]:
    return {name: cluster(seed + place, SIZES[name]) for place, name in enumerate(SIZES)}


def table(head: tuple[str, ...], rows: list[tuple]) -> bytes:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([head, *rows])
    return file.getvalue().encode()


def files(seed: int = SEED) -> dict[str, bytes]:
    made, rows = {}, []
    for name, one in clusters(seed).items():
        rows.append((name, len(one.machines), len(set(one.plan.values())), *one.host))
        made[f"{name}.csv"] = table(("vm", "cores", "memory_gb", "disk_gb", "service", "euros"), one.machines)
    made["clusters.csv"] = table(("cluster", "vms", "hosts", "host_cores", "host_memory_gb", "host_disk_gb"), rows)
    return {f"host_bill/{name}": data for name, data in made.items()}


def particulars(seed: int) -> list[str]:
    """Return the hidden placements, as they stand in the solution: the machines' hosts, in the machines' order."""
    return [f"{name}: {' '.join(map(str, one.plan.values()))}" for name, one in clusters(seed).items()]


def expected(seed: int = SEED) -> dict:
    digests = {name.partition("/")[2]: hashlib.sha256(data).hexdigest()[:20] for name, data in files(seed).items()}
    return {"given": digests}
