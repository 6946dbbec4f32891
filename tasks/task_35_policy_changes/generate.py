"""Two editions of a company's handbook: chapters moved, many texts reworded, fifteen rules really changed."""

import re

# key: (heading, text, heading of the new edition, text of the new edition); None where nothing differs.
RULES = {
    "about": (
        "About this handbook",
        (
            "This is the 2025 edition of our handbook. It applies from 1 March 2025 and replaces the edition of 2023."
            " Where a contract of employment says something better for the employee, the contract counts."
        ),
        None,
        (
            "This is the 2026 edition of our handbook. It applies from 1 May 2026 and replaces the edition of 2025. "
            "If your contract of employment is better for you on a point, your contract counts."
        ),
    ),
    "whom": (
        "Whom it applies to",
        (
            "The handbook applies to all employees of Harrow Lane Optics at both sites, to trainees and to working "
            "students. For agency workers only the rules on safety and on data apply."
        ),
        None,
        (
            "All employees of Harrow Lane Optics, at either site, are covered by the handbook, and so are trainees "
            "and working students. Only the rules on safety and on data apply to agency workers."
        ),
    ),
    "terms": (
        "Terms",
        (
            "A working day is any day from Monday to Saturday that is not a public holiday at the site. A team lead "
            "is whoever signs the employee's objectives. The people team is the human resources department."
        ),
        None,
        (
            "A working day is any day from Monday to Friday that is not a public holiday at the site. A line manager,"
            " called team lead in earlier editions, is whoever signs the employee's objectives. The people team is "
            "the human resources department."
        ),
    ),
    "changes": (
        "Changes to the handbook",
        (
            "The people team revises the handbook once a year together with the staff council. A new edition is "
            "announced at least a fortnight before it applies."
        ),
        None,
        (
            "Once a year the people team and the staff council revise the handbook together. At least 14 days before "
            "a new edition applies, it is announced."
        ),
    ),
    "hours": (
        "Weekly hours",
        (
            "Full-time employees work 38.5 hours a week. Part-time employees work the share agreed in their "
            "contracts. The week begins on Monday."
        ),
        None,
        None,
    ),
    "core": (
        "Core time",
        (
            "Between 9:30 and 14:30 everyone should be reachable, except on agreed days off. Outside of it, employees"
            " choose their hours between 6:00 and 20:00. Laboratory shifts have their own plan, which hangs in the "
            "laboratory and is fixed for four weeks at a time."
        ),
        "Core time and flexible time",
        (
            "Employees choose their hours between 6:00 and 20:00. Everyone should be reachable between 9:30 and "
            "14:30, agreed days off excepted. The laboratory works in shifts by a plan of its own; it is fixed for "
            "four weeks at a time and hangs in the laboratory."
        ),
    ),
    "breaks": (
        "Breaks",
        (
            "After six hours of work at the latest, a break of half an hour is taken; with more than nine hours of "
            "work, the breaks come to 45 minutes in all. Breaks do not count as working time."
        ),
        None,
        (
            "Breaks are not working time. Whoever works for six hours takes a break of 30 minutes at that point at "
            "the latest. On days with more than nine hours of work, breaks add up to three quarters of an hour."
        ),
    ),
    "account": (
        "Hours account",
        (
            "Each employee has an hours account. It may hold up to 60 hours of credit and 20 hours of debt. At the "
            "end of a quarter, the team lead and the employee look at it together if it is above 40 hours."
        ),
        None,
        (
            "An hours account is kept for each employee. Its limits are 60 hours of credit and 20 hours of debt. If "
            "the account stands above 40 hours when a quarter ends, line manager and employee look at it together."
        ),
    ),
    "overtime": (
        "Overtime",
        (
            "Overtime is work beyond the weekly hours that the team lead has ordered or allowed. It is paid with a "
            "supplement of 25 % or taken as time off with the same supplement; the employee chooses."
        ),
        None,
        None,
    ),
    "oncall": (
        "On-call duty",
        (
            "Whoever is on call answers within 1.5 hours and gets EUR 28 for a weekday and EUR 55 for a day at the "
            "weekend. Nobody is on call for more than seven days in a row."
        ),
        None,
        (
            "People on call answer within 90 minutes. They get 28 euros for a weekday and 55 euros for each day at "
            "the weekend. On-call duty lasts seven days in a row at most."
        ),
    ),
    "leave": (
        "Annual leave",
        (
            "Full-time employees have 27 days of paid leave in a calendar year. In the first and the last year of "
            "employment, leave is earned by full months. Severely disabled employees have five days more."
        ),
        None,
        (
            "Full-time employees have 28 days of paid leave in a calendar year. In the years in which employment "
            "begins or ends, each full month earns its share. Severely disabled employees have five additional days."
        ),
    ),
    "request": (
        "Asking for leave",
        (
            "Leave is entered in the portal and approved by the team lead within five working days. Leave of more "
            "than three weeks is agreed on three months ahead. What has been approved can be taken back only with the"
            " employee's consent."
        ),
        None,
        (
            "Employees enter leave in the portal; the line manager approves it within five working days. Anyone who "
            "wishes to be away for more than three weeks agrees on it three months ahead. Approved leave may not be "
            "withdrawn unless the employee consents."
        ),
    ),
    "carry": (
        "Leave left over",
        (
            "Up to five days of leave that could not be taken can be carried into the next year. They must be used by"
            " 31 March or they lapse. The people team reminds everyone in October."
        ),
        "Carrying leave over",
        (
            "Leave that could not be taken, but no more than five days of it, can be carried into the next year. It "
            "lapses unless it is used by 30 April. Each October the people team sends a reminder."
        ),
    ),
    "special": (
        "Special leave",
        (
            "There is paid leave on special occasions: two days for one's own wedding, one day for moving house, two "
            "days for a birth in the family, three days for a death in the close family. It is taken within four "
            "weeks of the occasion."
        ),
        "Leave on special occasions",
        (
            "Within four weeks of the occasion, employees can take paid leave: three days for a death in the close "
            "family, two days for a birth in the family, two days for their own wedding, one day when they move "
            "house."
        ),
    ),
    "unpaid": (
        "Unpaid leave",
        (
            "After two years with us, employees can take up to half a year of unpaid leave. They ask for it four "
            "months ahead in writing. The team lead answers within a month and gives reasons if the answer is no."
        ),
        None,
        (
            "Employees who have been with us for two years can take unpaid leave of up to six months. The written "
            "request comes four months ahead; within a month the line manager answers it, and a refusal gives "
            "reasons."
        ),
    ),
    "ill_call": (
        "Calling in sick",
        (
            "Whoever is ill tells the team lead before work begins, by phone or message, and says how long it will "
            "probably last. Nobody has to say what the illness is."
        ),
        None,
        (
            "In case of illness, the line manager is told before work begins, by phone or message, together with how "
            "long it will probably last. What the illness is remains private."
        ),
    ),
    "ill_note": (
        "Doctor's note",
        (
            "If an illness lasts longer, a doctor's note is needed from the fourth calendar day on. It is sent to the"
            " people team. In cases of doubt the people team may ask for a note earlier, but not in general."
        ),
        None,
        (
            "A longer illness needs a doctor's note, from the third calendar day on, which goes to the people team. "
            "The people team may ask for a note earlier in cases of doubt, though not as a rule."
        ),
    ),
    "ill_back": (
        "Coming back",
        (
            "After more than six weeks of illness in twelve months, the people team offers a talk about how the "
            "return to work can be made easier. The talk is voluntary."
        ),
        "Coming back after a long illness",
        None,
    ),
    "first_aid": (
        "First aid",
        (
            "In each building there are at least two trained first-aiders; their names hang next to the first-aid "
            "boxes. Every treatment is entered in the book in the box. The boxes are checked quarterly."
        ),
        None,
        (
            "Each building has two trained first-aiders or more. Their names hang next to the first-aid boxes, which "
            "are checked every three months. All treatment is entered in the book kept in the box."
        ),
    ),
    "accident": (
        "Accidents",
        (
            "Accidents at work and on the way to work are reported to the people team on the same day, or on the next"
            " working day if that is not possible. Near misses are reported as well, so that others are spared them."
        ),
        None,
        None,
    ),
    "lasers": (
        "Lasers and chemicals",
        (
            "Rooms with lasers of class 3B and above may be entered only with the goggles at the door and after the "
            "yearly instruction. Chemicals are kept in the marked cupboards, and each has its data sheet there."
        ),
        None,
        (
            "Nobody enters a room with lasers of class 3B or above without the goggles at its door, or without this "
            "year's instruction. The marked cupboards are the place for chemicals, with a data sheet for each."
        ),
    ),
    "home_days": (
        "Days at home",
        (
            "Those whose tasks allow it can work from home on up to two days a week. Days that are not used don't add"
            " up. In the first three months everybody works on site."
        ),
        None,
        (
            "Working from home is possible on up to two days a week where the tasks allow it. Unused days are not "
            "saved up. New employees work on site for their first three months."
        ),
    ),
    "home_ok": (
        "Arranging days at home",
        (
            "Days at home need the approval of the team lead, at the latest on the day before. Team meetings on site,"
            " fixed at least a week ahead, come first."
        ),
        None,
        (
            "Notice of days at home is given to the line manager, at the latest on the day before; approval is not "
            "needed. Team meetings on site that are fixed a week ahead or earlier come first."
        ),
    ),
    "home_kit": (
        "Equipment at home",
        (
            "The company lends a screen, a keyboard and a chair, and once pays up to EUR 150 for a lamp or a desk. "
            "Things lent are brought back within two weeks of the end of employment."
        ),
        None,
        (
            "For work at home the company lends a chair, a screen and a keyboard. It also pays, once, for a desk or a"
            " lamp, up to 150 euros in all. What was lent comes back within 14 days of the end of employment."
        ),
    ),
    "home_abroad": (
        "Working from abroad",
        (
            "Working from another country of the European Union is possible on up to 20 working days a year. The "
            "people team has to agree four weeks ahead, because of tax and insurance."
        ),
        None,
        None,
    ),
    "trip_book": (
        "Booking",
        (
            "Trips are booked through the travel desk. Trains come before planes: flights are possible only if the "
            "train would take more than six hours. Second class is the rule; on journeys of more than three hours "
            "first class may be booked."
        ),
        "Booking trips",
        (
            "The travel desk books all trips. The train comes first; a flight may be booked only where the train "
            "takes more than six hours. First class is for journeys of more than three hours, second class for all "
            "others."
        ),
    ),
    "trip_km": (
        "Private vehicles",
        (
            "Those who use their own vehicle for a trip, with the team lead's consent, are paid per kilometre. Tolls "
            "and parking are paid on top.\n\n"
            "| Vehicle | EUR per km |\n"
            "|---|---|\n"
            "| Car | 0.32 |\n"
            "| Motorcycle | 0.20 |\n"
            "| Moped | 0.14 |\n"
            "| Bicycle, with or without motor | 0.10 |\n"
            "| Each colleague who rides along | 0.03 |"
        ),
        None,
        (
            "With the line manager's consent, employees can use their own vehicle for a trip. They are paid by the "
            "kilometre; parking and tolls come on top.\n\n"
            "| Vehicle | EUR per km |\n"
            "|---|---|\n"
            "| Bicycle, with or without motor | 0.10 |\n"
            "| Moped | 0.14 |\n"
            "| Motorcycle | 0.20 |\n"
            "| Car | 0.36 |\n"
            "| Each colleague who rides along | 0.03 |"
        ),
    ),
    "trip_meals": (
        "Meals",
        (
            "There is a fixed allowance for meals on trips; receipts are not needed.\n\n"
            "| Day | Inland | Abroad |\n"
            "|---|---|---|\n"
            "| Full day away | EUR 30 | EUR 42 |\n"
            "| Part of a day [^{f1}] | EUR 15 | EUR 21 |\n"
            "| Breakfast in the hotel's price | minus EUR 6 | minus EUR 8 |\n\n"
            "[^{f1}]: For days with more than 8 hours away from home and work, and for the days of arrival and "
            "departure."
        ),
        "Meals on trips",
        (
            "For meals on trips a fixed allowance is paid without receipts.\n\n"
            "| Day | Inland | Abroad |\n"
            "|---|---|---|\n"
            "| Full day away | EUR 30 | EUR 42 |\n"
            "| Part of a day [^{f1}] | EUR 15 | EUR 21 |\n"
            "| Breakfast in the hotel's price | minus EUR 6 | minus EUR 8 |\n\n"
            "[^{f1}]: For days of arrival and departure, and for days with more than 10 hours away from home and "
            "work."
        ),
    ),
    "trip_hotel": (
        "Hotels",
        (
            "A night may cost up to EUR 120 with breakfast, in the cities on the travel desk's list up to EUR 160. "
            "Dearer rooms need the consent of the head of department before booking.[^{f2}]\n\n"
            "[^{f2}]: The list is on the intranet under Travel."
        ),
        None,
        (
            "Up to 120 euros a night with breakfast are paid, and up to 160 euros in cities on the travel desk's "
            "list.[^{f2}] Anything dearer has to be agreed to by the head of department before it is booked.\n\n"
            "[^{f2}]: To be found on the intranet under Travel."
        ),
    ),
    "trip_claim": (
        "Claiming expenses",
        (
            "Expenses are claimed in the portal by the end of the month that follows the trip, with a photo of each "
            "receipt. They are paid with the next salary."
        ),
        None,
        None,
    ),
    "buy": (
        "Buying things",
        (
            "Whoever needs something for work orders it through purchasing. From a value of EUR 1,000, two offers are"
            " obtained; from EUR 10,000, management signs the order. Standing orders from framework contracts need no"
            " offers."
        ),
        "Purchasing",
        (
            "Purchasing orders what is needed for work. For a value of EUR 1,500 or more, three offers are obtained, "
            "and for EUR 10,000 or more, management signs the order. No offers are needed for standing orders from "
            "framework contracts."
        ),
    ),
    "card": (
        "Company cards",
        (
            "Company cards are for small things up to EUR 250. The receipt is uploaded within ten days. Cash "
            "withdrawals with the card are not allowed. A lost card is blocked at once by calling the number in "
            "section {ref:it_help}."
        ),
        None,
        (
            "Company cards serve for small things of up to 250 euros; uploading the receipt is due within ten days. "
            "It is forbidden to draw cash with the card. If it is lost, call the number in section {ref:it_help} at "
            "once to have it blocked."
        ),
    ),
    "train": (
        "Courses and training",
        (
            "Each employee has five days and EUR 1,200 a year for training that is of use for the work. The team lead"
            " decides within two weeks. Whoever leaves within twelve months of a course pays back half of its price."
        ),
        "Training",
        (
            "For training that is useful for the work, every employee can use five days and 1,200 euros a year. "
            "Requests are decided on by the line manager within 14 days."
        ),
    ),
    "it_pass": (
        "Passwords",
        (
            "Passwords have at least 10 characters and are used for one service only. The password manager is "
            "installed on all computers. Passwords are not changed on a schedule but when there is reason to."
        ),
        None,
        (
            "A password has 14 characters or more and belongs to one service alone. All computers have the password "
            "manager. There is no schedule for changing passwords; they are changed when there is reason to."
        ),
    ),
    "it_dev": (
        "Computers",
        (
            "Computers are locked whenever one leaves the desk and shut down at the end of the day. Updates are "
            "installed within three days. Programs that are not in the software centre are installed by IT only."
        ),
        "Computers and programs",
        (
            "Lock your computer whenever you leave the desk, and shut it down at the end of the day. Install updates "
            "within three days. Only IT installs programs that the software centre does not have."
        ),
    ),
    "it_phone": (
        "Company phones",
        (
            "Company phones may be used privately within reason. Calls to premium numbers and data abroad for private"
            " purposes are paid by the employee. The phone's number is kept for two months after the end of "
            "employment."
        ),
        None,
        None,
    ),
    "it_mail": (
        "Mail and chat",
        (
            "Personal data of customers are not sent by chat. Mails with attachments for customers go through the "
            "secure exchange. Mailboxes of employees on leave give the name of a substitute in their reply."
        ),
        None,
        None,
    ),
    "it_keep": (
        "Keeping and deleting data",
        (
            "Quotes are kept for six years, invoices for ten. Data of applicants are deleted half a year after the "
            "decision. Every department has somebody who sees to this once a year."
        ),
        None,
        (
            "The periods are ten years for invoices and six years for quotes. Applicants' data are deleted six months"
            " after the decision. In each department somebody is in charge of this and sees to it once a year."
        ),
    ),
    "it_help": (
        "Incidents",
        (
            "Whoever clicked on something strange, or lost a device or a card, calls 0555 0142 at once, day and "
            "night. Nobody gets into trouble for a quick report."
        ),
        "Reporting incidents",
        None,
    ),
    "gifts": (
        "Gifts",
        (
            "Gifts from business partners up to a value of EUR 40 may be accepted, once a year from each partner. "
            "Everything above is declined kindly or, where that is not possible, given to the people team for the "
            "raffle."
        ),
        "Gifts and invitations",
        (
            "Employees may accept gifts from business partners worth up to 40 euros, once a year from each. Cash and "
            "vouchers are never accepted, whatever their value. Greater gifts are kindly declined; where this cannot "
            "be done, they go to the people team for the raffle.\n\n"
            "Business meals of the usual kind may be accepted. Any invitation that includes a night's stay or a "
            "partner's family is first agreed on with the head of department."
        ),
    ),
    "invites": (
        "Invitations",
        (
            "Invitations to a business meal of the usual kind may be accepted. Invitations with a stay overnight, or "
            "that include family, are agreed on with the head of department first."
        ),
        None,
        None,
    ),
    "side": (
        "Side jobs",
        (
            "Side jobs are told to the people team before they begin. They may be forbidden only if they harm our "
            "interests, for instance by work for a competitor, or if hours of both jobs together break the law."
        ),
        None,
        (
            "Before a side job begins, the people team is told of it. It may not be forbidden unless our interests "
            "suffer, for instance by work for a competitor, or the hours of both jobs together break the law."
        ),
    ),
    "speak": (
        "Speaking up",
        (
            "Whoever sees a breach of law or of this handbook can turn to the team lead, the staff council or the "
            "trust line, with or without a name. No one may be put at a disadvantage for a report made in good faith."
        ),
        None,
        None,
    ),
    "pay_day": (
        "Pay day",
        (
            "Salaries are paid on the 27th of the month or, if the banks are closed on that day, on the last day "
            "before it on which they are open. The payslip is in the portal three days earlier. Questions about it "
            "are answered by the people team."
        ),
        None,
        (
            "Three days before pay day, the payslip is in the portal; the people team answers questions about it. Pay"
            " day is the 27th. If the banks are closed then, salaries are paid on the last day before it on which "
            "they are open."
        ),
    ),
    "pay_bonus": (
        "Yearly bonus",
        (
            "With the salary for November, everyone who has been with us since at least 1 July gets a bonus of 60 % "
            "of a month's salary. Those who joined between January and June of the same year get a twelfth of it for "
            "each full month. Part-time employees get their share."
        ),
        None,
        (
            "The salary for November comes with a bonus: 60 % of a month's salary for all who have been with us since"
            " 1 July or longer. For those who joined in the first half of the same year, it is a twelfth of that for "
            "each full month. Part-time employees get their share."
        ),
    ),
    "pension": (
        "Pension",
        (
            "Whoever pays into the company pension gets a fifth on top from us, but no more than EUR 90 a month. One "
            "can begin, pause and change the amount at the start of each quarter. The fund's adviser is on site twice"
            " a year."
        ),
        "Company pension",
        (
            "To what employees pay into the company pension we add 20 %, up to a limit of 90 euros a month. "
            "Beginning, pausing and changing the amount are possible at the start of each quarter. Twice a year the "
            "fund's adviser is on site."
        ),
    ),
    "ticket": (
        "Ticket for bus and train",
        (
            "The company pays half of a yearly ticket for bus and train. The ticket is ordered in the portal by the "
            "10th of a month and is good from the first of the next. Those who use a parking space of the company "
            "cannot have it."
        ),
        None,
        (
            "Order the yearly ticket for bus and train in the portal by the 10th and it is good from the first of the"
            " following month. The company pays 50 % of its price. It cannot be combined with the use of a company "
            "parking space."
        ),
    ),
    "recruit": (
        "Bringing in colleagues",
        (
            "Whoever recommends a person whom we then employ gets EUR 800 when that person's first six months are "
            "over. It is not paid to team leads for their own teams, nor to the people team."
        ),
        None,
        (
            "For recommending somebody whom we then employ, there are 800 euros once that person has been here for "
            "half a year. The people team is excepted, and so are line managers where their own teams are concerned."
        ),
    ),
    "parent_tell": (
        "Expecting a child",
        (
            "Expectant mothers tell the people team as soon as they wish to. From then on, they do not work in laser "
            "or chemical rooms and not between 20:00 and 6:00. The workplace is looked at together with the company "
            "doctor within a week."
        ),
        None,
        (
            "It is for expectant mothers to decide when they tell the people team. Once they have done so, their "
            "workplace is looked at together with the company doctor within seven days, and work in laser or chemical"
            " rooms, or between 20:00 and 6:00, ends at once."
        ),
    ),
    "parent_part": (
        "Part-time for parents",
        (
            "Parents of children under twelve can go down to between 50 % and 80 % of the weekly hours for up to "
            "three years. They ask four months ahead. They have the right to return to their former hours afterwards."
        ),
        None,
        (
            "For up to three years, parents whose children are not yet twelve can work between half and four fifths "
            "of the weekly hours. The request is made four months ahead. Afterwards they have the right to their "
            "former hours."
        ),
    ),
    "child_ill": (
        "Ill children",
        (
            "For looking after an ill child under twelve there are ten paid days a year for each child, and twenty "
            "for single parents. From the first day on, a note from the child's doctor is needed."
        ),
        None,
        None,
    ),
    "visitors": (
        "Visitors",
        (
            "Visitors sign in at the gate and wear a badge. They are collected there and brought back by the employee"
            " whom they visit. In the laboratory, visitors need the consent of its head. Photos are taken only in the"
            " exhibition room."
        ),
        None,
        (
            "The employee who is visited collects visitors at the gate, where they sign in and get a badge to wear, "
            "and brings them back there. Visits to the laboratory need the consent of its head. The exhibition room "
            "is the only place for photos."
        ),
    ),
    "dogs": (
        "Dogs",
        (
            "A dog may come along if nobody in the room minds, if it has been entered with the people team and if it "
            "is insured. Dogs do not enter laboratories, kitchens and the canteen. There are two dogs on a floor at "
            "most."
        ),
        None,
        (
            "Dogs are welcome on three conditions: the people team has been told, the dog is insured, and nobody in "
            "the room minds. No more than two dogs are on a floor at a time. Canteen, kitchens and laboratories are "
            "closed to them."
        ),
    ),
    "smoke": (
        "Smoking and alcohol",
        (
            "Smoking is allowed in the shelter in the yard only, and the time is entered as a break. Alcohol is not "
            "drunk during working time. On occasions such as jubilees the team lead may allow exceptions, but not for"
            " those who drive or work with machines."
        ),
        None,
        None,
    ),
    "meetings": (
        "Meetings",
        (
            "Meetings have an agenda, a host and an end. Between 12:00 and 13:00 there are none. Whoever cannot "
            "contribute may decline without giving reasons, except at the quarterly meeting of all."
        ),
        None,
        (
            "No meetings are held between 12:00 and 13:00. Each meeting has a host, an agenda and an end. It is fine "
            "to decline, without reasons, where one cannot contribute; only the meeting of all, every three months, "
            "is excepted."
        ),
    ),
    "notice": (
        "Notice",
        (
            "In the first six months, either side can give notice of two weeks. After that, notice is three months to"
            " the end of a quarter, for both sides and in writing. Longer periods by law remain."
        ),
        "Notice periods",
        (
            "After the first six months, either side can give three months' notice, in writing, to the end of a "
            "month. During the first six months, notice is two weeks for both sides. Longer periods by law remain."
        ),
    ),
    "reference": (
        "Reference and return of things",
        (
            "Everybody gets a reference with the last salary, and earlier on request. Keys, computer, phone and card "
            "are given back on the last day, against a receipt."
        ),
        None,
        (
            "A reference comes with the last salary or, on request, earlier. On the last day, employees hand in keys,"
            " card, computer and phone and get a receipt."
        ),
    ),
    "talk": (
        "Leaving talk",
        (
            "The people team offers a talk to everyone who leaves. What is said there is passed on without names and "
            "once a year only, to the staff council and to management."
        ),
        None,
        None,
    ),
}
VOLUNTEER = (
    "Volunteer day",
    (
        "Each employee has one paid day a year for voluntary work with a charity. It is entered in the portal like "
        "leave, a month ahead, with the charity's name."
    ),
)

