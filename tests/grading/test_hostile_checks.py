"""Checks that mean harm, or run code that does: the outcome has a name, the runner is unharmed, nothing is left."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from grading.conftest import BOTH, Desk
from pinchbench.grading import checks
from pinchbench.model.grade import CheckGrade, Ungraded
from pinchbench.process.spec import EndReason, ProcessEnd


def landlock_version() -> int:
    """Which version of Landlock this kernel has; below 1 for none."""
    if not sys.platform.startswith("linux"):
        return 0
    return int(ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1))


CAN_RESTRICT_SIGNALS = landlock_version() >= 6
GOOD = CheckGrade(score=1.0, breakdown={"a": 1.0})
# For checks that fork: whatever happens, all is over after 20 s, and nobody forks once there are so many.
CAREFUL = """
import mmap, os, signal, time
COUNT = mmap.mmap(-1, 4)
def fork():
    count = int.from_bytes(COUNT[:4], "little")
    if count > 2000:
        signal.pause()
    COUNT[:4] = (count + 1).to_bytes(4, "little")
    pid = os.fork()
    signal.alarm(20)
    return pid
"""


@pytest.fixture(autouse=True)
def nothing_is_left(desk: Desk, marked_processes: Callable[[str], list[psutil.Process]]) -> Iterator[None]:
    yield
    assert marked_processes(desk.marker) == []
    assert not desk.scratch.exists() or list(desk.scratch.iterdir()) == []


def is_good(grade: CheckGrade) -> bool:
    return (grade.score, grade.ungraded, grade.breakdown) == (1.0, None, GOOD.breakdown)


@BOTH
class TestSecrets:
    async def test_keys_of_the_runner_cannot_be_seen(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("OPENAI_API_KEY", "PINCHBENCH_JUDGE_KEY", "AWS_SECRET_ACCESS_KEY", "LANGUAGE_TOKEN", "HOME"):
            monkeypatch.setenv(name, "SECRET-4711")
        grade = await desk.check(
            """
            import os, subprocess
            def grade(t, w):
                word = b"SECRET" + b"-4711"
                places = ["/proc/self/environ", f"/proc/{os.getppid()}/environ"]
                seen = []
                for place in places:
                    try:
                        seen.append(open(place, "rb").read())
                    except OSError:
                        pass
                seen += [repr(dict(os.environ)).encode(), subprocess.run(["env"], capture_output=True).stdout]
                return {"a": not any(word in text for text in seen)}
            """
        )
        assert is_good(grade), grade

    async def test_there_is_no_file_with_what_the_runner_says_to_it(self, desk: Desk) -> None:
        grade = await desk.check(
            """
            import os, subprocess, sys
            def grade(t, w):
                root = os.path.dirname(os.path.dirname(w))
                files = [name for _, _, names in os.walk(root) for name in names]
                given = sys.stdin.read() + os.read(0, 100).decode()
                given += subprocess.run(["cat"], capture_output=True, text=True).stdout
                return {"a": files == [] and given == ""}
            """
        )
        assert is_good(grade), grade

    async def test_a_check_cannot_see_what_earlier_ones_were_given(self, desk: Desk) -> None:
        earlier = "WORD = 'of-an-' + 'earlier-check'\ndef grade(t, w): return {'of-an-earlier-check': 1}"
        later = """
            import re
            def grade(t, w):
                seen = set()
                places = [line.split()[:2] for line in open("/proc/self/maps") if "[v" not in line]
                with open("/proc/self/mem", "rb", 0) as memory:
                    for place, access in places:
                        if access[0] == "r":
                            begin, end = (int(one, 16) for one in place.split("-"))
                            memory.seek(begin)
                            try:
                                seen |= set(re.findall(b"of-an-[e]arlier-check", memory.read(end - begin)))
                            except OSError:
                                pass
                return {"a": not seen}
            """
        assert (await desk.check(earlier)).score == 1
        assert is_good(await desk.check(later))


@BOTH
class TestEscapes:
    async def test_writing_outside_changes_no_evidence(self, desk: Desk) -> None:
        (desk.workspace / "a.txt").write_text("theirs", encoding="utf-8")
        desk.tell({"type": "message", "message": {"role": "user", "content": f"look at {desk.workspace}/a.txt"}})
        code = """
            import os, pathlib
            def grade(t, w):
                path = pathlib.Path(t[0]["message"]["content"][0]["text"].split()[-1])
                before = path.read_text()
                path.write_text("spoilt")
                pathlib.Path("a.txt").write_text("spoilt")
                pathlib.Path.home().joinpath(".profile").write_text("spoilt")
                os.chmod(w, 0)
                return {"a": before == "theirs"}
            """
        for _ in range(2):
            assert is_good(await desk.check(code))
        assert (desk.workspace / "a.txt").read_text("utf-8") == "theirs"

    async def test_a_background_process_is_ended_and_named(self, desk: Desk) -> None:
        grade = await desk.check(
            """
            import subprocess
            def grade(t, w):
                subprocess.Popen(["setsid", "env", "-i", "sleep", "600"], stdout=subprocess.DEVNULL)
                return {"a": 1}
            """
        )
        assert is_good(grade)
        assert len(grade.notes) == 1
        assert "left running were ended" in grade.notes[0]

    @pytest.mark.skipif(not CAN_RESTRICT_SIGNALS, reason="needs Linux 6.12")
    async def test_it_can_signal_nobody_else(self, desk: Desk) -> None:
        grade = await desk.check("import os\ndef grade(t, w):\n    os.kill(os.getppid(), 9)\n")
        assert (grade.ungraded, grade.notes) == (
            Ungraded.CHECK_RAISED,
            ("the check raised PermissionError: [Errno 1] Operation not permitted (line 3 of the check)",),
        )

    async def test_killing_the_guardian_does_not_free_it(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        start = "from pinchbench.grading import check_child as child; child.separate = lambda: None; child.main()"
        monkeypatch.setattr(checks, "START", start)
        grade = await desk.check(
            CAREFUL
            + """
