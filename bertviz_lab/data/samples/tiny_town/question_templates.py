"""What may be asked about Tiny Town: beside each sentence of the plots, the questions that it answers."""

#: A way to say a beat -> what it answers: (question, answer).
TELLS: dict[str, tuple[tuple[str, str], ...]] = {
    # lost
    "{hero} has {a_thing}.": (("What does {hero} have?", "{a_thing}"),),
    "The {thing} [belongs/belong] to {hero}.": (
        ("To whom [does/do] the {noun} belong?", "{hero}"),
        ("What belongs to {hero}?", "The {thing}"),
    ),
    "{hero} looks {spot} in the {room}.": (
        ("Where does {hero} look?", "{spot} in the {room}"),
        ("In which room does {hero} look?", "{room}"),
        ("Who looks {spot}?", "{hero}"),
    ),
    "{he} looks {spot} in the {room}.": (
        ("Where does {hero} look?", "{spot} in the {room}"),
        ("Who looks {spot}?", "{hero}"),
    ),
    "{friend} wants to help {hero}.": (("Who wants to help {hero}?", "{friend}"),),
    "{hero} asks {friend} for help.": (
        ("Who asks for help?", "{hero}"),
        ("Whom does {hero} ask for help?", "{friend}"),
    ),
    "{friend} finds the {thing} {other_spot}.": (
        ("Who finds the {noun}?", "{friend}"),
        ("Where does {friend} find the {noun}?", "{other_spot}"),
        ("What does {friend} find?", "the {thing}"),
        ("What colour [is/are] the {noun}?", "{colour}"),
    ),
    # stuck
    "{hero} takes the {thing} to the {place}.": (
        ("Where does {hero} take the {noun}?", "to the {place}"),
        ("What does {hero} take to the {place}?", "the {thing}"),
        ("Who takes the {noun} to the {place}?", "{hero}"),
        ("What colour [is/are] the {noun}?", "{colour}"),
    ),
    "The {thing} [is/are] stuck in the {trap}.": (
        ("Where [is/are] the {noun} stuck?", "in the {trap}"),
        ("What is stuck in the {trap}?", "The {thing}"),
    ),
    "The {trap} is too {why} for {hero}.": (("What is too {why} for {hero}?", "The {trap}"),),
    "{hero} is sad, but {friend} has an idea.": (("Who has an idea?", "{friend}"), ("Who is sad?", "{hero}")),
    "{friend} sees that {hero} is sad.": (("Who sees that {hero} is sad?", "{friend}"), ("Who is sad?", "{hero}")),
    "{friend} gets the {tool} from the {tool_home}.": (
        ("Who gets the {tool}?", "{friend}"),
        ("What does {friend} get from the {tool_home}?", "the {tool}"),
        ("Where does {friend} get the {tool}?", "from the {tool_home}"),
    ),
    # swap
    "{hero} has {a_sized_thing}.": (("What does {hero} have at first?", "{a_sized_thing}"),),
    "{friend} has {an_other_sized_thing}.": (("What does {friend} have at first?", "{an_other_sized_thing}"),),
    "{hero} gives the {thing} to {friend}.": (
        ("What does {hero} give to {friend}?", "the {thing}"),
        ("Who gives the {thing} to {friend}?", "{hero}"),
    ),
    "{friend} gives the {other_thing} to {hero}.": (
        ("What does {friend} give to {hero}?", "the {other_thing}"),
        ("Who gives the {other_thing} to {hero}?", "{friend}"),
    ),
    # gift
    "Today is the birthday of {friend}.": (("Whose birthday is it?", "{friend}"),),
    "In the morning {hero} buys {a_thing}.": (
        ("What does {hero} buy?", "{a_thing}"),
        ("When does {hero} buy the {noun}?", "In the morning"),
        ("What colour [is/are] the {noun}?", "{colour}"),
    ),
    "In the morning {he} buys {a_thing}.": (
        ("What does {hero} buy?", "{a_thing}"),
        ("Who buys the {noun}?", "{hero}"),
        ("What colour [is/are] the {noun}?", "{colour}"),
    ),
    "In the evening {hero} visits {friend}.": (
        ("Whom does {hero} visit?", "{friend}"),
        ("When does {hero} visit {friend}?", "In the evening"),
    ),
    "{friend} opens the box and sees the {thing}.": (
        ("Who opens the box?", "{friend}"),
        ("What does {friend} see in the box?", "the {thing}"),
    ),
    # storm
    "In the morning {hero} and {friend} walk to the {place}.": (
        ("Where do {hero} and {friend} walk?", "to the {place}"),
        ("When do {hero} and {friend} walk to the {place}?", "In the morning"),
    ),
    "At noon the sky is {sky}.": (("How is the sky at noon?", "{sky}"), ("When is the sky {sky}?", "At noon")),
    "{hero} gives {friend} {a_thing}.": (
        ("What does {hero} give to {friend}?", "{a_thing}"),
        ("Who gives {friend} the {noun}?", "{hero}"),
        ("What colour [is/are] the {noun}?", "{colour}"),
    ),
    # quarrel
    "{hero} and {friend} want the {thing}.": (
        ("What do {hero} and {friend} want?", "the {thing}"),
        ("What colour [is/are] the {noun}?", "{colour}"),
    ),
    "{friend} goes to the {place} by {fhimself}.": (
        ("Who goes to the {place} alone?", "{friend}"),
        ("Where does {friend} go?", "to the {place}"),
    ),
    "{hero} says sorry to {friend}.": (("Who says sorry?", "{hero}"), ("To whom does {hero} say sorry?", "{friend}")),
    # bake
    "{neighbour} is ill today.": (("Who is ill?", "{neighbour}"),),
    "{hero} wants to make {a_dish} for {neighbour}.": (
        ("What does {hero} want to make?", "{a_dish}"),
        ("For whom does {hero} want to make the {dish}?", "{neighbour}"),
    ),
    "{friend} gets {number} {topping} from the garden.": (
        ("What does {friend} get from the garden?", "{number} {topping}"),
        ("How many {topping} does {friend} get?", "{number}"),
        ("Where does {friend} get the {topping}?", "from the garden"),
    ),
    "{neighbour} eats the {dish}, and it tastes {taste}.": (("How does the {dish} taste?", "{taste}"),),
    # mend
    "The {thing} of {hero} [is/are] broken.": (
        ("What is broken?", "The {thing} of {hero}"),
        ("Whose {noun} [is/are] broken?", "{hero}"),
        ("What colour [is/are] the {noun}?", "{colour}"),
    ),
    "For the {noun} {hero} needs the {mend_tool}.": (("What does {hero} need for the {noun}?", "the {mend_tool}"),),
    "{friend} gets the {mend_tool} from the {mend_home}.": (
        ("Who gets the {mend_tool}?", "{friend}"),
        ("Where does {friend} get the {mend_tool}?", "from the {mend_home}"),
        ("What does {friend} get from the {mend_home}?", "the {mend_tool}"),
    ),
    "With the {mend_tool} {hero} mends the {thing}.": (
        ("Who mends the {noun}?", "{hero}"),
        ("What does {hero} mend?", "the {thing}"),
    ),
    # pet
    "{hero} has a little {fur} {animal}.": (
        ("What does {hero} have?", "a little {fur} {animal}"),
        ("What colour is the {animal}?", "{fur}"),
    ),
    "The little {fur} {animal} belongs to {hero}.": (
        ("To whom does the {animal} belong?", "{hero}"),
        ("What colour is the {animal}?", "{fur}"),
    ),
    "Today the gate is open, and the {animal} runs away.": (("Who runs away?", "the {animal}"),),
    "{friend} brings {food} for the {fur} {animal}.": (
        ("What does {friend} bring for the {animal}?", "{food}"),
        ("Who brings {food}?", "{friend}"),
    ),
    # seeds
    "{hero} plants {number} {colour} {flowers}.": (
        ("How many {flowers} does {hero} plant?", "{number}"),
        ("What does {hero} plant?", "{number} {colour} {flowers}"),
        ("What colour are the {flowers}?", "{colour}"),
    ),
    "So {friend} gives the {flowers} water.": (("Who gives the {flowers} water?", "{friend}"),),
    "{hero} picks one {flower} for {friend}.": (
        ("Who picks one {flower}?", "{hero}"),
        ("For whom does {hero} pick one {flower}?", "{friend}"),
    ),
    # market
    "{hero} sees {a_thing} at the market.": (
        ("What does {hero} see at the market?", "{a_thing}"),
        ("Where does {hero} see the {noun}?", "at the market"),
        ("What colour [is/are] the {noun}?", "{colour}"),
    ),
    "The {thing} at the market [costs/cost] {sum} coins.": (
        ("How many coins [does/do] the {noun} cost?", "{sum}"),
        ("What costs {sum} coins?", "The {thing} at the market"),
    ),
    "{hero} has only {number} coins.": (("How many coins does {hero} have?", "{number}"),),
    "{friend} has {other_number} coins.": (("How many coins does {friend} have?", "{other_number}"),),
    # night
    "In the evening {hero} and {friend} sleep in a {colour} tent.": (
        ("Where do {hero} and {friend} sleep?", "in a {colour} tent"),
        ("What colour is the tent?", "{colour}"),
    ),
    "{hero} hears a noise and is afraid.": (
        ("Who hears a noise?", "{hero}"),
        ("What does {hero} hear?", "a noise"),
        ("Who is afraid?", "{hero}"),
    ),
    "{friend} sees {number} little {night_animals}.": (
        ("What does {friend} see?", "{number} little {night_animals}"),
        ("How many {night_animals} does {friend} see?", "{number}"),
    ),
    # race
    "{hero} has a {colour} bike.": (
        ("What does {hero} have?", "a {colour} bike"),
        ("What colour is the bike of {hero}?", "{colour}"),
    ),
    "{friend} has a {other_colour} bike.": (
        ("What does {friend} have?", "a {other_colour} bike"),
        ("What colour is the bike of {friend}?", "{other_colour}"),
    ),
    "The {colour} bike is fast, and the {other_colour} bike is slow.": (
        ("Which bike is fast?", "The {colour} bike"),
        ("Which bike is slow?", "the {other_colour} bike"),
    ),
    "{friend} could win, but {fhe} stops for {hero}.": (
        ("Who could win?", "{friend}"),
        ("For whom does {friend} stop?", "{hero}"),
    ),
    "The {resident} near the {landmark} {resident_does}.": (("Who or what is near the {landmark}?", "The {resident}"),),
}

#: Questions that other kinds of story might answer too, in words of their own.
GENERAL = {
    *("What does {hero} have?", "What does {hero} have at first?", "What does {friend} have?"),
    *("What does {friend} have at first?", "What belongs to {hero}?", "What does {hero} buy?"),
    *("What do {hero} and {friend} want?", "What does {friend} see?", "Where does {friend} go?"),
    *("Who gives {friend} the {noun}?", "What does {hero} give to {friend}?", "Who gives the {thing} to {friend}?"),
    *("What does {friend} give to {hero}?", "Who gives the {other_thing} to {hero}?", "Who sees that {hero} is sad?"),
    *("Who wants to help {hero}?", "What colour is the bike of {hero}?", "What colour is the bike of {friend}?"),
    *("Where do {hero} and {friend} walk?", "When do {hero} and {friend} walk to the {place}?"),
}
