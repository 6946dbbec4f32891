"""Six calendars in three zones, in the weeks before and after Europe's change to summer time in 2026."""

from datetime import datetime, timedelta

from craft.dice import Dice

FOLDER = "meeting_slot"

PRAGUE = """BEGIN:VTIMEZONE
TZID:{name}
BEGIN:DAYLIGHT
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
DTSTART:19700329T020000
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU
END:DAYLIGHT
BEGIN:STANDARD
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
DTSTART:19701025T030000
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
END:STANDARD
END:VTIMEZONE"""
NEW_YORK = """BEGIN:VTIMEZONE
TZID:{name}
BEGIN:DAYLIGHT
TZOFFSETFROM:-0500
TZOFFSETTO:-0400
DTSTART:20070311T020000
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=2SU
END:DAYLIGHT
BEGIN:STANDARD
TZOFFSETFROM:-0400
TZOFFSETTO:-0500
DTSTART:20071104T020000
RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=1SU
END:STANDARD
END:VTIMEZONE"""
KOLKATA = """BEGIN:VTIMEZONE
TZID:{name}
BEGIN:STANDARD
TZOFFSETFROM:+0530
TZOFFSETTO:+0530
DTSTART:19700101T000000
END:STANDARD
END:VTIMEZONE"""

# owner: name of the zone, its definition, hours that are filled with entries which don't matter
OWNERS = {
    "jana": ("Europe/Prague", PRAGUE, (9, 11)),
    "petr": ("Central Europe Standard Time", PRAGUE, (7, 11)),
    "dana": ("America/New_York", NEW_YORK, (11, 15)),
    "luis": ("Eastern Standard Time", NEW_YORK, (8, 15)),
    "priya": ("Asia/Kolkata", KOLKATA, (11, 15)),
    "arjun": ("India Standard Time", KOLKATA, (10, 15)),
}
TITLES = (
    "Supplier call|Sample review|Sprint notes|Shift handover|Budget check|Test bench 2|Customer visit|Interview|"
    "Documentation|Safety round|Training plan|Data review"
).split("|")
ZONE = ";TZID={zone}:"

# Entries that decide. "@" in a line stands for the owner's zone. BLOCKED below says in UTC what they mean.
ENTRIES = {
    "jana": [
        ("Monday letter", ["DTSTART@20260105T140000", "DTEND@20260105T143000", "RRULE:FREQ=WEEKLY;BYDAY=MO"]),
        ("Catalogue", ["DTSTART@20260306T130000", "DTEND@20260306T140000", "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=FR"]),
        ("Reading time", ["DTSTART@20260324T140000", "DTEND@20260324T153000", "TRANSP:TRANSPARENT"]),
        ("Visit of the auditors", ["DTSTART@20260325T130000", "DURATION:PT1H"]),
        ("Good Friday\\, office closed", ["DTSTART;VALUE=DATE:20260403", "DTEND;VALUE=DATE:20260404"]),
        (
            "Data protection course",
            ["DTSTART@20260225T150000", "DTEND@20260225T163000", "RRULE:FREQ=WEEKLY;COUNT=4;BYDAY=WE"],
        ),
    ],
    "petr": [
        ("Maybe: press line", ["DTSTART@20260324T130000", "DTEND@20260324T153000", "STATUS:TENTATIVE"]),
        (
            "Acceptance of press 3",
            ["DTSTART@20260326T130000", "DTEND@20260326T150000", "STATUS:CANCELLED", "SEQUENCE:3"],
        ),
        ("Line check", ["DTSTART@20260401T140000", "DTEND@20260401T143000", "RRULE:FREQ=WEEKLY;COUNT=10;BYDAY=WE"]),
        (
            "Winter shift talk",
            ["DTSTART@20260102T130000", "DTEND@20260102T140000", "RRULE:FREQ=WEEKLY;BYDAY=FR;UNTIL=20260320T120000Z"],
        ),
        ("Good Friday\\, office closed", ["DTSTART;VALUE=DATE:20260403", "DTEND;VALUE=DATE:20260404"]),
    ],
    "dana": [
        (
            "Kick-off of the week",
            [
                "DTSTART@20260105T083000",
                "DTEND@20260105T090000",
                "RRULE:FREQ=WEEKLY;BYDAY=MO",
                "EXDATE@20260330T083000",
            ],
        ),
        ("Floor round", ["DTSTART@20260303T080000", "DTEND@20260303T083000", "RRULE:FREQ=WEEKLY;BYDAY=TU,TH"]),
        (
            "Floor round (moved)",
            ["RECURRENCE-ID@20260402T080000", "SEQUENCE:1", "DTSTART@20260401T083000", "DTEND@20260401T090000"],
        ),
        ("Dentist", ["DTSTART@20260324T100000", "DTEND@20260324T110000"]),
    ],
    "luis": [
        ("Travel to Albany", ["DTSTART@20260325T083000", "DTEND@20260325T123000"]),
        ("Vacation", ["DTSTART;VALUE=DATE:20260330", "DTEND;VALUE=DATE:20260404", "TRANSP:OPAQUE"]),
    ],
    "priya": [
        ("Call with the foundry", ["DTSTART:20260324T120000Z", "DTEND:20260324T124500Z"]),
        ("On leave", ["DTSTART;VALUE=DATE:20260331", "DTEND;VALUE=DATE:20260401", "TRANSP:OPAQUE"]),
        ("Holi at my parents'", ["DTSTART;VALUE=DATE:20260303", "DTEND;VALUE=DATE:20260305"]),
    ],
    "arjun": [
        ("Furnace run 12", ["DTSTART:20260323T180000", "DTEND:20260323T185000"]),
        ("Handover of the night shift", ["DTSTART@20260326T191500", "DTEND@20260326T193000"]),
        ("Furnace run 13", ["DTSTART:20260327T160000", "DTEND:20260327T171500"]),
        ("Furnace run 14", ["DTSTART:20260402T161500", "DTEND:20260402T172000"]),
    ],
}

