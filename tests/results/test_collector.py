"""The garbage collector is paused while a run is read, and runs again whatever happens."""

from __future__ import annotations

import gc
from contextlib import ExitStack

import pytest

from pinchbench.errors import ResultsError
from pinchbench.results.collector import collector_paused


def test_it_runs_again_at_the_end_and_after_an_error() -> None:
    with collector_paused():
        assert not gc.isenabled()
    assert gc.isenabled()

    with pytest.raises(ResultsError), collector_paused():
        raise ResultsError("It can't be read.")
    assert gc.isenabled()


def test_two_pauses_that_overlap_leave_it_on_and_one_of_a_program_without_it_leaves_it_off() -> None:
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(collector_paused())
        second.enter_context(collector_paused())
        first.close()
        second.close()
        assert gc.isenabled()

    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_stays_is_left_aside() -> None:
    before = gc.get_freeze_count()
    try:
        with collector_paused(stays=True):
            kept = [[number] for number in range(100)]
        assert gc.get_freeze_count() >= before + len(kept)
    finally:
        gc.unfreeze()
