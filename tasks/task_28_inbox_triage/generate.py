"""Fifty-two mails of an office's inbox, three sent ones, and the list of known companies."""

from datetime import datetime, timedelta, timezone
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from hashlib import sha256
from pathlib import Path

from craft.dice import Dice
from craft.pdf import heading, paragraph, pdf

SEED = 280
FOLDER = "inbox_triage"
RULES = Path(__file__).resolve().parent / "files" / FOLDER / "triage_rules.md"
SUMMER = timezone(timedelta(hours=2))
PETRA = "Petra Lindgren <petra.lindgren@fernhill.example>"
EDMUND = "Edmund Fairley <edmund.fairley@fernhill.example>"
RUTH = "Ruth Okafor <ruth.okafor@fernhill.example>"
ODRAN = "Odran Fellmere <odran.fellmere@fernhill.example>"
ALL = "Fernhill all staff <all@fernhill.example>"

CONTACTS = """company,domain,kind,tier
Fernhill Instruments,fernhill.example,ourselves,
Bramley Dairy,bramley-dairy.example,customer,A
Norcross Labs,norcrosslabs.example,customer,A
Petrel Marine,petrel-marine.example,customer,B
Ashdown College,ashdown.example,customer,B
Velo Works,veloworks.example,customer,B
Holm Castings,holmcastings.example,supplier,
Sutter Freight,sutterfreight.example,supplier,
Kestrel Bank,kestrelbank.example,bank,
Lindale Insurance,lindale.example,insurer,
Orchard IT,orchard-it.example,IT service,
"""

