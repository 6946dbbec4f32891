"""A cache of OpenClaw's compiled JavaScript for sandboxed turns: filled once for each release, then only read.

Outside a sandbox, Node keeps that cache from turn to turn. A sandboxed turn must not write what later trials execute:
this program plays one turn of the built-in model, without any agent, and all trials read the code that it compiled.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from pinchbench.defaults import Network
from pinchbench.errors import OpenClawError
from pinchbench.files.user_data import cache_dir
from pinchbench.llm.demo.script import ScriptedTurn
from pinchbench.llm.demo.scripted_model import provider_config, scripted_model
from pinchbench.model.ending import Reason
from pinchbench.openclaw.agent import OpenClawAgent
from pinchbench.openclaw.homes.credentials import UserState
from pinchbench.openclaw.homes.home_template import make_template
from pinchbench.openclaw.homes.landlock_home import LandlockSandbox
from pinchbench.openclaw.homes.private import clone
from pinchbench.openclaw.homes.sandbox import HomeSandbox, TurnSandbox
from pinchbench.openclaw.homes.user_state import PASSED
from pinchbench.openclaw.install import STAGING
from pinchbench.openclaw.short_command import short_lived_folder
from pinchbench.sandbox.levels import Level
from pinchbench.suite.solution import ToolStep

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pinchbench.openclaw.command import OpenClaw

FOLDER = "compiled-code"
FORMAT = 1  # of the caches; another turn that fills them needs another
MODEL = "demo/oracle"
SLOT = "slot"
LIMIT_S = 300.0  # a turn takes 20 CPU-seconds; a loaded machine multiplies that
# Most trials use these tools, whose code is loaded with the first call of each.
STEPS = (
    ToolStep(tool="write", args={"path": "note.txt", "content": "Hello.\n"}),
    ToolStep(tool="read", args={"path": "note.txt"}),
    ToolStep(tool="exec", args={"command": "cat note.txt"}),
)


async def compiled_code(
    openclaw: OpenClaw,
    level: Level,
    *,
    env: Mapping[str, str],
    set_up: Callable[[str], None],
    tell: Callable[[str], None],
) -> Path | None:
    """Return the folder with this OpenClaw's compiled code for turns at this level, and fill it if it is missing.

    `env` is the user's environment; `set_up` gets the next step. None if OpenClaw has no package.json next to it or the
    turn that fills the folder fails: then turns compile what they load, and are slower; `tell` gets a warning. A
    cancellation ends that turn, and leaves nothing behind.
    """
    base = {name: value for name, value in env.items() if name in PASSED}
    name = await to_thread.run_sync(_name, openclaw, level, base)
    if name is None:
        return None
    place = cache_dir() / FOLDER / name
    if await to_thread.run_sync(place.is_dir):
        return place
    set_up("compiling OpenClaw's code, once for each release")
    try:
        problem = await _fill(place, openclaw, level, base)
    except (OSError, OpenClawError) as error:
        problem = str(error)
    if await to_thread.run_sync(place.is_dir):
        return place
    tell(
        f"OpenClaw's code could not be compiled beforehand: {problem}. Trials are the same without it, but each turn"
        " takes 10 to 25% more CPU time. The next run tries again."
    )
    return None


async def play_demo_turn(
    openclaw: OpenClaw, level: Level, folder: Path, *, base: Mapping[str, str], compiled: Path
) -> str:
    """Play one turn of the built-in model, in a sandbox of this level and a home below `folder`.

    It fills the folder `compiled`. Return why it failed, or an empty text. Raises OSError and OpenClawError.
    """
    async with scripted_model() as model:
        model.play(SLOT, ScriptedTurn(steps=STEPS, answer="Done."))
        name, _, model_id = MODEL.partition("/")
        provider = name, provider_config(model.base_url(SLOT), model_id)
        template = await make_template(
            folder / "template", openclaw=openclaw, model=MODEL, user=UserState(), env=base, provider=provider
        )
        root = folder / "home"
        sandbox: TurnSandbox = HomeSandbox(openclaw=openclaw, base=base, network=Network.OPEN)
        if level is Level.LANDLOCK:
            sandbox = LandlockSandbox(root=root, openclaw=openclaw, base=base, network=Network.OPEN)
        sandbox = replace(sandbox, compiled=compiled, fills_compiled=True)
        agent = OpenClawAgent(home=replace(clone(template, root, provider), sandbox=sandbox))
        marker = f"setup/{os.getpid()}/{folder.name}"
        ended = await agent.execute_prompt("Do it.", folder, name=FOLDER, timeout_s=LIMIT_S, marker=marker)
    if ended.reason is Reason.COMPLETED:
        return ""
    return f"a turn of the built-in model ended as {ended.reason.value}" + (f" ({ended.note})" if ended.note else "")


async def _fill(place: Path, openclaw: OpenClaw, level: Level, base: Mapping[str, str]) -> str:
    """Fill `place` by a turn; return why it is not filled, else an empty text. Raises OSError and OpenClawError."""
    await to_thread.run_sync(partial(place.parent.mkdir, mode=0o700, parents=True, exist_ok=True))
    async with short_lived_folder(cache_dir(), STAGING) as folder:  # an install sweeps what a killed one leaves
        compiled = folder / "compiled"
        await to_thread.run_sync(compiled.mkdir)
        problem = await play_demo_turn(openclaw, level, folder, base=base, compiled=compiled)
        return problem or await to_thread.run_sync(_put, compiled, place)


def _put(compiled: Path, place: Path) -> str:
    """Rename a filled folder into its place, unless another run has done so meanwhile; return why it is not there."""
    if not any(path.is_file() for path in compiled.rglob("*")):
        return "Node left no compiled code"
    try:
        compiled.rename(place)
    except OSError:
        if not place.is_dir():
            raise
    return ""


def _name(openclaw: OpenClaw, level: Level, base: Mapping[str, str]) -> str | None:
    """Return a name that changes with the files of OpenClaw, its Node, and the paths that they have in a turn."""
    package = openclaw.program.resolve().parent / "package.json"
    node = shutil.which("node", path=openclaw.path(base.get("PATH", os.defpath)))
    if node is None or not package.is_file():
        return None
    parts: list[object] = [FORMAT, os.getuid()]
    for path in (package, Path(node).resolve()):
        info = path.stat()
        parts += [str(path), info.st_mtime_ns, info.st_size]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return f"{level}-{openclaw.version}-{digest[:16]}"
