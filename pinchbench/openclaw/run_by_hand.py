"""Replaces this process with OpenClaw, for users who run it in a shell."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from pinchbench.errors import OpenClawError
from pinchbench.openclaw.install import DEFAULT_RELEASE, RELEASE
from pinchbench.openclaw.probe import locate_openclaw

if TYPE_CHECKING:
    from collections.abc import Sequence


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
