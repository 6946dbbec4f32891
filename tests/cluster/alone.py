"""How a Ray cluster is started in namespaces of its own, which end with it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import anyio

ALONE = ("unshare", "--user", "--map-root-user", "--net", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child")
# Ray keeps sockets in /run and asks for an address; loopback is the only network there is
SCRIPT = 'mount -t tmpfs tmpfs /run && ip link set lo up && exec "$@"'
SETTINGS = {
    "RAY_AUTH_MODE": "disabled",  # nobody else is in the namespace
    "RAY_TMPDIR": "/run",  # which is gone with the namespace
    "RAY_raylet_start_wait_time_s": "300",  # a busy machine takes more than Ray's 30 s
}
LIMIT_S = 1500  # some minutes, on a machine that does nothing else


def why_not() -> str:
    """Why there can't be such namespaces here; empty if there can."""
    if not sys.platform.startswith("linux") or not shutil.which("unshare"):
        return "needs the namespaces of Linux"
    found = subprocess.run([*ALONE, "true"], capture_output=True, text=True, check=False)
    return found.stderr.strip() if found.returncode else ""


def play_alone(player: Path, folder: Path, *argv: str, **env: str) -> Any:
    """Run a program alone in namespaces, and return what it writes to `seen.json` of a folder, its first argument.

    The logs below the folder are in the error if it does not.
    """
    home = folder / "home"
    home.mkdir()
    own = {"HOME": str(home), "PINCHBENCH_CACHE": str(home / "cache"), "PINCHBENCH_DATA": str(home / "data")}
    with (folder / "log").open("wb") as log:
        subprocess.run(
            [*ALONE, "sh", "-c", SCRIPT, "sh", sys.executable, str(player), str(folder), *argv],
            env={**os.environ, **SETTINGS, **own, **env},
            stdout=log,
            stderr=log,
            timeout=LIMIT_S,
            check=False,
        )
    if not (folder / "seen.json").is_file():
        logs = [folder / "log", *sorted(folder.glob("*.log")), *sorted(folder.glob("*/log")), *folder.glob("*/resumed")]
        raise AssertionError("\n".join(path.read_text("utf-8", "replace") for path in logs))
    return json.loads((folder / "seen.json").read_text("utf-8"))


def play(what: Callable[..., Awaitable[object]], folder: Path, *arguments: object) -> NoReturn:
    """Play everything below a folder, write down what was seen, and end the namespace with all that is in it."""
    seen = anyio.run(what, folder, *arguments)
    (folder / "seen.json").write_text(json.dumps(seen, indent=1), encoding="utf-8")
    os._exit(0)


def files_below(*roots: Path) -> dict[str, bytes]:
    """What the files below folders hold, by path; those that are removed meanwhile are left out."""
    found = {}
    for root in roots:
        for folder, _, names in os.walk(root):
            for path in (Path(folder, name) for name in names):
                with suppress(FileNotFoundError):
                    if path.is_file():
                        found[str(path)] = path.read_bytes()
    return found
