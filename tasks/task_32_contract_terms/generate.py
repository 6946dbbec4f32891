"""A facilities contract, two signed amendments and one that was never signed, as PDF files."""

from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal

from craft.pdf import PageBreak, gap, heading, paragraph, pdf, table

CLIENT = "Marrowby Foods Designated Activity Company"
PROVIDER = "Kestrel Lane Facilities Limited"
NEW_PROVIDER = "Kestrel Lane Building Services Limited"

SITES = [
    ("BAL", "Ballinroe bakery", "Ballinroe Road 12", "6,400", "12480.00"),
    ("CAR", "Carrick cold store", "Dock Street 3", "9,150", "14915.50"),
    ("DUN", "Dunmore head office", "Mill Quay 41", "3,820", "10240.75"),
    ("ENN", "Ennistown depot", "Station Park 7", "5,300", "7860.00"),
    ("FER", "Ferrybank packing hall", "Ferrybank 88", "7,720", "13395.20"),
    ("GLE", "Glenmore laboratory", "Orchard Lane 5", "1,240", "9105.40"),
    ("KIL", "Kilbrack mill", "Weir Road 1", "8,060", "11730.00"),
    ("LIS", "Lisdarragh warehouse", "Ring Road 210", "10,500", "8990.90"),
]
ADDED = ("MOY", "Moyvane dairy", "Creamery Hill 2", "4,450", "9640.00")  # from 1 July 2025
GLE_NEW = "9950.00"  # from 1 January 2026, left out of the review of 2026
LATER = ("TUL", "Tullaghan depot", "Coast Road 19", "2,900", "5275.00")  # from 1 August 2026
INDEX = [("January 2023", "113.7"), ("January 2024", "118.4"), ("January 2025", "122.9"), ("January 2026", "125.6")]


def truth() -> dict:
    """The terms on 1 June 2026."""

    def cents(value: Decimal) -> Decimal:
        return value.quantize(Decimal("0.01"), ROUND_HALF_UP)

    index = [Decimal(value) for _, value in INDEX]
    rises = [min(cents((new / old - 1) * 100), Decimal(3)) for old, new in zip(index[1:], index[2:])]
    total = Decimal(0)
    for code, *_, base in SITES:
        fee = Decimal(base)
        for rise in rises:
            fee = cents(fee * (1 + rise / 100))
        if code == "GLE":
            fee = Decimal(GLE_NEW)
        if code != "ENN":
            total += fee
    total += Decimal(ADDED[-1])
    end = date(2028, 4, 1)
    return {
        "client": CLIENT,
        "provider": NEW_PROVIDER,
        "commencement_date": "2023-10-02",
        "end_date": end.isoformat(),
        "last_notice_day": (end - timedelta(days=120)).isoformat(),
        "renewal_months": 12,
        "client_termination_days": 75,
        "sites": sorted({site[0] for site in SITES} - {"ENN"} | {"MOY"}),
        "monthly_fee_eur": str(total),
        "payment_days": 45,
        "late_interest_points": 5,
        "liability_cap_eur": str(max(Decimal(1500000), cents(total * 12 * Decimal("1.4")))),
        "governing_law": "Ireland",
        "amendments_in_force": [1, 2],
    }


def euro(value: str) -> str:
    return f"{Decimal(value):,.2f}"


