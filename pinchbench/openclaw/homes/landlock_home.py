"""What a private home needs so that its turns are restricted by Landlock, with the paths that they have outside."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.defaults import Network
from pinchbench.errors import OpenClawError
from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.openclaw.homes.sandbox import (
    COMPILED,
    EXCLUDED,
    SYSTEM_PATH,
    certificate_files,
    installed,
    node_folder,
    path_dirs,
)
from pinchbench.sandbox.sandbox_spec import NO_FILES, SYSTEM_DIRS, SYSTEM_FILES, Mount, program_root

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.process.spec import ProcessSpec
    from pinchbench.sandbox.sandbox_spec import Forward

HOME, TEMPORARY = "home", "home/tmp"  # in the home's folder
# In namespaces these are generated, or belong to the trial. Without /proc, Node and many tools do not start.
READABLE = (
    *("/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/host.conf"),
    *("/proc", "/etc/services", "/etc/protocols"),
)
# OpenClaw 2026.9.6 locks its databases by files in this folder, whatever TMPDIR is, and fails without. Trials share it.
LOCKS = Path(f"/tmp/openclaw-state-locks-{os.getuid()}")  # noqa: S108 - OpenClaw's own
# OpenClaw starts each command through a shell that raises its own /proc/self/oom_score_adj, which Landlock can't allow
# without allowing that of other processes. The shell's complaint would be in the output that the model reads.
OWN_OOM_SCORE = "OPENCLAW_CHILD_OOM_SCORE_ADJ"
# In namespaces there is no /etc/gitconfig. Here there may be one, and Git gives up on a file that it can't read.
NO_SYSTEM_CONFIG = "GIT_CONFIG_NOSYSTEM"
DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty"))


@dataclass(frozen=True, kw_only=True, slots=True)
class LandlockSandbox:
    """The restrictions of a home's turns.

    Attributes:
        root: the home's folder.
        openclaw: the OpenClaw that runs there.
        base: the environment that programs and the model need.
        network: what a turn can connect to; never `AUTO`.
        port: the only port to which a turn can connect by TCP, unless the network is open.
        allowed: what the user wants to be visible in addition.
        compiled: the folder with OpenClaw's compiled code (see `compiled_code`); None without.
        fills_compiled: whether turns may write there, which no agent's may.
    """

    root: Path
    openclaw: OpenClaw
    base: Mapping[str, str]
    network: Network
    port: int | None = None
    allowed: tuple[Mount, ...] = ()
    compiled: Path | None = None
    fills_compiled: bool = False

    @property
    def env(self) -> dict[str, str]:
        """Return the environment of a turn, whose home and temporary files are in the home's folder."""
        folders = [*map(str, self.openclaw.path_first), *map(str, path_dirs(self.openclaw, self.base)), SYSTEM_PATH]
        return {
            **{name: value for name, value in self.base.items() if name not in EXCLUDED},
            "HOME": str(self.root / HOME),
            "PATH": ":".join(folders),
            "OPENCLAW_STATE_DIR": str(self.root / "state"),
            "OPENCLAW_CONFIG_PATH": str(self.root / "state" / "openclaw.json"),
            "TMPDIR": str(self.root / TEMPORARY),
            OWN_OOM_SCORE: "0",
            NO_SYSTEM_CONFIG: "1",
        }

    @property
    def seen_root(self) -> None:
        """Return None: paths are those outside."""
        return None

    def seen_workspace(self, workspace: Path) -> Path:
        """Return the same path."""
        return workspace

    def own_dirs(self, workspace: Path) -> tuple[str, ...]:
        """Return the folders that a turn can write to."""
        return str(workspace), str(self.root)

    def prepare(self) -> None:
        """Create the folders for the home, temporary files and locks, and a link to the compiled code.

        Blocks. Raises OpenClawError if the folder for locks is a link or another user's.
        """
        (self.root / TEMPORARY).mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.compiled is not None:
            with suppress(FileExistsError):
                (self.root / TEMPORARY / COMPILED).symlink_to(self.compiled)
        with suppress(FileExistsError):
            LOCKS.mkdir(mode=0o700)
        info = LOCKS.lstat()
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid():
            raise OpenClawError(f"{LOCKS}, where OpenClaw keeps its locks, is not a folder of yours: have it removed.")

    def showing(self, folder: Path) -> LandlockSandbox:
        """Return the same with a folder that turns may read."""
        return replace(self, allowed=(*self.allowed, Mount(source=str(folder), target=str(folder))))

    @property
    def has_own_root(self) -> bool:
        """Return false: Landlock changes no path."""
        return False

    def enter(
        self,
        spec: ProcessSpec,
        *,
        state: Path,
        program_file: Path,
        places: tuple[Mount, ...] = (),
        services: tuple[Forward, ...] = (),
        link: Forward | None = None,
        files: Mapping[str, str] = NO_FILES,
    ) -> ProcessSpec:
        """Return the process of a turn with its restrictions. It can't have what takes namespaces."""
        needs_namespaces = places or files or services or link  # `run_attempt` begins no such task
        assert not needs_namespaces  # noqa: S101
        del state  # it is in the home's folder
        roots = [
            # solutions may be installed with the program, and are not hidden here
            folder if bundled_tasks_dir().is_relative_to(program_root(folder)) else program_root(folder)
            for folder in path_dirs(self.openclaw, self.base)
        ]
        programs = [*installed(self.openclaw), *node_folder(self.openclaw), *roots]
        compiled = [] if self.compiled is None else [str(self.compiled)]
        readable = [*SYSTEM_DIRS, *SYSTEM_FILES, *READABLE, *certificate_files(self.base), str(program_file)]
        plan: dict[str, object] = {
            "level": "landlock",
            "readable": [
                *readable,
                *map(str, programs),
                *compiled,
                *(one.source for one in self.allowed if not one.writable),
            ],
            "writable": [
                *self.own_dirs(spec.cwd),
                str(LOCKS),
                *DEVICES,
                *(compiled if self.fills_compiled else ()),
                *(one.source for one in self.allowed if one.writable),
            ],
            "network": self.network.value,
            "port": self.port if self.network is Network.MODEL else None,
            "cwd": str(spec.cwd),
        }
        return replace(spec, sandbox=plan)
