"""Invoices as PDF files in three layouts, the purchase orders behind them as a workbook, and a list of payments."""

from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal

from craft.dice import Dice
from craft.pdf import PageBreak, gap, heading, paragraph, pdf, table
from craft.workbook import xlsx

# id: (name, VAT number, days to pay, layout, address)
SUPPLIERS = {
    "S-101": ("Hollins & Bray Limited", "XV 4410 2231", 30, "A", "Tannery Lane 4, Oldham Cross"),
    "S-102": ("Varnholt Fixings GmbH", "XV 9082 1177", 14, "B", "Am Hafen 19, Varnholt"),
    "S-103": ("Pettigrew Abrasives Limited", "XV 3316 0945", 30, "A", "Foundry Row 22, Hexley"),
    "S-104": ("Lindqvist Packaging AB", "XV 7120 5508", 45, "C", "Bruksgatan 7, Alby"),
    "S-105": ("Morven Lubricants Limited", "XV 2675 8890", 21, "A", "Quay Street 31, Morven"),
    "S-106": ("Brandl Werkzeuge KG", "XV 6643 2019", 30, "B", "Gewerbepark 3, Steinau"),
    "S-107": ("Ansty Paper & Board", "XV 1908 7742", 30, "C", "Mill Lane 60, Ansty"),
    "S-108": ("Brandl Werkzeuge Handels GmbH", "XV 6643 2091", 30, "B", "Gewerbepark 5, Steinau"),
}
STRANGER = ("Corvane Office Supplies", "XV 5501 3380", 0, "A", "High Street 2, Corvane")
# article: (description, VAT rate, usual price)
ARTICLES = {
    "HX-0810": ("Hex bolt M8 x 40, zinc", 20, "0.42"),
    "HX-1012": ("Hex bolt M10 x 60, zinc", 20, "0.86"),
    "NT-0800": ("Lock nut M8", 20, "0.19"),
    "WS-0825": ("Washer 8.4 mm, steel", 20, "0.07"),
    "AB-1200": ("Sanding disc 125 mm, grit 120", 20, "1.35"),
    "AB-0400": ("Sanding belt 75 x 533, grit 40", 20, "3.90"),
    "LB-0032": ("Hydraulic oil ISO 32, 20 l", 20, "74.50"),
    "LB-0220": ("Gear oil ISO 220, 20 l", 20, "96.20"),
    "LB-9001": ("Grease cartridge 400 g", 20, "4.85"),
    "PK-0301": ("Carton 300 x 200 x 150", 20, "0.64"),
    "PK-0602": ("Carton 600 x 400 x 400", 20, "1.88"),
    "PK-9900": ("Packing paper, recycled, sheet", 10, "0.11"),
    "PB-0080": ("Manual, printed, 80 pages", 10, "2.95"),
    "PB-0012": ("Safety leaflet, printed", 10, "0.23"),
    "TL-0600": ("Torque wrench 60 Nm", 20, "128.00"),
    "TL-0013": ("Socket 13 mm", 20, "6.40"),
    "TL-7000": ("Handbook of tightening torques", 10, "38.50"),
    "GL-0900": ("Work gloves, size 9", 20, "3.15"),
}
# order: (supplier, ordered on, state, [(article, ordered, price, billed before)])
ORDERS = {
    1180: (
        "S-101",
        "2025-12-09",
        "open",
        [("HX-0810", 12000, "0.42", 4000), ("NT-0800", 12000, "0.19", 4000), ("GL-0900", 240, "3.15", 0)],
    ),
    1184: (
        "S-102",
        "2026-01-08",
        "open",
        [("HX-1012", 6000, "0.86", 0), ("WS-0825", 20000, "0.07", 0), ("HX-0810", 5000, "0.41", 0)],
    ),
    1187: ("S-103", "2026-01-12", "open", [("AB-1200", 1500, "1.35", 500), ("AB-0400", 400, "3.90", 0)]),
    1190: (
        "S-104",
        "2026-01-13",
        "open",
        [("PK-0301", 8000, "0.64", 2500), ("PK-0602", 3000, "1.88", 0), ("PK-9900", 20000, "0.11", 0)],
    ),
    1193: ("S-105", "2026-01-15", "open", [("LB-0032", 24, "74.50", 6), ("LB-9001", 300, "4.85", 120)]),
    1196: (
        "S-106",
        "2026-01-19",
        "open",
        [("TL-0600", 14, "128.00", 0), ("TL-0013", 150, "6.40", 0), ("TL-7000", 20, "38.50", 0)],
    ),
    1199: ("S-107", "2026-01-20", "open", [("PB-0080", 2500, "2.95", 0), ("PB-0012", 10000, "0.23", 4000)]),
    1203: ("S-101", "2026-01-26", "open", [("HX-1012", 3000, "0.88", 0), ("WS-0825", 9000, "0.07", 0)]),
    1205: ("S-105", "2026-01-27", "cancelled", [("LB-0220", 10, "96.20", 0)]),
    1208: ("S-103", "2026-02-02", "open", [("AB-1200", 2000, "1.32", 0)]),
    1211: ("S-104", "2026-02-03", "open", [("PK-0602", 1200, "1.88", 0), ("PK-0301", 2000, "0.64", 0)]),
    1214: ("S-106", "2026-02-05", "open", [("TL-0013", 80, "6.40", 0), ("TL-0600", 6, "126.50", 0)]),
}
# (supplier, number, date, order as printed, order, [(article, quantity, price)], status)
INVOICES = [
    (
        "S-101",
        "HB-2026/0417",
        "2026-01-14",
        "PO-1180",
        1180,
        [("HX-0810", 3000, "0.42"), ("NT-0800", 3000, "0.19")],
        "ok",
    ),
    (
        "S-102",
        "26-0118",
        "2026-01-21",
        "1184 of 8 January",
        1184,
        [("HX-1012", 2400, "0.86"), ("WS-0825", 9000, "0.07"), ("HX-0810", 1800, "0.41")],
        "ok",
    ),
    ("S-104", "R 118", "2026-01-22", "PO 1190", 1190, [("PK-0301", 3500, "0.64"), ("PK-9900", 6000, "0.11")], "ok"),
    (
        "S-103",
        "PA/5520",
        "2026-01-26",
        "PO-1187",
        1187,
        [("AB-1200", 700, "1.35"), ("AB-0400", 150, "4.05")],
        "price_mismatch",
    ),
    (
        "S-105",
        "ML-30771",
        "2026-01-28",
        "PO-1193",
        1193,
        [("LB-0032", 8, "74.50"), ("LB-9001", 100, "4.85")],
        "already_paid",
    ),
    (
        "S-106",
        "26-0118",
        "2026-01-29",
        "1196 of 19 January",
        1196,
        [("TL-0600", 8, "128.00"), ("TL-0013", 60, "6.44"), ("TL-7000", 12, "38.50")],
        "ok",
    ),
    (
        "S-101",
        "HB 2026 0417",
        "2026-01-14",
        "PO-1180",
        1180,
        [("HX-0810", 3000, "0.42"), ("NT-0800", 3000, "0.19")],
        "duplicate",
    ),
    ("S-107", "A-2204", "2026-01-30", "PO 1199", 1199, [("PB-0080", 1200, "2.95"), ("PB-0012", 5000, "0.23")], "ok"),
    ("S-103", "PA/5534", "2026-02-02", "PO-1187", 1187, [("AB-1200", 900, "1.34"), ("AB-0400", 200, "3.90")], "ok"),
    (
        "S-108",
        "26-0342",
        "2026-02-03",
        "1196 of 19 January",
        1196,
        [("TL-0013", 40, "6.40"), ("TL-0600", 2, "128.00")],
        "no_po",
    ),
    (
        "S-101",
        "HB-2026/0455",
        "2026-02-04",
        "PO-1180",
        1180,
        [("HX-0810", 5500, "0.42"), ("GL-0900", 120, "3.15")],
        "over_quantity",
    ),
    ("S-105", "ML-30802", "2026-02-05", "PO-1205", 1205, [("LB-0220", 10, "96.20")], "no_po"),
    (
        "S-104",
        "R 1180",
        "2026-02-06",
        "PO 1190",
        1190,
        [("PK-0301", 1500, "0.64"), ("PK-0602", 1400, "1.96")],
        "price_mismatch",
    ),
    (None, "2026-77", "2026-02-09", "", None, [("GL-0900", 60, "3.40")], "no_po"),
    (
        "S-104",
        "R 1187",
        "2026-02-10",
        "PO 1190",
        1190,
        [("PK-0301", 2000, "0.64"), ("PK-9900", 9000, "0.11"), ("PK-0602", 1500, "1.88")],
        "ok",
    ),
    (
        "S-102",
        "26-0131",
        "2026-02-11",
        "1184 of 8 January",
        1184,
        [("HX-1012", 3600, "0.86"), ("WS-0825", 11000, "0.07")],
        "ok",
    ),
    (
        "S-106",
        "26-0150",
        "2026-02-12",
        "1196 of 19 January",
        1196,
        [("TL-0600", 5, "128.00"), ("TL-0013", 95, "6.40")],
        "over_quantity",
    ),
    ("S-105", "ML-30815", "2026-02-13", "PO-1193", 1193, [("LB-0032", 10, "74.50"), ("LB-9001", 80, "4.80")], "ok"),
    (
        "S-107",
        "A-2217",
        "2026-02-16",
        "PO 1199",
        1199,
        [("PB-0012", 1000, "0.24"), ("PB-0080", 900, "2.95")],
        "price_mismatch",
    ),
    (
        "S-101",
        "HB-2026/0470",
        "2026-02-17",
        "PO-1203",
        1203,
        [("HX-1012", 1500, "0.88"), ("NT-0800", 2000, "0.19")],
        "no_po",
    ),
    (
        "S-104",
        "R-1187",
        "2026-02-10",
        "PO 1190",
        1190,
        [("PK-0301", 2000, "0.64"), ("PK-9900", 9000, "0.11"), ("PK-0602", 1500, "1.88")],
        "duplicate",
    ),
    ("S-103", "PA/5561", "2026-02-19", "PO-1208", 1208, [("AB-1200", 1200, "1.32")], "already_paid"),
    (
        "S-106",
        "26-0163",
        "2026-02-20",
        "1214 of 5 February",
        1214,
        [("TL-0013", 80, "6.40"), ("TL-0600", 6, "120.00")],
        "ok",
    ),
    ("S-104", "R 1202", "2026-02-23", "PO 1211", 1211, [("PK-0602", 800, "1.88"), ("PK-0301", 2000, "0.645")], "ok"),
]
RULES = """\
# How we check invoices

We go through the invoices in the order of their file names. Each gets one status: the first of this list that fits.

1. `duplicate`: an earlier file is an invoice of the same supplier with the same number. Only letters and digits of a
   number count (`AB 12/3` and `ab-123` are the same).
2. `already_paid`: `payments.csv` shows that its gross amount has been paid in full (payments less returns, for this
   supplier and this invoice number, compared as in 1).
3. `no_po`: the invoice names no order; or the order is not in the workbook, is cancelled or was placed with another
   supplier; or a line of the invoice has an article that is not in the order.
4. `price_mismatch`: the price of a piece in some line is more than 1 % above the price in the order. Lower prices are
   fine.
5. `over_quantity`: in some line, the pieces of this invoice, of the earlier files that are `ok` and of the column
   `billed_before` together are more than the pieces ordered. What is not `ok` does not use up an order.
6. `ok`: everything else.

A supplier is known by the VAT number on the invoice; names and layouts change. Amounts are those printed on the
invoice.

Only `ok` invoices are paid: the gross amount, less what has been paid already. They are due as many days after the
date of the invoice as the workbook says for the supplier, whatever is printed on the invoice. If that is a Saturday
or a Sunday, they are due on the Monday after.
"""


