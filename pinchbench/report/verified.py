"""Format what `verify` found, as lines for a terminal and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from pinchbench.report.text import many
from pinchbench.results.verify import State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinchbench.results.verify import Verified


def lines(one: Verified) -> Iterator[str]:
    """Yield a line for the run, and one for each difference or missing digest."""
    yield f"{one.state.value:<10}  {one.run}"
    match one.state:
        case State.VERIFIED:
            yield f"  {many(one.records, 'record')} and {many(one.files, 'file')} are as they were written"
        case State.UNREADABLE:
            yield f"  {one.problem}"
        case State.ALTERED | State.UNVERIFIED:
            yield from (f"  {sentence}" for sentence in (*one.differences, *one.unverified))


def row(one: Verified) -> dict[str, object]:
    """Return the object for `--json`."""
    if one.state is State.UNREADABLE:
        return {"run": one.run, "state": one.state.value, "problem": one.problem}
    values = asdict(one)
    del values["problem"]
    return {"run": values.pop("run"), "state": one.state.value, **values}
