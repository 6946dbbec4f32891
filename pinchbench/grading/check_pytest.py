"""Running the tests of a verifier in a check's process, and what they are worth."""

from __future__ import annotations

import importlib.util
import math
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class UnusableTestsError(Exception):
    """The tests give no score: a module that they need is missing, or pytest could not collect them."""


@dataclass(slots=True)
class TestResults:
    """A plugin of pytest that notes the weight of each test, and whether it passed, by its name.

    A test passes if it was called, and neither it nor a fixture failed; one that is skipped does not pass.
    """

    __test__ = False  # it is no test itself

    default_weight: float
    weights: dict[str, float] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)

    def pytest_collectreport(self, report: Any) -> None:  # noqa: ANN401 - pytest is imported in the check's process alone
        """Note what could not be collected."""
        if report.failed:
            self.errors.append(str(report.longrepr))

    def pytest_collection_modifyitems(self, items: Sequence[Any]) -> None:
        """Note the tests and their weights."""
        for item in items:
            marker = item.get_closest_marker("weight")
            value = marker.args[0] if marker is not None and marker.args else self.default_weight
            is_weight = isinstance(value, int | float) and math.isfinite(value) and value >= 0
            self.weights[_name(item.nodeid)] = float(value) if is_weight else self.default_weight

    def pytest_runtest_logreport(self, report: Any) -> None:  # noqa: ANN401 - as above
        """Note how a phase of a test ended."""
        if report.failed:
            self.failed.add(_name(report.nodeid))
        elif report.when == "call" and report.passed:
            self.called.add(_name(report.nodeid))

    @property
    def points(self) -> dict[str, float]:
        """1 for each test that passed, 0 for the others, in their order."""
        return {name: float(name in self.called and name not in self.failed) for name in self.weights}

    @property
    def score(self) -> float:
        """The weights of the tests that passed as a share of all; they must not all be 0."""
        points = self.points
        return math.fsum(self.weights[name] * points[name] for name in points) / math.fsum(self.weights.values())


def run_tests(verifier: Mapping[str, Any], workspace: str) -> TestResults:
    """Run the tests on a workspace; `verifier` is a `PytestVerifier` as JSON values.

    Plugins that happen to be installed, and configuration files, have no influence. Raises UnusableTestsError.
    """
    if missing := [name for name in verifier["needs"] if importlib.util.find_spec(name) is None]:
        raise UnusableTestsError(f"its tests need the modules {', '.join(missing)}, which are not installed")
    import pytest  # noqa: PLC0415 - checks without tests must not wait for it

    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    # tests may run `pytest` and `python`; what is on the PATH comes first, as it does for the agent
    os.environ["PATH"] += f":{Path(sys.executable).parent}"
    if verifier["workspace_variable"]:
        os.environ[verifier["workspace_variable"]] = workspace
    sys.dont_write_bytecode = True  # the suite's folder stays as it is
    results = TestResults(default_weight=verifier["default_weight"])
    ended = pytest.main(
        [
            verifier["file"],
            f"--workspace={workspace}",
            f"--rootdir={verifier['root']}",
            f"--confcutdir={verifier['root']}",
            f"--config-file={os.devnull}",
            "-p",
            "no:cacheprovider",
        ],
        plugins=[results],
    )
    if ended in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
        raise UnusableTestsError("pytest could not run its tests: see the check's log")
    if results.errors or not results.weights or not any(results.weights.values()):
        why = results.errors[0].strip().splitlines()[-1] if results.errors else "there are none with a weight"
        raise UnusableTestsError(f"its tests can't be collected: {why}")
    return results


def _name(nodeid: str) -> str:
    return nodeid.partition("::")[2]