OLD = [
    ("Scope and terms", "about whom terms changes"),
    ("Working time", "hours core breaks account overtime oncall"),
    ("Pay and extras", "pay_day pay_bonus pension ticket recruit"),
    ("Leave", "leave request carry special unpaid"),
    ("Illness and family", "ill_call ill_note ill_back child_ill parent_tell parent_part"),
    ("Working from home", "home_days home_ok home_kit home_abroad"),
    ("Business trips", "trip_book trip_km trip_meals trip_hotel trip_claim"),
    ("Spending money", "buy card train"),
    ("Computers and data", "it_pass it_dev it_phone it_mail it_keep it_help"),
    ("Fair dealing", "gifts invites side speak"),
    ("Safety and the house", "first_aid accident lasers smoke visitors dogs meetings"),
    ("Leaving", "notice reference talk"),
]
NEW = [
    ("Scope and terms", "about whom changes terms"),
    ("When we work", "hours core meetings breaks overtime account oncall"),
    ("Where we work", "home_days home_kit home_ok home_abroad"),
    ("Health and safety", "accident first_aid lasers smoke ill_call ill_note ill_back"),
    ("Time off", "leave carry request unpaid special volunteer"),
    ("Families", "parent_tell parent_part child_ill"),
    ("Trips", "trip_book trip_hotel trip_meals trip_km trip_claim"),
    ("Money and growth", "pay_bonus pay_day pension train recruit ticket buy card"),
    ("Visitors and dogs", "dogs visitors"),
    ("Fair dealing", "speak gifts side"),
    ("Data and devices", "it_help it_pass it_dev it_mail it_keep"),
    ("Leaving us", "talk notice reference"),
]

