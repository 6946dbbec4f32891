"""A festival's fourteen guests, whose mails and papers say everything about their rooms but five things."""

import csv
import io
import json
from datetime import date, timedelta

from craft.dice import Dice

SEED = 20261111
FIRST = date(2026, 11, 11)
DAYS = [FIRST + timedelta(days) for days in range(-2, 7)]
FIELDS = {
    "arrives": [f"{day}" for day in DAYS], "leaves": [f"{day}" for day in DAYS], "room": ["single", "double", "annexe"],
    "meals": ["all", "vegetarian", "vegan"], "invoice": [],
}  # fmt: skip
NAMES = (
    "Ada Lindqvist", "Bruno Castell", "Chidi Okafor", "Dora Weiss", "Emil Haraldsen", "Farah Nazari", "Greta Bloom", "Hugo Perrin",
    "Ines Duarte", "Jonas Feld", "Kaya Demir", "Lev Abramov", "Mina Sato", "Noel Achterberg", "Olga Brandt", "Pablo Rivas",
    "Ruth Kessler", "Stellan Moe",
)  # fmt: skip
HOUSES = ("Corvid Books", "Lantern Press", "Old Quay", "Salt & Paper", "Tall Grass", "Nightjar")
WORDS = {1: "first", 2: "second", 3: "third"}
RULES = """How we book for our guests

1. Who says nothing else gets a single room, all meals ("all"), and we pay ("us").
2. Of several mails by a guest, the latest counts. What an agency or a publisher writes about dates doesn't count against what
   the guest has written.
3. If there is no single room left, guests who read on the main stage get a double room. For the others I decide each time.
4. Who brings somebody along gets one room for both, a double.
5. If a publisher pays, the invoice goes to that publisher's entry in contacts.csv. We never send one to an entry that is closed.
6. The programme is final. Whose stay hangs on a reading stays by the programme.
"""
PHONE = "How long I stay we have settled on the phone."
OPENINGS = ("Dear Marta,", "Hello Marta,", "Good morning Marta,", "Marta, hello,")
ENDINGS = ("Warm regards", "All the best", "See you soon", "Until November")


def long_day(day: date) -> str:
    return f"{day:%A}, {day.day} {day:%B}"


def table(head: str, rows: list[tuple[object, ...]]) -> bytes:
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(head.split(","))
    out.writerows(rows)
    return text.getvalue().encode()


class Guest:
    """Who comes, what is right for them, and which of it only Marta knows."""

    def __init__(self, part: str, name: str, dice: Dice) -> None:
        self.part, self.name = part, name
        self.stage = dice.pick(("cellar", "library", "main stage"))
        self.reads = FIRST + timedelta(dice.between(1, 2))
        self.arrives = self.reads - timedelta(dice.between(1, 2))
        self.leaves = self.reads + timedelta(dice.between(1, 2))
        self.room, self.meals, self.invoice, self.gap, self.publisher = "single", "all", "us", "", ""
        self.more: list[str] = []

    @property
    def mail(self) -> str:
        return f"{self.name.lower().replace(' ', '.')}@mail.example"

    @property
    def want(self) -> dict[str, str]:
        return {
            "arrives": f"{self.arrives}", "leaves": f"{self.leaves}", "room": self.room, "meals": self.meals,
            "invoice": self.invoice,
        }  # fmt: skip


