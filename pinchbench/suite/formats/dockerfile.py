"""What a Dockerfile makes, if a container is not needed for it: a working directory, copies and variables (pure)."""

from __future__ import annotations

import json
import re
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_BASE = re.compile(r"(?:docker\.io/)?(?:library/)?(?P<name>[a-z-]+)(?::(?P<tag>[\w.-]+))?")
_PLAIN_BASES = frozenset({"debian", "ubuntu", "buildpack-deps"})
_WITHOUT_EFFECT = frozenset({"CMD", "EXPOSE", "LABEL", "MAINTAINER"})
# What an instruction needs that builds no image.
_NEEDS = MappingProxyType(
    {
        "ARG": "values that are given when its image is built",
        "HEALTHCHECK": "a service that is up before the agent starts",
        "USER": "a user of its own",
    }
)
_ROOT = re.compile(r"(?:root|0)(?::(?:root|0))?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Copy:
    """Files and folders of the build's context that are copied to `dest`, an absolute path.

    `is_into`: into the folder of that name; otherwise to that name, unless a source is a folder.
    """

    line: int
    sources: tuple[str, ...]
    dest: PurePosixPath
    is_into: bool


@dataclass(slots=True)
class Image:
    """What a Dockerfile makes, and the problems with it as line and reason."""

    workdir: PurePosixPath = field(default_factory=lambda: PurePosixPath("/"))
    copies: list[Copy] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    problems: list[tuple[int, str]] = field(default_factory=list)
    bases: int = 0


def read_dockerfile(text: str) -> Image:
    """Read a Dockerfile; what needs an image to be built, or can't be understood, becomes a problem."""
    image = Image()
    for line, name, rest in _instructions(text):
        if name in _WITHOUT_EFFECT or (name == "USER" and _ROOT.fullmatch(rest)):
            continue
        if name in _NEEDS:
            image.problems.append((line, f"it needs {_NEEDS[name]} ({name})"))
        elif "$" in rest:
            image.problems.append((line, f"{name} has a variable, which is not supported"))
        elif name in _READ:
            _READ[name](image, line, rest)
        else:
            image.problems.append((line, f"it needs an image that {name} builds"))
    if not image.bases and not image.problems:
        image.problems.append((1, "there is no FROM"))
    return image


def _instructions(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the name and the rest of each instruction."""
    start, parts = 0, list[str]()
    lines = text.replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines, start=1):
        words = line.strip()
        if words.startswith("#"):
            if re.fullmatch(r"#\s*escape\s*=.*", words, re.IGNORECASE):
                yield number, "ESCAPE", ""
            words = ""
        if words:
            start = start if parts else number
            parts.append(words.removesuffix("\\"))
        if parts and ((words and not words.endswith("\\")) or number == len(lines)):
            name, _, rest = " ".join(parts).partition(" ")
            parts = []
            yield start, name.upper(), rest.strip()


def _from(image: Image, line: int, rest: str) -> None:
    image.bases += 1
    if image.bases > 1:
        image.problems.append((line, "it needs an image of several stages"))
    elif reason := _base_problem(rest):
        image.problems.append((line, reason))


def _workdir(image: Image, line: int, rest: str) -> None:
    del line
    image.workdir = image.workdir / rest.strip("\"'")


def _base_problem(rest: str) -> str:
    # the platform is that of an image's programs, and programs are those of this machine
    base = next((word for word in rest.split() if not word.startswith("--platform=")), "")
    found = _BASE.fullmatch(base)
    if found is not None and found["name"] in _PLAIN_BASES:
        return ""
    if found is not None and found["name"] == "python":
        here = f"{sys.version_info.major}.{sys.version_info.minor}"
        tag = found["tag"] or ""
        return (
            "" if tag == here or tag.startswith((f"{here}-", f"{here}.")) else f"it needs {base}; Python {here} is here"
        )
    return f"it needs the image {base or 'that FROM names'}"


def _copy(image: Image, line: int, rest: str) -> None:
    try:
        words = json.loads(rest) if rest.startswith("[") else shlex.split(rest)
    except ValueError:
        words = []
    if len(words) < 2 or not all(isinstance(word, str) for word in words):  # noqa: PLR2004 - a source and a place
        image.problems.append((line, "COPY needs a source and a place"))
    elif any(word.startswith(("--", "<<")) for word in words):
        image.problems.append((line, "COPY with options is not supported"))
    elif any(set(word) & set("*?[") for word in words):
        image.problems.append((line, "COPY with wildcards is not supported"))
    else:
        *sources, dest = words
        is_into = dest.endswith("/") or dest in (".", "./") or len(sources) > 1
        image.copies.append(Copy(line=line, sources=tuple(sources), dest=image.workdir / dest, is_into=is_into))


def _env(image: Image, line: int, rest: str) -> None:
    try:
        words = shlex.split(rest)
    except ValueError:
        words = []
    pairs = [word.partition("=") for word in words]
    if words and not pairs[0][1]:  # the old form: a name, a space, and the value
        pairs = [(words[0], "=", rest.partition(" ")[2].strip())]
    if not pairs or not all(mark and _VARIABLE.fullmatch(name) for name, mark, _ in pairs):
        image.problems.append((line, "ENV needs NAME=VALUE"))
    else:
        image.env |= {name: value for name, _, value in pairs}


_READ: Mapping[str, Callable[[Image, int, str], None]] = MappingProxyType(
    {"FROM": _from, "WORKDIR": _workdir, "COPY": _copy, "ENV": _env}
)