def cents(value: Decimal) -> Decimal:
    return value.quantize(Decimal("0.01"), ROUND_HALF_UP)


def name_of(number: int) -> str:
    return f"invoice_{number:02}.pdf"


def sums(lines) -> dict:
    """Net sum and VAT by rate."""
    rates: dict[int, Decimal] = {}
    for article, quantity, price in lines:
        rate = ARTICLES[article][1]
        rates[rate] = rates.get(rate, Decimal(0)) + cents(quantity * Decimal(price))
    return {rate: (net, cents(net * rate / 100)) for rate, net in sorted(rates.items(), reverse=True)}


def totals(lines) -> tuple[Decimal, Decimal, Decimal]:
    net = sum((pair[0] for pair in sums(lines).values()), Decimal(0))
    vat = sum((pair[1] for pair in sums(lines).values()), Decimal(0))
    return net, vat, net + vat


def paid() -> list[tuple[str, str, str, Decimal, str]]:
    """The payments that matter: (booked on, supplier, invoice number, amount, kind)."""
    gross = {(row[0], row[1]): totals(row[5])[2] for row in INVOICES}
    return [
        ("2026-02-17", "S-105", "ML-30771", gross["S-105", "ML-30771"], "payment"),
        # Paid and returned: still open.
        ("2026-02-18", "S-105", "ML-30815", gross["S-105", "ML-30815"], "payment"),
        ("2026-02-20", "S-105", "ML-30815", gross["S-105", "ML-30815"], "return"),
        # The same number, but of another supplier.
        ("2026-02-04", "S-102", "26-0163", gross["S-106", "26-0163"], "payment"),
        # A deposit: the rest is still to be paid.
        ("2026-02-09", "S-107", "a 2204", Decimal("1500.00"), "payment"),
        # Two parts that make up the whole.
        ("2026-02-23", "S-103", "PA 5561", Decimal("1000.00"), "payment"),
        ("2026-02-25", "S-103", "PA 5561", gross["S-103", "PA/5561"] - 1000, "payment"),
    ]


