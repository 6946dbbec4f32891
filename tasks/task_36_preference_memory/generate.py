"""The menu of a kitchen that delivers: starters, mains, desserts, sides and drinks."""

from collections.abc import Iterator
from hashlib import sha256
from itertools import product

from craft.dice import Dice

SEED = 60606
# Those who come, by what is said of them: a name of the public form, and others.
NAMES = {
    "Marlis": "Ulrike Sunniva Pernille Annegret Ottilie Friederike",
    "Ayo": "Kwame Jomo Sekou Tunde Amadi Chidi",
    "Bente": "Solveig Ragnhild Astrid Ingvild Torunn Sigrid",
    "Carlos": "Mateo Rafael Tomas Joaquim Duarte Nuno",
    "Dunja": "Mirjana Vesna Zora Jadranka Snezana Ljuba",
    "Emil": "Anton Valentin Konrad Lorenz Quirin Kaspar",
    "Farah": "Leila Samira Nadia Yasmin Soraya Zahra",
    "Goran": "Dragan Zoltan Branko Milos Ivica Zvonimir",
    "Hanne": "Karin Grete Birthe Dorte Mette Kirsten",
    "Ines": "Beatriz Catarina Leonor Matilde Joana Marta",
}
ADDRESSES = (
    "Lockgate 14",
    "Millrace 23",
    "Tanyard 31",
    "Ropewalk 16",
    "Saltway 42",
    "Quarry Lane 19",
    "Coopers Row 36",
)
HALLS = ("Bridge Hall", "Tower Hall", "Garden Hall", "Station Hall", "Harbour Hall", "Corn Hall")
# Dinner and how many minutes before it the food comes, at first and from the third talk on.
TIMES = ((19, 30, 20, 19, 0, 30), (20, 15, 25, 19, 45, 40), (18, 45, 15, 20, 30, 50), (20, 30, 35, 18, 15, 45))
BUDGETS = ((24, 27), (23, 26), (25, 28), (21, 29), (22, 26), (23, 28))
RULES = {  # by the names of the public form
    "Marlis": lambda row: "mushroom" not in row[6] and not {"raw fish", "raw egg"} & contained(row),
    "Ayo": lambda row: row[1] != "main" or row[3] in ("chicken", "beef"),
    "Bente": lambda row: row[3] == "vegan",
    "Dunja": lambda row: row[3] != "pork",
    "Emil": lambda row: "sesame" not in contained(row) and (row[1] != "main" or row[3] == "fish"),
    "Farah": lambda row: row[5] == "0",
    "Goran": lambda row: "gluten" not in contained(row),
    "Hanne": lambda row: not {"fish", "shellfish"} & contained(row),
    "Ines": lambda row: "egg" not in contained(row),
}
TEENS = "twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
COURSES = ("starter", "main", "dessert")

