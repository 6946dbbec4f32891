"""JudgeConfig: who judges, and how."""

from __future__ import annotations

from dataclasses import dataclass

from pinchbench.config.chat import ChatConfig, of_provider
from pinchbench.config.option_values import check_key, check_model, check_range, check_text, check_url
from pinchbench.defaults import MAX_JUDGE_CONCURRENCY, MAX_VOTES, OPENCLAW_JUDGE
from pinchbench.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeConfig:
    """Who judges, and how.

    Attributes:
        model: a model of the endpoint; with a provider's prefix (`openai/`, `openrouter/`, `anthropic/`) and no
            `base_url`, that provider's; `openclaw:MODEL` asks an OpenClaw agent without tools.
        base_url: an OpenAI-compatible endpoint; None for the provider's own.
        api_key_env: the name (never the value) of the environment variable that holds the key; None for the
            provider's usual one, or for an endpoint without a key.
        votes: how often the judge is asked about each trial, 1 to 25; the median counts.
        concurrency: calls to the judge at once, 1 to 64.
        cache: whether answers to the very same question are taken from the cache.

    Raises ConfigError, naming the option, when a value can't be used.
    """

    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    votes: int = 1
    concurrency: int = 4
    cache: bool = True

    def __post_init__(self) -> None:
        """Check every value; fill in the endpoint and key of a known provider."""
        for option, value in (
            ("--judge", self.model),
            ("--judge-base-url", self.base_url),
            ("--judge-api-key-env", self.api_key_env),
        ):
            check_text(option, value)
        check_model("--judge", self.model_id)
        if self.model_id.startswith("demo/"):
            raise ConfigError(f"--judge {self.model}: the built-in models play tasks; they can't judge.")
        check_range("--judge-votes", self.votes, 1, MAX_VOTES)
        check_range("--judge-concurrency", self.concurrency, 1, MAX_JUDGE_CONCURRENCY)
        if self.base_url is None:
            self._take_provider()
        else:
            check_url("--judge-base-url", self.base_url, key_option="--judge-api-key-env")
        if self.is_openclaw and self.base_url is not None and "/" not in self.model_id.strip("/"):
            raise ConfigError(f"--judge-base-url needs a judge written openclaw:provider/name, not {self.model}.")
        if self.api_key_env is not None:
            check_key("--judge-api-key-env", self.api_key_env)

    def _take_provider(self) -> None:
        if self.is_openclaw:
            if self.api_key_env is not None:
                raise ConfigError("--judge-api-key-env goes with --judge-base-url; OpenClaw knows its own keys.")
            return
        base_url, model, key = of_provider("--judge", self.model, self.api_key_env, others=(OPENCLAW_JUDGE,))
        object.__setattr__(self, "base_url", base_url)
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "api_key_env", key)

    @property
    def is_openclaw(self) -> bool:
        """Whether an OpenClaw agent judges."""
        return self.model.startswith(OPENCLAW_JUDGE)

    @property
    def model_id(self) -> str:
        """The model's name without `openclaw:`."""
        return self.model.removeprefix(OPENCLAW_JUDGE)

    @property
    def endpoint(self) -> ChatConfig:
        """Where it is asked, if no OpenClaw agent judges; several votes of one question should differ."""
        return ChatConfig(
            whose="the judge",
            option="--judge",
            prefix="--judge",
            model=self.model,
            base_url=self.base_url or "",
            api_key_env=self.api_key_env,
            is_steady=self.votes == 1,
        )
