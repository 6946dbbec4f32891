"""The managed install: OpenClaw, and a Node that suits it, from npm into the user's cache folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import platformdirs

from pinchbench.errors import OpenClawError
from pinchbench.openclaw.command import OpenClaw

TRIED_RELEASES = ("2026.6.5", "2026.9.6")
DEFAULT_RELEASE = TRIED_RELEASES[-1]
NODE_RELEASE = "24.21.0"  # OpenClaw 2026.9.6 wants Node >= 24.16; the npm package `node` carries the binary
INSTALL_LIMIT_S = 900.0  # 650 MB over a slow line
NETWORK_ERRORS = (
    "ENOTFOUND",
    "ECONNREFUSED",
    "ECONNRESET",
    "ETIMEDOUT",
    "EAI_AGAIN",
    "ERR_SOCKET_TIMEOUT",
    "ENETUNREACH",
)
RELEASE = re.compile(r"\d{4}\.\d{1,2}\.\d{1,3}(-[A-Za-z0-9.]+)?")


def cache_dir() -> Path:
    """Where managed installs lie: `$PINCHBENCH_CACHE`, else the user's cache folder."""
    chosen = os.environ.get("PINCHBENCH_CACHE")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("pinchbench"))


def managed(version: str) -> OpenClaw | None:
    """Return the managed install of a release, None when it is not there."""
    root = cache_dir() / f"openclaw-{version}"
    program = root / "node_modules" / ".bin" / "openclaw"
    if not program.exists():
        return None
    return OpenClaw(program=program, version=version, path_first=_node_first())


def installed() -> tuple[OpenClaw, ...]:
    """The managed installs, newest release first."""
    versions = [path.name.removeprefix("openclaw-") for path in cache_dir().glob("openclaw-*")]
    found = map(managed, sorted(versions, key=release_key, reverse=True))
    return tuple(one for one in found if one is not None)


def release_key(version: str) -> tuple[int, ...]:
    """Order releases as numbers: 2026.10.1 comes after 2026.9.6."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def install(version: str = DEFAULT_RELEASE) -> OpenClaw:
    """Install a release with a suitable Node, or return it at once when it is there. Blocks, for a minute or so.

    Both are made in a staging folder and renamed into place, so that a failure or a Ctrl-C leaves nothing
    half-done. Raises OpenClawError: a version that is not one, no npm, no network, or npm's own complaint.
    """
    if not RELEASE.fullmatch(version):
        raise OpenClawError(f"{version!r} is not an OpenClaw release; they look like {DEFAULT_RELEASE}.")
    if (there := managed(version)) is not None:
        return there
    npm = shutil.which("npm")
    if npm is None:
        raise OpenClawError("npm was not found on PATH; install Node.js (which brings npm) and run this again.")
    if not _node_first_exists():
        _stage(npm, f"node@{NODE_RELEASE}", cache_dir() / f"node-{NODE_RELEASE}", probe="node_modules/node/bin/node")
    _stage(npm, f"openclaw@{version}", cache_dir() / f"openclaw-{version}", probe="node_modules/.bin/openclaw")
    done = managed(version)
    if done is None:
        raise OpenClawError(f"OpenClaw {version} was installed but can't be found in {cache_dir()}.")
    return done


def _node_bin() -> Path:
    return cache_dir() / f"node-{NODE_RELEASE}" / "node_modules" / "node" / "bin"


def _node_first_exists() -> bool:
    return (_node_bin() / "node").exists()


def _node_first() -> tuple[Path, ...]:
    return (_node_bin(),) if _node_first_exists() else ()


def _stage(npm: str, package: str, target: Path, *, probe: str) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=".staging-", dir=target.parent))
    except OSError as error:
        raise OpenClawError(f"The cache folder {target.parent} can't be written: {error.strerror}.") from error
    try:
        (stage / "package.json").write_text(json.dumps({"private": True}), encoding="utf-8")
        _npm_install(npm, package, stage)
        if not (stage / probe).exists():
            raise OpenClawError(
                f"npm installed {package} without {probe}; its install scripts may be switched off"
                " (npm config get ignore-scripts)."
            )
        try:
            stage.rename(target)
        except OSError:
            if not target.exists():  # else somebody else installed the same at the same time
                raise
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _npm_install(npm: str, package: str, stage: Path) -> None:
    # OpenClaw's install step writes to its state folder: the user's own must stay as it is
    env = {**os.environ, "OPENCLAW_STATE_DIR": str(stage / ".state"), "npm_config_update_notifier": "false"}
    env["PATH"] = ":".join([*map(str, _node_first()), env.get("PATH", "")])
    argv = [
        npm,
        "install",
        "--no-package-lock",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
        "--fetch-retries=1",
        package,
    ]
    try:
        done = subprocess.run(
            argv,
            cwd=stage,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=INSTALL_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise OpenClawError(f"npm took longer than {INSTALL_LIMIT_S:.0f} s to install {package}; try again.") from error
    except OSError as error:
        raise OpenClawError(
            f"npm can't be started ({error.strerror}); reinstall Node.js and run this again."
        ) from error
    if done.returncode == 0:
        return
    text = (done.stderr + done.stdout).decode("utf-8", "replace")
    if any(code in text for code in NETWORK_ERRORS):
        raise OpenClawError(f"npm can't reach its registry to fetch {package}; check the network and run this again.")
    if "E404" in text or "ETARGET" in text:
        raise OpenClawError(f"npm knows no {package}; releases that were tried: {', '.join(TRIED_RELEASES)}.")
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "no message")
    raise OpenClawError(f"npm could not install {package} (exit code {done.returncode}): {last.strip()[:300]}")
