"""Waits for the agent's exit, a command of the runner or the runner's death, and then ends the process tree."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import resource
import signal
import sys
import time

from pinchbench.process.guardian.line import Job, Line
from pinchbench.process.guardian.output_pipes import OutputPipes
from pinchbench.process.guardian.process_tree import MARKER, OWN_NAMES, Tree, become_subreaper, command_line, spawn
from pinchbench.process.guardian.resource_usage import LoadMeter, ResourceLimits

TYPE_CHECKING = False  # instead of importing `typing`, which is slow
if TYPE_CHECKING:
    from pinchbench.process.guardian.answer import AnswerChannel
    from pinchbench.sandbox.enter import Entered

CHECK_S = 0.25  # how often the limits are checked without an event
KILL_ROUND_S = 0.02  # how long to wait for the effect of one round of SIGKILL
KILL_LIMIT_S = 5.0  # a process in uninterruptible sleep can't be killed: give up after this time and report it
MAX_NAMED = 20  # how many leftovers the report lists


def inside_env(job: Job) -> dict[str, str]:
    """Return the environment of a job in a sandbox: the guardian finds its processes there by their namespace."""
    return {name: value for name, value in job.env.items() if name not in OWN_NAMES}


def go_first() -> None:
    """Give this process, but not its children, real-time priority if the system allows it.

    Thousands of forking processes, each in its own session, leave a process with normal priority no time to count and
    end them. Only root can raise the priority, and only root's processes are not limited by RLIMIT_NPROC.
    """
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def limit_file_size(limit_bytes: int) -> None:
    """Limit the size of each file that this process and its children write; 0 means no limit.

    It stops a single file in the moment at which the tree exceeds its limit, instead of at the next measurement.
    """
    if limit_bytes:
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        most = limit_bytes if hard == resource.RLIM_INFINITY else min(limit_bytes, hard)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def kill(tree: Tree, line: Line) -> int:
    """Send SIGKILL to all processes until none is left, for at most `KILL_LIMIT_S`; return how many there were."""
    killed: set[int] = set()
    limit = time.monotonic() + KILL_LIMIT_S
    while tree.alive() and time.monotonic() < limit:
        # Stop them first: stopped processes neither fork nor reap, so the list does not change any more. Signal
        # groups first: a process that forks and exits repeatedly has a new pid before its own is signalled.
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
        line.wait(KILL_ROUND_S)
    return len(killed)


class Guardian:
    """The owner of one job's process tree."""

    def __init__(self, line: Line, settings: dict[str, float]) -> None:
        """Use `line` to communicate with the runner, and the job's `settings`."""
        self._line = line
        self._grace_s = settings["grace_s"]
        self._orphan_grace_s = settings["orphan_grace_s"]
        self._sweep_s = settings["sweep_s"]
        # no file may be larger than the disk space of the whole tree
        self._output_limit = min(settings["output_limit_bytes"], settings["max_disk_bytes"] or math.inf)
        self._limits = ResourceLimits(settings)
        self._load = LoadMeter()
        self._reason = "exited"
        self._exceeded = ""
        self._entered: Entered | None = None
        self._channel: AnswerChannel | None = None
        self._output = OutputPipes(self._output_limit, of_sockets=bool(settings["keeps_output"]))

    def start(self, job: Job) -> int:
        """Start the job's process, or the first process of its sandbox, and return its id.

        Raises OSError if it can't be started.
        """
        if not job.settings["answers"]:
            return self._start(job, hello=b"")
        from pinchbench.process.guardian import answer  # noqa: PLC0415 - takes milliseconds, and few jobs need it

        channel = self._channel = answer.AnswerChannel()
        answer.fix_addresses()
        pid = self._start(job, hello=answer.HELLO)
        channel.accept(pid if self._entered is None else None)
        self._line.listen(channel.fileno(), channel.read)
        return pid

    def _start(self, job: Job, *, hello: bytes) -> int:
        if job.sandbox is None:
            return spawn(job.argv, job.env)
        if job.sandbox["level"] == "landlock":
            from pinchbench.sandbox import landlock_rules  # noqa: PLC0415 - see below

            return landlock_rules.start(job.sandbox, job.argv, job.env)  # by whose mark orphans are found
        from pinchbench.sandbox import enter  # noqa: PLC0415 - takes milliseconds, and only sandboxes need it

        try:
            self._entered = enter.start(job.sandbox, job.argv, inside_env(job), hello=hello)
        except enter.EnterError as error:
            raise OSError(errno.EIO, f"The sandbox could not be set up ({error})") from error
        return self._entered.pid

    def _sandbox_report(self, exit_code: int | None) -> dict[str, object]:
        """Return what the first process of the sandbox has reported, in the words of the report; blocks until its end.

        It has no members if there is no sandbox, or if its first process was killed.
        """
        report = self._entered.read_report() if self._entered is not None else {}
        if not report:
            return {}
        status = report["status"]
        return {
            "exit_code": exit_code if status is None else os.waitstatus_to_exitcode(status),
            "leftovers": report["leftovers"][:MAX_NAMED],
            "lookups": report["lookups"],
            "refused": report["refused"],
        }

    def _take_answer(self, *, is_over: bool) -> dict[str, object]:
        """Return what the job's process has answered, as a member of the report, if it has exited by itself."""
        if self._channel is None:
            return {}
        self._line.forget(self._channel.fileno())
        answer = self._channel.finish()
        return {"answer": answer} if is_over else {}

    def watch(self, tree: Tree) -> float:
        """Wait until the tree has to end. Returns the monotonic time at which SIGKILL is due."""
        while tree.reap() and tree.status is None:
            word = self._line.wait(min(CHECK_S, self._limits.pause_s))
            if word is None and self._output.came_bytes > self._output_limit:
                word = "output_limit"
            self._load.measure(tree)
            if word is None and (exceeded := self._limits.exceeded(tree)):
                word, self._exceeded = "resource_limit", exceeded
            if word is None:
                continue
            tree.reap()
            if tree.status is None:  # otherwise it exited by itself just before the command arrived
                self._reason = "stopped" if word in ("stop", "kill") else word
                if word not in ("kill", "resource_limit"):
                    tree.signal(tree.pid, signal.SIGTERM)
            match word:
                case "kill" | "resource_limit":  # a fork bomb gets no grace
                    return time.monotonic()
                case "orphaned":
                    return time.monotonic() + self._orphan_grace_s
                case _:
                    return time.monotonic() + self._grace_s
        return time.monotonic() + self._sweep_s

    def end(self, tree: Tree, due: float) -> tuple[list[dict[str, object]], int]:
        """End all remaining processes. Returns those that outlived the agent, and how many had to be killed."""
        leftovers: list[dict[str, object]] = []
        swept = False
        while tree.alive():
            if tree.status is not None and not swept:
                swept = True
                due = min(due, time.monotonic() + self._sweep_s)
                for pid in tree.living():
                    leftovers.append({"pid": pid, "command": command_line(pid)})
                    if self._sweep_s:
                        tree.signal(pid, signal.SIGTERM)
            left_s = due - time.monotonic()
            if left_s <= 0:
                return leftovers, kill(tree, self._line)
            word = self._line.wait(min(left_s, CHECK_S, self._limits.pause_s))
            # the grace is for a clean exit, not for filling the disk or the process table
            if self._output.came_bytes > 2 * self._output_limit or self._limits.exceeded(tree):
                word = "kill"
            match word:
                case "kill":
                    due = time.monotonic()
                case "orphaned":
                    due = min(due, time.monotonic() + self._orphan_grace_s)
        return leftovers, 0

    def run(self, job: Job, *, subreaper: bool) -> dict[str, object]:
        """Run the job until no process of it is left, and return the report."""
        if self._limits.exist:
            go_first()
        limit_file_size(self._limits.max_disk_bytes)
        started_at = time.monotonic()
        try:
            try:
                pid = self.start(job)
            finally:
                self._output.give_back()
        except OSError as error:
            what = f": {error.filename}" if error.filename else ""
            return {"event": "failed", "errno": error.errno, "message": f"{error.strerror}{what}"}
        except ValueError as error:  # invalid on every system, such as a NUL
            return {"event": "failed", "message": str(error)}
        self._output.listen(self._line)
        self._line.say(event="started", pid=pid, at=started_at)
        tree = Tree(pid, subreaper=subreaper, marker=job.env[MARKER])
        leftovers: list[dict[str, object]] = []
        answer: dict[str, object] = {}
        killed = 0
        ran_s = 0.0
        load: dict[str, float | None] = {}
        try:
            due = self.watch(tree)
            load = self._load.report()
            answer = self._take_answer(is_over=tree.status is not None)
            ran_s = time.monotonic() - started_at - self._line.asleep_s
            leftovers, killed = self.end(tree, due)
        finally:
            if tree.alive():
                killed += kill(tree, self._line)
            self._output.finish()
        duration_s = time.monotonic() - started_at - self._line.asleep_s
        exit_code = os.waitstatus_to_exitcode(tree.status) if tree.status is not None else None
        return {
            **answer,
            "event": "ended",
            "reason": self._reason,
            "error": self._exceeded if self._reason == "resource_limit" else "",
            "exit_code": exit_code,
            "ran_s": round(ran_s, 3),
            "duration_s": round(duration_s, 3),
            "asleep_s": round(self._line.asleep_s, 3),
            "leftovers": leftovers[:MAX_NAMED],
            "killed": killed,
            "survivors": list(tree.living()) if tree.alive() else [],
            "cpu_s": round(tree.cpu_s, 3),
            "peak_rss_bytes": tree.peak_rss_bytes,
            "load": load,
            "level": (job.sandbox or {}).get("level", "guardian" if subreaper else "session"),
            **self._sandbox_report(exit_code),
        }


