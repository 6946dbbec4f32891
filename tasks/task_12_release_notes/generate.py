"""The merged changes of the club app Tallybird between two releases, newest first, as its code host exports them."""

import json
from datetime import UTC, datetime, timedelta, timezone

from craft.dice import Dice

STAFF = ["a.brandvold", "kemal-t", "lwazi", "petra.s", "rnovak", "yuki-h"]
LAST_CUT = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
THIS_CUT = datetime(2026, 4, 10, 12, 0, tzinfo=UTC)

# Each: key, labels, title, body, and where it belongs ("" for nowhere); an author if it is not one of the staff.
OLD = [
    ("o1", "feature", "Colour labels for member groups", "Groups can be given one of eight colours.", ""),
    ("o2", "fix", "Fix wrong age on the member page", "The age was one year off in the month of the birthday.", ""),
    ("o3", "improvement", "Show the club's logo on printed lists", "Uses the logo from the settings.", "", "tove-lind"),
    ("o4", "internal,ci", "Cache the build on the test machines", "Saves six minutes per run.", ""),
    ("o5", "fix", "Fix blank page after accepting an invitation", "Happened in Firefox only.", ""),
    ("o6", "feature", "Copy an event", "A button on the event page makes a copy with a new date.", ""),
]

CYCLE = [
    (
        "b1",
        "breaking",
        "Remove the old calendar link",
        "The calendar link of the first kind (`/cal/v1/`) is switched off on 30 June 2026. Whoever "
        "subscribed to it has to copy the\n"
        "new link from Settings > Calendar into the calendar program before that day.",
        "note",
    ),
    (
        "b2",
        "deps,internal",
        "Update the sync library to 9.2",
        "Routine update, all tests green.\n\nThe 8.x series gets no more fixes. 9.x needs Android 10 or "
        "iOS 16: on older phones the "
        "app still opens,\nbut it no longer syncs. About 2 % of our installations are older than that.",
        "note",
    ),
    (
        "b3",
        "improvement",
        "Tidy up the member export",
        "The columns of the CSV file now have the same order as on the screen, and empty columns are "
        "gone.\nAlso the dates in it: "
        "2026-04-14 instead of 14.04.2026. People who read the file with their own spreadsheets\nor "
        "scripts will have to adapt "
        "them.",
        "note",
    ),
    (
        "n1a",
        "internal",
        "Waiting list 1/3: tables",
        "First of three parts of the waiting list for events. Nothing to see yet.",
        "new",
    ),
    (
        "n1b",
        "feature",
        "Waiting list 2/3: screens",
        "Second part. When an event is full, members can put themselves on a waiting list.",
        "new",
    ),
    (
        "n1c",
        "feature",
        "Waiting list 3/3: messages",
        "Third and last part: whoever moves up from the waiting list gets a message at once.",
        "new",
    ),
    ("n2a", "feature", "Dark mode", "Behind the flag `dark_ui`, which is off for everyone for now.", "new"),
    (
        "n2b",
        "internal,config",
        "Turn on dark_ui",
        "For all users. Dark mode can be chosen under Settings > Display.",
        "new",
    ),
    ("n3a", "feature", "Pay fees in instalments", "Members can split the yearly fee into two or four payments.", ""),
    (
        "n3b",
        "revert",
        'Revert "Pay fees in instalments"',
        "Reverts #{n3a}: the bank file had a wrong total. Will come back when that is repaired.",
        "",
    ),
    (
        "n3c",
        "feature",
        'Reapply "Pay fees in instalments"',
        "Brings #{n3a} back, with the bank file repaired. Two or four payments, the club decides which it offers.",
        "new",
    ),
    (
        "n4",
        "feature",
        "Save the fee list as PDF",
        "For the board meeting: who has paid, who has not, on one list.",
        "new",
        "maelle-r",
    ),
    (
        "n5",
        "feature",
        "Attach documents to events",
        "Up to five files of 10 MB each, for instance the way there.",
        "new",
    ),
    (
        "n6",
        "feature",
        "Read-only role for auditors",
        "A member with this role sees all bookings and can't change any.",
        "new",
    ),
    (
        "i1",
        "improvement",
        "Search ignores accents",
        "`Zoe` now finds `Zoë`, and `Muller` finds `Müller`.",
        "improved",
        "bodo42",
    ),
    (
        "i2",
        "performance",
        "Load the event list in pages",
        "In clubs with more than 2,000 members the list took 4 seconds to open; it is below 1 second now.",
        "improved",
    ),
    (
        "i3",
        "improvement",
        "Amount in the subject of fee reminders",
        "So that people see at once how much is open.",
        "improved",
    ),
    ("i4", "improvement", "Member list keeps its last filter", "Kept per device.", "improved"),
    (
        "i5",
        "a11y",
        "Names for all buttons on the fee pages",
        "A screen reader read out `button` only.",
        "improved",
        "hanneke-dv",
    ),
    (
        "i6",
        "i18n",
        "Finish the Polish translation",
        "The last 214 texts. Polish is complete with this.",
        "improved",
        "wioletta-k",
    ),
    (
        "f1",
        "fix",
        "Reminders sent twice when the clocks change",
        "Happened to reminders due between 2 and 3 in the night.",
        "fixed",
    ),
    (
        "f2",
        "fix",
        "Rounding in family memberships",
        "The total was one cent off when a fee was divided by three.",
        "fixed",
    ),
    (
        "f3",
        "fix",
        "Crash on events without a place",
        "NullPointerException in EventView when `place` is null.",
        "fixed",
    ),
    (
        "f4",
        "fix",
        "Respect EXIF orientation",
        "Portraits taken upright were shown lying on their side.",
        "fixed",
        "sunniva",
    ),
    (
        "f5",
        "fix",
        "Birthdays on 29 February",
        "They were missing from the birthday list in all years but leap years.",
        "fixed",
    ),
    ("f6", "fix", "Long names in the printed list", "Names of more than 30 letters were cut off.", "fixed"),
    (
        "f7",
        "refactor,internal",
        "Clean up the import code",
        "No more than a reordering for the most part. One thing that people will see: an import of more "
        "than 500 members\nused to "
        "stop half way without a word. It runs to its end now.",
        "fixed",
    ),
    ("f8", "fix", "Sign out everywhere", "`Sign out on all devices` left tablets signed in.", "fixed"),
    ("f9", "fix", "Reply address of group mails", "Answers went to the club's address and not to the sender.", "fixed"),
    (
        "f10",
        "fix",
        "Week numbers in the month view",
        "They were one too low in years that begin on a Thursday.",
        "fixed",
    ),
    (
        "s1",
        "security",
        "Close sessions when a password changes",
        "Advisory: TB-SEC-2026-03\nEmbargo until: 2026-03-31\n\nAfter a change of password, sessions on "
        "other devices stayed open. "
        "They are closed now.",
        "security",
    ),
    (
        "s2",
        "security",
        "Longer tokens for invitation links",
        "Advisory: TB-SEC-2026-05\nEmbargo until: 2026-05-15\nReported by: Mirela Stoica\n\nThe token in "
        "an invitation link had "
        "only 24 bits, so it could be guessed by trying, and a stranger could join a club\nand see its "
        "members' addresses. Tokens "
        "have 128 bits now, and `/v2/invites` allows ten tries a minute.",
        "security",
    ),
    ("x1", "feature", "Weekly digest by mail", "Every Monday: new members, open fees, next events.", "", "odalys-q"),
    (
        "x2",
        "revert",
        'Revert "Weekly digest by mail"',
        "Reverts #{x1}. The mails ended in spam; we need a better idea.",
        "",
    ),
    (
        "x3",
        "fix",
        "Waiting list: people moved up twice",
        "Found while testing #{n1b}, which is not released yet.",
        "",
        "pim-oz",
    ),
    (
        "x4",
        "fix",
        "Dark mode: unreadable buttons",
        "Follow-up to #{n2a}. White on white, seen in our test builds only.",
        "",
    ),
    (
        "x5",
        "fix",
        "Wrong total in instalment plans",
        "The mistake came with #{n3a}; needed before it can come back.",
        "",
    ),
    ("x6", "feature", "Club chat: rooms", "Behind the flag `club_chat`, off for everyone. Planned for the autumn.", ""),
    ("x7", "improvement", "Club chat: read marks", "Behind `club_chat` (off) like the rest of the chat.", ""),
    ("r1", "fix", "Crash on events without a place (5.3)", "Backport of #{f3} for the hosted 5.3 customers.", ""),
    (
        "r2",
        "fix",
        "Show the old logo in 5.3 mails",
        "For the hosted 5.3 customers only; `main` never had this fault.",
        "",
    ),
    ("c1", "internal,ci", "Run the tests on two machines", "Eleven minutes instead of nineteen.", ""),
    ("c2", "deps", "Update the date library to 4.1.7", "Patch release, no changes for us.", ""),
    ("c3", "deps", "Update the web server to 2.30", "Security announcements checked: nothing that touches us.", ""),
    ("c4", "tests", "Tests for the bank file", "Covers the formats of all four banks.", ""),
    ("c5", "refactor,internal", "Split FeeService in two", "No change in behaviour.", ""),
    ("c6", "refactor,internal", "Rename Person to Member in the code", "Nothing visible.", ""),
    ("c7", "docs,internal", "Typos in CONTRIBUTING", "Three of them.", "", "arno-vb"),
    ("c8", "internal,ci", "Newer image for the build machines", "The old one is not maintained any more.", ""),
    ("c9", "tests", "Make the calendar tests independent of the clock", "They failed at night.", ""),
    ("c10", "internal", "Log how long syncs take", "For our own dashboards. No personal data.", ""),
    ("c11", "deps", "Update the PDF library to 3.2", "Needed for #{n4}.", ""),
    ("c12", "internal", "Remove the flag new_search", "It has been on for everyone since 5.2.", ""),
    ("c13", "docs,internal", "How we make a release", "A page for new colleagues.", ""),
    ("c14", "refactor,internal", "One place for colours", "Preparation for #{n2a}.", ""),
    ("c15", "internal,config", "Alert when the mail queue grows", "Wakes whoever is on call.", ""),
    ("c16", "tests", "Faster fixtures", "The whole run is 40 seconds shorter.", ""),
    ("c17", "internal,ci", "Check spelling in translations", "Warns only.", ""),
    ("c18", "deps", "Update the phone builds' toolchain", "Same minimum versions as before.", ""),
]

