"""An office's mail and calendar for a week of mornings, and what belongs into each brief."""

from craft.dice import Dice
from craft.office import office_files

SEED = 20260301
OWNER = "nina@reuter-roofs.example"
CLIENTS = {
    "p1": ("Edda Falk", "e.falk@lindenhof.example"),
    "p2": ("Marius Boll", "boll@sternapotheke.example"),
    "p3": ("Ruth Haas", "haas@parish-st-anne.example"),
    "p4": ("Olaf Wendt", "olaf.wendt@wendt-bikes.example"),
}
BECOMES_CLIENT = ("p5", ("Carla Jung", "jung@kita-regenbogen.example"))
AUTHORITY = "permits@buildings.example"
OTHERS = (
    ("Bolz Timber", "sales@bolz-timber.example", "supplier"),
    ("Kern Scaffolding", "kern@kern-scaffolding.example", "supplier"),
    ("Timo Reuter", "timo@reuter-roofs.example", "colleague"),
    ("Sven Ahlers", "sven@reuter-roofs.example", "colleague"),
    ("Roof Weekly", "news@roof-weekly.example", "newsletter"),
    ("Gerd Mohn", "gerd.mohn@mail.example", "applicant"),
)
TITLES = (
    "Site visit", "Quote for", "Handover", "Measuring", "Planning with", "Call with", "Inspection", "Material for",
)  # fmt: skip
PLACES = (
    "Mill Lane", "Harbour Street", "Old Dairy", "Library", "Villa Sommer", "Station House", "Chapel Row", "Fire Station", "Weir Cottage",
    "Tower Square", "Brewery Yard", "Orchard School",
)  # fmt: skip
DAYS = ("2026-03-02", "2026-03-03", "2026-03-04", "2026-03-05", "2026-03-06")
NAMES = ("Timo", "Sven", "Petra")
# What comes in before each brief: the subject's place in `subjects`, the sender's name and address, and whether it belongs there.
ARRIVALS = (
    (
        (0, "Edda Falk", "e.falk@lindenhof.example", True),
        (1, "Roof Weekly", "news@roof-weekly.example", False),
        (2, "Ruth Haas", "haas@parish-st-anne.example", True),
        (3, "Building Permits", AUTHORITY, True),
        (4, "Marius Boll", "m.boll@prize-draw.example", False),
        (5, "Carla Jung", "jung@kita-regenbogen.example", False),
    ),
    (
        (6, "Ruth Haas", "haas@parish-st-anne.example", False),
        (7, "Carla Jung", "jung@kita-regenbogen.example", True),
        (8, "Kern Scaffolding", "kern@kern-scaffolding.example", False),
        (9, "O. Wendt", "Olaf.Wendt@wendt-bikes.example", True),
        (10, "Building Permits", "permits@buildings-service.example", False),
    ),
    (
        (11, "Marius Boll", "boll@sternapotheke.example", True),
        (12, "Ruth Haas", "haas@parish-st-anne.example", False),
        (13, "Building Permits", AUTHORITY, True),
        (14, "Gerd Mohn", "gerd.mohn@mail.example", False),
        (15, "Carla Jung", "jung@kita-regenbogen.example", True),
    ),
)
PUBLIC = (
    "Gutter on the north side drips", "URGENT: prices for zinc go up tomorrow", "Keys for the vestry", "Permit 4471 is granted",
    "URGENT: your answer is needed today", "A question about the play house", "Scaffold in front of the porch", "We take your offer",
    "Invoice 2210 for February", "Skylight can't be closed", "URGENT: fee for your permit is due", "Moss on the flat roof",
    "Date for the tower clock", "Permit 5120 needs a drawing", "My application as a roofer", "Children are back on Monday",
)  # fmt: skip
# Other subjects of the same kind, one for each place.
OTHER = (
    "Tiles have slid above the hall", "URGENT: copper is nearly sold out", "Where is the ladder for the belfry", "Permit 3816 is granted",
    "URGENT: please confirm by noon", "What does a sandpit roof cost", "Scaffold is in the way of the bus", "Yes to your quote",
    "Invoice 3045 for February", "Rain comes in at the workshop", "URGENT: permit office needs your card", "Snow guard has come off",
    "Choir needs the loft on Sunday", "Permit 6033 needs a signature", "I'd like to learn with you", "Nap room is too dark",
)  # fmt: skip
TIMES = (("7:10", "10 7"), ("6:40", "40 6"))


def particulars(seed: int = SEED) -> list[str]:
    """The subjects of the mails that come in, and the two times of the brief with their cron fields."""
    if seed == SEED:
        return [*PUBLIC, *(one for time in TIMES for one in time)]
    dice = Dice(seed)
    first, later = dice.sample((5, 15, 20, 25, 35, 45, 50, 55), 2)
    times = [f"7:{first:02d}", f"{first} 7", f"6:{later:02d}", f"{later} 6"]
    return [*(dice.pick(pair) for pair in zip(PUBLIC, OTHER, strict=True)), *times]


