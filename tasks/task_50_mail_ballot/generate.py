"""A club's ballot by mail: members, motions, and a mailbox of votes, changes, proxies and other mail."""

import csv
import io
from datetime import UTC, date, datetime, timedelta, timezone
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from hashlib import sha256
from zoneinfo import ZoneInfo

from craft.dice import Dice

SEED = 20260417
LOCAL = ZoneInfo("Europe/Vienna")
OPENS = datetime(2026, 4, 13, 8, tzinfo=LOCAL)
CLOSES = datetime(2026, 4, 17, 20, tzinfo=LOCAL)
EXTENDED = CLOSES + timedelta(hours=24)  # by the second message
AMENDED = datetime(2026, 4, 15, 12, tzinfo=LOCAL)
MOTIONS = (  # id, title, kind
    ("M1", "A second telescope of 20 cm for the roof", "ordinary"),
    ("M2", "Fees from 2027 on", "bylaws"),
    ("M3", "Selling the old dome", "ordinary"),
    ("M4", "Joining the federation", "bylaws"),
    ("M5", "A youth group on Fridays", "ordinary"),
    ("M6", "Renting the hut to others", "ordinary"),
)
WORDS = {
    "yes": ("yes", "Yes", "YES", "ja", "Ja", "aye"),
    "no": ("no", "No", "nein", "Nein", "nay"),
    "abstain": ("abstain", "Abstain", "Enthaltung"),
}
GIVEN = "Ada Bruno Clara Dario Elif Franz Gerda Hugo Irma Jakob Karla Luis Marta Nils Olga Pavel Rosa Simon Tilda Urs".split()
FAMILY = "Adler Brandl Czerny Dobner Egger Fuchs Gruber Hofer Illek Jonas Kogler Lenz Moser Nagl Ortner Pichler".split()
CHAT = (
    "Clear skies to everybody!",
    "I shall miss the meeting, so here is my vote.",
    "Thanks for organising this.",
    "Could somebody return my red torch, please?",
    "I still think that the dome should be painted.",
    "Sorry for the noise, see below.",
    "We saw the comet from the hut last night.",
)


class Member:
    def __init__(self, dice: Dice, number: int) -> None:
        self.id = f"{number:03d}"
        self.name = f"{dice.pick(GIVEN)} {dice.pick(FAMILY)}"
        self.mail = f"{self.name.lower().replace(' ', '.')}{number}@{dice.pick(('post', 'mail', 'netz'))}.example"
        self.other = f"{self.name[0].lower()}{number}@work.example" if dice.chance(0.25) else ""
        self.status = "supporting" if dice.chance(0.09) else "full"
        self.joined = date(2008, 1, 1) + timedelta(days=dice.below(6400))
        if dice.chance(0.1):
            self.joined = dice.pick((date(2026, 1, 13), date(2026, 1, 14), date(2026, 2, 20), date(2026, 1, 12)))
        self.paid_until = dice.pick((date(2026, 12, 31), date(2026, 12, 31), date(2026, 6, 30), date(2026, 4, 13)))
        if dice.chance(0.2):
            self.paid_until = dice.pick((date(2026, 4, 12), date(2025, 12, 31), date(2026, 3, 31)))
        self.late: date | None = None  # when a payment arrived that was not entered

    def is_entitled(self, *, has_late: bool) -> bool:
        paid = self.paid_until >= OPENS.date() or (has_late and self.late is not None and self.late <= OPENS.date())
        return self.status == "full" and self.joined <= date(2026, 1, 13) and paid


class Mail:
    """A mail as it was decided upon: `lines` are (motion, word, for whom), (`proxy`, id, ``)."""

    def __init__(self, at: datetime, sender: str, who: Member | None, lines: list[tuple[str, str, str]]) -> None:
        self.at, self.sender, self.who, self.lines = at, sender, who, lines
        self.quoted: list[str] = []
        self.tail: list[str] = []
        self.is_forged = False
        self.id = ""


