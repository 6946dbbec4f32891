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
from pinchbench.openclaw.command import LONG_MESSAGE
from pinchbench.openclaw.homes.sandbox import COMPILED, NO_EXTRAS, SYSTEM_PATH, TurnExtras, TurnSandbox
from pinchbench.sandbox.sandbox_spec import SYSTEM_DIRS, SYSTEM_FILES, program_root

if TYPE_CHECKING:
    from pinchbench.process.spec import ProcessSpec

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
class LandlockSandbox(TurnSandbox):
    """The restrictions of a home's turns.

    `root` is the home's folder, `port` the only port to which a turn can connect by TCP, unless the network is open.
    """

    has_own_root = False
    seen_root = None
    root: Path
    port: int | None = None

    @property
    def env(self) -> dict[str, str]:
        """The environment of a turn, whose home and temporary files are in the home's folder."""
        return {
            **self.kept_env,
            "HOME": str(self.root / HOME),
            "PATH": ":".join([*map(str, self.openclaw.path_first), *map(str, self.path_dirs), SYSTEM_PATH]),
            "OPENCLAW_STATE_DIR": str(self.root / "state"),
            "OPENCLAW_CONFIG_PATH": str(self.root / "state" / "openclaw.json"),
            "TMPDIR": str(self.root / TEMPORARY),
            OWN_OOM_SCORE: "0",
            NO_SYSTEM_CONFIG: "1",
        }

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

    def enter(self, spec: ProcessSpec, *, state: Path, extras: TurnExtras = NO_EXTRAS) -> ProcessSpec:
        """Return the process of a turn with its restrictions."""
        assert extras == NO_EXTRAS  # noqa: S101 - they take namespaces: `run_attempt` begins no such task
        del state  # it is in the home's folder
        roots = [
            # solutions may be installed with the program, and are not hidden here
            folder if bundled_tasks_dir().is_relative_to(program_root(folder)) else program_root(folder)
            for folder in self.path_dirs
        ]
        programs = filter(None, (self.install_folder, self.node_folder, *roots))
        compiled = [] if self.compiled is None else [str(self.compiled)]
        readable = (*SYSTEM_DIRS, *SYSTEM_FILES, *READABLE, *self.certificate_files, str(LONG_MESSAGE), *compiled)
        writable = (*self.own_dirs(spec.cwd), str(LOCKS), *DEVICES, *(compiled if self.fills_compiled else ()))
        plan: dict[str, object] = {
            "level": "landlock",
            "readable": [*readable, *map(str, programs), *(one.source for one in self.allowed if not one.writable)],
            "writable": [*writable, *(one.source for one in self.allowed if one.writable)],
            "network": self.network.value,
            "port": self.port if self.network is Network.MODEL else None,
            "cwd": str(spec.cwd),
        }
        return replace(spec, sandbox=plan)
