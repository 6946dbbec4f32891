"""What a judge sees of a transcript and a chat: entries, without what could tell the agent's model (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from pinchbench.grading.judge.question_blocks import NAME_CHARS, Block, BlockPart, as_json, as_text, one_line
from pinchbench.transcripts import INTERNAL_PROVIDER, parts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

TRANSCRIPT_CHARS = 120_000  # about 30 000 tokens: fits the context of every usable judge, together with the files
CHAT_CHARS = 40_000


class Limits(NamedTuple):
    """How many characters are shown of one tool result, one message, and one argument and all arguments of a call."""

    result: int
    message: int
    argument: int
    call: int


# A longer transcript is shown with the next limits: what tools have read gives way first, what the agent did last.
LIMITS = (
    Limits(6_000, 6_000, 6_000, 24_000),
    Limits(3_000, 6_000, 6_000, 24_000),
    Limits(1_500, 6_000, 6_000, 24_000),
    Limits(700, 6_000, 6_000, 24_000),
    Limits(300, 3_000, 6_000, 12_000),
    Limits(60, 1_000, 2_000, 4_000),
    Limits(60, 300, 500, 1_000),
    Limits(60, 60, 100, 200),
)
LEAST_CHARS = 60  # a note of what was cut is as long
ENTRY_CHARS = 45  # for the delimiters and the number of an entry
HIDDEN_NAMES = 64  # distinct model names, and as many provider names, that are masked in the material
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


def _left_out(found: re.Match[str]) -> str:
    key = found[found.lastindex] if found.lastindex else ""
    return f'{key}"{NOT_TOLD}"'


class ModelMention(StrEnum):
    """Where a text may name the agent's model, which is hidden from the judge."""

    NOWHERE = "nowhere"
    ANYWHERE = "anywhere"  # written by OpenClaw or the provider
    IN_WORDS = "in words"  # a tool's result: a provider's name in a path or a domain means something else


class _Text(NamedTuple):
    """A text, or its beginning and its end; `length` is that of all of it."""

    head: str
    tail: str
    length: int
    name: str = ""

    @property
    def is_cut(self) -> bool:
        return len(self.head) + len(self.tail) < self.length

    def cut(self, limit: int) -> _Text:
        shown = self.head + self.tail
        if len(shown) <= max(limit, LEAST_CHARS):
            return self
        half = limit // 2
        return self._replace(head=shown[:half], tail=shown[len(shown) - half :])

    def __str__(self) -> str:
        if not self.is_cut:
            return f"{self.name}{self.head}{self.tail}"
        gone = f"{self.length - len(self.head) - len(self.tail):,}".replace(",", " ")
        return f"{self.name}{self.head}\n[… {gone} characters left out …]\n{self.tail}"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    """An entry of the transcript: a tool's result, the arguments of a call, or one text."""

    title: str
    texts: tuple[_Text, ...]
    telltale: ModelMention = ModelMention.NOWHERE
    is_call: bool = False
    more: int = 0  # arguments of a call that are not shown

    @property
    def text(self) -> str:
        more = [f"[… {self.more} more arguments left out …]"] if self.more else []
        return "\n".join([*map(str, self.texts), *more])

    @property
    def chars(self) -> int:
        return len(self.title) + len(self.text) + ENTRY_CHARS

    @property
    def cuts(self) -> int:
        return sum(text.is_cut for text in self.texts) + (self.more > 0)

    def cut(self, limits: Limits) -> _Entry:
        """Return the entry within these limits."""
        if not self.is_call:
            limit = limits.result if self.telltale is ModelMention.IN_WORDS else limits.message
            return replace(self, texts=tuple(text.cut(limit) for text in self.texts))
        texts: list[_Text] = []
        room = limits.call
        for text in self.texts:
            if room <= 0:
                break
            texts.append(text.cut(min(limits.argument, room)))
            room -= len(str(texts[-1]))
        return replace(self, texts=tuple(texts), more=self.more + len(self.texts) - len(texts))


@dataclass(kw_only=True, slots=True)
class _Entries:
    """Turns events into entries, and collects the model and provider names to mask."""

    models: set[str] = field(default_factory=set)
    providers: set[str] = field(default_factory=set)
    sessions: int = 0

    def of(self, event: Mapping[str, object]) -> Iterator[_Entry]:
        message = event.get("message")
        if isinstance(event.get("raw"), str) and "parse_error" in event:
            text = _TELLTALE.sub(_left_out, str(event["raw"]))
            yield _piece("damaged piece of the transcript, as it was found", text, ModelMention.ANYWHERE)
        elif event.get("type") == "session":
            self.sessions += 1
            yield _piece(f"session {self.sessions} begins", "")
        elif event.get("type") == "compaction":
            title = "compaction: from here on the agent had this summary in place of what came before"
            yield _piece(title, as_text(event.get("summary")), ModelMention.ANYWHERE)
        elif event.get("type") == "model_change":
            self._remember(event.get("provider"), event.get("modelId"))
        elif event.get("type") == "message" and isinstance(message, dict):
            yield from self._message(message)

    def _message(self, message: Mapping[str, object]) -> Iterator[_Entry]:
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

    def _assistant(self, message: Mapping[str, object]) -> Iterator[_Entry]:
        title = "assistant message, a claim of the agent" + ENDINGS.get(as_text(message.get("stopReason")), "")
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
            error = as_text(message.get("errorMessage")) or "(no words)"
            yield _piece("error of the model's provider", error, ModelMention.ANYWHERE)

    def _remember(self, provider: object, *models: object) -> None:
        _add(self.providers, provider)
        for model in models:
            _add(self.models, model)
            if isinstance(provider, str) and isinstance(model, str):
                _add(self.models, f"{provider}/{model}")

    def censored(self, entry: _Entry) -> str:
        """Return the text of an entry without the model's and the provider's names.

        Call this after all events were read: only then are all names known.
        """
        names = _pattern(self.models, r"(?<!\w)", r"(?!\w)")
        match entry.telltale:
            case ModelMention.NOWHERE:
                return entry.text
            case ModelMention.ANYWHERE:
                names += _pattern(self.providers, r"(?<!\w)", r"(?!\w)")
            case ModelMention.IN_WORDS:
                names += _pattern(self.providers, r"(?<![\w/.@-])", r"(?![\w/@-]|\.\w)")
        return re.sub("|".join(names), NOT_TOLD, entry.text) if names else entry.text


