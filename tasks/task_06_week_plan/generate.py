"""A week's calendar with recurring, moved, cancelled and foreign entries."""

FOLDER = "week_plan"
ME = "nadia.wrona@tidewell.example"
ZONES = """BEGIN:VTIMEZONE
TZID:Europe/Warsaw
BEGIN:DAYLIGHT
TZNAME:CEST
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
DTSTART:19700329T020000
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU
END:DAYLIGHT
BEGIN:STANDARD
TZNAME:CET
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
DTSTART:19701025T030000
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
END:STANDARD
END:VTIMEZONE
BEGIN:VTIMEZONE
TZID:America/New_York
BEGIN:DAYLIGHT
TZNAME:EDT
TZOFFSETFROM:-0500
TZOFFSETTO:-0400
DTSTART:20070311T020000
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=2SU
END:DAYLIGHT
BEGIN:STANDARD
TZNAME:EST
TZOFFSETFROM:-0400
TZOFFSETTO:-0500
DTSTART:20071104T020000
RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=1SU
END:STANDARD
END:VTIMEZONE
BEGIN:VTIMEZONE
TZID:Europe/London
BEGIN:DAYLIGHT
TZNAME:BST
TZOFFSETFROM:+0000
TZOFFSETTO:+0100
DTSTART:19700329T010000
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU
END:DAYLIGHT
BEGIN:STANDARD
TZNAME:GMT
TZOFFSETFROM:+0100
TZOFFSETTO:+0000
DTSTART:19701025T020000
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
END:STANDARD
END:VTIMEZONE""".split("\n")
WARSAW = ";TZID=Europe/Warsaw:"
NEW_YORK = ";TZID=America/New_York:"
LONDON = ";TZID=Europe/London:"

# Each entry: id, title, its other lines. What blocks the week of 11 May 2026 (day, from, to) stands in BUSY below.
ENTRIES = [
    (
        "standup",
        "Stand-up of the print team",
        [
            "DTSTART" + WARSAW + "20260302T091500",
            "DTEND" + WARSAW + "20260302T093000",
            "RRULE:FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
            "EXDATE" + WARSAW + "20260501T091500",
            "EXDATE" + WARSAW + "20260514T091500",
        ],
    ),
    (
        "pipeline",
        "Order pipeline",
        [
            "DTSTART" + WARSAW + "20260427T100000",
            "DTEND" + WARSAW + "20260427T113000",
            "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO",
        ],
    ),
    (
        "quality",
        "Quality circle",
        [
            "DTSTART" + WARSAW + "20260407T093000",
            "DTEND" + WARSAW + "20260407T103000",
            "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=TU",
        ],
    ),
    (
        "oneonone",
        "Talk with Oskar",
        [
            "DTSTART" + WARSAW + "20260303T140000",
            "DTEND" + WARSAW + "20260303T150000",
            "RRULE:FREQ=WEEKLY;BYDAY=TU",
        ],
    ),
    (
        "oneonone",
        "Talk with Oskar (moved)",
        [
            "RECURRENCE-ID" + WARSAW + "20260512T140000",
            "SEQUENCE:1",
            "DTSTART" + WARSAW + "20260514T110000",
            "DTEND" + WARSAW + "20260514T120000",
        ],
    ),
    (
        "relaunch",
        "Relaunch of the web shop: weekly check",
        [
            "DTSTART" + WARSAW + "20260306T100000",
            "DTEND" + WARSAW + "20260306T120000",
            "RRULE:FREQ=WEEKLY;BYDAY=FR;UNTIL=20260508T080000Z",
        ],
    ),
    (
        "training",
        "First-aid training",
        [
            "DTSTART" + WARSAW + "20260420T153000",
            "DTEND" + WARSAW + "20260420T173000",
            "RRULE:FREQ=WEEKLY;COUNT=3;BYDAY=MO",
        ],
    ),
    ("brooklyn", "Call with Ferris & Lowe\\, Brooklyn", ["DTSTART" + NEW_YORK + "20260511T090000", "DURATION:PT1H"]),
    ("paper", "Paper mill: price round", ["DTSTART:20260511T111500Z", "DTEND:20260511T121500Z"]),
    ("dentist", "Dentist", ["DTSTART" + WARSAW + "20260511T163000", "DURATION:PT1H30M", "CLASS:PRIVATE"]),
    (
        "steering",
        "Steering group",
        [
            "DTSTART" + WARSAW + "20260512T093000",
            "DTEND" + WARSAW + "20260512T110000",
            "STATUS:CANCELLED",
            "SEQUENCE:2",
        ],
    ),
    (
        "london",
        "Proof review with Hallam Books",
        ["DTSTART" + LONDON + "20260512T120000", "DTEND" + LONDON + "20260512T130000"],
    ),
    ("insurer", "Insurer\\, site visit", ["DTSTART:20260512T133000Z", "DTEND:20260512T143000Z", "STATUS:TENTATIVE"]),
    (
        "tour",
        "Visit to the plant in Łódź",
        ["DTSTART;VALUE=DATE:20260513", "DTEND;VALUE=DATE:20260514", "TRANSP:OPAQUE"],
    ),
    (
        "call",
        "Call with Baltic Ink about the delivery",
        ["DTSTART" + WARSAW + "20260514T093000", "DTEND" + WARSAW + "20260514T101500"],
    ),
    (
        "webinar",
        "Webinar: colour management for beginners",
        [
            "DTSTART" + WARSAW + "20260514T130000",
            "DTEND" + WARSAW + "20260514T140000",
            "ORGANIZER;CN=Print Guild:mailto:events@printguild.example",
            "ATTENDEE;CN=Nadia Wrona;PARTSTAT=DECLINED:mailto:" + ME,
            "ATTENDEE;CN=Oskar Bielak;PARTSTAT=ACCEPTED:mailto:oskar.bielak@tidewell.example",
        ],
    ),
    (
        "boston",
        "Demo for Quarry Lane Press",
        ["DTSTART" + NEW_YORK + "20260514T090000", "DTEND" + NEW_YORK + "20260514T101500"],
    ),
    ("parents", "Parents' evening", ["DTSTART" + WARSAW + "20260514T180000", "DTEND" + WARSAW + "20260514T193000"]),
    ("birthday", "Mira's birthday", ["DTSTART;VALUE=DATE:20260514", "RRULE:FREQ=YEARLY", "TRANSP:TRANSPARENT"]),
    ("fair", "Trade fair in Poznań", ["DTSTART;VALUE=DATE:20260509", "DTEND;VALUE=DATE:20260511", "TRANSP:OPAQUE"]),
    (
        "interview",
        "Interview: apprentice",
        [
            "DTSTART" + WARSAW + "20260515T093000",
            "DTEND" + WARSAW + "20260515T103000",
            "ATTENDEE;CN=Nadia Wrona;PARTSTAT=ACCEPTED:mailto:" + ME,
            "ATTENDEE;CN=Oskar Bielak;PARTSTAT=DECLINED:mailto:oskar.bielak@tidewell.example",
        ],
    ),
    (
        "hold",
        "Focus time (only a reminder)",
        ["DTSTART" + WARSAW + "20260515T103000", "DTEND" + WARSAW + "20260515T120000", "TRANSP:TRANSPARENT"],
    ),
    ("board", "Board papers: questions", ["DTSTART:20260515T113000Z", "DTEND:20260515T123000Z"]),
    (
        "week",
        "Week's end round",
        ["DTSTART" + WARSAW + "20260417T163000", "DTEND" + WARSAW + "20260417T173000", "RRULE:FREQ=WEEKLY;BYDAY=FR"],
    ),
    ("nextweek", "Budget workshop", ["DTSTART" + WARSAW + "20260518T090000", "DTEND" + WARSAW + "20260518T170000"]),
    ("lastweek", "Archive day", ["DTSTART;VALUE=DATE:20260507", "DTEND;VALUE=DATE:20260509", "TRANSP:OPAQUE"]),
]

