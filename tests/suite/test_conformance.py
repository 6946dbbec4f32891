"""The comparison of a suite with what is known about it, on packs of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import conformance
from suite_packs import write_claw_bench, write_qwenclaw, write_wildclaw

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize(
    ("write", "line"),
    [
        (write_qwenclaw, "OTHER  tasks that load: 3, not 100"),
        (write_qwenclaw, "same  files that are refused: 0"),
        (write_claw_bench, "OTHER  levels: {'L1': 1, 'L2': 1}, not {'L1': 45, 'L2': 130, 'L3': 113, 'L4': 31}"),
        (write_wildclaw, "OTHER  files that are refused: 1, not 60"),
        (write_wildclaw, "same  tasks that load: 0"),
    ],
)
def test_what_differs_is_named_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], write: Callable[[Path], Path], line: str
) -> None:
    write(tmp_path)
    assert conformance.main([str(tmp_path)]) == 1
    assert line in capsys.readouterr().out.split("\n")


def test_without_a_path_the_usage_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert conformance.main([]) == 2
    assert "conformance.py PATH" in capsys.readouterr().err