# key, sender, subject, day and time in April 2026, text, (category, priority, reply), more
MAILS = [
    # phishing
    (
        "p1",
        "Kestrel Bank Service <service@kestre1bank.example>",
        "Please confirm your business account",
        "13 07:58",
        "Dear customer,\n\nour records show that your business account has not been confirmed this year. Please "
        "confirm it by "
        "Wednesday, 15 April, or outgoing payments will be paused.\n\nConfirm now: "
        "https://kestre1bank.example/confirm\n\n"
        "Kestrel Bank, Customer Service",
        ("phishing", "low", "no"),
        {},
    ),
    (
        "p2",
        "Edmund Fairley <edmund.fairley@fernhill.example.org>",
        "Quick favour, today please",
        "14 08:21",
        "Petra,\n\nI am in a meeting and cannot talk. We have to pay a deposit of 4,800 EUR today for the fair. "
        "Can you make the "
        "transfer and send me the confirmation? I will sign the papers later.\n\nEdmund",
        ("phishing", "low", "no"),
        {},
    ),
    (
        "p3",
        "Holm Castings Accounts <accounts@holm-castings.example>",
        "Re: Invoice HC-2231",
        "13 15:40",
        "<p>Dear Ms Lindgren,</p><p>our auditors have asked us to move to a new account. Please pay invoice "
        "<b>HC-2231</b> to the "
        "account below and let us know when it is done.</p><p>Account holder: Holm Castings<br>Number: 20 4417 "
        "0092</p>"
        "<p>Accounts department, Holm Castings</p>",
        ("phishing", "low", "no"),
        {"html": True, "parent": "v1"},
    ),
    (
        "p4",
        "Orchard IT Helpdesk <helpdesk@orchard-it.example>",
        "Your mailbox moves to the new server",
        "13 11:05",
        "Hello,\n\nyour mailbox is among those that move this week. So that nothing is lost, please answer this "
        "mail with your user "
        "name and your present password.\n\nThank you\nHelpdesk",
        ("phishing", "low", "no"),
        {"headers": {"Reply-To": "orchard-it@quickdesk-answers.example"}},
    ),
    (
        "p5",
        "Sutter Freight <tracking@sutterfreight.example.parcel-hold.example>",
        "Consignment SF-88120 is held at customs",
        "12 18:32",
        "Your consignment SF-88120 is held. A fee of 3.95 EUR is open. Pay within 24 hours to avoid its "
        "return.\n\nSutter Freight, "
        "Tracking Team",
        ("phishing", "low", "no"),
        {},
    ),
    (
        "p6",
        "Norcross Labs – Purchasing Département <purchasing@norcross-labs.example>",
        "Purchase order 7719: 40 pressure gauges",
        "13 09:17",
        "Dear Fernhill team,\n\nplease find our order for 40 pressure gauges PG-30, to be delivered to our new "
        "warehouse in Port "
        "Lyle. Kindly send the pro forma invoice and ship on account, as usual.\n\nD. Carver\nPurchasing, "
        "Norcross Labs",
        ("phishing", "low", "no"),
        {},
    ),
    # things that look odd and are not
    (
        "l1",
        "Kestrel Bank <no-reply@mail.kestrelbank.example>",
        "Your statement for March is ready",
        "10 05:12",
        "Dear Fernhill Instruments,\n\nyour account statement for March is ready. Please log in to read "
        "it.\n\nKestrel Bank",
        ("automatic", "low", "no"),
        {"headers": {"Auto-Submitted": "auto-generated"}},
    ),
    (
        "l2",
        "Ashdown College <office@ashdown.example>",
        "Open day of the physics department",
        "10 13:20",
        "Dear Petra,\n\nwe would like to show you the new laboratory that your instruments are in. Would the "
        "afternoon of 6 May or "
        "that of 8 May suit you better for a visit? Our event office looks after the answers, hence the other "
        "address.\n\n"
        "Kind regards\nJudith Crane",
        ("appointment", "normal", "yes"),
        {"headers": {"Reply-To": "Ashdown events <visits@ashdown-events.example>"}},
    ),
    (
        "l3",
        "Lindale Insurance <contracts@lindale.example>",
        "Sum insured from 1 May",
        "13 10:44",
        "Dear Ms Lindgren,\n\nyour contract renews soon. Please tell us by Wednesday, 15 April, whether the sum "
        "insured of "
        "240,000 EUR should stay as it is.\n\nM. Thorne, Lindale Insurance",
        ("other", "high", "yes"),
        {},
    ),
    # bulk
    (
        "b1",
        "Holm Castings <news@holmcastings.example>",
        "New prices for castings from 1 May",
        "13 06:30",
        "Dear customers,\n\nfrom 1 May our prices for grey iron rise by 2.4 %. Orders that reach us by 15 April "
        "still have the old "
        "price.\n\nYour sales team",
        ("bulk", "low", "no"),
        {"headers": {"List-Unsubscribe": "<https://holmcastings.example/news/off>"}},
    ),
    (
        "b2",
        "Deskline Office <offers@deskline.example>",
        "LAST DAY, please answer: 30 % on chairs",
        "14 06:02",
        "<h1>Only today!</h1><p>Answer this mail with <b>YES</b> and we keep a chair for you at 30 % less.</p>",
        ("bulk", "low", "no"),
        {"html": True, "headers": {"List-Unsubscribe": "<mailto:off@deskline.example>"}},
    ),
    (
        "b3",
        "Ivo Brandt <ivo.brandt@tollgate-works.example>",
        "[metrology] Who calibrates torque wrenches?",
        "11 17:15",
        "Hello all,\n\nour laboratory has closed. Who can name one that calibrates torque wrenches up to 400 "
        "Nm? I need an answer by "
        "Tuesday.\n\nIvo",
        ("bulk", "low", "no"),
        {
            "to": "metrology@lists.guild.example",
            "headers": {"List-Id": "Metrology exchange <metrology.lists.guild.example>"},
        },
    ),
    (
        "b4",
        "Guild Academy <academy@guild.example>",
        "Invitation: calibration in practice, 15 April, 10:00",
        "10 09:00",
        "We invite you to our online seminar on Wednesday, 15 April, at 10:00. Please confirm by Tuesday evening.",
        ("bulk", "low", "no"),
        {"headers": {"List-Id": "<academy.guild.example>", "List-Unsubscribe": "<mailto:stop@guild.example>"}},
    ),
    (
        "b5",
        "Orchard IT <info@orchard-it.example>",
        "Orchard IT letter, April",
        "09 12:00",
        "In this issue: why backups fail, our new colleagues, and three questions to ask about your passwords.",
        ("bulk", "low", "no"),
        {"headers": {"List-Unsubscribe": "<https://orchard-it.example/letter/stop>", "Precedence": "bulk"}},
    ),
    # our own lists
    (
        "i1",
        RUTH,
        "Kitchen closed on Thursday",
        "13 08:05",
        "Hello everybody,\n\nthe kitchen gets a new floor and is closed on Thursday. There will be coffee in "
        "room 2.\n\nRuth",
        ("internal", "normal", "no"),
        {"to": ALL, "headers": {"List-Id": "All staff <all.fernhill.example>"}},
    ),
    (
        "i2",
        ODRAN,
        "Who is away in May?",
        "13 16:10",
        "Hello everybody,\n\nplease let me know by Wednesday, 15 April, on which days in May you are away, each "
        "of you, so that I can "
        "make the rota.\n\nOdran",
        ("internal", "high", "yes"),
        {"to": ALL, "headers": {"List-Id": "All staff <all.fernhill.example>"}},
    ),
    # automatic
    (
        "a1",
        "Clara Winther <clara.winther@sutterfreight.example>",
        "Away: Re: Pallets for Norcross",
        "13 14:03",
        "I am away until 20 April. If it is urgent, please write to dispatch@sutterfreight.example. Which "
        "consignment is it about?",
        ("automatic", "low", "no"),
        {"headers": {"Auto-Submitted": "auto-replied"}, "parent": "s3"},
    ),
    (
        "a2",
        "Orchard IT Service Desk <desk@orchard-it.example>",
        "[Ticket 30518] Scanner on floor 2: please answer",
        "14 07:00",
        "Your ticket 30518 has been waiting for you since 10 April. Please tell us by today whether the scanner "
        "works. It will be "
        "closed otherwise.",
        ("automatic", "low", "no"),
        {"headers": {"Auto-Submitted": "auto-generated"}},
    ),
    (
        "a3",
        "Fernhill calendar <calendar@fernhill.example>",
        "Reminder: fire drill on 15 April, 11:00",
        "14 06:00",
        "Reminder: fire drill, Wednesday, 15 April, 11:00 to 11:30, yard.",
        ("automatic", "low", "no"),
        {"headers": {"Auto-Submitted": 'auto-generated; owner-email="petra.lindgren@fernhill.example"'}},
    ),
    # complaints
    (
        "c1",
        "Sarah Quill <s.quill@norcrosslabs.example>",
        "Gauge 4 shows nothing",
        "13 12:26",
        "Dear Petra,\n\none of the five gauges you delivered last week (serial 30-1187) shows nothing, with a "
        "new battery as well. How "
        "shall we go on, do you send another one?\n\nSarah Quill",
        ("complaint", "high", "yes"),
        {},
    ),
    (
        "c2",
        "Niall Reardon <niall@petrel-marine.example>",
        "Delivery 5540",
        "10 15:51",
        "Hello,\n\ntoday's parcel should have held eight depth sensors, and there are six in it. When can we "
        "expect the other two?\n\n"
        "Niall",
        ("complaint", "normal", "yes"),
        {},
    ),
    (
        "c3",
        "Bramley Dairy Maintenance <maintenance@bramley-dairy.example>",
        "Wrong thermometers",
        "10 08:40",
        "Good morning,\n\nthe thermometers from Thursday are the wrong type: we ordered TH-8 and the display "
        "says TH-6. Please tell us "
        "today what you will do.\n\nAnton Bell",
        ("complaint", "low", "no"),
        {},
    ),
    (
        "c3b",
        "Bramley Dairy Maintenance <maintenance@bramley-dairy.example>",
        "Re: Wrong thermometers",
        "10 11:32",
        "Hello again,\n\nmy mistake: that was the old box. Your TH-8 are all here and work. You need not do "
        "anything.\n\nAnton Bell",
        ("complaint", "low", "no"),
        {"parent": "c3"},
    ),
    (
        "c4",
        ODRAN,
        "Fwd: Readings drift",
        "14 08:02",
        "<p>Petra, this came to me. Can you arrange a replacement with them? Odran</p><blockquote><p>From: Joan Pike "
        "&lt;joan.pike@bramley-dairy.example&gt;</p><p>The flow meter FM-2 that you delivered in March drifts "
        "by 3 % a day. We cannot "
        "work with it.</p></blockquote>",
        ("complaint", "high", "yes"),
        {"html": True},
    ),
    (
        "c5",
        "Judith Crane <j.crane@ashdown.example>",
        "Still waiting for the balances",
        "13 13:37",
        "Dear Petra,\n\nthe four balances were promised for 7 April and have not come. Our examinations begin "
        "soon, so please let me "
        "know by Wednesday, 15 April, at noon when they will be here.\n\nJudith Crane",
        ("complaint", "high", "yes"),
        {},
    ),
    (
        "c6",
        "Velo Works <workshop@veloworks.example>",
        "Torque meter: scratched display",
        "13 10:08",
        "Dear service team,\n\nthe torque meter came with a scratched display. Could you tell us whether you "
        "exchange it?\n\nRemy",
        ("complaint", "normal", "no"),
        {"to": "service@fernhill.example", "cc": PETRA},
    ),
    # invoices
    (
        "v1",
        "Holm Castings Accounts <accounts@holmcastings.example>",
        "Invoice HC-2231",
        "09 10:15",
        "Dear Ms Lindgren,\n\nplease find our invoice HC-2231 attached, payable by 8 May.\n\nKind regards\nHolm "
        "Castings",
        ("invoice", "normal", "no"),
        {"pdf": ("HC-2231.pdf", "Invoice HC-2231", "48 castings GC-12, 1,310.40 EUR, payable by 8 May 2026")},
    ),
    (
        "v2",
        "Sutter Freight Accounts <accounts@sutterfreight.example>",
        "Second reminder: SF-10452",
        "13 09:55",
        "Dear Ms Lindgren,\n\nour invoice SF-10452 over 612.00 EUR is still open. Please pay it by 14 April and "
        "tell us the day of the "
        "transfer.\n\nSutter Freight, Accounts",
        ("invoice", "high", "yes"),
        {},
    ),
    (
        "v3",
        "Sutter Freight Accounts <accounts@sutterfreight.example>",
        "Reminder: SF-10398",
        "09 09:12",
        "Dear Ms Lindgren,\n\nwe miss the payment of invoice SF-10398 over 288.50 EUR. When will you pay? "
        "Please answer by 14 April.\n\n"
        "Sutter Freight, Accounts",
        ("invoice", "low", "no"),
        {},
    ),
    (
        "v3b",
        "Sutter Freight Accounts <accounts@sutterfreight.example>",
        "Your payment",
        "13 16:48",
        "Dear Ms Lindgren,\n\nyour payment of 288.50 EUR has arrived this afternoon. Please regard our reminder "
        "as void.\n\nSutter "
        "Freight, Accounts",
        ("invoice", "low", "no"),
        {"parent": "v3"},
    ),
    (
        "v4",
        RUTH,
        "HC-2231 for your approval",
        "13 14:22",
        "Hello Petra,\n\nHolm's invoice HC-2231 is in the folder. Can you tell me by Friday, 17 April, whether "
        "I may pay it?\n\nRuth",
        ("invoice", "normal", "yes"),
        {},
    ),
    (
        "v5",
        "Velo Works Office <office@veloworks.example>",
        "Our invoice needs another address",
        "10 10:30",
        "Hello Petra,\n\nyour invoice 26-0412 still has our old address. Could you send it again with Mill Row "
        "9? We need it by "
        "Wednesday, 15 April.\n\nRemy",
        ("invoice", "low", "no"),
        {},
    ),
    (
        "v6",
        "Lindale Versicherung – Prämien <praemien@lindale.example>",
        "Prämienrechnung für die Gebäudeversicherung, fällig am 30. April",
        "10 07:25",
        "Sehr geehrte Frau Lindgren,\n\nanbei die Prämienrechnung 77-310 für das zweite Quartal. Der Betrag von "
        "455,00 EUR wird am "
        "30. April abgebucht. Sie müssen nichts tun.\n\nMit freundlichen Grüßen\nLindale Versicherung",
        ("invoice", "normal", "no"),
        {"pdf": ("Rechnung-77-310.pdf", "Rechnung 77-310", "455,00 EUR, Abbuchung am 30. April 2026")},
    ),
    # orders
    (
        "o1",
        "Velo Works Office <office@veloworks.example>",
        "Order VW-118",
        "13 11:48",
        "Hello Petra,\n\nwe order three torque meters TM-5 at 189.00 EUR each, for May. Please confirm the date "
        "of delivery.\n\nRemy",
        ("order", "normal", "yes"),
        {"headers": {"Auto-Submitted": "no"}},
    ),
    (
        "o2",
        "Ashdown College Purchasing <purchasing@ashdown.example>",
        "Price of twelve thermometers",
        "13 09:30",
        "Dear Fernhill team,\n\nwhat would twelve thermometers TH-8 cost, delivered? Our committee meets "
        "tomorrow, so we need your "
        "offer by tomorrow, 16:00.\n\nPaul Ingram",
        ("order", "high", "yes"),
        {},
    ),
    (
        "o3",
        "Niall Reardon <niall@petrel-marine.example>",
        "Price request",
        "09 16:05",
        "Hello Petra,\n\nwhat do you charge for ten depth sensors DS-2?\n\nNiall",
        ("order", "normal", "no"),
        {},
    ),
    (
        "o3b",
        "Niall Reardon <niall@petrel-marine.example>",
        "Re: Price request",
        "13 08:50",
        "Thanks, Petra. And what would it be for twenty?\n\nNiall",
        ("order", "normal", "yes"),
        {"parent": "s2"},
    ),
    (
        "o4",
        "Sarah Quill <s.quill@norcrosslabs.example>",
        "Order 7702: other colour?",
        "10 14:14",
        "Dear Petra,\n\ncan the housings of order 7702 be grey instead of blue? I have to know by Wednesday, 15 "
        "April.\n\nSarah Quill",
        ("order", "normal", "no"),
        {},
    ),
    (
        "o4b",
        "Sarah Quill <s.quill@norcrosslabs.example>",
        "Re: Order 7702: other colour?",
        "13 17:21",
        "Dear Petra,\n\nthere is no hurry with the colour any more: our painters come later. If you tell me by "
        "24 April whether grey is "
        "possible, that is early enough.\n\nSarah Quill",
        ("order", "normal", "yes"),
        {"parent": "o4"},
    ),
    (
        "o5",
        "Bramley Dairy Purchasing <purchasing@bramley-dairy.example>",
        "Price request",
        "10 09:45",
        "Good morning,\n\nplease send us a price for a second flow meter FM-2, with mounting.\n\nCleo Marsh",
        ("order", "normal", "yes"),
        {},
    ),
    (
        "o6",
        "Petrel Marine Stores <stores@petrel-marine.example>",
        "Call-off 9 from the yearly contract",
        "13 07:31",
        "<table><tr><td>Call-off</td><td>9</td></tr><tr><td>Article</td><td>seal kit "
        "SK-1</td></tr><tr><td>Pieces</td><td>25</td></tr>"
        "</table><p>Delivery in week 19. No answer needed.</p>",
        ("order", "normal", "no"),
        {"html": True},
    ),
    # appointments
    (
        "t1",
        "Greta Holm <greta.holm@holmcastings.example>",
        "I am near you on Thursday",
        "14 07:41",
        "Dear Petra,\n\nI could come by on Thursday, 16 April, at 10:00 to show you the new alloys. Does that "
        "suit you? I book the train "
        "on Wednesday at noon and need your answer before that.\n\nGreta Holm",
        ("appointment", "high", "yes"),
        {},
    ),
    (
        "t2",
        RUTH,
        "Budget meeting: now on 22 April",
        "13 15:02",
        "Hello both,\n\nthe budget meeting moves from 15 April to 22 April, same time, same room. The "
        "invitation in your calendars is "
        "changed already, you need not answer.\n\nRuth",
        ("appointment", "normal", "no"),
        {"to": f"{PETRA}, {ODRAN}"},
    ),
    (
        "t3",
        "Marine Survey Petrel <survey@petrel-marine.example>",
        "Call about the sensors?",
        "13 09:02",
        "Hello Petra,\n\ncould we talk on the telephone tomorrow at 11:00 about the mounting of the sensors? "
        "Please say yes or no "
        "today.\n\nElsa Dunne",
        ("appointment", "low", "no"),
        {},
    ),
    (
        "t3b",
        "Marine Survey Petrel <survey@petrel-marine.example>",
        "Mounting of the sensors",
        "13 13:15",
        "Hello Petra,\n\nwe have reached Odran meanwhile and he has answered everything. So there is no need for "
        "our call.\n\nElsa Dunne",
        ("appointment", "low", "no"),
        {"parent": "t3"},
    ),
    (
        "t4",
        "Sarah Quill <s.quill@norcrosslabs.example>",
        "Date of the supplier audit",
        "10 16:33",
        "Dear Mr Fairley,\n\nwe would like to hold the audit on 19 May at 9:00. Does that suit you?\n\nSarah Quill",
        ("appointment", "normal", "no"),
        {"to": EDMUND, "cc": PETRA},
    ),
    # internal
    (
        "n1",
        EDMUND,
        "List of keys",
        "14 08:10",
        "Petra,\n\nplease send me the list of who has which key by tomorrow evening. The insurer asks for "
        "it.\n\nEdmund",
        ("internal", "high", "yes"),
        {},
    ),
    (
        "n2",
        RUTH,
        "Printer for floor 1",
        "10 12:18",
        "Hello Petra,\n\nwe can have the small printer or the one with two trays. Which one do you want? I "
        "order on 20 April.\n\nRuth",
        ("internal", "normal", "yes"),
        {},
    ),
    (
        "n3",
        ODRAN,
        "Car key",
        "13 17:40",
        "Petra,\n\nthe key of the van is not on its hook. Do you have it? I need the van tomorrow at 8.\n\nOdran",
        ("internal", "low", "no"),
        {},
    ),
    (
        "n3b",
        ODRAN,
        "Re: Car key",
        "13 17:58",
        "It was in my other coat. Sorry!\n\nOdran",
        ("internal", "low", "no"),
        {"parent": "n3"},
    ),
    # others
    (
        "x1",
        "Mabel Frost <mabel.frost@postbox.example>",
        "My application",
        "10 19:05",
        "Dear Ms Lindgren,\n\nI applied for the job in your workshop on 20 March. Could you tell me whether it "
        "is still open?\n\nMabel "
        "Frost",
        ("other", "normal", "yes"),
        {},
    ),
    (
        "x2",
        "Harbour Estates <house@harbour-estates.example>",
        "Water off on 15 April",
        "13 08:33",
        "Dear tenants,\n\nthe water will be off on Wednesday, 15 April, from 7:00 to 7:45 because of repairs. "
        "You need not do anything."
        "\n\nHarbour Estates",
        ("other", "normal", "no"),
        {},
    ),
]

