"""`clean`: remove old workspaces and runs."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_run
from pinchbench.cli.options import CONTEXT, FOLDER, option
from pinchbench.cli.output import print_result, say
from pinchbench.errors import ConfigError, ResultsError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pinchbench.runner.clean import Removable

DAY_S = 86_400.0
UNITS_S = {"m": 60.0, "h": 3600.0, "d": DAY_S, "w": 7 * DAY_S}
DEFAULT_AGE = "30d"


class _Age(click.ParamType[float]):
    """An age such as `12h`, `30d`, `2w`, or 0, converted to seconds."""

    name = "age"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse an age."""
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d{1,6})([mhdw])", str(value).strip())
        if found is None and str(value).strip() != "0":
            self.fail(f"{value!r} is no age; write 12h, 30d or 2w, or 0 for any.", param, ctx)
        return 0.0 if found is None else int(found[1]) * UNITS_S[found[2]]


@click.command(context_settings=CONTEXT)
@click.argument("runs", metavar="[RUN]...", nargs=-1, shell_complete=complete_run)
@click.option("--older-than", "older_than_s", type=_Age(), metavar="AGE", default=DEFAULT_AGE, show_default=True,
              help="Only what was last at work longer ago: 12h, 30d, 2w; 0 for any age.")  # fmt: skip
@click.option("--only", type=click.Choice(["workspaces", "runs"]), help="Leave the others alone.")
@click.option("-n", "--dry-run", is_flag=True, help="Show what would be removed; remove nothing.")
@click.option("-y", "--yes", is_flag=True, help="Don't ask.")
@option("--output-dir", type=FOLDER, default=defaults.DEFAULT_OUTPUT_DIR, show_default=True,
        help="Where runs are looked for.")  # fmt: skip
@option("--run-root", type=FOLDER, default=defaults.DEFAULT_RUN_ROOT, show_default=True,
        help="Where workspaces are looked for.")  # fmt: skip
def clean(
    *,
    runs: tuple[str, ...],
    older_than_s: float,
    only: str | None,
    dry_run: bool,
    yes: bool,
    output_dir: Path,
    run_root: Path,
) -> None:
    """Remove old workspaces and runs, after showing them and asking.

    A workspace is what agents have left below --run-root; what graders need of it is kept in the run. A run is its
    folder in --output-dir and its results file. Named RUNs are removed whatever their age, with their workspaces.
    What is in use is never removed, nor is anything that is not a workspace or a run. Links are not followed.

    \b
    pinchbench-async clean --dry-run
    pinchbench-async clean --only workspaces --older-than 0
    pinchbench-async clean 20260102-030405-9f3a
    """  # noqa: D301 - click keeps the lines after a \b as they are
    from pinchbench.config import absolute_path  # noqa: PLC0415 - `--help` must not wait for it
    from pinchbench.results.paths import find_run  # noqa: PLC0415 - as above
    from pinchbench.runner.clean import find_runs, find_workspaces, one_run, remove  # noqa: PLC0415 - as above

    results = absolute_path(output_dir, option="--output-dir")
    found = [] if only == "runs" else list(find_workspaces(absolute_path(run_root, option="--run-root")))
    if runs:
        named = [one_run(files) for files in dict.fromkeys(find_run(run, results) for run in runs)]
        found = [one for one in found if any(run.path.name.endswith(f"_{one.path.name}") for run in named)]
        found += [] if only == "workspaces" else named
        older_than_s = 0.0
    elif only != "workspaces":
        found += find_runs(results)
    now = time.time()
    old = [one for one in found if now - one.at >= older_than_s]
    chosen = [one for one in old if not one.in_use]
    for one in old:
        if one.in_use:
            say(f"In use, and left as it is: {one.path}")
    if not chosen:
        younger = len(found) - len(old)
        say("There is nothing to remove." + (f" {younger} younger: --older-than 0 takes any age." if younger else ""))
        return
    print_result("\n".join(_row(one, now) for one in chosen))
    what = _count(chosen)
    if dry_run:
        say(f"{what} would be removed.")
        return
    if not yes and not _is_agreed(what):
        say("Nothing was removed.")
        return
    problems = [(one, left) for one in chosen if (left := remove(one))]
    failed = [one for one, _ in problems]
    say(f"Removed: {_count([one for one in chosen if one not in failed])}.")
    if problems:
        raise ResultsError("\n".join(f"Not removed: {left}" for _, left in problems))


def _is_agreed(what: str) -> bool:
    if not _can_be_asked():
        raise ConfigError("Nobody can be asked here: add --yes to remove these, or --dry-run to see them only.")
    return click.confirm(f"Remove {what}?", err=True)


def _can_be_asked() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _row(one: Removable, now: float) -> str:
    from pinchbench.report.text import size  # noqa: PLC0415 - `--help` must not wait for it

    days = max(0.0, now - one.at) / DAY_S
    return f"{one.kind:<9}  {size(one.size_bytes):>9}  {days:5.1f} days  {one.path}"


def _count(found: Sequence[Removable]) -> str:
    from pinchbench.report.text import many, size  # noqa: PLC0415 - as above

    kinds = {kind: sum(one.kind == kind for one in found) for kind in ("workspace", "run")}
    parts = [many(number, kind) for kind, number in kinds.items() if number]
    return f"{' and '.join(parts) or 'nothing'}, {size(sum(one.size_bytes for one in found))}"
