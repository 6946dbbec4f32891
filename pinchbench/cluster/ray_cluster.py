"""A Ray cluster: its nodes, and an actor on each that takes part. The only importer of Ray."""

from __future__ import annotations

import io
import json
import logging
import os
from contextlib import asynccontextmanager, redirect_stdout, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import ray
from anyio import CancelScope, connect_tcp, fail_after, move_on_after, to_thread
from ray._private.ray_constants import DEBUG_AUTOSCALING_STATUS
from ray._private.services import canonicalize_bootstrap_address
from ray.autoscaler.sdk import request_resources
from ray.autoscaler.v2.sdk import get_cluster_status
from ray.autoscaler.v2.utils import is_autoscaler_v2
from ray.exceptions import RayError, RayTaskError
from ray.experimental.internal_kv import _internal_kv_get, internal_kv_get_gcs_client
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from pinchbench.cluster.file_server import fetch_files
from pinchbench.cluster.host import NodeHost
from pinchbench.cluster.link import NodeInfo, NodeLostError
from pinchbench.cluster.node_facts import NodeFacts, read_facts_of_node
from pinchbench.errors import ClusterError, NodeUnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from anyio import CapacityLimiter

    from pinchbench.cluster.link import NodeLink

T = TypeVar("T")

CLIENT, CLIENT_PORT = "ray://", "10001"  # which `ray start` gives Ray Client, if nobody asks for another
ANSWER_LIMIT_S = 10.0  # for a connection, as far as the next continent
CONNECT_LIMIT_S = 60.0  # a wrong token is refused after 20 s
ACTOR_LIMIT_S = 120.0  # to import the package on a busy node; where there is no room it waits for ever
SHUTDOWN_LIMIT_S = 20.0
A_CPU = 0.01  # of each slot that is asked for: only nodes with CPUs are used
MIRRORED = "node_"  # begins the types of nodes that no autoscaler has started


class RayCluster:
    """The Ray cluster that this process is connected to."""

    def __init__(self) -> None:
        """Nothing is asked for yet."""
        self._asked: dict[object, int] = {}
        self._has_asked = False

    async def nodes(self) -> Sequence[NodeInfo]:
        """Return the nodes that live. Raises ClusterError."""
        try:
            with fail_after(ANSWER_LIMIT_S):
                found, draining = await to_thread.run_sync(_nodes, abandon_on_cancel=True)
        except (TimeoutError, RayError) as error:
            raise ClusterError(f"The Ray cluster does not say which nodes it has: {_sentence(error)}.") from error
        return [
            NodeInfo(
                id=node["NodeID"],
                name=node["NodeManagerHostname"],
                cpus=node["Resources"].get("CPU", 0.0),
                memory_bytes=node["Resources"].get("memory", 0.0),
                is_draining=node["NodeID"] in draining,
                address=node["NodeManagerAddress"],
            )
            for node in found
            if node["Alive"] and node["Resources"].get("CPU", 0.0) >= 1
        ]

    async def start(self, node: NodeInfo, *, cpus: float, memory_bytes: int) -> NodeLink:
        """Start an actor on a node, with these CPUs and memory, and its program. Raises NodeUnavailableError."""
        options = ray.remote(
            num_cpus=cpus,
            memory=memory_bytes,
            max_restarts=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=node.id, soft=False),
        )
        actor = options(NodeHost).remote()
        link = _RayLink(actor)
        try:
            with fail_after(ACTOR_LIMIT_S):
                port, secret = await _answer(actor.start.remote("" if _is_encrypted() else node.address))
                if port:
                    link.direct = (node.address, port), secret
        except TimeoutError:
            why = (
                f"did not start an actor within {ACTOR_LIMIT_S:.0f} s: is its memory reserved by other work? Try"
                " `ray status`."
            )
        except NodeLostError as error:
            why = f"can't start an actor: {error}. Is pinchbench-async installed in the environment of its Ray?"
        except BaseException:
            with CancelScope(shield=True):
                await link.close()
            raise
        else:
            return link
        await link.close()
        raise NodeUnavailableError(f"The node {node.name} {why}")

    async def facts(self, node: NodeInfo, choice: str | None) -> NodeFacts:
        """Ask a node what it has, without reserving anything of it. Raises NodeLostError."""
        strategy = NodeAffinitySchedulingStrategy(node_id=node.id, soft=False)
        task = ray.remote(num_cpus=0, max_retries=0, scheduling_strategy=strategy)(read_facts_of_node)
        answer: bytes = await _answer(task.remote(choice))
        return msgspec.json.decode(answer, type=NodeFacts)

    async def has_autoscaler(self) -> bool:
        """Return whether nodes are added if somebody asks for them. Raises ClusterError."""
        return any(not name.startswith(MIRRORED) for name in await _ask_ray(_node_types))

    async def ask_for(self, asker: object, *, slots: int, slot_bytes: int) -> None:
        """Ask for slots, as `Cluster.ask_for` says. Raises ClusterError."""
        self._asked[asker] = slots
        self._has_asked = True
        bundles = [{"CPU": A_CPU, "memory": slot_bytes}] * max(self._asked.values())
        await _ask_ray(partial(request_resources, bundles=bundles))

    async def withdraw(self) -> None:
        """Ask for nothing, if anything was asked for. Raises ClusterError."""
        if self._has_asked:
            await _ask_ray(partial(request_resources, bundles=[]))


