"""What `run` does without `--dry-run`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pinchbench.cli.actions.running import carry_out, leave
from pinchbench.runner.run import run_benchmark

if TYPE_CHECKING:
    from pinchbench.config import RunConfig
    from pinchbench.results.gate.gate import Gate


def run(config: RunConfig, *, page: bool, as_json: bool, gate: Gate | None) -> None:
    """Run a benchmark and exit with the code of its result."""
    leave(*carry_out(partial(run_benchmark, config), page=page, offers=True, gate=gate), as_json=as_json)
