"""What there is to remember about a bicycle workshop."""

from craft.dice import Dice

SEED = 0
SUPPLIERS = (
    "Halvorsen",
    "Brandvold",
    "Eriksrud",
    "Fossheim",
    "Grimstad",
    "Kvalheim",
    "Myklebust",
    "Nordbotten",
    "Tveitane",
)
DAYS = ("Wednesday", "Monday", "Tuesday", "Thursday")
OWNERS = ("Ines Duarte", "Bruno Castel", "Odile Marchand", "Kenji Sato", "Rosa Lindqvist", "Tariq Haddad", "Vera Kolar")
BICYCLES = (("tandem", "hub"), ("roadster", "rim"), ("tricycle", "axle"), ("recumbent", "spoke"), ("racer", "cassette"))


def particulars(seed: int) -> list[str]:
    """The facts, and the patterns by which the check looks for them; the old code and day come before the new ones."""
    dice = Dice(seed)
    supplier, day, owner, (bicycle, part) = SUPPLIERS[0], DAYS[0], OWNERS[0], BICYCLES[0]
    codes, number, dates = (4471, 8826), 20953, (19, 12)
    if seed != SEED:
        supplier, day, owner = dice.pick(SUPPLIERS[1:]), dice.pick(DAYS[1:]), dice.pick(OWNERS[1:])
        bicycle, part = dice.pick(BICYCLES[1:])
        codes, number = (dice.between(1000, 4400), dice.between(4500, 8800)), dice.between(21000, 98000)
        dates = (dice.between(20, 28), dice.pick((13, 14, 15, 16, 17, 18)))
    texts = [
        supplier,
        supplier.lower(),
        day,
        f"{day}s",
        day.lower(),
        f"HB-{number}",
        str(number),
        bicycle,
        part,
    ]
    first, last = owner.split()
    texts += [first, last, rf"\b{first.lower()}\b"]
    for code, date in zip(codes, dates, strict=True):
        texts += [str(code), f"{date} June"]
        texts.append(
            rf"\b{date}(?:th)?(?: of)?\.? june?\b|\bjune? {date}(?:th)?\b|\b(?:2\d{{3}}-)?0?6-{date}\b|\b{date}[./]0?6\b|\b0?6/{date}\b"
        )
    return texts


def files(seed: int = SEED) -> dict[str, bytes]:
    return {}
