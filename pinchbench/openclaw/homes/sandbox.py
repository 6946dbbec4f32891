"""What a private home needs so that its turns run in namespaces: paths, an environment, and a plan for each turn."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.defaults import Network
from pinchbench.sandbox.spec import (
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
from pinchbench.suite.bundled import bundled_tasks_dir

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.process.supervise import ProcessSpec

FILES = "/opt/files"
MODEL_PORT = 18080  # inside, where no other program listens
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
class HomeSandbox:
    """The namespaces of a home's turns, which have nothing but their workspace, the home's state, and programs.

    Attributes:
        openclaw: the OpenClaw that runs there.
        base: the environment that programs and the model need outside.
        network: what a turn can connect to; never `AUTO`.
        socket: the wire's Unix socket, to which `MODEL_PORT` leads inside; empty without.
        allowed: what the user wants to be visible beside that.
    """

    openclaw: OpenClaw
    base: Mapping[str, str]
    network: Network
    socket: str = ""
    allowed: tuple[Mount, ...] = ()

    @property
    def env(self) -> dict[str, str]:
        """Return the environment of a turn, with the paths that exist inside."""
        kept = {name: value for name, value in self.base.items() if name not in EXCLUDED}
        seen = {mount.source: mount.target for mount in self._certificates()}
        return {
            **kept,
            **{name: seen[kept[name]] for name in CERTIFICATES if kept.get(name) in seen},
            "HOME": HOME,
            "PATH": ":".join([*(f"{NODE}/bin" for _ in self._node()), *map(str, self._path_dirs()), SYSTEM_PATH]),
            "OPENCLAW_STATE_DIR": STATE,
            "OPENCLAW_CONFIG_PATH": f"{STATE}/openclaw.json",
            "TMPDIR": "/tmp",  # noqa: S108 - its own
        }

    def enter(self, spec: ProcessSpec, *, state: Path, program_file: Path) -> ProcessSpec:
        """Return the process of a turn in its namespaces.

        Args:
            spec: The process with the paths outside; its working directory is the workspace.
            state: OpenClaw's state.
            program_file: A file of this program that OpenClaw may have to read.
        """
        places = {
            str(state): STATE,
            str(spec.cwd): WORKSPACE,
            str(program_file): f"{FILES}/{program_file.name}",
            **{str(root): OPENCLAW for root in self._installed()},
        }

        def inside(word: str) -> str:
            found = next((place for place in places if word.endswith(place) or f"{place}/" in word), None)
            return word if found is None else word.replace(found, places[found])

        forward = Forward(port=MODEL_PORT, socket=self.socket) if self.network is Network.MODEL else None
        sandbox = make_spec(
            state=state,
            workspace=spec.cwd,
            openclaw=next(self._installed(), None),
            node=next(self._node(), None),
            path_dirs=self._path_dirs(),
            allowed=(
                Mount(source=str(program_file), target=places[str(program_file)]),
                *self._certificates(),
                *self.allowed,
            ),
            network=self.network,
            forward=forward,
            hidden=(str(bundled_tasks_dir()),),  # it may be in a folder of the system's Python
        )
        limits = spec.limits
        sandbox = replace(
            sandbox,
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

    def _installed(self) -> Iterator[Path]:
        """Yield the folder that OpenClaw is installed in, unless it is one of the system's."""
        program = self.openclaw.program.absolute()
        if not _is_of_system(program) or not _is_of_system(program.resolve()):
            parents = [parent for parent in program.parents if parent.name == "node_modules"]
            yield parents[-1].parent if parents else program.parent

    def _node(self) -> Iterator[Path]:
        """Yield the folder of OpenClaw's own Node, if it has one."""
        for folder in self.openclaw.path_first[:1]:
            yield (folder / "node").resolve().parent.parent

    def _path_dirs(self) -> tuple[Path, ...]:
        """Return the folders of PATH that are neither the system's nor this program's; inside they are as outside."""
        own = {*map(str, self.openclaw.path_first), str(Path(sys.executable).parent)}
        names = self.base.get("PATH", "").split(":")
        folders = [Path(name) for name in names if name.startswith("/") and name not in own]
        return tuple(folder for folder in folders if folder.is_dir() and not _is_of_system(folder))

    def _certificates(self) -> tuple[Mount, ...]:
        named = (self.base[name] for name in CERTIFICATES if name in self.base)
        files = {name for name in named if Path(name).is_file()}
        return tuple(
            Mount(source=name, target=f"/run/certificates/{number}.pem")
            for number, name in enumerate(sorted(files), start=1)
            if not _is_of_system(Path(name))
        )


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


def _is_of_system(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in SYSTEM_DIRS)
