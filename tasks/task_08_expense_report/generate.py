"""Receipts of a business trip as text, mail and PDF, and a table of exchange rates."""

from datetime import date, datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Decimal

from craft.dice import Dice
from craft.mail import eml
from craft.pdf import gap, heading, paragraph, pdf, table

FOLDER = "expense_report"
MARIT = "Marit Eklund <marit.eklund@lofthavn.example>"
CET = timezone(timedelta(hours=1))

# Plain receipts, as a till prints them.
TEXTS = {
    "r01.txt": """
        MORGONRÄLSEN AB
        Kvittobiljett / Ticket
        Arlanda flygplats - Stockholm C
        Sön 1 mars 2026   18:42
        1 vuxen, 2 klass
        Pris         320,00 SEK
        Moms 6 %      18,11
        Betalt kort **** 5512
        """,
    "r04.txt": """
        KÖK & KAJ
        Strandvägen 118, Stockholm
        2026-03-01 20:31   Bord 7
        1 Fisksoppa           245,00
        1 Mineralvatten        42,00
        1 Kladdkaka           102,00
        TOTALT SEK            389,00
        Kort **** 5512
        """,
    "r05.txt": """
        Lunchrummet Nord
        02/03-2026 12:08
        Dagens lunch   149,00
        ATT BETALA     149,00 kr (SEK)
        Kontokort **** 5512    Tack!
        """,
    "r06.txt": """
        Gasthuset Linden
        Datum 2026-03-02   Tid 19:55   Bord 12
        1 Köttbullar          268,00
        1 Sallad              102,00
        2 Öl 5,2 %            178,00
        --------------------------
        SUMMA SEK             548,00
        Kort **** 5512  Ref 771034
        """,
    "r07.txt": """
        KORTTERMINAL
        GASTHUSET LINDEN STOCKHOLM
        KÖP   2026-03-02 21:40
        BELOPP SEK 548,00
        **** **** **** 5512
        REF 771034
        GODKÄNT - SPARA KVITTOT
        """,
    "r08.txt": """
        TAXI KORNBLÅ   Bil 418
        2026-03-02
        Start 23:10  Slut 23:24
        Fast pris / Total   310,00 SEK
        Kort **** 5512
        """,
    "r09.txt": """
        TAXI KORNBLÅ   Bil 77
        2026-03-03
        Start 14:20  Slut 14:41
        Total               264,00 SEK
        Kort **** 5512
        """,
    "r13.txt": """
        Smørrebrød ved Søerne
        København K
        04.03.2026 kl. 13.12
        2 stk. smørrebrød        98,00
        1 kaffe                  30,00
        I alt DKK               128,00
        Dankort/Visa **** 5512
        """,
    "r14.txt": """
        RESTAURANT TÅGESKÆR
        04.03.2026 kl. 19.48
        Fiskefad                 248,00
        Danskvand                 37,00
        Is                        55,00
        At betale DKK            340,00
        Visa **** 5512
        """,
    "r15.txt": """
        METRO & BUS - KONTROLAFGIFT
        Passenger without a valid ticket
        4 March 2026, 16:05, line M3
        Control fee (fine)   DKK 750,00
        Paid by card **** 5512
        """,
    "r18.txt": """
        Gasthaus zum Steg, Zürich
        5. März 2026, 20:14
        Rösti mit Pilzen           27.50
        Apfelsaft                   5.50
        Espresso                    5.00
        Total CHF                  38.00
        Trinkgeld                   6.00
        Bezahlt CHF                44.00
        Karte **** 5512
        """,
    "r20.txt": """
        CONFISERIE AM PLATZ
        06.03.2026 08:20
        Pralinen Geschenkbox (Mitbringsel)
        CHF 24.80
        Karte **** 5512
        """,
    "r21.txt": """
        Gleisküche Elf, Zürich
        06.03.2026  12:02
        Tagesteller       21.00
        Mineral            6.50
        TOTAL CHF         27.50
        Karte **** 5512
        """,
    "r23.txt": """
        pingofar - mobile data
        Paid on 02.03.2026
        Travel data pack Nordics + CH, 7 days
        EUR 19,90
        Card **** 5512
        """,
    "r25.txt": """
        MATSALEN I GAMLA STAN
        2026-03-03 18:30    3 gäster
        3 Dagens fisk          774,00
        3 Kaffe                135,00
        1 Vin, flaska          290,00
        1 Ostbricka             85,00
        SUMMA SEK            1 284,00
        Kort **** 5512
        [by hand on the back: guests L. Ahlin and P. Roos, Dimholmen AB]
        """,
}

