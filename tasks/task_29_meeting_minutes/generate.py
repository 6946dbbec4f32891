"""The transcript for task_29_meeting_minutes: hand-written turns, to which times are added."""

from datetime import datetime, timedelta

from craft.dice import Dice

SPEAKERS = {
    "M": "Marta",
    "D": "Devraj",
    "I": "Ines",
    "T": "Tom",
    "Y": "Yuki",
    "P": "Paul",
    "G": "Grace",
    "?": "(unclear)",
}

TURNS = """
M: Good morning everyone. Is it recording? I see a red dot.
T: It's recording. The dot is good.
M: Fine. Then let's wait a minute for the others.
Y: Morning! Sorry, the tram stood at the bridge again.
D: It always does. I've started walking.
P: In that rain?
D: In that rain. I have a dry shirt in the office.
Y: That's planning.
I: Good morning. Is there any coffee left?
T: The machine is broken again. It shows error eight.
I: Of course it does.
P: There's tea in the kitchen, if that helps.
I: It doesn't, but thank you.
M: Right. It's Tuesday the fourteenth, and this is the steering group for the reopening. Apologies first: Lena can't
    be here, she's at the dentist. She sent me a message, I'll come to that.
Y: Poor Lena.
M: Grace from the building firm joins us by video at about a quarter past. She only has half an hour.
D: She texted, she's on site and will dial in from there.
M: Good. Paul, you said you have to be somewhere at noon?
P: Half past twelve. I'm fine.
M: Then the agenda. Opening date, opening hours, the building, the opening event, computers, and whatever else there
    is. Anything to add?
I: The fines. I'd like to talk about fines for children's books.
M: Yes. I put it before the event.
T: And the wireless network, if there's time.
M: If there's time. First point, the opening date. We had Saturday the twenty-third of May in the plan. Devraj, does
    it hold?
D: As of this morning it holds. The paint is dry on the upper floor, the floor downstairs is being sanded this week.
P: Is the sanding in the offer or extra?
D: In the offer.
P: Good.
Y: The twenty-third would be nice. The street festival is on the same day, we'd have people passing by.
I: The books come back from the store on the eleventh. No, wait. The shelving comes on the eleventh of May, that's a
    Monday. The books come after that.
T: How long do you need for the books?
I: Eight days, with the volunteers. Nine if it's like last time.
Y: Last time somebody had packed the poetry with the plumbing.
I: Don't remind me.
M: So, the twenty-third of May. Is anyone against it?
P: Not against. I just note that it's tight.
D: It's tight, yes.
M: Then we say Saturday the twenty-third of May. Decided.
T: Writing that down.
M: Thank you. Second, the opening hours. The council wants one late evening a week, until eight.
I: We always had Wednesdays.
Y: Wednesday's good for me.
P: Costs are the same whichever day it is.
M: Wednesday until eight in the evening, then?
T: Fine.
D: Fine with me.
M: All right, Wednesday until eight. And there was the request from the residents' association for Sundays.
P: Sundays cost us double pay. I've worked it out, that's thirty-one thousand a year.
Y: Thirty-one?
P: With the guard, yes.
I: I'd love Sundays, but not without people.
M: Then no Sundays. I'd rather say it clearly than put it off: we don't open on Sundays. Does everyone agree?
D: Agreed.
I: Agreed, with a heavy heart.
T: Yes.
Y: Yes.
P: Yes.
M: Good. That one's clear then.
T: Someone's knocking. That's Grace, in the waiting room, I let her in.
G: Hello? Can you hear me?
M: We can hear you. Good morning, Grace.
G: Morning. Sorry for the noise, they're sanding. I go outside.
D: It's all right, we hear you well.
G: Okay. Now I'm at the bins. Lovely view.
M: Grace, we have you until a quarter to eleven?
G: Roughly. The crane comes at eleven.
M: Then the building now. How does it stand?
G: Good, mostly. Upper floor is done but for small things. Downstairs is sanded by Friday, then three coats of oil.
    The toilets are tiled. The door to the yard sticks.
D: It stuck before as well.
G: Then it's at least faithful. We'll plane it.
P: Are there any more claims coming? I'd like to hear that from you now and not in June.
G: Nothing that I know of. The door is on us.
P: Thank you. That goes in my diary with a star.
M: What about the snags? Devraj said there's a list.
G: There's a list in my head and a list on the foreman's phone. I'll make one of them and send it to all of you.
M: When can we have it?
G: Monday. I do it at the weekend.
M: Monday then. Thank you.
D: Could you put the rooms by their new numbers? Last time it was the old ones and I ran about like a hen.
G: New numbers. Yes.
D: Then the lift.
G: Yes. The lift. That's the thing I have to tell you.
M: That sounds like a thing.
G: The maker has changed the date. They come to fit the doors in the week of the eighteenth of May, not before. Then
    it needs the acceptance by the inspector. He wants ten days' notice.
D: So when could the acceptance be?
G: Not before the twenty-eighth, I'd say. If all goes well.
Y: The twenty-eighth of May?
G: May, yes.
P: That's after the twenty-third.
T: That is indeed after the twenty-third.
M: Can we open without a lift?
D: No. Not with the reading room on the upper floor. We'd shut out anyone in a wheelchair. I wouldn't, and we also
    may not.
I: And my book carts. I can't carry nine thousand books up.
M: No. Of course not.
Y: Could we open the ground floor only?
I: With half of the books still in boxes? Please no.
P: Two openings cost twice. I'm against it.
M: All right. Let me think about this. Grace, how sure is the twenty-eighth?
G: Eight out of ten.
D: I'd want a week of slack. The thirtieth is too close.
Y: What's the Saturday after the thirtieth?
T: The sixth of June.
Y: The school holidays start later, so that's okay. And the street festival would be over, but fine.
M: The sixth of June, then. Does that work for the firm, Grace?
G: That works very well for us.
M: Ines?
I: It gives me time to put poetry back where it belongs.
M: Paul?
P: Two weeks more of the store costs eleven hundred. I can find that.
M: Then I take back what I said before. We open on Saturday the sixth of June. Is anybody against it? No. Good,
    decided.
T: I've crossed out the other one.
M: Who registers the lift with the inspector? Grace, is that you or us?
G: It has to be the owner. So you.
D: That's me. I'll book the acceptance with the inspector.
M: By when?
D: He needs the papers from the maker first. They come at the end of April. Let's say the first working day of May.
M: The first working day of May. Fine.
P: Isn't the first of May a holiday?
D: It is, that's why I say working day.
M: And tell the lift company that we're unhappy, please.
D: I'll call them right now, if you give me two minutes. I've got the number here.
M: Go ahead. We go on with something small. Yuki, how's the mural?
Y: Beautiful. The artist has put a heron in it, and the heron has a library card.
I: I've seen it. The heron looks like Paul.
P: I take that as praise.
Y: It's about the nose.
T: It is about the nose.
G: I've walked past it every day, and now I'll never not see it.
P: Thank you all.
D: I'm back. The lift company is sorry, and they put us first on the list for that week. So that's done.
M: That was quick. Well done.
D: It was the dry shirt.
M: Anything else for Grace before the crane comes?
D: The fire service. They want to inspect as well, that's separate from the lift. They told me a date on the phone,
    the second of June, but I have nothing in writing.
M: Then please get it in writing. Without that we're in the air.
D: I'll get a written confirmation from the fire service by Friday.
M: This Friday?
D: This Friday, yes.
M: Good. Grace, thank you very much.
G: Thank you. So: snag list on Monday, new room numbers. I'm off to my crane.
Y: Bye, Grace!
I: Bye.
T: She's gone.
M: Then back to the list. The children's corner. Lena and Ines have a plan, I believe.
I: Yes. We'd like it on the ground floor by the window, where the newspapers used to be. Upstairs it's too loud for
    the readers, and the prams don't have to wait for the lift.
D: From the building's side, no problem. There are sockets, they need covers.
P: Do the covers cost anything?
D: Four euros.
P: Approved.
Y: Where do the newspapers go?
I: To the gallery. The gentlemen have been told. They were brave.
M: The children's corner goes to the ground floor. Everyone? Good.
T: Yes.
D: Yes.
M: Now fines. Ines.
I: I'd like us to stop taking fines for children's books that are late. It's eight hundred euros a year, and it
    costs us families who then don't come any more.
P: Eight hundred and forty.
I: Eight hundred and forty. And it takes Lena an hour a week to chase it.
Y: I'm for it. I had a boy here who hid behind his father because of one euro twenty.
P: I'm not for it, to be honest. If it's free to be late, everyone's late. The other branch has tried it.
I: And what happened at the other branch?
P: I don't have the numbers. I only say what I think.
T: At the other branch the late books went up by three per cent. I did the table.
D: Three per cent I can live with.
M: Let's vote then. Who's for ending the fines on children's books?
I: Me.
Y: Me.
D: Me.
T: Me too.
M: And I don't vote, as the chair. Against?
P: One against.
M: Four to one. No more fines on children's books. What about all other books?
I: Those stay as they are.
P: Then I can sleep.
M: Does that begin with the opening?
I: With the opening, yes.
M: Good. Now the event. Yuki, the floor is yours.
Y: Thank you. So I have the mayor for eleven, the brass band, and the puppet theatre in the afternoon. I've asked
    them for the twenty-third, so I have to ask again.
T: Oh dear.
Y: The band is free whenever there's cake. The mayor I don't know.
M: I talk to the mayor's office tomorrow anyway. No, wait, that's the press office. But it's the same corridor.
P: What does the event cost?
Y: I've put down three thousand five hundred euros.
M: That's what we had last year for the summer party, so it seems fair. Three thousand five hundred, then?
P: Let me look at it at the end. I have a feeling about the insurance.
M: Let's take three thousand five hundred for now and go on.
Y: And I want classes from the schools to come in the week after. The fourth forms, in the mornings.
I: Lovely. How many?
Y: Twelve classes, if they all say yes. I write to the schools and invite them.
M: By when do they need to know?
Y: They need it before they plan June. Give me ten working days.
M: Ten working days from today. Okay.
T: And workshops? Somebody said something about workshops.
Y: The workshops are in the opening week too, robots, bookbinding and something with bees.
D: Something with bees?
Y: Without bees. About bees.
D: Thank you.
Y: People have to book for those. We need a booking form on our website.
T: I can do that. I set up the booking form. It's half a day.
M: By when, Tom?
T: Next Tuesday.
M: Next Tuesday, good. That's the twenty-first.
I: Could it ask for the age of the children? Last time we had a two-year-old at the soldering.
T: Age is in.
Y: And only one place for each child, please.
T: One place each. Noted.
M: Then coffee. For the event, and in general.
I: And for me, now.
M: The idea was to have a coffee machine in the entrance. Ines, you wanted to ask for a quote.
I: I can ask the people who have the one in the museum. I'd get a quote by next week.
M: Good, Ines gets a quote for a coffee machine by next week.
D: It needs a water pipe, I say that just once.
I: It has a tank.
D: Then I've said nothing.
M: Volunteers. That's what Lena's message is about. She writes: "I make the rota for the volunteers for the move of
    the books. You'll have it by Friday week. Sorry about the tooth."
Y: Friday week, so not this Friday but the one after?
M: That's how I read it.
I: I need forty people over eight days, tell her. And no poetry near plumbing.
M: I'll tell her about the poetry.
T: There is something else on the books. The labels.
I: Yes! The new labels for the shelves. The old ones have the old numbers. I order them, I've got the list nearly
    ready.
M: When?
I: By the end of the month. The printer needs a week, and then I have them before the shelving comes.
M: End of the month. Good.
P: How much are they?
I: Four hundred and ten, it's in the plan.
P: It's in the plan. I've found it.
M: Computers. Tom.
T: The public computers stand in the old newspaper corner at the moment. Twelve of them. They're in the way of the
    new shelves, so they have to move up to the gallery.
D: With the gentlemen.
T: With the gentlemen. I do that with Thomas, our caretaker, if he has time.
M: Thomas knows about it?
T: I've told him, he only carries. I'm the one who does it.
M: By when does it have to happen?
T: Before the shelving comes. So on the last working day before the shelving, at the latest.
I: That's the eleventh of May, the shelving.
T: Then I know what I do before that.
M: And the self-service machines?
T: I've got the offer for three. Seven thousand two hundred each.
P: Three times that is twenty-one thousand six hundred. We've twenty thousand in the plan.
T: I know.
I: Do we need three? In the other branch they have two, and one of them is always asleep.
Y: Three would be nice on Saturdays.
P: We buy three and I have to take money from the chairs.
D: Don't touch the chairs. I've sat on the old ones.
M: Then two?
T: Two is okay for the start. The cables are there for the third.
M: We buy two, and talk about a third in autumn, when we know how it goes. Everybody okay with that?
P: Very.
I: Yes.
Y: If I must.
D: Yes.
M: Two self-service machines. Good.
T: Then the wireless network. In the reading room it's bad. Someone should really look at that.
D: Is it the walls?
T: It may be the walls. It may be the boxes. I don't know it yet, and I can't before the summer.
I: People will complain from the first day.
M: Is there anyone who can look at it?
Y: Not me.
P: We'd have to pay someone, and I don't see from what.
M: Then we leave it open today. I don't want to decide this on the side.
T: As long as it's in the minutes that I've said it.
M: It will be in the minutes that it's open.
I: May I go back to something? The late evening.
M: Please.
I: I've just looked at my calendar. The council's reading club meets on Wednesdays in the room next to ours, and
    they have booked it until December. They need the entrance, and the guard can't be at both doors.
D: That's right, I'd forgotten that. The guard has one key.
M: So Wednesday doesn't work?
I: Not really. What about Thursday?
Y: Thursday works as well. The music school is late on Thursdays, we'd get the parents.
P: Same cost.
T: Same for me.
M: Then Thursday until eight instead. Any objections? None. Late evening on Thursdays.
T: I've changed it.
M: Good that you looked, Ines. Paul, you had a feeling about the insurance.
P: I had, and I've looked. The event insurance is seven hundred, and it goes on the same budget line. So if the line
    is three thousand five hundred, then two thousand eight hundred are left for the event itself.
Y: Oh no.
P: I'm sorry.
Y: That's the puppet theatre.
M: Can the friends' association pay for the puppets?
Y: I can ask them, they like puppets.
I: Everybody likes puppets.
D: I don't.
M: Then we set the event at two thousand eight hundred euros, and not three thousand five hundred. Can you live with
    that, Yuki?
Y: I can live with it. The cake will be smaller.
M: So decided, two thousand eight hundred. Paul, will you update the budget? With the store, the insurance and the
    machines.
P: Yes. You get a revised budget from me before the next meeting. The day before.
M: Which brings me to the next meeting. Tuesday the twenty-eighth, same time?
I: I'm in training on the twenty-eighth.
T: I'm away that week from... no, I'm away next week. I should've said so. I'm on leave from Monday, the whole of
    next week.
M: You're on leave next week? And the booking form?
T: Ah. Yes. I can't do that then, can I.
Y: I can do it. I did the one for the summer reading. I still know how it goes, and the age and the one place I've
    noted.
T: Thank you. That's kind.
M: So Yuki takes over the booking form. By Tuesday?
Y: Not by Tuesday, I've got the schools as well. A week on Thursday?
M: A week on Thursday is good.
T: I owe you a cake.
Y: A small one, please. We have no budget.
M: Back to the next meeting. Wednesday the twenty-ninth, then?
I: I can do Wednesday, but not in the morning.
P: Afternoon is good for me.
M: Two o'clock? Devraj?
D: Two is good.
M: Wednesday the twenty-ninth of April at two in the afternoon. Here in Room 2.
P: Room 2 is booked on Wednesdays. The reading club again, they're everywhere.
M: What's free?
T: The Mill Room is free. I've just reserved it.
M: The Mill Room, then. And Paul, your budget comes the day before that.
P: The day before that, yes. I've got it.
M: Any other business?
P: The coffee machine. I've just had an answer from the canteen of the town hall while we were talking, they lend us
    theirs, for the event and after it as well. For nothing.
I: For nothing?
P: For nothing. They've bought a new one.
M: Then we don't need the quote. Ines, leave it.
I: With the greatest pleasure. Does it work?
P: It works. I've drunk from it.
D: And the water pipe?
P: It's got a tank.
D: Good.
M: Anything else? The press. I tell the press office of the council about the new opening date, so that they don't
    print the old one. I do that tomorrow.
Y: Please tell them quickly, they print on Thursday.
M: Tomorrow, first thing.
Y: And the mayor's in the same corridor.
M: I'll put my head round the door, but Yuki, the invitation is yours, you have it on your own list.
Y: It's on my list anyway, it goes out with the programme.
I: Was there something with the plants?
D: The plants are with me at home. They are fine. They've grown.
I: Then nothing from me.
T: Nothing from me.
P: Nothing.
M: Then thank you all. It's a bit after half past eleven. Tom, have a good holiday.
T: Thanks. I'll stop the recording now.
Y: Bye, everyone!
D: See you on the twenty-ninth.
?: [several voices]
T: How do I stop this thing. Ah.
"""

