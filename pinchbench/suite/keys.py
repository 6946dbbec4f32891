"""The keys of a task's YAML, and the detection of misspelt ones (pure)."""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING

from pinchbench.suite.spelling import misspelt

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pinchbench.suite.yaml_nodes import YamlNode


class KeyScope(Enum):
    """A mapping in a task's YAML; the value holds the keys that it may have."""

    HEAD = (
        "id",
        "name",
        "category",
        "tier",
        "grading_type",
        "grading_weights",
        "timeout_seconds",
        "workspace_files",
        "prerequisites",
        "sessions",
        "network",
        "services",
        "user_messages",
        "runs",
    )
    WEIGHTS = ("automated", "llm_judge")
    FILE = ("source", "dest", "path", "content")
    SERVICE = ("name", "command", "port", "folder", "ready", "limit", "env")
    SESSION = ("id", "prompt", "message", "new_session")


_OTHER_KEYS = frozenset({"subcategory", "sub_category", "multi_session"})  # used by other task packs
_SHAPES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "workspace_files": ("list",),
        "sessions": ("list",),
        "services": ("list",),
        "command": ("list",),
        "env": ("mapping",),
        "grading_weights": ("mapping",),
        "prerequisites": ("list", "text"),
    }
)


def misspelt_keys(fields: Mapping[str, YamlNode], place: KeyScope) -> Iterator[tuple[str, str]]:
    """Yield unknown keys that look like a missing known one, each with a sentence.

    Task files may have keys of their own: a key is not reported if its value does not have the known key's type.
    """
    for key, meant in misspelt([key for key in fields if key not in _OTHER_KEYS], known=place.value):
        if _shape(fields[key]) in _SHAPES.get(meant, ("text",)):
            yield key, f"`{key}` has no meaning here: did you mean `{meant}`?"


def _shape(node: YamlNode) -> str:
    if node.fields is not None:
        return "mapping"
    return "text" if node.items is None else "list"
