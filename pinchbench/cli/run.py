"""`run`, the default command: run a suite on one model, or show what would be run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import config_fields, setting_options
from pinchbench.cli.settings_file import WithDefaults, model_settings, read_settings, take_judge, take_user

if TYPE_CHECKING:
    from pathlib import Path


@click.command(cls=WithDefaults, context_settings=CONTEXT)
@setting_options("run", model={"required": True, "multiple": True})
def run(
    *,
    model: tuple[str, ...],
    keyword: str | None,
    last_failed: bool,
    limit: int | None,
    quiet: bool,
    dry_run: bool,
    as_json: bool,
    no_report: bool,
    no_upload: bool,
    workspace_files: Path | None,
    openclaw_config: Path | None,
    env: tuple[str, ...],
    cluster: str | None,
    otlp: str | None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Run a suite (the default command).

    \b
    pinchbench-async --model anthropic/claude-sonnet-4-6 --concurrency 4
    pinchbench-async --model demo/oracle --suite core,task_05_outage_brief --runs 3
    pinchbench-async --model demo/oracle -k "shell or git" --limit 3
    pinchbench-async --model local/qwen3 --base-url http://127.0.0.1:8000/v1 --json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    del no_upload  # as it always is
    from pinchbench.cli.cluster import on_cluster, take_cluster
    from pinchbench.cli.gate import take_gate
    from pinchbench.config.run_config import RunConfig
    from pinchbench.errors import ConfigError
    from pinchbench.openclaw.homes.credentials import read_config
    from pinchbench.runner.plan.check_additions import WHOLE
    from pinchbench.suite.named import SEPARATOR

    chosen = take_cluster(cluster)
    if keyword or last_failed or limit:
        from pinchbench.cli.selected_tasks import narrowed

        options["suite"] = narrowed(options, keyword=keyword, limit=limit, failed_by=model[0] if last_failed else "")
    gate = take_gate(options, options["output_dir"])
    judge = take_judge(options)
    user = take_user(options)
    additions: dict[str, Any] = {
        "workspace_files": {WHOLE: str(workspace_files)} if workspace_files is not None else {},
        "openclaw_config": read_config(openclaw_config) if openclaw_config is not None else {},
        "env": {name: value for name, _, value in (one.partition("=") for one in env)},
    }
    configs = [
        RunConfig(
            model=one,
            **config_fields(model_settings(options, one)),
            **additions,
            judge=judge,
            user=user,
        )
        for one in model
    ]
    config = configs[0]
    if gate is not None and SEPARATOR in config.suite:
        raise ConfigError(
            "--fail-under and --baseline need one score, and a run of several suites has one for each: gate each in"
            " a run of its own."
        )
    is_known = False
    if not (dry_run and config.is_demo and config.thinking is None):  # whose plan waits for nothing that a run needs
        from pinchbench.runner.setup.preflight import refuse_early

        found = [refuse_early(one, read_settings().endpoints) for one in configs]
        is_known = all(found)
    if len(model) > 1 and (alone := "--quiet" if quiet else "--exitfirst" if config.exitfirst else ""):
        raise ConfigError(f"{alone} is for the run of one model.")
    if len(model) > 1:
        from pinchbench.cli.experiment_running import run as run_variants
        from pinchbench.cli.running import take_listeners
        from pinchbench.experiment.experiment_spec import of_models

        experiment, listeners = of_models(configs), take_listeners(otlp)
        run_variants(experiment, dry_run=dry_run, as_json=as_json, gate=gate, listeners=listeners, cluster=chosen)
    elif dry_run:
        from pinchbench.cli.run_plan import show_plan

        show_plan(config, as_json=as_json, is_local=chosen is None, is_known=is_known)
    else:
        from pinchbench.cli.running import carry_out, take_listeners
        from pinchbench.runner.run_benchmark import run_benchmark

        listeners = take_listeners(otlp)
        work = on_cluster(partial(run_benchmark, config), chosen)
        carry_out(work, page=not no_report, gate=gate, as_json=as_json, listeners=listeners, is_quiet=quiet)
