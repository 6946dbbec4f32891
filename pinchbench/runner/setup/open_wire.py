"""Opens the wire between a run's agents and their model, where it does not change what the model receives."""

from __future__ import annotations

import os
import tempfile
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from anyio import to_thread

from pinchbench.defaults import JUDGE_PROVIDERS, Isolation, ProtocolName
from pinchbench.errors import WireError
from pinchbench.http_client import is_loopback
from pinchbench.llm.demo.scripted_model import ScriptedModel, scripted_model
from pinchbench.openclaw.homes.credentials import UserState, places_of_key, stored_names
from pinchbench.runner.plan.prepare import scripts
from pinchbench.runner.plan.stored_run import recordings_of
from pinchbench.runner.setup.preflight import has_own_address
from pinchbench.runner.trial.model_wire import ModelAccess, ModelWire, NativeProvider
from pinchbench.wire.proxy_client import run_wire
from pinchbench.wire.wire_messages import CallUsed, Configure, PaceChanged, Provider, RequestRefused, WireEvent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from pinchbench.config.run_config import RunConfig
    from pinchbench.model.trial import TrialKey
    from pinchbench.openclaw.model_catalogue import Catalogue
    from pinchbench.runner.run_context import RunContext
    from pinchbench.runner.setup.this_machine import Machine
    from pinchbench.runner.trial.wire_facts import TrialMeter


PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
HTTPS_PORT = 443
LOGIN = "OAUTH_TOKEN"  # the end of variables whose value is no key: requests with it have another prompt
AZURE = "azure-"  # whose models answer at the endpoints of the same protocol without it


def choose_native(
    name: str, catalogue: Catalogue, user: UserState, *, env: Mapping[str, str], needs_key: bool
) -> NativeProvider | str:
    """Return the provider with this name, or why the wire can't read requests to it, as a part of a sentence (pure)."""
    if any(env.get(one) for one in PROXIES) or stored_names(user) & set(PROXIES):
        return "the environment names a proxy for HTTPS"
    names = catalogue.key_names(name)
    known = catalogue.providers.get(name)
    base_url = (known.base_url if known is not None else "") or JUDGE_PROVIDERS.get(name, ("", ""))[0]
    parts = urlsplit(base_url)
    if parts.scheme != "https" or not parts.hostname or parts.port not in (None, HTTPS_PORT):
        return f"the address at which {name} is asked by HTTPS is not known"
    if has_own_address(user, name):
        return f"your OpenClaw asks {name} at an address or in a way of its own"
    address = f"https://{parts.hostname}"
    usable = [one for one in names if not one.endswith(LOGIN)]
    if usable and not needs_key:
        return NativeProvider(base_url=address, key="", key_name=usable[0], key_names=names)
    set_names = [one for one in usable if env.get(one, "").strip()]
    if len(set_names) != 1 or len(places_of_key(name, names, env=env, user=user)) != 1:
        return f"{name} is not asked with one key of the environment, but with a login, or a key of OpenClaw's choice"
    key_name = set_names[0]
    return NativeProvider(base_url=address, key=env[key_name].strip(), key_name=key_name, key_names=names)


ESTIMATED = (
    "The model's server does not report what its replies use: limits of cost and tokens count an estimate, one token"
    " for every four bytes."
)
NOBODY = "http://127.0.0.1/v1"  # of a replay in which no model is asked
GIB = 1024**3
NO_RECORDINGS: Mapping[TrialKey, Path] = MappingProxyType({})


def why_without(config: RunConfig) -> str:
    """Return why a run's requests do not go through the wire, as a sentence; empty if they do."""
    if not config.wire:
        return "Requests to the model are not recorded, because of --no-wire."
    if config.isolation is Isolation.SHARED:
        return "Requests to the model are not recorded: the agents run in your own OpenClaw."
    if config.api.removeprefix(AZURE) not in set(ProtocolName):
        return f"Requests to the model are not recorded: the wire does not read {config.api}."
    if config.base_url is not None and _needs_proxy(config.base_url):
        return "Requests to the model are not recorded: its endpoint is behind the proxy that the environment names."
    return ""


def _needs_proxy(base_url: str) -> bool:
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    return parts.scheme in getproxies() and not is_loopback(host) and not proxy_bypass(host)


@asynccontextmanager
async def open_access(run: RunContext, machine: Machine, *, has_budget: bool) -> AsyncGenerator[ModelAccess]:
    """Run what answers the agents of a run, for the duration of the block; see `open_wire`. Raises WireError."""
    config = run.prepared.config
    played = await to_thread.run_sync(scripts, run.prepared)
    async with (
        nullcontext() if config.scripted_model is None else scripted_model() as scripted,
        open_wire(config, machine, scripted, tell=run.observer.tell, has_budget=has_budget) as wire,
    ):
        yield ModelAccess(wire=wire, scripted=scripted, scripts=played)


