"""Counts the examples that ran and says so at the end: a figure that can be checked."""

from collections.abc import Generator

import pytest
from _pytest.terminal import TerminalReporter

from fuzz.examples import counts

PROPERTY = "fuzz_examples"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Note in the test's report how many examples it ran: with xdist the report is all that comes home."""
    before = counts.total()
    try:
        yield
    finally:
        if counts.total() > before:
            item.user_properties.append((PROPERTY, counts.total() - before))


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Print the figure."""
    reports = [one for kind in ("passed", "failed", "xfailed") for one in terminalreporter.getreports(kind)]
    ran = [value for report in reports for name, value in report.user_properties if name == PROPERTY]
    if ran:
        total = sum(int(str(value)) for value in ran)
        terminalreporter.write_line(f"fuzz: {total} examples over {len(ran)} properties")
