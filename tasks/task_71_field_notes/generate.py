"""Twenty-five years of a river trust's field notes, with stale and retracted ones, and questions that join several."""

import gzip
import json
from datetime import date, timedelta

from craft.dice import Dice

SEED = 20260413
FIRST = "Alma Bruno Cora David Edda Falk Gesa Henk Iris Jolan Kaja Lars Mona Niko Oda Piet Rike Sven Thea Ulf".split()
LAST = ("Arndt", "Bakker", "Claes", "Decker", "Ebbing", "Freese", "Groot", "Heller", "Jonker", "Kramer", "Lund", "Maas")
HEADS = ("Alder", "Birch", "Cobble", "Deer", "Elder", "Fallow", "Gravel", "Heron", "Ivy", "Juniper", "Kestrel", "Lark")
TAILS = ("Brook", "Ford", "Mill", "Weir")
ANIMALS = ("otter", "kingfisher", "dipper", "water vole", "grass snake", "beaver")
FISH = ("trout", "grayling", "bullhead", "minnow")
FIRMS = (
    "Aqualine", "Brandt Hydraulics", "Castor Works", "Deltabau", "Eddy and Sons", "Flussbau Nord", "Gantry", "Hydra Civil",
    "Inlet Partners", "Keystone River",
)  # fmt: skip


def words(day: date) -> str:
    return f"{day:%d %B %Y}".lstrip("0")


