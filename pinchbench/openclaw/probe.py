"""Which OpenClaw a run uses, and what it can do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio import fail_after

from pinchbench.errors import OpenClawError
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.install import DEFAULT_RELEASE, RELEASE, TRIED_RELEASES, installed, managed, release_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SHORT_LIMIT_S = 120.0  # `--version` and the like take 1 to 9 CPU-seconds; a loaded machine multiplies that


async def find_openclaw(choice: str | None) -> OpenClaw:
    """Find the OpenClaw of `--openclaw`: a path, a release, or None for the one on PATH, else the newest managed.

    Raises OpenClawError when it is not there, does not run, or needs another Node.
    """
    return await _with_version(_locate(choice))


def _locate(choice: str | None) -> OpenClaw:
    if choice is None:
        if (found := shutil.which("openclaw")) is not None:
            return OpenClaw(program=Path(found), version="")
        if managed_ones := installed():
            return managed_ones[0]
        raise OpenClawError(
            "OpenClaw is neither on PATH nor installed by this program; `pinchbench-async openclaw install` installs it."
        )
    if RELEASE.fullmatch(choice):
        if (there := managed(choice)) is not None:
            return there
        raise OpenClawError(
            f"OpenClaw {choice} is not installed here; `pinchbench-async openclaw install {choice}` installs it."
        )
    program = Path(choice).expanduser()
    if program.is_file() and os.access(program, os.X_OK):
        return OpenClaw(program=program.absolute(), version="")
    raise OpenClawError(f"--openclaw {choice}: no such program, and not a release such as {DEFAULT_RELEASE}.")


async def _with_version(found: OpenClaw) -> OpenClaw:
    env = {**os.environ, "PATH": found.path(os.environ.get("PATH", ""))}
    done = await run_short(found, ["--version"], env=env)
    version = re.search(r"\d{4}\.\d+\.\d+[^\s,]*", done.stdout.decode("utf-8", "replace"))
    if done.returncode != 0 or version is None:
        said = (done.stderr + done.stdout).decode("utf-8", "replace").strip()
        first = said.partition("\n")[0][:300]
        if "node" in first.lower():
            raise OpenClawError(
                f"{found.program} does not run on the Node of this machine ({first});"
                " `pinchbench-async openclaw install` brings an OpenClaw with a Node that suits it."
            )
        raise OpenClawError(f"{found.program} --version failed (exit code {done.returncode}): {first}")
    return replace(found, version=version.group())


async def node_version(found: OpenClaw) -> str:
    """The release of the Node that runs this OpenClaw; empty when it can't be told."""
    with suppress(OSError, TimeoutError), fail_after(SHORT_LIMIT_S):
        path = found.path(os.environ.get("PATH", os.defpath))
        node = shutil.which("node", path=path) or "node"
        done = await anyio.run_process([node, "--version"], stdin=subprocess.DEVNULL, check=False)
        return done.stdout.decode("utf-8", "replace").strip()
    return ""


def release_warning(version: str) -> str:
    """One sentence when a release is newer than those tried; empty otherwise."""
    if release_key(version)[:3] > release_key(TRIED_RELEASES[-1])[:3]:
        return (
            f"OpenClaw {version} is newer than the releases this program was tried with"
            f" ({', '.join(TRIED_RELEASES)}); going on by what it can do."
        )
    return ""


async def knows_message_file(found: OpenClaw, env: Mapping[str, str]) -> bool:
    """Whether `openclaw agent` takes `--message-file`. Costs some CPU-seconds: ask only for long prompts."""
    done = await run_short(found, ["agent", "--help"], env=env)
    return b"--message-file" in done.stdout


async def run_short(
    found: OpenClaw, args: Sequence[str], *, env: Mapping[str, str], stdin: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a short OpenClaw command to its end, in `env`, without a check of its exit code.

    Raises OpenClawError when it can't be started or takes longer than `SHORT_LIMIT_S`; it is killed then, and
    also on cancellation. It never respawns itself, so that the one process is all there is to kill.
    """
    command = " ".join(["openclaw", *args])
    try:
        with fail_after(SHORT_LIMIT_S):
            return await anyio.run_process(
                [str(found.program), *args],
                **({"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}),
                env={**env, "OPENCLAW_NO_RESPAWN": "1"},
                check=False,
                start_new_session=True,
            )
    except TimeoutError as error:
        raise OpenClawError(f"`{command}` did not end within {SHORT_LIMIT_S:.0f} s.") from error
    except OSError as error:
        raise OpenClawError(f"`{command}` can't be started ({found.program}): {error.strerror}.") from error
