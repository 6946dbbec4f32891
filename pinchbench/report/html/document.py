"""Render a web page as one file: a template with inline styles and scripts, and a policy that allows no others."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup, escape

from pinchbench.report.html.safe_text import safe_line
from pinchbench.report.text import amount, date_text, duration, many
from pinchbench.results.paths import whole_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

PACKAGE = "pinchbench.report.html"
STYLES = ("style.css",)
SCRIPTS = ("markdown.js", "script.js")
_NUMBER = tuple("+−-–$0123456789")
_CODE = re.compile(r"`([^`]+)`")
PIECES_AT_ONCE = 64  # pieces of a template's output per write


@dataclass(frozen=True, kw_only=True, slots=True)
class PageLook:
    """What a page consists of, in addition to its values.

    Attributes:
        template: extends `base.html.j2`.
        styles, scripts: files that are inlined in this order; nothing else may run or be loaded.
        reach: what the page may reach, as directives of its policy: nothing, unless a server shows it.
        package: holds the files in `templates/`; those that it lacks are those of this package.
    """

    template: str
    styles: tuple[str, ...] = STYLES
    scripts: tuple[str, ...] = SCRIPTS
    reach: str = "form-action 'none'"
    package: str = PACKAGE

    @property
    def style(self) -> str:
        """The style that is inlined."""
        return "\n".join(self.source(name) for name in self.styles)

    @property
    def script(self) -> str:
        """The script that is inlined."""
        return "\n".join(self.source(name) for name in self.scripts)

    @property
    def policy(self) -> str:
        """The content security policy."""
        hashes = f"style-src '{_hash(self.style)}'; script-src '{_hash(self.script)}'"
        return f"default-src 'none'; {hashes}; img-src data:; base-uri 'none'; {self.reach}"

    def source(self, name: str) -> str:
        """Return the text of a file in `templates/`."""
        loader = _environment(self.package).loader
        assert loader is not None  # noqa: S101 - set below
        # surrounding whitespace is part of the hash, and browsers hash the text between the tags as it is
        return loader.get_source(_environment(self.package), name)[0].strip()


def render(look: PageLook, **values: object) -> Iterator[str]:
    """Render a page piece by piece.

    `values` are escaped where they are shown; generators among them are consumed while rendering, so that the page need
    not fit in memory.
    """
    stream = (
        _environment(look.package)
        .get_template(look.template)
        .stream(
            # files of this program, no text from outside
            style=Markup(look.style),  # noqa: S704
            script=Markup(look.script),  # noqa: S704
            policy=look.policy,
            **values,
        )
    )
    stream.enable_buffering(PIECES_AT_ONCE)
    return iter(stream)


def write_document(path: Path, look: PageLook, **values: object) -> None:
    """Write a page rendered by `render` atomically: a reader sees the old file or the complete new one. Blocks.

    Raises ResultsError if it can't be written.
    """
    with whole_file(path) as file:
        for piece in render(look, **values):
            file.write(piece.encode("utf-8", "replace"))


@cache
def _environment(package: str) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(one) for one in dict.fromkeys((package, PACKAGE))]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(code=_code, plain=safe_line, duration=duration, amount=amount, many=many, date=date_text)
    return environment


def _code(sentence: str) -> Markup:
    """Return a sentence with the text in backticks marked as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(sentence))))  # noqa: S704 - escaped before


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@dataclass(frozen=True, kw_only=True, slots=True)
class PageSection:
    """What a section says: answers and sentences, then a table if it has `columns`.

    Attributes:
        id: its anchor, unique in the page: lower-case letters, digits and dashes.
        title: its heading.
        answers: a question in a word or more, the answer, and why: shown large, next to each other.
        sentences: paragraphs in plain text; text in backticks is shown as code.
        columns: the heads of the table. Its first column names the row.
        rows: as many texts a row as there are columns. A column of numbers, with units, aligns to the right.
        bad: the text of cells that stands out, as a badge.
    """

    id: str
    title: str
    answers: Sequence[tuple[str, str, str]] = ()
    sentences: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    bad: str = ""

    @property
    def are_numbers(self) -> list[bool]:
        """Whether all texts of each column begin with a digit, a sign or `$`, or are a dash; the first is a name."""
        return [
            bool(place) and all(row[place][:1] in _NUMBER for row in self.rows) for place in range(len(self.columns))
        ]
