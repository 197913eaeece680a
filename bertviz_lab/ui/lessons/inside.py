"""Lessons 5 to 8: attention, fine-tuning, training dynamics, and how far attention explains a prediction.

No number about a model is written here: names in braces are measured on demand.
"""

from bertviz_lab.ui.lessons import claims
from bertviz_lab.ui.lessons.lesson import REVIEWS, TOWN, Lesson, Place, Step

_BIKE = "Leo has a [MASK] bike. The blue bike of Leo is fast."
_KITE = "The black kite at the market costs eight coins. So Ben and Sara buy the [MASK] kite."
_SKATES = "The green skates at the market [MASK] eight coins."

INSIDE = (
    Lesson(
        number=5,
        title="Multi-head self-attention",
        minutes=6,
        model=TOWN,
        idea="In self-attention each token computes a weight for every token, from its query and their keys; the "
        "weights sum to 1. Multi-head attention does this several times in parallel: each head learns its own pattern.",
        look=(
            Step(
                "Click the small maps, one after the other, and read the row of `[MASK]`.",
                Place("attention", _KITE),
            ),
        ),
        example=_KITE,
        question="The masked word is “black”, which occurs in the sentence before. What do the heads attend to from "
        "`[MASK]`?",
        choices=(
            "All to the adjacent words: “black” is too far away.",
            "Each to something else: one to the previous token, another one directly to “black”.",
            "All of them evenly to every word.",
        ),
        answer=1,
        claim=claims.heads,
        reveal=(
            "From `[MASK]`, {neighbour} gives {before} of its attention to the previous token, and {copier} gives "
            "{far} "
            "to “black”, far away in the other sentence.",
            "With all heads “black” has a probability of {whole}; with {copier} ablated it has {without}. Nobody "
            "programmed this: attending to what came before the same words earlier, and copying it, is what lowers "
            "the loss at masked tokens like this one.",
        ),
        proof=(
            Step(
                "With {copier} ablated. Open the head ablation to try the others.",
                Place("attribution", _KITE, part="intervention", settings={"choice": "black", "ablated": "{ablated}"}),
            ),
            Step("The effect of each head.", Place("attribution", _KITE, part="heads", settings={"choice": "black"})),
        ),
        formula="attention(i, j) = softmaxⱼ(qᵢ · kⱼ / √d)",
        formula_says="The scaled dot product of the query q of token i and the key k of token j, both of dimension d; "
        "the softmax turns the scores into weights that sum to 1.",
        source="Vaswani et al. 2017, section 3.2; Clark et al. 2019",
        measured_by="Probability of “black” at [MASK]",
    ),
    Lesson(
        number=6,
        title="[CLS] and fine-tuning",
        minutes=6,
        model=REVIEWS,
        idea="Every input begins with `[CLS]`, a token for no word: its last hidden state can represent the whole "
        "text. Fine-tuning puts a small linear classifier on top of it and trains the whole model a little further on "
        "labelled examples.",
        look=(
            Step(
                "This model was fine-tuned on labelled film reviews. Try it on a review of your own.",
                Place("predictions", claims.PRAISE),
            ),
        ),
        example="",
        question="How many of this model's parameters are new, not pretrained?",
        choices=(
            "About half: a new task needs new layers.",
            "About a tenth.",
            "Less than one in a thousand.",
        ),
        answer=2,
        claim=claims.classifier,
        reveal=(
            "{new} of {total}, which is {share}: {hidden} weights and a bias for each of {labels} labels. All others "
            "come from pretraining and were only adjusted.",
            "It makes mistakes: “{trap}” is predicted as negative, with a probability of {trapped}. Much of what a "
            "small model learns from reviews is which words correlate with which label.",
        ),
        proof=(
            Step("“{trap}”: which tokens decide?", Place("attribution", "{trap}")),
            Step("Fine-tune a model on a task of your own: there is a sample of each kind.", Place("finetune")),
        ),
        formula="p(label) = softmax(W · tanh(P · h[CLS] + c) + b)",
        formula_says="W, with a row for each label, and b are new; the pooler P and everything below it are "
        "pretrained.",
        source="Devlin et al. 2018, section 4 and figure 4",
        measured_by="Predicted probability of the positive label",
    ),
    Lesson(
        number=7,
        title="What training changes",
        minutes=6,
        model=TOWN,
        idea="Before training, all parameters of a model are random. Each training step gives it a batch of masked "
        "texts and moves every parameter a little, down the gradient of the loss, so that the masked tokens become "
        "more likely. No grammar and no dictionary are given.",
        look=(
            Step(
                "The prediction of the trained model.",
                Place("predictions", _BIKE, settings={"word": "blue"}),
            ),
        ),
        example=_BIKE,
        question="What did this model predict before its first training step?",
        choices=(
            "A colour, but not always the right one.",
            "Nothing in particular: all tokens had about the same probability.",
            "A wrong word, with high confidence.",
        ),
        answer=1,
        claim=claims.training,
        reveal=(
            "Its vocabulary has {vocabulary} tokens, and each had a probability of about 1/{vocabulary}, which is "
            "{even}: “blue” had {before}, and even the top prediction only {likeliest}. Now “blue” has {now}.",
            "{between}",
            "Nobody has told it what a colour is. It learned that because it lowers the MLM loss.",
        ),
        proof=(
            Step(
                "The same model before training and after.",
                Place("predictions", _BIKE, other="before"),
            ),
            Step(
                "The snapshots between the two: drag the slider, and see when “blue” emerges.",
                Place("dynamics", settings={"run": TOWN, "text_a": _BIKE, "words": "blue, red, green"}),
            ),
            Step(
                "Train one yourself, and watch the curves: the sample Tiny Town takes two minutes.", Place("pretrain")
            ),
        ),
        formula="MLM loss = − ln p(masked token);  before training about ln V, V = vocabulary size",
        formula_says="The MLM loss in nats; ln V is the uniform baseline. Training follows its gradient downhill.",
        source="Devlin et al. 2018, section A.2",
        measured_by="Probability of “blue” at [MASK]",
    ),
    Lesson(
        number=8,
        title="What attention does not explain",
        minutes=7,
        model=TOWN,
        idea="Attention maps are tempting: the token with the highest weight must be the reason. But a weight says how "
        "much of a value vector is read, not what effect it has. What a prediction depends on is found by "
        "intervention: remove a word, and run the model again.",
        look=(
            Step(
                "The prediction at `[MASK]`: “cost”.",
                Place("predictions", _SKATES, settings={"word": "cost"}),
            ),
            Step(
                "Under Filters and aggregates, show the average of all heads, and read the row of `[MASK]`: of all "
                "words "
                "“market” gets most.",
                Place("attention", _SKATES),
            ),
        ),
        example=_SKATES,
        question="“market” gets more attention than any other word. Mask it: what happens to the prediction “cost”?",
        choices=(
            "Its probability collapses: only chance is left.",
            "It hardly changes: “cost” stays the top prediction.",
            "It turns into “costs”.",
        ),
        answer=1,
        claim=claims.explanation,
        reveal=(
            "“cost” had {whole}. With “{top}” masked, which gets {top_weight} of the attention of all heads, it still "
            "has {less_top}. With “skates” masked, which gets {key_weight}, it has {less_key}: subject-verb agreement "
            "depends on that word.",
            "Integrated gradients, contrasting “cost” with “costs”, attribute most to {blamed}. Attention shows where "
            "information can flow; what a prediction depends on is a question for interventions such as these.",
        ),
        proof=(
            Step(
                "“cost” contrasted with “costs”: the attention row below the attributions.",
                Place("attribution", _SKATES, settings={"choice": "cost", "contrast": "costs"}),
            ),
            Step(
                "“market” masked: see the second masked token.",
                Place("predictions", _SKATES.replace("market", "[MASK]"), settings={"word": "cost"}),
            ),
            Step(
                "“skates” masked: see the second masked token.",
                Place("predictions", _SKATES.replace("skates", "[MASK]"), settings={"word": "cost"}),
            ),
        ),
        formula="occlusion(word) = ln p(prediction | text) − ln p(prediction | text with the word masked)",
        formula_says="Occlusion, the simplest intervention. Integrated gradients and head ablation are others.",
        source="Jain and Wallace 2019; Wiegreffe and Pinter 2019",
        measured_by="Probability of “cost” at [MASK]",
    ),
)
