"""The child that owns a trial's process tree: starts the agent, and ends everything it started.

Run as `python -I -S guardian.py FD SETTINGS_JSON ARGV...`; standard library only, so that it starts in
milliseconds. FD is one end of a socket pair whose other end only the runner holds. Lines go both ways:

    runner → guardian   `stop`   SIGTERM to the agent, the grace, then SIGKILL for whoever is left
                        `kill`   SIGKILL now
                        (end of file: the runner is gone, `kill -9` included; a short grace)
    guardian → runner   {"event": "started", "pid": …} or {"event": "failed", "message": …}
                        {"event": "ended", …}  when nobody is left

On Linux the guardian is a subreaper: an orphan falls to it whatever session or environment it chose, so
"has no children" means "nobody is left". Elsewhere (level `session`) it finds the trial's processes by the
marker in their environment, which a child that cleared its environment escapes.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import stat
import sys
import time

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
MARKER = "PINCHBENCH_TRIAL"
OUTPUT_CHECK_S = 0.25  # how often the size of the output files is looked at; two fstat calls
KILL_ROUND_S = 0.02  # how long one round of SIGKILL may take to show
KILL_LIMIT_S = 5.0  # a process in uninterruptible sleep can't be killed; give up on it then, and say so
MAX_NAMED = 20  # how many leftovers are named in the report


def become_subreaper() -> bool:
    """Make orphaned descendants fall to this process. False where the system can't."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes  # noqa: PLC0415 - costs 10 ms that other systems need not pay

    try:
        return ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    except (OSError, AttributeError):
        return False


def spawn(argv: list[str]) -> int:
    """Start `argv` in a session of its own with default signals. Raises OSError when it can't be executed."""
    status_r, status_w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            os.execvp(argv[0], argv)  # noqa: S606 - no shell is wanted
        except OSError as error:
            os.write(status_w, str(error.errno or errno.EIO).encode("ascii"))
        finally:
            os._exit(127)
    os.close(status_w)
    failed = os.read(status_r, 16)
    os.close(status_r)
    if failed:
        os.waitpid(pid, 0)
        code = int(failed)
        raise OSError(code, os.strerror(code), argv[0])
    return pid


class Tree:
    """The agent and everyone it started. Collects exit status, CPU time and peak memory while reaping."""

    def __init__(self, pid: int, *, subreaper: bool) -> None:
        self.pid = pid
        self.status: int | None = None
        self.cpu_s = 0.0
        self.peak_rss_bytes = 0
        self._subreaper = subreaper

    def reap(self) -> bool:
        """Collect the dead. True while the guardian still has children."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.pid:
                self.status = status
            self.cpu_s += usage.ru_utime + usage.ru_stime
            unit = 1 if sys.platform == "darwin" else 1024
            self.peak_rss_bytes = max(self.peak_rss_bytes, usage.ru_maxrss * unit)

    def alive(self) -> bool:
        """Whether anybody of the tree lives."""
        return self.reap() or (not self._subreaper and bool(self.living()))

    def living(self) -> list[int]:
        """The living processes of the tree, zombies left out."""
        return _descendants(os.getpid()) if self._subreaper else _marked()

    def signal(self, pid: int, number: int) -> None:
        """Send a signal; a process that has gone meanwhile is fine."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _descendants(root: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - pathlib is slow to import
                text = file.read()
        except OSError:
            continue
        # the command name may hold spaces and parentheses: fields are counted from its last ")"
        state, parent = text[text.rindex(b")") + 2 :].split(b" ", 2)[:2]
        if state not in (b"Z", b"X"):
            parents.setdefault(int(parent), []).append(int(name))
    found: list[int] = []
    queue = [root]
    while queue:
        children = parents.get(queue.pop(), [])
        found += children
        queue += children
    return found


def _marked() -> list[int]:
    import psutil  # noqa: PLC0415 - only where there is no subreaper

    mine = os.environ[MARKER]
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
                continue
            if process.environ().get(MARKER) == mine:
                found.append(process.pid)
    return found


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            return file.read(400).replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def output_size() -> int:
    """Bytes in the files that stdout and stderr go to."""
    total = 0
    for fd in (1, 2):
        info = os.fstat(fd)
        if stat.S_ISREG(info.st_mode):
            total += info.st_size
    return total


