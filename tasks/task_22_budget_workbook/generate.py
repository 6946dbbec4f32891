"""The finance workbook of a small publisher: budget, an old draft of it, actuals, codes and notes."""

from datetime import date
from functools import partial

from craft.dice import Dice
from craft.workbook import xlsx
from openpyxl.styles import Alignment, Font

SEED = 20250922
MONTHS = [f"2025-{month:02}" for month in range(1, 13)]
GROUPS = {
    "Publishing": ["Editorial", "Rights"],
    "Market": ["Marketing", "Sales"],
    "Services": ["Facilities", "IT", "Logistics"],
}
BASE = {"Editorial": 41, "Rights": 14, "Marketing": 27, "Sales": 33, "Facilities": 19, "IT": 24, "Logistics": 30}
SPENT = {
    "Editorial": 1.22,
    "Rights": 1.4,
    "Marketing": 1.17,
    "Sales": 1.45,
    "Facilities": 1.24,
    "IT": 1.14,
    "Logistics": 1.31,
}
# Cost centre, department, first and last month.
CODES = [
    ("0110", "Editorial", "2025-01", ""),
    ("0115", "Editorial", "2025-01", ""),
    ("0130", "Rights", "2025-01", ""),
    ("0210", "Marketing", "2025-01", ""),
    ("0240", "Sales", "2025-01", "2025-05"),
    ("0240", "Marketing", "2025-06", ""),
    ("0250", "Sales", "2025-01", ""),
    ("0310", "Facilities", "2025-01", ""),
    ("1040", "IT", "2025-01", ""),
    ("1045", "IT", "2025-01", "2025-03"),
    ("1045", "Logistics", "2025-04", ""),
    ("1060", "Logistics", "2025-01", ""),
]
UNKNOWN = ["0990", "1099"]
RATE = 117  # euro cents for a pound
NOTES = [
    ("Units", "Budget is in thousands of euros (kEUR). Actuals are in the currency that stands in the row."),
    (
        "Old draft",
        "The hidden sheet Budget_Nov is the draft from November, before the board cut it. It is kept for the "
        "auditors only; do not use it.",
    ),
    (
        "Board decision",
        "On 12 May the board gave Logistics 4.5 kEUR more a month, for each month from June to December. "
        "Budget is locked and does not show this yet; add it.",
    ),
    ("Status", "Only posted documents count. Parked and cancelled ones do not."),
    ("Imported twice", "Some documents were imported twice. A document number counts once."),
    (
        "Month",
        "A document belongs to the month of its posting date. If Period is filled in, it belongs to that month "
        "instead.",
    ),
    (
        "Old ledger",
        "Cells that hold a number as text, in any sheet, come from the old ledger: decimal comma, point for thousands. "
        "Its dates are text as well: day.month.year.",
    ),
    (
        "Cost centres",
        "A cost centre has four digits; where a cell holds a number, the zeros in front are lost. Codes says to which "
        "department it belongs in which months. What counts is the month the document belongs to.",
    ),
    ("Unknown", "Documents with a cost centre that is not in Codes belong to no department."),
    ("Pounds", "1 GBP = 1.17 EUR, for the whole year."),
]


def owner(code, month):
    for known, department, first, last in CODES:
        if code == known and first <= month and (not last or month <= last):
            return department
    return None


def comma(cents):
    """An amount as the old ledger wrote it."""
    whole, rest = divmod(abs(cents), 100)
    return ("-" if cents < 0 else "") + f"{whole:,}".replace(",", ".") + f",{rest:02}"