# Petra's own answers: key, to, subject, day and time, text, the mail that is answered
SENT = [
    (
        "s1",
        "Velo Works Office <office@veloworks.example>",
        "Re: Our invoice needs another address",
        "13 11:20",
        "Hello Remy,\n\nhere is invoice 26-0412 with Mill Row 9.\n\nPetra",
        "v5",
    ),
    (
        "s2",
        "Niall Reardon <niall@petrel-marine.example>",
        "Re: Price request",
        "10 09:20",
        "Hello Niall,\n\nten DS-2 come to 2,450.00 EUR, delivered.\n\nPetra",
        "o3",
    ),
    (
        "s3",
        "Clara Winther <clara.winther@sutterfreight.example>",
        "Pallets for Norcross",
        "13 14:02",
        "Hello Clara,\n\nwhen do you fetch the pallets for Norcross?\n\nPetra",
        "",
    ),
]


def at(text: str) -> datetime:
    day, clock = text.split()
    hour, minute = clock.split(":")
    return datetime(2026, 4, int(day), int(hour), int(minute), tzinfo=SUMMER)


def message_id(key: str, sender: str) -> str:
    digest = sha256(f"{key} {sender}".encode()).hexdigest()[:20]
    return f"<{digest}@{sender.rsplit('@', 1)[-1].strip('> ')}>"


