"""`experiment`: run variants side by side and compare them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import SettingsCommand, setting_options


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
    from pinchbench.cli.cluster import take_cluster
    from pinchbench.cli.experiment_running import decisive_margin, run
    from pinchbench.cli.gate import take_gate
    from pinchbench.cli.running import take_listeners
    from pinchbench.cli.settings_file import read_settings
    from pinchbench.errors import OpenClawError
    from pinchbench.experiment.experiment_spec import read_experiment
    from pinchbench.runner.setup.preflight import refuse_early

    chosen = take_cluster(cluster)
    experiment = read_experiment(file, endpoints := read_settings().endpoints)
    for one in experiment.variants:
        with suppress(OpenClawError):  # of one variant, which does not keep the others from running
            refuse_early(one.config, endpoints)
    experiment = replace(experiment, margin=decisive_margin(experiment.margin, until, margin))
    gate = take_gate({**options, "margin": margin}, experiment.variants[0].config.output_dir)
    listeners = take_listeners(otlp)
    run(experiment, dry_run=dry_run, as_json=as_json, gate=gate, listeners=listeners, cluster=chosen)
