"""`judge`: examine a judge."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import click
import msgspec
from click.core import ParameterSource

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import SettingsCommand, option, setting_options
from pinchbench.cli.output import drawn, print_result, say
from pinchbench.cli.settings_file import take_judge
from pinchbench.config.settings import absolute_path
from pinchbench.errors import ConfigError, JudgeFaultError, SuiteError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pinchbench.authoring.examine_judge import Work
    from pinchbench.defaults import SuiteFormat
    from pinchbench.results.judge_certificate import Answer

VOTES = 3  # on unchanged work: fewer can't show whether a judge repeats itself


@click.group(context_settings=CONTEXT)
def judge() -> None:
    """Examine a judge before you trust its grades.

    \b
    pinchbench-async judge check --judge openai/gpt-5.5
    """  # noqa: D301 - \b is click's mark for lines that stay as they are


@judge.command("check", cls=SettingsCommand, context_settings=CONTEXT)
@setting_options("judge", judge={"help": "The judge to examine, named as for a run."})
@option("--json", "as_json", is_flag=True, help="Print the certificate as JSON.")
def judge_check(
    *,
    tasks_dir: Path | None,
    suite_format: SuiteFormat | None,
    suite: str,
    openclaw: str | None,
    run_root: Path,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Ask a judge about work whose score is known, and keep what was measured as its certificate.

    The solutions, near misses and idle runs of all judged tasks are put to it: as they are (three votes each, or as
    many as --judge-votes says), longer, decorated, with criteria in reverse order, and with a planted verdict. Measured
    are order, calibration, leniency, repeatability, the effect of each change, how many replies can't be read, and
    drift since the judge's earlier certificate. The path of the page is printed. A judge with faults gives exit code 3.

    \b
    pinchbench-async judge check --judge openai/gpt-5.5
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.authoring.examine_judge import check_judge, works_of
    from pinchbench.cli.selected_tasks import select, with_solutions
    from pinchbench.report.certificate import print_certificate, verdict_text, write_certificate_page
    from pinchbench.results.judge_certificate import keep_certificate

    is_default = click.get_current_context().get_parameter_source("judge_votes") is ParameterSource.DEFAULT
    votes = VOTES if is_default else options["judge_votes"]
    config = take_judge(options)
    if config is None:
        raise ConfigError("`judge check` needs a judge: name its model with --judge MODEL.")
    if config.further:
        raise ConfigError("`judge check` examines one judge at a time: name one with --judge MODEL.")
    config = replace(config, votes=votes)
    loaded, selected = select(tasks_dir, suite, suite_format)
    works = works_of(with_solutions(loaded.suite, selected))
    if not works:
        raise SuiteError("None of these tasks has a rubric and a solution, so there is nothing to ask a judge about.")
    tasks = len({one.task.task_id for one in works})
    say(f"Asking {config.model} about {len(works)} pieces of work of {tasks} tasks, {config.votes + 4} times each.")

    def show(work: Work, answers: Sequence[Answer]) -> None:
        votes = ", ".join("unreadable" if vote is None else f"{vote:.2f}" for vote in answers[0].votes)
        low, high = work.range
        say(f"{work.task.task_id}, {work.script.name}: {votes} ({low:g} to {high:g} stated)")

    root = absolute_path(run_root, option="--run-root")
    certificate = anyio.run(
        partial(check_judge, works, config=config, openclaw=openclaw, run_root=root, show=show, say=say)
    )
    path = keep_certificate(certificate)
    page = path.with_suffix(".html")
    write_certificate_page(certificate, page)
    if as_json:
        print_result(msgspec.json.encode(certificate).decode())
    else:
        say(drawn(lambda console: print_certificate(console, certificate), on_stderr=True))
        print_result(str(page))
    if certificate.faults:
        raise JudgeFaultError(f"{verdict_text(certificate)} Choose another judge, or read {page} first.")