@asynccontextmanager
async def open_wire(
    config: RunConfig,
    machine: Machine,
    scripted: ScriptedModel | None,
    *,
    tell: Callable[[str], None],
    has_budget: bool = False,
) -> AsyncGenerator[ModelWire | None]:
    """Run the wire of a run for the duration of the block; None if its requests do not go through one.

    `tell` is called with what the user should know. `has_budget`: the run needs to know its usage at once although its
    own options set no budget. Raises WireError if it does not start.
    """
    native = _native(config, machine)
    if isinstance(native, str):
        if config.replay is not None:
            raise WireError(f"The replay is not possible. {native}")
        if config.wire:
            tell(native)
        yield None
        return
    provider = _provider(config, scripted, native)
    recordings = await to_thread.run_sync(recordings_of, config.replay.folder) if config.replay else NO_RECORDINGS

    meters: dict[str, TrialMeter] = {}
    refused: set[str] = set()  # each is reported once: a process can ask again without end
    is_estimated = False

    def observe(event: WireEvent) -> None:
        nonlocal is_estimated
        if isinstance(event, PaceChanged):
            tell(f"{event.provider} answered 429: at most {event.window} requests at once for now.")
        elif (meter := meters.get(event.trial)) is not None:
            meter.take(event)
            if isinstance(event, CallUsed) and event.is_estimate and not is_estimated:
                is_estimated = True
                tell(ESTIMATED)
        elif isinstance(event, RequestRefused) and not event.trial and event.what not in refused:
            refused.add(event.what)
            tell(f"The wire has refused {event.what}.")

    # Its own short path, because a Unix socket's is limited to about 100 bytes.
    with tempfile.TemporaryDirectory(prefix="wire-") as folder:
        configure = Configure(
            provider=provider,
            folder=folder,
            reports_usage=has_budget or config.max_cost is not None or config.max_tokens is not None,
            max_recording_bytes=int(config.max_disk * GIB),
        )
        async with run_wire(configure, observe=observe) as wire:
            trusted = await to_thread.run_sync(_certificates, Path(folder), wire.places.certificate) if native else ""
            yield ModelWire(
                wire,
                config,
                puts_key=bool(provider.key),
                native=(native, trusted) if native is not None else None,
                recordings=recordings,
                meters=meters,
            )


def _native(config: RunConfig, machine: Machine) -> NativeProvider | str | None:
    """Return the provider that the wire stands in for, None for the run's own endpoint, or why there is no wire.

    Raises WireError if a replay is to go on with a model that the provider does not have.
    """
    if why := why_without(config):
        return why
    if config.base_url is not None or config.is_demo:
        return None
    name = config.model.partition("/")[0]
    needs_key = config.replay is None or config.replay.asks_model
    found = choose_native(name, machine.catalogue, machine.user, env=os.environ, needs_key=needs_key)
    if isinstance(found, str):
        return f"Requests to the model are not recorded: {found}."
    if config.replay is not None and (config.replay.model or config.replay.base_url):
        raise WireError(
            f"The replay is not possible. Other endpoints do not understand requests to {name}. Leave out --model and"
            f" --base-url to go on with {name}."
        )
    return found


def _certificates(folder: Path, own: str) -> str:
    """Write the certificate of the wire and those that the environment names into a file; return its path. Blocks."""
    others = os.environ.get("NODE_EXTRA_CA_CERTS", "")
    path = folder / "certificates.pem"
    path.write_bytes(own.encode() + (Path(others).read_bytes() if others and Path(others).is_file() else b""))
    return str(path)


def _provider(config: RunConfig, scripted: ScriptedModel | None, native: NativeProvider | None) -> Provider:
    """Return what the wire asks: in a replay, the model that answers from a fork on."""
    name, _, serves = config.model.partition("/")
    if native is not None:
        return Provider(
            id=name,
            base_url=native.base_url,
            key=native.key,
            max_requests=config.max_requests,
            serves=serves,
            host=native.host,
        )
    replay = config.replay
    own_url = (replay.base_url if replay is not None else None) or config.base_url
    key_env = replay.api_key_env if replay is not None else config.api_key_env
    return Provider(
        id=name,
        base_url=scripted.origin if scripted is not None else own_url or NOBODY,
        key=os.environ.get(key_env, "") if key_env is not None else "",
        api=ProtocolName(config.api.removeprefix(AZURE)),
        max_requests=config.max_requests,
        serves=serves,
        model=replay.model.partition("/")[2] if replay is not None and replay.model is not None else "",
    )
