"""Plays runs on a real Ray head that has a token, and on one that has none; started in namespaces of its own.

`with_token.py FOLDER` writes what was seen to `seen.json`.
"""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio import create_task_group, fail_after, to_thread

sys.path.insert(0, str(Path(__file__).parents[1]))

from cluster.alone import files_below, play
from cluster.three_nodes import nothing_left, options, result, run_to_end
from fakes import fake_openclaw, make_suite

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

NODE = ("--num-cpus=2", f"--memory={2 * 1024**3}")
RAY = str(Path(sys.executable).with_name("ray"))
LIMIT_S = 300.0
HEAD = (
    "start",
    "--head",
    "--node-ip-address=127.0.0.1",
    "--object-store-memory=80000000",
    "--include-dashboard=false",
    "--block",
)


@asynccontextmanager
async def head(port: int, log: Path, env: Mapping[str, str]) -> AsyncGenerator[str]:
    """A head for the duration of the block, which is a node with two slots; its address."""
    address = f"127.0.0.1:{port}"
    with log.open("wb") as out:
        opening = anyio.open_process([RAY, *HEAD, f"--port={port}", *NODE], stdin=None, stdout=out, stderr=out, env=env)
        async with await opening as process:
            with fail_after(LIMIT_S):
                while "Ray runtime started" not in (said := await to_thread.run_sync(log.read_text)):
                    assert process.returncode is None, said
            yield address
            process.terminate()  # it ends those that it has started


async def run(folder: Path, address: str, env: Mapping[str, str]) -> dict[str, object]:
    """Run three trials on the two slots of a head; what the command says, and the result if there is one."""
    fake_openclaw(folder)
    tasks = make_suite(folder, {f"task_{number}": "Do a little." for number in range(3)})
    argv = "run", *options(folder, tasks), f"--cluster=ray://{address}"
    code = await run_to_end(*argv, log=folder / "log", env=env)
    await nothing_left(folder)
    log = (folder / "log").read_text("utf-8")
    return {"code": code, "log": log, **(result(folder) if list((folder / "results").glob("*.json")) else {})}


async def play_all(folder: Path) -> dict[str, object]:
    """Play everything."""
    env = {name: value for name, value in os.environ.items() if name != "RAY_AUTH_MODE"}
    seen: dict[str, object] = {}
    async with head(6379, folder / "head-open.log", env) as address:
        seen["open"] = await run(folder / "open", address, env)
    token = folder / "home" / ".ray" / "auth_token"
    await anyio.run_process([RAY, "get-auth-token", "--generate"], env=env)
    async with head(6380, folder / "head-closed.log", env) as address:
        seen["right"] = await run(folder / "right", address, env)

        async def refused(name: str, more: Mapping[str, str]) -> None:
            seen[name] = await run(folder / name, address, {**env, **more})

        async with create_task_group() as group:  # Ray asks for 20 s before it gives up
            group.start_soon(refused, "wrong", {"RAY_AUTH_TOKEN": "0" * 64})
            group.start_soon(refused, "none", {"HOME": str(folder / "none")})
    secret = token.read_bytes().strip()
    written = await to_thread.run_sync(files_below, folder, Path(os.environ["RAY_TMPDIR"], "ray"))
    seen["told"] = [path for path, data in written.items() if secret in data and path != str(token)]
    return seen


if __name__ == "__main__":
    play(play_all, Path(sys.argv[1]))
