"""`replay`: run a recorded run again, with recorded replies instead of a model."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from pinchbench.cli.cluster import on_cluster, take_cluster
from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import Integer, SettingsCommand, setting_options
from pinchbench.cli.settings_file import read_settings, take_judge
from pinchbench.defaults import DivergencePolicy

if TYPE_CHECKING:
    from pathlib import Path


@click.command(cls=SettingsCommand, context_settings=CONTEXT)
@click.argument("run", metavar="RUN")
@click.option("--on-divergence", type=click.Choice([one.value for one in DivergencePolicy]), default="stop",
              show_default=True, help="When a request is not the recorded one. stop: end the trial. continue: serve the"
              " reply of the same position anyway.")  # fmt: skip
@click.option("--fork-at", type=Integer(1), metavar="K", help="Ask a model from the recorded request K on.")
@click.option("--fork-turn", type=Integer(1), metavar="K", help="Ask a model from turn K of the task on.")
@click.option("--model", help="The model that is asked then (default: the run's).")
@click.option("--base-url", metavar="URL", help="Its OpenAI-compatible endpoint (default: the run's).")
@click.option("--api-key-env", metavar="NAME", help="The environment variable that holds that endpoint's key.")
@setting_options("replay")
def replay(
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
    quiet: bool,
    cluster: str | None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Run the tasks of a run again while the recorded replies of its model are served.

    RUN is a run's id, its folder, or its results file. No provider is asked and no key is needed, unless a trial forks:
    then a model answers from that request on. Each request that is not the recorded one is a divergence, whose
    difference the trial's page shows.

    \b
    pinchbench-async replay 20260102-030405-9f3a --concurrency 8
    pinchbench-async replay 20260102-030405-9f3a --openclaw 2026.9.6 --on-divergence continue
    pinchbench-async replay 20260102-030405-9f3a --suite task_05_outage_brief --fork-at 4 \\
        --model local/qwen3 --base-url http://127.0.0.1:8000/v1
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.cli.running import carry_out
    from pinchbench.config.rerun_configs import ReplayConfig
    from pinchbench.config.run_config import ReplaySettings
    from pinchbench.config.served import run_at
    from pinchbench.runner.again.replay_run import replay as play_again

    chosen = take_cluster(cluster)
    judge = take_judge(options)
    if model is not None and base_url is None:
        at = run_at(read_settings().endpoints, model)
        base_url, api_key_env = at.get("base_url"), api_key_env or at.get("api_key_env")
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
    carry_out(on_cluster(partial(play_again, config), chosen), page=not no_report, as_json=as_json, is_quiet=quiet)
