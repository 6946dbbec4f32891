"""UserModelConfig: which model plays the user of tasks that have a simulated one."""

from __future__ import annotations

from dataclasses import dataclass

from pinchbench.config.chat import ChatConfig, of_provider
from pinchbench.config.option_values import check_key, check_model, check_text, check_url
from pinchbench.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class UserModelConfig:
    """Which model plays the user.

    Attributes:
        model: a model of the endpoint; with a provider's prefix (`openai/`, `openrouter/`, `anthropic/`) and no
            `base_url`, that provider's.
        base_url: an OpenAI-compatible endpoint; None for the provider's own.
        api_key_env: the name (never the value) of the environment variable that holds the key; None for the
            provider's usual one, or for an endpoint without a key.

    Raises ConfigError, naming the option, when a value can't be used.
    """

    model: str
    base_url: str | None = None
    api_key_env: str | None = None

    def __post_init__(self) -> None:
        """Check every value; fill in the endpoint and key of a known provider."""
        for option, value in (
            ("--user-model", self.model),
            ("--user-base-url", self.base_url),
            ("--user-api-key-env", self.api_key_env),
        ):
            check_text(option, value)
        check_model("--user-model", self.model)
        if self.model.startswith("demo/"):
            raise ConfigError(f"--user-model {self.model}: the built-in models play tasks; they can't play a user.")
        if self.base_url is None:
            base_url, model, key = of_provider("--user-model", self.model, self.api_key_env)
            object.__setattr__(self, "base_url", base_url)
            object.__setattr__(self, "model", model)
            object.__setattr__(self, "api_key_env", key)
        else:
            check_url("--user-base-url", self.base_url, key_option="--user-api-key-env")
        if self.api_key_env is not None:
            check_key("--user-api-key-env", self.api_key_env)

    @property
    def endpoint(self) -> ChatConfig:
        """Where it is asked."""
        return ChatConfig(
            whose="the user's model",
            option="--user-model",
            prefix="--user",
            model=self.model,
            base_url=self.base_url or "",
            api_key_env=self.api_key_env,
        )
