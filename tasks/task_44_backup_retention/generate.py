"""A vault of backups with chains, holds and damage, of which some may go."""

import csv
import io
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from zoneinfo import ZoneInfo

from craft.dice import Dice

SEED = 20260630
TODAY = date(2026, 6, 30)
LOCAL = ZoneInfo("Europe/Vienna")
DATABASES = ("orders", "stock", "members", "wiki", "payroll", "sensors")
WEEKS = {"payroll": 26}  # 8 for the others
# id, databases, first and last day, and whether the records office has lifted it
HOLDS = (
    ("H-03", ("orders", "stock"), date(2025, 11, 10), date(2025, 11, 24), False),
    ("H-05", ("members",), date(2026, 2, 2), date(2026, 2, 12), True),
    ("H-07", ("legacy",), date(2024, 3, 1), date(2024, 4, 15), False),
    ("H-08", ("payroll", "members"), date(2025, 9, 1), date(2025, 9, 14), False),
)


class Backup:
    def __init__(self, dice: Dice, place: str, started: datetime, base: "Backup | None") -> None:
        self.place, self.started, self.base = place, started, base
        self.id = f"{dice.below(16**6):06x}"
        self.gigabytes = dice.between(3, 9) if base else dice.between(18, 60)
        self.is_checked = dice.chance(0.72)
        self.is_damaged = dice.chance(0.09)
        self.text = ""
        local = started.astimezone(LOCAL)
        self.path = f"{place}/{place}_{local:%Y%m%d-%H%M}{'_incr' if base else ''}.dump"

    @property
    def day(self) -> date:
        return self.started.date()

    @property
    def is_good(self) -> bool:
        return self.is_checked and not self.is_damaged and self.base is None

    def data(self, dice: Dice) -> bytes:
        lines = [f"# backup {self.id}", f"kind: {'incremental' if self.base else 'full'}"]
        if self.base:
            lines.append(f"base: {self.base.id}")
        lines += [f"started: {self.started:%Y-%m-%dT%H:%M:%SZ}", f"rows: {dice.between(900, 90000)}", "--"]
        lines += ["".join(f"{dice.below(16):x}" for _ in range(60)) for _ in range(4)]
        return ("\n".join(lines) + "\n").encode()


class Vault:
    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        self.backups: list[Backup] = []
        for database in DATABASES:
            self._fill(database)
        self._fill_legacy()
        taken = set()
        for one in self.backups:
            while one.id in taken:
                one.id = f"{dice.below(16**6):06x}"
            taken.add(one.id)
        self.bytes = {one.path: one.data(dice) for one in self.backups}
        self.by_id = {one.id: one for one in self.backups}

    def _moment(self, day: date) -> datetime:
        """Just before or after midnight UTC, for which the local day is another in half of the cases."""
        hour, minute = self.dice.pick(((22, 30), (23, 15), (23, 40), (0, 20), (1, 10), (21, 45)))
        return datetime(day.year, day.month, day.day, hour, minute + self.dice.below(15), tzinfo=UTC)

    def _fill(self, database: str) -> None:
        dice, before = self.dice, None
        days = [TODAY - timedelta(days=back) for back in range(24)]
        days += [TODAY - timedelta(days=25 + 3 * step + dice.below(2)) for step in range(18)]
        days += [date(2026, 3, 1) - timedelta(days=8 * step + dice.below(5)) for step in range(34)]
        days += [
            date(year, month, 1) for year, month in ((2025, 1), (2025, 9), (2026, 1), (2026, 2), (2026, 4), (2026, 5))
        ]
        for day in sorted(set(days)):
            started = self._moment(day)
            # Some chains are long, and reach from what is kept into what would go.
            is_full = before is None or not dice.chance(0.55)
            one = Backup(dice, database, started, None if is_full else before)
            if day in (date(2026, 6, 17), date(2026, 6, 18)):
                one = Backup(dice, database, started, before)
            if database == "wiki" and date(2026, 1, 5) < day:
                one.is_checked = False  # the last verified one is an old one
            self.backups.append(one)
            before = one

    def _fill_legacy(self) -> None:
        before = None
        for step in range(36):
            one = Backup(
                self.dice,
                "legacy",
                self._moment(date(2024, 1, 3) + timedelta(days=4 * step)),
                before if step % 4 else None,
            )
            self.backups.append(one)
            before = one

    def kept(self, lifted: str = "") -> dict[str, set[str]]:
        """The rules that keep each backup, by its id; as if one more hold were lifted, if it is named."""
        rules: dict[str, set[str]] = {}

        def keep(one: Backup | None, rule: str) -> None:
            if one is not None:
                rules.setdefault(one.id, set()).add(rule)

        for database in DATABASES:
            mine = sorted((one for one in self.backups if one.place == database), key=lambda one: one.started)
            good = [one for one in mine if one.is_good]
            for one in mine:
                if one.day > TODAY - timedelta(days=14):
                    keep(one, "daily")
            monday = TODAY - timedelta(days=TODAY.weekday())
            for back in range(1, WEEKS.get(database, 8) + 1):
                start = monday - timedelta(weeks=back)
                week = [one for one in good if start <= one.day < start + timedelta(days=7)]
                keep(week[-1] if week else None, "weekly")
            for back in range(13):
                year, month = divmod(TODAY.year * 12 + TODAY.month - 1 - back, 12)
                keep(next((one for one in good if (one.day.year, one.day.month) == (year, month + 1)), None), "monthly")
            for year in {one.day.year for one in good}:
                keep(next(one for one in good if one.day.year == year), "yearly")
            keep(good[-1] if good else None, "last")
        for name, places, first, last, is_lifted in HOLDS:
            for one in self.backups:
                if not is_lifted and name != lifted and one.place in places and first <= one.day <= last:
                    keep(one, "hold")
        for one in [self.by_id[each] for each in rules]:
            below = one.base
            while below is not None:
                keep(below, "chain")
                below = below.base
        return rules


