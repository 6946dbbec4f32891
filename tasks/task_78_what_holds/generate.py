"""Fifteen years of a housing cooperative's papers, and what eighteen residents want to know."""

import gzip
import io
import tarfile
import textwrap
from datetime import date, timedelta

from craft.dice import Dice

SEED = 20260914
HOUSES = ("Linden House", "Mill House", "Orchard House")
TIMES = ("19:00", "19:30", "20:00", "20:30", "21:00", "21:30", "22:00")
SMALL = tuple(f"EUR {one}" for one in (6, 8, 9, 12, 15, 18, 24, 27, 32))
LARGE = tuple(f"EUR {one}" for one in (40, 45, 55, 60, 75, 80, 95, 120, 150))
WEEKS = tuple(f"{one} weeks" for one in (2, 3, 4, 5, 6, 8, 10))
# What a thing is called in the minutes, the rule about it, its values, and how a resident asks about it.
SUBJECTS = (
    ("Music", "music may be played until {}", TIMES, "Until what time in the evening may I practise my trumpet?"),
    ("Guest room", "a night in the guest room costs {}", LARGE, "My parents want to stay over. What does the guest room cost a night?"),
    ("Parking", "a parking space costs {} a month", SMALL, "I'm getting a car. What would I pay for a parking space each month?"),
    ("Subletting", "a flat may be sublet for {} a year", WEEKS, "I'll be abroad. For how long in a year may somebody else rent my flat?"),
    ("Laundry", "the laundry room is open until {}", TIMES, "How late can I still do my washing downstairs?"),
    ("Roof terrace", "the deposit for a key to the roof terrace is {}", LARGE, "How much deposit do you take for a key to the roof?"),
    ("Party room", "an evening in the party room costs {}", LARGE, "I'm turning thirty. What does it cost to use the party room for an evening?"),
    ("Motions", "motions have to be handed in {} before the meeting", WEEKS, "How long before the general meeting do you need my motion?"),
    ("Window frames", "painting a window frame oneself is paid with {}", SMALL, "If I paint my window frames myself, what do I get for each?"),
    ("Rubbish", "rubbish left next to the bins costs {}", LARGE, "Somebody has put his old shelf next to the bins. What will he have to pay?"),
    ("Stairs", "each flat cleans the stairs every {}", WEEKS, "How often is it my turn with the stairs?"),
    ("Drilling", "workmen may drill until {}", TIMES, "The plumber can only come late. Up to what time may he drill?"),
    ("Kitchens", "the cooperative adds {} to a new kitchen", LARGE, "What does the cooperative pay if I put in a new kitchen?"),
    ("Keys", "a lost key to the front door costs {}", SMALL, "I've lost the key to the front door. What does that cost me?"),
    ("Garden", "a bed in the garden costs {} a year", SMALL, "What would a bed for my tomatoes cost in a year?"),
    ("Holidays", "a holiday has to be reported to the caretaker {} before", WEEKS, "How early do I have to tell the caretaker that I'm going away?"),
    ("Prams", "prams may be left in the hall until {}", TIMES, "Until when may our pram be in the hall?"),
    ("Workshop", "the workshop is open until {}", TIMES, "How late in the evening can I use the saw in the workshop?"),
    ("Bicycles", "a place in the bicycle cellar costs {} a year", SMALL, "What's the fee for a second bicycle in the cellar, for a year?"),
    ("Moving", "moving in or out has to be finished by {}", TIMES, "I'm moving in. By what time do we have to be finished with carrying?"),
)  # fmt: skip
KINDS = (
    "replaced replaced replaced corrected confirmed interim mine still "
    "other_house other_house rejected rejected not_confirmed over void later undecided undecided"
).split()
CHAT = (
    "The heating in {} is repaired.", "The treasurer reports on the accounts; there are no questions.", "The caretaker is thanked for the winter.",
    "A tree in front of {} has to be cut.", "The stairs of {} are going to be painted white.", "Two new members are welcomed.",
    "The insurance pays for the water damage in {}.", "The summer party was a success.", "The lift in {} is going to be examined in autumn.",
)  # fmt: skip
TODAY = date(2026, 9, 14)


