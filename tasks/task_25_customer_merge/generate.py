"""Customers of three systems. `make` also tells which records belong to the same person, for trying the task.

Nobody in Austria has the area codes 304, 405, 440, 450 and 459.
"""

import json
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path

from craft.dice import Dice

FIRST = (
    "Adele Bruno Clara Dorian Elena Fabian Gerda Heinz Ilse Jakob Karin Lorenz Magda Niklas Otto Petra Ruth Simon"
).split()
LAST = "Aigner Brunner Czerny Dorfer Eibl Fuchs Gruber Hofer Jung Kern Leitner Mayr Nagl Ortner Pichler Reiter".split()
STREETS = "Lindengasse,Am Anger,Mühlweg,Bahnhofstraße,Kirchplatz,Sonnenhang,Obere Zeile,Gartenweg".split(",")
CITIES = (("8010", "Graz"), ("4020", "Linz"), ("5020", "Salzburg"), ("6020", "Innsbruck"), ("3100", "St. Pölten"))
SEED = 20260425
RULES = Path(__file__).resolve().parent / "files" / "customer_merge" / "merge_rules.md"
START = datetime(2023, 2, 1, tzinfo=timezone.utc)


class Maker:
    def __init__(self, seed: int) -> None:
        self.dice = Dice(seed)
        self.crm: list[dict] = []
        self.shop: list[dict] = []
        self.till: list[dict] = []
        self.owner: dict[str, str] = {}
        self.people = 0

    def person(self) -> dict:
        dice = self.dice
        self.people += 1
        first, last = dice.pick(FIRST), dice.pick(LAST)
        return {
            "tag": f"p{self.people}",
            "first": first,
            "last": last,
            "mail": f"{first}.{last}{self.people}@{dice.pick(['mail.example', 'mail.example', 'brief.example'])}".lower(),
            "phone": f"{dice.pick(['440', '450', '304', '459'])}{dice.between(1000000, 9999999)}",
            "address": self.address(),
        }

    def address(self) -> tuple[str, str, str]:
        code, city = self.dice.pick(CITIES)
        return f"{self.dice.pick(STREETS)} {self.dice.between(1, 120)}", code, city

    def written_mail(self, mail: str | None) -> str | None:
        dice = self.dice
        if mail is None:
            return dice.pick([None, "", "k.A.", "unknown@none.example", "none@none.example", "info@", "  "])
        user, domain = mail.split("@")
        if domain == "mail.example" and dice.chance(0.3):
            domain = "post.example"
        if dice.chance(0.15):
            user += dice.pick(["+shop", "+newsletter", "+a.b"])
        mail = f"{user}@{domain}"
        return dice.pick([mail, mail, mail.title(), mail.upper(), f" {mail} "])

    def written_phone(self, phone: str | None) -> str | None:
        dice = self.dice
        if phone is None:
            return dice.pick([None, "", "-", "4711", "ext. 12"])
        area, rest = phone[:3], phone[3:]
        return dice.pick(
            [
                f"0{area}{rest}",
                f"0{area}/{rest}",
                f"0{area} {rest[:3]} {rest[3:]}",
                f"+43 {area} {rest}",
                f"+43 (0){area} {rest[:4]}-{rest[4:]}",
                f"0043{area}{rest}",
                f"0043 (0) {area} {rest}".replace("(0) ", "(0)"),
                f"(0{area}) {rest}",
            ]
        )

    def add(
        self, system: str, who: dict, tag: str | None = None, gone: bool = False, time: datetime | None = None, **other
    ) -> str:
        """Write a record of the person; `other` replaces facts. Returns its id."""
        dice = self.dice
        gone = gone and system != "till"  # nothing is ever deleted there
        facts = {**who, **other}
        if time is None:
            time = START + timedelta(minutes=dice.between(1, 1_650_000))
        mail, phone = self.written_mail(facts["mail"]), self.written_phone(facts["phone"])
        street, code, city = facts["address"]
        code = dice.pick([code, code, code, f"A-{code}", f" {code}"])
        if dice.chance(0.2):
            street, code, city = dice.pick([("", code, city), (street, "", city), ("", "", ""), (" ", code, city)])
        name = f"{facts['first']} {facts['last']}"
        if system == "crm":
            key = f"C-{1001 + len(self.crm)}"
            shift = timezone(timedelta(hours=dice.pick([1, 2, 2, 0, -5])))
            self.crm.append(
                {
                    "id": key,
                    "full_name": dice.pick([name, name, f" {name}", name.replace(" ", "  ")]),
                    "email": mail,
                    "phone": phone,
                    "address": {"street": street, "zip": code, "city": city},
                    "newsletter": dice.pick([True, True, False, None, None]),
                    "status": "deleted" if gone else dice.pick(["active", "active", "dormant"]),
                    "updated": time.astimezone(shift).isoformat(),
                }
            )
        elif system == "shop":
            key = str(20001 + len(self.shop) * 3)
            self.shop.append(
                {
                    "customer": int(key),
                    "first": dice.pick([facts["first"], facts["first"].upper(), facts["first"] + " "]),
                    "last": dice.pick([facts["last"], facts["last"], facts["last"].upper()]),
                    "mail": mail,
                    "tel": phone,
                    "street": street,
                    "zip": code,
                    "city": city,
                    "marketing": dice.pick(["yes", "no", "", None, "yes"]),
                    "closed": gone,
                    "changed_at": int(time.timestamp()),
                }
            )
        else:
            key = f"T{1 + len(self.till):03}"
            self.till.append(
                {
                    "key": key,
                    "name": dice.pick(
                        [f"{facts['last']}, {facts['first']}", f"{facts['last'].upper()}, {facts['first']}", name]
                    ),
                    "mail": mail,
                    "phone": phone,
                    "street": street,
                    "zip": code,
                    "city": city,
                    "last_change": f"{time:%d.%m.%Y %H:%M}",
                }
            )
        if not gone:
            self.owner[f"{system}:{key}"] = tag or who["tag"]
        return key

    def number(self) -> str:
        return f"405{self.dice.between(1000000, 9999999)}"


