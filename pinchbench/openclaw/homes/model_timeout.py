"""Raises OpenClaw's limit on a silent model call to the time limit of a trial (pure)."""

from __future__ import annotations

import math
import re

from pinchbench.openclaw.homes.credentials import Json, merge

# By default, OpenClaw ends a call that is silent for 120 s (300 s for self-hosted models) and retries it with another
# prompt. Its limits on whole turns are set higher than ours as well (`command.turn_argv`).
MARGIN_S = 60
LONGEST_S = 172_800.0  # OpenClaw's own limit of a turn, for trials without a known time limit
# OpenClaw's error for an entry without an address if its provider is not built in (measured on 2026.6.5 and 2026.9.6)
NO_OVERLAY = "provider overlays without"


def seconds(trial_s: float) -> int:
    """Return the limit of a model call in seconds, for trials of at most `trial_s` seconds."""
    return math.ceil(min(trial_s, LONGEST_S)) + MARGIN_S


def with_model_timeout(config: Json, model: str, trial_s: float) -> Json:
    """Return the config with a limit that lets each model call take as long as a trial.

    For a provider that is built into OpenClaw, the entry only overrides this setting. In the requests to the model,
    only a header with the limit changes (measured for Anthropic, OpenAI and Google on 2026.6.5 and 2026.9.6, for
    OpenRouter on 2026.6.5). For other providers, OpenClaw also requires the address (`NO_OVERLAY`).
    """
    limit_s = seconds(trial_s)
    config = merge(config, {"agents": {"defaults": {"timeoutSeconds": limit_s}}})
    provider, separator, _ = model.partition("/")
    if not separator:
        return config
    models = config.get("models")
    known = models.get("providers") if isinstance(models, dict) else None
    name = _as_known(provider, known if isinstance(known, dict) else {})
    config = merge({"models": {"mode": "merge"}}, config)
    return merge(config, {"models": {"providers": {name: {"timeoutSeconds": limit_s}}}})


def without_overlay(config: Json) -> Json:
    """Return the config without provider entries that contain only the limit, for an OpenClaw that rejects them."""
    models = config.get("models")
    known = models.get("providers") if isinstance(models, dict) else None
    if not isinstance(models, dict) or not isinstance(known, dict):
        return config
    kept = {
        name: entry
        for name, entry in known.items()
        if not isinstance(entry, dict) or entry.keys() != {"timeoutSeconds"}
    }
    return {**config, "models": {**models, "providers": kept}}


def _as_known(provider: str, known: Json) -> str:
    """Return the name of a provider's existing entry, else `provider`.

    OpenClaw treats `OpenAI` as `openai` and `z.ai` as `zai`, and uses only one entry.
    """
    if provider in known:
        return provider
    return next((name for name in known if _plain(name) == _plain(provider)), provider)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