# The truth: key, kind, old value, new value. Everything else is wording.
CHANGES = [
    ("terms", "changed", "Monday to Saturday", "Monday to Friday"),
    ("leave", "changed", "27 days", "28 days"),
    ("carry", "changed", "31 March", "30 April"),
    ("ill_note", "changed", "fourth calendar day", "third calendar day"),
    ("home_ok", "changed", "approval", "notice"),
    ("trip_km", "changed", "0.32", "0.36"),
    ("trip_meals", "changed", "8 hours", "10 hours"),
    ("buy", "changed", "EUR 1,000", "EUR 1,500"),
    ("buy", "changed", "two offers", "three offers"),
    ("train", "removed", "Whoever leaves within twelve months of a course pays back half of its price", ""),
    ("it_pass", "changed", "10 characters", "14 characters"),
    ("it_phone", "removed", "Company phones may be used privately within reason", ""),
    ("notice", "changed", "end of a quarter", "end of a month"),
    ("gifts", "added", "", "Cash and vouchers are never accepted"),
    ("volunteer", "added", "", "one paid day a year for voluntary work"),
]


def numbered(chapters: list[tuple[str, str]]) -> dict[str, str]:
    """The section's number for each rule."""
    return {
        key: f"{chapter}.{place}"
        for chapter, (_, keys) in enumerate(chapters, 1)
        for place, key in enumerate(keys.split(), 1)
    }


