"""Twelve mails with their attachments for task_30_thread_reply."""

from datetime import datetime, timedelta, timezone

from craft.mail import eml

NORA = "Nora Ekdal <nora.ekdal@brookfell-lighting.example>"
BEN = "Ben Ostrow <ben.ostrow@brookfell-lighting.example>"
RUTH = "Ruth Achterberg <ruth.achterberg@brookfell-lighting.example>"
PIM = "Pim de Graaf <pim.degraaf@brookfell-lighting.example>"
OFFICE = "Sales Office <sales@brookfell-lighting.example>"
DANIELA = "Daniela Kovac <d.kovac@norden-clinic.example>"
JONAS = "Jonas Reiter <j.reiter@norden-clinic.example>"

OLD_LIST = """Price list 2026-01;valid from 2026-01-01;;
article;description;from quantity;EUR each without VAT
LP-60;LED panel 60 x 60 cm;1;88.50
LP-60;LED panel 60 x 60 cm;50;81.20
LP-60;LED panel 60 x 60 cm;150;76.90
LP-120;LED panel 120 x 30 cm;1;97.00
LP-120;LED panel 120 x 30 cm;50;90.40
DM-4;dimming unit, 4 channels;1;44.00
DM-4;dimming unit, 4 channels;20;39.00
EX-2;exit sign;1;61.00
"""

NEW_LIST = """Price list 2026-04;valid from 2026-04-01 to 2026-06-30;;
article;description;from quantity;EUR each without VAT
LP-60;LED panel 60 x 60 cm;1;92.00
LP-60;LED panel 60 x 60 cm;50;84.50
LP-60;LED panel 60 x 60 cm;150;79.80
LP-120;LED panel 120 x 30 cm;1;101.00
LP-120;LED panel 120 x 30 cm;50;94.10
DM-4;dimming unit, 4 channels;1;46.00
DM-4;dimming unit, 4 channels;20;41.50
EX-2;exit sign;1;63.50
;The quantity of each article in one order counts, also if it is delivered in parts.;;
;Delivery is free of charge for orders of 10000 EUR and more.;;
"""

TERMS = """BROOKFELL LIGHTING: TERMS OF SALE, EDITION APRIL 2026

1 OFFERS
1.1 A quote binds us until the day named in it. After that, the price list in force on the day of the order applies.
1.2 Quotes hold for the quantities named in them.

2 DELIVERY
2.1 Dates are binding only if we have confirmed them in writing.
2.2 We may deliver in parts if the customer agrees. Later parts of the same order cost no extra freight.

3 PAYMENT
3.1 Invoices are payable within 30 days, without deduction.
3.2 Who pays within 10 days may deduct 2 %.
3.3 Hospitals, clinics and public bodies get 45 days instead of 30 if they ask for it in the order. 3.2 does not
    apply then.
3.4 Longer terms are not granted.

4 RETURNS
4.1 Unopened panels (series LP) in their original packaging may be returned within 30 days of delivery. We
    credit the price less 15 % for handling. The customer pays the freight.
4.2 Units of the series DM and articles made to measure cannot be returned.

5 WARRANTY
5.1 The warranty on all articles is 5 years from delivery.
5.2 No agreement on a longer warranty is valid unless signed by the head of sales.

6 PLACE OF LAW
6.1 Disputes are heard at our place of business.
"""

SHEET = """LP-60, LED panel 60 x 60 cm: data sheet (edition 3)

Light          4000 K, 3900 lm, colour rendering above 90
Power          31 W
Life           60,000 hours (L80)
Versions       LP-60-D   dimmed by DALI-2
               LP-60-A   dimmed by 1-10 V
               Same price. The version is fixed in the factory and can't be changed afterwards.
Dimming units  DM-4 works with both versions
Weight         2.9 kg
"""


def at(month: int, day: int, hour: int, minute: int) -> datetime:
    summer = (month, day) >= (3, 29)
    return datetime(2026, month, day, hour, minute, tzinfo=timezone(timedelta(hours=2 if summer else 1)))


