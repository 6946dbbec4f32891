"""Plays attacks at each level of the sandbox, without OpenClaw around them."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pinchbench
from attacks.scripts import ATTACKS, INHERITED
from attacks.world import World
from pinchbench.defaults import Network, Sandbox
from refused_namespaces import without_namespaces
from sandbox_programs import ENV, SYSTEM, Trial, as_user

LIMIT_S = 60
SHELL = ["/bin/bash", "-c"]
UNDER_LANDLOCK = """
import json, os, sys
sys.path.append(sys.argv[1])
from pinchbench.sandbox import landlock_rules
folders = json.loads(sys.argv[2])
plan = {**folders, "network": "none", "port": None, "cwd": os.getcwd()}
_, status = os.waitpid(landlock_rules.start(plan, sys.argv[3:], dict(os.environ)), 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def play(level: Sandbox, trial: Trial, world: World, *, is_refused: bool = False) -> set[str]:
    """Return the names of the attacks that worked. If it `is_refused`, there are no new namespaces for them."""
    return {one.name for one in ATTACKS if one.worked(world, _output(level, trial, one.script_in(world), is_refused))}


def play_inherited(level: Sandbox, trial: Trial, world: World) -> set[str]:
    """Return the names of the attacks that worked because the process that started them had left descriptors open."""
    kept = world.leave_open()
    found = set()
    for one in INHERITED:
        script = one.inheriting(*kept).script_in(world)
        if one.worked(world, _output(level, trial, script, is_refused=False, kept=kept)):
            found.add(one.name)
    return found


def can_work(level: Sandbox, *, is_root: bool) -> set[str]:
    """Return the names of the attacks that work at a level."""
    possible = [one for one in ATTACKS if is_root or not one.needs_root]
    match level:
        case Sandbox.NONE:
            return {one.name for one in possible}
        case Sandbox.LANDLOCK:
            return {one.name for one in possible if one.under_landlock}
        case Sandbox.NAMESPACES | Sandbox.AUTO:
            return set()


def _output(level: Sandbox, trial: Trial, script: str, is_refused: bool, kept: Sequence[int] = ()) -> str:
    argv = [*SHELL, script]
    match level:
        case Sandbox.NAMESPACES | Sandbox.AUTO:
            done = trial.run(argv, trial.spec(Network.NONE), LIMIT_S, kept)
        case Sandbox.LANDLOCK:
            folders = {
                "readable": [*SYSTEM, str(trial.python.parent.parent)],
                "writable": [str(trial.workspace), "/dev/null"],
            }
            package = str(Path(pinchbench.__file__).parents[1])
            program = [str(trial.python), "-I", "-S", "-c", UNDER_LANDLOCK, package, json.dumps(folders)]
            argv = [*program, *argv]
            done = _run(without_namespaces(trial.python, argv) if is_refused else argv, trial, kept)
        case Sandbox.NONE:
            done = _run(argv, trial, kept)
    return done.stdout + done.stderr


def _run(argv: list[str], trial: Trial, kept: Sequence[int]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv,
        pass_fds=kept,
        cwd=trial.workspace,
        env=ENV,
        **as_user(trial.uid),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=LIMIT_S,
        check=False,
    )
