"""What guests of a hotel write around their complaints, and words for any aspect of it."""

from __future__ import annotations

from exaudit.data.sample.draw import lines, words

__all__ = ["CLOSINGS", "CONTRAST", "LEADS", "LIKE", "RUMOURS", "SCENES", "WORDS"]

SCENES = lines("""
    we stayed for {few} nights {when}
    I was here for a conference {when}
    we spent our anniversary here
    {person} booked it for us {when}
    this was our third visit
    we came {when} with {person} and two children
    I had a single room on the {floor} floor
    our room was on the {floor} floor
    we were on the way to the coast and stopped for a night
    I stayed on business {when}
    we had booked a double room for {few} nights
    {person} and I were here {when}
    we arrived late in the evening
    I travel a lot for work and sleep in many hotels
    it was a weekend with old friends
    this is about our stay {when}
    we picked the hotel because of the photos
    I was here alone for {few} nights
""")

CLOSINGS = lines("""
    thank you for reading this
    {number} out of ten from me
    I would like to hear from the manager
    that is all I have to say
    maybe this helps other guests
    we have told {person} about it
    the rest was much as one expects
    we are still thinking about next year
    I hope somebody reads this
    the pictures tell the rest
    please pass this on
    {person} sees it the same way
""")

# Before a clause, whatever it says.
LEADS = lines("""
    to be honest,
    I must say
    on the whole,
    I found that
    as {person} said,
    in our case
    from the first evening
    this time
    we both thought that
""")

# Between clauses that say the same kind of thing, and between those that do not: what ends one and begins the next.
LIKE = (("", "and"), ("", "and"), (",", "and"), (";", ""), (",", "and on top of that"))
CONTRAST = ((",", "but"), (",", "but"), (",", "while"), (";", "however,"))

# What others say of the hotel, or what once was: no complaint of this guest.
RUMOURS = lines("""
    I had read that {rumour}, but that is not true
    some guests write that {rumour}, which we cannot confirm
    last year {rumour}, but that has been put right
    {person} had warned me that {rumour}, and was wrong
    at our last hotel {rumour}, so we were glad to be here
    nobody can say that {rumour}
    I had been afraid that {rumour}, but there was no reason to be
    it is simply not the case that {rumour}
""")

WORDS: dict[str, tuple[str, ...]] = {
    "bad": words("bad poor terrible awful disappointing dreadful appalling unacceptable hopeless miserable"),
    "good": words("good great excellent lovely perfect wonderful fine superb faultless decent"),
    "very": ("", "", "really", "truly"),
    "few": words("two three four five seven"),
    "number": words("three four five six seven eight nine"),
    "floor": words("first second third fourth top ground"),
    "hour": words("five six seven ten eleven two three"),
    "room": ("room", "room", "bedroom", "bathroom", "lobby", "corridor", "breakfast room", "suite"),
    "when": lines("""
        in May
        last week
        over Easter
        in early March
        two weeks ago
        at the weekend
        in the autumn
        last month
        before Christmas
        in July
        during the trade fair
    """),
    "person": lines("""
        my wife
        my husband
        my sister
        a colleague
        my boss
        our daughter
        my mother
        an old friend
        my brother
        our son
        my partner
    """),
}
