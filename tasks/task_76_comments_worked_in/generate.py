"""An application for swimming lessons, and what five colleagues have commented on its draft."""

import re
from datetime import date, datetime, timedelta

from craft.dice import Dice

SEED = 20260305
POOLS = ("Alder", "Birchfield", "Castle Lane", "Dyke Road", "Elmwood", "Ferry Meadow", "Granary", "Hollow Brook")
TOWNS = ("Arnsby", "Bellford", "Corran", "Dunmere", "Eastley", "Fallow Bridge")
RULES = """# How we settle comments

- Petra decides about money, Samir about the lessons and who takes part in them, Ruth about wording. On their own subject, what they say
  holds against everybody else, whoever wrote last. On anything else, the later comment holds.
- What its author takes back in a reply doesn't count. Other replies don't change a comment.
- If a fact changes, it changes wherever the application states it, and so does whatever is worked out from it. What is said about other
  years or other things stays.
- Quotations stay as they are, word for word, whatever a comment says about the rest.
- The Heron Fund reads no summary (section 1, without its heading) of more than LIMIT words. We don't cut something to make room for
  something else.
- These sentences are agreed with the city, and nobody changes them, not even a word. If a comment is about other places as well, it is
  followed there and counts as done:

"""
# Section, a sentence, what it says now, what somebody would like it to say, and who that is.
PHRASES = (
    (2, "Our office is open {}.", "on Tuesday mornings", "on Tuesday and Friday mornings", "Jana"),
    (2, "Since then we have run {}.", "a kiosk and two summer fairs", "a kiosk, two summer fairs and a library", "Malte"),
    (3, "To the next pool it takes {} by bus.", "forty minutes", "almost an hour", "Jana"),
    (3, "In two of the five schools, {}.", "nobody teaches swimming", "swimming is no longer taught", "Ruth"),
    (3, "Parents tell us that private courses are {}.", "too dear", "beyond what they can pay", "Ruth"),
    (4, "In the water, each child wears {}.", "a yellow cap", "a cap in the colour of its group", "Samir"),
    (4, "If it thunders, the lesson is {}.", "cancelled", "made up for on the next Saturday", "Samir"),
    (5, "Children come {}.", "by themselves or with their parents", "with a parent or by our walking bus", "Samir"),
    (5, "A family can apply {}.", "on a form at the desk", "at the desk or by telephone", "Jana"),
    (6, "The sports club lends us {}.", "its floats", "its floats and a set of diving rings", "Malte"),
    (6, "The school in Mill Street prints {}.", "our leaflets", "our leaflets in four languages", "Jana"),
    (8, "In autumn we shall {}.", "write to all the parents", "ask all the parents what should be better", "Ruth"),
    (8, "What we learn is {}.", "put on our website", "shared with the other pools of the county", "Malte"),
)  # fmt: skip
AGREED = (
    (6, "The city lets us use the pool {} a year free of charge, as long as there is a lifeguard.", ("forty days", "thirty days"), "thirty-five days", "Malte"),
    (6, "Water and heating are {}, and any damage is ours to repair.", ("paid by the city", "borne by the city"), "paid for by the city", "Ruth"),
    (4, "Keys are handed out to {} only.", ("volunteers and teachers", "teachers and volunteers"), "", ""),
)  # fmt: skip
NEEDLESS = (
    (2, "Some of us have known each other since kindergarten.", "Ruth"),
    (3, "It is a shame that nothing has been done for so long.", "Jana"),
    (4, "We might add evening courses for adults at some point.", "Samir"),
    (5, "Of course everybody likes to splash about.", "Ruth"),
    (6, "The fire brigade may help as well, if it has the time.", "Malte"),
    (8, "Perhaps the mayor will come and hand out the badges.", "Jana"),
)
ADDED = (
    (2, "We are a registered charity.", "Our accounts are examined each spring by two members.", "Petra"),
    (3, "Swimming is learned best before one is ten.", "After that, fear grows with every year.", "Samir"),
    (4, "Every lesson takes fifty minutes.", "Ten of them are for games.", "Samir"),
    (5, "Nobody is left out because of money.", "Whoever needs a swimsuit gets one from us.", "Jana"),
    (6, "We meet the city's sports office twice a year.", "The minutes are public.", "Malte"),
    (8, "The floats and boards stay with the pool.", "Other groups can borrow them.", "Jana"),
)
PLAIN = (
    (2, "Most of our members live within walking distance."), (2, "The oldest of us learned to swim here."),
    (2, "Every month, volunteers clean the changing rooms."), (3, "The river has strong currents and no lifeguards."),
    (3, "Twice last summer, a child had to be pulled out of it."), (3, "The waiting lists of other pools are closed."),
    (4, "Volunteers help in the changing rooms and at the edge of the pool."), (4, "A lifeguard is there all the time."),
    (4, "The last lesson of each month is open to parents."), (4, "Each volunteer has a certificate in first aid."),
    (5, "Brothers and sisters may be in the same group."), (5, "We ask for no fee."),
    (5, "Volunteers speak Arabic, Polish and Turkish."), (6, "The library shows our films."),
    (6, "A dentist in the high street pays for the badges."), (6, "New volunteers come to us through the job centre."),
    (8, "Two volunteers will be trained as teachers."), (8, "We hope to go on every year."),
    (8, "Our experience helps the villages around us as well."),
)  # fmt: skip
TITLES = (
    "Summary", "Who we are", "What is missing", "What we plan", "Who takes part", "With whom we work", "What it costs", "What remains",
)  # fmt: skip
LONG = (
    "Learning to swim gives children confidence for their whole lives, brings families from all parts of the town together at the edge of "
    "the water, and makes a place that we all love a little safer for everyone."
)