async def _ask_ray(ask: Callable[[], T]) -> T:
    """Return what a call says that takes milliseconds, unless the head is gone. Raises ClusterError."""
    try:
        with fail_after(ANSWER_LIMIT_S):
            return await to_thread.run_sync(ask, abandon_on_cancel=True)
    except (TimeoutError, RuntimeError, RayError) as error:
        raise ClusterError(f"The Ray cluster does not answer: {_sentence(error)}.") from error


def _node_types() -> Collection[str]:
    """Return the names that an autoscaler has for the types of the cluster's nodes. Blocks.

    Where there is none, its place is held by one that adds nothing, and has a type of its own for each node.
    """
    if is_autoscaler_v2():
        status = get_cluster_status(internal_kv_get_gcs_client().address)
        return {node.ray_node_type_name for node in (*status.active_nodes, *status.idle_nodes)}
    status = json.loads(_internal_kv_get(DEBUG_AUTOSCALING_STATUS) or b"{}")
    return ((status.get("autoscaler_report") or {}).get("node_type_mapping") or {}).values()


def _is_encrypted() -> bool:
    """Return whether Ray encrypts what goes between machines, so that nothing may go beside it."""
    return os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true")


def _nodes() -> tuple[list[dict[str, Any]], Collection[str]]:
    """Return what Ray says of each node that it has or had, and the ids of those that are being drained. Blocks."""
    return ray.nodes(), ray._private.state.state.get_draining_nodes().keys()  # noqa: SLF001 - nothing public tells


class _RayLink:
    """The connection to the actor of a node."""

    def __init__(self, actor: Any) -> None:  # noqa: ANN401 - Ray's handles have no types
        self._actor = actor
        self.direct: tuple[tuple[str, int], bytes] | None = None  # where files are served, and the secret for that

    async def send(self, frames: bytes) -> None:
        await _answer(self._actor.send.remote(frames))

    async def events(self, after: int) -> list[bytes] | None:
        events: list[bytes] | None = await _answer(self._actor.events.remote(after))
        return events

    async def read(self, path: str, offset: int, size: int) -> bytes:
        data: bytes = await _answer(self._actor.read.remote(path, offset, size))
        return data

    async def fetch(self, folder: str, names: Collection[str], to: Path, limiter: CapacityLimiter) -> Mapping[str, str]:
        if self.direct is None:
            return {}
        try:
            return await to_thread.run_sync(fetch_files, *self.direct, folder, names, to, limiter=limiter)
        except OSError:
            self.direct = None  # a firewall lets nothing through, or the node is going
        await to_thread.run_sync(_remove, [to / name for name in names])
        return {}

    async def about(self) -> tuple[str, float, bool]:
        about: tuple[str, float, bool] = await _answer(self._actor.about.remote())
        return about

    async def close(self) -> None:
        with suppress(RayError):
            await to_thread.run_sync(ray.kill, self._actor, abandon_on_cancel=True)


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