def make(seed: int):
    """The budget and the draft in tenths of kEUR, and the documents."""
    dice = Dice(seed)
    budget, draft = {}, {}
    for department, base in BASE.items():
        for number, month in enumerate(MONTHS):
            budget[department, month] = base * 10 + dice.between(-20, 25) + (15 if number > 8 else 0)
            draft[department, month] = budget[department, month] + dice.between(12, 55)
    documents = []
    for department, base in BASE.items():
        for number, month in enumerate(["2024-12", *MONTHS[:11]]):
            homes = [code for code in sorted({row[0] for row in CODES}) if owner(code, month) == department]
            if not homes:  # December 2024 comes before the map
                homes = [code for code, known, _, _ in CODES if known == department][:1]
            count = {0: 2, 10: 4, 11: 1}.get(number, 8)
            share = budget.get((department, month), base * 10) * 100 * 100 * SPENT[department] / 8
            for _ in range(count):
                amount = int(share * (0.35 + 1.3 * dice.share()))
                documents.append(
                    {"code": dice.pick(homes), "month": month, "amount": amount, "currency": "EUR", "status": "posted"}
                )
    for month in MONTHS[:9]:
        documents.append(
            {
                "code": dice.pick(UNKNOWN),
                "month": month,
                "amount": dice.between(20000, 160000),
                "currency": "EUR",
                "status": "posted",
            }
        )
    for place, document in enumerate(documents):
        draw = dice.share()
        if draw < 0.05:
            document["status"] = "parked"
        elif draw < 0.10:
            document["status"] = "cancelled"
        elif draw < 0.14:
            document["amount"] = -document["amount"] // 3  # a credit note
        if dice.chance(0.07):
            document["currency"] = "GBP"
            document["amount"] = document["amount"] * 100 // RATE
        year, month = (int(part) for part in document["month"].split("-"))
        document["date"] = date(year, month, dice.between(1, 28))
        document["period"] = ""
        if dice.chance(0.08):  # posted after the end of its month
            document["period"] = document["month"]
            document["date"] = date(year + month // 12, month % 12 + 1, dice.between(1, 11))
        document["old"] = dice.chance(0.12)
        document["place"] = place
    documents.sort(key=lambda document: (document["date"], document["place"]))
    for number, document in enumerate(documents):
        document["number"] = f"D{25000 + number * 3 + dice.below(3)}"
    return budget, draft, documents


def expected(seed: int = SEED) -> dict:
    """The right result, from the documents themselves: budgets in hundreds of euros, actuals in euros."""
    budget, _, documents = make(seed)
    months = MONTHS[:9]
    planned = {
        key: value * 100.0 + (4500 if key[0] == "Logistics" and key[1] >= "2025-06" else 0)
        for key, value in budget.items()
    }
    spent = {(department, month): 0 for department in BASE for month in months}
    unknown, counted = 0, 0
    for document in documents:
        if document["status"] != "posted" or document["month"] not in months:
            continue
        counted += 1
        cents = document["amount"] * (RATE if document["currency"] == "GBP" else 100)
        department = owner(document["code"], document["month"])
        if department:
            spent[department, document["month"]] += cents
        else:
            unknown += cents
    over = {key: spent[key] / 10000 - planned[key] for key in spent}
    worst = max(over, key=over.get)
    return {
        "budget": {
            department: [round(planned[department, month] / 100) for month in months] for department in sorted(BASE)
        },
        "actual": {
            department: [round(spent[department, month] / 10000, 2) for month in months] for department in sorted(BASE)
        },
        "over": sorted(
            department.lower()
            for department in BASE
            if sum(spent[department, month] / 10000 - 1.05 * planned[department, month] for month in months) > 0
        ),
        "worst": worst,
        "unassigned": round(unknown / 10000, 2),
        "documents": counted,
    }


def fill(book, seed: int):
    budget, draft, documents = make(seed)
    dice = Dice(seed - SEED + 77)
    bold, middle = Font(bold=True), Alignment(horizontal="center")

    def plan(name, numbers, title):
        sheet = book.create_sheet(name)
        sheet.merge_cells("A1:Q1")
        sheet["A1"] = title
        sheet["A1"].font = bold
        sheet.merge_cells("A3:A4")
        sheet["A3"] = "Department"
        for quarter in range(4):
            first = 2 + quarter * 4
            sheet.merge_cells(start_row=3, start_column=first, end_row=3, end_column=first + 3)
            sheet.cell(3, first, f"Q{quarter + 1} 2025").alignment = middle
            for place in range(3):
                sheet.cell(
                    4, first + place, "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()[quarter * 3 + place]
                )
            sheet.cell(4, first + 3, f"Q{quarter + 1}")
        row = 5
        for group, departments in GROUPS.items():
            sheet.merge_cells(start_row=row, start_column=1, end_row=row, end_column=17)
            sheet.cell(row, 1, group).font = bold
            row += 1
            for department in departments:
                sheet.cell(row, 1, department)
                for number, month in enumerate(MONTHS):
                    tenths = numbers[department, month]
                    as_text = dice.chance(0.15)
                    sheet.cell(
                        row, 2 + number + number // 3, f"{tenths // 10},{tenths % 10}" if as_text else tenths / 10
                    )
                for column, (first, last) in {"E": "BD", "I": "FH", "M": "JL", "Q": "NP"}.items():
                    sheet[f"{column}{row}"] = f"=SUM({first}{row}:{last}{row})"
                row += 1
        sheet.cell(row + 1, 1, "Total").font = bold
        for column in "BCDEFGHIJKLMNOPQ":
            sheet[f"{column}{row + 1}"] = f"=SUM({column}5:{column}{row - 1})"
        return sheet

    notes = book.create_sheet("Notes")
    notes["A1"] = "How to read this workbook"
    notes["A1"].font = bold
    for number, (head, text) in enumerate(NOTES, start=3):
        notes.cell(number, 1, head)
        notes.cell(number, 2, text)
    plan("Budget", budget, "Budget 2025 by department (kEUR), approved 9 December 2024")
    plan("Budget_Nov", draft, "Budget 2025 by department (kEUR)").sheet_state = "hidden"
    codes = book.create_sheet("Codes")
    codes.append(["Cost centre", "Department", "From", "Until"])
    for code, department, first, last in CODES:
        codes.append([code, department, first, last or None])
    sheet = book.create_sheet("Actuals")
    sheet.append(["Document", "Posting date", "Cost centre", "Text", "Amount", "Currency", "Status", "Period"])
    texts = [
        "Supplier invoice",
        "Travel",
        "Licences",
        "Rent and energy",
        "Temporary staff",
        "Freight",
        "Printing",
        "Training",
    ]
    rows = []
    for document in documents:
        code, amount = document["code"], document["amount"]
        status = document["status"]
        rows.append(
            [
                document["number"],
                f"{document['date']:%d.%m.%Y}" if document["old"] else document["date"],
                code if dice.chance(0.5) else int(code),
                "Credit note" if amount < 0 else dice.pick(texts),
                comma(amount) if document["old"] else amount / 100,
                document["currency"],
                dice.pick([status, status, status.capitalize(), status.upper() + " "]),
                document["period"] or None,
            ]
        )
    for place in sorted(dice.sample(range(len(rows) - 40), 34), reverse=True):
        rows.insert(place + dice.between(1, 30), list(rows[place]))
    for row in rows:
        sheet.append(row)
        if isinstance(row[1], date):
            sheet.cell(sheet.max_row, 2).number_format = "yyyy-mm-dd"
    sheet.freeze_panes = "A2"
    book.active = 0


def files(seed: int = SEED) -> dict[str, bytes]:
    return {"budget_workbook/finance_2025.xlsx": xlsx(partial(fill, seed=seed))}
