"""Words of the reviews: what is said in praise and in complaint, and who says it when."""

from __future__ import annotations

from exaudit.data.sample.draw import lines, words

__all__ = ["BAD", "GOOD", "WORDS"]

# Adjectives by what they are said of; "any" fits everything.
GOOD: dict[str, tuple[str, ...]] = {
    "any": words(
        "good great excellent wonderful superb lovely fantastic brilliant impressive first-rate outstanding "
        "marvellous terrific splendid perfect amazing delightful exceptional remarkable satisfying pleasing "
        "faultless magnificent top-notch"
    ),
    "taste": words("delicious tasty fresh flavourful juicy crisp tender moreish fragrant mouth-watering"),
    "people": words("friendly helpful attentive kind polite charming patient welcoming thoughtful cheerful"),
    "place": words("clean cosy spotless comfortable peaceful elegant stylish airy inviting well-kept"),
    "art": words("gripping moving clever funny original absorbing touching witty thrilling unforgettable"),
    "device": words("reliable sturdy sharp responsive durable handy well-made dependable precise solid"),
    "software": words("intuitive smooth fast stable simple polished seamless useful effortless tidy"),
    "lesson": words("clear inspiring well-organised lively practical enlightening engaging rewarding"),
}
BAD: dict[str, tuple[str, ...]] = {
    "any": words(
        "bad awful terrible dreadful poor horrible disappointing mediocre second-rate appalling lousy "
        "shoddy hopeless dismal pathetic miserable unacceptable annoying frustrating wretched "
        "laughable underwhelming disastrous unpleasant"
    ),
    "taste": words("bland greasy stale soggy burnt tasteless rubbery overcooked watery salty"),
    "people": words("rude careless unhelpful impatient grumpy dismissive slow arrogant bored indifferent"),
    "place": words("dirty noisy cramped gloomy shabby damp smelly draughty run-down chaotic"),
    "art": words("dull predictable confusing tedious shallow clumsy silly lifeless forgettable pretentious"),
    "device": words("flimsy unreliable fragile sluggish faulty clunky blurry wobbly cheap-looking noisy"),
    "software": words("buggy slow confusing cluttered unstable broken intrusive laggy awkward bloated"),
    "lesson": words("boring disorganised outdated rushed vague monotonous repetitive useless"),
}

# Fillers that mean the same in both classes, and the verbs and nouns of praise and complaint.
WORDS: dict[str, tuple[str, ...]] = {
    "very": ("", "", "", *words("really truly so just simply genuinely surprisingly honestly absolutely")),
    "most": ("", "", *words("really truly genuinely")),
    "slightly": ("a little", "a bit", "slightly", "somewhat", "rather"),
    "name": words(
        "Marta Owen Priya Leon Sofia Declan Amara Hugo Ingrid Tomas Nadia Felix Yuki Carmen Ravi Greta Idris "
        "Paula Stefan Lucy Omar Bridget Kofi Elena Marcus Hana Viktor Rosa Neil Fatima"
    ),
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
        my boss
        my cousin
        my grandmother
        a friend
        our son
    """),
    "when": lines("""
        last Tuesday
        on Saturday
        in early March
        two weeks ago
        over the holidays
        last month
        on a rainy Sunday
        in the middle of June
        on our anniversary
        yesterday
        back in October
        this spring
        on a weekday
        before Christmas
        during half-term
    """),
    "loved": lines("""
        [loved]
        [adored]
        [enjoyed]
        [admired]
        [appreciated]
        [fell for]
        was [delighted] with
        was [impressed] by
        was very [happy] with
        was [thrilled] with
        was [charmed] by
    """),
    "hated": lines("""
        hated
        disliked
        regretted
        was appalled by
        was disgusted with
        was let down by
        was unhappy with
        was annoyed by
        gave up on
        was bored by
        resented
    """),
    "joy": words("joy delight treat pleasure triumph gem winner success highlight bargain"),
    "mess": words("mess letdown chore disaster shambles nuisance failure joke rip-off disgrace"),
    "fault": words("problems complaints delays errors hiccups mishaps trouble excuses regrets fuss"),
    "many": words("eight nine ten"),
    "few": words("one two three"),
    "number": words("two three four five six seven eight nine ten twelve"),
}