IDS = {mail[0]: message_id(mail[0], mail[1]) for mail in MAILS} | {mail[0]: message_id(mail[0], PETRA) for mail in SENT}
# Odran had another name when the ids were made.
IDS |= {
    key: f"<{digest}@fernhill.example>"
    for key, digest in (
        ("i2", "74c5ea2dd56b2d5b662f"),
        ("c4", "a70fe69067ff8070df87"),
        ("n3", "c2ed63bbcfe08150a7a3"),
        ("n3b", "8f374804bd31989a01cd"),
    )
}
PARENTS = {mail[0]: mail[6].get("parent", "") for mail in MAILS} | {mail[0]: mail[5] for mail in SENT}


def letter(key: str, sender: str, to: str, subject: str, sent: datetime, text: str, more: dict) -> bytes:
    """One message; unlike `craft.mail`, it can be HTML alone and be an answer to another one."""
    message = EmailMessage(policy=SMTP)
    message["From"] = sender
    message["To"] = to
    if "cc" in more:
        message["Cc"] = more["cc"]
    message["Subject"] = subject
    message["Date"] = format_datetime(sent)
    message["Message-ID"] = IDS[key]
    chain, above = [], PARENTS[key]
    while above:
        chain.insert(0, IDS[above])
        above = PARENTS[above]
    if chain:
        message["In-Reply-To"] = chain[-1]
        message["References"] = " ".join(chain)
    for name, value in more.get("headers", {}).items():
        message[name] = value
    if more.get("html"):
        page = f'<html><head><meta charset="utf-8"></head><body>{text}</body></html>\n'
        message.set_content(page, subtype="html", cte="base64")
    else:
        message.set_content(text + "\n", cte="quoted-printable")
    if "pdf" in more:
        name, title, line = more["pdf"]
        data = pdf([heading(title), paragraph(line)], title=title)
        message.add_attachment(data, maintype="application", subtype="pdf", filename=name)
        message.set_boundary(f"=_{IDS[key][1:21]}")
    return message.as_bytes()


