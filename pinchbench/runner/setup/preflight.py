"""Whether the endpoints of a run would answer and OpenClaw knows its models, found out before anything is set up."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.config.asked_models import AskedModel, JudgeConfig
from pinchbench.config.served import NO_ENDPOINTS, Endpoint
from pinchbench.defaults import COMPLETIONS, JUDGE_PROVIDERS, OLLAMA, Isolation, ProtocolName
from pinchbench.errors import ConfigError, EndpointError, OpenClawError
from pinchbench.llm.preflight.question import Target
from pinchbench.model.finding import Finding, Level
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.find import locate_openclaw
from pinchbench.openclaw.homes.credentials import UserState, places_of_key, read_user_state
from pinchbench.openclaw.model_catalogue import KEYLESS, Catalogue, names_provider, read_catalogue
from pinchbench.runner.setup.this_machine import Machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pinchbench.config.run_config import RunConfig

# Servers with these protocols say in ways of their own what OpenClaw has to know of a model.
TELLING = (COMPLETIONS, ProtocolName.OPENAI_RESPONSES, OLLAMA)
SKIP = "--no-preflight starts without asking."


def check_model(config: RunConfig, catalogue: Catalogue, user: UserState) -> Target | None:
    """Return what to ask of the model under test; None where it cannot be asked directly.

    Raises EndpointError when its provider needs a key and there is none.
    """
    if config.is_demo or (config.isolation is Isolation.SHARED and config.base_url is None):
        return None
    if config.base_url is not None:
        if config.api not in set(ProtocolName):
            return None
        return Target(
            subject="model",
            model=config.model.partition("/")[2],
            base_url=config.base_url.rstrip("/"),
            key=_value(config.api_key_env),
            api=ProtocolName(config.api),
            key_name=config.api_key_env or "",
            url_option="--base-url",
            key_option="--api-key-env",
            is_agents=True,
        )
    return _of_provider(config.model, catalogue, user)


def _of_provider(model: str, catalogue: Catalogue, user: UserState) -> Target | None:
    provider, _, name = model.partition("/")
    known = catalogue.providers.get(provider)
    if known is None:
        return None
    names = catalogue.key_names(provider)
    is_direct = bool(known.base_url) and known.api in set(ProtocolName) and provider not in KEYLESS
    # others may log in by a cloud's own credentials, of which nothing is known here
    if is_direct or provider in JUDGE_PROVIDERS:
        accounts = (provider, known.login_as) if known.login_as else (provider,)
        if not any(places_of_key(one, names, env=os.environ, user=user) for one in accounts):
            raise EndpointError(f"--model {model}: no key was found. Set {names[-1]}, or log in with OpenClaw. {SKIP}")
    key_name = next((one for one in names if _value(one)), None)
    if not is_direct or key_name is None or key_name.endswith("OAUTH_TOKEN") or has_own_address(user, provider):
        return None
    return Target(
        subject="model",
        model=name,
        base_url=known.base_url.rstrip("/"),
        api=ProtocolName(known.api),
        key=_value(key_name),
        key_name=key_name,
        is_agents=True,
    )


def has_own_address(user: UserState, provider: str) -> bool:
    """Whether the user's OpenClaw asks the provider elsewhere, or in another way than its manifest says."""
    section: object = user.config
    for name in ("models", "providers", provider):
        section = section.get(name) if isinstance(section, dict) else None
    return isinstance(section, dict) and bool({"baseUrl", "api", "request"} & section.keys())


def target_of(asked: AskedModel | None) -> Target | None:
    """Return what to ask of a judge or of the user's model; None if there is none, or it has no URL."""
    if asked is None or asked.base_url is None:
        return None
    model = asked.model
    if isinstance(asked, JudgeConfig) and asked.is_openclaw:
        model = asked.model_id.partition("/")[2]
    return Target(
        subject=asked.whose.removeprefix("the "),
        model=model,
        base_url=asked.base_url.rstrip("/"),
        key=_value(asked.api_key_env),
        key_name=asked.api_key_env or "",
        model_option=asked.option,
        url_option=f"{asked.owner} base-url",
        key_option=f"{asked.owner} api-key-env",
    )


async def ask_endpoints(*targets: Target | None, tell: Callable[[str], None]) -> None:
    """Ask the targets at the same time, for at most about 3 s; a warning is shown.

    Raises EndpointError on the first answer with which no trial could succeed.
    """
    asked = [one for one in targets if one is not None]
    if not asked:
        return
    from pinchbench.llm.preflight.ask import ask_all  # noqa: PLC0415 - an HTTP client, which takes a tenth of a second

    for finding in await ask_all(asked):
        match finding.level:
            case Level.PROBLEM:
                raise EndpointError(f"{finding.said} {finding.do} {SKIP}")
            case Level.WARNING:
                tell(f"{finding.said} {finding.do}")
            case Level.OK | Level.NOTE:
                pass