# What really blocks, in Warsaw time; the check holds the same list.
BUSY = {
    11: [("09:15", "09:30"), ("10:00", "11:30"), ("13:15", "14:15"), ("15:00", "16:00"), ("16:30", "18:00")],
    12: [("09:15", "09:30"), ("13:00", "14:00"), ("15:30", "16:30")],
    13: [("00:00", "24:00")],
    14: [("09:30", "10:15"), ("11:00", "12:00"), ("15:00", "16:15"), ("18:00", "19:30")],
    15: [("09:15", "09:30"), ("09:30", "10:30"), ("13:30", "14:30"), ("16:30", "17:30")],
}


def folded(line: str) -> list[str]:
    """A content line in pieces of at most 75 octets; all but the first begin with a blank."""
    pieces, piece = [], ""
    for letter in line:
        if len((piece + letter).encode()) > 74:
            pieces.append(piece)
            piece = " "
        piece += letter
    return [*pieces, piece]


def files() -> dict[str, bytes]:
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Tidewell//Calendar 4.2//EN", "CALSCALE:GREGORIAN", *ZONES]
    # Exports are seldom in order of time: every seventh entry first, and so on.
    for place in sorted(range(len(ENTRIES)), key=lambda place: (place * 7) % len(ENTRIES)):
        name, title, rest = ENTRIES[place]
        lines += ["BEGIN:VEVENT", f"UID:{name}-4f1c{len(name):02d}@tidewell.example", "DTSTAMP:20260508T141500Z"]
        lines += [f"SUMMARY:{title}", *rest, "END:VEVENT"]
    lines.append("END:VCALENDAR")
    text = "".join(f"{piece}\r\n" for line in lines for piece in folded(line))
    return {f"{FOLDER}/calendar.ics": text.encode()}
