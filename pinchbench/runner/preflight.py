"""Whether the endpoints of a run would answer, found out before anything is set up."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from anyio import to_thread

from pinchbench.defaults import JUDGE_PROVIDERS, Isolation
from pinchbench.errors import EndpointError
from pinchbench.model.finding import Level
from pinchbench.openclaw.catalogue import KEYLESS, read_catalogue
from pinchbench.openclaw.key_places import places_of_key
from pinchbench.preflight.question import Api, Target

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pinchbench.config.judge import JudgeConfig
    from pinchbench.config.run import RunConfig
    from pinchbench.config.user_model import UserModelConfig
    from pinchbench.openclaw.catalogue import Catalogue
    from pinchbench.openclaw.homes.credentials import UserState

SKIP = "--no-preflight starts without asking."


async def check_model(config: RunConfig, program: Path | None, user: UserState) -> Target | None:
    """Return what to ask of the model under test; None where it cannot be asked directly.

    Raises EndpointError when its provider needs a key and there is none.
    """
    if config.is_demo or (config.isolation is Isolation.SHARED and config.base_url is None):
        return None
    if config.base_url is not None:
        return Target(
            subject="model",
            model=config.model.partition("/")[2],
            base_url=config.base_url.rstrip("/"),
            key=_value(config.api_key_env),
            key_name=config.api_key_env or "",
            url_option="--base-url",
            key_option="--api-key-env",
        )
    catalogue = await to_thread.run_sync(read_catalogue, program)
    return _of_provider(config.model, catalogue, user)


def _of_provider(model: str, catalogue: Catalogue, user: UserState) -> Target | None:
    provider, _, name = model.partition("/")
    known = catalogue.providers.get(provider)
    if known is None:
        return None
    names = catalogue.key_names(provider)
    is_direct = bool(known.base_url) and known.api in set(Api) and provider not in KEYLESS
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
        api=Api(known.api),
        key=_value(key_name),
        key_name=key_name,
    )


def has_own_address(user: UserState, provider: str) -> bool:
    """Whether the user's OpenClaw asks the provider elsewhere, or otherwise than its manifest says."""
    section: object = user.config
    for name in ("models", "providers", provider):
        section = section.get(name) if isinstance(section, dict) else None
    return isinstance(section, dict) and bool({"baseUrl", "api", "request"} & section.keys())


def of_judge(judge: JudgeConfig | None) -> Target | None:
    """Return what to ask of a judge; None where there is none, or where OpenClaw asks it."""
    if judge is None or judge.base_url is None:
        return None
    return Target(
        subject="judge",
        model=judge.model_id.partition("/")[2] if judge.is_openclaw else judge.model,
        base_url=judge.base_url.rstrip("/"),
        key=_value(judge.api_key_env),
        key_name=judge.api_key_env or "",
        model_option="--judge",
        url_option="--judge-base-url",
        key_option="--judge-api-key-env",
    )


def of_user(user: UserModelConfig | None) -> Target | None:
    """Return what to ask of the user's model; None if the run has no such model, or it has no URL."""
    if user is None or user.base_url is None:
        return None
    return Target(
        subject="user's model",
        model=user.model,
        base_url=user.base_url.rstrip("/"),
        key=_value(user.api_key_env),
        key_name=user.api_key_env or "",
        model_option="--user-model",
        url_option="--user-base-url",
        key_option="--user-api-key-env",
    )


async def ask_endpoints(*targets: Target | None, tell: Callable[[str], None]) -> None:
    """Ask the targets at the same time, for at most about 3 s; a warning is told.

    Raises EndpointError on the first answer with which no trial could succeed.
    """
    asked = [one for one in targets if one is not None]
    if not asked:
        return
    from pinchbench.preflight.ask import ask_all  # noqa: PLC0415 - an HTTP client, which takes a tenth of a second

    for finding in await ask_all(asked):
        match finding.level:
            case Level.PROBLEM:
                raise EndpointError(f"{finding.said} {finding.do} {SKIP}")
            case Level.WARNING:
                tell(f"{finding.said} {finding.do}")
            case Level.OK | Level.NOTE:
                pass


def _value(name: str | None) -> str:
    return os.environ.get(name, "").strip() if name else ""