# What the entries block in the hours that are left, in UTC: month-day, from, to.
# Arjun's minutes before and after are included.
BLOCKED = """
03-23 12:30 13:00 dana
03-23 13:00 13:30 jana
03-23 12:15 13:35 arjun
03-24 12:00 12:30 dana
03-24 14:00 15:00 dana
03-24 12:00 12:45 priya
03-25 12:00 13:00 jana
03-26 12:00 12:30 dana
03-26 13:30 14:15 arjun
03-27 10:15 12:00 arjun
03-30 12:00 12:30 jana
03-31 12:00 12:30 dana
03-31 00:00 18:30 priya
04-01 12:00 12:30 petr
04-01 12:30 13:00 dana
04-02 10:30 12:05 arjun
04-03 00:00 22:00 jana
"""


def slots() -> list[datetime]:
    """The possible starts in UTC: from 12:00 (New York, 08:00) on, until Kolkata, Petr or on Fridays Priya end work."""
    spans = []
    for line in BLOCKED.split("\n"):
        if line:
            day, begin, end, _ = line.split()
            spans.append(tuple(datetime.fromisoformat(f"2026-{day}T{clock}") for clock in (begin, end)))
    found = []
    for number in range(14):
        day = datetime(2026, 3, 23) + timedelta(days=number)
        if day.weekday() > 4:
            continue
        last = "13:00" if day.weekday() == 4 else "14:30" if number < 6 else "13:30"
        for half in range(24, 30):
            start = day + timedelta(minutes=30 * half)
            end = start + timedelta(hours=1)
            if end.strftime("%H:%M") <= last and not any(start < span[1] and span[0] < end for span in spans):
                found.append(start)
    return found


def files() -> dict[str, bytes]:
    dice = Dice(310)
    made = {}
    for owner, (zone, definition, hours) in OWNERS.items():
        entries = list(ENTRIES[owner])
        for number in range(14):
            day = datetime(2026, 3, 23) + timedelta(days=number)
            if day.weekday() > 4 or owner == "luis" and number > 6:
                continue
            for hour in dice.sample(range(hours[0], hours[1] + 1), 2):
                start = day + timedelta(hours=hour, minutes=dice.pick((0, 0, 15)))
                end = start + timedelta(minutes=dice.pick((30, 45, 45)))
                entries.append((dice.pick(TITLES), [f"DTSTART@{start:%Y%m%dT%H%M%S}", f"DTEND@{end:%Y%m%dT%H%M%S}"]))
        lines = [
            "BEGIN:VCALENDAR",
            "VERSION:2.0",
            f"PRODID:-//Veltrusy//Calendar of {owner}//EN",
            f"X-WR-TIMEZONE:{zone}",
        ]
        lines += definition.format(name=zone).split("\n")
        for number, (title, rest) in enumerate(dice.shuffled(entries), 1):
            series = title.partition(" (")[0]
            name = series.lower().replace(" ", "-") if series == "Floor round" else f"{owner}-{number:03d}"
            lines += ["BEGIN:VEVENT", f"UID:{name}@veltrusy.example", "DTSTAMP:20260320T160000Z", f"SUMMARY:{title}"]
            lines += [line.replace("@", ZONE.format(zone=zone)) for line in rest]
            lines.append("END:VEVENT")
        lines.append("END:VCALENDAR")
        made[f"{FOLDER}/calendars/{owner}.ics"] = "".join(f"{line}\r\n" for line in lines).encode()
    return made
