"""Templates of the learner sentences, by situation: how they open, what they say, and how they go on.

Items are separated by spaces. An item is
- a word or a punctuation mark;
- `right/wrong/wrong`: what is correct and what a learner may write; `_` joins words, `~` is nothing;
- `<verb:form>` or `<noun:form>`: a form of that word, and the forms it is mistaken for (see `learner.py`);
- `{filler}` from `learner_words.py`; `{subject}` decides on `<verb:pres>` and `{pronoun}`.

A variant stands here only if it is wrong wherever its template can stand: no "at a restaurant" for "in a
restaurant", and a present tense for a past one only where the opening names a time that is over.
"""

from __future__ import annotations

from dataclasses import dataclass

from exaudit.data.sample.draw import lines

__all__ = ["SITUATIONS", "Situation"]


@dataclass(frozen=True)
class Situation:
    """Any opening goes with any core and any ending of the same situation; `~` is no opening, no ending."""

    openings: tuple[str, ...]
    cores: tuple[str, ...]
    endings: tuple[str, ...]


HABIT = Situation(
    openings=lines("""
        ~
        ~
        every/in_every weekend
        on/in/at {day}s
        in/on/at the/~ evening
        twice/two_time a/~ week
        in/on/at summer
        at/on the moment ,
        as/how you know ,
        these/this days
        in/on/at my free time
        most of/~ the time
    """),
    cores=lines("""
        {subject} <play:pres> {sport} with/together two <friend:pl>
        {subject} always <go:pres> to/at the/~ {building} by/with/on bus
        {subject} <live:pres> in/at a/~ {adjective} <house:sg> near/near_of the/~ {building}
        {subject} <enjoy:pres> {hobby}
        {subject} <like:pres> {sport} and music very_much/very
        {subject} <work:pres> in a/~ {adjective} <restaurant:sg> in/at/on {city}
        {subject} <speak:pres> {language} very/much well/good
        {subject} <want:pres> {errand}
        {subject} <have:pres> {number} <brother:pl> and a/~ dog
        {subject} <listen:pres> to/~ the radio and <read:pres> the/~ newspaper
        {subject} <know:pres> a/~ lot about the/~ history of/from {city}
        {subject} <spend:pres> too/to much/many money on/in clothes
        {subject} <need:pres> some/an <advice:un> about/~ the/~ exam
        {subject} <get:pres> up/~ at/in/on seven o'clock
        {subject} usually/usual <cook:pres> dinner for/to the whole/all family
        {subject} never/not <eat:pres> meat or fish
        {subject} <be:pres> interested_in/interested/interesting_in/interested_on {hobby}
        {subject} <be:pres> good/well at/in/on {hobby}
        {subject} <be:pres> afraid_of/afraid/afraid_from the/~ dark
        there/their are/is a/~ lot of/~ <child:pl> in/on the/~ park
        there/their is/are a/~ {adjective} {building} in/on the/~ city centre
        there/their is/are too/to much/many traffic in/at/on {city}
        there/their are/is {number} <person:pl> in/on my class
        {subject} <prefer:pres> tea to/than/that coffee for/to breakfast
        {subject} <depend:pres> on/of/from the/~ bus
        {subject} <wait:pres> for/~ the/~ bus in front/face of the school
        {subject} <share:pres> a/~/an flat with/together {number} other/others students
    """),
    endings=lines("""
        ~
        ~
        , but/bat I do/does not/no like it
        , because it/~ is/are not/no expensive
        and/end {pronoun} <feel:pres> very happy/happily there
        , which/what/who is very/much important for/of me
        , so {pronoun} <know:pres> many/much <person:pl>
        , although it/~ is/are very/much expensive
        because {pronoun} <have:pres> a/~ lot of/~ free time
        , and it/~ makes/make me/I happy
        and {pronoun} <do:pres> not/no have/has much/many time
    """),
)

