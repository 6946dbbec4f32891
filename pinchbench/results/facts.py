"""run.json: what was asked of a run and what ran it, written once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pinchbench.errors import ResultsError
from pinchbench.model import GradingType, TrialKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinchbench.results.records import RunResumed


class TaskFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A task as it was run. `timeout_s` is its limit, the multiplier put in."""

    digest: str
    category: str
    grading_type: GradingType
    timeout_s: float


class _Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a run that its readers use, with their types; the others are `resume`'s to check."""

    model: str
    suite: str = ""
    pass_threshold: float = 0.0
    max_cost: float | None = None
    max_tokens: int | None = None
    max_hours: float | None = None


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a reader needs to know what the numbers of a run are numbers of. Holds no keys.

    `config` holds the options by name, `versions` the releases of everything that took part, `tasks` the tasks by
    id, `plan` every trial in order as id and repetition. `timezone` is the agents' (a name for `TZ`, empty where none is
    known). `created_at` is in seconds since the epoch (UTC).
    """

    run_id: str
    created_at: float
    config: dict[str, object]
    versions: dict[str, str]
    containment: str
    agents: list[str]
    suite: dict[str, object]
    tasks: dict[str, TaskFacts]
    plan: list[tuple[str, int]]
    timezone: str = ""

    def __post_init__(self) -> None:
        """Check what other files and folders are found by; what ValueError says is part of `read_facts`' sentence."""
        if Path(self.run_id).name != self.run_id or self.run_id in ("", ".."):
            raise ValueError("its run_id is no name")
        if not isinstance(folder := self.suite.get("folder"), str) or not folder:
            raise ValueError("it does not say where its suite is")
        try:
            msgspec.convert(self.config, _Settings)
        except msgspec.ValidationError as error:
            said = str(error) if "`$" in str(error) else f"{error} - at `$`"
            raise ValueError(said.replace("`$", "`$.config")) from error

    @property
    def keys(self) -> tuple[TrialKey, ...]:
        """The plan."""
        return tuple(TrialKey(task_id=task_id, repetition=repetition) for task_id, repetition in self.plan)


def as_resumed(facts: RunFacts, resumed: Sequence[RunResumed]) -> RunFacts:
    """The facts of a run as they are after it was resumed: what changed then holds for what is run from there on."""
    for record in resumed:
        facts = msgspec.structs.replace(
            facts, config=record.config, versions=record.versions, tasks={**facts.tasks, **record.tasks}
        )
    return facts


def read_facts(path: Path) -> RunFacts:
    """Read a run.json; keys of other releases are ignored. Blocks. Raises ResultsError, with its place, when it is none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ResultsError(f"{path} can't be read: {error.strerror}.") from error
    try:
        return msgspec.json.decode(data, type=RunFacts)
    except (ValueError, RecursionError) as error:  # bytes that are no UTF-8 are a ValueError of another kind
        what = f"{_place(data, str(error))}: {error}" if data.strip() else ": it is empty"
        raise ResultsError(
            f"{path}{what}. This file is written once, when a run begins, and describes the run: put back a copy of it,"
            f" or remove the run with `pinchbench-async clean {path.parent}`."
        ) from error


def _place(data: bytes, said: str) -> str:
    """The line in which the decoder met what it complains of; nothing where it names a key."""
    if "truncated" in said:
        before = data.rstrip()
    elif at := re.search(r"\(byte (\d+)\)", said):
        before = data[: int(at[1])]
    else:
        return ""
    return f":{before.count(10) + 1}"
