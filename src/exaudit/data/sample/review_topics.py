"""What the reviews are about: twelve topics, each with its things, their aspects and its own sentences."""

from __future__ import annotations

from dataclasses import dataclass

from exaudit.data.sample.draw import lines, words

__all__ = ["TOPICS", "Topic"]


@dataclass(frozen=True)
class Topic:
    """A kind of thing to review. `aspects` maps a kind of adjective to nouns; a noun with a `+` is a plural.

    `visit` is what one does with the thing, now and in the past. The templates are those of
    `review_templates.py`.
    """

    name: str
    kind: str
    things: tuple[str, ...]
    visit: tuple[str, str]
    aspects: dict[str, tuple[str, ...]]
    neutral: tuple[str, ...]
    praise: tuple[str, ...]
    complaint: tuple[str, ...]


TOPICS = (
    Topic(
        "restaurant",
        "any",
        words("restaurant bistro diner pizzeria steakhouse canteen"),
        ("eat here", "ate here"),
        {
            "taste": words("soup dumplings+ pasta dessert bread starters+ curry salad noodles+ fish lamb"),
            "people": words("waiter staff cook waiters+ owner"),
            "place": words("terrace dining-room tables+"),
        },
        lines("""
            We ordered the set menu and a bottle of water.
            The place is on the corner opposite the post office.
            They serve lunch from noon to three.
            {name} had the fish and I had the lamb.
            We sat near the window with {person}.
            The menu changes every {number} weeks.
            You can pay by card or in cash.
            Our table was booked for {number}.
        """),
        lines("""
            We [cleaned our plates] and asked for the recipe.
            Every dish came out [exactly right].
            The bill was [a pleasant surprise].
            {person} [asked for seconds].
        """),
        lines("""
            We left half of it on our plates and asked for the bill.
            Every dish came out cold.
            The bill was a nasty surprise.
            {person} was ill all night.
        """),
    ),
    Topic(
        "hotel",
        "place",
        words("hotel hostel guesthouse inn resort"),
        ("stay here", "stayed here"),
        {
            "place": words("room bathroom lobby beds+ pool balcony corridors+ garden"),
            "people": words("receptionist porter staff cleaners+"),
            "taste": words("breakfast coffee buffet"),
        },
        lines("""
            Our room was on floor {number}, facing the street.
            Check-in starts at three in the afternoon.
            We stayed for {number} nights with {person}.
            The station is {number} minutes away on foot.
            Breakfast is served on the ground floor.
            There is a lift and a small car park.
            We had asked for a double room.
            The windows face the harbour.
        """),
        lines("""
            I [slept like a baby] every night.
            They [upgraded us] without being asked.
            Check-in took [no time at all].
            We [stayed an extra night] because of the {aspect}.
        """),
        lines("""
            I barely slept any night.
            They overcharged us and refused to talk about it.
            Check-in took forever.
            We left a night early because of the {aspect}.
        """),
    ),
    Topic(
        "film",
        "art",
        words("film movie thriller comedy documentary sequel"),
        ("watch it", "watched it"),
        {
            "art": words("plot script dialogue ending soundtrack jokes+ scenes+ photography opening"),
            "any": words("acting cast director performances+"),
        },
        lines("""
            It runs for about {number} hours with the credits.
            {name} plays a detective from a small town.
            We saw it at the cinema near the bridge.
            The story is set in a village by the sea.
            It is the second part of a series.
            {person} had already seen the trailer.
            There were {number} people in the audience.
            It was shot in black and white.
        """),
        lines("""
            I [laughed until I cried], and so did {person}.
            The two hours [flew by].
            The audience [stood up and clapped].
            I [would gladly see it] twice.
        """),
        lines("""
            I checked my watch until it ended, and so did {person}.
            The two hours dragged by.
            The audience stood up and left.
            I would not see it twice for money.
        """),
    ),
    Topic(
        "book",
        "art",
        words("book novel memoir biography thriller"),
        ("read it", "read it"),
        {
            "art": words("plot characters+ prose chapters+ ending dialogue story style"),
            "any": words("cover translation illustrations+ maps+"),
        },
        lines("""
            It has about {number} hundred pages.
            {name} wrote it after moving to the coast.
            The first chapter takes place on a train.
            I borrowed it from {person}.
            The author has published {number} others.
            Our reading group discussed it {when}.
            The narrator is a retired teacher.
            The paperback came out this year.
        """),
        lines("""
            I [could not put it down].
            I [missed my stop] because of it.
            I have already [bought a second copy] for {person}.
            The last page [left me wanting more].
        """),
        lines("""
            I could not get past page ten.
            I fell asleep because of it.
            I have already given my copy away to {person}.
            The last page left me wanting my money back.
        """),
    ),
    Topic(
        "gadget",
        "device",
        words("phone laptop tablet camera speaker smartwatch printer"),
        ("buy it", "bought it"),
        {
            "device": words("screen battery keys+ case charger hinge lens buttons+ microphone"),
            "any": words("sound manual packaging design"),
        },
        lines("""
            It comes with a cable and a short manual.
            I use it at work and on the train.
            The box contains {number} parts.
            Mine is the grey one with the larger memory.
            It replaced one that I had kept for {number} years.
            {person} uses the same model.
            It weighs about as much as a paperback.
            The parcel arrived {when}.
        """),
        lines("""
            It [still works like new] after {number} months.
            The battery [lasts for days].
            It [survived a fall] down the stairs.
            Setting it up was [a breeze].
        """),
        lines("""
            It stopped working after {number} days.
            The battery dies within the hour.
            It broke after a fall from the sofa.
            Setting it up was a nightmare.
        """),
    ),
    Topic(
        "kitchen",
        "device",
        words("kettle blender toaster oven mixer dishwasher grill"),
        ("buy it", "bought it"),
        {
            "device": words("lid handle motor switch blades+ display timer cord"),
            "any": words("design finish instructions+ capacity"),
        },
        lines("""
            It holds about {number} cups.
            I keep it next to the sink.
            We cook for {number} people most evenings.
            It comes in red, white and steel.
            {name} gave it to us as a wedding present.
            The cord is about a metre long.
            The guarantee covers {number} years.
            We unpacked it {when}.
        """),
        lines("""
            It [saves me an hour] every day.
            Cleaning it is [child's play].
            {person} now [wants one] as well.
            It [does exactly what it says] on the box.
        """),
        lines("""
            It costs me an hour every day.
            Cleaning it is torture.
            {person} now wants me to throw it out as well.
            It does nothing of what it says on the box.
        """),
    ),
    Topic(
        "app",
        "software",
        words("app program browser calendar editor planner"),
        ("install it", "installed it"),
        {
            "software": words("menu search layout settings+ update interface login export"),
            "people": words("support developers+"),
            "any": words("design tutorial colours+"),
        },
        lines("""
            I use it on a phone and on an old laptop.
            The paid plan costs {number} euros a month.
            It asks for an e-mail address first.
            {person} shares a list with me there.
            The latest version came out {when}.
            I moved {number} hundred notes into it.
            It runs in the browser too.
            There is a dark theme and a light theme.
        """),
        lines("""
            It [has never crashed] on me.
            Syncing [just works].
            Support [answered within minutes].
            I [get twice as much done] since then.
        """),
        lines("""
            It has always crashed on me.
            Syncing just fails.
            Support has not answered for months.
            I lost {number} days of work since then.
        """),
    ),
    Topic(
        "museum",
        "place",
        words("museum gallery castle zoo aquarium park"),
        ("come here", "came here"),
        {
            "place": words("hall entrance grounds+ café rooms+ courtyard"),
            "people": words("guide guards+ volunteers+"),
            "any": words("collection exhibition labels+ tour shop"),
        },
        lines("""
            Tickets cost {number} euros for adults.
            It opens at ten and closes at five.
            We took the bus with {person}.
            The tour takes about {number} quarters of an hour.
            There is a cloakroom to the left.
            The building used to be a mill.
            School groups come in the morning.
            {name} took {number} pictures of the entrance.
        """),
        lines("""
            The children [did not want to leave].
            We [learned so much] in one afternoon.
            There was [something for everyone].
            It is [well worth the detour].
        """),
        lines("""
            The children did not want to stay.
            We learned so little in one afternoon.
            There was something missing everywhere.
            It is hardly worth the ticket.
        """),
    ),
    Topic(
        "show",
        "art",
        words("concert play musical show recital opera"),
        ("go", "went"),
        {
            "art": words("songs+ finale story costumes+ staging first-half"),
            "people": words("ushers+ host"),
            "any": words("band singer orchestra sound lighting choir"),
        },
        lines("""
            It started at eight and ended at half past ten.
            We sat in row {number} on the left.
            {name} had got the tickets from {person}.
            The hall holds about {number} hundred people.
            There was one interval.
            They played songs from {number} albums.
            It was the last night of the tour.
            The doors opened an hour before.
        """),
        lines("""
            I [had goosebumps] the whole evening.
            The crowd [sang along] until the end.
            They [got {number} encores], and [deserved] them.
            I [would see it again] tomorrow.
        """),
        lines("""
            I had a headache the whole evening.
            The crowd booed until the end.
            They played {number} encores, and nobody wanted them.
            I would ask for my money back tomorrow.
        """),
    ),
    Topic(
        "course",
        "lesson",
        words("course workshop class seminar tutorial bootcamp"),
        ("sign up", "signed up"),
        {
            "lesson": words("lectures+ exercises+ textbook videos+ syllabus examples+"),
            "people": words("teacher tutor instructor assistants+"),
            "any": words("feedback pace slides+"),
        },
        lines("""
            It lasts {number} weeks, with two evenings a week.
            There were {number} of us in the group.
            {name} teaches the second half.
            We met in a room above the library.
            Homework is due on Fridays.
            {person} took it the year before.
            You get a certificate at the end.
            The first lesson is about the basics.
        """),
        lines("""
            I [finally understand] the subject.
            I [passed with ease] thanks to the {aspect}.
            Every question [got a proper answer].
            The hours [were over far too soon].
        """),
        lines("""
            I still do not understand the subject.
            I failed because of the {aspect}.
            Every question got a shrug.
            The hours would never end.
        """),
    ),
    Topic(
        "game",
        "art",
        words("game puzzle shooter platformer adventure simulator"),
        ("play it", "played it"),
        {
            "art": words("story levels+ puzzles+ music quests+ ending"),
            "software": words("controls+ menus+ camera matchmaking"),
            "any": words("graphics+ animation multiplayer"),
        },
        lines("""
            It takes about {number} hours to finish.
            You play a courier in a walled city.
            I have it on the console and {person} on the computer.
            There are {number} levels and a training mode.
            {name} and I played in the evening.
            You can save at any time.
            It is set {number} hundred years from now.
            The demo came out {when}.
        """),
        lines("""
            I [forgot to eat] while playing.
            It [kept me up all night], and I [would do it again].
            Each level [tops] the one before.
            It is [pure fun].
        """),
        lines("""
            I forgot why I was playing.
            It kept crashing all night, and I would not try again.
            Each level repeats the one before.
            It is pure tedium.
        """),
    ),
    Topic(
        "service",
        "any",
        words("garage salon clinic bakery laundry repair-shop"),
        ("go there", "went there"),
        {
            "people": words("receptionist owner apprentice team assistants+"),
            "place": words("waiting-room shop premises+"),
            "any": words("work advice result service repair prices+"),
        },
        lines("""
            I made an appointment by phone.
            They open at nine and close at six.
            It took {number} visits in all.
            {name} has been there for {number} years.
            The shop is behind the market.
            I was there with {person} {when}.
            They send the bill by post.
            You can park in the yard.
        """),
        lines("""
            They [fixed it] while I waited.
            They [charged less] than agreed.
            I [felt in safe hands].
            {person} [noticed the difference] at once and [smiled].
        """),
        lines("""
            They lost it while I waited.
            They charged more than agreed.
            I felt like a nuisance.
            {person} noticed the damage at once and frowned.
        """),
    ),
)
