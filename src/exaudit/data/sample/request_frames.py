"""What messages to a town hall have in common, whatever they ask for.

The sentences are templates as in `marked.py`. FRAMES make a request of the name of a class alone; CONTRASTS and
ASIDES mention the name of another class, where it does not count.
"""

from __future__ import annotations

from exaudit.data.sample.draw import lines, words

__all__ = ["ASIDES", "CLOSINGS", "CONTRASTS", "FRAMES", "GREETINGS", "LANDMARKS", "SCENES", "WORDS"]

GREETINGS = lines("""
    hello,
    hi,
    hi there,
    good morning,
    good afternoon,
    dear sir or madam,
    hello everyone,
    dear team,
    to whom it may concern,
    dear {name},
    excuse me,
""")

FRAMES = lines("""
    who deals with {noun}?
    I have a question about {noun}.
    can you put me through to the people who deal with {noun}?
    where on your website do I find anything about {noun}?
    it is about {noun} again.
    I am writing about {noun}.
    this is about {noun}, as I said on the phone {when}.
    is this the right address for questions about {noun}?
    {person} told me to write to you about {noun}.
    could somebody ring me about {noun}?
    I rang {when} about {noun} and was asked to write.
    nobody could help me with {noun} {when}.
""")

# {other} is the name of another class.
CONTRASTS = lines("""
    I asked about {noun} and got an answer about {other}.
    my letter was about {noun}, not about {other}.
    you sent me a form for {other}, but I have a question about {noun}.
    I do not want to talk about {other}, I want to talk about {noun}.
    I was given the number for {other} when I rang about {noun} {when}.
    I have a question about {noun}, and please do not send me anything about {other} again.
    I can find everything about {other} on your website and nothing about {noun}.
    your reply was about {other}, although I had clearly written about {noun}.
    forget about {other}, I am worried about {noun}.
""")

SCENES = lines("""
    my name is {name} and I live in {street}.
    I live at {number} {street}.
    we moved to the town {when}.
    I tried to ring you {when} but nobody picked up.
    I was at your office {when}, but the queue was too long.
    I wrote to you {when} and have not had an answer.
    I have been sent from one desk to the next.
    I am writing for {person}, who has no computer.
    {person} said you were the right people to ask.
    I am not sure if this is the right form.
    sorry to bother you again.
    I looked at your website and could not find anything.
    I work nights, so the morning is best for a call.
    your colleague {name} was very kind on the phone.
    I have lived in {street} for {many} years.
    it has been a long week.
    I have never had to ask for anything before.
    I am at work until {hour} every day.
    the street is narrow and the school is around the corner.
    we have two small children and a car.
    I hope you had a good weekend.
    my neighbours at number {number} say the same.
    I filled in the form online {when}, but the page froze.
    the lady at the counter gave me this address.
""")

CLOSINGS = lines("""
    thank you, {name}.
    many thanks for your help.
    thanks in advance.
    please let me know what happens next.
    please ring me after {hour}.
    I look forward to your reply.
    how long will this take?
    is there a number I can ring?
    can someone get back to me before {day}?
    kind regards, {name}.
    best wishes from {street}.
    I would be grateful for a quick answer.
    you can reach me on my mobile.
    is there anything else you need from me?
    please tell me who is responsible.
    is there anything I can do myself?
    is there nobody who can help?
    I can send a photo if that helps.
    I have asked twice already.
    this cannot wait until {day}.
    what do you advise?
    please pass this on to the right person.
    do you need my full name and address?
    who can I speak to?
""")

ASIDES = lines("""
    this is not about {other}, that was sorted out long ago.
    last time I wrote to you about {other}, and that went well.
    I spoke to your colleague about {other} first, but this is something else.
    I only found the number for {other} on your website.
    my other letter, the one about {other}, can wait.
    {person} asks about {other}, but that will be a separate message.
    I pressed the button for {other} by mistake, so please forward this.
    the man in front of me at the counter came about {other} and was helped at once.
""")

# Places that bring one class to mind; other classes name them, too.
LANDMARKS: dict[str, tuple[str, ...]] = {
    "fallen tree": ("under the big oak in {street}", "beside the tall trees in {street}"),
    "hall hire": ("behind the village hall",),
    "traffic light": ("by the traffic lights in {street}", "at the crossing in {street}"),
    "street light": ("under the lamp post in {street}",),
    "school place": ("near the nursery", "in front of the school"),
    "council tax": ("opposite the tax office",),
    "parking permit": ("beside the car park",),
    "abandoned car": ("next to the scrapyard",),
    "pothole": ("where the road bends",),
    "noise": ("outside the pub in {street}",),
}

WORDS: dict[str, tuple[str, ...]] = {
    "name": words(
        "Marta Owen Priya Leon Sofia Declan Amara Hugo Ingrid Tomas Nadia Felix Yuki Carmen Ravi Greta Idris "
        "Paula Stefan Lucy Omar Bridget Kofi Elena Marcus Hana Viktor Rosa Neil Fatima"
    ),
    "street": lines("""
        Mill Lane
        Station Road
        Church Street
        Harbour Street
        Garden Row
        Bridge Street
        Victoria Road
        Park Avenue
        Castle Hill
        Market Street
        Meadow Close
        Northgate
        Willow Way
        Chapel Road
        King Street
        Orchard Lane
        Brook Street
        Hill View
    """),
    "where": lines("""
        outside {number} {street}
        outside our house
        in {street}
        on the corner of {street}
        near the church
        behind the supermarket
        opposite the chemist
        next to the playground
        by the bus stop in {street}
        at the end of {street}
        beside the canal
        near the station
        in our street
        across from number {number}
    """),
    "when": lines("""
        yesterday
        last week
        on {day}
        last {day}
        two weeks ago
        this morning
        last night
        at the end of last month
        a few days ago
        the day before yesterday
        at the weekend
        in the first week of the month
    """),
    "since": lines("""
        since {day}
        for two weeks
        for days now
        since the storm
        for almost a month
        since last week
        for as long as I remember
        for three nights
        since the holidays
    """),
    "day": words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"),
    "hour": lines("""
        five
        six
        half past four
        noon
        three
        four
        eight
        half past nine
    """),
    "number": words("3 7 8 12 14 15 19 21 23 26 28 31 34 36 42 45 48 53 57 64 72 88 90 103"),
    "many": words("twelve twenty thirty forty fifty sixty seventy eighty fifteen eighteen"),
    "money": words("40 60 75 90 120 150 210 300"),
    "person": lines("""
        my sister
        my brother
        my neighbour
        a colleague
        an old friend
        my husband
        my wife
        our daughter
        my flatmate
        my mother
        my father
        my landlord
        my grandmother
        the caretaker
        our son
        my aunt
    """),
}
