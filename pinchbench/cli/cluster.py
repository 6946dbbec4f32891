"""Do the work of a command on the nodes of a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from pinchbench.errors import ClusterError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from pinchbench.cluster.ray_cluster import RayCluster
    from pinchbench.results.finished_run import Result


T = TypeVar("T")
Work: TypeAlias = "Callable[..., Coroutine[Any, Any, T]]"


RAY = "ray"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChosenCluster:
    """The Ray cluster with this head, as HOST:PORT; empty for the one that this machine is part of."""

    head: str = ""


def take_cluster(cluster: str | None) -> ChosenCluster | None:
    """Take --cluster; None without a cluster. Raises ConfigError."""
    if cluster is None:
        return None
    engine, _, head = cluster.partition("://")
    if engine != RAY or ("://" in cluster) != bool(head):
        raise ConfigError(f"--cluster {cluster} is neither `ray` nor `ray://HOST:PORT`.")
    return ChosenCluster(head=head)


def on_cluster(work: Work[Result], cluster: ChosenCluster | None) -> Work[Result]:
    """Return the work of a run with its slots on the nodes of a cluster; as it is without one.

    Raises ClusterError when Ray is not installed.
    """

    def pool(nodes: RayCluster) -> dict[str, object]:
        from pinchbench.cluster.pool import ClusterPool  # with a cluster only

        return {"pool": ClusterPool(nodes)}

    return _connected(work, cluster, pool)


def several_on_cluster(work: Work[T], cluster: ChosenCluster | None, *, runs: int) -> Work[T]:
    """Return the work of so many runs with their slots on the nodes of a cluster, which they share; see `on_cluster`.

    Raises ClusterError when Ray is not installed.
    """

    def pools(nodes: RayCluster) -> dict[str, object]:
        from pinchbench.cluster.pool import ClusterPool, SharedNodes

        return {"pools": partial(ClusterPool, nodes, SharedNodes(runs))}

    return _connected(work, cluster, pools)


def _connected(
    work: Work[T], cluster: ChosenCluster | None, places: Callable[[RayCluster], dict[str, object]]
) -> Work[T]:
    """Return the work within a connection to a cluster, with what `places` makes of that; as it is without one."""
    if cluster is None:
        return work
    require_ray()

    async def connected(**how: Any) -> T:  # noqa: ANN401 - passed on
        from pinchbench.cluster.ray_cluster import connect  # Ray takes 0.3 s and 69 MB

        async with connect(cluster.head) as nodes:
            return await work(**places(nodes), **how)

    return connected


def require_ray() -> None:
    """Raise ClusterError when Ray is not installed."""
    if find_spec("ray") is None:
        raise ClusterError("--cluster needs Ray. Install it here and on each node: pip install 'pinchbench-async[ray]'")
