"""Members' records of a federation, half moved from an old store to a new one by a tool with faults."""

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from zoneinfo import ZoneInfo

from craft.dice import Dice

SEED = 20260520
LOCAL = ZoneInfo("Europe/Vienna")
BRANCHES = {"Nord": "N", "Süd": "S", "Stadt": "C", "Außerfern": "A"}
GIVEN = (
    "Änne",
    "Bela",
    "Çelik",
    "Dorothea",
    "Émile",
    "Franz-Xaver",
    "Grete",
    "Håkon",
    "Ines",
    "Jörg",
    "Krzysztof",
    "Ludmila",
)
FAMILY = (
    "Adler",
    "Böhm",
    "von der Lühe-Wittgenstein",
    "Dvořák",
    "Egger",
    "Fürst",
    "Gärtner-Oberhuber",
    "Haas",
    "Ivić",
    "Jovanović",
    "Köck",
    "Łukasiewicz",
)
MEMOS = (
    "",
    "",
    "sings alto",
    "tenor since 2011",
    "Änderung: paid in cash",
    'calls herself "Lotte"',
    "ring twice; 2nd floor",
    "honorary member",
)
FIELDS = ("name", "born", "joined", "fee_cents", "phones", "branch", "notes")


def particulars(seed: int) -> list[str]:
    """When the migration is completed."""
    day = 20 if seed == SEED else Dice(seed + 2).pick([day for day in range(8, 30) if day != 20])
    return [f"2026-05-{day:02d}T00:00:00Z"]


