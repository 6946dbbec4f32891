"""Convert a matplotlib figure to inline SVG with the page's colours, font and links, and unique ids."""

from __future__ import annotations

import io
import re
import warnings
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import matplotlib as mpl
from markupsafe import Markup
from matplotlib import font_manager
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# texts stay texts, whatever they contain, and ids are derived from what is drawn
SETTINGS = mpl.RcParams(
    {"svg.fonttype": "none", "svg.hashsalt": "pinchbench", "path.simplify": False, "text.parse_math": False}
)
UNITS_PER_INCH = 72  # of matplotlib's SVG; a unit is a pixel if the page shows the drawing at its own size


class Colour(StrEnum):
    """The colours of drawings: placeholders, each replaced by one of the page's variables."""

    INK = "#0a0001"
    SOFT = "#0a0002"
    LINE = "#0a0003"
    ACCENT = "#0a0004"
    ACCENT_SOFT = "#0a0005"
    AGENT = "#0a0006"
    SETUP = "#0a0007"
    BAD = "#0a0008"
    LEFT = "#0a0009"
    GRADING = "#0a000a"
    IDLE = "#0a000b"
    PAPER = "#0a000c"


_VARIABLES = {
    Colour.INK: "--ink",
    Colour.SOFT: "--soft",
    Colour.LINE: "--line",
    Colour.ACCENT: "--accent",
    Colour.ACCENT_SOFT: "--accent-soft",
    Colour.AGENT: "--plot-agent",
    Colour.SETUP: "--plot-setup",
    Colour.BAD: "--plot-bad",
    Colour.LEFT: "--plot-left",
    Colour.GRADING: "--plot-grading",
    Colour.IDLE: "--plot-idle",
    Colour.PAPER: "--paper",
}
_DROPPED_STYLES = frozenset({"font-family", "font", "stroke-linejoin"})
_DROPPED = frozenset({"metadata", "style"})
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_NO_TURN = re.compile(r"rotate\(-?0 [^)]*\)")


@contextmanager
def own_settings() -> Iterator[None]:
    """Apply these settings within the block: the same data gives the same drawing whatever settings the user has."""
    with mpl.rc_context(), warnings.catch_warnings():
        # about letters missing in matplotlib's fonts; the browser's fonts have them
        warnings.simplefilter("ignore")
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        try:
            yield
        finally:
            # otherwise its font files stay open as long as the program runs
            font_manager._get_font.cache_clear()  # type: ignore[attr-defined] # noqa: SLF001 - nothing public does


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of the given size in pixels, within `own_settings`. It need not be closed."""
    figure = Figure(figsize=(width / UNITS_PER_INCH, height / UNITS_PER_INCH), dpi=UNITS_PER_INCH)
    FigureCanvasSVG(figure)
    return figure


def inline_svg(figure: Figure, name: str, titles: Mapping[str, str] | None = None) -> Markup:
    """Return a figure as an element for a page: the same figure gives the same text.

    `name` makes its ids unique among the page's drawings. `titles` maps a link's address to its tooltip.
    """
    file = io.StringIO()
    with own_settings():
        figure.savefig(file, format="svg", metadata={"Date": None}, transparent=True)
    root = ET.fromstring(file.getvalue())  # noqa: S314 - as above
    _strip(root)
    used = _references(root)
    for element in root.iter():
        _adapt(element, name, used)
        if element.tag == "a" and (title := (titles or {}).get(element.get("href", ""))):
            told = ET.Element("title")
            told.text = title
            element.insert(0, told)
    for sized in ("width", "height", "version"):
        root.attrib.pop(sized, None)
    # texts were escaped when the tree was serialised
    return Markup(ET.tostring(root, encoding="unicode"))  # noqa: S704


def _strip(element: ET.Element) -> None:
    """Remove what a page does not need, including namespaces: HTML knows those of SVG."""
    for child in list(element):
        child.tag = _local(child.tag)
        if child.tag in _DROPPED:
            element.remove(child)
        else:
            _strip(child)
            if child.tag in ("g", "defs") and not len(child):
                element.remove(child)
    element.tag = _local(element.tag)
    element.text = element.text if element.text and element.text.strip() else None
    element.tail = None
    element.attrib = {_local(key): value for key, value in element.attrib.items()}


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _references(root: ET.Element) -> set[str]:
    used = set()
    for element in root.iter():
        for key, value in element.attrib.items():
            used.update(_REFERENCE.findall(value))
            if key == "href" and element.tag == "use":
                used.add(value.removeprefix("#"))
    return used


def _adapt(element: ET.Element, name: str, used: set[str]) -> None:
    own = element.attrib
    # the page's policy forbids style attributes; presentation attributes are equivalent
    own.update(_declarations(own.pop("style", "")))
    own.pop("target", None)
    own_id = own.pop("id", None)
    if own_id in used:
        own["id"] = f"{name}-{own_id}"
    if element.tag == "use":
        own["href"] = f"#{name}-{own['href'].removeprefix('#')}"
    for key, value in own.items():
        if key in ("d", "x", "y", "transform", "points"):
            own[key] = _NUMBER.sub(_rounded, " ".join(_NO_TURN.sub("", value).split()))
        elif value.startswith("url("):
            own[key] = _REFERENCE.sub(rf"url(#{name}-\1)", value)
    if not own.get("transform", "-"):
        del own["transform"]


def _declarations(style: str) -> dict[str, str]:
    pairs = (declaration.partition(":") for declaration in style.split(";") if declaration.strip())
    return {key.strip(): _colour(value.strip()) for key, _, value in pairs if key.strip() not in _DROPPED_STYLES}


def _colour(value: str) -> str:
    try:
        return f"var({_VARIABLES[Colour(value)]})"
    except ValueError:
        return "currentColor" if value == "#000000" else value


def _rounded(match: re.Match[str]) -> str:
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")