def make(seed: int) -> Maker:
    maker = Maker(seed)
    dice = maker.dice
    systems = ("crm", "shop", "till")
    counts = {"one": 108, "mail": 34, "phone": 22, "chain": 20, "cut": 8, "family": 14, "twins": 9, "moved": 16}
    jobs = [job for job, count in counts.items() for _ in range(count)]
    for job in dice.shuffled(jobs):
        who = maker.person()
        if job == "one":
            facts = {} if dice.chance(0.7) else {"phone": None} if dice.chance(0.5) else {"mail": None}
            maker.add(dice.pick(("crm", "shop", "till", "crm", "shop")), who, gone=dice.chance(0.07), **facts)
        elif job == "mail":
            for system in dice.sample(("crm", "shop", "till", "crm", "shop"), 2):
                changed = {"address": maker.address()} if dice.chance(0.4) else {}
                maker.add(system, who, phone=dice.pick([who["phone"], maker.number(), None]), **changed)
        elif job == "phone":
            for system in dice.sample(systems, 2):
                mail = dice.pick([None, f"{who['last'].lower()}{maker.people}.{system}@brief.example"])
                maker.add(system, who, mail=mail)
        elif job == "chain":
            middle, *ends = dice.shuffled(systems)
            maker.add(ends[0], who, phone=maker.number())
            maker.add(middle, who, address=maker.address())
            maker.add(ends[1], who, mail=dice.pick([None, f"new.{who['last'].lower()}{maker.people}@mail.example"]))
        elif job == "cut":
            # The record between the two was deleted, so nothing links them.
            middle, end = dice.pick([("crm", "shop"), ("shop", "crm"), ("crm", "till"), ("shop", "till")])
            maker.add(end, who, phone=maker.number())
            maker.add(middle, who, gone=True)
            maker.add("till" if end != "till" else "crm", who, tag=who["tag"] + "b", mail=None)
        elif job == "family":
            other = {**maker.person(), "last": who["last"], "phone": who["phone"], "address": who["address"]}
            if other["first"] == who["first"]:
                other["first"] = "Valerie"
            for member in (who, other):
                maker.add(dice.pick(systems), member)
        elif job == "twins":
            # Two people of the same name in the same town.
            other = {**maker.person(), "first": who["first"], "last": who["last"], "address": who["address"]}
            for member in (who, other):
                maker.add(dice.pick(systems), member)
        else:
            # Changed within hours, so that the offsets decide what is newest; a new name in the newer record.
            time = START + timedelta(minutes=dice.between(900_000, 1_600_000))
            maker.add("crm", who, time=time)
            later = time + timedelta(minutes=dice.pick([-50, -20, 40, 100, 0]))
            maker.add(dice.pick(["shop", "till"]), who, time=later, phone=maker.number(), address=maker.address())
    # A number twice: an old state of the same record. Some old states are open where the new one is closed, and the
    # other way round.
    for record in dice.sample(maker.shop, 12):
        old = {
            **record,
            "changed_at": record["changed_at"] - dice.between(90_000, 9_000_000),
            "street": "Altgasse 1",
            "marketing": "no",
        }
        old["mail"] = f"old{record['customer']}@mail.example"
        old["closed"] = record["closed"] is not dice.chance(0.4)
        maker.shop.insert(dice.below(len(maker.shop)), old)
    return maker


def files(seed: int = SEED) -> dict[str, bytes]:
    maker = make(seed)
    dice = Dice(seed - SEED + 5)
    lines = ["# Customers of the till, exported 2026-04-24", "---"]
    for record in maker.till:
        for place, (key, value) in enumerate(record.items()):
            text = "" if value is None else str(value)
            if value is None:
                text = dice.pick(["~", ""])
            elif not text.strip() or text != text.strip() or text[0] in "-@" or dice.chance(0.2):
                text = f'"{text}"'
            lines.append(f"{'  ' if place else '- '}{key}: {text}".rstrip())
        if dice.chance(0.08):
            lines.append("  # card replaced")
    crm = json.dumps(maker.crm, indent=1, ensure_ascii=False) + "\n"
    shop = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in maker.shop)
    texts = {"crm.json": crm, "shop.ndjson": shop, "till.yaml": "\n".join(lines) + "\n"}
    return {f"customer_merge/{name}": text.encode("utf-8") for name, text in texts.items()}


def particulars(seed: int) -> list[str]:
    """The digest of the given files: the check works the customers out from them."""
    made = files(seed)
    texts = [made[f"customer_merge/{name}"].decode() for name in ("crm.json", "shop.ndjson", "till.yaml")]
    whole = "\0".join(text.strip() for text in (*texts, RULES.read_text(encoding="utf-8")))
    return [sha256(whole.encode()).hexdigest()]
