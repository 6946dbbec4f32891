"""The options of the user's model of a command as a config."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from pinchbench.config.user_model import UserModelConfig
from pinchbench.errors import ConfigError


def take_user(options: dict[str, Any]) -> UserModelConfig | None:
    """Remove the options of the user's model and return them as a config; None if no model is named."""
    model = options.pop("user_model")
    given = {name: value for name in ("base_url", "api_key_env") if (value := options.pop(f"user_{name}")) is not None}
    if model is not None:
        return UserModelConfig(model=model, **given)
    context = click.get_current_context()
    for name in ("user_base_url", "user_api_key_env"):
        # one from the environment only applies to a command that names a model
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise ConfigError(f"--{name.replace('_', '-')} goes with --user-model, which names the model.")
    return None
