"""Plays runs on a real Ray cluster whose autoscaler adds nodes; started in namespaces of its own.

`autoscaled.py FOLDER` writes what was seen to `seen.json`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio import fail_after, to_thread

sys.path.insert(0, str(Path(__file__).parents[1]))

from cluster.three_nodes import command, guests, nothing_left, options, result
from cluster.with_token import client, head, requested
from fakes import fake_openclaw, make_suite, open_gate

GIB = 1024**3
LIMIT_S = 300.0
TASKS = 4
HEAD_TYPE = "ray.head.default"  # as the fake has it
HEAD = {"CPU": 1, "memory": GIB}
WORKER = {"CPU": 2, "memory": 2 * GIB, "object_store_memory": 80_000_000}
CONFIG = {
    "cluster_name": "provided",
    "max_workers": 1,
    "idle_timeout_minutes": 1000,
    "provider": {
        "type": "external",
        "module": "cluster.provided_nodes.Provider",
        "use_node_id_as_ip": True,
        "disable_node_updaters": True,
        "disable_launch_config_check": True,
    },
    "available_node_types": {
        HEAD_TYPE: {"resources": HEAD, "node_config": {}, "max_workers": 0},
        "worker": {"resources": WORKER, "node_config": {}, "min_workers": 0, "max_workers": 1},
    },
    "head_node_type": HEAD_TYPE,
    "upscaling_speed": 1.0,
    **{name: {} for name in ("auth", "docker", "file_mounts")},
    **{
        name: []
        for name in (
            "cluster_synced_files",
            "rsync_exclude",
            "rsync_filter",
            "initialization_commands",
            "setup_commands",
            "head_setup_commands",
            "worker_setup_commands",
            "head_start_ray_commands",
            "worker_start_ray_commands",
        )
    },
    "file_mounts_sync_continuously": False,
}


async def run(folder: Path, gcs: Any, *, ends: bool) -> dict[str, object]:
    """Run more trials than the head has room for, to their end or until a Ctrl-C; what was asked for meanwhile."""
    fake_openclaw(folder)
    async with open_gate() as gate:
        tasks = make_suite(folder, {f"task_{number}": f"scenario: gate {gate.port}" for number in range(TASKS)})
        async with command("run", *options(folder, tasks), "--cluster=ray", log=folder / "log") as process:
            waiting = await guests(gate, 3)  # one on the head, two on the node that is added
            with fail_after(LIMIT_S):
                while not (meanwhile := await requested(gcs)):
                    await anyio.lowlevel.checkpoint()
            if ends:
                for guest in waiting:
                    await guest.let_go()
                await (await gate.next(LIMIT_S)).let_go()
            else:
                process.send_signal(signal.SIGINT)
            with fail_after(LIMIT_S):
                code = await process.wait()
    await nothing_left(folder)
    log = await to_thread.run_sync((folder / "log").read_text)
    return {"code": code, "log": log, "meanwhile": meanwhile, "afterwards": await requested(gcs), **result(folder)}


async def play(folder: Path) -> dict[str, object]:
    """Play everything."""
    config = folder / "autoscaler.yaml"
    await to_thread.run_sync(partial(config.write_text, json.dumps(CONFIG), encoding="utf-8"))
    fake = {"RAY_FAKE_CLUSTER": "1", "AUTOSCALER_UPDATE_INTERVAL_S": "1", "PYTHONPATH": str(Path(__file__).parents[1])}
    scaled = f"--autoscaling-config={config}", "--num-cpus=1", f"--memory={GIB}"
    async with head(6379, folder / "head.log", {**os.environ, **fake}, *scaled) as address:
        os.environ["RAY_ADDRESS"] = address
        gcs = client(address)
        return {
            "ended": await run(folder / "ended", gcs, ends=True),
            "broken off": await run(folder / "broken-off", gcs, ends=False),
        }


def main() -> None:
    """Play everything below the folder, and write down what was seen."""
    folder = Path(sys.argv[1])
    seen = anyio.run(play, folder)
    (folder / "seen.json").write_text(json.dumps(seen, indent=1), encoding="utf-8")
    os._exit(0)  # the namespace ends with this process, and the cluster with it


if __name__ == "__main__":
    main()
