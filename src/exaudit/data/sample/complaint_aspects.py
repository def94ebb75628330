"""The aspects of a hotel that guests complain about: eight classes, each with clauses that complain and that do not."""

from __future__ import annotations

from dataclasses import dataclass

from exaudit.data.sample.draw import lines

__all__ = ["ASPECTS", "Aspect"]


@dataclass(frozen=True)
class Aspect:
    """One thing to complain about. All but `name` are templates as in `marked.py`, of clauses without a full stop.

    `complaints` carry the class, `others` praise the aspect or just mention it, and `rumours` are what somebody
    else might say against it. `words` are the slots that only this aspect has.
    """

    name: str
    complaints: tuple[str, ...]
    others: tuple[str, ...]
    rumours: tuple[str, ...]
    words: dict[str, tuple[str, ...]]

    @classmethod
    def read(cls, name: str, complaints: str, others: str, rumours: str, **words: str) -> Aspect:
        """From plain text: a clause a line, and ` / ` between words."""
        slots = {slot: tuple(options.split(" / ")) for slot, options in words.items()}
        return cls(name, lines(complaints), lines(others), lines(rumours), slots)


ASPECTS = (
    Aspect.read(
        "cleanliness",
        """
        the {room} was {very} [{dirty}]
        there were [hairs] in the {place}
        there was [{mould}] in the {place}
        the [sheets] had [stains]
        the [towels] were {very} [{dirty}]
        nobody had [cleaned] the {place} before we came
        the {place} had [not been wiped] for weeks
        the carpet in the {room} was [sticky]
        the {room} [smelled] of old smoke
        we found [{mould}] under the bed
        the [cleaners] did [not] come for {few} days
        the [bin] in the {room} was [still full] from the last guests
        the windows were so [{dirty}] that one could hardly see out
        the [cleaning] was {very} [{bad}]
        a [cockroach] ran across the {room}
        the {room} was anything but [clean]
        """,
        """
        the {room} was {very} clean
        everything was spotless, even the {place}
        we got fresh towels every day
        the cleaners came every morning at ten
        the {room} smelled of fresh linen
        there was not a speck of dust anywhere
        the sheets were changed twice
        the cleaning was {good}
        the {room} was never dirty
        """,
        """
        the rooms were {dirty}
        there was {mould} in the bathrooms
        the cleaning was {bad}
        the sheets were {dirty}
        """,
        dirty="dirty / filthy / grubby / dusty / grimy / stained",
        mould="mould / dust / dirt / old food / rubbish",
        place="shower / sink / bath / wardrobe / kettle / bed / drawer",
    ),
    Aspect.read(
        "noise",
        """
        the {room} was {very} [{loud}]
        we [heard] every word from the room next door
        the [traffic] kept us [awake] until {hour}
        the {bar} below us was {very} [{loud}]
        I could not [sleep] for the [noise] of the {bar}
        the walls were [paper-thin]
        somebody [slammed doors] all night
        the {fan} [hummed] right behind my bed
        [drilling] started at {hour} in the morning
        the [music] from the {bar} went on until {hour}
        I [slept] badly because of the [shouting] in the street
        the [noise] at night was {very} [{bad}]
        the children upstairs [ran about] until midnight
        the pipes [banged] whenever somebody had a shower
        the windows let in [every sound] from the street
        there was [no quiet] before {hour} in the morning
        """,
        """
        the {room} was {very} quiet
        we heard nothing of the {bar}
        I slept like a log
        the {room} faced a quiet courtyard
        even the {bar} was not loud at all
        there was soft music in the lobby
        the thick walls kept every noise out
        the street was silent at night
        """,
        """
        the rooms were {loud}
        the {bar} was {loud}
        the noise was {bad}
        one could not sleep
        """,
        loud="loud / noisy / deafening / loud",
        bar="bar / disco / terrace / kitchen / pub / wedding party / restaurant",
        fan="fan / lift / fridge / air conditioning",
    ),
    Aspect.read(
        "staff",
        """
        the [{waiter}] was {very} [{rude}]
        the [staff] were {very} [{rude}]
        the [{waiter}] [ignored] us for half an hour
        nobody at the [desk] [helped] with our bags
        the [{waiter}] [shouted] at {person}
        the [{waiter}] could [not be bothered] to look up
        our request was [forgotten] twice by the [{waiter}]
        the [service] was {very} [{bad}]
        we [waited] two hours to [check in]
        there was [no one] at [reception] after {hour}
        the [{waiter}] [sighed] when I asked for a key
        the [staff] were anything but [friendly]
        the [manager] [refused] to talk to us
        the [{waiter}] was {very} [cold] to {person}
        they [lost our booking] and [blamed] us for it
        the [{waiter}] was [slow] and [{rude}]
        """,
        """
        the staff were {very} friendly
        the {waiter} was {very} helpful
        the {waiter} carried our bags upstairs
        the service was {good}
        the {waiter} remembered our names
        check-in took two minutes
        we asked the {waiter} for a map
        the {waiter} was never rude
        reception is open day and night
        the {waiter} wished us a good trip
        """,
        """
        the staff were {rude}
        the service was {bad}
        the {waiter} was {rude}
        nobody at reception cared
        """,
        waiter="waiter / receptionist / porter / barman / lady at the desk / night porter / waitress",
        rude="rude / unfriendly / unhelpful / impolite / arrogant / impatient / grumpy",
    ),
    Aspect.read(
        "breakfast",
        """
        the [breakfast] was {very} [{bad}]
        the [{eggs}] at breakfast were {very} [{stale}]
        the [coffee] was {very} [{weak}]
        there was [nothing left] of the [buffet] at nine
        the [{eggs}] had clearly been there since the day before, all [{stale}]
        [breakfast] was the [same] every day
        the [buffet] was {very} [small]
        the [toast] was [burnt] every morning
        there was [nothing] for vegetarians at [breakfast]
        [breakfast] ended at eight, far [too early] for us
        we [queued] for the [coffee] machine every morning
        the [juice] tasted of [chemicals]
        the [{eggs}] were [cold] and the tea was too
        the [milk] had gone [sour]
        {person} could [not eat] the [{eggs}]
        the [breakfast] was anything but [fresh]
        """,
        """
        the breakfast was {very} {good}
        the {eggs} were {very} fresh
        the coffee was strong and hot
        there was a large choice at the buffet
        breakfast is served from seven to ten
        we had breakfast on the terrace
        the {eggs} were made to order
        I drank two cups of coffee and left early
        the buffet was never empty
        we took the {eggs} and fruit to our table
        """,
        """
        the breakfast was {bad}
        the {eggs} were {stale}
        the coffee was {weak}
        the buffet was small
        """,
        eggs="eggs / rolls / croissants / sausages / pancakes / fruit bowls",
        stale="stale / dry / cold / greasy / tasteless / old / soggy",
        weak="weak / cold / undrinkable / bitter / thin",
    ),
    Aspect.read(
        "price",
        """
        the {rate} was {very} [{dear}]
        [{money} euros] a night is [too much]
        they [charged] us [extra] for the {towel}
        we paid [{fee} euros] for the {towel}, which is a [joke]
        the [value for money] was {very} [{bad}]
        the [bill] was [higher] than agreed
        the {rate} was [not worth the money]
        everything [cost extra], even the {towel}
        we were [overcharged] by {fee} euros
        I felt [ripped off] over the {towel}
        there was a [hidden fee] for the {towel}
        for that [money] I expect more
        the [deposit] was [never paid back]
        the {cost} had [doubled] since last year
        the [price] of the {towel} was [{steep}]
        """,
        """
        the {cost} was {very} fair
        we paid {money} euros a night
        the {towel} was included in the price
        it was good value for money
        the bill was correct
        you can pay by card or in cash
        the {cost} was lower than elsewhere
        nothing cost extra, not even the {towel}
        we got the {towel} free of charge
        """,
        """
        the {rate} was {dear}
        everything cost extra
        the price was {bad}
        guests were overcharged
        """,
        rate="[room] / [minibar] / [parking] / [dinner] / [half board]",
        cost="[price] / [room rate] / [price of half board] / [charge] for parking",
        dear="overpriced / outrageous / exorbitant / steep / ridiculous / excessive / expensive",
        money="90 / 110 / 125 / 140 / 160 / 180 / 220",
        fee="8 / 12 / 15 / 20 / 25 / 30 / 40",
        steep="outrageous / steep / ridiculous / exorbitant / scandalous",
        towel="sauna / parking / wifi / late check-out / breakfast / water / safe / heater",
    ),
    Aspect.read(
        "wifi",
        """
        the [wifi] was {very} [{slow}]
        the [internet] [kept dropping]
        the [wifi] did [not reach] our room
        I could [not open] a single [e-mail]
        there was [no signal] on the {floor} floor
        the [wifi password] [did not work]
        the [connection] was {very} [{bad}]
        my [video call] [froze] every minute
        we had to sit in the lobby to get [online] at all
        the [internet] was [down] for {few} days
        I had to use my phone to [work online], as [nothing loaded]
        the [wifi] [logged me out] every hour
        the [network] was anything but [fast]
        [streaming] a film was [impossible]
        the [wifi] was {very} [{bad}]
        """,
        """
        the wifi was {very} fast
        the wifi worked without a hitch
        the internet was {good}
        I could work online from the garden
        the wifi password is on the key card
        the connection never dropped
        there was wifi in every room
        my video calls went well
        we did not use the internet
        """,
        """
        the wifi was {slow}
        the internet was {bad}
        there was no signal in the rooms
        the connection kept dropping
        """,
        slow="slow / weak / unreliable / patchy / useless / unstable",
    ),
    Aspect.read(
        "location",
        """
        the hotel is [{far}] from the {centre}
        it took us [an hour to walk] to the {centre}
        there is [nothing around] but a {yard}
        the [area] is {very} [{grim}]
        our window looked out on a [{yard}]
        the hotel stands [right beside a {yard}]
        the [street] did [not feel safe] at night
        there was [no bus] to the {centre} after {hour}
        the [location] was {very} [{bad}]
        we [needed a taxi] for every trip to the {centre}
        the hotel is [hard to find]
        the [neighbourhood] was {very} [{grim}]
        there is [not a single shop nearby]
        the promised [sea view] was a view of a [{yard}]
        the way [up the hill] was [too steep] for {person}
        the "[five minutes]" to the {centre} were [{few} kilometres]
        """,
        """
        the hotel is close to the {centre}
        the location was {very} {good}
        it is a short walk to the {centre}
        the tram to the {centre} stops at the door
        our window looked out on the park
        the area is {very} pleasant
        there are plenty of shops nearby
        we took a taxi to the {centre} once
        the hotel is not far from the {centre}
        """,
        """
        the hotel was {far} from the {centre}
        the area was {grim}
        the location was {bad}
        there was nothing around
        """,
        far="far away / miles / a long way / too far",
        centre="station / old town / beach / centre / airport / trade fair",
        yard="motorway / scrapyard / car park / petrol station / building site / brick wall / railway line",
        grim="rough / grim / run-down / dull / shabby / dark",
    ),
    Aspect.read(
        "heating",
        """
        the [{radiator}] was [{broken}]
        the {room} was {very} [{cold}]
        we [{froze}] every night
        it was [{degrees} degrees] in the {room}
        the [{radiator}] could [not be turned {up}]
        the [heating] only came on [late] in the evening
        I [slept] in my [coat]
        we asked for a second [blanket] because it was so [{cold}]
        there was [no hot water] for {few} days
        the [shower] was [{cold}] in the mornings
        the [{radiator}] [leaked] onto the carpet
        a [draught] came through the windows of the {room}
        the [{radiator}] was [on full] and the {room} was [like an oven]
        {person} [{froze}] under two blankets
        the [heating] was {very} [{bad}]
        """,
        """
        the {room} was nice and warm
        the {radiator} worked as it should
        the shower was always hot
        it was cold outside but warm in the {room}
        the {radiator} could be set as we liked
        the heating was {good}
        we did not need the {radiator} in that weather
        there was a second blanket in the wardrobe
        """,
        """
        the rooms were {cold}
        the heating was {bad}
        the {radiator} was {broken}
        there was no hot water
        """,
        radiator="radiator / heating / heater / thermostat / boiler",
        broken="broken / out of order / cold / defective / stone cold",
        cold="cold / freezing / ice-cold / chilly / cold",
        froze="froze / shivered",
        degrees="twelve / fourteen / fifteen / sixteen",
        up="up / off / down",
    ),
)