NEXT = [
    ("p1", "feature", "Vote on dates for events", "Members tick the dates that suit them.", "", "bodo42"),
    ("p2", "fix", "Printed lists in landscape format", "The last column was missing.", "", "ruta-m"),
    ("p3", "internal,ci", "Sign builds with the new key", "The old one runs out in May.", ""),
]

CHAINS = [
    ["n1a", "n1b", "x3", "n1c"],
    ["c14", "n2a", "x4", "n2b"],
    ["n3a", "n3b", "x5", "n3c"],
    ["x1", "x2"],
    ["x6", "x7"],
    ["f3", "r1"],
]


def ordered(dice: Dice) -> list[tuple]:
    """The changes of the cycle in random order, each chain in its own; two stand close to the cuts on purpose."""
    by_key = {change[0]: change for change in CYCLE}
    keys = dice.shuffled([key for key in by_key if key not in ("i4", "f6")])
    for chain in CHAINS:
        for place, key in zip(sorted(keys.index(key) for key in chain), chain, strict=True):
            keys[place] = key
    return [by_key[key] for key in ["i4", *keys, "f6"]]


def records() -> list[dict]:
    """All changes with numbers and times, oldest first; `section` is the truth and not for the export."""
    dice = Dice(1206)
    cycle = ordered(dice)
    timed = []
    for number, change in enumerate(OLD):
        # The last one was merged at 10:40 by the office's clock, which is 09:40 UTC.
        last = number == len(OLD) - 1
        timed.append(
            (LAST_CUT - timedelta(minutes=20 if last else 1500 * (len(OLD) - number) - dice.below(400)), change)
        )
    span = (THIS_CUT - LAST_CUT) / (len(cycle) - 1)
    for number, change in enumerate(cycle):
        at = LAST_CUT + span * number + timedelta(minutes=dice.between(-250, 250))
        if number == 0:
            at = LAST_CUT + timedelta(minutes=20)
        elif number == len(cycle) - 1:
            at = THIS_CUT - timedelta(minutes=30)
        at = min(
            max(at, LAST_CUT + timedelta(minutes=20 + number)), THIS_CUT - timedelta(minutes=29 + len(cycle) - number)
        )
        timed.append((at, change))
    for number, change in enumerate(NEXT):
        timed.append((THIS_CUT + timedelta(minutes=30 + 900 * number), change))
    numbers, count = {}, 2100
    for _, change in timed:
        count += dice.between(1, 4)
        numbers[change[0]] = count
    made = []
    for at, (key, labels, title, body, section, *author) in timed:
        summer = at >= datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
        local = at.astimezone(timezone(timedelta(hours=2 if summer else 1))).replace(
            second=dice.below(60), microsecond=0
        )
        if key not in ("o6", "i4", "f6", "p1"):  # all but those close to a cut: squeezed into the hours from 8 to 19
            minutes = 480 + (local.hour * 60 + local.minute) * 660 // 1440
            local = local.replace(hour=minutes // 60, minute=minutes % 60)
        made.append(
            {
                "key": key,
                "section": section,
                "number": numbers[key],
                "title": title,
                "labels": labels.split(","),
                "author": author[0] if author else dice.pick(STAFF),
                "association": "COMMUNITY" if author else "MEMBER",
                "base": "release/5.3" if key in ("r1", "r2") else "main",
                "merged_at": local.isoformat(),
                "body": body.format(**numbers),
            }
        )
    return made


def files() -> dict[str, bytes]:
    shown = [
        {name: value for name, value in record.items() if name not in ("key", "section")}
        for record in reversed(records())
    ]
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in shown)
    return {"release_notes/merged.jsonl": lines.encode()}
