"""The mails about a business trip: bookings, changes, cancellations, appointments and noise."""

from datetime import datetime, timedelta, timezone
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from hashlib import sha256

from craft.dice import Dice
from craft.mail import eml

FOLDER = "itinerary"
ELINA = "Elina Saarinen <elina.saarinen@rautala.example>"
AURORA = "Aurora Baltic <noreply@aurorabaltic.example>"
RAIL = "Caminho de Ferro Atlântico <bilhetes@cfatlantico.example>"

OLD_EVENT = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//Aurora Baltic//Booking//EN
BEGIN:VEVENT
UID:QK7T2M-1@aurorabaltic.example
DTSTAMP:20260504T081100Z
DTSTART;TZID=Europe/Helsinki:20260615T074000
DTEND;TZID=Europe/Lisbon:20260615T110500
SUMMARY:Flight AB 417 Helsinki - Lisbon
END:VEVENT
END:VCALENDAR
"""

# The legs as they are in the end, in UTC: number, begin, end. The check holds the same.
LEGS = (
    ("AB 419", "2026-06-15T06:15", "2026-06-15T11:40"),
    ("129", "2026-06-17T11:39", "2026-06-17T14:51"),
    ("BV 2204", "2026-06-18T13:30", "2026-06-18T15:55"),
    ("AB 832", "2026-06-19T17:10", "2026-06-19T20:05"),
)

# sender, subject, sent (with the offset of the sender's zone), text
MAILS = [
    (
        AURORA,
        "Booking confirmation QK7T2M",
        "2026-05-04T11:11:00+03:00",
        "Booking reference: QK7T2M\nPassenger: SAARINEN/ELINA MS\n\nAB 417   Monday, 15 June 2026\n  Helsinki "
        "(HEL)   dep 07:40\n  Lisbon (LIS)"
        "     arr 11:05\n  Economy, seat 14C, one bag\n\nAll times are local. A calendar entry is attached.\n",
    ),
    (
        AURORA,
        "Schedule change for QK7T2M",
        "2026-05-20T09:02:00+03:00",
        "Dear Ms Saarinen,\n\nthe times of your flight have changed.\n\nAB 417, Monday, 15 June 2026\n  "
        "Helsinki dep 08:30 (was 07:40)\n"
        "  Lisbon   arr 11:55 (was 11:05)\n\nYou need not do anything.\n",
    ),
    (
        AURORA,
        "Important: your booking QK7T2M has been changed",
        "2026-06-09T18:47:00+03:00",
        "Dear Ms Saarinen,\n\nAB 417 will not be operated on 15 June. We have rebooked you; your booking "
        "reference stays the same.\n\n"
        "  Flight   AB 419\n  Date     15JUN26\n  From     HEL   STD 0615\n  To       LIS   STA 1140\n  Seat    "
        " 9A\n\n"
        "STD and STA are given in UTC. Local time in Helsinki is UTC+3 and in Lisbon UTC+1 on this date.\n",
    ),
    (
        "Casa das Sete Cegonhas <reservas@setecegonhas.example>",
        "A sua reserva / Your booking CS-55120",
        "2026-05-05T10:30:00+01:00",
        "<h2>Casa das Sete Cegonhas</h2><table><tr><td>Booking</td><td>CS-55120</td></tr><tr><td>Guest</td><td>Elina "
        "Saarinen</td></tr>"
        "<tr><td>Arrival</td><td>Mon 15/06/2026, from 14:00</td></tr><tr><td>Departure</td><td>Wed 17/06/2026, "
        "until 11:00</td></tr>"
        "<tr><td>Nights</td><td>2, breakfast included</td></tr><tr><td>Address</td><td>Rua das Amendoeiras 12, "
        "Lisboa</td></tr></table>"
        "<p>At&eacute; breve!</p>",
    ),
    (
        RAIL,
        "Bilhete TR-90312",
        "2026-05-05T12:15:00+01:00",
        "Reserva TR-90312\nElina Saarinen\n\nComboio 125, quarta-feira, 17 de junho de 2026\n  Lisboa Oriente   "
        " partida 08:39\n  Porto Campanhã"
        "    chegada 11:51\n  Carruagem 4, lugar 31\n",
    ),
    (
        RAIL,
        "Reembolso TR-90312 / Refund",
        "2026-05-28T16:40:00+01:00",
        "As you asked, we have cancelled booking TR-90312 (train 125 on 17 June). 24,70 EUR go back to your card.\n",
    ),
    (
        RAIL,
        "Bilhete TR-90577",
        "2026-05-28T16:55:00+01:00",
        "Reserva TR-90577\nElina Saarinen\n\nComboio 129, quarta-feira, 17 de junho de 2026\n  Lisboa Oriente   "
        " partida 12:39\n  Porto Campanhã"
        "    chegada 15:51\n  Carruagem 21, lugar 84\n",
    ),
    (
        "Hotel Ponte Torcida <info@pontetorcida.example>",
        "Reservation PT-2207 confirmed",
        "2026-05-06T09:20:00+01:00",
        "Dear Ms Saarinen,\n\nwe look forward to your stay from Wednesday 17 to Thursday 18 June 2026, one "
        "night, reservation PT-2207.\n\n"
        "Hotel Ponte Torcida, Cais da Estiva 70, Porto\n",
    ),
    (
        "Hotel Ponte Torcida <info@pontetorcida.example>",
        "About your stay in June",
        "2026-06-10T15:05:00+01:00",
        "Dear Ms Saarinen,\n\na burst pipe has closed a part of our house. We have therefore moved your night "
        "of 17 June to our sister house, "
        "at the same price:\n\nHotel Vagamansa, Rua do Molhe 3, Porto\nyour new reservation: VM-8841, check-in from "
        "15:00\n\nPT-2207 is void. "
        "We are sorry for the trouble.\n",
    ),
    (
        "Brumavela Air <tickets@brumavela.example>",
        "Your ticket ZR4P8D",
        "2026-05-07T13:00:00+02:00",
        "Reference ZR4P8D    SAARINEN ELINA\n\nBV 2204   THU 18 JUN 2026\nOPO Porto             14:30\nLGW "
        "London Gatwick    16:55\nFare: Light, "
        "hand luggage only\n\nTimes are local at each airport.\n",
    ),
    (
        "The Lanyard <stay@thelanyard.example>",
        "Booking LN-30418",
        "2026-05-07T14:22:00+01:00",
        "Thank you, Elina.\n\nYour room at The Lanyard, 8 Ropewalk Lane, London, is booked.\n\n  Check-in    "
        "Saturday 18 July 2026, 15:00\n"
        "  Check-out   Sunday 19 July 2026, 11:00\n  1 night, booking LN-30418\n\nFree changes until 48 hours "
        "before arrival.\n",
    ),
    (
        AURORA,
        "Booking confirmation QK7T2N",
        "2026-05-07T15:31:00+03:00",
        "Booking reference: QK7T2N\nPassenger: SAARINEN/ELINA MS\n\nAB 832   Friday, 19 June 2026\n  London "
        "Heathrow (LHR)   dep 18:10\n"
        "  Helsinki (HEL)          arr 23:05\n  Economy, seat 17F, one bag\n\nAll times are local.\n",
    ),
    (
        "Rui Penalva <rui.penalva@maresinda.example>",
        "Your visit to Maresinda",
        "2026-05-11T17:12:00+01:00",
        "Dear Elina,\n\nas you land at 11:05, let us meet on Monday, 15 June, at 13:00 at our office (Avenida "
        "do Cais 40, Lisbon; allow 40 "
        "minutes from the airport). The workshop is on Tuesday, 16 June, from 09:30 to 16:00, in the same "
        "place.\n\nBest wishes\nRui\n",
    ),
    (
        "Harriet Colebrand <h.colebrand@tallowstreet.example>",
        "Friday 19 June",
        "2026-05-19T10:45:00+01:00",
        "Hi Elina,\n\nconfirmed: Friday, 19 June, 10:00 to 12:00, at Quayside House, 5 Tallow Street, London. "
        "Ask for me at the desk.\n\n"
        "Harriet\n",
    ),
    (
        "Sofia Lindoso <sofia.lindoso@sobralinda.example>",
        "Dinner in Porto",
        "2026-06-02T12:00:00+01:00",
        "Dear Elina,\n\nI have a table for three at Casa Nogalinda, Rua do Carvalhido 19, on Wednesday, 17 June, "
        "at 20:00.\n\nSofia\n",
    ),
    (
        "Sofia Lindoso <sofia.lindoso@sobralinda.example>",
        "Re: Dinner in Porto",
        "2026-06-11T08:33:00+01:00",
        "Dear Elina,\n\nthey could only keep our table for half past eight, so 20:30 on Wednesday. The rest "
        "stays.\n\nSofia\n",
    ),
    (
        "Matti Salo <matti.salo@rautala.example>",
        "Fwd: Booking confirmation PL9W3C",
        "2026-06-04T14:10:00+03:00",
        "For your information, mine is a week after yours, so we don't meet there.\n\n--- forwarded "
        "---\nPassenger: SALO/MATTI MR\nAB 417   "
        "Monday, 22 June 2026\n  Helsinki (HEL)   dep 08:30\n  Lisbon (LIS)     arr 11:55\nBooking reference: "
        "PL9W3C\n",
    ),
    (
        "Hotel Vagamansa <offers@vagamansa.example>",
        "Elina, stay one more night for 59 EUR",
        "2026-06-12T07:00:00+01:00",
        "Before your stay on 17 June: add the night of 18 June for only 59 EUR and enjoy the sea. Answer this "
        "mail until Sunday.\n",
    ),
    (
        AURORA,
        "Seat sale: Lisbon from 79 EUR",
        "2026-06-11T06:00:00+03:00",
        "Lisbon is calling! AB 417 and AB 419, from 79 EUR, for travel from 15 September.\n",
    ),
]


def html_only(sender: str, subject: str, sent: datetime, page: str) -> bytes:
    """A message without a plain part, as some booking systems send it."""
    message = EmailMessage(policy=SMTP)
    message["From"] = sender
    message["To"] = ELINA
    message["Subject"] = subject
    message["Date"] = format_datetime(sent)
    digest = sha256(subject.encode()).hexdigest()[:20]
    message["Message-ID"] = f"<{digest}@{sender.rsplit('@', 1)[-1].strip('> ')}>"
    message.set_content(f"<html><body>{page}</body></html>\n", subtype="html", cte="base64")
    return message.as_bytes()


def files() -> dict[str, bytes]:
    # The names say nothing about the order of time.
    numbers = Dice(70).shuffled(range(31, 31 + len(MAILS)))
    made = {}
    for (sender, subject, sent, text), number in zip(MAILS, numbers):
        moment = datetime.fromisoformat(sent)
        moment = moment.astimezone(timezone(moment.utcoffset() or timedelta(0)))
        if text.startswith("<"):
            data = html_only(sender, subject, moment, text)
        else:
            attached = {"AB417.ics": ("text/calendar", OLD_EVENT.replace("\n", "\r\n").encode())}
            extra = {"attachments": attached} if "attached" in text else {}
            data = eml(sender=sender, to=ELINA, subject=subject, sent=moment, text=text, **extra)
        made[f"{FOLDER}/mail-{number}.eml"] = data
    return made