def kill_orphans(guardian: int, *, marker: str) -> None:
    """Kill the processes that a dead guardian, a child of this process, has left."""
    go_first()  # it may have died of a fork bomb
    silent, _ = os.pipe()  # in place of the runner, which has nothing more to say
    kill(Tree(guardian, subreaper=True, marker=marker), Line(silent))


def stand_by(marker: str) -> None:
    """Return in a fork of this process, which becomes the guardian; this process waits for its end, and exits.

    If the guardian is killed, its orphans become children of this subreaper, which kills them; if this process is, the
    runner hangs up, and the guardian ends its tree. This process keeps its end of the connection: the runner must not
    take the guardian's death for the end. Raises OSError if there are too many processes.
    """
    guardian = os.fork()
    if guardian == 0:
        os.setsid()  # so that a signal to one's process group does not reach the other
        become_subreaper()
        return
    signal.set_wakeup_fd(-1)  # which is the fork's too
    _, status = os.waitpid(guardian, 0)
    if status:
        kill_orphans(guardian, marker=marker)
    os._exit(0)


def leave_stopping_to_the_runner() -> None:
    """Ignore Ctrl-C on the terminal, a service manager's SIGTERM, and SIGHUP: the runner decides when to stop."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def main() -> None:
    """Run the guardian; see the package's docstring."""
    fd = int(sys.argv[1])
    os.set_inheritable(fd, False)
    leave_stopping_to_the_runner()
    subreaper = sys.argv[2] == "guardian" and become_subreaper()
    line = Line(fd)
    if (job := line.read_job()) is None:
        return
    if subreaper and (job.sandbox or {}).get("level") != "namespaces":  # whose kernel ends them with the guardian
        with contextlib.suppress(OSError):
            stand_by(job.env[MARKER])
    line.say(**Guardian(line, job.settings).run(job, subreaper=subreaper))
    os._exit(0)  # Python's shutdown would first copy most of the pages that a fork shares with its parent
