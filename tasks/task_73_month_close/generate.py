"""A bakery's invoices of a month: thirty to book, eight of which records that are found late forbid."""

from datetime import date, timedelta

from craft.dice import Dice
from craft.office import office_files

SEED = 20261102
OWNER = "books@oven-lane.example"
ACCOUNTS = {
    5100: "flour and grain",
    5200: "dairy and eggs",
    5300: "packaging",
    5400: "repairs",
    5500: "vans",
    5600: "events",
}
SUPPLIERS = (
    "Miller Brothers", "Hilltop Dairy", "Boxwell", "Ferro Repairs", "Vale Garage", "Grainworks", "Paperleaf", "Coldchain", "Sunny Eggs",
    "Tentmakers", "Ovenfix", "Northern Salt",
)  # fmt: skip
TEAM = ("Anton Reuter", "Bea Salis", "Cem Arslan", "Dora Lindt")
MONTHS = {9: "September", 10: "October", 11: "November"}
RULES = """What is booked in a month

1. An invoice belongs to the month in which the goods or the work came, whatever the date of the invoice. The delivery note has that day.
2. The sum is the one on the delivery note. If the invoice has another one, nothing is booked until the supplier has sent a new one.
3. An invoice is booked once. Numbers are the suppliers' own: two suppliers may use the same one.
4. Above EUR 1000.00, Hanne has to release it, up to a limit; see the file "Releases".
5. While a supplier is blocked, nothing of theirs is booked. Their contact says so, also when a block is lifted.
6. Nothing is booked on an account that is closed for the month; see the file "Accounts".
7. If a colleague withdraws an invoice by mail, it is not booked, unless a later mail of the same colleague says that it holds after all.
"""


def long_day(day: date) -> str:
    return f"{day.day} {MONTHS[day.month]} {day.year}"


def euros(cents: int) -> str:
    return f"EUR {cents // 100}.{cents % 100:02d}"


