"""Make text from outside safe and short for a web page: nothing hidden, reordering, or able to end a script (pure)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

# a terminal's colours and styles have no meaning on a page
_STYLES = re.compile(r"\x1b\[[0-9;:]*m")
_ENDS = re.compile("\r\n?|\u2028|\u2029")
# control characters, Unicode's Bidi_Control, invisible characters within words, and surrogates, which can't be encoded
_UNSAFE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)
_SPACES = re.compile(r"\s+")
_PICTURES = 0x2400  # Unicode's pictures of the control characters


def safe_text(text: str) -> str:
    """Return text of several lines with every invisible character replaced by its name: `␀`, `‹U+202E›`."""
    return _UNSAFE.sub(_named, _ENDS.sub("\n", _STYLES.sub("", text)))


def safe_line(text: object, width: int = 0) -> str:
    """Return a single line of that kind, truncated to `width` characters with an ellipsis, if `width` is given."""
    line = str(text)
    if not (line.isascii() and line.isprintable()) or "  " in line:  # most names are; there may be a million of them
        line = _SPACES.sub(" ", safe_text(line))
    line = line.strip()
    return line if not width or len(line) <= width else line[: max(0, width - 1)] + "…"


def script_json(value: object) -> str:
    """Return JSON that can't end its `<script>` element, whatever text it contains."""
    text = msgspec.json.encode(value).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _named(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:  # noqa: PLR2004 - the first printable character
        return chr(_PICTURES + code)
    return "␡" if code == 0x7F else f"‹U+{code:04X}›"  # noqa: PLR2004 - DEL


def fair_share(sizes: Sequence[int], most: int) -> int:
    """Return the largest limit such that all sizes, truncated to it, total at most `most`."""
    left = most
    for count, size in zip(range(len(sizes), 0, -1), sorted(sizes), strict=True):
        if size * count > left:
            return left // count
        left -= size
    return max(sizes, default=0)


def shortened(text: str, most: int) -> str:
    """Return safe text whose middle is left out, with a note, if it has more than `most` characters."""
    if len(text) <= most:
        return safe_text(text)
    tail = most // 3
    kept = most * 2 // 3 + tail
    return safe_text(
        f"{text[: most * 2 // 3]}\n… {len(text) - kept:,} characters left out …\n{text[len(text) - tail :]}"
    )
