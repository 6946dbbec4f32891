"""TOML files of tasks: reading them, and finding the line of a key."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

from pinchbench.suite.parse import BrokenTaskError, TaskProblem
from pinchbench.suite.task_text import decoded, read_bounded

if TYPE_CHECKING:
    from pathlib import Path

_LINE = re.compile(r"\(at line (\d+), column \d+\)")


def read_toml(path: Path) -> tuple[dict[str, Any], str]:
    """Return what a TOML file holds, and its text. Blocks. Raises BrokenTaskError, with the line."""
    text = decoded(read_bounded(path), path)
    try:
        return tomllib.loads(text), text
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = _LINE.search(str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        reason = f"not valid TOML: {_LINE.sub('', str(error)).strip()}"
        raise BrokenTaskError([TaskProblem(path=path, line=line, reason=reason)]) from error


def line_of(text: str, key: str) -> int:
    """Return the line, from 1, on which a TOML text sets a key; 1 if no line begins with it."""
    found = re.search(rf"^[ \t]*\[*[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*[=.\]]", text, re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else 1
