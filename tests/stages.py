"""Run a stage of the tests next to the linters: `python tests/stages.py STAGE RELEASE`. It ends with what was run.

The linters take a processor for a minute or two, and the tests on real OpenClaw wait half of their time.
"""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

# More workers than there are processors: tests wait half of their time, for processes or for OpenClaw.
WORKERS, OPENCLAW_WORKERS = 4, 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """Tests that pytest runs together.

    `limit_s` is a test's, with what it shares with others. A file's tests stay on one worker with `loadfile`, so that
    what they share, such as a cluster for minutes, is set up once.
    """

    marks: str
    workers: int
    dist: str
    limit_s: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """What a stage runs: linters of the Makefile, and pytest once for each selection."""

    linters: tuple[str, ...]
    selections: tuple[Selection, ...]
    not_run: str


STAGES = {
    "test": Stage(
        linters=("lint-types", "lint-imports", "lint-async"),
        selections=(Selection(marks="not long", workers=WORKERS, dist="worksteal", limit_s=1200),),
        not_run="{others:,} long tests (make test-long)",
    ),
    "test-long": Stage(
        linters=("lint-async-all",),
        selections=(
            Selection(marks="long and not real_openclaw", workers=WORKERS, dist="loadfile", limit_s=1800),
            Selection(marks="long and real_openclaw", workers=OPENCLAW_WORKERS, dist="loadfile", limit_s=2400),
        ),
        not_run="what make test runs",
    ),
}


class Counter:
    """Count the tests that were run, those on real OpenClaw, those that were left out, and those not begun in time."""

    def __init__(self) -> None:
        self.run = self.on_openclaw = self.others = self.late = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.run += 1
            self.on_openclaw += "real_openclaw" in report.keywords
        elif report.when == "setup" and report.skipped:
            self.late += "the time for tests was over" in str(report.longrepr)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Read what a worker has left out; every worker collects the same tests."""
        output: dict[str, int] = getattr(node, "workeroutput", {})
        self.others = max(self.others, output.get("deselected", 0))


def lint(targets: tuple[str, ...]) -> bool:
    """Run linters one after the other; what one finds is shown at once."""
    passed = True
    for target in targets:
        began = time.monotonic()
        done = subprocess.run(
            ["make", "--no-print-directory", target],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            passed = False
            say(f"\n{done.stdout}\n{target} failed")
        else:
            say(f"\n{target}: passed in {time.monotonic() - began:.0f} s")
    return passed


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - this is a program


def main(name: str, release: str) -> int:
    """Run a stage; return its exit code."""
    stage, counter, began = STAGES[name], Counter(), time.monotonic()
    if not lint(("lint-style",)):
        return 1
    codes = []
    with ThreadPoolExecutor(1) as pool:
        linters = pool.submit(lint, stage.linters)
        for selection in stage.selections:
            say(f"\n{name}: {selection.marks}")
            options = ["-q", "-n", str(selection.workers), "--dist", selection.dist, "-m", selection.marks]
            options += ["--timeout", str(selection.limit_s)]
            codes.append(pytest.main(options, plugins=[counter]))
    failed = [f"pytest ended with {code}" for code in codes if code] + ["a linter failed"] * (not linters.result())
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    what = f"{counter.run:,} tests, {counter.on_openclaw} of them on real OpenClaw {release}"
    say(f"make {name}: {what}, in {minutes}:{seconds:02}. Not run: {stage.not_run.format(others=counter.others)}.")
    if counter.late:
        say(f"make {name}: {counter.late} tests were NOT BEGUN before the end of the time that TESTS_END_AT gives")
    for one in failed:
        say(f"make {name}: {one}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
