"""The terminal's writer: in order when it is read, and never in the way when it is not."""

import os
import pty
import re
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from io import StringIO

import pytest
from rich.text import Text

from pinchbench.report.terminal.console import QUEUE_BYTES, QueuedWriter, report_console

LIMIT_S = 60.0
LINE = "x" * 1023 + "\n"


@dataclass
class Pipe:
    """A pipe whose reader begins when a test lets it."""

    read: int
    write: int
    received: bytearray = field(default_factory=bytearray)
    threads: list[threading.Thread] = field(default_factory=list)

    def begin_to_read(self) -> None:
        def read() -> None:
            while data := os.read(self.read, 65536):
                self.received.extend(data)

        self.threads.append(threading.Thread(target=read))
        self.threads[0].start()

    def end(self) -> str:
        """Close the writing end; return everything that went through."""
        if not self.threads:
            self.begin_to_read()
        os.close(self.write)
        self.write = -1
        self.threads[0].join(LIMIT_S)
        return self.received.decode()


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe(*os.pipe())
    yield made
    if made.read >= 0:
        os.close(made.read)
    if made.write >= 0:
        os.close(made.write)


def fill(pipe: Pipe, writer: QueuedWriter) -> int:
    """Write lines until there is no room, in the pipe first; return how many the writer took."""
    os.set_blocking(pipe.write, False)
    with suppress(BlockingIOError):
        while os.write(pipe.write, b"." * 4096):
            pass
    os.set_blocking(pipe.write, True)
    taken = 0
    while not writer.is_full():
        writer.write(LINE)
        taken += 1
    return taken


def test_what_is_written_arrives_in_order_and_whole(pipe: Pipe) -> None:
    with QueuedWriter(pipe.write) as writer:
        pipe.begin_to_read()
        writer.be_patient(LIMIT_S)
        for number in range(1000):
            writer.write(f"{number} {LINE}")
        writer.write("é\n" * QUEUE_BYTES)  # larger than the queue

    assert pipe.end() == "".join(f"{number} {LINE}" for number in range(1000)) + "é\n" * QUEUE_BYTES


def test_a_reader_that_stalls_costs_lines_and_never_waiting(pipe: Pipe) -> None:
    writer = QueuedWriter(pipe.write)
    with writer:
        fill(pipe, writer)
        for _ in range(10_000):
            writer.write(LINE)
        writer.close(0.01)
        assert not writer.is_full()
        os.close(pipe.read)  # the thread still waits for the reader; this lets it go
        pipe.read = -1
        writer._thread.join(LIMIT_S)
    assert not writer._thread.is_alive()


def test_what_else_takes_time_at_the_end_of_a_run_costs_no_line(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    with QueuedWriter(pipe.write) as writer:
        writer.be_patient(LIMIT_S)
        taken = fill(pipe, writer)
        before = time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: before + 2 * LIMIT_S)  # a large report was written
        pipe.begin_to_read()
        writer.write("Score 1.000\n")

    assert pipe.end().lstrip(".") == LINE * taken + "Score 1.000\n"


def test_a_reader_that_goes_away_is_no_error(pipe: Pipe) -> None:
    with QueuedWriter(pipe.write) as writer:
        os.close(pipe.read)
        pipe.read = -1
        writer.be_patient(LIMIT_S)
        for _ in range(2 * QUEUE_BYTES // len(LINE)):
            writer.write(LINE)
        writer._thread.join(LIMIT_S)
        assert not writer._thread.is_alive()
        assert not writer.is_full()


def test_a_terminal_that_another_program_made_non_blocking_gets_it_all(pipe: Pipe) -> None:
    with QueuedWriter(pipe.write) as writer:
        taken = fill(pipe, writer)
        os.set_blocking(pipe.write, False)
        pipe.begin_to_read()
        writer.be_patient(LIMIT_S)

    assert pipe.end().lstrip(".") == LINE * taken


def test_a_terminal_keeps_its_colours_and_its_width() -> None:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, 77))
    script = (
        "from pinchbench.report.terminal.console import *\n"
        "with stderr_writer() as writer:\n"
        "    console = report_console(writer)\n"
        "    print(console.is_terminal, console.width, console.color_system)\n"
        "    console.print('[red]hot[/red]')\n"
    )
    clean = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "FORCE_COLOR")}
    try:
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**clean, "TERM": "xterm-256color", "COLORTERM": ""},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
            timeout=240,
            check=True,
        )
        assert done.stdout == "True 77 256\n"
        shown = b""
        while not shown.endswith(b"\n"):  # a terminal may hand a line on in pieces
            shown += os.read(ours, 1000)
        assert shown == b"\x1b[31mhot\x1b[0m\r\n"
    finally:
        os.close(ours)
        os.close(theirs)


SENTENCE = Text.assemble(
    ("12:00:00  ", "dim"), "17 of 43 tasks need a judge, and stay ungraded without:\nname one with --judge."
)


@pytest.mark.parametrize("text", [SENTENCE, SENTENCE.plain])
def test_a_narrow_terminal_gets_lines_that_are_broken_between_words(
    text: Text | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("NO_COLOR", "1")
    shown, piped = StringIO(), StringIO()
    report_console(shown, is_terminal=True).print(text, soft_wrap=True, markup=False)
    report_console(piped).print(text, soft_wrap=True, markup=False)
    rows = re.sub(r"\x1b\[[0-9;]*m", "", shown.getvalue()).split("\n")
    assert rows == [
        "12:00:00  17 of 43 tasks need",
        "          a judge, and stay",
        "          ungraded without:",
        "name one with --judge.",
        "",
    ]
    assert piped.getvalue() == f"{SENTENCE.plain}\n"