# name: sender, subject, sent (day, hour), text
MAILS = {
    "r02.eml": (
        "Hotel Ankarhuset <booking@ankarhuset.example>",
        "Your reservation 88-2041",
        "2026-02-12 10:04",
        "Dear Ms Eklund,\n\nwe have reserved a single room for you from 1 to 4 March 2026, 1,690.00 SEK a "
        "night. You pay when you leave.\n"
        "\nHotel Ankarhuset, Stockholm",
    ),
    "r10.eml": (
        "Nordic Coast Forum <office@coastforum.example>",
        "Receipt: your ticket for the forum on 3 March",
        "2026-01-27 15:20",
        "Dear Marit Eklund,\n\nthank you for your payment of 4,500.00 SEK on 27 January 2026 (card **** 5512).\n\n"
        "  Nordic Coast Forum 2026, two half days   4,500.00 SEK\n\nSee you in Stockholm!",
    ),
    "r11.eml": (
        "Nattskarven <tickets@nattskarven.example>",
        "Receipt and ticket NS-40718",
        "2026-03-02 09:11",
        "Ticket NS-40718\nStockholm C 4 March 06:21 - København H 11:32\n1st class, seat 14 in coach 2: 1 "
        "190,00 SEK\n"
        "(2nd class on this train: 745,00 SEK)\n\nPaid on 2 March 2026 by card **** 5512.",
    ),
    "r12.eml": (
        "Nattskarven <refunds@nattskarven.example>",
        "Credit note for NS-40718",
        "2026-03-09 11:30",
        "Your train on 4 March was 74 minutes late. Credit note of 9 March 2026:\n\n  25 % of ticket NS-40718   "
        "-297,50 SEK\n\n"
        "The money goes back to your card **** 5512.",
    ),
    "r16.eml": (
        "Hotel Alketernen <front@alketernen.example>",
        "Invoice 5-1190, paid",
        "2026-03-05 07:58",
        "Hotel Alketernen, København\nInvoice 5-1190, 5 March 2026\n\nRoom, 1 night (4 to 5 March)   DKK "
        "1.195,00\nPaid with: company card "
        "LOFTHAVN CORPORATE **** 9003",
    ),
    "r17.eml": (
        "Firnschwalbe <service@firnschwalbe.example>",
        "E-ticket receipt 220-4471893",
        "2026-02-23 21:40",
        "Ticket 220-4471893, EKLUND/MARIT\nCopenhagen - Zürich, 5 March 2026, 10:25, economy\n\nFare            "
        "  142.00 EUR\nTaxes and fees     "
        "47.40 EUR\nTotal             189.40 EUR\n\nPaid on 23 February 2026 by card **** 5512.",
    ),
    "r22.eml": (
        MARIT,
        "Fwd: Your trip to Zürich",
        "2026-03-08 19:02",
        "one more for the report, I think\n\n---------- Forwarded message ----------\nFrom: Firnschwalbe "
        "<service@firnschwalbe.example>\n\nPayment "
        "received: 189.40 EUR for ticket 220-4471893 on 23 February 2026. Card **** 5512. Have a good flight on "
        "5 March!",
    ),
    "r24.eml": (
        "Firnschwalbe <offers@firnschwalbe.example>",
        "Zürich again? From 59.00 EUR",
        "2026-03-07 08:00",
        "Book until 15 March: Copenhagen - Zürich from 59.00 EUR. Total price for two persons in this example: "
        "118.00 EUR.",
    ),
}

# The bills of two hotels, as PDF.
HOTELS = {
    "r03.pdf": (
        "Hotel Ankarhuset",
        "Skeppargränd 4, Stockholm",
        "Bill 26-3310 for Ms Marit Eklund, room 214, arrival 1 March 2026, departure 4 March 2026",
        [
            ("3", "Single room", "1 690,00", "5 070,00"),
            ("3", "Breakfast", "165,00", "495,00"),
            ("1", "Minibar", "132,00", "132,00"),
            ("1", "Laundry", "145,00", "145,00"),
            ("", "Total SEK", "", "5 842,00"),
        ],
        "Paid on 4 March 2026, 05:40, by card **** 5512. All amounts in SEK, VAT included.",
    ),
    "r19.pdf": (
        "Pension Schilfreiher",
        "Uferweg 21, Zürich",
        "Rechnung 771 for Marit Eklund, 5 March 2026 to 6 March 2026",
        [
            ("1", "Room, 1 night", "142.00", "142.00"),
            ("1", "City tax", "3.50", "3.50"),
            ("1", "Minibar", "8.00", "8.00"),
            ("", "Total CHF", "", "153.50"),
        ],
        "Paid on 6 March 2026 by card **** 5512.",
    ),
}

