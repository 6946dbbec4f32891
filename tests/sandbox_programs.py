"""Programs started in a sandbox, by a separate process as root or as an ordinary user."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pinchbench
from pinchbench.defaults import Network
from pinchbench.sandbox.sandbox_spec import SandboxSpec, make_spec

ENTER = Path(__file__).with_name("enter_sandbox.py")
PACKAGES = Path(pinchbench.__file__).parents[1]
PYTHON = Path(sys.executable).resolve()
SYSTEM_PYTHON = Path("/usr/bin/python3")  # for the ordinary user, who may not see root's own
ORDINARY_USER = 1000
SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/proc", "/etc/ld.so.cache")  # what programs read under Landlock
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/home/agent", "LANG": "C.UTF-8"}


def users() -> list[int]:
    """Return the users that tests can run as: this one and, if it is root, an ordinary one."""
    return [0, ORDINARY_USER] if os.getuid() == 0 else [os.getuid()]


def as_user(uid: int) -> dict[str, Any]:
    """Return the arguments with which `subprocess` starts a program as this user."""
    return {} if uid == os.getuid() else {"user": uid, "group": uid, "extra_groups": []}


class Trial:
    """Folders of one trial, owned by `uid`."""

    def __init__(self, uid: int) -> None:
        self.uid = uid
        self.python = PYTHON if uid == os.getuid() else SYSTEM_PYTHON
        self.root = Path(tempfile.mkdtemp(prefix="sandbox-"))
        self.root.chmod(0o755)
        self.state, self.workspace = self.root / "state", self.root / "workspace"
        for folder in (self.state, self.workspace):
            folder.mkdir()
        for folder in (self.root, self.state, self.workspace):
            os.chown(folder, uid, uid)

    def spec(self, network: Network = Network.NONE, **settings: object) -> SandboxSpec:
        return make_spec(
            state=self.state,
            workspace=self.workspace,
            path_dirs=[self.python.parent.parent],
            network=network,
            uid=self.uid,
            gid=self.uid,
            **settings,  # type: ignore[arg-type]
        )

    def command(self, argv: Sequence[str], spec: SandboxSpec | None = None) -> tuple[list[str], int]:
        """Return the command that runs `argv` in the sandbox, and the descriptor that it has to inherit."""
        job = {"plan": (spec or self.spec()).plan(), "argv": list(argv), "env": ENV}
        with tempfile.TemporaryFile() as file:
            file.write(json.dumps(job).encode())
            file.seek(0)
            fd = os.dup(file.fileno())
        return [str(self.python), "-I", "-S", str(ENTER), str(PACKAGES), str(fd)], fd

    def start(
        self, argv: Sequence[str], spec: SandboxSpec | None = None, kept: Sequence[int] = ()
    ) -> subprocess.Popen[str]:
        """Start `argv` in the sandbox; `kept` are descriptors that are left open for those who enter it."""
        command, fd = self.command(argv, spec)
        try:
            return subprocess.Popen(
                command,
                pass_fds=[fd, *kept],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd="/",
                start_new_session=True,
                **as_user(self.uid),
            )
        finally:
            os.close(fd)

    def run(
        self, argv: Sequence[str], spec: SandboxSpec | None = None, timeout_s: float = 60, kept: Sequence[int] = ()
    ) -> subprocess.CompletedProcess[str]:
        with self.start(argv, spec, kept) as process:
            out, err = process.communicate(timeout=timeout_s)
        return subprocess.CompletedProcess(list(argv), process.returncode, out, err)

    def run_outside(self, program: str, *words: str | Path) -> str:
        """Run a Python program as this user, in no sandbox, and return what it prints."""
        argv = [self.python, "-I", "-S", "-c", program, *words]
        printed: str = subprocess.run(
            argv, capture_output=True, text=True, timeout=60, check=True, cwd="/", **as_user(self.uid)
        ).stdout
        return printed

    def sh(self, script: str, spec: SandboxSpec | None = None) -> subprocess.CompletedProcess[str]:
        return self.run(["/bin/sh", "-c", script], spec)


def trial_of(uid: int) -> Iterator[Trial]:
    """Yield a trial of `uid` and remove its folders afterwards."""
    trial = Trial(uid)
    yield trial
    shutil.rmtree(trial.root)