class Ballot:
    def __init__(self, seed: int) -> None:
        self.dice = dice = Dice(seed)
        self.members = [Member(dice, number) for number in range(1, 79)]
        overdue = [one for one in self.members if one.paid_until < OPENS.date()]
        for one in overdue[:-2]:
            one.late = OPENS.date() + timedelta(days=dice.pick((-9, -3, -1, 0, 1, 2)))
        self.interested = {
            motion: {one.id for one in dice.sample(self.members, 3)} if motion in ("M3", "M6") else set()
            for motion, _, _ in MOTIONS
        }
        self.mails: list[Mail] = []
        for one in self.members:
            if dice.chance(0.84):
                self._votes(one)
        self._proxies()
        for _ in range(14):  # others who write to the list
            lines = [(dice.pick(MOTIONS)[0], dice.pick(("yes", "no")), "")]
            name = dice.pick(self.members)
            sender = name.mail.replace(".example", "-mail.example")
            self.mails.append(Mail(self._moment(), sender, None, lines if dice.chance(0.7) else []))
        for number, mail in enumerate(sorted(self.mails, key=lambda mail: mail.at), 1):
            mail.at = mail.at.replace(microsecond=0) + timedelta(seconds=number % 7)
        taken: set[datetime] = set()
        for mail in self.mails:  # no two at once
            while mail.at in taken:
                mail.at += timedelta(seconds=1)
            taken.add(mail.at)
        self.mails.sort(key=lambda mail: mail.at)
        order = dice.shuffled(range(len(self.mails)))
        for mail, place in zip(self.mails, order, strict=True):
            key = sha256(f"{seed}|{place}".encode()).hexdigest()[:10]
            mail.id = f"{key}@list.observatory.example"

    def _moment(self) -> datetime:
        dice = self.dice
        start = OPENS.astimezone(UTC) - timedelta(hours=9)
        moment = start + timedelta(minutes=dice.below(133 * 60))
        if dice.chance(0.12):
            moment = CLOSES.astimezone(UTC) + timedelta(minutes=dice.pick((-70, -35, -2, -1, 3, 8, 45, 90)))
        if dice.chance(0.06):
            moment = EXTENDED.astimezone(UTC) + timedelta(minutes=dice.pick((-65, -40, 5, 50)))
        if dice.chance(0.08):
            moment = AMENDED.astimezone(UTC) + timedelta(minutes=dice.pick((-50, -20, -1, 2, 30)))
        return moment

    def _address(self, one: Member) -> str:
        address = one.other if one.other and self.dice.chance(0.5) else one.mail
        return address.title() if self.dice.chance(0.1) else address

    def _word(self) -> str:
        return "yes" if self.dice.chance(0.55) else "no" if self.dice.chance(0.75) else "abstain"

    def _votes(self, one: Member) -> None:
        dice = self.dice
        for turn in range(dice.pick((1, 2, 2, 3, 3, 4))):
            motions = [name for name, _, _ in MOTIONS]
            chosen = sorted(dice.sample(motions, dice.between(1, 4) if turn or dice.chance(0.4) else 6))
            lines = []
            for motion in chosen:
                word = dice.pick(WORDS[self._word()])
                if turn and dice.chance(0.2):
                    word = dice.pick(("withdraw", "maybe", "yes, if it is cheap", "withdraw"))
                lines.append((motion, word, ""))
            if dice.chance(0.06):
                lines.append((chosen[0], dice.pick(WORDS[self._word()]), ""))
            mail = Mail(self._moment(), self._address(one), one, lines)
            if dice.chance(0.35):
                mail.quoted = [f"> {motion}: {dice.pick(WORDS[self._word()])}" for motion in dice.sample(motions, 3)]
            if dice.chance(0.3):
                mail.tail = [
                    "-----Original Message-----",
                    *(f"{motion}: {dice.pick(('yes', 'no'))}" for motion in motions[:3]),
                ]
            elif dice.chance(0.4):
                mail.tail = ["-- ", one.name, f"{dice.pick(motions)}: no is what I say to it"[:6]]
            mail.is_forged = dice.chance(0.05)
            self.mails.append(mail)

    def _proxies(self) -> None:
        dice = self.dice
        holders = dice.sample(self.members, 9)
        for one in dice.sample([one for one in self.members if one not in holders], 30):
            holder = dice.pick(holders)
            given = OPENS.astimezone(UTC) + timedelta(minutes=dice.below(70 * 60))
            self.mails.append(Mail(given, self._address(one), one, [("proxy", holder.id, "")]))
            if dice.chance(0.3):
                other = dice.pick(("none", dice.pick(holders).id))
                moved = given + timedelta(minutes=dice.below(40 * 60))
                self.mails.append(Mail(moved, self._address(one), one, [("proxy", other, "")]))
            motions = sorted(dice.sample([name for name, _, _ in MOTIONS], dice.between(3, 6)))
            at = given + timedelta(minutes=dice.between(-500, 40 * 60))
            lines = [(motion, dice.pick(WORDS[self._word()]), one.id) for motion in motions]
            self.mails.append(Mail(at, self._address(holder), holder, lines))

    def count(self, *, closes: datetime, has_late: bool) -> tuple[dict, dict, dict]:
        """Votes by (motion, member) as (vote, mail), reasons by mail, and results by motion."""
        known = {one.id: one for one in self.members}
        entitled = {one.id for one in self.members if one.is_entitled(has_late=has_late)}
        own: dict[tuple[str, str], tuple[str, str]] = {}
        held: dict[tuple[str, str], tuple[str, str]] = {}
        proxies: dict[str, str] = {}
        rejected = {}
        for mail in self.mails:
            if not mail.lines:
                continue
            if mail.who is None:
                rejected[mail.id] = "sender"
            elif mail.is_forged:
                rejected[mail.id] = "forged"
            elif mail.at < OPENS:
                rejected[mail.id] = "early"
            elif mail.at > closes:
                rejected[mail.id] = "late"
            elif mail.who.id not in entitled:
                rejected[mail.id] = "not-entitled"
            if mail.id in rejected or mail.who is None:
                continue
            who = mail.who.id
            for motion, word, whom in mail.lines:
                if motion == "proxy":
                    proxies.pop(who, None)
                    is_free = sum(holder == word for holder in proxies.values()) < 2
                    if word in known and word in entitled and is_free:
                        proxies[who] = word
                    continue
                if motion == "M2" and mail.at < AMENDED:
                    continue
                if word == "withdraw":
                    own.pop((motion, who), None)
                    continue
                vote = next((name for name, words in WORDS.items() if word in words), None)
                voter = whom or who
                if vote is None or voter in self.interested[motion]:
                    continue
                if not whom:
                    own[motion, who] = (vote, mail.id)
                elif voter in entitled and proxies.get(voter) == who:
                    held[motion, voter] = (vote, mail.id)
        votes = held | own
        results: dict[str, dict] = {}
        for motion, _, kind in MOTIONS:
            cast = [vote for (name, _), (vote, _) in votes.items() if name == motion]
            yes, no = cast.count("yes"), cast.count("no")
            may = len(entitled - self.interested[motion])
            quorum = 100 * len(cast) >= 60 * may
            carried = quorum and (3 * yes >= 2 * (yes + no) if kind == "bylaws" else yes > no)
            results[motion] = {
                "entitled": may, "yes": yes, "no": no, "abstain": cast.count("abstain"), "quorum": quorum, "carried": carried,
            }  # fmt: skip
        return votes, rejected, results


