"""The question to a judge as blocks that their contents cannot close early, and those of an agent's files (pure)."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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


# Limits count characters of the original text; notes about what was cut are added on top.
FILE_CHARS = 20_000
FILES_CHARS = 80_000
# Of an unchanged file of the task that the grading does not name: a letter is whole, a log is not.
GIVEN_FILE_CHARS = 6_000
GIVEN_FILES_CHARS = 24_000  # of all of these
LEAST_CHARS = 400  # a shorter excerpt of a long file is of no use
FILE_NAMES = 300
NAMED_CUTS = 10  # at most this many cut files are named individually
# Folders of third-party or generated files: downloaded, built or cached by tools.
OTHERS_FOLDERS = frozenset(
    {
        *("node_modules", "bower_components", "site-packages", "venv", ".venv", ".git", ".hg", ".svn", "__pycache__"),
        *(".cache", ".npm", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache"),
    }
)
OTHERS_ENDINGS = (".dist-info", ".egg-info")


@dataclass(frozen=True, kw_only=True, slots=True)
class FileView:
    """A file of the workspace as the agent left it.

    `size` is in bytes. `text` is None if the file is not text, or if there was `no_room` to read it and its contents
    are unknown; it may be only the beginning of a long file. `given` is true if the task put the file there and the
    agent did not change it.
    """

    path: str
    size: int
    text: str | None
    given: bool
    no_room: bool = False

    @property
    def rank(self) -> int:
        """The file's origin, most important first: 0 the agent's work, 1 the task's, 2 third-party or generated."""
        return 2 if is_others_work(self.path) else int(self.given)

    @property
    def counted(self) -> str:
        """The numbers of words, divided by white space, and of lines; empty if the text is not known to its end."""
        if self.text is None or len(self.text.encode("utf-8", "replace")) < self.size:
            return ""
        return f"words: {len(self.text.split())}, lines: {len(StringIO(self.text, newline=None).readlines())}"

    def is_named_in(self, text: str) -> bool:
        """Return whether a text names the file, by its path or by its name alone."""
        return re.search(rf"(?<![\w.-]){re.escape(self.path.rpartition('/')[2])}(?![\w-])", text) is not None


def is_others_work(path: str) -> bool:
    """Return whether a file lies in a folder that tools fill, such as `node_modules`."""
    folders = path.split("/")[:-1]
    return any(folder in OTHERS_FOLDERS or folder.endswith(OTHERS_ENDINGS) for folder in folders)


@dataclass(frozen=True, kw_only=True, slots=True)
class FilesView:
    """The files of a workspace as blocks, and phrases that say what was cut."""

    given: tuple[Block, ...]
    listing: Block
    judged: tuple[Block, ...]
    cut: tuple[str, ...]


def view_files(files: Sequence[FileView], grading: str) -> FilesView:
    """List the files and show their texts.

    `judged` are the agent's own or changed files, those near the top of the tree first. `given` are all others; of
    these, the ones that `grading` does not name have little room: they are what the agent worked on, and long.
    """
    ordered = sorted(files, key=lambda file: (file.rank, file.path.count("/"), file.path))
    listing = Block(label="list of files in the workspace", pieces=(BlockPart(title="", text=_listing(ordered)),))
    cut = [f"{len(ordered) - FILE_NAMES} of {len(ordered)} file names"] if len(ordered) > FILE_NAMES else []
    texts = [(file, file.text) for file in ordered[:FILE_NAMES] if file.text]
    blocks: dict[bool, list[Block]] = {True: [], False: []}
    shortened: list[str] = []
    for (file, text), share in zip(texts, _shares([file for file, _ in texts], grading), strict=True):
        shown = text[:share]
        seen_bytes = len(shown.encode("utf-8", "replace"))
        pieces = [BlockPart(title="", text=shown)]
        if len(shown) < len(text) or seen_bytes < file.size:  # `text` may be only the beginning
            pieces.append(
                BlockPart(title=f"[… {max(0, file.size - seen_bytes)} bytes of the file left out …]", text="")
            )
        if shown:
            block = Block(label=f"file {one_line(file.path)} ({_origin(file)})", pieces=tuple(pieces))
            blocks[bool(file.rank)].append(block)
            if len(pieces) > 1:
                shortened.append(f"{one_line(file.path)} after {seen_bytes} of {file.size} bytes")
    cut += shortened[:NAMED_CUTS]
    if len(shortened) > NAMED_CUTS:
        cut.append(f"the ends of {len(shortened) - NAMED_CUTS} more files")
    total = sum(bool(file.text) for file in files)
    if unseen := total - len(blocks[True]) - len(blocks[False]):
        cut.append(f"the contents of {unseen} of {total} text files")
    if unread := sum(file.no_room for file in files):
        cut.append(f"the contents of {unread} {'file' if unread == 1 else 'files'} that had no room to be read")
    return FilesView(given=tuple(blocks[True]), listing=listing, judged=tuple(blocks[False]), cut=tuple(cut))


def _shares(files: Sequence[FileView], grading: str) -> list[int]:
    """Return how many characters of each file are shown, the agent's files first.

    Short files are shown whole before long ones get more, so that bulk data does not displace a short report.
    """
    shares = [0] * len(files)
    room = FILES_CHARS
    of_grading = [not file.rank or file.is_named_in(grading) for file in files]
    groups = [(file.rank, not named) for file, named in zip(files, of_grading, strict=True)]
    for group in sorted(set(groups)):
        _, is_short = group
        most, left = (GIVEN_FILE_CHARS, min(room, GIVEN_FILES_CHARS)) if is_short else (FILE_CHARS, room)
        room -= left
        waiting = sorted(
            (len(file.text or ""), index)
            for index, (file, its_group) in enumerate(zip(files, groups, strict=True))
            if its_group == group
        )
        for behind, (length, index) in enumerate(waiting):
            wanted = min(length, most)
            share = min(wanted, left // (len(waiting) - behind))
            if share == wanted or share >= LEAST_CHARS:
                shares[index] = share
                left -= share
        room += left
    return shares


def _origin(file: FileView) -> str:
    return "given with the task, unchanged" if file.given else "made or changed by the agent"


def _listing(files: Sequence[FileView]) -> str:
    if not files:
        return "(The workspace has no files.)"
    lines = []
    for file in files[:FILE_NAMES]:
        if file.no_room:  # not read, so its origin is unknown too
            lines.append(f"- {one_line(file.path)}: {file.size} bytes, not shown: too large")
            continue
        kind = ", not shown: no text" if file.text is None else ""
        counted = f", {file.counted}" if file.counted and not file.rank else ""
        lines.append(f"- {one_line(file.path)}: {file.size} bytes, {_origin(file)}{kind}{counted}")
    if len(files) > FILE_NAMES:
        lines.append(f"[… {len(files) - FILE_NAMES} names left out …]")
    return "\n".join(lines)
