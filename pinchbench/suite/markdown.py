"""Parsing a task's Markdown: its head, its `##` sections and the fences in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# A fence may open after a list marker; otherwise its end would be read as an opening.
_FENCE_OPEN = re.compile(
    r"(?P<indent> {0,3}(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<marks>`{3,}|~{3,})(?P<info>.*)",
)
_FENCE_CLOSE = re.compile(r" *(?P<marks>`{3,}|~{3,}) *")
_HEADING = re.compile(r" {0,3}##[ \t](?P<title>.*)")
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+$")
_FIRST_INDENTED_CODE_COLUMN = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeFence:
    """A fenced block. `line` is the file's line of the opening marks; `closed` says whether an end was found."""

    line: int
    language: str
    text: str
    closed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """The contents below one `##` heading. `line` is the heading's line in the file."""

    title: str
    line: int
    text: str
    fences: tuple[CodeFence, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A parsed Markdown file.

    `head` is the YAML between the `---` lines (None if there is no head) and starts on `head_line`. `sections` are
    keyed by their titles in lower case; if a title is repeated the last section counts, as in other PinchBench runners.
    `open_fence` is the line of a fence that is never closed.
    """

    head: str | None
    head_line: int
    sections: dict[str, Section]
    open_fence: int | None


def read_document(text: str) -> Document:
    """Split a Markdown text into head and sections. Accepts any text, including a BOM and CRLF."""
    lines = _lines(text)
    start = _first_line(lines)
    end = _head_end(lines, start)
    head, body_start = (None, 0) if end is None else ("\n".join(lines[start + 1 : end]), end + 1)
    sections = {" ".join(section.title.lower().split()): section for section in _sections(lines, body_start)}
    unclosed = (fence.line for section in sections.values() for fence in section.fences if not fence.closed)
    return Document(head=head, head_line=start + 2, sections=sections, open_fence=next(unclosed, None))


def read_head(text: str) -> str | None:
    """Return only the head, as `read_document` does, for texts that may not be tasks."""
    lines = _lines(text)
    start = _first_line(lines)
    end = _head_end(lines, start)
    return None if end is None else "\n".join(lines[start + 1 : end])


def split_fences(text: str) -> tuple[str, tuple[CodeFence, ...]]:
    """Return the text outside the fences, and the fences."""
    lines = _lines(text)
    fences: list[CodeFence] = []
    outside: list[str] = []
    number = 0
    while number < len(lines):
        if opening := _fence_opening(lines[number]):
            fence, number = _read_fence(lines, number, opening)
            fences.append(fence)
        else:
            outside.append(lines[number])
            number += 1
    return "\n".join(outside), tuple(fences)


def _lines(text: str) -> Sequence[str]:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _first_line(lines: Sequence[str]) -> int:
    """Return the index of the first line that is not blank; 0 if all are blank."""
    return next((number for number, line in enumerate(lines) if line.strip()), 0)


def _head_end(lines: Sequence[str], start: int) -> int | None:
    """Return the index of the line that ends the head; None if no head begins at `start` or it has no end."""
    if lines[start].rstrip() != "---":
        return None
    return next((number for number in range(start + 1, len(lines)) if lines[number].rstrip() == "---"), None)


def _sections(lines: Sequence[str], start: int) -> Iterator[Section]:
    title, first = "", start
    fences: list[CodeFence] = []

    def section(end: int) -> Section:
        return Section(title=title, line=first, text="\n".join(lines[first:end]).strip(), fences=tuple(fences))

    number = start
    while number < len(lines):
        if opening := _fence_opening(lines[number]):
            fence, number = _read_fence(lines, number, opening)
            fences.append(fence)
            continue
        if heading := _HEADING.fullmatch(lines[number]):
            yield section(number)
            title, first, fences = _CLOSING_HASHES.sub("", heading["title"].strip()), number + 1, []
        number += 1
    yield section(len(lines))


def _fence_opening(line: str) -> re.Match[str] | None:
    opening = _FENCE_OPEN.fullmatch(line)
    # More backticks on the same line mean inline code, not a fence.
    return None if opening and opening["marks"][0] == "`" and "`" in opening["info"] else opening


def _read_fence(lines: Sequence[str], start: int, opening: re.Match[str]) -> tuple[CodeFence, int]:
    """Read the fence that opens at index `start`; return it and the index after it."""
    marks, indent = opening["marks"], len(opening["indent"])

    def ends(line: str) -> bool:
        closing = _FENCE_CLOSE.fullmatch(line.expandtabs(4))
        if closing is None or closing["marks"][0] != marks[0] or len(closing["marks"]) < len(marks):
            return False
        return closing.start("marks") < indent + _FIRST_INDENTED_CODE_COLUMN

    end = next((number for number in range(start + 1, len(lines)) if ends(lines[number])), None)
    stop = len(lines) if end is None else end
    content = "\n".join(_unindented(line, indent) for line in lines[start + 1 : stop])
    words = opening["info"].lower().split()
    language = words[0] if words else ""
    return CodeFence(line=start + 1, language=language, text=content, closed=end is not None), stop + 1


def _unindented(line: str, indent: int) -> str:
    """Remove at most as many leading spaces as the fence has."""
    return line[min(indent, len(line) - len(line.lstrip(" "))) :]
