"""A translator's disk, with a year's tax papers among everything else: bills, receipts, mails, scans, bank, copies."""

import struct
import zlib
from datetime import UTC, date, datetime, time, timedelta
from hashlib import sha256
from html import escape

from craft.dice import Dice
from craft.mail import eml

SEED = 20260109
MONTHS = "January February March April May June July August September October November December".split()
WORK, OWN, BROTHER = "Voss Translations, Canal Street 8", "Marlene Voss, Mill Lane 3", "Jonas Voss, Mill Lane 3"
CLIENTS = (
    "Norddruck",
    "Lindqvist Yachts",
    "City Museum",
    "Albrecht Seeds",
    "Tarn Outdoor",
    "Hafen Verlag",
    "Orvo Pumps",
)
# Who sends bills for her work, for what, and between which sums in euros.
FIRMS = {
    "Harbour Coworking": ("A desk for a month", (140, 190)),
    "Lexika Software": ("Dictionary licence", (60, 240)),
    "Norrail": ("Ticket to a client, second class", (25, 120)),
    "Telko": ("Telephone and internet", (35, 60)),
    "Penfold Stationers": ("Paper, folders, ink", (15, 90)),
    "Kern Printing": ("300 cards and letterheads", (80, 220)),
    "Guild of Translators": ("Membership fee", (90, 180)),
    "Bookshop Adler": ("Terminology handbooks", (30, 130)),
}
PRIVATE = (
    ("Dr. Holm, dentist", "Treatment in two sittings"), ("Marchetti Shoes", "1 pair of boots, size 39"),
    ("Streamhouse", "Films for a month"), ("Gym on the Quay", "Membership for three months"),
    ("Norrail", "Ticket to the seaside, two persons"), ("Vet Practice Moen", "Vaccination of a cat"),
    ("Garden Centre Birch", "12 lavender plants"), ("Northern Mutual", "Household insurance"),
)  # fmt: skip
CLUTTER = (
    "Plum cake: 500 g plums, 250 g flour, 3 eggs. Bake for 45 minutes.", "Bus timetable, line 4, valid from June.",
    "Packing list for the lake: tent, stove, matches, torch.", "How to descale your kettle. Keep these instructions.",
    "Choir: the alto part of the second song, with breathing marks.", "Crossword of Saturday. Solution next week.",
    "CV of Marlene Voss, translator. Languages: Danish, Dutch, English.", "Glossary of sailing terms, third draft.",
    "Notes for the invoice template: bigger logo, no slogan.", "Terms of use of the library, in short.",
)  # fmt: skip


