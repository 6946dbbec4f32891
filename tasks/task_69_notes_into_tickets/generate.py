"""A bicycle shop's notes of four meetings that correct each other, and what its tickets and calendar should say then."""

from datetime import date, timedelta

from craft.dice import Dice
from craft.office import office_files

SEED = 20260309
OWNER = "anja.weiss@kestrel-cycles.example"
FIRST = ("Lena", "Tom", "Ravi", "Mina", "Emre", "Jonas", "Paula", "Oskar", "Yara", "Nils", "Greta", "Ivan")
LAST = ("Amsel", "Birk", "Castor", "Dorn", "Esser", "Falk", "Gerber", "Hansen", "Imhof", "Jansen", "Keller", "Lorenz")
MONTHS = ("January", "February", "March", "April")
MEETINGS = (date(2026, 3, 2), date(2026, 3, 4), date(2026, 3, 6), date(2026, 3, 9))
# What the notes call a thing, and what somebody has called a ticket for it.
THINGS = (
    ("Bike lift", "Lift for bikes gets stuck"), ("Rack 3 roof", "Roof leaks onto rack 3"), ("Door code", "New code for the front door"),
    ("Card reader", "Reader refuses every second card"), ("Window display", "Display in the window is still winter"),
    ("Spare keys", "Keys: no spare set left"), ("Paint booth filter", "Filter of the paint booth is full"),
    ("Van tyres", "Tyres for the van"), ("Loan bike list", "List of bikes on loan is out of date"),
    ("Warranty forms", "Forms for warranty claims, new version"), ("Price labels", "Labels show the old price"),
    ("Compressor noise", "Noise from the compressor"), ("First aid box", "Box for first aid: refill"),
    ("Test track permit", "Permit for the test track runs out"), ("Staff lockers", "Lockers for the staff"),
    ("Courier contract", "Contract with the courier"), ("Chain stock", "Stock of chains is wrong"),
    ("Helmet returns", "Returns of the helmets"), ("Radio licence", "Licence for the radio"), ("Workshop lamps", "Lamps in the workshop flicker"),
    ("Battery shelf", "Shelf for battery packs"), ("Booking link", "Link for bookings leads nowhere"), ("Coffee machine", "Machine for coffee leaks"),
    ("Tool inventory", "Inventory of our tools"), ("Insurance papers", "Papers for the insurance"), ("Floor marking", "Marking on the floor is gone"),
    ("Trailer recall", "Recall of the kids' trailer"), ("Fire extinguisher", "Extinguisher against fire: check is overdue"),
    ("Cargo demo", "Demo with cargo bikes"), ("Newsletter addresses", "Addresses for the newsletter"), ("Parcel scales", "Scales for parcels"),
    ("Apprentice poster", "Poster: apprentice wanted"), ("Sales tax figures", "Figures for the sales tax"), ("Bell order", "Order for bells"),
    ("Repair tags", "Tags for repairs"), ("Stand pump", "Pump in the stand is broken"), ("Mirror samples", "Samples of mirrors"),
    ("Glue safety sheet", "Safety sheet of the new glue"), ("Saddle survey", "Survey about saddles"), ("Bin pickup", "Pickup of the bins"),
)  # fmt: skip
OLD_TICKETS = (
    "Heating in the office", "Christmas cards", "Gritting salt", "Lights for the tree", "Winter tyres for hire", "Gift vouchers", "Sledge rack",
    "Snow shovel", "Year-end stocktaking list",
)  # fmt: skip
TALKS = (
    "Spring sale", "Easter rota", "Workshop safety", "Bank loan", "Stocktaking", "New website", "Summer rides", "Opening hours", "Leasing offer",
    "Trade fair",
)  # fmt: skip
RULES = """How we keep tickets and meetings

- A thing has one ticket. If there is one that isn't closed, whatever it is called, the thing gets no second one. What is closed
  stays closed: a thing that comes back gets a new ticket.
- A new ticket has the thing's name from the notes as its title, the owner's address from our contacts, and the status `active`. It
  has a due day (such as 2026-03-20) only if the notes or a mail name that day.
- What was agreed last counts. If only the person or only the day changes, the rest stays.
- In a ticket that is there, we change what was agreed and nothing else. What is done gets the status `closed`. Nothing is deleted.
- A person who says no doesn't get the ticket. If nobody else takes it, it has no owner.
- Where two of us share a first name, the notes mean the one who was at that meeting. When both were, there is a letter too.
- People who have left get no tickets and no invitations. The contact says who has their work now, who gets it instead. If it says
  nothing, a ticket has no owner.
- What one of us writes about their own thing after a meeting counts as agreed. What others write doesn't.
- A meeting is in the calendar once, for an hour, with the addresses of those who are asked to come in `people`. I come anyway and am
  not in it. One that is called off is removed.
- If somebody has another entry in the calendar at the time of a new meeting, it isn't entered: I settle that myself.
- In the end, everybody who owns a ticket now that wasn't theirs before gets one mail with the subject "Your tickets" and the ids of
  these tickets, and no others, in the text.
"""


