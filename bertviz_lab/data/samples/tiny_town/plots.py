"""What can happen in Tiny Town: thirteen plots, each a row of beats, each beat said in one of a few ways.

A way is a sentence with slots: `{hero}` is filled from the story's world (see `telling.slots`), and of `[is/are]` the
form is chosen that agrees with the thing the story is about. The first way of a beat is the commonest.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Beat:
    """One sentence of a plot.

    Attributes:
        name: what happens, one word; unique inside its plot.
        ways: the sentences that say it.
        share: the share of the stories in which it is said.
    """

    name: str
    ways: tuple[str, ...]
    share: float = 1.0


@dataclass(frozen=True)
class Plot:
    """A kind of story: its beats in the order of time.

    Attributes:
        wearable: the thing of the story is something to wear, drawn from the clothes.
        gives_away: at the end the thing belongs to the friend.
    """

    name: str
    beats: tuple[Beat, ...]
    wearable: bool = False
    gives_away: bool = False


#: The one beat that may be said at any time: who is around. Its subject and the noun beside its verb often differ in number.
SCENE = Beat("scene", ("The {resident} near the {landmark} {resident_does}.",), 0.6)


def _plot(name: str, *beats: Beat, wearable: bool = False, gives_away: bool = False) -> Plot:
    return Plot(name, beats, wearable, gives_away)


PLOTS = (
    _plot(
        "lost",
        Beat("have", ("{hero} has {a_thing}.", "The {thing} [belongs/belong] to {hero}.")),
        Beat("use", ("{hero} often {uses} the {thing}.",), 0.4),
        Beat("gone", ("This morning the {thing} [is/are] gone.", "This morning {hero} can not find the {thing}.")),
        Beat("feel", ("{hero} is sad.", "{he} asks {himself} where the {noun} can be.")),
        Beat("look", ("{hero} looks {spot} in the {room}, but the {noun} [is/are] not there.",)),
        Beat("help", ("{friend} comes to help {hero}.", "{hero} asks {friend} to help {him}.")),
        Beat("seek", ("Together {hero} and {friend} look in the {other_room}.",), 0.5),
        Beat("find", ("At noon {friend} finds the {thing} {other_spot} in the {other_room}.",)),
        Beat("state", ("The {noun} {other_spot} [is/are] dusty, but not broken.",), 0.4),
        Beat("give", ("{friend} gives the {thing} back to {hero}.",)),
        Beat("end", ("Now {hero} is happy, and {he} thanks {friend}.", "{hero} is happy again and thanks {friend}.")),
    ),
    _plot(
        "stuck",
        Beat("go", ("In the morning {hero} goes to the {place} with {a_thing}.",)),
        SCENE,
        Beat("use", ("{hero} {uses} the {thing} all by {himself}.",), 0.6),
        Beat("stuck", ("Oh no, now the {thing} [is/are] stuck in the {trap}.",)),
        Beat("reach", ("{hero} can not reach the {noun}, because the {trap} is too {why}.",)),
        Beat("feel", ("{hero} is sad, but {friend} has an idea.", "{friend} sees that {hero} is sad.")),
        Beat("fetch", ("{friend} gets the {tool} from the {tool_home}.",)),
        Beat("save", ("With the {tool} {friend} gets the {thing} out of the {trap}.",)),
        Beat("tidy", ("Then {hero} takes the {tool} back to the {tool_home}.",), 0.5),
        Beat("end", ("In the evening {hero} is happy, and {he} thanks {friend}.",)),
    ),
    _plot(
        "swap",
        Beat("have", ("{hero} has {a_sized_thing}.",)),
        Beat("other", ("{friend} has {an_other_sized_thing}.",)),
        Beat("wrong", ("But the {thing} [is/are] too {size} for {hero}.",)),
        Beat("also", ("The {other_thing} [is/are] too {other_size} for {friend}.",)),
        Beat("idea", ("So {hero} and {friend} want to trade.", "{hero} asks {friend} to trade with {him}.")),
        Beat("give", ("At noon {hero} gives the {thing} to {friend}.",)),
        Beat("take", ("{friend} gives the {other_thing} to {hero}.",)),
        Beat("now", ("Now the {thing} [belongs/belong] to {friend}.", "Now the {other_thing} [belongs/belong] to {hero}.")),
        Beat("look", ("{hero} and {friend} look at themselves and smile.",), 0.6),
        Beat("end", ("In the evening {hero} wears the {other_thing}, and {friend} wears the {thing}.",), 0.7),
        wearable=True,
        gives_away=True,
    ),
    _plot(
        "gift",
        Beat("day", ("Today is the birthday of {friend}.",)),
        Beat("wish", ("{hero} wants to give {friend} a gift.",)),
        Beat("buy", ("In the morning {hero} goes to the market and buys {a_thing}.",)),
        Beat("card", ("{hero} makes a {colour} card for {friend} {himself}.", "{he} makes a {colour} card too."), 0.6),
        Beat("wrap", ("{hero} puts the {thing} in a big box for {friend}.",)),
        Beat("visit", ("In the evening {hero} takes the box to {friend}.",)),
        Beat("open", ("{friend} opens the box and sees the {thing}.",)),
        Beat("now", ("Now the {thing} [belongs/belong] to {friend}.",), 0.6),
        Beat("end", ("{friend} is happy, and {fhe} thanks {hero}.", "{friend} hugs {hero} and {uses} the {thing}.")),
        gives_away=True,
    ),
    _plot(
        "storm",
        Beat("plan", ("{hero} and {friend} want to eat lunch at the {place}.",)),
        Beat("walk", ("In the morning {hero} and {friend} walk to the {place}.",)),
        SCENE,
        Beat("sky", ("At noon the sky over the {place} is {sky}.",)),
        Beat("storm", ("The {storm} {storm_does}, and {hero} is {storm_feel}.",)),
        Beat("feel", ("{friend} is {storm_feel} too, and {fhe} is sad.", "{friend} does not like the {storm}.")),
        Beat("offer", ("{hero} takes {friend} home and gives {fhim} {a_thing}.",)),
        Beat("play", ("{hero} and {friend} {use} the {thing} in the warm {room}.",)),
        Beat("end", ("In the evening the {storm} stops, and {hero} and {friend} are happy.",)),
    ),
    _plot(
        "quarrel",
        Beat("want", ("{hero} and {friend} both want the {thing}.",)),
        Beat("claim", ("{hero} says that the {noun} [belongs/belong] to {him}.",)),
        Beat("deny", ("{friend} says no, the {noun} [belongs/belong] to {fhim}.",), 0.6),
        Beat("angry", ("{hero} is angry, and {friend} is angry too.",)),
        Beat("leave", ("So {friend} goes to the {place} all by {fhimself}.",)),
        SCENE,
        Beat("lonely", ("{hero} has the {thing}, but {he} is lonely.", "{hero} {uses} the {thing}, but {he} is lonely.")),
        Beat("sorry", ("At noon {hero} goes to the {place} and says sorry to {friend}.",)),
        Beat("also", ("{friend} is sorry too and hugs {hero}.",)),
        Beat("end", ("Now {hero} and {friend} {use} the {thing} together.", "They {use} the {thing} together.")),
    ),
    _plot(
        "bake",
        Beat("ill", ("{neighbour} is ill today.", "Today {neighbour} is ill and stays in bed.")),
        Beat("wish", ("{hero} wants to make {a_dish} for {neighbour}.",)),
        Beat("ask", ("{friend} wants to help {hero}.", "{hero} asks {friend} to help {him}."), 0.7),
        Beat("fetch", ("In the morning {friend} gets {number} {topping} from the garden.",)),
        Beat("make", ("{hero} and {friend} make the {dish} with the {number} {topping}.",)),
        Beat("ready", ("At noon the {dish} with the {topping} is ready.", "At noon the {topping} on the {dish} are hot.")),
        Beat("bring", ("{hero} and {friend} bring the {dish} to {neighbour}.",)),
        Beat("taste", ("{neighbour} eats the {dish}, and it tastes {taste}.",)),
        Beat("end", ("In the evening {neighbour} feels better, and {nhe} thanks {hero} and {friend}.",)),
        Beat("proud", ("{hero} and {friend} are proud of themselves.",), 0.5),
    ),
    _plot(
        "mend",
        Beat("broken", ("The {thing} of {hero} [is/are] broken.", "{hero} has {a_thing}, but [it is/they are] broken.")),
        Beat("feel", ("{hero} is sad, because {he} can not {use} the {noun}.",)),
        Beat("try", ("{hero} wants to mend the {thing} {himself}.",)),
        Beat("need", ("For the {thing} {hero} needs the {mend_tool}.",)),
        Beat("where", ("The {mend_tool} is in the {mend_home}, and {friend} knows it.",), 0.5),
        Beat("fetch", ("{friend} gets the {mend_tool} from the {mend_home}.",)),
        Beat("work", ("With the {mend_tool} {hero} and {friend} mend the {thing}.",)),
        Beat("whole", ("At noon the {thing} [is/are] not broken any more.",)),
        Beat("proud", ("{hero} is proud of {himself} and thanks {friend}.",)),
        Beat("end", ("In the evening {hero} {uses} the {thing} again.",), 0.6),
    ),
    _plot(
        "pet",
        Beat("have", ("{hero} has a little {fur} {animal}.", "The little {fur} {animal} belongs to {hero}.")),
        Beat("open", ("This morning the gate is open, and the {animal} runs away.",)),
        Beat("call", ("{hero} calls the {fur} {animal}, but it does not come.",)),
        Beat("feel", ("{hero} is afraid for the {animal}, but {friend} has an idea.", "{friend} sees that {hero} is sad.")),
        Beat("food", ("The {animal} likes {food}, so {friend} brings {food} to the {place}.",)),
        SCENE,
        Beat("voice", ("{hero} puts the {food} near the {landmark} and waits for the {animal}.",)),
        Beat("find", ("At noon the {fur} {animal} comes and {voice}.",)),
        Beat("close", ("Now the gate is closed, and {hero} hugs the {animal}.",)),
        Beat("end", ("In the evening the {fur} {animal} sleeps, and {hero} thanks {friend}.",)),
    ),
    _plot(
        "seeds",
        Beat("plant", ("{hero} plants {number} {colour} {flowers} in the garden.",)),
        Beat("small", ("In spring the {number} {colour} {flowers} are small.",)),
        Beat("water", ("Every morning {hero} gives the {colour} {flowers} water.", "Every morning {friend} waters them."), 0.7),
        Beat("dry", ("One day {hero} is ill, and the {flowers} are dry.",)),
        Beat("help", ("So {friend} gives the {flowers} water for {hero}.",)),
        Beat("tall", ("In summer the {number} {colour} {flowers} are tall.",)),
        Beat("proud", ("{hero} is proud of {himself} and of {friend}.",), 0.5),
        Beat("pick", ("{hero} picks one {colour} {flower} for {friend}.",)),
        Beat("left", ("Now {flowers_left} left in the garden.",)),
        Beat("end", ("{friend} smells the {colour} {flower} and smiles at {hero}.",)),
    ),
    _plot(
        "market",
        Beat("see", ("In the morning {hero} and {friend} see {a_thing} at the market.",)),
        Beat("cost", ("The {thing} at the market [costs/cost] {sum} coins.",)),
        Beat("less", ("{hero} has only {number} coins.",)),
        Beat("feel", ("{hero} is sad, because {he} wants the {thing}.",)),
        Beat("more", ("{friend} has {other_number} coins and wants to share with {hero}.",)),
        Beat("sum", ("Together {hero} and {friend} have {sum} coins.",)),
        Beat("buy", ("So {hero} and {friend} buy the {thing} for {sum} coins.", "So they buy the {thing} for {sum} coins.")),
        Beat("share", ("Now the {thing} [belongs/belong] to {hero} and {friend}.",), 0.6),
        Beat("end", ("In the evening {hero} and {friend} {use} the {thing} together.",)),
    ),
    _plot(
        "night",
        Beat("tent", ("In the evening {hero} and {friend} sleep in a {colour} tent.",)),
        Beat("dark", ("At night it is dark in the {colour} tent.",)),
        Beat("noise", ("{hero} hears a noise and can not sleep.",)),
        Beat("fear", ("{hero} is afraid, and {he} hides {himself} under a pillow.", "{hero} is afraid and wakes {friend}.")),
        Beat("brave", ("{friend} is not afraid, {fhe} is brave.",)),
        Beat("light", ("{friend} takes the lamp and looks out of the {colour} tent.",)),
        Beat("see", ("{friend} sees a little {night_animal} with {number} young ones.",)),
        Beat("tell", ("{friend} tells {hero} about the {night_animal} and the {number} young ones.",)),
        Beat("laugh", ("{hero} laughs at {himself}, and {friend} laughs too.",)),
        Beat("end", ("In the morning {hero} is not afraid of the dark any more.",)),
    ),
    _plot(
        "race",
        Beat("have", ("{hero} has a {colour} bike, and {friend} has {an_other_colour} bike.",)),
        Beat("plan", ("In the morning {hero} and {friend} race to the {place}.",)),
        Beat("fast", ("The {colour} bike of {hero} is fast, and the {other_colour} bike is slow.",)),
        SCENE,
        Beat("fall", ("But {hero} falls off the {colour} bike and hurts {himself}.", "But {hero} falls and hurts {himself}.")),
        Beat("stop", ("{friend} could win, but {fhe} stops for {hero}.",)),
        Beat("help", ("{friend} gets off the {other_colour} bike and helps {hero}.",)),
        Beat("together", ("At noon {hero} and {friend} reach the {place} together.",)),
        Beat("won", ("Nobody wins, but {hero} and {friend} are proud of themselves.",), 0.7),
        Beat("end", ("In the evening {hero} thanks {friend} for the help.",)),
    ),
)