def words(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def euros(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"


def quoted(text: str) -> str:
    return f'"{text}"' if "," in text else text


def pdf(lines: list[str]) -> bytes:
    """A document of one page, whose text isn't compressed."""
    shown = "".join(f"({line}) Tj T* " for line in lines)
    stream = f"BT /F 11 Tf 15 TL 60 760 Td {shown}ET"
    objects = (
        "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        f"<</Length {len(stream)}>>stream\n{stream}\nendstream", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )  # fmt: skip
    text, places = "%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(text))
        text += f"{number} 0 obj{one}endobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    end = f"trailer<</Size 6/Root 1 0 R>>\nstartxref\n{len(text)}\n%%EOF\n"
    return f"{text}xref\n0 6\n0000000000 65535 f \n{table}{end}".encode()


def page(lines: list[str]) -> bytes:
    shown = "\n".join(f"<p>{escape(line, quote=False)}</p>" for line in lines)
    return f"<!doctype html><title>{escape(lines[0])}</title>\n{shown}\n".encode()


def black(dice: Dice) -> bytes:
    """A page scanned with the lid open, on which nothing can be read: a PNG, stored, as zlibs pack differently."""
    rows = b"".join(b"\0" + bytes(dice.below(9) for _ in range(40)) for _ in range(56))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 40, 56, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:12]


class Disk:
    """All files by their paths, the account, and what has to become of them."""

    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        self.content: dict[str, bytes] = {}
        self.account: list[tuple[date, str, int]] = []
        self.wanted: list[dict[str, object]] = []
        self.asked: list[str] = []
        self.copies: list[str] = []
        self.numbers = dice.sample(range(10_000, 99_999), 120)
        self.invoices = 0
        self._income()
        self._costs()
        self._once_and_twice()
        self._to_be_asked()
        self._private()
        self._kept()

    def day(self, first: date, days: int) -> date:
        return first + timedelta(self.dice.below(days))

    def keep(self, data: bytes, ending: str, names: tuple[str, ...], folder: str = "") -> str:
        """Put a file somewhere, under one of these names or one that says nothing."""
        dice = self.dice
        scanned = ("Scans",) if ending == ".pdf" else ()
        while True:
            blank = (
                f"IMG_{dice.between(2000, 2999)}",
                f"document ({dice.between(2, 30)})",
                f"{dice.between(10**7, 10**8)}",
            )
            top = folder or dice.pick(("Downloads", "Downloads", "Downloads", "Desktop", *scanned))
            name = f"scan_{dice.between(100, 400):04d}" if top == "Scans" else dice.pick((*names, *blank))
            if (path := f"{top}/{name}{ending}") not in self.content:
                return self.put(path, data)

    def put(self, path: str, data: bytes) -> str:
        assert path not in self.content, path
        self.content[path] = data
        return path

    def paper(
        self, firm: str, to: str, what: str, cents: int, dated: date, *, kind: str = "Invoice", number: str = "",
        paid: date | None = None, card: bool = False, moved: int = 0, notes: tuple[str, ...] = (), form: str = "",
        names: tuple[str, ...] = (), folder: str = "", place: str = "",
    ) -> str:  # fmt: skip
        """Write a bill, and enter what was paid into the account: `moved` if that is another sum."""
        number = number or str(self.numbers.pop())
        lines = [firm, f"{kind} {number}", f"Date: {words(dated)}", *([f"To: {to}"] if to else []), what]
        net = cents * 100 // 119
        lines.append(f"Net EUR {euros(net)}, VAT EUR {euros(cents - net)}")
        lines.append(f"Total: EUR {euros(cents)}")
        if card:
            lines.append(f"Paid by card on {words(paid or dated)}. Thank you!")
        lines += notes
        if paid:
            party = to if firm == "Voss Translations" else firm
            sign = 1 if firm == "Voss Translations" else -1
            self.account.append((paid, f"{party} {'card' if card else number}", sign * (moved or cents)))
        ending, data = self.formed(form or self.dice.pick(("pdf", "pdf", "pdf", "eml", "html")), lines, dated)
        if place:
            return self.put(f"{place}{ending}", data)
        named = (f"Invoice_{number}", f"{firm} {dated.year}", f"{firm.split()[0].lower()}-{dated:%m}")
        return self.keep(data, ending, names or named, folder)

    @staticmethod
    def formed(form: str, lines: list[str], dated: date) -> tuple[str, bytes]:
        match form:
            case "eml":
                sender = "".join(one for one in lines[0].lower() if one.isalnum())
                sent = datetime.combine(dated, time(9, 30), UTC)
                text = "\n".join(lines) + "\n"
                return ".eml", eml(
                    sender=f"{lines[0].split(',')[0]} <office@{sender}.example>", to="marlene@voss-translations.example",
                    subject=lines[1], sent=sent, text=text,
                )  # fmt: skip
            case "html":
                return ".html", page(lines)
            case _:
                return ".pdf", pdf(lines)

    def want(self, folder: str, who: str, cents: int, paid: date, *paths: str, later: bool = False) -> None:
        """Note that one of these files belongs in a folder, from the start or once she has said so."""
        self.wanted.append({
            "folder": folder, "who": who, "total": euros(cents), "date": f"{paid}", "paths": list(paths), "later": later,
        })  # fmt: skip

    def invoice(
        self, dated: date, paid: date | None, *, replaced: str = "", **options: object
    ) -> tuple[str, str, int, str]:
        """One of her own invoices, to the client of the replaced one. Returns its path, client, cents and number."""
        self.invoices += 1
        number = f"V-{dated.year}-{self.invoices:03d}"
        picked, cents = self.dice.pick(CLIENTS), self.dice.between(12000, 190000)
        client = replaced or picked
        what = f"Translation, {self.dice.between(4, 90)} pages"
        names = (f"Invoice {client}", f"{number}", f"Voss {client} {dated.year}", "invoice final")
        path = self.paper(
            "Voss Translations", client, what, cents, dated, number=number, paid=paid, names=names,
            form=self.dice.pick(("pdf", "pdf", "html")), **options,
        )  # fmt: skip
        return path, client, cents, number

    def _income(self) -> None:
        dice = self.dice
        dates = sorted(self.day(date(2025, 1, 8), 310) for _ in range(9))
        for dated in [date(2024, 12, dice.between(10, 22)), *dates]:
            paid = date(2025, 1, dice.between(5, 20)) if dated.year == 2024 else self.day(dated + timedelta(6), 30)
            path, client, cents, _ = self.invoice(dated, paid)
            self.want("income", client, cents, paid, path)
        # Replaced by another, never paid, a draft, and paid in January.
        dated = self.day(date(2025, 3, 1), 120)
        _, client, _, old = self.invoice(dated, None)
        paid = dated + timedelta(dice.between(15, 40))
        notes = (f"This invoice replaces {old}.",)
        path, client, cents, _ = self.invoice(dated + timedelta(4), paid, replaced=client, notes=notes)
        self.want("income", client, cents, paid, path)
        self.invoice(self.day(date(2025, 10, 1), 40), None)
        self.invoice(self.day(date(2025, 5, 1), 90), None, kind="DRAFT of invoice")
        self.invoice(date(2025, 12, dice.between(8, 20)), date(2026, 1, dice.between(5, 20)))
        dated = self.day(date(2025, 4, 1), 150)
        short = dice.between(5000, 11000)
        path, *_ = self.invoice(dated, dated + timedelta(dice.between(7, 30)), moved=short)
        self.asked.append(path)

    def cost(self, firm: str, dated: date, paid: date | None, **options: object) -> tuple[str, int, str]:
        """A bill for her work. Returns its path, cents and number."""
        what, (low, high) = FIRMS[firm]
        cents, number = self.dice.between(low * 100, high * 100), str(self.numbers.pop())
        path = self.paper(firm, WORK, what, cents, dated, number=number, paid=paid, **options)
        return path, cents, number

    def _costs(self) -> None:
        dice = self.dice
        places = {"Kern Printing": "Downloads/quote", "Lexika Software": "Desktop/private"}
        paths = []
        for firm in (*FIRMS, "Harbour Coworking", "Norrail"):
            dated = self.day(date(2025, 1, 10), 300)
            card = firm in ("Norrail", "Penfold Stationers", "Bookshop Adler")
            paid = dated if card else self.day(dated + timedelta(3), 20)
            path, cents, number = self.cost(firm, dated, paid, card=card, place=places.get(firm, ""))
            self.want("costs", firm, cents, paid, path)
            what = FIRMS[firm][0]
            paths.append(path)
            if firm == "Telko":
                self.paper(firm, WORK, what, cents, dated + timedelta(20), kind="Reminder of invoice", number=number)
            if firm == "Penfold Stationers":
                for kind in ("Order confirmation", "Delivery note"):
                    self.paper(firm, WORK, what, cents, dated - timedelta(2), kind=kind)
        self.copies += dice.sample(paths, 2)
        # A turn of the year at both ends, a quote, and a bill that was cancelled and replaced.
        firm = dice.pick(("Lexika Software", "Kern Printing"))
        dated, paid = date(2024, 12, dice.between(12, 22)), date(2025, 1, dice.between(3, 15))
        path, cents, _ = self.cost(firm, dated, paid)
        self.want("costs", firm, cents, paid, path)
        self.cost("Kern Printing", date(2025, 12, dice.between(12, 22)), date(2026, 1, dice.between(3, 15)))
        self.cost("Kern Printing", self.day(date(2025, 2, 1), 200), None, kind="Quote", place="Downloads/invoice Kern")
        dated = self.day(date(2025, 2, 1), 200)
        _, cents, old = self.cost("Lexika Software", dated, None)
        self.paper(
            "Lexika Software", WORK, f"Invoice {old} is cancelled.", cents, dated + timedelta(5), kind="Credit note"
        )
        paid = dated + timedelta(dice.between(15, 30))
        path, cents, _ = self.cost("Lexika Software", dated + timedelta(6), paid)
        self.want("costs", "Lexika Software", cents, paid, path)
        # Her flat, as she says later: to be put back.
        paid = self.day(date(2025, 2, 10), 280)
        cents = dice.between(9000, 30000)
        self.back = self.paper("Ostwind Energy", WORK, "Electricity, two months", cents, paid - timedelta(9), paid=paid)
        paid = self.day(date(2025, 2, 10), 280)
        cents = dice.between(15000, 40000)
        path = self.paper("Soundhaus", WORK, "1 monitor, 27 inches", cents, paid, paid=paid, card=True)
        self.want("costs", "Soundhaus", cents, paid, path)
        for name in ("Three Limes", "Station Buffet"):
            paid, cents = self.day(date(2025, 2, 10), 280), dice.between(2500, 9000)
            guests = f"Guests: M. Voss, {dice.pick(('Lea Brandt', 'Tom Orvo', 'Ida Lindqvist'))}"
            path = self.receipt(name, cents, paid, guests)
            self.want("costs", name, cents, paid, path)

    def receipt(self, name: str, cents: int, paid: date, guests: str) -> str:
        what = self.dice.pick(("2 lunches, 2 water", "2 dinners, 2 tea", "2 soups, 1 cake, 2 coffee"))
        return self.paper(
            name,
            "",
            what,
            cents,
            paid,
            kind="Receipt",
            paid=paid,
            card=True,
            notes=(guests,),
            names=(name.lower(),),
            form="pdf",
        )

    def _once_and_twice(self) -> None:
        dice = self.dice
        # One bill as a mail and as a scan of its print, and two bills whose names differ in a number only.
        dated = self.day(date(2025, 2, 1), 250)
        paid, number, firm = dated + timedelta(dice.between(4, 20)), str(self.numbers.pop()), "Guild of Translators"
        cents = dice.between(4000, 12000)
        paths = [self.paper(firm, WORK, "Seminar on legal texts", cents, dated, number=number, paid=paid, form="eml")]
        paths.append(
            self.paper(firm, WORK, "Seminar on legal texts", cents, dated, number=number, form="pdf", folder="Scans")
        )
        self.want("costs", firm, cents, paid, *paths)
        for firm, name in (("Telko", "invoice"), ("Harbour Coworking", "invoice (1)")):
            dated = self.day(date(2025, 2, 1), 250)
            paid = dated + timedelta(dice.between(4, 20))
            path, cents, _ = self.cost(firm, dated, paid, form="pdf", place=f"Downloads/{name}")
            self.want("costs", firm, cents, paid, path)
        self.copies.append(dice.pick([one["paths"][0] for one in self.wanted if one["folder"] == "income"]))
        for place, path in enumerate(self.copies):
            name, _, ending = path.rpartition("/")[2].rpartition(".")
            other = "Desktop/from the phone" if place == 1 else f"Downloads/{name} (1)"
            self.put(f"{other}.{ending}", self.content[path])
            next(one for one in self.wanted if path in one["paths"])["paths"].append(f"{other}.{ending}")
            if place == 0:
                self.put(f"Documents/Jonas/shared bill.{ending}", self.content[path])

    def _to_be_asked(self) -> None:
        dice = self.dice
        for name in ("Blue Heron", "Old Mill"):
            paid, cents = self.day(date(2025, 2, 10), 280), dice.between(2500, 9000)
            path = self.receipt(name, cents, paid, "Guests: ____________________")
            self.asked.append(path)
            if name == "Blue Heron":
                self.want("costs", name, cents, paid, path, later=True)
        self.receipt(
            "Golden Lamb", dice.between(2500, 9000), self.day(date(2024, 3, 1), 250), "Guests: ____________________"
        )
        for firm, what, (low, high) in (
            ("Sitwell", "1 desk chair, grey", (20000, 45000)), ("Soundhaus", "1 pair of headphones", (6000, 19000)),
        ):  # fmt: skip
            paid, cents = self.day(date(2025, 2, 10), 280), dice.between(low, high)
            path = self.paper(firm, OWN, what, cents, paid, paid=paid, card=True)
            self.asked.append(path)
            if firm == "Sitwell":
                self.want("costs", firm, cents, paid, path, later=True)
        before = self.day(date(2024, 3, 1), 250)
        self.paper("Sitwell", OWN, "1 desk lamp", dice.between(3000, 9000), before, paid=before, card=True)
        dated = self.day(date(2025, 2, 1), 250)
        path, *_ = self.cost("Kern Printing", dated, dated + timedelta(12), moved=dice.between(4000, 7000))
        self.asked.append(path)
        self.asked.append(self.keep(black(dice), ".png", (), "Scans"))

    def _private(self) -> None:
        dice = self.dice
        for place, (firm, what) in enumerate(PRIVATE):
            dated = self.day(date(2025, 1, 10), 300)
            paid = self.day(dated + timedelta(2), 15)
            where = "Desktop/work stuff" if place == 1 else ""
            self.paper(firm, OWN, what, dice.between(1500, 30000), dated, paid=paid, place=where)
        for firm in ("Telko", "Penfold Stationers"):
            self.paper(firm, BROTHER, FIRMS[firm][0], dice.between(1500, 6000), self.day(date(2025, 2, 1), 250))
        for _ in range(4):
            paid, cents = self.day(date(2025, 1, 10), 320), dice.between(900, 8000)
            self.paper("Market Hall", "", "Bread, cheese, apples", cents, paid, kind="Receipt", paid=paid, card=True)
        for text in CLUTTER:
            self.keep(
                *dice.pick(((pdf([text]), ".pdf"), (f"{text}\n".encode(), ".txt"))), ("for later", "print this", "misc")
            )

    def _kept(self) -> None:
        dice = self.dice
        for number in range(5):
            dated = self.day(date(2024, 1, 10), 600)
            cents = dice.between(2000, 40000)
            lines = [
                "Orr Garage",
                f"Invoice {self.numbers.pop()}",
                f"Date: {words(dated)}",
                f"To: {BROTHER}",
                "Repair of a van",
            ]
            self.content[f"Documents/Jonas/{dated.year} van {number + 1}.pdf"] = pdf(
                [*lines, f"Total: EUR {euros(cents)}"]
            )
        for folder, firm, to in (
            ("income", "Voss Translations", "City Museum"), ("income", "Voss Translations", "Orvo Pumps"),
            ("costs", "Telko", WORK), ("costs", "Kern Printing", WORK), ("costs", "Norrail", WORK),
        ):  # fmt: skip
            paid, cents = self.day(date(2024, 2, 1), 250), dice.between(3000, 14000)
            who = to if folder == "income" else firm
            lines = [firm, f"Invoice {self.numbers.pop()}", f"Date: {words(paid - timedelta(9))}", f"To: {to}"]
            place = f"Tax 2024/{folder}/{paid} {who} {euros(cents)}.pdf"
            self.content[place] = pdf([*lines, f"Total: EUR {euros(cents)}"])
            self.account.append((paid, f"{who} {lines[1][8:]}", cents if folder == "income" else -cents))
        for month in range(1, 13):
            self.account.append((date(2025, month, 1), "Mill Lane rent", -78000))
            self.account.append((date(2025, month, dice.between(10, 25)), "cash machine", -dice.between(1, 4) * 5000))
        for year in (2024, 2025, 2026):
            rows = sorted(one for one in self.account if one[0].year == year)
            lines = [f"{day},{quoted(text)},{'-' * (cents < 0)}{euros(abs(cents))}\n" for day, text, cents in rows]
            self.content[f"Documents/bank/account {year}.csv"] = ("date,text,amount\n" + "".join(lines)).encode()
        self.content["Documents/letter from Ines.txt"] = LETTER.encode()


LETTER = """Dear Marlene,

for 2025 I need the same as always. Some of it went wrong last time, so here it is in writing:

1. What counts is the day on which the money moved, not the date on the invoice. I need what was paid from
   1 January to 31 December 2025. Your account shows it, or the receipt if you paid by card. What nobody has paid
   yet, I don't need.
2. Income: the invoices that you wrote. No drafts, and if you replaced one, only the new one.
3. Costs: invoices and receipts that are made out to Voss Translations. No quotes, order confirmations, delivery
   notes, reminders or credit notes, and nothing that was cancelled.
4. What is made out to you by your own name, or to nobody, is private and none of my business. There are two
   exceptions that only you can decide: furniture and electronics in your own name, which may be for the office,
   and restaurants. If the guests are written on the receipt of a restaurant, I take it. If they aren't, you have
   to say who was there.
5. If another sum moved than the invoice says, I want to hear from you why. Don't just send it.
6. Each invoice once, please, also if you have it as a mail and as a scan.

Kind regards
Ines Harms
"""


def files(seed: int = SEED) -> dict[str, bytes]:
    return {f"home/{path}": data for path, data in Disk(seed).content.items()}


def expected(seed: int = SEED) -> dict[str, object]:
    """What belongs in the two folders, what had to be asked, what has to be put back, and where all else is."""
    disk = Disk(seed)
    wanted = [
        {key: value for key, value in one.items() if key != "paths"}
        | {"files": sorted({digest(disk.content[path]) for path in one["paths"]})}
        for one in disk.wanted
    ]
    moved = {path for one in disk.wanted if not one["later"] for path in one["paths"]}
    return {
        "wanted": wanted,
        "asked": sorted(disk.asked),
        "back": disk.back,
        "copies": sorted(digest(disk.content[path]) for path in disk.copies),
        "stays": {path: digest(data) for path, data in sorted(disk.content.items()) if path not in moved},
    }
