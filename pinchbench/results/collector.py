"""Pause the search for unreachable objects while a run is read: it would look at all that was read again and again."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def collector_paused(*, stays: bool = False) -> Iterator[None]:
    """Make many objects without Python's cyclic garbage collector, which takes half the time of reading a large run.

    Records and what is made of them hold no references in circles, so that there is nothing for it to find. `stays`:
    what was made is kept for long, and the collector leaves it aside from then on. So it does with what is unreachable
    at the end, and is never freed: not for what is done again and again. May be used by several threads at once; the
    collector runs again when the first of them is done. Where it was off before, it stays off.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if stays:
            gc.freeze()
        if was_on:
            gc.enable()