class World:
    """The bakery's records and, for each request, what is to be booked or which record forbids it."""

    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        people = [(name, "team") for name in TEAM] + [(name, "supplier") for name in dice.shuffled(SUPPLIERS)]
        self.contacts = {
            f"p{place}": {
                "name": name, "mail": "".join(one for one in name.lower() if one.isalpha()) + "@mail.example", "role": role, "notes": "",
            }
            for place, (name, role) in enumerate(people, 1)
        }  # fmt: skip
        self.ids = {one["name"]: place for place, one in self.contacts.items()}
        *suppliers, blocked, lifted = [one for one in self.ids if one not in TEAM]
        self.note(
            blocked, "Blocked since 5 October 2026: they charge for crates we sent back. 19 October: no answer yet."
        )
        self.note(
            lifted,
            "Blocked since 2 September 2026: wrong bank account. 30 September: it was a misprint, the block is lifted.",
        )
        *accounts, closed, closing = dice.shuffled(list(ACCOUNTS))
        self.drive, self.ledger, self.requests, self.released = {}, {}, [], []
        self.file("What is booked in a month", RULES)
        lines = {closed: "closed since 1 October 2026, its budget is spent", closing: "closed from 1 November 2026"}
        text = "".join(
            f"{one}: {name}{', ' + lines[one] if one in lines else ''}\n" for one, name in sorted(ACCOUNTS.items())
        )
        self.accounts = self.file("Accounts", text)
        self.releases = "d3"
        self.drive[self.releases] = {}  # its text comes last
        self.suppliers, self.open = suppliers, accounts
        self.numbers = dice.sample(range(1000, 9999), 60)
        for _ in range(9):  # what is in the ledger already
            self.booked(self.invoice())
        for _ in range(15):
            self.ask(self.invoice())
        self.ask(self.invoice(supplier=lifted))
        self.ask(self.invoice(account=closing))
        self.ask(self.invoice(day=date(2026, 10, 31)))
        self.ask(self.invoice(cents=dice.between(110000, 190000)), release=50)
        same, other = dice.sample(suppliers, 2)
        _, one = self.booked(self.invoice(supplier=same, day=date(2026, 9, 24)))
        self.ask(self.invoice(supplier=other, number=one["number"]))
        self.ask(self.invoice(), tag="back")
        self.ask(self.invoice(day=date(2026, 10, 1)))
        late = self.invoice(day=date(2026, 11, 1) + timedelta(dice.below(2)))
        self.ask(late, late["note"])
        for _ in range(2):
            entry, one = self.booked(self.invoice())
            self.ask(one, entry)
        self.ask(self.invoice(cents=dice.between(110000, 190000)), self.releases, release=-50)
        self.ask(self.invoice(supplier=blocked), self.ids[blocked])
        self.ask(self.invoice(account=closed), self.accounts)
        short = self.invoice()
        self.ask(short | {"cents": short["cents"] + 100 * dice.between(5, 40)}, short["note"])
        self.ask(self.invoice(), "withdrawn", tag="withdrawn")
        self.drive[self.releases] = {
            "name": "Releases", "folder": "books", "shared_with": [], "text": "Released by Hanne\n\n" + "".join(self.released),
        }  # fmt: skip
        self._inbox()

    def note(self, name: str, text: str) -> None:
        self.contacts[self.ids[name]]["notes"] = text

    def file(self, name: str, text: str, folder: str = "books") -> str:
        place = f"d{len(self.drive) + 1}"
        self.drive[place] = {"name": name, "folder": folder, "text": text, "shared_with": []}
        return place

    def invoice(
        self, *, supplier: str = "", account: int = 0, day: date | None = None, cents: int = 0, number: str = ""
    ) -> dict:
        dice = self.dice
        one = {
            "supplier": supplier or dice.pick(self.suppliers), "account": account or dice.pick(self.open),
            "day": day or date(2026, 10, dice.between(2, 30)), "cents": cents or dice.between(2000, 89999),
        }  # fmt: skip
        one["number"] = number or f"{dice.pick('ABCR')}-{self.numbers.pop()}"
        text = f"Delivery note for {one['number']}\n{one['supplier']}\nReceived on {long_day(one['day'])}\nValue: {euros(one['cents'])}\n"
        one["note"] = self.file(f"{one['supplier']} {one['number']}", text, "deliveries")
        return one

    def booked(self, one: dict) -> tuple[str, dict]:
        place = f"l{len(self.ledger) + 1}"
        self.ledger[place] = self.entry(one)
        return place, one

    def entry(self, one: dict) -> dict[str, object]:
        return {
            "date": f"{one['day']}", "account": one["account"], "cents": one["cents"], "text": f"{one['supplier']} {one['number']}",
        }  # fmt: skip

    def ask(self, one: dict, because: str = "", *, tag: str = "", release: int = 0) -> None:
        if release:
            limit = one["cents"] // 100 + release
            self.released.append(f"{one['supplier']} {one['number']}: up to EUR {limit}.00\n")
        self.requests.append(one | {"because": because, "tag": tag, "by": self.dice.pick(TEAM)})

    def letter(self, by: str, subject: str, text: str) -> dict[str, str]:
        sender = f"{by} <{self.contacts[self.ids[by]]['mail']}>"
        text = f"Hello Pia,\n\n{text}\n\n{by.split()[0]}\n"
        return {"from": sender, "to": OWNER, "folder": "inbox", "subject": subject, "text": text}

    def _inbox(self) -> None:
        dice = self.dice
        self.mail, self.expected = {}, {}
        ordered = dice.shuffled(self.requests)
        later = []
        for one in ordered:
            name, what = f"m{len(self.mail) + 1}", f"{one['supplier']}, {one['number']}"
            said = f"{euros(one['cents'])}, for {ACCOUNTS[one['account']]}"
            text = dice.pick(
                (f"please book an invoice of {what}: {said}.", f"here is an invoice to book: {what}. It's {said}.")
            )
            self.mail[name] = self.letter(
                one["by"], dice.pick(("Invoice", f"Invoice {one['number']}", "To book")), text
            )
            self.expected[name] = {"want": self.entry(one), "because": one["because"]}
            if one["tag"]:
                later.append((one, name, f"{one['number']} of {one['supplier']}"))
        for one, name, what in later:
            place = f"m{len(self.mail) + 1}"
            self.mail[place] = self.letter(one["by"], "Wait", f"please don't book {what} yet, half of it was broken.")
            if one["tag"] == "withdrawn":
                self.expected[name]["because"] = place
        for one, _, what in later:
            if one["tag"] == "back":
                text = f"{what} holds after all, the damage was on another one."
                self.mail[f"m{len(self.mail) + 1}"] = self.letter(one["by"], "Settled", text)
        for text in (
            "is the kitchen free on Friday?",
            "I'm on holiday next week.",
            "who has the key to the cold store?",
        ):
            self.mail[f"m{len(self.mail) + 1}"] = self.letter(dice.pick(TEAM), "A question", text)


def files(seed: int = SEED) -> dict[str, bytes]:
    world = World(seed)
    records = {"mail": world.mail, "contacts": world.contacts, "drive": world.drive, "ledger": world.ledger}
    return office_files({"owner": OWNER, "records": records})


def expected(seed: int = SEED) -> dict[str, object]:
    """What each mail wants to have booked, and the record that forbids it."""
    return World(seed).expected
