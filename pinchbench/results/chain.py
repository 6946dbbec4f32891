"""The numbers and digests that chain the lines of a journal, so that a change of any of them is noticed (pure).

A line ends in its number and a digest over the digest of the line before and its own bytes. Nothing in it is secret:
whoever rewrites all lines from a changed one on makes a chain that holds. Against that helps a copy of the last digest
elsewhere, such as in the aggregate.
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
    """A place in a chain: the number of the line, counted from 1, and its digest. Number 0 is the place before all."""

    number: int
    digest: str


def first_link(before: bytes) -> Link:
    """The place before the first line; `before` is the SHA-256 of all bytes that the file held when the chain began."""
    return Link(number=0, digest=before.hex()[:DIGEST_LENGTH])


def seal(line: bytes, last: Link) -> tuple[bytes, Link]:
    """Return a line with its number and digest, and its place. The line is a JSON object with members, without a newline."""
    numbered = line[:-1] + b',"seq":%d' % (last.number + 1)
    digest = _digest(last.digest, numbered)
    return numbered + b',"chain":"%s"}' % digest.encode(), Link(number=last.number + 1, digest=digest)


@dataclass(slots=True)
class Chain:
    """Checks the lines of a journal in their order.

    Attributes:
        last: the place of the last line that has one; None as long as no line had.
        digests: of the place before the first line that has one, and of each line from there on.
    """

    last: Link | None = None
    digests: list[str] = field(default_factory=list)

    def check(self, line: bytes, before: Callable[[], bytes]) -> str:
        """Say what is wrong with a line that has no newline; empty when it is as it was written.

        `before` gives what `first_link` needs; it is called once, at the first line that has a number. The lines before
        that one are those of an older release, and can't be checked one by one.
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