async def ask_before_run(
    config: RunConfig,
    machine: Machine,
    others: Iterable[Target | None] = (),
    *,
    tell: Callable[[str], None],
    asks_model: bool = True,
) -> RunConfig:
    """Ask the model under test and other targets; return the options with what its own endpoint reports about it.

    Nobody is asked with `--no-preflight`. Raises EndpointError as `ask_endpoints`.
    """
    if not config.preflight:
        return config
    target = check_model(config, machine.catalogue, machine.user) if asks_model else None
    await ask_endpoints(target, *others, tell=tell)
    config, findings = await ask_served(config, target)
    for finding in findings:
        tell(f"{finding.said} {finding.do}".rstrip())
    return config


async def ask_served(config: RunConfig, target: Target | None) -> tuple[RunConfig, list[Finding]]:
    """Return the options with what the model's own endpoint reports about it, and what is used as a finding."""
    if target is None or config.base_url is None or config.api not in TELLING:
        return config, []
    from pinchbench.llm.preflight import ask  # noqa: PLC0415 - an HTTP client, as in `ask_all`

    answers = await ask.ask_about(target)
    served = config.served.completed(ask.read_answers(answers, target.model))
    return replace(config, served=served), [ask.said_of(config.model, served), *ask.of_ollama(target, answers)]


def _value(name: str | None) -> str:
    return os.environ.get(name, "").strip() if name else ""


def names_to_check(run: RunConfig | None, judge: JudgeConfig | None) -> dict[str, str]:
    """The model names that OpenClaw's catalogue has to know, by the option that names each.

    Models of an endpoint of the run's own are its to name; in the user's own OpenClaw (`--isolation shared`) names may
    stand for anything.
    """
    names: dict[str, str] = {}
    if run is not None and run.base_url is None and not run.is_demo and run.isolation is not Isolation.SHARED:
        names["--model"] = run.model
    if judge is not None and judge.is_openclaw and judge.base_url is None:
        names["--judge"] = judge.model_id
    return names


def refuse_early(config: RunConfig, endpoints: Mapping[str, Endpoint]) -> bool:
    """Refuse what this machine's OpenClaw is known not to run, without starting it or reading the suite. Blocks.

    Return whether OpenClaw was found. Raises ConfigError, and OpenClawError if `--openclaw` names none.
    """
    catalogue, openclaw = Catalogue(), OpenClaw(program=Path(), version="")
    try:
        openclaw = locate_openclaw(config.openclaw)
        catalogue = read_catalogue(openclaw.program)
    except OpenClawError:
        if config.openclaw is not None:
            raise
    user = UserState() if config.is_demo else read_user_state(os.environ)
    machine = Machine(openclaw=openclaw, catalogue=catalogue, user=user)
    for judge in config.judge.each if config.judge is not None else (None,):
        names = names_to_check(config, judge)
        check_model_names(names, machine, accepts_unknown=config.accept_unknown_model, endpoints=endpoints)
    if config.base_url is None:
        check_thinking(config, machine)
    return openclaw.program != Path()


def check_model_names(
    names: Mapping[str, str],
    machine: Machine,
    *,
    accepts_unknown: bool = False,
    endpoints: Mapping[str, Endpoint] = NO_ENDPOINTS,
) -> None:
    """Raise ConfigError for the first of these names that this OpenClaw does not know.

    Providers in the user's config name their models themselves. `accepts_unknown` accepts what the catalogue does not
    list, but no name without a provider: OpenClaw would choose one. `endpoints` may be meant.
    """
    to_look_up = {option: name for option, name in names.items() if not (accepts_unknown and names_provider(name))}
    if not to_look_up:
        return
    models = machine.user.config.get("models")
    providers = models.get("providers") if isinstance(models, dict) else None
    own = frozenset(providers) if isinstance(providers, dict) else frozenset()
    for option, name in to_look_up.items():
        if complaint := machine.catalogue.complaint(name, own=own, endpoints=endpoints):
            way_out = ""
            if names_provider(name):
                used = machine.openclaw.version or str(machine.openclaw.program)
                way_out = f" OpenClaw {used} is used. --accept-unknown-model runs it all the same."
            raise ConfigError(f"{option} {name}: {complaint}{way_out}")


def check_thinking(config: RunConfig, machine: Machine) -> None:
    """Raise ConfigError if OpenClaw would refuse `--thinking` in each trial, since the model is known not to think."""
    if config.thinking in (None, "off"):
        return
    provider, _, name = config.model.partition("/")
    known = machine.catalogue.providers.get(provider)
    remedy = "Leave it out, or say off."
    if config.is_demo:
        is_refused = True
    elif config.base_url is not None:
        is_refused = not config.served.reasoning
        remedy = f"If it does, name its endpoint in pinchbench.yaml, with `models: {{{name}: {{reasoning: true}}}}`."
    else:
        is_refused = known is not None and name in known.thoughtless
    if is_refused:
        raise ConfigError(f"--thinking {config.thinking}: {config.model} does not think, by what is known. {remedy}")
