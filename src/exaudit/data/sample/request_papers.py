"""Requests to a town hall for papers, places and payments: ten classes."""

from __future__ import annotations

from exaudit.data.sample.request_intent import Intent

__all__ = ["PAPERS"]

PAPERS = (
    Intent.read(
        "parking permit",
        "a [parking permit] / the [resident's permit] / my [parking permit] / [visitor permits]",
        """
        I would like to apply for a [parking permit] for {street}.
        how do I {renew} my [resident's permit]?
        my [parking permit] runs out on {day}, can I {renew} it online?
        I have a new car, so the [number plate on my permit] has to change.
        how many [visitor permits] can we have for number {number}?
        {person} has lost the [permit for the windscreen].
        can a carer get a [permit to park] {where}?
        we pay for a [resident's permit] and never find a [space] {where}.
        what does a second [car permit] for the same flat cost?
        is {street} in a [residents' zone], and do I need a [permit] there?
        do electric cars need a [parking permit] too?
        I am having builders in, can they get a [permit to park] {where} for a week?
        a [disabled badge] for {person}, how do we apply?
        the [permit] for my van came with the wrong [registration number].
        """,
        """
        we have just bought a second [car]. // what [permit] does one need to leave it {where}?
        I want to [park] outside my own house. // where do I get the [sticker]?
        {person} is coming to stay for a month. // is there a [visitor's ticket] for the [car]?
        """,
        renew="[renew] / [extend] / renew / transfer",
    ),
    Intent.read(
        "parking fine",
        "a [parking fine] / the [parking fine] / my [parking ticket] / the [penalty notice] / the [fine]",
        """
        I got a [parking ticket] {where} {when} although I had {paid}.
        I want to [appeal against the fine] I was given {when}.
        the [fine] of {money} pounds is unfair, the sign {where} was hidden by a tree.
        where do I [pay my parking fine]?
        there was a [penalty notice] on my windscreen {when}.
        your warden [fined] me {money} pounds {where}.
        I was [ticketed] for standing {where} for two minutes.
        I have already [paid the fine], why do I get a [reminder]?
        I stopped {where} to let {person} out and got a [penalty].
        please [cancel the ticket], I had {paid}.
        the [parking attendant] wrote down the wrong number plate.
        {money} pounds for half an hour too long is a [punishment] out of all proportion.
        how long do I have to [contest a penalty charge]?
        the machine {where} was broken, and I got a [ticket] all the same.
        """,
        """
        I had {paid} {when}. // why is there a yellow [envelope on my windscreen]?
        {money} pounds for ten minutes {where}. // I [object] to that.
        I was loading boxes {where} {when}. // your [warden] would not listen.
        """,
        paid="a valid permit / paid at the machine / a ticket / my permit on the windscreen / paid by phone",
    ),
    Intent.read(
        "building permit",
        "a [building permit] / [planning permission] / the [building permit] / the [plans] for my house",
        """
        do I need [planning permission] for a {shed}?
        I want to [build] a {shed} behind the house at {number} {street}.
        how far along is the [building permit] for our {shed}?
        we would like to put up a {shed}, is a [permit] required?
        my neighbour is putting up a {shed}, has that been [approved]?
        where can I see the [plans] for the flats {where}?
        I object to the [planning application] for a {shed} {where}.
        may I [knock down] the wall between kitchen and bathroom?
        how high may a [fence] be towards the street?
        {person} wants to [convert] the garage into a flat.
        our [architect] sent you the [drawings] for a {shed} {when}.
        is the house at {number} {street} [listed], and may we change the windows?
        we plan an [extension], how close to the tree may it be?
        the permit for our {shed} has expired, and the [builders] have not started.
        """,
        """
        we are thinking about a {shed} {where}. // which [drawings] do you need from us?
        the roof is too low for {person}. // are we [allowed to raise] it?
        we sent in the [plans] {when}. // may the [builders] start on {day}?
        """,
        shed="[shed] / [garage] / [loft conversion] / [conservatory] / [carport] / [balcony] / [second floor]",
    ),
    Intent.read(
        "hall hire",
        "the [village hall] / [hall hire] / [room hire] / a [booking] of the [hall] / the [sports hall]",
        """
        I would like to [book] the {hall} for {party}.
        is the {hall} [free] on {day}?
        how much is it to [hire] the {hall} for {party}?
        can we [rent] the {hall} for an afternoon?
        I have to [cancel our booking] of the {hall} on {day}.
        our choir is looking for a [room to rehearse].
        does the {hall} have a kitchen, and how many [chairs] are there?
        where do I collect the [keys to the] {hall}?
        may we bring our own music and stay in the {hall} until midnight?
        we need a [venue] for {party}, about {many} people.
        our deposit for the {hall} has not been paid back.
        the badminton club wants the {hall} every {day} [evening].
        is there a [room] in the town hall [for hire] for {party}?
        we [reserved] the {hall} for {party}, and now it is taken.
        """,
        """
        my father turns sixty next month. // is the {hall} [free] that day?
        we are planning {party}. // do you [let] rooms of your own?
        there will be about {many} [guests]. // which of your [rooms] is large enough?
        """,
        hall="[village hall] / [community centre] / [sports hall] / [old gym] / [function room]",
        party="a wedding party / a birthday party / a meeting / a concert / a jumble sale / a yoga class",
    ),
    Intent.read(
        "new bin",
        "a [new bin] / a [bigger bin] / [another bin] / a [new recycling box]",
        """
        can I [order] a {bin}, please?
        our {bin} has been [stolen], we need [another].
        the lid of our {bin} is [broken], can you [replace] it?
        I have just moved in and there is [no] {bin} at the house.
        we are six people now and need a [bigger] {bin}.
        when will the {bin} that I [ordered] {when} be [delivered]?
        what does a [larger] {bin} cost?
        the [wheel] of our {bin} has come off.
        could you take back one {bin}, we [only need one].
        can {person} have a [smaller] {bin}?
        the lorry [crushed] our {bin} {when}.
        we would like a [second] {bin} for the garden.
        I want to [swap] my {bin} for a [smaller] one.
        are there [locks] for a {bin}?
        """,
        """
        ours was [stolen] {when}. // please bring another {bin} to number {number}.
        the family has grown. // the {bin} is [too small] for us.
        the [wheels] are gone and the [lid] too. // may I fetch a {bin} at the depot?
        """,
        bin="[bin] / brown [bin] / [recycling box] / green [bin] / [wheelie bin] / paper [bin]",
    ),
    Intent.read(
        "passport",
        "a [passport] / my [passport] / [passports] / an [identity card] / the [identity card]",
        """
        my {passport} [runs out] next month.
        I need to {renew} my {passport} before we [fly] in July.
        how long does a new {passport} take at the moment?
        I have {lost} my {passport}, what do I do now?
        is my {passport} ready to be [collected]?
        can I get an [emergency] {passport} within two days?
        do both parents have to sign for a [child's passport]?
        what kind of [photo] do I need for a {passport}?
        my {passport} was {lost} on holiday {when}.
        does {person} have to come in person for a {passport}?
        do you take [fingerprints] at the town hall?
        we are going [abroad] on {day} and the baby has no {passport}.
        the name in my {passport} is wrong since the wedding.
        my {passport} is [damaged], it went through the washing machine.
        """,
        """
        we [fly] to Greece on {day}. // the one of {person} is [no longer valid].
        mine was {lost} {when}. // can I still [travel]?
        the [photo] I brought was refused. // how am I to cross the [border] on {day}?
        """,
        passport="[passport] / [identity card] / [passport] / [travel document]",
        renew="[renew] / [extend] / [replace] / renew",
        lost="[lost] / [stolen] / mislaid / [lost]",
    ),
    Intent.read(
        "birth certificate",
        "a [birth certificate] / the [birth certificate] / [birth certificates] / the [register of births]",
        """
        I need a {copy} of my [birth certificate].
        where do I [register the birth] of our son?
        how do I get the [birth certificate] of {person}?
        our daughter was [born] {when}, what papers must we bring to [register] her?
        the [birth certificate] you sent has the wrong {detail}.
        I was [born] here {many} years ago and need a {copy} for the pension office.
        can you send the [certificate of birth] to an address abroad?
        the school asks for a {copy} of my son's [birth certificate].
        is an [extract from the register of births] in English possible?
        I am tracing my [family tree] and look for the [birth] of my grandfather in your [registers].
        the [hospital] said you would send the [certificate] by post.
        both [parents' names] are missing on the [certificate].
        do we have to be married for both names to be on the [birth certificate]?
        I need a {copy} of my [birth certificate] to get a passport.
        """,
        """
        our [baby] came {when}. // how many days do we have to [register]?
        I was [born] in this town. // I need a {copy} for my wedding.
        the {detail} is wrong. // please correct it in the [register of births].
        """,
        copy="[copy] / [certified copy] / [duplicate] / [full copy]",
        detail="date / first name / spelling / place / surname",
    ),
    Intent.read(
        "council tax",
        "[council tax] / my [council tax] / my [tax bill] / the [council tax bill]",
        """
        my [council tax] {bill} is much too high.
        how can I pay my [council tax] in ten [instalments]?
        I live alone, do I get a [discount] on the [council tax]?
        why has the [tax] for number {number} gone up by {money} pounds?
        I want to set up a [direct debit] for the [council tax].
        the [tax band] of our house is wrong, number {number} pays less.
        I have {paid} the [council tax] twice, please send the money back.
        are students [exempt from council tax]?
        you sent me a [final demand] for {money} pounds, but I have {paid}.
        {person} has died, who pays the [council tax] now?
        I lost my job and cannot pay the [council tax] this month.
        the {bill} for our house at {number} {street} never came.
        do I pay the full [rate] while the house stands empty?
        I need a [tax statement] for last year.
        """,
        """
        the [bill] of {money} pounds came {when}. // I live alone and should get a [reduction].
        I have {paid} on time all my life. // why do I get a [summons] over [tax]?
        the money left my account {when}. // your [tax] office says I [owe] you {money} pounds.
        """,
        bill="[bill] / [demand] / [assessment] / bill",
        paid="[paid] / already [paid] / paid",
    ),
    Intent.read(
        "change of address",
        "a [change of address] / my [new address] / my [move] / the [registration] of my [address]",
        """
        I have [moved] from {street} to {street} and want to [change my address].
        how do I tell you my [new address]?
        we are [moving out] on {day}, what do we have to do?
        please [update our address], we live at {number} {street} now.
        I [moved in] at {number} {street} {when} and have to [register].
        I am [leaving the town] at the end of the month and want to [deregister].
        post for the [former tenants] still comes to {number} {street}.
        {person} has [moved] in with me, must we tell you?
        do I need the landlord's signature to [register my new flat]?
        our letters still go to our [old address] in {street}.
        I need a [proof of residence] for my bank.
        my [address] is spelt wrong in your files.
        until when must I [register] after a [move]?
        we [move] to {street} on {day}, will the bins and the tax be moved as well?
        """,
        """
        we used to live in {street}. // please write to us at {number} {street} [from now on].
        our flat in {street} is [empty since] {day}. // we are [now at] number {number}.
        the lorry comes on {day}. // whom must I tell that we [move]?
        """,
    ),
    Intent.read(
        "school place",
        "a [school place] / [school places] / [school enrolment] / a [place at nursery]",
        """
        I would like to [enrol] our {child} at the {school} {where}.
        is there a [place] for our {child} at the {school} in {street}?
        our {child} did [not get a place] at the {school} we chose.
        what is the closing date for [applications] to the {school}?
        we have moved and our {child} has to [change schools].
        which {school} is our [catchment area], we live in {street}?
        how long is the [waiting list] for the {school}?
        our {child} turns five in May, can she [start school] in autumn?
        I want to [appeal] because the {school} refused our {child}.
        can twins be sent to different {school} [classes]?
        does the {school} {where} take children [in the middle of the year]?
        our {child} needs a [school bus] from {street}.
        when do we hear which {school} our {child} [got into]?
        the {school} says you decide who [gets a place].
        """,
        """
        our {child} turns four on {day}. // where do we put our [name down]?
        we applied for the {school} {where}. // the [letter of admission] has not come.
        {person} says the {school} {where} is [full]. // where else can our {child} [go]?
        """,
        child="daughter / son / youngest / boy / girl",
        school="[primary school] / [nursery] / [school] / [infant school] / [secondary school]",
    ),
)
