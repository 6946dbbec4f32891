"""Render a web page as one file: a template with inline styles and scripts, and a policy that allows no others."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup, escape

from pinchbench.report.export.whole_file import whole_file
from pinchbench.report.html.safe import safe_line
from pinchbench.report.text import amount, duration, many

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STYLES = ("style.css",)
SCRIPTS = ("script.js",)
EARLY = "early.js"  # runs before the page's content is parsed
_CODE = re.compile(r"`([^`]+)`")
PIECES_AT_ONCE = 64  # pieces of a template's output per write


def render(
    template: str, *, styles: tuple[str, ...] = STYLES, scripts: tuple[str, ...] = SCRIPTS, **values: object
) -> Iterator[str]:
    """Render a template in `templates/` that extends `base.html.j2`, piece by piece.

    `styles` and `scripts` are files in the same folder that are inlined in this order; nothing else may run or be
    loaded. `values` are escaped where they are shown; generators among them are consumed while rendering, so that the
    page need not fit in memory.
    """
    style = "\n".join(_source(name) for name in styles)
    script = "\n".join(_source(name) for name in scripts)
    early = _source(EARLY)
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(early)}' '{_hash(script)}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    page = _environment().get_template(template)
    stream = page.stream(
        # files of this package, no text from outside
        style=Markup(style),  # noqa: S704
        early=Markup(early),  # noqa: S704
        script=Markup(script),  # noqa: S704
        policy=policy,
        **values,
    )
    stream.enable_buffering(PIECES_AT_ONCE)
    return iter(stream)


def write_document(
    path: Path,
    template: str,
    *,
    styles: tuple[str, ...] = STYLES,
    scripts: tuple[str, ...] = SCRIPTS,
    **values: object,
) -> None:
    """Write a page rendered by `render` atomically: a reader sees the old file or the complete new one. Blocks.

    Raises ResultsError if it can't be written.
    """
    with whole_file(path) as file:
        for piece in render(template, styles=styles, scripts=scripts, **values):
            file.write(piece.encode("utf-8", "replace"))


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pinchbench.report.html"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(code=_code, plain=safe_line, duration=duration, amount=amount, many=many)
    return environment


def _code(sentence: str) -> Markup:
    """Return a sentence with the text in backticks marked as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(sentence))))  # noqa: S704 - escaped before


def _source(name: str) -> str:
    loader = _environment().loader
    assert loader is not None  # noqa: S101 - set above
    # surrounding whitespace is part of the hash, and browsers hash the text between the tags as it is
    return loader.get_source(_environment(), name)[0].strip()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
