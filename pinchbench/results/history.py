"""How long trials took before: what the newest journals of an output folder tell, read within bounds."""

from __future__ import annotations

import math
import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from pinchbench.model import Ending, Reason, TrialKey

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

# Enough for a median, little enough that the start of a run does not wait for the reading.
MAX_RUNS = 10  # of the model, and as many of other models
MAX_BYTES = 4 * 1024 * 1024  # of all journals together: some thousand trials, read in some 25 ms
OF_WHAT_IS_LEFT = 2  # a journal gets half of the bytes that are left, so that a long one leaves room for earlier runs
MAX_LINE_BYTES = 64 * 1024  # a longer line tells nothing here
RUN = re.compile(r".+_[0-9]{8}-[0-9]{6}-[0-9a-f]{4}")  # its folder: a slug, and an id as `new_run_id` makes it
OUTCOME = b'{"type":"outcome"'  # what the line of an outcome begins with


@dataclass(frozen=True, kw_only=True, slots=True)
class PastTrial:
    """How long an attempt took that came to its end: its set-up and the agent, in seconds.

    One that timed out would have taken longer. `digest` is that of the task as it was then.
    """

    task_id: str
    digest: str
    took_s: float
    same_model: bool


class _Timed(msgspec.Struct, frozen=True, kw_only=True):
    """What of an outcome says how long it took."""

    key: TrialKey
    reason: Reason
    digest: str
    execution_time_s: float = 0.0
    setup_s: float = 0.0
    timeout_s: float = 0.0


class _Line(msgspec.Struct, frozen=True, kw_only=True, tag="outcome", tag_field="type"):
    """The line of an outcome."""

    outcome: _Timed


_decoder = msgspec.json.Decoder(_Line)


def past_trials(
    output_dir: Path, *, slug: str, task_ids: Collection[str], is_alike: Callable[[str], bool] = lambda _: True
) -> tuple[PastTrial, ...]:
    """The trials of these tasks in the newest runs of a model, and in those of others where it has not run them all.

    `slug` is the model's name in the names of its runs; `is_alike` says by their slugs which others may stand in. Blocks,
    but not for long: of many runs, or of a long journal, only the newest part is read. What can't be read is left out;
    nothing is raised.
    """
    wanted = frozenset(task_ids)
    own: list[Path] = []
    others: list[Path] = []
    for name in _names(output_dir):
        other = name.rpartition("_")[0]
        runs = own if other == slug else others
        if len(runs) < MAX_RUNS and (other == slug or is_alike(other)):
            runs.append(output_dir / name / "journal.jsonl")
    left_bytes = MAX_BYTES
    found: list[PastTrial] = []
    for journals, same_model in ((own, True), (others, False)):
        if wanted == {past.task_id for past in found}:
            break
        for path in journals:
            for line in _lines(path, left_bytes // OF_WHAT_IS_LEFT):
                left_bytes -= len(line)
                past = _past(line, same_model=same_model)
                if past is not None and past.task_id in wanted:
                    found.append(past)
    return tuple(found)


def _names(output_dir: Path) -> list[str]:
    """The names of the runs, the newest first; of folders that are none as well, if they look like it."""
    names: list[str] = []
    with suppress(OSError), os.scandir(output_dir) as entries:
        for entry in entries:
            with suppress(OSError):  # of this one: the others are as good as before
                if RUN.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                    names.append(entry.name)
    return sorted(names, key=lambda name: (name.rpartition("_")[2], name), reverse=True)


def _lines(path: Path, limit_bytes: int) -> Iterator[bytes]:
    """The last whole lines of a journal, and pieces of those that are too long."""
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            return  # opening a pipe would wait for a writer
        with path.open("rb") as file:
            if info.st_size > limit_bytes:
                file.seek(info.st_size - limit_bytes)
                yield file.readline(MAX_LINE_BYTES)  # torn by us: no record
            while limit_bytes > 0 and (line := file.readline(MAX_LINE_BYTES)):
                limit_bytes -= len(line)
                yield line
    except OSError:
        return


def _past(line: bytes, *, same_model: bool) -> PastTrial | None:
    """What a line tells; None where that is nothing."""
    if not line.startswith(OUTCOME):
        return None
    try:
        outcome = _decoder.decode(line).outcome
    except (msgspec.DecodeError, RecursionError):
        return None  # torn, or of another release; a line that holds more than one record is as rare
    match outcome.reason.ending:
        case Ending.COMPLETED:
            agent_s = outcome.execution_time_s
        case Ending.TIMED_OUT:
            agent_s = max(outcome.execution_time_s, outcome.timeout_s)
        case _:
            return None  # an agent that broke down early says nothing about how long the next one takes
    took_s = outcome.setup_s + agent_s
    if not 0 <= took_s < math.inf:
        return None
    return PastTrial(task_id=outcome.key.task_id, digest=outcome.digest, took_s=took_s, same_model=same_model)
