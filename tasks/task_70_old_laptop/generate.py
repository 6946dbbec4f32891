"""The backup of a family's old laptop: bills, versions, letters, photos with captions, unreadable scans; and questions."""

import gzip
import io
import struct
import tarfile
import zlib
from datetime import date, timedelta

from craft.dice import Dice

SEED = 20261012
HOMES = {"Mill Lane 4": "mill lane", "Quay 12, flat 3": "quay"}
MONTHS = "January February March April May June July August September October November December".split()
FIRST = "Ruth Inga Per Solveig Jonas Marit Anders Helga Tove Nils Berit Oskar Signe Leif Dagny Arne".split()
LAST = ("Berg", "Holm", "Lund", "Dahl", "Moen", "Vik")
JOBS = ("plumber", "lawyer", "dentist", "piano teacher", "chimney sweep", "tax adviser", "gardener", "locksmith")
PLACES = ("Lake Orr", "Fern Island", "the Old Light", "Market Square", "Birch Farm", "Gull Beach")
DEALS = {
    "lease flat": ("the flat at Quay 12", "rent", "rent a month", (700, 1100)),
    "cleaning": ("cleaning at Mill Lane 4", "price", "price of a visit", (40, 90)),
    "loan car": ("the loan for the car", "rate", "rate a month", (120, 300)),
    "garden plot": ("the garden plot", "fee", "fee a year", (150, 400)),
}
GOODS = ("dishwasher", "boiler", "freezer", "washing machine")
POLICIES = ("household insurance", "liability insurance", "travel insurance")


