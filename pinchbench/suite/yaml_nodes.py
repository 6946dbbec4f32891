"""YAML as nodes: every value has its line number, text is kept as written, and misspelt keys get suggestions."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import yaml

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping


JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

# With aliases, a few lines can expand to billions of values. No legitimate file comes near these limits.
MAX_VALUES = 100_000
MAX_DEPTH = 60
# The largest whole number that JSON readers support (64 bits, signed).
MAX_INT = 2**63 - 1

_TAG = "tag:yaml.org,2002:"
# YAML 1.1 reads 0600 as an octal number and 1:30 as 90. People mean 600, and no one number.
_LEADING_ZERO = re.compile(r"[-+]?0[0-7]+")
# What libyaml accepts and the parser in Python refuses, or counts otherwise: tabs, odd line ends, and bare tags.
_READ_OTHERWISE = re.compile(r"[\t\r\ufeff\x85\u2028\u2029]|(?:^|[\s\[{,-])!")
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
    reader = _Reader(text)
    try:
        root = _compose(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join(part for part in (error.context, error.problem) if part)
        raise YamlTextError(f"not valid YAML: {reason}", line=reader.line_of(mark) if mark else 1) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlTextError("not valid YAML: it holds a character that YAML does not allow", line=line) from error
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as error:
        # The last two: an escape such as "\UFFFFFFFF" that is not a character.
        raise YamlTextError("not valid YAML, or nested too deeply", line=1) from error
    return None if root is None else reader.read(root, depth=0)


def _compose(text: str) -> yaml.Node | None:
    """Parse with libyaml, in a tenth of the time, what it is known to read as the parser in Python does."""
    if yaml.__with_libyaml__ and not _READ_OTHERWISE.search(text):
        with suppress(yaml.YAMLError):  # the other parser words the errors
            return yaml.compose(text, Loader=yaml.CSafeLoader)
    return yaml.compose(text, Loader=yaml.SafeLoader)


class _Reader:
    """Converts PyYAML's nodes to ours and counts them."""

    def __init__(self, text: str) -> None:
        self._starts = [found.end() for found in _LINE_END.finditer(text)]
        self._count = 0
        self._constructor = yaml.constructor.SafeConstructor()

    def line_of(self, mark: yaml.Mark) -> int:
        """Return the line as editors count it. YAML also treats U+0085, U+2028 and U+2029 as line ends."""
        return bisect_right(self._starts, mark.index) + 1

    def read(self, node: yaml.Node, *, depth: int) -> YamlNode:
        line = self.line_of(node.start_mark)
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
        line = self.line_of(node.start_mark)
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
            raise YamlTextError(reason, line=self.line_of(node.start_mark)) from error
        if "\0" in text:
            reason = "an escape such as \\0 stands for NUL, which no text of a task can hold"
            raise YamlTextError(reason, line=self.line_of(node.start_mark))
        return text

    def _scalar(self, node: yaml.Node) -> JsonValue:
        text = self._plain_text(node)
        value: object = None if node.tag == _TAG + "null" else text
        if node.tag == _TAG + "int" and _LEADING_ZERO.fullmatch(text):
            value = int(text)
        elif node.tag in {_TAG + "bool", _TAG + "int", _TAG + "float"} and ":" not in text:
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


SIMILARITY = 0.85  # a difflib ratio: one letter of four may be missing, or two of seven differ
SHORTEST_PREFIX = 5  # letters: `timeout` stands for `timeout_seconds`, but `in` for nothing


def misspelt(names: Iterable[str], *, known: Collection[str]) -> list[tuple[str, str]]:
    """Return pairs (name, suggested known name) for unknown names that resemble a missing known one.

    A known name that is among `names` is never suggested. Case, spaces, `-`, `_` and the order of the letters are
    ignored. The beginning of a known name stands for it if it is unambiguous.
    """
    names = tuple(names)
    unknown = [name for name in names if name not in known]
    missing = tuple(one for one in known if one not in names) if unknown else ()
    return [(name, meant) for name in unknown if (meant := _meant(name, missing))]


@lru_cache(maxsize=1000)  # the tasks of a suite have nearly the same keys
def _meant(name: str, missing: tuple[str, ...]) -> str:
    """Return which of the missing names an unknown one resembles; empty if none."""
    folded, known = _folded(name), {_folded(one): one for one in reversed(missing)}
    near = get_close_matches(folded, known, n=1, cutoff=SIMILARITY)
    swapped = [one for one in known if sorted(one) == sorted(folded)]
    longer = [one for one in known if len(folded) >= SHORTEST_PREFIX and one.startswith(folded)]
    meant = near or swapped or (longer if len(longer) == 1 else [])
    return known[meant[0]] if meant else ""


def _folded(name: str) -> str:
    return name.casefold().translate(str.maketrans("", "", "-_ "))


class KeyScope(Enum):
    """A mapping in a task's YAML; the value holds the keys that it may have."""

    HEAD = (
        "id",
        "name",
        "category",
        "tier",
        "grading_type",
        "grading_weights",
        "timeout_seconds",
        "workspace_files",
        "prerequisites",
        "sessions",
        "network",
        "services",
        "user_messages",
        "runs",
        "abilities",
        "clock",
        "timezone",
        "owner",
        "timeline",
    )
    WEIGHTS = ("automated", "llm_judge")
    FILE = ("source", "dest", "path", "content")
    SESSION = ("id", "prompt", "message", "new_session")


