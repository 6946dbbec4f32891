"""The lines that commands and their replies are."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.errors import CommandRefusedError
from pinchbench.runner.ctl.commands import (
    NAMES,
    Budget,
    Change,
    Command,
    Concurrency,
    Continue,
    Note,
    Override,
    Pause,
    Requeue,
    Skip,
    Status,
    StopTrial,
    decode_command,
    encode_line,
)

TEXT = st.text(max_size=50)
COMMAND: st.SearchStrategy[Command] = st.one_of(
    st.builds(Pause),
    st.builds(Continue),
    st.builds(Status),
    st.builds(Concurrency, st.integers(-9, 99)),
    st.builds(Budget, st.floats(allow_nan=False, allow_infinity=False)),
    st.builds(StopTrial, TEXT),
    st.builds(Skip, TEXT),
    st.builds(Requeue, TEXT, TEXT),
    st.builds(Note, TEXT, TEXT, st.lists(TEXT).map(tuple)),
    st.builds(Override, TEXT, st.floats(0, 1), TEXT),
)


@given(COMMAND)
def test_a_command_is_one_line_that_says_the_same(command: Command) -> None:
    line = encode_line(command)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode_command(line) == command


def test_every_command_but_the_status_changes_something() -> None:
    assert len(NAMES) == len(get_args(Change)) + 1
    assert "status" in NAMES


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"not JSON",
        b'{"command": "explode"}',
        b'{"command": "pause", "hard": true}',
        b'{"command": "concurrency", "trials": "all"}',
        b'{"command": "note", "text": "\xff"}',
        b"[" * 10_000,
    ],
)
def test_what_is_no_command_is_answered_with_the_known_ones(line: bytes) -> None:
    with pytest.raises(CommandRefusedError, match="pause, continue, concurrency, stop-trial"):
        decode_command(line)
