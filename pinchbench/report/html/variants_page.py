"""A comparison as a page, of an experiment or of runs, and models to choose from: verdicts, tasks, trials."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

from markupsafe import Markup

from pinchbench.defaults import DEFAULT_MARGIN, DEFAULT_PASS_THRESHOLD, REPORT_FILE
from pinchbench.model.trial import TrialKey
from pinchbench.report.choice_text import columns, doubts, picks, reading, rows
from pinchbench.report.html.document import SCRIPTS, STYLES, PageLook, PageSection, render, write_document
from pinchbench.report.html.plots import ScoreRow, draw_forest, draw_scores, pareto_front
from pinchbench.report.html.safe_text import safe_line, script_json
from pinchbench.report.html.side_by_side import embedded_pairs
from pinchbench.report.html.task_rows import anchor_of, href
from pinchbench.report.html.verdicts import DIFFERENT, matrix_rows, verdict_name, verdicts_of
from pinchbench.report.model_calls import CACHES, WHY, reason_texts, reasons_of
from pinchbench.report.sentences import MEMORISATION, memorisation_sentences, significance_sentences
from pinchbench.report.text import amount, many, mean_text, price
from pinchbench.report.what_went_wrong import sheet_table
from pinchbench.results.compare.choice import choice_of
from pinchbench.results.compare.verdict import describe_difference, describe_p, signed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pinchbench.report.html.side_by_side import EmbeddedPairs
    from pinchbench.report.html.verdicts import MatrixRow
    from pinchbench.results.compare.choice import Choice
    from pinchbench.results.compare.comparison import Comparison, PairedCategory
    from pinchbench.results.compare.memorisation import Memorisation
    from pinchbench.results.compare.samples import Sample
    from pinchbench.results.compare.verdict import SequentialComparison
    from pinchbench.results.finished_run import PastRun

    Link: TypeAlias = Callable[[PastRun, TrialKey | None], str]


def choice_sections(choice: Choice) -> tuple[PageSection, ...]:
    """Return the answers with the table, how sure they are, what went wrong, reasons of costs, and how to read it."""
    sides = [one.side for one in choice.candidates]
    refused = (choice.refused,) if choice.refused else ()
    answers = [(one.question, one.name, one.why) for one in picks(choice)]
    return (
        PageSection(
            id="choice", title="Answers", answers=answers, sentences=refused, columns=columns(choice), rows=rows(choice)
        ),
        PageSection(id="doubts", title="How sure is that?", sentences=doubts(choice)),
        *side_sections(sides),
        PageSection(id="reading", title="How to read it", sentences=reading(choice)),
    )


def side_sections(sides: Sequence[Sample]) -> Iterator[PageSection]:
    """Yield the failure sheets of models and the reasons of their costs, as far as they are known."""
    if sheet := sheet_table(sides):
        yield PageSection(id="wrong", title="What went wrong", columns=sheet[0], rows=tuple(sheet[1:]))
    if known := {side.label: reason_texts(found) for side in sides if (found := reasons_of(side)) is not None}:
        names = max(known.values(), key=len)  # one row is there only for models with automations
        yield PageSection(
            id="why",
            title=WHY,
            sentences=(CACHES,),
            columns=("of all trials", *known),
            rows=tuple((name, *(texts.get(name, "0") for texts in known.values())) for name in names),
        )


def choice_page(choice: Choice) -> str:
    """Return the page."""
    name, size = ", ".join(one.label for one in choice.candidates), many(len(choice.candidates), "model")
    look = PageLook(template="choice.html.j2")
    return "".join(render(look, name=name, size=size, sections=choice_sections(choice)))


LOOK = PageLook(template="experiment.html.j2", styles=(*STYLES, "experiment.css"), scripts=(*SCRIPTS, "experiment.js"))
SETTINGS = {  # of an experiment's file, by their names in a comparison
    "model": "model",
    "openclaw": "OpenClaw release",
    "thinking": "thinking level",
    "timeout-multiplier": "timeout multiplier",
    "isolation": "isolation",
    "base-url": "endpoint",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownVariant:
    """A variant of the page.

    Attributes:
        differs: the settings that its section of the experiment's file has.
        run: its run; None if there is none, or if several are pooled.
        side: what a comparison takes of its runs; None if there is no run.
        failed: why its run did not begin.
    """

    name: str
    differs: Mapping[str, object] = field(default_factory=dict)
    run: PastRun | None = field(default=None, repr=False)
    side: Sample | None = None
    failed: str = ""


def report_links(folder: Path) -> Link:
    """Return what leads from a page in a folder to the pages that runs have now, by their paths from there."""

    def link(run: PastRun, key: TrialKey | None) -> str:
        page = run.files.folder / REPORT_FILE
        anchor = "" if key is None else href(anchor_of("", key))
        return f"{quote(os.path.relpath(page, folder))}{anchor}" if page.is_file() else ""

    return link


def write_comparison(
    path: Path, sides: Sequence[Sample], comparisons: Sequence[Comparison], estimates: Sequence[Memorisation] = ()
) -> None:
    """Write the page of sides, the baseline first, that are compared with it, atomically. Blocks.

    The same comparisons give the same page. Raises ResultsError if it can't be written.
    """
    values = experiment_values(
        name=" and ".join(side.label for side in sides),
        variants=[ShownVariant(name=side.label, side=side) for side in sides],
        comparisons=comparisons,
        sections=memorisation_sections(estimates),
        link=lambda *_: "",
    )
    write_document(path, LOOK, **values)


def memorisation_sections(estimates: Sequence[Memorisation]) -> tuple[PageSection, ...]:
    """Return the section of a page that has the estimates; none without."""
    sentences = tuple(sentence for found in estimates for sentence in memorisation_sentences(found))
    return (PageSection(id="memorisation", title=MEMORISATION, sentences=sentences),) if sentences else ()


def _category_sections(comparisons: Sequence[Comparison]) -> Iterator[PageSection]:
    """Yield the section with the differences by category, if there are several."""
    by_side = {verdict_name(one): {own.category: own for own in one.categories} for one in comparisons}
    every = {category: own for categories in by_side.values() for category, own in categories.items()}
    if len(every) < 2:  # noqa: PLR2004 - the whole says the same
        return
    is_tested = any(own.difference.p is not None for own in every.values())
    explained = dict.fromkeys(text for one in comparisons for text in significance_sentences(one)) if is_tested else {}
    baseline, few = comparisons[0].a.label, "" if is_tested else "; too few tasks for intervals"
    yield PageSection(
        id="categories",
        title="By category",
        sentences=(f"Scores of {baseline} and differences to it{few}.", *explained),
        columns=("category", "tasks", baseline, *by_side),
        rows=tuple(
            (
                category,
                str(own.difference.tasks),
                mean_text(own.a.score.mean),
                *(_category_difference(categories.get(category)) for categories in by_side.values()),
            )
            for category, own in every.items()
        ),
    )


def _category_difference(one: PairedCategory | None) -> str:
    if one is None or one.difference.mean is None:
        return "–"
    if one.difference.p is None:
        return signed(one.difference.mean)
    return f"{describe_difference(one.difference)}, {describe_p(one.difference.p)}"


def experiment_values(
    *,
    name: str,
    variants: Sequence[ShownVariant],
    comparisons: Sequence[Comparison],
    link: Link,
    sequential: Sequence[SequentialComparison] = (),
    sections: Sequence[PageSection] = (),
) -> dict[str, object]:
    """Return the values of the page of an experiment, or of any comparison: the same files give the same. Blocks.

    Args:
        name: the experiment's name.
        variants: the baseline first.
        comparisons: of each further variant that has a run with the baseline; none if that has no run.
        link: returns where the page of a run, or of one of its trials, is; empty if there is none.
        sequential: the same of an experiment that ends when it is decided, whose verdicts take the place of the others.
        sections: what other parts of the program found, in the order of the page.
    """
    sides = [one.side for one in variants]
    threshold = next((side.threshold for side in sides if side is not None), DEFAULT_PASS_THRESHOLD)
    rows = matrix_rows(sides, threshold)
    different = sorted((row for row in rows if row.is_different), key=lambda row: (-row.spread, row.task_id))
    ran = [(one.name, one.run) for one in variants if one.run is not None]
    has_baseline = variants[0].run is not None and len(ran) > 1
    pairs = embedded_pairs(ran, [row.task_id for row in different]) if has_baseline else None
    baseline = safe_line(variants[0].name)
    choice = choice_between(variants, sequential=sequential)
    costs, what = _costs(choice)
    front = pareto_front(costs)
    compared, tasks = 0 if choice is None else choice.tasks, many(len(rows), "task")
    verdicts = verdicts_of(comparisons, sequential, baseline=baseline)
    differences = [(safe_line(name), one.difference) for name, one in verdicts.by_variant.items()]
    forest = [(label, one) for label, one in differences if one.mean is not None]
    return {
        "name": name,
        "baseline": baseline,
        "size": f"{many(len(variants), 'variant')} on {'' if compared == len(rows) else f'{compared} of '}{tasks}",
        "verdicts": verdicts,
        "notices": [
            f"{one.name} could not be run: {one.failed or 'it has no run'}"
            for one in variants
            if one.failed or one.side is None
        ],
        "choice": () if choice is None else choice_sections(choice),
        "reports": [(name, page) for name, run in ran if (page := link(run, None))],
        "variants": [one.name for one in variants],
        "settings": [(name, values) for name, values in _settings(variants) if len(set(values)) > 1],
        "forest": draw_forest(forest) if forest else None,
        "forest_label": f"Difference to {baseline} with its 95% interval. "
        + "; ".join(f"{label}: {signed(one.mean or 0.0)}" for label, one in forest),
        "costs": draw_scores(costs, front) if costs else None,
        "costs_text": f"No other scores as much for less: {', '.join(one.name for one in front) or '–'}.",
        "what_costs": what,
        "sections": [*_category_sections(comparisons), *sections],
        "matrix": rows,
        "different": len(different),
        "least": DIFFERENT,
        "threshold": threshold,
        "links": _links(variants, rows, pairs, link),
        "left_out": [] if pairs is None else [safe_line(task_id) for task_id in pairs.left_out],
        "trials": {} if pairs is None else pairs.trials,
        # `script_json` leaves nothing that HTML would interpret
        "pairs": None if pairs is None else Markup(script_json(pairs.pairs)),  # noqa: S704
    }


def choice_between(
    variants: Sequence[ShownVariant],
    *,
    sequential: Sequence[SequentialComparison] = (),
    margin: float = DEFAULT_MARGIN,
) -> Choice | None:
    """Rank the variants that have a run, which may differ in what their file says; None if there is none."""
    sides = [one.side for one in variants if one.side is not None]
    may_differ = {SETTINGS.get(name, name) for one in variants for name in one.differs}
    if not sides:
        return None
    return choice_of(sides, sequential=sequential, margin=margin, may_differ=may_differ)


def _settings(variants: Sequence[ShownVariant]) -> Iterator[tuple[str, list[str]]]:
    models = ["" if one.side is None else one.side.model for one in variants]
    yield "model", models
    asked = [sorted({model for o in one.run.outcomes for model in o.models}) if one.run else [] for one in variants]
    if any(used and used != [model] for used, model in zip(asked, models, strict=True)):
        yield "models that answered", [", ".join(used) for used in asked]
    known = [{} if one.side is None else one.side.settings for one in variants]
    for name in dict.fromkeys(name for settings in known for name in settings):
        yield name, [settings.get(name, "") for settings in known]
    for name in dict.fromkeys(name for one in variants for name in one.differs):
        if name not in SETTINGS:
            values = [one.differs.get(name, "") for one in variants]
            yield name, [", ".join(map(str, one)) if isinstance(one, list | tuple) else str(one) for one in values]


def _costs(choice: Choice | None) -> tuple[list[ScoreRow], str]:
    """Return the variants with a score, the cheapest first, and what is cheap: tokens, unless all costs are known."""
    scored = [] if choice is None else [one for one in choice.candidates if one.score.mean is not None]
    is_cost = all(one.usage.known_cost_usd for one in scored)
    costs = [
        ScoreRow(
            name=safe_line(one.label), score=one.score, note=price(used) if is_cost else amount(round(used)), spent=used
        )
        for one in scored
        if (used := one.cost_per_solved_usd if is_cost else one.tokens) is not None
    ]
    return sorted(costs, key=lambda one: one.spent), "cost per solved task" if is_cost else "tokens of a trial"


def _links(
    variants: Sequence[ShownVariant], rows: Sequence[MatrixRow], pairs: EmbeddedPairs | None, link: Link
) -> dict[tuple[str, str], str]:
    """Return where the cells of the table lead to: to both trials side by side, else to the trial in its run's page."""
    links: dict[tuple[str, str], str] = {}
    for row in rows:
        for variant in variants:
            anchor = pairs.first.get((variant.name, row.task_id)) if pairs is not None else None
            key = TrialKey(task_id=row.task_id, repetition=1)
            if anchor is not None:
                links[variant.name, row.task_id] = href(f"pair/{anchor}")
            elif variant.run is not None and key in variant.run.attempts:
                links[variant.name, row.task_id] = link(variant.run, key)
    return links
