"""The simulated clock of a trial."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from pinchbench.openclaw.trial_clock import TrialClock, as_iso, find_libfaketime

MARCH = 1_772_433_000.0  # 2026-03-02T06:30:00Z
DAY_S = 86_400.0


def make_clock(folder: Path) -> TrialClock:
    return TrialClock(folder / "clock", starts_at=MARCH, library=folder / "libfaketime.so.1")


def test_a_clock_begins_when_its_task_does_and_goes_on(tmp_path: Path) -> None:
    clock = make_clock(tmp_path)
    assert MARCH <= clock.now() < MARCH + 3600
    assert as_iso(MARCH) == "2026-03-02T06:30:00+00:00"


def test_time_only_goes_forward(tmp_path: Path) -> None:
    clock = make_clock(tmp_path)
    clock.move_to(MARCH + DAY_S)
    clock.move_to(MARCH)
    assert clock.now() >= MARCH + DAY_S


def test_the_time_is_shown_in_the_zone_of_the_task(tmp_path: Path) -> None:
    clock = make_clock(tmp_path)
    assert [clock.shown(zone) for zone in ("", "Europe/Berlin")] == ["Mon 2 Mar 06:30", "Mon 2 Mar 07:30"]


def test_the_file_is_overwritten_in_place_with_a_text_of_the_same_length(tmp_path: Path) -> None:
    clock = make_clock(tmp_path)
    before = clock.file.stat()
    clock.move_to(MARCH + 40 * DAY_S)
    after = clock.file.stat()
    assert (after.st_ino, after.st_size) == (before.st_ino, before.st_size)
    assert float(clock.file.read_text()) == pytest.approx(MARCH + 40 * DAY_S - time.time(), abs=3600)


@pytest.mark.skipif(find_libfaketime() is None, reason="libfaketime is not installed")
def test_a_process_with_libfaketime_sees_the_simulated_time(tmp_path: Path) -> None:
    library = find_libfaketime()
    assert library is not None
    clock = TrialClock(tmp_path / "clock", starts_at=MARCH, library=library)
    clock.move_to(MARCH + 40 * DAY_S)
    env = {**clock.env, "FAKETIME_TIMESTAMP_FILE": str(clock.file), "LD_PRELOAD": str(library)}
    said = subprocess.run(
        [sys.executable, "-c", "import time; print(time.time())"], env=env, capture_output=True, check=True, text=True
    ).stdout
    assert MARCH + 40 * DAY_S <= float(said) < MARCH + 40 * DAY_S + 3600