def handbook(chapters: list[tuple[str, str]], edition: int, intro: str) -> bytes:
    """One edition as Markdown. Footnotes are numbered as they come."""
    places = numbered(chapters)
    new = edition == 2026
    parts = [f"# Harrow Lane Optics: Staff Handbook {edition}", intro]
    for chapter, (title, keys) in enumerate(chapters, 1):
        parts.append(f"## {chapter} {title}")
        for key in keys.split():
            if key == "volunteer":
                heading, text = VOLUNTEER
            else:
                heading, text, new_heading, new_text = RULES[key]
                if new:
                    heading = new_heading or heading
                    text = new_text or text.replace("team lead", "line manager")
            text = re.sub(r"\{ref:(\w+)\}", lambda match: places[match[1]], text)
            parts.append(f"### {places[key]} {heading}\n\n{text}")
    whole = "\n\n".join(parts) + "\n"
    notes = {name: str(number) for number, name in enumerate(dict.fromkeys(re.findall(r"\{(f\d)\}", whole)), 1)}
    return re.sub(r"\{(f\d)\}", lambda match: notes[match[1]], whole).encode()


def truth() -> list[tuple[str, str, str, str, str]]:
    """The rows of the right table: old section, new section, kind, old value, new value."""
    old, new = numbered(OLD), numbered(NEW)
    return [
        ("" if kind == "added" else old[key], "" if kind == "removed" else new[key], kind, before, after)
        for key, kind, before, after in CHANGES
    ]


def files() -> dict[str, bytes]:
    return {
        "policy_changes/handbook_2025.md": handbook(
            OLD, 2025, "For all who work with us. Questions: people@harrowlane.example."
        ),
        "policy_changes/handbook_2026.md": handbook(
            NEW,
            2026,
            "For all who work with us. This edition has a new order and plainer words; some rules have changed as well."
            " Questions: people@harrowlane.example.",
        ),
    }
