"""Real processes under a guardian: whatever they do, none is left."""

import asyncio
import json
import math
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import anyio
import psutil
import pytest
from anyio import CancelScope, create_task_group, fail_after, to_thread
from anyio.streams.buffered import BufferedByteReceiveStream

from fakes import until
from pinchbench.process.awake import Clocks, Reading
from pinchbench.process.leftovers import find_marked, identity
from pinchbench.process.spec import EndReason, Limits, ProcessEnd, ProcessSpec, StopSignal
from pinchbench.process.supervise import contain_level, supervise
from process.conftest import DEAF, LONG_S, PATIENT_LIMITS, POLITE, QUICK_LIMITS, PlayFolders, Running, Start, supervised
from processes import lives
from sampling import sampled

both_backends = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])

# For an agent that goes when it is asked to, among others that do not.
OWN_TIME = replace(QUICK_LIMITS, grace_s=PATIENT_LIMITS.grace_s)
OF_THE_C_LIBRARY = 1 << 31 | 1 << 32  # signals 32 and 33 are glibc's own; nobody else can set or see them
MIB = 1024 * 1024

DAEMON = """
import os, sys, time
from present import present
if os.fork():
    os._exit(0)
os.setsid()
parent = os.getpid()
if os.fork():
    os._exit(0)
while os.getppid() == parent:  # a process that sees this one sees no other
    time.sleep(0.01)
os.chdir("/")
os.closerange(0, 256)
os.open("/dev/null", os.O_RDWR)
connection = present(sys.argv[1])
time.sleep(600)
"""

# The ways in which a child can outlive the one who started it. `N` is its name.
SHAPES = {
    "background": "{stay} N &",
    "session": "setsid {stay} N &",
    "double_fork": "( {stay} N & ) &",
    "no_environment": "env -i {stay} N &",
    "daemon": "{python} -S daemon.py N",
    "nohup": "nohup {stay} N > nohup.log 2>&1 &",
    "deaf": "{python} -S deaf.py N &",
    "deaf_daemon": "setsid env -i {python} -S deaf.py N > /dev/null 2>&1 < /dev/null &",
    "grandchild_with_stdout": "bash -c '{stay} N & exit 0' &",
}


class Crowd:
    """Shell commands that start children in one shape or all of them."""

    def __init__(self, stage: PlayFolders) -> None:
        """Write their scripts."""
        self._stage = stage
        stage.script("daemon", DAEMON)
        stage.script("deaf", DEAF)

    def start(self, *shapes: str) -> str:
        lines = [SHAPES[shape].replace("N", shape).replace("{python}", sys.executable) for shape in shapes]
        return "\n".join(lines) + "\n"

    def script(self, shapes: list[str], then: str) -> list[str]:
        return self._stage.bash(self.start(*shapes) + then)


@pytest.fixture
def crowd(stage: PlayFolders) -> Crowd:
    return Crowd(stage)


@pytest.fixture
def gate(stage: PlayFolders) -> Iterator[Callable[[], None]]:
    """A named pipe `gate` in the stage's folder, and a call that lets the agent pass it."""
    path = stage.folder / "gate"
    os.mkfifo(path)
    pipe = os.open(path, os.O_RDWR)  # held open from here, so that neither side waits for the other

    def open_gate() -> None:
        os.write(pipe, b"\n")

    yield open_gate
    os.close(pipe)


@asynccontextmanager
async def running(
    stage: PlayFolders,
    argv: list[str],
    *,
    present: int = 1,
    tree: int = 0,
    limits: Limits = QUICK_LIMITS,
    timeout_s: float = LONG_S,
    level: str = "",
    clocks: Clocks | None = None,
) -> AsyncIterator[Running]:
    """Supervise next to the block, which begins once so many have answered the roll call; afterwards nobody is left.

    With `tree`, it begins when those who only started others have gone, and so many processes are there.
    """
    async with supervised(stage.spec(argv, limits=limits), timeout_s=timeout_s, level=level, clocks=clocks) as agent:
        agent.came.update(await stage.roll.present(present))
        await until(lambda: not tree or stage.tree() == tree)
        yield agent
    await stage.roll.all_gone()


