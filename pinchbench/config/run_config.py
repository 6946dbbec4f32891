"""RunConfig: everything that was asked of a run, and what it may add to OpenClaw, checked once, immutable."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from pinchbench.config.asked_models import (
    JudgeConfig,  # noqa: TC001 - msgspec reads the annotations
    UserModelConfig,  # noqa: TC001 - msgspec reads the annotations
)
from pinchbench.config.served import ServedModel
from pinchbench.config.settings import (
    DEFAULTS,
    OF_A_RUN,
    absolute_path,
    check_fields,
    check_key,
    check_model,
    check_text,
    check_url,
)
from pinchbench.defaults import (
    COMPLETIONS,
    DEMO_MODELS,
    OLLAMA,
    DivergencePolicy,
    Isolation,
    Network,
    Sandbox,
    SuiteFormat,
)
from pinchbench.errors import ConfigError

_MODEL = "the model under test and its provider are stated with --model, --base-url and their options"
_ALONE = "nothing but a trial may start turns or carry content from one trial to another"
_KEYS = "keys and logins are taken from the environment and from your own OpenClaw; name a variable with --pass-env"
# By the path of a setting in openclaw.json, why a run sets it itself.
OWNED_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "$include": "the settings are merged as they are, without other files",
        "agents.defaults.heartbeat": _ALONE,
        "agents.defaults.maxConcurrent": "--concurrency states how many turns run at once",
        "agents.defaults.model": _MODEL,
        "agents.defaults.sandbox": "--sandbox states what separates a trial from the rest",
        "agents.defaults.skipBootstrap": "a workspace holds the task's files and those of --workspace-files",
        "agents.defaults.thinkingDefault": "--thinking states the level",
        "agents.defaults.timeoutSeconds": "a task's limit is the limit of its turns; --timeout-multiplier scales it",
        "agents.defaults.workspace": "each trial has a workspace of its own",
        "agents.entries": "a run adds its own agents",
        "agents.list": "a run adds its own agents",
        "auth": _KEYS,
        "bindings": "a run has no channels",
        "channels": "a run has no channels",
        "cron": _ALONE,
        "diagnostics": "only a task's limit may end a turn",
        "discovery": "trials are announced to nobody",
        "env": "variables are stated with --env",
        "gateway": "no trial is reached from outside",
        "logging": "a run keeps OpenClaw's log with the evidence",
        "memory.search.rememberAcrossConversations": _ALONE,
        "models": (
            "requests are recorded, priced and kept from other servers by a run's own entry: describe the model under"
            " `endpoints` in pinchbench.yaml, with its api, context window, prices, compat, params and so on"
        ),
        "secrets": _KEYS,
        "session.maintenance": "a run keeps the sessions of its trials",
        "skills.workshop.autonomous": _ALONE,
        "tools.exec.notifyOnExit": _ALONE,
        "tools.sessions": _ALONE,
        "update": "--openclaw states the release",
    }
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Variables that say where OpenClaw's state, programs and certificates are, how the model is reached, and whose machine
# it is. A run sets them, or its sandbox has its own.
_OWNED_VARIABLE = re.compile(
    r"(?:OPENCLAW|PINCHBENCH|LD|DYLD)_.*|NODE_(?!ENV$).*|PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|TZ|TZDIR|NO_COLOR"
    r"|(?:https?|all|no)_proxy|SSL_CERT_\w+|\w+_CA_BUNDLE|GIT_SSL_CAINFO|PIP_CERT",
    re.IGNORECASE,
)


def check_settings(patch: Mapping[str, object]) -> None:
    """Check settings that are to be merged into a private openclaw.json.

    Raises ConfigError, naming the setting, for one that a run sets itself.
    """
    for path, why in OWNED_SETTINGS.items():
        *above, name = path.split(".")
        section: object = patch
        for part in above:
            section = section.get(part, {}) if isinstance(section, Mapping) else None
        if not isinstance(section, Mapping):
            raise ConfigError(f"--openclaw-config: {'.'.join(above)} must hold settings by name.")
        if name in section:
            raise ConfigError(f"--openclaw-config: {path} can't be set: {why}.")


def check_variables(env: Mapping[str, str], *, model: str, passed: tuple[str, ...]) -> None:
    """Check variables of an agent's environment; `passed` are the names that it gets from the user's.

    Raises ConfigError, naming the variable, for one that a run sets itself.
    """
    stem = re.sub(r"[^A-Za-z0-9]", "_", model.partition("/")[0]).upper()
    for name, value in env.items():
        if not _VARIABLE.fullmatch(name):
            raise ConfigError(f"--env {name!r} is not the name of a variable: write NAME=VALUE.")
        if "\0" in value:
            raise ConfigError(f"--env {name}: its value holds a NUL character.")
        if _OWNED_VARIABLE.fullmatch(name):
            raise ConfigError(f"--env {name} can't be set: a run sets it, or its sandbox has its own.")
        if name.upper().startswith(f"{stem}_"):
            raise ConfigError(f"--env {name} can't be set: {_MODEL}.")
        if name in passed:
            raise ConfigError(f"--env {name} is named by --pass-env too: leave one of them out.")


SEED_BYTES = 4


def drawn_form(form: int | None, text: str | None) -> int | None:
    """Return the seed of a form: the one that was chosen, or the one that is drawn from a text (pure).

    That is the number of the first four bytes, the highest first, of the SHA-256 of the text's UTF-8. Raises
    ConfigError for an empty text, and for a seed that is chosen next to a text from which another is drawn.
    """
    if text is None:
        return form
    check_text("--form-from", text)
    if not text.strip():
        raise ConfigError("--form-from is empty: give it the public text from which the form is to be drawn.")
    drawn = int.from_bytes(hashlib.sha256(text.encode()).digest()[:SEED_BYTES], "big")
    if form not in (None, drawn):
        raise ConfigError(f"--form and --form-from don't go together: the text stands for form {drawn}.")
    return drawn


MAX_RETRY_DELAY_S = 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplaySettings:
    """The run whose recorded replies are served instead of asking the model, and who answers otherwise.

    Attributes:
        folder: the folder of the recorded run.
        on_divergence: what happens to a request that was not recorded.
        fork_at: the number of the recorded request from which on a model answers, from 1; None without.
        fork_turn: the number of the turn from which on a model answers, from 1; None without.
        model: the model that answers then; None for that of the run.
        base_url: its OpenAI-compatible endpoint; None for that of the run.
        api_key_env: the name (never the value) of the environment variable that holds the endpoint's key.

    Raises ConfigError, naming the option, when a value can't be used.
    """

    folder: str
    on_divergence: DivergencePolicy = DivergencePolicy.STOP
    fork_at: int | None = None
    fork_turn: int | None = None
    model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None

    def __post_init__(self) -> None:
        """Check every value."""
        if self.fork_at is not None and self.fork_turn is not None:
            raise ConfigError("--fork-at and --fork-turn don't go together: name a request or a turn.")
        if self.model is not None:
            check_model("--model", self.model)
            if not self.asks_model:
                raise ConfigError("--model is asked from a fork on: add --fork-at or --fork-turn.")
            if self.base_url is None and self.model not in DEMO_MODELS:
                raise ConfigError(f"--model {self.model} needs --base-url: a replay asks OpenAI-compatible endpoints.")
        if self.base_url is not None:
            if not self.asks_model:
                raise ConfigError("--base-url is asked from a fork on: add --fork-at or --fork-turn.")
            check_url("--base-url", self.base_url, key_option="--api-key-env")
        if self.api_key_env is not None:
            check_key("--api-key-env", self.api_key_env)

    @property
    def asks_model(self) -> bool:
        """Whether a model may be asked at all."""
        return self.fork_at is not None or self.fork_turn is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunConfig:
    """What to run and where: the settings of `settings.py` by their names, which say what each means, and its range.

    Paths are made absolute, `~` included; None is the default that the setting's help names.

    Attributes:
        served: what OpenClaw has to know of the model at `base_url`.
        workspace_files: files and folders by their places in each workspace; `.` is the workspace itself, which gets
            the content of a folder.
        user: which model plays simulated users; without one, tasks that have one can't be run, but by built-in models.
        judge: who judges; None leaves what needs a judge ungraded.
        retry_delay_s: about how long the first retry waits, in seconds, above 0, at most 3600; each further one waits
            twice as long. The pauses of a run whose trials fail alike are measured by it too.
        replay: the run whose recorded replies are served; None to ask the model.
        linger_s: how long an agent that has answered may take to exit, in seconds, before it is ended.

    Raises ConfigError, naming the option, when a value can't be used.
    """

    model: str
    suite: str = DEFAULTS["suite"]
    tasks_dir: Path | None = None
    suite_format: SuiteFormat | None = None
    form: int | None = None
    form_from: str | None = None
    output_dir: Path = DEFAULTS["output-dir"]
    run_root: Path = DEFAULTS["run-root"]
    timeout_multiplier: float = DEFAULTS["timeout-multiplier"]
    concurrency: int = DEFAULTS["concurrency"]
    runs: int | None = None
    thinking: str | None = None
    base_url: str | None = None
    api: str = COMPLETIONS
    api_key_env: str | None = None
    served: ServedModel = ServedModel()
    price_in: float | None = None
    price_out: float | None = None
    pass_env: tuple[str, ...] = ()
    skills: Path | None = None
    workspace_files: Mapping[str, str] = field(default_factory=dict)
    openclaw_config: Mapping[str, object] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    accept_unknown_model: bool = False
    isolation: Isolation = Isolation.PRIVATE
    openclaw: str | None = None
    skip_broken: bool = False
    verbose: bool = False
    judge: JudgeConfig | None = None
    user: UserModelConfig | None = None
    fail_fast: bool = True
    exitfirst: bool = False
    pass_threshold: float = DEFAULTS["pass-threshold"]
    infra_retries: int = DEFAULTS["infra-retries"]
    retry_delay_s: float = 10.0
    max_cost: float | None = None
    max_tokens: int | None = None
    max_hours: float | None = None
    wire: bool = True
    max_requests: int | None = None
    replay: ReplaySettings | None = None
    sandbox: Sandbox = Sandbox.AUTO
    network: Network = Network.AUTO
    sandbox_allow: tuple[str, ...] = ()
    max_memory: float = DEFAULTS["max-memory"]
    max_processes: int = DEFAULTS["max-processes"]
    max_disk: float = DEFAULTS["max-disk"]
    preflight: bool = True
    linger_s: float = 15.0
    reuse: str | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        """Check every value and make the paths absolute."""
        for name in ("model", "suite", "thinking", "base_url", "api_key_env", "openclaw", "reuse"):
            check_text(f"--{name.replace('_', '-')}", getattr(self, name))
        object.__setattr__(self, "form", drawn_form(self.form, self.form_from))
        check_model("--model", self.model)
        if self.model.startswith("demo/") and self.model not in DEMO_MODELS:
            raise ConfigError(f"--model {self.model}: the built-in models are {' and '.join(DEMO_MODELS)}.")
        check_fields(self, *OF_A_RUN)
        self._check_limits()
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

    def _check_limits(self) -> None:
        if not 0 < self.retry_delay_s <= MAX_RETRY_DELAY_S:
            raise ConfigError(f"retry_delay_s {self.retry_delay_s} is above 0 and at most {MAX_RETRY_DELAY_S:g}.")
        self._check_wire()
        self._check_prices()
        if self.max_cost is not None and self.base_url is not None and self.price_in is None:
            raise ConfigError(
                "--max-cost needs the prices of the endpoint, which are unknown: state them with --price-in and"
                " --price-out (USD per million tokens), or use --max-tokens."
            )

    def _check_wire(self) -> None:
        if self.max_requests is not None and not self.wire:
            raise ConfigError("--max-requests needs the wire, which --no-wire turns off.")
        if self.replay is not None and (self.isolation is Isolation.SHARED or not self.wire):
            raise ConfigError("A replay needs the wire, and so --isolation private.")

    def _check_prices(self) -> None:
        prices = (self.price_in, self.price_out)
        if prices == (None, None):
            return
        if self.base_url is None:
            raise ConfigError(
                "--price-in and --price-out go with --base-url; OpenClaw knows the prices of other models."
            )
        for option, price in zip(("--price-in", "--price-out"), prices, strict=True):
            if price is None:
                raise ConfigError(f"{option} is to be a price in USD per million tokens; state both prices.")
        if not any(prices):
            raise ConfigError("--price-in and --price-out are both 0: leave them out for an endpoint that is free.")

    def _check_endpoint(self) -> None:
        for name in self.pass_env:
            check_key("--pass-env", name)
        if self.base_url is None:
            if self.api_key_env is not None:
                raise ConfigError("--api-key-env goes with --base-url: it names the key of that endpoint.")
            if self.api != COMPLETIONS:
                raise ConfigError("--api goes with --base-url: OpenClaw knows the protocols of other models.")
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
        if self.api == OLLAMA and self.base_url.rstrip("/").endswith("/v1"):
            root = self.base_url.rstrip("/").removesuffix("/v1")
            raise ConfigError(f"--base-url {self.base_url}: Ollama's own API is not below /v1; write {root}.")
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
