"""Lessons 1 to 4: bidirectional context, the two pretraining objectives, and the input embeddings.

No number about a model is written here: names in braces are measured on demand.
"""

from bertviz_lab.ui.lessons import claims
from bertviz_lab.ui.lessons.cases import MEANINGS, PAIRS, PLAIN, RIGHT_CONTEXT, TWICE
from bertviz_lab.ui.lessons.lesson import ENGLISH, MASK_ONLY, TINY, TOWN, Choice, Lesson, Place, Step

_BIKE = "Leo has a [MASK] bike. The blue bike of Leo is fast."
_BIKES = "Leo has a blue bike, and Mia has a red bike."
_MASKED = "The yellow truck of Leo is broken. In the evening Noah mends the slow yellow truck for Leo."  # twenty tokens
_VISIBLE = {"rate": "90", "mask": "0", "random": "0", "seed": "1"}  # selected tokens that stay as they are
_MATCH, _TEAM = RIGHT_CONTEXT[0]
_BANK, _BANKS = TWICE[0]

OBJECTIVES = (
    Lesson(
        number=1,
        title="Bidirectional context",
        minutes=5,
        model=ENGLISH,
        idea="BERT (Bidirectional Encoder Representations from Transformers) encodes a whole text at once: each "
        "token, a word or a piece of one, attends to those before and after it, which means that it takes information "
        "from them. GPT uses a causal mask: each token attends only to itself and those before it.",
        look=(
            Step(
                "See what wiki-mini, a small BERT trained on English Wikipedia and novels, predicts at `[MASK]`: only "
                "what comes after it says what kind of thing it is.",
                Place("predictions", _MATCH, settings={"word": _TEAM}),
            ),
        ),
        example=_MATCH,
        question="Now the same model gets a causal mask, as in GPT: each token attends only to itself and those before "
        "it. What happens to the probability of “team” at `[MASK]`?",
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
            "Tiny Town is an artificial world of short stories with a model of its own. "
            f"In “{_BIKE}” “blue” has {{town}} there, and {{guess}} with a causal mask: a guess among the colors, "
            "since the words before it call for a color but do not say which.",
            "A model that generates text token by token, as GPT does, needs a causal mask. An encoder of text that is "
            "already complete does not, and has more context.",
        ),
        proof=(
            Step(
                "Both predictions side by side. Untick “Causal mask, as in GPT” and tick it again.",
                Place("attribution", _MATCH, part="intervention", settings={"choice": _TEAM, "causal": "1"}),
            ),
            Step(
                "Attention with the causal mask minus attention without it: above the diagonal, where the later tokens "
                "are, every weight is gone (brown).",
                Place("attention", _MATCH, part="difference", settings={"against": "causal"}),
            ),
            Step(
                "The same for the bike in Tiny Town: with the causal mask the colors share the probability.",
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
        title="Masked language modeling",
        minutes=5,
        model=TOWN,
        idea="BERT is pretrained on plain text before it learns any task. Its main pretraining objective is masked "
        "language modeling (MLM): 15% of the tokens are selected, and the model has to predict what was there. Of "
        "the selected tokens 80% become `[MASK]`, 10% become a random token, and 10% are left unchanged.",
        look=(
            Step(
                "Press “Mask again” a few times: other tokens are selected each time (row “label”), and not all of "
                "them become `[MASK]`.",
                Place("tokens", _MASKED, part="masking", settings={"seed": "1"}),
            ),
        ),
        example=_MASKED,
        question="Why do 10% stay? A second model was trained by the same recipe, but with every selected token "
        "replaced by `[MASK]` (100/0/0). Both models read this sentence with nothing masked, and their MLM heads "
        "predict the token at each position. What does the second model predict?",
        choices=(
            Choice("Often another token: it was never trained to predict a token that it could see."),
            Choice(
                "The token that is there: it only has to copy it.",
                "Copying is easy, but it has to be learned. Each token that this model had to predict was hidden from "
                "it, and nothing at the other positions had to keep the token that is there.",
            ),
            Choice(
                "The same as the first model: text, seed and number of steps are the same.",
                "At one in five targets of the first model there was no `[MASK]` but the token itself or a random "
                "one. That is the only difference between the two, and it shows.",
            ),
        ),
        claim=claims.masking,
        cases="texts with nothing masked: with 80/10/10 the model predicts more than four in five of the tokens that "
        "are there, with 100/0/0 fewer than half as many",
        reveal=(
            "With nothing masked, the model trained with 80/10/10 predicts the token itself at {own} of the "
            "positions of this sentence, the one trained with 100/0/0 at {only}. At `[MASK]` the two are about as "
            "good: {own_masked} and {only_masked} of masked tokens in the texts of this measurement. Of the tokens "
            "that the second predicts instead in those texts, {next} come next in the text: that is what the "
            "causal-LM warm-up, the first quarter of both trainings, had asked for there.",
            "So this is what the rule is for. `[MASK]` does not occur when the model is fine-tuned or used. Since "
            "any token may be a target, and any may be wrong, the model has to keep a contextual embedding of every "
            "token: a vector that depends on the text around it. Of 1,000 tokens {mask} become `[MASK]`, {random} a "
            "random token, and {kept} are selected but left unchanged.",
            "What does it cost to leave it out? Little, once all weights are fine-tuned: they adapt to texts without "
            "`[MASK]`. With 100/0/0 the paper's own ablation (C.2) loses half a point to a point of F1 in "
            "named-entity recognition, the larger loss where the vectors are used as they are, and nothing in "
            "natural-language inference.",
        ),
        proof=(
            Step(
                "The second model, with nine in ten tokens selected and all of them left unchanged: what it predicts "
                "at each, and the loss there.",
                Place("tokens", _MASKED, part="loss", settings=_VISIBLE, model=MASK_ONLY),
            ),
            Step("The same for the first model.", Place("tokens", _MASKED, part="loss", settings=_VISIBLE)),
            Step(
                "What became of the selected tokens in many draws: 80, 10 and 10%.",
                Place("tokens", _MASKED, part="statistics", settings={"seed": "1", "draws": "10000"}),
            ),
            Step(
                "Train the two yourself: in the ablation study tick the card “100% [MASK]” and predict its effect.",
                Place("ablation"),
            ),
        ),
        formula="0.15 × 0.80 = 0.12      0.15 × 0.10 = 0.015      0.15 × 0.10 = 0.015",
        formula_says="The shares of all tokens that are [MASK], a random token, and unchanged. The MLM loss is "
        "computed at these three kinds of positions only.",
        source="Devlin et al. 2018, sections 3.1, A.1 and C.2",
        measured_by="Tokens predicted at their own position, nothing masked",
        code="data.pretraining.masking:mask_batch",
    ),
    Lesson(
        number=3,
        title="Segments and next-sentence prediction",
        minutes=6,
        model=ENGLISH,
        idea="BERT's second pretraining objective is next-sentence prediction (NSP): does sentence B follow sentence "
        "A, or was it taken from elsewhere in the corpus? In the paper each is true half of the time; in training data "
        "B is from elsewhere somewhat more often, since the end of a text has no next sentence. The special token "
        "`[CLS]` begins the input, and `[SEP]` ends each sentence. Segment ids distinguish them: 0 for A, 1 for B.",
        look=(
            Step(
                "The input format: `[CLS]` A `[SEP]` B `[SEP]`. The row “segment” has the segment id of each token.",
                Place("tokens", *PAIRS[0]),
            ),
            Step("The prediction for this pair, below the sentences: is next.", Place("predictions", *PAIRS[0])),
        ),
        example=f"A: {PAIRS[0][0]} B: {PAIRS[0][1]}",
        question="B follows A, and the model predicts that it does; for a B from elsewhere it predicts that it does "
        "not. Now all segment ids are set to 0: words, positions and `[SEP]` stay as they are. What does the model "
        "predict?",
        choices=(
            Choice(
                "The same: `[SEP]` and the positions tell the sentences apart as well.",
                "They could: RoBERTa has no segment ids and manages with separators and positions. This model was "
                "trained with segment ids and relies on them.",
            ),
            Choice("Nearly the same for both: it hardly tells any more whether B follows."),
            Choice(
                "That B follows, whatever B says: now the two look like one text.",
                "In pretraining a `[SEP]` in the middle always came with two segments. The model has never had such an "
                "input, and nothing in its training says which way it turns.",
            ),
        ),
        claim=claims.segments,
        cases="sentences A: with all segment ids 0 the probabilities of the B that follows and of one from elsewhere "
        "differ by less than half as much as with their own",
        reveal=(
            "With its own segment ids the probability that B follows is {own}; with all of them 0 it is {zero}. Over "
            "all pairs of this measurement it is {true_own} on average, and {false_own} for a B from elsewhere; with "
            "all ids 0, {true_zero} and {false_zero}: one answer for both. Which one is an accident of the training: "
            "wiki-tiny then gives {true_tiny} and {false_tiny}. As a control, with the ids of A and B swapped this "
            "pair has {swapped}.",
            f"NSP teaches less than one might think. After “{_BIKES}” the model of Tiny Town gives “The blue bike of "
            "Leo is fast.” a probability of {told} of following; the same sentence about a yellow bike, which "
            "contradicts A, has {wrong}, and one about roses in spring {other}: it judges topic, not coherence. "
            "RoBERTa (2019) dropped NSP without loss, and ALBERT (2019) replaced it by sentence-order prediction.",
        ),
        proof=(
            Step(
                "All segment ids are 0: what becomes of the prediction? Then choose “swapped”.",
                Place("attribution", *PAIRS[0], part="intervention", settings={"segments": "zero"}),
            ),
            Step(
                "The same with wiki-tiny, which turns the other way.",
                Place("attribution", *PAIRS[0], part="intervention", settings={"segments": "zero"}, model=TINY),
            ),
            Step(
                "The yellow bike contradicts A, and yet the prediction is: is next.",
                Place("predictions", _BIKES, "The yellow bike of Leo is fast.", model=TOWN),
            ),
        ),
        formula="p(B follows A) = softmax(W · tanh(P · h[CLS] + c) + b)₀",
        formula_says="The last hidden state of [CLS] goes through the pooler P and a linear layer W; class 0 = IsNext.",
        source="Devlin et al. 2018, sections 3 and 3.1, task 2; Liu et al. 2019, section 4.2; Lan et al. 2019, 3.1",
        measured_by="Predicted probability that B follows A, averaged",
        code="model.heads:BertForPreTraining.forward",
    ),
    Lesson(
        number=4,
        title="Input embeddings",
        minutes=5,
        model=ENGLISH,
        idea="The input embedding of each token, which enters the first layer after a LayerNorm, is the sum of three "
        "learned vectors: a token embedding, a segment embedding and a position embedding. Self-attention by itself "
        "ignores order (it is permutation-equivariant): without position embeddings, a text is a bag of words.",
        look=(
            Step(
                "How input embeddings are composed: the norms (lengths) of the three vectors and of their sum.",
                Place("layers", PLAIN[0], part="sum"),
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
        cases="cases: a word twice in one text has equal token embeddings and unequal sums, a word in two meanings "
        "ends up less similar than it began",
        reveal=(
            "The two token embeddings are the same: their cosine is {token}. The sums are not: it is {total}, because "
            "each position adds its own embedding.",
            "They know nothing of their contexts yet: that comes in only through the layers. In “{river}” and "
            "“{city}” the input embeddings of “bank”, at the same position, have a cosine of {first}; after the last "
            "layer it is {last}.",
        ),
        proof=(
            Step(
                "The two columns of “bank”: the token embeddings have the same norm, the position embeddings not.",
                Place("layers", _BANKS, part="sum"),
            ),
            Step(
                "“bank” in two contexts: the cosine between the two after each layer.",
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
