"""Lessons 1 to 4: how BERT reads, the two games by which it learns, and what goes in.

No number about a model stands here: names in braces are measured when they are asked for.
"""

from bertviz_lab.ui.lessons import claims
from bertviz_lab.ui.lessons.lesson import TOWN, Lesson, Place, Step

_BIKE = "Leo has a [MASK] bike. The blue bike of Leo is fast."
_MASKED = "The yellow truck of Leo is broken. In the evening Noah mends the slow yellow truck for Leo."  # twenty tokens
_BIKES = "Leo has a blue bike, and Mia has a red bike."


def _follows(sentence: str) -> Place:
    return Place("next", fields={"a": _BIKES, "b": sentence})


GAMES = (
    Lesson(
        number=1,
        title="Both sides at once",
        minutes=5,
        model=TOWN,
        idea="BERT reads a whole text at once: at every word it knows what comes before and what comes after. GPT "
        "reads from left to right: at every word it knows only what came before. This is the “bidirectional” in "
        "BERT's full name.",
        look=(
            Step(
                "A word is hidden here, and what tells it comes after it. See what the model writes.",
                Place("fill", fields={"text": _BIKE, "word": "blue"}),
            ),
        ),
        example=_BIKE,
        question="Now the same model may look only backwards from the blank, as GPT does. How sure of “blue” will it "
        "be?",
        choices=(
            "Just as sure: it has read many stories like this one.",
            "Much less sure: “blue” is one colour among others.",
            "Not at all: it will never think of “blue”.",
        ),
        answer=1,
        claim=claims.both_sides,
        reveal=(
            "Reading both sides, it gives “blue” {both}; reading forwards only, {forwards}. The colour stands after "
            "the blank, and there it must not look.",
            "Whoever writes a text word by word, as GPT does, has to read like this. Whoever wants to understand a "
            "text that is already there need not, and sees more.",
        ),
        proof=(
            Step(
                "Both answers beside each other; take the tick off and put it back.",
                Place("why", "change", {"text": _BIKE, "word": "blue", "causal": "1"}),
            ),
            Step(
                "What becomes of the attention: everything that led to later words is gone.",
                Place("attention", "difference", {"a": _BIKE, "kind": "causal"}),
            ),
        ),
        formula="reading forwards only: attention(i, j) = 0 for every j > i",
        formula_says="Token i gives no weight to a token j that comes after it; what is left still adds up to 1.",
        source="Devlin et al. 2018, section 1 and figure 3",
        measured_by="How likely “blue” is in the blank",
    ),
    Lesson(
        number=2,
        title="A game of blanks",
        minutes=5,
        model=TOWN,
        idea="BERT learns by a game: 15 of 100 tokens are chosen, and it has to say what stood there. Of the chosen "
        "ones 80% become `[MASK]`, 10% become another token, drawn at random, and 10% stay as they are.",
        look=(
            Step(
                "Press Mask again a few times: it is other tokens each time, and not every chosen one is a blank.",
                Place("masking", fields={"text": _MASKED, "seed": "1"}),
            ),
        ),
        example=_MASKED,
        question="Of 1,000 tokens that the model reads while it learns, how many are `[MASK]`?",
        choices=("800", "150", "120", "80"),
        answer=2,
        claim=claims.masking,
        reveal=(
            "The sentence was masked {draws} times: of 1,000 tokens {mask} were `[MASK]`, {random} were another "
            "token, and {kept} were chosen but left as they are. 15% of 80% is 12%.",
            "Why not always `[MASK]`? No text that the model is used on later holds one. A model that is asked about "
            "blanks only need not care for the words that it can see. As any word may be a wrong one, and any may be "
            "asked for, it has to keep a vector for every token that suits its surroundings.",
        ),
        proof=(
            Step(
                "All draws counted. Then change the rule above to 100 percent `[MASK]` and 0 percent random tokens, "
                "and see what is missing.",
                Place("masking", "draws", {"text": _MASKED, "seed": "1", "draws": "10000"}),
            ),
            Step(
                "What each chosen place costs the model, blanks or not.",
                Place("masking", "loss", {"text": _MASKED, "seed": "1"}),
            ),
        ),
        formula="0.15 × 0.80 = 0.12      0.15 × 0.10 = 0.015      0.15 × 0.10 = 0.015",
        formula_says="The share of all tokens that is shown as [MASK], as a random token, and as it is. The loss "
        "looks at all three, and at no other token.",
        source="Devlin et al. 2018, sections 3.1 and A.1",
        measured_by="Of 1,000 tokens",
    ),
    Lesson(
        number=3,
        title="Does B follow A?",
        minutes=5,
        model=TOWN,
        idea="BERT's second game: of two sentences, does B follow A, or does it come from another text? Half of the "
        "time each is true. So that the model knows which is which, every token carries a segment: 0 for sentence A, "
        "1 for sentence B.",
        look=(
            Step(
                "How the pair is written: `[CLS]` A `[SEP]` B `[SEP]`, and the segment under each token.",
                Place("input", fields={"a": _BIKES, "b": "The blue bike of Leo is fast."}),
            ),
            Step("What the model says of this pair.", _follows("The blue bike of Leo is fast.")),
        ),
        example=f"A: {_BIKES} B: The yellow bike of Leo is fast.",
        question="Leo's bike is blue. Now sentence B speaks of a yellow bike of Leo's, which there is not. Will the "
        "model still say that B follows A?",
        choices=(
            "No: the two sentences contradict each other.",
            "Yes, and as surely as before.",
            "It cannot decide: about one half.",
        ),
        answer=1,
        claim=claims.next_sentence,
        reveal=(
            "Of the blue bike it says with {true} that B follows, and of the yellow one with {wrong}; of two roses in "
            "spring with {other}.",
            "To win this game it is enough to see what two sentences are about, so that is what a model learns from "
            "it; whether they agree is another question. RoBERTa (2019) left the game out, and ALBERT (2019) put a "
            "harder one in its place: are the two in their right order?",
        ),
        proof=(
            Step("The yellow bike. Open Which words say so?", _follows("The yellow bike of Leo is fast.")),
            Step("Two roses in spring.", _follows("In spring the two roses are small.")),
        ),
        formula="p(B follows A) = softmax(W · tanh(P · h[CLS] + c) + b)₀",
        formula_says="The last vector of [CLS] goes through the pooler P and one more matrix W; class 0 is “follows”.",
        source="Devlin et al. 2018, section 3.1, task 2",
        measured_by="How likely it is, to the model, that B follows",
    ),
    Lesson(
        number=4,
        title="Three vectors make one",
        minutes=5,
        model=TOWN,
        idea="To a model each token is a row of numbers, a vector: the sum of one for the token, one for its segment "
        "and one for its position. Attention by itself knows no order. It sees words as in a bag, and only the "
        "positions tell the first from the last.",
        look=(
            Step(
                "The word “bike” stands here twice. See of what its vectors are made.",
                Place("input", "sum", {"a": _BIKES, "b": ""}),
            ),
        ),
        example=_BIKES,
        question="Before the first layer: are the two vectors of “bike” the same?",
        choices=(
            "Yes: it is the same word.",
            "No: they stand at different places.",
            "No: one bike is blue and the other one is red.",
        ),
        answer=1,
        claim=claims.embeddings,
        reveal=(
            "The two token vectors are the same: their cosine is {token}. The sums are not, it is {total}, because "
            "each place adds a vector of its own.",
            "Of colours nothing is in there yet: only the layers bring in what stands around. At the same place in "
            "two sentences “bike” begins the same, {first}, and leaves the last layer at {last}.",
        ),
        proof=(
            Step(
                "One word in two sentences: the layers pull its two vectors apart.",
                Place("vectors", "way", {"a": "Leo has a blue bike.", "b": "Mia wants a red bike.", "common": "bike"}),
            ),
        ),
        formula="xᵢ = LayerNorm(token(wᵢ) + segment(sᵢ) + position(i))",
        formula_says="What enters the first layer for the i-th token. All three are rows of tables that are learnt.",
        source="Devlin et al. 2018, section 3 and figure 2",
        measured_by="How alike the two are: the cosine, 1 where they point the same way",
    ),
)
