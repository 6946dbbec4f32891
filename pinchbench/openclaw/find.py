"""Finds the OpenClaw that a run uses, and reads its version."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from anyio import to_thread

from pinchbench.errors import OpenClawError
from pinchbench.openclaw.command import OpenClaw, release_key
from pinchbench.openclaw.homes.user_state import PASSED
from pinchbench.openclaw.install import DEFAULT_RELEASE, RELEASE, TRIED_RELEASES, installed, managed, printed_by
from pinchbench.openclaw.short_command import run_short

if TYPE_CHECKING:
    from collections.abc import Sequence


# Printed, stored and compared, so it must not match control characters or numbers of unlimited length.
VERSION = re.compile(rb"\d{4}\.\d{1,4}\.\d{1,9}(?!\d)[0-9A-Za-z.+_-]{0,40}")


async def find_openclaw(choice: str | None) -> OpenClaw:
    """Find the OpenClaw given by `--openclaw`: a path, a release, or None for the one on PATH, else the newest managed.

    Raises OpenClawError if it is missing, does not run, or needs another Node.
    """
    return await identify_openclaw(locate_openclaw(choice))


def locate_openclaw(choice: str | None) -> OpenClaw:
    """Find OpenClaw like `find_openclaw`, but without running it, so the version is empty unless it is managed."""
    if choice is None:
        if (found := shutil.which("openclaw")) is not None:
            return OpenClaw(program=Path(found), version="")
        if managed_ones := installed():
            return managed_ones[0]
        raise OpenClawError(
            "OpenClaw is neither on PATH nor installed by this program; `pinchbench-async openclaw install` "
            "installs it."
        )
    if RELEASE.fullmatch(choice):
        if (there := managed(choice)) is not None:
            return there
        raise OpenClawError(
            f"OpenClaw {choice} is not installed here; `pinchbench-async openclaw install {choice}` installs it."
        )
    with suppress(OSError, RuntimeError, ValueError):  # no such user, a name too long, a NUL
        program = Path(choice).expanduser()
        if program.is_file() and os.access(program, os.X_OK):
            return OpenClaw(program=program.absolute(), version="")
    raise OpenClawError(
        f"--openclaw {choice} is neither an executable file nor a release. Name the path of the program `openclaw`,"
        f" or a release such as {DEFAULT_RELEASE}."
    )


async def identify_openclaw(found: OpenClaw) -> OpenClaw:
    """Return an OpenClaw with its version. Raises OpenClawError if it does not run, or needs another Node."""
    # without keys: it asks no provider, and other processes of the user can read its environment
    env = {name: value for name, value in os.environ.items() if name in PASSED}
    env["PATH"] = found.path(os.environ.get("PATH", ""))
    done = await run_short(found, ["--version"], env=env)
    version = read_version(done.stdout)
    if done.returncode != 0 or not version:
        said = (done.stderr + done.stdout).decode("utf-8", "replace").strip()
        first = said.partition("\n")[0][:300]
        if "node" in first.lower():
            raise OpenClawError(
                f"{found.program} does not run on the Node of this machine ({first});"
                " `pinchbench-async openclaw install` brings an OpenClaw with a Node that suits it."
            )
        if done.returncode == 0:
            raise OpenClawError(
                f"{found.program} is not OpenClaw: `--version` says {repr(first) if first else 'nothing'}."
            )
        raise OpenClawError(f"{found.program} --version failed (exit code {done.returncode}): {first}")
    return replace(found, version=version)


def read_version(output: bytes) -> str:
    """Return the release in the output of `openclaw --version`, such as `2026.9.6-beta.1`; empty if there is none."""
    found = VERSION.search(output)
    return found.group().decode("ascii") if found is not None else ""


async def node_version(found: OpenClaw) -> str:
    """Return the version of the Node that runs this OpenClaw; empty if it can't be determined."""
    node = shutil.which("node", path=found.path(os.environ.get("PATH", os.defpath))) or "node"
    return await to_thread.run_sync(printed_by, [node, "--version"])


def release_warning(version: str) -> str:
    """Return a warning if a release is newer than the tested ones, else an empty string."""
    if release_key(version)[:3] > release_key(TRIED_RELEASES[-1])[:3]:
        return (
            f"OpenClaw {version} is newer than the releases this program was tested with"
            f" ({', '.join(TRIED_RELEASES)}); continuing as with {TRIED_RELEASES[-1]}."
        )
    return ""


def replace_process(version: str | None, arguments: Sequence[str]) -> NoReturn:
    """Replace this process with a managed release of OpenClaw, or, if `version` is None, the one that runs use.

    OpenClaw's own Node is first on PATH. Raises OpenClawError if OpenClaw is missing or can't be started.
    """
    if version is not None and not RELEASE.fullmatch(version):
        raise OpenClawError(f"{version!r} is not an OpenClaw release; they look like {DEFAULT_RELEASE}.")
    openclaw = locate_openclaw(version)
    env = {**os.environ, "PATH": openclaw.path(os.environ.get("PATH", os.defpath))}
    sys.stdout.flush()
    sys.stderr.flush()
    # Python ignores SIGPIPE, and ignored signals stay ignored after exec
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execve(openclaw.program, [str(openclaw.program), *arguments], env)  # noqa: S606 - no shell is wanted
    except OSError as error:
        raise OpenClawError(f"{openclaw.program} can't be started: {error.strerror}.") from error
