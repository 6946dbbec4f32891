"""A provider of nodes for Ray's autoscaler, which starts them on this machine; their memory is what the config says."""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest.mock import patch

from ray._private import parameter
from ray.autoscaler._private.fake_multi_node.node_provider import FakeMultiNodeProvider


class Provider(FakeMultiNodeProvider):  # type: ignore[misc] # Ray has no types
    """Ray's own fake takes the memory of a node for a resource that Ray does not know."""

    def _create_node_with_resources_and_labels(
        self,
        node_config: Any,
        tags: Any,
        count: int,
        resources: dict[str, float],
        labels: Any,
    ) -> None:
        others = {name: value for name, value in resources.items() if name != "memory"}
        with patch.object(parameter, "RayParams", partial(parameter.RayParams, memory=resources["memory"])):
            super()._create_node_with_resources_and_labels(node_config, tags, count, others, labels)