async def run(spec: ProcessSpec, *, timeout_s: float = LONG_S) -> ProcessEnd:
    """Supervise an agent that ends by itself or at a limit."""
    with fail_after(60):
        return await supervise(spec, timeout_s=timeout_s)


class TestNormalEnd:
    @both_backends
    async def test_exit_code_output_and_figures(self, stage: PlayFolders) -> None:
        end = await run(
            stage.spec(stage.bash("echo out; echo err >&2; head -c 30000000 /dev/zero | md5sum > /dev/null; exit 3"))
        )
        assert (end.reason, end.exit_code, end.leftovers, end.killed) == (EndReason.EXITED, 3, (), 0)
        assert (stage.out(), stage.err()) == ("out\n", "err\n")
        assert end.level == contain_level()
        assert end.cpu_s > 0
        assert end.peak_rss_bytes > MIB
        assert 0 < end.ran_s <= end.duration_s
        assert end.load is None or end.load.measured_s == end.ran_s

    async def test_death_by_signal(self, stage: PlayFolders) -> None:
        end = await run(stage.spec(stage.bash("kill -USR1 $$")))
        assert (end.reason, end.exit_code) == (EndReason.EXITED, -signal.SIGUSR1)

    async def test_peak_memory_is_that_of_the_largest_process(self, stage: PlayFolders) -> None:
        hungry = stage.python("bytearray(100 * 1024 * 1024)")
        end = await run(stage.spec(stage.bash(f"{' '.join(hungry)}; true")))
        assert end.peak_rss_bytes > 100 * MIB

    @pytest.mark.parametrize("shape", SHAPES)
    async def test_leftovers_are_ended_and_named(
        self, stage: PlayFolders, crowd: Crowd, gate: Callable[[], None], shape: str
    ) -> None:
        # The agent stays until its child is there, so that what is left over is known.
        argv = stage.python(
            """
            import subprocess, sys
            subprocess.run(["bash", "-c", sys.argv[1]])
            open("gate").readline()
            sys.exit(4)
            """,
            crowd.start(shape).replace("{stay}", stage.stay),
        )
        limits = QUICK_LIMITS if "deaf" in shape else PATIENT_LIMITS
        async with running(stage, argv, tree=2, limits=limits) as agent:
            gate()
        assert (agent.end.reason, agent.end.exit_code) == (EndReason.EXITED, 4)
        assert [one.command.split()[-1] for one in agent.end.leftovers] == [shape]
        assert agent.end.killed == int("deaf" in shape)