async def _answer(call: Awaitable[T]) -> T:
    """Await a call of an actor. Raises NodeLostError for what Ray raises, and OSError as the actor does."""
    try:
        return await call
    except RayTaskError as error:  # what the actor raised, under pages about where
        if isinstance(error.cause, OSError):
            raise error.cause from error
        raise NodeLostError(_sentence(error)) from error
    except RayError as error:
        raise NodeLostError(_sentence(error)) from error


def _sentence(error: BaseException) -> str:
    """Return what an error of Ray says first; pages about the actor follow."""
    lines = str(error).strip().split("\n")
    said = lines[-1] if len(lines) > 1 and lines[0].endswith(":") else lines[0]
    return f"{type(error).__name__}: {said.removesuffix('.')}"


class _Nowhere(io.TextIOBase):
    """Takes text and drops it."""

    def write(self, text: str) -> int:
        return len(text)


@asynccontextmanager
async def connect(head: str = "") -> AsyncGenerator[RayCluster]:
    """Connect this process to a Ray cluster that its machine is part of, for the duration of the block.

    `head` is HOST:PORT, as for `ray start --address`; without it, RAY_ADDRESS or the last `ray start` here names it.
    Raises ClusterError.
    """
    # threads of Ray print to stdout what happens to nodes, whatever it is told; there, a script looks for the result
    with redirect_stdout(_Nowhere()):
        await _connect(head)
        cluster = RayCluster()
        try:
            yield cluster
        finally:
            with CancelScope(shield=True), move_on_after(SHUTDOWN_LIMIT_S):
                with suppress(ClusterError):
                    await cluster.withdraw()
                await to_thread.run_sync(ray.shutdown, abandon_on_cancel=True)


async def _connect(head: str) -> None:
    try:
        address = await to_thread.run_sync(_address, head)
        await _ask(address)
        with fail_after(CONNECT_LIMIT_S):
            # not on the main thread: there, Ray replaces the handler of SIGTERM
            await to_thread.run_sync(_init, address, abandon_on_cancel=True)
    except TimeoutError as error:
        raise ClusterError(
            f"The Ray cluster did not answer within {CONNECT_LIMIT_S:.0f} s. `ray status` tells."
        ) from error
    except (ConnectionError, RuntimeError, ValueError, RayError) as error:
        raise ClusterError(
            "This machine can't connect to a Ray cluster. It has to be part of one, by `ray start`, with the same token"
            f" (`ray get-auth-token`). {_sentence(error)}"
        ) from error


def _address(head: str) -> str:
    """Return the address of a cluster's head; see `connect`. Raises ConnectionError, ValueError and ClusterError."""
    given = head or os.environ.get("RAY_ADDRESS", "").removeprefix(CLIENT)
    if (port := given.rpartition(":")[2]) == CLIENT_PORT:
        raise ClusterError(
            f"{given} is the port of Ray Client, which this program does not use. Let this machine be part of the"
            f" cluster, with `ray start --address={given.removesuffix(port)}6379 --num-cpus=0` for example, and name"
            f" that address: --cluster ray://{given.removesuffix(port)}6379."
        )
    found: str | None = canonicalize_bootstrap_address(given or "auto")
    if found is None:
        raise ClusterError(f"{given} names no Ray cluster: name its head as HOST:PORT.")
    return found


async def _ask(address: str) -> None:
    """Raise ClusterError for an address where nobody listens: there, Ray waits for minutes, and can't be stopped."""
    host, _, port = address.rpartition(":")
    try:
        with fail_after(ANSWER_LIMIT_S):
            async with await connect_tcp(host.strip("[]"), int(port)):
                pass
    except (OSError, TimeoutError) as error:
        raise ClusterError(
            f"Nobody answers at {address}, the Ray cluster that --cluster, RAY_ADDRESS or the last `ray start` names."
            " Start one with `ray start --head`."
        ) from error


def _init(address: str) -> None:
    with suppress(ImportError):  # older releases of Ray leave it to RAY_AUTH_MODE
        from ray._private.authentication.authentication_token_setup import (  # noqa: PLC0415
            maybe_enable_token_auth_if_token_available,
        )

        # `ray start` uses the token that it finds, and so does `ray.init`, but not where it is told an address
        maybe_enable_token_auth_if_token_available(warn_if_disabled=False)
    ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