_OTHER_KEYS = frozenset({"subcategory", "sub_category", "multi_session", "capabilities"})  # used by other task packs
_SHAPES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "workspace_files": ("list",),
        "sessions": ("list",),
        "services": ("list",),
        "abilities": ("list",),
        "timeline": ("list",),
        "grading_weights": ("mapping",),
        "prerequisites": ("list", "text"),
    }
)


def misspelt_keys(fields: Mapping[str, YamlNode], place: KeyScope) -> Iterator[tuple[str, str]]:
    """Yield unknown keys that look like a missing known one, each with a sentence.

    Task files may have keys of their own: a key is not reported if its value does not have the known key's type.
    """
    for key, meant in misspelt([key for key in fields if key not in _OTHER_KEYS], known=place.value):
        if _shape(fields[key]) in _SHAPES.get(meant, ("text",)):
            yield key, f"`{key}` has no meaning here: did you mean `{meant}`?"


_SETUP_WORDS = frozenset(
    {
        *("setup", "teardown", "warmup", "cleanup", "bootstrap", "provision", "init", "startup", "install", "prepare"),
        *("exec", "command", "commands", "cmd", "script", "scripts", "hook", "hooks", "run", "shell", "pre", "before"),
        *("docker", "dockerfile", "container", "compose", "image", "mcp", "plugin", "plugins", "server", "servers"),
        *("env", "mock", "mocks", "daemon", "variables", "vars", "secrets", "credentials", "ports", "lifecycle"),
        *("pip", "apt", "npm", "packages", "config", "overrides", "seed", "seeds", "initial", "preload", "freeze"),
        *("allowed", "disallowed", "denied", "simulator", "cwd", "workdir"),
    }
)
_GIVEN = frozenset({"files", "fixtures", "assets", "attachments", "images", "inputs", "documents"})
_MADE = frozenset({"output", "outputs", "expected", "result", "results", "created", "produced", "modified", "required"})
_PLACES = frozenset(
    {"input", "inputs", "workspace", "working", "fixture", "fixtures", "asset", "assets", "data", "dataset"}
)
_FOLDERS = frozenset({"dir", "directory", "folder", "template", "root"})
_TURNS = frozenset({"turns", "messages", "conversation", "followups", "followupprompts", "followupmessages"})
_LIMITS = frozenset({"timeout", "seconds", "minutes", "duration", "time"})
_CHECKS = frozenset({"check", "checks", "checker", "grader", "graders", "verifier", "assertions"})
_RUBRIC = frozenset({"rubric", "rubrics"})
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_OF_A_FILE = frozenset({"description", "comment", "note", "purpose", "type", "kind", "size", "name", "required"})


def setup_keys(values: Mapping[str, object], known: Collection[str] = ()) -> Iterator[str]:
    """Yield unknown keys that ask for set-up, such as `pre_exec_command`, unless they only say yes, no or a number.

    So do those that give files, a folder or further messages. Those within another unknown key are yielded as
    `outer.inner`.
    """
    for key, value in values.items():
        words = _words(key)
        if key in known or not value or isinstance(value, int | float):
            continue
        if words & _SETUP_WORDS or _gives(key, words, value) or _is_environment(words, value):
            yield key
        elif isinstance(value, dict):
            yield from (f"{key}.{inner}" for inner in setup_keys(value))


def _words(key: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(key.replace("set_up", "setup").replace("set-up", "setup"))}


def _gives(key: str, words: set[str], value: object) -> bool:
    """Return whether a key's value is a list of files for the agent, a folder of them, or further messages."""
    if isinstance(value, str):
        is_elsewhere = value.strip("./") not in {"", "workspace"}
        return bool(is_elsewhere and words & _PLACES and words & _FOLDERS) or _folded(key) == "systemprompt"
    if not isinstance(value, list):
        return False
    is_paths = all(isinstance(one, dict) or re.fullmatch(r"\S*[./]\S*", str(one)) for one in value)
    return _folded(key) in _TURNS or bool(is_paths and words & _GIVEN and not words & _MADE)


def _is_environment(words: set[str], value: object) -> bool:
    names = value if isinstance(value, dict) else {}
    is_named_so = "environment" in words or any("_" in name for name in names)
    return bool(names) and is_named_so and all(re.fullmatch(r"[A-Z][A-Z0-9_]*", name) for name in names)


def other_limits(values: Mapping[str, object]) -> Iterator[str]:
    """Yield keys with a number that state a time limit in another way than `timeout_seconds`."""
    for key, value in values.items():
        words = _words(key)
        is_limit = "timeout" in words or (words & {"max", "limit"} and words & _LIMITS)
        if key not in KeyScope.HEAD.value and is_limit and isinstance(value, int | float):
            yield key


def grading_keys(values: Mapping[str, object], *, has_rubric: bool) -> Iterator[str]:
    """Yield keys with checks to grade by, and without a rubric elsewhere those with one."""
    for key, value in values.items():
        words, inner = _words(key), value if isinstance(value, list) else [value]
        has_checks = words & _CHECKS and any(isinstance(one, dict) and one for one in inner)
        if has_checks or (words & _RUBRIC and isinstance(value, dict | list) and value and not has_rubric):
            yield key


def unknown_of_a_file(fields: Mapping[str, YamlNode]) -> Iterator[str]:
    """Yield keys of a workspace file that could change what it holds, or where, and are not known."""
    similar = {key for key, _ in misspelt_keys(fields, KeyScope.FILE)}
    yield from (key for key in fields if key not in {*KeyScope.FILE.value, *_OF_A_FILE, *similar})


def _shape(node: YamlNode) -> str:
    if node.fields is not None:
        return "mapping"
    return "text" if node.items is None else "list"