class TestEveryEnd:
    """All shapes at once, ended in each way."""

    everybody = len(SHAPES) + 1

    @both_backends
    async def test_timeout(self, stage: PlayFolders, crowd: Crowd) -> None:
        spec = stage.spec(crowd.script(list(SHAPES), "wait; sleep 600"), limits=OWN_TIME)
        end = await run(spec, timeout_s=1.0)
        await stage.roll.all_gone()
        assert (end.reason, end.exit_code) == (EndReason.TIMED_OUT, -signal.SIGTERM)
        assert end.ran_s >= 1.0

    @both_backends
    async def test_stop(self, stage: PlayFolders, crowd: Crowd) -> None:
        argv = crowd.script(list(SHAPES), "exec {stay} agent")
        async with running(stage, argv, present=self.everybody, tree=self.everybody, limits=PATIENT_LIMITS) as agent:
            agent.stop_signal.stop.set()
            for name, pid in agent.came.items():
                await until(lambda name=name, pid=pid: "deaf" in name or not lives(pid))  # type: ignore[misc]
            agent.stop_signal.hurry.set()
        assert (agent.end.reason, agent.end.exit_code) == (EndReason.STOPPED, -signal.SIGTERM)
        assert len(agent.end.leftovers) == len(SHAPES)
        assert agent.end.killed == 2

    async def test_hurry_during_the_grace(self, stage: PlayFolders, crowd: Crowd) -> None:
        argv = crowd.script(list(SHAPES), f"exec {sys.executable} -S deaf.py agent")
        async with running(stage, argv, present=self.everybody, limits=Limits(grace_s=LONG_S)) as agent:
            agent.stop_signal.stop.set()
            await anyio.wait_all_tasks_blocked()
            agent.stop_signal.hurry.set()
        assert (agent.end.reason, agent.end.exit_code) == (EndReason.STOPPED, -signal.SIGKILL)

    async def test_hurry_from_the_beginning(self, stage: PlayFolders, crowd: Crowd) -> None:
        argv = crowd.script(list(SHAPES), "exec {stay} agent")
        async with running(stage, argv, present=self.everybody, tree=self.everybody) as agent:
            agent.stop_signal.hurry.set()
            agent.stop_signal.stop.set()
        end = agent.end
        assert (end.reason, end.exit_code, end.killed) == (EndReason.STOPPED, -signal.SIGKILL, self.everybody)

    @both_backends
    async def test_cancel(self, stage: PlayFolders, crowd: Crowd) -> None:
        argv = crowd.script(list(SHAPES), "exec {stay} agent")
        async with running(stage, argv, present=self.everybody) as agent:
            agent.scope.cancel()

    async def test_all_that_session_level_can_see(self, stage: PlayFolders, crowd: Crowd) -> None:
        shapes = [shape for shape in SHAPES if shape not in ("no_environment", "deaf_daemon")]
        argv = crowd.script(shapes, "exec {stay} agent")
        async with running(stage, argv, present=len(shapes) + 1, limits=OWN_TIME, level="session") as agent:
            expected = {stage.guardian().pid, *agent.came.values()}
            await until(lambda: {one.pid for one in find_marked(stage.marker)} == expected)
            agent.stop_signal.stop.set()
        end = agent.end
        assert (end.reason, end.exit_code, end.level) == (EndReason.STOPPED, -signal.SIGTERM, "session")
        assert len(end.leftovers) == len(shapes)

    @pytest.mark.parametrize("shape", ["background", "session", "deaf"])
    async def test_session_level_sweeps_after_a_normal_end(
        self, stage: PlayFolders, crowd: Crowd, gate: Callable[[], None], shape: str
    ) -> None:
        async with running(stage, crowd.script([shape], "read < gate"), level="session") as agent:
            gate()
        assert (agent.end.reason, agent.end.exit_code) == (EndReason.EXITED, 0)


class TestGrace:
    @pytest.mark.parametrize(
        ("script", "limits", "ended"),
        [(DEAF, QUICK_LIMITS, (-signal.SIGKILL, 1, "")), (POLITE, PATIENT_LIMITS, (5, 0, "last words\n"))],
        ids=["deaf", "polite"],
    )
    async def test_one_that_handles_sigterm_has_its_last_words_and_one_that_ignores_it_is_killed(
        self, stage: PlayFolders, script: str, limits: Limits, ended: tuple[int, int, str]
    ) -> None:
        async with running(stage, stage.python(script, "agent"), limits=limits) as agent:
            agent.stop_signal.stop.set()
        assert agent.end.reason is EndReason.STOPPED
        assert (agent.end.exit_code, agent.end.killed, stage.out()) == ended


class TestFlood:
    async def test_past_the_limit_it_is_ended(self, stage: PlayFolders) -> None:
        limits = replace(PATIENT_LIMITS, output_limit_bytes=MIB)
        argv = stage.bash(f"head -c {MIB + MIB // 2} /dev/zero; exec sleep 600")  # twice the limit would end the grace
        end = await run(stage.spec(argv, limits=limits))
        assert (end.reason, end.exit_code) == (EndReason.OUTPUT_LIMIT, -signal.SIGTERM)
        stage.stdout.unlink()

    @pytest.mark.parametrize("keeps_output", sampled([False, True], {True}))
    async def test_a_flood_below_the_limit_passes_and_costs_the_runner_nothing(
        self, stage: PlayFolders, *, keeps_output: bool
    ) -> None:
        spec = stage.spec(["head", "-c", str(256 * MIB), "/dev/zero"], limits=Limits(output_limit_bytes=300 * MIB))
        before = psutil.Process().memory_info().rss
        end = await run(replace(spec, keeps_output=keeps_output))
        assert psutil.Process().memory_info().rss - before < 20 * MIB
        assert (end.reason, end.exit_code) == (EndReason.EXITED, 0)
        assert stage.stdout.stat().st_size == 256 * MIB
        stage.stdout.unlink()


