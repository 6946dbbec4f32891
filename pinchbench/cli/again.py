"""`resume`, `replay` and `regrade`: go on with a run, play it again, or grade it again."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import Integer, SettingsCommand, config_fields, setting_options
from pinchbench.cli.output import say
from pinchbench.cli.settings_file import model_settings, read_settings, take_judge, take_user
from pinchbench.config.settings import absolute_path
from pinchbench.defaults import DivergencePolicy
from pinchbench.errors import AlteredRunError, ResultsError

if TYPE_CHECKING:
    from pinchbench.results.paths import RunFiles


@click.command(cls=SettingsCommand, context_settings=CONTEXT)
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--accept-changes", is_flag=True, help="Resume even if tasks, settings or releases have changed.")
@setting_options("resume")
def resume(
    *,
    run: str | None,
    accept_changes: bool,
    output_dir: Path,
    no_report: bool,
    as_json: bool,
    quiet: bool,
    cluster: str | None,
    otlp: str | None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Resume an unfinished run.

    RUN is a run's id, its folder, or its results file, or the folder of an experiment; without it, the newest
    unfinished run. Trials that have
    finished are not run again. Settings are those of the run, unless given here; the environment changes none.

    \b
    pinchbench-async resume
    pinchbench-async resume 20260102-030405-9f3a --concurrency 8 --max-cost 20
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.cli.experiment_running import go_on as go_on_with_experiment
    from pinchbench.cli.gate import take_gate
    from pinchbench.cli.running import carry_out
    from pinchbench.config.rerun_configs import ResumeConfig
    from pinchbench.experiment.experiment_record import find_experiment
    from pinchbench.runner.again.rerun import resume as go_on

    gate = take_gate(options, output_dir)
    judge = take_judge(options)
    user = take_user(options)
    if options["model"] is not None:
        options = model_settings(options, options["model"])
    given = {**options, "judge": judge, "user": user}
    settings = config_fields({name: value for name, value in given.items() if value not in (None, False, ())})
    settings.setdefault("preflight", True)  # whatever the run's was
    if run is not None and (experiment := find_experiment(run, absolute_path(output_dir, option="--output-dir"))):
        go_on_with_experiment(
            experiment,
            settings=settings,
            accept_changes=accept_changes,
            as_json=as_json,
            gate=gate,
            otlp=otlp,
            cluster=cluster,
        )
        return
    config = ResumeConfig(run=run, output_dir=output_dir, accept_changes=accept_changes, settings=settings)
    shown = {"page": not no_report, "as_json": as_json, "is_quiet": quiet}
    carry_out(partial(go_on, config), gate=gate, otlp=otlp, cluster=cluster, **shown)


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
    from pinchbench.runner.again.rerun import replay as play_again

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
    carry_out(partial(play_again, config), page=not no_report, as_json=as_json, is_quiet=quiet, cluster=cluster)


@click.command(cls=SettingsCommand, context_settings=CONTEXT)
@click.argument("run", metavar="RUN")
@click.option("--only-ungraded", is_flag=True, help="Leave the trials alone that have a score.")
@setting_options("regrade")
def regrade(*, no_report: bool, as_json: bool, quiet: bool, **options: Any) -> None:  # noqa: ANN401
    """Grade a run again from what it kept, without running an agent.

    RUN is a run's id, its folder, or its results file. Every grade is kept; the latest one with a score counts. Without
    --judge, the judge that graded the run last is asked again.

    RUN may be a bundle that `publish` has written. It is unpacked into the output folder, where it is a run like any
    other, and graded there; without --judge only by the checks of its automated tasks, with nobody's model. The exit
    code is 10 if such a trial has another score than in the bundle.

    \b
    pinchbench-async regrade 20260102-030405-9f3a --judge openai/gpt-5.5 --judge-votes 3
    pinchbench-async regrade results/demo-oracle_20260102-030405-9f3a.json --only-ungraded
    pinchbench-async regrade run.tar
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.cli.gate import take_gate
    from pinchbench.cli.running import carry_out
    from pinchbench.config.rerun_configs import RegradeConfig
    from pinchbench.runner.again.grade_again import regrade as grade_again

    gate = take_gate(options, options["output_dir"])
    judge = take_judge(options)
    bundled = unpacked(options["run"], options["output_dir"])
    if bundled is not None:
        options["run"] = str(bundled.folder)
    config = RegradeConfig(**options, judge=judge, must_agree=bundled is not None)
    carry_out(partial(grade_again, config), page=not no_report, gate=gate, as_json=as_json, is_quiet=quiet)


def unpacked(run: str, output_dir: Path) -> RunFiles | None:
    """Unpack a bundle; return None if `run` is not one.

    Raises AlteredRunError if the bundle is not as it was written, and ResultsError if it can't be unpacked or its run
    is there already.
    """
    from pinchbench.publish.bundle.bundle_file import is_bundle, run_in, unpack_bundle
    from pinchbench.results.paths import RunFiles

    bundle = Path(run)
    if not is_bundle(bundle):
        return None
    output_dir = absolute_path(output_dir, option="--output-dir")
    try:
        output_dir.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".unpacked-", dir=output_dir) as temporary:
            folder = Path(temporary) / "bundle"
            if differences := unpack_bundle(bundle, folder):
                raise AlteredRunError.of(differences, run=bundle)
            files, _ = run_in(folder)
            there = RunFiles(output_dir=output_dir, name=files.name)
            if there.folder.exists() or there.aggregate.exists():
                raise ResultsError(
                    f"{there.folder} is there already: grade that run, or name another folder with --output-dir."
                )
            files.folder.rename(there.folder)
            files.aggregate.rename(there.aggregate)
    except OSError as error:
        raise ResultsError(f"{bundle} can't be unpacked into {output_dir}: {error.strerror}.") from error
    say(f"Unpacked into {there.folder}.")
    return there
