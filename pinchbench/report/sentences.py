"""Sentences on a run that a reader of its scores must know, for the terminal, pages and exports (pure)."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import UNSET

from pinchbench.model.ending import Reason, Stop
from pinchbench.model.facts import HIGH_LOAD, FindingKind
from pinchbench.report.text import date_text, duration, many, plain, some, words
from pinchbench.results.compare.verdict import PRIVATE, describe_difference
from pinchbench.results.disturbances import Disturbances, LoadedTrial, Renamed, disturbances_of
from pinchbench.results.judge_agreement import FEWEST_TRIALS, JudgeAgreement
from pinchbench.sandbox.levels import Level

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.compare.comparison import Comparison
    from pinchbench.results.compare.memorisation import Memorisation
    from pinchbench.results.compare.samples import LeftOut as SideLeftOut
    from pinchbench.results.control_state import ControlEntry, NoteEntry, OverriddenGrade, RequeuedTrial, SkippedTrial
    from pinchbench.results.node_times import NodeTimes
    from pinchbench.results.result_json import Aggregate, CausedTrial, LeftOut, SuiteTotals
    from pinchbench.results.statistics import Estimate


def suite_sentences(data: Aggregate) -> tuple[str, ...]:
    """Return the score of each suite, and that there is none across them; empty for a run of one suite."""
    if data.suites is UNSET:
        return ()
    told = [f"Suite {plain(name)}: {_suite(totals)}" for name, totals in data.suites.items()]
    if data.score.mean is None and data.score.trials:
        told.append("There is no mean across suites, whose scores mean different things.")
    return tuple(told)


def score_sentences(data: Aggregate) -> tuple[str, ...]:
    """Return the score of each suite, if there are several, and that of the run, if it has one."""
    score = data.score
    if score.mean is not None:
        return *suite_sentences(data), f"Score {_mean_of(score)}."
    return suite_sentences(data) or ("No score: no trial has one.",)


def _mean_of(score: Estimate) -> str:
    few = score.low is None
    interval = "too little data for an interval" if few else f"95% interval {score.low:.3f} to {score.high:.3f}"
    return f"{score.mean:.3f} ({interval}), the mean of {many(score.tasks, 'task')} ({many(score.trials, 'trial')})"


def _suite(totals: SuiteTotals) -> str:
    score, excluded = totals.score, totals.left_out.total
    out = f"; {many(excluded, 'trial')} excluded" if excluded else ""
    if score.mean is None:
        return f"no trial has a score{out}."
    once = totals.passing.k.get("1")
    passed = f"; passed {once.pass_at_k:.0%}" if once is not None and once.pass_at_k is not None else ""
    return f"score {_mean_of(score)}{passed}{out}."


def decided_sentence(data: Aggregate) -> str:
    """Say what was decided, and how many trials were not needed for that; empty for a run that ended otherwise."""
    if data.stop is not Stop.DECIDED:
        return ""
    saved = "" if data.not_needed is UNSET else f" {many(data.not_needed, 'further trial')} not needed."
    return f"{data.stopped}{saved}"


def reused_sentence(data: Aggregate) -> str:
    """Say how many trials count from which earlier runs; empty if there are none."""
    if data.reused is UNSET:
        return ""
    named = " and ".join(f"{number} from {plain(name)}" for name, number in data.reused.items())
    return (
        f"Reused: {named}, of {many(data.counts.planned, 'trial')}. Task, settings and OpenClaw were the same; times,"
        " tokens and costs hold what they used there."
    )


MOST_ENTRIES = 12
MAX_REASON = 300  # characters of a reason or a note; the result file has all


def control_sentences(data: Aggregate) -> tuple[str, ...]:
    """Return what a reader of the mean must know about it; empty if the user has asked for nothing."""
    return () if data.control is UNSET else tuple(entry_sentences(data.control, data.score))


def entry_sentences(control: ControlEntry, score: Estimate | None) -> Iterator[str]:
    """Yield a sentence for each thing that the user has asked for or said; without `score`, none is about the mean."""
    if control.skipped:
        skipped = [f"{_name(one)}{' (stopped while it ran)' if one.stopped else ''}" for one in control.skipped]
        yield f"Skipped by the user, and in no score: {some(skipped, MOST_ENTRIES)}."
    if control.requeued:
        requeued = [
            f"{_name(one)} ({plain(one.reason, width=MAX_REASON) or 'no reason given'})" for one in control.requeued
        ]
        trials = len({(one.task_id, one.repetition) for one in control.requeued})
        yield (
            f"Retried by hand: {many(trials, 'trial')}. With these retries the score is {_score(score)}, without"
            f" {_score(control.score_without_requeued)}. {some(requeued, MOST_ENTRIES)}."
        )
    if control.overridden:
        mean = f"With these grades the score is {_score(control.score_with_overrides)}, as measured {_score(score)}. "
        yield (
            f"Graded by hand: {many(len(control.overridden), 'trial')}. {'' if score is None else mean}"
            f"{some([_overridden(one) for one in control.overridden], MOST_ENTRIES)}."
        )
    yield from (f"Note: {_note(one)}" for one in control.notes[:MOST_ENTRIES])
    if (more := len(control.notes) - MOST_ENTRIES) > 0:
        yield f"{many(more, 'more note')} in the result file."


def _score(score: Estimate | None) -> str:
    if score is not None and score.mean is None and score.trials:
        return "not computed across suites"
    return "none" if score is None or score.mean is None else f"{score.mean:.3f} ({many(score.trials, 'trial')})"


def _name(trial: SkippedTrial | RequeuedTrial | OverriddenGrade | NoteEntry) -> str:
    return plain(f"{trial.task_id}@{trial.repetition}" if (trial.repetition or 1) > 1 else f"{trial.task_id}")


def _overridden(grade: OverriddenGrade) -> str:
    measured = "ungraded" if grade.measured is None else f"{grade.measured:.2f}"
    return f"{_name(grade)} {measured} → {grade.score:.2f} ({plain(grade.reason, width=MAX_REASON)})"


def _note(note: NoteEntry) -> str:
    of = "" if note.task_id is None else f"{_name(note)}: "
    tags = " ".join(f"[{plain(tag)}]" for tag in note.tags)
    return of + " ".join(filter(None, (plain(note.text, width=MAX_REASON), tags)))


MOST_CAUSED = 12


def left_out_reasons(totals: Aggregate) -> str:
    """Return why trials of a run are in no score, with the number for each reason; empty if all are."""
    left = totals.left_out
    tasks = f"; {many(left.tasks_without_score, 'task')} without any score" if left.tasks_without_score else ""
    return left_out_text(left, stopped=totals.counts.reasons.get(Reason.INTERRUPTED, 0)) + tasks


def left_out_text(left: LeftOut | SideLeftOut, *, stopped: int = 0) -> str:
    """Return why trials are in no score; empty if all are. `stopped` are part of the infrastructure failures."""
    reasons = {
        "ungraded": left.ungraded,
        "failed for infrastructure reasons": left.infrastructure - stopped,
        "stopped": stopped,
        "whose evidence can't be trusted": left.untrusted,
        "with a missing prerequisite": left.prerequisite_missing,
        "skipped by the user": left.skipped,
        "not run": left.not_run,
    }
    return ", ".join(f"{number} {why}" for why, number in reasons.items() if number)


def significance_sentences(comparison: Comparison) -> Iterator[str]:
    """Explain how to read the intervals and tests of a comparison."""
    if comparison.difference.low is not None:
        yield (
            "The range in parentheses contains the true difference 95 times in 100; p is how often chance alone would"
            " make a difference as large."
        )
    tested = sum(one.difference.p is not None for one in comparison.categories)
    if tested > 1:
        yield (
            f"The p of the {tested} categories are not adjusted: where nothing differs, one in 20 is below 0.05 all the"
            " same."
        )


def caused_by_agent_sentence(data: Aggregate) -> str:
    """Return what a reader of the mean must know about them; empty if there are none."""
    caused = data.possibly_caused_by_agent
    if not caused.trials or caused.score_if_zero is None:
        return ""
    named = some([_caused_trial(one) for one in caused.trials], MOST_CAUSED)
    return (
        f"{many(len(caused.trials), 'trial')} without a score that the agent may have caused: its evidence can't be"
        f" trusted, or every attempt failed while other trials worked. Not in the score; counted as 0, the score"
        f" would be {caused.score_if_zero:.3f}. {named}."
    )


def _caused_trial(trial: CausedTrial) -> str:
    counted = ", ".join(f"{number} × {reason}" for reason, number in Counter(trial.reasons).items())
    return f"{plain(str(trial.key))} ({plain(counted)})"


def unsandboxed_sentence(outcomes: Sequence[Outcome]) -> str:
    """Return what a reader of the scores must know about them; empty if every agent that ran had a sandbox."""
    ran = [one for one in outcomes if one.level]
    without = sum(one.level not in (Level.NAMESPACES, Level.LANDLOCK) for one in ran)
    if not without:
        return ""
    which = "all trials" if without == len(ran) else f"{without} of {many(len(ran), 'trial')}"
    return (
        f"No sandbox: the agents of {which} could read and change checks, solutions, other trials and your files."
        " `--isolation private --sandbox auto` prevents that, where the machine allows it."
    )


def witness_sentences(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield sentences on trials of which the wire saw nothing, and on those of which it saw something else."""
    if without := sum(one.is_unwitnessed for one in outcomes):
        yield (
            f"Unwitnessed: without the wire, OpenClaw's store alone says what the agents of {many(without, 'trial')}"
            " did, and an agent can edit it."
        )
    kinds = [(one.key, {finding.kind for finding in one.findings}) for one in outcomes]
    if found := [key for key, of_trial in kinds if of_trial - {FindingKind.SETTINGS}]:
        yield (
            f"OpenClaw's store differs from what the wire saw in {_named(found)}:"
            " the agent has edited it, or OpenClaw has repaired a reply. Graders read what the wire saw."
        )
    if found := [key for key, of_trial in kinds if FindingKind.SETTINGS in of_trial]:
        yield f"OpenClaw's settings were changed by the agent in {_named(found)}, and restored after the turn."


