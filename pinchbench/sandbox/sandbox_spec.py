"""The description of what one trial may see and reach, and the plan that `enter` and `landlock` carry out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence  # noqa: TC003 - msgspec needs it
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

import msgspec

from pinchbench.defaults import Network
from pinchbench.errors import ConfigError

# The same for all trials, so that nothing about the task or the runner can be read from them.
STATE = "/state"
WORKSPACE = "/workspace"
OPENCLAW = "/opt/openclaw"
NODE = "/opt/node"
HOME = "/home/agent"

SYSTEM_DIRS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SYSTEM_FILES = (  # programs need them, and none holds anything about the user
    "/etc/ld.so.cache", "/etc/ssl", "/etc/pki/tls", "/etc/ca-certificates", "/etc/alternatives", "/etc/localtime",
    "/etc/fonts",
)  # fmt: skip
ROOT_BYTES = 16 * 1024 * 1024  # of mount points and generated files; read-only once the trial runs
TMP_BYTES = 1024 * 1024 * 1024  # an upper limit: what is not written takes no memory
SHM_BYTES = 256 * 1024 * 1024
RESERVED = ("/", "/proc", "/dev", "/sys", "/tmp", "/run", STATE, WORKSPACE)  # noqa: S108
HIGHEST_PORT = 65535
NO_FILES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True, slots=True)
class Mount:
    """A folder or file `source` that a trial sees as `target`, read-only unless `writable`."""

    source: str
    target: str
    writable: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Forward:
    """A port of the trial's own 127.0.0.1 and a Unix socket outside, one of which leads to the other."""

    port: int
    socket: str


SHIMS = "shims"
VERSIONS = ("versions", "installs")  # what is next to it


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxSpec:
    """What one trial may see and reach. Converts to and from JSON with msgspec.

    The ports of `forward` and `link`, which serve the program alone, lead to the wire and to the runner; those of
    `services` lead to the services of the task. The socket of `inlet`
    leads to its port, and refuses connections until that takes them.
    `hidden` are folders below mounts that are empty inside. `/tmp` holds `tmp_bytes` and `/dev/shm` and `HOME` each
    `shm_bytes`, in memory. `rlimits` are soft and hard limits by their names in `resource`; none is raised by them.
    """

    mounts: tuple[Mount, ...]
    network: Network
    forward: Forward | None = None
    link: Forward | None = None
    services: tuple[Forward, ...] = ()
    inlet: Forward | None = None
    links: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    cwd: str = WORKSPACE
    tmp_bytes: int = TMP_BYTES
    shm_bytes: int = SHM_BYTES
    rlimits: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ConfigError for a description that can't be carried out."""
        if self.network is not Network.MODEL and self.forward is not None:
            raise ConfigError(f"Network {self.network} has no way to the model: use network model, or no forward.")
        if self.network is Network.OPEN and (self.services or self.inlet or self.link):
            raise ConfigError("Services have ports of the trial's own: an open network has none.")
        for one in filter(None, (self.forward, self.link, *self.services, self.inlet)):
            if not 0 < one.port <= HIGHEST_PORT:
                raise ConfigError(f"{one.port} is not a port: use one from 1 to {HIGHEST_PORT}.")
        for mount in self.mounts:
            for path in (mount.source, mount.target):
                if not PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
                    raise ConfigError(f"The sandbox needs an absolute path without '..': {path}")
            if "\0" in mount.source + mount.target:
                raise ConfigError("A path of the sandbox must not contain a NUL character.")

    def plan(self) -> dict[str, Any]:
        """Return it as JSON values for `enter.start`."""
        plan: dict[str, Any] = {"level": "namespaces", **msgspec.to_builtins(self)}
        # outer folders first, or they would hide inner ones
        plan["mounts"] = sorted(plan["mounts"], key=lambda entry: len(PurePosixPath(entry["target"]).parts))
        plan["tmpfs"] = {"/tmp": self.tmp_bytes, HOME: self.shm_bytes}  # noqa: S108
        plan["root_bytes"] = ROOT_BYTES
        return plan


# What a sandbox has itself: nothing may be mounted over it, and nothing in it or above it.
_TAKEN = tuple(
    map(PurePosixPath, (*SYSTEM_DIRS, *RESERVED, HOME, OPENCLAW, NODE, "/etc", "/opt/files", "/tests", "/logs"))
)
_ROOT = PurePosixPath("/")


