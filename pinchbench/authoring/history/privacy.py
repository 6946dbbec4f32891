"""Masks keys, the user's folders, and on request names and addresses, in all that goes into a suite (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinchbench.redaction import MASK, is_key, mask, secrets_in_dotenv

if TYPE_CHECKING:
    from collections.abc import Sequence

# What keys of common services look like, wherever they are.
_KEYS = re.compile(
    r"\b(?:sk|pk|rk)-[\w-]{16,}|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abeprs]-[\w-]{10,}"
    r"|\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{30,}|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}|\b\d{8,10}:AA[\w-]{30,}"
    r"|\bhf_\w{20,}|\bnpm_\w{20,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_NAMED = re.compile(
    r"(?P<name>(?:pass(?:word|wd|phrase)?|token|secret|api[_ -]?key)[\"']?\s*(?:[:=]|\bis\b)\s*[\"']?)"
    r"(?P<value>[^\s\"',;]{8,})",
    re.IGNORECASE,
)
_MAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")
_PHONE = re.compile(r"(?<![\w.])(?:\+|00)\d[\d ()/-]{6,}\d(?!\w)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Masker:
    """Masks the texts and files of one suite, the same thing always in the same way.

    `secrets` are known keys, as of `pinchbench.redaction`. `workspace` and `home` are the user's folders. `names` are
    replaced by numbered persons, and with `addresses` so are mail addresses and telephone numbers.
    """

    secrets: Sequence[str] = ()
    home: str = ""
    names: Sequence[str] = ()
    addresses: bool = False
    _numbers: dict[str, int] = field(default_factory=dict)

    def text(self, text: str, *, workspace: str = "") -> str:
        """Return a text without keys and paths of the user; those in `workspace` become relative."""
        text = mask(text, self.secrets)
        text = mask(_KEYS.sub(MASK, text), secrets_in_dotenv(text))
        text = _NAMED.sub(lambda found: found["name"] + (MASK if is_key(found["value"]) else found["value"]), text)
        if len(workspace) > 1:
            text = re.sub(
                rf"{re.escape(workspace)}(?:/(?=[\w.-])|(?![\w-])/?)",
                lambda found: "" if found[0].endswith("/") else ".",
                text,
            )
        if len(self.home) > 1:
            text = re.sub(rf"{re.escape(self.home)}(?![\w-])", "/home/user", text)
        if self.addresses:
            text = _MAIL.sub(lambda found: f"person{self._number(found[0].lower())}@example.com", text)
            text = _PHONE.sub(lambda found: f"+1 555 {100 + self._number(found[0]):04d}", text)
        for number, name in enumerate(self.names, 1):
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", f"Person {number}", text, flags=re.IGNORECASE)
        return text

    def data(self, data: bytes, *, workspace: str = "") -> bytes | None:
        """Return a file's content masked as text; None for a binary file that holds what would have to be masked."""
        try:
            return self.text(data.decode("utf-8"), workspace=workspace).encode("utf-8")
        except UnicodeDecodeError:
            text = data.decode("ascii", "replace")
            return data if self.text(text, workspace=workspace) == text else None

    def _number(self, value: str) -> int:
        return self._numbers.setdefault(value, len(self._numbers) + 1)
