"""The question to a judge as blocks of text that their contents cannot close early (pure)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

NAME_CHARS = 200  # of one path, tool or criterion


@dataclass(frozen=True, kw_only=True, slots=True)
class BlockPart:
    """A part of a block, below a title line."""

    title: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """Content between two delimiter lines that nothing inside can imitate."""

    label: str
    pieces: tuple[BlockPart, ...]


def choose_mark(blocks: Iterable[Block]) -> str:
    """Choose a mark that occurs in none of the contents.

    It is derived from a digest of all of them, so that content can't be written to contain it.
    """
    contents = [text for block in blocks for piece in block.pieces for text in (block.label, piece.title, piece.text)]
    digest = hashlib.sha256()
    for text in contents:
        data = text.encode("utf-8", "replace")
        digest.update(b"%d:" % len(data) + data)
    mark = digest.hexdigest()[:16]
    while any(mark in text for text in contents):
        mark = hashlib.sha256(mark.encode()).hexdigest()[:16]
    return mark


def render(block: Block, mark: str) -> str:
    """Write a block between its delimiter lines.

    `mark` must not occur in the contents, or they could close the block.
    """
    lines = [f"===== {mark} BEGIN {block.label} ====="]
    for piece in block.pieces:
        if piece.title:
            lines.append(f"----- {mark} {piece.title} -----")
        if piece.text:
            lines.append(piece.text)
    lines.append(f"===== {mark} END {block.label} =====")
    return "\n".join(lines)


def one_line(value: object) -> str:
    """Shorten a name to one line, so that it can't begin another line."""
    name = "(unnamed)" if value is None else as_text(value)
    text = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in name[: 2 * NAME_CHARS])
    return text if len(text) <= NAME_CHARS else f"{text[:NAME_CHARS]}…"


def as_text(value: object) -> str:
    """Return a string as it is, nothing for None, and other values as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else as_json(value)


def as_json(value: object) -> str:
    """Return a value as JSON, or a note that this can't be done."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):
        return "[can't be written as JSON]"
