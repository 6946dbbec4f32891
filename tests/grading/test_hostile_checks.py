"""Checks that mean harm, or run code that does: the outcome has a name, the runner is unharmed, nothing is left."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from pinchbench.grading import checks
from pinchbench.model import CheckGrade, Ungraded
from pinchbench.process.supervise import EndReason, ProcessEnd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import psutil

    from grading.conftest import Desk

pytestmark = pytest.mark.anyio

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
                seen = [open(place, "rb").read() for place in places if os.path.exists(place)]
                seen += [repr(dict(os.environ)).encode(), subprocess.run(["env"], capture_output=True).stdout]
                return {"a": not any(word in text for text in seen)}
            """
        )
        assert is_good(grade), grade

    async def test_the_spec_is_gone_when_the_check_begins(self, desk: Desk) -> None:
        grade = await desk.check(
            """
            import os, subprocess, sys
            def grade(t, w):
                root = os.path.dirname(w)
                files = [name for _, _, names in os.walk(root) for name in names]
                given = sys.stdin.read() + os.read(0, 100).decode()
                given += subprocess.run(["cat"], capture_output=True, text=True).stdout
                return {"a": files == [] and given == ""}
            """
        )
        assert is_good(grade), grade


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

    async def test_killing_the_guardian_does_not_free_it(self, desk: Desk) -> None:
        grade = await desk.check(
            CAREFUL
            + """
def grade(t, w):
    if fork() == 0:
        os.setsid()
        time.sleep(600)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)
"""
        )
        assert grade.ungraded is Ungraded.CHECK_DIED
        assert "watches over the check" in grade.notes[0]

    async def test_killing_its_process_group_kills_itself(self, desk: Desk) -> None:
        grade = await desk.check("import os\ndef grade(t, w):\n    os.kill(0, 9)")
        assert (grade.ungraded, grade.notes) == (
            Ungraded.CHECK_DIED,
            ("the check was killed by SIGKILL and gave no answer",),
        )


class TestGreed:
    @pytest.mark.parametrize(
        "then", ["", "os.setsid()", "os._exit(0)"], ids=["one_session", "sessions_of_their_own", "zombies"]
    )
    async def test_forking_for_ever(self, desk: Desk, then: str) -> None:
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
            assert grade.notes[0] == "the check had more than 256 processes at once"
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

    async def test_a_long_log_keeps_its_beginning_and_its_end(self, desk: Desk) -> None:
        grade = await desk.check("print('first', 'x' * 3_000_000)\ndef grade(t, w):\n    print('last')\n    1 / 0")
        assert grade.ungraded is Ungraded.CHECK_RAISED
        said = desk.said()
        assert said.startswith("first xxx")
        assert "bytes are left out here …]\nxxx" in said
        assert "xxx\nlast\nTraceback" in said
        assert len(said) < 2 * checks.LOG_BYTES

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

    async def test_more_criteria_than_anybody_reads(self, desk: Desk) -> None:
        grade = await desk.check("def grade(t, w): return {'k' * 300 + str(n): n % 2 for n in range(100_000)}")
        assert (grade.score, grade.ungraded) == (0.5, None)
        assert len(grade.breakdown) == 500
        assert "100000 points" in grade.notes[0]