def grade(t, w):
    for _ in range(2):
        if fork() == 0:
            os.setsid()
            time.sleep(600)
    os.kill(os.getppid(), signal.SIGKILL)
    signal.alarm(1)
    time.sleep(600)
"""
        )
        assert grade.ungraded is Ungraded.CHECK_DIED
        # in namespaces its parent can't be killed, and the check's own alarm ends it
        assert ("watches over the check" if desk.sandbox is None else "SIGALRM") in grade.notes[0]


class TestGreed:
    @pytest.mark.parametrize(
        "then", ["", "os.setsid()", "os._exit(0)"], ids=["one_session", "sessions_of_their_own", "zombies"]
    )
    async def test_forking_for_ever(self, desk: Desk, then: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(checks, "MAX_PROCESSES", 100)  # as many as need to be ended cost the machine seconds
        grade = await desk.check(
            CAREFUL
            + f"""
def grade(t, w):
    while True:
        if fork() == 0:
            {then or "pass"}
"""
        )
        assert grade.score is None
        if os.getuid() == 0:
            assert grade.ungraded is Ungraded.CHECK_LIMIT, grade
            assert grade.notes[0] == "the check had more than 100 processes and threads at once"
        else:  # the kernel refuses some of the forks first
            assert grade.ungraded in {Ungraded.CHECK_LIMIT, Ungraded.CHECK_RAISED}, grade

    async def test_eating_memory(self, desk: Desk) -> None:
        grade = await desk.check(
            "def grade(t, w):\n    eaten = []\n    while len(eaten) < 400:\n        eaten.append(bytes(10_000_000))\n"
        )
        assert grade.ungraded is Ungraded.CHECK_LIMIT
        assert grade.notes[0] == "the check used more memory than it may: MemoryError (line 4 of the check)"

    async def test_a_gibibyte_of_output(self, desk: Desk) -> None:
        grade = await desk.check(
            """
            import os
            def grade(t, w):
                for _ in range(1024):
                    os.write(1, bytes(1024 * 1024))
                return {"a": 1}
            """
        )
        assert (grade.ungraded, grade.notes) == (Ungraded.CHECK_LIMIT, ("the check printed more than 32 MiB",))
        assert desk.log.stat().st_size < 2 * checks.LOG_BYTES

    async def test_a_file_without_end(self, desk: Desk) -> None:
        grade = await desk.check(
            "def grade(t, w):\n    with open('a', 'wb', 0) as file:\n        file.truncate(1 << 40)\n"
        )
        assert grade.ungraded is Ungraded.CHECK_RAISED
        assert "File too large" in grade.notes[0]

    async def test_every_file_descriptor(self, desk: Desk) -> None:
        grade = await desk.check(
            """
            held = []
            def grade(t, w):
                try:
                    while len(held) < 5000: held.append(open("/dev/null"))
                except OSError:
                    return {"a": len(held) < 1100}
            """
        )
        assert is_good(grade), grade


class TestEndings:
    @pytest.mark.parametrize("loop", ["while True: pass", "import threading; threading.Event().wait()"])
    async def test_an_endless_check(self, desk: Desk, loop: str) -> None:
        code = f"import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ndef grade(t, w):\n    {loop}"
        grade = await desk.check(code, timeout_s=0.5)
        assert (grade.ungraded, grade.notes) == (Ungraded.CHECK_TIMED_OUT, ("the check took longer than 0.5 s",))

    @pytest.mark.parametrize(
        ("statement", "note"),
        [
            ("os._exit(0)", "the check ended with exit code 0 and gave no answer"),
            ("os._exit(3)", "the check ended with exit code 3 and gave no answer"),
            ("os.kill(os.getpid(), signal.SIGSEGV)", "the check was killed by SIGSEGV and gave no answer"),
            (
                "os.kill(os.getpid(), signal.SIGXCPU)",
                "the check used more CPU time than 31 s, was ended (SIGXCPU) and gave no answer",
            ),
            ("os.execvp('true', ['true'])", "the check ended with exit code 0 and gave no answer"),
        ],
    )
    async def test_an_end_without_an_answer(self, desk: Desk, statement: str, note: str) -> None:
        grade = await desk.check(f"import os, signal\ndef grade(t, w):\n    {statement}")
        assert (grade.score, grade.ungraded, grade.notes) == (None, Ungraded.CHECK_DIED, (note,))

    async def test_a_thread_that_never_ends_and_an_exit_handler(self, desk: Desk) -> None:
        grade = await desk.check(
            """
            import atexit, threading, time
            def grade(t, w):
                threading.Thread(target=time.sleep, args=(600,)).start()
                atexit.register(time.sleep, 600)
                return {"a": 1}
            """
        )
        assert is_good(grade), grade
        assert grade.notes == ()


class TestMeddling:
    """Checks that break the Python they run in still give their answer, or a name for why not."""

    @pytest.mark.parametrize(
        "statement",
        [
            "sys.modules.clear()",
            "json.dumps = json.JSONEncoder.default = json.loads = None",
            "builtins.len = builtins.isinstance = builtins.str = builtins.open = builtins.BaseException = None",
            "del builtins.dict, builtins.min, builtins.max, builtins.getattr",
            "os.open = os.write = os.close = os._exit = None",
            "os.closerange(0, 1100)",
            "sys.stdout.close(), setattr(sys, 'stderr', None)",
            "sys.setrecursionlimit(60)",
            "sys.settrace(lambda *_: None)",
            "signal.signal(signal.SIGALRM, lambda *_: 1 / 0), signal.alarm(1)",
            "os.chdir('/'), os.rmdir(w), os.umask(0o777), os.environ.clear(), setattr(time, 'time', None)",
        ],
    )
    async def test_the_answer_comes_through(self, desk: Desk, statement: str) -> None:
        code = f"import builtins, json, os, signal, sys, time\ndef grade(t, w):\n    {statement}\n    return {{'a': 1}}"
        grade = await desk.check(code)
        assert is_good(grade), (grade, desk.said())


FORGE = """
import ctypes, glob, json, os, signal, socket, subprocess, sys, time

