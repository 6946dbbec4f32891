"""Do the work of a command on the nodes of a cluster."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from pinchbench.errors import ClusterError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


T = TypeVar("T")
Work: TypeAlias = "Callable[..., Coroutine[Any, Any, T]]"


RAY = "ray"


def take_cluster(cluster: str | None) -> str | None:
    """Return the head of the Ray cluster that --cluster names, as HOST:PORT; None without a cluster.

    It is empty for the cluster that this machine is part of. Raises ConfigError.
    """
    if cluster is None:
        return None
    engine, _, head = cluster.partition("://")
    if engine != RAY or ("://" in cluster) != bool(head):
        raise ConfigError(f"--cluster {cluster} is neither `ray` nor `ray://HOST:PORT`.")
    return head


def on_cluster(work: Work[T], head: str | None, *, runs: int | None = None) -> Work[T]:
    """Return the work of a run with its slots on the nodes of the cluster with this head; unchanged without a head.

    With `runs`, it is the work of so many runs, which share the nodes. Raises ClusterError when Ray is not installed.
    """
    if head is None:
        return work
    require_ray()

    async def connected(**how: Any) -> T:  # noqa: ANN401 - passed on
        from pinchbench.cluster.pool import ClusterPool, SharedNodes  # with a cluster only
        from pinchbench.cluster.ray_cluster import connect  # Ray takes 0.3 s and 69 MB

        async with connect(head) as nodes:
            if runs is None:
                return await work(pool=ClusterPool(nodes), **how)
            return await work(pools=partial(ClusterPool, nodes, SharedNodes(runs)), **how)

    return connected


def require_ray() -> None:
    """Raise ClusterError when Ray is not installed."""
    if find_spec("ray") is None:
        raise ClusterError("--cluster needs Ray. Install it here and on each node: pip install 'pinchbench-async[ray]'")
