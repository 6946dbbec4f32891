"""What a newcomer's machine has: OpenClaw, keys, and servers of models on their usual ports; no model is asked."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyio import connect_tcp, create_task_group, move_on_after, to_thread

from pinchbench.defaults import JUDGE_PROVIDERS, OLLAMA
from pinchbench.doctor.openclaw_findings import of_any_keys
from pinchbench.errors import OpenClawError
from pinchbench.http_client import TransientError, open_client
from pinchbench.json_values import objects_at, text_at
from pinchbench.model.finding import Finding
from pinchbench.openclaw.find import locate_openclaw
from pinchbench.openclaw.homes.credentials import UserState, read_user_state

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PORTS = {11434: "Ollama", 8080: "llama.cpp", 8000: "vLLM", 1234: "LM Studio"}
LIMIT_S = 2.0  # on the loopback a port is refused at once; a server that is loading a model may be slow
MAX_BODY_BYTES = 1024 * 1024
SHOWN = 3  # models of a server


@dataclass(frozen=True, kw_only=True, slots=True)
class Server:
    """A server on this machine that lists its models as OpenAI's API does; `usual` is what usually has its port."""

    usual: str
    base_url: str
    models: tuple[str, ...]


async def first_look() -> tuple[tuple[Finding, ...], str]:
    """Look for OpenClaw, which is not run, for keys and for servers, in about 2 s at most.

    Returns what was found, OpenClaw first, and the model that the next commands can name, as the command line has it.
    """
    servers = await find_servers()
    user = UserState()
    with suppress(OpenClawError):  # `doctor` says what is wrong with it
        user = await to_thread.run_sync(read_user_state, os.environ)
    openclaw = Finding.note("OpenClaw", "It is neither on PATH nor installed by this program.")
    with suppress(OpenClawError):
        openclaw = Finding.ok("OpenClaw", str(locate_openclaw(None).program))
    return (openclaw, of_any_keys(user, os.environ), of_servers(servers)), model_to_name(servers, os.environ)


async def find_servers(ports: Mapping[int, str] = PORTS, *, limit_s: float = LIMIT_S) -> list[Server]:
    """Ask what listens on the ports of the loopback for its models; servers that list some, in the ports' order."""
    found: dict[int, Server] = {}

    async def look(port: int) -> None:
        url = f"http://127.0.0.1:{port}/v1"
        with suppress(OSError, TransientError), move_on_after(limit_s):
            await (await connect_tcp("127.0.0.1", port)).aclose()  # before the client is imported
            async with open_client(url, whose=ports[port]) as client:
                answer = await client.send(f"{url}/models", most_bytes=MAX_BODY_BYTES, limit_s=limit_s)
            models = tuple(filter(None, (text_at(one, "id") for one in objects_at(answer.json(), "data"))))
            if models:
                found[port] = Server(usual=ports[port], base_url=url, models=models)

    async with create_task_group() as group:
        for port in ports:
            group.start_soon(look, port)
    return [found[port] for port in ports if port in found]


def of_servers(servers: Sequence[Server]) -> Finding:
    """Say which servers there are, and their models (pure)."""
    if not servers:
        asked = ", ".join(f"{port} ({name})" for port, name in PORTS.items())
        return Finding.note("servers", f"No model is served here on port {asked}.")
    said = []
    for one in servers:
        more = f" and {len(one.models) - SHOWN} more" if len(one.models) > SHOWN else ""
        said.append(f"{one.base_url} (usually {one.usual}) has {', '.join(one.models[:SHOWN])}{more}")
    return Finding.ok("servers", f"{'; '.join(said)}.")


def model_to_name(servers: Sequence[Server], env: Mapping[str, str]) -> str:
    """Return the options for a server's first model, else for a provider whose key is set (pure)."""
    if servers:
        url = servers[0].base_url
        is_ollama = servers[0].usual == PORTS[11434]  # behind /v1 it may lose tool calls
        address = f"{url.removesuffix('/v1')} --api {OLLAMA}" if is_ollama else url
        return f"{shlex.quote(f'local/{servers[0].models[0]}')} --base-url {address}"
    return next((f"{name}/MODEL" for name, (_, key) in JUDGE_PROVIDERS.items() if env.get(key, "").strip()), "MODEL")
