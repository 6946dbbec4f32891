"""A year of a shared house's chat, written by hand: who paid for whom is said in passing, and changes.

Each sentence of CHAT is there once. A form has other names, sums and times. What a message means for the tally stands
behind `||`, for `Tally`; the solution has the same notes, and finds the sums in the messages.
"""

import re
from collections import defaultdict
from datetime import datetime, timedelta
from fractions import Fraction

from craft.dice import Dice

SEED = 20260104
# Each column is one person, with as many names as there may be; the first row is that of CHAT.
NAMES = (
    ("Ana", "Bruno", "Carla", "Dirk", "Elif", "Femke", "Goran", "Hanna", "Ivo", "Jonas", "Katia", "Leo", "Mirjam"),
    ("Vera", "Tomek", "Lucia", "Sander", "Nadia", "Greta", "Milos", "Paula", "Emil", "Tobias", "Olga", "Rafael", "Selma"),
    ("Ines", "Pavel", "Renata", "Henrik", "Yasmin", "Lotte", "Zoran", "Helen", "Aron", "Simon", "Danuta", "Luis", "Judith"),
    ("Rita", "Marco", "Silvia", "Anton", "Leyla", "Maike", "Bojan", "Clara", "Oskar", "Felix", "Agata", "Hugo", "Noemi"),
)  # fmt: skip
GROUPS = {
    "all": (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), "attic": (0, 1, 4), "barn": (3, 6, 8, 10), "twins": (7, 9), "veg": (0, 2, 4, 7, 10),
    "coffee": (0, 1, 3, 8, 9, 10), "van": (3, 5, 6, 11), "film": (1, 4, 8, 9), "dog": (5, 11),
}  # fmt: skip
RULES = """# The tally of Alder Farm

We write what we pay into the chat, and at the end of the year somebody works out who gets what. This is what we have agreed.

1. On the 1st of January {all} live here. "The house", "everybody" and "all of us" are those who live here on the day of the message.
2. Rooms on that day: {attic} sleep in the attic, {barn} in the barn, the rest in the main house. {twins} are the twins.
3. Lists on that day. Vegetable box: {veg}. Coffee: {coffee}. Van: {van}. Film club: {film}. The dog, Rosa: {dog}.
   A list or a room is those who are on it when the message is written, until somebody says in the chat that they come or go. Someone who moves out
   is off all of them from that day on, and still pays for what was before.
4. What's paid for a list, a room or the house is shared equally by those in it, whoever paid. Someone who pays and isn't in it has no share.
   "For Max and me" is two shares, "for Max" is one. Where a message says how it's split, it's split like that. A guest is a share of whoever brings
   them, unless it's said otherwise. If somebody takes on another's share, they have both.
5. A price holds until there is another. If whoever paid corrects a sum, the corrected one holds. What comes back later makes the thing cheaper
   for those who shared it. If somebody is let in or out of something later, with nobody against it, they're in or out of all of it.
6. Only what one of us has paid for others counts. What somebody gives the rest of us as a treat or a present doesn't, but a present that several of us
   give together does, for those who give it. What we buy for ourselves, what we sell or swap among ourselves (boots, coins, a place in a tent), and
   what's just talk isn't for the tally.
7. Money that one of us gives another as their part of something counts once the one who gets it says that it's there, with the sum that's there. If they
   say the rest needn't be paid, it all counts as paid. What nobody has confirmed doesn't count, and we don't ask about it.
8. Some things can't be settled from the chat: the price was never said, nobody knows who paid, or two of us contradict each other and neither
   gives way to the end. Such a thing stays out of the sums altogether, for everybody, and we ask about it.
"""


def listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def spelt(number: int) -> str:
    """A number below 200 in words."""
    small = (
        "no one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen"
    ).split()
    tens = "twenty thirty forty fifty sixty seventy eighty ninety".split()
    if number >= 100:
        return "a hundred" + (f" and {spelt(number - 100)}" if number > 100 else "")
    return small[number] if number < 20 else tens[number // 10 - 2] + (f"-{small[number % 10]}" if number % 10 else "")


def written(amount: Fraction) -> str:
    return f"{float(amount):.2f}".removesuffix(".00")


class Tally:
    """What the notes behind the messages come to.

    An entry has what was paid, by whom, and the shares of those it was for; `shown` has the messages that are about it, with
    all others of the same exchange; the one that is going on begins at `first`.
    """

    def __init__(self) -> None:
        people = NAMES[0]
        self.groups = {name: [people[one] for one in places] for name, places in GROUPS.items()}
        self.first = 0
        self.sums: dict[str, Fraction] = {}
        self.entries: dict[str, dict] = {}
        self.shown: dict[str, list[int]] = defaultdict(list)
        self.open: dict[str, list[int]] = defaultdict(list)

    def value(self, text: str) -> Fraction:
        """What a sum comes to, such as `x*4`, where the name of an entry is its amount."""
        known = self.sums | {key: one["amount"] for key, one in self.entries.items()}
        text = re.sub(r"\b\d+", r"Fraction(\g<0>)", re.sub(r"[a-z]\w*", r"known['\g<0>']", text))
        return Fraction(eval(text, {"known": known, "Fraction": Fraction}))  # noqa: S307 - our own notes

    def shares(self, text: str) -> dict[str, Fraction]:
        """Who shares, and how many parts each has: `film-Ivo`, `Leo*3+Ana`, `Femke/2+Leo`."""
        found: dict[str, Fraction] = {}
        for sign, name, how, number in re.findall(r"([+-]?)(\w+)(?:([*/])(\d+))?", text):
            for one in self.groups.get(name, [name]):
                if sign == "-":
                    del found[one]
                else:
                    found[one] = {"": Fraction(1), "*": Fraction(number or 1), "/": 1 / Fraction(number or 1)}[how]
        return found

    def note(self, place: int, text: str) -> None:
        """Follow one note of a message."""
        words = text.split()
        key, _, verb = words[0].rpartition("=")
        match verb.partition(".")[0] if key and verb in {"pay", "split"} else words[0], words[1:]:
            case "pay", [payer, amount, *who]:
                shares = self.shares("".join(who))
                self.entries[key] = {"payer": payer, "amount": self.value(amount), "shares": shares}
                self._show(key, place)
            case "split", [payer, *parts]:
                shares = {name: self.value(part) for name, part in (one.split(":") for one in parts)}
                self.entries[key] = {"payer": payer, "amount": sum(shares.values()), "shares": shares}
                self._show(key, place)
            case "give", [payer, payee, amount]:
                key = f"paid at {place} by {payer} {len(self.entries)}"
                self.entries[key] = {"payer": payer, "amount": self.value(amount), "shares": {payee: Fraction(1)}}
                self._show(key, place)
            case "price", [name, amount]:
                self.sums[name] = self.value(amount)
            case "in", [name, who]:
                self.groups[name].append(who)
            case "out", [name, who]:
                self.groups[name].remove(who)
            case "see", [name]:
                self._show(name, place)
            case "open", [name]:
                self.open[name].append(place)
            case "drop", [name]:
                del self.entries[name]
            case _:
                self._change(place, text)

    def _show(self, key: str, place: int) -> None:
        self.shown[key] = sorted({*self.shown[key], *range(self.first, place + 1)})

    def end_exchange(self, end: int) -> None:
        """What is said after a message in the same exchange is about the same entry."""
        for key, places in self.shown.items():
            if places[-1] >= self.first:
                self.shown[key] = sorted({*places, *range(self.first, end)})

    def _change(self, place: int, text: str) -> None:
        """Correct an entry that is there."""
        key, sign, rest = re.fullmatch(r"(\w+)([.+-])(.+)", text).groups()
        one = self.entries[key]
        self._show(key, place)
        match sign, re.split(r"[ =]", rest):
            case "+", [who]:
                one["shares"][who] = one["shares"].get(who, Fraction(0)) + 1
            case "-", [who]:
                del one["shares"][who]
            case ".", ["amount", amount]:
                one["amount"] = self.value(amount)
            case ".", ["who", who]:
                one["shares"] = self.shares(who)
            case ".", ["move", old, new]:
                one["shares"][new] = one["shares"].get(new, Fraction(0)) + one["shares"].pop(old)
            case _:
                raise ValueError(text)

    def changes(self) -> dict[str, dict[str, Fraction]]:
        """What each entry changes in whose balance."""
        found = {}
        for key, one in self.entries.items():
            whole = sum(one["shares"].values())
            found[key] = {name: -one["amount"] * part / whole for name, part in one["shares"].items()}
            found[key][one["payer"]] = found[key].get(one["payer"], Fraction(0)) + one["amount"]
        return found


class Year:
    """The messages as a form has them, and their tally."""

    def __init__(self, seed: int) -> None:
        self.dice = Dice(seed)
        self.names = dict(zip(NAMES[0], people(seed), strict=True))
        self.tally = Tally()
        self.lines: list[tuple[datetime, str]] = []
        self.numbers: list[str] = []  # of the messages; photos have some, too, and aren't in the file
        for month, facts, talk in months():
            self._month(month, facts, talk)

    def _month(self, month: int, facts: list[str], talk: list[str]) -> None:
        """Mix what matters with what doesn't, each in its own order, and say it at some time of the month."""
        spread = [
            ((place + self.dice.share() * bool(place)) / len(blocks), rank, block)
            for rank, blocks in enumerate((facts, talk))
            for place, block in enumerate(blocks)
        ]
        when, days = datetime(2025, month, 1, 8, 20), 27 if month == 2 else 30
        for place, _, block in sorted(spread):
            start = datetime(2025, month, 1) + timedelta(minutes=int(place * 60 * 24 * days))
            minute = 7 * 60 + (start.hour * 60 + start.minute) * 2 // 3  # nobody writes at night
            start = start.replace(hour=minute // 60, minute=minute % 60)
            when = max(start, when + timedelta(minutes=self.dice.between(8, 40)))
            self.tally.first = len(self.lines)
            for line in block.split("\n"):
                self._say(when, line)
                when += timedelta(minutes=self.dice.between(1, 6))
            self.tally.end_exchange(len(self.lines))

    def _say(self, when: datetime, line: str) -> None:
        text, _, notes = line.partition(" || ")
        place = len(self.lines)
        last = int(self.numbers[-1][1:]) if self.numbers else 0
        self.numbers.append(f"#{last + self.dice.pick((1, 1, 2, 3)):04d}")
        for note in filter(None, notes.split("; ")):
            if slot := re.fullmatch(r"(\w+)~([\d.]+)/(\d+)(w?)", note):
                step = (
                    Fraction(int(slot[3])) if slot[4] else Fraction(1, 20)
                )  # whole cents must not show how many share
                rough = Fraction(slot[2]) * self.dice.between(80, 124) / 100
                self.tally.sums[slot[1]] = max(1, round(rough / step)) * step
            else:
                self.tally.note(place, note)
        text = re.sub(r"\{(\w+)(:w)?\}", lambda slot: self._sum(slot[1], bool(slot[2])), text)
        self.lines.append((when, re.sub(r"\b[A-Z][a-z]+\b", lambda name: self.names.get(name[0], name[0]), text)))

    def _sum(self, name: str, words: bool) -> str:
        amount = self.tally.sums[name]
        return spelt(int(amount)) if words else written(amount)


def people(seed: int) -> list[str]:
    """The names of a form, in the order of NAMES; the public form has the first of each."""
    if seed == SEED:
        return list(NAMES[0])
    dice = Dice(seed + 1)
    return [dice.pick(column) for column in zip(*NAMES, strict=True)]


def months() -> list[tuple[int, list[str], list[str]]]:
    """What CHAT has of each month: the exchanges that matter, and the others."""
    found = []
    for part in CHAT.strip().removeprefix("@ ").split("\n@ "):
        month, _, rest = part.partition("\n")
        facts, talk = (half.strip().split("\n\n") for half in rest.split("\n#\n"))
        found.append((int(month), facts, talk))
    return found


def files(seed: int = SEED) -> dict[str, bytes]:
    year = Year(seed)
    chat = "".join(
        f"{number} {when:%Y-%m-%d %H:%M} {text}\n"
        for number, (when, text) in zip(year.numbers, year.lines, strict=True)
    )
    names = {group: listed([people(seed)[one] for one in places]) for group, places in GROUPS.items()}
    return {"chat.txt": chat.encode(), "rules.md": RULES.format(**names).encode()}


def particulars(seed: int) -> list[str]:
    return people(seed)


def expected(seed: int = SEED) -> dict[str, object]:
    """Each balance, what changes it with the messages that say so, and the messages about what is open."""
    year = Year(seed)
    balances = dict.fromkeys(NAMES[0], Fraction(0))
    reasons = []
    for key, changes in year.tally.changes().items():
        for name, change in changes.items():
            balances[name] += change
        said = [year.numbers[place] for place in year.tally.shown[key]]
        shown = {year.names[name]: round(float(change), 2) for name, change in changes.items()}
        reasons.append({"changes": shown, "messages": said})
    return {
        "balances": {year.names[name]: round(float(amount), 2) for name, amount in balances.items()},
        "open": [[year.numbers[place] for place in places] for places in year.tally.open.values()],
        "reasons": reasons,
    }


CHAT = """
@ 1
Carla: Box is here, first one of the year, {x} off my card. The farm says it stays at that until they write to us. || x~18/30; price veg x; veg1=pay Carla x veg
Elif: Seven parsnips again. What do they think we are

Dirk: Filled up the van coming back from my aunt's, {x}, van lot please. || x~62/4; vanfuel1=pay Dirk x van

Goran: The barn has a stove pipe that draws. I had {y} on me, Ivo put down the other {z}, and it's for the four of us in here. || y~44/4; z~28/4; pipe1=pay Goran y barn; pipe2=pay Ivo z barn
Katia: I can feel my toes, it's a miracle.

Elif: Film night was splendid. Tickets for all four of us in the club came to {x:w} euros and I paid at the till. || x~44/4w; film1=pay Elif x film
Jonas: Splendid? The hero fell asleep before I did.

Hanna: Paid for both of our birthday breakfasts at the baker's because a certain twin came without his wallet. {x}. || x~23/2; bday=pay Hanna x twins
Jonas: I was carrying the CAKE

Bruno: New sack of beans is in the larder, coffee people. {x}, and I carried it up the hill. || x~54/6; coffee1=pay Bruno x coffee
Ivo: Smells of Naples in here

Katia: Ivo can't get out of bed, so I've been to the pharmacy for him. {x}. I'll have that back when he can stand, no hurry. || x~18/1; pharm=pay Katia x Ivo
Ivo: my angel
Ivo: my very expensive angel

Jonas: Hanna, I've sent you my half of the breakfast. || see bday
Hanna: Never seen you so quick. It's there. || give Jonas Hanna bday/2; see bday

Leo: Rosa had her jabs, {x} at the vet's. She bit nobody. Femke, that one's ours. || x~58/2; dog1=pay Leo x dog

Femke: The oil man has been. {x} for the house, I paid him on the doorstep before he changed his mind. || x~228/12; oil1=pay Femke x all
Leo: bless you, the radiators just made a noise

Ana: I've got the paint for the attic stairs, {x}. Bruno loathes the colour and wants nothing to do with it, so that's Elif and me. || x~34/2; paint=pay Ana x Ana+Elif
Bruno: It's the colour of a wet plaster.

Dirk: About the van the other day. I can't read my own sevens, the receipt says {y}. || y~55/4; vanfuel1.amount=y

Ivo: I'm vertical! Katia, your pharmacy money is under your mug. || see pharm
Katia: Mug lifted, money found, all of it. || give Ivo Katia pharm; see pharm

Jonas: Curry from the new place, I paid. Mine was {a}, Carla's {b} and Femke's {c}, because Femke has to have the prawns. || a~9/1; b~11/1; c~15/1; curry=split Jonas Jonas:a Carla:b Femke:c
Femke: the prawns were the size of my thumb, worth every cent

Goran: Katia and I split a load of logs with the Odells next door. Our half was {x}, which I gave to Mr Odell. Just hers and mine, the rest of you have a radiator. || x~46/2; logs=pay Goran x Goran+Katia

Ana: Box came while you were all out. Same as before, my card this time. || veg2=pay Ana veg veg
Hanna: I'll take the leeks if nobody minds

Carla: Ana, the paint: Bruno has now painted his own door with it. He's been caught with the brush.
Bruno: All right, all right. It grows on you. Split the paint three ways then. || paint+Bruno
Ana: Ha! Three ways it is. || see paint

Leo: Went to the tip with the old sofa, they take {x} for that now. It was everybody's sofa, so house. || x~24/12; tip=pay Leo x all

#
Bruno: Happy new year, you rabble. Who put the clock on the compost?
Hanna: It was striking thirteen. It deserved it.

Elif: My boss gave me a hundred euros for the night shift on the 1st!! I'm having a bath about it

Dirk: If I'd paid for that firework I'd be broke. Did you see it? From the Odells' side.
Goran: It nearly took the barn roof off.

Katia: Is anyone using the sewing machine tonight?
Carla: All yours. The pedal sticks.

Leo: Rosa has eaten a glove. One glove. Leather.
Femke: Whose
Leo: I'd rather not say
Ana: LEO

Ivo: My phone contract has gone up to 29 a month. Robbers.

Jonas: The path is sheet ice. Walk on the grass.

Hanna: Saw a coat for 180 in town. I stroked it and left.
Jonas: You could sell a kidney
Hanna: I'd sell yours

Femke: Who's got the big casserole? It was me who lent it to somebody in the barn.
Goran: It has soup in it. It's busy.

Ana: The bus is going up to 3.40 a ride from next week. I'll walk, I'll have calves like a goat.

Bruno: Question for the house: does the sourdough look dead to you

Carla: My mother asks whether we need 40 jars. For what, mama. For what.
Elif: Yes. I don't know for what. But yes.

Goran: Fog so thick that I greeted a fence post.

Dirk: There's a wallet on the hall table with 15 euros in it and no name.
Ivo: Mine, and there were 20 in it
Dirk: There were 15 in it when the cat got to it

Katia: Heard the owl at four. Also heard Goran at four.

Leo: I've been asked to give a talk at the library and they pay 120. For ME. Talking.
Bruno: We hear it for free every evening

Jonas: Who's coming to the frozen pond? Bring a broom.
Hanna: Me
Elif: Me, with falling over

Femke: The Odells paid 900 for that goat. It's a rude goat, too.

Ana: Somebody has drawn a moustache on the rota. It suits the rota.

Ivo: Temperature 38.9. If I die, Jonas gets the records.
Jonas: which ones
Ivo: Not the good ones

Hanna: Can I borrow a fiver's worth of coins from anyone for the laundrette? Just swapping, I've got a note.
Carla: Swapped, on the stairs.

Carla: We should really have a tin for this instead of the chat
Goran: We had a tin. The tin is why we have a chat.

Dirk: I want it noted that I shovelled the whole lane. Alone. With a back.

Bruno: The dishwasher wants salt. It says so in four languages.

Katia: When I win the lottery I'm paying for all of it, for the whole year, and you'll call me Your Grace.
Elif: We call you that already, behind your back

Leo: There is a smell in the van
Femke: It's the dog
Leo: The dog says it's you

Elif: Does anybody understand the new bins? Yellow is Tuesday now, or is yellow paper?
Ana: Yellow is despair

Jonas: Lost at cards to Katia, four to nothing. She has no heart.

Hanna: Snow! The real kind!
Goran: I've got a shovel and Dirk has a back. Let's talk.

Ivo: Anyone awake? The boiler is humming Bach.

Femke: My sister got a dog bed for 75. A dog bed. Rosa sleeps in a crate that used to hold bananas.

Bruno: I've found the lid of the blue pot. It was on the blue pot.

Dirk: Thanks whoever left the hot water bottle in my bed, I screamed.

Carla: The window in the pantry has frozen shut. Leave it, it's holding up the wall.

Ana: Good night everyone. Somebody turn off the fairy lights, it's the end of January.
@ 2
Leo: Could I be in on the vegetable box from now on? I've been living on toast. || in veg Leo
Carla: Welcome to the parsnips, Leo.

Elif: Box came, I gave the lad the money at the gate. Price as ever, six of us now. || veg3=pay Elif veg veg

Goran: Sank the dinghy. It was me. I was standing up in it, saluting.
Hanna: From this day on you are the Admiral and we won't call you anything else
Goran: I accept with dignity and wet trousers

Bruno: Fixing what the Admiral sank: epoxy and two planks, {x}. He pays half because he sank it, and Dirk, Jonas and I share the other half since it's our boat as well. || x~48/6; dinghy=split Bruno Goran:x/2 Dirk:x/6 Jonas:x/6 Bruno:x/6
Goran: Fair.

Katia: I'm joining the film lot, I've had it with sitting here while you're all having culture. || in film Katia
Elif: Five of us then!

Ivo: Cinema: I got the tickets for the whole club with my pass, {x} a head, sit wherever you like except next to Jonas. || x~8.5/1; film2=pay Ivo x*5 film

Femke: Van's had its new wipers and a bulb. {x:w} euros to Haug's garage, from me. || x~36/4w; wipers=pay Femke x van

Dirk: Coffee's empty, so I've fetched another sack. Two euros dearer than Bruno's was. || coffee2=pay Dirk coffee1+2 coffee
Ana: Two euros for sixteen hundred cups, I'll live

Hanna: Jonas and I gave Carla a lift to the hospital in a taxi, {x}, I paid. She says it's hers alone and she won't hear a word. || x~27/1; taxi=pay Hanna x Carla
Carla: Not a word.

Ana: Bruno, Elif: chimney brush for the attic stove, {x}. Thirds? || x~21/3; brush=pay Ana x attic
Elif: Thirds. || see brush
Bruno: Thirds, and I'm not the one going up there. || see brush

Carla: Hanna, the taxi money's in your coat, left pocket. || see taxi
Hanna: Found {y} in my pocket and a cough sweet. The rest of it is let off, you were bleeding at the time. || y~14/1; give Carla Hanna taxi; see taxi

Jonas: Borrowed {x} from Leo in cash for the train to Ulm, since the machine ate my card. Leo, you'll get it back on pay day. || x~40/1; lent=pay Leo x Jonas
Leo: Confirmed, handed over on the platform like spies. || see lent

Goran: Leo, remember we said you'd have a share in our logs if you kept on sitting in front of our stove? You've been sitting there for three weeks.
Leo: I have. Katia, Goran: put me down for a third of those logs, it's only right. || logs+Leo
Goran: A third it is. || see logs

Femke: Got the worm tablets for Rosa, {x}, and paid with my own money, Leo. || x~19/2; dog2=pay Femke x dog

Ivo: Goran, Dirk, Katia, I've replaced the lock on the barn door. {x} with three keys. Dirk has still got one from the old days and doesn't need any of this, he says, but it's the barn's door, so tough luck. || x~38/4; lock=pay Ivo x barn
Dirk: Tyrant.

Elif: Went to the flea market with Hanna and Femke. We've bought a loom between us!!! I laid out {x} for the three of us. || x~66/3; loom=pay Elif x Elif+Hanna+Femke
Femke: A LOOM
Bruno: Where, and I ask this calmly, does a loom go

Carla: The box again. It was my turn at the gate. || veg4=pay Carla veg veg

Bruno: Took Jonas, Katia and Ivo out to the harbour place, four fish suppers at {x} each, I paid the man. Ivo didn't eat his but that's Ivo's problem. || x~11.5/1; fish=pay Bruno x*4 Bruno+Jonas+Katia+Ivo
Ivo: It looked at me

Jonas: Pay day! Leo, the Ulm money is on its way to you. || see lent

Femke: Elif, I've brought you my third of the loom in an envelope. || see loom
Elif: Envelope received, thank you, it even has a heart on it. || give Femke Elif loom/3; see loom

Leo: Nothing from Ulm yet, Jonas, I've just looked. || see lent

#
Ana: Ten degrees! I'm going out without a hat, tell my mother I was brave.

Elif: My cousin wants 350 for his old bike and it hasn't got brakes. He calls it "pure".

Hanna: I said I'd never knit again and here we are, third sock.
Carla: Two of them for the same foot

Ivo: The library wants 4.80 off me for a book that I returned in 2019. I have principles. I've also paid.

Goran: I dreamt we sold the barn for 60,000 and you all moved into the dinghy.
Katia: The dinghy's on the bottom
Goran: It was before

Femke: If anybody's going past the post office: stamps for me, I'll give you the coins at the door.
Leo: Here you are, and here are your coins back in stamps, done and dusted.

Bruno: Bread's out. First come.
Jonas: it's gone
Bruno: It was forty seconds

Carla: Three stitches, since you all ask. I'm allowed to open tins again.

Jonas: I owe everyone an apology about the karaoke.

Katia: New rule: nobody says "it's only a small spider".

Ana: The neighbours have a new fence. It has cost them 1,100, says Mrs Odell, twice, loudly.

Dirk: I've got two tickets for the hockey that I won at work. Anyone?
Leo: Me!! What do I owe you
Dirk: Nothing. They were free. Come.

Leo: Rosa's met the goat. It's one all.

Elif: I was overtaken by a nun on the hill

Hanna: Would you rather have 500 euros or never have to do the bins again?
Ivo: Bins
Femke: Bins
Goran: 500, and Dirk does the bins

Bruno: The blue pot has lost its lid again.

Ivo: It's official, I've got the job at the observatory. Nights only. So be quiet, all of you, for ever, in the daytime.
Ana: Ivo!!! Congratulations
Katia: cake. there must be cake

Goran: Who moved my boots. They had a purpose there.

Jonas: My tax refund is 212. I'd like to thank my parents and the form

Carla: Somebody rang about the room. I said that it's taken and that we bite.

Katia: Found a ring in the bathroom. Silver, small, not mine.
Hanna: Mine! It's from gran
Katia: On your pillow

Femke: Six eggs today. The brown one's gone on strike.

Dirk: Forgot my lunch and paid 14 for a salad at work. Fourteen. It was mostly air, and it's nobody's fault but mine.

Ana: Can we agree that the thermostat isn't a toy
Bruno: Define toy

Ivo: Jupiter's beautiful tonight. If you're up, look south.

Hanna: Pancakes at eight, and I mean eight.
Goran: what is eight to an admiral

Katia: Did we ever pay the fine for the bonfire, or did the village forget?
Carla: They forgot. So do you, now.

Leo: I was charged 2 euros for tap water in town and I'm still speaking about it.

Dirk: Who is Ulm
Jonas: A city, Dirk

Jonas: The dryer shook itself across the room. It's by the door. It wants out.

Femke: Would anyone pay 10 euros to hear me play the accordion?
Bruno: We'd pay 10 euros each not to
Femke: noted, that's 110

Dirk: Lights off in the cellar, please, it's like Vegas down there.

Elif: The loom is in the hall for now. "For now" is a legal term.
Leo: I live behind the loom now. Send food.

Ana: My gran sent 50 for "something nice". I've bought socks. They're nice.
@ 3
Leo: Jonas has just counted Ulm into my hand, every last coin, in front of witnesses. || give Jonas Leo lent; see lent
Dirk: I was the witness. Mostly coppers.

Jonas: I've given up coffee. Take me off the beans, as of now, before I change my mind. || out coffee Jonas
Katia: He's shaking already

Ana: Beans: I went, the same as Dirk's last sack. Five of us by my count. || coffee3=pay Ana coffee2 coffee
Ivo: And he's watching us drink it. It's delicious, Jonas.

Carla: Box day. The farm has written, as they said they would: {x} from today. I paid. || x~20/30; price veg x; veg5=pay Carla x veg

Dirk: Van: {x} for diesel, and it's the four of us as always. || x~68/4; vanfuel2=pay Dirk x van

Katia: Tickets for the silent film with the organ! I've bought them for the club, {x} altogether, front row. || x~50/5; film3=pay Katia x film

Ivo: I'm on nights, so I wasn't at the organ thing, and Katia gave my ticket to Hanna. Hanna's in for it in my place, we've shaken hands on it. || film3-Ivo; film3+Hanna
Hanna: We have. Worth it for the organist's hair alone. || see film3

Hanna: Yeast, flour, seeds for the bread people: that's Bruno, Femke and me. {x} and I've paid it. || x~24/3; flour1=pay Hanna x Bruno+Femke+Hanna

Goran: I took the cheap one: carbon monoxide alarm for the barn, {x}. || x~26/4; alarm=pay Goran x barn

Bruno: Gas bottle for the big cooker: {x}, I've paid at Haug's. It's for the house. || x~36/12; gas=pay Bruno x all
Ana: Hang on, I paid Haug's for a gas bottle on Tuesday? {y} it was. For the house as well. || y~36/12; gas2=pay Ana y all

Elif: Ana, Bruno and I had the attic window resealed. The man wanted {x} and I transferred it. || x~87/3; seal=pay Elif x attic

Leo: New lead for Rosa. {x}. Femke will want half of it and the dog all of it. || x~22/2; dog3=pay Leo x dog

Jonas: I owe my sister for the phone repair. She paid {x:w} for it and it's my phone, so that's all mine. || x~45/1w; phone=pay Hanna x Jonas
Hanna: Screen like new, and all my pocket money's in it. Till Thursday.

Femke: Had the van in for its inspection. {x}, which I've paid. Goran wants it said that he was against it. || x~112/4; inspect=pay Femke x van
Goran: I was against it. I'll still pay my quarter.

Carla: Seeds for the veg beds. The gardeners this year are Ana, Dirk, Mrs Odell (who's been paying in beans since the flood) and me, so the {x} I spent is split in three. || x~27/3; seeds=pay Carla x Ana+Dirk+Carla
Dirk: Pumpkins this time, please, not marrows

Dirk: Carla, I've put some money in your jar for the seeds. || see seeds
Carla: Dirk's money for the seeds is in my jar, to the cent. || give Dirk Carla seeds/3; see seeds

Ana: Scrap what I said about the gas bottle. I dreamt it, or it was last year. Bruno had already paid and there's only one bottle. || drop gas2; see gas
Bruno: I knew it. I have the back to prove it.

Ivo: We had the Chinese delivered to the barn during the night of the long repair. {x} for all that: Goran, Katia, me and Bruno, who held the torch. Dirk slept through it. I paid the rider. || x~48/4; chinese=pay Ivo x Goran+Katia+Ivo+Bruno
Dirk: I'd have wanted dumplings.

Katia: Ivo, here's my quarter of the Chinese, I've pinned it to your door.
Ivo: Pin yes, money no. It was only a bit of paper with a smiley on it.
Katia: Oh, THIEVES

Leo: Box: mine to pay today, so I've paid. || veg6=pay Leo veg veg

Hanna: I've given up on the curtains and had them sewn. {x} for the twins' landing, so that's my brother and me. || x~52/2; curtain=pay Hanna x twins

Goran: Bruno! About the dinghy. You've paid in epoxy and sweat, so let me at least give you my half today. || see dinghy
Bruno: The Admiral has paid up in full, with a bow. || give Goran Bruno dinghy/2; see dinghy

#
Bruno: First crocus! By the bins, where else.

Elif: Who left a note saying "you owe me" on the fridge? Who is you? Who is me? What is owed?
Ivo: It's a poem, Elif

Carla: My ex is selling the piano for 700. He can keep it. It was always a quarter tone below us.

Jonas: Day 3 without coffee. I can hear colours.
Jonas: Day 4. The colours answer.

Dirk: The compost is warm. I put my hand in. It's alive.

Femke: To whom it may concern: stop feeding the goat. It has begun to queue.

Katia: The organist's hair, though.

Hanna: I'm selling my old desk for 60 if any of you know somebody. Not to us, we've no room.
Hanna: Sold, to a very tall man.

Ana: The clocks go forward soon, and so does my despair.

Goran: I've been quoted 4,500 for a new roof on the barn. I laughed till I had to sit down.
Leo: And then?
Goran: And then it rained

Leo: What a day to leave the van's window open

Ivo: Saturn, rings and all, and a fox walked under the telescope.

Elif: Got my bonus: 75 in vouchers for a shop that sells only candles.

Bruno: I'd give 20 euros to know who eats my olives at night.
Katia: Make it 30 and I'll confess
Bruno: So it was you
Katia: Nobody's confessed to anything

Carla: Please take your hair out of the drain. You know who you are. It's red.
Hanna: There are three of us with red hair
Carla: All three, then.

Dirk: Fell off the ladder, nothing happened, the apple tree broke my fall. I'm sorry, apple tree.

Jonas: Found: one tooth. Milk? Cat?

Femke: My dentist wants 230 for the crown. I said for that I expect a kingdom.

Ana: If it's sunny on the weekend I'm washing everything that I own.

Katia: The post has got lost again, if you see an envelope from Krakow, it's mine.

Leo: I've counted: we've got nineteen mugs and nobody's had a clean one since Candlemas

Goran: Dirk sold me his old boots for 15 and I've paid him on the spot, we're even, please don't write that down anywhere.
Dirk: I confirm. The boots are gone, the money's drunk.

Hanna: The bread's risen so far that it's met the shelf.

Ivo: Slept till five in the afternoon. Is it still March?

Elif: The laundrette has put its prices up to 6, the crooks, I've started to wear things twice.

Bruno: Spring cleaning on the 29th. No excuses. A medical certificate counts as an excuse only if it's funny.

Femke: I want that cheese from the market. The one that you can smell from the bridge.
Carla: No.
Jonas: Yes.

Leo: Does anyone have a spare phone charger, mine's been chewed. Guess.

Ana: Mrs Odell asked if we're a sect. I said only on Sundays.

Dirk: They say the ferry will cost 18 with a car this summer. So it's the bridge again for us, then.

Katia: Goodnight. I've set four alarms. If you hear all four, come in and bury me.

Carla: Someone tell Bruno that the sourdough isn't a pet.
Bruno: His name is Otto.

Goran: Thanks for the spring clean, everyone. The barn looks like a showroom for spiders.

Hanna: Is it right that the village fete costs 5 to get in this year? We used to crawl under the fence.
Jonas: We can still crawl
@ 4
Carla: Put me on the coffee list, please. I've been stealing it since February and my conscience has woken up. || in coffee Carla

Bruno: Beans are in. Same again for the price. Conscience included, that's six cups lined up on the sill. || coffee4=pay Bruno coffee2 coffee

Hanna: I've gone right off vegetables that look at me. No box for me any more, I'll pick at yours. || out veg Hanna

Elif: Five boxers left, and the box is here. On me today, and I do mean that I paid, not that it's a present. || veg7=pay Elif veg veg
Leo: five boxers. boxed five. I'll stop

Katia: Did the harbour place again with the same lot as when Bruno took us, but without Jonas, who's got his exam. {x} for the whole table. I paid, and Ivo ate this time. || x~33/3; fish2=pay Katia x Bruno+Katia+Ivo
Ivo: It had no face this time

Dirk: Film club: I'm not in it, I know, I know, but I was passing the box office, so I've paid your tickets for the Danish one. {x} for you five. || x~45/5; film4=pay Dirk x film
Elif: You could come along, you know
Dirk: Subtitles.

Femke: Rosa's been sick on the rug and the rug is mine, but the vet, {x}, is hers. Paid. || x~64/2; dog4=pay Femke x dog

Leo: Insurance for the van: {x} went off my account this morning, for the half year. || x~184/4; insure1=pay Leo x van

Goran: Leo, here's my quarter of the insurance, I'm putting it into the biscuit tin in your room.
Leo: I've got the tin. Thank you, it was all there, and so were two biscuits. || give Goran Leo insure1/4; see insure1

Jonas: Passed my exam!!! I've bought cake for Ana, Carla, Dirk and myself, because you were the ones who learned the bones with me. {x} it was and it's a present, don't you dare.
Ana: the scapula sends its love

Ana: Elif's birthday present is from Bruno, Carla, Jonas and me. I paid {x} for the teapot. Nobody tell her. || x~56/4; teapot=pay Ana x Ana+Bruno+Carla+Jonas
Carla: You've written it in the chat that she's in.
Elif: I've seen nothing

Carla: Mended the bike trailer with parts for {x}. It's Ana's, Hanna's and my trailer, thirds as always. || x~27/3; trailer1=pay Carla x Ana+Hanna+Carla

Ivo: Firewood for the barn, a cubic metre, {x}. I've paid the forester. Leo, you're still sitting there, you know. || x~80/20; wood=pay Ivo x barn
Leo: Then I'll have a share in this one too. That's five, isn't it? || wood+Leo
Ivo: Five. Welcome back. || see wood

Bruno: Ana, you said you'd take my bit of the teapot, since I'm cooking on the night?
Ana: Yes, I'm having Bruno's quarter of the present as well as my own. || teapot.move Bruno Ana

Dirk: Carla, Ana: slug fence for the beds, {x}, that's the same three as the seeds. I paid. || x~33/3; slug=pay Dirk x Ana+Dirk+Carla

Hanna: Jonas and I are having mother's piano moved here. It's {x} for the movers and he's paid. Don't anybody ask where it's going. || x~150/2; piano=pay Jonas x twins
Bruno: Where is it going
Hanna: Next to the loom.

Femke: Flour and so on for the bread lot, {x}, I was the one at the mill. || x~27/3; flour2=pay Femke x Bruno+Femke+Hanna

Elif: Jonas, you're owed for my eye drops, I had nothing on me. He's laid out {x} at the chemist's, the good man. || x~12/1; drops=pay Jonas x Elif

Goran: Cleared the gutters with a hired lift: {x}, which I've paid, on everybody who's under the roof, so the house. || x~96/12; gutter=pay Goran x all

Jonas: Elif's given me the eye-drop money, with a wink. || give Elif Jonas drops; see drops

Katia: Box. I paid. It has asparagus!!! || veg8=pay Katia veg veg

Ana: Hanna has just given me the money for her bit of the trailer. Carla, don't be cross, I'll bring it up to you.
Carla: Ana's brought it up. So that's Hanna's third settled with me, yours is still open, dear. || give Hanna Carla trailer1/3; see trailer1

Femke: I've paid for a new bulb for the van and a can of oil, {x}. Receipt's in the glovebox with the wrappers. || x~28/4; bulb=pay Femke x van

#
Leo: April fool was a success, three of you tried to pay the "stair tax". I've given it all back. Nobody owes a thing.
Dirk: I'd have liked to be told before I wrote to the council

Elif: The cherry tree is OUT

Hanna: Saw the swallows, two of them, over the barn.

Jonas: Do bones count as pets

Ana: Somebody's eaten the asparagus. All of it. Raw?

Katia: Lady on the train offered me 40 for my scarf. I said it's my grandmother's. She said 50.
Carla: And?
Katia: I'm cold, put it that way. No, I kept it.

Ivo: Meteors from Tuesday on, put your chairs out.

Dirk: I've got to have the tooth out. The estimate's 310. I may keep the tooth.

Bruno: Who wants the last of Otto? He's peaking.

Femke: The accordion's in repair, 140, I hope you're all happy.
Leo: Very. Is there a fund for leaving it there?
Femke: rude

Goran: Painted the boathouse door. It's a blue that I'm calling admiral.

Carla: What is in the freezer in the bag that says "not this"?
Ivo: Not that

Hanna: I can hear a choir. Is it the Odells? Is it the pipes?

Ana: My brother's in town with his new car. It cost more than the house, and it beeps.

Leo: I lost a tenner somewhere between the gate and the hens. Finders keepers, I suppose.
Femke: It's in a hen

Bruno: Rhubarb. So much rhubarb. Come and take it.

Katia: It's pouring through the skylight again, bucket's under it.

Jonas: I've been asked to be a godfather. Me! They've met me!

Dirk: The village shop is closing on Wednesdays. Plan your biscuits.

Goran: I've signed up for the marathon. 65 to enter. It's my money and my knees.
Katia: And our laughter

Hanna: The loom's working. I've made eleven centimetres of something.

Carla: We had the health inspector's cousin to tea and he looked at everything.

Femke: Does anyone else find bits of egg in their shoes?

Elif: If I ever say "let's go camping in April" again you may fine me 100 euros each.
Ana: Screenshot taken

Ana: I've walked to work for eleven weeks and saved 170 on the bus. Goat calves confirmed.

Leo: The dog was weighed and so was I, and we've both been told off.

Elif: The piano is in the hall now as well. The hall is a museum. Entry 2 euros, children half.
Jonas: I'd pay 3 to get out again

Dirk: Mrs Odell says the frost's coming back, cover the beds.

Jonas: Coffee update: I dreamt of a cup. It dreamt of me.

Katia: Who's got 2 x 50 for a hundred? The machine spits mine out.
Goran: Swapped with the Duchess at the kitchen table.
Katia: I'm Your Grace, get it right

Bruno: There's a blackbird in the larder who wants to be left alone.

Ivo: Sleeping. Please. The piano. Please.

Hanna: We need more hooks. Always more hooks.

Carla: My pension people write that I'll get 412 a month when I'm 67. I've framed it.
@ 5
Leo: It's happening! Mirjam moves in with us today, for good and with three cats' worth of boxes. She'd been my guest till now, from today she's one of us. || in all Mirjam
Mirjam: Hello, I'm the thirteenth, I hope that's lucky
Femke: It's the luckiest

Ivo: Housewarming barbecue for Mirjam: the meat and the not-meat were {x}, I've paid at the butcher's, it's on everybody but herself. || x~108/12; bbq=pay Ivo x all-Mirjam
Mirjam: You lot. I'm crying into the coleslaw

Goran: I'm getting out of the van. I've a bike and a dinghy, and I'm an admiral. Whatever it costs from now on is you three's business. || out van Goran
Dirk: Farewell, back seat

Dirk: Diesel, {x}. Three of us in it now. || x~66/6; vanfuel3=pay Dirk x van

Carla: Box! {y} they want now, there's strawberries in it from here on. Paid. || y~22.5/30; price veg y; veg9=pay Carla y veg

Elif: Tickets for the open-air cinema, for the club, {x} each. Ivo's away with his telescope, so he isn't in on this one, I only bought them for the others. Paid with my card. || x~9/1; film5=pay Elif x*4 film-Ivo

Bruno: I went to the tavern with Elif, Goran and Leo after the storm. {x} the lot. It's four equal parts. I paid, as ever. || x~72/4; tavern=pay Bruno x Bruno+Elif+Goran+Leo
Leo: Put Elif's part on me, I lost the bet about the chimney. || tavern.move Elif Leo
Elif: He did lose it. He lost it so hard. || see tavern

Femke: Diatoms for the hens, don't ask. Hen people are Femke (hello), Katia and Mrs Odell's half, which she's given me in cash already. What's left is {x} and that's Katia and me. || x~26/2; hens1=pay Femke x Femke+Katia

Hanna: New strings for the piano. The tuner brought them along, {x}, and I've paid him. My dear brother will be asked for his half. || x~68/2; strings=pay Hanna x twins

Jonas: Half of the strings has left my account, dear sister. || see strings
Hanna: And it has landed in mine, dear brother. || give Jonas Hanna strings/2; see strings

Leo: Jabs again, the second lot. They took {x} less than in January. || x~5/1; dog5=pay Leo dog1-x dog
Femke: Noted, half's mine. || see dog5

Katia: I've paid {x} for the ferry so that Hanna, Mirjam and I could go and see the tulips. Three grown women and one bag of buns. || x~39/3; tulips=pay Katia x Hanna+Mirjam+Katia

Ana: Attic fuse box. The electrician charged {x}, I've transferred it, Bruno and Elif know. || x~117/3; fuse=pay Ana x attic

Mirjam: Katia, tulip money: I slipped it into your book.
Katia: It's in chapter nine, Mirjam. All there. || give Mirjam Katia tulips/3; see tulips

Bruno: Coffee's back to what it was in January, don't ask me how. Sack is here. I paid. || coffee5=pay Bruno coffee1 coffee

Dirk: I've had the mower's blade done, {x}. It belongs to Dirk, Jonas and the Admiral, and so does the bill. || x~24/3; mower=pay Dirk x Dirk+Jonas+Goran

Ivo: We've had the barn's window done. {x}. I paid half of it and Katia the other half. It's for the barn as a whole. || x~152/8; win1=pay Ivo x/2 barn; win2=pay Katia x/2 barn

Femke: About the inspection of the van. The garage has given us {x} back, they'd charged for a belt that we haven't got. It came to my account, so it was that much cheaper. || x~20/4; inspect.amount=inspect-x
Goran: I was still in it in March, so a bit of that's mine. I told you that I was against it. || see inspect

Elif: The tutor whom Jonas and I share has sent her bill. {x}, and Jonas had twice as many hours as me. I've paid it all. || x~90/3; tutor=pay Elif x Jonas*2+Elif
Jonas: Two thirds for me, one for Elif, agreed. || see tutor

Leo: Box's been. My money. || veg10=pay Leo veg veg

Mirjam: I've only got one thing to say: your shower curtain. I've bought a new one for the whole house, {x}, consider it my entrance fee and let nobody pay me a cent.
Carla: We like her

Goran: A year of the allotment's water, {x}, on me — well, from me — for the seed people, since I owe Dirk for the boots joke. No, seriously: I've paid, Ana, Carla and Dirk divide it. || x~45/3; water=pay Goran x Ana+Dirk+Carla

Ana: Carla, my bit of the trailer. I'm putting it where Dirk put his seed money. || see trailer1
Carla: The jar's fuller. Ana's third of the trailer is in there. || give Ana Carla trailer1/3; see trailer1

#
Hanna: One of Mirjam's boxes says "knives and feathers".
Mirjam: It's a long story and a short play

Elif: May! The whole valley smells of cow and lilac.

Dirk: There was a man at the gate with solar panels, 14,000, he'd even brought a model of our roof.
Bruno: Is the model for sale

Jonas: I've got hay fever and an audition. I'll be playing a man with hay fever.

Carla: Could the person who sings in the bath learn the second verse?

Katia: The hens have a new pecking order. Femke's at the bottom.

Goran: Bike: 480, second-hand, mine, beautiful. Her name is Thetis.

Ana: I swear the toaster is looking at me.

Leo: Half past six and Rosa has rolled in it. You don't want to know in what.

Ivo: The sky was so clear that I forgot to come down.

Femke: My knees say rain, the app says sun. I trust the knees.

Bruno: If each of us gave me a euro every time I cook, I'd own the village.
Elif: If each of us got a euro every time you said so, we'd own you

Hanna: I was asked to play at a wedding. They'll pay 150 and cake. I said for double the cake I'd do it for half.

Dirk: Storm's coming, get your washing in.
Dirk: Storm's here. Whose is the red sheet? It's in the pear tree.

Mirjam: Is it always this loud
Leo: It's quiet today

Jonas: Got the part! It's unpaid and there's fog in it!

Carla: The strawberries never reached the kitchen, I notice.

Ivo: The observatory's vending machine gave me two bars for the price of one. I've told nobody but you.

Ana: My cousin's wedding list begins at 90 euros. I'm giving them a poem.

Katia: We really need to talk about the thing in the drain.

Goran: Raised the dinghy! She floats! She leaks, too. But she floats!

Elif: Mirjam's cats have taken the piano.

Bruno: Someone's been at the good oil. I've marked it.
Leo: With what
Bruno: With my eyes

Femke: A man paid me 5 euros for an egg. One egg. He'd seen the hen.

Hanna: Bees in the chimney, leave them alone, somebody's coming for them on Thursday, for free.

Dirk: Does the word "heirloom" mean anything to tomatoes?

Jonas: Lent Ivo my good pen. That was in 2023, Ivo.
Ivo: It's happy here.

Leo: My mother's coming for the weekend, behave like people.

Ana: I'd pay double for my room if it came with that view all year round.

Carla: Cleaned out under the stairs. Found: 1 ski, 2 crutches, 30 euros in old money. The old money's gone into the museum.

Mirjam: Which of you is it who hums? It's lovely, don't stop. It's only that it's 3 a.m.

Katia: My flight to Krakow is 89. I've paid it and I'm eating beans till June, and they're my own beans.
@ 6
Ivo: I've had it with the draught. From today I sleep in the attic, in the small room. So count me to the attic now and no more to the barn. || in attic Ivo; out barn Ivo
Katia: Your half of the window stays with you, mind.
Ana: Mind the third stair, Ivo, it's freshly painted

Mirjam: May I join the vegetable people? I cook, it's only fair. || in veg Mirjam
Elif: From today, with pleasure. Nobody's cooked a turnip like you

Carla: The box has come, strawberries and all, same as the last one. I paid. || veg11=pay Carla veg veg

Elif: Mattress protector, hooks and a lamp for up here, {x}, I've paid. It's the attic's, so that's with our new lodger. || x~64/4; lamp=pay Elif x attic

Goran: Had the barn's chimney swept. {x} in cash, it's only three of us to share it now. || x~57/3; sweep=pay Goran x barn

Hanna: I'm taking up Goran's old place in the van, from this month on. My driving test was a triumph. || in van Hanna
Femke: The examiner wept

Leo: Tyres! Two new ones for the van. {x} at Haug's, and I've paid for them. That's with Hanna. || x~168/4; tyres=pay Leo x van

Bruno: Flour for us three bakers. I paid {x:w} euros. || x~30/3w; flour3=pay Bruno x Bruno+Femke+Hanna

Jonas: The theatre's given me tickets at cost for the opening night, {x} each: Carla, Dirk, Mirjam and Hanna have one each. I've paid the theatre, I don't need one, I'm on stage. || x~12/1; opening=pay Jonas x*4 Carla+Dirk+Mirjam+Hanna
Hanna: He died so well

Dirk: Jonas, ticket money's with you, I gave it to you in the interval. || see opening
Jonas: You did, Dirk, I still had blood on my hands. It's all square between you and me for the ticket. || give Dirk Jonas opening/4; see opening

Femke: Elif wants out of the loom and Mirjam wants in, so Elif's selling Mirjam her third.
Mirjam: As good as done
Elif: It IS done, Mirjam's given me exactly what I had paid for my third.

Ana: Boiler service, {x}. I've transferred it for the house. Thirteen hot showers. || x~156/13; boiler=pay Ana x all

Katia: Hen feed, {x}, on my card, for the hen people without Mrs Odell, she's on holiday and so is her half. || x~22/2; hens2=pay Katia x Femke+Katia

Carla: Film club, you owe me a favour: I was in town and picked up your five tickets for Thursday. {x} for everybody in the club. I'm not coming. || x~47.5/5; film6=pay Carla x film

Jonas: I couldn't go on Thursday either, but Carla had bought mine by then, so of course I pay it. || see film6

Leo: Sunday lunch at the mill with Mirjam, my mother and Ana. I've paid {x} for the four of us. Ana, you've one quarter, the rest's mine, Mirjam's invited. || x~88/4; mill=pay Leo x Leo*3+Ana
Mirjam: The trout was invited too

Ana: Leo, you'll find the mill money under the dog. || see mill
Leo: Under the dog there was {y}. That's what I've got, the rest I'll get from you some day. || y~10/1; give Ana Leo y; see mill

Ivo: My share of the dinghy repair was never asked for because I have no share in the dinghy, but Jonas is selling me his. The price is what his sixth of the repair was, and I've given him that.
Jonas: He has, I've got it in my hand.
Bruno: So the dinghy is the Admiral's, Dirk's, mine and Ivo's. Someone write that down.

Bruno: Varnish for the dinghy, {x}. Quarters this time, we agreed, now that nobody sank it. || x~38/4; varnish=pay Bruno x Goran+Dirk+Bruno+Ivo

Femke: I've put a brush and ticks tweezers in Rosa's box. They came to {x} and I'd like half of it from Leo. || x~16/2; dog6=pay Femke x dog

Elif: Ana's asked me to say: the coffee is here, she's paid {x} for it, she's got no battery. || x~57/6; coffee6=pay Ana x coffee

Dirk: The insurance of the mower has paid {x} for the blade, I've got it here, so that makes it cheaper. || x~9/3; mower.amount=mower-x
Goran: Thirty years of paying in, and finally.

Hanna: Box today. I'm not in it, but I was the only one awake, so I've paid the lad for you. || veg12=pay Hanna veg veg

Katia: We three who saw the tulips went back for the roses, and Femke came along too. The same fare a head as then. This time it was Hanna who paid. || roses=pay Hanna tulips/3*4 Hanna+Mirjam+Katia+Femke
Femke: Roses are just tulips with lawyers

Goran: Femke, did you ever get my quarter of that belt-less inspection? || see inspect
Femke: I did, Goran, you'd put it in my letter box, the quarter of what it was after they'd given the money back. I just never said. || give Goran Femke inspect/4; see inspect

#
Mirjam: The cats have names now that you can pronounce: Salt, Pepper and Kevin.

Jonas: Two reviews. One says "foggy".

Dirk: 31 degrees in the shade and there's no shade.

Ana: Who's for a swim? Just in the river, not in the good bit, in the cold bit.

Bruno: Ice cream van at the bridge, 3.20 a scoop, and I had four. I regret nothing, it was my own money.

Femke: We've got a broody one. She's sitting on a tennis ball.

Carla: My sister rents out her parking space for 110 a month. I've got a whole shed and it only costs me nerves.

Elif: The small room snores now

Goran: Marathon: I've finished. Last but one. The last one was a man dressed as a fridge.

Leo: It's light till ten! We're at the fire till it isn't.

Hanna: If any of you has a driving licence and 6 hours: my bed's in Linz.
Ivo: I've got neither

Katia: Krakow was grand. Grandmother sends you a cheese. It's not for sharing, it's for fighting over.

Dirk: I paid a man 20 euros to guess my weight and he got it right. I want to speak to someone.

Ivo: I can see the barn from up here. It looks draughty.

Bruno: The cherries are ready, bring ladders and no wasps.

Mirjam: Did somebody just ring the dinner bell or is it in my head
Ana: Both

Jonas: Who would buy a used fog machine for 80? Asking for a theatre.

Femke: Mosquito count last night: 9 of them, 0 of me.

Carla: Has the grey blanket been seen by anyone with eyes?

Leo: Library again. They gave me 130 this time. I've bought Rosa a bone the size of Rosa.

Elif: It's so hot that the candle shop has melted. Justice.

Hanna: New personal best, I parked it in one go and nobody was there to see.

Goran: Beware, the jetty's got a soft plank, third from the end.

Dirk: Tomatoes: 14 green, 1 hopeful.

Katia: Can we please have a fly curtain. I'd donate my left arm.

Ana: They've offered me a week in Lisbon for 640. I've offered them a laugh.

Bruno: I made elderflower. Forty bottles. Nobody touch the one with the balloon.
Femke: What happens with the balloon
Bruno: Physics

Ivo: Noctilucent clouds at two. It was worth it. I woke no one. You're welcome.

Mirjam: I've mended the bell. And broken the gate. One all.

Carla: The census man's been. He asked for the head of the household and we all pointed at the cat.

Leo: I'd bet 50 that it rains on the fete.
Jonas: Done!
Leo: I didn't mean it, put your hand down
@ 7
Ana: I'm by the sea till September, so stop counting me for the box until I say that I'm hungry again. The coffee I'll keep, I've got a jar with me. || out veg Ana
Bruno: Send sand

Leo: Box, five of us, the strawberries are over but not the price. Paid it. || veg13=pay Leo veg veg

Dirk: Filled the van for the lake. {x} and it was me who paid. || x~76/4; vanfuel4=pay Dirk x van

Hanna: At the lake: boat hire was {x}. In the boat were Dirk, Femke, Leo and I, and Goran who was towed, and he says that being towed is free. It isn't, Goran. Five ways. I've paid the man. || x~60/5; boat=pay Hanna x Dirk+Femke+Leo+Hanna+Goran
Goran: An admiral doesn't discuss it. Five ways.

Jonas: Hammock for the twins' landing. Hanna picked it, I've paid it, what it was I'll have to look up. || see hammock
Hanna: Half of whatever it is. || see hammock

Carla: Beans, at last, {x}, I've put in for them. Six of us drink it and Ana's drinking it at the sea. || x~60/6; coffee7=pay Carla x coffee

Mirjam: Leo and I bought a tent with Jonas and Katia, who'll use it as much as we do. {x:w} euros, and I paid it all. || x~120/4w; tent=pay Mirjam x Leo+Mirjam+Jonas+Katia
Katia: and it has a porch!

Elif: Aubergine dinner up here. I bought everything for {x}. Ivo, Bruno and I ate, and Carla, who followed her nose. || x~36/4; aubergine=pay Elif x Ivo+Bruno+Elif+Carla

Bruno: The five who had the tavern and the storm in May: weren't we four? Anyway, same four, same tavern, no storm. {x}. I've paid again. || x~64/4; tavern2=pay Bruno x Bruno+Elif+Goran+Leo
Leo: I've lost no bet this time, so it's each for themselves. || see tavern2

Ivo: Repaired the skylight with the others up here, Ana's been asked by phone. Glass, putty: {x}. I've paid, and it's for all of the attic. || x~72/4; skylight=pay Ivo x attic

Katia: Film club: box office again. I've bought one for each of us in the club. {x}. Bruno, don't chew. || x~50/5; film7=pay Katia x film

Femke: Coming back to the tent. Jonas sold me his place in it, and I've paid him what it had cost him, and that's between Jonas and me.
Jonas: It is. The tally can leave me where I am.

Femke: Rosa's been clipped for {x}. I paid. Leo held her front end and therefore owes me only half, as ever. || x~38/2; dog7=pay Femke x dog

Goran: Mosquito net, big one, for the three of us in the barn, {x}. On my card. || x~33/3; net=pay Goran x barn

Carla: Water for the seed people again: the same as in May and this time I've paid. Ana says count her, sea or no sea. || water2=pay Carla water Ana+Dirk+Carla

Leo: Beer for the end of the fete: I'd bought {x}'s worth for Goran, Ivo, Bruno and me, each of us a quarter. || x~32/4; beer=pay Leo x Goran+Ivo+Bruno+Leo
Ivo: I had to go up to my stars after one sip, but a quarter's a quarter. || see beer

Bruno: Leo, here's for the beer. I left it on the van's seat. || see beer
Leo: The seat had a dog on it and under the dog my money. Thanks, Bruno. || give Bruno Leo beer/4; see beer

Mirjam: The tent people who've paid me so far: Katia, her quarter, this morning. Jonas, not yet. || give Katia Mirjam tent/4; see tent
Jonas: I'm a man of honour, Mirjam, but I'm slow

Hanna: Flour? We've run out again, so I went. {x}, the three of us. || x~30/3; flour4=pay Hanna x Bruno+Femke+Hanna

Dirk: The Odells let us have their half of the plums if we hire the press. I've hired it, {x}. Carla, Elif, Mirjam and I are pressing. || x~48/4; press=pay Dirk x Carla+Elif+Mirjam+Dirk

Elif: The box is here and I was too. My cash. || veg14=pay Elif veg veg

#
Ana: The sea says hello. It's very big and doesn't do the washing-up either.

Jonas: Fog machine sold. 70. To a man who says he's a wizard.

Goran: The soft plank has found its man. It was me. I'm wet.

Bruno: Is there such a thing as too much basil
Femke: There is and it's in my shoes

Carla: Whoever borrowed my sunglasses, you look better in them, keep them.

Hanna: Fete was grand. I won a ham. What does one do with a ham
Dirk: One calls Dirk

Leo: Rosa came third in the dog race. There were three dogs. We're so proud.

Elif: Too hot to weave. Too hot to think. I've put my feet into the soup pot, it's clean, calm down.

Katia: I was stung by 4 wasps and I've given each of them a name, and it's the same name.

Ivo: New moon. Milky Way like spilt flour. I cried a bit.

Femke: The garage says a new van would be 23,000. We said that the old one's only resting.

Mirjam: My neighbour from before says she'd rent my old room for 550 now. Five hundred and fifty! It had a pillar in it.

Dirk: Cucumbers. Help.

Ana: I pay 3 euros a day for a deckchair. I sit in it as if it were a throne.

Jonas: Does the hammock hold two?
Hanna: It holds one and a bruise

Bruno: Kevin slept in the flour bin. We're all eating Kevin now.

Goran: Somebody at the lake offered me 1,000 for the dinghy. He'd been in the sun.

Leo: If I had a euro for each time the printer works, I'd have one.

Katia: Power cut. I'm using the last of my battery to say that we have candles but no matches.
Carla: We've got matches but no candles
Katia: come to the barn door, slowly

Elif: We had a letter: "To the commune". We should send it back.

Hanna: Blackberries, already! By the railway, but mind the man.

Ivo: My mother sent 100 for my name day. I've ordered an eyepiece. She thinks it's a coat.

Carla: Bones of a fish in the piano. I'm looking at three cats.

Femke: I did it, I told the goat off. It told me off too.

Mirjam: Leo snores in E flat.

Dirk: I've lent my drill to the Odells, and if it comes back I'll eat my hat.

Jonas: What's the opposite of an encore? We had that on Saturday.

Ana: Home in five weeks. Don't tidy, I'd be frightened.

Bruno: Someone offered to buy Otto. I wouldn't take a thousand. Maybe a thousand.

Goran: My back and the hay have agreed to differ.

Leo: A parking fine, 30 euros, right in front of the church. I'll pay it, I was the one parked.

Hanna: Thunder. Get the hens in. Count to nine.
Femke: Eight. EIGHT
Femke: Nine, she was on the ball.

Katia: Whose turn is it to be cheerful?
@ 8
Mirjam: Jonas, I've found an envelope with your name and the word honour on it. It's your quarter of the tent, to the cent. || give Jonas Mirjam tent/4; see tent

Dirk: I'm taking a third of the dog from today on, we've talked it over, she's agreed. Femke, Leo and I have her in equal parts now. || in dog Dirk
Leo: She's agreed to everything since he began cooking for her

Dirk: First bill as a dog's third: her bed and bowl, {x}. I've paid it. || x~57/3; dog8=pay Dirk x dog

Carla: Box. It's me again with the money. Still five. || veg15=pay Carla veg veg

Femke: My cousin put a roof rack on the van, all four of us wanted one. I've paid him but he never writes anything down, I'll ask what it was. || open rack
Dirk: Any idea yet what the rack was?  || open rack
Femke: He's in Spain. When he's back. || open rack

Leo: Holiday cottage for Mirjam, Femke, Jonas and me: {x}, that's with the cleaning, and I've put it on my card. Equal parts. || x~340/4; cottage=pay Leo x Mirjam+Femke+Jonas+Leo

Jonas: Groceries at the cottage, the whole week: {x}, paid by me, and it's for the four cottagers. || x~126/7; food=pay Jonas x Mirjam+Femke+Jonas+Leo

Femke: Jonas, I was only there for half of the week, so I'd like to pay only half a share of the food. The bed I'll pay in full.
Mirjam: Of course. || see food
Jonas: Half a share for Femke and full ones for us three, then. || food.who=Femke/2+Mirjam+Jonas+Leo
Leo: Fine with me. She did leave us the good cheese. || see food

Hanna: We at home had pizzas. I paid {x} for Carla, Dirk, Elif and me, a quarter each, since nobody remembers who had the anchovies. || x~48/12; pizza=pay Hanna x Carla+Dirk+Elif+Hanna

Elif: Let me out of the pizza one, Hanna! I had the soup, I only sat there. || pizza-Elif
Hanna: You did only sit there. Out you are, we're three. || see pizza

Bruno: Coffee for the coffee-drinkers. It came to {x}, I was in front of the shop and my wallet was too. || x~63/6; coffee8=pay Bruno x coffee

Goran: New handles for the mower, {x}, from me. You two know who you are. || x~18/3; mower2=pay Goran x Dirk+Jonas+Goran
Jonas: One third of a mower, me. || see mower2
Dirk: Another third. || see mower2

Katia: I've fetched the hens' straw, {x}. Mrs Odell's put in her half at the gate and that's already off. || x~24/2; hens3=pay Katia x Femke+Katia

Ivo: Film in the park. I had the tickets sent to my phone, for everyone in our club but Elif, who doesn't like grass. {x} in all. || x~38/4; film8=pay Ivo x film-Elif
Elif: It's the beetles in it that I don't like

Carla: The tractor had to pull the van out of the ditch. {x} for the farmer, I gave it to him, and before anyone asks: that's Leo alone, he drove, he's said so himself. || x~50/1; ditch=pay Carla x Leo
Leo: I've said so myself. In the ditch.

Mirjam: Who's paid the fee for our stall at the village fete? They've given me a receipt, "Alder Farm, {x}, in cash, with thanks", and it wasn't me. || x~65/13; open stall
Hanna: It wasn't me either || open stall
Goran: I thought Bruno had? || open stall
Bruno: I've never seen that man in my life. It was for the house, that's all I know || open stall

Bruno: I gave Katia what I owed her for the second fish supper, on the bridge. || see fish2
Katia: On the bridge, in the rain. Yes, I've got it. || give Bruno Katia fish2/3; see fish2

Leo: Femke, did my half of the clipping ever get to you? || see dog7
Femke: It did not, I'd have bought ice cream. || see dog7

Dirk: Paint for the boathouse, which is the dinghy's house: {x}. The dinghy's four, meaning Bruno, Goran, Ivo and me. I'd the money on me. || x~44/4; boathouse=pay Dirk x Bruno+Goran+Ivo+Dirk

Jonas: Found the slip for the hammock, it was in the hammock: {x}. || x~58/2; hammock=pay Jonas x twins
Hanna: My half of the hammock is coming when I've slept in it. || see hammock

Elif: Leeks have arrived and so has the lad. I've paid for the box. || veg16=pay Elif veg veg

#
Ivo: First shooting stars tonight. Blankets on the barn roof at eleven. Don't step on Goran.

Carla: With half of you gone it's so quiet that I can hear the jam.

Bruno: A fox has taken the brown hen. I'm sorry, Femke.
Femke: She was on strike anyway. I'm fine. I'm not fine.

Hanna: Ham's finished. Dirk finished it. It took him a month.

Elif: Found 4 euros in the loom. Finally it pays.

Goran: The jetty has got a new plank, third from the end, courtesy of me and an old door.

Leo: Greetings from the cottage. There's a moose here. It's a coat rack. We only found out after an hour.

Katia: I've had an offer from Krakow. A proper one. I don't know. Don't ask me at breakfast.

Dirk: Grasshopper on my pillow. He's paid no rent either.

Mirjam: It's 18 euros to climb the lighthouse, and there's no light in it. We've stayed down and looked up.

Jonas: Audition went well. They laughed at the right man.

Ana: I've turned the colour of the attic stairs.

Bruno: 12 jars of plum, 9 of pear, one that I can't identify.

Carla: Who keeps on moving my ladder by exactly one metre?

Femke: It's the goat's birthday, the Odells have hung up balloons. There's none left.

Hanna: The van drives like a cupboard, I love it.

Ivo: I gave Leo 5 euros for a bet and he's given it back out of pity. That's the level we're at.

Katia: Accepted. I'm going to Krakow in September. I've cried on all three cats.
Elif: No!!! Yes! No!
Goran: Your Grace...

Leo: We'll have to have a party. A big one. A terrible one.

Dirk: It's raining on the hay. Of course it is.

Elif: My optician says 420 for new glasses. At that price I'd want to see the future.

Jonas: Does anyone know how to get wax out of a cassock? It's for a friend. He's a monk. On stage.

Goran: I've taught the parrot of the Odells' to say "heave to". They haven't noticed yet.

Bruno: Tell me honestly whether the stew was too salty.
Carla: It was the sea
Bruno: Thank you for your honesty, you may leave the house

Hanna: A hundred for a haircut. A hundred! I've cut it myself. Don't look.

Ana: Somebody's stolen my deckchair, I'm told that's what August is like.

Mirjam: My contract's been extended till 2027! The drinks tonight are mine, all of them, I invite every single one of you, no sums, no lists.
Goran: To Mirjam

Femke: I've two left wellingtons, does anybody have two right ones

Leo: The van's got 300,000 on the clock. We should bake it something.

Ivo: Slept outdoors. A hedgehog slept next to me, we've an understanding.

Carla: If I'd taken 2 euros from everyone who's asked me where the scissors are, I'd be in Lisbon with Ana's laugh.
@ 9
Katia: This is the message I didn't want to write. Today's my last day here, I've put my key on the hook. I'll pay whatever I still owe, and you can keep the good pan. || out all Katia; out veg Katia; out coffee Katia; out film Katia; out barn Katia
Goran: The barn salutes.

Hanna: Katia's farewell party: I've bought the food and the lanterns, {x}, for the house as it is now, that's twelve of us, Katia of course is a guest and pays nothing. || x~132/12; farewell=pay Hanna x all

Elif: Jonas, Ivo and I gave Katia the star map. It was {x}, I've paid, thirds. || x~45/3; starmap=pay Elif x Jonas+Ivo+Elif

Ana: Home! I'm hungry again, as announced. || in veg Ana
Carla: Box lot, that's Ana, Elif, Leo, Mirjam and me now.

Ana: And I've met the lad at the gate straight away and paid for it. || veg17=pay Ana veg veg

Goran: Now that there are two of us, Dirk and I've had the second bed taken away. {x}, I paid the men. It's a barn thing. || x~34/2; bed=pay Goran x barn

Dirk: The chimney sweep for the main house, {x}, I gave it to him in cash this morning. House, please. || x~96/12; open sweep2
Carla: In cash? I've transferred the sweep's bill, the same {x}, on Monday. || open sweep2
Dirk: He only says he's been paid once and can't say by whom. I know that I gave it to him. || open sweep2
Carla: And I know what my bank says, it just says "pending". One of us is wrong. || open sweep2

Bruno: Diesel! I'm not a van person, but I borrowed it for the apple fair and have filled it up for you. {x}, and half of that's mine, the other half is for you four. || x~72/8; vanfuel5=split Bruno Bruno:x/2 Dirk:x/8 Femke:x/8 Leo:x/8 Hanna:x/8

Ivo: Tickets, {x} a head, for those of us who are left in the film club. I did the booking and the paying. || x~9/1; film9=pay Ivo x*4 film

Femke: I'd quite forgotten: at the cottage I paid the boatman {x}. That's the four cottagers, full shares all, I was on that boat. || x~44/4; boatman=pay Femke x Mirjam+Femke+Jonas+Leo

Katia: From Krakow: Ivo, I've asked the bank to send you what I owe you for my beloved Chinese, my quarter. || see chinese
Ivo: It's come all the way, and this time not just the smiley. || give Katia Ivo chinese/4; see chinese

Leo: Dog stuff: wormer, {x}, I was the one at the vet's. Don't forget there are three of us in it. || x~27/3; dog9=pay Leo x dog

Carla: Pumpkin straw for the seed people. I paid {x}. Ana, you're back just in time to share it. || x~21/3; straw=pay Carla x Ana+Dirk+Carla

Mirjam: I've been to the cash-and-carry. Rice and oil and so on for the house, {x} on my card. || x~144/12; rice=pay Mirjam x all
Bruno: The good oil?
Mirjam: The good oil. It's behind the bad oil.

Jonas: I'll take Hanna's driving lesson bill, she'd forgotten her purse: {x}. She'll give it back, she's got a licence to lose. || x~55/1; lesson=pay Jonas x Hanna

Hanna: Jonas, hammock half and lesson, both in one envelope on the piano. || see hammock; see lesson
Jonas: It was under Kevin, but it's all there, for both. || give Hanna Jonas hammock/2; give Hanna Jonas lesson; see hammock; see lesson

Elif: Beans. Not my drink, but I was passing. They've gone up by {y} since last month. You five pay me. || y~3/1; coffee9=pay Elif coffee8+y coffee

Goran: Femke, Katia's asked me to sort out her hen things with you. She says she sold her hens to you for 20 and that you've settled it.
Femke: We have, in front of the hens. So from now on the hen people are me and Mrs Odell.

Dirk: Leo, about Rosa's bed. I've got your third, you'd left it in my boots. || give Leo Dirk dog8/3; see dog8

Leo: The tent. Look, Mirjam and I are a couple but not a company. My quarter's with her, she wanted me to write it here. || see tent
Mirjam: It's with me. Signed, a company. || give Leo Mirjam tent/4; see tent

Ana: New attic carpet, {x}, paid for and lying there. Four of us up here, and Ivo says he'll pay Elif's, since it's because of his boots that we needed it. || x~120/4; carpet=pay Ana x attic
Ivo: I do say so. Elif's is on me, so I've two quarters of the carpet. || carpet.move Elif Ivo

Bruno: Goran owes me a beer and a quarter of a varnish. The beer I'll drink, the varnish he's just paid. || give Goran Bruno varnish/4; see varnish
Goran: Aye.

Elif: I've paid for the box, you may kiss my hand. || veg18=pay Elif veg veg

#
Carla: The house is too big. Somebody be Katia for an hour.

Ivo: I set four alarms this morning, in her honour.

Femke: Apple fair: we've sold 31 jars and been paid 93, and Bruno's put that towards new jars at once, it's all gone. It's nobody's money.

Goran: Somebody's sleeping in the barn and it's not me or Dirk. It has a tail.

Leo: September. From now on it's downhill till soup.

Jonas: Rehearsals again. I'm a tree. A speaking tree.

Dirk: The drill is back from the Odells'. Where's my hat.

Hanna: Saw a kingfisher from the driver's seat and didn't brake. I'm a grown-up.

Mirjam: Pepper had a fight. The other one looks worse. The other one's a hedge.

Elif: The hall is now the loom's, the piano's and a ladder's. We go in through the window.

Bruno: My knife's been sharpened by the man with the bike, 6 euros, and it's sharper than I am.

Ana: Unpacked. Half of the sea's in my suitcase.

Katia: Krakow has trams! And nobody burns the pancakes! I'm so lonely!
Bruno: I'll send you a burnt one

Carla: 2,400 for the flat that my niece looked at. Per month. She could have our barn and both men for that.

Ivo: First frost on the dome. I had to scrape the universe free.

Leo: Has anyone ordered a harp? There's a man here with a harp.
Elif: Wrong house. Unless... no. Wrong house.

Goran: I've counted the apples. I stopped at a thousand and sat down.

Femke: Feathers everywhere, it's only the moult, put the gun away, Dirk.
Dirk: It was a broom

Jonas: My shoes are eaten up. I'm not saying by whom, but she wags.

Hanna: 7 euros for a coffee and a bun at the motorway. I've framed the receipt next to Carla's pension.

Dirk: Pumpkin: 38 kilos. I've called it Katia.

Mirjam: I can recommend no one to open the shed today. Wasps' parliament.

Ana: What did we use to do on Sunday evenings? I've forgotten.
Carla: The moustache on the rota

Bruno: Otto has been promoted to rye.

Elif: The choir asks for 40 a term. I'll sing in the bath, that's free and the second verse is new.

Ivo: Anyone want a slightly used eyepiece, 60? No? I thought so.

Leo: Rosa and the goat were seen sharing an apple. It's peace in our time.
@ 10
Hanna: I've moved into Katia's bed in the barn, so I'm barn from now on. I live with two men and a tail. || in barn Hanna
Jonas: Does the landing still count as the twins'?
Hanna: The hammock does. I'm coming back for it.

Leo: Second half of the van's insurance has gone off. It's exactly what it was in April. Not exactly the same people, Goran, you can relax. || insure2=pay Leo insure1 van
Goran: I'm relaxing on Thetis.

Bruno: I'm leaving the film club. I keep on chewing and you keep on looking. || out film Bruno
Elif: We'll miss the chewing

Jonas: I surrender. COFFEE. Put me back on the list, write it on a flag. || in coffee Jonas
Ivo: More than half a year. Respect.

Jonas: And to make peace I've bought the sack myself, {x}, to be split as usual between all that drink it, me too, oh yes. || x~66/6; coffee10=pay Jonas x coffee

Carla: The box is {y} from today on. No more strawberries, so I don't see why, but it's what they've written. I paid it. || y~25/20; price veg y; veg19=pay Carla y veg

Goran: Straw bales for the barn's north wall, {x}, I paid. Dirk, Hanna and I will be warm as loaves. || x~48/3; bales=pay Goran x barn

Ana: News about the fuse box from May. The electrician had charged us an hour too much, and {y} of it's come back to my account. Bruno, Elif, that's for us three. || y~24/3; fuse.amount=fuse-y
Ivo: Nothing for me? || see fuse
Ana: You were still in the barn, blowing on your hands. || see fuse

Mirjam: I've had the piano tuner for the twins, they were at rehearsal: {x} out of my purse. || x~74/2; tuner=pay Mirjam x twins
Jonas: We'd have paid double for him not to speak.

Ivo: Three at the cinema instead of four now. I've got us the Monday ones, {x} altogether, me paying. || x~28.5/3; film10=pay Ivo x film

Leo: From the cottage: they've given back {y} of the cleaning as we'd left it so tidy. It's on my card again. Thank you, Mirjam, it was all you. || y~40/4; cottage.amount=cottage-y

Femke: Is there a Leo? I've just found your half of the clipping, it's been in the banana crate since July. All well. || give Leo Femke dog7/2; see dog7

Dirk: Diesel, me, {x}, van. || x~72/4; vanfuel6=pay Dirk x van

Elif: Dressing gown for Carla's fiftieth. The givers are Ana, Femke, Goran, Mirjam and I. {x}, and I've paid it. || x~90/5; gown=pay Elif x Ana+Femke+Goran+Mirjam+Elif
Dirk: I thought that I was in on the gown?
Elif: You gave her the pumpkin, Dirk. The gown's us five. || see gown

Carla: I'm fifty, I'm in a gown, and tonight everything in the tavern's on me. Nobody dares to open a purse.
Bruno: I dare nothing.

Goran: Hydraulic jack. It's half the van's and half the barn's, so we said: half of it is for the four with the van, half for the three in the barn, and yes, two of you are in both. I paid {x}. || x~72/24; jack1=pay Goran x/2 van; jack2=pay Goran x/2 barn
Hanna: I'm in both. I'm a jack of both. || see jack1; see jack2
Dirk: So am I || see jack1; see jack2

Jonas: Bruno, this is late: my quarter of the first fish supper, from February. I've put it into the flour. || see fish
Bruno: I've sieved it out. It's there, and so is a receipt of yours for a wizard. || give Jonas Bruno fish/4; see fish

Ana: Flour people, I know I'm not one, but I've paid for yours at the mill, {x:w} it was. || x~33/3w; flour5=pay Ana x Bruno+Femke+Hanna

Leo: Vegetables have come, I've paid. || veg20=pay Leo veg veg

Femke: About the bed for the dog, my third. Dirk, I've transferred it. || see dog8
Dirk: Got it, yes. And Rosa's got the bed, she sleeps next to it. || give Femke Dirk dog8/3; see dog8

Elif: We four in the attic have had the stove looked at, {x} and he's washed his hands in our soup. I've paid. || x~76/4; stove=pay Elif x attic
Bruno: I was for it, I've eaten the soup.

Goran: About the net in July. I read it wrong, I'm long-sighted: {y} less than I said. || y~6/3; net.amount=net-y

Mirjam: Storm lantern: I lost Hanna's, so I've bought her a new one for {x}, that's of course my business alone. But she wanted a bigger one and pays me the {y} that it's more. || x~20/1; y~8/1; lantern=pay Mirjam y Hanna
Hanna: Will do. Bigger is bigger. || see lantern

#
Dirk: Put the beds to bed.

Ivo: Orion's back, everybody. I missed him.

Bruno: Mushrooms in the wood by the quarry. I've eaten three and I'm still typing.

Hanna: The tail's a marten. He's called Rent, because he's always due.

Jonas: Coffee. Coffee coffee. Coffee.

Leo: My mother's moving to the seaside, the flat's 1,300, she says it includes the gulls.

Ana: I've been asked whether I'd like to lead the department. For 90 more a month. I said that I'd rather keep goat calves.

Mirjam: The clocks will go back, and Kevin doesn't accept it.

Elif: I'm weaving again! It's grey! It's meant to be!

Femke: Two of the hens have moved in with the goat.

Goran: Hauled the dinghy out for the winter with the tractor, the farmer wouldn't take any money, he took a jar.

Katia: My flat in Krakow has a view of a wall. It's a good wall. Miss you all.

Dirk: Have you noticed that the village has gone quiet since the parrot left?
Goran: I've noticed nothing.

Carla: It says here that people spend 700 a year on candles. Which people? Elif?

Hanna: Someone honked at me and I honked back, and it was the priest.

Bruno: If one more person asks what's for dinner it's going to be Otto.

Jonas: I've got a cold and I'm a tree. I sneezed and the leaves fell. They clapped.

Leo: Wet leaves on the steps, I've been down them in one go.

Ivo: Half-price on telescopes, it's still 2,000, and I've gone for a walk instead.

Elif: Who took the ladder? I'm in the hall. I've been in the hall for a while.

Mirjam: We've got a visitor who says he's from the census again. The cat's dealing with it.

Ana: There's ice on my bike seat. I've sat on it. That's my morning.

Femke: Neighbours had to pay 80 for the goat's dentist. It has better teeth than me.

Dirk: I've got the tooth out at last, 290 and not 310, and I've kept it. It's on the piano.

Carla: I'd like it on record that I was surprised. I was so surprised that I dropped the jam.

Hanna: Could you not put teeth on the piano

Goran: Does anyone have use for 400 walnuts?
Carla: How many are 400 walnuts?
Goran: About four hundred

Carla: Five jars of quince, and they've all set, I'm a chemist.

Bruno: Lost a fiver on the goat derby. I deserve it, I'd bet on the goat.

Leo: Halloween: we had two children at the gate and eleven adults giving them sweets.

Jonas: The wizard wants his money back for the fog machine. I've told him that it's vanished.

Ivo: I'd do the bins for a year if somebody fixed that boiler's Bach. It's stuck in the fugue.
@ 11
Mirjam: Film club, have you got room for one more? I promise not to chew. || in film Mirjam
Elif: In you go, four's a better number

Ana: Film night, I'm just the messenger: Jonas has bought the tickets, {x:w} euros together, for you lot in the club. || x~40/4w; film11=pay Jonas x film

Femke: The loom's been sold!!! A weaver from over the hill has paid {x} and taken it. It's Hanna's, Mirjam's and mine by now, I've got the whole of the money here, so I owe the other two a third each. || x~90/3; loomsale=pay Femke -x Hanna+Mirjam+Femke
Leo: I can see the hall. There's a floor in the hall.

Hanna: Raclette at our place! I've bought everything for {x}, it's for those who ate: Dirk, Goran, Carla, Ivo and me. || x~65/5; open raclette
Ivo: Not me, I was at work by then, I only said hello to the potatoes || open raclette
Hanna: Ivo. You sat next to me and you had seconds. || open raclette
Ivo: That was the Friday. I wasn't there on the Saturday and I'm not paying for it || open raclette
Hanna: It was the Saturday and you were. || open raclette

Carla: No more coffee for me as of today, the doctor's been looking at me over his glasses. || out coffee Carla
Jonas: Five again. More for me.

Dirk: Five, and I've bought the next one. It's what Jonas had paid, less {y} that I've haggled. || y~6/1; coffee11=pay Dirk coffee10-y coffee

Leo: Winter tyres are on. {x} for fitting and balancing. From my pocket, for the van. || x~88/4; winter=pay Leo x van

Bruno: Goose! For the goose eaters: Ana, Elif, Femke, Jonas, Leo, Mirjam, and the cook of course. {x} at the farm, I've paid, seven even shares. || x~112/56; goose=pay Bruno x Ana+Elif+Femke+Jonas+Leo+Mirjam+Bruno
Jonas: The cook doesn't pay! We six ought to pay the cook's share.
Ana: Hear, hear || see goose
Bruno: Sit down. The cook pays. Seven. || see goose

Elif: Mirjam has asked whether the goose includes her friend from the choir, who came along. She'll pay for two, won't you.
Mirjam: Two for me, I brought her. So that's eight plates, Bruno. || goose+Mirjam; see goose
Bruno: Eight plates, two of them Mirjam's. Right. || see goose

Goran: I've paid Haug's for soldering Thetis, {x}, that's my own bike and my own grief. And I've had them solder the barn's door hinge for another {y}, that one's ours, the barn's. || x~25/1; y~18/3; hinge=pay Goran y barn

Femke: Rosa's winter coat was {x}, it's red, I paid, she hates it, it's thirds. || x~36/3; dog10=pay Femke x dog

Carla: Box at the gate, paid. || veg21=pay Carla veg veg

Carla: Correction, the lad ran after me: it had been only half a box, because of the frost, so he's given me half of it back. || veg21.amount=veg21/2

Ana: Haug's have written to Leo about the tyres that he bought in June. Tell them, Leo!
Leo: They'd made a mistake, I get {y} back, and I've got it already. So the June ones were that much less, for the four of us. || y~28/4; tyres.amount=tyres-y

Katia: Hello from the tram. Goran, I've sent you my third of the chimney sweeping, in June there were three of us, weren't there? || see sweep
Goran: Three, Your Grace, and it's arrived. || give Katia Goran sweep/3; see sweep

Ivo: The attic's got a new telescope mount, well, it's a coat stand. {x}, but that's just for me and Bruno, the other two hang their things on the floor. I've paid. || x~44/2; stand=pay Ivo x Ivo+Bruno

Elif: Bruno, your carpet quarter's through, Ana's sitting here and asks me to say so. || give Bruno Ana carpet/4; see carpet
Ana: I did ask her. He has paid me, and I've the flour on my hands to prove it. || see carpet

Hanna: Dirk, Goran: mouse-proof bins for the barn. I've laid out {x}. Goran says his share ought to go on Dirk, whose muesli it was that fetched the mice. || x~42/3; bins=pay Hanna x barn
Dirk: It was muesli with nuts, I admit everything. Two thirds for me, Hanna's got one. || bins.move Goran Dirk

Leo: Oil's been again. {x}. I was the only one with money in the bank, so I've paid him, for the house. || x~252/12; oil2=pay Leo x all

Mirjam: Mulled wine evening, I'd bought for {x}. Drinkers: Carla, Goran, Hanna, Leo. I don't drink, so I'm not in it, I only stirred. || x~36/4; mulled=pay Mirjam x Carla+Goran+Hanna+Leo
Carla: My doctor says wine's fine as long as it isn't coffee

Dirk: Elif, about the plum press, my purse says you've paid me your quarter. I just hadn't looked. || give Elif Dirk press/4; see press

#
Goran: November. The month that was invented by somebody without a barn.

Bruno: Otto's been entered for the village bread prize. First prize is 50 euros and a sash.

Hanna: Rent the marten's moved to the van.

Carla: My hands want to hold a cup. They've been given an apple.

Ivo: Taurids! Three an hour, if you believe.

Elif: The loom's left a pale patch on the floor, in the shape of a loom. I'm weaving with my memory.

Femke: Seventh day of drizzle. The hens play cards.

Jonas: Premiere of the tree. I was nominated for a branch.

Ana: They've promoted somebody else, he gets the 90, I get the calves. It's all good.

Mirjam: Pepper's found the walnuts. He plays football with them. At three.

Dirk: The hat thing. I've eaten a bit of the brim. I'm a man of my word.

Goran: Carved a spoon. It took me eleven hours and you can buy them for 2.50.
Bruno: But not with your blood on it

Hanna: My licence has arrived as a card, I look like a wanted person.

Katia: I've bought mittens for 9 euros from a woman who told my future. It's mittens.

Elif: Advent's coming and I've lost the star. Do you lend stars, Ivo?

Carla: My niece took the flat. 2,400. We've all lit a candle, she lit a cheap one.

Ivo: If the clouds don't go, I'm going to be the first astronomer who's paid for watching ceilings.

Leo: Broke the blue pot. The lid's all right.
Bruno: I need a minute

Jonas: The priest asked Hanna for a lift. They honked together.

Leo: Rosa in her coat looks like a furious postbox.

Femke: Somebody's put a scarf on the goat

Dirk: Leaves: raked. Leaves: back.

Ana: My gran's sent another 50 with "for something nicer". So, better socks.

Mirjam: I'm learning the accordion. Femke's teaching me. You've been warned in writing.

Bruno: Otto has WON. I've got the sash on. The fifty's in my pocket and going nowhere.

Goran: Has anybody got a spare 12 mm spanner? Not to buy, I just want to hold one.

Hanna: The landlord of my friend in town wants 300 for a key. For one key. I offered to gnaw the door.

Elif: First snow! On the bins!

Carla: Fairy lights are up again. Don't touch the clock, it's behaving.

Leo: Library number three: 140. They like me. I don't understand it either.
@ 12
Carla: Please cross me out at the vegetables, they and I need a rest. The four of you can have the gate. || out veg Carla

Elif: We can. Box today, a whole one and full price. I've paid. || veg22=pay Elif veg veg

Dirk: Van's been filled, {x}. And a scraper, {y}. I've put in both. || x~74/4; y~6/4; vanfuel7=pay Dirk x+y van

Goran: Tree from the forester for the house, {x}, cash, it's so tall that it had to be introduced to the ceiling. || x~48/12; tree=pay Goran x all

Jonas: Coffee: me. It's {x}. We're five. || x~65/5; coffee12=pay Jonas x coffee

Bruno: St Nicholas presents for the neighbours' children, from Carla, Hanna, Ivo and me: {x:w} euros, and I've been to the toyshop and have paid it. || x~48/4w; toys=pay Bruno x Carla+Hanna+Ivo+Bruno
Ivo: My share of the toys should go to Hanna, she lost at chess and those were the stakes || see toys
Hanna: They were. I'll pay for Ivo too. || toys.move Ivo Hanna
Ivo: Oh, let it be, Hanna, I'll pay my own, you let me win. || toys.who=Carla+Hanna+Ivo+Bruno
Hanna: All right. Each their own, as it was. || see toys

Leo: Tickets for the Christmas film, I was in town, {x} a ticket, one for each that's in the club. I'm not, I've only paid. || x~9.5/1; film12=pay Leo x*4 film

Femke: Bone broth and the vet's Christmas check: {x} for the dog. I paid. Rosa's three humans, please. || x~54/3; dog11=pay Femke x dog

Ana: Attic insulation. It came to {x}, I've paid the firm, and the town's already given me a grant of {y} for it, so it's only what's left that the attic shares. || x~320/4; y~120/4; insul=pay Ana x-y attic

Elif: I've brought Ana the money for my part of the insulation. || see insul
Ana: You have, and in such small coins. All there, Elif. || give Elif Ana insul/4; see insul

Mirjam: Leo's mother's present: it's from Leo, Jonas (she's mad about the tree) and me. {x}, I've paid for it. || x~57/3; present=pay Mirjam x Leo+Jonas+Mirjam

Hanna: Mirjam, what it was more for the lantern, I've slid it under your door. || see lantern
Mirjam: Slid and found. || give Hanna Mirjam lantern; see lantern

Dirk: Wood for the barn's stove, a metre and a half, {x}, mine was the money. Hanna and Goran, stop looking at me like that, it's thirds. || x~99/3; wood2=pay Dirk x barn

Carla: Femke's third of the loom, what she owed to Hanna, she's given to me to pass on. || see loomsale
Hanna: And Carla has passed it on. So Femke and I are done with the loom. || give Femke Hanna loomsale/-3; see loomsale

Goran: The boiler man's come round in person. In June he'd charged Ana for a valve that he never put in. He's paid it back, {valve}, into Ana's hand. || valve~26/13; see boiler
Ana: In my hand it is. So the boiler's cheaper for all thirteen who were here then, Katia as well. || boiler.amount=boiler-valve

Ivo: Chinese again! Same people as on the night of the long repair, but Katia's in Krakow, so Elif had hers. I paid {x}. || x~52/4; chinese2=pay Ivo x Goran+Elif+Ivo+Bruno
Elif: I had hers and somebody's prawn crackers

Leo: The choir's Christmas concert: I bought for Ana, Carla and Femke, {x} for three. I had to work, and didn't have a ticket. || x~36/3; choir=pay Leo x Ana+Carla+Femke
Femke: I never got in, there'd been only two seats left, I'd told you at the door. || see choir
Leo: Right, and they refunded that one at the till, I forgot. So it's two thirds of the sum, and it's for Ana and Carla. || choir.amount=choir*2/3; choir-Femke

Jonas: Christmas dinner. We've shopped for the house, Hanna and I: I had {x} of it on my card and she had {y} on hers. || x~84/12; y~60/12; xmas1=pay Jonas x all; xmas2=pay Hanna y all
Bruno: And I've cooked, which can't be paid.

Goran: It's me, confessing. The logs from January, you remember, Katia and I and then Leo: Mr Odell has found out that he'd had the bigger half, and given me {y} back. || y~9/3; logs.amount=logs-y
Leo: Mr Odell is an honest man with a rude goat. || see logs

Femke: Carla wants you to know that her share of the mulled wine went to Mirjam the same night. || see mulled
Mirjam: True. I'd put it into the goose-fat jar, by mistake. It's all washed now. || give Carla Mirjam mulled/4; see mulled

Dirk: My cousin's the new ferryman, not Femke's cousin, mine. He'd have let you all on for free in spring. You can't have it back, I've asked.

Mirjam: Veg, and it's the last for the year. I was there, I've paid it, and he's had a walnut. || veg23=pay Mirjam veg veg

Ana: Sledge! Bought with Ivo and Jonas, I'm {x} poorer, they're going to be a third of that each. || x~51/3; sledge=pay Ana x Ana+Ivo+Jonas
Jonas: I've been on it once and I've hit the Odells' fence.
Ivo: He's paid the fence with a jar. The sledge is thirds. || see sledge

Ivo: Ana, I've sent you my third of the sledge. || see sledge
Ana: Not here yet, the banks are closed, they say next year. || see sledge

Elif: Bulbs for the attic from the chandler's, {x}, the four of us, and I've paid. Last one for this year, I swear. || x~22/4; bulbs=pay Elif x attic

Bruno: Fireworks I'm not paying for. Fizz I've paid for: {x}. It's for Dirk, Elif, Femke, Jonas and me, the rest of you have your cider. || x~55/5; fizz=pay Bruno x Dirk+Elif+Femke+Jonas+Bruno
Dirk: Jonas isn't even here tonight.
Jonas: I'm at the theatre till one, keep me a glass, I'm still in on the fizz. || see fizz

Carla: So. That's the year. I'm going to have all this worked out by somebody with patience.

#
Bruno: It's the first of December and Elif has opened all 24 doors.
Elif: Prove it

Ivo: Geminids on the 13th. It'll be cloudy. It's always cloudy.

Jonas: The tree (me) next to the tree (tree): there's a photo.

Leo: If Rosa pulls the tree down, nobody saw her.
Femke: I saw her
Leo: Nobody

Hanna: 45 euros for a wreath at the market! I've nailed some twigs to a hoop. It's a hoop with twigs.

Mirjam: First accordion concert at seven in the hall. Entry's free. Leaving costs 5 euros.
Goran: Worth it

Katia: I'm coming for New Year! I'll sleep on the piano! I'll bring the fighting cheese!
Carla: She's COMING

Dirk: The tooth has gone from the piano. Who steals a tooth?
Jonas: A fairy with a truck

Ana: I've finished my cards. If you haven't got one, then you've annoyed me, or it's in the post.

Carla: Decaf. It's like kissing a photograph.

Goran: Slept in the hay once more for the look of it. Had to be dug out.

Elif: Candles: 40 in vouchers left over from the bonus. I'm rich in wax.

Femke: The garage rang to say that the van has passed away. It was the wrong van.
Leo: I'd already taken my hat off

Hanna: It's minus eleven in the barn and plus eleven with the marten.

Ivo: Got my contract made permanent!! Nights for life!!
Bruno: Ivo! I'd hug you but you're asleep

Jonas: 15 encores. All right, 2. All right, one person wouldn't leave.

Mirjam: Salt had kittens. Three. So Salt's not what we thought.

Dirk: Could we all agree on one kind of tape. There are nine kinds of tape.

Leo: Grandma's paid me 20 for shovelling her snow. I'm 34.

Bruno: The gingerbread house has been bought by ants.

Katia: My train's 64 one way, and I'd pay it twice to see Dirk's pumpkin.
Dirk: She's soup by now, Katia. You were delicious.

Carla: Does the year feel short to you or is it my gown

Elif: Ladder's in the tree. Why's the ladder in the tree?

Goran: I hereby forgive everyone who's ever called me Captain. It's Admiral.

Ana: Fog, snow, fog. I walked to work by ear.

Femke: The goat's been given a coat as well. It's red. It's war.

Hanna: Next year, we'll write things into a list. I mean it.
Leo: We mean it every year
Hanna: We do mean it every year.

Ivo: Last clear night of the year. South-east, bright one, that's Jupiter. Happy new year from the roof.
"""
