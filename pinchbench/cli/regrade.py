"""`regrade`: grade a run again from the evidence it kept."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import SettingsCommand, setting_options
from pinchbench.cli.output import say
from pinchbench.cli.settings_file import take_judge
from pinchbench.config.settings import absolute_path
from pinchbench.errors import AlteredRunError, ResultsError

if TYPE_CHECKING:
    from pinchbench.results.paths import RunFiles


@click.command(cls=SettingsCommand, context_settings=CONTEXT)
@click.argument("run", metavar="RUN")
@click.option("--only-ungraded", is_flag=True, help="Leave the trials alone that have a score.")
@setting_options("regrade")
def regrade(*, no_report: bool, as_json: bool, quiet: bool, **options: Any) -> None:  # noqa: ANN401
    """Grade a run again from what it kept, without running an agent.

    RUN is a run's id, its folder, or its results file. Every grade is kept; the latest one with a score counts. Without
    --judge, the judge that graded the run last is asked again.

    RUN may be a bundle that `publish` has written. It is unpacked into the output folder, where it is a run like any
    other, and graded there; without --judge only by the checks of its automated tasks, with nobody's model. The exit
    code is 10 if such a trial has another score than in the bundle.

    \b
    pinchbench-async regrade 20260102-030405-9f3a --judge openai/gpt-5.5 --judge-votes 3
    pinchbench-async regrade results/demo-oracle_20260102-030405-9f3a.json --only-ungraded
    pinchbench-async regrade run.tar
    """  # noqa: D301 - as above
    from pinchbench.cli.gate import take_gate
    from pinchbench.cli.running import carry_out
    from pinchbench.config.rerun_configs import RegradeConfig
    from pinchbench.runner.again.grade_again import regrade as grade_again

    gate = take_gate(options, options["output_dir"])
    judge = take_judge(options)
    bundled = unpacked(options["run"], options["output_dir"])
    if bundled is not None:
        options["run"] = str(bundled.folder)
    config = RegradeConfig(**options, judge=judge, must_agree=bundled is not None)
    carry_out(partial(grade_again, config), page=not no_report, gate=gate, as_json=as_json, is_quiet=quiet)


def unpacked(run: str, output_dir: Path) -> RunFiles | None:
    """Unpack a bundle; return None if `run` is not one.

    Raises AlteredRunError if the bundle is not as it was written, and ResultsError if it can't be unpacked or its run
    is there already.
    """
    from pinchbench.publish.bundle.bundle_file import is_bundle, unpack_bundle
    from pinchbench.publish.bundle.check_bundle import run_in
    from pinchbench.results.paths import RunFiles

    bundle = Path(run)
    if not is_bundle(bundle):
        return None
    output_dir = absolute_path(output_dir, option="--output-dir")
    try:
        output_dir.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".unpacked-", dir=output_dir) as temporary:
            folder = Path(temporary) / "bundle"
            if differences := unpack_bundle(bundle, folder):
                raise AlteredRunError.of(differences, run=bundle)
            files, _ = run_in(folder)
            there = RunFiles(output_dir=output_dir, name=files.name)
            if there.folder.exists() or there.aggregate.exists():
                raise ResultsError(
                    f"{there.folder} is there already: grade that run, or name another folder with --output-dir."
                )
            files.folder.rename(there.folder)
            files.aggregate.rename(there.aggregate)
    except OSError as error:
        raise ResultsError(f"{bundle} can't be unpacked into {output_dir}: {error.strerror}.") from error
    say(f"Unpacked into {there.folder}.")
    return there
