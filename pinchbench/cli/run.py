"""`run`, the default command, for one model or several; `demo`, and `experiment` for variants of any kind."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from shutil import which
from typing import Any

import click

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import SettingsCommand, config_fields, setting_options
from pinchbench.cli.output import say
from pinchbench.cli.settings_file import WithDefaults, model_settings, read_settings, take_judge, take_user


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
    from pinchbench.cli.gate import take_gate
    from pinchbench.config.run_config import RunConfig
    from pinchbench.errors import ConfigError
    from pinchbench.openclaw.homes.credentials import read_config
    from pinchbench.runner.plan.check_additions import WHOLE
    from pinchbench.suite.named import SEPARATOR

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
        RunConfig(model=one, **config_fields(model_settings(options, one)), **additions, judge=judge, user=user)
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
        from pinchbench.experiment.experiment_spec import of_models

        run_variants(of_models(configs), dry_run=dry_run, as_json=as_json, gate=gate, otlp=otlp, cluster=cluster)
    elif dry_run:
        from pinchbench.cli.run_plan import show_plan

        show_plan(config, as_json=as_json, is_local=cluster is None, is_known=is_known)
    else:
        from pinchbench.cli.running import carry_out
        from pinchbench.runner.run_benchmark import run_benchmark

        shown = {"page": not no_report, "as_json": as_json, "is_quiet": quiet}
        carry_out(partial(run_benchmark, config), gate=gate, otlp=otlp, cluster=cluster, **shown)


@click.command(context_settings=CONTEXT)
@click.pass_context
def demo(context: click.Context) -> None:
    """Run the core of the suite with the scripted model that is built in.

    It needs no account and no key. OpenClaw is installed for this program first, if it is not there yet.

    \b
    pinchbench-async demo
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.openclaw.install import DEFAULT_RELEASE, install, managed

    if managed(DEFAULT_RELEASE) is None:
        say(f"Installing OpenClaw {DEFAULT_RELEASE} with npm; this takes about a minute.")
        install(DEFAULT_RELEASE)
    if which("pinchbench-async") is None:
        say(f"This program is {Path(sys.argv[0]).absolute()}; `pipx install .` puts it on PATH.")
    args = ["--model", "demo/oracle", "--suite", "core", "--concurrency", "4", "--openclaw", DEFAULT_RELEASE]
    with run.make_context("run", args, parent=context) as inner:
        run.invoke(inner)


@click.command(cls=SettingsCommand, context_settings=CONTEXT)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@setting_options("experiment")
def experiment(
    *,
    file: Path,
    until: str | None,
    margin: float | None,
    dry_run: bool,
    as_json: bool,
    otlp: str | None,
    cluster: str | None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Run variants side by side and compare them with the first.

    FILE is YAML: options of a run by their names without dashes in front, and `variants`, each with what differs.
    All variants share `concurrency` slots. The trials of a task run close together in time, in an order shuffled by
    `seed`, so that a slow hour of a provider or of this machine affects all variants alike. Each variant is a run of
    its own, for `report`, `regrade`, `export` and `verify`; `resume FOLDER` resumes an unfinished experiment.

    \b
    pinchbench-async experiment which-model.yaml --dry-run

    \b
    suite: core
    runs: 3
    concurrency: 4
    variants:
      sonnet:   {model: anthropic/claude-sonnet-4-6}
      thinking: {model: anthropic/claude-sonnet-4-6, thinking: high}
      gpt:      {model: openai/gpt-5.5}
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.cli.experiment_running import decisive_margin
    from pinchbench.cli.experiment_running import run as run_variants
    from pinchbench.cli.gate import take_gate
    from pinchbench.errors import OpenClawError
    from pinchbench.experiment.experiment_spec import read_experiment
    from pinchbench.runner.setup.preflight import refuse_early

    experiment = read_experiment(file, endpoints := read_settings().endpoints)
    for one in experiment.variants:
        with suppress(OpenClawError):  # of one variant, which does not keep the others from running
            refuse_early(one.config, endpoints)
    experiment = replace(experiment, margin=decisive_margin(experiment.margin, until, margin))
    gate = take_gate({**options, "margin": margin}, experiment.variants[0].config.output_dir)
    run_variants(experiment, dry_run=dry_run, as_json=as_json, gate=gate, otlp=otlp, cluster=cluster)