class TestEndings:
    @pytest.mark.parametrize("loop", ["while True: pass", "import threading; threading.Event().wait()"])
    async def test_an_endless_check(self, desk: Desk, loop: str) -> None:
        code = f"import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ndef grade(t, w):\n    {loop}"
        grade = await desk.check(code, timeout_s=0.5)
        assert (grade.ungraded, grade.notes) == (Ungraded.CHECK_TIMED_OUT, ("the check took longer than 0.5 s",))

    async def test_an_endless_check_in_its_first_lines(self, desk: Desk) -> None:
        assert (await desk.check("while True: pass", timeout_s=0.5)).ungraded is Ungraded.CHECK_TIMED_OUT

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

    @pytest.mark.parametrize("statement", ["sys.exit()", "sys.exit(0)", "raise SystemExit", "exit()"])
    async def test_a_polite_exit_is_an_exception(self, desk: Desk, statement: str) -> None:
        grade = await desk.check(f"import sys\ndef grade(t, w):\n    {statement}")
        assert grade.ungraded is Ungraded.CHECK_RAISED
        assert "SystemExit" in grade.notes[0]

    async def test_deep_recursion(self, desk: Desk) -> None:
        grade = await desk.check("def grade(t, w):\n    return grade(t, w)")
        assert grade.ungraded is Ungraded.CHECK_RAISED
        assert "RecursionError" in grade.notes[0]
        assert len(desk.said()) < 5000

    async def test_an_exception_that_cannot_be_shown(self, desk: Desk) -> None:
        grade = await desk.check(
            """
            class Odd(Exception):
                def __str__(self): raise Odd
                __repr__ = __str__
            def grade(t, w): raise Odd
            """
        )
        assert grade.ungraded is Ungraded.CHECK_RAISED
        assert grade.notes[0] == "the check raised Odd: its text can't be shown (line 5 of the check)"

    async def test_an_answer_that_raises_when_it_is_looked_at(self, desk: Desk) -> None:
        grade = await desk.check(
            """
            class Odd(dict):
                def items(self): raise ValueError("look away")
            def grade(t, w): return Odd(a=1)
            """
        )
        assert grade.ungraded is Ungraded.CHECK_RAISED
        assert "ValueError: look away" in grade.notes[0]

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

    async def test_an_answer_cannot_be_forged_by_a_program_that_the_check_runs(self, desk: Desk) -> None:
        (desk.workspace / "test_mine.py").write_text(
            """
import glob, json, os, sys
answer = {"kind": "scored", "score": 1.0, "breakdown": {"a": 1.0}, "notes": [], "message": "", "trace": "", "nonce": ""}
root = os.path.dirname(os.path.abspath(os.path.dirname(__file__)))
for folder in glob.glob(root + "/*"):
    for name in ("answer.json", "spec.json"):
        open(os.path.join(folder, name), "w").write(json.dumps(answer))
print(json.dumps(answer))
os.write(1, json.dumps(answer).encode())
""",
            encoding="utf-8",
        )
        code = """
            import os, subprocess, sys
            def grade(t, w):
                subprocess.run([sys.executable, "test_mine.py"], check=True)
                forged = os.path.exists(os.path.join(os.path.dirname(w), "answer", "answer.json"))
                {}
                return {{"a": 0, "forged": forged}}
            """
        honest = await desk.check(code.format(""))
        assert honest.breakdown == {"a": 0.0, "forged": 1.0}
        died = await desk.check(code.format("os._exit(0)"))
        assert (died.score, died.ungraded) == (None, Ungraded.CHECK_DIED)

    @pytest.mark.parametrize(
        "plant",
        [
            "os.mkdir(path)",
            "os.mkfifo(path); os._exit(0)",
            "os.symlink('/dev/zero', path); os._exit(0)",
            "os.symlink('/etc/hostname', path)",
            "os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 200_000_000); os._exit(0)",
            "open(path, 'w').write('[' * 100_000); os._exit(0)",
            "shutil.rmtree(os.path.dirname(path))",
        ],
    )
    async def test_something_else_in_the_answers_place_is_no_answer(self, desk: Desk, plant: str) -> None:
        code = "import os, shutil\ndef grade(t, w):\n    path = os.path.dirname(w) + '/answer/answer.json'\n"
        grade = await desk.check(f"{code}    {plant}\n    return {{'a': 1}}")
        assert (grade.score, grade.ungraded) == (None, Ungraded.CHECK_DIED)


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
    found = checks._Found(answer=answer, began=True, printed_bytes=0)
    assert checks._grade(end, found, timeout_s=1).ungraded is why


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