def _add(names: set[str], name: object) -> None:
    if isinstance(name, str) and 1 < len(name) <= NAME_CHARS and len(names) < HIDDEN_NAMES:
        names.add(name)


def _pattern(names: Iterable[str], before: str, behind: str) -> list[str]:
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return [f"{before}{re.escape(name)}{behind}" for name in longest_first]


@dataclass(kw_only=True, slots=True)
class _Shown:
    """The entries that are shown. The first `first` ones stay when others have to be left out."""

    room: int
    entries: list[_Entry] = field(default_factory=list)
    level: int = 0
    chars: int = 0
    first: int = 0
    total: int = 0
    left_out: int = 0
    calls_left_out: int = 0

    def add(self, entry: _Entry) -> None:
        """Show an entry: with all others shorter if there is no room, and in the end instead of those in the middle."""
        self.total += 1
        self.entries.append(entry.cut(LIMITS[self.level]))
        self.chars += self.entries[-1].chars
        while self.chars > self.room and self.level + 1 < len(LIMITS):
            self.level += 1
            self.entries = [one.cut(LIMITS[self.level]) for one in self.entries]
            self.chars = sum(one.chars for one in self.entries)
        while self.chars > self.room:
            if not self.left_out:
                self.first = len(self.entries) // 2
            gone = self.entries.pop(self.first)
            self.chars -= gone.chars
            self.left_out += 1
            self.calls_left_out += gone.is_call

    def block(self, label: str, text_of: Callable[[_Entry], str]) -> tuple[Block, list[str]]:
        """Return the entries as a block, and phrases that say what of it was cut."""
        pieces: list[BlockPart] = []
        for place, entry in enumerate(self.entries):
            if self.left_out and place == self.first:
                pieces.append(BlockPart(title=f"[… {self.left_out} entries left out …]", text=""))
            number = place + 1 + (self.left_out if place >= self.first else 0)
            pieces.append(BlockPart(title=f"entry {number}: {entry.title}", text=text_of(entry)))
        if not pieces:
            pieces.append(BlockPart(title="", text=f"(The {label} is empty.)"))
        cut: list[str] = []
        if self.left_out:
            calls = f", {self.calls_left_out} tool calls among them" if self.calls_left_out else ""
            cut.append(f"{self.left_out} of {self.total} {label} entries{calls}")
        if texts := sum(entry.cuts for entry in self.entries):
            cut.append(f"the middle of {texts} long {'text' if texts == 1 else 'texts'} in the {label}")
        return Block(label=label, pieces=tuple(pieces)), cut


def view_transcript(events: Iterable[Mapping[str, object]]) -> tuple[Block, list[str]]:
    """Return the entries as a block, shortened until all have room, and phrases that say what was cut.

    If even so not all have room, the first and the last are shown. Memory is bounded by the limits, however long the
    transcript is.
    """
    entries, shown = _Entries(), _Shown(room=TRANSCRIPT_CHARS)
    for event in events:
        for entry in entries.of(event):
            shown.add(entry)
    return shown.block("transcript", entries.censored)


def view_chat(messages: Iterable[Mapping[str, object]]) -> tuple[Block, list[str]]:
    """Return the messages of a chat in the same way."""
    shown = _Shown(room=CHAT_CHARS)
    for one in messages:
        media = one["media"]
        files = f"[sent with it: {one_line(as_json(media))}]" if media else ""
        title = one_line(f"{one['at']}, {one['from']} to {one['to']}")
        shown.add(_piece(title, "\n".join(filter(None, (as_text(one["text"]), files)))))
    return shown.block("chat", lambda entry: entry.text)


def _piece(title: str, text: str, telltale: ModelMention = ModelMention.NOWHERE) -> _Entry:
    return _Entry(title=title, texts=(_Text(text, "", len(text)),), telltale=telltale)


def _text(parts: Iterable[Mapping[str, object]]) -> str:
    """Return the text of message parts. Images, thinking and other parts are named by their type only."""
    return "\n".join(
        as_text(part.get("text")) if part.get("type") == "text" else f"[part of the type {one_line(part.get('type'))}]"
        for part in parts
    )


def _call(part: Mapping[str, object]) -> _Entry:
    arguments = part.get("arguments")
    named = arguments.items() if isinstance(arguments, dict) else [(None, arguments)]
    texts: list[_Text] = []
    room = LIMITS[0].call
    for key, value in named:
        if room <= 0:
            break
        text = as_json(value) if key is None or not isinstance(value, str) else value
        name = "" if key is None else f"{one_line(key)}: "
        texts.append(_Text(text, "", len(text), name))
        room -= len(name) + min(len(text), LIMITS[0].argument)
    title = f"call of the tool {one_line(part.get('name'))}"
    return _Entry(title=title, texts=tuple(texts), is_call=True, more=len(named) - len(texts))
