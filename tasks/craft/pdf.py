"""PDF documents of flowing text and tables, the same each time."""

import io
from collections.abc import Sequence

from reportlab import rl_config
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.lib.units import mm
from reportlab.platypus import Flowable, PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

rl_config.useA85 = 0  # plain deflated streams, as most programs write them
STYLES = getSampleStyleSheet()

__all__ = ["PageBreak", "gap", "heading", "paragraph", "pdf", "table"]


def pdf(parts: Sequence[Flowable], *, title: str, footer: str = "") -> bytes:
    """The bytes of an A4 document; each page has `footer` and its number at the bottom."""

    def foot(canvas, document):
        canvas.setFont("Helvetica", 8)
        canvas.drawString(20 * mm, 10 * mm, footer)
        canvas.drawRightString(190 * mm, 10 * mm, f"Page {document.page}")

    raw = io.BytesIO()
    document = SimpleDocTemplate(
        raw,
        pagesize=A4,
        title=title,
        author="Office",
        invariant=1,
        pageCompression=1,
        leftMargin=20 * mm,
        rightMargin=20 * mm,
    )
    document.build(list(parts), onFirstPage=foot, onLaterPages=foot)
    return raw.getvalue()


def heading(text: str, level: int = 1) -> Flowable:
    return Paragraph(text, STYLES[f"Heading{level}"])


def paragraph(text: str) -> Flowable:
    """A paragraph; `<b>` and `<i>` are known, `&` must be written `&amp;`."""
    return Paragraph(text, STYLES["BodyText"])


def gap(millimetres: float = 4) -> Flowable:
    return Spacer(1, millimetres * mm)


def table(rows: Sequence[Sequence[str]], *, widths: Sequence[float] | None = None) -> Flowable:
    """A table whose first row is its head; `widths` are in millimetres."""
    made = Table(rows, colWidths=[width * mm for width in widths] if widths else None, repeatRows=1)
    made.setStyle(
        TableStyle(
            [
                ("FONT", (0, 0), (-1, 0), "Helvetica-Bold", 9),
                ("FONT", (0, 1), (-1, -1), "Helvetica", 9),
                ("GRID", (0, 0), (-1, -1), 0.4, colors.grey),
            ]
        )
    )
    return made