CLAUSES = [
    (
        "Definitions",
        [
            "In this Agreement the following words have the meaning given here. <b>Affiliate</b> means any company"
            " that controls, is"
            " controlled by or is under common control with a party. <b>Charges</b> means the sums payable under"
            " clause 6. <b>Effective"
            " Date</b> means the date on which the last of the parties signs this Agreement, as shown on the"
            " signature page.",
            "<b>Services Commencement Date</b> means the first Monday of the calendar month that follows the month"
            " of the Effective Date."
            " <b>Site</b> means each of the premises in Schedule 1. <b>Site Fee</b> means, for a Site, the monthly"
            " sum in Schedule 1 as"
            " changed under clause 7 or by an amendment. <b>Monthly Fee</b> means the sum of the Site Fees of all"
            " Sites at which the"
            " Services are due on the day in question.",
            "<b>Annual Charges</b> means twelve times the Monthly Fee in force on the day in question. <b>Term</b>"
            " has the meaning given in"
            " clause 3. <b>Working Day</b> means a day other than a Saturday, a Sunday or a public holiday in Ireland.",
            "A period of days before a date is counted back from that date, and that date is not counted. Thus the"
            " tenth day before"
            " 30 June is 20 June. A period of months ends on the day before the day with the same number as the day"
            " on which it began."
            " Headings do not affect the meaning of this Agreement.",
        ],
    ),
    (
        "The Services",
        [
            "The Provider shall provide the cleaning, maintenance and reception services described in Schedule 2"
            " (the <b>Services</b>) at"
            " each Site from the Services Commencement Date, or from the later start named for that Site in an"
            " amendment.",
            "The Provider shall perform the Services with reasonable care and skill, with suitably trained staff,"
            " and in accordance with the"
            " law and with the rules of each Site that the Client has made known to it.",
            "The Client may ask for additional services by a written order. They are charged at the hourly rates in"
            " Schedule 3 and are not"
            " part of the Monthly Fee.",
        ],
    ),
    (
        "Term and renewal",
        [
            "This Agreement binds the parties from the Effective Date. The Services are provided for an initial"
            " period of 36 months that"
            " begins on the Services Commencement Date (the <b>Initial Term</b>).",
            "At the end of the Initial Term, and of each renewal period, this Agreement renews itself for a further"
            " period of 12 months"
            " (each a <b>Renewal Term</b>), unless a party gives notice to the other that it does not wish to renew."
            " The Initial Term"
            " and all Renewal Terms together are the <b>Term</b>.",
            "A notice against renewal is in time only if the other party has received it not later than the 90th day"
            " before the last day of"
            " the Initial Term or of the Renewal Term then running.",
        ],
    ),
    (
        "Staff",
        [
            "The Provider remains the employer of all persons whom it uses for the Services and bears all wages,"
            " taxes and social security"
            " contributions. It shall see to it that every person working at a Site carries a badge with a photograph.",
            "The Client may ask, for a good reason to be named in writing, that a person no longer works at a Site."
            " The Provider shall"
            " replace that person within 10 Working Days.",
            "Neither party shall entice away staff of the other during the Term and for 6 months after it. Answers"
            " to public job"
            " advertisements are not affected.",
        ],
    ),
    (
        "Access and equipment",
        [
            "The Client shall give the Provider access to each Site between 05:30 and 21:00 on every Working Day"
            " and, by arrangement, at other"
            " times. The Client provides water, electricity and a room that can be locked, free of charge.",
            "The Provider brings its own machines and materials and keeps them in safe condition. Equipment of the"
            " Client listed in a Site"
            " folder may be used for the Services only, and must be handed back in the state in which it was"
            " received, fair wear excepted.",
        ],
    ),
    (
        "Charges and payment",
        [
            "In return for the Services the Client shall pay the Monthly Fee. Where the Services at a Site begin or"
            " end within a month, the"
            " Site Fee for that month is due in proportion to its days.",
            "The Provider invoices the Monthly Fee in arrears on the last Working Day of each month. The Client"
            " shall pay each proper invoice"
            " within 30 days after it has received it.",
            "All sums are in euros and do not include value added tax, which is due in addition at the rate fixed by"
            " law.",
            "The Client may withhold a part of an invoice that it disputes in good faith, if it says why within 15"
            " days after receipt and pays"
            " the remaining part in time. The parties shall settle the dispute under clause 18.",
            "If a party does not pay a sum when due, it owes interest on it from the due date until payment, at a"
            " yearly rate of 4 percentage"
            " points above the main refinancing rate of the European Central Bank as it stands on the due date.",
        ],
    ),
    (
        "Review of the Site Fees",
        [
            "The Site Fees are fixed until 31 March 2025. On 1 April 2025 and on each 1 April after that (each a"
            " <b>Review Date</b>) every"
            " Site Fee in force on the day before rises by the percentage found under clause 7.2. A Site at which"
            " the Services began less"
            " than 12 months before the Review Date is left out of that review.",
            "The percentage is the rise of the Services Price Index from the January of the preceding year to the"
            " January of the year of the"
            " Review Date, in percent, rounded to two decimal places. It is not more than 4.00 percent, and not less"
            " than zero.",
            "After each review every Site Fee is rounded to the nearest cent. It is the rounded Site Fee to which"
            " the next review applies.",
            "The Provider shall announce the new Site Fees in writing before the Review Date. Late announcement does"
            " not delay the rise.",
        ],
    ),
    (
        "Service levels",
        [
            "The Provider shall meet the service levels in Schedule 2. If it misses a service level in a month, the"
            " Client may deduct the"
            " service credit shown there from the next invoice.",
            "Service credits are limited to 12 percent of the Monthly Fee in any month. They do not exclude other"
            " rights, but are set off against"
            " damages for the same failure.",
        ],
    ),
    (
        "Reports and meetings",
        [
            "By the fifth Working Day of each month the Provider sends a report with the hours worked, the service"
            " levels reached, accidents"
            " and complaints of the previous month for each Site.",
            "The contract managers named in Schedule 3 meet every quarter. Minutes of these meetings inform the"
            " parties but do not change this"
            " Agreement.",
        ],
    ),
    (
        "Health, safety and environment",
        [
            "The Provider shall keep a safety statement for each Site and shall show it on request. Accidents that"
            " cause an absence of more than"
            " three days are to be reported to the Client within 24 hours.",
            "Cleaning agents must be approved for use near food wherever food is handled. Waste is to be sorted as"
            " the Site folder says.",
        ],
    ),
    (
        "Confidentiality",
        [
            "Each party shall keep secret what it learns about the other party's business, and shall use it only for"
            " this Agreement. This does"
            " not apply to what is public without a breach, was known before, or must be disclosed by law.",
            "This duty remains in force for 3 years after the end of the Term.",
        ],
    ),
    (
        "Personal data",
        [
            "Where the Provider handles personal data for the Client, for example at a reception, it acts on"
            " documented instructions only,"
            " keeps the data safe and deletes them after 60 days unless the law requires otherwise.",
            "The Provider shall report a breach of personal data to the Client without delay and at the latest"
            " within 36 hours.",
        ],
    ),
    (
        "Insurance",
        [
            "The Provider shall maintain public liability insurance of at least EUR 6,500,000 for each event and"
            " employer's liability insurance"
            " of at least EUR 13,000,000 for each event, and shall show the certificates once a year.",
        ],
    ),
    (
        "Liability",
        [
            "Nothing in this Agreement limits liability for death or personal injury caused by negligence, for"
            " fraud, or where the law does not"
            " allow a limit.",
            "Subject to clause 14.1, the liability of each party for all events within a calendar year is limited to"
            " the greater of EUR 1,500,000"
            " and 125 percent of the Annual Charges. The Annual Charges are taken as on the day of the first event"
            " of that year.",
            "Subject to clause 14.1, neither party is liable for loss of profit or for indirect loss. The duty to"
            " pay the Charges is not"
            " affected.",
        ],
    ),
    (
        "Termination",
        [
            "The Client may end this Agreement at any time after the first 12 months of the Initial Term by a notice"
            " of at least 90 days. The"
            " Provider may do so by a notice of at least 180 days.",
            "A party may end this Agreement at once if the other party commits a serious breach and does not remedy"
            " it within 30 days after"
            " a written request, or if it becomes insolvent.",
            "The Client may remove a single Site by a notice of at least 60 days. The Site Fee of that Site then"
            " falls away from the day on"
            " which the Services there end.",
        ],
    ),
    (
        "End of the Services",
        [
            "At the end of the Term the Provider shall hand over keys, badges and Site folders within 5 Working"
            " Days, and shall help a new"
            " provider to start, for not more than 40 hours free of charge.",
        ],
    ),
    (
        "Events beyond control",
        [
            "A party is not in breach while an event that it could not foresee or prevent keeps it from performing."
            " It shall tell the other"
            " party within 3 Working Days. If the event lasts longer than 60 days, either party may end this"
            " Agreement for the Sites concerned.",
        ],
    ),
    (
        "Settlement of disputes",
        [
            "The contract managers shall try to settle a dispute within 15 Working Days, and then the directors"
            " within another 15 Working Days."
            " After that the parties may agree on mediation. Urgent court measures are possible at any time.",
        ],
    ),
    (
        "Assignment and subcontracting",
        [
            "Neither party may assign this Agreement without the written consent of the other, except to an"
            " Affiliate. The Provider may use"
            " subcontractors that the Client has approved and is liable for them as for its own staff.",
        ],
    ),
    (
        "Notices",
        [
            "Notices must be in writing and delivered by hand or by registered post to the registered office of the"
            " party, or by e-mail to the"
            " address in Schedule 3. An e-mail counts as received on the next Working Day.",
        ],
    ),
    (
        "Amendments",
        [
            "An amendment of this Agreement, or of this clause, has effect only if it is in writing, is numbered,"
            " and has been signed on behalf"
            " of both parties. Drafts, minutes, letters and invoices do not amend this Agreement, even if a party"
            " has acted on them.",
            "Where amendments differ, the one with the higher number prevails. What an amendment does not mention"
            " remains as it was.",
        ],
    ),
    (
        "Governing law and courts",
        [
            "This Agreement, and all claims in connection with it, are governed by the laws of Ireland. The courts"
            " of Dublin have sole"
            " jurisdiction.",
        ],
    ),
    (
        "General",
        [
            "This Agreement with its Schedules is the whole agreement of the parties on its subject. If a clause is"
            " invalid, the others remain"
            " valid. A right is not lost because a party does not use it at once.",
            "This Agreement may be signed in two copies and by electronic signature. Each signed copy is an original.",
        ],
    ),
]


