"""Lessons 5 to 8: what happens inside, what it is good for, and how far it explains what a model says.

No number about a model stands here: names in braces are measured when they are asked for.
"""

from bertviz_lab.ui.lessons import claims
from bertviz_lab.ui.lessons.lesson import REVIEWS, TOWN, Lesson, Place, Step

_BIKE = "Leo has a [MASK] bike. The blue bike of Leo is fast."
_KITE = "The black kite at the market costs eight coins. So Ben and Sara buy the [MASK] kite."
_SKATES = "The green skates at the market [MASK] eight coins."

INSIDE = (
    Lesson(
        number=5,
        title="Attention and its heads",
        minutes=6,
        model=TOWN,
        idea="In every layer each token asks all others: who has something for me? It gives each a weight, and its "
        "weights add up to 1. A layer does this several times at once: each of its heads has questions of its own.",
        look=(
            Step(
                "Press the small maps, one after the other, and read the row of `[MASK]`.",
                Place("attention", fields={"a": _KITE, "b": ""}),
            ),
        ),
        example=_KITE,
        question="The hidden word is “black”, which stands in the sentence before. Where do the heads look from "
        "`[MASK]`?",
        choices=(
            "All at the words next to it: “black” is too far away.",
            "Each at something else: one at the word before, another one straight at “black”.",
            "All of them at every word a little.",
        ),
        answer=1,
        claim=claims.heads,
        reveal=(
            "From `[MASK]`, {neighbour} gives {before} of its weight to the word before, and {copier} gives {far} to "
            "“black”, far away in the other sentence.",
            "With all heads “black” is {whole} likely; without {copier} it is {without}. Nobody has told them this: "
            "to look at what stood beside the same words before, and to copy it, is what helps with blanks like this "
            "one.",
        ),
        proof=(
            Step(
                "Without {copier}. Open Switch off heads to try the others.",
                Place("why", "change", {"text": _KITE, "word": "black", "off": "{off}"}),
            ),
            Step("What each head adds.", Place("why", "heads", {"text": _KITE, "word": "black"})),
        ),
        formula="attention(i, j) = softmaxⱼ(qᵢ · kⱼ / √d)",
        formula_says="How well the question q of token i agrees with the key k of token j, both of d numbers; the "
        "softmax makes weights of it that add up to 1.",
        source="Vaswani et al. 2017, section 3.2; Clark et al. 2019",
        measured_by="How likely “black” is in the blank",
    ),
    Lesson(
        number=6,
        title="[CLS] and fine-tuning",
        minutes=6,
        model=REVIEWS,
        idea="Every text begins with `[CLS]`, a token that stands for no word: in its vector the model can gather "
        "what the whole text says. To teach a task, one small matrix is put on top of it, and the whole model is "
        "trained a little further, on examples with labels.",
        look=(
            Step(
                "This model has seen film reviews, each with its label. Ask it about a review of your own.",
                Place("try", fields={"a": claims.PRAISE, "b": ""}),
            ),
        ),
        example="",
        question="How many of this model's numbers are new since pretraining?",
        choices=(
            "About half: a new task needs new layers.",
            "About a tenth.",
            "Less than one in a thousand.",
        ),
        answer=2,
        claim=claims.classifier,
        reveal=(
            "{new} of {total}, which is {share}: for each of {labels} labels {hidden} weights and one number more. "
            "All others come from pretraining and were only adjusted.",
            "It is no reader of minds: “{trap}” it takes for blame, {trapped} sure. Much of what a small model learns "
            "from reviews is which words go with which label.",
        ),
        proof=(
            Step("“{trap}”: which words make it say so?", Place("try", "words", {"a": "{trap}", "b": ""})),
            Step("Teach a model a task of your own: there are examples of each kind.", Place("finetune")),
        ),
        formula="p(label) = softmax(W · tanh(P · h[CLS] + c) + b)",
        formula_says="W has a row for each label and is new, and so is b; the pooler P and all below it were "
        "pretrained.",
        source="Devlin et al. 2018, section 4 and figure 4",
        measured_by="How likely praise is, to the model",
    ),
    Lesson(
        number=7,
        title="What training changes",
        minutes=6,
        model=TOWN,
        idea="Before training, all numbers of a model are random. Training shows it texts with blanks and moves every "
        "number a little, so that the hidden words become likelier. It is told nothing else: no grammar, no "
        "dictionary.",
        look=(
            Step(
                "So the trained model fills this blank.",
                Place("fill", fields={"text": _BIKE, "word": "blue"}),
            ),
        ),
        example=_BIKE,
        question="What did this model write before its first step of training?",
        choices=(
            "A colour, but not always the right one.",
            "Nothing in particular: every word was about as likely.",
            "A wrong word, of which it was sure.",
        ),
        answer=1,
        claim=claims.training,
        reveal=(
            "Its vocabulary has {vocabulary} tokens, and each got about one part in {vocabulary}, which is {even}: "
            "“blue” got {before}, and even the likeliest token no more than {likeliest}. Now “blue” has {now}.",
            "{between}",
            "Nobody has told it what a colour is. It found out because that makes hidden words likelier.",
        ),
        proof=(
            Step(
                "The same model before training and after.",
                Place("fill", "beside", {"text": _BIKE}),
            ),
            Step(
                "What lies between the two: drag the slider, and see when “blue” comes.",
                Place("learning", fields={"history": TOWN, "a": _BIKE, "b": "", "words": "blue, red, green"}),
            ),
            Step(
                "Train one yourself, and watch the curves: the sample Tiny Town takes two minutes.", Place("pretrain")
            ),
        ),
        formula="loss = − ln p(hidden word);  before training about ln(size of the vocabulary)",
        formula_says="The loss of a blank in nats. Training follows its slope downhill.",
        source="Devlin et al. 2018, section A.2",
        measured_by="How likely “blue” is in the blank",
    ),
    Lesson(
        number=8,
        title="What attention does not explain",
        minutes=7,
        model=TOWN,
        idea="Pictures of attention are tempting: the word that is looked at most must be the reason. But a weight "
        "says how much is fetched from a word, not what becomes of it. What an answer rests on is found by trying: "
        "take a word away, and ask again.",
        look=(
            Step(
                "The answer in the blank: “cost”.",
                Place("fill", fields={"text": _SKATES, "word": "cost"}),
            ),
            Step(
                "Under More ways to look, show the average of all heads, and read the row of `[MASK]`: of all words "
                "“market” gets most.",
                Place("attention", fields={"a": _SKATES, "b": ""}),
            ),
        ),
        example=_SKATES,
        question="“market” gets more attention than any other word. Hide it: what becomes of the answer “cost”?",
        choices=(
            "It falls: the model can only guess now.",
            "It hardly suffers: “cost” stays the answer.",
            "It turns into “costs”.",
        ),
        answer=1,
        claim=claims.explanation,
        reveal=(
            "“cost” had {whole}. Without “{top}”, which gets {top_weight} of the attention of all heads, it still has "
            "{less_top}. Without “skates”, which gets {key_weight}, it has {less_key}: whether things cost or a thing "
            "costs hangs on that word.",
            "Gradients say so too: of what speaks for “cost” rather than “costs” they give {blamed} most. Attention "
            "shows where something can flow; what an answer rests on is a question for tests such as these.",
        ),
        proof=(
            Step(
                "“cost” rather than “costs”: the row of attention under those of what each word adds.",
                Place("why", fields={"text": _SKATES, "word": "cost", "against": "costs"}),
            ),
            Step(
                "Without “market”: see the second blank.",
                Place("fill", fields={"text": _SKATES.replace("market", "[MASK]"), "word": "cost"}),
            ),
            Step(
                "Without “skates”: see the second blank.",
                Place("fill", fields={"text": _SKATES.replace("skates", "[MASK]"), "word": "cost"}),
            ),
        ),
        formula="what a word adds = ln p(answer | text) − ln p(answer | text without the word)",
        formula_says="Occlusion, the plainest of such tests. Integrated gradients and heads switched off are others.",
        source="Jain and Wallace 2019; Wiegreffe and Pinter 2019",
        measured_by="How likely “cost” is in the blank",
    ),
)
