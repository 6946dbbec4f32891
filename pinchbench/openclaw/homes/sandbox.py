"""What a private home needs so that its turns run in namespaces: paths, an environment, and a plan for each turn."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pinchbench.defaults import Network
from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.model.task_programs import MODEL_PORT
from pinchbench.openclaw.homes.home_config import CONFIG, SETTINGS
from pinchbench.sandbox.sandbox_spec import (
    HOME,
    NO_FILES,
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

    from pinchbench.openclaw.command import OpenClaw
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


class TurnSandbox(Protocol):
    """What the processes of a private home's turns run in."""

    @property
    def network(self) -> Network:
        """What a turn can connect to: `MODEL` or `OPEN`."""

    @property
    def env(self) -> dict[str, str]:
        """The environment of a turn, with the paths that exist inside."""

    @property
    def seen_root(self) -> str | None:
        """The path by which a turn names the home's folder; None for its own."""

    def seen_workspace(self, workspace: Path) -> Path:
        """Return the path by which a turn names its workspace."""

    def own_dirs(self, workspace: Path) -> tuple[str, ...]:
        """Return the folders that belong to the trial, by the paths that a turn sees, the workspace first."""

    def prepare(self) -> None:
        """Create what a turn needs in a new home. Blocks."""

    def showing(self, folder: Path) -> TurnSandbox:
        """Return the same with a folder that turns see at its own path."""

    @property
    def has_own_root(self) -> bool:
        """Whether a turn has a file system of its own, in which a task can have `places`."""

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
        """Return the process of a turn in its sandbox.

        Args:
            spec: The process with the paths outside; its working directory is the workspace.
            state: OpenClaw's state.
            program_file: A file of this program that OpenClaw may have to read.
            places: What the turn sees in addition, for a sandbox that `has_own_root`.
            services: What it can connect to in addition, for such a sandbox whose network is not open.
            link: What the process itself, but nothing else inside, can connect to in addition, for such a sandbox.
            files: Texts that the sandbox has at these paths in addition, for one that `has_own_root`.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class HomeSandbox:
    """The namespaces of a home's turns, which have nothing but their workspace, the home's state, and programs.

    Attributes:
        openclaw: the OpenClaw that runs there.
        base: the environment that programs and the model need outside.
        network: what a turn can connect to; never `AUTO`.
        socket: the wire's Unix socket, to which `MODEL_PORT` leads inside; empty without.
        allowed: what the user wants to be visible in addition.
        compiled: the folder with OpenClaw's compiled code (see `compiled_code`); None without.
        fills_compiled: whether turns may write there, which no agent's may.
    """

    openclaw: OpenClaw
    base: Mapping[str, str]
    network: Network
    socket: str = ""
    allowed: tuple[Mount, ...] = ()
    compiled: Path | None = None
    fills_compiled: bool = False

    @property
    def env(self) -> dict[str, str]:
        """Return the environment of a turn, with the paths that exist inside."""
        kept = {name: value for name, value in self.base.items() if name not in EXCLUDED}
        seen = {mount.source: mount.target for mount in self._certificates()}
        return {
            **kept,
            **{name: seen[kept[name]] for name in CERTIFICATES if kept.get(name) in seen},
            "HOME": HOME,
            "PATH": ":".join(
                [
                    *(f"{NODE}/bin" for _ in node_folder(self.openclaw)),
                    *map(str, path_dirs(self.openclaw, self.base)),
                    SYSTEM_PATH,
                ]
            ),
            "OPENCLAW_STATE_DIR": STATE,
            "OPENCLAW_CONFIG_PATH": f"{STATE}/openclaw.json",
            "TMPDIR": TEMPORARY,
        }

    @property
    def seen_root(self) -> str:
        """Return the root, in which the state has a folder of the same name."""
        return ""

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

    def showing(self, folder: Path) -> HomeSandbox:
        """Return the same with a folder mounted, unless it is one of the system's, which turns see anyway."""
        seen = () if is_of_system(folder) else (Mount(source=str(folder), target=str(folder)),)
        return replace(self, allowed=(*self.allowed, *seen))

    @property
    def has_own_root(self) -> bool:
        """Return true."""
        return True

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
        """Return the process of a turn in its namespaces, with the paths that exist there."""
        moved = {
            str(state): STATE,
            str(spec.cwd): WORKSPACE,
            str(program_file): f"{FILES}/{program_file.name}",
            **{str(root): OPENCLAW for root in installed(self.openclaw)},
        }

        def inside(word: str) -> str:
            found = next((place for place in moved if word.endswith(place) or f"{place}/" in word), None)
            return word if found is None else word.replace(found, moved[found])

        forward = Forward(port=MODEL_PORT, socket=self.socket) if self.network is Network.MODEL else None
        sandbox = make_spec(
            state=state,
            workspace=spec.cwd,
            openclaw=next(installed(self.openclaw), None),
            node=next(node_folder(self.openclaw), None),
            path_dirs=path_dirs(self.openclaw, self.base),
            allowed=(
                Mount(source=str(program_file), target=moved[str(program_file)]),
                *self._certificates(),
                *self._compiled(),
                *settings(state),
                *places,
                *self.allowed,
            ),
            network=self.network,
            forward=forward,
            hidden=(str(bundled_tasks_dir()),),  # it may be in a folder of the system's Python
        )
        limits = spec.limits
        sandbox = replace(
            sandbox,
            services=services,
            link=link,
            files={**sandbox.files, **files},
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
            for number, name in enumerate(certificate_files(self.base), start=1)
        )


def settings(state: Path) -> Iterator[Mount]:
    """Yield what a turn can't change of OpenClaw's settings: what of them is there when it begins."""
    for name in (CONFIG, *SETTINGS):
        if (state / name).exists():
            yield Mount(source=str(state / name), target=f"{STATE}/{name}")


def installed(openclaw: OpenClaw) -> Iterator[Path]:
    """Yield the folder that OpenClaw is installed in, unless it is one of the system's."""
    program = openclaw.program.absolute()
    if not is_of_system(program) or not is_of_system(program.resolve()):
        parents = [parent for parent in program.parents if parent.name == "node_modules"]
        yield parents[-1].parent if parents else program.parent


def node_folder(openclaw: OpenClaw) -> Iterator[Path]:
    """Yield the folder of OpenClaw's own Node, if it has one."""
    for folder in openclaw.path_first[:1]:
        yield (folder / "node").resolve().parent.parent


def path_dirs(openclaw: OpenClaw, base: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folders of PATH that are neither the system's nor this program's."""
    own = {*map(str, openclaw.path_first), str(Path(sys.executable).parent)}
    names = base.get("PATH", "").split(":")
    folders = [Path(name) for name in names if name.startswith("/") and name not in own]
    return tuple(folder for folder in folders if folder.is_dir() and not is_of_system(folder))


def certificate_files(base: Mapping[str, str]) -> tuple[str, ...]:
    """Return the files with certificates that the environment names, except the system's."""
    files = {base[name] for name in CERTIFICATES if name in base}
    return tuple(sorted(name for name in files if Path(name).is_file() and not is_of_system(Path(name))))


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