def words(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def picture(dice: Dice, width: int, height: int, shades: int) -> bytes:
    """A grey PNG; with few shades it is a page scanned with the lid open, with nothing on it that could be read."""
    rows = b"".join(b"\0" + bytes(dice.below(shades) for _ in range(width)) for _ in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


class Disk:
    """All files by their paths, and the questions with what is right for each."""

    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        self.texts: dict[str, str] = {}
        self.images: dict[str, bytes] = {}
        self.asked: list[dict[str, object]] = []
        self._deals()
        self._bills()
        self._people()
        self._photos()
        self._goods()
        self._scans()
        self._clutter()
        self.asked = dice.shuffled(self.asked)

    def ask(self, kind: str, question: str, answer: str, *needs: list[str], also: tuple[str, ...] = ()) -> None:
        """Ask for something; `needs` has the files that show it, each with its copies, `also` those that may be named."""
        self.asked.append(
            {"kind": kind, "question": question, "answer": answer, "needs": list(needs), "also": list(also)}
        )

    def put(self, path: str, text: str) -> str:
        assert path not in self.texts, path
        self.texts[path] = text
        return path

    def day(self, year: int) -> date:
        """A day of a year, but not 29 February, from which no number of years can be counted without a rule."""
        day = date(year, 1, 1) + timedelta(self.dice.below(360))
        return day.replace(day=28) if (day.month, day.day) == (2, 29) else day

    def _deals(self) -> None:
        dice = self.dice
        amended = set(dice.sample(list(DEALS), 2))
        for name, (what, word, unit, (low, high)) in DEALS.items():
            some = dice.sample(range(low, high), 5)
            year = dice.between(2016, 2018)
            drafted, signed = date(year, 2, dice.between(1, 28)), date(year, 4, dice.between(1, 28))
            text = "Agreement about {}\n\n1. It begins on 1 June {}.\n2. Either side can end it with three months' notice.\n"
            text = text.format(what, year) + f"3. The {unit} is EUR {{}}.\n\n{{}}\n"
            folder = f"Documents/{dice.pick(('contracts', 'important', 'house'))}"
            ends = dice.shuffled(("v1", "v2", "final", "FINAL 2", "new"))
            self.put(
                f"{folder}/{name} {ends[0]}.txt", text.format(some[0], f"Draft of {words(drafted)}, for your remarks.")
            )
            right = self.put(
                f"{folder}/{name} {ends[1]}.txt", text.format(some[1], f"Signed by both sides on {words(signed)}.")
            )
            copy = self.put(f"Downloads/{name} {ends[1]} (1).txt", self.texts[right])
            later = date(year + 3, 9, dice.between(1, 28))
            said = f"Proposal of {words(later)}. Not signed: we could not agree on item 3."
            self.put(f"{folder}/{name} {ends[2]}.txt", text.format(some[2], said))
            question = f"What is the {unit} for {what} at the end of 2024, in EUR?"
            if name in amended:
                change = date(year + 2, 11, dice.between(1, 28))
                amendment = self.put(
                    f"Mail/{change} {dice.pick(LAST)}.txt",
                    f"{words(change)}\n\nThank you for the signed copy. As we have both signed now, item 3 of our agreement about {what} "
                    f'reads, from 1 January {year + 3}: "The {unit} is EUR {some[3]}." All else stays.\n',
                )
                self.ask("versions", question, str(some[3]), [amendment], also=(right, copy))
            else:
                self.ask("versions", question, str(some[1]), [right, copy])

    def _bills(self) -> None:
        dice = self.dice
        firms = {"Nordlys": "electricity", "Clearwater": "water", "Fjordnet": "internet"}
        wanted = dice.sample([(firm, home, year) for firm in firms for home in HOMES for year in range(2021, 2025)], 4)
        kinds = dict(zip(wanted, dice.shuffled(("correction", "copy", "reminder", "late")), strict=True))
        number = dice.between(20000, 30000)
        for firm, what in firms.items():
            for home, short in HOMES.items():
                for year in range(2021, 2025):
                    kind = kinds.get((firm, home, year), dice.pick(("", "correction", "copy", "reminder")))
                    odd, needs, total = dice.between(1, 4), [], 0
                    for quarter in range(1, 5):
                        number += dice.between(3, 60)
                        cents = dice.between(4000, 29999)
                        end = date(year + quarter // 4, (3 * quarter) % 12 + 1, 1) - timedelta(1)
                        sent = end + timedelta(dice.between(5, 25))
                        name = dice.pick((f"{firm} {sent}.txt", f"{firm.lower()}_{number}.txt", f"bill {number}.txt"))
                        head = f"{firm}\nBill {number} of {words(sent)}\nFor: {home}\n"
                        body = f"{what.capitalize()}, quarter {quarter} of {year}\n"
                        paths = [f"Documents/bills {short} {sent.year}/{name}"]
                        self.put(paths[0], f"{head}{body}To pay: EUR {cents // 100}.{cents % 100:02d}\nThank you.\n")
                        if quarter == odd and kind == "copy":
                            paths.append(self.put(f"Downloads/{name[:-4]} (1).txt", self.texts[paths[0]]))
                        if quarter == odd and kind == "reminder":
                            later = sent + timedelta(30)
                            self.put(
                                f"Documents/bills {short} {later.year}/{firm} {later} {number}.txt",
                                f"{firm}\nReminder of {words(later)}\nFor: {home}\nBill {number} is still open.\n"
                                f"{body}To pay: EUR {cents // 100}.{cents % 100:02d}\n",
                            )
                        if quarter == odd and kind == "correction":
                            old, later = number, sent + timedelta(20)
                            number += 1
                            cents = cents * dice.between(60, 80) // 100
                            paths = [f"Mail/{firm} {later} {number}.txt"]
                            self.put(
                                paths[0],
                                f"{firm}\nBill {number} of {words(later)}\nFor: {home}\nThis bill replaces bill {old}, in which the "
                                f"meter was misread.\n{body}To pay: EUR {cents // 100}.{cents % 100:02d}\nThank you.\n",
                            )
                        total += cents
                        needs.append(paths)
                    if (firm, home, year) in kinds:
                        question = (
                            f"What did {what} from {firm} at {home} cost for the four quarters of {year}, in EUR?"
                        )
                        self.ask("bills", question, f"{total // 100}.{total % 100:02d}", *needs)
        # Internet at the flat began in 2021; the same question for the house can't be answered either.
        home, year = dice.pick(list(HOMES)), dice.between(2017, 2019)
        self.ask(
            "not_there",
            f"What did water from Clearwater at {home} cost for the four quarters of {year}, in EUR?",
            "unknown",
        )

    def _people(self) -> None:
        dice = self.dice
        jobs, lasts = dice.shuffled(JOBS), dice.shuffled(LAST)
        for place, last in enumerate(lasts[:4]):
            job, other = jobs[2 * place : 2 * place + 2]
            year = dice.between(2017, 2020)
            old, new, foreign = (f"0555 {dice.between(100000, 999999)}" for _ in range(3))
            days = [self.day(year), self.day(year + 1), self.day(year + 2)]
            near = dice.pick(FIRST)
            self.put(
                f"Mail/{last} {days[0]}.txt",
                f"{words(days[0])}\n\nDear Edith,\n\nthank you for calling. You reach me at {old}.\n\n{near} {last}, {job}\n",
            )
            moved = self.put(
                f"Mail/{last} {days[1]}.txt",
                f"{words(days[1])}\n\nDear Edith,\n\nI have moved my business, so {old} no longer works. It is {new} now.\n\n{near} {last}, {job}\n",
            )
            far = dice.pick([one for one in FIRST if one != near])
            self.put(
                f"Mail/{last} {days[2]}.txt",
                f"{words(days[2])}\n\nDear Edith,\n\nthis is my number from today: {foreign}.\n\n{far} {last}, {other}\n",
            )
            self.ask("people", f"What is the telephone number of {last}, the {job}?", new, [moved])
        job = dice.pick([one for one in ("vet", "optician", "roofer")])
        name = lasts[4]
        day = self.day(2020)
        self.put(
            f"Mail/{name} {day}.txt",
            f"{words(day)}\n\nDear Edith,\n\nthe {job} whom you asked about has retired; I would ask in town. "
            f"Call me at 0555 {dice.between(100000, 999999)} if you like.\n\n{dice.pick(FIRST)} {name}\n",
        )
        self.ask("not_there", f"What is the telephone number of the {job}?", "unknown")

    def _photos(self) -> None:
        dice = self.dice
        number, taken = dice.between(1000, 2000), []
        for place in PLACES:
            for year in range(2005, 2015):
                number += dice.between(1, 9)
                folder = f"Pictures/{year}"
                shot = f"{folder}/DSC{number:05d}"
                self.images[f"{shot}.png"] = picture(dice, 8, 6, 256)
                row = dice.sample(FIRST, 3)
                at = dice.below(4)
                shown = [*row[:at], "Edith", *row[at:]]
                self.put(
                    f"{shot}.txt",
                    f"{place}, {dice.pick(('June', 'July', 'August'))} {year}. From left: {', '.join(shown)}.\n",
                )
                taken.append((place, year, f"{shot}.txt", shown))
        lines = []
        some = dice.sample([one for one in taken if one[3][-1] != "Edith"], 10)
        for place, year, path, shown in some[4:]:
            lines.append(
                f"{path[-12:-4]}: that's {dice.pick([one for one in FIRST if one not in shown])}, not {shown[0]}."
            )
        notes = "Pictures/mistakes in the captions.txt"
        corrected = []
        for which, (place, year, path, shown) in enumerate(some[:4]):
            right = shown[shown.index("Edith") + 1]
            needs = [[path]]
            if which < 2:
                real = dice.pick([one for one in FIRST if one not in shown])
                corrected.append(f"{path[-12:-4]}: that's {real}, not {right}.")
                right, needs = real, [[path], [notes]]
            question = f"Who is next to Edith, on the right in the picture, in the photo taken at {place} in {year}?"
            self.ask("photos", question, right, *needs, also=(notes, f"{path[:-4]}.png"))
        self.put(
            notes,
            "What Edith said when we looked at them together, 2016:\n\n"
            + "\n".join(sorted([*lines, *corrected]))
            + "\n",
        )
        place = dice.pick(PLACES)
        self.ask(
            "not_there",
            f"Who is next to Edith, on the right in the picture, in the photo taken at {place} in 2016?",
            "unknown",
        )

    def _goods(self) -> None:
        dice = self.dice
        replaced = set(dice.sample(GOODS, 2))
        for what in GOODS:
            years = dice.between(2, 5)
            for home, short in HOMES.items():
                bought = self.day(dice.between(2018, 2021))
                model = f"{dice.pick(('KX', 'AR', 'TN'))}-{dice.between(100, 999)}"
                receipt = self.put(
                    f"Documents/receipts/{short} {bought} {model}.txt",
                    f"Ormond's Appliances, receipt of {words(bought)}\n1 {what} {model}, delivered that day to {home}\nWarranty: {years} years from delivery.\n",
                )
                again = bought + timedelta(dice.between(200, 500))
                if (again.month, again.day) == (2, 29):
                    again += timedelta(1)
                asked = (what in replaced) == (home == "Mill Lane 4")
                if home == "Mill Lane 4":
                    letter = self.put(
                        f"Mail/Ormond's {again} {model}.txt",
                        f"{words(again)}\n\nDear Edith,\n\nwe have replaced the {what} {model} at {home} under warranty today. "
                        f"The warranty of {years} years begins anew with this delivery.\n\nOrmond's Appliances\n",
                    )
                if asked:
                    start, needs, also = bought, [receipt], ()
                    if home == "Mill Lane 4":
                        start, needs, also = again, [letter], (receipt,)
                    question = f"On which date does the warranty of the {what} at {home} end?"
                    self.ask("dates", question, f"{start.replace(year=start.year + years)}", needs, also=also)

    def _scans(self) -> None:
        dice = self.dice
        for what in POLICIES:
            year = dice.between(2012, 2015)
            for number in range(3):
                day = self.day(year + number)
                self.put(
                    f"Documents/insurance/{what} {day}.txt",
                    f"{words(day)}\n\nYour {what}, policy {dice.between(10**6, 10**7 - 1)}, has ended. "
                    f"The new policy comes as a letter; please keep it.\n",
                )
            now = year + 4
            scan = f"Scans/{what} policy {now}.png"
            self.images[scan] = picture(dice, 60, 85, 9)
            self.ask("scans", f"What is the number of the {what} policy that began in {now}?", "unknown", [scan])

    def _clutter(self) -> None:
        dice = self.dice
        for _ in range(60):
            day = self.day(dice.between(2015, 2024))
            name = dice.pick(FIRST)
            self.texts[f"Mail/{name} {day}.txt"] = (
                f"{words(day)}\n\nDear Edith,\n\n"
                + dice.pick((
                    "thank you for the jam. The children send their love.", "we come on Sunday, if the road is open.",
                    "the choir sings again on Thursday. Shall I pick you up?", "here is the recipe: 300 g flour, 4 eggs, 1 lemon.",
                    "the cat is well, and so is the boiler.", "I read about the new prices of Nordlys. Terrible!",
                ))
                + f"\n\n{name}\n"
            )  # fmt: skip


def files(seed: int = SEED) -> dict[str, bytes]:
    disk = Disk(seed)
    content = {path: text.encode() for path, text in disk.texts.items()} | disk.images
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, data in sorted(content.items()):
            entry = tarfile.TarInfo(f"laptop/{path}")
            entry.size, entry.mtime = len(data), 1760227200
            archive.addfile(entry, io.BytesIO(data))
    questions = "".join(f'Q{number:02d},"{one["question"]}"\n' for number, one in enumerate(disk.asked, 1))
    return {
        "laptop.tar.gz": gzip.compress(packed.getvalue(), 9, mtime=0),
        "questions.csv": f"question,text\n{questions}".encode(),
    }


def expected(seed: int = SEED) -> dict[str, object]:
    """What is right for each question: the answer, the files that show it, each with its copies, and those that may be named."""
    return {
        f"Q{number:02d}": {key: value for key, value in one.items() if key != "question"}
        for number, one in enumerate(Disk(seed).asked, 1)
    }
