"""A society's shared drive that has to be tidied: duplicates, drafts, old files, and files that must stay."""

from craft.dice import Dice
from craft.office import office_files

SEED = 20261104
OWNER = "nora@hollow-road.example"
KEY = "drive-61"  # of the event by which Petra changes files
FOLDERS = ("minutes", "plots", "seeds", "press", "photos", "money", "events", "water")
AUTHORS = ("Nora", "Petra", "Jonas", "Amir", "Lotte")
FRIEND = "lotte@hollow-road.example"
TOPICS = (
    "Waiting list", "Seed swap", "Water rota", "Hedge plan", "Open day", "Tool shed", "Compost course", "Bee hives",
    "Newsletter", "Fence quote", "Plot map", "Bank letter", "Pond report", "Key list", "Harvest supper", "Path repair",
    "Allotment rules", "School visit", "Rain barrels", "Greenhouse", "Summer fair", "Bulb order", "Annual accounts",
    "Insurance", "Membership form", "Gate code", "Skip hire", "Photo walk", "Apple day", "Autumn clearing",
)  # fmt: skip
CHANGED = ("d31", "d47")  # by Petra, after the plan was made


class World:
    """The drive, what the rules say of each file, and what is left of it after the exceptions."""

    def __init__(self, seed: int) -> None:
        self.dice = Dice(seed)
        self.drive: dict[str, dict] = {}
        self.right: dict[str, str] = {}
        self.files: list[tuple[dict, str]] = []
        self.names = self.dice.shuffled(
            [f"{topic} {year}" for topic in TOPICS for year in (2019, 2021, 2022, 2024, 2025)]
        )
        for number in range(18):  # with a second copy, of which the one with the lower number stays
            one = self.file(shared=number == 0)
            self.files.append((one, "keep"))
            self.files.append(
                (one | {"name": f"Copy of {one['name']}", "shared_with": self.friends(number in (1, 2))}, "copy")
            )
        for number in range(12):
            one = self.file()
            self.files.append((one, "keep"))
            draft = one | {"name": f"{one['name']} (draft)", "text": f"{one['text']}\nTo be checked."}
            self.files.append((draft | {"shared_with": self.friends(number in (3, 4))}, "draft"))
        for _ in range(4):  # a draft of nothing
            one = self.file()
            self.files.append((one | {"name": f"{one['name']} (draft)"}, "keep"))
        for number in range(18):
            self.files.append((self.file(old=True, shared=number in (5, 6)), "old"))
        self._number()
        self.mine = {
            name: act for name, act in self.right.items()
            if self.drive[name]["folder"] != "money" and self.drive[name]["by"] != "Jonas" and name not in CHANGED
        }  # fmt: skip

    def friends(self, shared: bool) -> list[str]:
        return [FRIEND] if shared else []

    def file(self, *, old: bool = False, shared: bool = False) -> dict:
        name, day = self.names.pop(), f"{self.dice.between(1, 12):02d}-{self.dice.between(1, 28):02d}"
        year = self.dice.between(2019, 2023) if old else self.dice.between(2024, 2026)
        text = f"{name}.\n{self.dice.pick(('Agreed', 'Noted', 'Planned', 'Counted'))}: {self.dice.between(3, 900)}."
        return {
            "name": name, "text": text, "folder": self.dice.pick(FOLDERS), "shared_with": self.friends(shared),
            "by": self.dice.pick(AUTHORS), "changed": f"{year}-{day}",
        }  # fmt: skip

    def _number(self) -> None:
        """Give the files numbers in random order, but copies higher ones than what they copy."""
        plain = [index for index, (_, role) in enumerate(self.files)]
        order = self.dice.shuffled(plain)
        for index, (_, role) in enumerate(self.files):
            if role == "copy":
                mine, first = order.index(index), order.index(index - 1)
                if mine < first:
                    order[mine], order[first] = order[first], order[mine]
        numbers = {index: place for place, index in enumerate(order, 1)}
        # What Petra changes has the same numbers in each form: a draft to be deleted, and an old file.
        for name, role in zip(CHANGED, ("draft", "old"), strict=True):
            index = next(
                place for place, (one, what) in enumerate(self.files)
                if what == role and not one["shared_with"] and one["by"] != "Jonas" and one["folder"] != "money"
            )  # fmt: skip
            other = next(place for place, number in numbers.items() if number == int(name[1:]))
            numbers[index], numbers[other] = numbers[other], numbers[index]
        for index, (one, role) in sorted(enumerate(self.files), key=lambda item: numbers[item[0]]):
            self.drive[f"d{numbers[index]}"] = one
            if one["shared_with"]:
                continue
            twin = numbers[index - 1] if role == "copy" else numbers[index + 1] if self._copied(index) else 0
            if twin and twin < numbers[index] or role == "draft":
                self.right[f"d{numbers[index]}"] = "delete"
            elif one["changed"] < "2024":
                self.right[f"d{numbers[index]}"] = "archive"

    def _copied(self, index: int) -> bool:
        return index + 1 < len(self.files) and self.files[index + 1][1] == "copy"


def files(seed: int = SEED) -> dict[str, bytes]:
    return office_files({"owner": OWNER, "key": KEY, "records": {"drive": World(seed).drive}})


def expected(seed: int = SEED) -> dict[str, object]:
    """What the rules say, what of it Nora agrees to, and which of these files are in the folder `press`."""
    world = World(seed)
    press = sorted(name for name in world.mine if world.drive[name]["folder"] == "press")
    return {"plan": world.right, "agreed": sorted(world.mine), "press": press}