def clauses():
    for number, (title, texts) in enumerate(CLAUSES, 1):
        yield heading(f"{number}. {title}", 3)
        for part, text in enumerate(texts, 1):
            yield paragraph(f"{number}.{part} {text}")


def signatures(client_name: str, provider_name: str, client_date: str, provider_date: str, signed: bool = True):
    """The page at the end; without signatures all its fields are empty."""
    rows = [
        ["", "For the Client", "For the Provider"],
        ["Company", client_name, provider_name],
        ["Name", "Orla Tiernan" if signed else "", "Piers Haldane" if signed else ""],
        ["Position", "Finance Director" if signed else "", "Managing Director" if signed else ""],
        ["Signature", "signed: O. Tiernan" if signed else "", "signed: P. Haldane" if signed else ""],
        ["Date", client_date, provider_date],
    ]
    yield gap(6)
    yield heading("Signatures", 3)
    yield table(rows, widths=(22, 74, 74))


def agreement() -> bytes:
    parts = [
        gap(40),
        heading("Master Agreement for Facility Services"),
        paragraph("Reference MF/FM/2023/117"),
        gap(10),
        paragraph(
            f"between <b>{CLIENT}</b>, a company registered in Ireland under number 508814, whose registered office"
            f" is at Mill Quay 41,"
            " Dunmore (the <b>Client</b>)"
        ),
        paragraph(
            f"and <b>{PROVIDER}</b>, a company registered in Ireland under number 446207, whose registered office is"
            f" at Kestrel Lane 9,"
            " Dublin (the <b>Provider</b>)."
        ),
        gap(10),
        paragraph(
            "The Client runs bakeries, stores and offices in Ireland and wishes to have them cleaned, maintained and"
            " staffed at reception"
            " by one firm. The Provider offers such services. The proposal of the Provider of 1 August 2023 named a"
            " start on 1 October 2023;"
            " it is not part of this Agreement. The parties therefore agree as follows."
        ),
        PageBreak(),
        *clauses(),
        *signatures(CLIENT, PROVIDER, "11 September 2023", "4 September 2023"),
        PageBreak(),
        heading("Schedule 1: Sites and Site Fees", 2),
        paragraph(
            "The Site Fees are monthly, in euros, without value added tax, as on the Services Commencement Date."
        ),
        table(
            [["Code", "Site", "Address", "Floor area, m2", "Site Fee, EUR"]]
            + [[code, name, street, area, euro(fee)] for code, name, street, area, fee in SITES],
            widths=(16, 50, 42, 30, 30),
        ),
        gap(),
        paragraph(
            "Window cleaning above the second floor, snow clearing and pest control are not included and are ordered"
            " under clause 2.3."
        ),
        PageBreak(),
        heading("Schedule 2: Services and service levels", 2),
        table(
            [
                ["Service", "Measure", "Level", "Credit"],
                ["Daily cleaning", "rooms passed at inspection", "96 %", "2 %"],
                ["Cleaning of food areas", "swab tests passed", "99 %", "4 %"],
                ["Planned maintenance", "jobs done in the planned week", "95 %", "2 %"],
                ["Urgent repairs", "on site within 4 hours", "92 %", "3 %"],
                ["Reception", "desk staffed from 07:30 to 18:00", "99 %", "1 %"],
                ["Reports", "report by the fifth Working Day", "100 %", "1 %"],
            ],
            widths=(45, 65, 25, 25),
        ),
        gap(),
        paragraph(
            "Inspections take place once a week by both parties together. A room fails if two or more points of the"
            " list in the Site folder"
            " are not met. Swab tests are taken by the quality department of the Client, at least twenty in each"
            " month and Site."
        ),
        PageBreak(),
        heading("Schedule 3: Contacts and rates", 2),
        table(
            [
                ["Role", "Name", "E-mail"],
                ["Contract manager, Client", "Declan Roarty", "contracts@marrowby.example"],
                ["Contract manager, Provider", "Sunniva Brandt", "accounts@kestrel-lane.example"],
                ["Notices to the Client", "Company Secretary", "notices@marrowby.example"],
                ["Notices to the Provider", "Managing Director", "notices@kestrel-lane.example"],
            ],
            widths=(50, 45, 65),
        ),
        gap(),
        table(
            [
                ["Additional service", "EUR per hour"],
                ["Cleaner", "27.40"],
                ["Window cleaner", "33.10"],
                ["Technician", "58.00"],
                ["Technician, night or Sunday", "87.00"],
                ["Receptionist", "31.75"],
            ],
            widths=(70, 35),
        ),
    ]
    return pdf(parts, title="Master Agreement MF/FM/2023/117", footer="Master Agreement MF/FM/2023/117")


