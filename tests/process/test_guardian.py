"""The guardian by itself: its functions, and the protocol it speaks as a plain script."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import anyio
import psutil
import pytest
from anyio import fail_after, to_thread

from fakes import LIMIT_S, until
from pinchbench.process.guardian.process_tree import MARKER
from pinchbench.process.guardian_link import GUARDIAN
from process.conftest import DEAF, POLITE, PlayFolders

SETTINGS = {
    "grace_s": 600.0,  # this and the sweep last longer than any test waits
    "orphan_grace_s": 0.2,
    "sweep_s": 600.0,
    "output_limit_bytes": 1_000_000,
    "max_processes": 0,
    "max_memory_bytes": 0,
    "max_disk_bytes": 0,
    "measured": [],
    "gap_s": 60.0,
    "answers": False,
    "keeps_output": False,
}
ENV = {"PATH": os.environ["PATH"]}


class Talk:
    """A guardian and the runner's end of its socket."""

    def __init__(self, stage: PlayFolders, argv: Sequence[str], **settings: object) -> None:
        """Start it, and give it its job."""
        self.socket, theirs = socket.socketpair()
        self.socket.setblocking(False)
        with theirs, stage.stdout.open("ab") as stdout, stage.stderr.open("ab") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", GUARDIAN, str(theirs.fileno()), "guardian"],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                cwd=stage.folder,
                env={MARKER: stage.marker},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self._held = b""
        job = {"argv": argv, "env": {**ENV, MARKER: stage.marker}, **SETTINGS, **settings}
        self.say(json.dumps(job).encode() + b"\n")

    def say(self, words: bytes) -> None:
        self.socket.sendall(words)

    async def hear(self) -> dict[str, object]:
        while b"\n" not in self._held:
            with fail_after(LIMIT_S):
                await anyio.wait_readable(self.socket)
            data = self.socket.recv(65536)
            assert data, "the guardian ended without a word"
            self._held += data
        line, _, self._held = self._held.partition(b"\n")
        message: dict[str, object] = json.loads(line)
        return message

    async def end(self) -> dict[str, object]:
        while (message := await self.hear())["event"] == "started":
            pass
        return message

    async def silence(self) -> None:
        """Wait until it is gone, with no word more."""
        with fail_after(LIMIT_S):
            await anyio.wait_readable(self.socket)
        assert self._held + self.socket.recv(65536) == b""

    def close(self) -> None:
        self.socket.close()
        self.process.wait(timeout=60)


Start = Callable[..., Talk]


@pytest.fixture
def talk(stage: PlayFolders) -> Iterator[Start]:
    talks = []

    def start(argv: Sequence[str], **settings: object) -> Talk:
        talks.append(Talk(stage, argv, **settings))
        return talks[-1]

    yield start
    for one in talks:
        one.close()


async def test_tells_start_and_end(talk: Start) -> None:
    before = time.monotonic()
    guard = talk(["sh", "-c", "exit 3"])
    started = await guard.hear()
    ended = await guard.hear()
    await guard.silence()
    assert started["event"] == "started"
    assert isinstance(started["pid"], int)
    assert before < float(str(started["at"])) < time.monotonic()
    assert (ended["event"], ended["reason"], ended["exit_code"]) == ("ended", "exited", 3)
    assert (ended["leftovers"], ended["killed"], ended["survivors"]) == ([], 0, [])


async def test_time_in_which_it_was_stopped_does_not_count(talk: Start, stage: PlayFolders) -> None:
    agent = stage.python(
        """
        import os, time
        from present import present
        connections = [present()]
        while " T " not in open(f"/proc/{os.getppid()}/stat").read():
            time.sleep(0.01)
        time.sleep(1)  # from when the guardian is stopped, whenever that is
        connections.append(present())
        """
    )
    guard = talk(agent, gap_s=0.4)
    (pid,) = (await stage.roll.present()).values()
    guardian = psutil.Process(pid).parent()
    assert guardian is not None
    guardian.suspend()
    await stage.roll.present()
    await stage.roll.all_gone()
    guardian.resume()
    ended = await guard.end()
    assert (ended["reason"], ended["exit_code"]) == ("exited", 0)
    ran_s, duration_s, asleep_s = (float(str(ended[name])) for name in ("ran_s", "duration_s", "asleep_s"))
    assert asleep_s > 0.4
    assert 0 < ran_s <= duration_s


async def test_tells_why_it_could_not_start(talk: Start) -> None:
    guard = talk(["/nowhere/agent"])
    failed = await guard.hear()
    await guard.silence()
    assert failed == {"event": "failed", "errno": 2, "message": "No such file or directory: /nowhere/agent"}


@pytest.mark.parametrize("words", [(b"stop\nkill\n",), (b"st", b"op\n", b"kill\n")], ids=["at once", "in pieces"])
async def test_a_kill_ends_the_grace(talk: Start, stage: PlayFolders, words: Sequence[bytes]) -> None:
    guard = talk(stage.python(DEAF))
    await stage.roll.present()
    for word in words:
        guard.say(word)
    ended = await guard.end()
    await stage.roll.all_gone()
    assert (ended["reason"], ended["exit_code"], ended["killed"]) == ("stopped", -signal.SIGKILL, 1)


