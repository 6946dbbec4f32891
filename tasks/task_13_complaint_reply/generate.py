"""A customer's complaint by mail and the shop's export of orders, in which her three orders stand among others."""

import csv
import io
from datetime import date, datetime, timedelta, timezone

from craft.dice import Dice
from craft.mail import eml

TODAY = date(2026, 4, 10)  # the export was made in the morning: it knows deliveries up to the day before
POLICY = date(2026, 2, 1)  # deliveries promised from here on get the policy's credit, earlier ones got goodwill
CUSTOMER = ("K-30418", "Henrike Vossloh")
GOODS = [
    ("Desk lamp Arve", 5900),
    ("Floor lamp Lunden", 14900),
    ("Wall shelf Birk 80", 7400),
    ("Stool Trond", 8900),
    ("Coat rack Elv", 11900),
    ("Side table Mose", 16900),
    ("Clock Tide", 4900),
    ("Bookcase Skog", 27900),
    ("Chair Nara", 13900),
    ("Bed linen Fjell", 6900),
    ("Mirror Kilde 60", 9900),
    ("Rug Hei 140", 18900),
]
NAMES = [
    "Tamsin Okoro",
    "Albrecht Niehues",
    "Yolanda Prieto",
    "Piet Haverkort",
    "Ragnhild Solem",
    "Dario Conte",
    "Maud Ferrand",
    "Ilse Brandis",
    "Oskar Lindqvist",
    "Nuala Keane",
    "Goran Petkov",
    "Femke Dijkhuis",
]
HEAD = "order,customer,name,item,quantity,price_eur,ordered,promised,delivered,status,compensation_eur,note".split(",")

# The customer's own rows. The price is the whole row's; the cabinet came 11 days after the promised day.
OWN = [
    ("B-77120", "Clock Tide", 1, 4900, date(2025, 11, 3), 4, 4, "delivered", 0, ""),
    ("B-78344", "Chair Nara", 4, 55600, date(2026, 1, 12), 10, 16, "delivered", 2000, "late; goodwill"),
    (
        "B-79031",
        "Cabinet Vik oak",
        1,
        46000,
        date(2026, 3, 2),
        18,
        29,
        "delivered",
        0,
        "door hinge reported 2 April by phone",
    ),
    (
        "B-79032",
        "Assembly service",
        1,
        6900,
        date(2026, 3, 2),
        18,
        0,
        "not carried out",
        0,
        "fitter did not come 31 March",
    ),
]

MAIL = """Dear Sir or Madam,

I have had enough. On 2 March I ordered the oak cabinet Vik from you,
together with your assembly service. It was promised for 20 March. It
came on 31 March, so nearly two weeks late, and nobody told me. I took
half a day off for nothing on the 20th.

Your fitter never turned up. My brother-in-law put the cabinet together
in the end. And then the left door would not close, because one hinge is
bent. I rang on 2 April and a young man (I think Mr Jansen) said
"somebody will get in touch". Nobody did.

That is the second time already: the chairs in January were late as
well. I paid 529 euros for this. I want:

1. the whole 529 euros back, and I want to keep the cabinet,
2. 150 euros for the half day I took off,
3. and to know what you will do about Mr Jansen.

Otherwise I shall write about it wherever I can.

Henrike Vossloh
Customer number K-30418
"""

# How the numbers rise: half days since 6 October 2025 and the number then, so that the customer's fit in.
STANDS = [(0, 76700), (56, 77120), (196, 78344), (294, 79036), (360, 79500)]


def numbered(half_days: int) -> int:
    """The number an order got that long after 6 October 2025, so that numbers rise with the dates."""
    for (begin, low), (end, high) in zip(STANDS, STANDS[1:], strict=False):
        if half_days <= end:
            return low + (high - low) * (half_days - begin) // (end - begin)
    raise ValueError(half_days)


def compensated(cents: int, promised: date, late: int) -> tuple[int, str]:
    """What others got for a delivery that came late, and the note on it."""
    if promised < POLICY:
        return (2000 if cents > 20000 else 1000, "late; goodwill") if late > 4 else (0, "")
    percent = 15 if late > 14 else 10 if late > 7 else 5 if late > 3 else 0
    return (cents * percent // 100, "late; credit") if percent else (0, "")


def files() -> dict[str, bytes]:
    dice = Dice(1306)
    rows = []

    def add(order, customer, item, quantity, cents, ordered, promised, taken, status, compensation, note):
        delivered = (ordered + timedelta(days=taken)).isoformat() if taken else ""
        if delivered >= TODAY.isoformat():
            delivered, status, compensation, note = "", "open", 0, ""
        rows.append(
            [order, *customer, item, quantity, f"{cents / 100:.2f}", ordered.isoformat()]
            + [(ordered + timedelta(days=promised)).isoformat(), delivered, status, f"{compensation / 100:.2f}", note]
        )

    people = [(f"K-3{dice.between(0, 9)}{dice.between(100, 399)}", name) for name in NAMES]
    for number in range(120):
        ordered = date(2025, 10, 6) + timedelta(days=number * 3 // 2)
        item, cents = dice.pick(GOODS)
        quantity = 1 if dice.chance(0.8) else 2
        promised = dice.between(4, 18)
        late = dice.between(1, 9) if dice.chance(0.15) else 0
        status = "returned" if dice.chance(0.06) else "delivered"
        taken = promised + late if late else promised - dice.below(3)
        paid, note = compensated(cents * quantity, ordered + timedelta(days=promised), late)
        add(
            f"B-{numbered(number * 3) + dice.below(7)}",
            dice.pick(people),
            item,
            quantity,
            cents * quantity,
            ordered,
            promised,
            taken,
            status,
            paid,
            note,
        )
    for order, item, quantity, cents, ordered, promised, taken, status, compensation, note in OWN:
        add(order, CUSTOMER, item, quantity, cents, ordered, promised, taken, status, compensation, note)
    rows.sort(key=lambda row: (row[6], row[0]))
    made = io.StringIO()
    csv.writer(made, lineterminator="\n").writerows([HEAD, *rows])
    mail = eml(
        sender="Henrike Vossloh <h.vossloh@mailbox.example>",
        to="service@nordhem.example",
        subject="Complaint: order B-79031",
        sent=datetime(2026, 4, 9, 21, 14, tzinfo=timezone(timedelta(hours=2))),
        text=MAIL,
    )
    return {"complaint_reply/orders.csv": made.getvalue().encode(), "complaint_reply/complaint.eml": mail}
