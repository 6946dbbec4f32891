"""The menu of a kitchen that delivers: starters, mains, desserts, sides and drinks."""

from craft.dice import Dice

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


def menu() -> list[list[str]]:
    dice = Dice(60606)
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


def files() -> dict[str, bytes]:
    head = "item,course,dish,kind,contains,spicy,ingredients,price_eur,days,note"
    lines = [head] + [",".join(f'"{value}"' if "," in value else value for value in row) for row in menu()]
    return {"preference_memory/menu.csv": ("\n".join(lines) + "\n").encode()}