def _named(keys: Sequence[TrialKey]) -> str:
    return f"{many(len(keys), 'trial')} ({plain(some([str(key) for key in keys], MOST_FINDINGS))})"


MOST_FINDINGS = 5  # trials
MOST_LOADED = 5  # trials
WAITED_FOR = {"cpu": "the processor", "memory": "memory", "io": "reading and writing"}


def disturbance_warnings(found: Disturbances) -> tuple[str, ...]:
    """Return a sentence for each kind of disturbance that was found."""
    return (*_waited(found.waited, is_serial=found.is_serial), *map(_renamed, found.renamed))


def run_warnings(data: Aggregate) -> tuple[str, ...]:
    """Return the warnings about a single run."""
    private = (PRIVATE,) if data.private is True else ()
    return (*private, *disturbance_warnings(disturbances_of({"": data})))


def _waited(trials: tuple[LoadedTrial, ...], *, is_serial: bool) -> Iterator[str]:
    lower = "while nothing else works" if is_serial else "with a lower `--concurrency`"
    late = [one for one in trials if one.timed_out]
    if late:
        yield plain(
            f"{many(len(late), 'trial')} timed out while the machine was busy: {_loaded(late)}. Run them again {lower}."
        )
    if others := [one for one in trials if one not in late]:
        most = max(others, key=lambda one: one.share)
        yield plain(
            f"{many(len(others), 'trial')} waited for the machine for {HIGH_LOAD:.0%} of the time or more; the longest,"
            f" {_loaded([most])}. Times are longer than on an idle machine; run them {lower}."
        )


