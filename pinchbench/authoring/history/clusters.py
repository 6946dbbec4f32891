"""Groups similar requests, so that a few of them stand for all of a user's work (pure)."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.authoring.history.conversations import Conversation

ALIKE = 0.3  # cosine of two requests' features from which on they are of one kind
_WORD = re.compile(r"[^\W\d_]{3,}")
_SUFFIX = re.compile(r"\.([A-Za-z]\w{0,4})\b")


def cluster(conversations: Sequence[Conversation]) -> tuple[int, ...]:
    """Return the number of each conversation's group, from 0; similar ones have the same.

    They are similar if they have words of the prompt, kinds of files and tools in common; what many have counts less.
    """
    features = [_features(conversation) for conversation in conversations]
    spread = Counter(name for one in features for name in one)
    total = len(features)
    vectors = [_unit({name: math.log(1 + total / spread[name]) for name in one}) for one in features]
    leaders: list[Mapping[str, float]] = []
    groups: list[int] = []
    for vector in vectors:
        likeness = [sum(value * leader.get(name, 0.0) for name, value in vector.items()) for leader in leaders]
        best = max(range(len(likeness)), key=likeness.__getitem__, default=-1)
        if best < 0 or likeness[best] < ALIKE:
            best = len(leaders)
            leaders.append(vector)
        groups.append(best)
    return tuple(groups)


def _features(conversation: Conversation) -> set[str]:
    prompt = conversation.turns[0].prompt[:2000]
    words = {word.lower() for word in _WORD.findall(prompt)}
    words.update(f".{suffix.lower()}" for suffix in _SUFFIX.findall(prompt))
    words.update(f"tool {name}" for name in conversation.tools)
    return words


def _unit(vector: Mapping[str, float]) -> Mapping[str, float]:
    length = math.sqrt(sum(value * value for value in vector.values())) or 1.0
    return {name: value / length for name, value in vector.items()}
