"""The comparison of a suite with what is known about it, on packs of our own."""

from collections.abc import Callable
from pathlib import Path

import pytest

import conformance
from core_pack import write_clawbench_core
from suite_packs import write_claw_bench, write_qwenclaw, write_wildclaw


@pytest.mark.parametrize(
    ("write", "line"),
    [
        (write_qwenclaw, "OTHER  tasks that load: 3, not 100"),
        (write_qwenclaw, "same  files that are refused: 0"),
        (write_claw_bench, "OTHER  levels: {'L1': 1, 'L2': 1}, not {'L1': 45, 'L2': 130, 'L3': 113, 'L4': 31}"),
        (write_wildclaw, "OTHER  files that are refused: 0, not 52"),
        (write_wildclaw, "OTHER  tasks that load: 1, not 8"),
        (
            write_clawbench_core,
            "OTHER  tiers: {'tier1': 1, 'tier4': 1}, not {'tier1': 2, 'tier2': 6, 'tier3': 5, 'tier4': 5, 'tier5': 1}",
        ),
        (write_clawbench_core, "OTHER  turns of t4-life-trip-plan: [], not [3]"),
    ],
)
def test_what_differs_is_named_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], write: Callable[[Path], Path], line: str
) -> None:
    write(tmp_path)
    assert conformance.main([str(tmp_path)]) == 1
    assert line in capsys.readouterr().out.split("\n")
