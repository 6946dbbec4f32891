"""Runs a program of the tests as an ordinary user, who can see neither root's Python nor root's OpenClaw."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pinchbench.files.user_data import cache_dir
from pinchbench.openclaw.install import node_folder
from sandbox_programs import SYSTEM_PYTHON

PACKAGES = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
SOURCES = ("pinchbench", "tests", "tasks")
IS_SAME_PYTHON = f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"


@dataclass(frozen=True, kw_only=True)
class UserCopy:
    """A copy of this program, its packages and OpenClaw in `root`, which `uid` can read, with a home folder."""

    root: Path
    uid: int

    def run(self, program: Path, arguments: Sequence[str]) -> bytes:
        """Run a Python program of `tests` with the copy, and return what it printed. Raises CalledProcessError."""
        home = self.root / "home"
        return subprocess.run(
            [self.root / "venv" / "bin" / "python", self.root / "source" / "tests" / program, *arguments],
            cwd=home,
            env={"HOME": str(home), "PATH": os.defpath, "LANG": "C.UTF-8"},
            user=self.uid,
            group=self.uid,
            extra_groups=[],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=True,
        ).stdout


def require_python() -> None:
    """Raise SystemExit if the system has no Python of this version, which the user's copy needs."""
    if not SYSTEM_PYTHON.exists() or subprocess.run([SYSTEM_PYTHON, "-c", IS_SAME_PYTHON], check=False).returncode:
        raise SystemExit(f"{SYSTEM_PYTHON} has to be of the version of this Python; leave the user out: --uids 0")


@contextmanager
def user_copy(uid: int, releases: Sequence[str]) -> Iterator[UserCopy]:
    """Make a copy with these installed releases, and remove it afterwards. For root; takes seconds."""
    with tempfile.TemporaryDirectory(prefix="attacks-") as name:
        root = Path(name)
        root.chmod(0o755)
        subprocess.run([SYSTEM_PYTHON, "-m", "venv", "--without-pip", root / "venv"], check=True)
        _link(Path(sys.prefix) / PACKAGES, root / "venv" / PACKAGES)
        source = Path(__file__).parents[2]
        for folder in SOURCES:
            _link(source / folder, root / "source" / folder)
        (root / "venv" / PACKAGES / "source.pth").write_text(f"{root / 'source'}\n", encoding="utf-8")
        cache = root / "home" / ".cache" / cache_dir().name
        node = node_folder(cache_dir()).relative_to(cache_dir()).parts[0]
        for install in (node, *(f"openclaw-{release}" for release in releases)):
            _link(cache_dir() / install, cache / install)
        for place in (root / "home", cache.parent, cache):
            os.chown(place, uid, uid)
        yield UserCopy(root=root, uid=uid)


def _link(source: Path, target: Path) -> None:
    """Make a copy whose files are hard links: they stay root's, so that the user can't change them."""
    ignored = shutil.ignore_patterns(".state", "__pycache__", "_editable_impl_*")
    shutil.copytree(source, target, symlinks=True, ignore=ignored, copy_function=_link_file, dirs_exist_ok=True)
    target.chmod(0o755)


def _link_file(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # another file system
        shutil.copy2(source, target, follow_symlinks=False)
