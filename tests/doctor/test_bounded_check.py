"""A check has a time limit, and one that fails is a finding."""

import threading

import pytest

from pinchbench.doctor.bounded_check import blocking_check, find_within, in_thread, record, verdict
from pinchbench.errors import OpenClawError
from pinchbench.model.finding import Finding, Level

LIMIT_S = 60.0


async def test_a_check_that_hangs_in_its_thread_is_a_finding_and_is_not_waited_for() -> None:
    let_go = threading.Event()

    def hang() -> Finding:
        let_go.wait()
        raise AssertionError

    try:
        [found] = await find_within("workspaces", blocking_check(hang), 0.05)
    finally:
        let_go.set()

    assert (found.subject, found.level) == ("workspaces", Level.PROBLEM)
    assert found.said == "This could not be checked within 0.05 s."


@pytest.mark.parametrize(
    ("error", "said", "do"),
    [
        (OpenClawError("There is none."), "There is none.", ""),
        (OSError(5, "Input/output error"), "This could not be checked ([Errno 5] Input/output error).", ""),
        (
            ExceptionGroup("beside a server", [ZeroDivisionError("no reason")]),
            "This could not be checked (ZeroDivisionError: no reason).",
            "Please report it: it is a bug of pinchbench-async.",
        ),
    ],
)
async def test_a_check_that_raises_is_a_finding(error: Exception, said: str, do: str) -> None:
    async def fails() -> list[Finding]:
        raise error

    assert await find_within("x", fails, LIMIT_S) == [Finding(subject="x", level=Level.PROBLEM, said=said, do=do)]


async def test_an_error_of_a_thread_is_raised_where_it_is_waited_for() -> None:
    def fails() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        await in_thread(fails)


GOOD = Finding(subject="memory", said="4.0 GiB are free.")
BAD = Finding(subject="key", level=Level.PROBLEM, said="No\x1b[31m key [bold]there", do="Set\nX_API_KEY")


def test_the_verdict_counts_and_names_the_problems() -> None:
    warning = Finding(subject="runs", level=Level.WARNING, said="One.")

    assert verdict([GOOD]) == "No problem."
    assert verdict([GOOD, warning]) == "No problem, 1 warning."
    assert verdict([GOOD, BAD, BAD, warning]) == "2 problems (key) and 1 warning: a run would fail."


def test_json_has_no_control_characters() -> None:
    assert record(BAD) == {
        "level": "problem",
        "subject": "key",
        "said": "No [31m key [bold]there",
        "do": "Set X_API_KEY",
    }