def _loaded(trials: list[LoadedTrial]) -> str:
    named = [
        f"{one.task_id}@{one.repetition}{f' of {one.variant}' if one.variant else ''}"
        f" (waited for {WAITED_FOR[one.waited_for]} {one.share:.0%} of its time)"
        for one in trials
    ]
    return some(named, MOST_LOADED)


def _renamed(one: Renamed) -> str:
    name = f" for {one.variant}" if one.variant else ""
    return plain(
        f"From {date_text(one.at)} UTC on {', '.join(one.after)} answered{name}, before {', '.join(one.before)}."
    )


HIGH_WAIT = 0.05  # of the time: below, waiting for the machine hardly changes a trial's time


def node_sentences(nodes: Mapping[str, NodeTimes]) -> Iterator[str]:
    """Yield sentences on the nodes of a run, and on those that were slower; nothing for a run of one machine."""
    if not nodes:
        return
    yield f"Nodes: {'; '.join(_node(name, one) for name, one in nodes.items())}."
    for name, one in nodes.items():
        if one.is_slow:
            yield (
                f"{name} is slow: trials took {one.pace:.1f} times as long there as the same tasks elsewhere"
                f" ({many(one.compared, 'trial')}). Its times and timeouts say less about the model."
            )


def _node(name: str, one: NodeTimes) -> str:
    made_of = one.hardware
    hardware = (
        f" ({made_of.cpus} × {made_of.processor}, {made_of.memory_bytes / 2**30:.0f} GiB, {made_of.kernel})"
        if made_of
        else ""
    )
    high = [f"{name} {share * 100:.0f}%" for name, share in (one.waited or {}).items() if share >= HIGH_WAIT]
    waited = f", waiting for {', '.join(high)} of the time" if high else ""
    return f"{name}{hardware}: {many(one.trials, 'trial')}, median {duration(one.execution_time_median)}{waited}"