STARTERS = [
    ("Tomato soup", "vegan", "celery", 0, "tomatoes, basil"),
    ("Potato and leek soup", "vegetarian", "milk;celery", 0, "potatoes, leeks, cream"),
    ("Mushroom soup", "vegetarian", "milk", 0, "button mushrooms, cream"),
    ("Lentil soup with chilli", "vegan", "celery", 2, "red lentils, chilli"),
    ("Coconut soup", "vegan", "", 1, "coconut milk, lemongrass, ginger"),
    ("Clear soup with noodles", "chicken", "gluten;egg;celery", 0, "chicken broth, noodles"),
    ("Green salad", "vegan", "mustard", 0, "leaves, radishes, vinaigrette"),
    ("Salad with walnuts", "vegan", "nuts;mustard", 0, "leaves, walnuts, pear"),
    ("Salad with fried ceps", "vegan", "mustard", 0, "leaves, ceps (wild mushrooms)"),
    ("Caesar salad", "vegetarian", "gluten;milk;egg;raw egg;mustard", 0, "romaine, croutons, hard cheese"),
    ("Bean salad", "vegan", "mustard", 0, "white beans, onions, parsley"),
    ("Beetroot carpaccio", "vegan", "nuts", 0, "beetroot, hazelnuts"),
    ("Beetroot with goat's cheese", "vegetarian", "milk", 0, "beetroot, goat's cheese"),
    ("Hummus with flatbread", "vegan", "gluten;sesame", 0, "chickpeas, tahini"),
    ("Aubergine dip with rice crackers", "vegan", "sesame", 0, "aubergines, tahini"),
    ("Pea dip with rice crackers", "vegan", "", 0, "peas, mint"),
    ("Spring rolls", "vegan", "gluten;soy", 1, "cabbage, carrots"),
    ("Summer rolls with tofu", "vegan", "soy;sesame", 0, "rice paper, tofu, herbs"),
    ("Tuna tartare", "fish", "fish;raw fish;soy;sesame", 0, "raw tuna, avocado"),
    ("Salmon ceviche", "fish", "fish;raw fish", 1, "raw salmon, lime"),
    ("Smoked trout on rye", "fish", "fish;gluten;milk", 0, "trout, horseradish cream"),
    ("Prawn cocktail", "shellfish", "shellfish;egg", 0, "prawns, lettuce"),
    ("Prawn skewers", "shellfish", "shellfish", 2, "prawns, garlic, chilli"),
    ("Ham and melon", "pork", "", 0, "cured ham, melon"),
    ("Pork dumplings", "pork", "gluten;soy;sesame", 1, "pork, ginger"),
    ("Chicken satay", "chicken", "nuts;soy", 1, "chicken, peanut sauce"),
    ("Chicken liver pate", "chicken", "milk;egg", 0, "chicken livers, cognac"),
    ("Beef tartare", "beef", "egg;raw egg;mustard", 0, "raw beef, raw yolk, capers"),
    ("Cheese puffs", "vegetarian", "gluten;milk;egg", 0, "hard cheese, choux pastry"),
    ("Stuffed mushrooms", "vegan", "", 0, "mushrooms, herbs, rice"),
    ("Grilled peppers", "vegan", "", 0, "peppers, capers"),
    ("Bruschetta", "vegan", "gluten", 0, "bread, tomatoes"),
]
PROTEINS = [
    ("Chicken", "chicken", "", "13.40"),
    ("Beef", "beef", "", "16.90"),
    ("Pork belly", "pork", "", "14.20"),
    ("Salmon", "fish", "fish", "16.20"),
    ("Cod", "fish", "fish", "15.60"),
    ("Prawns", "shellfish", "shellfish", "17.10"),
    ("Tofu", "vegan", "soy", "11.80"),
    ("Chickpeas", "vegan", "", "10.90"),
    ("Aubergine", "vegan", "", "11.40"),
    ("Halloumi", "vegetarian", "milk", "12.60"),
]
STYLES = [
    ("in lemon butter", "milk", 0, "butter, lemon, potatoes", 120),
    ("with sesame glaze", "sesame;soy", 0, "sesame, soy sauce, rice", 90),
    ("with noodles", "gluten;egg", 0, "egg noodles, cabbage", 0),
    ("with rice and herbs", "", 0, "rice, parsley, dill", 40),
    ("in coconut curry", "", 2, "coconut milk, chilli, rice", 80),
    ("with peanut sauce", "nuts;soy", 1, "peanuts, rice", 60),
    ("with barley and mushrooms", "gluten;celery", 0, "barley, brown mushrooms", 70),
    ("in a mustard cream", "milk;mustard", 0, "cream, mustard, potatoes", 110),
    ("with flatbread and yoghurt", "gluten;milk", 1, "flatbread, yoghurt, mint", 50),
    ("with roasted roots", "celery", 0, "carrots, celeriac, parsnips", 60),
    ("with chilli and beans", "", 3, "black beans, chilli, maize", 30),
]
DESSERTS = [
    ("Fruit salad", "vegan", "", "fruit of the day"),
    ("Mango sorbet", "vegan", "", "mango"),
    ("Lemon sorbet with vodka", "vegan", "", "lemon, vodka"),
    ("Rice pudding with coconut", "vegan", "", "rice, coconut milk"),
    ("Rice pudding with cinnamon", "vegetarian", "milk", "rice, milk"),
    ("Chocolate mousse", "vegetarian", "milk;egg;raw egg", "chocolate, raw egg"),
    ("Chocolate mousse with avocado", "vegan", "", "chocolate, avocado"),
    ("Brownie", "vegetarian", "gluten;milk;egg;nuts", "chocolate, walnuts"),
    ("Brownie without flour", "vegetarian", "milk;egg;nuts", "chocolate, almonds"),
    ("Tiramisu", "vegetarian", "gluten;milk;egg;raw egg", "mascarpone, coffee, raw egg"),
    ("Panna cotta", "beef", "milk", "cream, beef gelatine"),
    ("Apple crumble", "vegan", "gluten", "apples, oats"),
    ("Apple crumble with custard", "vegetarian", "gluten;milk;egg", "apples, custard"),
    ("Sesame brittle with plums", "vegan", "sesame", "plums, sesame"),
    ("Baklava", "vegan", "gluten;nuts", "pistachios, syrup"),
    ("Cheesecake", "vegetarian", "gluten;milk;egg", "fresh cheese"),
    ("Yoghurt with honey", "vegetarian", "milk", "yoghurt, honey"),
    ("Yoghurt with tahini", "vegetarian", "milk;sesame", "yoghurt, tahini, dates"),
    ("Creme brulee", "vegetarian", "milk;egg", "cream, vanilla"),
    ("Poached pear", "vegan", "", "pear, red wine"),
    ("Carrot cake", "vegetarian", "gluten;egg;nuts", "carrots, walnuts"),
    ("Soy ice cream", "vegan", "soy", "soy, vanilla"),
]
SIDES = ["Rice", "Fried potatoes", "Flatbread", "Pickles", "Slaw", "Green beans", "Olives", "Bread and butter"]
DRINKS = [
    "Still water",
    "Sparkling water",
    "Apple juice",
    "Rhubarb spritz",
    "Ginger beer",
    "Lager",
    "White wine",
    "Red wine",
    "Iced tea",
    "Cola",
]
DAYS = [
    "Mon Tue Wed Thu Fri Sat Sun",
    "Tue Wed Thu Fri Sat",
    "Mon Wed Thu Sun",
    "Thu Fri Sat",
    "Fri Sat Sun",
    "Mon Tue Wed",
]


