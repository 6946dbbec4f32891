"""Prints which attacks work at which level of the sandbox, and on real OpenClaw.

`python tests/attacks/table.py [--releases 2026.6.5 2026.9.6] [--levels none] [--uids 0 1000]` plays the attacks without
OpenClaw around them, as root and as an ordinary user, and also where the kernel refuses namespaces. Agents of these
OpenClaw releases play them too, in private homes at each level; those of the ordinary user are of the last release and
in a sandbox. It ends with 1 if an attack works that should not, if one does not work that should, or if one changes a
score without being named.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import msgspec

sys.path.append(str(Path(__file__).parents[1]))

from attacks.levels import can_work, play, play_inherited
from attacks.on_openclaw import ALONE, POISONED, attack, silent_attacks
from attacks.ordinary_user import require_python, user_copy
from attacks.scripts import ATTACKS, INHERITED
from attacks.world import make_world
from pinchbench.defaults import Sandbox
from pinchbench.model.ending import Reason
from pinchbench.model.facts import Integrity
from pinchbench.openclaw.install import install
from pinchbench.sandbox.levels import Level, find_support
from sandbox_programs import trial_of, users

# with whether the kernel refuses new namespaces, as in a container that has none
LEVELS = ((Sandbox.NAMESPACES, False), (Sandbox.LANDLOCK, False), (Sandbox.LANDLOCK, True), (Sandbox.NONE, False))

ONE = "--one-column"

BARE = tuple(one.name for one in (*ATTACKS, *INHERITED))


@dataclass(frozen=True, kw_only=True)
class Column:
    """Where attacks were played, which of them worked and which should have, and what their trial is called."""

    head: str
    played: tuple[str, ...]
    worked: set[str]
    expected: set[str]
    called: str = ""
    expected_call: str = ""


def without_openclaw(uid: int, level: Sandbox, *, is_refused: bool) -> Column:
    """Play all attacks as this user."""
    head = f"{level}{', no namespaces' if is_refused else ''} ({_user(uid)})"
    worked: set[str] = set()
    for trial in trial_of(uid):
        with make_world(trial.root / "outside", uid=uid) as world:
            worked = play(level, trial, world, is_refused=is_refused) | play_inherited(level, trial, world)
    inherited = {one.name for one in INHERITED} if level is Sandbox.NONE else set()  # OpenClaw's guardian closes them
    return Column(head=head, played=BARE, worked=worked, expected=can_work(level, is_root=uid == 0) | inherited)


def on_openclaw(release: str, level: Sandbox) -> Column:
    """Have agents of this release play all attacks, those on their own evidence and grading too."""
    play_all = partial(attack, sandbox=level)
    with tempfile.TemporaryDirectory(prefix="attacks-") as name:
        folder = Path(name)
        with make_world(folder / "outside", uid=os.getuid()) as world:
            found = anyio.run(play_all, install(release), folder, world)
    head = f"{level}, OpenClaw {release} ({_user(os.getuid())})"
    worked = found.worked | silent_attacks(found)
    return Column(
        head=head,
        played=(*BARE, *ALONE.values(), *(() if level is Sandbox.NONE else (POISONED,))),
        worked=worked,
        expected=can_work(level, is_root=os.getuid() == 0),
        called=found.called,
        # without a sandbox, the agent has read a check
        expected_call=Reason.CONTAMINATED.value if level is Sandbox.NONE else Integrity.PROBED.value,
    )


def on_openclaw_as(uid: int, release: str, levels: list[Sandbox]) -> list[Column]:
    """Do so as another user, in private homes."""
    columns = []
    with user_copy(uid, [release]) as copy:
        for level in levels:
            printed = copy.run(Path("attacks", "table.py"), [ONE, release, level])
            columns.append(_told(msgspec.json.decode(printed, type=Column)))
    return columns


def _user(uid: int) -> str:
    return "root" if uid == 0 else "user"


def print_columns(columns: list[Column]) -> bool:
    """Print a line for each attack; return whether all came as expected. What did not is marked."""
    names = list(dict.fromkeys(name for column in columns for name in (*column.played, *sorted(column.worked))))
    lines = [["attack", *(column.head for column in columns)]]
    lines += [[name, *(_cell(name, column) for column in columns)] for name in names]
    lines.append(["", *(f"{len(column.worked)} of {len(column.played)} work" for column in columns)])
    if any(column.called for column in columns):
        lines.append(["the trial is", *(_marked(one.called, one.called == one.expected_call) for one in columns)])
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    for line in lines:
        text = "  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True))
        sys.stdout.write(f"{text.rstrip()}\n")
    return all(one.worked == one.expected and one.called == one.expected_call for one in columns)


def _cell(name: str, column: Column) -> str:
    worked = name in column.worked
    if not worked and name not in column.played:
        return ""
    return _marked("works" if worked else "–", worked == (name in column.expected))


def _marked(text: str, is_expected: bool) -> str:
    return text if is_expected else f"{text} (!)"


def main() -> int:
    """Play everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", nargs="*", default=[], help="of OpenClaw, whose agents play the attacks too")
    names = list(dict.fromkeys(level.value for level, _ in LEVELS))
    parser.add_argument("--levels", nargs="*", default=names, choices=names, help="of the sandbox; all, unless given")
    parser.add_argument("--uids", nargs="*", type=int, default=users(), help="who plays them")
    parser.add_argument("--bare", action=argparse.BooleanOptionalAction, default=True, help="also without OpenClaw")
    parser.add_argument(ONE, nargs=2, metavar=("RELEASE", "LEVEL"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one_column:
        release, level = options.one_column
        column = on_openclaw(release, Sandbox(level))
        sys.stdout.buffer.write(msgspec.json.encode(column))
        return 0
    if options.releases and any(uid != os.getuid() for uid in options.uids):
        require_python()  # before the others are played
    support = find_support()
    possible = [level for level in map(Sandbox, options.levels) if not support.reason(Level(level))]
    columns = []
    if options.bare:
        levels = [(level, is_refused) for level, is_refused in LEVELS if level in possible]
        columns = [
            without_openclaw(uid, level, is_refused=refused) for uid in options.uids for level, refused in levels
        ]
    columns += on_openclaw_releases(options.releases, options.uids, possible)
    return 0 if print_columns(columns) else 1


def on_openclaw_releases(releases: list[str], uids: list[int], levels: list[Sandbox]) -> list[Column]:
    """Have agents of all these releases play the attacks, and as other users those of the last one."""
    if not releases:
        return []
    columns = []
    for uid in uids:
        if uid != os.getuid():
            columns += on_openclaw_as(uid, releases[-1], [level for level in levels if level is not Sandbox.NONE])
            continue
        columns += [_told(on_openclaw(release, level)) for release in releases for level in levels]
    return columns


def _told(column: Column) -> Column:
    unexpected = ", ".join(sorted(column.worked ^ column.expected)) or "as expected"
    sys.stderr.write(f"{column.head}: {len(column.worked)} attacks work, {column.called}: {unexpected}\n")
    return column


if __name__ == "__main__":
    sys.exit(main())