def quoted(text: str) -> str:
    return "".join(f"> {line}".rstrip() + "\n" for line in text.strip().splitlines())


FIRST = """Dear Sir or Madam,

we are renewing the lighting of Ward B at Norden Clinic and need about 160 LED panels of 60 x 60 cm that can be
dimmed, 24 dimming units for four channels and six exit signs. Work begins on 1 June, so the goods must be here
before that.

Could you send me a quote? We would also be interested in a warranty of seven years, if you offer that.

Kind regards
Daniela Kovac
Facilities, Norden Clinic
"""

QUOTE = """Dear Ms Kovac,

thank you for your inquiry. Here is our quote Q-2026-114:

160 x LP-60  at 76.90 EUR = 12,304.00 EUR
 24 x DM-4   at 39.00 EUR =    936.00 EUR
  6 x EX-2   at 61.00 EUR =    366.00 EUR
Total without VAT           13,606.00 EUR

The quote holds until 31 March 2026. End of May is no problem as things stand. Seven years of warranty shouldn't
be a problem either, I'd think; let us talk about that when it comes to the order.

Kind regards
Ben Ostrow
"""

THANKS = """Dear Mr Ostrow,

thank you, also for the seven years. It now goes to our committee, which takes its time.

Kind regards
Daniela Kovac
"""

LISTS = """Dear colleagues,

attached are the price list 2026-04 and the new terms of sale. Both hold for all orders from 1 April on. Customers
may have both.
Quotes made before hold until the day named in them, not longer.

Sales Office
"""

LISTS_HTML = """<p>Dear colleagues,</p>
<p>attached are the price list <b>2026-04</b> and the new terms of sale. Both hold for all orders from 1 April on.
Customers may have both.<br>Quotes made before hold until the day named in them, not longer.</p>
<p>Sales Office</p>
"""

HANDOVER = """Hi Nora,

as you know I'm off to my new life as a sheep farmer on Friday. Norden Clinic is yours then: nice people, slow
committee. Everything is in the thread. I was a bit quick about the seven years, sorry, perhaps you get that
straight with Ruth.

Ben
"""

RULES = """Dear all,

because it has come up three times this month: nobody in sales promises or hints at a warranty of more than the
five years in our terms, neither by mail nor by phone. If a customer insists, say that the warranty is five
years and that I am glad to talk to them on the phone (+49 555 0142). Please don't write that I "will see what
can be done".

If someone has said something else to a customer before, put it right openly and apologise. That is better than
a quarrel in the sixth year.

Ruth
"""

CONTROL = """Dear Ms Ekdal,

I'm the electrician at Norden Clinic. Ms Kovac says that you have taken over from Mr Ostrow. Could you send me
the data sheet of the panels? They are to run on the control system that we have in Ward B, it is from 2014. I
would have to look up what it is called, the cabinet is behind the beds at the moment.

Regards
Jonas Reiter
"""

ANSWER = """Dear Mr Reiter,

here is the data sheet. There are two versions, for DALI-2 and for 1-10 V, and the version can't be changed
later. So please let me know the maker and the type of your control system, or whether it speaks DALI-2 or 1-10
V, before Ms Kovac orders.

Kind regards
Nora Ekdal
"""

STOCK = """Hi Nora,

for Norden Clinic: of LP-60 we have 120 in the warehouse that I can set aside, in either version (or mixed). If
you order them for the clinic by 15 May, they are there by 29 May, that I confirm. The other 60 come in with the
next container on 2 June and can be in the clinic on 5 June at the earliest. I would say "5 June" only as
expected, not as confirmed, the ship isn't ours. DM-4: 200 in stock.

Between us: Xelan, who make the panels, have trouble with their second line. Please keep the name out of mails
to customers.

Pim
"""

MARGIN = """Nora,

on Norden Clinic: we buy the LP-60 at 58.10, so there is room. If they press you on the price, you may come to
me and we go down by 3 %. Not unasked, and no figure in writing before we have spoken.

Ruth
"""

