"""The diff of the pull request of task_21_code_review. The files after the change are written by hand, in `files/code_review/src`;
what they looked like before is worked out here."""

import difflib
from pathlib import Path

AFTER = Path(__file__).resolve().parent / "files" / "code_review" / "src" / "lockers"


def between(text: str, first: str, end: str) -> str:
    """Return the piece of a text from `first` up to `end`."""
    begin = text.index(first)
    return text[begin : text.index(end, begin)] if end else text[begin:]


def before(name: str, text: str) -> str:
    """Undo the pull request in one file."""
    pairs: list[tuple[str, str]] = []
    if name == "export.py":
        return ""
    if name == "store.py":
        pairs = [
            ("import closing, contextmanager", "import contextmanager"),
            ("(path, timeout=10, isolation_level=None)", "(path, isolation_level=None)"),
            (
                '        if table not in TABLES:\n            raise ValueError(f"no such table: {table}")\n     '
                "   return self.connection.execute("
                'f"SELECT count(*) FROM {table}").fetchone()[0]\n',
                "        if table not in TABLES:\n            raise ValueError(table)\n        rows = "
                "self.connection.execute("
                'f"SELECT 1 FROM {table}").fetchall()\n        return len(rows)\n',
            ),
            ("include_archived: bool = True", "include_archived: bool = False"),
            (
                '        hidden = "" if include_archived else " AND parcels.archived = 0"\n',
                '        hidden = " AND parcels.archived = 0"\n        if include_archived:\n            hidden = ""\n',
            ),
            (between(text, "    def search(", "    def archive("), ""),
        ]
    if name == "booking.py":
        pairs = [
            ("        self.assigned = 0\n", ""),
            (
                " Every worker process has a store and bookings of its own.\n\n    `assigned` counts what this "
                'object assigned, for the log of its process.\n    """',
                '"""',
            ),
            (between(text, "class NoLockerError", "class Booking"), ""),
            (between(text, "    def assign(", "    def collect("), ""),
        ]
    if name == "fees.py":
        pairs = [
            ("are collected late, and refunds. RULES.md", "are collected late. RULES.md"),
            ("import logging\n", ""),
            ("LARGEST_FEE = 1500\n\nlog = logging.getLogger(__name__)\n", ""),
            ("Both calls raise `PaymentError`", "Its calls raise `PaymentError`"),
            ("    def refund(self, reference: str, cents: int) -> None: ...\n\n", ""),
            (
                between(text, "    if days <= FREE", "\n\ndef charge"),
                "    return max(0, days - FREE_DAYS) * CENTS_A_DAY\n",
            ),
            ("\n\n" + between(text, "def refund(store", ""), ""),
        ]
    if name == "notify.py":
        pairs = [
            ("from contextlib import suppress\n", ""),
            (
                "def message(parcel: Parcel, code: str, *, with_site: str | None = None) -> str:\n"
                '    """Return the text of a message; `with_site` adds where the lockers are."""\n'
                '    where = f" at {with_site}" if with_site else ""\n'
                '    return f"Your parcel {parcel.id} waits in locker {parcel.locker}{where}. Code: {code}"\n',
                "def message(parcel: Parcel, code: str) -> str:\n"
                '    """Return the text of a message."""\n'
                '    return f"Your parcel {parcel.id} waits in locker {parcel.locker}. Code: {code}"\n',
            ),
            (
                between(text, "def send_all", "\n\ndef send_quietly"),
                "def send_all(send: Send, texts: dict[str, str]) -> list[str]:\n"
                '    """Send a text to each receiver; return the receivers that could not be reached."""\n'
                "    lost = []\n    for receiver, text in texts.items():\n        try:\n            "
                "send(receiver, text)\n"
                '        except OSError as error:\n            log.warning("%s not reached: %s", receiver, error)\n'
                "            lost.append(receiver)\n    return lost\n",
            ),
            ("\n\n" + between(text, "def send_quietly", ""), ""),
        ]
    for new, old in pairs:
        if text.count(new) != 1:
            raise ValueError(f"{name}: {new!r} occurs {text.count(new)} times")
        text = text.replace(new, old)
    return text


def files() -> dict[str, bytes]:
    parts = []
    for path in sorted(AFTER.glob("*.py")):
        after = path.read_text(encoding="utf-8")
        old = before(path.name, after)
        place = f"src/lockers/{path.name}"
        if old != after:
            head = [f"diff --git a/{place} b/{place}\n", *(["new file mode 100644\n"] if not old else [])]
            source = f"a/{place}" if old else "/dev/null"
            body = difflib.unified_diff(old.splitlines(True), after.splitlines(True), source, f"b/{place}")
            parts.append("".join([*head, *body]))
    return {"code_review/pr.diff": "".join(parts).encode("utf-8")}