def contained(row: list[str]) -> set[str]:
    return set(row[4].split(";"))


def drawn_menu(dice: Dice) -> list[list[str]]:
    rows: list[list[str]] = []

    def add(mark, course, dish, kind, contains, spicy, ingredients, price):
        # Most dishes are there on Thursday; a few are sold out.
        days = dice.pick(DAYS[:4]) if dice.chance(0.68) else dice.pick(DAYS[4:])
        note = "sold out until 22 June" if dice.chance(0.07) else "new" if dice.chance(0.08) else ""
        number = sum(row[1] == course for row in rows) + 1
        rows.append(
            [f"{mark}{number:02}", course, dish, kind, contains, str(spicy), ingredients, f"{price:.2f}", days, note]
        )

    for dish, kind, contains, spicy, ingredients in dice.shuffled(STARTERS):
        add("S", "starter", dish, kind, contains, spicy, ingredients, dice.between(84, 178) * 0.05)
    mains = []
    for protein, kind, contains, price in PROTEINS:
        for style, more, spicy, ingredients, cents in STYLES:
            allergens = [each for each in (contains + ";" + more).split(";") if each]
            own = kind
            if kind == "vegan" and {"milk", "egg"} & set(allergens):
                own = "vegetarian"
            # No fish without either milk or sesame: who still leaves milk out finds none.
            if kind == "fish" and not {"milk", "sesame"} & set(allergens):
                continue
            if kind == "fish" or dice.chance(0.62):
                mains.append(
                    (
                        f"{protein} {style}",
                        own,
                        ";".join(dict.fromkeys(allergens)),
                        spicy,
                        f"{protein.lower()}, {ingredients}",
                        float(price) + cents / 100,
                    )
                )
    for dish, kind, contains, spicy, ingredients, price in dice.shuffled(mains):
        add("M", "main", dish, kind, contains, spicy, ingredients, price + dice.between(-12, 12) * 0.05)
    for dish, kind, contains, ingredients in dice.shuffled(DESSERTS):
        add("D", "dessert", dish, kind, contains, 0, ingredients, dice.between(76, 142) * 0.05)
    for dish in SIDES:
        add("B", "side", dish, "vegan", "", 0, dish.lower(), dice.between(40, 90) * 0.05)
    for dish in DRINKS:
        add("W", "drink", dish, "vegan", "", 0, "", dice.between(40, 110) * 0.05)
    return rows


def is_there(row: list[str]) -> bool:
    return "Thu" in row[8] and "sold out" not in row[9]