class MadeUpClocks:
    """Clocks that show the time since `start`, and `stopped_s` or `suspended_s` more.

    They stand still before, so that no agent is timed out while it starts, however slow the machine is.
    """

    def __init__(self) -> None:
        self.suspended_s = 0.0
        self.stopped_s = 0.0
        self.looks = 0
        self._started = math.inf

    def start(self) -> None:
        self._started = time.monotonic()

    def read(self) -> Reading:
        self.looks += 1
        awake_s = max(0.0, time.monotonic() - self._started) + self.stopped_s
        return Reading(awake_s=awake_s, passed_s=awake_s + self.suspended_s)


class TestSleep:
    """Time in which the runner or its machine slept is not the agent's."""

    @pytest.mark.parametrize("kind", ["suspended_s", "stopped_s"])
    async def test_an_agent_is_not_timed_out_by_a_sleep_and_the_sleep_is_reported(
        self, stage: PlayFolders, kind: str
    ) -> None:
        made_up = MadeUpClocks()
        clocks = Clocks(read=made_up.read)
        async with running(stage, stage.python(POLITE), limits=PATIENT_LIMITS, timeout_s=1.0, clocks=clocks) as agent:
            setattr(made_up, kind, 1000.0)
            made_up.start()
        assert (agent.end.reason, agent.end.exit_code) == (EndReason.TIMED_OUT, 5)
        assert round(agent.end.asleep_s) >= 1000  # a difference of two floats
        assert agent.end.ran_s < 1000

    async def test_what_happens_during_a_sleep_in_the_grace_is_believed(self, stage: PlayFolders) -> None:
        made_up = MadeUpClocks()
        clocks = Clocks(read=made_up.read)
        async with running(stage, stage.python(POLITE), limits=PATIENT_LIMITS, clocks=clocks) as agent:
            agent.stop_signal.stop.set()
            made_up.stopped_s = 1000.0
        assert (agent.end.reason, agent.end.exit_code) == (EndReason.STOPPED, 5)
        assert round(agent.end.asleep_s) >= 1000


class TestNotStarted:
    @both_backends
    @pytest.mark.parametrize("command", ["pinchbench-no-such-command", "/no/such/command"])
    async def test_no_such_command(self, stage: PlayFolders, command: str) -> None:
        end = await run(stage.spec([command]))
        assert (end.reason, end.not_found, end.exit_code) == (EndReason.NOT_STARTED, True, None)
        assert command in end.error

    @pytest.mark.parametrize(
        ("make_spec", "said"),
        [
            (lambda stage: stage.spec([str(stage.script("plain", ""))]), "Permission denied"),
            (lambda stage: stage.spec(["true"], cwd=stage.folder / "missing"), "missing"),
            (lambda stage: stage.spec(["true"], log=stage.folder / "missing" / "log"), "missing"),
            (lambda stage: stage.spec(["echo", "x" * MIB]), "Argument list too long"),
        ],
        ids=["not executable", "no such directory", "no place for its output", "an argument that is too long"],
    )
    async def test_what_can_not_be_started_is_reported_with_the_reason(
        self, stage: PlayFolders, make_spec: Callable[[PlayFolders], ProcessSpec], said: str
    ) -> None:
        end = await run(make_spec(stage))
        assert (end.reason, end.not_found) == (EndReason.NOT_STARTED, False)
        assert said in end.error

    async def test_a_named_pipe_in_the_place_of_its_output_is_not_waited_for(self, stage: PlayFolders) -> None:
        os.mkfifo(stage.stdout)
        end = await run(stage.spec(["true"]))
        assert end.reason is EndReason.NOT_STARTED
        assert str(stage.stdout) in end.error


