"""A year of a group's chat in which what was paid for whom, and paid back, is said in passing."""

import gzip
import io
import tarfile
from collections import Counter
from datetime import datetime, timedelta

from craft.dice import Dice

SEED = 20251231
NAMES = ("Ada", "Bo", "Finn", "Ines", "Jo", "Kim", "Lena", "Mia", "Olga", "Piet", "Ravi", "Sven", "Tarek")
SMALL_TALK = 4200
# What is bought for the hut; each is bought by one person, and those of CONSUMED again and again.
THINGS = (
    "the gas bottles", "the new kettle", "the paint for the jetty", "the rope", "the lamp oil", "the mattress", "the pump", "the axe",
    "the shutters", "the life jackets", "the stove pipe", "the curtains", "the garden chairs", "the first-aid box", "the canoe paddles",
    "the water filter", "the lock for the shed", "the stove glass", "the ladder", "the cooler", "the saw blades", "the tarpaulin",
    "the fishing permits", "the gravel for the path", "the mosquito nets", "the big pan", "the battery", "the smoke alarms",
    "the deckchairs", "the bread knife", "the ash bucket", "the flag", "the dinghy cover", "the wheelbarrow", "the roof felt", "the bunk slats",
    "the lantern", "the oars", "the sledge", "the thermometer", "the hammock", "the coal scuttle", "the doormat", "the draughts board",
    "the coat hooks",
)  # fmt: skip
CONSUMED = ("firewood", "drinking water", "a sack of charcoal", "coffee for the hut", "dog food")
EVENTS = (
    "ferry trip", "opera evening", "sauna weekend", "cider tasting", "lighthouse tour", "cheese course", "regatta", "jazz night",
    "mushroom walk", "escape room", "ice rink", "planetarium",
)  # fmt: skip
SHOPS = ("Brandt's", "the chandler", "the depot by the bridge", "Hansen's", "the market")
EXCUSES = (
    "I'm on call that day", "the kids have chickenpox", "my mother is visiting", "I'll be in Graz", "my back is bad again",
    "we've got the builders in", "it's my night shift", "I've sprained my ankle",
)  # fmt: skip
# Small talk: each line is made of slots, so that hardly any is said twice.
TALK = (
    "Has anybody seen {thing}?", "{name}, where did you put {thing}?", "{thing} could do with a clean.", "We should really look after {thing}.",
    "Who was the last one at the hut? The {part} was open.", "The {part} is stuck again.", "I've oiled the {part}.", "{name}, did you lock the {part}?",
    "The lake is like {like} today.", "Rain since {hour}. The dog refuses to go out.", "Can't wait for {month}.",
    "Coming up on {day}, leaving at {hour}.", "I'll be there by {hour} on {day} if the train runs.", "Can somebody pick me up at {hour}?",
    "{name}, you snore. Ask {other}.", "Best soup ever yesterday, {name}.", "{other} has burnt the pancakes. Again.", "Who ate my {food}?",
    "There are {small} eggs left and no {food}.", "I dreamt that {thing} had legs.", "My neighbour wants to sell me {thing} for {euros} euros, as if.",
    "I'd pay {euros} euros never to hear that song again.", "{euros} euros for a parking ticket. I could scream.", "Saw {thing} at {shop} for {euros}. Madness.",
    "My sister paid {euros} for {thing}, can you believe it?", "When we win the lottery, I'll buy each of you {thing}.", "{small} herons on the jetty this morning!",
    "The owl is back, {small} nights in a row.", "Got {small} ticks off the dog.", "{name}, your jacket is still here, the one with the {part} key in it.",
    "Happy birthday, {name}!", "Thanks for the lift, {name}.", "{name}, call me when you're up.", "I have {small} days off in {month}!",
    "Does {day} suit anybody else?", "{day} is fine with me.", "Not {day}, please. {day2}?", "Has the {part} key turned up?",
    "It's me who left the {part} open, sorry.", "Lost at cards to {name} once more, {small} to nothing.", "{other} and {name} are still out in the boat.",
    "Bring {food}, I've forgotten it.", "I'll bring {food} on {day}.", "The mice have been at the {food}.", "The ranger asks us to keep off the north path till {month}.",
    "We owe the ranger a bottle, he pulled {other} out of the mud.", "Boat's half full of water, {small} buckets so far.", "I've got the trick with the {part} now.", "The post came at {hour}, only adverts.",
    "Count me out of any more night swims.", "I'm in bed with a cold, don't wait for me.", "{name}, who pays for all this tea? Joking.", "Next year we do it properly: a list!",
    "Photo of the {part} before and after, judge for yourselves.", "The {part} makes that noise again at {hour}, every night.", "Has {other} told you about the bat?",
    "I've found {small} of the {large} missing spoons.", "{large} steps down to the water, I counted.", "My phone fell in the lake at {hour}. This is {other}'s old one.",
    "The forecast for {day} isn't good.", "{name} was right about the {part}, I was wrong, mark the date.", "Who's got the key on {day}?", "I have. Why?",
    "Two of us are enough for the {part}, {name} and I.", "Nothing beats {food} at {hour}.", "If anybody is near {shop}, we need {food}.", "I'm near {shop}, what else?",
    "Nobody needs {thing} more than {other}.", "{food} with {food2}, {name}'s idea, don't ask.", "The train was {large} minutes late, {day} as usual.",
)  # fmt: skip
SLOTS = {
    "part": ("door", "shed", "boathouse", "window", "cellar", "gate", "attic", "stove"),
    "like": ("glass", "lead", "soup", "a mirror"),
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "day2": ("the weekend after", "the Friday before", "some day in the holidays"),
    "month": ("March", "May", "June", "August", "October"),
    "food": ("bread", "cheese", "marmalade", "milk", "onions", "chocolate", "rice", "salt"),
    "food2": ("mustard", "jam", "herring", "pickles"),
}