def amendment_1() -> bytes:
    code, name, street, area, fee = ADDED
    parts = [
        heading("Amendment No. 1"),
        paragraph("to the Master Agreement for Facility Services MF/FM/2023/117"),
        paragraph(
            f"between <b>{CLIENT}</b> (the Client) and <b>{PROVIDER}</b> (the Provider). Words defined in the"
            f" Agreement have the same"
            " meaning here. This amendment has effect from 1 March 2025, unless it says otherwise."
        ),
        heading("1. Term", 3),
        paragraph('In clause 3.1 of the Agreement the words "36 months" are replaced with "48 months".'),
        heading("2. Renewal", 3),
        paragraph('2.1 In clause 3.2 of the Agreement the words "12 months" are replaced with "6 months".'),
        paragraph('2.2 In clause 3.3 of the Agreement the words "90th day" are replaced with "120th day".'),
        heading("3. Payment", 3),
        paragraph('In clause 6.2 of the Agreement the words "30 days" are replaced with "45 days".'),
        heading("4. Termination", 3),
        paragraph(
            'In the first sentence of clause 15.1 of the Agreement the words "90 days" are replaced with "60 days".'
        ),
        heading("5. Review of the Site Fees", 3),
        paragraph(
            'In clause 7.2 of the Agreement the words "4.00 percent" are replaced with "3.00 percent".'
            " This applies to the Review Date"
            " in 2025 already."
        ),
        heading("6. Sites", 3),
        paragraph(
            "6.1 The Services at the Site ENN (Ennistown depot) end on 30 June 2025. It is removed from Schedule 1"
            " after that day."
        ),
        paragraph(
            "6.2 With effect from 1 July 2025 the following Site is added to Schedule 1. The Services there begin on"
            " that day."
        ),
        table(
            [["Code", "Site", "Address", "Floor area, m2", "Site Fee, EUR"], [code, name, street, area, euro(fee)]],
            widths=(16, 50, 42, 30, 30),
        ),
        heading("7. Liability", 3),
        paragraph('In clause 14.2 of the Agreement the words "125 percent" are replaced with "150 percent".'),
        heading("8. Other terms", 3),
        paragraph("All other terms of the Agreement remain as they are."),
        *signatures(CLIENT, PROVIDER, "14 February 2025", "18 February 2025"),
    ]
    return pdf(parts, title="Amendment No. 1 to MF/FM/2023/117", footer="Amendment No. 1 to MF/FM/2023/117")


