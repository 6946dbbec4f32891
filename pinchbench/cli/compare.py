"""`compare`: test whether one run or model is better than another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_run
from pinchbench.cli.options import CONTEXT, FOLDER, option
from pinchbench.cli.output import print_result, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinchbench.results.compare.comparison import Comparison


@click.command(context_settings=CONTEXT)
@click.argument("names", metavar="A B [C]...", nargs=-1, required=True, shell_complete=complete_run)
@option("--output-dir", type=FOLDER, default=defaults.DEFAULT_OUTPUT_DIR, show_default=True,
        help="Where runs are looked for.")  # fmt: skip
@option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write it as one HTML page, too.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, defaults.MAX_SEED), help="Of the permutations that are tried where there"
              " are too many to try all; the same seed gives the same p.")  # fmt: skip
def compare(*, names: tuple[str, ...], output_dir: Path, as_json: bool, html: Path | None, seed: int | None) -> None:
    """Tell whether B is better than A, paired by task.

    Each name is a run (its id, its folder, or its results file) or a model, which stands for all its complete runs in
    --output-dir that were made alike. The first one is the baseline that each other is compared with.

    Only tasks that both have in the same version are compared. The difference comes with its 95 % interval and a
    permutation test; where the data can't tell, it says so, and how many repetitions or tasks could. Exits with 0 when
    it could compare, whatever came out, and with 6 when no task could be paired.

    \b
    pinchbench-async compare 20260102-030405-9f3a 20260103-101112-77d0
    pinchbench-async compare anthropic/claude-sonnet-4-6 openai/gpt-5.5 --html compare.html
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.config import absolute_path  # noqa: PLC0415 - `--help` must not wait for what a command needs
    from pinchbench.errors import ResultsError  # noqa: PLC0415 - as above
    from pinchbench.results.compare.comparison import compare as compare_sides  # noqa: PLC0415 - as above
    from pinchbench.results.compare.samples import find_sides  # noqa: PLC0415 - as above
    from pinchbench.results.statistics import SEED  # noqa: PLC0415 - as above

    sides = find_sides(names, absolute_path(output_dir, option="--output-dir"))
    seed = SEED if seed is None else seed
    comparisons = compare_sides(sides, seed=seed)
    if html is not None:
        from pinchbench.report.html.compare import write_comparison  # noqa: PLC0415 - as above

        path = absolute_path(html, option="--html")
        write_comparison(comparisons, path)
        say(f"Written: {path}")
    _show(comparisons, seed=seed, as_json=as_json)
    if not any(comparison.tasks for comparison in comparisons):
        raise ResultsError("Nothing could be compared: name runs of the same tasks that have been graded.")


def _show(comparisons: Sequence[Comparison], *, seed: int, as_json: bool) -> None:
    if as_json:
        import json  # noqa: PLC0415 - as above

        from pinchbench.results.compare.json import record  # noqa: PLC0415 - as above

        print_result(json.dumps(record(comparisons, seed=seed), allow_nan=False))
        return
    import io  # noqa: PLC0415 - as above
    import sys  # noqa: PLC0415 - as above

    from pinchbench.report.terminal.compare import print_comparisons  # noqa: PLC0415 - `--json` must not wait for it
    from pinchbench.report.terminal.console import report_console  # noqa: PLC0415 - as above

    text = io.StringIO()
    console = report_console(text, is_terminal=sys.stdout is not None and sys.stdout.isatty())
    print_comparisons(console, comparisons)
    print_result(text.getvalue().rstrip("\n"))
