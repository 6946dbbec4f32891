"""Fourteen vendors' sheets for task_10_vendor_choice, and what they add up to."""

from html import escape

from craft.pdf import gap, heading, paragraph, pdf, table

SEATS = (80, 95, 110)
RATES = {"EUR": 1.0, "USD": 0.9, "GBP": 1.16}

# month/year: price of a seat; fee: one-off; the rest is explained where it is used.
VENDORS = {
    "Amberdesk": {"month": 29.5, "fee": 2400, "volume": (100, 0.10), "points": (20, 10, 15)},
    "Brindlewater": {"money": "USD", "month": 38.0, "fee": 5000, "off": 0.15, "points": (16, 15, 5)},
    "Corbelvane": {"year": 245.0, "fee": 6500, "least": 100, "flat": 4800, "points": (8, 5, 15)},
    "Dunmarrow": {"money": "GBP", "month": 26.0, "fee": 1500, "fails": "M1"},
    "Elmsparrow": {"month": 21.0, "fee": 3900, "first": 0.20, "option": 1.9, "ticket": 0.08, "points": (8, 5, 5)},
    "Fennelwick": {"month": 17.0, "fails": "M6"},
    "Gullspindle": {"block": (25, 7900.0), "points": (12, 15, 15)},
    "Harrowgate": {"month": 24.0, "fee": 4000, "off": -0.15, "points": (16, 15, 15)},
    "Inkwhistle": {"month": 33.0, "fee": 2950, "volume": (75, 0.08), "points": (16, 10, 15)},
    "Jessamine": {"month": 31.0, "fee": 1200, "points": (20, 10, 15)},
    "Kestrelworks": {"month": 45.0, "fee": 9000, "points": (20, 15, 15)},
    "Lanternlow": {"month": 18.0, "fee": 900, "fails": "M2;M3"},
    "Marlspoon": {"month": 36.5, "fee": 2000, "points": (12, 15, 15)},
    "Northlatch": {"money": "USD", "month": 21.0, "fee": 1500, "fails": "M1"},
}