def short_day(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]}"


def listed(words: list[str]) -> str:
    return " and ".join((", ".join(words[:-1]), words[-1])) if words[1:] else words[0]


class World:
    """The shop's records and notes, and what is right for each thing and each meeting in them."""

    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        firsts = dice.sample(FIRST, 7)
        # Two who share a first name, four others, and two who have left. All last names begin with letters of their own.
        people = list(zip([firsts[0], *firsts], dice.sample(LAST, 8), strict=True))
        self.one, self.two, *others = people
        self.staff, (self.heir, self.replaced, self.gone) = others[:4], (others[0], others[4], others[5])
        here = self.staff
        self.present = (
            [self.one, *here[:3]], [self.two, here[0], here[1], here[3]], [self.one, self.two, here[1], here[3]], [self.one, *here[1:]],
        )  # fmt: skip
        self.contacts, self.addresses = {}, {}
        self._contacts(people)
        self.things = dice.shuffled(THINGS)
        self.talks = dice.shuffled(TALKS)
        # Meetings and due days never share a day, so that nobody is asked for twice by chance.
        self.days = dice.shuffled(
            [day for day in (date(2026, 3, 16) + timedelta(n) for n in range(40)) if day.weekday() < 5]
        )
        self.lines: tuple[list[str], ...] = ([], [], [], [])
        self.tickets, self.calendar, self.expected, self.oddities, self.inbox = {}, {}, {}, [], []
        self._things()
        self._talks()
        self._others()

    def _contacts(self, people: list[tuple[str, str]]) -> None:
        roles = self.dice.shuffled(
            ["workshop", "sales", "office", "workshop", "sales", "purchasing", "workshop", "sales"]
        )
        for person, role in zip(people, roles, strict=True):
            self.addresses[person] = f"{person[0]}.{person[1]}@kestrel-cycles.example".lower()
            notes = ""
            if person == self.replaced:
                notes = f"Left us on 27 February 2026. {self.heir[0]} {self.heir[1]} has the work now."
            if person == self.gone:
                notes = "Left us on 31 January 2026."
            self.contacts[person] = {
                "name": " ".join(person),
                "mail": self.addresses[person],
                "role": role,
                "notes": notes,
            }
        strangers = [
            {"name": name, "mail": mail, "role": "supplier", "notes": ""}
            for name, mail in (("Rimworks", "service@rimworks.example"), ("Toolhouse", "hello@toolhouse.example"), ("Volt & Sons", "office@volt.example"))
        ]  # fmt: skip
        anja = {"name": "Anja Weiss", "mail": OWNER, "role": "owner", "notes": ""}
        every = self.dice.shuffled([*self.contacts.values(), *strangers, anja])
        self.contacts = {f"p{number}": one for number, one in enumerate(every, 1)}

    def due(self) -> date:
        return date(2026, 3, 12) + timedelta(self.dice.below(36))

    def who(self, meeting: int, *but: tuple[str, str]) -> tuple[str, str]:
        return self.dice.pick([one for one in self.present[meeting] if one not in but])

    def called(self, person: tuple[str, str], meeting: int) -> str:
        both = {self.one, self.two} <= {*self.present[meeting]}
        return f"{person[0]} {person[1][0]}." if both and person in (self.one, self.two) else person[0]

    def note(self, meeting: int, name: str, text: str) -> None:
        self.lines[meeting].append(f"- {name} - {text}")

    def assign(self, meeting: int, name: str, person: tuple[str, str], day: date | None) -> None:
        who = self.called(person, meeting)
        if day is None:
            phrases = (f"{who}, soon.", f"{who}, when there is time.", f"{who} looks into it before the season starts.")
        else:
            phrases = (
                f"{who}, by {short_day(day)}.",
                f"{who} does it, by {short_day(day)}.",
                f"goes to {who}, due {short_day(day)}.",
            )
        self.note(meeting, name, self.dice.pick(phrases))

    def ticket(self, title: str, owner: tuple[str, str] | None, day: date | None, status: str = "active") -> str:
        place = f"t{len(self.tickets) + 1}"
        who = self.dice.pick(self.staff)[0]
        notes = self.dice.pick(
            (
                f"Seen by {who} in January.",
                f"{who}: has been so for weeks.",
                "Asked at the counter.",
                "See the photo in the shop phone.",
            )
        )
        owner_mail = self.addresses[owner] if owner else ""
        self.tickets[place] = {
            "title": title,
            "owner": owner_mail,
            "due": f"{day or ''}",
            "status": status,
            "notes": notes,
        }
        return place

    def want(
        self, name: str, kind: str, owner: tuple[str, str] | None, day: date | None, *, place: str = "", now: str = "done", status: str = "active"
    ) -> None:  # fmt: skip
        """State what is right for a thing: its ticket, and whether it is done then."""
        self.expected[name] = {
            "kind": kind, "ticket": place, "now": now,
            "want": {"owner": self.addresses[owner] if owner else "", "due": f"{day or ''}", "status": status},
        }  # fmt: skip

    def _things(self) -> None:
        kinds = (
            "new", "new", "new", "no_day", "no_day", "other_person", "other_person", "other_day", "other_day", "dropped", "dropped", "idea", "idea",
            "exists", "exists", "same", "same", "nothing_new", "done", "done", "not_done", "back", "refused", "taken", "refused_by_mail",
            "day_by_mail", "by_stranger", "replaced", "gone", "locked", "busy", "lost",
        )  # fmt: skip
        for kind in self.dice.shuffled(kinds):
            name, title = self.things.pop()
            getattr(self, f"_{kind}")(name, title)

    def _new(self, name: str, title: str) -> None:
        meeting, day = self.dice.pick((0, 1)), self.due()
        # The one with the shared first name who was there.
        person = self.present[meeting][0]
        self.assign(meeting, name, person, day)
        self.want(name, "new", person, day)

    def _no_day(self, name: str, title: str) -> None:
        meeting = self.dice.below(4)
        person = self.who(meeting)
        self.assign(meeting, name, person, None)
        self.want(name, "new", person, None)

    def _other_person(self, name: str, title: str) -> None:
        before, day = self.who(0, self.one), self.due()
        later = self.dice.pick((1, 2))
        person = self.who(later, before)
        self.assign(0, name, before, day)
        new = self.called(person, later)
        self.note(
            later, name, self.dice.pick((f"{new} now, not {before[0]}.", f"{new} does it instead of {before[0]}."))
        )
        self.want(name, "new", person, day)

    def _other_day(self, name: str, title: str) -> None:
        before, day = self.due(), self.due()
        day += timedelta(day == before)
        self.assign(0, name, self.one, before)
        self.note(
            1,
            name,
            self.dice.pick(
                (f"not by {short_day(before)}, by {short_day(day)}.", f"by {short_day(day)}, not {short_day(before)}.")
            ),
        )
        self.want(name, "new", self.one, day)

    def _dropped(self, name: str, title: str) -> None:
        meeting = self.dice.pick((0, 1))
        self.assign(meeting, name, self.who(meeting), self.due())
        self.note(meeting + 2, name, self.dice.pick(("too dear, we drop it.", "we drop it after all.")))
        self.expected[name] = {"kind": "none", "now": "dropped"}

    def _idea(self, name: str, title: str) -> None:
        text = self.dice.pick(("would be nice, but parked until autumn.", "only an idea so far. Parked."))
        self.note(self.dice.below(4), name, text)
        self.expected[name] = {"kind": "none", "now": "dropped"}

    def _exists(self, name: str, title: str) -> None:
        meeting, day = self.dice.below(4), self.due()
        person = self.who(meeting)
        before = self.dice.pick([one for one in self.staff if one != person])
        place = self.ticket(title, before, day - timedelta(30))
        self.assign(meeting, name, person, day)
        self.want(name, "change", person, day, place=place)

    def _same(self, name: str, title: str) -> None:
        meeting, day = self.dice.below(4), self.due()
        person = self.who(meeting)
        self.assign(meeting, name, person, day)
        self.want(name, "keep", person, day, place=self.ticket(title, person, day))

    def _nothing_new(self, name: str, title: str) -> None:
        self.note(self.dice.below(4), name, "nothing new.")
        person, day = self.dice.pick(self.staff), self.due()
        self.want(name, "keep", person, day, place=self.ticket(title, person, day))

    def _done(self, name: str, title: str) -> None:
        person, day = self.dice.pick(self.staff), date(2026, 3, 3)
        self.note(self.dice.below(4), name, self.dice.pick(("is done.", "done, we have seen it.")))
        place = self.ticket(title, person, day)
        self.want(name, "change", person, day, place=place, status="closed")

    def _not_done(self, name: str, title: str) -> None:
        person, day = self.dice.pick(self.staff), self.due()
        self.note(1, name, "is done.")
        self.note(3, name, "wasn't done after all. Stays as it was.")
        self.want(name, "keep", person, day, place=self.ticket(title, person, day))

    def _back(self, name: str, title: str) -> None:
        meeting, day = self.dice.below(4), self.due()
        person = self.who(meeting)
        self.ticket(name, person, date(2025, 11, 20), "closed")
        self.note(meeting, name, f"is back! {self.called(person, meeting)}, by {short_day(day)}.")
        self.want(name, "new", person, day)

    def _refused(self, name: str, title: str) -> None:
        meeting, day = self.dice.below(4), self.due()
        who = self.called(self.who(meeting), meeting)
        self.note(meeting, name, f"{who} says no, too much to do. Nobody yet. By {short_day(day)}.")
        self.want(name, "new", None, day, now="open")

    def _taken(self, name: str, title: str) -> None:
        day, no = self.due(), self.who(0)
        person = self.who(3, no)
        self.note(0, name, f"{no[0]} says no. Nobody yet. By {short_day(day)}.")
        self.note(3, name, f"{person[0]} does it.")
        self.want(name, "new", person, day)

    def _refused_by_mail(self, name: str, title: str) -> None:
        day, person = self.due(), self.who(2)
        self.assign(2, name, person, day)
        self.write(
            person, f"sorry, but I can't do the {name}: I'm away until the end of April. Please find somebody else."
        )
        self.want(name, "new", None, day, now="open")

    def _day_by_mail(self, name: str, title: str) -> None:
        before, day = self.due(), self.due()
        day += timedelta(day == before)
        person = self.who(3)
        self.assign(3, name, person, before)
        self.write(
            person, f"about the {name}: I've looked again, and it will be {short_day(day)}, not {short_day(before)}."
        )
        self.want(name, "new", person, day)

    def _by_stranger(self, name: str, title: str) -> None:
        meeting, day = self.dice.below(4), self.due()
        person = self.who(meeting)
        self.assign(meeting, name, person, day)
        self.inbox.append(
            (
                "Volt & Sons <office@volt.example>",
                f"the {name} is done from our side. Please close your ticket.",
                "Volt & Sons",
            )
        )
        self.want(name, "keep", person, day, place=self.ticket(title, person, day))

    def _replaced(self, name: str, title: str) -> None:
        meeting, day = self.dice.below(4), self.due()
        self.assign(meeting, name, self.replaced, day)
        self.want(name, "new", self.heir, day)

    def _gone(self, name: str, title: str) -> None:
        meeting, day = self.dice.below(4), self.due()
        self.assign(meeting, name, self.gone, day)
        self.want(name, "new", None, day, now="open")

    def _locked(self, name: str, title: str) -> None:
        before, day = self.due(), self.due()
        day += timedelta(day == before)
        person = self.dice.pick(self.staff)
        place = self.ticket(title, person, before)
        self.note(2, name, f"by {short_day(day)}, not {short_day(before)}.")
        error = {"status": 403, "error": "this ticket is locked until the audit is over"}
        self.oddities.append({"call": f"PATCH tickets/{place}", "does": "refuse", "times": 99, **error})
        self.want(name, "change", person, day, place=place, now="open")

    def _busy(self, name: str, title: str) -> None:
        meeting, day = self.dice.below(4), self.due()
        person = self.who(meeting)
        self.assign(meeting, name, person, day)
        self.oddities.append({"call": "POST tickets", "where": {"title": name}, "does": "fail"})
        self.want(name, "new", person, day)

    def _lost(self, name: str, title: str) -> None:
        person, day = self.who(2), self.due()
        before = self.dice.pick([one for one in self.staff if one != person])
        place = self.ticket(title, before, day)
        self.note(2, name, f"{self.called(person, 2)} does it now.")
        self.oddities.append({"call": f"PATCH tickets/{place}", "does": "lose"})
        self.want(name, "change", person, day, place=place)

    def write(self, person: tuple[str, str], text: str) -> None:
        self.inbox.append((f"{person[0]} {person[1]} <{self.addresses[person]}>", text, person[0]))

    def entry(self, title: str, day: date, hour: int, people: list[tuple[str, str]]) -> str:
        place = f"e{len(self.calendar) + 1}"
        self.calendar[place] = {
            "title": title, "date": f"{day}", "start": f"{hour:02d}:00", "end": f"{hour + 1:02d}:00",
            "people": [self.addresses[one] for one in people],
        }  # fmt: skip
        return place

    def talk(
        self, kind: str, day: date, hour: int, people: list[tuple[str, str]], *, place: str = "", now: str = "done"
    ) -> None:
        want = {
            "date": f"{day}",
            "start": f"{hour:02d}:00",
            "end": f"{hour + 1:02d}:00",
            "people": [self.addresses[one] for one in people],
        }
        self.expected[self.name] = {"kind": kind, "ticket": place, "now": now, "want": want}

    def meet(self, meeting: int, day: date, hour: int, people: list[tuple[str, str]], text: str = "") -> None:
        """Note a meeting that was agreed on."""
        who = text or f"with {listed([self.called(one, meeting) for one in people])}"
        self.note(meeting, self.name, f"meeting on {short_day(day)}, {hour}:00, {who}.")

    def _talks(self) -> None:
        dice = self.dice
        for kind in dice.shuffled(["plain", "plain", "moved", "all", "left", "clash", "added", "off"]):
            self.name, day, hour = self.talks.pop(), self.days.pop(), dice.between(9, 15)
            meeting = dice.below(4)
            people = dice.sample(self.present[meeting], 3)
            match kind:
                case "plain":
                    people = [self.present[meeting][0], *dice.sample(self.present[meeting][1:], 2)]
                    self.meet(meeting, day, hour, people)
                    # Close, but no clash: it ends as the meeting begins.
                    self.entry("Dentist", day, hour - 1, people[:1])
                    self.talk("enter", day, hour, people)
                case "moved":
                    people = dice.sample(self.present[0], 3)
                    self.meet(0, day, hour, people)
                    day, before = self.days.pop(), day
                    self.note(3, self.name, f"meeting is on {short_day(day)}, not {short_day(before)}.")
                    self.talk("enter", day, hour, people)
                case "all":
                    self.meet(meeting, day, hour, [], "with all who are here today")
                    self.talk("enter", day, hour, self.present[meeting])
                case "left":
                    people = [self.present[meeting][3], self.replaced]
                    if self.heir in people:
                        people = [self.present[meeting][1], self.replaced]
                    self.meet(meeting, day, hour, people)
                    self.talk("enter", day, hour, [people[0], self.heir])
                case "clash":
                    self.meet(meeting, day, hour, people)
                    self.entry("Holiday" if dice.chance(0.5) else "Customer visit", day, hour, people[1:2])
                    self.talk("none", day, hour, people, now="open")
                case "added":
                    people = dice.sample(self.present[2], 3)
                    place = self.entry(self.name, day, hour, people[:2])
                    self.note(2, self.name, f"meeting: {self.called(people[2], 2)} comes too.")
                    self.talk("change", day, hour, people, place=place)
                case "off":
                    place = self.entry(self.name, day, hour, people)
                    self.note(meeting, self.name, "meeting is called off.")
                    self.talk("remove", day, hour, people, place=place, now="dropped")

    def _others(self) -> None:
        """What has nothing to do with the notes, and the files."""
        dice = self.dice
        for name, title in self.things:
            self.ticket(dice.pick((name, title)), dice.pick(self.staff), self.due(), dice.pick(("active", "closed")))
        for title in OLD_TICKETS:
            self.ticket(title, dice.pick(self.staff), date(2025, 12, dice.between(1, 20)), "closed")
        for title in self.talks:
            self.entry(title, self.days.pop(), dice.between(9, 15), dice.sample(self.staff, 2))
        order = dice.shuffled(list(self.tickets))
        new = {old: f"t{number}" for number, old in enumerate(order, 1)}
        self.tickets = {new[old]: self.tickets[old] for old in order}
        for one in self.expected.values():
            one.update({"ticket": new[one["ticket"]]} if one.get("ticket") in new else {})
        for odd in self.oddities:
            head, _, place = odd["call"].partition("/")
            odd["call"] = f"{head}/{new[place]}" if place else head
        chatter = (
            "are we open on Good Friday?", "thanks for the cake!", "the parcel for you is in the office.", "my bike is the red one in the yard, please leave it.",
        )  # fmt: skip
        for text in dice.sample(chatter, 3):
            self.write(dice.pick(self.staff), text)
        self.inbox.append(
            ("Toolhouse <hello@toolhouse.example>", "our new catalogue is out. Can we call you?", "Toolhouse")
        )
        self.mail = {
            f"m{number}": {
                "from": sender, "to": OWNER, "folder": "inbox", "subject": dice.pick(("Hi", "Monday", "Quick one")),
                "text": f"Hello Anja,\n\n{text}\n\n{name}\n",
            }
            for number, (sender, text, name) in enumerate(dice.shuffled(self.inbox), 1)
        }  # fmt: skip
        files = [self.file("How we keep tickets and meetings", RULES)]
        files += [
            self.file(f"Notes {day:%A} {short_day(day)}", self._page(number, dice.shuffled(self.lines[number])))
            for number, day in enumerate(MEETINGS)
        ]
        names = dice.sample([name for name, one in self.expected.items() if one["kind"] == "none"], 2)
        old = "".join(f"- {name} - {dice.pick(self.staff)[0]}, by 27 February.\n" for name in names)
        files.append(self.file("Notes Monday 2 February", f"Monday 2 February\n\n{old}- Snow - all hands.\n"))
        self.drive = {f"d{number}": one for number, one in enumerate(dice.shuffled(files), 1)}

    def _page(self, number: int, lines: list[str]) -> str:
        who = listed(
            ["Anja", *(" ".join(one) if one in (self.one, self.two) else one[0] for one in self.present[number])]
        )
        return f"{MEETINGS[number]:%A} {short_day(MEETINGS[number])}\nHere: {who}\n\n" + "\n".join(lines) + "\n"

    def file(self, name: str, text: str) -> dict[str, object]:
        return {"name": name, "folder": "meetings", "text": text, "shared_with": []}


def files(seed: int = SEED) -> dict[str, bytes]:
    world = World(seed)
    records = {
        "contacts": world.contacts, "mail": world.mail, "calendar": world.calendar, "drive": world.drive, "tickets": world.tickets,
    }  # fmt: skip
    return office_files({"owner": OWNER, "records": records, "oddities": world.oddities})


def expected(seed: int = SEED) -> dict[str, object]:
    """What is right for each thing and meeting in the notes: its ticket or entry, and whether it is done, open or dropped."""
    return World(seed).expected