class World:
    """The records on Sunday evening, and what changes until Thursday."""

    def __init__(self, seed: int) -> None:
        dice = Dice(seed + 1)
        self.subjects = particulars(seed)[: len(PUBLIC)]
        self.contacts = {
            name: {"name": who, "mail": mail, "role": "client", "notes": ""} for name, (who, mail) in CLIENTS.items()
        }
        name, (who, mail) = BECOMES_CLIENT
        self.contacts[name] = {"name": who, "mail": mail, "role": "prospect", "notes": ""}
        for number, (who, mail, role) in enumerate(OTHERS, 6):
            self.contacts[f"p{number}"] = {"name": who, "mail": mail, "role": role, "notes": ""}
        self.mail = {
            f"m{number}": {
                "from": f"{who} <{mail}>", "to": OWNER, "folder": "inbox", "subject": f"{topic} {dice.pick(PLACES)} {number}",
                "text": "Hello,\n\nsee above.\n",
            }
            for number, (who, mail, topic) in enumerate(
                [
                    (*dice.pick((*CLIENTS.values(), *(one[:2] for one in OTHERS))), dice.pick(("About", "Once more", "Thanks for")))
                    for _ in range(14)
                ],
                1,
            )
        }  # fmt: skip
        self.calendar: dict[str, dict] = {}
        titles = dice.sample([f"{title} {place}" for title in TITLES for place in PLACES], 35)
        for day in DAYS:
            hours = sorted(dice.sample(range(8, 18), 7))
            mine = set(dice.sample(range(7), 4))
            for place, hour in enumerate(hours):
                number = len(self.calendar) + 1
                title = titles[number - 1]
                if place == min(mine):
                    title = f"Cancelled: {title}"
                people = [*(["Nina"] if place in mine else []), dice.pick(NAMES)]
                self.calendar[f"e{number}"] = {
                    "title": title, "date": day, "start": f"{hour:02d}:{dice.pick((0, 15, 30)):02d}", "end": f"{hour + 1:02d}:00",
                    "people": people,
                }  # fmt: skip
        # So that the changes of the timeline are about entries of hers.
        self.calendar["e1"] |= {"people": ["Sven"], "title": titles[0]}
        self.calendar["e36"] = {
            "title": "Team meeting",
            "date": DAYS[1],
            "start": "18:00",
            "end": "19:00",
            "people": ["Nina", "Timo"],
        }
        self.calendar["e37"] = {
            "title": "Pension talk",
            "date": DAYS[3],
            "start": "07:30",
            "end": "08:00",
            "people": ["Nina"],
        }
        self.calendar["e38"] = {"title": "Bank", "date": DAYS[3], "start": "18:30", "end": "19:00", "people": ["Nina"]}

    def mine(self, day: str) -> list[str]:
        entries = [
            (one["start"], one["title"]) for one in self.calendar.values()
            if one["date"] == day and "Nina" in one["people"] and not one["title"].startswith("Cancelled:")
        ]  # fmt: skip
        return [f"{start} {title}" for start, title in sorted(entries)]


def files(seed: int = SEED) -> dict[str, bytes]:
    world = World(seed)
    records = {"contacts": world.contacts, "mail": world.mail, "calendar": world.calendar}
    return office_files({"owner": OWNER, "key": "brief-68", "records": records, "oddities": []})


def expected(seed: int = SEED) -> dict[str, object]:
    """What each brief has: when it is due in UTC, the appointments in their order, the mails, and what else could be in it."""
    world = World(seed)
    times = particulars(seed)[len(PUBLIC) :]
    utc = {
        day: f"{int(at.split(':')[0]) - 1:02d}:{at.split(':')[1]}"
        for day, at in zip((0, 1, 3), (times[0], times[2], times[2]), strict=True)
    }
    said = [[world.subjects[place] for place, *_, fits in some if fits] for some in ARRIVALS]
    first = world.mine(DAYS[0])
    world.calendar["e36"] |= {"start": "16:45"}
    second = world.mine(DAYS[1])
    world.calendar["e37"] |= {"title": "Cancelled: Pension talk"}
    world.calendar["e38"] |= {"start": "13:20"}
    third = world.mine(DAYS[3])
    briefs = [
        {"at": f"{DAYS[day]}T{utc[day]}", "mails": mails, "calendar": entries}
        for day, mails, entries in zip((0, 1, 3), said, (first, second, third), strict=True)
    ]
    fresh = World(seed)
    return {
        "briefs": briefs,
        "subjects": [*world.subjects, *(one["subject"] for one in world.mail.values())],
        "titles": sorted({one["title"].removeprefix("Cancelled: ") for one in fresh.calendar.values()}),
    }