class TestWhatTheAgentIsGiven:
    @pytest.mark.parametrize(
        ("asked", "answer"),
        [
            ("os.listdir('/proc/self/fd')", ["0", "1", "2", "3"]),  # the fourth is the listing's own
            ("sys.stdin.read()", ""),
            ("os.getsid(0) == os.getpgrp() == os.getpid()", True),
            ("os.getcwd() == os.path.dirname(__file__)", True),
        ],
        ids=["no more than three files", "an empty stdin", "a session of its own", "its directory"],
    )
    async def test_its_process(self, stage: PlayFolders, asked: str, answer: object) -> None:
        end = await run(stage.spec(stage.python(f"import json, os, sys\nprint(json.dumps({asked}))")))
        assert (end.exit_code, stage.err()) == (0, "")
        assert json.loads(stage.out()) == answer

    async def test_default_signals(self, stage: PlayFolders) -> None:
        before = signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        try:
            await run(stage.spec(["grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status"]))
        finally:
            signal.signal(signal.SIGUSR2, before)
        masks = [int(line.split()[1], 16) for line in stage.out().splitlines()]
        assert [mask & ~OF_THE_C_LIBRARY for mask in masks] == [0, 0]

    async def test_its_environment_and_the_marker(self, stage: PlayFolders) -> None:
        await run(stage.spec(["env"]))
        given = dict(line.split("=", 1) for line in stage.out().splitlines())
        assert given == {**stage.spec([]).env, "PINCHBENCH_TRIAL": stage.marker, "PINCHBENCH_RUNNER": identity()}

    async def test_more_than_the_socket_to_its_guardian_holds(self, stage: PlayFolders) -> None:
        spec = stage.spec(stage.bash("echo ${#V0} ${#V9}"))
        large = {f"V{number}": "x" * 100_000 for number in range(10)}
        end = await run(replace(spec, env={**spec.env, **large}))
        assert (end.reason, stage.out()) == (EndReason.EXITED, "100000 100000\n")


class TestCancel:
    """A cancel in each state ends the tree, and is not swallowed."""

    @both_backends
    async def test_before_it_began(self, stage: PlayFolders) -> None:
        with fail_after(60), CancelScope() as scope:
            scope.cancel()
            await supervise(stage.spec(stage.python(DEAF, "agent")), timeout_s=LONG_S)
        assert scope.cancelled_caught
        await stage.roll.all_gone()

    async def test_while_the_agent_starts(self, stage: PlayFolders) -> None:
        async with running(stage, stage.bash("exec {stay} agent"), present=0) as agent:
            await until(lambda: bool(psutil.Process().children()))
            agent.scope.cancel()

    @both_backends
    async def test_during_the_grace(self, stage: PlayFolders) -> None:
        async with running(stage, stage.python(DEAF, "a")) as agent:
            agent.stop_signal.stop.set()
            await anyio.wait_all_tasks_blocked()
            agent.scope.cancel()

    async def test_during_the_sweep(self, stage: PlayFolders) -> None:
        argv = stage.python(
            """
            import os, signal, time
            from present import present
            connections = []
            signal.signal(signal.SIGTERM, lambda *_: connections.append(present("swept")))
            read, write = os.pipe()
            if os.fork():
                os.read(read, 1)  # Python forgets a signal that comes while it forks
                os._exit(0)
            os.write(write, b"1")
            while True:
                time.sleep(600)
            """
        )
        async with running(stage, argv) as agent:
            agent.scope.cancel()

    async def test_native_cancellation_too(self, stage: PlayFolders) -> None:
        supervised = asyncio.create_task(supervise(stage.spec(stage.bash("exec {stay} agent")), timeout_s=LONG_S))
        with fail_after(60):
            await stage.roll.present()
            supervised.cancel()
            with pytest.raises(asyncio.CancelledError):
                await supervised
            await stage.roll.all_gone()