def spelt(number: int) -> str:
    """A number below 100 in words."""
    small = (
        "no one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen"
    ).split()
    tens = "twenty thirty forty fifty sixty seventy eighty ninety".split()
    if number < 20:
        return small[number]
    return tens[number // 10 - 2] + (f"-{small[number % 10]}" if number % 10 else "")


def listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def capital(text: str) -> str:
    return text[0].upper() + text[1:]


class Chat:
    """The messages, and what they come to: expenses, payments and amounts that nobody has ever named.

    Each entry of these has the messages that show it; a message is a list of its time, its writer and its text, which gets a number in the end.
    """

    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        self.people = dice.sample(NAMES, 8)
        self.messages: list[list] = []
        self.expenses: list[dict] = []
        self.payments: list[dict] = []
        self.unclear: list[list] = []
        self.things = dice.shuffled(THINGS)
        self.events = dice.shuffled(EVENTS)
        self.consumed = dice.shuffled(CONSUMED)
        self._groups()
        # How often each kind comes up, and how many days it can take until all is said.
        kinds = (
            (self._plain, 5, 0), (self._event, 5, 9), (self._corrected, 4, 40), (self._half_back, 2, 50), (self._again, 3, 0),
            (self._card, 2, 0), (self._group, 4, 0), (self._in_words, 3, 0), (self._shared, 2, 0), (self._voucher, 2, 0),
            (self._late, 3, 33), (self._returned, 2, 30), (self._treat, 2, 0), (self._plan, 2, 3), (self._unknown, 3, 41),
        )  # fmt: skip
        for make, days in dice.shuffled([(make, days) for make, count, days in kinds for _ in range(count)]):
            make(datetime(2025, 1, 20) + timedelta(minutes=dice.below(60 * 24 * (340 - days))))
        early = [one for one in self.expenses if one["at"] < datetime(2025, 11, 5) and len(one["for"]) > 2]
        for base in dice.sample([one for one in early if one["thing"] and len(one["for"]) < 7], 4):
            self._like(base)
        for place, expense in enumerate(dice.sample(early, 16)):
            self._paid_back(place % 8, expense)
        for _ in range(SMALL_TALK):
            when = datetime(2025, 1, 3) + timedelta(minutes=dice.below(60 * 24 * 361))
            who = dice.pick(self.people)
            self.say(when, who, " ".join(self._talk(who) for _ in range(1 + dice.below(2))))
        self.messages.sort(key=lambda one: one[0])
        self.numbers = {id(one): f"#{place:04d}" for place, one in enumerate(self.messages, 1)}

    def say(self, when: datetime, who: str, text: str) -> list:
        minute = 7 * 60 + (when.hour * 60 + when.minute) * 2 // 3  # nobody writes at night
        when = when.replace(hour=minute // 60, minute=minute % 60)
        self.messages.append([when, who, text])
        return self.messages[-1]

    def after(self, when: datetime, low: int, high: int) -> datetime:
        """A time so many days later, or minutes later if both are 0."""
        return when + (
            timedelta(days=self.dice.between(low, high)) if high else timedelta(minutes=self.dice.between(5, 300))
        )

    def expense(self, payer: str, amount: int, names: list[str], shown: list[list], thing: str = "") -> None:
        """Add what was paid; `thing` is what it was for if a later message can mean it by that name."""
        one = {
            "paid_by": payer,
            "amount": amount,
            "for": sorted(names),
            "shown": shown,
            "at": shown[-1][0],
            "thing": thing,
        }
        self.expenses.append(one)

    def some(self, count: int, *without: str) -> list[str]:
        return self.dice.sample([one for one in self.people if one not in without], count)

    def price(self, heads: int) -> int:
        return heads * self.dice.between(3, 14)

    def _talk(self, who: str) -> str:
        dice = self.dice
        name, other = self.some(2, who)
        more = {
            "thing": dice.pick(THINGS), "name": name, "other": other, "shop": dice.pick(SHOPS), "euros": dice.between(12, 190), "small": dice.between(2, 9), "large": dice.between(11, 60),
            "hour": f"{dice.between(5, 23)}:{dice.pick(('05', '10', '20', '30', '45'))}",
        }  # fmt: skip
        return capital(dice.pick(TALK).format(**more, **{slot: dice.pick(values) for slot, values in SLOTS.items()}))

    def _groups(self) -> None:
        """Two names for some of them that come up in January and are used from then on."""
        first, second, *three = self.some(5)
        self.groups = {"the twins": [first, second], "the night shift": three}
        when = datetime(2025, 1, 8, 10) + timedelta(days=self.dice.below(5))
        self.group_words = [
            self.say(when, self.some(1, first, second)[0], f"{first} and {second} turned up in the same jumper. They are the twins from now on."),
            self.say(when + timedelta(days=3), three[0], f"{three[1]}, {three[2]} and I have sat up with the frozen pump till five. Bow to the night shift!"),
        ]  # fmt: skip

    def _plain(self, when: datetime) -> None:
        payer, *others = self.some(self.dice.between(3, 5))
        thing, amount = self.things.pop(), self.price(len(others) + 1)
        text = self.dice.pick((
            "{thing} came to {amount}, that's for {others} and me.",
            "For {others} and me I've got {thing}. They wanted {amount} at {shop}.",
            "{others}, we have {thing} now. It took {amount} out of my pocket, a quarter of an hour's haggling included. Ours, not the hut's.",
        ))  # fmt: skip
        text = text.format(thing=thing, amount=amount, others=", ".join(others), shop=self.dice.pick(SHOPS))
        self.expense(payer, amount, [payer, *others], [self.say(when, payer, capital(text))], thing)

    def _event(self, when: datetime) -> None:
        payer, *others = self.some(7)
        event, dice = self.events.pop(), self.dice
        shown = [
            self.say(
                when,
                payer,
                f"Who's coming to the {event}? I'm going, and I'd book for everybody who says so this week.",
            )
        ]
        coming = others[:4]
        for name in coming:
            text = dice.pick(
                ("I'm in for the {}.", "The {}, yes please.", "Count me in for the {}!", "I wouldn't miss the {}.")
            ).format(event)
            shown.append(self.say(self.after(when, 0, 0), name, text))
        for name in others[4:]:
            text = dice.pick(
                ("Can't do the {}, {}.", "Not the {} for me, {}.", "I'd have loved the {}, but {}.")
            ).format(event, dice.pick(EXCUSES))
            shown.append(self.say(self.after(when, 0, 0), name, text))
        for name in coming[: dice.below(3)]:
            coming = [one for one in coming if one != name]
            shown.append(
                self.say(
                    self.after(when, 2, 4),
                    name,
                    dice.pick(
                        ("I have to pull out of the {} after all, {}.", "Don't count on me at the {}, {}.")
                    ).format(event, dice.pick(EXCUSES)),
                )
            )
        if dice.chance(0.5):
            late = others[4]
            coming.append(late)
            shown.append(
                self.say(self.after(when, 3, 5), late, f"About the {event}: I can come now, if it isn't too late.")
            )
        each = dice.between(6, 24)
        shown.append(
            self.say(
                self.after(when, 7, 9),
                payer,
                f"The {event} is booked for the {spelt(len(coming) + 1)} of us, {each} a head. See you at the door.",
            )
        )
        self.expense(payer, each * (len(coming) + 1), [payer, *coming], shown, f"the {event}")

    def _corrected(self, when: datetime) -> None:
        payer, thing = self.some(1)[0], self.things.pop()
        wrong, right = self.dice.sample([8 * one for one in range(3, 13)], 2)
        shown = [
            self.say(when, payer, f"I've paid {thing} for all of us, {wrong} altogether."),
            self.say(
                self.after(when, 6, 40),
                payer,
                self.dice.pick(
                    (
                        f"Looked at the slip for {thing} again, and it says {right}. I must have misread it.",
                        f"About {thing}: my bank says they took {right}, so that's what it was.",
                    )
                ),
            ),
        ]
        self.expense(payer, right, self.people, shown)

    def _half_back(self, when: datetime) -> None:
        payer, *others = self.some(4)
        thing, half = self.things.pop(), self.price(4)
        shop = self.dice.pick(SHOPS)
        shown = [
            self.say(when, payer, f"{capital(thing)}: {2 * half} at {shop}, for {', '.join(others)} and me."),
            self.say(
                self.after(when, 8, 50),
                payer,
                f"{capital(shop)} has given me half of the money for {thing} back, since there was some damage.",
            ),
        ]
        self.expense(payer, half, [payer, *others], shown, thing)

    def _again(self, when: datetime) -> None:
        first, second, third, *_ = names = self.some(4)
        what = self.consumed.pop()
        when = min(when, datetime(2025, 6, 1) + timedelta(days=self.dice.below(14)))
        amount, more = self.price(4), 4 * self.dice.between(1, 3)
        begin = self.say(
            when, first, f"Got {what}. {amount} for the usual four, that's {second}, {third}, {names[3]} and me."
        )
        self.expense(first, amount, names, [begin])
        when = self.after(when, 30, 60)
        again = self.say(
            when,
            first,
            self.dice.pick(
                (
                    f"{capital(what)} once more. Same price, same four.",
                    f"We were out of {what}, so I went again. Nothing has changed, price or people.",
                )
            ),
        )
        self.expense(first, amount, names, [again])
        when = self.after(when, 30, 60)
        last = self.say(
            when,
            second,
            f"This time it was me who got {what}. It's {more} more than it used to be, otherwise as always.",
        )
        self.expense(second, amount + more, names, [last])

    def _card(self, when: datetime) -> None:
        buyer, payer, out = self.some(3)
        thing, amount = self.things.pop(), self.price(7)
        text = f"I've picked up {thing}, {amount}, for everybody but {out}. It went on {payer}'s card, so it's {payer} who gets the money."
        names = [one for one in self.people if one != out]
        self.expense(payer, amount, names, [self.say(when, buyer, text)])

    def _group(self, when: datetime) -> None:
        group = self.dice.pick(sorted(self.groups))
        payer = self.some(1, *self.groups[group])[0]
        names = [*self.groups[group], payer]
        thing, amount = self.things.pop(), self.price(len(names))
        self.expense(
            payer,
            amount,
            names,
            [
                self.say(
                    when,
                    payer,
                    f"I've bought {thing} for {group} and me, since nobody else wanted any of it. {amount} it was.",
                )
            ],
        )

    def _in_words(self, when: datetime) -> None:
        payer, other = self.some(2)
        thing, amount = self.things.pop(), 2 * self.dice.between(11, 45)
        text = f"Paid {spelt(amount)} for {thing} just now. It's {other}'s and mine, half and half."
        self.expense(payer, amount, [payer, other], [self.say(when, payer, text)])

    def _shared(self, when: datetime) -> None:
        payer, other = self.some(2)
        thing, mine, theirs = self.things.pop(), 8 * self.dice.between(2, 4), 8 * self.dice.between(5, 7)
        text = f"{capital(thing)} came to {mine + theirs}. I had {mine} in my pocket, {other} put in the rest, all for all of us."
        shown = [self.say(when, payer, text)]
        self.expense(payer, mine, self.people, shown)
        self.expense(other, theirs, self.people, shown)

    def _voucher(self, when: datetime) -> None:
        payer, thing = self.some(1)[0], self.things.pop()
        paid, voucher = 8 * self.dice.between(4, 9), self.dice.between(10, 25)
        text = f"I've collected {thing} for us all. {paid + voucher} on the slip, but {voucher} of that was on the voucher that the hut won."
        self.expense(payer, paid, self.people, [self.say(when, payer, text)])

    def _late(self, when: datetime) -> None:
        payer, first, second, late = self.some(4)
        thing, amount = self.things.pop(), 12 * self.dice.between(2, 5)
        shown = [
            self.say(when, payer, f"I've had {thing} sent, {amount}, for {first}, {second} and me."),
            self.say(
                self.after(when, 3, 30),
                late,
                self.dice.pick(
                    (
                        f"I use {thing} as much as you do, put me down for a share too.",
                        f"It's only fair that I pay my part of {thing}, I'm always at it.",
                    )
                ),
            ),
        ]
        shown.append(self.say(self.after(when, 31, 33), payer, f"Fine with me, {late}, that makes four of us."))
        self.expense(payer, amount, [payer, first, second, late], shown, thing)

    def _like(self, base: dict) -> None:
        payer = self.dice.pick([one for one in base["for"] if one != base["paid_by"]])
        thing, amount = self.things.pop(), self.price(len(base["for"]))
        when = self.after(base["at"], 20, 45)
        text = f"{capital(thing)}: {amount}, on me for now. It's for the same people as {base['thing']} was."
        self.expense(payer, amount, base["for"], [self.say(when, payer, text)])

    def _returned(self, when: datetime) -> None:
        payer, thing = self.some(1)[0], self.things.pop()
        self.say(when, payer, f"I've paid {thing} for all of us, {self.price(8)} altogether.")
        self.say(
            self.after(when, 4, 30),
            payer,
            f"I've taken {thing} back, wrong size. They gave me everything, so forget that one.",
        )

    def _treat(self, when: datetime) -> None:
        payer, other = self.some(2)
        text = f"{capital(self.things.pop())} came to {self.price(8)}. That's my present to the hut, so nobody owes me anything. {other}, no buts."
        self.say(when, payer, text)

    def _plan(self, when: datetime) -> None:
        payer, other = self.some(2)
        thing = self.things.pop()
        self.say(when, payer, f"I'll get {thing} tomorrow for all of us, that should be about {self.price(8)}.")
        self.say(self.after(when, 1, 3), payer, f"Didn't need to buy {thing} in the end, {other} had it in the garage.")

    def _unknown(self, when: datetime) -> None:
        payer, other = self.some(2)
        thing = self.things.pop()
        shown = [
            self.say(when, payer, f"I've paid {thing} for all of us. The slip is in the car, I'll look what it was.")
        ]
        asked = self.after(when, 8, 40)
        shown.append(self.say(asked, other, f"{payer}, what did you pay for {thing} in the end?"))
        shown.append(self.say(self.after(asked, 0, 0), payer, f"{capital(thing)}? Still have to look, {other}."))
        self.unclear.append(shown)

    def _paid_back(self, kind: int, expense: dict) -> None:
        """What one of those whom something was for pays to the payer, if at all; `kind` is one of eight."""
        dice, payee = self.dice, expense["paid_by"]
        payer = dice.pick([one for one in expense["for"] if one != payee])
        amount = expense["amount"] // len(expense["for"])
        when = self.after(expense["at"], 3, 25)
        later = self.after(when, 1, 3)
        counts, paid = True, amount
        match kind:
            case 0 | 1:
                thanks = dice.pick(
                    ("It's on my account, {}.", "My bank says thank you, {}.", "{}, your transfer is here.")
                )
                shown = [
                    self.say(when, payer, f"{payee}, I've just sent you {amount}."),
                    self.say(later, payee, thanks.format(payer)),
                ]
            case 2:
                self.say(when, payer, f"{payee}, I've just sent you {amount}.")
                shown, counts = [self.say(later, payee, f"There's nothing from you yet, {payer}.")], False
            case 3:
                shown = [
                    self.say(when, payer, f"{payee}, I've just sent you {amount}."),
                    self.say(later, payee, f"There's nothing from you yet, {payer}."),
                    self.say(self.after(later, 6, 20), payee, f"{payer}, that money did turn up, {amount}."),
                ]
            case 4:
                text = dice.pick(
                    (
                        "{} gave me {} on the jetty, so I don't forget.",
                        "So that nobody asks {} again: I had {} in my letter box, in coins.",
                    )
                )
                shown = [self.say(when, payee, text.format(payer, amount))]
            case 5:
                shown = [
                    self.say(when, payer, f"I still owe you {amount}, {payee}, don't I?"),
                    self.say(
                        later,
                        payee,
                        dice.pick(
                            ("Forget about that, {}, you've driven us so often.", "You fed my cat, {}, so we're even.")
                        ).format(payer),
                    ),
                ]
            case 6:
                paid = amount + dice.between(1, 3) if dice.chance(0.5) else max(1, amount - 2)
                shown = [
                    self.say(when, payer, f"{payee}, I've just sent you {amount}."),
                    self.say(
                        later,
                        payee,
                        f"What came is {paid}, {payer}, not {amount}. Never mind, we'll settle up at the end.",
                    ),
                ]
            case _:
                friend = self.some(1, payer, payee)[0]
                shown = [
                    self.say(when, payer, f"{payee}, {friend} will bring you my {amount}."),
                    self.say(later, payee, f"{friend} has brought it, {payer}."),
                ]
        if counts:
            self.payments.append({"from": payer, "to": payee, "amount": paid, "shown": shown})

    def balances(self) -> dict[str, float]:
        """What each gets from the others, or owes them if it is below 0."""
        sums: Counter[str] = Counter(dict.fromkeys(self.people, 0))
        for one in self.expenses:
            sums[one["paid_by"]] += one["amount"]
            for name in one["for"]:
                sums[name] -= one["amount"] // len(one["for"])
        for one in self.payments:
            sums[one["from"]] += one["amount"]
            sums[one["to"]] -= one["amount"]
        return dict(sums)

    def archive(self) -> bytes:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for month in range(1, 13):
                lines = [
                    f"{self.numbers[id(one)]} {one[0]:%Y-%m-%d %H:%M} {one[1]}: {one[2]}\n"
                    for one in self.messages
                    if one[0].month == month
                ]
                data = "".join(lines).encode()
                info = tarfile.TarInfo(f"chat/2025-{month:02d}.txt")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        return gzip.compress(out.getvalue(), 9, mtime=0)


def files(seed: int = SEED) -> dict[str, bytes]:
    return {"chat.tar.gz": Chat(seed).archive()}


def expected(seed: int = SEED) -> dict[str, object]:
    """What was paid for whom and paid back, with the messages that show it, and what each is owed in the end."""
    chat = Chat(seed)

    def shown(messages: list[list]) -> list[str]:
        return [chat.numbers[id(one)] for one in messages]

    return {
        "expenses": [{key: one[key] for key in ("paid_by", "amount", "for")} | {"shown": shown(one["shown"])} for one in chat.expenses],
        "payments": [{key: one[key] for key in ("from", "to", "amount")} | {"shown": shown(one["shown"])} for one in chat.payments],
        "unclear": [shown(one) for one in chat.unclear],
        "balances": chat.balances(),
    }  # fmt: skip
