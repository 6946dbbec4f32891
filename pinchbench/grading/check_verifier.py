"""Running a verifier in a check's process: its tests, or a script that writes a reward."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


MAX_BYTES = 1024 * 1024  # of a file with a reward
REWARD_FILES = ("reward.json", "reward.txt")  # the first one that is there counts
TOTAL = "reward"
# A script goes on when a command is missing, and may take that for the agent's fault.
NOTE_MISSING = """command_not_found_handle() {{ printf '%s\\n' "$1" >> {file}; return 127; }}
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rewards:
    """What a script has written: the `score`, and each of its numbers by name, limited to 0-1."""

    score: float
    points: Mapping[str, float]


def run_reward(verifier: Mapping[str, Any], workspace: str) -> Rewards:
    """Run the script in a workspace and read its reward; `verifier` is a `RewardVerifier` as JSON values.

    Raises UnusableTestsError if it writes none that is a score, or lacks a command.
    """
    missing, preamble = (Path(os.environ["TMPDIR"], name) for name in ("missing-commands", "preamble.sh"))
    preamble.write_text(NOTE_MISSING.format(file=missing), encoding="utf-8")
    env = {
        **os.environ,
        **verifier["env"],
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",  # the Python that has pytest
        "BASH_ENV": str(preamble),
    }
    rewards = Path(verifier["rewards"])
    if early := [name for name in REWARD_FILES if os.path.lexists(rewards / name)]:
        raise UnusableTestsError(f"{early[0]} was there before its tests ran")
    subprocess.run(["bash", verifier["script"]], cwd=workspace, env=env, check=False, stdin=subprocess.DEVNULL)
    if missing.exists():
        names = ", ".join(sorted(set(missing.read_text(encoding="utf-8", errors="replace").split())))
        raise UnusableTestsError(f"its tests need commands that are not here: {names}")
    return read_rewards(rewards, stated_rewards(Path(verifier["script"]).parent))


def stated_rewards(tests: Path) -> frozenset[str]:
    """Return which reward files the tests mention; both if they mention none.

    A program of the agent's that they run could have written the other one.
    """
    texts = [path.read_bytes() for path in tests.rglob("*") if path.is_file() and path.stat().st_size <= MAX_BYTES]
    stated = frozenset(name for name in REWARD_FILES if any(name.encode() in text for text in texts))
    return stated or frozenset(REWARD_FILES)


def read_rewards(folder: Path, stated: frozenset[str] = frozenset(REWARD_FILES)) -> Rewards:
    """Read the reward in one of the `stated` files of a folder.

    Raises UnusableTestsError if there is none that is a score, or if two files give different ones.
    """
    found = [
        _parse(name, said) for name in REWARD_FILES if name in stated and (said := _read(folder / name)) is not None
    ]
    if not found:
        raise UnusableTestsError(f"its tests wrote no {' or '.join(sorted(stated))}")
    if len({one.score for one in found}) > 1:
        raise UnusableTestsError(
            f"{' and '.join(REWARD_FILES)} give different rewards: a program that its tests ran may have written one"
        )
    return found[0]


def _parse(name: str, said: str) -> Rewards:
    """Read a reward. Raises UnusableTestsError if it is no score."""
    if name == "reward.json":
        try:
            values = json.loads(said)
        except (ValueError, RecursionError):
            raise UnusableTestsError("reward.json is not valid JSON") from None
        if not isinstance(values, dict) or not values or not all(map(_is_number, values.values())):
            raise UnusableTestsError("reward.json is not an object of finite numbers")
    else:
        try:
            values = {TOTAL: float(said)}
        except ValueError:
            raise UnusableTestsError("reward.txt is not a number") from None
    if TOTAL not in values:
        raise UnusableTestsError(f"reward.json has no number `{TOTAL}`")
    if not 0 <= values[TOTAL] <= 1:  # also NaN
        raise UnusableTestsError(f"the reward {values[TOTAL]:g} is not within 0-1")
    points = {name: min(max(float(value), 0.0), 1.0) for name, value in values.items()}
    return Rewards(score=float(values[TOTAL]), points=points)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _read(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(MAX_BYTES)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableTestsError(f"{path.name} can't be read: {error}") from error


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

    def pytest_runtest_logreport(self, report: Any) -> None:  # noqa: ANN401 - pytest may be missing here
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
    os.environ.update(dict.fromkeys(verifier["workspace_variables"], workspace))
    sys.dont_write_bytecode = True  # the suite's folder stays as it is
    results = TestResults(default_weight=verifier["default_weight"])
    options = [f"--workspace={workspace}", f"--rootdir={verifier['root']}", f"--confcutdir={verifier['root']}"]
    options += [f"--config-file={os.devnull}", "-p", "no:cacheprovider"]
    ended = pytest.main([verifier["file"], *options], plugins=[results])
    if ended in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
        raise UnusableTestsError("pytest could not run its tests: see the check's log")
    if results.errors or not results.weights or not any(results.weights.values()):
        why = results.errors[0].strip().splitlines()[-1] if results.errors else "there are none with a weight"
        raise UnusableTestsError(f"its tests can't be collected: {why}")
    return results


def _name(nodeid: str) -> str:
    return nodeid.partition("::")[2]
