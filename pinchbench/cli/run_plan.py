"""What `run --dry-run` does."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from pinchbench.cli.output import drawn, print_result, say
from pinchbench.cli.settings_file import read_settings
from pinchbench.defaults import COMPLETIONS, Isolation
from pinchbench.process.capacity import slots_warning
from pinchbench.report.terminal.listings import print_plan
from pinchbench.report.text import amount, many, plain, price
from pinchbench.runner.plan.past_runs import JudgingForecast, judging_forecast
from pinchbench.runner.plan.prepare import prepare
from pinchbench.runner.plan.trial_plan import makespan_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinchbench.config.run_config import RunConfig


def _doctor(config: RunConfig) -> str:
    """Return the command that checks what a dry run does not."""
    words = ["pinchbench-async", "doctor", "--model", config.model]
    if config.base_url is not None and config.model.partition("/")[0] not in read_settings().endpoints:
        words += ["--base-url", config.base_url]
        words += ["--api", config.api] if config.api != COMPLETIONS else []
        words += ["--api-key-env", config.api_key_env] if config.api_key_env is not None else []
    return shlex.join(words)


def show_plan(config: RunConfig, *, as_json: bool, is_local: bool = True, is_known: bool = False) -> None:
    """Print the trials of a run in their order, how long they can take, and if that is too many for this machine.

    `is_known`: OpenClaw's catalogue was asked for the model.
    """
    prepared = prepare(config, only_shown=True)
    for remark in prepared.remarks:
        say(remark)
    if config.reuse is not None:
        from pinchbench.runner.plan.reuse import reuse_sentences
        from pinchbench.runner.setup.set_up import planned_reuse

        prepared = planned_reuse(prepared)
        for sentence in reuse_sentences(prepared):
            say(sentence)
    if not config.is_demo:
        model = "the model's" if is_known else "whether OpenClaw knows the model, its"
        say(f"Not checked: {model} key, endpoint and thinking level, and the judge. `{_doctor(config)}` does.")
    if is_local and config.isolation is Isolation.PRIVATE and (warning := slots_warning(prepared.slots)):
        say(warning)
    trials = [attempt.trial for attempt in prepared.attempts]
    expected_s = prepared.expected_s
    longest = makespan_s([trial.timeout_s for trial in trials], slots=prepared.slots)
    likely: float | None = None
    if expected_s and trials:
        likely = makespan_s([expected_s[trial.key.task_id] for trial in trials], slots=prepared.slots)
    costs = prepared.expected_usd
    cost_usd = round(sum(costs[trial.key.task_id] for trial in trials), 4) if costs else None
    judging = judging_forecast(prepared.config, prepared.attempts)
    if as_json:
        rows = [
            {
                "task_id": trial.key.task_id,
                "repetition": trial.key.repetition,
                "timeout_s": trial.timeout_s,
                "expected_s": expected_s.get(trial.key.task_id),
            }
            for trial in trials
        ]
        print_result(
            json.dumps(
                {
                    "model": config.model,
                    "trials": rows,
                    "slots": prepared.slots,
                    "worst_case_s": longest,
                    "expected_s": likely,
                    "expected_usd": cost_usd,
                    **({"judging": asdict(judging)} if judging is not None else {}),
                    **({"reused": len(prepared.reused), "run_anew": prepared.run_anew} if config.reuse else {}),
                    **({"user_messages": prepared.user_messages} if prepared.user_messages else {}),
                }
            )
        )
        return

    draw = partial(
        print_plan,
        trials=trials,
        concurrency=config.concurrency,
        worst_case_s=longest,
        expected_s=expected_s,
        expected_run_s=likely,
        expected_usd=cost_usd,
        user_messages=prepared.user_messages,
        judging="" if judging is None else judging_sentence(judging),
    )
    print_result(drawn(draw))


def judging_sentence(judging: JudgingForecast) -> str:
    """Say what judging will use, and of which judges that is not known."""
    what = f"Judging {many(judging.trials, 'trial')}"
    if judging.tokens is None:
        return (
            f"{what} comes on top; its cost is unknown, since no earlier run was judged by {_named(judging.unknown)}."
        )
    cost = "" if judging.cost_usd is None else f"about {price(judging.cost_usd)} and "
    without = f", without {_named(judging.unknown)}, of whom no earlier run tells" if judging.unknown else ""
    unpriced = [one for one in judging.unpriced if one not in judging.unknown]
    unknown = f" The price of {_named(unpriced)} is unknown." if unpriced else ""
    return f"{what} takes {cost}about {amount(judging.tokens)} tokens, going by earlier runs{without}.{unknown}"


def _named(models: Sequence[str]) -> str:
    return " and ".join(plain(one) for one in models)