def total(vendor: dict) -> float:
    """The costs of three years in euros."""
    amount = vendor.get("fee", 0) + 40_000 * vendor.get("ticket", 0)
    for number, seats in enumerate(SEATS):
        if "block" in vendor:
            size, price = vendor["block"]
            amount += -(-seats // size) * price
            continue
        licences = max(seats, vendor.get("least", 0)) * vendor.get("year", vendor.get("month", 0) * 12)
        licences *= 1 - vendor.get("off", 0)
        least, off = vendor.get("volume", (0, 0))
        licences *= 1 - off * (seats >= least)
        licences *= 1 - vendor.get("first", 0) * (number == 0)
        amount += licences + vendor.get("flat", 0) + vendor.get("option", 0) * 12 * seats
    return amount * RATES[vendor.get("money", "EUR")]


def truth() -> dict[str, tuple[str, float, float | None]]:
    """Vendor: failed must-haves, total, points."""
    sums = {name: total(vendor) for name, vendor in VENDORS.items()}
    fit = [name for name, vendor in VENDORS.items() if "fails" not in vendor and sums[name] <= 150_000]
    least = min(sums[name] for name in fit)
    return {
        name: (
            vendor.get("fails", ""),
            round(sums[name], 2),
            50 * least / sums[name] + sum(vendor["points"]) if name in fit else None,
        )
        for name, vendor in VENDORS.items()
    }


def page(title: str, lead: str, rows: list[tuple[str, str]], foot: str = "") -> bytes:
    """A web page that someone has saved."""
    cells = "\n".join(f"      <tr><th>{escape(left)}</th><td>{escape(right)}</td></tr>" for left, right in rows)
    return f"""<!DOCTYPE html>
<html lang="en">
  <head><meta charset="utf-8"><title>{escape(title)}</title>
    <style>th {{ text-align: left; padding-right: 2em }}</style>
  </head>
  <body>
    <nav><a href="/">Home</a> | <a href="/product">Product</a> | <b>Plans</b> | <a href="/contact">Contact</a></nav>
    <h1>{escape(title)}</h1>
    <p>{escape(lead)}</p>
    <table>
{cells}
    </table>
    <p><small>{escape(foot)}</small></p>
  </body>
</html>
""".encode()


def lines(rows: list[tuple[str, str]]) -> bytes:
    """A table with two columns, as a spreadsheet exports it."""
    return ("Item;Offer\r\n" + "".join(f'"{left}";"{right}"\r\n' for left, right in rows)).encode()


def sheet(title: str, lead: str, rows: list[tuple[str, str]], notes: list[str]) -> bytes:
    """A printed offer."""
    parts = [heading(title), paragraph(lead), gap(), heading("Offer", 2)]
    parts += [table([("Item", "Details"), *rows], widths=(50, 115)), gap(), heading("Notes", 2)]
    parts += [paragraph(note) for note in notes]
    return pdf(parts, title=title, footer="Offer without obligation, prices without VAT")


AMBERDESK = """# Amberdesk

Tickets that stay warm. Made and hosted in Ghent and Lille.

| | Team | Business | Premier |
|---|---|---|---|
| Price for a seat and month | 19.50 EUR | 29.50 EUR | 41.00 EUR |
| Sign-on | password, two factors | SAML | SAML |
| Audit log | 30 days | 2 years | 5 years |
| REST API | yes | yes | yes |
| Uptime guaranteed a month | 99.5 % | 99.9 % | 99.99 % |

Set-up costs 2,400 EUR once, for every plan. From 100 seats on, 10 % are taken off the licences. Old tickets are
imported free of charge. A contract runs for twelve months and can then be ended each year.

The interface speaks German, French, Polish, Spanish and Dutch, and English of course. Support answers on
weekdays from 07:00 to 19:00. Everything can be exported as JSON, attachments included. Training days: 950 EUR
each.
"""

ELMSPARROW = """# Elmsparrow Service Desk: our offer

Dear Tidewarren team, thank you for your interest!

- **Licence**: 21.00 EUR a seat and month. As new customers you get 20 % off the licences (not the options) in
  the first contract year.
- **Set-up**: 3,900 EUR, once, mandatory.
- **Import of old tickets**: 0.08 EUR each.
- **Hosting**: two data centres in Finland. No data leaves the EU.
- **Sign-on**: SAML and OpenID Connect, included.
- **Audit log**: kept for 180 days. Option *Long Log* (24 months): 1.90 EUR a seat and month.
- **API**: REST, included.
- **Availability**: 99.9 % guaranteed for each month.
- **Term**: 12 months.
- **Interface**: English, German, Spanish, Finnish, Swedish.
- **Support**: weekdays from 08:00 to 17:00.
- **Export**: all tickets as CSV. Attachments cannot be exported at the moment.
- **Options you may like**: sandbox 1,200 EUR a year, training 800 EUR a day.
"""

HARROWGATE = """# Harrowgate Desk

## Price

24.00 EUR for each seat and month, one plan for everyone. 4,000 EUR for the set-up, which holds the import of
old tickets.

## Operation

Our servers stand in Utrecht and Poznan, and all processing happens there. We guarantee an availability of 99.5
% a month. With the *Gold* option it is 99.95 %; Gold adds 15 % to the price of the licences.

## Security

SAML is there for everybody. The audit log goes back 18 months.

## Working with it

The interface comes in English, German, French, Polish and Dutch. A Spanish one is being translated. Support is
there around the clock, at weekends and on holidays too. There is a REST API. You can take all data with you as
XML, with every attachment.

## Contract

One year, renewed each year unless you end it.
"""

LANTERNLOW = """# Lanternlow Queue

Light, fast, fair.

| | |
|---|---|
| Price | 18.00 EUR a seat and month |
| Set-up | 900 EUR once |
| Hosting | Lyon, France; backups in Metz, France |
| Single sign-on | OpenID Connect. SAML is planned for the fourth quarter of 2026 |
| Audit log | 90 days |
| Availability | 99.95 % a month, guaranteed |
| API | REST and webhooks |
| Term | monthly |
| Interface | English, French, German, Spanish |
| Support | round the clock, every day |
| Export | JSON with attachments |

Import of old tickets: free.
"""


def files() -> dict[str, bytes]:
    made = {
        "amberdesk.md": AMBERDESK.encode(),
        "elmsparrow.md": ELMSPARROW.encode(),
        "harrowgate.md": HARROWGATE.encode(),
        "lanternlow.md": LANTERNLOW.encode(),
        "brindlewater.html": page(
            "Brindlewater",
            "One plan, everything in it. List price 38.00 USD a seat and month; "
            "15 % off for customers who pay a year in advance.",
            [
                ("Set-up", "5,000 USD, one-off, for all new customers"),
                ("Data", "stored and processed in Dublin, Ireland, and Milan, Italy"),
                ("Sign-on", "SAML 2.0"),
                ("Audit log", "400 days"),
                ("Uptime", "99.95 % a month, guaranteed"),
                ("API", "REST"),
                ("Contract", "12 months"),
                ("Languages", "English, German, French, Spanish, Dutch, Portuguese"),
                ("Support", "24 hours a day, 7 days a week"),
                ("Export", "CSV of all tickets and users. Attachments are not part of the export."),
                ("Import", "included in the set-up"),
            ],
        ),
        "fennelwick.html": page(
            "Fennelwick",
            "The best price in the market: 17.00 EUR a seat and month. No set-up fee, no import fee.",
            [
                ("Where is my data?", "In Vienna and Graz, Austria, and nowhere else"),
                ("SAML", "yes"),
                ("Audit log", "3 years"),
                ("Availability", "99.9 % guaranteed each month"),
                ("API", "REST"),
                ("Interface", "English, German, Polish, Spanish, Dutch"),
                ("Support hours", "around the clock, all days"),
                ("Export", "JSON, attachments included"),
            ],
            "General terms, section 9: the first term is 36 months and cannot be ended before. "
            "It is then renewed by 12 months.",
        ),
        "jessamine.html": page(
            "Jessamine",
            "Spring offer: 22.00 EUR instead of 31.00 EUR a seat and month! "
            "The lower price holds for the whole contract.",
            [
                ("Set-up", "1,200 EUR once"),
                ("Hosting", "Tallinn, Estonia; Porto, Portugal"),
                ("Sign-on", "SAML, OpenID Connect"),
                ("Audit log", "kept for 365 days"),
                ("Availability", "99.9 % a month (guaranteed)"),
                ("API", "REST"),
                ("Term", "12 months"),
                ("Interface", "English, German, French, Polish, Spanish, Dutch"),
                ("Support", "Monday to Friday, 06:00 to 20:00"),
                ("Export", "XML with attachments"),
                ("Old tickets", "imported free of charge"),
            ],
            "The spring offer is for orders that reach us by 28 February 2026. Our list price applies after that.",
        ),
        "northlatch.html": page(
            "Northlatch",
            "Your tickets, your region. 21.00 USD a seat and month, EU region included.",
            [
                ("Set-up", "1,500 USD, one-off"),
                (
                    "EU region",
                    "Tickets and attachments rest in Frankfurt, Germany. "
                    "The search index and the mail relay run in Virginia, USA.",
                ),
                ("Sign-on", "SAML"),
                ("Audit log", "2 years"),
                ("Uptime", "99.99 % guaranteed each month"),
                ("API", "REST, GraphQL"),
                ("Term", "12 months"),
                ("Languages", "English, German, French, Spanish"),
                ("Support", "24/7"),
                ("Export", "JSON with attachments"),
                ("Import", "free"),
            ],
        ),
        "corbelvane.csv": lines(
            [
                ("Vendor", "Corbelvane"),
                ("Licence", "245.00 EUR per seat and year, at least 100 seats are charged"),
                ("Set-up", "6,500 EUR once, import of old tickets included"),
                ("Data location", "Aarhus, Denmark"),
                ("Single sign-on", "option SAML Gateway, 4,800 EUR per year for any number of seats"),
                ("Audit log", "5 years"),
                ("Availability", "99.9 % per month, guaranteed"),
                ("API", "REST"),
                ("Term", "12 months"),
                ("Interface languages", "English, Danish, German, Polish"),
                ("Support", "weekdays 09:00 to 17:00"),
                ("Export", "JSON, attachments included"),
                ("Training", "optional, 1,100 EUR per day"),
            ]
        ),
        "gullspindle.csv": lines(
            [
                ("Vendor", "Gullspindle"),
                ("Licence", "7,900.00 EUR per block of 25 seats and year, whole blocks only"),
                ("Set-up", "none"),
                ("Data location", "Bilbao, Spain, and Turin, Italy"),
                ("Single sign-on", "SAML"),
                ("Audit log", "500 days"),
                ("Availability", "99.9 % guaranteed per month"),
                ("API", "REST"),
                ("Term", "one year at a time"),
                ("Interface languages", "English, Spanish, Italian, German, French"),
                ("Support", "round the clock on all days"),
                ("Export", "CSV and attachments, complete"),
                ("Import", "free of charge"),
            ]
        ),
        "kestrelworks.csv": lines(
            [
                ("Vendor", "Kestrelworks"),
                ("Licence", "45.00 EUR per seat and month"),
                ("Set-up", "9,000 EUR once, mandatory; import included"),
                ("Data location", "Munich, Germany"),
                ("Single sign-on", "SAML"),
                ("Audit log", "10 years"),
                ("Availability", "99.99 % guaranteed per month"),
                ("API", "REST"),
                ("Term", "12 months"),
                ("Interface languages", "English, German, French, Polish, Spanish, Dutch, Czech"),
                ("Support", "24 hours on all 7 days, named contact"),
                ("Export", "XML or JSON with attachments"),
            ]
        ),
        "dunmarrow.pdf": sheet(
            "Dunmarrow",
            "The ticket system of the thoughtful. Prices in pounds sterling.",
            [
                ("Licence", "26.00 GBP for a seat and month"),
                ("Set-up", "1,500 GBP, once"),
                ("Hosting", "our own data centres in London and Leeds"),
                ("Sign-on", "SAML"),
                ("Audit log", "7 years"),
                ("Availability", "99.95 % a month, guaranteed"),
                ("API", "REST"),
                ("Term", "12 months"),
                ("Interface", "English, German, French, Polish, Spanish, Dutch"),
                ("Support", "round the clock, all days"),
                ("Export", "JSON with attachments"),
            ],
            ["Old tickets are imported at no cost.", "We comply with the data protection law of the United Kingdom."],
        ),
        "inkwhistle.pdf": sheet(
            "Inkwhistle",
            "A desk for every question.",
            [
                ("Licence", "33.00 EUR for a seat and month"),
                ("Set-up", "2,950 EUR, once; import included"),
                ("Hosting", "Leipzig, Germany"),
                ("Sign-on", "SAML"),
                ("Audit log", "2 years"),
                ("Availability", "99.9 % a month, guaranteed"),
                ("API", "REST"),
                ("Term", "12 months"),
                ("Interface", "English, German, French, Polish, Dutch"),
                ("Support", "weekdays 07:00 to 20:00"),
                ("Export", "CSV with attachments"),
            ],
            [
                "Discounts on the licences: 8 % from 75 seats on, or 30 % if three years are paid in advance.",
                "The two can't be combined.",
            ],
        ),
        "marlspoon.pdf": sheet(
            "Marlspoon",
            "Plain help desks since 2009. Two plans, Standard and Plus.",
            [
                ("Licence, Standard", "30.00 EUR for a seat and month"),
                ("Licence, Plus", "36.50 EUR for a seat and month; with REST API"),
                ("Set-up", "2,000 EUR, once, both plans"),
                ("Hosting", "Rotterdam, Netherlands"),
                ("Sign-on", "SAML in both plans"),
                ("Audit log", "two years in both plans"),
                ("Availability", "99.9 % a month, guaranteed"),
                ("Term", "12 months"),
                ("Interface", "English, Dutch, German, French"),
                ("Support", "24 hours, seven days"),
                ("Export", "JSON with attachments"),
            ],
            [
                "Charities and other non-profit organisations get 40 % off the licences.",
                "Import of old tickets is free.",
            ],
        ),
    }
    return {f"vendor_choice/vendors/{name}": data for name, data in made.items()}