def key(number: str) -> str:
    return "".join(sign for sign in number.lower() if sign.isalnum())


def truth() -> dict:
    """The rows of match.csv and the sums to pay; the rules must give the states that were meant."""
    rows, due, seen, used = [], {}, set(), {}
    for number, (supplier, name, day, _, order, lines, meant) in enumerate(INVOICES, 1):
        net, vat, gross = totals(lines)
        settled = sum(
            (
                amount if kind == "payment" else -amount
                for _, who, ref, amount, kind in paid()
                if (who, key(ref)) == (supplier, key(name))
            ),
            Decimal(0),
        )
        known = ORDERS.get(order)
        ordered = {line[0]: line for line in known[3]} if known else {}
        if (supplier, key(name)) in seen:
            status = "duplicate"
        elif settled >= gross:
            status = "already_paid"
        elif (
            not known
            or known[2] == "cancelled"
            or known[0] != supplier
            or any(line[0] not in ordered for line in lines)
        ):
            status = "no_po"
        elif any(Decimal(price) > Decimal(ordered[article][2]) * Decimal("1.01") for article, _, price in lines):
            status = "price_mismatch"
        elif any(used.get((order, a), 0) + q + ordered[a][3] > ordered[a][1] for a, q, _ in lines):
            status = "over_quantity"
        else:
            status = "ok"
            for article, quantity, _ in lines:
                used[order, article] = used.get((order, article), 0) + quantity
            when = date.fromisoformat(day) + timedelta(days=SUPPLIERS[supplier][2])
            when += timedelta(days=max(0, 7 - when.weekday()) if when.weekday() > 4 else 0)
            due[when.isoformat()] = due.get(when.isoformat(), Decimal(0)) + gross - settled
        assert status == meant, (number, status, meant)
        seen.add((supplier, key(name)))
        rows.append(
            (
                name_of(number),
                name,
                supplier or "",
                str(net),
                str(vat),
                str(gross),
                f"PO-{order}" if order else "",
                status,
            )
        )
    return {"rows": rows, "due": {day: str(due[day]) for day in sorted(due)}, "total": str(sum(due.values()))}


