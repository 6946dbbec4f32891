"""Programs that come with a task: a script that fills the workspace, and tests that grade it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class SetupScript:
    """A script that fills the empty workspace before the task's files are copied there and the agent starts.

    It is run by bash with the workspace's absolute path as its argument, in a copy of `folder`, to which `script` is
    relative. Its exit code is ignored. One that takes longer than `limit_s` seconds fails the attempt.
    """

    folder: Path
    script: str
    limit_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PytestVerifier:
    """Tests of pytest that grade the workspace, whose path they get as `--workspace`.

    Attributes:
        file: the tests; its folder is visible to them.
        root: pytest's root folder, whose `conftest.py` they use.
        limit_s: how long they may take, in seconds.
        default_weight: the weight of a test without a marker `weight(n)`.
        needs: modules that have to be importable; without one of them there is no score.
    """

    file: Path
    root: Path
    limit_s: float
    default_weight: float
    needs: tuple[str, ...] = ()