LAST = """Dear Ms Ekdal,

before I can sign the order I need answers to the questions of our committee. I would be grateful to have them
by Thursday.

a) Our quantities have changed, as I wrote last week. Do the prices of your quote Q-2026-114 still hold, and
   what is the total without VAT now, freight included?
b) Can you deliver everything by 29 May? On 1 June the fitters begin.
c) If some panels or dimming units are left over in the end, can we give them back, and on what terms?
d) Please confirm in writing the seven years of warranty that Mr Ostrow promised us.
e) Will the panels work with the control system that we have in Ward B?
f) Our accounts department would like to pay within 60 days. Is that all right?

Kind regards
Daniela Kovac
Facilities, Norden Clinic
"""

CHANGE = """Dear Ms Ekdal,

good news: the committee has approved the renewal. Two changes: we now need 180 panels, as the corridor is
added, and the exit signs have been taken out, the old ones stay. 24 dimming units as before. Some questions are
still open, I'll write to you next week.

Kind regards
Daniela Kovac
"""


def files() -> dict[str, bytes]:
    first = "Lighting for Ward B"
    csv, text = "text/csv", "text/plain"
    mails = [
        {"sender": DANIELA, "to": OFFICE, "subject": first, "sent": at(2, 16, 10, 12), "text": FIRST},
        {
            "sender": BEN,
            "to": DANIELA,
            "subject": f"Re: {first}: quote Q-2026-114",
            "sent": at(2, 20, 15, 40),
            "text": QUOTE + "\n" + quoted(FIRST),
            "attachments": {"pricelist-2026-01.csv": (csv, OLD_LIST.encode())},
        },
        {
            "sender": DANIELA,
            "to": BEN,
            "subject": f"Re: {first}: quote Q-2026-114",
            "sent": at(2, 27, 9, 5),
            "text": THANKS + "\n" + quoted(QUOTE),
        },
        {"sender": BEN, "to": NORA, "subject": "Norden Clinic: handover", "sent": at(3, 9, 17, 22), "text": HANDOVER},
        {
            "sender": OFFICE,
            "to": f"{NORA}, {PIM}",
            "cc": RUTH,
            "subject": "New price list and terms from 1 April",
            "sent": at(3, 16, 8, 0),
            "text": LISTS,
            "html": LISTS_HTML,
            "attachments": {
                "pricelist-2026-04.csv": (csv, NEW_LIST.encode()),
                "terms-2026-04.txt": (text, TERMS.encode()),
            },
        },
        {
            "sender": RUTH,
            "to": OFFICE,
            "cc": f"{NORA}, {PIM}",
            "subject": "Warranty: please read",
            "sent": at(3, 18, 11, 31),
            "text": RULES,
        },
        {
            "sender": JONAS,
            "to": NORA,
            "cc": DANIELA,
            "subject": "Data sheet LP-60",
            "sent": at(3, 24, 13, 50),
            "text": CONTROL,
        },
        {
            "sender": NORA,
            "to": JONAS,
            "cc": DANIELA,
            "subject": "Re: Data sheet LP-60",
            "sent": at(3, 25, 9, 14),
            "text": ANSWER + "\n" + quoted(CONTROL),
            "attachments": {"lp-60-datasheet.txt": (text, SHEET.encode())},
        },
        {"sender": DANIELA, "to": NORA, "subject": f"{first}: approved", "sent": at(4, 8, 16, 2), "text": CHANGE},
        {"sender": PIM, "to": NORA, "subject": "Stock LP-60", "sent": at(4, 10, 10, 45), "text": STOCK},
        {"sender": RUTH, "to": NORA, "subject": "Norden Clinic, price", "sent": at(4, 13, 18, 20), "text": MARGIN},
        {
            "sender": DANIELA,
            "to": NORA,
            "cc": JONAS,
            "subject": f"{first}: questions before the order",
            "sent": at(4, 14, 8, 37),
            "text": LAST + "\n" + quoted(CHANGE),
        },
    ]
    return {f"thread_reply/mails/{number:02}.eml": eml(**mail) for number, mail in enumerate(mails, 1)}
