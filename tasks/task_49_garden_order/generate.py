"""An order of a town, the acts that amended it over five years, and its text on a day."""

import re
from datetime import date, timedelta
from hashlib import sha256

from craft.dice import Dice

SEED = 20260101
DAY, EARLIER = date(2026, 1, 1), date(2023, 3, 1)
POSTPONED = date(2026, 7, 1)  # by the second message, for all of the act below
LATE_ACT, COURT = "2024/2", ("2022/4", 2)
BODIES = ("office", "council", "board", "association", "inspector", "warden", "tenant", "neighbour")
TERMS = ("seven days", "fourteen days", "thirty days", "six weeks", "three months", "one year")
SUMS = ("20 euros", "35 euros", "50 euros", "80 euros", "120 euros", "250 euros")
THINGS = ("shed", "hedge", "compost heap", "well", "path", "greenhouse", "fence", "water meter", "tree", "pond")
DEEDS = ("notice", "lease", "inspection", "plan", "permit", "complaint", "report", "handover", "register", "key")
WORDS = (BODIES, TERMS, SUMS, THINGS, DEEDS)
PATTERNS = (
    "The {b} shall keep the {t} in good order and hand in a {d} to the {b2} within {w}.",
    "A {t} higher than two metres needs a {d}, which the {b} grants within {w}.",
    "For each {t} a fee of {s} is due, payable to the {b} within {w}.",
    "Without a {d} the {b} may have the {t} removed at the cost of the {b2}.",
    "The {b} shall enter the {d} in the list of the {b2} and keep it for {w}.",
    "Whoever damages a {t} of another pays {s} and makes a {d} to the {b}.",
    "If the {d} is missing, the {b} sets a term of {w}; after that {s} are due.",
    "The {b} and the {b2} may agree in a {d} that a {t} is used together.",
    "Between April and October the {b} opens the {t} to everybody who has a {d}.",
    "The {d} ends when the {b} gives up the {t}, at the latest after {w}.",
)
HEADS = ("Care of the", "Use of the", "Fees for the", "Removal of the", "Rights over the", "Duties about the")


class Part:
    """A section: its heading, and its paragraphs by their designations, in order; None for a repealed one."""

    def __init__(self, head: str, paragraphs: dict[str, str | None]) -> None:
        self.head, self.paragraphs, self.is_repealed = head, paragraphs, False

    def text(self, name: str) -> str:
        if self.is_repealed:
            return f"§ {name} (repealed)\n"
        lines = [f"({key}) {'(repealed)' if text is None else text}" for key, text in self.paragraphs.items()]
        return "\n".join([f"§ {name} {self.head}", *lines]) + "\n"


class Step:
    """One instruction of an act: what it does (`kind`), where, with which words, and from when."""

    def __init__(self, act: str, number: int, kind: str, **about: str) -> None:
        self.act, self.number, self.kind, self.about = act, number, kind, about
        self.at = date.max

    @property
    def place(self) -> tuple[date, int, int, int]:
        year, _, count = self.act.partition("/")
        return (self.at, int(year), int(count), self.number)

    def text(self) -> str:
        one = self.about
        where = f"§ {one.get('section', '')}" + (f" ({one['paragraph']})" if "paragraph" in one else "")
        match self.kind:
            case "replace":
                return f'In {where}, the words "{one["old"]}" are replaced by the words "{one["new"]}".'
            case "everywhere":
                return f'In the whole Order, the words "{one["old"]}" are replaced by the words "{one["new"]}".'
            case "heading":
                return f'The heading of {where} is worded: "{one["new"]}"'
            case "wording":
                return f'{where} is worded: "{one["new"]}"'
            case "insert":
                return f'After {where}, a paragraph ({one["name"]}) is inserted: "{one["new"]}"'
            case "section":
                return f'After {where}, a § {one["name"]} is inserted, headed "{one["head"]}": "{one["new"]}"'
            case "repeal":
                return f"{where} is repealed."
            case "amend":
                return (
                    f"In number {one['item']} of Act {one['of']}, the words "
                    f'"{one["old"]}" are replaced by the words "{one["new"]}".'
                )
            case _:
                return f"Number {one['item']} of Act {one['of']} is repealed."


def swap(text: str, old: str, new: str) -> str:
    return re.sub(rf"\b{re.escape(old)}\b", lambda _: new, text)


