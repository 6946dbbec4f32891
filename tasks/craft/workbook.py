"""Excel workbooks, byte for byte the same each time."""

import io
import zipfile
from collections.abc import Callable
from datetime import datetime

from openpyxl import Workbook

MADE_AT = datetime(2026, 1, 5, 9, 0, 0)


def xlsx(fill: Callable[[Workbook], None]) -> bytes:
    """The bytes of a workbook that `fill` has filled; it begins with no sheet at all."""
    book = Workbook()
    book.remove(book.active)
    fill(book)
    book.properties.creator = "Office"
    book.properties.created = book.properties.modified = MADE_AT
    raw = io.BytesIO()
    book.save(raw)
    stamp = f"{MADE_AT:%Y-%m-%dT%H:%M:%SZ}".encode()
    packed = io.BytesIO()
    # Packed again without times and without compression, whose bytes differ from one zlib to the next.
    with zipfile.ZipFile(raw) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as new:
        for name in sorted(old.namelist(), key=lambda name: (name != "[Content_Types].xml", name)):
            data = old.read(name)
            if name == "docProps/core.xml":  # openpyxl writes the present time there
                head, _, rest = data.partition(b"<dcterms:modified")
                kind, _, rest = rest.partition(b">")
                data = head + b"<dcterms:modified" + kind + b">" + stamp + rest[rest.index(b"<") :]
            new.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    return packed.getvalue()
