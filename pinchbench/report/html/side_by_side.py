"""Two trials of a task side by side: where their conversations first differ, and what a page holds of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from pinchbench.errors import ResultsError
from pinchbench.model.trial import TrialKey
from pinchbench.report.html.safe_text import safe_line, script_json
from pinchbench.report.html.trial_page import arguments_text, conversation_json, evidence_of, size_of
from pinchbench.report.text import amount, duration, exact_price, words
from pinchbench.transcripts import Message, Role, read_conversation
from pinchbench.wire.normalise import Normaliser, day_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pinchbench.results.finished_run import PastRun

TOTAL_BYTES = 6_000_000  # of conversations in one page
TRIAL_BYTES = 60_000  # of one conversation: beyond that, its longest texts are truncated


class DifferingPart(StrEnum):
    """What differs first between two conversations."""

    SPEAKER = "who speaks"
    TEXT = "the text"
    CALL = "the tool calls"
    END = "one ends here"


class Step(NamedTuple):
    """A message as it is compared: without times, ids and paths, tool calls as names and arguments."""

    role: Role
    text: str
    calls: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstDifference:
    """Where two conversations first differ: in message `at`, from 0 on."""

    at: int
    part: DifferingPart


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbeddedPairs:
    """The conversations that a page holds.

    Attributes:
        trials: by anchor `{variant}/{trial}`, the JSON of a trial.
        pairs: by the same anchor, where the variant's trial and the baseline's of the same repetition differ.
        first: the anchor of the first pair by variant and task.
        left_out: tasks that differ and have conversations, of which none is held.
    """

    trials: Mapping[str, Markup]
    pairs: Mapping[str, FirstDifference | None]
    first: Mapping[tuple[str, str], str]
    left_out: tuple[str, ...]


def first_difference(a: Sequence[Step], b: Sequence[Step]) -> FirstDifference | None:
    """Return where two conversations first differ, by who speaks, the text and the tool calls (pure).

    None if they are alike to the end.
    """
    for at, (of_a, of_b) in enumerate(zip_longest(a, b)):
        if of_a is None or of_b is None:
            return FirstDifference(at=at, part=DifferingPart.END)
        if of_a.role is not of_b.role:
            return FirstDifference(at=at, part=DifferingPart.SPEAKER)
        if of_a != of_b:
            part = DifferingPart.TEXT if of_a.text != of_b.text else DifferingPart.CALL
            return FirstDifference(at=at, part=part)
    return None


def steps_of(messages: Iterable[Message], normaliser: Normaliser) -> Iterator[Step]:
    """Yield messages as they are compared, without the tools' answers, which a page shows with their calls (pure)."""
    waiting = Counter[tuple[int, str]]()
    for one in messages:
        if one.role is Role.TOOL and waiting[one.session, one.call_id]:
            waiting[one.session, one.call_id] -= 1
            continue
        waiting.update((one.session, call.id) for call in one.calls)
        calls = tuple((call.name, normaliser.text(arguments_text(call))) for call in one.calls)
        yield Step(one.role, " ".join(normaliser.text(one.text).split()), calls)


def embedded_pairs(
    variants: Sequence[tuple[str, PastRun]],
    task_ids: Sequence[str],
    *,
    total_bytes: int = TOTAL_BYTES,
    trial_bytes: int = TRIAL_BYTES,
) -> EmbeddedPairs:
    """Gather the conversations of these tasks, of the baseline and of each further variant, as far as they fit. Blocks.

    The first repetition of each task comes first, in the given order of tasks, then the second, and so on: the page
    rather holds one pair of many tasks than all pairs of a few.
    """
    (baseline, base_run), *others = variants
    trials: dict[str, Markup] = {}
    pairs: dict[str, FirstDifference | None] = {}
    first: dict[tuple[str, str], str] = {}
    missed: dict[str, None] = {}
    left = total_bytes
    repetitions = max((key.repetition for key in base_run.facts.keys), default=0)
    for key in (TrialKey(task_id=task, repetition=n) for n in range(1, repetitions + 1) for task in task_ids):
        having = [(name, run) for name, run in others if _has_conversation(run, key)]
        if not having or not _has_conversation(base_run, key):
            continue
        if left <= 0:
            missed[key.task_id] = None
            continue
        base_steps = _steps(base_run, key)
        for name, run in ((baseline, base_run), *having):
            anchor = f"{name}/{safe_line(key)}"
            # `script_json` leaves nothing that HTML would interpret
            trials[anchor] = Markup(script_json(_trial(name, run, key, trial_bytes)))  # noqa: S704
            left -= len(trials[anchor].encode())
            if run is not base_run:
                pairs[anchor] = first_difference(base_steps, _steps(run, key))
                first.setdefault((name, key.task_id), anchor)
    held = {task_id for _, task_id in first}
    return EmbeddedPairs(
        trials=trials, pairs=pairs, first=first, left_out=tuple(task for task in missed if task not in held)
    )


def _has_conversation(run: PastRun, key: TrialKey) -> bool:
    trial = run.attempts.get(key)
    return trial is not None and size_of(evidence_of(run, trial.counting).transcript) > 0


def _steps(run: PastRun, key: TrialKey) -> tuple[Step, ...]:
    """Read a trial's conversation as it is compared. Blocks. One that can't be read has no steps."""
    outcome = run.attempts[key].counting
    places = {outcome.workspace: "<workspace>", outcome.agent_id: "<agent>", run.facts.run_id: "<run>"}
    normaliser = Normaliser(places=places, today=day_of(outcome.started_at))
    try:
        return tuple(steps_of(read_conversation(evidence_of(run, outcome).transcript), normaliser))
    except ResultsError:
        return ()


def _trial(name: str, run: PastRun, key: TrialKey, most_bytes: int) -> dict[str, object]:
    outcome = run.attempts[key].counting
    score = run.score(key)
    return {
        "variant": name,
        "title": safe_line(run.facts.title_of(key.task_id) or key),
        "facts": [
            ("score", "none" if score is None else f"{score:.2f}"),
            ("ended as", words(outcome.reason)),
            ("agent’s time", duration(outcome.execution_time_s)),
            ("tokens", amount(outcome.usage.total_tokens)),
            ("cost", exact_price(outcome.usage.known_cost_usd)),
        ],
        **conversation_json(evidence_of(run, outcome).transcript, outcome, most_bytes),
    }