def stated_path_problem(path: str) -> str:
    """Return why nothing can be mounted at a path in a trial's namespaces, as `it is …`; empty if it can (pure)."""
    place = PurePosixPath(path)
    if not place.is_absolute() or ".." in place.parts or "\0" in path:
        return "it is not an absolute path without `..`"
    if place == _ROOT:
        return "it is the root of everything"
    for taken in _TAKEN:
        if taken != _ROOT and (place.is_relative_to(taken) or taken.is_relative_to(place)):
            return f"it is a place of the sandbox's own, {taken}"
    return ""


def parse_allowed(value: str) -> Mount:
    """Return what `--sandbox-allow PATH[:rw]` asks for; it is visible at its own path. Raises ConfigError."""
    path, writable = (value[:-3], True) if value.endswith(":rw") else (value, False)
    place = Path(path).expanduser().absolute()
    if not place.exists():
        raise ConfigError(f"--sandbox-allow {value}: {place} does not exist.")
    if str(place) in RESERVED:
        raise ConfigError(f"--sandbox-allow {value}: {place} is the sandbox's own; name a folder or file below it.")
    return Mount(source=str(place), target=str(place), writable=writable)


def make_spec(
    *,
    state: Path | None,
    workspace: Path,
    openclaw: Path | None = None,
    node: Path | None = None,
    path_dirs: Sequence[Path] = (),
    allowed: Iterable[Mount] = (),
    network: Network = Network.NONE,
    forward: Forward | None = None,
    hidden: tuple[str, ...] = (),
    uid: int | None = None,
    gid: int | None = None,
) -> SandboxSpec:
    """Describe a trial with its home at `STATE` and its workspace at `WORKSPACE`. Raises ConfigError.

    `openclaw` and `node` are their installation folders; `path_dirs` are further folders of programs, visible at their
    own paths with what `program_root` says. The system's folders, a small /etc, and private /tmp, /dev and /proc are
    always there.
    """
    mounts, links = _system()
    own = (state, STATE, True), (workspace, WORKSPACE, True), (openclaw, OPENCLAW, False), (node, NODE, False)
    for source, target, writable in own:
        if source is not None:
            mounts.append(Mount(source=str(source.absolute()), target=target, writable=writable))
    covered = [entry.target for entry in mounts]
    for folder in map(program_root, path_dirs):
        place = str(folder.absolute())
        inside = any(PurePosixPath(place).is_relative_to(target) for target in (*covered, *links))
        if not inside and folder.is_dir():
            mounts.append(Mount(source=place, target=place))
            covered.append(place)
    mounts += allowed
    files = _generated_files(
        os.getuid() if uid is None else uid, os.getgid() if gid is None else gid, is_open=network is Network.OPEN
    )
    return SandboxSpec(mounts=tuple(mounts), network=network, forward=forward, links=links, files=files, hidden=hidden)


def program_root(folder: Path) -> Path:
    """Return the folder that has to be visible for the programs in a folder of PATH to work.

    Those in the `shims` of pyenv, rbenv, asdf or mise start others that are next to that folder. Never the user's home.
    """
    root = folder.parent
    has_versions = folder.name == SHIMS and any((root / name).is_dir() for name in VERSIONS)
    return root if has_versions and not Path.home().is_relative_to(root) else folder


def _system() -> tuple[list[Mount], dict[str, str]]:
    mounts: list[Mount] = []
    links: dict[str, str] = {}
    for name in SYSTEM_DIRS:
        place = Path(name)
        if place.is_symlink():  # /bin → usr/bin
            links[name] = str(place.readlink())
        elif place.is_dir():
            mounts.append(Mount(source=name, target=name))
    mounts += [Mount(source=name, target=name) for name in SYSTEM_FILES if Path(name).exists()]
    return mounts, links


def _generated_files(uid: int, gid: int, *, is_open: bool) -> dict[str, str]:
    name = "root" if uid == 0 else "agent"
    hosts = "127.0.0.1 localhost\n::1 localhost\n"
    resolver = "nameserver 127.0.0.1\noptions attempts:1 timeout:1\n"
    if is_open:
        hosts, resolver = _text_of("/etc/hosts") or hosts, _text_of("/etc/resolv.conf")
    return {
        "/etc/passwd": f"{name}:x:{uid}:{gid}::{HOME}:/bin/sh\nnobody:x:65534:65534::/nonexistent:/bin/false\n",
        "/etc/group": f"{name}:x:{gid}:\nnogroup:x:65534:\n",
        "/etc/hosts": hosts,
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
        "/etc/resolv.conf": resolver,
    }


def _text_of(path: str) -> str:
    place = Path(path)
    return place.read_text(encoding="utf-8", errors="replace") if place.exists() else ""