class Guardian:
    """Waits for the agent's end, the runner's word or the runner's end, and then ends the tree."""

    def __init__(self, fd: int, settings: dict[str, float]) -> None:
        self._fd = fd
        self._grace_s = settings["grace_s"]
        self._orphan_grace_s = settings["orphan_grace_s"]
        self._sweep_s = settings["sweep_s"]
        self._output_limit = settings["output_limit_bytes"]
        self._reason = "exited"
        self._runner_gone = False
        self._inbox = b""
        self._wake_r, self._wake_w = os.pipe()
        os.set_blocking(self._wake_r, False)
        os.set_blocking(self._wake_w, False)
        signal.set_wakeup_fd(self._wake_w)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)
        self._poll.register(self._wake_r, select.POLLIN)

    def say(self, **line: object) -> None:
        """Send one line to the runner, if it is there."""
        with contextlib.suppress(OSError):
            os.write(self._fd, json.dumps(line).encode() + b"\n")

    def wait(self, timeout_s: float) -> str | None:
        """Sleep until something happens; return the runner's word, if there was one."""
        for fd, _ in self._poll.poll(max(0.0, timeout_s) * 1000):
            if fd == self._wake_r:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake_r, 4096)
                continue
            try:
                data = os.read(self._fd, 4096)
            except OSError:
                data = b""
            if not data:
                self._poll.unregister(self._fd)
                self._runner_gone = True
                return "orphaned"
            self._inbox += data
        word, separator, rest = self._inbox.partition(b"\n")
        if not separator:
            return None
        self._inbox = rest
        return word.decode("ascii", "replace")

    def watch(self, tree: Tree) -> float:
        """Wait until the tree has to go. Returns the clock time at which SIGKILL is due."""
        while tree.reap() and tree.status is None:
            word = self.wait(OUTPUT_CHECK_S)
            if word is None and output_size() > self._output_limit:
                word = "output_limit"
            if word is None:
                continue
            self._reason = "stopped" if word in ("stop", "kill") else word
            if word == "kill":
                return time.monotonic()
            tree.signal(tree.pid, signal.SIGTERM)
            return time.monotonic() + (self._orphan_grace_s if word == "orphaned" else self._grace_s)
        return time.monotonic() + self._sweep_s

    def end(self, tree: Tree, due: float) -> tuple[list[dict[str, object]], int]:
        """End whoever is left. Returns those who outlived the agent and how many had to be killed."""
        leftovers: list[dict[str, object]] = []
        swept = False
        while tree.alive():
            if tree.status is not None and not swept:
                swept = True
                due = min(due, time.monotonic() + self._sweep_s)
                for pid in tree.living():
                    leftovers.append({"pid": pid, "command": _command(pid)})
                    tree.signal(pid, signal.SIGTERM)
            left_s = due - time.monotonic()
            if left_s <= 0:
                return leftovers, self._kill(tree)
            match self.wait(left_s if tree.status is None else min(left_s, OUTPUT_CHECK_S)):
                case "kill":
                    due = time.monotonic()
                case "orphaned":
                    due = min(due, time.monotonic() + self._orphan_grace_s)
        return leftovers, 0

    def _kill(self, tree: Tree) -> int:
        killed: set[int] = set()
        limit = time.monotonic() + KILL_LIMIT_S
        while tree.alive() and time.monotonic() < limit:
            # Stopped first: a stopped process neither forks nor reaps, so the list holds still.
            stopped: set[int] = set()
            while fresh := set(tree.living()) - stopped:
                for pid in fresh:
                    tree.signal(pid, signal.SIGSTOP)
                stopped |= fresh
            for pid in stopped:
                tree.signal(pid, signal.SIGKILL)
            killed |= stopped
            self.wait(KILL_ROUND_S)
        return len(killed)

    def run(self, argv: list[str], *, subreaper: bool) -> None:
        """Start the agent, see it through, and report."""
        try:
            pid = spawn(argv)
        except OSError as error:
            self.say(event="failed", errno=error.errno, message=f"{error.strerror}: {argv[0]}")
            return
        self.say(event="started", pid=pid)
        tree = Tree(pid, subreaper=subreaper)
        leftovers: list[dict[str, object]] = []
        killed = 0
        try:
            leftovers, killed = self.end(tree, self.watch(tree))
        finally:
            if tree.alive():
                killed += self._kill(tree)
        survivors = tree.living() if tree.alive() else []
        code = os.waitstatus_to_exitcode(tree.status) if tree.status is not None else None
        self.say(
            event="ended",
            reason=self._reason,
            exit_code=code,
            leftovers=leftovers[:MAX_NAMED],
            leftover_count=len(leftovers),
            killed=killed,
            survivors=survivors,
            cpu_s=round(tree.cpu_s, 3),
            peak_rss_bytes=tree.peak_rss_bytes,
            level="guardian" if subreaper else "session",
        )


def main() -> None:
    """Entry point: see the module's docstring."""
    fd = int(sys.argv[1])
    os.set_inheritable(fd, False)
    settings = json.loads(sys.argv[2])
    # The runner decides when to stop: a Ctrl-C on the terminal or a service manager's SIGTERM must not.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    subreaper = settings.pop("subreaper") and become_subreaper()
    Guardian(fd, settings).run(sys.argv[3:], subreaper=subreaper)


if __name__ == "__main__":
    main()
