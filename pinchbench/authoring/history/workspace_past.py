"""What a user's workspace held at a time: in its git history, and in files that have not changed since."""

from __future__ import annotations

import os
import subprocess
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from pinchbench.files.beneath import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

GIT_LIMIT_S = 30.0
MAX_COMMITS = 20_000
MAX_OUTPUT_BYTES = 64 * 1024 * 1024  # of git
MAX_FILE_BYTES = 5 * 1024 * 1024  # larger files are not restored
MAX_LISTED = 50_000  # files of a workspace
TOOL_FOLDERS = frozenset(
    {".git", "node_modules", ".venv", "venv", "__pycache__", ".openclaw", ".cache", ".pytest_cache"}
)
# Nothing that a repository's own config names may be started, and nothing be fetched or written.
_SAFE = (
    *("--no-replace-objects", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "protocol.allow=never", "-c", "core.pager=cat"),
)
_REGULAR = ("100644", "100755")


class Commit(NamedTuple):
    """A commit; `at` is in seconds since the epoch."""

    at: float
    name: str


class Blob(NamedTuple):
    """A file of a commit: git's name for its content, and its size in bytes."""

    name: str
    size: int


@dataclass(kw_only=True, slots=False)
class WorkspacePast:
    """Answers from a workspace that is only read. What can't be read is as if it were not there. Blocks."""

    folder: Path
    _trees: dict[str, dict[str, Blob]] = field(default_factory=dict)
    _blobs: dict[str, bytes] = field(default_factory=dict)

    @cached_property
    def commits(self) -> tuple[Commit, ...]:
        """The commits that lead to the current one, the oldest first; none without git."""
        if not (self.folder / ".git").is_dir() or (self.folder / ".git").is_symlink():
            return ()
        lines = self._git("rev-list", "--timestamp", f"--max-count={MAX_COMMITS}", "HEAD").decode("ascii", "replace")
        pairs = (line.split() for line in lines.splitlines())
        return tuple(sorted(Commit(float(at), name) for at, name in pairs if at.isdigit()))

    @cached_property
    def files(self) -> frozenset[str]:
        """The paths of the regular files that are there now, without those that tools keep."""
        return frozenset(self._walk())

    def commit_before(self, at: float) -> Commit | None:
        """Return the last commit up to a time."""
        place = bisect_right(self.commits, at, key=lambda commit: commit.at)
        return self.commits[place - 1] if place else None

    def commits_after(self, at: float) -> Sequence[Commit]:
        """Return the commits after a time, the earliest first."""
        return self.commits[bisect_right(self.commits, at, key=lambda commit: commit.at) :]

    def tree(self, commit: Commit | None) -> dict[str, Blob]:
        """Return the regular files of a commit by path; none without a commit."""
        if commit is None:
            return {}
        if commit.name not in self._trees:
            rows = self._git("ls-tree", "-r", "-l", "-z", commit.name).split(b"\0")
            self._trees[commit.name] = dict(_tree_rows(rows))
        return self._trees[commit.name]

    def committed(self, path: str, commit: Commit | None) -> bytes | None:
        """Return what a commit holds at a path; None without it, or if it is too large."""
        blob = self.tree(commit).get(path)
        if blob is None or blob.size > MAX_FILE_BYTES:
            return None
        if blob.name not in self._blobs:
            self._blobs[blob.name] = self._git("cat-file", "blob", blob.name)
        data = self._blobs[blob.name]
        return data if len(data) == blob.size else None

    def on_disk(self, path: str) -> tuple[float, bytes] | None:
        """Return when a file was last changed, in seconds since the epoch, and what it holds; None without it."""
        try:
            with open_regular(self.folder / path, within=self.folder) as file:
                info = os.fstat(file.fileno())
                data = file.read(MAX_FILE_BYTES + 1)
        except (OSError, ValueError):
            return None
        return None if len(data) > MAX_FILE_BYTES else (info.st_mtime, data)

    def _walk(self) -> Iterator[str]:
        left = MAX_LISTED
        for root, folders, names in os.walk(self.folder):
            folders[:] = sorted(name for name in folders if name not in TOOL_FOLDERS)
            inside = os.path.relpath(root, self.folder)
            for name in sorted(names):
                left -= 1
                if left < 0:
                    return
                yield name if inside == "." else f"{inside}/{name}"

    def _git(self, *arguments: str) -> bytes:
        """Return what git prints; nothing if it fails, takes too long or prints too much."""
        env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
        }
        command = ["git", f"--git-dir={self.folder / '.git'}", *_SAFE, *arguments]
        try:
            done = subprocess.run(
                command, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=GIT_LIMIT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return b""
        return done.stdout if done.returncode == 0 and len(done.stdout) <= MAX_OUTPUT_BYTES else b""


def _tree_rows(rows: Sequence[bytes]) -> Iterator[tuple[str, Blob]]:
    for row in rows:
        facts, _, path = row.partition(b"\t")
        words = facts.decode("ascii", "replace").split()
        if len(words) == 4 and words[0] in _REGULAR and words[3].isdigit():  # noqa: PLR2004 - mode, type, name, size
            yield path.decode("utf-8", "surrogateescape"), Blob(words[2], int(words[3]))