class Order:
    """The Order while instructions are carried out; `apply` says whether one could be."""

    def __init__(self, base: dict[str, tuple[str, dict[str, str]]]) -> None:
        self.parts = {name: Part(head, dict(paragraphs)) for name, (head, paragraphs) in base.items()}
        self.changed: dict[str, set[str]] = {}
        self.done: set[tuple[str, int]] = set()
        self.gone: set[tuple[str, int]] = set()

    def _touch(self, section: str, step: Step) -> bool:
        self.changed.setdefault(section, set()).add(step.act)
        return True

    def apply(self, step: Step, steps: dict[tuple[str, int], Step]) -> bool:
        self.done.add((step.act, step.number))
        one = step.about
        if step.kind in ("amend", "undo"):
            other = steps.get((one["of"], int(one["item"])))
            if other is None or {(other.act, other.number)} & (self.done | self.gone):
                return False
            if step.kind == "undo":
                self.gone.add((other.act, other.number))
                return True
            new = swap(other.about.get("new", ""), one["old"], one["new"])
            if new == other.about.get("new", ""):
                return False
            other.about["new"] = new
            return True
        if step.kind == "everywhere":
            hit = False
            for name, part in self.parts.items():
                if part.is_repealed:
                    continue
                before = part.text(name)
                part.head = swap(part.head, one["old"], one["new"])
                for key, text in part.paragraphs.items():
                    part.paragraphs[key] = text if text is None else swap(text, one["old"], one["new"])
                if part.text(name) != before:
                    hit = self._touch(name, step)
            return hit
        section = one["section"]
        part = self.parts.get(section)
        if part is None:
            return False
        if step.kind == "section":  # after a repealed section, too
            if one["name"] in self.parts:
                return False
            self.parts[one["name"]] = Part(one["head"], {"1": one["new"]})
            return self._touch(one["name"], step)
        if part.is_repealed:
            return False
        key = one.get("paragraph")
        if step.kind == "heading":
            part.head = one["new"]
        elif step.kind == "repeal" and key is None:
            part.is_repealed = True
        elif key not in part.paragraphs:
            return False
        elif step.kind == "insert":
            if one["name"] in part.paragraphs:
                return False
            items = []
            for name, text in part.paragraphs.items():
                items.append((name, text))
                if name == key:
                    items.append((one["name"], one["new"]))
            part.paragraphs = dict(items)
        elif part.paragraphs[key] is None:
            return False
        elif step.kind == "replace":
            new = swap(part.paragraphs[key], one["old"], one["new"])
            if new == part.paragraphs[key]:
                return False
            part.paragraphs[key] = new
        else:
            part.paragraphs[key] = None if step.kind == "repeal" else one["new"]
        return self._touch(section, step)


