"""Puts the wire between a run's agents and their model, where it does not change what the model receives."""

from __future__ import annotations

import os
import tempfile
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from pinchbench.defaults import Isolation
from pinchbench.wire.client import new_token, run_wire
from pinchbench.wire.messages import Configure, PaceChanged, Provider

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from pinchbench.config import RunConfig
    from pinchbench.demo.server import ScriptedModel
    from pinchbench.openclaw.homes.credentials import Json
    from pinchbench.wire.client import TrialWire, Wire
    from pinchbench.wire.messages import WireEvent

CHAT = "openai-completions"  # the protocol of own endpoints and of the built-in models


class ModelWire:
    """The wire of a run. Each private home has an address of its own; the agents of a gateway share one."""

    def __init__(self, wire: Wire, provider: str, *, puts_key: bool) -> None:
        """Serve one provider; `puts_key` says whether the wire adds its key to requests."""
        self._wire = wire
        self._provider = provider
        self._puts_key = puts_key
        self._tokens: dict[int | None, str] = {}

    @property
    def has_failed(self) -> bool:
        """Whether the wire's process has died: what trials did through it is not evidence."""
        return self._wire.failed.is_set()

    def through(self, entry: Json, slot: int | None) -> Json:
        """Return a provider's entry of OpenClaw's config that leads through the wire; `slot` is None for a gateway."""
        token = self._token(slot)
        key = {"apiKey": token} if self._puts_key else {}
        return {**entry, **key, "baseUrl": self._wire.base_url(token, self._provider)}

    def lease(
        self, slot: int, *, trial: str, recording: Path, workspace: Path, is_gateway: bool
    ) -> AbstractAsyncContextManager[TrialWire]:
        """Return a context in which a trial's requests pass and are recorded; see `Wire.lease`."""
        if not is_gateway:
            return self._wire.lease(self._token(slot), trial=trial, path=recording)
        mark = f"{workspace.parent.name}/{workspace.name}"  # OpenClaw may write the folders above in another way
        return self._wire.lease(new_token(), trial=trial, path=recording, shared=self._token(None), mark=mark)

    def _token(self, slot: int | None) -> str:
        return self._tokens.setdefault(slot, new_token())


def why_without(config: RunConfig) -> str:
    """Return why a run's requests do not go through the wire, as a sentence; empty if they do."""
    if not config.wire:
        return "Requests to the model are not recorded, because of --no-wire."
    if config.isolation is Isolation.SHARED:
        return "Requests to the model are not recorded: the agents run in your own OpenClaw."
    if config.base_url is None and not config.is_demo:
        name = config.model.partition("/")[0]
        return (
            f"Requests to the model are not recorded: OpenClaw sends {name} other requests through a proxy. What calls"
            " failed and which model answered is known from OpenClaw alone."
        )
    if config.base_url is not None and _needs_proxy(config.base_url):
        return "Requests to the model are not recorded: its endpoint is behind the proxy that the environment names."
    return ""


def _needs_proxy(base_url: str) -> bool:
    parts = urlsplit(base_url)
    return parts.scheme in getproxies() and not proxy_bypass(parts.hostname or "")


@asynccontextmanager
async def open_wire(
    config: RunConfig, scripted: ScriptedModel | None, *, tell: Callable[[str], None]
) -> AsyncGenerator[ModelWire | None]:
    """Run the wire of a run for the duration of the block; None if its requests do not go through one.

    `tell` is called with what the user should know. Raises WireError if it does not start.
    """
    if why := why_without(config):
        if config.wire:
            tell(why)
        yield None
        return
    name = config.model.partition("/")[0]
    key = os.environ.get(config.api_key_env, "") if config.api_key_env is not None else ""
    base_url = scripted.base_url() if scripted is not None else str(config.base_url)
    provider = Provider(id=name, base_url=base_url, key=key, max_requests=config.max_requests)

    def observe(event: WireEvent) -> None:
        if isinstance(event, PaceChanged) and event.window is not None:
            tell(f"{event.provider} answered 429: at most {event.window} requests at once for now.")

    # Its own short path, because a Unix socket's is limited to about 100 bytes.
    with tempfile.TemporaryDirectory(prefix="wire-") as folder:
        async with run_wire(Configure(providers=(provider,), folder=folder), observe=observe) as wire:
            yield ModelWire(wire, name, puts_key=bool(key))