HEAD = """Automatic transcript
Meeting: Riverside Library, reopening, steering group
Started: Tuesday 14 April 2026, 10:02, Room 2
Speakers recognised: Marta, Devraj, Ines, Tom, Yuki, Paul, Grace

"""

PEOPLE = """name,role,e-mail
Marta Olsen,head of the library (chair),marta.olsen@riverside-library.example
Devraj Pillai,building,devraj.pillai@riverside-library.example
Ines Caldeira,collections,ines.caldeira@riverside-library.example
Tom Whitfield,IT,tom.whitfield@riverside-library.example
Thomas Reuter,caretaker,thomas.reuter@riverside-library.example
Yuki Harada,events,yuki.harada@riverside-library.example
Paul Brennan,finance,paul.brennan@riverside-library.example
Lena Moritz,children's library and volunteers,lena.moritz@riverside-library.example
Grace Adeyemi,site manager (Adeyemi & Sons),grace@adeyemi-build.example
"""


def files() -> dict[str, bytes]:
    dice = Dice(291404)
    now = datetime(2026, 4, 14, 10, 2, 4)
    lines = []
    for turn in TURNS.replace("\n    ", " ").strip().splitlines():
        key, _, text = turn.partition(": ")
        lines.append(f"[{now:%H:%M:%S}] {SPEAKERS[key]}: {text}")
        # People say about two and a half words a second, and now and then they look something up.
        pause = dice.between(1, 5) + dice.between(40, 90) * dice.chance(0.18)
        now += timedelta(seconds=int(len(text.split()) / 2.4) + pause)
    return {
        "meeting_minutes/transcript.txt": (HEAD + "\n".join(lines) + "\n").encode(),
        "meeting_minutes/people.csv": PEOPLE.encode(),
    }
