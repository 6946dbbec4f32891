"""When a lot is finished by a plan: `python3 fleet/workshop/finish.py canal plan_canal.csv`."""

import csv
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def rows(path):
    with open(path, newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def main(lot, path):
    keeps = {row["hardware"]: int(row["keeps"]) for row in rows(HERE / "hardware.csv")}
    steps = rows(HERE / f"{lot}.csv")
    begins = {}
    for row in rows(path):
        step = row["device"].strip(), int(row["step"])
        if step in begins:
            sys.exit(f"{step} is there twice")
        begins[step] = int(row["begin"])
    known = {(row["device"], int(row["step"])) for row in steps}
    if begins.keys() != known:
        sys.exit(f"steps are missing or unknown: {sorted(begins.keys() ^ known)[:5]}")
    ends, benches = {}, {}
    for row in steps:
        device, number = row["device"], int(row["step"])
        begin = begins[device, number]
        if begin < 0:
            sys.exit(f"{device}, step {number}: begins before minute 0")
        if number > 1 and begin < ends[device]:
            sys.exit(f"{device}, step {number}: begins before the step before it has ended")
        if number > 1 and begin > ends[device] + keeps[row["hardware"]]:
            sys.exit(f"{device}, step {number}: begins {begin - ends[device]} minutes after the step before it")
        ends[device] = begin + int(row["minutes"])
        benches.setdefault(row["bench"], []).append((begin, ends[device], device))
    for bench, work in benches.items():
        work.sort()
        for (_, end, device), (begin, _, other) in zip(work, work[1:]):
            if begin < end:
                sys.exit(f"bench {bench}: {other} begins at {begin}, {device} ends at {end}")
    print(max(ends.values()))


main(*sys.argv[1:])
