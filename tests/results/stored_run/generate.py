"""Generate the stored run next to this file: `PYTHONPATH=tests python tests/results/stored_run/generate.py`.

Run it only when a release changes what it writes on purpose: the files show that what an older release wrote stays
readable.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import msgspec

from past_runs import BEGAN, VERSIONS, Made, PlannedRun, write_run
from pinchbench.model.ending import Reason, Stop
from pinchbench.model.grade import Ungraded
from pinchbench.model.trial import TrialKey
from pinchbench.results.finished_run import derive_result
from pinchbench.results.journal.journal import JournalWriter, read_journal
from pinchbench.results.manifest import read_facts
from pinchbench.results.records import (
    GradeGiven,
    PaceSet,
    Record,
    RegradeStarted,
    RunFinished,
    RunResumed,
    TrialFinished,
    TrialStarted,
)

HERE = Path(__file__).parent
LATER = BEGAN + 10_000
KILLED = Reason.KILLED_BY_SIGNAL
TRIALS = {
    "task_mail": (Made(score=0.75, notes=("Grüße fehlen.",)), Made(score=1 / 3)),
    "task_chart": (Made(score=0.0, reason=Reason.TIMED_OUT, took_s=120.0), Made(score=0.9, note="Wrote twice.")),
    "task_retry": (Made(retried=(Reason.PROVIDER_ERROR,)), Made(score=None, reason=Reason.WORKSPACE_FAILED)),
    "task_killer": (Made(score=None, reason=KILLED, retried=(KILLED,)), Made(score=1.7)),
    "task_judged": (
        Made(score=None, ungraded=Ungraded.NO_JUDGE, cost_usd=0.0),
        Made(score=None, ungraded=Ungraded.JUDGE_UNREACHABLE),
    ),
    "task_needy": (Made(score=None, reason=Reason.PREREQUISITE_MISSING), Made(score=None, reason=Reason.INTERRUPTED)),
    "task_gone": (Made(score=0.5), Made(score=None)),
}


def main() -> None:
    """Write run.json, the journal and the result."""
    with tempfile.TemporaryDirectory() as folder:
        files = write_run(Path(folder), PlannedRun(trials=TRIALS, planned_beyond=1, config={"max_cost": 5, "seed": 7}))
        facts = read_facts(files.provenance)
        journal = read_journal(files.journal)
        first = next(one for one in journal.state.attempts if one.key == TrialKey(task_id="task_mail", repetition=1))
        changed = msgspec.structs.replace(facts.tasks["task_mail"], digest="f" * 64)
        records: list[Record] = [
            RunResumed(
                at=LATER,
                trials=3,
                config={**facts.config, "max_hours": 1.5},
                versions={**VERSIONS, "openclaw": "2026.9.7"},
                tasks={"task_mail": changed},
                gone=("task_gone",),
                changes=("task_mail has changed", "task_gone is no longer in the suite"),
            ),
            PaceSet(at=LATER, limit=1, why="The provider asked for a pause."),
            TrialStarted(key=first.key, slot=1, attempt=2, at=LATER + 1),
            TrialFinished(
                outcome=replace(first, attempt=2, digest=changed.digest, started_at=LATER + 1, ended_at=LATER + 40)
            ),
        ]
        grades = journal.state.attempt_grades
        again = replace(grades[first.key, 1], attempt=2, digest=changed.digest, score=0.6)
        records.append(GradeGiven(grade=again))
        records += [
            RunFinished(at=LATER + 100, stopped="--max-cost 5 is reached.", stop=Stop.BUDGET),
            RegradeStarted(at=LATER + 200, trials=1, judge={"model": "mock/judge"}),
        ]
        unjudged = grades[TrialKey(task_id="task_judged", repetition=1), 1]
        records.append(GradeGiven(grade=replace(unjudged, score=0.25, ungraded=None, graded_at=LATER + 210)))
        with JournalWriter(files.journal, go_on=True) as writer:
            writer.append(records)
        derive_result(files)
        kept = HERE / "results"
        shutil.rmtree(kept, ignore_errors=True)
        (kept / files.name).mkdir(parents=True)
        shutil.copy(files.aggregate, kept)
        for path in (files.provenance, files.journal):
            shutil.copy(path, kept / files.name)


if __name__ == "__main__":
    main()
