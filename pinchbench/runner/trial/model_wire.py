"""The wire of a run as its homes and trials use it: their environments, addresses and recordings."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pinchbench.runner.trial.wire_facts import TrialMeter
from pinchbench.wire.proxy_client import TrialWire, Wire, new_token
from pinchbench.wire.wire_messages import ReplaySource

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

    from pinchbench.config.run_config import RunConfig
    from pinchbench.llm.demo.script import ScriptedTurn
    from pinchbench.llm.demo.scripted_model import ScriptedModel
    from pinchbench.model.trial import TrialEvents, TrialKey
    from pinchbench.openclaw.homes.credentials import Json


NO_PROXIES = ("NO_PROXY", "no_proxy")
LOOPBACK = "127.0.0.1,localhost,::1"


@dataclass(frozen=True, kw_only=True, slots=True)
class NativeProvider:
    """A provider that the wire stands in for."""

    base_url: str  # where its host is asked, without a path
    key: str  # its API key
    key_name: str  # the variable that has it
    key_names: tuple[str, ...]  # all variables in which OpenClaw looks for one

    @property
    def host(self) -> str:
        """The host that OpenClaw asks."""
        return urlsplit(self.base_url).hostname or ""


def native_env(
    env: Mapping[str, str], provider: NativeProvider, *, token: str, proxy_url: str, certificates: str
) -> dict[str, str]:
    """Return an environment in which requests to the provider go through the wire, and which has no key of it (pure).

    `env` is what the agents of a run get without the wire, `token` stands in for the key, and `certificates` is the
    file with the certificate of the wire and those that `env` names.
    """
    kept = {
        name: value
        for name, value in env.items()
        if name not in provider.key_names and not (provider.key and provider.key in value)
    }
    return {
        **kept,
        provider.key_name: token,
        "HTTPS_PROXY": proxy_url,
        "https_proxy": proxy_url,
        **dict.fromkeys(NO_PROXIES, LOOPBACK),
        "NODE_EXTRA_CA_CERTS": certificates,
    }


def past_proxies(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which the wire, which is on the loopback, is not asked through a proxy (pure)."""
    if not any(value and name.lower() in {"http_proxy", "https_proxy", "all_proxy"} for name, value in env.items()):
        return dict(env)
    without = next((env[name] for name in reversed(NO_PROXIES) if env.get(name)), "")
    return {**env, **dict.fromkeys(NO_PROXIES, f"{without},{LOOPBACK}".lstrip(","))}


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelAccess:
    """What answers the agents of a run on this machine, unless they ask their model themselves."""

    wire: ModelWire | None = None  # passes their requests on, and records them
    scripted: ScriptedModel | None = None  # plays `scripts`, by task id, instead of a model
    scripts: Mapping[str, tuple[ScriptedTurn, ...]] = field(default_factory=dict)


class ModelWire:
    """The wire of a run. Each trial has an address of its own."""

    def __init__(
        self,
        wire: Wire,
        config: RunConfig,
        *,
        puts_key: bool,
        native: tuple[NativeProvider, str] | None,
        recordings: Mapping[TrialKey, Path],
        meters: dict[str, TrialMeter],
    ) -> None:
        """Serve the provider of a run's model; `puts_key`: the wire adds its key to requests.

        `native` is that provider if it is asked at its own address, with the file of the certificates to trust.
        `recordings` are those of the trials that are replayed. `meters` gets those of running trials, by their names.
        """
        self._wire = wire
        self._replay = config.replay
        self._puts_key = puts_key
        self._native = native
        self._recordings = recordings
        self._meters = meters
        self._tokens: dict[int, str] = {}

    @property
    def has_failed(self) -> bool:
        """Whether the wire's process has died: what trials did through it is not evidence."""
        return self._wire.failed.is_set()

    def home_env(self, env: Mapping[str, str], slot: int, *, port: int | None = None) -> Mapping[str, str]:
        """Return the environment of a home whose requests go through the wire.

        `port` is the one that leads to `socket`, if the home has no other way.
        """
        if self._native is None:
            return past_proxies(env)
        provider, certificates = self._native
        token = self._token(slot)
        proxy_url = self._wire.proxy_url(token, port=port)
        return native_env(env, provider, token=token, proxy_url=proxy_url, certificates=certificates)

    @property
    def is_native(self) -> bool:
        """Whether the provider is asked at its own address."""
        return self._native is not None

    @property
    def socket(self) -> str:
        """The path of the Unix socket through which the model alone can be asked."""
        places = self._wire.places
        return places.tunnel_socket if self.is_native else places.socket

    @property
    def port(self) -> int:
        """The port of 127.0.0.1 to which base URLs of `through` lead."""
        return self._wire.places.port

    def through(self, entry: Json, slot: int, *, port: int | None = None, path: str = "") -> Json:
        """Return a provider's entry of OpenClaw's config that leads through the wire.

        `port` is the one that leads to the wire, if that is not its own. `path` is what the provider's address has for
        this home.
        """
        token = self._token(slot)
        key = {"apiKey": token} if self._puts_key else {}
        return {**entry, **key, "baseUrl": self._wire.base_url(token, port=port) + path}

    @asynccontextmanager
    async def lease(
        self,
        slot: int,
        *,
        trial: TrialKey,
        recording: Path,
        events: TrialEvents,
        simulated: tuple[float, float] | None = None,
    ) -> AsyncGenerator[tuple[TrialWire, TrialMeter]]:
        """Let a trial's requests pass inside the block, and record them; see `Wire.lease`.

        Their address has the token of the trial, in place of the slot's. `simulated` is as in `ReplaySource`.
        """
        replay = self._source(trial, simulated)
        lease = self._wire.lease(new_token(), trial=str(trial), path=recording, replay=replay)
        meter = self._meters[str(trial)] = TrialMeter(events)
        try:
            async with lease as leased:
                leased.instead_of = self._token(slot)
                yield leased, meter
        finally:
            del self._meters[str(trial)]

    def recording_of(self, trial: TrialKey) -> Path | None:
        """Return the recording that a trial replays; None without a replay."""
        return self._recordings.get(trial)

    def _source(self, trial: TrialKey, simulated: tuple[float, float] | None) -> ReplaySource | None:
        if self._replay is None:
            return None
        turn = self._replay.fork_turn
        return ReplaySource(
            path=str(self._recordings[trial]),
            policy=self._replay.on_divergence,
            fork_at=self._replay.fork_at,
            fork_turn=turn - 1 if turn is not None else None,
            simulated=simulated,
        )

    def _token(self, slot: int) -> str:
        return self._tokens.setdefault(slot, new_token())
