"""Count trials of an earlier run that are the same as planned ones, instead of running these."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from pinchbench.defaults import Network, Sandbox
from pinchbench.errors import ResultsError
from pinchbench.grading.judge.prompt import PROMPT_VERSION
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.manifest import read_facts
from pinchbench.results.records import RegradeStarted
from pinchbench.runner.plan.stored_run import addition_changes, release_changes, setting_changes, tool_changes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import Attempt, TrialKey
    from pinchbench.results.finished_run import PastRun
    from pinchbench.results.paths import RunFiles
    from pinchbench.runner.plan.prepare import Prepared

# Options that no comparison of runs is about, but that a trial may depend on; the others may differ as they like.
ALSO_MEASURED = (
    "infra_retries",
    "wire",
    "sandbox",
    "network",
    "sandbox_allow",
    "pass_env",
    "max_memory",
    "max_processes",
    "max_disk",
)
HOW_GRADED = ("judge", "pass_threshold")  # a trial with another judge is graded again


def with_reused(
    prepared: Prepared,
    plain: Mapping[str, object],
    *,
    additions: Mapping[str, str],
    releases: Mapping[str, str] | None = None,
    tools: Sequence[str] = (),
) -> Prepared:
    """Return the plan with the trials that the run of `--reuse` has made already, and why it has not the others.

    `plain` are the options as they stand in run.json, settled ones. Without `releases`, before a run begins, what is
    not known yet is taken to be as it was. Blocks for a look at the evidence.
    """
    source = prepared.source
    if source is None:
        return prepared
    facts, before = source.facts, source.facts.config
    now = {**plain, **(_not_settled(plain, before) if releases is None else {})}
    same = {name: now.get(name) for name in HOW_GRADED}
    # trials of a run that was resumed may have been made with the settings of any of its sessions
    sessions = (read_facts(source.files.provenance).config, *(one.config for one in source.journal.state.resumed))
    each = [change for was in sessions for change in setting_changes({**was, **same}, now, also=ALSO_MEASURED)]
    differ = [
        *dict.fromkeys(each),
        *(f"changed there when it was resumed: {change}" for change in source.data.changes),
        *addition_changes(facts.additions, additions),
        *(release_changes(facts.versions, releases) if releases is not None else ()),
        *(tool_changes(facts.tools, tools) if releases is not None else ()),
    ]
    is_judged_alike = not any(setting_changes({**now, "judge": before.get("judge")}, now)) and not any(
        isinstance(record, RegradeStarted) for record in source.journal.records
    )
    reasons = {one.key: "; ".join(differ) or _why_not(source, one) for one in prepared.attempts}
    found = {
        one.key: _marked(source, one.key, is_judged_alike=is_judged_alike)
        for one in prepared.attempts
        if not reasons[one.key]
    }
    return replace(
        prepared,
        attempts=tuple(one for one in prepared.attempts if one.key not in found),
        reused=tuple(found.values()),
        run_anew=Counter(why for why in reasons.values() if why),
        ungraded=tuple(
            (one.trial, found[one.key][0])
            for one in prepared.attempts
            if one.key in found and found[one.key][1] is None
        ),
    )


def _not_settled(plain: Mapping[str, object], before: Mapping[str, object]) -> Mapping[str, object]:
    """Return what a run settles only when it begins, as it was before."""
    automatic = {"sandbox": Sandbox.AUTO, "network": Network.AUTO}
    names = [name for name, auto in automatic.items() if plain[name] == auto and name in before]
    if plain["preflight"] and "served" in before:
        names.append("served")
    return {name: before[name] for name in names}


def _why_not(source: PastRun, attempt: Attempt) -> str:
    """Return why a trial can't be reused though all settings are the same; empty if it can."""
    trial, state = attempt.trial, source.attempts.get(attempt.key)
    if state is None:
        return "not run there"
    one, grade = state.counting, source.grades.get(attempt.key)
    reasons = (
        (trial.task.digest != one.digest, "the task has changed"),
        (trial.timeout_s != one.timeout_s, "another time limit there"),
        (state.requeued_from is not None, "retried by hand there"),
        (not (state.is_done and one.reason.is_valid), "no valid attempt there"),
        (grade is not None and grade.score is None, "without a score there"),
        (grade is not None and grade.digest != one.digest, "graded there by another version of the task"),
        (not _has_evidence(source, one), "its evidence is not all there"),
    )
    return next((why for holds, why in reasons if holds), "")


def _has_evidence(source: PastRun, one: Outcome) -> bool:
    folder = source.files.trial(one.key, one.attempt)
    return (
        one.files is not None
        and source.files.folder / one.evidence == folder
        and all((folder / name).is_file() for name in one.files)
    )


def _marked(source: PastRun, key: TrialKey, *, is_judged_alike: bool) -> tuple[Outcome, Grade | None]:
    """Return a trial of the run with its mark, and its grade; None if it is to be graded here."""
    one, grade = source.attempts[key].counting, source.grades.get(key)
    judged = grade.judge.each if grade is not None and grade.judge is not None else ()
    keeps = not judged or (is_judged_alike and all(part.prompt_version == PROMPT_VERSION for part in judged))
    return replace(one, reused_from=one.reused_from or source.files.name), grade if keeps else None


def copy_evidence(source: PastRun, reused: Sequence[tuple[Outcome, Grade | None]], to: RunFiles) -> None:
    """Copy the evidence of reused trials into the folder of the run that counts them. Blocks. Raises ResultsError."""
    for outcome, grade in reused:
        begin, end = (Evidence(folder=files.trial(outcome.key, outcome.attempt)) for files in (source.files, to))
        try:
            end.folder.mkdir(parents=True)
            for path in _files(begin, outcome, grade):
                shutil.copyfile(path, end.folder / path.name)
        except OSError as error:
            raise ResultsError(f"{begin.folder} can't be copied to {end.folder}: {error.strerror}.") from error


def _files(evidence: Evidence, outcome: Outcome, grade: Grade | None) -> Iterator[Path]:
    yield from (path for path in evidence.of_agent if path.name in (outcome.files or {}))
    if grade is not None:
        yield from (path for path in (evidence.check_log,) if path.name in (grade.files or {}))
        judged = grade.judge.each if grade.judge is not None else ()
        yield from (evidence.judge_replies(part.replies_digest) for part in judged if part.replies_digest)


def reuse_sentences(prepared: Prepared) -> Iterator[str]:
    """Say how many trials are reused, and for each reason how many are not; nothing without `--reuse`."""
    if prepared.source is None:
        return
    total = len(prepared.reused) + len(prepared.attempts)
    yield f"Reused from {prepared.source.files.name}: {len(prepared.reused)} of {total} trials."
    for why, number in prepared.run_anew.items():
        yield f"Run anew: {number} ({why})."