MOST_DIVERGED = 10  # trials


def replay_sentences(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield sentences on a replay: how many requests it served, and which trials diverged first where."""
    replayed = [(one.key, one.replay) for one in outcomes if one.replay is not None]
    if not replayed:
        return
    served = sum(facts.served for _, facts in replayed)
    live = sum(facts.live for _, facts in replayed)
    diverged = [(key, facts) for key, facts in replayed if facts.divergences]
    found = sum(facts.divergences for _, facts in diverged)
    unused = sum(facts.unused for _, facts in replayed)
    parts = [
        f"{many(served, 'recorded request')} answered from the recording",
        *([f"{many(live, 'request')} answered by a model"] if live else []),
        many(found, "divergence"),
        *([f"{many(unused, 'recorded request')} not made"] if unused else []),
    ]
    yield f"Replay: {', '.join(parts)}."
    for key, facts in diverged[:MOST_DIVERGED]:
        yield f"{key} diverges: {facts.first}"
    if len(diverged) > MOST_DIVERGED:
        yield f"{many(len(diverged) - MOST_DIVERGED, 'more trial')} diverged; the result names each."


MEMORISATION = "Estimate of memorisation"


def memorisation_sentences(found: Memorisation) -> Iterator[str]:
    """Yield what the public form and the fresh ones differ by, over which tasks, and what that does not tell."""
    forms = f"{'form' if len(found.forms) == 1 else 'forms'} {', '.join(found.forms)}"
    runs = f"{many(len(found.public_runs), 'public run')} and {many(len(found.fresh_runs), 'run')} of {forms}"
    if found.public.mean is None or found.fresh.mean is None:
        yield f"{MEMORISATION}, {found.model}: none, as no task has a score in both forms ({runs})."
    else:
        yield (
            f"{MEMORISATION}, {found.model}: public − fresh is {describe_difference(found.difference)} over"
            f" {many(found.difference.tasks, 'task')} ({found.public.mean:.3f} − {found.fresh.mean:.3f}; {runs})."
        )
        yield (
            "It is what the model scores more on tasks that it may have seen before, or less if below 0; in parentheses"
            " is its 95% interval. Forms of a task may also differ in difficulty, which this can't tell from memory."
            + (" Name runs of several fresh forms (`--form`) to average that out." if len(found.forms) == 1 else "")
        )
    if found.only_public:
        yield f"Not in the estimate: {many(len(found.only_public), 'task')} not run in a fresh form, as those without."
    if found.other:
        yield (
            f"Not in the estimate: {many(len(found.other), 'task')} without a score in one of the forms, or changed in"
            f" between: {', '.join(found.other)}."
        )


def kinship_sentences(model: str, judges: Iterable[str], *, label: str) -> Iterator[str]:
    """Warn of judges of the model's own family: of its provider, or with a name that begins with the same word."""
    for judge in sorted(judges):
        if _family(model) == _family(judge) or ("/" in judge and judge.partition("/")[0] == model.partition("/")[0]):
            yield f"{label} is of the same family as its judge {judge}, which may favour it."


def _family(model: str) -> str:
    """Return `gpt` for `openrouter/openai/gpt-5.4-mini`."""
    return re.split(r"[^A-Za-z]", model.rpartition("/")[2], maxsplit=1)[0].casefold() or model


MOST_CRITERIA = 5


def agreement_sentence(agreement: JudgeAgreement, interval: tuple[float, float] | None) -> str:
    """Say how far the judges agree, and on which criteria, the lowest first, where enough trials tell."""
    if agreement.trials < FEWEST_TRIALS:
        few = f"{many(agreement.trials, 'trial')}, and {FEWEST_TRIALS} are needed"
        return f"Agreement of the judges: too few trials to tell ({few})."
    known = sorted((one.alpha, name) for name, one in agreement.criteria.items() if one.alpha is not None)
    shown = some([f"{plain(words(name))} {alpha:.2f}" for alpha, name in known], MOST_CRITERIA)
    alpha = "undefined, as all grades are the same" if agreement.alpha is None else f"{agreement.alpha:.2f}"
    if interval is not None:
        alpha += f" (95% interval {interval[0]:.2f} to {interval[1]:.2f})"
    by_criterion = f"; by criterion: {shown}" if shown else ""
    return f"Agreement of the judges on {agreement.trials} trials (Krippendorff's alpha): {alpha}{by_criterion}."
