"""Plays a relayed run on two nodes that have network namespaces of their own, and so reach no port of the runner's.

`apart.py FOLDER` writes what was seen to `seen.json`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import psutil
from anyio import fail_after, to_thread

sys.path.insert(0, str(Path(__file__).parents[1]))

from chaos.cluster import HEAD, PORT, Node, start_head, until
from cluster.alone import files_below
from cluster.three_nodes import Model, command, options, result
from fakes import fake_openclaw, make_suite
from http_server import running

if TYPE_CHECKING:
    from http_server import Request, Response

KEY_NAME, KEY = "SECRET_OF_THE_MODEL", "sk-relayed-6f1c2b7a9d3e"
NODES, TASKS = 2, 2
LIMIT_S = 300.0


def command_lines() -> list[str]:
    """Those with the key in them."""
    lines = (" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))
    return [line for line in lines if KEY in line]


def has_started(log: Path) -> bool:
    """Whether Ray has started, as it says in its log."""
    return "Ray runtime started" in log.read_text("utf-8")


class WatchingModel(Model):
    """Looks at all programs while it is asked."""

    def __init__(self) -> None:
        """Nothing is seen yet."""
        super().__init__()
        self.lines: list[str] = []

    async def respond(self, request: Request) -> Response:
        self.lines += await to_thread.run_sync(command_lines)
        return await super().respond(request)


async def play(folder: Path) -> dict[str, object]:
    """Play everything."""
    os.environ[KEY_NAME] = KEY  # of the runner, and of each node's `ray start`
    start_head(folder)
    await until(lambda: has_started(folder / "head.log"))
    nodes: list[Node] = []
    for number in range(NODES):  # one after another: Ray gives up if a part of a node takes 15 s to start
        nodes.append(await to_thread.run_sync(Node, number, folder))
        await until(lambda: has_started(folder / f"{nodes[-1].name}.log"))
    asking = {name: value for name, value in os.environ.items() if name != "PINCHBENCH_NO_PREFLIGHT"}
    fake_openclaw(folder)
    tasks = make_suite(folder, {f"task_{number}": "Do a little." for number in range(TASKS)})
    async with running(WatchingModel()) as model:
        url = f"--base-url=http://127.0.0.1:{model.port}/v1"
        argv = *options(folder, tasks), url, f"--api-key-env={KEY_NAME}", "--relay", f"--cluster=ray://{HEAD}:{PORT}"
        async with command("run", *argv, log=folder / "log", env=asking) as process:
            with fail_after(LIMIT_S):
                code = await process.wait()
    roots = [folder, *(Path(f"/proc/{node.processes[0]}/root/run/ray") for node in nodes), Path("/run/ray")]
    written = await to_thread.run_sync(files_below, *roots)
    return {
        "code": code,
        "log": await to_thread.run_sync((folder / "log").read_text),
        "asked": [request.headers.get("authorization") for request in model.requests],
        "hosts": [request.headers["host"] for request in model.requests],
        "searched": len(written),
        "with the key": [path for path, data in written.items() if KEY.encode() in data],
        "command lines": model.lines,
        **result(folder),
    }


def main() -> None:
    """Play everything below the folder, and write down what was seen."""
    folder = Path(sys.argv[1])
    seen = anyio.run(play, folder)
    (folder / "seen.json").write_text(json.dumps(seen, indent=1), encoding="utf-8")
    os._exit(0)  # the namespace ends with this process, and the cluster with it


if __name__ == "__main__":
    main()