def amendment_2() -> bytes:
    code, name, street, area, fee = LATER
    parts = [
        heading("Amendment No. 2"),
        paragraph("to the Master Agreement for Facility Services MF/FM/2023/117"),
        paragraph(
            f"between <b>{CLIENT}</b> (the Client) and <b>{NEW_PROVIDER}</b> (the Provider). It is signed in"
            f" February 2026 and"
            " has effect from 1 January 2026, unless it says otherwise."
        ),
        heading("1. Name of the Provider", 3),
        paragraph(
            f"The Provider was entered in the register under the name {NEW_PROVIDER} on 20 October 2025; until then"
            f" its name was {PROVIDER}."
            " Its number, 446207, remains the same, and so does everything that it has agreed."
        ),
        heading("2. Changes to Amendment No. 1", 3),
        paragraph(
            "2.1 Section 1 (Term) of Amendment No. 1 is replaced as follows: in clause 3.1 of the Agreement the words"
            ' "36 months" are replaced with "54 months".'
        ),
        paragraph(
            "2.2 Section 2.1 of Amendment No. 1 is deleted. Clause 3.2 of the Agreement applies again as it was"
            " signed in 2023."
            " Section 2.2 of Amendment No. 1 is not affected."
        ),
        paragraph('2.3 In section 4 (Termination) of Amendment No. 1 the words "60 days" are replaced with "75 days".'),
        paragraph(
            '2.4 In section 7 (Liability) of Amendment No. 1 the words "150 percent" are replaced with "140 percent".'
        ),
        heading("3. Late payment", 3),
        paragraph(
            'In clause 6.5 of the Agreement the words "4 percentage points" are replaced with "5 percentage points".'
        ),
        heading("4. Sites", 3),
        paragraph(
            f"4.1 From 1 January 2026 the Site Fee of the Site GLE (Glenmore laboratory) is EUR {euro(GLE_NEW)}, in"
            f" place of the one in force"
            " until then, because a second floor is cleaned as well. The Site GLE is left out of the review on 1"
            " April 2026 and takes part"
            " again from 1 April 2027."
        ),
        paragraph(
            "4.2 With effect from 1 August 2026 the following Site is added to Schedule 1. The Services there begin"
            " on that day."
        ),
        table(
            [["Code", "Site", "Address", "Floor area, m2", "Site Fee, EUR"], [code, name, street, area, euro(fee)]],
            widths=(16, 50, 42, 30, 30),
        ),
        heading("5. Index", 3),
        paragraph(
            "These are the values of the Services Price Index for the reviews under clause 7.2, as published by 16"
            " February 2026."
        ),
        table([["Month", "Services Price Index"]] + [list(row) for row in INDEX], widths=(45, 50)),
        heading("6. Other terms", 3),
        paragraph("All other terms of the Agreement and of Amendment No. 1 remain as they are."),
        *signatures(CLIENT, NEW_PROVIDER, "24 February 2026", "27 February 2026"),
    ]
    return pdf(parts, title="Amendment No. 2 to MF/FM/2023/117", footer="Amendment No. 2 to MF/FM/2023/117")


