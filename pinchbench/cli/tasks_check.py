"""`tasks check`: play the solutions of tasks and grade what they leave, or attack the checks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from pinchbench import defaults
from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import Integer, SettingsCommand, option, setting_options

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.defaults import SuiteFormat

MUTANTS = 60  # of a task: enough to touch every kind of mistake, little enough for minutes
SEED = 1


class SeedRange(click.ParamType[range]):
    """A seed, or a range of seeds such as 1-20."""

    name = "seeds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> range:  # noqa: ANN401
        """Return the seeds that a text names."""
        if isinstance(value, range):
            return value
        found = re.fullmatch(r"(\d{1,10})(?:-(\d{1,10}))?", str(value))
        seeds = range(int(found[1]), int(found[2] or found[1]) + 1) if found else range(0)
        if not seeds or seeds[-1] > defaults.MAX_SEED:
            self.fail(f"{value!r} is no seed and no range of seeds, such as 7 or 1-20.", param, ctx)
        return seeds


@click.command("check", cls=SettingsCommand, context_settings=CONTEXT)
@click.option("--form", "forms", type=SeedRange(), metavar="SEED|A-B",
              help="Fresh forms of the tasks: that of a seed, or those of all seeds from A to B.")  # fmt: skip
@click.option("--attack", is_flag=True, help="Attack the checks: play mutants of the solutions, and cheats.")
@click.option("--mutants", type=Integer(min=1), metavar="N",
              help="How many mutants --attack plays of each task, at most.  [default: 60]")  # fmt: skip
@click.option("--seed", type=int, metavar="N", help="Which mutants --attack chooses.  [default: 1]")
@setting_options("check")
@option("--json", "as_json", is_flag=True, help="Print JSON: one entry for each script, or task, that was played.")
def check(
    *,
    tasks_dir: Path | None,
    suite_format: SuiteFormat | None,
    suite: str,
    forms: range | None,
    openclaw: str | None,
    run_root: Path,
    attack: bool,
    mutants: int | None,
    seed: int | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Check tasks without a model: play their solutions and grade what they leave.

    The solution must earn every point of the check, each near miss a score in the range it states, and doing nothing at
    most 0.2. All that is wrong is named. Rubrics are tried only with --judge. What takes more than files and a shell is
    played in OpenClaw, with the built-in model: about a minute for each script.

    With --attack, the checks are tested instead: in each mutant of a solution's workspace one thing is wrong, and it
    must lose points; cheats that do none of the work may earn 0.2 at most. Every check should notice 95% of the
    mutants and pay no cheat. Tasks that only a judge grades are skipped.

    With --form, fresh forms of the tasks are made and checked in the same way. In addition, what the solution of the
    public form leaves may earn 0.2 at most, and no two forms may have the same answers. Tasks without forms are left
    out.

    \b
    pinchbench-async tasks check
    pinchbench-async tasks check --form 1-20
    pinchbench-async tasks check --attack --suite coding
    pinchbench-async tasks check --tasks-dir mine --suite task_mine --judge openai/gpt-5.5
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.authoring.attack.attack import AttackSettings
    from pinchbench.cli.script_checks import attack_checks, check_forms, check_scripts
    from pinchbench.cli.selected_tasks import select, with_solutions
    from pinchbench.cli.settings_file import take_judge
    from pinchbench.config.settings import absolute_path
    from pinchbench.errors import ConfigError

    if attack and options["judge"]:
        raise ConfigError("--attack goes without --judge: it tests checks, which need none.")
    if not attack and (mutants is not None or seed is not None):
        raise ConfigError("--mutants and --seed go with --attack, which plays mutants.")
    judge = take_judge(options)
    root = absolute_path(run_root, option="--run-root")
    if forms is not None and not attack:
        if judge is not None:
            raise ConfigError("--form goes without --judge here: forms are checked by their checks.")
        check_forms(*select(tasks_dir, suite, suite_format), forms, run_root=root, as_json=as_json)
        return
    if forms is not None and len(forms) > 1:
        raise ConfigError("--attack takes one form at a time: it is long work.")
    loaded, selected = select(tasks_dir, suite, suite_format, form=None if forms is None else forms[0])
    chosen = with_solutions(loaded.suite, selected)
    if attack:
        settings = AttackSettings(
            max_mutants=mutants or MUTANTS, seed=SEED if seed is None else seed, openclaw=openclaw
        )
        attack_checks(loaded, chosen, settings, run_root=root, as_json=as_json)
    else:
        check_scripts(loaded, chosen, judge, openclaw=openclaw, run_root=root, as_json=as_json)