async def test_a_kill_ends_the_sweep(talk: Start, stage: PlayFolders) -> None:
    agent = stage.python(
        """
        import os, signal, time
        from present import present
        connections = [present("child")]
        signal.signal(signal.SIGTERM, lambda *_: connections.append(present("swept")))
        read, write = os.pipe()
        if os.fork():
            os.read(read, 1)  # Python forgets a signal that comes while it forks
            os._exit(5)
        os.write(write, b"1")
        while True:
            time.sleep(600)
        """
    )
    guard = talk(agent)
    assert (await stage.roll.present(2)).keys() == {"child", "swept"}
    guard.say(b"kill\n")
    ended = await guard.end()
    await stage.roll.all_gone()
    assert (ended["reason"], ended["exit_code"], ended["killed"]) == ("exited", 5, 1)


async def test_a_polite_agent_may_end_itself_when_the_runner_is_gone(talk: Start, stage: PlayFolders) -> None:
    guard = talk(stage.python(POLITE), orphan_grace_s=60)
    await stage.roll.present()
    guard.socket.shutdown(socket.SHUT_RDWR)
    await stage.roll.all_gone()
    await to_thread.run_sync(guard.close)  # it writes what is left in the pipes
    assert stage.out() == "last words\n"


async def test_the_grace_is_no_licence_to_write(talk: Start, stage: PlayFolders) -> None:
    agent = stage.python(
        """
        import os, signal
        from present import present
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        connection = present()
        while True:
            os.write(1, bytes(65536))
        """
    )
    guard = talk(agent)
    ended = await guard.end()
    await stage.roll.present()
    await stage.roll.all_gone()
    assert (ended["reason"], ended["exit_code"]) == ("output_limit", -signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_only_the_runner_tells_it_to_end(talk: Start, stage: PlayFolders, number: signal.Signals) -> None:
    guard = talk(stage.bash("exec {stay} agent"))
    await stage.roll.present()
    guard.process.send_signal(number)
    guard.say(b"stop\n")
    ended = await guard.end()
    assert (ended["reason"], ended["exit_code"]) == ("stopped", -signal.SIGTERM)


async def test_one_whose_first_thread_has_ended_is_no_zombie(talk: Start, stage: PlayFolders) -> None:
    agent = stage.python(
        """
        import ctypes, threading, time
        from present import present
        connection = present()
        threading.Thread(target=time.sleep, args=(600,)).start()
        ctypes.CDLL(None).pthread_exit(None)
        """
    )
    guard = talk(agent, grace_s=0.1)
    (pid,) = (await stage.roll.present()).values()
    await until(lambda: psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    guard.say(b"kill\n")
    ended = await guard.end()
    await stage.roll.all_gone()
    assert (ended["exit_code"], ended["killed"], ended["survivors"]) == (-signal.SIGKILL, 1, [])


async def test_one_that_is_always_another_process_is_caught(talk: Start, stage: PlayFolders) -> None:
    agent = stage.python(
        """
        import os, signal, time
        from present import present
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        connection = present()
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            if os.fork():
                os._exit(0)
        """
    )
    guard = talk(agent, sweep_s=0.1)
    await stage.roll.present()
    ended = await guard.end()
    await stage.roll.all_gone()
    assert (ended["exit_code"], ended["survivors"]) == (0, [])


CROWD = """
import os, signal, sys, time
from present import present
signal.alarm(20)  # whatever happens, it is over then
signal.signal(signal.SIGTERM, signal.SIG_IGN)
connection = present()
agent = os.getpid()
if "leave" in sys.argv:
    if os.fork():
        os._exit(0)
    signal.alarm(20)
    while os.getppid() == agent:  # the crowd comes when the agent has gone
        time.sleep(0.01)
for _ in range(30):
    if os.fork() == 0:
        signal.alarm(20)
        if "sessions" in sys.argv:
            os.setsid()
        if "zombies" in sys.argv:
            os._exit(0)
        if "more" in sys.argv and os.fork() == 0:
            signal.alarm(20)
        break
time.sleep(600)
"""


@pytest.mark.parametrize("how", ["plain", "sessions", "zombies", "more"])
async def test_a_tree_of_more_processes_than_it_may_have_is_killed_at_once(
    talk: Start, stage: PlayFolders, how: str
) -> None:
    guard = talk(stage.python(CROWD, how), max_processes=20)
    await stage.roll.present()
    ended = await guard.end()
    await stage.roll.all_gone()
    assert (ended["reason"], ended["exit_code"]) == ("resource_limit", -signal.SIGKILL)
    assert ended["survivors"] == []


async def test_those_who_are_left_over_may_not_be_a_crowd_either(talk: Start, stage: PlayFolders) -> None:
    guard = talk(stage.python(CROWD, "more", "leave"), max_processes=20)
    await stage.roll.present()
    ended = await guard.end()
    await stage.roll.all_gone()
    assert (ended["exit_code"], ended["survivors"]) == (0, [])
    assert ended["killed"]


@pytest.mark.skipif(not sys.platform.startswith("linux") or os.getuid() != 0, reason="only root goes first, on Linux")
async def test_the_guardian_of_a_limited_tree_goes_first_and_nobody_else(talk: Start, stage: PlayFolders) -> None:
    guard = talk(stage.bash("exec {stay} agent"), max_processes=20)
    (pid,) = (await stage.roll.present()).values()
    assert os.sched_getscheduler(psutil.Process(pid).ppid()) & ~os.SCHED_RESET_ON_FORK == os.SCHED_RR
    assert os.sched_getscheduler(pid) == os.SCHED_OTHER
    guard.say(b"kill\n")
    await stage.roll.all_gone()