def comma(value: Decimal) -> str:
    return f"{value:,}".replace(",", " ").replace(".", ",").replace(" ", ".")


def layout_a(supplier, number, day, order, lines) -> list:
    name, vat_number, _, _, address = supplier
    shown = date.fromisoformat(day)
    net, vat, gross = totals(lines)
    rows = [["Article", "Description", "Quantity", "Unit price", "VAT %", "Amount"]]
    for article, quantity, price in lines:
        text, rate, _ = ARTICLES[article]
        rows.append([article, text, f"{quantity:,}", price, str(rate), f"{cents(quantity * Decimal(price)):,}"])
    return [
        heading(name.replace("&", "&amp;"), 2),
        paragraph(address),
        paragraph(f"VAT number: {vat_number}"),
        gap(),
        paragraph("To: Fernhill Machines, Accounts, Station Road 18, Fernhill"),
        heading("INVOICE", 3),
        paragraph(f"Invoice number: {number}"),
        paragraph(f"Invoice date: {shown.day} {shown:%B %Y}"),
        paragraph(f"Your order: {order or 'by telephone, Mr Aldous'}"),
        gap(),
        table(rows, widths=(22, 60, 22, 22, 16, 28)),
        gap(),
        table(
            [["", "EUR"], ["Net total", f"{net:,}"]]
            + [[f"VAT {rate} %", f"{amount:,}"] for rate, (_, amount) in sums(lines).items()]
            + [["Total VAT", f"{vat:,}"], ["Invoice total", f"{gross:,}"]],
            widths=(45, 30),
        ),
        gap(),
        paragraph("Our terms: 10 days net. Goods remain our property until they are paid."),
    ]