# file: date, category, currency, whole amount, what is paid before limits, nights, reason for paying nothing
MEANT = """
r01.txt 2026-03-01 transport SEK 320.00 320.00 0 -
r03.pdf 2026-03-04 lodging SEK 5842.00 5565.00 3 -
r04.txt 2026-03-01 meals SEK 389.00 389.00 0 -
r05.txt 2026-03-02 meals SEK 149.00 149.00 0 -
r06.txt 2026-03-02 meals SEK 548.00 370.00 0 -
r07.txt 2026-03-02 meals SEK 548.00 0 0 duplicate
r08.txt 2026-03-02 transport SEK 310.00 310.00 0 -
r09.txt 2026-03-03 transport SEK 264.00 132.00 0 -
r10.eml 2026-01-27 other SEK 4500.00 0 0 too_late
r11.eml 2026-03-02 transport SEK 1190.00 745.00 0 -
r12.eml 2026-03-09 transport SEK -297.50 -297.50 0 -
r13.txt 2026-03-04 meals DKK 128.00 128.00 0 -
r14.txt 2026-03-04 meals DKK 340.00 340.00 0 -
r15.txt 2026-03-04 other DKK 750.00 0 0 not_covered
r16.eml 2026-03-05 lodging DKK 1195.00 0 0 company_card
r17.eml 2026-02-23 transport EUR 189.40 189.40 0 -
r18.txt 2026-03-05 meals CHF 44.00 41.80 0 -
r19.pdf 2026-03-06 lodging CHF 153.50 145.50 1 -
r20.txt 2026-03-06 other CHF 24.80 0 0 not_covered
r21.txt 2026-03-06 meals CHF 27.50 27.50 0 -
r22.eml 2026-02-23 transport EUR 189.40 0 0 duplicate
r23.txt 2026-03-02 other EUR 19.90 19.90 0 -
r25.txt 2026-03-03 hosting SEK 1284.00 994.00 0 -
"""


def rates() -> dict[tuple[str, str], str]:
    """Rates of the working days from 19 January to 13 March."""
    dice = Dice(80)
    table_of = {}
    level = {"CHF": 0.9390, "DKK": 7.4620, "GBP": 0.8660, "NOK": 11.420, "SEK": 10.910}
    day = date(2026, 1, 19)
    while day <= date(2026, 3, 13):
        if day.weekday() < 5:
            for currency in sorted(level):
                spread = 0.0004 if currency == "DKK" else 0.004
                value = level[currency] * (1 + spread * (dice.share() - 0.5) * 2)
                table_of[day.isoformat(), currency] = f"{value:.4f}"
        day += timedelta(days=1)
    return table_of


def truth() -> list[tuple[str, ...]]:
    """The rows of the right report."""
    known = rates()
    left: dict[str, Decimal] = {}
    rows = []
    for line in MEANT.strip().split("\n"):
        file, day, category, currency, amount, paid, nights, why = line.split()
        last = max((when for when, name in known if name == currency and when <= day), default=day)
        rate = Decimal(known.get((last, currency), "1"))
        whole, due = ((Decimal(value) / rate).quantize(Decimal("0.01"), ROUND_HALF_UP) for value in (amount, paid))
        if category == "lodging":
            due = min(due, 160 * int(nights) * Decimal("1.00"))
        if category == "meals" and why == "-":
            due = min(due, left.get(day, Decimal("45.00")))
            left[day] = left.get(day, Decimal("45.00")) - due
        reason = why if why != "-" else "" if due == whole else "reduced"
        rows.append((file, day, category, currency, amount, str(whole), str(due), reason))
    return rows


def files() -> dict[str, bytes]:
    made = {}
    lines = ["date,currency,per_eur", *(f"{day},{currency},{value}" for (day, currency), value in rates().items())]
    made[f"{FOLDER}/rates.csv"] = "".join(f"{line}\n" for line in lines).encode()
    for name, text in TEXTS.items():
        lines = [line[8:] for line in text.strip("\n").split("\n")]
        made[f"{FOLDER}/receipts/{name}"] = ("\n".join(lines).rstrip() + "\n").encode()
    for name, (sender, subject, sent, text) in MAILS.items():
        moment = datetime.fromisoformat(sent).replace(tzinfo=CET)
        to = MARIT if sender != MARIT else "Travel desk <travel@lofthavn.example>"
        made[f"{FOLDER}/receipts/{name}"] = eml(sender=sender, to=to, subject=subject, sent=moment, text=text + "\n")
    for name, (hotel, address, bill, items, paid) in HOTELS.items():
        parts = [heading(hotel), paragraph(address), gap(), paragraph(bill), gap()]
        parts += [table([("Number", "What", "Each", "Sum"), *items], widths=[20, 80, 30, 30]), gap(), paragraph(paid)]
        made[f"{FOLDER}/receipts/{name}"] = pdf(parts, title=f"{hotel}: bill", footer=hotel)
    return made