answer = {"kind": "scored", "score": 1.0, "breakdown": {"a": 1.0}, "notes": [], "message": "", "trace": ""}
FORGED = b"begun\\n" + json.dumps(answer).encode()
CHECK = os.getppid()
GUARDIAN = int(open(f"/proc/{CHECK}/stat").read().rpartition(")")[2].split()[1])
libc = ctypes.CDLL(None, use_errno=True)

def reach(what, step):
    try:
        found = step()
    except OSError:
        return
    print("reached", what, str(found)[:80], flush=True)

def call(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), "refused")
    return result

def take_over(pid):
    for name in ("environ", "mem", "maps", "auxv"):
        reach(name, lambda: open(f"/proc/{pid}/{name}", "rb").read(1))
    reach("memory to write", lambda: open(f"/proc/{pid}/mem", "r+b").close())
    reach("files", lambda: os.readlink(f"/proc/{pid}/fd/1"))
    for number in (1, 3, 4, 4000):
        reach("file", lambda: os.write(os.open(f"/proc/{pid}/fd/{number}", os.O_WRONLY), FORGED))
    handle = os.pidfd_open(pid)
    for number in range(4010):
        reach("descriptor", lambda: call(libc.syscall(438, handle, number, 0)))
    reach("ptrace", lambda: call(libc.ptrace(16, pid, 0, 0)))  # PTRACE_ATTACH
    reach("ptrace", lambda: call(libc.ptrace(0x4206, pid, 0, 0)))  # PTRACE_SEIZE
    held = ctypes.create_string_buffer(8)
    part = (ctypes.c_void_p * 2)(ctypes.addressof(held), 8)
    reach("memory", lambda: call(libc.process_vm_readv(pid, part, 1, part, 1, 0)))
    reach("memory", lambda: call(libc.process_vm_writev(pid, part, 1, part, 1, 0)))

