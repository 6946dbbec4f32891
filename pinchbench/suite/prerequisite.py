"""A task's requirements on the machine, as listed in its `prerequisites` (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Kind(StrEnum):
    """The kind of a prerequisite; the values are the words for it in messages."""

    PROGRAM = "program"
    NPM = "npm package"
    PYTHON = "Python package"
    PYTHON_VERSION = "Python version"
    MODULE = "Python module"
    VARIABLE = "environment variable"
    SERVER = "running server"
    CLOCK = "library"
    BROWSER = "browser"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Prerequisite:
    """One requirement of a task. `text` is as written in the task; `name` is what to look for, empty if unknown."""

    text: str
    kind: Kind
    name: str = ""

    def __str__(self) -> str:
        """Return a phrase such as `the program gh`."""
        if self.kind is Kind.SERVER:
            return f"a running {self.name} server (which this program does not start)"
        return self.text if self.kind is Kind.UNKNOWN else f"the {self.kind} {self.name}"


_KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        **dict.fromkeys(("cli", "cmd", "command", "bin", "binary", "program", "tool"), Kind.PROGRAM),
        **dict.fromkeys(("npm", "node"), Kind.NPM),
        **dict.fromkeys(("pip", "pypi", "python"), Kind.PYTHON),
        "python-version": Kind.PYTHON_VERSION,
        "module": Kind.MODULE,
        **dict.fromkeys(("env", "var"), Kind.VARIABLE),
    }
)
_VERSION = r"(?:\s*(?:@|[<>=!~]=?).*)?"
_NAMES: Mapping[Kind, re.Pattern[str]] = MappingProxyType(
    {
        Kind.PROGRAM: re.compile(r"(?P<name>[A-Za-z_/][\w./+-]*)"),
        Kind.NPM: re.compile(rf"(?P<name>(?:@[a-z0-9._~-]+/)?[A-Za-z0-9_~-][\w.~-]*){_VERSION}", re.ASCII),
        Kind.PYTHON: re.compile(rf"(?P<name>[A-Za-z_][\w.-]*)(?:\[[\w, -]*\])?{_VERSION}", re.ASCII),
        Kind.PYTHON_VERSION: re.compile(r"(?P<name>3\.\d+)", re.ASCII),
        Kind.MODULE: re.compile(r"(?P<name>[A-Za-z_]\w*)", re.ASCII),
        Kind.VARIABLE: re.compile(r"(?P<name>[A-Za-z_]\w*)", re.ASCII),
    }
)
# Programs, by package or name, whose server tasks expect to be running with its variables in the agent's environment.
_SERVERS = {"@juppytt/fws": "fws", "fws": "fws"}
_NOT_PROGRAMS = frozenset({"internet", "network", "web", "online", "linux", "macos", "none"})


def parse_prerequisite(text: str) -> Prerequisite:
    """Parse `git`, `cli:gh`, `npm:@scope/name`, `python:pandas` or `env:NAME`; anything else has an unknown kind.

    Versions of packages are ignored. `python-version:3.12` (or a later one) and `module:pandas` are about the Python of
    this program, which runs the checks.
    """
    word, colon, rest = text.strip().partition(":")
    kind = _KINDS.get(word.strip().lower(), Kind.UNKNOWN) if colon else Kind.PROGRAM
    wanted = rest.strip() if colon else word
    found = _NAMES[kind].fullmatch(wanted) if kind in _NAMES else None
    if found is None or (not colon and wanted.lower() in _NOT_PROGRAMS):
        return Prerequisite(text=text, kind=Kind.UNKNOWN)
    if (server := _SERVERS.get(found["name"])) and kind in (Kind.PROGRAM, Kind.NPM):
        return Prerequisite(text=text, kind=Kind.SERVER, name=server)
    return Prerequisite(text=text, kind=kind, name=found["name"])
