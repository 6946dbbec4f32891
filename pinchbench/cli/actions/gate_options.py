"""Read the options that `gate_options` adds to a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinchbench.cli.deferred import action
from pinchbench.defaults import DEFAULT_MARGIN
from pinchbench.results.gate.rules import parse_rules

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.results.gate.gate import Gate


def take_gate(options: dict[str, Any], output_dir: Path) -> Gate | None:
    """Remove the gate's options from those of a command, and read the baseline; None if no gate was asked for. Blocks.

    Raises ConfigError if an option can't be used, and ResultsError if the baseline can't be read: before a run begins.
    """
    baseline = options.pop("baseline")
    margin = options.pop("margin")
    rules = parse_rules(
        fail_under=options.pop("fail_under"),
        fail_if=options.pop("fail_if"),
        baseline=baseline,
        margin=DEFAULT_MARGIN if margin is None else margin,
    )
    gate: Gate | None = None if rules is None else action("gate.prepare_gate")(rules, baseline, output_dir)
    return gate