class Archive:
    """All notes in the order of their dates, and the questions with their answers and the notes that hold."""

    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        self.sites = [f"{head} {tail}" for head in HEADS for tail in TAILS]
        self.people = dice.shuffled([f"{first} {last}" for first in FIRST for last in LAST])
        self.notes: list[dict] = []
        self.asked: list[dict] = []
        self.count: dict[tuple[str, str, int], dict] = {}
        self._firms()
        self._passes()
        self._counts()
        self._wardens()
        self._visits()
        self._chains()
        # Ids follow the dates; notes that refer to another one get its id now.
        self.notes = sorted(self.notes, key=lambda one: (one["day"], one["text"]))
        for number, one in enumerate(self.notes, 1):
            one["id"] = f"N{number:04d}"
        for one in self.notes:
            if "about" in one:
                one["text"] = one["text"].replace("NOTE", one["about"]["id"])
        self.asked = dice.shuffled(self.asked)

    def day(self, first: int, last: int | None = None) -> date:
        return date(first, 1, 1) + timedelta(self.dice.below(365 * ((last or first) - first + 1)))

    def note(self, day: date, text: str, about: dict | None = None) -> dict:
        one = {"day": day, "text": text} | ({"about": about} if about else {})
        self.notes.append(one)
        return one

    def person(self) -> str:
        return self.people[self.dice.below(120)]

    def lead(self) -> str:
        """What a note begins with, so that an excerpt rarely has what matters."""
        return self.dice.pick((
            "Sunny and warm, low water, the path by the alders is overgrown again and needs cutting before autumn.",
            "Rain since the morning, water brown and rising; we left the boat where it was and walked the bank.",
            "Frost on the meadow, thin ice along the reeds. The lock of the hut is broken and we need a new one.",
            "A long day with visitors from the school, who asked good questions and lost two pairs of boots.",
        ))  # fmt: skip

    def _firms(self) -> None:
        self.head = {}
        for firm in FIRMS:
            for year in (2003, 2010, self.dice.between(2016, 2020)):
                name = self.people.pop()
                text = self.dice.pick(
                    (f"{firm} has a new head: {name} leads the firm now.", f"From today, {firm} is led by {name}.")
                )
                self.head[firm] = name, self.note(self.day(year), f"{self.lead()} {text}")

    def _passes(self) -> None:
        self.passes = {}
        for site in self.sites:
            planned, built = self.dice.sample(FIRMS, 2)
            year = self.dice.between(2006, 2012)
            self.note(
                self.day(year),
                f"{self.lead()} The fish pass at {site} is going to be built by {planned}; the contract is signed.",
            )
            text = f"{self.lead()} The fish pass at {site} is finished. {planned} had withdrawn, and it was built by {built}."
            self.passes[site] = built, self.note(self.day(year + 2), text)

    def _counts(self) -> None:
        for site in self.sites:
            for fish in FISH:
                for year in range(2017, 2025, 2):
                    number = self.dice.between(12, 480)
                    text = f"{self.lead()} Electrofishing at {site}: we counted {number} {fish} this year."
                    self.count[site, fish, year] = {"number": number, "note": self.note(self.day(year), text)}

    def _wardens(self) -> None:
        self.warden = {}
        names = [self.people.pop() for _ in self.sites]
        for year in (2005, 2012, 2019):
            names = names[7:] + names[:7]  # each has other sites before
            for site, name in zip(self.sites, names, strict=True):
                text = self.dice.pick(
                    (f"{name} takes over as warden of {site}.", f"The new warden of {site} is {name}.")
                )
                self.warden[site] = name, self.note(self.day(year), f"{self.lead()} {text}")

    def _visits(self) -> None:
        for _ in range(900):
            site, name = self.dice.pick(self.sites), self.person()
            what = self.dice.pick((
                f"no {self.dice.pick(ANIMALS)} at {site} today, though we waited long.", f"cleared the trash rack at {site}.",
                f"measured the oxygen at {site}: {self.dice.between(70, 110) / 10} mg per litre.",
                f"talked with the warden of {site} about the fence.", f"the fish pass at {site} is blocked by a branch.",
            ))  # fmt: skip
            self.note(self.day(2002, 2024), f"{self.lead()} {name}: {what}")

    def sighting(self, day: date, animal: str, site: str, name: str) -> dict:
        text = self.dice.pick(
            (f"{name} recorded the {animal} at {site} today.", f"At {site}, a record of the {animal} by {name}.")
        )
        return self.note(day, f"{self.lead()} {text}")

    def _chains(self) -> None:
        dice = self.dice
        used = set()
        for _ in range(400):
            name, animal, year = self.person(), dice.pick(ANIMALS), dice.between(2003, 2024)
            if (name, animal, year) not in used:
                used.add((name, animal, year))
                self.sighting(self.day(year), animal, dice.pick(self.sites), name)
        for which in range(7):
            name, animal, year = self.people.pop(), dice.pick(ANIMALS), dice.between(2013, 2022)
            site, other = dice.sample(self.sites, 2)
            wrong = self.sighting(self.day(year), animal, other, name)
            why = dice.pick(
                ("it was another animal", "the photo is of another river", "the date on the card was wrong")
            )
            back = self.note(self.day(year + 1, year + 2), f"{self.lead()} Retraction: NOTE is void, {why}.", wrong)
            question = f"Who was last named as head of the firm that built the fish pass at the place where {name} recorded the {animal} in {year}?"
            if which == 6:  # nothing but what was retracted
                self.asked.append({"text": question, "answer": "unknown", "hops": [(back, wrong)]})
                continue
            right = self.sighting(self.day(year), animal, site, name)
            firm, built = self.passes[site]
            head, led = self.head[firm]
            self.asked.append({"text": question, "answer": head, "hops": [(right, site), (built, firm), (led, head)]})
        for which, site in enumerate(dice.sample(self.sites, 7)):
            fish, year = dice.pick(FISH), dice.pick((2019, 2021, 2023))
            name, named = self.warden[site]
            one = self.count[site, fish, year]
            question = f"How many {fish} were counted in {year} at the place whose warden is {name} now?"
            hops = [(named, site), (one["note"], str(one["number"]))]
            answer = str(one["number"])
            if which == 6:
                back = self.note(
                    self.day(year + 1),
                    f"{self.lead()} Retraction: NOTE is void, the gear was broken. There is no count for that year.",
                    one["note"],
                )
                answer, hops[1] = "unknown", (back, one["note"])
            elif which % 2:
                answer = str(one["number"] + dice.between(5, 90))
                text = f"{self.lead()} Correction of NOTE: the sheets were added up wrongly. It was {answer} {fish}."
                hops[1] = self.note(self.day(year + 1), text, one["note"]), answer, one["note"]
            self.asked.append({"text": question, "answer": answer, "hops": hops})


def files(seed: int = SEED) -> dict[str, bytes]:
    archive = Archive(seed)
    notes = {one["id"]: {"date": f"{one['day']}", "text": one["text"]} for one in archive.notes}
    questions = "".join(f'Q{number:02d},"{one["text"]}"\n' for number, one in enumerate(archive.asked, 1))
    return {
        "archive/notes.json.gz": gzip.compress(json.dumps(notes).encode(), 9, mtime=0),
        "questions.csv": f"question,text\n{questions}".encode(),
    }


def expected(seed: int = SEED) -> dict[str, object]:
    """The answer to each question, and for each step the note that holds, with what its quote must contain."""
    return {
        f"Q{number:02d}": {
            "answer": one["answer"],
            "hops": [[note["id"], [fact["id"] if isinstance(fact, dict) else fact for fact in facts]] for note, *facts in one["hops"]],
        }
        for number, one in enumerate(Archive(seed).asked, 1)
    }  # fmt: skip
