# ruff: noqa: T201 - it prints a table
"""Do the bundled solutions get the same scores, and have the same conversations, at every level of the sandbox?

`python tests/bench/sandbox_scores.py [--release 2026.9.6] [--suite core] [--kept FOLDER [--most-s 500] [--batch 8]]`
plays the scripted model on real OpenClaw, in private homes, in one run at each level that this machine has. A line for
each task has its score at each level, or that of its check alone if the task needs a judge. Conversations are compared
message by message, with paths, ids and dates masked. It ends with 1 if anything differs.

It takes a minute of CPU time a task. With `--kept`, what has been played is kept in that folder and not played again,
unless it did not complete; a run then has `--batch` tasks at most, and after `--most-s` seconds no further run is
begun: the table has the tasks that were played at all levels.
"""

from __future__ import annotations

import argparse
import difflib
import json
import math
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import msgspec

from bench.isolation import OWN, SHOWN, Played, play
from bench.measure import machine, print_table
from pinchbench.defaults import Isolation
from pinchbench.sandbox.levels import Level, find_support
from pinchbench.sandbox.spec import HOME, STATE, WORKSPACE
from pinchbench.suite.bundled import bundled_tasks_dir
from pinchbench.suite.load import read_suite
from pinchbench.suite.select import select_tasks

MASKED = ("id", "parentId", "timestamp", "responseId", "toolCallId", "usage", "durationMs", "pid")
TIMES = re.compile(r"\bin \d+\.\d+s\b")  # that a program of the workspace took
COMMITS = re.compile(r"(?<![0-9a-f])[0-9a-f]{7,40}(?![0-9a-f])")  # those of a trial depend on when it was
TOGETHER = 2  # trials at once
COMPLETED = "completed"
WIDTH = 300  # characters shown of a line that differs


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """A trial at one level: what was scored, why it ended, and its conversation as lines."""

    score: str
    reason: str
    conversation: list[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """What has been played, a file for each task at each level."""

    folder: Path
    release: str

    def read(self, level: Level, task: str) -> Side | None:
        """Return a trial; None if it has not been played."""
        path = self._path(level, task)
        return msgspec.json.decode(path.read_bytes(), type=Side) if path.exists() else None

    def has(self, level: Level, task: str) -> bool:
        """Whether a trial has been played, and not ended early: a busy machine makes some time out."""
        side = self.read(level, task)
        return side is not None and side.reason == COMPLETED

    def play(self, level: Level, tasks: list[str]) -> None:
        """Play tasks in one run, and keep their trials."""
        with tempfile.TemporaryDirectory(prefix="isolation-") as place:
            options = (
                f"--suite={','.join(tasks)}",
                f"--concurrency={TOGETHER}",
                "--timeout-multiplier=5",
                f"--sandbox={level}",
            )
            played = play(Path(place), Isolation.PRIVATE, self.release, *options, may_fail=True)
            for task, side in sides(played).items():
                self._path(level, task).parent.mkdir(parents=True, exist_ok=True)
                self._path(level, task).write_bytes(msgspec.json.encode(side))

    def _path(self, level: Level, task: str) -> Path:
        return self.folder / self.release / level / f"{task}.json"


def sides(played: Played) -> dict[str, Side]:
    """Return each trial of a run by its task."""
    found = {}
    for task in played.result["tasks"]:
        [run] = task["runs"]
        transcript = played.folder / "trials" / task["task_id"] / "1" / "transcript.jsonl"
        found[task["task_id"]] = Side(
            score=_score(run.get("grade") or {}),
            reason=run["reason"],
            conversation=_conversation(transcript.read_text(encoding="utf-8"), workspace=run["workspace"]),
        )
    return found


def _score(grade: dict[str, Any]) -> str:
    if grade.get("score") is not None:
        return f"{grade['score']:.3f}"
    checked = (grade.get("breakdown") or {}).values()
    return f"check {sum(checked) / len(checked):.3f}" if checked else "judge only"


def _conversation(transcript: str, *, workspace: str) -> list[str]:
    """Return the messages of a transcript as JSON, with everything masked that differs between two runs of the same."""
    lines = []
    for line in transcript.split("\n"):
        message = json.loads(line).get("message") if line else None
        if isinstance(message, dict):
            text = json.dumps(_without_own(message), sort_keys=True, ensure_ascii=False)
            lines.append(_mask_paths(COMMITS.sub("…", TIMES.sub("…", OWN.sub("…", text))), workspace))
    return lines


def _without_own(value: Any) -> Any:
    match value:
        case dict():
            return {key: _without_own(one) for key, one in value.items() if key not in MASKED}
        case list():
            return [_without_own(one) for one in value]
        case _:
            return value


def _mask_paths(text: str, workspace: str) -> str:
    own = OWN.sub("…", workspace)
    root = own.rpartition("/")[0]
    places = {own: "WORKSPACE", WORKSPACE: "WORKSPACE", STATE: "STATE", HOME: "HOME"}
    text = re.sub(rf"{re.escape(root)}/\.slot\d+/", "/", text)
    for place, name in places.items():
        text = text.replace(place, name)
    return text


def differences(one: Side, other: Side) -> list[str]:
    """Return the lines in which two conversations differ, each with its sign."""
    lines = difflib.unified_diff(one.conversation, other.conversation, n=0, lineterm="")
    return [line for line in islice(lines, 2, None) if not line.startswith("@@")]


def main() -> int:
    """Play, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", default="2026.9.6")
    parser.add_argument("--suite", default="all")
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--most-s", type=float, default=math.inf)
    parser.add_argument("--batch", type=int, help="tasks in one run; all, unless given")
    options = parser.parse_args()
    levels = [level for level in reversed(Level) if not find_support().reason(level)]
    tasks = [task.task_id for task in select_tasks(read_suite(bundled_tasks_dir()).suite, options.suite)]
    due = time.monotonic() + options.most_s
    with tempfile.TemporaryDirectory(prefix="isolation-") as folder:
        kept = Kept(folder=options.kept or Path(folder), release=options.release)
        batch = options.batch or len(tasks)
        for first in range(0, len(tasks), batch):
            for level in levels:
                some = [task for task in tasks[first : first + batch] if not kept.has(level, task)]
                if some and time.monotonic() < due:
                    kept.play(level, some)
        found = {level: {task: side for task in tasks if (side := kept.read(level, task))} for level in levels}
    usual = {task: side for task, side in found[Level.NONE].items() if all(task in found[level] for level in levels)}
    rows, different = [], {}
    for task, one in usual.items():
        others = {level: found[level][task] for level in levels}
        lines = [f"{task}, {level}: {line[:WIDTH]}" for level in levels for line in differences(one, others[level])]
        scores = [f"{each.score} ({each.reason})" for each in others.values()]
        rows.append((task, *scores, str(len(one.conversation)), str(len(lines))))
        if len(set(scores)) > 1:
            lines.append(f"{task}: scores or reasons differ")
        if lines:
            different[task] = lines
    columns = ("task", *map(str, levels), "messages", "lines that differ")
    print_table(f"OpenClaw {options.release}, demo/oracle, private homes", columns, rows, note=machine())
    print(f"{len(usual)} of {len(tasks)} tasks were played at {len(levels)} levels; {len(different)} differ.")
    print(*islice(chain(*different.values()), SHOWN), sep="\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
