"""The process that forks guardians, and a guardian's fork that makes the call."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import importlib
import os
import resource
import signal
import socket
import struct
import sys
import time
import traceback
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, cast

from pinchbench.process.guardian.guard import Guardian, leave_stopping_to_the_runner
from pinchbench.process.guardian.line import Job, Line
from pinchbench.process.guardian.tree import MARKER, Tree, become_subreaper

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

RUNNER = "PINCHBENCH_RUNNER"
PR_SET_PDEATHSIG = 1  # linux/prctl.h
CREDENTIALS = struct.Struct("3i")  # pid, uid, gid
ANSWER_BYTES = 4 * 1024 * 1024  # 500 criteria of 200 characters, some traceback: far below
READ_BYTES = 64 * 1024
CHANNEL = 4000  # its number: beyond those that a program closes to be rid of what it inherited
LIBC = ctypes.CDLL(None)
FILES = 4  # of a call: its end of the conversation, stdin, stdout, stderr
BROKEN = 70  # the exit code of a fork whose `main` has failed


class Prepared(Protocol):
    """What a module has to have."""

    def prepare(self) -> None:
        """Import what its jobs need."""

    def main(self, argument: str, channel: int) -> None:
        """Do a job and send the answer to `channel`; at best it ends the process itself."""


class Channel:
    """The guardian's end of a fork's channel."""

    def __init__(self) -> None:
        """Open it. Raises OSError."""
        self._ours, self.theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._says_who = sys.platform.startswith("linux")
        if self._says_who:
            self._ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._answer = b""
        self.pid = 0  # whose bytes count

    def fileno(self) -> int:
        """The number of this end."""
        return self._ours.fileno()

    def read(self) -> bool:
        """Take what is there. False when no more can come."""
        while len(self._answer) <= ANSWER_BYTES:
            try:
                data, notes, *_ = self._ours.recvmsg(READ_BYTES, socket.CMSG_SPACE(CREDENTIALS.size))
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not data:
                return False
            if not self._says_who or self._sender(notes) == self.pid:
                self._answer += data
        return False

    def _sender(self, notes: list[tuple[int, int, bytes]]) -> int | None:
        for level, kind, data in notes:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                return int(CREDENTIALS.unpack(data[: CREDENTIALS.size])[0])
        return None

    def answer(self) -> str:
        """All that came; nothing when it was too much."""
        return self._answer.decode("utf-8", "replace") if len(self._answer) <= ANSWER_BYTES else ""

    def close(self) -> None:
        """Close this end."""
        self._ours.close()


class ForkingGuardian(Guardian):
    """Starts a job by a fork."""

    def __init__(self, line: Line, settings: dict[str, float], module: Prepared) -> None:
        """`module` is what the job is a call of."""
        super().__init__(line, settings)
        self._module = module
        self._channel = Channel()

    def start(self, job: Job) -> int:
        """Fork."""
        guardian = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become(job, guardian)
        self._channel.theirs.close()
        self._channel.pid = pid
        self._line.listen(self._channel.fileno(), self._channel.read)
        return pid

    def take_answer(self, *, is_over: bool) -> dict[str, object]:
        """What the fork has sent, if it has ended by itself."""
        if is_over:
            self._channel.read()
        self._line.forget(self._channel.fileno())
        self._channel.close()
        return {"answer": self._channel.answer()} if is_over else {}

    def _become(self, job: Job, guardian: int) -> NoReturn:
        """Do the job in this process, which is the fork."""
        try:
            os.setsid()
            end_with(guardian)
            usual_signals()
            channel = keep_only(self._channel.theirs.detach())
            take_environment(job.env)
            gc.enable()
            self._module.main(job.argv[0], channel)
        except BaseException:  # noqa: BLE001 - nobody is there to raise it to
            traceback.print_exc()
        finally:
            os._exit(BROKEN)


def end_with(parent: int) -> None:
    """Have this process killed when `parent` dies, where the system can."""
    if sys.platform.startswith("linux"):
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it has died already
            os._exit(BROKEN)


def usual_signals() -> None:
    """Make the signals what they are in a Python that has just been started."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def keep_only(channel: int) -> int:
    """Close all files but stdin, stdout, stderr and the channel; return the channel's new, high number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    kept = channel
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with contextlib.suppress(OSError):
        kept = fcntl.fcntl(channel, fcntl.F_DUPFD_CLOEXEC, CHANNEL)
    os.closerange(3, kept)
    os.closerange(kept + 1, max(soft, kept + 1))
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    os.set_inheritable(kept, False)
    return kept


def take_environment(env: dict[str, str]) -> None:
    """Make `env` this process's environment.

    The markers reach programs that are started from here, but `os.environ` doesn't have them: who runs a job, and when,
    is no part of it.
    """
    os.environ.clear()
    os.environ.update(env)
    for name in (MARKER, RUNNER):
        if name in env:
            del os.environ[name]
            os.putenv(name, env[name])
    time.tzset()


def prepare(name: str) -> Prepared | str:
    """Import a module and prepare it; where that can't be done, say why."""
    try:
        module = cast("Prepared", importlib.import_module(name))
        module.prepare()
    except Exception as error:  # noqa: BLE001 - whatever it is, the runner has to hear of it
        return f"{type(error).__name__}: {error}"
    return module


