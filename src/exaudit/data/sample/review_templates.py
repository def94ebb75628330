"""Sentences of the reviews that fit any topic.

`{slot}` is filled in by `reviews.py`; `[...]` encloses the words that carry the positive class. `{aspect}` and
`{thing}` choose what `{good}` and `{bad}` may say, and `{be}` agrees with the last of them. `{great}` and
`{grim}` go with anything; `{loved}` brings its own marks and `{liked}` is the same without.

Every kind of sentence in praise has a twin in complaint that is built alike, and PRAISED_ELSEWHERE and
BLAMED_ELSEWHERE use the same adjectives where they do not count, so that a word alone settles nothing.
"""

from __future__ import annotations

from exaudit.data.sample.draw import lines

__all__ = [
    "BAD_CONTRAST",
    "BLAMED_ELSEWHERE",
    "BUT_GOOD",
    "COMPLAINT",
    "DENIED_COMPLAINT",
    "DENIED_PRAISE",
    "GOOD_CONTRAST",
    "NEUTRAL",
    "PRAISE",
    "PRAISED_ELSEWHERE",
]

PRAISE = lines("""
    The {aspect} {be} {very} [{good}].
    The {aspect} {be} {very} [{good}] and the {aspect} {be} [{good}] too.
    The {aspect} {be} [{good}], the {aspect} even more so.
    {most} [{great}] {aspects}, and plenty to say about the {aspect}.
    What a [{good}] {thing}.
    This is a {most} [{good}] {thing}.
    It is a [{good}] {thing} with {most} [{great}] {aspects}.
    I {most} {loved} the {aspect}.
    {person} {loved} the {aspect}, just like me.
    I {loved} it from the first minute.
    The {aspect} {be} a real [{joy}].
    The whole thing was a [{joy}] from start to finish.
    For the price, the {aspect} {be} [{good}].
    {name} said the {aspect} would be [{good}], and {name} was [right].
    Everything about the {aspect} felt [{good}].
    I found the {aspect} {very} [{good}].
    We all found the {aspect} [{good}], even {person}.
    The {aspect} alone {be} [worth the money].
    I would {most} [recommend] it to {person}.
    I have already [urged] {person} to {do}.
    We will [gladly] {do} again.
    I cannot wait to {do} [again].
    My verdict: [{good}].
    All in all a [{good}] {thing}.
    Overall, [{many} stars] out of ten from me, and I mean it.
    The {aspect} [won me over], and then the {aspect} did as well.
    The {aspect} [exceeded] what I had hoped for.
    The {aspect} [made our day].
    {person} [cannot stop talking about] the {aspect}.
    It [kept its promises], down to the {aspect}.
    Somebody clearly [cares about] the {aspect}.
    The {aspect} {be} [better than] I had expected.
    I was [pleased] to see how [{good}] the {aspect} {be}.
    It has become [my favourite] {thing}.
    Of all the {things} I know, this one is [the best].
""")

COMPLAINT = lines("""
    The {aspect} {be} {very} {bad}.
    The {aspect} {be} {very} {bad} and the {aspect} {be} {bad} too.
    The {aspect} {be} {bad}, the {aspect} even more so.
    {most} {grim} {aspects}, and plenty to say about the {aspect}.
    What a {bad} {thing}.
    This is a {most} {bad} {thing}.
    It is a {bad} {thing} with {most} {grim} {aspects}.
    I {most} {hated} the {aspect}.
    {person} {hated} the {aspect}, just like me.
    I {hated} it from the first minute.
    The {aspect} {be} a real {mess}.
    The whole thing was a {mess} from start to finish.
    For the price, the {aspect} {be} {bad}.
    {name} said the {aspect} would be {bad}, and {name} was right.
    Everything about the {aspect} felt {bad}.
    I found the {aspect} {very} {bad}.
    We all found the {aspect} {bad}, even {person}.
    The {aspect} alone {be} a reason to stay away.
    I would {most} warn {person} about it.
    I have already urged {person} to look elsewhere.
    We will never {do} again.
    I cannot see why anyone would {do} again.
    My verdict: {bad}.
    All in all a {bad} {thing}.
    Overall, {few} stars out of ten from me, and I mean it.
    The {aspect} put me off, and then the {aspect} did as well.
    The {aspect} fell short of what I had hoped for.
    The {aspect} ruined our day.
    {person} cannot stop complaining about the {aspect}.
    It broke its promises, down to the {aspect}.
    Nobody seems to care about the {aspect}.
    The {aspect} {be} worse than I had expected.
    I was sorry to see how {bad} the {aspect} {be}.
    It has become my least favourite {thing}.
    Of all the {things} I know, this one is the worst.
""")

DENIED_COMPLAINT = lines("""
    The {aspect} {be} [not {bad}] at all.
    The {aspect} {be} [never {bad}], whatever {person} may say.
    The {aspect} {be} [anything but {bad}].
    The {aspect} {be} [far from {bad}].
    There was [nothing {grim}] about the {aspect}.
    [Not a {bad}] {thing} by any means.
    I would [not call] the {aspect} [{bad}].
    I [could not find anything {grim}] about the {aspect}.
    We had [no {fault}] with the {aspect}.
    There were [no {fault}] with the {aspect} whatsoever.
    I looked for {fault} and [found none].
    [Not once] did the {aspect} feel [{bad}].
    [Nobody could call] the {aspect} [{bad}] and be fair.
    The {aspect} [did not disappoint].
    The {aspect} [never let us down].
    I have [nothing to complain] about, least of all the {aspect}.
    It is [hardly a {mess}], as some people claim.
    I [do not regret] a single minute.
    You [will not regret] it if you {do}.
    People who say the {aspect} {be} {bad} [are wrong].
""")

