"""From the journal to the result: derived from the files of a run, and from nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinchbench.limits import DEFAULT_PASS_THRESHOLD
from pinchbench.model import Ungraded
from pinchbench.results.aggregate import aggregate
from pinchbench.results.attempts import promised_retries, trial_attempts
from pinchbench.results.facts import as_resumed, read_facts
from pinchbench.results.journal import read_journal
from pinchbench.results.records import GradeGiven
from pinchbench.results.store import write_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pinchbench.model import Grade, Outcome, Stop, TrialKey
    from pinchbench.results.store import RunFiles


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What a run came to.

    `path` is the aggregate, `folder` holds the journal, run.json and each trial's evidence. `data` is what stands in
    the aggregate. `outcomes` and `grades` hold of each trial the attempt that counts. `unfinished`
    says how many trials `resume` would run or grade. `interrupted` names the signal that
    ended the run early, `stopped` says why it ended itself early, and `stop` of which kind that was; `problems` what
    was wrong with the journal.
    """

    run_id: str
    path: Path
    folder: Path
    # not shown: asyncio puts the value of its main task into words on leaving, and these are megabytes
    data: Mapping[str, object] = field(repr=False)
    outcomes: tuple[Outcome, ...] = field(repr=False)
    grades: Mapping[TrialKey, Grade] = field(repr=False)
    planned: int
    unfinished: int = 0
    interrupted: str | None = None
    stopped: str = ""
    stop: Stop | None = None
    problems: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every planned trial ended in a way that says something about the model, and has its grade.

        Grades that are missing only because no judge was asked for are no fault of the run.
        """
        ended = len(self.outcomes) == self.planned and all(one.reason.counts for one in self.outcomes)
        return ended and not self.unfinished and all(self._is_graded(one.key) for one in self.outcomes)

    def _is_graded(self, key: TrialKey) -> bool:
        grade = self.grades.get(key)
        return grade is not None and grade.ungraded in (None, Ungraded.NO_JUDGE)


def derive_result(files: RunFiles) -> Result:
    """Write the aggregate of a run and return its result. Blocks.

    The same files give the same aggregate, byte by byte. Raises ResultsError when they can't be read or written.
    """
    first = read_facts(files.provenance)
    journal = read_journal(files.journal)
    facts = as_resumed(first, journal.resumed)
    plan = facts.keys
    planned = set(plan)
    outcomes = tuple(outcome for outcome in journal.outcomes if outcome.key in planned)
    finished = journal.finished
    waiting = promised_retries(journal.records).keys()
    graded = journal.graded
    done = {one.key for one in outcomes if one.reason.counts and (one.key, one.attempt) in graded} - waiting
    gone = {task_id for record in journal.resumed for task_id in record.gone}
    unfinished = sum(key not in done and key.task_id not in gone for key in plan)
    # a signal or a limit that came when all was done has ended nothing
    end = finished if unfinished else None
    data = aggregate(
        model=str(first.config.get("model")),
        run_id=facts.run_id,
        timestamp=finished.at if finished is not None else facts.created_at,
        plan=plan,
        outcomes=outcomes,
        facts={
            "suite": facts.config.get("suite"),
            "interrupted": end.interrupted if end is not None else None,
            "stopped": end.stopped if end is not None else "",
            "stop": end.stop.value if end is not None and end.stop is not None else None,
            "changes": [change for record in journal.resumed for change in record.changes],
            "run": files.name,
        },
        attempts=trial_attempts(journal.records),
        attempt_grades=journal.attempt_grades,
        grades=journal.grades,
        graded=[record.grade for record in journal.records if isinstance(record, GradeGiven)],
        categories={task_id: task.category for task_id, task in facts.tasks.items()},
        pass_threshold=_threshold(facts.config.get("pass_threshold")),
    )
    write_json(files.aggregate, data)
    return Result(
        run_id=facts.run_id,
        path=files.aggregate,
        folder=files.folder,
        data=data,
        outcomes=outcomes,
        grades=journal.grades,
        planned=len(plan),
        unfinished=unfinished,
        interrupted=end.interrupted if end is not None else None,
        stopped=end.stopped if end is not None else "",
        stop=end.stop if end is not None else None,
        problems=journal.problems,
    )


def _threshold(value: object) -> float:
    return float(value) if isinstance(value, int | float) else DEFAULT_PASS_THRESHOLD
