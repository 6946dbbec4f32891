"""Eight clusters of virtual machines, each around a hidden placement that leaves hardly anything of any host."""

import csv
import hashlib
import io
from typing import NamedTuple

from craft.dice import Dice

TASK = "task_59_host_bill"
SEED = 20261202
# Hosts of each cluster. With fewer, all ways to fill a host could be listed, and the placement be put together from them.
SIZES = {"amber": 18, "basalt": 21, "chalk": 24, "flint": 28, "garnet": 33, "jasper": 38, "onyx": 20, "slate": 30}
NEEDS = ("cpu_milli", "memory_mb", "disk_gb", "net_mbps")
# What hosts have of these, and the least of it that a machine needs. The figures are fine, so that no host is full by chance.
KINDS = ((96_000, 786_000, 30_000, 25_000), (64_000, 1_024_000, 24_000, 40_000), (128_000, 640_000, 45_000, 20_000))
LEAST = (250, 1_000, 20, 20)
# The stores of a cluster, and to how many of them a host is connected. Two hosts can exchange some of their machines only, so
# that a search that fills two hosts anew gets less far.
STORES = "ABCDEFGH"
CONNECTED = 4
# How much of a host the hidden placement leaves at most, in each measure and in ten-thousandths of it. Small, as a part of the
# machines fits easily into what is left; but not 0, since exact sums are what a program looks up.
FREE = 30


class Cluster(NamedTuple):
    hosts: list[tuple]
    machines: list[tuple]
    plan: list[int]  # the host of each machine


def shares(dice: Dice, whole: int, count: int, least: int) -> list[int]:
    """Cut a whole number into random parts, none of which is much smaller than the others."""
    weights = [dice.between(30, 170) for _ in range(count)]
    parts = [max(least, whole * weight // sum(weights)) for weight in weights]
    parts[parts.index(max(parts))] += whole - sum(parts)
    return parts


def services(dice: Dice, plan: list[int]) -> dict[int, str]:
    """Return the services of two fifths of the machines; copies of one are on different hosts in the hidden placement."""
    named: dict[int, str] = {}
    left = dice.shuffled(range(len(plan)))
    while len(named) < len(plan) * 2 // 5:
        copies: list[int] = []
        for place in list(left):
            if len(copies) < 4 and plan[place] not in {plan[copy] for copy in copies}:
                copies.append(place)
                left.remove(place)
        named |= dict.fromkeys(copies, f"service-{len(set(named.values())) + 1:02}")
    return named


def cluster(seed: int, count: int) -> Cluster:
    dice = Dice(seed)
    hosts, placed = [], []
    for host in range(1, count + 1):
        kind = dice.pick(KINDS)
        stores = "".join(sorted(dice.sample(STORES, CONNECTED)))
        hosts.append((host, *kind, stores))
        machines = dice.between(8, 11)
        filled = [whole - dice.below(whole * FREE // 10_000 + 1) for whole in kind]
        columns = [shares(dice, whole, machines, least) for whole, least in zip(filled, LEAST, strict=True)]
        placed += [(host, dice.pick(stores), *needs) for needs in zip(*columns, strict=True)]
    placed = dice.shuffled(placed)
    plan = [host for host, *_ in placed]
    named = services(dice, plan)
    usual = [sum(column) / count for column in list(zip(*hosts, strict=True))[1:5]]
    rows = []
    for place, (_, store, *needs) in enumerate(placed):
        size = sum(need / whole for need, whole in zip(needs, usual, strict=True))
        rows.append((f"vm{place + 1:03}", *needs, store, named.get(place, ""), round(size * dice.between(680, 920))))
    return Cluster(hosts, rows, plan)


def clusters(seed: int) -> dict[str, Cluster]:
    return {name: cluster(seed + place, count) for place, (name, count) in enumerate(SIZES.items())}


def table(head: tuple[str, ...], rows: list[tuple]) -> bytes:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([head, *rows])
    return file.getvalue().encode()


def files(seed: int = SEED) -> dict[str, bytes]:
    every = clusters(seed)
    made = {
        f"{name}.csv": table(("vm", *NEEDS, "store", "service", "euros"), one.machines) for name, one in every.items()
    }
    hosts = [(name, *host) for name, one in every.items() for host in one.hosts]
    made["hosts.csv"] = table(("cluster", "host", *NEEDS, "stores"), hosts)
    return {f"host_bill/{name}": data for name, data in made.items()}


def particulars(seed: int) -> list[str]:
    """Return the hidden placements, as they stand in the solution: the machines' hosts, in the machines' order."""
    return [f"{name}: {' '.join(map(str, one.plan))}" for name, one in clusters(seed).items()]


def expected(seed: int = SEED) -> dict:
    digests = {name.partition("/")[2]: hashlib.sha256(data).hexdigest()[:20] for name, data in files(seed).items()}
    return {"given": digests}