PAST = Situation(
    openings=lines("""
        yesterday ,
        last/the_last year ,
        last/in_last week
        {number} years/year ago/since ,
        last/in_last {month} ,
        last/on_last {day}
        when I was/were a/~ child ,
        during/while my last/lasts holiday ,
        last/past summer ,
        the/~ day before yesterday
        {number} days/day ago/since
    """),
    cores=lines("""
        {subject} <go:past> to/in/at {city} by/with/on train
        {subject} <buy:past> {object} in/on a/~ small <shop:sg>
        {subject} <see:past> an/a/~ interesting <film:sg> about {city}
        {subject} <meet:past> a/~ famous <singer:sg> at/on the/~ airport
        {subject} <visit:past> the/~ {building} with/together {number} <friend:pl>
        {subject} <lose:past> a/~/an bag on/in the/~ way home/to_home
        {subject} <write:past> a/~ long <letter:sg> to/at the/~ headmaster
        {subject} <eat:past> in a/~ {adjective} restaurant near/near_of the/~ sea
        {subject} <take:past> a/~ lot of/~ <photograph:pl> of/to the/~ castle
        {subject} <decide:past> {errand}
        {subject} <promise:past> <close:inf> the/~ window
        {subject} <win:past> a/~ <prize:sg> in/on the competition
        {subject} <arrive:past> at/to the/~ station {number} <hour:pl> late
        {subject} <arrive:past> in/to/at {city} in/on/at the/~ morning
        {subject} <stay:past> at/on a/~ {adjective} <hotel:sg> for/since/during {number} <day:pl>
        {subject} <ask:past> me/I/to_me {errand}
        {subject} <tell:past> her/she/to_her a/~ very funny <story:sg>
        {subject} <give:past> her/she {object} for her birthday
        {subject} <spend:past> {number} <day:pl> in/at/on the mountains
        {subject} did/does not/no <know:base> where_the_{building}_was/where_was_the_{building}
        {subject} did/does not/no <find:base> the/~ {building}
        {subject} <be:past> very/much tired/tiring after/after_of the/~ long journey
        {subject} <be:past> very/much disappointed/disappointing with/of the/~ programme
        {subject} <want:past> <learn:inf> {language}
        {subject} <break:past> a/~ window while/during {pronoun} <be:past> playing/play {sport}
        {subject} <think:past> that/what it was/were a/~ good/well idea
        {subject} <drive:past> to/at the/~ coast in/with/on an/a/~ old <car:sg>
    """),
    endings=lines("""
        ~
        ~
        and it was/is/were very exciting/excited
        , but/bat the/~ weather was/were/is very bad/badly
        , but unfortunately it was/were/is closed/close
        because {pronoun} <have:simple> some/a free time
        and {pronoun} <leave:simple> at/in/on midnight
        , so {pronoun} <be:past> late/lately for/at dinner
        and {pronoun} <come:simple> back the/~ next day
        , which/what/who was/were a/~ big surprise
        after/after_of <finish:ing> the/~ lesson
        without <say:ing> goodbye
    """),
)

PLAN = Situation(
    openings=lines("""
        ~
        next/the_next year ,
        tomorrow/in_tomorrow
        in/at/on the/~ future ,
        if the_weather_is/the_weather_will_be good/well ,
        after/after_of the/~ exam ,
        next/in_next {month}
        on/in/at {day}
        in/on/at my opinion ,
        as/so soon as/~ possible ,
    """),
    cores=lines("""
        {subject} will <travel:base> to/in/at {city} with/together an/a/~ old <friend:sg>
        {subject} would like/likes {errand}
        {subject} can <take:base> the/~ bus to/at the/~ {building}
        {subject} should <do:base> the/~ homework before/before_of dinner
        {subject} must <bring:base> {object}
        {subject} might <stay:base> in/at/on {city} for/since/during {number} <week:pl>
        {subject} <be:pres> going/go <visit:inf> the/~ {building}
        {subject} <be:pres> looking/look forward_to/forward/forward_for <see:gerund> the/~ castle
        {subject} <hope:pres> <pass:inf> the/~ exam in/on/at {month}
        {subject} <plan:pres> {errand}
        {subject} will have to/~ get/gets up/~ early
        {subject} could <help:base> <person:pl> who/which/what do/does not/no speak {language}
        {subject} will <give:base> you/your some/an <information:un> about/of {city}
        {subject} will probably/probable <need:base> {object}
        {subject} would prefer/prefers <go:inf> by/with/on train
        {subject} cannot <come:base> to/at the/~ party because of/~ the exam
        {subject} should not/no <forget:base> <buy:inf> {object}
        {subject} may <find:base> a/~/an job in a/~ {building}
        {subject} will <send:base> you/your a/~ <postcard:sg> from {city}
        {subject} <want:pres> him/he/that_he {errand}
        {subject} will <be:base> able/capable {errand}
        {subject} had better <leave:base> the/~ house at/in/on seven o'clock
    """),
    endings=lines("""
        ~
        ~
        , so I am/is/be very happy/happily about/of it
        because it/~ will be/~ very interesting/interested
        , and I hope/hopes you/your can <come:base> too/to
        if {pronoun} <have:pres> enough time/times
        , but it/~ depends/depend on/of the/~ weather
        before/before_of <start:ing> a/~ new <job:sg>
        , although/despite it/~ is/are far/long from here
        instead_of/instead <stay:ing> at/in/on home
    """),
)