def has_order(menu: list[list[str]], budget: int) -> bool:
    """Whether everybody finds dishes for the money, with at most four mains, when those with the fewest choose first."""
    there = [row for row in menu if is_there(row)]
    fitting = {
        name: [[row for row in there if row[1] == course and rule(row)] for course in COURSES]
        for name, rule in RULES.items()
    }
    mains: list[str] = []
    for dishes in sorted(fitting.values(), key=lambda dishes: len(dishes[1])):
        affordable = [
            three for three in product(*dishes) if sum(round(100 * float(row[7])) for row in three) <= 100 * budget
        ]
        if not affordable:
            return False
        mains.append(
            min(affordable, key=lambda three: (three[1][0] not in mains, sum(float(row[7]) for row in three)))[1][0]
        )
    return len(set(mains)) <= 4


def first_dishes(menu: list[list[str]]) -> tuple[int, int]:
    """How many are served what they may eat, and what there is, if all get the first dishes that suit their diet by name."""
    kinds = {"Ayo": ["chicken"], "Bente": ["vegan"], "Emil": ["fish"], "Dunja": ["beef", "vegetarian"]}

    def first(course: str, kinds: list[str]) -> list[str]:
        return next(row for row in menu if row[1] == course and row[3] in kinds)

    fine = there = 0
    for name, rule in RULES.items():
        mains = first("main", kinds.get(name, ["vegetarian", "vegan"]))
        three = [first("starter", ["vegan"]), mains, first("dessert", ["vegan"])]
        fine += all(map(rule, three))
        there += all(map(is_there, three))
    return fine, there


class Dinner:
    """What one form is about."""

    def __init__(self, seed: int) -> None:
        dice = Dice(seed)
        if seed == SEED:
            self.names = dict(zip(NAMES, NAMES, strict=True))
            self.address, self.hall, self.people, self.head = ADDRESSES[0], HALLS[0], 12, 15
            self.times, self.budgets = TIMES[0], BUDGETS[0]
            self.menu = drawn_menu(dice)
            return
        self.names = {name: dice.pick(others.split()) for name, others in NAMES.items()}
        self.address, self.hall = dice.pick(ADDRESSES[1:]), dice.pick(HALLS[1:])
        self.people, self.head = dice.between(13, 19), dice.between(16, 23)
        self.times, self.budgets = dice.pick(TIMES[1:]), dice.pick(BUDGETS[1:])
        wanted = first_dishes(drawn_menu(Dice(SEED)))
        while True:
            self.menu = drawn_menu(dice)
            if first_dishes(self.menu) == wanted and has_order(self.menu, self.budgets[1]):
                return

    def table(self) -> bytes:
        head = "item,course,dish,kind,contains,spicy,ingredients,price_eur,days,note"
        lines = [head] + [",".join(f'"{value}"' if "," in value else value for value in row) for row in self.menu]
        return ("\n".join(lines) + "\n").encode()


def files(seed: int = SEED) -> dict[str, bytes]:
    return {"preference_memory/menu.csv": Dinner(seed).table()}


def particulars(seed: int) -> list[str]:
    """Names and other facts, as the messages, the solution and the check's patterns have them."""
    dinner = Dinner(seed)
    hour, minute, before, later_hour, later_minute, later_before = dinner.times
    first = 60 * hour + minute - before
    delivered = 60 * later_hour + later_minute - later_before
    there_hour, there_minute = divmod(delivered, 60)
    old, new = dinner.budgets
    return [
        *_names(dinner), sha256(dinner.table()).hexdigest(),
        dinner.address, dinner.address.lower(), dinner.hall, dinner.hall.lower(),
        f"{dinner.people} people", f"{dinner.head} EUR a head", f"{dinner.people * dinner.head} EUR",
        rf"\b{dinner.people}\b|{TEENS[dinner.people - 12]}", rf"\b{dinner.people * dinner.head}\b",
        f"{old} EUR", f"{new} EUR", rf"\b{new}\b", f"{new}.005", f"Decimal({new})",
        f"{hour}:{minute:02}", f"{later_hour}:{later_minute:02}", f"{there_hour}:{there_minute:02}",
        f"{first // 60}:{first % 60:02}", f"{before} minutes before", f"{later_before} minutes before",
        rf"{later_hour}[:.]{later_minute:02}|{there_hour}[:.]{there_minute:02}|\b{later_hour - 12}(?:[:.]{later_minute:02}){'?' * (not later_minute)} ?p",
        rf"{there_hour}[:.]{there_minute:02}|{there_hour - 12}[:.]{there_minute:02} ?p",
        f'({there_hour}, "{there_minute:02}")',
    ]  # fmt: skip


def _names(dinner: Dinner) -> Iterator[str]:
    for name in dinner.names.values():
        yield from (name, name.lower())
    yield rf"\b{dinner.names['Emil'].lower()}"
