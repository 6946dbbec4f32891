"""What a private home needs so that its turns are sandboxed, and the paths, environment and plan of namespaces."""

from __future__ import annotations

import os
import re
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pinchbench.defaults import Network
from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.model.task_programs import MODEL_PORT
from pinchbench.openclaw.command import LONG_MESSAGE, OpenClaw
from pinchbench.openclaw.homes.home_config import CONFIG, SETTINGS
from pinchbench.sandbox.sandbox_spec import (
    HOME,
    NODE,
    OPENCLAW,
    SHM_BYTES,
    STATE,
    SYSTEM_DIRS,
    TMP_BYTES,
    WORKSPACE,
    Forward,
    Mount,
    make_spec,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

    from pinchbench.process.spec import ProcessSpec

FILES = "/opt/files"
TEMPORARY = "/tmp"  # noqa: S108 - the trial's own
COMPILED = "node-compile-cache"  # where OpenClaw looks for its compiled code, in the folder for temporary files
# Variables that name a file with certificates, which is then mounted.
CERTIFICATES = (
    *("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("GIT_SSL_CAINFO", "PIP_CERT", "NODE_EXTRA_CA_CERTS"),
)
# About the user, or paths of the user's.
EXCLUDED = frozenset({"HOME", "USER", "LOGNAME", "SHELL", "LD_LIBRARY_PATH", "SSL_CERT_DIR", "TZDIR"})
COUNTS_BY_NAMESPACE = [5, 14]  # the release of Linux since which RLIMIT_NPROC is about a user namespace
TASKS_OVER = 32  # enough for the guardian to find more tasks than allowed although some have just ended
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnExtras:
    """What a task's turns have besides OpenClaw, in a sandbox that `has_own_root`.

    Attributes:
        places: what a turn sees in addition.
        services: what it can connect to in addition, unless the network is open.
        link: what the process itself, but nothing else inside, can connect to in addition.
        files: texts that the sandbox has at these paths in addition.
    """

    places: tuple[Mount, ...] = ()
    services: tuple[Forward, ...] = ()
    link: Forward | None = None
    files: Mapping[str, str] = field(default_factory=dict)


NO_EXTRAS = TurnExtras()


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnSandbox(ABC):
    """What the processes of a private home's turns run in.

    Attributes:
        has_own_root: whether a turn has a file system of its own, in which a task can have `TurnExtras`.
        seen_root: the path by which a turn names the home's folder; None for its own.
        openclaw: the OpenClaw that runs there.
        base: the environment that programs and the model need outside.
        network: what a turn can connect to: `MODEL` or `OPEN`.
        allowed: what the user wants to be visible in addition.
        compiled: the folder with OpenClaw's compiled code (see `compiled_code`); None without.
        fills_compiled: whether turns may write there, which no agent's may.
    """

    has_own_root: ClassVar[bool]
    seen_root: ClassVar[str | None]
    openclaw: OpenClaw
    base: Mapping[str, str]
    network: Network
    allowed: tuple[Mount, ...] = ()
    compiled: Path | None = None
    fills_compiled: bool = False

    @property
    @abstractmethod
    def env(self) -> dict[str, str]:
        """The environment of a turn, with the paths that exist inside."""

    @abstractmethod
    def seen_workspace(self, workspace: Path) -> Path:
        """Return the path by which a turn names its workspace."""

    @abstractmethod
    def own_dirs(self, workspace: Path) -> tuple[str, ...]:
        """Return the folders that belong to the trial, by the paths that a turn sees, the workspace first."""

    @abstractmethod
    def prepare(self) -> None:
        """Create what a turn needs in a new home. Blocks."""

    @abstractmethod
    def enter(self, spec: ProcessSpec, *, state: Path, extras: TurnExtras = NO_EXTRAS) -> ProcessSpec:
        """Return the process of a turn in its sandbox.

        `spec` is the process with the paths outside; its working directory is the workspace. `state` is OpenClaw's.
        """

    def showing(self, folder: Path) -> Self:
        """Return the same with a folder that turns see at its own path, unless it is one of the system's."""
        seen = () if is_of_system(folder) else (Mount(source=str(folder), target=str(folder)),)
        return replace(self, allowed=(*self.allowed, *seen))

    @property
    def kept_env(self) -> dict[str, str]:
        """What a turn's environment keeps of `base`."""
        return {name: value for name, value in self.base.items() if name not in EXCLUDED}

    @property
    def install_folder(self) -> Path | None:
        """The folder that OpenClaw is installed in; None if it is one of the system's."""
        program = self.openclaw.program.absolute()
        if is_of_system(program) and is_of_system(program.resolve()):
            return None
        parents = [parent for parent in program.parents if parent.name == "node_modules"]
        return parents[-1].parent if parents else program.parent

    @property
    def node_folder(self) -> Path | None:
        """The folder of OpenClaw's own Node, if it has one."""
        return next(((folder / "node").resolve().parent.parent for folder in self.openclaw.path_first), None)

    @property
    def path_dirs(self) -> tuple[Path, ...]:
        """The folders of PATH that are neither the system's nor this program's."""
        own = {*map(str, self.openclaw.path_first), str(Path(sys.executable).parent)}
        names = self.base.get("PATH", "").split(":")
        folders = [Path(name) for name in names if name.startswith("/") and name not in own]
        return tuple(folder for folder in folders if folder.is_dir() and not is_of_system(folder))

    @property
    def certificate_files(self) -> tuple[str, ...]:
        """The files with certificates that the environment names, except the system's."""
        files = {self.base[name] for name in CERTIFICATES if name in self.base}
        return tuple(sorted(name for name in files if Path(name).is_file() and not is_of_system(Path(name))))


@dataclass(frozen=True, kw_only=True, slots=True)
class HomeSandbox(TurnSandbox):
    """Namespaces, which have nothing but the workspace, the home's state, and programs.

    `socket` is the wire's Unix socket, to which `MODEL_PORT` leads inside; empty without.
    """

    has_own_root = True
    seen_root = ""
    socket: str = ""

    @property
    def env(self) -> dict[str, str]:
        """The environment of a turn, with the paths that exist inside."""
        kept = self.kept_env
        seen = {mount.source: mount.target for mount in self._certificates()}
        node = [] if self.node_folder is None else [f"{NODE}/bin"]
        return {
            **kept,
            **{name: seen[kept[name]] for name in CERTIFICATES if kept.get(name) in seen},
            "HOME": HOME,
            "PATH": ":".join([*node, *map(str, self.path_dirs), SYSTEM_PATH]),
            "OPENCLAW_STATE_DIR": STATE,
            "OPENCLAW_CONFIG_PATH": f"{STATE}/openclaw.json",
            "TMPDIR": TEMPORARY,
        }

    def seen_workspace(self, workspace: Path) -> Path:
        """Return the same path for all trials."""
        del workspace
        return Path(WORKSPACE)

    def own_dirs(self, workspace: Path) -> tuple[str, ...]:
        """Return the folders that are mounted."""
        del workspace
        return WORKSPACE, STATE, HOME

    def prepare(self) -> None:
        """Do nothing: all else is created with the namespaces."""

    def enter(self, spec: ProcessSpec, *, state: Path, extras: TurnExtras = NO_EXTRAS) -> ProcessSpec:
        """Return the process of a turn in its namespaces, with the paths that exist there."""
        message_program = Mount(source=str(LONG_MESSAGE), target=f"{FILES}/{LONG_MESSAGE.name}")
        installed = self.install_folder
        moved = {
            str(state): STATE,
            str(spec.cwd): WORKSPACE,
            message_program.source: message_program.target,
            **({} if installed is None else {str(installed): OPENCLAW}),
        }

        def inside(word: str) -> str:
            found = next((place for place in moved if word.endswith(place) or f"{place}/" in word), None)
            return word if found is None else word.replace(found, moved[found])

        shown = (message_program, *self._certificates(), *self._compiled())
        sandbox = make_spec(
            state=state,
            workspace=spec.cwd,
            openclaw=installed,
            node=self.node_folder,
            path_dirs=self.path_dirs,
            allowed=(*shown, *settings(state), *extras.places, *self.allowed),
            network=self.network,
            forward=Forward(port=MODEL_PORT, socket=self.socket) if self.network is Network.MODEL else None,
            hidden=(str(bundled_tasks_dir()),),  # it may be in a folder of the system's Python
        )
        limits = spec.limits
        sandbox = replace(
            sandbox,
            services=extras.services,
            link=extras.link,
            files={**sandbox.files, **extras.files},
            tmp_bytes=min(TMP_BYTES, limits.max_memory_bytes or TMP_BYTES),
            shm_bytes=min(SHM_BYTES, limits.max_memory_bytes or SHM_BYTES),
            rlimits=task_limit(limits.max_processes, release=os.uname().release),
        )
        return replace(
            spec,
            argv=[inside(word) for word in spec.argv],
            env={name: inside(value) for name, value in spec.env.items()},
            sandbox=sandbox.plan(),
        )

    def _compiled(self) -> Iterator[Mount]:
        if self.compiled is not None:
            target = f"{TEMPORARY}/{COMPILED}"
            yield Mount(source=str(self.compiled), target=target, writable=self.fills_compiled)

    def _certificates(self) -> tuple[Mount, ...]:
        return tuple(
            Mount(source=name, target=f"/run/certificates/{number}.pem")
            for number, name in enumerate(self.certificate_files, start=1)
        )


def settings(state: Path) -> Iterator[Mount]:
    """Yield what a turn can't change of OpenClaw's settings: what of them is there when it begins."""
    for name in (CONFIG, *SETTINGS):
        if (state / name).exists():
            yield Mount(source=str(state / name), target=f"{STATE}/{name}")


def task_limit(max_processes: int, *, release: str) -> dict[str, tuple[int, int]]:
    """Return the limit of the kernel that stops a fork bomb at once, where it counts for each namespace by itself.

    Older kernels count all processes of the user. None counts root's: there only the guardian does. It counts more than
    `max_processes`, or the guardian would not see that a trial wants to exceed them.
    """
    numbers = [int(word) for word in re.findall(r"\d+", release)[:2]]
    if not max_processes or numbers < COUNTS_BY_NAMESPACE:
        return {}
    most = max_processes + TASKS_OVER
    return {"RLIMIT_NPROC": (most, most)}


def is_of_system(path: Path) -> bool:
    """Return whether a path is in one of the folders of the system's programs."""
    return any(path.is_relative_to(folder) for folder in SYSTEM_DIRS)
