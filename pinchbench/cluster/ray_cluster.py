"""A Ray cluster: its nodes, and an actor on each that takes part. The only importer of Ray."""

from __future__ import annotations

import io
import logging
import os
from contextlib import asynccontextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import ray
from anyio import CancelScope, connect_tcp, fail_after, move_on_after, to_thread
from ray._private.services import canonicalize_bootstrap_address
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from pinchbench.cluster.host import NodeHost
from pinchbench.cluster.messages import NodeInfo, NodeLink, NodeLostError
from pinchbench.errors import ClusterError, NodeUnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Collection, Sequence


T = TypeVar("T")

CLIENT, CLIENT_PORT = "ray://", "10001"  # which `ray start` gives Ray Client, if nobody asks for another
ANSWER_LIMIT_S = 10.0  # for a connection, as far as the next continent
CONNECT_LIMIT_S = 60.0  # a wrong token is refused after 20 s
ACTOR_LIMIT_S = 120.0  # to import the package on a busy node; where there is no room it waits for ever
SHUTDOWN_LIMIT_S = 20.0


class RayCluster:
    """The Ray cluster that this process is connected to."""

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
                await _answer(actor.start.remote())
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


def _nodes() -> tuple[list[dict[str, Any]], Collection[str]]:
    """Return what Ray says of each node that it has or had, and the ids of those that are being drained. Blocks."""
    return ray.nodes(), ray._private.state.state.get_draining_nodes().keys()  # noqa: SLF001 - nothing public has it


class _RayLink:
    """The connection to the actor of a node."""

    def __init__(self, actor: Any) -> None:  # noqa: ANN401 - Ray's handles have no types
        self._actor = actor

    async def send(self, frames: bytes) -> None:
        await _answer(self._actor.send.remote(frames))

    async def events(self, after: int) -> list[bytes] | None:
        events: list[bytes] | None = await _answer(self._actor.events.remote(after))
        return events

    async def read(self, path: str, offset: int, size: int) -> bytes:
        data: bytes = await _answer(self._actor.read.remote(path, offset, size))
        return data

    async def about(self) -> tuple[str, float, bool]:
        about: tuple[str, float, bool] = await _answer(self._actor.about.remote())
        return about

    async def close(self) -> None:
        with suppress(RayError):
            await to_thread.run_sync(ray.kill, self._actor, abandon_on_cancel=True)


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
    # threads of Ray print to stdout what happens to nodes, whatever its settings; there, a script looks for the result
    with redirect_stdout(_Nowhere()):
        await _connect(head)
        try:
            yield RayCluster()
        finally:
            with CancelScope(shield=True), move_on_after(SHUTDOWN_LIMIT_S):
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
            f"The Ray cluster did not answer within {CONNECT_LIMIT_S:.0f} s. `ray status` shows its state."
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

        # `ray start` uses the token that it finds, and so does `ray.init`, but not where it is given an address
        maybe_enable_token_auth_if_token_available(warn_if_disabled=False)
    ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
