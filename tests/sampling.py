"""Parameters of which `make test` takes a few, and `make test-long` the rest."""

from collections.abc import Collection, Iterable

import pytest


def sampled(values: Iterable[object], short: Collection[object]) -> list[object]:
    """Return the parameters of a test, with those marked `long` that are not in `short`."""
    return [value if value in short else pytest.param(value, marks=pytest.mark.long) for value in values]