def render(dice: Dice, mail: Mail) -> bytes:
    message = EmailMessage(policy=SMTP.clone(max_line_length=200))
    zone = timezone(timedelta(hours=dice.pick((0, 2, 2, 2, -4, 9))))
    message["Received"] = f"from relay.example by list.observatory.example; {format_datetime(mail.at.astimezone(zone))}"
    outside = mail.at + timedelta(minutes=dice.pick((-1, -3, -200)))
    message["Received"] = f"from home.example by relay.example; {format_datetime(outside.astimezone(zone))}"
    verdict = "fail" if mail.is_forged else "pass"
    message["Authentication-Results"] = f"list.observatory.example; dkim={verdict}"
    if mail.is_forged:
        message["Authentication-Results"] = "relay.example; dkim=pass"
    name = mail.who.name if mail.who else "A friend"
    message["From"] = f"{name} <{mail.sender}>"
    message["To"] = "ballot@list.observatory.example"
    message["Subject"] = dice.pick(("Ballot", "Re: Ballot", "my vote", "AW: Ballot April", "(no subject)"))
    written = mail.at + timedelta(minutes=dice.pick((-4, -2, -2, -900, -600, 400)))
    message["Date"] = format_datetime(written.astimezone(zone))
    message["Message-ID"] = f"<{mail.id}>"
    lines = [dice.pick(CHAT), ""]
    for motion, word, whom in mail.lines:
        colon = dice.pick((": ", ":", " : ", ":  "))
        motion = motion.lower() if dice.chance(0.15) else motion
        lines.append(f"{motion}{colon}{word}{f' for {whom}' if whom else ''}")
        if dice.chance(0.1):
            lines.append(dice.pick(("That is how I see it.", "> Who is for it?", "")))
    if mail.quoted:
        at = 1 if dice.chance(0.5) else len(lines)
        lines[at:at] = ["", "On Monday somebody wrote:", *mail.quoted, ""]
    text = "\n".join([*lines, *(["", *mail.tail] if mail.tail else [])]) + "\n"
    code = dice.pick(("7bit", "7bit", "quoted-printable", "base64"))
    message.set_content(text, cte=code)
    if dice.chance(0.12):
        message.add_alternative(f"<p>{text.replace('yes', 'no')}</p>", subtype="html")
    for number, part in enumerate(part for part in message.walk() if part.is_multipart()):
        part.set_boundary(f"=_{mail.id[:10]}_{number}")
    return message.as_bytes().replace(b"\r\n", b"\n")


