"""What `run` does without `--dry-run`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pinchbench.cli.actions.cluster import on_cluster
from pinchbench.cli.actions.listeners import take_listeners
from pinchbench.cli.actions.running import carry_out
from pinchbench.runner.run import run_benchmark

if TYPE_CHECKING:
    from pinchbench.cli.actions.cluster import ChosenCluster
    from pinchbench.cli.actions.listeners import Told
    from pinchbench.config.run import RunConfig
    from pinchbench.results.gate.gate import Gate


def run(
    config: RunConfig, *, cluster: ChosenCluster | None, page: bool, as_json: bool, gate: Gate | None, told: Told
) -> None:
    """Run a benchmark and exit with the code of its result."""
    listeners = take_listeners(*told)
    work = on_cluster(partial(run_benchmark, config), cluster)
    carry_out(work, page=page, offers=True, gate=gate, as_json=as_json, listeners=listeners)