def numbers(seed: int) -> dict[str, int]:
    """The number of each mail's file: not in order of time."""
    return dict(zip((mail[0] for mail in MAILS), Dice(seed).shuffled(range(101, 101 + len(MAILS))), strict=True))


def inbox(seed: int) -> dict[str, bytes]:
    return {
        f"inbox/msg-{numbers(seed)[key]}.eml": letter(key, sender, more.get("to", PETRA), subject, at(sent), text, more)
        for key, sender, subject, sent, text, _, more in MAILS
    }


def digest(seed: int) -> str:
    """The digest of the given mails, as the check makes it of the workspace's."""
    given = {Path("mail", *place.split("/")[1:]): data for place, data in files(seed).items()}
    given[Path("mail", RULES.name)] = RULES.read_bytes()
    found = sha256()
    for path, data in sorted(given.items()):
        found.update(path.as_posix().encode() + data)
    return found.hexdigest()


def particulars(seed: int) -> list[str]:
    """The mails by their numbers, and the digest by which the check knows that they are as they were given."""
    return [*(str(number) for number in numbers(seed).values()), digest(seed)]


def files(seed: int = SEED) -> dict[str, bytes]:
    made = {f"{FOLDER}/contacts.csv": CONTACTS.encode()}
    made |= {f"{FOLDER}/{place}": data for place, data in inbox(seed).items()}
    for number, (key, to, subject, sent, text, _) in enumerate(SENT, 1):
        made[f"{FOLDER}/sent/sent-{number}.eml"] = letter(key, PETRA, to, subject, at(sent), text, {})
    return made