def amendment_3() -> bytes:
    parts = [
        heading("Amendment No. 3"),
        paragraph("to the Master Agreement for Facility Services MF/FM/2023/117"),
        paragraph(
            f"between <b>{CLIENT}</b> (the Client) and <b>{NEW_PROVIDER}</b> (the Provider). This amendment has"
            f" effect from 1 May 2026."
        ),
        heading("1. Term", 3),
        paragraph("The Initial Term in clause 3.1 of the Agreement is 60 months."),
        heading("2. Renewal", 3),
        paragraph("Each Renewal Term in clause 3.2 of the Agreement is 24 months."),
        heading("3. Payment", 3),
        paragraph(
            "Invoices under clause 6.2 of the Agreement are payable within 60 days. Interest under clause 6.5 is 3"
            " percentage points."
        ),
        heading("4. Sites", 3),
        paragraph("The Site LIS (Lisdarragh warehouse) is removed from Schedule 1 after 30 April 2026."),
        heading("5. Governing law", 3),
        paragraph(
            "Clause 22.1 of the Agreement is replaced: the laws of England and Wales apply, and the courts of London"
            " have jurisdiction."
        ),
        *signatures(CLIENT, NEW_PROVIDER, "", "", signed=False),
    ]
    return pdf(
        parts, title="Amendment No. 3 to MF/FM/2023/117", footer="Amendment No. 3 to MF/FM/2023/117 - v0.4 for comment"
    )


def files() -> dict[str, bytes]:
    return {
        "contract_terms/master_agreement.pdf": agreement(),
        "contract_terms/amendment_1.pdf": amendment_1(),
        "contract_terms/amendment_2.pdf": amendment_2(),
        "contract_terms/amendment_3.pdf": amendment_3(),
    }
