"""What a judge sees of a trial: blocks of text that their contents cannot close early (pure)."""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from pinchbench.transcript.lines import INTERNAL_PROVIDER, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# Limits count characters of the original text; notes about what was cut are added on top.
PIECE_CHARS = 6_000  # of one message, one argument of a tool call, one tool result
CALL_CHARS = 24_000  # of all arguments of one tool call
TRANSCRIPT_CHARS = 120_000  # about 30 000 tokens: fits the context of every usable judge, together with the files
FILE_CHARS = 20_000
FILES_CHARS = 80_000
LEAST_CHARS = 400  # a shorter excerpt of a long file is of no use
FILE_NAMES = 300
NAME_CHARS = 200  # of one path, tool or criterion
NAMED_CUTS = 10  # at most this many cut files are named individually
HIDDEN_NAMES = 64  # distinct model names, and as many provider names, that are masked in the material
# Folders of third-party or generated files: downloaded, built or cached by tools.
OTHERS_FOLDERS = frozenset(
    {
        "node_modules",
        "bower_components",
        "site-packages",
        "venv",
        ".venv",
        ".git",
        ".hg",
        ".svn",
        "__pycache__",
        ".cache",
        ".npm",
        ".tox",
        ".nox",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
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


def is_others_work(path: str) -> bool:
    """Return whether a file lies in a folder that tools fill, such as `node_modules`."""
    folders = path.split("/")[:-1]
    return any(folder in OTHERS_FOLDERS or folder.endswith(OTHERS_ENDINGS) for folder in folders)


class ModelMention(StrEnum):
    """Where a text may name the agent's model, which is hidden from the judge."""

    NOWHERE = "nowhere"
    ANYWHERE = "anywhere"  # written by OpenClaw or the provider
    IN_WORDS = "in words"  # a tool's result: a provider's name in a path or a domain means something else


@dataclass(frozen=True, kw_only=True, slots=True)
class BlockPart:
    """A part of a block, below a title line. `cuts` counts the texts that were shortened."""

    title: str
    text: str
    cuts: int = 0
    telltale: ModelMention = ModelMention.NOWHERE

    @property
    def chars(self) -> int:
        """The number of characters that count towards the limits."""
        return len(self.title) + len(self.text)


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


NOT_TOLD = "[not told]"  # explained in the judge's instructions
ENDINGS = {"aborted": ", broken off", "length": ", cut off at the model's own limit"}
# A damaged piece can't be parsed, so the model's name and the usage are found by patterns.
_TELLTALE = re.compile(
    r'("(?:provider|model|modelId|modelApi|api|responseModel|responseId)"\s*:\s*)"(?:[^"\\]|\\.)*"?'
    r'|("(?:usage|cost)"\s*:\s*)\{[^{}]*(?:\{[^{}]*\}?[^{}]*)?\}?'
    r'|("(?:cacheRead|cacheWrite|totalTokens|input|output|total)"\s*:\s*)[\d.eE+-]+'
    # the piece may begin inside such a key or value
    r'|\A\w{0,20}"\s*:\s*[\d.eE+-]+'
    r'|\A[^"{}]{0,200}"(?=\s*,\s*"(?:provider|model|api|usage|stopReason)")'
)


def _not_told(found: re.Match[str]) -> str:
    key = found[found.lastindex] if found.lastindex else ""
    return f'{key}"{NOT_TOLD}"'


@dataclass(kw_only=True, slots=True)
class _Entries:
    """Turns events into entries, and collects the model and provider names to mask."""

    models: set[str] = field(default_factory=set)
    providers: set[str] = field(default_factory=set)
    sessions: int = 0

    def of(self, event: Mapping[str, object]) -> Iterator[BlockPart]:
        message = event.get("message")
        if isinstance(event.get("raw"), str) and "parse_error" in event:
            text = _TELLTALE.sub(_not_told, str(event["raw"]))
            yield _piece("damaged piece of the transcript, as it was found", text, ModelMention.ANYWHERE)
        elif event.get("type") == "session":
            self.sessions += 1
            yield _piece(f"session {self.sessions} begins", "")
        elif event.get("type") == "compaction":
            title = "compaction: from here on the agent had this summary in place of what came before"
            yield _piece(title, _string(event.get("summary")), ModelMention.ANYWHERE)
        elif event.get("type") == "model_change":
            self._remember(event.get("provider"), event.get("modelId"))
        elif event.get("type") == "message" and isinstance(message, dict):
            yield from self._message(message)

    def _message(self, message: Mapping[str, object]) -> Iterator[BlockPart]:
        match message.get("role"):
            case "user":
                yield _piece("user message", _text(parts_of(message)))
            case "toolResult":
                error = ", which is an error" if message.get("isError") is True else ""
                title = f"result of the tool {one_line(message.get('toolName'))}{error}"
                yield _piece(title, _text(parts_of(message)), ModelMention.IN_WORDS)
            case "assistant":
                yield from self._assistant(message)
            case role:
                yield _piece(f"message of the role {one_line(role)}", _text(parts_of(message)), ModelMention.ANYWHERE)

    def _assistant(self, message: Mapping[str, object]) -> Iterator[BlockPart]:
        title = "assistant message" + ENDINGS.get(_string(message.get("stopReason")), "")
        telltale = ModelMention.NOWHERE  # the agent's own text is not masked
        if message.get("provider") == INTERNAL_PROVIDER:
            title = "message that OpenClaw wrote by itself"
            telltale = ModelMention.ANYWHERE
        else:
            self._remember(message.get("provider"), message.get("model"), message.get("responseModel"))
        said: list[Mapping[str, object]] = []
        called = False
        for part in parts_of(message):
            if part.get("type") != "toolCall":
                said.append(part)
                continue
            if said:
                yield _piece(title, _text(said), telltale)
            said, called = [], True
            yield _call(part)
        failed = message.get("stopReason") == "error"
        if said or not (called or failed):
            yield _piece(title, _text(said), telltale)
        if failed:
            error = _string(message.get("errorMessage")) or "(no words)"
            yield _piece("error of the model's provider", error, ModelMention.ANYWHERE)

    def _remember(self, provider: object, *models: object) -> None:
        _add(self.providers, provider)
        for model in models:
            _add(self.models, model)
            if isinstance(provider, str) and isinstance(model, str):
                _add(self.models, f"{provider}/{model}")

    def censored(self, piece: BlockPart) -> BlockPart:
        """Mask the model's and the provider's names in a piece.

        Call this after all events were read: only then are all names known.
        """
        names = _pattern(self.models, r"(?<!\w)", r"(?!\w)")
        match piece.telltale:
            case ModelMention.NOWHERE:
                return piece
            case ModelMention.ANYWHERE:
                names += _pattern(self.providers, r"(?<!\w)", r"(?!\w)")
            case ModelMention.IN_WORDS:
                names += _pattern(self.providers, r"(?<![\w/.@-])", r"(?![\w/@-]|\.\w)")
        return replace(piece, text=re.sub("|".join(names), NOT_TOLD, piece.text) if names else piece.text)


def _add(names: set[str], name: object) -> None:
    if isinstance(name, str) and 1 < len(name) <= NAME_CHARS and len(names) < HIDDEN_NAMES:
        names.add(name)


def _pattern(names: Iterable[str], before: str, behind: str) -> list[str]:
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return [f"{before}{re.escape(name)}{behind}" for name in longest_first]


def view_transcript(events: Iterable[Mapping[str, object]]) -> tuple[Block, list[str]]:
    """Return the first and the last entries as a block, and phrases that say what was cut.

    Memory is bounded by the limits, however long the transcript is.
    """
    entries = _Entries()
    first: list[BlockPart] = []
    last: deque[BlockPart] = deque()
    total = left_out = 0
    head_room, tail_room = TRANSCRIPT_CHARS // 2, TRANSCRIPT_CHARS
    for event in events:
        for piece in entries.of(event):
            total += 1
            if not last and piece.chars <= head_room:
                first.append(piece)
                head_room -= piece.chars
                tail_room -= piece.chars
                continue
            last.append(piece)
            tail_room -= piece.chars
            while tail_room < 0:
                tail_room += last.popleft().chars
                left_out += 1
    pieces = [*_numbered(map(entries.censored, first), 1)]
    if left_out:
        pieces.append(BlockPart(title=f"[… {left_out} entries left out …]", text=""))
    pieces += _numbered(map(entries.censored, last), len(first) + left_out + 1)
    if not total:
        pieces.append(BlockPart(title="", text="(The transcript is empty.)"))
    cut = [f"{left_out} of {total} transcript entries"] if left_out else []
    if texts := sum(piece.cuts for piece in (*first, *last)):
        cut.append(f"the middle of {texts} long {'text' if texts == 1 else 'texts'} in the transcript")
    return Block(label="transcript", pieces=tuple(pieces)), cut


def _numbered(pieces: Iterable[BlockPart], start: int) -> Iterator[BlockPart]:
    for number, piece in enumerate(pieces, start=start):
        yield BlockPart(title=f"entry {number}: {piece.title}", text=piece.text)


def _piece(title: str, text: str, telltale: ModelMention = ModelMention.NOWHERE) -> BlockPart:
    kept, cuts = _shorten(text, PIECE_CHARS)
    return BlockPart(title=title, text=kept, cuts=cuts, telltale=telltale)


def _text(parts: Iterable[Mapping[str, object]]) -> str:
    """Return the text of message parts. Images, thinking and other parts are named by their type only."""
    return "\n".join(
        _string(part.get("text")) if part.get("type") == "text" else f"[part of the type {one_line(part.get('type'))}]"
        for part in parts
    )


def _call(part: Mapping[str, object]) -> BlockPart:
    title = f"call of the tool {one_line(part.get('name'))}"
    arguments = part.get("arguments")
    if not isinstance(arguments, dict):
        return _piece(title, _json(arguments))
    lines: list[str] = []
    room, cuts = CALL_CHARS, 0
    for key, value in arguments.items():
        if room <= 0:
            lines.append(f"[… {len(arguments) - len(lines)} more arguments left out …]")
            cuts += 1
            break
        text, was_cut = _shorten(value if isinstance(value, str) else _json(value), min(PIECE_CHARS, room))
        lines.append(f"{one_line(key)}: {text}")
        cuts += was_cut
        room -= len(lines[-1])
    return BlockPart(title=title, text="\n".join(lines), cuts=cuts)


def _string(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _json(value)


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):
        return "[can't be written as JSON]"


def _shorten(text: str, limit: int) -> tuple[str, int]:
    """Keep the head and the tail of a text longer than `limit`; return it with the number of cuts, 0 or 1."""
    if len(text) <= limit:
        return text, 0
    half = limit // 2
    gone = f"{len(text) - 2 * half:,}".replace(",", " ")
    return f"{text[:half]}\n[… {gone} characters left out …]\n{text[len(text) - half :]}", 1


def view_files(files: Sequence[FileView]) -> tuple[list[Block], list[str]]:
    """List the files and show their texts: the agent's own or changed files first, then the task's.

    Files near the top of the tree come before deeper ones, and folders such as `node_modules` come last. Also returns
    phrases that say what was cut.
    """
    ordered = sorted(files, key=lambda file: (file.rank, file.path.count("/"), file.path))
    blocks = [Block(label="list of files in the workspace", pieces=(BlockPart(title="", text=_listing(ordered)),))]
    cut = [f"{len(ordered) - FILE_NAMES} of {len(ordered)} file names"] if len(ordered) > FILE_NAMES else []
    texts = [(file, file.text) for file in ordered[:FILE_NAMES] if file.text]
    shortened: list[str] = []
    for (file, text), share in zip(texts, _shares([(file.rank, len(text)) for file, text in texts]), strict=True):
        shown = text[:share]
        seen_bytes = len(shown.encode("utf-8", "replace"))
        pieces = [BlockPart(title="", text=shown)]
        if len(shown) < len(text) or seen_bytes < file.size:  # `text` may be only the beginning
            pieces.append(
                BlockPart(title=f"[… {max(0, file.size - seen_bytes)} bytes of the file left out …]", text="")
            )
        if shown:
            blocks.append(Block(label=f"file {one_line(file.path)} ({_origin(file)})", pieces=tuple(pieces)))
            if len(pieces) > 1:
                shortened.append(f"{one_line(file.path)} after {seen_bytes} of {file.size} bytes")
    cut += shortened[:NAMED_CUTS]
    if len(shortened) > NAMED_CUTS:
        cut.append(f"the ends of {len(shortened) - NAMED_CUTS} more files")
    total = sum(bool(file.text) for file in files)
    if unseen := total - len(blocks) + 1:
        cut.append(f"the contents of {unseen} of {total} text files")
    if unread := sum(file.no_room for file in files):
        cut.append(f"the contents of {unread} {'file' if unread == 1 else 'files'} that had no room to be read")
    return blocks, cut


def _shares(files: Sequence[tuple[int, int]]) -> list[int]:
    """Return how many characters of each file (rank, length) are shown, the agent's files first.

    Short files are shown whole before long ones get more, so that bulk data does not displace a short report.
    """
    shares = [0] * len(files)
    room = FILES_CHARS
    for rank in sorted({rank for rank, _ in files}):
        waiting = sorted((length, index) for index, (its_rank, length) in enumerate(files) if its_rank == rank)
        for behind, (length, index) in enumerate(waiting):
            wanted = min(length, FILE_CHARS)
            share = min(wanted, room // (len(waiting) - behind))
            if share == wanted or share >= LEAST_CHARS:
                shares[index] = share
                room -= share
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
        lines.append(f"- {one_line(file.path)}: {file.size} bytes, {_origin(file)}{kind}")
    if len(files) > FILE_NAMES:
        lines.append(f"[… {len(files) - FILE_NAMES} names left out …]")
    return "\n".join(lines)


def one_line(value: object) -> str:
    """Shorten a name to one line, so that it can't begin another line."""
    name = "(unnamed)" if value is None else _string(value)
    text = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in name[: 2 * NAME_CHARS])
    return text if len(text) <= NAME_CHARS else f"{text[:NAME_CHARS]}…"