def text_of(record: dict) -> str:
    return json.dumps(record, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def digest(record: dict) -> str:
    return sha256(json.dumps(record, ensure_ascii=False, sort_keys=True).encode()).hexdigest()[:10]


def place(member: str) -> str:
    return f"{member[-2:]}/{member}.json"


def is_time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


class Member:
    """What is true of a member in the old store, and how it is written there."""

    def __init__(self, dice: Dice, number: int) -> None:
        self.number, self.id = number, f"M-{number:04d}"
        self.family, self.given = dice.pick(FAMILY), dice.pick(GIVEN)
        self.born = None if dice.chance(0.1) else (1927 + dice.below(90), dice.between(1, 12), dice.between(1, 28))
        self.joined = (2001 + dice.below(25), dice.between(1, 12), dice.between(1, 28))
        self.fee = dice.pick((0, 1250, 1275, 900, 108050, 4005))
        self.phones = [
            f"{dice.pick(('0', '0', '0043 ', '+43 '))}{dice.pick(('555', '664', '1'))} {dice.between(10000, 999999)}"
            for _ in range(dice.pick((0, 1, 1, 2)))
        ]
        self.branch = dice.pick(list(BRANCHES))
        self.memo = dice.pick(MEMOS)
        self.changed = datetime(2026, 3, 27, 6, tzinfo=UTC) + timedelta(minutes=dice.below(6 * 24 * 60))
        self.changed_fields = dice.sample(("phones", "notes", "fee_cents", "branch"), dice.between(1, 2))
        self.deleted = dice.chance(0.07)

    def old(self) -> dict:
        euros = f"{self.fee // 100}" if self.fee % 100 == 0 else f"{self.fee // 100},{self.fee % 100:02d}"
        if self.fee > 100_000:
            euros = f"{self.fee // 100_000}.{euros[1:]}"
        data = {
            "no": self.number, "name": f"{self.family}, {self.given}",
            "birth": "" if self.born is None else f"{self.born[2]:02d}.{self.born[1]:02d}.{self.born[0] % 100:02d}",
            "since": f"{self.joined[2]}.{self.joined[1]}.{self.joined[0]}", "fee": euros, "tel": " / ".join(self.phones),
            "branch": self.branch, "memo": self.memo, "changed": f"{self.changed.astimezone(LOCAL):%Y-%m-%dT%H:%M:%S}",
            "changed_fields": self.changed_fields,
        }  # fmt: skip
        return data | ({"deleted": True} if self.deleted else {})

    def new(self, now: str, *, has_codes: bool = False) -> dict:
        """The record as it has to be; `has_codes`: with phone numbers as the second message wants them."""
        return {
            "id": self.id, "name": {"family": self.family, "given": self.given},
            "born": None if self.born is None else "{:04d}-{:02d}-{:02d}".format(*self.born),
            "joined": "{:04d}-{:02d}-{:02d}".format(*self.joined), "fee_cents": self.fee,
            "phones": [with_code(one) for one in self.phones] if has_codes else self.phones, "branch": BRANCHES[self.branch], "notes": self.memo,
            "migrated_at": now, "edited_at": None, "edited": [], "created_in": "old",
        }  # fmt: skip


def with_code(number: str) -> str:
    digits = number.replace(" ", "")
    if digits.startswith("00"):
        digits = f"+{digits[2:]}"
    return digits if digits.startswith("+") else f"+43{digits[1:]}"


class Stores:
    """Both stores as they are found, and the new one as it has to be in the end."""

    def __init__(self, seed: int, count: int, now: str) -> None:
        self.now = now
        self.dice = dice = Dice(seed)
        self.old: dict[str, str] = {}
        self.new: dict[str, str] = {}
        self.after: dict[str, dict] = {}
        self.kinds: dict[str, str] = {}
        self.log: list[str] = []
        self.fresh: dict[str, dict] = {}  # what an empty new store would hold in the end
        number = 100
        for step in range(count):
            number += dice.between(1, 4)
            self._member(Member(dice, number), step / count)
        for extra in range(max(2, count // 30)):  # made in the new store; and left over from a test
            made = Member(dice, 9000 + extra * 7 + dice.below(5))
            record = made.new(now) | {"created_in": "new", "migrated_at": None, "edited_at": "2026-05-02T09:00:00Z"}
            self.new[place(made.id)] = text_of(record)
            self.after[made.id] = record | {"phones": [with_code(one) for one in made.phones]}
            self.kinds[made.id] = "edited"
            test = Member(dice, 8000 + extra * 5 + dice.below(4))
            self.new[place(test.id)] = text_of(test.new(now) | {"migrated_at": "2026-04-01T05:00:00Z"})
            self.kinds[test.id] = "removed"
        index = "".join(
            f"{path[3:9]},{path},{sha256(text.encode()).hexdigest()}\n" for path, text in sorted(self.new.items())
        )
        self.new["index.csv"] = f"id,path,sha256\n{index}"

    def _member(self, one: Member, share: float) -> None:
        dice = self.dice
        self.old[f"{one.branch}/{one.number:04d}.json"] = json.dumps(one.old(), ensure_ascii=False) + "\n"
        if dice.chance(0.1):  # moved from another branch, whose file is still there
            stale = Member(dice, one.number)
            stale.branch = dice.pick([name for name in BRANCHES if name != one.branch])
            stale.deleted, stale.changed = dice.chance(0.3), one.changed - timedelta(minutes=dice.between(30, 90000))
            self.old[f"{stale.branch}/{one.number:04d}.json"] = json.dumps(stale.old(), ensure_ascii=False) + "\n"
        if not one.deleted and one.branch != "Nord":
            self.fresh[one.id] = one.new(self.now, has_codes=True)
        if share > 0.62:
            found, kind, edited = None, "missing", False
        else:
            found, kind, edited = self._moved(one)
        wanted = one.new(self.now, has_codes=True)
        if found is not None:
            record = json.loads(found) if kind != "broken" else None
            self.new[place(one.id)] = found
            self.log.append(f"{one.id} ok ({len(found.encode())} bytes)")
            if record is not None:
                wanted |= {"edited_at": record["edited_at"]}
                keeps = [field for field in record["edited"] if not self._old_wins(one, record, field)]
                wanted |= {field: record[field] for field in keeps} | {"edited": keeps}
                wanted["phones"] = [with_code(each) for each in wanted["phones"]]
                # Set anew only where something had to be changed.
                if {**wanted, "migrated_at": 0} == {**record, "migrated_at": 0}:
                    wanted["migrated_at"], kind = record["migrated_at"], "untouched"
        is_kept = not one.deleted and not (wanted["branch"] == "N" and not wanted["edited"])
        if is_kept:
            self.after[one.id] = wanted
        self.kinds[one.id] = ("edited" if edited else kind) if is_kept else "removed" if one.deleted else "north"

    @staticmethod
    def _old_wins(one: Member, record: dict, field: str) -> bool:
        return field in one.changed_fields and is_time(one.changed) > record["edited_at"]

    def _moved(self, one: Member) -> tuple[str, str, bool]:
        """What the tool made of a member, and people of that."""
        dice = self.dice
        record = one.new(self.now) | {
            "migrated_at": is_time(datetime(2026, 3, 28, tzinfo=UTC) + timedelta(minutes=dice.below(4000)))
        }
        kind = "untouched"
        fault = dice.below(9)
        if fault == 0 and one.fee % 100:
            record["fee_cents"], kind = one.fee // 100 * 100, "repaired"
        elif fault == 1 and one.born and one.born[0] < 1970:
            record["born"], kind = f"20{record['born'][2:]}", "repaired"
        elif fault == 2:
            cut = {key: value.encode("ascii", "replace").decode()[:16] for key, value in record["name"].items()}
            kind = "untouched" if cut == record["name"] else "repaired"
            record["name"] = cut
        elif fault == 3 and len(one.phones) == 2:
            record["phones"], kind = one.phones[:1], "repaired"
        elif fault == 4:
            record["notes"], kind = "imported", "repaired"
        if dice.chance(0.06):
            return text_of(record)[: dice.between(40, 150)], "broken", False
        edited = dice.chance(0.3)
        if edited:
            fields = dice.sample(("phones", "notes", "branch", "fee_cents"), dice.between(1, 2))
            news = {"phones": ["0664 111222"], "notes": "told us by phone", "branch": "C", "fee_cents": 2000}
            # Near the old store's change, for which the hour of local time matters.
            moment = one.changed + timedelta(minutes=dice.pick((-200, -95, -45, -30, 30, 45, 95, 200)))
            record |= {field: news[field] for field in fields} | {
                "edited": sorted(fields),
                "edited_at": is_time(moment),
            }
        return text_of(record), kind, edited


def files(seed: int = SEED) -> dict[str, bytes]:
    stores = Stores(seed, 260, *particulars(seed))
    made = {f"old/{name}": text.encode() for name, text in stores.old.items()}
    made |= {f"new/{name}": text.encode() for name, text in stores.new.items()}
    at, lines = datetime(2026, 3, 28, tzinfo=UTC), []
    for line in stores.log:
        at += timedelta(seconds=stores.dice.between(2, 900))
        lines.append(f"{is_time(at)} migrate.py[4711] {line}")
    lines.append(
        f"{is_time(at)} migrate.py[4711] summary: {len(stores.log)} of {len(stores.log)} records ok, 0 warnings"
    )
    made["migrate.log"] = ("\n".join(lines) + "\n").encode()
    return {f"resume_migration/{name}": data for name, data in made.items()}


def expected(seed: int = SEED) -> dict:
    now = particulars(seed)[0]
    stores, small = Stores(seed, 260, now), Stores(seed + 1, 40, now)
    old = sha256("".join(f"{name}\n{text}" for name, text in sorted(stores.old.items())).encode()).hexdigest()[:16]
    return {
        "after": {member: digest(record) for member, record in stores.after.items()}, "kinds": stores.kinds, "old": old,
        "small": {"old": small.old, "new": small.new, "after": {member: digest(one) for member, one in small.after.items()}},
        "fresh": {member: digest(one) for member, one in small.fresh.items()},
    }  # fmt: skip
