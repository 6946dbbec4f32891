"""The settings file `pinchbench.yaml`: defaults of a run, and named endpoints for its models."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pinchbench.cli.options import SettingsCommand
from pinchbench.cli.output import say
from pinchbench.config.settings import SETTINGS, Kind
from pinchbench.errors import ConfigError
from pinchbench.files.user_data import config_dir

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.config.asked_models import JudgeConfig, UserModelConfig
    from pinchbench.config.served import Endpoint
    from pinchbench.experiment.file_reader import FileReader
    from pinchbench.suite.yaml_nodes import YamlNode

NAME = "pinchbench.yaml"
FOLDER_VARIABLE = "PINCHBENCH_CONFIG"  # another folder than the user's config folder
KEYS = ("run", "endpoints")
# What a file that may have come with somebody else's folder must not set: which key is sent, where keys, variables or
# results are sent, which program is run, and less protection than a run has without it.
OWN_FILE_ONLY = (
    "api-key-env", "base-url", "judge-api-key-env", "judge-base-url", "pass-env", "otlp", "openclaw", "isolation",
    "sandbox", "sandbox-allow",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingsFile:
    """What the settings files say: the values of options by their parameters' names, and the endpoints by name."""

    run: Mapping[str, object] = field(default_factory=dict)
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)


def read_settings() -> SettingsFile:
    """Read the file of the user's config folder and that of the current folder, which wins. Blocks.

    Raises ConfigError, with every problem and its line.
    """
    chosen = os.environ.get(FOLDER_VARIABLE)
    places = (Path(chosen) if chosen else config_dir(), Path())
    found = [_read(path) for path in dict.fromkeys(place / NAME for place in places) if path.is_file()]
    own, here = (place / NAME for place in places)
    if here.is_file() and not (own.is_file() and here.samefile(own)):
        _refuse_trusted_settings(here, found[-1], own=own)
    run: dict[str, object] = {}
    endpoints: dict[str, Endpoint] = {}
    for one in found:
        run |= one.run
        endpoints |= one.endpoints
    return SettingsFile(run=run, endpoints=endpoints)


def _refuse_trusted_settings(path: Path, settings: SettingsFile, *, own: Path) -> None:
    """Raise ConfigError if a file that may have come with somebody else's folder sets what only the user may set."""
    refused = [f"`{name}`" for name in OWN_FILE_ONLY if name.replace("-", "_") in settings.run]
    refused += [
        f"the `api-key-env` of {name}" for name, one in settings.endpoints.items() if one.api_key_env is not None
    ]
    if refused:
        raise ConfigError(
            f"{path}: {', '.join(refused)}: only {own} or an option may set this, since the file may have come"
            " with the folder."
        )


def _read(path: Path) -> SettingsFile:
    from pinchbench.experiment.file_reader import FileReader

    reader = FileReader(path)
    root = reader.root()
    fields = {} if root is None or root.fields is None else root.fields
    reader.check_keys(fields, KEYS, of="this file")
    endpoints = reader.endpoints(fields.get("endpoints"))
    run = _run(reader, fields["run"]) if "run" in fields else {}
    if reader.problems:
        raise ConfigError("\n".join(f"{path}, line {line}: {reason}." for line, reason in sorted(reader.problems)))
    return SettingsFile(run=run, endpoints=endpoints)


def _run(reader: FileReader, node: YamlNode) -> dict[str, object]:
    if node.fields is None:
        reader.problem(node, "`run` holds options of `run` by their names without dashes in front")
        return {}
    known = {name: one for name, one in SETTINGS.items() if "run" in one.commands}
    reader.check_keys(node.fields, tuple(known), of="a run")
    found: dict[str, object] = {}
    for key, child in node.fields.items():
        if (setting := known.get(key)) is None:
            continue
        is_file = setting.kind in (Kind.FILES, Kind.OBJECT)
        value = reader.value(replace(setting, kind=Kind.PATH) if is_file else setting, child)
        if setting.kind is Kind.FLAG:
            value = child.value
        elif key in ("model", "suite"):
            value = [value]
        elif isinstance(value, dict):
            value = [f"{name}={text}" for name, text in value.items()]
        if value is not None:
            found["as_json" if key == "json" else key.replace("-", "_")] = value
    return found


class WithDefaults(SettingsCommand):
    """A command whose options have the settings file's values where neither an option nor a variable gives one."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> click.Context:  # noqa: ANN401
        """Read the settings file for the defaults."""
        if not extra.get("resilient_parsing") and (defaults := read_settings().run):
            several = {one.name: getattr(one, "multiple", False) for one in self.params}
            extra["default_map"] = {
                name: value[0] if isinstance(value, list) and not several[name] else value
                for name, value in defaults.items()
                if name in several
            }
            say(f"Defaults of {NAME}: {', '.join(extra['default_map'])}.")
        return super().make_context(info_name, args, *rest, **extra)


def model_settings(options: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Return the options of a run with those of the model's endpoint, if it is one of the settings file's."""
    stated = {name: value for name, value in options.items() if name != "api" or value is not None}
    if options["base_url"] is not None:
        return stated
    from pinchbench.config.served import run_at

    at = run_at(read_settings().endpoints, model)
    return {**stated, **{name: value for name, value in at.items() if options.get(name) is None}}


def take_judge(options: dict[str, Any]) -> JudgeConfig | None:
    """Remove the judges' options from a command's and return them as a config; None if no judge is named."""
    from pinchbench.config.asked_models import JudgeConfig, several_judges  # help does not wait for them
    from pinchbench.config.served import chat_at

    models = options.pop("judge")
    base_url, key = options.pop("judge_base_url"), options.pop("judge_api_key_env")
    cache = not options.pop("no_judge_cache")
    votes = options.pop("judge_votes")
    given = {} if votes is None else {"votes": votes}
    if models:
        endpoints = read_settings().endpoints
        places = [chat_at(endpoints, model, option="--judge") for model in models]
        if base_url is not None:
            if len(models) > 1:
                raise ConfigError(
                    "--judge-base-url is for one judge; declare the endpoints of several in pinchbench.yaml, and write"
                    " --judge ENDPOINT/MODEL for each."
                )
            places = [{"model": models[0], "base_url": base_url, "api_key_env": key}]
        elif key is not None:
            raise ConfigError("--judge-api-key-env goes with --judge-base-url, which names the judge's endpoint.")
        return several_judges([JudgeConfig(cache=cache, **given, **at) for at in places])
    _refuse_alone(("no_judge_cache", "judge_votes", "judge_base_url", "judge_api_key_env"))
    return None


def _refuse_alone(names: Sequence[str]) -> None:
    context = click.get_current_context()
    for name in names:
        # one from the environment only applies to a command that names a judge
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise ConfigError(f"--{name.replace('_', '-')} goes with --judge, which names the judge's model.")


def take_user(options: dict[str, Any]) -> UserModelConfig | None:
    """Remove the option of the user's model and return it as a config; None if no model is named."""
    from pinchbench.config.asked_models import UserModelConfig
    from pinchbench.config.served import chat_at

    model = options.pop("user_model")
    if model is None:
        return None
    return UserModelConfig(**chat_at(read_settings().endpoints, model, option="--user-model"))
