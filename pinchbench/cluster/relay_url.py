"""Which endpoint of a run only this machine reaches, and what its URL is on a node to which it is led (pure)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pinchbench.endpoints import is_loopback

if TYPE_CHECKING:
    from pinchbench.config.run import RunConfig

PORTS = {"http": 80, "https": 443}


def own_endpoint(config: RunConfig) -> str | None:
    """Return the URL that a run asks, if it is one of this machine's loopback; None otherwise."""
    url = config.base_url
    if (replay := config.replay) is not None:
        url = (replay.base_url or config.base_url) if replay.asks_model else None
    return url if url is not None and is_loopback(urlsplit(url).hostname or "") else None


def with_endpoint(config: RunConfig, url: str) -> RunConfig:
    """Return the options of a run that asks another URL than its own endpoint."""
    if (replay := config.replay) is not None and replay.base_url is not None:
        return replace(config, replay=replace(replay, base_url=url))
    return replace(config, base_url=url)


def endpoint_of(url: str) -> tuple[str, int]:
    """Return the host and the port of a URL. Raises ValueError for a port out of range."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or PORTS.get(parts.scheme, 80)


def loopback_of(url: str) -> str:
    """Return the address of a node's loopback for those who would ask a URL."""
    return "::1" if ":" in (urlsplit(url).hostname or "") else "127.0.0.1"


def url_on_node(url: str, port: int) -> str:
    """Return a URL as it is where a port of the loopback leads to its endpoint.

    A name stays where there is a certificate, which is for that name; elsewhere, it could be another address.
    """
    parts = urlsplit(url)
    host = parts.hostname or "" if parts.scheme == "https" else loopback_of(url)
    user, at, _ = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user}{at}{f'[{host}]' if ':' in host else host}:{port}").geturl()
