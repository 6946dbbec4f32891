"""Command lines, names and environments for OpenClaw (pure)."""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MESSAGE_FILES_SINCE = (2026, 9)  # the release in which `openclaw agent` was first seen with `--message-file`
MAX_AGENT_ID = 64  # OpenClaw's limit (measured)
MAX_ARGUMENT_BYTES = 120 * 1024  # Linux refuses one argument of 128 KiB and more (MAX_ARG_STRLEN)
LONG_MESSAGE = Path(__file__).with_name("long_message.mjs")
MESSAGE_FILE = "PINCHBENCH_MESSAGE_FILE"
NODE_OPTIONS_BEFORE = "PINCHBENCH_NODE_OPTIONS"


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenClaw:
    """An installed OpenClaw.

    Attributes:
        path_first: the folders that are put first on its PATH.
        is_managed: whether this program has installed it.
    """

    program: Path
    version: str
    path_first: tuple[Path, ...] = ()
    is_managed: bool = field(default=False, compare=False)

    def path(self, inherited: str) -> str:
        """Return the PATH under which this OpenClaw runs with its own Node."""
        return ":".join([*map(str, self.path_first), inherited])

    def by_hand(self, *arguments: str) -> str:
        """Return the shell command with which a user can run this OpenClaw; a managed one is not on PATH."""
        if self.is_managed:
            words = ["pinchbench-async", "openclaw", "exec", self.version, "--"]
        else:
            words = ["openclaw" if shutil.which("openclaw") == str(self.program) else str(self.program)]
        return shlex.join([*words, *arguments])


def release_key(version: str) -> tuple[int, ...]:
    """Return a sort key that compares releases numerically: 2026.10.1 comes after 2026.9.6."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def model_slug(model: str) -> str:
    """Return the model's name for use in file names: all except ASCII letters, digits, `_` and `-` becomes `-`."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", model)


def agent_id(model: str, slot: int = 1) -> str:
    """Return the id of a slot's agent: `bench-{slug}`, then `bench-{slug}-2` for the second slot and so on.

    As OpenClaw requires, it is in lower case and has at most 64 characters; a longer id is cut and ends with a digest
    of the model.
    """
    suffix = "" if slot == 1 else f"-{slot}"
    name = f"bench-{model_slug(model).lower()}"
    if len(name) + len(suffix) > MAX_AGENT_ID:
        digest = hashlib.sha256(model.encode()).hexdigest()[:8]
        name = f"{name[: MAX_AGENT_ID - len(suffix) - 9]}-{digest}"
    return name + suffix


def preloaded(env: Mapping[str, str], message_file: Path) -> dict[str, str]:
    """Return an environment in which Node replaces the message with the text of `message_file` by `LONG_MESSAGE`.

    Only for releases before `MESSAGE_FILES_SINCE`. A respawned process would get the text as an argument, so the
    variables that make OpenClaw's launcher respawn are changed or removed.
    """
    before = env.get("NODE_OPTIONS", "")
    return {
        **{name: value for name, value in env.items() if name != "NODE_COMPILE_CACHE"},
        "NODE_OPTIONS": f"{before} --import={LONG_MESSAGE.as_uri()}".strip(),
        NODE_OPTIONS_BEFORE: before,
        MESSAGE_FILE: str(message_file),
        "OPENCLAW_NO_RESPAWN": "1",
    }
