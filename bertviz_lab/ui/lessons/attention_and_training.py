"""Lessons 5 to 8: attention and value vectors, [CLS] and fine-tuning, learning curves, limits of attention.

No number about a model is written here: names in braces are measured on demand.
"""

from bertviz_lab.ui.lessons import attention_claims, training_claims
from bertviz_lab.ui.lessons.cases import COPIED, OPPOSITES, PLAIN, PLURALS
from bertviz_lab.ui.lessons.lesson import ENGLISH, REVIEWS, TOWN, Choice, Lesson, Place, Step

_BIKE = "Leo has a [MASK] bike. The blue bike of Leo is fast."
_KITE, _BLACK = COPIED[0]
_RIVER = PLAIN[0]
_SKATES, _ = PLURALS[0]
_REVIEWS = "\n".join(text for pair in OPPOSITES[:6] for text in pair)
_PRAISE, _BLAME = OPPOSITES[0]

ATTENTION_AND_TRAINING = (
    Lesson(
        number=5,
        title="Attention weights and value vectors",
        minutes=7,
        model=ENGLISH,
        idea="In self-attention each token has a query (what it looks for), a key (what it is found by) and a value "
        "(what is read from it), three vectors computed from its own. Its query and all keys give a weight for every "
        "token; they sum to 1. What it reads is the sum of all value vectors, each multiplied by its weight. "
        "Multi-head attention does this several times in parallel: each head learns its own pattern.",
        look=(
            Step(
                "Click some of the small maps, one for each head. In many of them one column is bright in nearly every "
                "row: the tokens attend to `[CLS]` (the first) or `[SEP]` (the last).",
                Place("attention", _RIVER),
            ),
        ),
        example=_RIVER,
        question="In such a head nearly all of the attention goes to `[CLS]`. How much does the head then add to the "
        "vectors of the tokens?",
        choices=(
            Choice(
                "As much as the other heads: the weights of each head sum to 1.",
                "Each weight multiplies a value vector, and these differ in length: a large weight on a short vector "
                "adds little.",
            ),
            Choice(
                "Most: `[CLS]` stands for the whole text, so every token needs it.",
                "In pretraining `[CLS]` is read by the NSP head. An attention head seems to attend to special tokens "
                "where its own pattern is absent: Clark et al. (2019) suspect a no-op.",
            ),
            Choice("Little: the value vector that it reads from `[CLS]` is short."),
        ),
        claim=attention_claims.values,
        cases="heads, counted in each of eight texts, that give `[CLS]` more than half of their attention: what they "
        "add is shorter than what the other heads of their layer add on average",
        reveal=(
            "{sink} gives `[CLS]` {weight} of its attention, averaged over all tokens; the value vector that it reads "
            "there, multiplied by the output matrix, is {length} as long as those of the words. So it adds a vector "
            "of length {added}, where the other heads of its layer add {others} on average; of the little that it "
            "reads, {from_sink} comes from `[CLS]`. The weights must sum to 1: a head that does not find what it looks "
            "for can put them where they do little.",
            f"Elsewhere a weight has an effect. In Tiny Town's “{_KITE}” the answer is in the sentence before, and "
            "{copier} gives it {far} of the attention of `[MASK]`: “black” has a probability of {whole}; with that "
            "head ablated (its output set to 0), {without}. {neighbour}, which gives the previous token {before}, can "
            "be ablated without loss: “black” then has {unhurt}.",
        ),
        proof=(
            Step(
                "That head: the first column is `[CLS]`.",
                Place("attention", _RIVER, settings={"layer": "{layer}", "head": "{head}"}),
            ),
            Step(
                "Tiny Town with {copier} ablated. Open “Head ablation” to try the others.",
                Place(
                    "attribution",
                    _KITE,
                    part="intervention",
                    settings={"choice": _BLACK, "ablated": "{ablated}"},
                    model=TOWN,
                ),
            ),
            Step(
                "The effect of each head: the log-probability of “black” with it minus that without it.",
                Place("attribution", _KITE, part="heads", settings={"choice": _BLACK}, model=TOWN),
            ),
        ),
        formula="attention(i, j) = softmaxⱼ(qᵢ · kⱼ / √d)      read by i = Σⱼ attention(i, j) · vⱼ · W",
        formula_says="The scaled dot products of the query q and the keys k, both of dimension d, become weights that "
        "sum to 1; what is read is the weighted sum of the value vectors v, through the output matrix W.",
        source="Vaswani et al. 2017, section 3.2; Clark et al. 2019; Kobayashi et al. 2020",
        measured_by="[CLS] in that head; 100% is the mean length for the words, and for the other heads",
        code="model.attention:SelfAttention.forward",
    ),
    Lesson(
        number=6,
        title="[CLS] and fine-tuning",
        minutes=6,
        model=REVIEWS,
        idea="Every input begins with `[CLS]`, a token that stands for no word: its last hidden state (its vector "
        "after the last layer) can represent the whole text. Fine-tuning puts a small linear classifier on top of it "
        "and trains the whole model a little further on labeled examples.",
        look=(
            Step(
                "sentiment-mini is a model like wiki-mini, fine-tuned on labeled phrases of film reviews. Try your "
                "own.",
                Place("predictions", _PRAISE),
            ),
        ),
        example=f"{_PRAISE}  |  {_BLAME}",
        question="Take 32 phrases of praise and their opposites, and wiki-mini, which is pretrained and not "
        "fine-tuned. Which phrase has the `[CLS]` vector nearest to that of “a warm and funny film”?",
        choices=(
            Choice(
                "Another phrase of praise: `[CLS]` knows the meaning of a text.",
                "Nothing in pretraining trained it to tell praise from blame. A phrase with nearly the same words is "
                "nearer.",
            ),
            Choice("Its opposite, “a cold and boring film”."),
            Choice(
                "Any of them: before fine-tuning `[CLS]` holds nothing.",
                "It differs from text to text, and least between texts with nearly the same words. That much takes no "
                "training, as the measurement shows.",
            ),
        ),
        claim=training_claims.classifier,
        cases="phrases: nearest without fine-tuning is the opposite, and after it one of the same label",
        reveal=(
            "In wiki-mini the nearest is the opposite for {twins} of {phrases} phrases, and with the mean of all "
            "tokens in place of `[CLS]` for {twins_mean}. That is no knowledge of film reviews: most opposites share "
            "all words but one or two, and the same architecture with random weights has the opposite nearest for "
            "{twins_random}. After fine-tuning the nearest has the same label for {same} of them, with the mean for "
            "{same_mean}: fine-tuning made the direction that separates the labels the dominant one, and not in "
            "`[CLS]` alone.",
            "Only {new} of {total} parameters are new, which is {share}: {hidden} weights and a bias for each of "
            "{labels} labels. All others come from pretraining, that of an earlier wiki-mini of the same size, and "
            "were adjusted.",
            "It makes mistakes: “{trap}” is predicted as negative, with a probability of {trapped}. Much of what a "
            "small model learns from reviews is which words correlate with which label.",
        ),
        proof=(
            Step(
                "The similarity of phrases without fine-tuning: opposites (1 and 2, 3 and 4 …) are the most similar.",
                Place("embeddings", settings={"sentences": _REVIEWS, "pooling": "cls"}, text_a=_PRAISE, model=ENGLISH),
            ),
            Step(
                "And with it: praise is similar to praise, and blame to blame.",
                Place("embeddings", settings={"sentences": _REVIEWS, "pooling": "cls"}, text_a=_PRAISE),
            ),
            Step(
                "“{trap}”: which tokens decide? The methods differ; lesson 8 says why.", Place("attribution", "{trap}")
            ),
        ),
        formula="p(label) = softmax(W · tanh(P · h[CLS] + c) + b)",
        formula_says="W, with a row for each label, and b are new; the pooler P and everything below it are "
        "pretrained.",
        source="Devlin et al. 2018, section 4 and figure 4; Reimers and Gurevych 2019, sections 4.1 and 6",
        measured_by="Phrases whose nearest neighbor has the same label",
        code="model.heads:BertForSequenceClassification",
    ),
    Lesson(
        number=7,
        title="Learning curves",
        minutes=7,
        model=REVIEWS,
        idea="Each training step takes a batch of examples and moves every parameter a little, by the learning rate, "
        "down the gradient of the loss (how wrong its predictions are). Some examples are held out: the model is "
        "never trained on them, and the loss on them says how well it predicts texts that it has not seen.",
        look=(
            Step(
                "The curves of Tiny Town's pretraining: training loss (line) and held-out loss (circles) end close to "
                "each other. The learning rate is in the fold below; the shaded part is the causal-LM warm-up.",
                Place("run", settings={"id": TOWN}),
            ),
        ),
        example="",
        question="sentiment-mini was fine-tuned on labeled reviews and went through them three times. What did the "
        "loss on the held-out reviews do?",
        choices=(
            Choice("It fell at first and rose later, while the training loss went on falling."),
            Choice(
                "It fell to the end, like the training loss, only more slowly.",
                "So it was in Tiny Town, where other tokens are masked in each pass. Here the same examples with the "
                "same labels came three times, and the model fitted them more and more closely.",
            ),
            Choice(
                "It stayed where it began: the model learns nothing from held-out reviews.",
                "It is not trained on them, but what it learns from the others holds for them too, for a while.",
            ),
        ),
        claim=training_claims.curves,
        cases="seeds of this fine-tuning",
        reveal=(
            "After {lowest} of the steps the held-out loss was at its lowest, {least}; at the end it was {last}, "
            "while the training loss had gone from {then} to {end}. That is overfitting. The held-out accuracy "
            "meanwhile went from {accuracy_then} to {accuracy_last}: the model errs about as often, but it is too "
            "confident where it errs. The lab keeps the checkpoint with the best held-out score, here the accuracy.",
            "Pretraining needs no labels, but it has targets, taken from the text itself: the selected tokens (MLM), "
            "whether B follows A (NSP), and, in the recipe of this lab, at first the next token as well (causal-LM "
            "warm-up). Before the first step every token of Tiny Town had a probability of about 1/{vocabulary}: "
            f"in “{_BIKE}” “blue” had {{before}}, and now {{now}}. {{between}}",
        ),
        proof=(
            Step(
                "The curves of that fine-tuning, once for each of three seeds (random order of the examples, random "
                "initial weights of the classifier): the held-out loss turns up, the training loss does not.",
                Place("run", settings={"id": REVIEWS}),
            ),
            Step(
                "Tiny Town before training and after.",
                Place("predictions", _BIKE, other="before", model=TOWN),
            ),
            Step(
                "The snapshots between the two: drag the slider, and see when “blue” emerges.",
                Place("dynamics", settings={"run": TOWN, "text_a": _BIKE, "words": "blue, red, green"}),
            ),
            Step(
                "Train a model yourself, and watch its curves: the sample Tiny Town takes a few minutes.",
                Place("pretrain"),
            ),
        ),
        formula="loss = − ln p(right answer);  step: θ ← θ − η · ∇loss(batch)",
        formula_says="The mean over a batch, in nats; η is the learning rate; BERT's optimizer, Adam, also scales "
        "each parameter's step. With random weights the MLM loss is about ln V, V = vocabulary size: the uniform "
        "baseline. In the page's presets the bias of the MLM head begins as log token frequencies, and the loss at "
        "their entropy: the unigram baseline. Tiny Town was trained without it.",
        source="Devlin et al. 2018, sections A.2 and A.3",
        measured_by="Loss on held-out reviews, first seed",
        code="training.loop.optim:clip_and_step",
    ),
    Lesson(
        number=8,
        title="What attention does not explain",
        minutes=8,
        model=TOWN,
        idea="It is tempting to read attention as an explanation: the token with the highest weight must be the "
        "reason. But a weight says how much of a value vector is read, not what effect it has. What a prediction "
        "depends on is found by intervention: put another word there, and run the model again.",
        look=(
            Step(
                "The prediction at `[MASK]`: “cost”.",
                Place("predictions", _SKATES, settings={"word": "cost"}),
            ),
            Step(
                "The average of all heads: in the row of `[MASK]`, “market” gets most of all words. Then click the "
                "small maps one by one: the heads disagree.",
                Place("attention", _SKATES, settings={"of": "all", "rows": "7"}),
            ),
        ),
        example=_SKATES,
        question="Averaged over all heads, `[MASK]` attends most to “market”. Put “school” in its place: what happens "
        "to the prediction “cost”?",
        choices=(
            Choice(
                "Its probability collapses: the word it rests on is gone.",
                "That is what the attention suggests. But “cost” rather than “costs” is decided by “skates”, which "
                "is plural.",
            ),
            Choice(
                "It turns into “costs”.",
                "The verb agrees with its subject, and the subject is still “skates”.",
            ),
            Choice("It falls a little: “cost” stays the top prediction."),
        ),
        claim=attention_claims.explanation,
        cases="sentences: with another place “cost” keeps more than half of its probability, with a singular subject "
        "it has less than 10%",
        reveal=(
            "“cost” had {whole}. With “school” in place of “market” it still has {place}, and with any of three places "
            "in twelve such sentences at least {lowest}; with “bike” in place of “skates”, {thing}: subject-verb "
            "agreement depends on that word. Words are exchanged here, not masked: at "
            "a second `[MASK]` the model may infer the word from the others, and then its effect seems small.",
            "Head by head, what `[MASK]` attends to most: {heads}. The average of such rows is no explanation.",
            "The methods that attribute a prediction disagree as well. What each of them ranks highest: {methods}. "
            "Two of them approximate effects by gradients, the third masks one token at a time; the test of what they "
            "say is an intervention that asks the question itself.",
        ),
        proof=(
            Step(
                "“cost” contrasted with “costs”: three attribution methods, and below them the mean attention.",
                Place("attribution", _SKATES, settings={"choice": "cost", "contrast": "costs"}),
            ),
            Step(
                "“school” in place of “market”.",
                Place("predictions", _SKATES.replace("market", "school"), settings={"word": "cost"}),
            ),
            Step(
                "“bike” in place of “skates”.",
                Place("predictions", _SKATES.replace("skates", "bike"), settings={"word": "cost"}),
            ),
        ),
        formula="effect(word) = p(prediction | text) − p(prediction | text with another word in its place)",
        formula_says="Substitution, an intervention on the input. Occlusion is one too: it masks the word. Gradient × "
        "input approximates the effect by the gradient at this text, integrated gradients by those on the way to it "
        "from a text of masks.",
        source="Jain and Wallace 2019; Wiegreffe and Pinter 2019",
        measured_by="Probability of “cost” at [MASK]",
        code="interpret.predictions:fill_mask",
    ),
)