class TestTwoEventsAtOnce:
    async def test_an_exit_before_the_limit_stays_an_exit_however_long_the_sweep(
        self, stage: PlayFolders, crowd: Crowd, gate: Callable[[], None]
    ) -> None:
        argv = crowd.script(["deaf"], "read < gate")
        limit_s = 8.0  # well beyond what a shell and its child take to start, on a machine that does much else
        limits = Limits(grace_s=LONG_S, sweep_s=limit_s + 0.2)
        async with running(stage, argv, limits=limits, timeout_s=limit_s) as agent:
            gate()
        assert (agent.end.reason, agent.end.exit_code) == (EndReason.EXITED, 0)
        assert agent.end.ran_s < limit_s < agent.end.duration_s


class TestTheGuardianDies:
    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the guardian has no parent")
    async def test_its_parent_ends_what_it_guarded(self, stage: PlayFolders, crowd: Crowd) -> None:
        shapes = ["background", "session", "double_fork", "daemon", "deaf", "no_environment"]
        argv = crowd.script(shapes, "exec {stay} agent")
        async with running(stage, argv, present=len(shapes) + 1) as agent:
            stage.guardian().kill()
        assert (agent.end.reason, agent.end.exit_code) == (EndReason.GUARDIAN_LOST, None)

    @both_backends
    async def test_what_it_guarded_is_found_by_its_marker_if_its_parent_dies_too(
        self, stage: PlayFolders, crowd: Crowd, marked_processes: Callable[[str], list[psutil.Process]]
    ) -> None:
        shapes = ["background", "session", "double_fork", "daemon", "deaf"]
        argv = crowd.script(shapes, "exec {stay} agent")
        async with running(stage, argv, present=len(shapes) + 1) as agent:
            guardian = stage.guardian()
            for process in psutil.Process().children():
                process.kill()
            with suppress(psutil.NoSuchProcess):
                guardian.kill()
        assert (agent.end.reason, agent.end.exit_code) == (EndReason.GUARDIAN_LOST, None)
        assert agent.end.error
        assert marked_processes(stage.marker) == []

    async def test_an_agent_that_kills_its_guardian(self, stage: PlayFolders) -> None:
        end = await run(stage.spec(stage.bash("kill -9 $PPID; exec {stay} agent")))
        await stage.roll.all_gone()
        assert end.reason is EndReason.GUARDIAN_LOST

    @pytest.mark.parametrize("how", ["stop", "cancel"])
    async def test_an_agent_that_stops_its_guardian(
        self, stage: PlayFolders, monkeypatch: pytest.MonkeyPatch, how: str
    ) -> None:
        monkeypatch.setattr("pinchbench.process.supervise.REPORT_MARGIN_S", 0.5)
        argv = stage.bash("kill -STOP $PPID; setsid {stay} child & exec {stay} agent")
        async with running(stage, argv, present=2) as agent:
            agent.stop_signal.stop.set() if how == "stop" else agent.scope.cancel()
        assert psutil.Process().children() == []


