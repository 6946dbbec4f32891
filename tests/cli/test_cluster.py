"""What --cluster may be."""

import pytest

from pinchbench.cli.cluster import take_cluster
from pinchbench.errors import ConfigError


def test_a_cluster_is_that_of_this_machine_or_named_by_its_head() -> None:
    assert take_cluster(None) is None
    assert take_cluster("ray") == ""
    assert take_cluster("ray://first:6379") == "first:6379"


@pytest.mark.parametrize("cluster", ["dask", "ray://", "first:6379", "RAY", ""])
def test_another_cluster_is_refused(cluster: str) -> None:
    with pytest.raises(ConfigError, match="neither `ray` nor"):
        take_cluster(cluster)
