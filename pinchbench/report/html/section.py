"""A section of an experiment's page that another part of the program fills."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class PageSection:
    """What a section says: sentences, then a table if it has `columns`.

    Attributes:
        id: its anchor, unique in the page: lower-case letters, digits and dashes.
        title: its heading, also in the page's list of contents.
        sentences: paragraphs in plain text; text in backticks is shown as code.
        columns: the heads of the table. Its first column names the row.
        rows: as many texts a row as there are columns. Texts that begin with a digit, a sign or `$` align to the right.
    """

    id: str
    title: str
    sentences: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