def table(head: tuple[str, ...], rows: list[tuple]) -> bytes:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([head, *rows])
    return file.getvalue().encode()


def files(seed: int = SEED) -> dict[str, bytes]:
    vault = Vault(seed)
    rows, made = [], {}
    for one in vault.dice.shuffled(vault.backups):
        data = vault.bytes[one.path]
        rows.append((one.id, one.path, one.gigabytes, sha256(data).hexdigest(), "yes" if one.is_checked else "no"))
        if one.is_damaged:
            data = data[:-40] + b"0" * 20 + data[-20:]
        made[f"vault/{one.path}"] = data
    made["vault/catalog.csv"] = table(("id", "path", "size_gb", "sha256", "verified"), rows)
    made["vault/orders/orders_20250704-0215_keep-this.dump.part"] = b"# not finished\n\x00\x01\x02"
    made["vault/wiki/notes from Marek.txt"] = b"Restored the wiki from the dump of 2 January on 12 May, worked well.\n"
    made["vault/stock/stock_20250301-0000.dump"] = b"PGDMP\x01\x0e\x00 made by hand before the move, header unknown\n"
    for name, places, first, last, is_lifted in HOLDS:
        text = f"# Hold {name}\n\nPlaced by the records office on {last + timedelta(days=20)}.\n\n- databases: {', '.join(places)}\n- started from {first} to {last}, both days included, in UTC\n"
        made[f"holds/{name}.md"] = text.encode()
        if is_lifted:
            made[f"holds/{name}-lifted.md"] = (
                f"# Hold {name} is lifted\n\nLifted by the records office on 2026-06-15. Nothing of it has to be kept for us any more.\n".encode()
            )
    made["holds/H-08-note.md"] = (
        b"# H-08\n\nFrom: IT, 2026-06-20. We believe that H-08 could be lifted soon; the records office has been asked.\n"
    )
    return {f"backup_retention/{name}": data for name, data in made.items()}


def expected(seed: int = SEED) -> dict:
    vault = Vault(seed)
    kept, made = vault.kept(), files(seed)
    found = {}
    for one in vault.backups:
        digest = sha256(made[f"backup_retention/vault/{one.path}"]).hexdigest()[:6]
        found[one.path] = [one.id, digest, "+".join(sorted(kept.get(one.id, ())))]
    others = {}
    for name, data in made.items():
        place = name.partition("/")[2]
        if place.removeprefix("vault/") not in found:
            others[place] = sha256(data).hexdigest()[:10]
    waiting = {}
    for name in ("H-07", "H-08"):
        without = vault.kept(lifted=name)
        waiting[name] = sum(vault.by_id[one].gigabytes for one in kept if one not in without)
    assert all(waiting.values())
    return {"backups": found, "others": others, "waiting": waiting}
