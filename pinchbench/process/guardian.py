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
COUNT_CHECK_S = 0.25  # how often processes are counted where their number is limited; some milliseconds
KILL_ROUND_S = 0.02  # how long one round of SIGKILL may take to show
KILL_LIMIT_S = 5.0  # a process in uninterruptible sleep can't be killed; give up on it then, and say so
MAX_NAMED = 20  # how many leftovers are named in the report


def become_subreaper() -> bool:
    """Make orphaned descendants fall to this process. False where the system can't."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes  # noqa: PLC0415 - costs 10 ms that other systems need not pay

    try:
        return int(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) == 0
    except (OSError, AttributeError):
        return False


def go_first() -> None:
    """Run before everybody else whenever there is something to do; the children don't. Where the system allows it.

    Thousands of processes that fork, each in a session of its own, leave an ordinary process no time to count and to
    end them. Only root may do this, and only root's processes are not held back by RLIMIT_NPROC.
    """
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def spawn(argv: list[str]) -> int:
    """Start `argv` in a session of its own with default signals. Raises OSError when it can't be executed."""
    status_r, status_w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            # All of them: Python ignores two of its own, and who started the runner may have had others ignored.
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
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
        """`pid` is the agent's, a child of this process."""
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

    def living(self) -> dict[int, int]:
        """The living processes of the tree with their process groups, zombies left out."""
        return _descendants(os.getpid()) if self._subreaper else _marked()

    def size(self) -> int:
        """How many processes the tree has; zombies that nobody has reaped take up room too."""
        return len(_descendants(os.getpid(), zombies=True) if self._subreaper else _marked())

    def signal(self, pid: int, number: int) -> None:
        """Send a signal; a process that has gone meanwhile is fine."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)

    def signal_groups(self, groups: set[int], number: int) -> None:
        """Send a signal to whole process groups of the tree: it reaches the child of a fork that is under way."""
        for group in groups - {0, 1, os.getpgrp()}:  # of a group that can't be seen from here, 0 is told
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)


def _descendants(root: int, *, zombies: bool = False) -> dict[int, int]:
    parents: dict[int, list[int]] = {}
    groups: dict[int, int] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib is slow to import
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - pathlib is slow to import
                text = file.read()
        except OSError:
            continue
        # the command name may hold spaces and parentheses: fields are counted from its last ")"
        fields = text[text.rindex(b")") + 2 :].split(b" ")
        state, parent, threads = fields[0], fields[1], int(fields[17])
        # a program whose first thread has ended looks like a zombie, but has other threads that live on
        if zombies or state not in (b"Z", b"X") or threads > 1:
            parents.setdefault(int(parent), []).append(int(name))
            groups[int(name)] = int(fields[2])
    found: dict[int, int] = {}
    queue = [root]
    while queue:
        children = parents.get(queue.pop(), [])
        found.update((child, groups[child]) for child in children)
        queue += children
    return found


def _marked() -> dict[int, int]:
    import psutil  # noqa: PLC0415 - only where there is no subreaper

    mine = os.environ[MARKER]
    found = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
                continue
            if process.environ().get(MARKER) == mine:
                found[process.pid] = os.getpgid(process.pid)
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
        """`fd` is this end of the conversation with the runner."""
        self._fd = fd
        self._grace_s = settings["grace_s"]
        self._orphan_grace_s = settings["orphan_grace_s"]
        self._sweep_s = settings["sweep_s"]
        self._output_limit = settings["output_limit_bytes"]
        self._max_processes = settings["max_processes"]
        self._gap_s = settings["gap_s"]
        self._counted_at = 0.0
        self._reason = "exited"
        self._asleep_s = 0.0
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
        if b"\n" in self._inbox:  # two words came at once: the second must not wait for anything
            timeout_s = 0
        due = time.monotonic() + max(0.0, timeout_s)
        came = self._poll.poll(max(0.0, timeout_s) * 1000)
        late_s = time.monotonic() - due
        if late_s > self._gap_s:  # so late is nobody who is merely busy: the container was paused
            self._asleep_s += late_s
        for fd, _ in came:
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
                return "orphaned"
            self._inbox += data
        word, separator, rest = self._inbox.partition(b"\n")
        if not separator:
            return None
        self._inbox = rest
        return word.decode("ascii", "replace")

    def is_crowded(self, tree: Tree) -> bool:
        """Whether the tree has more processes than it may, looked at now and then."""
        if not self._max_processes or time.monotonic() < self._counted_at + COUNT_CHECK_S:
            return False
        self._counted_at = time.monotonic()
        return tree.size() > self._max_processes

    def watch(self, tree: Tree) -> float:
        """Wait until the tree has to go. Returns the clock time at which SIGKILL is due."""
        while tree.reap() and tree.status is None:
            word = self.wait(OUTPUT_CHECK_S)
            if word is None and output_size() > self._output_limit:
                word = "output_limit"
            if word is None and self.is_crowded(tree):
                word = "process_limit"
            if word is None:
                continue
            tree.reap()
            if tree.status is None:  # else it ended by itself just before the word came
                self._reason = "stopped" if word in ("stop", "kill") else word
                if word not in ("kill", "process_limit"):
                    tree.signal(tree.pid, signal.SIGTERM)
            match word:
                case "kill" | "process_limit":  # what multiplies gets no grace to do so
                    return time.monotonic()
                case "orphaned":
                    return time.monotonic() + self._orphan_grace_s
                case _:
                    return time.monotonic() + self._grace_s
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
            word = self.wait(min(left_s, OUTPUT_CHECK_S))
            # the grace is for last words, not for filling the disk or the process table
            if output_size() > 2 * self._output_limit or self.is_crowded(tree):
                word = "kill"
            match word:
                case "kill":
                    due = time.monotonic()
                case "orphaned":
                    due = min(due, time.monotonic() + self._orphan_grace_s)
        return leftovers, 0

    def _kill(self, tree: Tree) -> int:
        killed: set[int] = set()
        limit = time.monotonic() + KILL_LIMIT_S
        while tree.alive() and time.monotonic() < limit:
            # Stopped first: a stopped process neither forks nor reaps, so the list holds still. By group first:
            # one that forks and ends all the time is another process whenever its turn comes.
            stopped: dict[int, int] = {}
            while time.monotonic() < limit:
                fresh = {pid: group for pid, group in tree.living().items() if pid not in stopped}
                if not fresh:
                    break
                tree.signal_groups(set(fresh.values()), signal.SIGSTOP)
                for pid in fresh:
                    tree.signal(pid, signal.SIGSTOP)
                stopped |= fresh
            tree.signal_groups(set(stopped.values()), signal.SIGKILL)
            for pid in stopped:
                tree.signal(pid, signal.SIGKILL)
            killed |= stopped.keys()
            self.wait(KILL_ROUND_S)
        return len(killed)

    def run(self, argv: list[str], *, subreaper: bool) -> None:
        """Start the agent, see it through, and report."""
        started_at = time.monotonic()
        try:
            pid = spawn(argv)
        except OSError as error:
            self.say(event="failed", errno=error.errno, message=f"{error.strerror}: {argv[0]}")
            return
        self.say(event="started", pid=pid)
        tree = Tree(pid, subreaper=subreaper)
        leftovers: list[dict[str, object]] = []
        killed = 0
        ran_s = 0.0
        try:
            due = self.watch(tree)
            ran_s = time.monotonic() - started_at - self._asleep_s
            leftovers, killed = self.end(tree, due)
        finally:
            if tree.alive():
                killed += self._kill(tree)
        survivors = list(tree.living()) if tree.alive() else []
        duration_s = time.monotonic() - started_at - self._asleep_s
        code = os.waitstatus_to_exitcode(tree.status) if tree.status is not None else None
        self.say(
            event="ended",
            reason=self._reason,
            exit_code=code,
            ran_s=round(ran_s, 3),
            duration_s=round(duration_s, 3),
            asleep_s=round(self._asleep_s, 3),
            leftovers=leftovers[:MAX_NAMED],
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
    if settings.pop("drop_lc_ctype"):  # Python sets it for itself where no locale is set; the agent must not see that
        os.environ.pop("LC_CTYPE", None)
    subreaper = settings.pop("subreaper") and become_subreaper()
    if settings["max_processes"]:
        go_first()
    Guardian(fd, settings).run(sys.argv[3:], subreaper=subreaper)


if __name__ == "__main__":
    main()
