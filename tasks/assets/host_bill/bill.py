"""Prints the rent that a placement leaves: `python3 bill.py CLUSTER PLACEMENT`, such as `python3 bill.py amber ../place_amber.csv`."""

import csv
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
NEEDS = ("cpu_milli", "memory_mb", "disk_gb", "net_mbps")


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def bill(cluster, placement):
    """Return what is rented, and the rent of all machines, in euros; ValueError says why a placement can't be used."""
    hosts = {int(row["host"]): row for row in rows(HERE / "hosts.csv") if row["cluster"] == cluster}
    host_of = {row["vm"]: int(row["host"]) for row in placement}
    machines = rows(HERE / f"{cluster}.csv")
    if len(host_of) != len(placement) or set(host_of) != {row["vm"] for row in machines}:
        raise ValueError("a placement must have each machine once")
    if not set(host_of.values()) <= {0, *hosts}:
        raise ValueError(f"hosts are whole numbers from 1 to {len(hosts)}, or 0 for a rented machine")
    used, services = {}, {}
    for row in machines:
        host = host_of[row["vm"]]
        if host == 0:
            continue
        if row["store"] not in hosts[host]["stores"]:
            raise ValueError(f"host {host} is not connected to store {row['store']}, where {row['vm']} is")
        for need in NEEDS:
            used[host, need] = used.get((host, need), 0) + int(row[need])
            if used[host, need] > int(hosts[host][need]):
                raise ValueError(f"host {host} has too little {need}")
        if row["service"] and services.setdefault((host, row["service"]), row["vm"]) != row["vm"]:
            raise ValueError(f"host {host} has two machines of {row['service']}")
    rented = sum(int(row["euros"]) for row in machines if host_of[row["vm"]] == 0)
    return rented, sum(int(row["euros"]) for row in machines)


if __name__ == "__main__":
    try:
        print("{} of {} euros".format(*bill(sys.argv[1], rows(sys.argv[2]))))
    except ValueError as error:
        sys.exit(str(error))
