"""Options that several commands share, and the function that defines one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pinchbench import defaults
from pinchbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinchbench.config import JudgeConfig

FOLDER = click.Path(path_type=Path, file_okay=False)
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


def option(*names: str, **settings: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - click's own types
    """Define an option with an environment variable of its name: `--output-dir` is `PINCHBENCH_OUTPUT_DIR`."""
    long = next(name for name in names if name.startswith("--"))
    variable = "PINCHBENCH_" + long.removeprefix("--").replace("-", "_").upper()
    return click.option(*names, envvar=variable, show_envvar=True, **settings)


TASKS_DIR = option("--tasks-dir", type=FOLDER, help="The suite's folder (default: the bundled tasks).")

NO_PREFLIGHT = option(
    "--no-preflight", is_flag=True, help="Do not ask the model's and the judge's endpoints one question first."
)
NO_REPORT = option("--no-report", is_flag=True, help="Write no report.html at the end.")

WITH_NOTES = option("--with-notes", is_flag=True, help="Send the graders' notes to the leaderboard too, as far as they are"
                    " plain prose; without it, numbers alone.")  # fmt: skip

_JUDGE_OPTIONS = (
    option("--judge", metavar="MODEL", help="Who grades what a check can't: openai/MODEL, openrouter/MODEL,"
           " anthropic/MODEL, a model of --judge-base-url, or openclaw:MODEL (an agent without tools)."),
    option("--judge-base-url", metavar="URL", help="An OpenAI-compatible endpoint for the judge."),
    option("--judge-api-key-env", metavar="NAME", help="The environment variable that holds the judge's key."),
    option("--judge-votes", type=click.IntRange(1, defaults.MAX_VOTES), help="How often the judge is asked about each"
           " trial; the median counts.  [default: 1]"),
    option("--judge-concurrency", type=click.IntRange(1, defaults.MAX_JUDGE_CONCURRENCY),
            help="Calls to the judge at once.  [default: 4]"),
    option("--no-judge-cache", is_flag=True, help="Ask the judge even what it has answered before."),
)  # fmt: skip


def judge_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the judge's options to a command; `take_judge` reads them."""
    for one in reversed(_JUDGE_OPTIONS):
        command = one(command)
    return command


def take_judge(options: dict[str, Any]) -> JudgeConfig | None:
    """Remove the judge's options from a command's and return them as a config; None if no judge is requested."""
    model = options.pop("judge")
    cache = not options.pop("no_judge_cache")
    names = ("base_url", "api_key_env", "votes", "concurrency")
    given = {name: value for name in names if (value := options.pop(f"judge_{name}")) is not None}
    if model is not None:
        from pinchbench.config import JudgeConfig  # noqa: PLC0415 - `--help` must not wait for it

        return JudgeConfig(model=model, cache=cache, **given)
    context = click.get_current_context()
    for name in ("no_judge_cache", *(f"judge_{name}" for name in names)):
        # one from the environment only applies to a command that names a judge
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise ConfigError(f"--{name.replace('_', '-')} goes with --judge, which names the judge's model.")
    return None