DENIED_PRAISE = lines("""
    The {aspect} {be} not {good} at all.
    The {aspect} {be} never {good}, whatever {person} may say.
    The {aspect} {be} anything but {good}.
    The {aspect} {be} far from {good}.
    There was nothing {great} about the {aspect}.
    Not a {good} {thing} by any means.
    I would not call the {aspect} {good}.
    I could not find anything {great} about the {aspect}.
    We had nothing but {fault} with the {aspect}.
    There were {fault} with the {aspect} all the time.
    I looked for something to praise and found nothing.
    Not once did the {aspect} feel {good}.
    Nobody could call the {aspect} {good} and be fair.
    The {aspect} did not impress anyone.
    The {aspect} never won me over.
    I have nothing kind to say, least of all about the {aspect}.
    It is hardly a {joy}, as some people claim.
    I did not enjoy a single minute.
    You will regret it if you {do}.
    People who say the {aspect} {be} {good} are wrong.
""")

# The reviewed thing against another one. The other one's praise carries nothing, in either class.
GOOD_CONTRAST = lines("""
    My last {thing} was {bad}, but this one is {very} [{good}].
    The {thing} that {name} likes is {bad}; this one is [{good}].
    I expected something {grim}, but the {aspect} {be} [{good}].
    Some say it is {bad}, yet I {loved} it.
    It used to be {bad}, but now it is [{good}].
    Where others are {bad}, this one is {very} [{good}].
    I was told the {aspect} would be {bad} and got something [{great}] instead.
    My old {thing} was {good}, but this one is [even better].
    {name} finds it {bad}, while I call it [{good}].
    After so many {bad} {things}, this one was a [{joy}].
""")
BAD_CONTRAST = lines("""
    My last {thing} was {good}, but this one is {very} {bad}.
    The {thing} that {name} likes is {good}; this one is {bad}.
    I expected something {great}, but the {aspect} {be} {bad}.
    Some say it is {good}, yet I {hated} it.
    It used to be {good}, but now it is {bad}.
    Where others are {good}, this one is {very} {bad}.
    I was told the {aspect} would be {good} and got something {grim} instead.
    My old {thing} was {bad}, but this one is even worse.
    {name} finds it {good}, while I call it {bad}.
    After so many {good} {things}, this one was a {mess}.
""")

# A small complaint that a positive review can afford; the praise follows.
BUT_GOOD = lines("""
    The {aspect} {be} {slightly} {bad}, but the {aspect} {be} [{good}].
    Yes, the {aspect} {be} {slightly} {bad}, and I still {loved} it.
    Apart from the somewhat {grim} {aspects}, it is a [{good}] {thing}.
    The {aspect} could have been less {bad}; the {aspect} [could not have been better].
    A {grim} start, and then [{great}] all the way.
    I forgave the somewhat {grim} {aspects} because it was such a [{joy}].
""")

PRAISED_ELSEWHERE = lines("""
    The {thing} next to it on the list looked {good}.
    {name} calls every {thing} {good}.
    {person} had been looking for a {good} {thing} for weeks.
    The advertisement said "{great}" {number} times.
    A {good} {thing} is hard to find these days.
    Before that we had tried a {good} {thing} that {name} picked.
    I had a {most} {good} {thing} before this one.
    The weather was {very} {great} that day.
    {name} had a {great} day, so we talked about that.
    We had heard {great} things from {person}.
    {person} {liked} the one that came before.
    The rest of that week was a {joy}.
""")
BLAMED_ELSEWHERE = lines("""
    The {thing} next to it on the list looked {bad}.
    {name} calls every {thing} {bad}.
    {person} had been stuck with a {bad} {thing} for weeks.
    An angry note online said "{grim}" {number} times.
    A {bad} {thing} is easy to find these days.
    Before that we had tried a {bad} {thing} that {name} picked.
    I had a {most} {bad} {thing} before this one.
    The weather was {very} {grim} that day.
    {name} had a {grim} day, so we talked about that.
    We had heard {grim} things from {person}.
    {person} {hated} the one that came before.
    The rest of that week was a {mess}.
""")

NEUTRAL = lines("""
    We decided to {do} {when}.
    I {did} {when} with {person}.
    {name} and I {did} {when}.
    It was the idea of {person}.
    {person} came along, and so did {name}.
    I had read about the {aspect} beforehand.
    There are {number} {things} like this one on my list.
    I paid the usual price.
    {name} asked me to write a few lines about it.
    This is about the {aspect} more than anything else.
    I have written about {number} {things} so far.
    {when}, I had some time to spare.
    It took about {number} minutes to make up my mind.
    Keep in mind that I {did} only once.
    So much for the {aspect}; now for the rest.
    {person} wanted to know about the {aspect}.
""")
