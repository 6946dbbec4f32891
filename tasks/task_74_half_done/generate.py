"""A club's yearly fees, half done by a colleague who fell ill: what he did right, wrong, in part, and not at all."""

from craft.dice import Dice
from craft.office import office_files

SEED = 20261116
OWNER = "office@northgate-climbing.example"
FIRST = (
    "Ada", "Ben", "Clara", "Dario", "Elif", "Felix", "Greta", "Hugo", "Ines", "Jakob", "Kira", "Luis", "Maja", "Noah", "Olga", "Paul",
    "Rosa", "Samir", "Tilda", "Viktor",
)  # fmt: skip
LAST = ("Amsel", "Birk", "Castor", "Dorn", "Esser", "Falk", "Gerber", "Hansen", "Imhof", "Jansen", "Keller", "Lorenz")
STREETS = ("Quarry Road", "Mill Street", "Castle Hill", "Station Road", "Elm Close")
CLASSES = ("Adult", "Student", "Junior", "Family")
# What Tom made of the members at the top of the register, and what the others need.
BY_TOM = (
    *("right",) * 11, "double", "double", "old_fee", "old_fee", "no_mail", "no_mail", "no_booking", "left", "left", "slip",
    "old_class",
)  # fmt: skip
AFTER_HIS_LIST = ("right", "right")
UNTOUCHED = (
    *("plain",) * 8,
    "gone",
    "gone",
    "honorary",
    "honorary",
    "new_class",
    "new_class",
    "bounce",
    "refuse",
    "lose",
)
HOW = """How we do the fees for 2027

Every member in our contacts pays once a year, by the class in the notes and the table "Fees 2027". Honorary members pay nothing, and
those who have written to us that they leave by the end of 2026 don't either. If members have asked for another class, that one holds.

For each member who has to pay, there are three things, and none of them twice:

1. The contact: the notes begin with the class that holds and end with the fee, such as "Student, since 2019. Fee 2027: EUR 60."
2. The ledger: one entry on account 1200, the fee in cents, with the text "Fee 2027: NAME".
3. One mail to the address in our contacts, with the subject "Fee 2027" and, among the rest, the line "To pay: EUR 60.00".

For members who pay nothing, nothing is changed, booked or sent.

When something has gone wrong:

- A wrong entry in the ledger is taken back by another one on the same account, with the negative sum and the text "Reversal of l17"
  (its id). Then the right one is booked, if there is to be one.
- After a mail with a wrong sum, there is one more mail, with the subject "Correction: fee 2027" and the right line "To pay: EUR 60.00",
  or "To pay: EUR 0.00" for those who don't pay.
- What was changed in a contact by mistake is put back as it was. The file "Register, 1 November" has the contacts as they were before
  we began with the fees.
"""


