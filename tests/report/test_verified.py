"""What `verify` prints of a run: a line for it, and one for each thing that differs or has no digest."""

from __future__ import annotations

import pytest

from pinchbench.report.verified import lines, row
from pinchbench.results.verify import Verified


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        (Verified(run="r", records=3, files=1), ["verified    r", "  3 records and 1 file are as they were written"]),
        (Verified(run="r", differences=("x is missing",)), ["altered     r", "  x is missing"]),
        (Verified(run="r", unverified=("no digests",)), ["unverified  r", "  no digests"]),
        (Verified(run="r", problem="No such file."), ["unreadable  r", "  No such file."]),
    ],
)
def test_a_run_is_named_with_what_was_found(found: Verified, shown: list[str]) -> None:
    assert list(lines(found)) == shown


def test_the_json_of_a_run_that_could_not_be_read_says_nothing_else() -> None:
    assert row(Verified(run="r", problem="No such file.")) == {
        "run": "r",
        "state": "unreadable",
        "problem": "No such file.",
    }
    assert row(Verified(run="r", records=3, files=2)) == {
        "run": "r",
        "state": "verified",
        "records": 3,
        "files": 2,
        "differences": (),
        "unverified": (),
    }
