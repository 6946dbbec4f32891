"""The numbers and digests that chain the lines of a journal, so that a change to any of them is detected (pure).

A line ends with its number and a digest of the previous line's digest and its own bytes. Nothing in it is secret:
rewriting all lines from the changed one on produces a valid chain. A copy of the last digest elsewhere, such as in the
aggregate, protects against that.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

DIGEST_LENGTH = 32  # hexadecimal digits: 128 bits of a SHA-256
SEAL = re.compile(rb',"seq":([1-9][0-9]{0,14}),"chain":"([0-9a-f]{32})"\}\Z')


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """A position in a chain: a line's number, counted from 1, and its digest. Number 0 is before the first line."""

    number: int
    digest: str


def first_link(before: bytes) -> Link:
    """Return the position before the first line; `before` is the SHA-256 of the whole file when the chain began."""
    return Link(number=0, digest=before.hex()[:DIGEST_LENGTH])


def seal(line: bytes, last: Link) -> tuple[bytes, Link]:
    """Return a line with its number and digest added, and its position.

    The line is a non-empty JSON object without a newline.
    """
    numbered = line[:-1] + b',"seq":%d' % (last.number + 1)
    digest = _digest(last.digest, numbered)
    return numbered + b',"chain":"%s"}' % digest.encode(), Link(number=last.number + 1, digest=digest)


@dataclass(slots=True)
class Chain:
    """Checks the lines of a journal in order.

    Attributes:
        last: the position of the last chained line; None until there is one.
        digests: the digest of the position before the first chained line, and of each line from there on.
    """

    last: Link | None = None
    digests: list[str] = field(default_factory=list)

    def check(self, line: bytes, before: Callable[[], bytes]) -> str:
        """Return what is wrong with a line, given without its newline; empty if it is as it was written.

        `before` returns the argument for `first_link`; it is called once, at the first chained line. The lines before
        that one were written by an older release and can't be checked individually.
        """
        found = SEAL.search(line)
        if found is None:
            return "" if self.last is None else "it has no number and digest, so this program did not write it"
        if self.last is None:
            self.last = first_link(before())
            self.digests.append(self.last.digest)
        expected = self.last
        number, stated = int(found[1]), found[2].decode()
        self.last = Link(number=number, digest=stated)
        self.digests.append(stated)
        if number != expected.number + 1:
            return _gap(number, expected.number)
        if stated != _digest(expected.digest, line[: found.start(2) - len(',"chain":"')]):
            return f"record {number} is not as it was written" + (
                ", or what stands before it is not" if number == 1 else ""
            )
        return ""


def _gap(number: int, last: int) -> str:
    if number <= last:
        return f"record {number} follows record {last}: lines were repeated or put in another order"
    missing = f"record {last + 1} is" if number == last + 2 else f"records {last + 1} to {number - 1} are"
    return f"{missing} missing or damaged: record {number} follows record {last}"


def _digest(before: str, line: bytes) -> str:
    return hashlib.sha256(before.encode() + line).hexdigest()[:DIGEST_LENGTH]
