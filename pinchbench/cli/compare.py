"""`compare` and `choose`: is one run or model better than another, and which one to choose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import OUTPUT_DIR, option
from pinchbench.cli.output import drawn, print_result, say
from pinchbench.config.settings import absolute_path
from pinchbench.defaults import DEFAULT_MARGIN
from pinchbench.errors import ConfigError, ResultsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinchbench.results.compare.choice import Choice
    from pinchbench.results.compare.comparison import Comparison
    from pinchbench.results.compare.memorisation import Memorisation


@click.command(context_settings=CONTEXT)
@click.argument("names", metavar="A B [C]...", nargs=-1, required=True)
@OUTPUT_DIR
@option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write it as one HTML page, too.")  # fmt: skip
def compare(*, names: tuple[str, ...], output_dir: Path, as_json: bool, html: Path | None) -> None:
    """Compare B with A, paired by task, and say whether it is better.

    Each name is a run (its id, its folder, or its results file) or a model, which stands for all its complete runs in
    --output-dir that were made alike. The first one is the baseline that each other is compared with.

    Only tasks that both have in the same version are compared. The difference comes with its 95% interval and a
    permutation test; where the data can't tell, it says so, and how many repetitions or tasks could. Exits with 0 when
    it could compare, whatever came out, and with 6 when no task could be paired.

    If a model's public run is compared with its runs of fresh forms (--form), memorisation is estimated: the public
    score minus the fresh one, over the tasks that were run in both.

    Runs of several suites are compared suite by suite.

    \b
    pinchbench-async compare 20260102-030405-9f3a 20260103-101112-77d0
    pinchbench-async compare anthropic/claude-sonnet-4-6 openai/gpt-5.5 --html compare.html
    pinchbench-async compare PUBLIC_RUN FORM_1_RUN FORM_2_RUN
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.report.html.variants_page import write_comparison
    from pinchbench.results.compare.comparison import compare as compare_sides
    from pinchbench.results.compare.memorisation import memorisation_of
    from pinchbench.results.compare.samples import find_sides

    sides = find_sides(names, absolute_path(output_dir, option="--output-dir"))
    comparisons = compare_sides(sides)
    memorisation = memorisation_of(sides)
    if html is not None:
        path = absolute_path(html, option="--html")
        write_comparison(path, sides, comparisons, memorisation)
        say(f"Written: {path}")
    _show(comparisons, memorisation, as_json=as_json)
    if not (any(one.tasks for one in comparisons) or any(one.tasks for one in memorisation)):
        raise ResultsError("Nothing could be compared: name runs of the same tasks that have been graded.")


def _show(comparisons: Sequence[Comparison], memorisation: Sequence[Memorisation], *, as_json: bool) -> None:
    from pinchbench.report.terminal.compare_table import print_comparisons
    from pinchbench.results.compare.comparison_json import record

    if as_json:
        print_result(json.dumps(record(comparisons, memorisation), allow_nan=False))
        return
    print_result(drawn(lambda console: print_comparisons(console, comparisons, memorisation)))


@click.command(context_settings=CONTEXT)
@click.argument("names", metavar="RUN... | EXPERIMENT", nargs=-1, required=True)
@OUTPUT_DIR
@click.option("--format", "form", type=click.Choice(["text", "html", "svg", "md", "json"]), default="text",
              show_default=True, help="A page, a card, a table in Markdown, or all of it as JSON.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="The file to write.  [default: stdout]")  # fmt: skip
@click.option("--margin", type=click.FloatRange(0, 1), default=DEFAULT_MARGIN, show_default=True, metavar="M",
              help="The difference to the highest score that does not matter.")  # fmt: skip
def choose(*, names: tuple[str, ...], output_dir: Path, form: str, output: Path | None, margin: float) -> None:
    """Show which model is best, which is cheapest, and which is fastest.

    Each name is a run, or a model, which stands for its complete runs, as in `compare`; or one name is an experiment.
    Models that the data can't tell apart share a rank. Runs are ranked only if their suite, OpenClaw, retries and judge
    are the same.

    \b
    pinchbench-async choose anthropic/claude-sonnet-4-6 openai/gpt-5.5 mistral/large
    pinchbench-async choose which-model_20260102-030405-9f3a --format html -o choice.html
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.results.paths import whole_file

    folder = absolute_path(output_dir, option="--output-dir")
    choice = _choice(names, folder, margin=margin)
    if choice.refused:
        raise ConfigError(choice.refused)
    text = _text(choice, form)
    if output is None:
        print_result(text)
        return
    path = absolute_path(output, option="--output")
    with whole_file(path) as file:
        file.write(f"{text}\n".encode("utf-8", "replace"))
    print_result(path)


def _choice(names: tuple[str, ...], folder: Path, *, margin: float) -> Choice:
    from pinchbench.experiment.experiment_page import read_experiment_runs
    from pinchbench.experiment.experiment_record import find_experiment
    from pinchbench.results.compare.choice import choice_of
    from pinchbench.results.compare.samples import find_sides

    if len(names) == 1:
        files = find_experiment(names[0], folder)
        if files is None:
            raise ConfigError(f"{names[0]} is not an experiment in {folder}: name one, or at least two runs or models.")
        return read_experiment_runs(files).choice(margin=margin)
    return choice_of(find_sides(names, folder), margin=margin)


def _text(choice: Choice, form: str) -> str:
    from pinchbench.report import choice_text
    from pinchbench.report.html.choice_card import choice_card
    from pinchbench.report.html.variants_page import choice_page
    from pinchbench.report.terminal.compare_table import print_choice

    match form:
        case "html":
            return choice_page(choice)
        case "svg":
            return choice_card(choice)
        case "md":
            return choice_text.markdown(choice)
        case "json":
            return json.dumps(choice_text.record(choice), allow_nan=False)
    texts = choice_text.answers(choice), choice_text.tables(choice), choice_text.notes(choice)
    return drawn(lambda console: print_choice(console, *texts))