def layout_b(supplier, number, day, order, lines) -> list:
    name, vat_number, _, _, address = supplier
    shown = date.fromisoformat(day)
    net, vat, gross = totals(lines)
    head = ["Pos", "Item", "Quantity", "Price EUR", "Amount EUR", "Rate"]
    rows = []
    for place, (article, quantity, price) in enumerate(lines, 1):
        text, rate, _ = ARTICLES[article]
        amount = comma(cents(quantity * Decimal(price)))
        rows.append(
            [str(place), f"{article} {text}", comma(Decimal(quantity)), comma(Decimal(price)), amount, f"{rate} %"]
        )
    carried = comma(cents(lines[0][1] * Decimal(lines[0][2])))
    return [
        paragraph(f"<b>{name}</b> · {address}"),
        gap(12),
        paragraph("Fernhill Machines<br/>Station Road 18<br/>Fernhill"),
        gap(10),
        table(
            [["Document no.", "Date", "Our VAT no."], [number, f"{shown:%d.%m.%Y}", vat_number]], widths=(40, 40, 50)
        ),
        heading("Invoice for goods delivered", 3),
        paragraph(f"Customer reference: order {order}"),
        gap(),
        table([head, rows[0], ["", "Carried forward", "", "", carried, ""]], widths=(12, 72, 24, 24, 28, 16)),
        PageBreak(),
        table([head, ["", "Brought forward", "", "", carried, ""], *rows[1:]], widths=(12, 72, 24, 24, 28, 16)),
        gap(),
        table(
            [["Rate", "Net", "VAT", "Gross"]]
            + [[f"{rate} %", comma(n), comma(v), comma(n + v)] for rate, (n, v) in sums(lines).items()]
            + [["Sum", comma(net), comma(vat), comma(gross)]],
            widths=(25, 35, 35, 35),
        ),
        gap(),
        paragraph("Payable within 30 days after receipt, without deduction."),
    ]


def layout_c(supplier, number, day, order, lines) -> list:
    name, vat_number, _, _, address = supplier
    shown = date.fromisoformat(day)
    net, vat, gross = (f"{value:,}".replace(",", " ") for value in totals(lines))
    rows = [["Description", "Article", "Pieces", "Price per 100"]]
    for article, quantity, price in lines:
        rows.append(
            [ARTICLES[article][0], article, f"{quantity:,}".replace(",", " "), f"{cents(Decimal(price) * 100)}"]
        )
    if len(lines) > 2:
        rows.append(["Delivery on pallets", "", "2", "free"])
    return [
        paragraph("Fernhill Machines, Accounts, Station Road 18, Fernhill"),
        gap(8),
        paragraph(f"{shown:%Y-%m-%d}"),
        paragraph(f"Dear customer, for our delivery on your order {order} we charge with our <b>invoice {number}</b>:"),
        gap(),
        table(rows, widths=(70, 30, 25, 30)),
        gap(),
        paragraph(f"The goods come to {net} EUR, VAT to {vat} EUR. Please pay <b>{gross} EUR</b> within 60 days."),
        gap(14),
        paragraph(f"{name}, {address}, VAT {vat_number}".replace("&", "&amp;")),
    ]


