"""Prints which attacks work at which level of the sandbox: `python tests/attacks/table.py`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from attacks.levels import play
from attacks.scripts import ATTACKS
from attacks.world import make_world
from pinchbench.defaults import Sandbox
from sandbox_programs import trial_of, users

# with whether the kernel refuses new namespaces, as in a container that has none
LEVELS = ((Sandbox.NAMESPACES, False), (Sandbox.LANDLOCK, False), (Sandbox.LANDLOCK, True), (Sandbox.NONE, False))


def main() -> None:
    """Play everything and print a line for each attack."""
    columns = [(uid, level, is_refused) for uid in users() for level, is_refused in LEVELS]
    worked = {}
    for uid, level, is_refused in columns:
        for trial in trial_of(uid):
            with make_world(trial.root / "outside", uid=uid) as world:
                worked[uid, level, is_refused] = play(level, trial, world, is_refused=is_refused)
    heads = [
        f"{level.value}{', no namespaces' if is_refused else ''} ({'root' if uid == 0 else 'user'})"
        for uid, level, is_refused in columns
    ]
    lines = [["attack", *heads]]
    lines += [[one.name, *("works" if one.name in worked[each] else "–" for each in columns)] for one in ATTACKS]
    lines.append([f"{len(ATTACKS)} attacks", *(f"{len(worked[each])} work" for each in columns)])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        text = "  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True))
        sys.stdout.write(f"{text.rstrip()}\n")


if __name__ == "__main__":
    main()
