"""ChatConfig: an endpoint at which the runner itself asks a model, and the options that named it."""

from __future__ import annotations

import os
from dataclasses import dataclass

from pinchbench.defaults import JUDGE_PROVIDERS
from pinchbench.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatConfig:
    """An OpenAI-compatible endpoint, and who is asked there.

    Attributes:
        whose: who answers, for sentences: `the judge`.
        option: the option that names the model, `--judge`.
        prefix: how the options for its address and its key begin: `--judge` for `--judge-base-url`.
        model: the model, as the endpoint knows it.
        base_url: the endpoint.
        api_key_env: the name of the environment variable that holds its key; None for an endpoint without one.
        is_steady: whether a temperature of 0 is requested, because the same question should get the same answer.
    """

    whose: str
    option: str
    prefix: str
    model: str
    base_url: str
    api_key_env: str | None
    is_steady: bool = True


def of_provider(option: str, model: str, api_key_env: str | None, *, others: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the address, the model and the variable of the key for a model with a known provider's prefix.

    `others` are further prefixes that the option knows, for the sentence. Raises ConfigError if the provider is not
    known, or its key is not set.
    """
    provider, _, name = model.partition("/")
    known = [*(f"{one}/" for one in JUDGE_PROVIDERS), *others]
    if provider not in JUDGE_PROVIDERS or not name:
        prefix = option.removesuffix("-model")
        raise ConfigError(
            f"{option} {model} needs {prefix}-base-url, unless it begins with {', '.join(known[:-1])} or {known[-1]}."
        )
    base_url, usual_key = JUDGE_PROVIDERS[provider]
    if api_key_env is None and not os.environ.get(usual_key):
        raise ConfigError(f"{option} {provider}/{name} needs a key in {usual_key}; it is not set.")
    return base_url, name, api_key_env or usual_key