class Book:
    """The Order of 2019, and all that has come since."""

    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        self.base: dict[str, tuple[str, dict[str, str]]] = {}
        for number in range(1, 71):
            paragraphs = {f"{key}": self._sentence() for key in range(1, dice.between(2, 5) + 1)}
            self.base[f"{number}"] = (f"{dice.pick(HEADS)} {dice.pick(THINGS)}", paragraphs)
        self.steps: dict[tuple[str, int], Step] = {}
        self.acts: dict[str, tuple[date, str]] = {}
        self.draft = Order(self.base)  # as if each act came into force as soon as it is written
        self.notices: list[tuple[str, str]] = []
        self.printed: dict[tuple[str, int], str] = {}  # of instructions with a misprint
        self.cancelled: set[tuple[str, int]] = set()  # by the Court from the beginning
        self.cancelled_from: dict[tuple[str, int], date] = {}
        published = date(2020, 1, 20)
        for year in range(2020, 2026):
            for count in range(1, 9):
                published += timedelta(days=dice.between(25, 40))
                published = max(published, date(year, 1, 10))
                self._act(f"{year}/{count}", published)
        self._add_notices()

    def _sentence(self) -> str:
        dice = self.dice
        first, second = dice.sample(BODIES, 2)
        return dice.pick(PATTERNS).format(
            b=first, b2=second, w=dice.pick(TERMS), s=dice.pick(SUMS), t=dice.pick(THINGS), d=dice.pick(DEEDS)
        )

    def _act(self, act: str, published: date) -> None:
        dice = self.dice
        following = published + timedelta(days=1)
        month = published.year * 12 + published.month + 1  # the second month after
        kind = dice.below(5)
        if act in (LATE_ACT, COURT[0], "2022/6"):
            kind = int(act == LATE_ACT)
        whole, clause = following, "This Act comes into force on the day after its publication."
        if kind == 1:
            whole = date(month // 12, month % 12 + 1, 1)
            clause = "This Act comes into force on the first day of the second month after its publication."
        elif kind in (2, 3):
            whole = date(published.year + (1 if dice.chance(0.5) else 2), dice.pick((1, 4, 7)), 1)
            clause = f"This Act comes into force on {say(whole)}."
        count = dice.between(4, 8)
        lines = []
        for number in range(1, count + 1):
            step = self._step(act, number)
            step.at = whole
            if number > 1 and dice.chance(0.2) and (act, number) != COURT:
                step.at = whole + timedelta(days=dice.between(40, 700))
                clause += f" Number {number} comes into force on {say(step.at)}."
            self.steps[act, number] = step
            lines.append(f"{number}. {step.text()}")
            self.draft.apply(step, {})
        self.acts[act] = (published, clause)

    def _words(self, text: str) -> tuple[str, str]:
        """Words in a text, and others of their kind."""
        dice = self.dice
        found = [(group, word) for group in WORDS for word in group if re.search(rf"\b{re.escape(word)}\b", text)]
        group, old = dice.pick(found)
        return old, dice.pick([word for word in group if word != old])

    def _step(self, act: str, number: int) -> Step:
        dice, parts = self.dice, self.draft.parts
        names = [name for name, part in parts.items() if not part.is_repealed]
        # Often a section that an act has touched already: what is in force when decides.
        busy = [name for name in names if name in self.draft.changed]
        section = dice.pick(busy if busy and dice.chance(0.55) else names)
        part = parts[section]
        keys = [key for key, text in part.paragraphs.items() if text is not None]
        if (act, number) == COURT:  # a change that others build upon
            section = next(name for name in names if re.search(r"\btenant\b", parts[name].text(name)))
            key = next(k for k, text in parts[section].paragraphs.items() if text and re.search(r"\btenant\b", text))
            self.court_place = (section, key)
            return Step(act, number, "replace", section=section, paragraph=key, old="tenant", new="leaseholder")
        if act == "2022/6" and number == 1:
            section, key = self.court_place
            return Step(act, number, "replace", section=section, paragraph=key, old="leaseholder", new="plot holder")
        if act in ("2021/5", "2023/7") and number == 1:
            old, new = ("warden", "ranger") if act == "2021/5" else ("inspector", "garden adviser")
            return Step(act, number, "everywhere", old=old, new=new)
        later = [one for one in self.steps.values() if "new" in one.about and one.kind != "heading" and one.act != act]
        draw = dice.below(100)
        if draw < 14 and later:
            other = dice.pick(later[-40:])
            found = [word for group in WORDS for word in group if re.search(rf"\b{word}\b", other.about["new"])]
            if found:
                old, new = self._words(other.about["new"])
                return Step(act, number, "amend", of=other.act, item=f"{other.number}", old=old, new=new)
        if draw < 19 and later:
            other = dice.pick(later[-30:])
            return Step(act, number, "undo", of=other.act, item=f"{other.number}")
        if draw < 22 or not keys:
            return Step(act, number, "repeal", section=section)
        key = dice.pick(keys)
        if draw < 29:
            return Step(act, number, "repeal", section=section, paragraph=key)
        if draw < 40:
            return Step(act, number, "wording", section=section, paragraph=key, new=self._sentence())
        if draw < 54:
            name = f"{key}a" if key.isdigit() else f"{key[:-1]}{chr(ord(key[-1]) + 1)}"
            return Step(act, number, "insert", section=section, paragraph=key, name=name, new=self._sentence())
        if draw < 60:
            name = f"{section}a" if section.isdigit() else f"{section[:-1]}{chr(ord(section[-1]) + 1)}"
            head = f"{dice.pick(HEADS)} {dice.pick(THINGS)}"
            return Step(act, number, "section", section=section, name=name, head=head, new=self._sentence())
        if draw < 66:
            return Step(act, number, "heading", section=section, new=f"{dice.pick(HEADS)} {dice.pick(THINGS)}")
        text = part.paragraphs[key] or ""
        if dice.chance(0.06):
            text = self._sentence()
        old, new = self._words(text)
        return Step(act, number, "replace", section=section, paragraph=key, old=old, new=new)

    def _add_notices(self) -> None:
        dice = self.dice
        free = [place for place, one in self.steps.items() if place != COURT and place[0] not in ("2022/6", LATE_ACT)]
        for act, number in dice.sample([place for place in free if self.steps[place].kind == "replace"], 8):
            one = self.steps[act, number].about
            group = next(group for group in WORDS if one["new"] in group)
            right = dice.pick([word for word in group if word not in (one["old"], one["new"])])
            self.notices.append(
                (
                    "Correction",
                    f'In number {number} of Act {act}, the words "{one["new"]}" were a misprint; they are read as "{right}".',
                )
            )
            self.printed[act, number] = self.steps[act, number].text()
            one["new"] = right
        for act, number in dice.sample([place for place in free if place not in self.printed], 12):
            at = self.steps[act, number].at
            if dice.chance(0.4):
                self.cancelled.add((act, number))
                text = f"Number {number} of Act {act} is annulled from the beginning."
            else:
                day = at + timedelta(days=dice.pick((-60, -20, 0, 15, 90)))
                self.cancelled_from[act, number] = day
                text = f"Number {number} of Act {act} is annulled with effect from {say(day)}."
            self.notices.append(("Judgment", text))
        self.notices = dice.shuffled(self.notices)

    def on(self, day: date, *, cancelled: frozenset = frozenset(), late: date | None = None) -> tuple[Order, list]:
        """The Order on a day, and which instructions could not be carried out until then."""
        order = Order(self.base)
        steps = {}
        for place, one in self.steps.items():
            copy = Step(one.act, one.number, one.kind, **one.about)
            copy.at = late if late and one.act == LATE_ACT else one.at
            if place in self.cancelled | cancelled or copy.at >= self.cancelled_from.get(place, date.max):
                order.gone.add(place)
            steps[place] = copy
        void = []
        for one in sorted(steps.values(), key=lambda step: step.place):
            if one.at <= day and (one.act, one.number) not in order.gone and not order.apply(one, steps):
                void.append((one.act, one.number))
        return order, void


def say(day: date) -> str:
    months = "January February March April May June July August September October November December".split()
    return f"{day.day} {months[day.month - 1]} {day.year}"


def files(seed: int = SEED) -> dict[str, bytes]:
    book = Book(seed)
    made = {f"order/{name}.txt": Part(head, dict(parts)).text(name) for name, (head, parts) in book.base.items()}
    for act, (published, clause) in book.acts.items():
        lines = [f"Act {act} amending the Garden Order", f"Published on {say(published)}", ""]
        steps = [one for (name, _), one in book.steps.items() if name == act]
        lines += [f"{one.number}. {book.printed.get((act, one.number), one.text())}" for one in steps]
        made[f"acts/{act.replace('/', '-')}.txt"] = "\n".join([*lines, "", clause]) + "\n"
    for number, (kind, text) in enumerate(book.notices, 1):
        made[f"notices/{number:02d}.txt"] = f"{kind}\n\n{text}\n"
    return {f"garden_order/{name}": text.encode() for name, text in made.items()}


def digest(text: str) -> str:
    return sha256(re.sub(r"\s+", " ", text).strip().encode()).hexdigest()[:8]


def expected(seed: int = SEED) -> dict:
    book = Book(seed)
    first, _ = book.on(DAY)
    final, void = book.on(DAY, cancelled=frozenset({COURT}), late=POSTPONED)
    earlier, _ = book.on(EARLIER, cancelled=frozenset({COURT}), late=POSTPONED)
    given = {name: Part(head, dict(parts)).text(name) for name, (head, parts) in book.base.items()}

    def kind(name: str) -> str:
        part = final.parts[name]
        text = part.text(name)
        if name not in first.parts or text != first.parts[name].text(name):
            return "late"
        if part.is_repealed:
            return "repealed"
        if name not in given:
            return "new"
        return "same" if text == given[name] else "often" if len(final.changed[name]) > 3 else "changed"

    return {
        "now": {name: [digest(part.text(name)), kind(name)] for name, part in final.parts.items()},
        "late_gone": sorted(set(first.parts) - set(final.parts)),
        "then": {
            name: [digest(part.text(name)), int(given.get(name) != part.text(name))]
            for name, part in earlier.parts.items()
        },
        "void": [f"{act} {number}" for act, number in void],
        "history": {name: sorted(acts) for name, acts in final.changed.items()},
        "given": {name: digest(text) for name, text in given.items()},
    }