def write_everywhere(root):
    for folder, _, names in os.walk(root):
        for name in {*names, "answer.json", "spec.json"}:
            with open(os.path.join(folder, name), "wb") as file:
                file.write(FORGED)

print("nothing works")
"""
RUN_IT = """
import os, subprocess, sys
def grade(t, w):
    {before}
    said = subprocess.run([sys.executable, "mine.py"], capture_output=True, text=True, **{options}).stdout
    print(said)
    return {{"works": "all is well" in said}}
"""
ROOT = "os.path.dirname(os.getcwd())"
LINGER = f"""
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, lambda *_: write_everywhere({ROOT}))
    for number in range(3):
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
    while True:
        write_everywhere({ROOT})
"""


@BOTH
class TestForging:
    """The check runs a program that the agent wrote, which does not work but wants another score."""

    async def run(
        self, desk: Desk, attack: str, *, before: str = "", options: str = "{}", **changes: object
    ) -> CheckGrade:
        (desk.workspace / "mine.py").write_text(FORGE + attack, encoding="utf-8")
        return await desk.check(RUN_IT.format(before=before, options=options), **changes)

    @staticmethod
    def is_honest(grade: CheckGrade) -> bool:
        return (grade.score, grade.breakdown, grade.ungraded) == (0.0, {"works": 0.0}, None)

    async def test_a_child_in_a_session_of_its_own_that_ignores_sigterm_and_overwrites_all_it_finds(
        self, desk: Desk
    ) -> None:
        grade = await self.run(desk, LINGER)
        assert self.is_honest(grade), grade
        assert "processes that the check left running were ended" in grade.notes[0]

    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the system has no such thing")
    @pytest.mark.parametrize("whose", ["CHECK", "GUARDIAN"])
    async def test_memory_files_and_environment_of_the_check_and_its_guardian_are_out_of_reach(
        self, desk: Desk, whose: str
    ) -> None:
        grade = await self.run(desk, f"take_over({whose})")
        assert self.is_honest(grade), grade
        assert "nothing works" in desk.said()
        assert "reached" not in desk.said() or (whose == "GUARDIAN" and not CAN_RESTRICT_SIGNALS)

    @pytest.mark.parametrize("options", ["{}", "dict(close_fds=False)", "dict(pass_fds=range(3, 4001))"])
    async def test_a_channel_that_is_inherited_is_of_no_use(self, desk: Desk, options: str) -> None:
        attack = """
for number in range(3, 5000):
    try:
        os.write(number, FORGED)
    except OSError:
        pass