class World:
    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        # Each part is a way in which a booking may go wrong. The first five are the gaps.
        parts = (
            "phone", "weekday", "company", "payer", "full", "stage", "again", "train", "reading", "changed", "agency", "closed",
            "partner", "day",
        )  # fmt: skip
        names, houses = dice.sample(NAMES, len(parts)), dice.sample(HOUSES, 2)
        by_part = {part: Guest(part, name, dice) for part, name in zip(parts, names, strict=True)}
        self.guests = {f"g{place}": one for place, one in enumerate(dice.shuffled(list(by_part.values())), 1)}
        self.contacts: list[tuple[str, str, str, str]] = []
        self.last_year: list[tuple[str, str, str]] = []
        self.mails: list[tuple[date, str, str, str]] = []
        for one in by_part.values():
            self.say(one, by_part, houses)
        self.answers = {f"{place} {one.gap}": self.answer(one) for place, one in self.guests.items() if one.gap}
        for _ in range(4):
            free = dice.pick([name for name in NAMES if name not in (*names, *(row[0] for row in self.last_year))])
            self.last_year.append((free, dice.pick(FIELDS["room"][:2]), dice.pick(FIELDS["meals"])))

    def contact(self, name: str, town: str, note: str = "") -> str:
        self.contacts.append((f"c{len(self.contacts) + 1}", name, town, note))
        return self.contacts[-1][0]

    def say(self, one: Guest, by_part: dict[str, Guest], houses: list[str]) -> None:
        """Write what a guest writes, and what else there is about them."""
        dice = self.dice
        stay, comes, more = "", f"I arrive on {long_day(one.arrives)}", one.more
        sent = date(2026, 9, dice.between(1, 20))
        match one.part:
            case "phone":
                stay, one.gap = PHONE, "leaves"
            case "weekday":  # the day of the week belongs to another date
                wrong = one.arrives + timedelta(dice.pick((-1, 1)))
                comes, one.gap = f"I arrive on {wrong:%A}, {one.arrives.day} {one.arrives:%B}", "arrives"
                one.arrives = dice.pick((one.arrives, wrong))
            case "company":
                more.append(
                    "You know by now who comes with me. With my sister I share a room; my colleague has one already."
                )
                one.gap, one.room = "room", dice.pick(("single", "double"))
            case "payer":
                one.publisher, one.gap = houses[0], "invoice"
                both = [self.contact(houses[0], town) for town in dice.sample(("Leeds", "Cork", "Bergen", "Ghent"), 2)]
                one.invoice = dice.pick(both)
            case "full":
                one.gap, one.room, one.stage = "room", dice.pick(("double", "annexe")), dice.pick(("cellar", "library"))
            case "stage":
                one.stage, one.room = "main stage", "double"
            case "again":
                one.room, one.meals = "double", dice.pick(("vegetarian", "vegan"))
                more.append("Room and meals as last year, please.")
                self.last_year.append((one.name, one.room, one.meals))
            case "train":
                other = by_part["partner"]
                one.arrives = other.arrives
                one.reads, one.leaves = max(one.reads, one.arrives), max(one.leaves, other.arrives + timedelta(1))
                comes = f"I arrive with the same train as {other.name}"
            case "reading":
                one.leaves = one.reads + timedelta(1)
                stay = "I leave on the morning after my reading."
            case "changed":
                before = one.leaves
                one.leaves += timedelta(1)
                stay = f"I leave on {long_day(before)}."
                self.post(
                    one,
                    sent + timedelta(9),
                    f"I have to correct myself: I leave on {long_day(one.leaves)}. The rest stays.",
                )
            case "agency":
                wrong = one.arrives + timedelta(1)
                text = f"For your planning: {one.name} will arrive on {long_day(wrong)}."
                self.mails.append(
                    (sent + timedelta(12), "Quill Agency <desk@quill.example>", f"{one.name}'s arrival", text)
                )
            case "closed":
                one.publisher = houses[1]
                towns = dice.sample(("Porto", "Basel", "Graz"), 2)
                shut = self.contact(houses[1], towns[0], "closed in 2025")
                one.invoice = self.contact(houses[1], towns[1], f"takes over from {shut}")
            case "partner":
                one.room = "double"
                more.append("My husband comes with me." if dice.chance(0.5) else "My wife comes with me.")
            case "day":  # by the festival's days alone
                one.arrives = max(one.arrives, FIRST)
                comes = f"I arrive on the {WORDS[(one.arrives - FIRST).days + 1]} day of the festival"
        if one.publisher:
            more.append(f"My publisher {one.publisher} pays for the room.")
        if one.part in ("weekday", "reading", "train", "closed", "changed"):
            one.meals = dice.pick(("vegetarian", "vegan"))
            more.append(f"I eat {one.meals} food.")
        stay = stay or f"I leave on {long_day(one.leaves)}."
        self.post(
            one, sent, " ".join([f"thank you for the invitation, which I am glad to accept. {comes}.", stay, *more])
        )

    def post(self, one: Guest, sent: date, text: str) -> None:
        words = f"{self.dice.pick(OPENINGS)}\n\n{text}\n\n{self.dice.pick(ENDINGS)}\n{one.name}"
        self.mails.append((sent, f"{one.name} <{one.mail}>", "My stay", words))

    def answer(self, one: Guest) -> str:
        match one.part:
            case "phone":
                return f"Until {long_day(one.leaves)}, we said."
            case "weekday":
                return f"I've just called: it's {long_day(one.arrives)}."
            case "company":
                if one.room == "double":
                    return "The sister comes, so a double room for both."
                return "The colleague comes and has a room already, so a single room."
            case "payer":
                town = next(row[2] for row in self.contacts if row[0] == one.invoice)
                return f"The one in {town} pays."
        return f"Then take the {'double room' if one.room == 'double' else 'annexe'}, please."


def files(seed: int = SEED) -> dict[str, bytes]:
    world = World(seed)
    guests = world.guests
    state = {
        "guests": list(guests),
        "fields": FIELDS | {"invoice": ["us", *(row[0] for row in world.contacts)]},
        "full": [place for place, one in guests.items() if one.part in ("full", "stage")],
        "answers": world.answers,
        "patience": 12,
    }
    programme = sorted((f"{one.reads}", one.name, one.stage) for one in guests.values())
    made = {
        "desk/state.json": json.dumps(state, ensure_ascii=False, indent=1).encode() + b"\n",
        "papers/rules.md": RULES.encode(),
        "papers/guests.csv": table("id,name,mail", [(place, one.name, one.mail) for place, one in guests.items()]),
        "papers/programme.csv": table("date,reader,stage", programme),
        "papers/contacts.csv": table("id,name,town,note", world.contacts),
        "papers/last-year.csv": table("guest,room,meals", sorted(world.last_year)),
    }
    for number, (sent, sender, subject, text) in enumerate(sorted(world.mails), 1):
        head = f"From: {sender}\nTo: Marta <marta@lantern-days.example>\nDate: {sent}\nSubject: {subject}\n\n"
        made[f"papers/mail/{number:02d}.txt"] = f"{head}{text}\n".encode()
    return made


def expected(seed: int = SEED) -> dict[str, object]:
    """What is right for each guest, and the field that only Marta knows."""
    return {place: {"want": one.want, "gap": one.gap} for place, one in World(seed).guests.items()}
