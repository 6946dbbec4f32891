"""Removing chance from a check's process: random numbers, the order of folders, names of temporary files."""

from __future__ import annotations

import os
import random
import tempfile
from random import Random
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

SEED = 0

# References taken before the originals are replaced.
listdir, scandir = os.listdir, os.scandir


def exclude_chance() -> None:
    """Make random and unordered results of this process the same in every check.

    Programs that the check starts are not affected; they only share its hash seed.
    """
    os.umask(0o022)
    random.seed(SEED)
    source = Random(SEED)  # noqa: S311 - predictable on purpose
    os.urandom = source.randbytes  # the source of `uuid`, `secrets` and numpy's generators
    random._urandom = source.randbytes  # type: ignore[attr-defined]  # noqa: SLF001
    names = tempfile._get_candidate_names()  # type: ignore[attr-defined]  # noqa: SLF001
    names._rng, names._rng_pid = Random(SEED), os.getpid()  # noqa: S311, SLF001 - a fork creates its own
    os.listdir = _sorted_names  # type: ignore[assignment]
    os.scandir = _SortedEntries  # type: ignore[assignment]
    os.supports_fd |= {os.listdir, os.scandir}


def _sorted_names(path: str | int | os.PathLike[str] | None = None) -> list[str]:
    return sorted(listdir(path))


class _SortedEntries:
    """The entries that `os.scandir` returns, sorted by name."""

    def __init__(self, path: str | int | os.PathLike[str] | None = None) -> None:
        with scandir(path) as listing:
            self._entries = iter(sorted(listing, key=lambda entry: entry.name))

    def __iter__(self) -> Iterator[os.DirEntry[str]]:
        return self

    def __next__(self) -> os.DirEntry[str]:
        return next(self._entries)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())