def day_words(day: date) -> str:
    return f"{day.day} {day:%B}"


def euros(sum_: int) -> str:
    return f"EUR {sum_:,}"


class Draft:
    """The draft, the comments on it, and the text as it should be: `now` maps sentences of the draft to what replaces them."""

    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        self.town, self.pool = dice.pick(TOWNS), dice.pick(POOLS)
        self.body: dict[int, list[str]] = {number: [] for number in range(1, 9)}  # sentences
        self.now: dict[str, list[str]] = {}
        self.spots: dict[str, list[dict]] = {}  # of a comment, by its key
        self.texts: dict[str, tuple[str, str]] = {}  # who, and what they say
        self.wrong: dict[str, str] = {}  # why a comment isn't followed
        self.replies: list[tuple[str, str, str]] = []
        self.before: list[tuple[str, str]] = []
        self._facts()
        self._phrases()
        self._sentences()
        self._order()

    def say(self, key: str, who: str, text: str, wrong: str = "") -> None:
        self.texts[key] = who, text
        if wrong:
            self.wrong[key] = wrong

    def put(self, section: int, old: str, new: str | None = None, key: str = "") -> None:
        """Put a sentence into the draft; `new` is what a comment makes of it."""
        self.body[section].append(old)
        if new is not None and new != old:
            self.now[old] = [new]
            self.spots.setdefault(key, []).append({"gone": old, "there": new})

    def _facts(self) -> None:
        dice = self.dice
        groups = dice.pick((3, 4, 5))
        size = dice.between(9, 12)
        more = dice.between(1, 2)
        old, new = groups * size, groups * (size + more)
        self.say("children", "Samir", f"We have {new} children now, not {old}. The number of groups stays as it is.")
        teachers, rise, own = dice.between(60, 90) * 100, dice.between(5, 14) * 100, dice.between(20, 35) * 100
        hire, gear, course = dice.between(11, 19) * 100, dice.between(6, 11) * 100, dice.between(4, 8) * 50
        own += 100 * (own == hire + gear + course)  # or two sums would be alike
        total = teachers + hire + gear + course
        text = f"The teachers will cost {euros(teachers + rise)}, not {teachers:,}: the new wage agreement. What we pay ourselves stays as it is."
        self.say("teachers", "Petra", text)
        weeks, lessons = dice.between(2, 3), dice.between(15, 18)
        first = date(2026, 4, 13) + timedelta(7 * dice.below(2))
        last = first + timedelta(7 * (lessons - 1))
        days = [day_words(one + timedelta(7 * weeks)) for one in (first, last)]
        text = (
            f"The pool is being painted, so all the lessons are {weeks} weeks later. The first one is on {days[0]} now."
        )
        self.say("dates", "Samir", text)
        self.say(
            "term",
            "Ruth",
            "We say “pool helpers” now, not “volunteers”. Please change that everywhere, also where it's only one of them.",
        )

        def children(section: int, text: str) -> None:
            self.put(section, text.format(old, size), text.format(new, size + more), "children")

        def money(section: int, text: str) -> None:
            sums = [(t, t + total - teachers, t + total - teachers - own) for t in (teachers, teachers + rise)]
            before, after = ([euros(one) for one in some] for some in sums)
            self.put(section, text.format(*before), text.format(*after), "teachers")

        def dates(section: int, text: str) -> None:
            self.put(section, text.format(day_words(first), day_words(last)), text.format(*days), "dates")

        self.put(1, f"In {self.town}, every third child leaves primary school without being able to swim.")
        children(1, "This summer we want to teach {} of them, free of charge.")
        dates(1, "The lessons run from {} to {} 2026.")
        money(1, "We ask the Heron Fund for {2}.")
        self.put(2, f"We are the Friends of the {self.pool} Pool.")
        self.put(2, "We are a registered charity.")
        self.put(2, f"The pool was built {old} years ago.")
        children(4, "The {} children learn in " + str(groups) + " groups of {}.")
        dates(4, "The first lesson is on Monday, {}.")
        dates(4, "After " + str(lessons) + " lessons, the last one is on Monday, {1}.")
        children(5, "All {} live in our town.")
        self.put(
            6,
            f"In November the city wrote to us: “We are glad that {old} children will learn to swim, and we thank the volunteers.”",
        )
        self.put(7, "By far the largest part is for the teachers.")
        money(7, "| Teachers | {0} |")
        self.put(7, f"| Hire of two changing tents | {euros(hire)} |")
        self.put(7, f"| Floats, boards and caps | {euros(gear)} |")
        self.put(7, f"| First aid for volunteers | {euros(course)} |")
        money(7, "| Total | {1} |")
        self.put(7, f"In 2025, our teachers cost {euros(teachers)}.")
        money(7, "All in all we need {1}.")
        money(7, "We pay " + euros(own) + " ourselves and ask for {2}.")
        dates(8, "When the lessons have ended on {1}, every child gets a badge.")
        children(8, "If all {} can swim then, next year's lessons will be for others.")

    def _phrases(self) -> None:
        dice = self.dice
        asked = [self._asking(old, new) for _, _, old, new, _ in PHRASES]
        order = dice.shuffled(range(len(PHRASES)))
        for place, which in enumerate(order):
            section, text, old, new, who = PHRASES[which]
            key, before, after = f"phrase{place}", text.format(old), text.format(new)
            if place < 5:
                self.put(section, before, after, key)
                self.say(key, who, asked[which])
            elif place < 7:  # taken back
                self.put(section, before)
                self.say(key, who, asked[which], f"back{place}")
                back = dice.pick(("Sorry, forget this, it's right as it is.", "I was wrong here, please leave it."))
                self.replies.append((f"back{place}", key, back))
            elif place < 9:  # it says so already
                self.put(section, after)
                self.say(key, who, asked[which])
                self.spots[key] = []
            elif place == 9:  # somebody has taken it out since
                self.say(key, who, asked[which], "missing")
            else:
                self.put(section, before)
        self.replies.append(("not_theirs", "term", "I like “volunteers”, please leave it."))
        self.agreed = []
        for which, (section, text, old, new, who) in enumerate(AGREED):
            words = dice.pick(old)
            self.agreed.append(text.format(words))
            self.put(section, self.agreed[-1])
            if new:
                self.say(f"agreed{which}", who, self._asking(words, new), "rules.md")
        # Two comments on the same words: once the one who decides about it wrote first, once it's nobody's subject.
        age = dice.between(5, 7)
        text = "Everybody from {} years of age may take part."
        self.put(5, text.format(age), text.format(age + 1), "age")
        self.say(
            "age",
            "Samir",
            f"“from {age} years” has to be “from {age + 1} years”, the water is too deep for the smaller ones.",
        )
        self.say(
            "age_other",
            "Malte",
            f"“from {age} years”: can we say “from {age - 1} years”? It sounds more generous.",
            "age",
        )
        day, *others = dice.shuffled(("a Friday", "a Saturday", "a Sunday"))
        text = "We finish with a party on {} in autumn."
        self.put(8, text.format(day), text.format(others[1]), "party")
        self.say("party_other", "Jana", f"The party: please write “{others[0]}” instead of “{day}”.", "party")
        self.say("party", "Malte", f"The party: please write “{others[1]}” instead of “{day}”.")
        self.before += [("age", "age_other"), ("party_other", "party")]

    def _asking(self, old: str, new: str) -> str:
        return self.dice.pick((
            f"Please write “{new}” instead of “{old}”.", f"“{old}” should be “{new}”.", f"Instead of “{old}” I'd like “{new}”.",
        ))  # fmt: skip

    def _sentences(self) -> None:
        dice = self.dice
        names = dice.between(14, 60)
        for key, text, known in (
            ("waiting", "There are [how many?] names on our own waiting list.", f"{names}"),
            ("visitors", "In 2025, [how many?] people came to our open day.", ""),
        ):
            self.put(5 if known else 2, text, text.replace("[how many?]", known) if known else None, key)
            self.say(key, "Jana", f"Can you fill in the number here? “{text}”", "" if known else "missing")
        # The number comes by the way, in a reply about something else.
        self.replies.append(
            (
                "number",
                "age_other",
                f"No, it's as I wrote. By the way, there are {names} names on our waiting list today.",
            )
        )
        for place, (section, text, who) in enumerate(dice.shuffled(NEEDLESS)):
            self.body[section].append(text)
            if place < 3:
                self.now[text] = []
                self.spots[f"out{place}"] = [{"gone": text}]
                self.say(f"out{place}", who, f"Please take this sentence out: “{text}”")
        for place, (section, anchor, text, who) in enumerate(dice.shuffled(ADDED)):
            if anchor not in self.body[section]:
                self.body[section].append(anchor)
            if place < 3:
                self.now[anchor] = [anchor, text]
                self.spots[f"in{place}"] = [{"there": text, "after": anchor}]
                self.say(f"in{place}", who, f"After “{anchor}” please add: “{text}”")
        for section, text in PLAIN:
            new = re.sub(r"\bvolunteer(s?)\b", r"pool helper\1", text)
            self.put(section, text, new.replace("Volunteers", "Pool helpers"), "term")
        course = next(one for one in self.body[7] if "First aid" in one)
        self.now[course] = [course.replace("volunteers", "pool helpers")]
        self.spots["term"].append({"gone": course, "there": self.now[course][0]})
        self.say(
            "long", dice.pick(("Malte", "Jana")), f"Please add this at the end of the summary: “{LONG}”", "rules.md"
        )
        # A paragraph that belongs elsewhere; no other comment is about it.
        month = dice.pick(("May", "June", "July", "September"))
        lines = [
            f"Two lifeguards of the county came to see us last {month}.",
            "They told us what they would change.",
            "We have done most of it.",
        ]
        self.moved = lines
        self.to = dice.pick((4, 6))
        self.say(
            "move",
            dice.pick(("Ruth", "Jana")),
            f"The paragraph that begins with “{lines[0]}” belongs at the end of section {self.to}.",
        )

    def _order(self) -> None:
        """Put the paragraphs and the comments in their order, and work out the text as it should be."""
        dice = self.dice
        self.paragraphs: dict[int, list[list[str]]] = {}
        for section, sentences in self.body.items():
            ordered = sentences
            if section not in (1, 7):
                first, *rest = sentences
                ordered = [first, *dice.shuffled(rest)]
            size = 5 if section in (1, 7) else dice.between(4, 5)
            self.paragraphs[section] = [ordered[at : at + size] for at in range(0, len(ordered), size)]
        rows = [one for one in self.body[7] if one.startswith("|")]
        text = [one for one in self.body[7] if one not in rows]
        self.paragraphs[7] = [text[:1], rows, text[1:]]
        home = dice.pick((2, 3))
        self.paragraphs[home].insert(1, self.moved)
        self.text = self.write(self.paragraphs)
        after = {
            number: [
                [new for old in some for new in self.now.get(old, [old])] for some in paragraphs if some != self.moved
            ]
            for number, paragraphs in self.paragraphs.items()
        }
        after = {number: [some for some in paragraphs if some] for number, paragraphs in after.items()}
        end = after[self.to][-1][-1]
        after[self.to].append(self.moved)
        self.final = self.write(after)
        self.spots["move"] = [{"there": " ".join(self.moved), "after": end}]
        keys = dice.shuffled(list(self.texts))
        for early, late in self.before:
            one, two = sorted((keys.index(early), keys.index(late)))
            keys[one], keys[two] = early, late
        self.ids = {key: f"c{place:02d}" for place, key in enumerate([*keys, *(one for one, _, _ in self.replies)], 1)}
        self.keys = keys
        summary = sum(len(one.split()) for some in self.paragraphs[1] for one in some)
        self.limit = summary + dice.between(5, 12)

    def write(self, paragraphs: dict[int, list[list[str]]]) -> str:
        out = [f"# Learning to swim at the {self.pool} Pool", "Application to the Heron Fund, March 2026."]
        for number, title in enumerate(TITLES, 1):
            out.append(f"## {number} {title}")
            for some in paragraphs[number]:
                is_table = some and some[0].startswith("|")
                out.append("\n".join(("| What | Costs |", "|---|---|", *some)) if is_table else " ".join(some))
        return "\n\n".join(one for one in out if one) + "\n"

    def comments(self) -> str:
        when = datetime(2026, 3, 2, 8, 40)
        rows = ["comment,when,who,reply_to,text"]
        said = [(key, *self.texts[key], "") for key in self.keys]
        for key, about, text in self.replies:
            who = {"not_theirs": "Malte", "number": "Samir"}.get(key) or self.texts[about][0]
            said.append((key, who, text, self.ids[about]))
        for key, who, text, about in said:
            when += timedelta(minutes=self.dice.between(3, 40))
            when += timedelta(hours=15 * (when.hour > 17))
            rows.append(f'{self.ids[key]},{when:%Y-%m-%d %H:%M},{who},{about},"{text}"')
        return "\n".join(rows) + "\n"


def files(seed: int = SEED) -> dict[str, bytes]:
    draft = Draft(seed)
    rules = RULES.replace("LIMIT", f"{draft.limit}") + "".join(f"  > {one}\n" for one in draft.agreed)
    return {
        "application.md": draft.text.encode(),
        "comments.csv": draft.comments().encode(),
        "rules.md": rules.encode(),
    }


def expected(seed: int = SEED) -> dict[str, object]:
    """The draft and the text as it should be, and for each comment what it changes or what stands in its way."""
    draft = Draft(seed)
    comments = {
        draft.ids[key]: {
            "because": draft.ids.get(draft.wrong.get(key, ""), draft.wrong.get(key, "")),
            "spots": draft.spots.get(key, []) if key not in draft.wrong else [],
        }
        for key in draft.keys
    }
    return {"draft": draft.text, "final": draft.final, "comments": comments}
