"""`clean`: remove old workspaces and runs."""

from __future__ import annotations

import re
from typing import Any

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_run
from pinchbench.cli.deferred import performs
from pinchbench.cli.options import CONTEXT, FOLDER, option

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
@performs("clean.remove_old")
def clean(**_options: Any) -> None:  # noqa: ANN401
    """Remove old workspaces and runs, after showing them and asking.

    A workspace is what agents have left below --run-root; what graders need of it is kept in the run. A run is its
    folder in --output-dir and its results file. Named RUNs are removed whatever their age, with their workspaces.
    What is in use is never removed, nor is anything that is not a workspace or a run. Links are not followed.

    \b
    pinchbench-async clean --dry-run
    pinchbench-async clean --only workspaces --older-than 0
    pinchbench-async clean 20260102-030405-9f3a
    """  # noqa: D301 - click keeps the lines after a \b as they are