def orders_book() -> bytes:
    dice = Dice(3317)
    orders = dict(ORDERS)
    articles = list(ARTICLES)
    for number in range(1150, 1222):
        if number not in orders and dice.chance(0.6):
            state = dice.pick(["closed", "closed", "open", "cancelled"])
            lines = []
            for article in dice.sample(articles, dice.between(1, 4)):
                count = dice.between(2, 60) * 50
                billed = count if state == "closed" else 0
                lines.append((article, count, ARTICLES[article][2], billed))
            day = date(2025, 11, 3) + timedelta(days=(number - 1150) * 3 // 2)
            orders[number] = (dice.pick(list(SUPPLIERS)), day.isoformat(), state, lines)

    def fill(book):
        sheet = book.create_sheet("suppliers")
        sheet.append(["supplier", "name", "vat_number", "days_to_pay"])
        for supplier, (name, vat_number, days, _, _) in SUPPLIERS.items():
            sheet.append([supplier, name, vat_number.replace(" ", ""), days])
        sheet = book.create_sheet("orders")
        sheet.append(["order", "supplier", "ordered_on", "state"])
        for number in sorted(orders):
            sheet.append([f"PO-{number}", orders[number][0], date.fromisoformat(orders[number][1]), orders[number][2]])
        sheet = book.create_sheet("lines")
        sheet.append(["order", "line", "article", "description", "ordered", "price_eur", "billed_before"])
        for number in sorted(orders):
            for place, (article, count, price, billed) in enumerate(orders[number][3], 1):
                sheet.append([f"PO-{number}", place, article, ARTICLES[article][0], count, float(price), billed])

    return xlsx(fill)


def payments() -> bytes:
    dice = Dice(90210)
    rows = list(paid())
    prefixes = {
        "S-101": "HB-2025/0",
        "S-102": "25-0",
        "S-103": "PA/5",
        "S-104": "R ",
        "S-105": "ML-30",
        "S-106": "25-0",
        "S-107": "A-2",
        "S-108": "25-0",
    }
    for _ in range(120):
        supplier = dice.pick(list(SUPPLIERS))
        day = date(2025, 12, 1) + timedelta(days=dice.below(86))
        amount = Decimal(dice.between(9000, 640000)) / 100
        low, high = (800, 999) if supplier == "S-104" else (300, 399) if supplier == "S-103" else (100, 199)
        rows.append((day.isoformat(), supplier, f"{prefixes[supplier]}{dice.between(low, high)}", amount, "payment"))
        if dice.chance(0.04):
            rows.append(((day + timedelta(days=3)).isoformat(), supplier, rows[-1][2], amount, "return"))
    text = "booked_on,supplier,invoice_no,amount_eur,kind\n"
    for row in sorted(rows):
        text += ",".join([*row[:3], f"{row[3]:.2f}", row[4]]) + "\n"
    return text.encode()


def files() -> dict[str, bytes]:
    made = {
        "invoice_match/rules.md": RULES.encode(),
        "invoice_match/purchase_orders.xlsx": orders_book(),
        "invoice_match/payments.csv": payments(),
    }
    layouts = {"A": layout_a, "B": layout_b, "C": layout_c}
    for place, (supplier, number, day, order, _, lines, _) in enumerate(INVOICES, 1):
        who = SUPPLIERS[supplier] if supplier else STRANGER
        if place == 11:  # the trade name of the same firm
            who = ("HB Supply", *who[1:])
        parts = layouts[who[3]](who, number, day, order, lines)
        made[f"invoice_match/invoices/{name_of(place)}"] = pdf(parts, title="Invoice")
    return made