class World:
    """The club's records as Tom left them, and what is right for each member."""

    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        fees = {name: 5 * step for name, step in zip(CLASSES, dice.sample(range(10, 20), 4), strict=True)}
        old = {name: fee - 5 * dice.between(1, 3) for name, fee in fees.items()}
        kinds = [*dice.shuffled(BY_TOM), *AFTER_HIS_LIST, *dice.shuffled(UNTOUCHED)]
        names = sorted(dice.sample([f"{last}, {first}" for first in FIRST for last in LAST], len(kinds)))
        self.contacts, self.register, self.ledger, self.mail, self.expected, self.oddities = {}, [], {}, {}, {}, []
        claimed, letters = [], []
        for number, (kind, sorted_name) in enumerate(zip(kinds, names, strict=True), 1):
            last, first = sorted_name.split(", ")
            name, place = f"{first} {last}", f"p{number}"
            group = "Junior" if kind == "old_fee" else "Honorary" if kind == "honorary" else dice.pick(CLASSES)
            since = f"since {dice.between(1998, 2024)}."
            contact = {
                "name": name, "mail": f"{first}.{last}@mail.example".lower(), "phone": f"0555 {dice.between(100000, 999999)}",
                "address": f"{dice.pick(STREETS)} {dice.between(1, 90)}", "role": "member", "notes": f"{group}, {since}",
            }  # fmt: skip
            self.register.append(
                f"{place}; " + "; ".join(contact[key] for key in ("name", "mail", "phone", "address", "notes"))
            )
            holds = group
            if kind in ("old_class", "new_class"):
                holds = dice.pick([one for one in CLASSES if one != group])
                letters.append(
                    (name, contact["mail"], f"from January I'd like to be in the class {holds}. Is that possible?")
                )
            if kind in ("left", "gone"):
                letters.append(
                    (
                        name,
                        contact["mail"],
                        "I'm moving away, so I leave the club at the end of December. It was a good time!",
                    )
                )
            free = kind in ("left", "gone", "honorary")
            self.expected[place] = {
                "kind": kind, "group": group, "since": since, "contact": contact,
                "fee": 0 if free else fees[holds], "stuck": kind in ("bounce", "refuse"),
            }  # fmt: skip
            self.contacts[place] = dict(contact)
            if number <= len(BY_TOM):
                claimed.append(name)
            one = self.expected[place]
            if kind in BY_TOM:
                self._tom(place, one, old if kind == "old_fee" else fees)
            if not free:
                contact["notes"] = f"{holds}, {since} Fee 2027: EUR {one['fee']}."
            self._oddity(place, one)
        self._inbox(letters)
        text = "Done, with contact, ledger and mail:\n\n" + "".join(f"{name}\n" for name in claimed)
        self.drive = {
            "d1": self.file("How we do the fees", HOW),
            "d2": self.file("Fees 2026", "".join(f"{name}: EUR {fee}\n" for name, fee in old.items())),
            "d3": self.file("Fees 2027", "".join(f"{name}: EUR {fee}\n" for name, fee in fees.items())),
            "d4": self.file("Register, 1 November", "\n".join(self.register) + "\n"),
            "d5": self.file("Tom: how far I am", f"{text}\nI go on with the next ones tonight. All fine so far.\n"),
        }

    def file(self, name: str, text: str) -> dict[str, object]:
        return {"name": name, "folder": "fees", "text": text, "shared_with": []}

    def _tom(self, place: str, one: dict, fees: dict[str, int]) -> None:
        """Do what Tom did for a member, mistakes included."""
        kind, contact = one["kind"], one["contact"]
        group = one["group"]
        fee = fees[group]
        day = f"2026-11-{self.dice.between(9, 13):02d}"
        self.contacts[place]["notes"] = f"{group}, {one['since']} Fee 2027: EUR {fee}."
        if kind == "slip":
            self.contacts[place]["phone"] = f"0555 {self.dice.between(100000, 999999)}"
        for _ in range({"double": 2, "no_booking": 0}.get(kind, 1)):
            entry = {"date": day, "account": 1200, "cents": 100 * fee, "text": f"Fee 2027: {contact['name']}"}
            self.ledger[f"l{len(self.ledger) + 1}"] = entry
        if kind != "no_mail":
            self.mail[f"m{len(self.mail) + 1}"] = {
                "from": OWNER, "to": contact["mail"], "folder": "sent", "subject": "Fee 2027",
                "text": f"Hello {contact['name'].split()[0]},\n\nthe fees for the new year are due.\n\nTo pay: EUR {fee}.00\n\nTom\n",
            }  # fmt: skip
        one["mailed"] = fee if kind != "no_mail" else None

    def _oddity(self, place: str, one: dict) -> None:
        name, mail = one["contact"]["name"], one["contact"]["mail"]
        match one["kind"]:
            case "bounce":
                self.oddities.append(
                    {"call": "POST mail", "where": {"to": mail}, "does": "bounce", "after": 2, "times": 9}
                )
            case "refuse":
                error = {"status": 403, "error": "this contact is locked until the board has met on 1 December"}
                self.oddities.append({"call": f"PATCH contacts/{place}", "does": "refuse", "times": 99, **error})
            case "lose":
                self.oddities.append({"call": "POST ledger", "where": {"text": name}, "does": "lose"})

    def _inbox(self, letters: list[tuple[str, str, str]]) -> None:
        dice = self.dice
        others = dice.sample([one["contact"] for one in self.expected.values() if one["kind"] in ("right", "plain")], 7)
        letters += [
            (one["name"], one["mail"], dice.pick((
                "is the hall open over Christmas?", "I have left my shoes at the wall. Has anybody seen them?",
                "my brother thinks about joining. What does it cost?", "thanks for the course, it was great.",
            )))
            for one in others
        ]  # fmt: skip
        for name, mail, text in dice.shuffled(letters):
            self.mail[f"m{len(self.mail) + 1}"] = {
                "from": f"{name} <{mail}>", "to": OWNER, "folder": "inbox", "subject": dice.pick(("A question", "Hello", "For the office")),
                "text": f"Hello,\n\n{text}\n\n{name}\n",
            }  # fmt: skip


def files(seed: int = SEED) -> dict[str, bytes]:
    world = World(seed)
    records = {"contacts": world.contacts, "mail": world.mail, "ledger": world.ledger, "drive": world.drive}
    return office_files({"owner": OWNER, "records": records, "oddities": world.oddities})


def expected(seed: int = SEED) -> dict[str, object]:
    """What is right for each member: the fee, the contact, what Tom had done, and whether it can be finished."""
    tom = {"right": "right", "no_mail": "unfinished", "no_booking": "unfinished"}
    return {
        place: {
            "fee": one["fee"], "contact": one["contact"], "mailed": one.get("mailed"), "stuck": one["stuck"],
            "tom": tom.get(one["kind"], "wrong") if one["kind"] in BY_TOM else "none",
        }
        for place, one in World(seed).expected.items()
    }  # fmt: skip
