"""`experiment`: run variants side by side and compare them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pinchbench.cli.deferred import performs
from pinchbench.cli.options import CLUSTER, CONTEXT, NOTIFY, OTLP, RELAY, UNTIL, gate_options, option


@click.command(context_settings=CONTEXT)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@UNTIL
@CLUSTER
@RELAY
@option("--dry-run", is_flag=True, help="Show what would be run and how long it can take; start nothing.")
@gate_options
@NOTIFY
@OTLP
@option("--json", "as_json", is_flag=True, help="Print the comparison as JSON instead of the experiment's folder.")
@performs("experiment.run_file")
def experiment(**_options: Any) -> None:  # noqa: ANN401
    """Run variants side by side and compare them with the first.

    FILE is YAML: options of a run by their names without dashes in front, and `variants`, each with what differs.
    All variants share `concurrency` slots. The trials of a task run close together in time, in an order shuffled by
    `seed`, so that a slow hour of a provider or of this machine affects all variants alike. Each variant is a run of
    its own, for `report`, `regrade`, `export` and `verify`; `resume FOLDER` goes on with an experiment that was ended.

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
