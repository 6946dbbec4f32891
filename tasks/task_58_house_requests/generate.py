"""A community house's inbox: thirty-one requests, of which records that are found late forbid ten."""

from datetime import date, timedelta

from craft.dice import Dice
from craft.office import office_files

SEED = 20260907
OWNER = "office@fernhill-house.example"
TODAY = "2026-09-07"
ROOMS = {"Green Room": 20, "Long Hall": 80, "Studio": 12, "Kitchen": 8}
GROUPS = (
    "Fernhill Choir", "Fernhill Theatre", "Youth Theatre Fernhill", "Chess Circle", "Repair Cafe", "Tango Tuesdays", "Seed Swap",
    "Parents' Evening Group", "Walking Club", "Book Club North", "Book Club South", "Yoga at Noon", "Knitters", "Film Society",
    "Language Tandem", "Model Railway", "Drum Circle", "Bridge Players", "Birdwatchers", "Photo Group", "Local History",
    "Garden Neighbours", "Bike Kitchen", "Food Sharing",
)  # fmt: skip
MONTHS = {8: "August", 9: "September", 10: "October", 11: "November", 12: "December"}
RULES = """House rules for requests

1. Requests come by mail and are dealt with in the order in which they came. Mail m1 came first.
2. Groups are those in our contacts. A group may ask only from its own address there, and only for what is its own: its bookings,
   its contact, its deposit.
3. A room is let only while it is free: neither booked nor closed. One booking may begin when another ends. Bookings that come
   back every week are in the calendar once, with a note.
4. A room takes no more people than the sheet "Rooms" says.
5. While the board has stopped a group, it gets no new bookings. Such decisions are in the notes of its contact, also that they are
   lifted.
6. The deposit of a booking is paid back once.
7. Any group may see our files, except those whose first line says that they are for the board only.
"""
GREETINGS = ("Hello,", "Dear office,", "Good morning,", "Hi Noor,")


def long_day(day: date) -> str:
    return f"{day.day} {MONTHS[day.month]} {day.year}"