def table(head: list[str], rows: list[list[str]]) -> bytes:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([head, *rows])
    return file.getvalue().encode()


def files(seed: int = SEED) -> dict[str, bytes]:
    ballot = Ballot(seed)
    dice = Dice(seed + 1)
    box = b""
    for mail in dice.shuffled(ballot.mails):
        head = f"From {mail.sender.lower()} {mail.at.astimezone(UTC):%a %b %d %H:%M:%S %Y}\n".encode()
        box += head + render(dice, mail) + b"\n"
    made = {"archive.mbox": box}
    rows = [
        [one.id, one.name, one.mail, one.other, one.status, f"{one.joined}", f"{one.paid_until}"]
        for one in ballot.members
    ]
    made["members.csv"] = table(["id", "name", "mail", "other_mail", "status", "joined", "paid_until"], rows)
    late = [[one.id, f"{one.late}", "36.00"] for one in ballot.members if one.late]
    made["late_payments.csv"] = table(["id", "received_on", "amount_eur"], dice.shuffled(late))
    for motion, title, kind in MOTIONS:
        lines = [
            f"{motion}: {title}",
            f"Kind: {kind}",
            f"Interested: {', '.join(sorted(ballot.interested[motion])) or 'nobody'}",
        ]
        if motion == "M2":
            lines.append("Amended: on 15 April 2026 at 12:00, the fee for families is 54 instead of 60 euros")
        made[f"motions/{motion}.txt"] = ("\n".join(lines) + "\n").encode()
    return {f"mail_ballot/{name}": data for name, data in made.items()}


def expected(seed: int = SEED) -> dict:
    ballot = Ballot(seed)
    before, early_rejected, _ = ballot.count(closes=CLOSES, has_late=False)
    votes, rejected, results = ballot.count(closes=EXTENDED, has_late=True)
    flat = {f"{motion} {who}": list(value) for (motion, who), value in votes.items()}
    changed = [
        f"{motion} {who}"
        for motion, who in votes.keys() | before.keys()
        if votes.get((motion, who)) != before.get((motion, who))
    ]
    given = files(seed)
    return {
        "votes": flat,
        "changed": sorted(changed),
        "rejected": rejected,
        "changed_mails": sorted(
            one for one in rejected.keys() | early_rejected.keys() if rejected.get(one) != early_rejected.get(one)
        ),
        "results": results,
        "names": sorted({one.name for one in ballot.members}),
        "given": {
            name: sha256(given[f"mail_ballot/{name}"]).hexdigest()[:16]
            for name in ("archive.mbox", "members.csv", "late_payments.csv")
        },
    }
