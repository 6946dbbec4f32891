"""What `run` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinchbench.cli.actions.cluster import take_cluster
from pinchbench.cli.actions.gate_options import take_gate
from pinchbench.cli.actions.judge_options import take_judge
from pinchbench.cli.actions.user_options import take_user
from pinchbench.cli.deferred import action
from pinchbench.config.run import RunConfig
from pinchbench.defaults import Isolation, Network, Sandbox
from pinchbench.errors import ConfigError
from pinchbench.openclaw.homes.credentials import read_config
from pinchbench.runner.additions import WHOLE
from pinchbench.suite.packs import SEPARATOR

if TYPE_CHECKING:
    from pathlib import Path


def run_suite(
    *,
    model: tuple[str, ...],
    until: str | None,
    dry_run: bool,
    as_json: bool,
    no_report: bool,
    no_upload: bool,
    with_notes: bool,
    no_fail_fast: bool,
    no_preflight: bool,
    no_wire: bool,
    isolation: str,
    sandbox: str,
    network: str,
    workspace_files: Path | None,
    openclaw_config: Path | None,
    env: tuple[str, ...],
    cluster: str | None,
    relay: bool,
    notify: tuple[str, ...],
    otlp: str | None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Run a suite, or show what would be run; several models as an experiment."""
    chosen = take_cluster(cluster, relay=relay)
    margin = options["margin"]  # of a gate, or of an experiment
    gate = take_gate(options, options["output_dir"])
    judge = take_judge(options)
    user = take_user(options)
    config = RunConfig(
        model=model[0],
        **options,
        judge=judge,
        user=user,
        isolation=Isolation(isolation),
        sandbox=Sandbox(sandbox),
        network=Network(network),
        upload=not no_upload,
        upload_notes=with_notes,
        fail_fast=not no_fail_fast,
        preflight=not no_preflight,
        wire=not no_wire,
        workspace_files={WHOLE: str(workspace_files)} if workspace_files is not None else {},
        openclaw_config=read_config(openclaw_config) if openclaw_config is not None else {},
        env={name: value for name, _, value in (one.partition("=") for one in env)},
    )
    if gate is not None and SEPARATOR in config.suite and not config.mean_across_suites:
        raise ConfigError(
            "--fail-under and --baseline need one score, and a run of several suites has one for each: add"
            " --mean-across-suites, or gate each suite in a run of its own."
        )
    if len(model) > 1:
        action("experiment.run_models")(
            model,
            config,
            until=until,
            margin=margin,
            dry_run=dry_run,
            as_json=as_json,
            gate=gate,
            told=(notify, otlp),
            cluster=chosen,
        )
    elif until is not None:
        raise ConfigError("--until is for experiments: give --model for each model to compare.")
    elif dry_run:
        action("run_plan.show_plan")(config, as_json=as_json)
    else:
        action("run_benchmark.run")(
            config, cluster=chosen, page=not no_report, as_json=as_json, gate=gate, told=(notify, otlp)
        )
