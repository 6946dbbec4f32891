"""RunConfig: everything that was asked of a run, checked once, immutable."""

from __future__ import annotations

import math
from collections.abc import Mapping  # noqa: TC003 - msgspec reads the annotations of run.json's config
from dataclasses import dataclass, field
from pathlib import Path

from pinchbench.config.additions import check_settings, check_variables
from pinchbench.config.judge import JudgeConfig  # noqa: TC001 - as above
from pinchbench.config.option_values import absolute_path, check_key, check_model, check_range, check_text, check_url
from pinchbench.config.replay import ReplaySettings  # noqa: TC001 - as above
from pinchbench.config.user_model import UserModelConfig  # noqa: TC001 - as above
from pinchbench.defaults import (
    DEFAULT_MAX_DISK,
    DEFAULT_MAX_MEMORY,
    DEFAULT_MAX_PROCESSES,
    DEFAULT_OUTPUT_DIR,
    DEFAULT_PASS_THRESHOLD,
    DEFAULT_RUN_ROOT,
    DEMO_MODELS,
    LEAST_MAX_DISK,
    LEAST_MAX_MEMORY,
    LEAST_MAX_PROCESSES,
    MAX_CONCURRENCY,
    MAX_INFRA_RETRIES,
    MAX_PROBES,
    MAX_REQUESTS,
    MAX_RETRY_DELAY_S,
    MAX_RUNS,
    MAX_SEED,
    MAX_TIMEOUT_MULTIPLIER,
    THINKING_LEVELS,
    Isolation,
    Network,
    Sandbox,
    SuiteFormat,
)
from pinchbench.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class RunConfig:
    """What to run and where.

    Attributes:
        model: given to OpenClaw as it is, such as `anthropic/claude-sonnet-4-6`.
        suite: `all`, `core`, `hard`, `automated-only`, a category, task ids; commas mix. `short:N`: N tasks, chosen by
            the runs in `output_dir`. `NAME` or `NAME:…`: all tasks of the suite that was added by that name, or these.
            Several of these, joined by `;`, are several suites.
        tasks_dir: the suite's folder; None for the bundled one. All paths become absolute, `~` included.
        suite_format: the format of its tasks; None to detect it from the files.
        mean_across_suites: whether the result of several suites has a mean over all their tasks beside that of each.
        form: the seed of a fresh form of the tasks, which the suite makes, 0 to 2**32 - 1; None for the public tasks.
        output_dir: where the result goes; made when missing.
        run_root: where workspaces and private homes go, in a private folder for each run; made when missing.
        upload: whether a finished run may be offered to the public leaderboard.
        upload_notes: whether what graders wrote may go there too, not numbers alone.
        timeout_multiplier: scales every task's limit; above 0, at most 100.
        concurrency: slots, 1 to 1024; at most 64 of them on one machine.
        runs: repetitions of each task, 1 to 1000; None for as many as each task states.
        thinking: OpenClaw's thinking level, None for its default.
        base_url: an OpenAI-compatible endpoint for the model's provider, None for the provider OpenClaw knows.
        api_key_env: the name (never the value) of the environment variable that holds the endpoint's key.
        accept_unknown_model: run a model that OpenClaw's catalogue does not list.
        price_in: what a million tokens sent to the model of `base_url` cost in USD; None: unknown. With `price_out`.
        price_out: what a million tokens of its answers cost.
        pass_env: names of environment variables that the agents get beside those that every program and the model need.
        skills: a folder of skills, each a folder with a SKILL.md, that the agents have beside OpenClaw's own.
        workspace_files: files and folders that each trial's workspace holds beside the task's, by their places in it;
            `.` is the workspace itself, which gets the content of a folder.
        openclaw_config: settings that are merged into the private openclaw.json; see `additions.OWNED_SETTINGS`.
        env: environment variables that the agents get, by name; no keys, which are for `pass_env`.
        isolation: an OpenClaw home for each trial, one private gateway for all, or the user's own OpenClaw; `AUTO`
        takes one
            of the first two.
        openclaw: a path or a release; None for the one on PATH, else the newest managed install.
        skip_broken: leave broken task files out instead of stopping.
        verbose: the agents' output is followed as it comes.
        judge: who judges; None leaves what needs a judge ungraded.
        user: which model plays simulated users; None: tasks that have one can't be run, but by the built-in models.
        fail_fast: pause the run, and end it if that does not help, when trials fail alike for reasons that say nothing
            about the model: the sanity task, the first ones, or many in a row.
        pass_threshold: the score from which a trial counts as passed, above 0, at most 1.
        infra_retries: how many times a trial is retried after an infrastructure failure, 0 to 20.
        retry_timeouts: whether a trial that timed out is retried as well.
        retry_timeouts_alone: whether a trial that timed out while the machine was busy is retried once without others.
        retry_delay_s: about how long the first retry waits, in seconds, above 0, at most 3600; each further one waits
            twice as long. The pauses of a run whose trials fail alike are measured by it too.
        max_cost: what the run may cost in USD, its judge and simulated users included, as far as prices are known; None
            for no limit.
        max_tokens: how many tokens the agents, their users and the judge may use; None for no limit.
        max_hours: how long the run may take this time; None for no limit.
        wire: whether requests to the model go through the wire, which records them, where that does not change them.
        max_requests: how many of them may be in flight at once, 1 to 1000; None for no limit. Needs the wire.
        wire_retries: how often the wire asks again, before the first byte of a reply, when the provider fails, 0 to 20.
        replay: the run whose recorded replies are served; None to ask the model.
        sandbox: what separates the processes of each trial from everything else; with private homes.
        network: what a sandboxed trial can connect to.
        sandbox_allow: paths that sandboxed trials see beside the system; `:rw` at the end of one makes it writable.
        max_memory: GiB of memory that the processes of a trial may use together, at least 2.
        max_processes: how many processes and threads a trial may have at once, at least 200.
        max_disk: GiB that a trial may write to its workspace and its home, at least 0.1.
        preflight: whether the endpoints of the model, the judge and the user's model are asked one question before
            anything is set up.
        probes: after how many ended trials the model is asked the question of all probes again, as at the start and the
            end, 1 to 1000; None for no probes.
        linger_s: how long an agent that has answered may take to exit, in seconds, before it is ended.
        seed: shuffles trials that are expected to take equally long, 0 to 2**32 - 1; None leaves them in the plan's
        order.

    Raises ConfigError, naming the option, when a value can't be used.
    """

    model: str
    suite: str = "all"
    tasks_dir: Path | None = None
    suite_format: SuiteFormat | None = None
    mean_across_suites: bool = False
    form: int | None = None
    output_dir: Path = DEFAULT_OUTPUT_DIR
    run_root: Path = DEFAULT_RUN_ROOT
    upload: bool = True
    upload_notes: bool = False
    timeout_multiplier: float = 1.0
    concurrency: int = 1
    runs: int | None = None
    thinking: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    price_in: float | None = None
    price_out: float | None = None
    pass_env: tuple[str, ...] = ()
    skills: Path | None = None
    workspace_files: Mapping[str, str] = field(default_factory=dict)
    openclaw_config: Mapping[str, object] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    accept_unknown_model: bool = False
    isolation: Isolation = Isolation.AUTO
    openclaw: str | None = None
    skip_broken: bool = False
    verbose: bool = False
    judge: JudgeConfig | None = None
    user: UserModelConfig | None = None
    fail_fast: bool = True
    pass_threshold: float = DEFAULT_PASS_THRESHOLD
    infra_retries: int = 2
    retry_timeouts: bool = False
    retry_timeouts_alone: bool = False
    retry_delay_s: float = 10.0
    max_cost: float | None = None
    max_tokens: int | None = None
    max_hours: float | None = None
    wire: bool = True
    max_requests: int | None = None
    wire_retries: int = 0
    replay: ReplaySettings | None = None
    sandbox: Sandbox = Sandbox.AUTO
    network: Network = Network.AUTO
    sandbox_allow: tuple[str, ...] = ()
    max_memory: float = DEFAULT_MAX_MEMORY
    max_processes: int = DEFAULT_MAX_PROCESSES
    max_disk: float = DEFAULT_MAX_DISK
    preflight: bool = True
    probes: int | None = None
    linger_s: float = 15.0
    seed: int | None = None

    def __post_init__(self) -> None:
        """Check every value and make the paths absolute."""
        for name in ("model", "suite", "thinking", "base_url", "api_key_env", "openclaw"):
            check_text(f"--{name.replace('_', '-')}", getattr(self, name))
        check_model("--model", self.model)
        if self.model.startswith("demo/") and self.model not in DEMO_MODELS:
            raise ConfigError(f"--model {self.model}: the built-in models are {' and '.join(DEMO_MODELS)}.")
        check_range("--concurrency", self.concurrency, 1, MAX_CONCURRENCY)
        if self.runs is not None:
            check_range("--runs", self.runs, 1, MAX_RUNS)
        if not math.isfinite(self.timeout_multiplier) or not 0 < self.timeout_multiplier <= MAX_TIMEOUT_MULTIPLIER:
            raise ConfigError(
                f"--timeout-multiplier {self.timeout_multiplier} is out of range; it is above 0"
                f" and at most {MAX_TIMEOUT_MULTIPLIER:g}."
            )
        if not 0 < self.pass_threshold <= 1:
            raise ConfigError(f"--pass-threshold {self.pass_threshold} is out of range; it is above 0 and at most 1.")
        self._check_limits()
        if self.thinking is not None and self.thinking not in THINKING_LEVELS:
            raise ConfigError(f"--thinking {self.thinking} is not a level; they are {', '.join(THINKING_LEVELS)}.")
        for name in ("tasks_dir", "output_dir", "run_root", "skills"):
            path: Path | None = getattr(self, name)
            if path is not None:
                object.__setattr__(self, name, absolute_path(path, option=f"--{name.replace('_', '-')}"))
        self._check_endpoint()
        self._check_additions()
        if self.is_demo and self.isolation is Isolation.SHARED:
            raise ConfigError(f"--model {self.model} never runs in your own OpenClaw; leave --isolation shared out.")

    def _check_additions(self) -> None:
        check_settings(self.openclaw_config)
        check_variables(self.env, model=self.model, passed=self.pass_env)
        files = {
            place: str(absolute_path(Path(source), option="--workspace-files"))
            for place, source in self.workspace_files.items()
        }
        object.__setattr__(self, "workspace_files", files)
        given = {"--skills": self.skills, "--openclaw-config": self.openclaw_config, "--env": self.env}
        if self.isolation is Isolation.SHARED and (options := [name for name, value in given.items() if value]):
            raise ConfigError(
                f"{options[0]} and --isolation shared don't go together: your own OpenClaw is never changed for a run."
            )
        if self.isolation is Isolation.GATEWAY and "plugins" in self.openclaw_config:
            raise ConfigError("--openclaw-config: plugins need --isolation private; a gateway leaves out most of them.")

    def _check_limits(self) -> None:
        for option, seed in (("--seed", self.seed), ("--form", self.form)):
            if seed is not None:
                check_range(option, seed, 0, MAX_SEED)
        check_range("--infra-retries", self.infra_retries, 0, MAX_INFRA_RETRIES)
        if not 0 < self.retry_delay_s <= MAX_RETRY_DELAY_S:
            raise ConfigError(f"retry_delay_s {self.retry_delay_s} is above 0 and at most {MAX_RETRY_DELAY_S:g}.")
        for option, value in (
            ("--max-cost", self.max_cost),
            ("--max-tokens", self.max_tokens),
            ("--max-hours", self.max_hours),
        ):
            if value is not None and not 0 < value < math.inf:
                raise ConfigError(f"{option} {value} is out of range; it is above 0.")
        for option, value, least in (
            ("--max-memory", self.max_memory, LEAST_MAX_MEMORY),
            ("--max-processes", self.max_processes, LEAST_MAX_PROCESSES),
            ("--max-disk", self.max_disk, LEAST_MAX_DISK),
        ):
            if not least <= value < math.inf:
                raise ConfigError(f"{option} {value} is out of range; it is at least {least:g}.")
        if self.probes is not None:
            check_range("--probes", self.probes, 1, MAX_PROBES)
        self._check_wire()
        self._check_prices()
        if self.max_cost is not None and self.base_url is not None and self.price_in is None:
            raise ConfigError(
                "--max-cost needs the prices of the endpoint, which are unknown: state them with --price-in and"
                " --price-out (USD per million tokens), or use --max-tokens."
            )

    def _check_wire(self) -> None:
        check_range("--wire-retries", self.wire_retries, 0, MAX_INFRA_RETRIES)
        if self.wire_retries and not self.wire:
            raise ConfigError("--wire-retries needs the wire, which --no-wire turns off.")
        if self.max_requests is not None:
            check_range("--max-requests", self.max_requests, 1, MAX_REQUESTS)
            if not self.wire:
                raise ConfigError("--max-requests needs the wire, which --no-wire turns off.")
        if self.replay is not None and (self.isolation is Isolation.SHARED or not self.wire):
            raise ConfigError("A replay needs the wire, and so a private home or gateway.")

    def _check_prices(self) -> None:
        prices = (self.price_in, self.price_out)
        if prices == (None, None):
            return
        if self.base_url is None:
            raise ConfigError(
                "--price-in and --price-out go with --base-url; OpenClaw knows the prices of other models."
            )
        for option, price in zip(("--price-in", "--price-out"), prices, strict=True):
            if price is None or not 0 <= price < math.inf:
                raise ConfigError(f"{option} is to be a price in USD per million tokens; state both prices.")
        if not any(prices):
            raise ConfigError("--price-in and --price-out are both 0: leave them out for an endpoint that is free.")

    def _check_endpoint(self) -> None:
        for name in self.pass_env:
            check_key("--pass-env", name)
        if self.base_url is None:
            if self.api_key_env is not None:
                raise ConfigError("--api-key-env goes with --base-url: it names the key of that endpoint.")
            return
        if self.is_demo:
            raise ConfigError(f"--base-url does not go with --model {self.model}, which brings its own endpoint.")
        if self.isolation is Isolation.SHARED:
            raise ConfigError(
                "--base-url and --isolation shared don't go together: your own OpenClaw config is never changed for it."
            )
        if "/" not in self.model.strip("/"):
            raise ConfigError(f"--base-url needs a model written provider/name, such as local/{self.model}.")
        check_url("--base-url", self.base_url, key_option="--api-key-env")
        if self.api_key_env is not None:
            check_key("--api-key-env", self.api_key_env)

    @property
    def is_demo(self) -> bool:
        """Whether the agents ask a built-in model."""
        return self.model in DEMO_MODELS

    @property
    def scripted_model(self) -> str | None:
        """The built-in model that plays in the run; None without, as in most replays of one."""
        if self.replay is None:
            return self.model if self.is_demo else None
        if not self.replay.asks_model or self.replay.base_url is not None:
            return None
        model = self.replay.model or self.model
        return model if model in DEMO_MODELS else None
