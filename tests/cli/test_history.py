"""What `verify` prints of a run: a line for it, and one for each thing that differs or has no digest."""

import pytest

from pinchbench.cli.history import verified_lines, verified_record
from pinchbench.results.verification import Verified


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        (Verified(run="r", records=3, files=1), ["verified    r", "  3 records and 1 file are as they were written"]),
        (Verified(run="r", differences=("x is missing",)), ["altered     r", "  x is missing"]),
        (Verified(run="r", unverified=("no digests",)), ["unverified  r", "  no digests"]),
        (
            Verified(run="r", records=3, files=1, unwitnessed=2),
            [
                "verified    r",
                "  3 records and 1 file are as they were written",
                "  unwitnessed: OpenClaw's store alone says what the agents of 2 trials did",
            ],
        ),
        (
            Verified(run="r", records=3, files=2, bundle="ab12", taken_out=4),
            [
                "verified    r",
                "  3 records and 2 files are as they were written",
                "  4 places overwritten before it was published; SHA-256 of the bundle: ab12",
            ],
        ),
        (Verified(run="r", problem="No such file."), ["unreadable  r", "  No such file."]),
    ],
)
def test_a_run_is_named_with_what_was_found(found: Verified, shown: list[str]) -> None:
    assert list(verified_lines(found)) == shown


def test_the_json_of_a_run_that_could_not_be_read_says_nothing_else() -> None:
    assert verified_record(Verified(run="r", problem="No such file.")) == {
        "run": "r",
        "state": "unreadable",
        "problem": "No such file.",
    }
    assert verified_record(Verified(run="r", records=3, files=2)) == {
        "run": "r",
        "state": "verified",
        "records": 3,
        "files": 2,
        "differences": (),
        "unverified": (),
        "unwitnessed": 0,
        "bundle": "",
        "taken_out": 0,
    }