OPINION = Situation(
    openings=lines("""
        ~
        in/on/at my opinion ,
        I think/thinks that/what
        I believe/believes that/what
        on/in/at the/~ other hand ,
        for/in/by example ,
        first/firstly of/~ all ,
        nowadays/nowaday ,
        it/~ is well/good known that/what
        my {relative} says/say that/what
        to/for sum up ,
        I agree/am_agree that
    """),
    cores=lines("""
        it/~ is/are very/much important <learn:inf> foreign/foreigns languages
        <person:pl> <need:they> more information/informations about/of the/~ environment
        young/youngs <person:pl> <spend:they> too/to much/many time at/in/on home
        public transport is/are cheaper/more_cheap/more_cheaper than/that/then a/~ car
        life in/at/on the/~ city is/are more_interesting/interestinger than/that/then in a village
        every/all student/students should <have:base> a/~ computer at/in/on home
        <child:pl> should not/no <watch:base> television all/the_all day
        the/~ most important thing/things is/are health
        <woman:pl> and <man:pl> <have:they> the/~ same problems at/on work
        this/these book is/are better/gooder/more_good than/that/then the/~ film
        these/this shops are/is too/to expensive for/to most/the_most students
        it/~ takes/take me/I {number} <hour:pl> <get:inf> to/at {city}
        nobody knows/know what_the_answer_is/what_is_the_answer to/of this question
        one of/~ the/~ best things/thing in/at/on {city} is/are the food
        the/~ number of/~ cars in/at/on {city} is/are too/to high/highly
        there/their should <be:base> more/much <book:pl> in/on the/~ library
        we cannot <live:base> without <use:ing> a/~ computer
        <eat:gerund> late is/are bad/badly for/to your/you health
        the/~ news/new is/are not/no always true/truth
        <cook:gerund> at/in/on home is/are healthier/more_healthier than/that/then <eat:gerund> in/on a/~ restaurant
        it/~ is/are not/no worth/worthy <buy:gerund> an/a/~ expensive phone
        the government should <make:base> the/~ city cleaner/more_cleaner
        everybody has/have the/~ right <speak:inf> freely/free
        the/~ {building} is/are the/~ most/more beautiful building/buildings in/at/on {city}
        knowledge is/are more/most important than/that/then money
    """),
    endings=lines("""
        ~
        ~
        , especially/especialy for/to young/youngs <person:pl>
        , because they/there/~ do/does not/no have/has much/many money
        , but not/no everybody agrees/agree with/to me/I
        , and this/these is/are a/~ serious/seriously problem
        , which/what/who is/are not/no always easy/easily
        , so we have/has <do:inf> something/some_thing about/of it
        if/~ you want/wants <live:inf> well/good
        in/on/at big/bigs cities/citys
    """),
)

LETTER = Situation(
    openings=lines("""
        ~
        ~
        Dear/Deer Sir or Madam ,
        Dear/Deer {name} ,
        Hi {name} ,
        first/firstly of/~ all ,
        by/in the/~ way ,
    """),
    cores=lines("""
        I am/~ writing/write <complain:inf> about/of the/~ show on/in/at {day}
        I would be/~ grateful if/~ you could <send:base> me/I some/an <information:un>
        I look/looking forward_to/forward/to_forward <hear:gerund> from/of you/your
        thank you/~ very_much/very for/of your/you letter
        I am/is/have very pleased/pleasing <hear:inf> that/what you are/is well
        could/do you <tell:base> me/I how_much_the_course_costs/how_much_does_the_course_cost ?
        I saw/seen your/you advertisement in/on/at the/~ newspaper last/on_last {day}
        I have/has <be:part> a/~ member of/~ the/~ club for/since/during {number} years/year
        I have/has never/ever <see:part> such/so a/~ bad/badly musical
        I have/has just <receive:part> your/you letter
        you asked me/I/to_me about/of the/~ weather in/at/on {city}
        I suggest/suggest_you <meet:ing> in/on front/face of the/~ {building}
        I would like/likes <travel:inf> in/on/at {month} because I have/has <exam:pl> before that
        I am/have sixteen years/year old/~ and I study/studies {language}
        the/~ advertisement said that/what there/their would be/~ <discount:pl>
        the/~ tickets were/was more/much expensive than/that/then you said
        please let/leave me/I <know:base> what time the/~ train arrives/arrive
        I apologise/apology for/of not/no <write:gerund> earlier/more_earlier
        I am/is sorry for/of <be:gerund> late/lately yesterday
        it/~ would be/~ nice/nicely <see:inf> you/your again
        you should <bring:base> some/a warm/warmly clothes because it/~ is/are cold
        I would rather/prefer <stay:base> in/on/at a/~ tent than/that/then in a log cabin
        my {relative} and I have/has <buy:part> {object} for/to you/your
    """),
    endings=lines("""
        ~
        ~
        ~
        , so please/pleased <write:base> to/at me/I soon
        , and I hope/hopes <hear:inf> from/of you/your soon
        because I want/wants <plan:inf> my holiday
        , so please <answer:base> me/I as/so soon as/~ possible
        , if/~ it/~ is/are not/no a/~ problem for/to you/your
    """),
)

SITUATIONS = (HABIT, PAST, PLAN, OPINION, LETTER)
