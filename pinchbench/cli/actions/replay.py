"""What `replay` does."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from pinchbench.cli.actions.cluster import on_cluster, take_cluster
from pinchbench.cli.actions.judge_options import take_judge
from pinchbench.cli.actions.running import carry_out
from pinchbench.config.replay import ReplayConfig, ReplaySettings
from pinchbench.defaults import DivergencePolicy
from pinchbench.runner.replay import replay as play_again

if TYPE_CHECKING:
    from pathlib import Path


def replay_run(
    *,
    run: str,
    suite: str | None,
    on_divergence: str,
    fork_at: int | None,
    fork_turn: int | None,
    model: str | None,
    base_url: str | None,
    api_key_env: str | None,
    output_dir: Path,
    no_report: bool,
    as_json: bool,
    cluster: str | None,
    relay: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Run the tasks of a run again while recorded replies are served."""
    chosen = take_cluster(cluster, relay=relay)
    judge = take_judge(options)
    replay = ReplaySettings(
        folder="",
        on_divergence=DivergencePolicy(on_divergence),
        fork_at=fork_at,
        fork_turn=fork_turn,
        model=model,
        base_url=base_url,
        api_key_env=api_key_env,
    )
    settings = {name: value for name, value in options.items() if value is not None}
    if judge is not None:
        settings["judge"] = judge
    config = ReplayConfig(run=run, output_dir=output_dir, suite=suite, settings=settings, replay=replay)
    carry_out(on_cluster(partial(play_again, config), chosen), page=not no_report, as_json=as_json)