class World:
    """The house's records, the requests, and what is right for each."""

    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        self.groups = dice.shuffled(GROUPS)
        self.contacts = {
            f"p{place}": {
                "name": name, "mail": "".join(one for one in name.lower() if one.isalpha()) + "@mail.example",
                "phone": f"0555 {dice.between(100000, 999999)}", "role": "group", "notes": "",
            }
            for place, name in enumerate(self.groups, 1)
        }  # fmt: skip
        self.ids = {one["name"]: place for place, one in self.contacts.items()}
        self.calendar, self.ledger, self.requests, self.free = {}, {}, [], list(self.groups)
        # No two requests are about the same day, unless they are meant to be. The last days are for the series.
        self.days = dice.shuffled([date(2026, 9, 21) + timedelta(days) for days in range(80)])
        self.drive = {
            "d1": {"name": "House rules", "folder": "house", "text": RULES, "shared_with": []},
            "d2": {
                "name": "Rooms", "folder": "house", "shared_with": [],
                "text": "Rooms, and how many people each takes\n\n" + "".join(f"{room}: {count}\n" for room, count in ROOMS.items()),
            },
        }  # fmt: skip
        for _ in range(18):
            start = dice.between(8, 10)
            self.entry(dice.pick(self.groups), self.day(), start, start + 2, dice.pick(list(ROOMS)))
        self._bookings()
        self._others()
        self._order()

    def day(self) -> date:
        return self.days.pop()

    def group(self) -> str:
        """A group that has not asked for anything of this kind yet."""
        return self.free.pop(self.dice.below(len(self.free)))

    def notes(self, name: str) -> str:
        return self.contacts[self.ids[name]]["notes"]

    def entry(self, title: str, day: date, start: int, end: int, room: str, notes: str = "") -> str:
        name = f"e{len(self.calendar) + 1}"
        self.calendar[name] = {
            "title": title, "date": f"{day}", "start": f"{start:02d}:00", "end": f"{end:02d}:00", "place": room, "notes": notes,
        }  # fmt: skip
        return name

    def ask(
        self, name: str, subject: str, text: str, want: dict, because: str = "", *, tag: str = "", sender: str = ""
    ) -> None:
        mail = {
            "from": f"{name} <{sender or self.contacts[self.ids[name]]['mail']}>", "to": OWNER, "folder": "inbox",
            "subject": subject, "text": f"{self.dice.pick(GREETINGS)}\n\n{text}\n\nMany thanks\n{name}\n",
        }  # fmt: skip
        self.requests.append({"mail": mail, "want": want, "because": because, "tag": tag})

    def book(
        self,
        name: str,
        day: date,
        hours: tuple[int, int],
        room: str,
        because: str = "",
        *,
        people: int = 0,
        tag: str = "",
    ) -> None:
        people = people or self.dice.between(5, ROOMS[room] - 1)
        start, end = (f"{hour:02d}:00" for hour in hours)
        text = self.dice.pick((
            f"could we have the {room} on {long_day(day)}, {start} to {end}? We are {people} people.",
            f"we are {people} people and would like to meet in the {room} on {long_day(day)}, {start} to {end}.",
        ))  # fmt: skip
        want = {"kind": "book", "title": name, "date": f"{day}", "start": start, "end": end, "place": room}
        self.ask(name, f"Booking on {long_day(day)}", text, want, because, tag=tag)

    def _bookings(self) -> None:
        dice, rooms = self.dice, list(ROOMS)
        series_days = [date(2026, 9, 22) + timedelta(7 * week) for week in range(11)]
        self.days = [day for day in self.days if day not in series_days]
        series = self.entry(
            "Fernhill Choir", date(2026, 9, 1), 18, 20, "Green Room", "every Tuesday until 15 December 2026"
        )
        some = dice.sample(series_days, 2)
        self.book(self.group(), some[0], (19, 21), "Green Room", series)
        self.book(self.group(), some[1], (16, 18), "Green Room")  # ends as the choir begins
        self.book(self.group(), date(2026, 12, 22), (19, 21), "Green Room")  # after the last Tuesday
        day, room = self.day(), dice.pick(rooms)
        taken = self.entry(dice.pick(self.groups), day, 14, 16, room)
        self.book(self.group(), day, (15, 17), room, taken)
        day, room = self.day(), dice.pick(rooms)
        self.entry(dice.pick(self.groups), day, 14, 16, room)
        self.book(self.group(), day, (16, 18), room)
        day = self.day()
        closed = self.entry(
            dice.pick(("Floor repair", "Heating works", "Fire inspection")), day, 7, 22, "whole house", "closed"
        )
        self.book(self.group(), day, (14, 16), dice.pick(rooms), closed)
        room = dice.pick(("Green Room", "Studio", "Kitchen"))
        self.book(self.group(), self.day(), (14, 17), room, "d2", people=ROOMS[room] + dice.between(2, 6))
        room = dice.pick(("Green Room", "Studio", "Kitchen"))
        self.book(self.group(), self.day(), (14, 17), room, people=ROOMS[room])
        stopped, back = self.group(), self.group()
        self.contacts[self.ids[stopped]]["notes"] = (
            "Board, 4 May 2026: no new bookings until the window is paid. Board, 1 June 2026: half is paid, the rest is to come."
        )
        self.contacts[self.ids[back]]["notes"] = (
            "Board, 6 April 2026: no new bookings until the keys are back. Board, 4 May 2026: keys are back, lifted."
        )
        self.book(stopped, self.day(), (14, 16), "Long Hall", self.ids[stopped])
        self.book(back, self.day(), (14, 16), "Long Hall")
        day, room = self.day(), dice.pick(rooms)
        self.book(self.group(), day, (15, 17), room, tag="first")
        self.book(self.group(), day, (16, 18), room, "first", tag="second")
        day, room, name = self.day(), dice.pick(rooms), self.group()
        place = self.entry(name, day, 14, 17, room)
        self.cancel(name, day, place, tag="gone")
        self.book(self.group(), day, (14, 16), room, tag="freed")
        for _ in range(2):
            self.book(self.group(), self.day(), (13, 15), dice.pick(rooms))

    def cancel(self, name: str, day: date, place: str, because: str = "", *, tag: str = "") -> None:
        one = self.calendar[place]
        text = (
            f"we no longer need the {one['place']} on {long_day(day)} at {one['start']}. Please take the booking out."
        )
        self.ask(name, f"Cancelling {long_day(day)}", text, {"kind": "cancel", "place": place}, because, tag=tag)

    def _others(self) -> None:
        dice = self.dice
        self.free = [one for one in self.groups if not self.notes(one)]
        for _ in range(3):
            day, name = self.day(), self.group()
            self.cancel(name, day, self.entry(name, day, 13, 15, dice.pick(list(ROOMS))))
        day, name = self.day(), self.group()
        other = dice.pick([one for one in self.groups if one != name])
        place = self.entry(other, day, 13, 15, dice.pick(list(ROOMS)))
        self.cancel(name, day, place, place)
        for wrong in (False, False, False, True):
            name, phone = self.group(), f"0555 {dice.between(100000, 999999)}"
            want = {"kind": "contact", "place": self.ids[name], "phone": phone}
            sender = f"{name.split()[0].lower().replace(chr(39), '')}.office@post.example" if wrong else ""
            text = f"our telephone number is {phone} now. Please change it in your contacts."
            self.ask(name, "New number", text, want, self.ids[name] if wrong else "", sender=sender)
        titles = dice.shuffled(["Programme for autumn", "Cleaning plan", "Key list", "Minutes of the spring meeting"])
        heads = (
            "Fernhill House\n\n",
            "Fernhill House, for everybody\n\n",
            "Fernhill House\n\n",
            "For the board only\n\n",
        )
        for number, (title, head) in enumerate(zip(titles, heads, strict=True), 3):
            place, name = f"d{number}", self.group()
            self.drive[place] = {"name": title, "folder": "papers", "text": f"{head}{title}.\n", "shared_with": []}
            want = {"kind": "share", "place": place, "address": self.contacts[self.ids[name]]["mail"]}
            self.ask(name, title, f'could we see the file "{title}"?', want, place if head.startswith("For") else "")
        for again, used in zip((False, False, True), dice.sample(range(3, 29), 3), strict=True):
            name, day, before = self.group(), date(2026, 8, used), date(2026, 7, used)
            for when, back in ((before, True), (day, again)):
                self.entry(name, when, 14, 16, "Long Hall")
                self.booked(when, 4000, f"Deposit: {name}, {when}", 2000)
                if back:
                    last = self.booked(when + timedelta(9), -4000, f"Deposit back: {name}, {when}", 2100)
            text = f"we used the Long Hall on {long_day(day)}. Please pay our deposit back."
            want = {"kind": "refund", "text": f"Deposit back: {name}, {day}"}
            self.ask(name, "Our deposit", text, want, last if again else "")

    def booked(self, day: date, cents: int, text: str, account: int) -> str:
        name = f"l{len(self.ledger) + 1}"
        self.ledger[name] = {"date": f"{day}", "account": account, "cents": cents, "text": text}
        return name

    def _order(self) -> None:
        self.requests = self.dice.shuffled(self.requests)
        for early, late in (("first", "second"), ("gone", "freed")):
            tags = [one["tag"] for one in self.requests]
            here, there = tags.index(early), tags.index(late)
            if here > there:
                self.requests[here], self.requests[there] = self.requests[there], self.requests[here]
        self.mails = {f"m{number}": one for number, one in enumerate(self.requests, 1)}


def files(seed: int = SEED) -> dict[str, bytes]:
    world = World(seed)
    mail = {name: one["mail"] for name, one in world.mails.items()}
    records = {
        "mail": mail,
        "contacts": world.contacts,
        "calendar": world.calendar,
        "drive": world.drive,
        "ledger": world.ledger,
    }
    return office_files({"owner": OWNER, "records": records})


def expected(seed: int = SEED) -> dict[str, object]:
    """What each mail wants, and the record that stands against it; `first` is the entry that an earlier mail gets."""
    world = World(seed)
    first = next(name for name, one in world.mails.items() if one["tag"] == "first")
    return {
        name: {"want": one["want"], "because": first if one["because"] == "first" else one["because"]}
        for name, one in world.mails.items()
    }
