"""The models to choose from as a card to share: the answers and the table, as an SVG image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinchbench.report.choice_text import answers, columns, reading, rows
from pinchbench.report.html.document import PageLook, render
from pinchbench.report.html.plots import Label
from pinchbench.report.html.safe_text import safe_line
from pinchbench.report.text import folded, short_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinchbench.results.compare.choice import Choice

NAME = 40  # characters of a model's name
CHARACTERS = 115  # of a line
CHARACTER, LINE, BORDER = 7.2, 20.0, 16.0  # pixels


def choice_card(choice: Choice) -> str:
    """Return the image, with what the answers rest on in a few words below."""
    first, *others = answers(choice)
    labels = list(_lines([(first, "name"), *((one, "ink") for one in others)], top=BORDER + LINE / 2))
    names = short_names([safe_line(one.label) for one in choice.candidates], NAME)
    table = [columns(choice), *((names[safe_line(row[0])], *row[1:]) for row in rows(choice))]
    top = labels[-1].y + 1.5 * LINE
    right = BORDER
    for place, column in enumerate(zip(*table, strict=True)):
        right += (max(map(len, column)) + (2 if place else 0)) * CHARACTER
        anchor = "end" if place else "start"
        for number, text in enumerate(column):
            look = "ink" if number else "soft"
            x = right if place else BORDER
            labels.append(Label(x=x, y=top + number * LINE, text=text, anchor=anchor, look=look))
    labels += _lines([(reading(choice)[0], "soft")], top=top + (len(table) + 0.5) * LINE)
    width, height = max(right, CHARACTERS * CHARACTER) + BORDER, labels[-1].y + LINE
    name = ", ".join(one.label for one in choice.candidates)
    return "".join(render(PageLook(template="choice.svg.j2"), name=name, texts=labels, width=width, height=height))


def _lines(texts: list[tuple[str, str]], *, top: float) -> Iterator[Label]:
    """Yield the texts in lines that fit the card."""
    lines = [(line, look) for text, look in texts for line in folded(safe_line(text), CHARACTERS).split("\n")]
    for number, (line, look) in enumerate(lines):
        yield Label(x=BORDER, y=top + number * LINE, text=line, look=look)
