"""What is said of models to choose from: three answers, a table, and what it rests on; as Markdown and JSON (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from pinchbench.report.model_calls import why_dearer
from pinchbench.report.sentences import kinship_sentences, left_out_text
from pinchbench.report.text import amount, duration, many, mean_text, plain, price, some
from pinchbench.report.what_went_wrong import sheet_of, worst_words
from pinchbench.results.compare.choice import METHOD, Candidate, Choice
from pinchbench.results.compare.comparison import unlike_settings
from pinchbench.results.compare.verdict import PRIVATE, compared_scores, side_warnings, what_would_decide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


DECIDED = (
    "This experiment ended when it was decided: its verdicts and intervals, which hold at any time, take the place of"
    " tests. Two models that share a rank can't be distinguished."
)
READING = (
    "Cost per solved task: of all trials, for each that passed. Times are the agent's; half of the trials"
    " take the median or less. Tokens: of a trial. Cached: the part of the prompts that came from the provider's"
    " cache."
)
MUCH_LESS = 0.8  # times as much money or time: more is no reason to take a model that scores less
PARTS = ((0, 1, 2, 3, 7), (0, 4, 5, 6, 10, 11), (0, 8, 9, 12))  # columns that fit a terminal of 80, by their places
MOST_NAMED = 5  # models that share the first rank, and tasks


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """Which model is the best, the cheapest or the fastest: the question in a word or more, the model, and why.

    `model` is the first, and `name` says otherwise, if that is unknown.
    """

    question: str
    name: str
    why: str
    model: Candidate


def columns(choice: Choice) -> tuple[str, ...]:
    """Return the heads of the table."""
    k = choice.candidates[0].k
    spent = ("cost per solved task", "median time", "9 of 10 within")
    ended = (f"passes {k} of {k}" if k > 1 else "passes", "timed out", "excluded")
    heads = ("model", "rank", "score", "95% interval", *spent, *ended, "tokens", "cached", "worst failure")
    return heads if any(sheet_of(one.side) for one in choice.candidates) else heads[:-1]


def rows(choice: Choice) -> tuple[tuple[str, ...], ...]:
    """Return a row of texts for each model, whose name is as its run has it."""
    return tuple(_row(one)[: len(columns(choice))] for one in choice.candidates)


def tables(choice: Choice) -> list[list[tuple[str, ...]]]:
    """Return the table in parts that fit a terminal, each with its head: scores, what they take, what went wrong."""
    table = (columns(choice), *rows(choice))
    return [[tuple(row[place] for place in part if place < len(row)) for row in table] for part in PARTS]


def _row(one: Candidate) -> tuple[str, ...]:
    score = one.score
    return (
        one.label,
        rank_text(one.ranks),
        mean_text(score.mean),
        "–" if score.low is None else f"{score.low:.3f} to {score.high:.3f}",
        _number(one.cost_per_solved_usd, price),
        _number(one.median_s, duration),
        _number(one.ninth_decile_s, duration),
        _number(one.passed.pass_hat_k, lambda part: f"{part * 100:.0f}%"),
        str(one.timed_out),
        str(one.left_out.total),
        _number(one.tokens, lambda tokens: amount(round(tokens))),
        _number(one.cached, lambda part: f"{part * 100:.0f}%"),
        worst_words(sheet_of(one.side)),
    )


def rank_text(ranks: Sequence[int]) -> str:
    """Format the ranks of a model: `1`, `1–2`; `–` if it has none."""
    if not ranks:
        return "–"
    first, *_, last = (*ranks, ranks[-1])
    if len(ranks) != last - first + 1:
        return ", ".join(map(str, ranks))
    return str(first) if first == last else f"{first}–{last}"


def _number(value: float | None, text: Callable[[float], str]) -> str:
    return "–" if value is None else text(value)


def answers(choice: Choice) -> tuple[str, ...]:
    """Say which model is best, which is cheapest and which is fastest within the margin, and what would change that."""
    answers = (f"{one.question}: {one.name}, {one.why}" for one in picks(choice))
    return (choice.refused,) if choice.refused else (*answers, *_outlook(choice))


def picks(choice: Choice) -> tuple[Answer, ...]:
    """Return which model is best, which is cheapest and which is fastest within the margin; empty if none is ranked."""
    if choice.refused:
        return ()
    return (
        _best(choice),
        _least(choice, "Cheapest", " per solved task", lambda one: one.cost_per_solved_usd, price),
        _least(choice, "Fastest", " at the median", lambda one: one.median_s, duration),
    )


def doubts(choice: Choice) -> tuple[str, ...]:
    """Say how sure the answers are: what would change them, what is in no score, and who judged."""
    return (*(() if choice.refused else _outlook(choice)), *_grounds(choice))


def _outlook(choice: Choice) -> tuple[str, ...]:
    """Say what the cheapest and the fastest lose, why one is dearer, and how many more trials would decide."""
    losses = (_loss(choice, one.model) for one in picks(choice))
    dearer = why_dearer([one.side for one in choice.candidates])
    return (*dict.fromkeys(filter(None, (*losses, dearer))), *_what_would_change_it(choice))


def _best(choice: Choice) -> Answer:
    first, *others = choice.best
    rest = [one.label for one in choice.candidates[1:]]
    others_text = rest[0] if len(rest) == 1 else "each of the others"
    shown = f"can't tell it from {_named(others)}" if others else f"show it to be better than {others_text}"
    why = f"score {first.score.mean:.3f}; the data {shown}."
    return Answer(question="Best", name=first.label, why=why, model=first)


def _named(candidates: Sequence[Candidate]) -> str:
    names = [one.label for one in candidates]
    if len(names) > MOST_NAMED:
        return some(names, MOST_NAMED)
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _least(
    choice: Choice, word: str, unit: str, spent: Callable[[Candidate], float | None], text: Callable[[float], str]
) -> Answer:
    """Say which of the models within the margin takes least."""
    first = choice.candidates[0]
    known = [(value, one) for one in choice.within_margin if (value := spent(one)) is not None]
    scope = f"{word} within {choice.margin:g} of the highest score"
    if not known:
        why = "as none of them has a known price and a solved task."
        return Answer(question=scope, name="unknown", why=why, model=first)
    least, chosen = min(known, key=lambda one: one[0])
    others = [one for one in choice.within_margin if spent(one) is None]
    unknown = f" That of {_named(others)} is unknown." if others else ""
    lesser = [one for one in choice.candidates if one not in choice.within_margin]
    below = [(value, one) for one in lesser if (value := spent(one)) is not None and value < MUCH_LESS * least]
    if below:
        value, one = min(below, key=lambda one: one[0])
        more = word.removesuffix("st") + "r"
        unknown += f" {more}, but scores less: {one.label}, {text(value)}, score {one.score.mean:.3f}."
    of_first = spent(first)
    instead = "" if of_first is None or chosen is first else f" instead of {text(of_first)}"
    return Answer(question=scope, name=chosen.label, why=f"{text(least)}{instead}{unit}.{unknown}", model=chosen)


def _loss(choice: Choice, chosen: Candidate) -> str:
    """Say how much less a model scores than the first; empty if it is the first, or nothing is ranked."""
    if (contrast := choice.against_first(chosen)) is None:
        return ""
    low = contrast.difference.low
    doubt = "" if low is not None and low >= -choice.margin else f"; it may be worse by more than {choice.margin:g}"
    return f"{compared_scores(chosen.label, contrast.difference, choice.candidates[0].label)}{doubt}."


def _what_would_change_it(choice: Choice) -> Iterator[str]:
    first, *others = choice.best
    if not others:
        return
    contrast = choice.against_first(others[0])
    if contrast is None or contrast.needed is None or not contrast.difference.mean:
        return
    needed = what_would_decide(contrast.needed, contrast.difference)
    yield f"Which of {first.label} and {others[0].label} is better? {needed}"


def notes(choice: Choice) -> tuple[str, ...]:
    """Say what is in no score, who judged, and how to read the table."""
    return (*_grounds(choice), *reading(choice))


def reading(choice: Choice) -> tuple[str, ...]:
    """Say what the ranks and the columns of the table mean."""
    k = choice.candidates[0].k
    all_pass = (
        f"Passes {k} of {k}: how often all of {k} trials of a task pass" if k > 1 else "Passes: how often one does"
    )
    scores = (
        f"Scores are means over the {many(choice.tasks, 'task')} for which all have one; a task is solved in a"
        f" trial that scores {choice.threshold:g} or more. {all_pass}."
    )
    return (
        *(() if choice.refused else (DECIDED if choice.is_sequential else METHOD,)),
        *(() if choice.refused else (scores,)),
        READING,
    )


def _grounds(choice: Choice) -> Iterator[str]:
    """Say what is in no score, in what the models differ besides, and who judged."""
    first = choice.candidates[0]
    excluded = [one for one in choice.candidates if one.left_out.total]
    if excluded:
        why = left_out_text(sum((one.left_out for one in excluded[1:]), excluded[0].left_out))
        counts = (f"{one.label} {one.left_out.total} of {many(one.planned, 'trial')}" for one in excluded)
        unfinished = [run for one in excluded if one.side.unfinished for run in one.side.runs]
        which = unfinished[0] if len(unfinished) == 1 else "RUN"
        again = f" `pinchbench-async resume {which}` runs or grades them." if unfinished else ""
        yield f"Excluded from the scores ({why}): {', '.join(counts)}.{again}"
    unlike = {found.setting for one in choice.candidates for found in unlike_settings(first.side, one.side)}
    if unlike:
        yield f"The models' runs also differ in: {', '.join(sorted(unlike))}."
    if any(one.side.is_private for one in choice.candidates):
        yield PRIVATE
    for one in choice.candidates:
        yield from side_warnings(one.side, one.label)
    for phrase in dict.fromkeys(choice.unpaired.values()):
        ids = [task_id for task_id, why in choice.unpaired.items() if why == phrase]
        yield f"Not compared, {phrase}: {some(ids, MOST_NAMED)}."
    judges = {one.side.settings.get("judge", "") for one in choice.candidates} - {"", "none"}
    if not judges:
        yield "No score is a judge's."
        return
    yield f"Judged by {', '.join(sorted(judges))}."
    for one in choice.candidates:
        # a setting says which prompt the judge was asked with, after its name
        names = {one.partition(" ")[0] for judge in judges for one in re.split(", | and ", judge)}
        yield from kinship_sentences(one.side.model, names, label=one.label)


def markdown(choice: Choice) -> str:
    """Return the answers, the table and the notes as Markdown."""
    table = [columns(choice), ["---"] * len(columns(choice)), *rows(choice)]
    lines = ("| " + " | ".join(_escaped(text) for text in row) + " |" for row in table)
    return "\n".join(
        (*(f"- {_escaped(one)}" for one in answers(choice)), "", *lines, "", *map(_escaped, notes(choice)))
    )


def _escaped(text: str) -> str:
    return plain(text).replace("|", "\\|").replace("<", "&lt;")


def record(choice: Choice) -> dict[str, object]:
    """Build what `choose --format json` prints. Null stands for an unknown value."""
    names = [one.label for one in choice.candidates]
    return {
        "schema": 1,
        "answers": list(answers(choice)),
        "notes": list(notes(choice)),
        "margin": choice.margin,
        "pass_threshold": choice.threshold,
        "tasks": choice.tasks,
        "models": [
            {
                "label": one.label,
                "model": one.side.model,
                "runs": list(one.side.runs),
                "ranks": list(one.ranks),
                "score": {"mean": one.score.mean, "low": one.score.low, "high": one.score.high},
                "trials": len(one.times_s),
                "solved": one.solved,
                "k": one.k,
                "pass_hat_k": one.passed.pass_hat_k,
                "timed_out": one.timed_out,
                "excluded": one.left_out.total,
                "cost_usd": one.usage.known_cost_usd,
                "cost_per_solved_usd": one.cost_per_solved_usd,
                "median_s": one.median_s,
                "ninth_decile_s": one.ninth_decile_s,
                "tokens_per_trial": one.tokens,
                "cached": one.cached,
                "events": msgspec.to_builtins(sheet_of(one.side)),
                "judge": one.side.settings.get("judge"),
            }
            for one in choice.candidates
        ],
        "pairs": [
            {
                "a": names[one.a],
                "b": names[one.b],
                "difference": one.difference.mean,
                "low": one.difference.low,
                "high": one.difference.high,
                "p_adjusted": one.p,
                "told_apart": one.is_decided,
            }
            for one in choice.contrasts
        ],
    }
