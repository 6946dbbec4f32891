"""A table of many rows, of which a page shows some: searched, sorted and cut by the address's query (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar
from urllib.parse import urlencode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PAGE_ROWS = 200

Row = TypeVar("Row")
Value: TypeAlias = "str | float | None"


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """A column's head: `url` sorts by it, `order` is how it is sorted now, as in `aria-sort`."""

    label: str
    url: str
    order: str
    is_number: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """A drop-down: the column's texts, of which `value` is chosen; all rows if it is empty."""

    name: str
    value: str
    options: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Table(Generic[Row]):
    """What a page shows of a table.

    Attributes:
        rows: those of this page, of `matching` that fit the search and the choices, of `total`.
        search: the words that each row contains.
        before, after: the addresses of the pages before and after; empty without one.
        kept: what else the address says, as hidden fields of a form.
    """

    rows: tuple[Row, ...]
    total: int
    matching: int
    search: str
    choices: tuple[Choice, ...]
    heads: tuple[Head, ...]
    first: int
    before: str
    after: str
    kept: tuple[tuple[str, str], ...]

    @property
    def last(self) -> int:
        """The number of the last row of this page."""
        return self.first + len(self.rows) - 1


def shown_table(
    rows: Sequence[Row],
    query: Sequence[tuple[str, str]],
    *,
    fields: Mapping[str, Callable[[Row], Value]],
    columns: Sequence[str],
    choices: Sequence[str],
) -> Table[Row]:
    """Return the part of a table that a query (`search`, the names of `choices`, `sort`, `page`) asks for.

    `fields` are what can be searched and sorted by; `columns` are those of them that have a head, in order, and
    `choices` those that have a drop-down.
    """
    asked = dict(query)
    sort = asked.get("sort", "")
    texts = {name: {str(fields[name](row) or "") for row in rows} | {asked.get(name, "")} for name in choices}
    dropped = [
        Choice(name=name, value=asked.get(name, ""), options=tuple(sorted(own - {""}, key=str.lower)))
        for name, own in texts.items()
    ]
    words = asked.get("search", "").lower().split()
    chosen = [
        row
        for row in rows
        if all(fields[one.name](row) == one.value for one in dropped if one.value)
        and (not words or _contains(row, words, fields))
    ]
    if (field := fields.get(sort.removeprefix("-"))) is not None:
        chosen = _ordered(chosen, field, is_descending=sort.startswith("-"))
    pages = max(1, -(-len(chosen) // PAGE_ROWS))
    number = _page(asked.get("page", ""), pages)
    start = (number - 1) * PAGE_ROWS
    return Table(
        rows=tuple(chosen[start : start + PAGE_ROWS]),
        total=len(rows),
        matching=len(chosen),
        search=asked.get("search", ""),
        choices=tuple(dropped),
        heads=tuple(_head(name, sort, query, rows, fields) for name in columns),
        first=start + 1,
        before=_url(query, page=str(number - 1)) if number > 1 else "",
        after=_url(query, page=str(number + 1)) if number < pages else "",
        kept=tuple((name, value) for name, value in query if name not in ("search", "page", *choices)),
    )


def _contains(row: Row, words: Sequence[str], fields: Mapping[str, Callable[[Row], Value]]) -> bool:
    """Return whether each word occurs in some text of a row."""
    texts = [value.lower() for field in fields.values() if isinstance(value := field(row), str)]
    return all(any(word in text for text in texts) for word in words)


def _ordered(rows: Sequence[Row], field: Callable[[Row], Value], *, is_descending: bool) -> list[Row]:
    """Sort, the rows without a value last in either order."""
    having = [(value, row) for row in rows if (value := field(row)) not in (None, "")]
    # numbers and texts, which a column does not mix
    having.sort(
        key=lambda pair: (0.0, pair[0].lower()) if isinstance(pair[0], str) else (pair[0] or 0.0, ""),
        reverse=is_descending,
    )
    return [*(row for _, row in having), *(row for row in rows if field(row) in (None, ""))]


def _page(text: str, pages: int) -> int:
    return min(pages, int(text)) if text.isascii() and text.isdecimal() and text.strip("0") and len(text) < 9 else 1  # noqa: PLR2004


def _head(
    name: str,
    sort: str,
    query: Sequence[tuple[str, str]],
    rows: Sequence[Row],
    fields: Mapping[str, Callable[[Row], Value]],
) -> Head:
    is_number = bool(rows) and not isinstance(fields[name](rows[0]), str)
    first, second = (f"-{name}", name) if is_number else (name, f"-{name}")
    order = "none" if sort not in (first, second) else "descending" if sort.startswith("-") else "ascending"
    url = _url(query, sort=second if sort == first else first, page="")
    return Head(label=name, url=url, order=order, is_number=is_number)


def _url(query: Sequence[tuple[str, str]], **changes: str) -> str:
    kept = [(name, value) for name, value in query if name not in changes]
    return "?" + urlencode([*kept, *((name, value) for name, value in changes.items() if value)])
