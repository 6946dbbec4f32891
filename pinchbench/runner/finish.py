"""From the journal to the result: derived from the files of a run, and from nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinchbench.model import Ungraded
from pinchbench.results.past_run import read_run
from pinchbench.results.store import write_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pinchbench.model import Grade, Outcome, Stop, TrialKey
    from pinchbench.results.result_json import Aggregate
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
    data: Aggregate = field(repr=False)
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
    run = read_run(files)
    write_json(files.aggregate, run.data)
    end = run.end
    return Result(
        run_id=run.facts.run_id,
        path=files.aggregate,
        folder=files.folder,
        data=run.data,
        outcomes=run.outcomes,
        grades=run.grades,
        planned=len(run.facts.plan),
        unfinished=run.unfinished,
        interrupted=end.interrupted if end is not None else None,
        stopped=end.stopped if end is not None else "",
        stop=end.stop if end is not None else None,
        problems=run.journal.problems,
    )
