"""Requests to a town hall about what is wrong outside: ten classes."""

from __future__ import annotations

from exaudit.data.sample.request_intent import Intent

__all__ = ["FAULTS"]

FAULTS = (
    Intent.read(
        "street light",
        "the [street light] / the broken [street light] / the [lamp post] / [street lighting]",
        """
        the [street light] {where} has {gone}.
        the [lamp post] {where} has been {dark} {since}.
        the [lamp] in {street} [flickers] all night.
        one of the [street lamps] {where} is {gone}, please send someone.
        it has been [pitch dark] {where} {since}, could you change the [bulb]?
        the [street lights] {where} [stay on] all day, what a waste of electricity.
        somebody drove into the [lamp post] {where} and now it [leans] over the pavement.
        {person} fell {when} because the whole [pavement is unlit].
        please repair the [lighting] {where}, you cannot see your hand in front of your face.
        the [light] on the post {where} goes on and off every few seconds.
        we have been walking home in the [dark] {since} because the [lamps] {where} are {gone}.
        the glass of the [street lamp] {where} is [smashed].
        the new [lantern] {where} [shines] straight into our bedroom.
        [not one light works] on the footpath {where}.
        """,
        """
        the one on the post {where} has {gone}. // we need [light] there in the evening.
        my children are afraid to walk home in the [dark]. // it used to be [lit] all night {where}.
        we cannot see the steps {where} after {hour}. // the [bulb] must be gone.
        """,
        gone="[gone out] / [failed] / [stopped working] / [not working] / [out] / [broken]",
        dark="[dark] / [out] / [off] / [broken]",
    ),
    Intent.read(
        "traffic light",
        "the [traffic lights] / a [traffic light] / the [signal at the crossing] / the [pedestrian crossing]",
        """
        the [traffic light] {where} is [stuck on red].
        the [traffic lights] {where} have been {out} {since}.
        the [lights at the junction] {where} change much too fast.
        the [green man] {where} comes on for three seconds only.
        the [pedestrian crossing] {where} does not [beep] any more, and {person} is blind.
        all [signals] {where} are {out}, and cars just push through.
        we wait ten minutes for [green] {where}.
        the [button at the crossing] {where} does nothing.
        both sides had [green at the same time] {where} {when}.
        the [amber] lamp of the [signal] {where} is broken.
        please look at the timing of the [traffic signals] {where}.
        there was nearly a crash {where} {when} because the [lights] stayed [red] for everybody.
        a lorry hit the [signal] post {where} and the [red light] points at the sky.
        the temporary [traffic lights] {where} are still there although the work is finished.
        """,
        """
        the light {where} has been broken {since}. // cars from both sides [drive on at once] at the [junction].
        I press the [button] and nothing happens. // children [cross] there on the way to school.
        it is [red] all the time {where}. // the [drivers] lose patience and go anyway.
        """,
        out="[out] / [dead] / [off] / [not working] / [flashing yellow]",
    ),
    Intent.read(
        "pothole",
        "the [pothole] / a [pothole] / [potholes] / the [hole in the road] / the [road surface]",
        """
        there is a {deep} [pothole] {where}.
        the [hole in the road] {where} gets [deeper] every week.
        I [burst a tyre] in the [hole] {where} {when}.
        the [tarmac] {where} is [breaking up].
        {person} came off the bike {when} because of the [holes in the surface] {where}.
        the [road surface] {where} has been full of [cracks] since the frost.
        when will the [potholes] {where} be [filled]?
        the [asphalt] {where} has [sunk] by a hand's width.
        my car has a bent wheel from the [crater] {where}.
        you [filled] it {when}, and now the [hole] {where} is back.
        the [road] {where} is so [uneven] that cups rattle when a bus goes by.
        the workmen left a {deep} [trench in the road] {where}.
        cyclists swerve into the traffic to avoid the [potholes] {where}.
        please [resurface] {street}, it has not been done for {many} years.
        """,
        """
        it is as [deep] as a bucket now. // my front [wheel] went in {where} {when}.
        the winter has done a lot of damage {where}. // the [road] needs new [tarmac].
        I had to pay for a new [tyre] {when}. // that [hole] {where} is not even marked.
        """,
        deep="[deep] / huge / nasty / big / dangerous",
    ),
    Intent.read(
        "graffiti",
        "[graffiti] / the [graffiti] / the [spray paint] / the [tags on the wall]",
        """
        somebody has [sprayed] {mess} on the wall {where}.
        there is [graffiti] all over the bus shelter {where}.
        the [graffiti] {where} has been there {since}, when is it cleaned off?
        the garage doors {where} are covered in {mess}.
        {mess} on the front of the town museum, not a nice welcome for visitors.
        they [painted] {mess} on the underpass {where} {when}.
        could your team remove the [spray paint] from the wall {where}?
        a gang of youngsters was [tagging] the electricity boxes {where} {when}.
        the statue {where} got a [coat of red paint] {when}.
        the wall {where} was [scribbled on] again {when}.
        our fence has been [sprayed] for the third time.
        who pays for cleaning if [vandals paint] the wall of my house?
        there are rude [words in black paint] on the slide {where}.
        I saw two men with [spray cans] {where} {when}.
        """,
        """
        the wall {where} was white until {day}. // now there are {mess} everywhere.
        two boys were standing {where} with [cans]. // the [paint] is still wet.
        {person} had just cleaned the garage door. // the same [tags] were back this morning.
        """,
        mess="[tags] / [ugly tags] / [swear words in paint] / [graffiti] / [slogans] / [black scrawls]",
    ),
    Intent.read(
        "fallen tree",
        "the [fallen tree] / the [tree] / a dangerous [tree] / the [branches] / a [fallen tree]",
        """
        a [tree] has {fallen} {where}.
        a big [branch] {where} has {fallen} and blocks the pavement.
        the old [oak] {where} [leans] dangerously towards the houses.
        there has been a [trunk] lying across the path {where} {since}.
        the [roots] of the [chestnut] {where} lift the pavement.
        could you [cut back the branches] {where} that touch our windows?
        the wind [brought down] a [birch] {where} {when}.
        the [tree] {where} is [rotten] inside, I can put my arm into it.
        [twigs and branches] rain down on the playground whenever it blows.
        the [poplar] {where} hides the street light completely, please [prune] it.
        half of the [lime tree] {where} is [dead].
        {person} could not get the car out because of a [fallen tree].
        [branches] hang so low {where} that the bus hits them.
        the [stump] {where} has to go, people trip over it.
        """,
        """
        the storm did a lot of damage {where}. // the [trunk] is still lying there.
        it could {fall} on a car any day. // the [roots] {where} are loose.
        something cracked very loudly {where} {when}. // half the [crown] is on the ground.
        """,
        fallen="[fallen] / [come down] / [snapped] / [crashed down]",
        fall="[fall] / [come down] / [topple]",
    ),
    Intent.read(
        "dumped rubbish",
        "the [rubbish] {where} / [fly-tipping] / the [dumped rubbish] / [dumped rubbish] / the [litter]",
        """
        somebody has {dumped} an old {sofa} {where}.
        there is a [heap of rubbish] {where} that nobody owns.
        [fly-tipping] {where} again: tyres, paint tins and a {sofa}.
        {person} saw a van [dump] a load of [rubble] {where} {when}.
        a {sofa} has been [left on the pavement] {where} {since}.
        people keep {leaving} their [bags of rubbish] {where}.
        the ditch {where} is full of [builders' waste].
        please come and collect the {sofa} that was {dumped} {where}.
        the [litter] {where} blows into all the gardens.
        strangers throw their [household waste] into the hedge {where}.
        there are [broken bottles and fast food boxes] all over the grass {where}.
        I found a pile of [car tyres] {where}, and I know who [left] them.
        a mountain of [cardboard] has been growing {where} {since}.
        someone {dumped} garden [waste] in the woods {where}.
        """,
        """
        a white van stopped {where} {when}. // they [threw] a {sofa} out and drove off.
        it started with one [bag] {where}. // now it is a [tip].
        the {sofa} {where} is not ours. // who [takes] it [away]?
        """,
        dumped="[dumped] / [tipped] / [left]",
        leaving="[leaving] / [dumping] / [throwing]",
        sofa="[mattress] / [sofa] / [fridge] / [washing machine] / [carpet] / [armchair] / [television]",
    ),
    Intent.read(
        "abandoned car",
        "the [abandoned car] / an [abandoned vehicle] / the [wreck] / the [car without plates]",
        """
        a {car} with [no number plates] has been standing {where} {since}.
        there is an [abandoned] {car} {where}.
        a {car} with [flat tyres] blocks a space {where} {since}.
        nobody has [moved] the {car} {where} {since}.
        the {car} {where} has been left to [rust].
        can you [tow away] the [wreck] {where}?
        the {car} {where} has a [smashed windscreen] and weeds under it.
        the same {car} has stood in the permit bay {where} {since} [without moving].
        {person} thinks the {car} {where} is [stolen].
        a [burnt-out] {car} is {where}.
        children play in a {car} that [nobody seems to own].
        the [owner] of the {car} {where} has left the country, the neighbours say.
        there is an old {car} on the grass {where}, its [doors are open].
        we have no parking left because of the [scrap] {car} {where}.
        """,
        """
        it has been parked {where} {since}. // [nobody knows] who [owns] it.
        there is a grey van {where}. // moss is growing on the [bonnet] and it has [no plates].
        the tyres are [flat] and a window is broken. // please have that {car} [towed].
        """,
        car="[car] / [van] / [caravan] / [car] / [trailer] / [vehicle] / [motorbike]",
    ),
    Intent.read(
        "noise",
        "the [noise] / [noise] / [loud music] / [noisy neighbours] / the [noise at night]",
        """
        the {bar} {where} plays {loud} [music] until three in the morning.
        we cannot [sleep] because of the [noise] from the {bar} {where}.
        the neighbours at number {number} have [parties] every {day} night.
        a dog {where} [barks] from morning to night.
        the building site {where} starts with the [drill] at six.
        the [shouting] {where} goes on until dawn.
        my upstairs neighbour [plays the drums] after {hour}.
        the air conditioner of the {bar} [hums] all night.
        a car [alarm] has been going off {where} {since}.
        {person} lies [awake] every night, the [racket] from the {bar} is unbearable.
        are they allowed to [mow] the lawn on a Sunday?
        the [bass] from number {number} makes our glasses tremble.
        motorbikes [roar] up and down {street} after midnight.
        it is so [loud] at the {bar} {where} that we keep our windows shut.
        """,
        """
        the {bar} {where} closes at {hour} on paper. // in fact the [music] goes on all night.
        I have not [slept] {since}. // could you talk to the {bar} {where}?
        they are at it again next door. // [quiet] hours begin at ten, I thought.
        """,
        loud="[loud] / [deafening] / [blaring] / [loud]",
        bar="bar / pub / club / hotel / youth centre / restaurant",
    ),
    Intent.read(
        "pests",
        "[rats] / the [rats] / [pest control] / the [wasps] / [mice] / [vermin]",
        """
        we have {rats} in the {cellar}.
        {person} saw {rats} {where} {when}.
        the {cellar} is [infested] with {rats}.
        there is a [wasps' nest] under the roof of the {cellar}.
        do you send someone to put down [poison] against {rats}?
        {rats} come out of the drain {where} every evening.
        the bins {where} attract {rats}.
        I was [stung] three times because of the [nest] {where}.
        something has [gnawed] through the cables in the {cellar}.
        there are [droppings] all over the {cellar}.
        how do I get rid of {rats}?
        the empty house {where} is full of {rats}.
        the [traps] you left in the {cellar} {when} have caught nothing.
        [bedbugs] again at number {number}, and the landlord does nothing.
        """,
        """
        I heard [scratching] behind the wall {when}. // now there are holes in every [bag of flour].
        they come out of the drain at night. // {person} counted five [tails].
        the rubbish {where} is not the worst of it. // something [scurries] between the bags.
        """,
        rats="[rats] / [mice] / [cockroaches] / [rats] / [ants] / [rats]",
        cellar="cellar / kitchen / attic / shed / garage / school canteen",
    ),
    Intent.read(
        "missed bin",
        "a [missed collection] / a [missed bin] / the [bin] that was [not emptied] / the [bin collection]",
        """
        our {bin} was [not emptied] {when}.
        the [bin men] did [not come] to {street} {when}.
        you [missed] our {bin} again {when}.
        the {bin} {where} is [overflowing] because nobody [empties] it.
        the {bin} has been standing at the kerb {since}, still [full].
        [collection day] was {day}, but the [lorry] drove past our {bin}.
        why was the {bin} [left behind] {when}?
        every other {bin} in {street} was [emptied], only ours was [not].
        when is the next [collection] in {street}, now that {day} is a holiday?
        the [refuse lorry] could not get through {street} {when}, and the bags are still here.
        [nobody has collected] the {bin} at number {number} {since}.
        the [crew] left half of the {bin} on the road.
        my {bin} was put out on time and [not taken].
        has the [collection day] changed, or why is the {bin} still [full]?
        """,
        """
        I put the {bin} out before six {when}. // the [lorry] went straight past.
        it smells terribly after three weeks. // the [crew] never [comes] down our lane.
        all the [bags] {where} are still there. // it should have been done on {day}.
        """,
        bin="[bin] / brown [bin] / [recycling box] / green [bin] / [wheelie bin] / paper [bin]",
    ),
)