"""
        # those that exist: `pass_fds` wants no others
        before = "numbers = [int(one) for one in os.listdir('/proc/self/fd')]"
        options = options.replace("range(3, 4001)", "[one for one in numbers if one >= 4000]")
        grade = await self.run(desk, attack, before=before, options=options)
        assert self.is_honest(grade), grade

    @pytest.mark.parametrize("method", ["os.fork() == 0", "multiprocessing_child()"])
    async def test_a_fork_of_the_check_gives_no_answer(self, desk: Desk, method: str) -> None:
        grade = await desk.check(
            f"""
            import multiprocessing, os, socket
            def child():
                for number in range(3, 5000):
                    try:
                        os.write(number, FORGED)
                    except OSError:
                        pass
            def multiprocessing_child():
                process = multiprocessing.get_context("fork").Process(target=child)
                process.start()
                process.join()
            FORGED = b'begun\\n{{"kind": "scored", "score": 1.0, "breakdown": {{}}, "notes": []}}'
            def grade(t, w):
                if {method}:
                    return {{"works": 1}}
                if "fork" in {method!r}:
                    os.wait()
                return {{"works": 0}}
            """
        )
        assert self.is_honest(grade), grade

    @pytest.mark.parametrize(
        ("signal_name", "why", "timeout_s"),
        [("SIGSTOP", Ungraded.CHECK_TIMED_OUT, 2.0), ("SIGKILL", Ungraded.CHECK_DIED, 30.0)],
    )
    async def test_stopping_or_killing_the_check_brings_no_score(
        self, desk: Desk, signal_name: str, why: Ungraded, timeout_s: float
    ) -> None:
        attack = f"os.kill(CHECK, signal.{signal_name})\n" + LINGER
        grade = await self.run(desk, attack, timeout_s=timeout_s)
        assert (grade.score, grade.ungraded) == (None, why)

    @pytest.mark.skipif(not CAN_RESTRICT_SIGNALS, reason="needs Linux 6.12")
    @pytest.mark.parametrize("signal_name", ["SIGSTOP", "SIGKILL"])
    async def test_the_guardian_can_be_neither_stopped_nor_killed(self, desk: Desk, signal_name: str) -> None:
        grade = await self.run(desk, f"reach('it', lambda: os.kill(GUARDIAN, signal.{signal_name}))")
        assert self.is_honest(grade), grade
        assert "reached" not in desk.said()

    @pytest.mark.parametrize("kind", ["folder", "link", "file"])
    async def test_what_was_put_where_the_check_will_work_is_removed_first(
        self, desk: Desk, tmp_path: Path, kind: str
    ) -> None:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "kept").touch()
        desk.scratch.mkdir()
        place = desk.scratch / "task"
        match kind:
            case "folder":
                (place / "home" / ".local").mkdir(parents=True)
                (place / "workspace").symlink_to(tmp_path / "elsewhere")
                (place / "answer.json").write_text('{"kind": "scored", "score": 1}', encoding="utf-8")
            case "link":
                place.symlink_to(tmp_path / "elsewhere")
            case _:
                place.write_text("x", encoding="utf-8")
        grade = await desk.check(
            """
            import os
            def grade(t, w):
                return {"a": sorted(os.listdir("..")) == ["home", "tmp", "workspace"] and not os.listdir("../home")}
            """
        )
        assert is_good(grade), grade
        assert (tmp_path / "elsewhere" / "kept").exists()


@pytest.mark.parametrize(
    ("end", "why"),
    [
        (ProcessEnd(reason=EndReason.EXITED, exit_code=-signal.SIGXCPU), Ungraded.CHECK_DIED),
        (ProcessEnd(reason=EndReason.EXITED, exit_code=-63), Ungraded.CHECK_DIED),
        (ProcessEnd(reason=EndReason.EXITED), Ungraded.CHECK_DIED),
        (ProcessEnd(reason=EndReason.OUTPUT_LIMIT, exit_code=-9), Ungraded.CHECK_LIMIT),
    ],
)
def test_no_end_but_a_clean_one_brings_an_answer(end: ProcessEnd, why: Ungraded) -> None:
    answer = {"kind": "scored", "score": 1.0, "breakdown": {}, "notes": []}
    end = replace(end, answer="begun\n")
    assert checks._grade(end, answer, printed_bytes=0, timeout_s=1).ungraded is why


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"kind": "scored"},
        {"kind": "scored", "score": 1.5, "breakdown": {}, "notes": []},
        {"kind": "scored", "score": float("nan"), "breakdown": {}, "notes": []},
        {"kind": "scored", "score": 1.0, "breakdown": {"a": 2}, "notes": []},
        {"kind": "scored", "score": 1.0, "breakdown": [], "notes": []},
    ],
)
def test_an_answer_that_is_none_is_not_believed(answer: dict[str, object]) -> None:
    assert checks._read_grade(answer) == CheckGrade(
        ungraded=Ungraded.CHECK_DIED, notes=("the check's answer can't be read",)
    )


@pytest.mark.parametrize(
    "events", [{"leaked": [2, 1]}, {"praised": [1, 1]}, {"leaked": ["1", 1]}, [["leaked", [1, 1]]], 1]
)
def test_events_that_no_check_could_have_counted_are_not_believed(events: object) -> None:
    answer = {"kind": "scored", "score": 1.0, "breakdown": {}, "notes": [], "events": events}
    assert checks._read_grade(answer) == CheckGrade(score=1.0)
