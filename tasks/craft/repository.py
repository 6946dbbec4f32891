"""Git repositories as bundles: the same commits, with the same ids, each time."""

import os
import subprocess
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path


class Repository:
    """A repository that is being made. `folder` is its work tree, empty at first, on the branch `main`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main", "--template=")

    def git(self, *arguments: str, who: str = "Office <office@example.org>", at: datetime | None = None) -> str:
        """Run git; `at`, which is aware, dates what it makes. Raises CalledProcessError."""
        name, _, address = who.rstrip(">").partition(" <")
        when = (at or datetime.fromisoformat("2026-01-05T09:00:00+00:00")).isoformat()
        own = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(self.folder), "LC_ALL": "C"}
        for role in ("AUTHOR", "COMMITTER"):
            own |= {f"GIT_{role}_NAME": name, f"GIT_{role}_EMAIL": address, f"GIT_{role}_DATE": when}
        command = ["git", "-c", "core.autocrlf=false", "-c", "core.fileMode=true", "-c", "gc.auto=0", *arguments]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], **own},
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def commit(self, message: str, files: dict[str, str | None], *, at: datetime, who: str) -> str:
        """Write (or, for None, remove) files and commit them; the id of the commit."""
        for name, text in files.items():
            path = self.folder / name
            if text is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        self.git("add", "--all", at=at)
        self.git("commit", "--quiet", "--allow-empty", "-m", message, who=who, at=at)
        return self.git("rev-parse", "HEAD")


def bundle(fill: Callable[[Repository], None], *refs: str) -> bytes:
    """The bytes of a bundle of a repository that `fill` has filled; `refs` are what `git bundle create` takes."""
    with tempfile.TemporaryDirectory() as folder:
        repository = Repository(Path(folder, "work"))
        fill(repository)
        path = Path(folder, "made.bundle")
        repository.git("bundle", "create", "--quiet", str(path), *(refs or ("--all",)))
        return path.read_bytes()
