"""Real OpenClaw in namespaces: its only way out is the wire's Unix socket."""

import json
import os
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio
import anyio.abc
import pytest

from pinchbench.defaults import Network
from pinchbench.llm.demo.script import ScriptedTurn
from pinchbench.llm.demo.scripted_model import provider_config, scripted_model
from pinchbench.openclaw.command import OpenClaw
from pinchbench.sandbox.sandbox_spec import NODE, OPENCLAW, STATE, WORKSPACE, Forward
from pinchbench.suite.solution import ToolStep
from real_openclaw import newest_release
from sandbox_programs import ENV, Trial, trial_of, users

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]
PORT = 18080


@pytest.fixture(params=users())
def trial(request: pytest.FixtureRequest) -> Iterator[Trial]:
    yield from trial_of(request.param)


async def _copy(source: anyio.abc.SocketStream, target: anyio.abc.SocketStream) -> None:
    try:
        async for data in source:
            await target.send(data)
        await target.send_eof()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        await target.aclose()


async def _join(port: int, client: anyio.abc.SocketStream) -> None:
    async with client, await anyio.connect_tcp("127.0.0.1", port) as server, anyio.create_task_group() as group:
        group.start_soon(_copy, client, server)
        group.start_soon(_copy, server, client)


def _readable(source: Path, target: Path, uid: int) -> Path:
    """Return a folder with the same content that the user may enter."""
    if uid == os.getuid():
        return source
    subprocess.run(["cp", "-al", source, target], check=True)
    target.chmod(0o755)
    return target


@newest_release
async def test_a_turn_completes_in_an_empty_network_namespace(trial: Trial, openclaw: OpenClaw) -> None:
    installed = await anyio.to_thread.run_sync(
        _readable, openclaw.program.parents[2], trial.root / "openclaw", trial.uid
    )
    node = await anyio.to_thread.run_sync(
        _readable, (openclaw.path_first[0] / "node").resolve().parent.parent, trial.root / "node", trial.uid
    )
    step = ToolStep(tool="exec", args={"command": "pwd > where.txt; ls / >> where.txt; env | grep -ic pinchbench"})
    path = str(trial.root / "wire.sock")
    async with (
        scripted_model() as model,
        await anyio.create_unix_listener(path) as listener,
        anyio.create_task_group() as group,
    ):
        os.chown(path, trial.uid, trial.uid)
        outer = int(model.base_url("slot").split(":")[2].split("/")[0])
        group.start_soon(partial(listener.serve, partial(_join, outer)))
        model.play("slot", ScriptedTurn(steps=(step,), answer="Done."))
        provider = provider_config(model.base_url("slot"), "oracle")
        provider["baseUrl"] = str(provider["baseUrl"]).replace(f":{outer}/", f":{PORT}/")
        config = {
            "models": {"mode": "replace", "providers": {"demo": provider}},
            "agents": {
                "defaults": {"workspace": WORKSPACE, "model": {"primary": "demo/oracle"}, "skipBootstrap": True}
            },
            "update": {"checkOnStart": False},
        }
        place = trial.state / "openclaw.json"
        place.write_text(json.dumps(config), encoding="utf-8")
        os.chown(place, trial.uid, trial.uid)
        spec = trial.spec(Network.MODEL, forward=Forward(port=PORT, socket=path), openclaw=installed, node=node)
        env = [f"OPENCLAW_STATE_DIR={STATE}", f"OPENCLAW_CONFIG_PATH={STATE}/openclaw.json", "OPENCLAW_NO_RESPAWN=1"]
        program = "/".join((NODE, *(openclaw.path_first[0] / "node").resolve().parts[-2:]))
        argv = ["/usr/bin/env", *env, f"PATH={Path(program).parent}:{ENV['PATH']}", program]
        argv += [f"{OPENCLAW}/node_modules/openclaw/openclaw.mjs", "agent", "--local", "--agent=main"]
        argv += ["--session-id=s1", "--message=Look around."]
        done = await anyio.to_thread.run_sync(partial(trial.run, argv, spec, timeout_s=180))
        group.cancel_scope.cancel()
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Done." in done.stdout
    assert model.asked["slot"] == 2
    seen = (trial.workspace / "where.txt").read_text(encoding="utf-8").split()
    assert seen[0] == WORKSPACE
    assert "var" not in seen
