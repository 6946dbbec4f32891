"""A lock file that identifies the writer of a journal, for file systems without locks of their own."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pinchbench.decoding import decode_json
from pinchbench.errors import ResultsError
from pinchbench.files.folders import is_local

if TYPE_CHECKING:
    from typing import Self

MAX_LOCK_BYTES = 4096
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
PID_SPACE = Path("/proc/self/ns/pid")
TAKE_OVERS = 3  # of locks of dead runners in a row: more than one means that other processes compete for it


class _Owner(msgspec.Struct, frozen=True, kw_only=True):
    """A process, with what others need to find out whether it is alive. Fields are empty if unknown to the system."""

    host: str
    pid: int
    started: str = ""
    boot: str = ""
    space: str = ""

    @classmethod
    def own(cls) -> Self:
        """Return this process."""
        boot = space = ""
        with suppress(OSError):
            boot = BOOT_ID.read_text(encoding="ascii").strip()
        with suppress(OSError):
            space = str(PID_SPACE.readlink())  # containers share the boot id, but not the pids
        return cls(
            host=os.uname().nodename, pid=os.getpid(), started=_started(os.getpid()) or "", boot=boot, space=space
        )

    def is_visible(self, own: _Owner) -> bool:
        """Whether `own` can see all processes of this one's host, container and boot."""
        return (self.host, self.boot, self.space) == (own.host, own.boot, own.space)

    def is_gone(self, own: _Owner, *, unseen: bool) -> bool:
        """Whether the process has certainly ended, as seen from `own`; `unseen` is the answer if `own` can't see it."""
        if not self.is_visible(own):
            is_rebooted = self.host == own.host and self.boot and own.boot and self.boot != own.boot
            return bool(is_rebooted) or unseen
        started = _started(self.pid)
        return started is None or bool(self.started and started and self.started != started)


def _started(pid: int) -> str | None:
    """Return a process's start time as the system counts it: empty if unknown, None if it is dead."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return None
    except PermissionError:
        pass  # another user's process: it is alive
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return None if fields[0] in {b"Z", b"X"} else fields[19].decode()


class LockFile:
    """A lock that is a file. The process that takes it releases it; a dead runner's lock is taken over.

    With `takes_over`, so is the lock of a runner on another host or in another container, whose state can't be seen. If
    that runner is alive, it notices before its next write.
    """

    def __init__(self, path: Path, *, takes_over: bool = False) -> None:
        """Create the object; nothing is locked yet."""
        self._path = path
        self._takes_over = takes_over
        self._taken: tuple[int, int] | None = None

    def take(self) -> None:
        """Create the file. Raises ResultsError if a runner that may be alive holds it, or if it can't be created."""
        for _ in range(TAKE_OVERS):
            self.refuse_others()
            try:
                fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                continue
            except OSError as error:
                raise ResultsError(f"The lock {self._path} can't be made: {error.strerror}.") from error
            try:
                info = os.fstat(fd)
                self._taken = info.st_dev, info.st_ino
                os.write(fd, msgspec.json.encode(_Owner.own()))
            except OSError as error:
                self.release()
                raise ResultsError(f"The lock {self._path} can't be written: {error.strerror}.") from error
            finally:
                os.close(fd)
            return
        raise ResultsError(f"Another pinchbench-async is about to write the run {self._path.parent}.")

    def refuse_others(self, *, unseen: bool = False) -> None:
        """Remove the file if its runner is dead. Raises ResultsError if it may be alive.

        With `unseen`, a runner that can't be seen from here is assumed to be dead.
        """
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        except OSError as error:
            raise ResultsError(f"The lock {self._path} can't be read: {error.strerror}.") from error
        own = _Owner.own()
        surely = (
            f"If it has surely ended, `pinchbench-async resume {self._path.parent} --take-over` goes on all the same."
        )
        try:
            owner = decode_json(os.read(fd, MAX_LOCK_BYTES), _Owner)
        except (OSError, msgspec.DecodeError) as error:
            if not self._takes_over:
                raise ResultsError(
                    f"The lock {self._path} does not say which pinchbench-async writes the run. {surely}"
                ) from error
        else:
            if owner.is_visible(own) and not owner.is_gone(own, unseen=False):
                raise ResultsError(
                    f"Another pinchbench-async is writing the run {self._path.parent}: process {owner.pid}."
                )
            if not owner.is_gone(own, unseen=unseen or self._takes_over):
                raise ResultsError(
                    f"Another pinchbench-async was writing the run {self._path.parent} and can't be seen from here:"
                    f" process {owner.pid} on {owner.host}, or in a container of it. {surely}"
                )
        finally:
            os.close(fd)
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise ResultsError(f"The lock {self._path} can't be removed: {error.strerror}.") from error

    @property
    def is_lost(self) -> bool:
        """Whether the file is no longer the one that was created; False if none was."""
        if self._taken is None:
            return False
        try:
            info = self._path.lstat()
        except OSError:
            return True
        return (info.st_dev, info.st_ino) != self._taken

    def release(self) -> None:
        """Remove the file, if it was created here and is still the same."""
        if self._taken is not None and not self.is_lost:
            with suppress(OSError):
                self._path.unlink()
        self._taken = None


def is_written(journal: Path) -> bool:
    """Whether a runner writes a journal, or may do so; nothing is changed or taken over. Blocks briefly.

    Raises OSError if this can't be determined.
    """
    # a shared lock, held for microseconds: the least obstacle to a runner that starts at this moment
    fd = os.open(journal, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    unseen = False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        unseen = is_local(fd)
    except BlockingIOError:
        return True
    except OSError:
        pass  # a file system without locks: check the lock file
    finally:
        os.close(fd)
    try:
        owner = decode_json(lock_of(journal).read_bytes()[:MAX_LOCK_BYTES], _Owner)
    except FileNotFoundError:
        return False
    except msgspec.DecodeError:
        return True
    return not owner.is_gone(_Owner.own(), unseen=unseen)


def lock_of(journal: Path) -> Path:
    """Return the path of a journal's lock file."""
    return journal.with_suffix(".lock")
