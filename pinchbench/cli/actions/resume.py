"""What `resume` does."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from pinchbench.cli.actions.cluster import on_cluster, take_cluster
from pinchbench.cli.actions.gate_options import take_gate
from pinchbench.cli.actions.judge_options import take_judge
from pinchbench.cli.actions.listeners import take_listeners
from pinchbench.cli.actions.running import carry_out
from pinchbench.cli.actions.user_options import take_user
from pinchbench.cli.deferred import action
from pinchbench.config.option_values import absolute_path
from pinchbench.config.resume import ResumeConfig
from pinchbench.experiment.record import find_experiment
from pinchbench.runner.resume import resume as go_on

if TYPE_CHECKING:
    from pathlib import Path


def resume_run(
    *,
    run: str | None,
    accept_changes: bool,
    take_over: bool,
    output_dir: Path,
    no_report: bool,
    as_json: bool,
    cluster: str | None,
    relay: bool,
    notify: tuple[str, ...],
    otlp: str | None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Go on with a run that was ended early, whatever ended it."""
    chosen = take_cluster(cluster, relay=relay)
    gate = take_gate(options, output_dir)
    judge = take_judge(options)
    user = take_user(options)
    listeners = take_listeners(notify, otlp)
    settings = {name: value for name, value in options.items() if value is not None and value is not False}
    if settings.pop("no_fail_fast", False):
        settings["fail_fast"] = False
    if settings.pop("no_wire", False):
        settings["wire"] = False
    settings["preflight"] = not settings.pop("no_preflight", False)
    if judge is not None:
        settings["judge"] = judge
    if user is not None:
        settings["user"] = user
    if run is not None and (experiment := find_experiment(run, absolute_path(output_dir, option="--output-dir"))):
        action("experiment.go_on")(
            experiment,
            settings=settings,
            accept_changes=accept_changes,
            take_over=take_over,
            as_json=as_json,
            gate=gate,
            listeners=listeners,
            cluster=chosen,
        )
        return
    config = ResumeConfig(
        run=run, output_dir=output_dir, accept_changes=accept_changes, take_over=take_over, settings=settings
    )
    work = on_cluster(partial(go_on, config), chosen)
    carry_out(work, page=not no_report, offers=True, gate=gate, as_json=as_json, listeners=listeners)
