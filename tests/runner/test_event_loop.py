"""The event loop is never blocked: no slow call and no long calculation in a callback, over whole runs."""

import asyncio
import gc
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType

import pytest
from anyio import to_thread
from anyio.lowlevel import checkpoint

import pinchbench
from fake_judge import fake_judge, good
from fakes import Heard, fake_openclaw, make_suite, run_config
from pinchbench.config.asked_models import JudgeConfig
from pinchbench.config.rerun_configs import ResumeConfig
from pinchbench.files.folders import make_private
from pinchbench.model.task import GradingType
from pinchbench.runner.again.rerun import resume
from pinchbench.runner.run_benchmark import run_benchmark
from sampling import sampled

PACKAGE = f"{Path(pinchbench.__file__).parent}{os.sep}"
MAX_CALLBACK_S = 0.05  # of CPU time, which other work of the machine adds little to
CHECK = "return {'made': 1.0}"

# What Python tells an audit hook of and what may take long: a disk can hang, and another process may hold a lock.
BLOCKING = {
    *("open", "os.chmod", "os.chown", "os.link", "os.listdir", "os.listxattr", "os.mkdir", "os.remove", "os.rename"),
    *("os.rmdir", "os.scandir", "os.symlink", "os.system", "os.truncate", "os.utime", "fcntl.flock", "fcntl.lockf"),
    *("shutil.copyfile", "shutil.copytree", "shutil.move", "shutil.rmtree", "sqlite3.connect", "socket.getaddrinfo"),
    *("socket.gethostbyname", "tempfile.mkdtemp", "tempfile.mkstemp", "time.sleep", "urllib.Request"),
}


@dataclass(slots=True)
class Loop:
    """What was seen of an event loop: slow calls with where they came from, and CPU seconds of its callbacks."""

    blocked: list[str] = field(default_factory=list)
    busy: list[tuple[float, str]] = field(default_factory=list)


_watched: list[Loop] = []  # at most one; a hook can't be removed


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if not _watched or event not in BLOCKING:
        return
    what = arguments[0] if arguments else ""
    if event == "open" and (isinstance(what, int) or what == os.devnull):
        return  # a pipe to a child, or nothing: no disk
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return  # in a thread, where it belongs
    frame: FrameType | None = sys._getframe(1)
    own = []
    while frame is not None:
        path = frame.f_code.co_filename
        if "importlib" in path:
            return  # anyio brings in its parts when they are first used; what takes long of that is seen as CPU time
        if path.startswith(PACKAGE):
            own.append(f"{path.removeprefix(PACKAGE)}:{frame.f_code.co_name}")
        frame = frame.f_back
    if own:
        _watched[0].blocked.append(f"{event} {what} in {' < '.join(own[:3])}")


def _place(handle: asyncio.Handle) -> str:
    """What a callback is: of a task, where it waits."""
    task = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]
    if not isinstance(task, asyncio.Task):
        return repr(handle)
    step: object = task.get_coro()
    names = []
    while (frame := getattr(step, "cr_frame", None)) is not None:
        names.append(f"{frame.f_code.co_name}:{frame.f_lineno}")
        step = getattr(step, "cr_await", None)
    return " > ".join(names)


@contextmanager
def watching(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loop]:
    """Watch the event loop of this thread."""
    loop = Loop()
    usual = asyncio.Handle._run

    def run(handle: asyncio.Handle) -> None:
        where = _place(handle)
        began = time.thread_time()
        usual(handle)
        loop.busy.append((time.thread_time() - began, where))

    gc.freeze()  # a look at what hundreds of tests have left is not the program's time
    _watched.append(loop)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(asyncio.Handle, "_run", run)
            yield loop
    finally:
        _watched.clear()
        gc.unfreeze()


sys.addaudithook(_hook)


def write_tasks(folder: Path) -> None:
    """Tasks of each kind, and one whose agent floods its output."""
    make_suite(folder, {"task_0": "Write out.txt.", "task_3": "scenario: flood 4"}, check=CHECK)
    make_suite(folder, {"task_1": "Write out.txt."}, check=CHECK, kind=GradingType.HYBRID)
    make_suite(folder, {"task_2": "scenario: big 200"})


@pytest.mark.parametrize("store", sampled(["jsonl", "sqlite"], {"sqlite"}))
async def test_a_whole_run_and_its_resumption_never_block_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    seen = Heard()
    config = run_config(tmp_path, fake_openclaw(tmp_path, store=store), {})
    write_tasks(tmp_path)
    async with fake_judge(good(0.5)) as judge:
        asked = JudgeConfig(model="judge-1", base_url=judge.base_url, concurrency=2)
        config = replace(config, concurrency=3, verbose=True, judge=asked)
        with watching(monkeypatch) as loop:
            whole = await run_benchmark(config, observer=seen)
            await to_thread.run_sync(_cut_in_half, whole.folder / "journal.jsonl")
            rest = await resume(ResumeConfig(run=None, output_dir=config.output_dir), observer=seen)
    assert whole.complete
    assert rest.complete
    assert len(loop.busy) > 200, "nobody was watching"
    assert not loop.blocked, "\n".join(sorted(set(loop.blocked)))
    long = [f"{took_s:.3f} s: {what}" for took_s, what in loop.busy if took_s > MAX_CALLBACK_S]
    assert not long, "\n".join(long)


def _cut_in_half(journal: Path) -> None:
    lines = journal.read_bytes().split(b"\n")
    journal.write_bytes(b"\n".join(lines[: len(lines) // 2]) + b"\n")


async def test_a_call_that_blocks_and_a_long_calculation_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watching(monkeypatch) as loop:
        await checkpoint()
        make_private(tmp_path / "folder")
        busy_until = time.thread_time() + 2 * MAX_CALLBACK_S
        while time.thread_time() < busy_until:
            pass
        await checkpoint()
    assert loop.blocked[0] == f"os.mkdir {tmp_path / 'folder'} in files/folders.py:make_private"
    assert max(took_s for took_s, _ in loop.busy) > MAX_CALLBACK_S
