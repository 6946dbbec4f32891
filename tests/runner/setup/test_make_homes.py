"""The slots' homes: whose they are, what goes into them, and that they go away."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio import create_task_group

from fakes import fake_openclaw, make_task, run_config
from pinchbench import run_benchmark
from pinchbench.defaults import Network
from pinchbench.model.timeline import Ability
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.find import find_openclaw
from pinchbench.openclaw.homes.landlock_home import LandlockSandbox
from pinchbench.openclaw.homes.private import PrivateHome
from pinchbench.openclaw.homes.sandbox import HomeSandbox
from pinchbench.process.leftovers import find_marked, identity
from pinchbench.runner.run_folders import HOMES, OWNER, sweep_homes
from pinchbench.runner.trial.slot import home_for
from pinchbench.sandbox.sandbox_spec import Mount


def _homes(root: Path, run: str, owner: str | None) -> Path:
    homes = root / run / HOMES
    (homes / "slot-1" / "state").mkdir(parents=True)
    if owner is not None:
        (homes / OWNER).write_text(owner, encoding="utf-8")
    return homes


def test_homes_of_dead_runners_are_deleted_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    script = "from pinchbench.process.leftovers import identity; print(identity())"
    dead = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    gone = _homes(tmp_path, "dead", dead)
    (gone.parent / "task_a").mkdir()
    nameless = _homes(tmp_path, "nameless", None)
    os.utime(nameless, (0, 0))
    pid_taken = _homes(tmp_path, "taken", f"{os.getpid()} 12.5")
    kept = [_homes(tmp_path, "alive", identity()), _homes(tmp_path, "unknown", None)]

    sweep_homes(tmp_path)

    assert not gone.exists()
    assert not pid_taken.parent.exists()
    assert not nameless.parent.exists()
    assert all(homes.exists() for homes in kept)
    assert gone.parent.exists()


def test_a_task_with_servers_of_its_own_has_an_open_network_only_under_landlock(tmp_path: Path) -> None:
    openclaw = OpenClaw(program=tmp_path / "openclaw", version="2026.9.6")
    networked = PrivateHome(root=tmp_path, agent_id="a", openclaw=openclaw, base_env={})
    confined = HomeSandbox(openclaw=openclaw, base={}, network=Network.MODEL)
    in_namespaces = replace(networked, sandbox=confined, networked=networked)
    restricted = LandlockSandbox(root=tmp_path, openclaw=openclaw, base={}, network=Network.MODEL)
    under_landlock = replace(in_namespaces, sandbox=restricted)
    tasks = plain, _, networking = make_task(), make_task(own_servers=True), make_task(network=True)
    browsing = replace(networked, tools=("web_fetch", "web_search"))

    assert [home_for(task, in_namespaces) for task in tasks] == [in_namespaces, in_namespaces, browsing]
    assert [home_for(task, under_landlock) for task in tasks] == [under_landlock, networked, browsing]
    assert home_for(networking, networked) == browsing, "also where all trials have an open network"
    assert home_for(plain, networked) is networked, "whose tools are the same as with another network"
    living = home_for(make_task(abilities=(Ability.MEMORY, Ability.CHAT)), networked)
    assert isinstance(living, PrivateHome)
    assert living.tools == ("memory_get", "memory_search", "message")
    assert living.settings["channels"] == {"messenger": {"enabled": True}}, "it has a gateway of its own"


def test_a_task_with_a_browser_has_it_in_its_config_and_its_sandbox(tmp_path: Path) -> None:
    program = tmp_path / "browsers" / "1" / "chrome"
    program.parent.mkdir(parents=True)
    program.touch()
    (tmp_path / "chromium").symlink_to(program)
    openclaw = OpenClaw(program=tmp_path / "openclaw", version="2026.9.6")
    sandbox = HomeSandbox(openclaw=openclaw, base={}, network=Network.MODEL)
    home = PrivateHome(root=tmp_path, agent_id="a", openclaw=openclaw, base_env={}, sandbox=sandbox)

    found = home_for(make_task(abilities=(Ability.BROWSER,)), home, tmp_path / "chromium")

    assert isinstance(found, PrivateHome)
    assert found.browser == program
    shown = Mount(source=str(program.parent), target=str(program.parent))
    assert found.sandbox == replace(sandbox, allowed=(shown,))
    assert sandbox.showing(Path("/usr/lib/chromium")) == sandbox, "turns see the system's programs anyway"
    restricted = LandlockSandbox(root=tmp_path, openclaw=openclaw, base={}, network=Network.MODEL)
    assert restricted.showing(program.parent) == replace(restricted, allowed=(shown,))


async def test_a_built_in_model_reads_nothing_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".openclaw").mkdir()
    (tmp_path / ".openclaw" / "openclaw.json").write_text("{ broken", encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    config = run_config(tmp_path, fake_openclaw(tmp_path), {"task_a": "hi"})

    result = await run_benchmark(replace(config, model="demo/null"))

    assert len(result.outcomes) == 1


async def test_a_cancelled_setup_command_leaves_nobody_though_its_program_is_a_wrapper(tmp_path: Path) -> None:
    fifo = tmp_path / "up"
    os.mkfifo(fifo)
    program = tmp_path / "openclaw"
    program.write_text(f"#!/bin/sh\nsh -c 'echo up > {fifo}; sleep 300'\n", encoding="utf-8")
    program.chmod(0o755)

    async with create_task_group() as group:
        group.start_soon(find_openclaw, str(program))
        await anyio.to_thread.run_sync(fifo.read_text, abandon_on_cancel=True)
        group.cancel_scope.cancel()

    assert find_marked(f"setup/{os.getpid()}") == []
