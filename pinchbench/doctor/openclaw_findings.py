"""What a run needs to ask a model: OpenClaw and its Node, keys, which are never shown, and servers on this machine."""

from __future__ import annotations

import operator
import os
import re
import shlex
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyio import connect_tcp, create_task_group, move_on_after, to_thread

from pinchbench.defaults import JUDGE_PROVIDERS, OLLAMA
from pinchbench.errors import OpenClawError
from pinchbench.http_client import TransientError, open_client
from pinchbench.json_values import object_at, objects_at, text_at
from pinchbench.model.finding import Finding, Level
from pinchbench.openclaw.command import OpenClaw, release_key
from pinchbench.openclaw.find import find_openclaw, locate_openclaw, node_version, release_warning
from pinchbench.openclaw.homes.credentials import UserState, login_providers, read_user_state
from pinchbench.openclaw.install import TRIED_RELEASES
from pinchbench.openclaw.model_catalogue import KEYLESS, package_of, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


# From here on sessions are rows of a database; before, each is a file.
SQLITE_SINCE = (2026, 8)
INSTALL = "pinchbench-async openclaw install"
_COMPARE = {">=": operator.ge, "<=": operator.le, "<": operator.lt, ">": operator.gt}


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """An OpenClaw that was found, the Node that runs it, and what it says that it wants of Node (empty: nothing)."""

    openclaw: OpenClaw
    node: str
    wants_node: str = ""


async def find_release(choice: str | None) -> Release:
    """Find what `--openclaw` names, as a run does. Raises OpenClawError."""
    found = await find_openclaw(choice)
    node = await node_version(found)
    return Release(openclaw=found, node=node, wants_node=await to_thread.run_sync(_wanted_node, found.program))


def _wanted_node(program: Path) -> str:
    package = package_of(program)
    value = read_json(package / "package.json") if package is not None else None
    return text_at(object_at(value, "engines"), "node") if text_at(value, "name") == "openclaw" else ""


def of_openclaw(found: Release | OpenClawError) -> Finding:
    """Say which OpenClaw a run would use, or why there is none."""
    if isinstance(found, OpenClawError):
        do = "" if INSTALL in str(found) else f"Run `{INSTALL}`, or name another with --openclaw."
        return Finding.problem("OpenClaw", str(found), do=do)
    version = found.openclaw.version
    keeps = "a database" if release_key(version) >= SQLITE_SINCE else "files"
    said = f"OpenClaw {version} ({found.openclaw.program}); it keeps sessions in {keeps}."
    if warning := release_warning(version):
        return Finding.warning(
            "OpenClaw", f"{said} {warning}", do=f"Use a tried one: `{INSTALL}`, and --openclaw {TRIED_RELEASES[-1]}."
        )
    if version not in TRIED_RELEASES:
        return Finding.note(
            "OpenClaw", f"{said} This program was tested with {' and '.join(TRIED_RELEASES)}, not with this release."
        )
    return Finding.ok("OpenClaw", said)


def of_node(found: Release) -> Finding:
    """Say whether the Node that runs OpenClaw is one that it wants."""
    if not found.node:
        return Finding.warning(
            "Node",
            "The Node that runs OpenClaw does not report its release.",
            do=f"`{INSTALL}` brings an OpenClaw with a Node that suits it.",
        )
    wanted = f"; OpenClaw {found.openclaw.version} wants {found.wants_node}" if found.wants_node else ""
    if not suits(found.node, found.wants_node):
        return Finding.problem(
            "Node", f"Node {found.node}{wanted}.", do=f"`{INSTALL}` brings an OpenClaw with a Node that suits it."
        )
    return Finding.ok("Node", f"Node {found.node}{wanted}.")


def suits(version: str, wanted: str) -> bool:
    """Return whether a release is in a range such as `>=24.16.0 <25 || >=26.1.0` (pure).

    An unreadable range includes every release.
    """
    has = _number(version)
    for part in wanted.split("||"):
        bounds = re.findall(r"(>=|<=|<|>)\s*v?(\d+(?:\.\d+)*)", part)
        if not bounds:
            return True
        if all(_COMPARE[sign](has, _number(bound)) for sign, bound in bounds):
            return True
    return False


def _number(version: str) -> tuple[int, ...]:
    parts = [int(part) for part in re.findall(r"\d+", version)[:3]]
    return tuple([*parts, 0, 0, 0][:3])


def of_key(
    model: str,
    names: tuple[str, ...],
    places: tuple[str, ...],
    *,
    openclaw: OpenClaw | None = None,
    is_refused: bool = False,
) -> Finding:
    """Say whether there is a key for the model's provider, and where; never what it is, nor how long.

    `is_refused` says that a run without a key is.
    """
    provider = model.partition("/")[0]
    if places:
        return Finding.ok("key", f"A key for {provider} is there: {', '.join(places)}.")
    if provider in KEYLESS:
        return Finding.note("key", f"There is no key for {provider}, which usually needs none.")
    login = f", or log in with `{openclaw.by_hand('models', 'auth')}`" if openclaw is not None else ""
    return Finding(
        subject="key",
        level=Level.PROBLEM if is_refused else Level.WARNING,
        said=f"No key for {provider} was found: neither in {' or '.join(names)} nor in your OpenClaw.",
        do=f"Set {names[0]}{login}.",
    )


def of_endpoint_key(base_url: str, name: str | None) -> Finding:
    """Say which key goes to an endpoint that the user names; that it is set has been seen to."""
    if name is None:
        return Finding.note("key", f"No key is sent to {base_url}; --api-key-env would name one.")
    return Finding.ok("key", f"{name} is set, and goes to {base_url}.")


def of_any_keys(user: UserState, env: Mapping[str, str]) -> Finding:
    """Say which keys there are when no model is named."""
    known = [name for _, name in JUDGE_PROVIDERS.values() if env.get(name, "").strip()]
    logins = tuple(dict.fromkeys(login_providers(user)))
    found = [f"{', '.join(known)} in the environment"] if known else []
    found += [f"logins of your OpenClaw for {', '.join(logins)}"] if logins else []
    if found:
        return Finding.ok("key", f"Keys are there: {'; '.join(found)}. Name a --model to try it.")
    return Finding.note(
        "key",
        "None of the usual keys is set, and your OpenClaw has no login.",
        do="Name a --model; demo/oracle needs no key.",
    )


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
