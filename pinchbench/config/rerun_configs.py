"""The options with which a stored run is resumed, replayed or graded again."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from pinchbench.config.run_config import ReplaySettings, RunConfig
from pinchbench.config.settings import absolute_path, check_text
from pinchbench.defaults import DEFAULT_OUTPUT_DIR, DEFAULT_RUN_ROOT
from pinchbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pinchbench.config.asked_models import JudgeConfig


@dataclass(frozen=True, kw_only=True, slots=True)
class ResumeConfig:
    """Which run to go on with, and how.

    Attributes:
        run: the run's folder, its aggregate, its name or its id; None for the newest unfinished one of `output_dir`.
        output_dir: where runs are looked for by name or id.
        accept_changes: go on although tasks, settings or releases have changed since.
        settings: options of `RunConfig` by name that replace those of the run. One that its numbers depend on is a
            change that has to be accepted.

    Raises ConfigError, naming the option, when a value can't be used.
    """

    run: str | None = None
    output_dir: Path = DEFAULT_OUTPUT_DIR
    accept_changes: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every value and make the path absolute."""
        check_text("RUN", self.run)
        object.__setattr__(self, "output_dir", absolute_path(self.output_dir, option="--output-dir"))
        fixed = {"suite", "runs", "output_dir"}
        known = {one.name for one in fields(RunConfig)} - fixed
        if unknown := sorted(self.settings.keys() - known):
            raise ConfigError(f"A resumed run takes no {', '.join(unknown)}; it takes {', '.join(sorted(known))}.")


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayConfig:
    """Which run to play again from its recorded requests and replies, and how.

    Attributes:
        run: the run's folder, its aggregate, its name or its id.
        output_dir: where runs are looked for by name or id. The results go to `replays` next to the run.
        suite: which tasks of the run, as for a run; None for all.
        settings: options of `RunConfig` by name that replace those of the run.
        replay: as in `ReplaySettings`; its folder is ignored.

    Raises ConfigError, naming the option, when a value can't be used.
    """

    run: str
    output_dir: Path = DEFAULT_OUTPUT_DIR
    suite: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    replay: ReplaySettings = field(default_factory=lambda: ReplaySettings(folder=""))

    def __post_init__(self) -> None:
        """Check every value and make the path absolute."""
        check_text("RUN", self.run)
        check_text("--suite", self.suite)
        object.__setattr__(self, "output_dir", absolute_path(self.output_dir, option="--output-dir"))


@dataclass(frozen=True, kw_only=True, slots=True)
class RegradeConfig:
    """What to grade again.

    Attributes:
        run: the run's folder, its aggregate, its name or its id.
        output_dir: where runs are looked for by name or id.
        judge: who judges; None for the judge that graded the run last, if one did.
        suite: which tasks of the run, as for a run.
        tasks_dir: the suite's folder; None for the one that was run.
        only_ungraded: leave the trials alone that have a score.
        run_root: where checks run.
        openclaw: a path or a release, for a judge that is an OpenClaw agent.
        must_agree: it is an error if an automated task's trial comes to another score; without `judge`, no other
            tasks are graded.

    Raises ConfigError, naming the option, when a value can't be used.
    """

    run: str
    output_dir: Path = DEFAULT_OUTPUT_DIR
    judge: JudgeConfig | None = None
    suite: str = "all"
    tasks_dir: Path | None = None
    only_ungraded: bool = False
    run_root: Path = DEFAULT_RUN_ROOT
    openclaw: str | None = None
    must_agree: bool = False

    def __post_init__(self) -> None:
        """Check every value and make the paths absolute."""
        for option, value in (("RUN", self.run), ("--suite", self.suite), ("--openclaw", self.openclaw)):
            check_text(option, value)
        for name in ("tasks_dir", "output_dir", "run_root"):
            path: Path | None = getattr(self, name)
            if path is not None:
                object.__setattr__(self, name, absolute_path(path, option=f"--{name.replace('_', '-')}"))