def guard(files: Sequence[int], module: Prepared | str, *, level: str) -> int:
    """Be the guardian of one call; return its exit code: 1 when somebody of its tree is left.

    `files` are its end of the conversation, then stdin, stdout and stderr. `module` may be the reason why there is none.
    """
    fd, *standard = files
    for number, file in enumerate(standard):
        os.dup2(file, number)
        os.close(file)
    subreaper = level == "guardian" and become_subreaper()
    line = Line(fd)
    job = line.read_job()
    if job is None:
        return 0
    if isinstance(module, str):
        line.say(event="failed", message=module)
        return 0
    try:
        os.chdir(job.settings["cwd"])
    except OSError as error:
        line.say(event="failed", errno=error.errno, message=f"{error.strerror}: {error.filename}")
        return 0
    report = ForkingGuardian(line, job.settings, module).run(job, subreaper=subreaper)
    line.say(**report)
    return int(bool(report.get("survivors")))


def kill_all(guardian: int, *, subreaper: bool) -> None:
    """End what a dead guardian has left."""
    nobody, _ = socket.socketpair()
    limits = dict.fromkeys(("grace_s", "orphan_grace_s", "sweep_s", "output_limit_bytes", "max_processes"), 0.0)
    Guardian(Line(nobody.fileno()), limits).kill(Tree(guardian, subreaper=subreaper, marker=os.environ[MARKER]))


def main() -> None:
    """Entry point: see the package's docstring."""
    fd, level, name = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    os.set_inheritable(fd, False)
    leave_stopping_to_the_runner()
    subreaper = level == "guardian" and become_subreaper()
    module = prepare(name)
    sys.argv = [name.rpartition(".")[2]]
    sys.modules["__main__"] = ModuleType("__main__")  # what a job can look at is not this program
    gc.collect()
    gc.freeze()  # so that the forks share these pages
    gc.disable()  # guardians of one call make little that has to be collected
    connection = socket.socket(fileno=fd)
    while files := socket.recv_fds(connection, 1, FILES)[1]:
        guardian = os.fork()
        if guardian == 0:
            os._exit(guard(files, module, level=level))
        for file in files:
            os.close(file)
        _, status = os.waitpid(guardian, 0)
        if status:  # somebody has killed it: what it kept has fallen to this process
            kill_all(guardian, subreaper=subreaper)
            return
        with contextlib.suppress(OSError):  # the runner is gone, which the next message tells
            connection.send(b".")