class TestManyAtOnce:
    async def test_each_turn_has_a_guardian_of_its_own_which_is_gone_after_it(self, stage: PlayFolders) -> None:
        for _ in range(2):
            end = await run(stage.spec(stage.bash("echo $PPID")))
            assert end.reason is EndReason.EXITED
            assert psutil.Process().children() == []
        first, second = stage.out().split()
        assert first != second

    async def test_they_are_all_there_together_and_end_together(self, stage: PlayFolders) -> None:
        stop_signal = StopSignal()
        ends: list[ProcessEnd] = []

        async def run(number: int) -> None:
            spec = stage.spec([*agent, str(number)], marker=f"{stage.marker}/{number}")
            ends.append(await supervise(spec, timeout_s=LONG_S, stop_signal=stop_signal))

        agent = stage.python(DEAF)  # written once: who reads it while it is written again has read nothing
        with fail_after(60):
            async with create_task_group() as group:
                for number in range(16):
                    group.start_soon(run, number)
                assert len(await stage.roll.present(16)) == 16
                stop_signal.stop.set()
            await stage.roll.all_gone()
        assert {end.reason for end in ends} == {EndReason.STOPPED}

    async def test_the_clock_starts_with_the_process(self, stage: PlayFolders) -> None:
        """A guardian that starts late takes nothing from the agent's time."""
        slow = stage.folder / "slow-python"
        slow.write_text(f'#!/bin/sh\nsleep 5.5\nexec {sys.executable} "$@"\n', encoding="utf-8")
        slow.chmod(0o755)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("pinchbench.process.supervise.sys.executable", str(slow))
            end = await run(stage.spec(["sleep", "0.1"]), timeout_s=5.0)
        assert (end.reason, end.exit_code) == (EndReason.EXITED, 0)

    async def test_the_clock_has_run_when_a_start_is_heard_of_late(
        self, stage: PlayFolders, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of many that start together, the event loop hears one after the other."""
        receive = BufferedByteReceiveStream.receive_until

        async def late(stream: BufferedByteReceiveStream, delimiter: bytes, max_bytes: int) -> bytes:
            message = await receive(stream, delimiter, max_bytes)
            if b'"started"' in message:
                await stage.roll.present()
            return message

        monkeypatch.setattr(BufferedByteReceiveStream, "receive_until", late)
        still = Clocks(read=lambda: Reading(awake_s=1.0, passed_s=1.0), gap_s=LONG_S)
        agent = stage.python(
            "import time; time.sleep(0.5); from present import present; c = present(); time.sleep(600)"
        )
        with fail_after(60):
            end = await supervise(stage.spec(agent), timeout_s=0.4, clocks=still)
        assert end.reason is EndReason.TIMED_OUT


class TestARunnerOfItsOwn:
    """What happens to a whole process that supervises."""

    async def test_killed_it_takes_everybody_with_it(self, stage: PlayFolders, crowd: Crowd, runner: Start) -> None:
        shapes = ["background", "session", "no_environment", "daemon", "deaf_daemon"]
        argv = crowd.script(shapes, f"exec {sys.executable} -S deaf.py agent")
        child = runner(argv, 8)
        await stage.roll.present(8 * (len(shapes) + 1))
        killed_at = time.monotonic()
        child.kill()
        await stage.roll.all_gone()
        print(f"nobody was left {time.monotonic() - killed_at:.2f} s after the runner's SIGKILL")  # noqa: T201 - shown by `pytest -rP`

    async def test_stopped_for_longer_than_the_limit_it_times_nobody_out_on_waking(
        self, stage: PlayFolders, gate: Callable[[], None], runner: Start
    ) -> None:
        limit_s = 4.0
        agent = stage.python(
            f"""
            import time
            from present import present
            connections = [present("here")]
            time.sleep({limit_s} + 0.6)
            connections.append(present("past_the_limit"))
            open("gate").readline()
            """
        )
        child = runner(agent, timeout_s=limit_s, gap_s=0.5)
        with fail_after(60):
            await stage.roll.present()
            child.send_signal(signal.SIGSTOP)
            await stage.roll.present()
            child.send_signal(signal.SIGCONT)
            assert child.stdout is not None
            assert await to_thread.run_sync(child.stdout.readline, abandon_on_cancel=True) == b"awake\n"
            gate()
            said = await to_thread.run_sync(child.stdout.readline, abandon_on_cancel=True)
            await stage.roll.all_gone()
        assert said == b"exited 0 asleep\n"

    async def test_ctrl_c_reaches_the_runner_only(self, stage: PlayFolders, runner: Start) -> None:
        agent = stage.python(
            """
            import signal, sys, time
            from present import present
            signal.signal(signal.SIGINT, lambda *_: print("agent interrupted", flush=True))
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(6))
            connection = present(sys.argv[1])
            while True:
                time.sleep(600)
            """
        )
        child = runner(agent, 2)
        with fail_after(60):
            await stage.roll.present(2)
            os.killpg(child.pid, signal.SIGINT)
            await stage.roll.all_gone()
        out, _ = child.communicate(timeout=60)
        assert out.decode().split("\n") == ["interrupted", "stopped 6", "stopped 6", ""]
        assert [(stage.folder / f"{number}.log").read_text(encoding="utf-8") for number in range(2)] == ["", ""]