def words(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


class House:
    """The papers by their paths, and the questions with what holds."""

    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        # The minutes: what each item says, and which other item its text refers to.
        self.meetings: dict[tuple[str, date], list[dict]] = {}
        self.general = {year: date(year, 5, 8) + timedelta(dice.below(20)) for year in range(2012, 2027)}
        for day in self.general.values():
            self.meetings["general", day] = []
        for year in range(2012, 2027):
            for month in (1, 2, 3, 6, 9, 11):
                if date(year, month, 28) < TODAY:
                    self.meetings["board", date(year, month, dice.between(2, 27))] = []
        self.papers: dict[str, str] = {}
        self.known: dict[str, list[tuple[date, str]]] = {}  # what people believe about a subject, and from when
        self.asked = []
        subjects = dice.shuffled(SUBJECTS)
        for kind, subject in zip(dice.shuffled(KINDS), subjects, strict=False):
            self._ask(kind, *subject)
        for subject in subjects[len(KINDS) :]:
            self._ask("replaced", *subject)
        self.asked = dice.shuffled(self.asked[: len(KINDS)])
        self._minutes()
        self._others()

    def item(self, kind: str, day: date, subject: str, text: str, about: dict | None = None) -> dict:
        one = {"meeting": (kind, day), "text": f"{subject}. {text}", "about": about}
        self.meetings[kind, day].append(one)
        return one

    def decide(
        self, day: date, subject: str, rule: str, where: str = "in all houses", when: str = "", kind: str = "general"
    ) -> dict:
        who = "The meeting" if kind == "general" else "The board"
        if kind == "general":
            self.known.setdefault(subject, []).append((day, rule))
            when += self.dice.pick(("", f", with {self.dice.between(24, 39)} to {self.dice.between(3, 17)} votes"))
        start = self.dice.pick(("", "After a long discussion, ", "As proposed by a resident, "))
        who = who if not start else who[0].lower() + who[1:]
        return self.item(
            kind,
            day,
            subject,
            f"{start}{who} {self.dice.pick(('decides', 'agrees', 'resolves'))} that {rule} {where}{when}.",
        )

    def _ask(self, kind: str, subject: str, rule: str, values: tuple[str, ...], question: str) -> None:
        dice = self.dice
        old, new, third = dice.sample(values, 3)
        home, other = dice.sample(HOUSES, 2)
        first, second = sorted(dice.sample(range(2013, 2025), 2))
        day = self.general[second]

        def says(value: str) -> str:
            return rule.format(value)

        holds, answer = None, old
        if kind != "undecided":
            holds = self.decide(self.general[first], subject, says(old))
        match kind:
            case "replaced":
                if second < 2022 and dice.chance(0.6):
                    self.decide(day, subject, says(third))
                    day = self.general[dice.between(second + 1, 2025)]
                holds, answer = self.decide(day, subject, says(new)), new
            case "corrected":
                wrong = self.decide(day, subject, says(third))
                text = f"Correction of item ITEM of the minutes of {words(day)}: {says(new)}, not {third}."
                holds, answer = self.item("general", self.general[second + 1], subject, text, wrong), new
            case "confirmed" | "not_confirmed":
                board = self.board(date(second, 3, 1))
                made = self.decide(
                    board, subject, says(new), when=", until the general meeting has dealt with it", kind="board"
                )
                said = "confirms" if kind == "confirmed" else "does not confirm"
                self.item(
                    "general",
                    day,
                    "Decisions of the board",
                    f"The meeting {said} item ITEM of the board's minutes of {words(board)}.",
                    made,
                )
                if kind == "confirmed":
                    holds, answer = made, new
                self.known[subject].append((board, says(new)))
            case "interim":
                holds, answer = self.decide(self.board(date(2026, 6, 1)), subject, says(new), kind="board"), new
            case "mine":
                holds, answer = self.decide(day, subject, says(new), f"in {home}"), new
            case "other_house":
                self.decide(day, subject, says(new), f"in {other}")
            case "rejected":
                text = f"A resident moves that {says(new)} in all houses. The motion is rejected with {dice.between(18, 30)} to {dice.between(4, 15)} votes."
                self.item("general", day, subject, text)
                self.known[subject].append((day, says(new)))
            case "over" | "still":
                year = 2026 if kind == "still" else dice.between(second, 2025)
                made = self.decide(day, subject, says(new), when=f" until 31 December {year}")
                if kind == "still":
                    holds, answer = made, new
            case "void":
                made = self.decide(day, subject, says(new))
                self.letter = (date(second, 11, dice.between(3, 27)), day, made)
            case "later":
                self.decide(self.general[2026], subject, says(new), when=", from 1 January 2027 on")
            case "undecided":
                answer = "undecided"
                text = f"A resident moves that {says(new)} in all houses. The motion is put off."
                self.item("general", day, subject, text)
                self.known[subject] = [(day, says(new))]
        self.asked.append({"house": home, "text": question, "answer": answer, "holds": holds, "kind": kind})

    def board(self, after: date) -> date:
        return min(day for kind, day in self.meetings if kind == "board" and day >= after)

    def _minutes(self) -> None:
        dice = self.dice
        for (kind, day), items in self.meetings.items():
            more = dice.between(3, 5) if kind == "general" else dice.between(1, 3)
            chat = [{"text": one.format(dice.pick(HOUSES)), "about": None} for one in dice.sample(CHAT, more)]
            items[:] = dice.shuffled([*items, *chat])
        for (kind, day), items in self.meetings.items():
            path = f"minutes/{kind} {day}.txt"
            lines = [f"Minutes of the {'general meeting' if kind == 'general' else 'board'}, {words(day)}", ""]
            for number, one in enumerate(items, 1):
                about = one["about"]
                if about:
                    one["text"] = one["text"].replace("ITEM", f"{self.meetings[about['meeting']].index(about) + 1}")
                one |= {"path": f"papers/{path}", "text": f"Item {number}: {one['text']}"}
                lines += [textwrap.fill(one["text"], 96), ""]
            self.papers[path] = "\n".join(lines)

    def _others(self) -> None:
        dice = self.dice
        day, meeting, made = self.letter
        item = self.meetings[made["meeting"]].index(made) + 1
        text = (
            f"Dear board, the district court has decided on {words(day)}: what the general meeting of {words(meeting)} decided under item {item} "
            "is void, since the invitation came too late. There is no appeal. Kind regards, M. Sanders, lawyer"
        )
        self.papers[f"letters/{day + timedelta(6)}.txt"] = textwrap.fill(text, 96) + "\n"
        # What is printed each January, and what people write, is what they believe to hold.
        for year in range(2014, 2027):
            lines = [f"Good to know in {year}", ""]
            for some in self.known.values():
                believed = [rule for when, rule in sorted(some) if when.year < year]
                lines += [f"- {believed[-1][0].upper()}{believed[-1][1:]}."] if believed else []
            self.papers[f"leaflets/good to know {year}.txt"] = "\n".join(lines) + "\n"
        facts = [(when, rule) for some in self.known.values() for when, rule in some]
        for place in range(90):
            when, rule = dice.pick(facts)
            when += timedelta(dice.between(20, 900))
            when = min(when, TODAY - timedelta(dice.between(3, 90)))
            folder, text = dice.pick((
                ("notices", f"To all residents. Please remember that {rule}. Your board"),
                ("notices", f"We have been asked again: {rule}. Thank you for keeping to it. The caretaker"),
                ("mail", f"Hello, isn't it so that {rule}? My neighbour says otherwise. Best wishes, a resident"),
                ("mail", f"Dear board, last week I was told that {rule}. I find that hard. Could you look into it?"),
                ("letters", f"Dear Sir or Madam, we confirm that {rule}. Sincerely, the office"),
            ))  # fmt: skip
            self.papers[f"{folder}/{when} {place:02d}.txt"] = textwrap.fill(text, 96) + "\n"

    def archive(self) -> bytes:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for path, text in sorted(self.papers.items()):
                data = text.encode()
                info = tarfile.TarInfo(f"papers/{path}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        return gzip.compress(out.getvalue(), 9, mtime=0)


def files(seed: int = SEED) -> dict[str, bytes]:
    house = House(seed)
    rows = "".join(f'Q{place:02d},{one["house"]},"{one["text"]}"\n' for place, one in enumerate(house.asked, 1))
    return {"papers.tar.gz": house.archive(), "questions.csv": f"question,house,text\n{rows}".encode()}


def expected(seed: int = SEED) -> dict[str, object]:
    """What holds for each question, the paper in which it was decided, and what that says."""
    return {
        f"Q{place:02d}": {"answer": one["answer"], "kind": one["kind"]}
        | ({"paper": one["holds"]["path"], "text": one["holds"]["text"]} if one["holds"] and one["answer"] != "undecided" else {})
        for place, one in enumerate(House(seed).asked, 1)
    }  # fmt: skip
