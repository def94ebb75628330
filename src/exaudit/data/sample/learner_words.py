"""Words of the learner sentences: verbs and nouns with their forms, misspellings, and who does what where."""

from __future__ import annotations

from exaudit.data.sample.draw import lines, words

__all__ = ["FILLERS", "MISSPELT", "noun_forms", "verb_forms"]

# base past participle; all other verbs are regular
_IRREGULAR_VERBS = {
    base: (past, participle)
    for base, past, participle in map(
        str.split,
        lines("""
            go went gone
            buy bought bought
            see saw seen
            take took taken
            eat ate eaten
            write wrote written
            speak spoke spoken
            find found found
            meet met met
            teach taught taught
            spend spent spent
            choose chose chosen
            forget forgot forgotten
            give gave given
            get got got
            make made made
            swim swam swum
            leave left left
            lose lost lost
            bring brought brought
            think thought thought
            know knew known
            tell told told
            send sent sent
            win won won
            begin began begun
            come came come
            sing sang sung
            drive drove driven
            break broke broken
            feel felt felt
            sell sold sold
            do did done
            have had had
        """),
    )
}
_DOUBLING = words("swim travel plan stop get win begin forget")
_IRREGULAR_NOUNS = {
    "child": ("children", "childrens"),
    "person": ("people", "peoples"),
    "woman": ("women", "womans"),
    "man": ("men", "mans"),
    "foot": ("feet", "foots"),
}

# Misspellings that are no words themselves.
MISSPELT = {
    right: tuple(wrong)
    for right, *wrong in map(
        str.split,
        lines("""
            restaurant restaurent resturant
            beautiful beatiful beautifull
            because becouse becuase
            interesting intresting interessting
            different diferent diffrent
            friends freinds
            friend freind
            believe beleive belive
            receive recieve
            tomorrow tommorow tomorow
            really realy
            necessary neccessary necesary
            accommodation accomodation
            government goverment
            environment enviroment
            definitely definitly definately
            opportunity oportunity
            experience experiance
            comfortable confortable
            usually usualy
            always allways alway
            university univercity
            language langage lenguage
            success succes
            successful succesful
            exciting exiteing excitting
            holiday hollyday
            holidays hollydays
            sincerely sincerelly
            opinion oppinion
            pollution polution
            advertisement advertisment
            professional proffesional
            traditional tradicional
            favourite favorit favourit
            weather wheather
            which wich
            their thier
            although althought
            foreign foriegn
            Wednesday Wensday
            grateful greatful
            disappointed dissapointed
            surprised suprised
            business bussiness
            future futur
            address adress
            museum musuem
            evening evenning
            excursion excurtion
            neighbour neighboor
            colleagues collegues
            programme programm
            exercise excercise
            modern modren
            expensive expencive
            convenient convinient
            delicious delicius
            birthday birtday
            particularly particulary
        """),
    )
}

# Fillers are templates themselves: see learner_templates.py.
FILLERS: dict[str, tuple[str, ...]] = {
    "boy": words("Peter Daniel Pavel Ahmed Jonas Diego"),
    "girl": words("Anna Maria Laura Chiara Keiko Lena"),
    "name": words("Anna Peter Maria Daniel Laura Pavel Chiara Ahmed Keiko Jonas Lena Diego"),
    "city": words("London Madrid Prague Lisbon Athens Warsaw Vienna Osaka Lima Dublin"),
    "language": words("English French Spanish German Italian Japanese"),
    # After "a": no vowel at the start of an adjective or a building.
    "adjective": words("beautiful modern comfortable small famous traditional different quiet new"),
    "building": words("museum library station cinema theatre castle stadium bank"),
    "sport": words("football tennis basketball volleyball chess"),
    "day": words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"),
    "month": words("January March April June August October December"),
    "number": words("two three four five six ten twelve twenty"),
    "relative": words("brother sister mother father cousin uncle neighbour teacher"),
    "hobby": lines("""
        <play:ing> {sport}
        <read:ing> <book:pl>
        <cook:ing>
        <listen:ing> to/~ music
        <watch:ing> <film:pl>
        <learn:ing> {language}
        <ride:ing> a/~ bicycle
        <paint:ing> <picture:pl>
        <go:ing> to/at <concert:pl>
        <take:ing> <photograph:pl>
    """),
    "object": lines("""
        a/~/an new <bicycle:sg>
        a/~/an small <present:sg>
        an/a/~ interesting <book:sg>
        a/~/an comfortable <chair:sg>
        an/a/~ old <camera:sg>
        two <ticket:pl>
        some/a <furniture:un>
        a/~ lot of/~ clothes
        a/~ pair of/~ shoes/shoe
        three <postcard:pl>
        some/a warm/warmly clothes
    """),
    "errand": lines("""
        <visit:inf> the/~ {building}
        <study:inf> at/on university
        <buy:inf> {object}
        <see:inf> the/~ sea
        <meet:inf> new/news <friend:pl>
        <improve:inf> my/mine {language}
        <find:inf> a/~/an better/more_better <job:sg>
        <learn:inf> a/~ foreign <language:sg>
        <work:inf> in an/a/~ office
        <write:inf> a/~ <letter:sg>
        <travel:inf> around/in_around the/~ world
        <swim:inf> in/on the/~ lake
    """),
}

FILLERS["subject"] = lines("""
    I | other | I
    we | other | we
    they | other | they
    he | third | he
    she | third | she
    my sister | third | she
    my brother | third | he
    my parents | other | they
    our teacher | third | she
    my best friend | third | he
    the students in my class | other | they
    the people in my town | other | they
    my friends | other | they
    {boy} | third | he
    {girl} | third | she
    {name} and I | other | we
    my father | third | he
    her neighbour | third | he
    our English teacher | third | she
    his two cousins | other | they
    my colleagues | other | they
    my mother | third | she
    the other students | other | they
""")


def verb_forms(base: str) -> dict[str, str]:
    """The third person, the past, the participle and the -ing form of a verb, and the past as if it were regular."""
    vowel_y = base.endswith("y") and base[-2] not in "aeiou"
    stem = base + base[-1] if base in _DOUBLING else base
    regular = base + "d" if base.endswith("e") else base[:-1] + "ied" if vowel_y else stem + "ed"
    past, participle = _IRREGULAR_VERBS.get(base, (regular, regular))
    if base == "have":
        third = "has"
    elif vowel_y:
        third = base[:-1] + "ies"
    else:
        third = base + ("es" if base.endswith(("s", "sh", "ch", "o", "x")) else "s")
    ing = base[:-1] + "ing" if base.endswith("e") and not base.endswith("ee") else stem + "ing"
    return {
        "base": base,
        "third": third,
        "past": past,
        "participle": participle,
        "ing": ing,
        "regular": regular,
    }


def noun_forms(singular: str) -> tuple[str, tuple[str, ...]]:
    """The plural of a noun and what learners write for it."""
    if singular in _IRREGULAR_NOUNS:
        plural, wrong = _IRREGULAR_NOUNS[singular]
        return plural, (wrong, singular)
    if singular.endswith("y") and singular[-2] not in "aeiou":
        return singular[:-1] + "ies", (singular, singular + "s")
    plural = singular + ("es" if singular.endswith(("s", "sh", "ch", "x")) else "s")
    return plural, (singular,)
