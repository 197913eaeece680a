"""Lessons 1 to 4: bidirectional context, the two pretraining objectives, and the input embeddings.

No number about a model is written here: names in braces are measured on demand.
"""

from bertviz_lab.ui.lessons import claims
from bertviz_lab.ui.lessons.cases import MEANINGS, PAIRS, RIGHT_CONTEXT, TWICE
from bertviz_lab.ui.lessons.lesson import ENGLISH, TOWN, Choice, Lesson, Place, Step

_BIKE = "Leo has a [MASK] bike. The blue bike of Leo is fast."
_BIKES = "Leo has a blue bike, and Mia has a red bike."
_MASKED = "The yellow truck of Leo is broken. In the evening Noah mends the slow yellow truck for Leo."  # twenty tokens
_MATCH, _TEAM = RIGHT_CONTEXT[0]
_BANK, _BANKS = TWICE[0]

OBJECTIVES = (
    Lesson(
        number=1,
        title="Bidirectional context",
        minutes=5,
        model=ENGLISH,
        idea="BERT encodes a whole text at once: every token attends to the tokens before it and after it. GPT uses a "
        "causal mask: every token attends only to those before it. This is the “bidirectional” in BERT's full name.",
        look=(
            Step(
                "What comes after `[MASK]` says what kind of thing it is. See what the model predicts.",
                Place("predictions", _MATCH, settings={"word": _TEAM}),
            ),
        ),
        example=_MATCH,
        question="Now the same model gets a causal mask, as in GPT: `[MASK]` attends only to the tokens before it. "
        "What happens to the probability of “team”?",
        choices=(
            Choice(
                "It stays about the same: the verb follows right away.",
                "The verb comes after `[MASK]`: with a causal mask it cannot be attended to, however near it is.",
            ),
            Choice(
                "It rises: fewer words distract the model.",
                "Irrelevant words get little attention anyway. Here the mask hides the words that matter.",
            ),
            Choice("It falls almost to zero: after “The” any noun could stand."),
        ),
        claim=claims.right_context,
        cases="texts in which the words after `[MASK]` say what it is: the probability falls to less than a fifth",
        reveal=(
            "With bidirectional attention “team” has a probability of {both}; with a causal mask, {causal}. All the "
            "evidence for it comes after `[MASK]`, where the causal mask does not let `[MASK]` attend.",
            "In Tiny Town, where a later sentence states the colour of a bike, the right colour has a probability of "
            "{town}, and of {guess} with a causal mask: a guess among the colours, since the words before it call for "
            "a colour but do not say which.",
            "A model that generates text token by token, as GPT does, needs a causal mask. An encoder of text that is "
            "already complete does not, and has more context.",
        ),
        proof=(
            Step(
                "Both predictions side by side; untick Causal mask and tick it again.",
                Place("attribution", _MATCH, part="intervention", settings={"choice": _TEAM, "causal": "1"}),
            ),
            Step(
                "The attention: all weights on later tokens are gone.",
                Place("attention", _MATCH, part="difference", settings={"against": "causal"}),
            ),
            Step(
                "The same for the bike in Tiny Town.",
                Place(
                    "attribution", _BIKE, part="intervention", settings={"choice": "blue", "causal": "1"}, model=TOWN
                ),
            ),
        ),
        formula="causal mask: attention(i, j) = 0 for every j > i",
        formula_says="Token i gives no weight to a token j that comes after it; the remaining weights still sum to 1.",
        source="Devlin et al. 2018, section 1 and figure 3",
        measured_by="Probability of “team” at [MASK]",
        code="model.attention:extended_attention_mask",
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
        choices=(
            Choice("120"),
            Choice("800", "80% is the share of the selected tokens, and only 15% of all tokens are selected."),
            Choice("150", "150 are selected; of these, one in five is not replaced by `[MASK]`."),
            Choice("80", "80% of 15% is 12%, not 8%."),
        ),
        claim=claims.masking,
        cases="texts, each masked many times: the share of `[MASK]` is 12%, give or take a tenth of that",
        reveal=(
            "The sentence was masked {draws} times: of 1,000 tokens {mask} were `[MASK]`, {random} were a random "
            "token, and {kept} were selected but left unchanged. 80% of 15% is 12%.",
            "Why not always `[MASK]`? It never occurs in downstream tasks. A model that is only ever asked about "
            "`[MASK]` need not represent the other tokens well. Since any token may be wrong, and any may be a target, "
            "the model has to keep a contextual embedding of every token. The ablation study of this page trains one "
            "with 100% `[MASK]`, so that the difference can be measured.",
        ),
        proof=(
            Step(
                "Statistics of all draws. Then set `[MASK]` above to 100% and random tokens to 0%, and see what is "
                "missing.",
                Place("tokens", _MASKED, part="statistics", settings={"seed": "1", "draws": "10000"}),
            ),
            Step(
                "The MLM loss at each selected position, masked or not.",
                Place("tokens", _MASKED, part="loss", settings={"seed": "1"}),
            ),
            Step("The card “100% [MASK]” of the ablation study.", Place("ablation")),
        ),
        formula="0.15 × 0.80 = 0.12      0.15 × 0.10 = 0.015      0.15 × 0.10 = 0.015",
        formula_says="The shares of all tokens that are [MASK], a random token, and unchanged. The MLM loss is "
        "computed at these three kinds of positions only.",
        source="Devlin et al. 2018, sections 3.1 and A.1",
        measured_by="Of 1,000 tokens",
        code="data.pretraining.masking:mask_batch",
    ),
    Lesson(
        number=3,
        title="Segments and next-sentence prediction",
        minutes=6,
        model=ENGLISH,
        idea="BERT's second pretraining objective is next-sentence prediction (NSP): does sentence B follow sentence "
        "A, or does it come from another document? Each is true half of the time. Segment ids tell the sentences "
        "apart: 0 for the tokens of A, 1 for those of B.",
        look=(
            Step(
                "The input format: `[CLS]` A `[SEP]` B `[SEP]`, with the segment id under each token.",
                Place("tokens", *PAIRS[0]),
            ),
            Step("The prediction for this pair.", Place("predictions", *PAIRS[0])),
        ),
        example=f"A: {PAIRS[0][0]} B: {PAIRS[0][1]}",
        question="B follows A, and the model predicts that it does. Now all segment ids are set to 0: words, positions "
        "and `[SEP]` stay as they are. What does the model predict?",
        choices=(
            Choice(
                "The same: `[SEP]` and the positions tell the sentences apart as well.",
                "They could: RoBERTa is trained without segment ids and relies on them. This model was trained with "
                "segment ids and relies on those.",
            ),
            Choice("That B does not follow A."),
            Choice(
                "That B follows, with even more confidence: now it looks like one text.",
                "In pretraining a `[SEP]` in the middle always came with two segments, so the model could not learn "
                "that.",
            ),
        ),
        claim=claims.segments,
        cases="pairs: with all segment ids 0 the probability that B follows falls below one half",
        reveal=(
            "With its own segment ids the probability that B follows is {own}; with all of them 0 it is {zero}. As a "
            "control, with the ids of A and B swapped it is {swapped}: what matters most is that the two parts have "
            "different ids.",
            f"NSP teaches less than one might think. After “{_BIKES}” the model of Tiny Town gives “The blue bike of "
            "Leo is fast.” a probability of {true} of following, the same sentence about a yellow bike, which "
            "contradicts A, {wrong}, and one about roses in spring {other}: it judges topic, not consistency. RoBERTa "
            "(2019) dropped NSP, and ALBERT (2019) replaced it by sentence-order prediction.",
        ),
        proof=(
            Step(
                "All segment ids 0; then choose “swapped”.",
                Place("attribution", *PAIRS[0], part="intervention", settings={"segments": "zero"}),
            ),
            Step(
                "The yellow bike, which contradicts A.",
                Place("predictions", _BIKES, "The yellow bike of Leo is fast.", model=TOWN),
            ),
        ),
        formula="p(B follows A) = softmax(W · tanh(P · h[CLS] + c) + b)₀",
        formula_says="The last hidden state of [CLS] goes through the pooler P and a linear layer W; class 0 = IsNext.",
        source="Devlin et al. 2018, sections 3 and 3.1, task 2",
        measured_by="Predicted probability that B follows A",
        code="model.heads:BertForPreTraining.forward",
    ),
    Lesson(
        number=4,
        title="Input embeddings",
        minutes=5,
        model=ENGLISH,
        idea="The input embedding of each token is the sum of three learned vectors: a token embedding, a segment "
        "embedding and a position embedding. Self-attention by itself ignores order (it is permutation-equivariant): "
        "without position embeddings, a text is a bag of words.",
        look=(
            Step(
                "The word “bank” occurs twice here. See how its input embeddings are composed.",
                Place("layers", _BANKS, part="sum"),
            ),
        ),
        example=_BANKS,
        question="Before the first layer: are the two input embeddings of “bank” the same?",
        choices=(
            Choice("No: their positions differ."),
            Choice(
                "Yes: it is the same word.",
                "Their token embeddings are the same; the position embeddings that are added to them are not.",
            ),
            Choice(
                "No: one belongs to a river, the other to a city.",
                "Before the first layer no token has attended to another: context comes in only through the layers.",
            ),
        ),
        claim=claims.embeddings,
        cases="words, each twice in a text and in two meanings: equal token embeddings, unequal sums, and contexts "
        "that the layers drive apart",
        reveal=(
            "The two token embeddings are the same: their cosine is {token}. The sums are not: it is {total}, because "
            "each position adds its own embedding.",
            "They know nothing of their contexts yet: that comes in only through the layers. In “{river}” and “{city}” "
            "the input embeddings of “bank”, at the same position, have a cosine of {first}; after the last layer it "
            "is {last}.",
        ),
        proof=(
            Step(
                "One word in two contexts: the layers make its two embeddings diverge.",
                Place("embeddings", *MEANINGS[0][1:], part="contexts", settings={"common": _BANK}),
            ),
        ),
        formula="xᵢ = LayerNorm(token(wᵢ) + segment(sᵢ) + position(i))",
        formula_says="The input of the first layer for the i-th token. All three are rows of learned embedding "
        "matrices.",
        source="Devlin et al. 2018, section 3 and figure 2",
        measured_by="Cosine similarity of the two; 1 is the same direction",
        code="model.embeddings:Embeddings.forward",
    ),
)
