"""`resume`: run what is left of a run that ended early."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from pinchbench.cli.cluster import on_cluster, take_cluster
from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import SettingsCommand, config_fields, setting_options
from pinchbench.cli.settings_file import model_settings, take_judge, take_user
from pinchbench.config.settings import absolute_path

if TYPE_CHECKING:
    from pathlib import Path


@click.command(cls=SettingsCommand, context_settings=CONTEXT)
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--accept-changes", is_flag=True, help="Resume even if tasks, settings or releases have changed.")
@setting_options("resume")
def resume(
    *,
    run: str | None,
    accept_changes: bool,
    output_dir: Path,
    no_report: bool,
    as_json: bool,
    quiet: bool,
    cluster: str | None,
    otlp: str | None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Resume an unfinished run.

    RUN is a run's id, its folder, or its results file, or the folder of an experiment; without it, the newest
    unfinished run. Trials that have
    finished are not run again. Settings are those of the run, unless given here; the environment changes none.

    \b
    pinchbench-async resume
    pinchbench-async resume 20260102-030405-9f3a --concurrency 8 --max-cost 20
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.cli.experiment_running import go_on as go_on_with_experiment
    from pinchbench.cli.gate import take_gate
    from pinchbench.cli.running import carry_out, take_listeners
    from pinchbench.config.rerun_configs import ResumeConfig
    from pinchbench.experiment.experiment_record import find_experiment
    from pinchbench.runner.again.resume_run import resume as go_on

    chosen = take_cluster(cluster)
    gate = take_gate(options, output_dir)
    judge = take_judge(options)
    user = take_user(options)
    listeners = take_listeners(otlp)
    if options["model"] is not None:
        options = model_settings(options, options["model"])
    given = {**options, "judge": judge, "user": user}
    settings = config_fields({name: value for name, value in given.items() if value not in (None, False, ())})
    settings.setdefault("preflight", True)  # whatever the run's was
    if run is not None and (experiment := find_experiment(run, absolute_path(output_dir, option="--output-dir"))):
        go_on_with_experiment(
            experiment,
            settings=settings,
            accept_changes=accept_changes,
            as_json=as_json,
            gate=gate,
            listeners=listeners,
            cluster=chosen,
        )
        return
    config = ResumeConfig(run=run, output_dir=output_dir, accept_changes=accept_changes, settings=settings)
    work = on_cluster(partial(go_on, config), chosen)
    carry_out(work, page=not no_report, gate=gate, as_json=as_json, is_quiet=quiet, listeners=listeners)
