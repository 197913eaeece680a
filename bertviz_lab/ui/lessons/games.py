"""Lessons 1 to 4: bidirectional context, the two pretraining objectives, and the input embeddings.

No number about a model is written here: names in braces are measured on demand.
"""

from bertviz_lab.ui.lessons import claims
from bertviz_lab.ui.lessons.lesson import TOWN, Lesson, Place, Step

_BIKE = "Leo has a [MASK] bike. The blue bike of Leo is fast."
_MASKED = "The yellow truck of Leo is broken. In the evening Noah mends the slow yellow truck for Leo."  # twenty tokens
_BIKES = "Leo has a blue bike, and Mia has a red bike."


def _follows(sentence: str) -> Place:
    return Place("predictions", _BIKES, sentence)


GAMES = (
    Lesson(
        number=1,
        title="Bidirectional context",
        minutes=5,
        model=TOWN,
        idea="BERT encodes a whole text at once: every token attends to the tokens before it and after it. GPT uses a "
        "causal mask: every token attends only to those before it. This is the “bidirectional” in BERT's full name.",
        look=(
            Step(
                "The word that decides this masked token comes after it. See what the model predicts.",
                Place("predictions", _BIKE, settings={"word": "blue"}),
            ),
        ),
        example=_BIKE,
        question="Now the same model gets a causal mask, as in GPT: `[MASK]` attends only to the tokens before it. "
        "What probability will “blue” have?",
        choices=(
            "The same: it has read many stories like this one.",
            "Much lower: “blue” is one colour among others.",
            "Near zero: “blue” will be out of the question.",
        ),
        answer=1,
        claim=claims.both_sides,
        reveal=(
            "With bidirectional attention “blue” has a probability of {both}; with a causal mask, {causal}. The "
            "colour comes after `[MASK]`, where the causal mask does not let it attend.",
            "A model that generates text token by token, as GPT does, needs a causal mask. An encoder of text that is "
            "already complete does not, and has more context.",
        ),
        proof=(
            Step(
                "Both predictions side by side; untick the box and tick it again.",
                Place("attribution", _BIKE, part="intervention", settings={"choice": "blue", "causal": "1"}),
            ),
            Step(
                "The attention: all weights on later tokens are gone.",
                Place("attention", _BIKE, part="difference", settings={"against": "causal"}),
            ),
        ),
        formula="causal mask: attention(i, j) = 0 for every j > i",
        formula_says="Token i gives no weight to a token j that comes after it; the remaining weights still sum to 1.",
        source="Devlin et al. 2018, section 1 and figure 3",
        measured_by="Probability of “blue” at [MASK]",
    ),
    Lesson(
        number=2,
        title="Masked language modelling",
        minutes=5,
        model=TOWN,
        idea="BERT's main pretraining objective is masked language modelling (MLM): 15% of the tokens are selected, "
        "and the model has to predict them. Of the selected tokens 80% become `[MASK]`, 10% become a random token, and "
        "10% are left unchanged.",
        look=(
            Step(
                "Press Mask again a few times: other tokens are selected each time, and not all of them become "
                "`[MASK]`.",
                Place("tokens", _MASKED, part="masking", settings={"seed": "1"}),
            ),
        ),
        example=_MASKED,
        question="Of 1,000 tokens of training input, how many are `[MASK]`?",
        choices=("800", "150", "120", "80"),
        answer=2,
        claim=claims.masking,
        reveal=(
            "The sentence was masked {draws} times: of 1,000 tokens {mask} were `[MASK]`, {random} were a random "
            "token, and {kept} were selected but left unchanged. 80% of 15% is 12%.",
            "Why not always `[MASK]`? It never occurs in downstream tasks. A model that is only ever asked about "
            "`[MASK]` need not represent the other tokens well. Since any token may be wrong, and any may be a target, "
            "the model has to keep a contextual embedding of every token.",
        ),
        proof=(
            Step(
                "Statistics of all draws. Then change the rule above to 100 percent `[MASK]` and 0 percent random "
                "tokens, and see what is missing.",
                Place("tokens", _MASKED, part="statistics", settings={"seed": "1", "draws": "10000"}),
            ),
            Step(
                "The MLM loss at each selected position, masked or not.",
                Place("tokens", _MASKED, part="loss", settings={"seed": "1"}),
            ),
        ),
        formula="0.15 × 0.80 = 0.12      0.15 × 0.10 = 0.015      0.15 × 0.10 = 0.015",
        formula_says="The shares of all tokens that are [MASK], a random token, and unchanged. The MLM loss is "
        "computed at these three kinds of positions only.",
        source="Devlin et al. 2018, sections 3.1 and A.1",
        measured_by="Of 1,000 tokens",
    ),
    Lesson(
        number=3,
        title="Next-sentence prediction",
        minutes=5,
        model=TOWN,
        idea="BERT's second pretraining objective is next-sentence prediction (NSP): does sentence B follow sentence "
        "A, or does it come from another document? Each is true half of the time. Segment ids tell the sentences "
        "apart: 0 for the tokens of A, 1 for those of B.",
        look=(
            Step(
                "The input format: `[CLS]` A `[SEP]` B `[SEP]`, with the segment id under each token.",
                Place("tokens", _BIKES, "The blue bike of Leo is fast."),
            ),
            Step("The prediction for this pair.", _follows("The blue bike of Leo is fast.")),
        ),
        example=f"A: {_BIKES} B: The yellow bike of Leo is fast.",
        question="Leo's bike is blue. Now sentence B is about a yellow bike of Leo's, which does not exist. Will the "
        "model still predict that B follows A?",
        choices=(
            "No: the two sentences contradict each other.",
            "Yes, with the same confidence.",
            "Undecided: about one half.",
        ),
        answer=1,
        claim=claims.next_sentence,
        reveal=(
            "For the blue bike the probability that B follows is {true}, for the yellow one {wrong}, for two roses in "
            "spring {other}.",
            "NSP can be solved by topic alone, so topic is what a model learns from it, not consistency. RoBERTa "
            "(2019) dropped NSP, and ALBERT (2019) replaced it by the harder sentence-order prediction (SOP): are the "
            "two sentences in the right order?",
        ),
        proof=(
            Step(
                "The yellow bike. Then open the panel Attribution: which tokens decide?",
                _follows("The yellow bike of Leo is fast."),
            ),
            Step("Two roses in spring.", _follows("In spring the two roses are small.")),
        ),
        formula="p(B follows A) = softmax(W · tanh(P · h[CLS] + c) + b)₀",
        formula_says="The last hidden state of [CLS] goes through the pooler P and a linear layer W; class 0 = IsNext.",
        source="Devlin et al. 2018, section 3.1, task 2",
        measured_by="Predicted probability that B follows A",
    ),
    Lesson(
        number=4,
        title="Input embeddings",
        minutes=5,
        model=TOWN,
        idea="The input embedding of each token is the sum of three learned vectors: a token embedding, a segment "
        "embedding and a position embedding. Self-attention by itself is permutation-invariant: without position "
        "embeddings, a text is a bag of words.",
        look=(
            Step(
                "The word “bike” occurs twice here. See how its input embeddings are composed.",
                Place("layers", _BIKES, part="sum"),
            ),
        ),
        example=_BIKES,
        question="Before the first layer: are the two input embeddings of “bike” the same?",
        choices=(
            "Yes: it is the same word.",
            "No: their positions differ.",
            "No: one bike is blue and the other one is red.",
        ),
        answer=1,
        claim=claims.embeddings,
        reveal=(
            "The two token embeddings are the same: their cosine is {token}. The sums are not: it is {total}, because "
            "each position adds its own embedding.",
            "They know nothing of the colours yet: context comes in only through the layers. At the same position in "
            "two sentences the embeddings of “bike” start with a cosine of {first}; after the last layer it is {last}.",
        ),
        proof=(
            Step(
                "One word in two contexts: the layers make its two embeddings diverge.",
                Place(
                    "embeddings",
                    "Leo has a blue bike.",
                    "Mia wants a red bike.",
                    part="contexts",
                    settings={"common": "bike"},
                ),
            ),
        ),
        formula="xᵢ = LayerNorm(token(wᵢ) + segment(sᵢ) + position(i))",
        formula_says="The input of the first layer for the i-th token. All three are rows of learned embedding "
        "matrices.",
        source="Devlin et al. 2018, section 3 and figure 2",
        measured_by="Cosine similarity of the two; 1 is the same direction",
    ),
)
