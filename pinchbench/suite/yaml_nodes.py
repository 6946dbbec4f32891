"""YAML as nodes: every value has its line number, and text is kept as written."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import yaml
from yaml.composer import Composer

if TYPE_CHECKING:
    from collections.abc import Mapping

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

# With aliases, a few lines can expand to billions of values. No legitimate file comes near these limits.
MAX_VALUES = 100_000
MAX_DEPTH = 60
# The largest whole number that JSON readers support (64 bits, signed).
MAX_INT = 2**63 - 1

_TAG = "tag:yaml.org,2002:"
# What libyaml reads differently, or accepts where PyYAML does not: tabs and unusual spaces, tags, `?` inside
# `{}` and `[]`, a comment directly after a block indicator, a missing value before `]`. Found by comparing both on
# mutated texts.
_PYYAML_ONLY = re.compile(
    r"[^\n -~\xa0-\u2027\u202a-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[!?]|[|>][^\n]*#|:\s+[]},]"
)
_LINE_END = re.compile(r"\r\n?|\n")


class YamlTextError(Exception):
    """A text can't be used as YAML. `line` counts from 1 within the text."""

    def __init__(self, reason: str, *, line: int) -> None:
        """Keep the reason and the line it belongs to."""
        super().__init__(reason)
        self.reason = reason
        self.line = line


@dataclass(frozen=True, kw_only=True, slots=True)
class YamlNode:
    """One value of a YAML text; `line` counts from 1.

    `text` is a scalar as written, without its quotes; it is None for null, lists and mappings. `items` is set for lists
    and `fields` for mappings. `value` is the JSON-compatible value: what JSON can't represent, such as a date, remains
    the text as written.
    """

    line: int
    value: JsonValue
    text: str | None = None
    items: tuple[YamlNode, ...] | None = None
    fields: Mapping[str, YamlNode] | None = None

    @property
    def is_null(self) -> bool:
        """Whether the value is empty, `null` or `~`."""
        return self.value is None


def read_yaml(text: str) -> YamlNode | None:
    """Return the document's root, or None for a text without values.

    Keys are text as written; the last of two equal keys counts, as in every common YAML reader.

    Raises:
        YamlTextError: the text is not valid YAML, holds several documents, or is nested or aliased beyond the limits.
    """
    lines = _Lines(text)
    try:
        root = _composed(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join(part for part in (error.context, error.problem) if part)
        raise YamlTextError(f"not valid YAML: {reason}", line=lines.of(mark) if mark else 1) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlTextError("not valid YAML: it holds a character that YAML does not allow", line=line) from error
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as error:
        # The last two: an escape such as "\UFFFFFFFF" that is not a character.
        raise YamlTextError("not valid YAML, or nested too deeply", line=1) from error
    return None if root is None else _Reader(lines).read(root, depth=0)


def _composed(text: str) -> yaml.Node | None:
    """Compose with libyaml, ten times as fast, where it agrees with PyYAML; otherwise with PyYAML."""
    if not _PYYAML_ONLY.search(text):
        with suppress(yaml.YAMLError, RecursionError, ValueError, OverflowError):
            return yaml.compose(text, Loader=_FastLoader)
    return yaml.compose(text, Loader=yaml.SafeLoader)


if yaml.__with_libyaml__:

    class _EventsLoader(Composer, yaml.CSafeLoader):
        """libyaml's events, composed in Python: libyaml's own composer overflows the C stack on deep nesting."""

        def __init__(self, stream: str) -> None:
            yaml.CSafeLoader.__init__(self, stream)
            Composer.__init__(self)

    _FastLoader: type[yaml.SafeLoader | yaml.CSafeLoader] = _EventsLoader
else:
    _FastLoader = yaml.SafeLoader


class _Lines:
    """The lines of a text as editors count them. YAML also treats U+0085, U+2028 and U+2029 as line ends."""

    def __init__(self, text: str) -> None:
        self._starts = [found.end() for found in _LINE_END.finditer(text)]

    def of(self, mark: yaml.Mark) -> int:
        return bisect_right(self._starts, mark.index) + 1


class _Reader:
    """Converts PyYAML's nodes to ours and counts them."""

    def __init__(self, lines: _Lines) -> None:
        self._lines = lines
        self._count = 0
        self._constructor = yaml.constructor.SafeConstructor()

    def read(self, node: yaml.Node, *, depth: int) -> YamlNode:
        line = self._lines.of(node.start_mark)
        self._count += 1
        if self._count > MAX_VALUES or depth > MAX_DEPTH:
            raise YamlTextError("the YAML is nested too deeply or holds too many values", line=line)
        match node:
            case yaml.SequenceNode():
                items = tuple(self.read(child, depth=depth + 1) for child in node.value)
                return YamlNode(line=line, value=[item.value for item in items], items=items)
            case yaml.MappingNode():
                fields = {self._key(key): self.read(child, depth=depth + 1) for key, child in node.value}
                value: JsonValue = {key: child.value for key, child in fields.items()}
                return YamlNode(line=line, value=value, fields=fields)
            case _:
                value = self._scalar(node)
                return YamlNode(line=line, value=value, text=None if value is None else node.value)

    def _key(self, node: yaml.Node) -> str:
        line = self._lines.of(node.start_mark)
        if not isinstance(node, yaml.ScalarNode):
            raise YamlTextError("a key must be plain text", line=line)
        if node.tag == _TAG + "merge":
            raise YamlTextError("merge keys (<<) are not supported: write the values out", line=line)
        return self._plain_text(node)

    def _plain_text(self, node: yaml.Node) -> str:
        text = str(node.value)
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            reason = "an escape such as \\ud800 stands for half a character"
            raise YamlTextError(reason, line=self._lines.of(node.start_mark)) from error
        return text

    def _scalar(self, node: yaml.Node) -> JsonValue:
        text = self._plain_text(node)
        value: object = None if node.tag == _TAG + "null" else text
        if node.tag in {_TAG + "bool", _TAG + "int", _TAG + "float"}:
            # An explicit tag may not fit (`!!int x`), or a number may have more digits than Python converts.
            with suppress(yaml.YAMLError, ValueError, KeyError, IndexError):
                value = self._constructor.construct_object(node)
        match value:
            case None | bool():
                return value
            case int() if abs(value) <= MAX_INT:
                return value
            case float() if math.isfinite(value):
                return value
            case _:
                return text
