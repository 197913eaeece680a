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


#: The one beat that may be said at any time: who is around.
#: Its subject and the noun beside its verb often differ in number.
SCENE = Beat("scene", ("The {resident} near the {landmark} {resident_does}.",), 0.5)


def _plot(name: str, *beats: Beat, wearable: bool = False, gives_away: bool = False) -> Plot:
    return Plot(name, beats, wearable, gives_away)


PLOTS = (
    _plot(
        "lost",
        Beat("have", ("{hero} has {a_thing}.", "The {thing} [belongs/belong] to {hero}.")),
        Beat("gone", ("Today the {thing} [is/are] gone.", "Today {hero} can not find the {thing}.")),
        Beat("feel", ("{hero} is sad.", "{hero} asks {himself} where [it is/they are].")),
        Beat("look", ("{hero} looks {spot} in the {room}.", "{he} looks {spot} in the {room}.")),
        Beat("none", ("The {noun} [is/are] not there.",), 0.4),
        Beat("help", ("{friend} wants to help {hero}.", "{hero} asks {friend} for help.")),
        Beat("find", ("{friend} finds the {thing} {other_spot}.",)),
        Beat("state", ("The {noun} {other_spot} [is/are] dusty.",), 0.4),
        Beat("give", ("{friend} gives the {thing} to {hero}.",), 0.7),
        Beat("end", ("Now {hero} is happy and thanks {friend}.", "{hero} is happy, and {he} thanks {friend}.")),
    ),
    _plot(
        "stuck",
        Beat("go", ("{hero} takes the {thing} to the {place}.",)),
        SCENE,
        Beat("use", ("{hero} {uses} the {thing} by {himself}.",), 0.5),
        Beat("stuck", ("The {thing} [is/are] stuck in the {trap}.",)),
        Beat("reach", ("The {trap} is too {why} for {hero}.",)),
        Beat("feel", ("{hero} is sad, but {friend} has an idea.", "{friend} sees that {hero} is sad.")),
        Beat("fetch", ("{friend} gets the {tool} from the {tool_home}.",)),
        Beat("save", ("With the {tool} {friend} gets the {thing}.",)),
        Beat("end", ("Now {hero} is happy and thanks {friend}.", "{hero} is happy, and {he} thanks {friend}.")),
    ),
    _plot(
        "swap",
        Beat("have", ("{hero} has {a_sized_thing}.",)),
        Beat("other", ("{friend} has {an_other_sized_thing}.",)),
        Beat("wrong", ("The {thing} [is/are] too {size} for {hero}.",)),
        Beat("also", ("The {other_thing} [is/are] too {other_size} for {friend}.",)),
        Beat("idea", ("{hero} and {friend} want to trade.", "{hero} asks {friend} to trade.")),
        Beat("give", ("{hero} gives the {thing} to {friend}.",)),
        Beat("take", ("{friend} gives the {other_thing} to {hero}.",)),
        Beat(
            "now",
            ("Now the {thing} [belongs/belong] to {friend}.", "Now the {other_thing} [belongs/belong] to {hero}."),
        ),
        Beat("end", ("{hero} and {friend} look at themselves.", "They look at themselves and smile."), 0.5),
        wearable=True,
        gives_away=True,
    ),
    _plot(
        "gift",
        Beat("day", ("Today is the birthday of {friend}.",)),
        Beat("wish", ("{hero} wants to give {friend} a gift.",)),
        Beat("buy", ("In the morning {hero} buys {a_thing}.", "In the morning {he} buys {a_thing}.")),
        Beat("card", ("{hero} makes a card {himself}.",), 0.5),
        Beat("wrap", ("{hero} puts the {thing} in a box.", "{he} puts the {thing} in a box.")),
        Beat("visit", ("In the evening {hero} visits {friend}.",)),
        Beat("open", ("{friend} opens the box and sees the {thing}.",)),
        Beat("now", ("Now the {thing} [belongs/belong] to {friend}.",), 0.6),
        Beat("end", ("{friend} is happy, and {fhe} hugs {hero}.", "{friend} is happy and hugs {hero}.")),
        gives_away=True,
    ),
    _plot(
        "storm",
        Beat("walk", ("In the morning {hero} and {friend} walk to the {place}.",)),
        SCENE,
        Beat("sky", ("At noon the sky is {sky}.",)),
        Beat("storm", ("The {storm} {storm_does}, and {hero} is {storm_feel}.",)),
        Beat("feel", ("{friend} is {storm_feel} too, and {fhe} is sad.", "{friend} does not like the {storm}.")),
        Beat("home", ("{hero} and {friend} run home.", "They run home.")),
        Beat("offer", ("{hero} gives {friend} {a_thing}.",)),
        Beat("keep", ("{friend} wears the {thing} and is warm.", "Now the {thing} [keeps/keep] {friend} warm.")),
        Beat("end", ("In the evening {hero} and {friend} are happy.",), 0.6),
        wearable=True,
    ),
    _plot(
        "quarrel",
        Beat("want", ("{hero} and {friend} want the {thing}.",)),
        Beat("claim", ("{hero} says that the {noun} [belongs/belong] to {him}.",)),
        Beat("angry", ("{hero} is angry, and {friend} is angry too.", "{friend} is angry, and {hero} is angry too.")),
        Beat("leave", ("{friend} goes to the {place} by {fhimself}.",)),
        SCENE,
        Beat("lonely", ("{hero} has the {thing}, but {he} is lonely.",)),
        Beat("follow", ("At noon {hero} goes to the {place} too.",), 0.6),
        Beat("sorry", ("{hero} says sorry to {friend}.",)),
        Beat("end", ("Now {hero} and {friend} {use} the {thing}.", "Now they {use} the {thing} together.")),
    ),
    _plot(
        "bake",
        Beat("ill", ("{neighbour} is ill today.",)),
        Beat("wish", ("{hero} wants to make {a_dish} for {neighbour}.",)),
        Beat("fetch", ("{friend} gets {number} {topping} from the garden.",)),
        Beat("make", ("{hero} and {friend} make the {dish}.", "They make the {dish}.")),
        Beat("ready", ("The {dish} with the {topping} is ready.", "The {topping} on the {dish} are hot.")),
        Beat("bring", ("{hero} brings the {dish} to {neighbour}.", "They bring the {dish} to {neighbour}.")),
        Beat("taste", ("{neighbour} eats the {dish}, and it tastes {taste}.",)),
        Beat("end", ("{neighbour} feels better, and {nhe} thanks {hero}.",), 0.7),
        Beat("proud", ("{hero} and {friend} are proud of themselves.",), 0.5),
    ),
    _plot(
        "mend",
        Beat(
            "broken", ("The {thing} of {hero} [is/are] broken.", "{hero} has {a_thing}, but [it is/they are] broken.")
        ),
        Beat("feel", ("{hero} can not {use} the {noun} and is sad.",)),
        Beat("try", ("{hero} wants to mend the {thing} {himself}.",)),
        Beat("need", ("For the {noun} {hero} needs the {mend_tool}.", "For the {noun} {he} needs the {mend_tool}.")),
        Beat("fetch", ("{friend} gets the {mend_tool} from the {mend_home}.",)),
        Beat("work", ("With the {mend_tool} {hero} mends the {thing}.",)),
        Beat("whole", ("At noon the {thing} [is/are] not broken any more.",)),
        Beat("proud", ("{hero} is proud of {himself}.", "{hero} is happy, and {he} thanks {friend}.")),
    ),
    _plot(
        "pet",
        Beat("have", ("{hero} has a little {fur} {animal}.", "The little {fur} {animal} belongs to {hero}.")),
        Beat("open", ("Today the gate is open, and the {animal} runs away.",)),
        Beat("call", ("{hero} calls the {animal}, but it does not come.",)),
        Beat("feel", ("{hero} is sad, but {friend} has an idea.", "{friend} sees that {hero} is sad.")),
        Beat("food", ("{friend} brings {food} for the {fur} {animal}.",)),
        SCENE,
        Beat("find", ("At noon the {fur} {animal} comes and {voice}.",)),
        Beat("close", ("Now the gate is closed, and {hero} is happy.",)),
        Beat("end", ("In the evening {hero} thanks {friend}.",), 0.6),
    ),
    _plot(
        "seeds",
        Beat("plant", ("{hero} plants {number} {colour} {flowers}.",)),
        Beat("small", ("In spring the {colour} {flowers} are small.",)),
        Beat("dry", ("{hero} is ill, and the {flowers} are dry.",)),
        Beat("help", ("So {friend} gives the {flowers} water.",)),
        Beat("tall", ("In summer the {number} {colour} {flowers} are tall.",)),
        Beat("proud", ("{hero} is proud of {himself}.",), 0.4),
        Beat("pick", ("{hero} picks one {flower} for {friend}.",)),
        Beat("left", ("Now {flowers_left} left in the garden.",)),
        Beat("end", ("{friend} smells the {colour} {flower} and smiles at {hero}.",)),
    ),
    _plot(
        "market",
        Beat("see", ("{hero} sees {a_thing} at the market.",)),
        Beat("cost", ("The {thing} at the market [costs/cost] {sum} coins.",)),
        Beat("less", ("{hero} has only {number} coins.",)),
        Beat("more", ("{friend} has {other_number} coins.",)),
        Beat("sum", ("Together they have {sum} coins.",)),
        Beat("buy", ("So {hero} and {friend} buy the {thing}.", "So they buy the {thing}.")),
        Beat("share", ("Now the {thing} [belongs/belong] to {hero} and {friend}.",), 0.6),
        Beat("end", ("In the evening {hero} and {friend} {use} the {thing}.",), 0.7),
    ),
    _plot(
        "night",
        Beat("tent", ("In the evening {hero} and {friend} sleep in a {colour} tent.",)),
        Beat("noise", ("{hero} hears a noise and is afraid.", "{hero} is afraid of the dark.")),
        Beat("fear", ("{hero} hides {himself} under a pillow.", "{hero} can not sleep and wakes {friend}.")),
        Beat("brave", ("{friend} is not afraid, {fhe} is brave.",)),
        Beat("light", ("{friend} looks out of the {colour} tent.", "{fhe} looks out of the {colour} tent.")),
        Beat("see", ("{friend} sees {number} little {night_animals}.",)),
        Beat("laugh", ("{hero} laughs at {himself}, and {friend} laughs too.",)),
        Beat("end", ("In the morning the {number} {night_animals} are gone.",), 0.7),
    ),
    _plot(
        "race",
        Beat("have", ("{hero} has a {colour} bike.",)),
        Beat("other", ("{friend} has a {other_colour} bike.",)),
        Beat("race", ("In the morning {hero} and {friend} race to the {place}.", "They race to the {place}.")),
        SCENE,
        Beat("fast", ("The {colour} bike is fast, and the {other_colour} bike is slow.",)),
        Beat("fall", ("But {hero} falls off the {colour} bike.", "But {hero} falls and hurts {himself}.")),
        Beat("stop", ("{friend} could win, but {fhe} stops for {hero}.",)),
        Beat("help", ("{friend} gets off the {other_colour} bike and helps {hero}.",)),
        Beat("end", ("At noon they reach the {place} together.", "At noon {hero} and {friend} reach the {place}.")),
    ),
)
