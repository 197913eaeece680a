"""Lessons 9 to 15: WordPiece, a layer, padding, BERT beside GPT and T5, why pretrain once, the family, a whole task.

No number about a model is written here: names in braces are measured on demand.
"""

from bertviz_lab.ui.lessons import second_hour_claims as claims
from bertviz_lab.ui.lessons.cases import IRONY, PLAIN, RARE_WORDS, RIGHT_CONTEXT, STARTS
from bertviz_lab.ui.lessons.lesson import ENGLISH, REVIEWS, Choice, Lesson, Place, Step

_WORDS = f"The {RARE_WORDS[0]} of the child and the {RARE_WORDS[1]} of the text."
_TEAM, _WORD = RIGHT_CONTEXT[0]

SECOND_HOUR = (
    Lesson(
        number=9,
        title="WordPiece",
        minutes=5,
        model=ENGLISH,
        idea="BERT's vocabulary is fixed before training. A word that is in it is one token; any other word is split "
        "into pieces that are. A piece that does not begin its word is written with ##.",
        look=(Step("How the tokenizer splits these words.", Place("tokens", _WORDS, part="split")),),
        example=" ".join(RARE_WORDS[:6]),
        question="Take a word that is not in the vocabulary. Which piece does WordPiece cut off first?",
        choices=(
            Choice(
                "Its grammatical stem.",
                "WordPiece knows no grammar. A stem comes out only where it happens to be a long entry of the "
                "vocabulary.",
            ),
            Choice("The longest beginning of the word that is in the vocabulary."),
            Choice(
                "Its first syllable.",
                "It knows nothing of syllables either, only which strings are in the vocabulary.",
            ),
        ),
        claim=claims.wordpiece,
        cases="words: the first piece is the longest beginning that is in the vocabulary, and the pieces put together "
        "are the word",
        reveal=(
            "“{word}” becomes {pieces}: the longest beginning that is in the vocabulary, then the longest continuation "
            "that is in it with ##, to the end. Where no piece fits, the whole word becomes `[UNK]`.",
            "The vocabulary of this model has {vocabulary} entries; they were chosen so that frequent words are one "
            "token. A larger vocabulary makes texts shorter and the embedding matrix larger: here it has {matrix} "
            "of {total} parameters.",
        ),
        proof=(Step("Type words of your own in Text A, in any language.", Place("tokens", _WORDS, part="split")),),
        formula="piece = longest prefix of what is left of the word that is in the vocabulary",
        formula_says="Greedy longest-match-first: what BERT does with a vocabulary. The vocabulary itself is "
        "trained beforehand, by the merges that raise the likelihood of the corpus most.",
        source="Wu et al. 2016, section 4.1; Devlin et al. 2018, section 3",
        measured_by="Share of the words, by the number of their pieces",
        code="tokenization.explain:_longest_match",
        hour=2,
    ),
    Lesson(
        number=10,
        title="Inside an encoder layer",
        minutes=7,
        model=ENGLISH,
        idea="An encoder layer has two parts: self-attention, in which tokens read from each other, and a feed-forward "
        "network, which works on each token alone. The result of each part is added to its input (the residual "
        "connection), and LayerNorm brings the sum back to a common length.",
        look=(
            Step(
                "The norms of what self-attention adds to each token; then choose the feed-forward output.",
                Place("layers", PLAIN[0], part="token_norms", settings={"norms": "attention"}),
            ),
        ),
        example=PLAIN[0],
        question="Compare the vector of a token before a layer and after it. How similar are they?",
        choices=(
            Choice("Similar: a layer adds to the vector."),
            Choice(
                "Hardly: each layer computes a new representation.",
                "The input is added to the result of each part: a layer computes a change, not a new vector.",
            ),
            Choice(
                "They have the same direction, and only the length differs.",
                "LayerNorm gives all of them about the same length. It is the direction that a layer changes.",
            ),
        ),
        claim=claims.residual,
        cases="texts: the mean cosine of input and output of a layer is above one half, and that of the input and what "
        "self-attention adds is below",
        reveal=(
            "The cosine of input and output is {alike} on average over the layers ({by_layer}); that of the input and "
            "of what self-attention adds, {update}. The last layer changes most: there the vector of a token turns "
            "into the prediction.",
            "The numbers add up. In layer 1 the vector of “{token}” comes in with length {came}; self-attention adds a "
            "vector of length {attention}, and the sum has {summed}; LayerNorm makes it {normed}; the feed-forward "
            "network adds {feed_forward}, and after LayerNorm the layer gives {gives}. Computed again from the "
            "parts, the output is the same to within {error}.",
        ),
        proof=(
            Step("What could be predicted at each layer: the logit lens.", Place("layers", _TEAM)),
            Step("The input of the first layer.", Place("layers", PLAIN[0], part="sum")),
        ),
        formula="a = LayerNorm(x + SelfAttention(x))      y = LayerNorm(a + W₂ · GELU(W₁ · a + b₁) + b₂)",
        formula_says="The feed-forward network widens each vector fourfold and narrows it again. BERT normalises after "
        "each sum (post-norm); ModernBERT before each part (pre-norm).",
        source="Vaswani et al. 2017, section 3.1; Ba et al. 2016; Elhage et al. 2021",
        measured_by="Cosine of input and output of each layer",
        code="model.encoder:EncoderLayer.forward",
        hour=2,
    ),
    Lesson(
        number=11,
        title="Padding and the attention mask",
        minutes=4,
        model=ENGLISH,
        idea="Texts of a batch have different lengths, and a tensor is a rectangle: shorter texts are filled up with "
        "`[PAD]`. The attention mask is 1 for real tokens and 0 for padding.",
        look=(Step("Ids, segment ids and attention mask of a text.", Place("tokens", _TEAM)),),
        example=_TEAM,
        question="Twenty `[PAD]` tokens are appended to this text. Does the prediction at `[MASK]` change?",
        choices=(
            Choice(
                "A little: padding dilutes the attention.",
                "Without the attention mask it would. The mask gives padding no weight at all.",
            ),
            Choice(
                "Not at all, with or without a mask: `[PAD]` means nothing.",
                "`[PAD]` has an embedding like every token. Without the mask it gets attention, and it is read.",
            ),
            Choice("With the attention mask not at all; without it, it does."),
        ),
        claim=claims.padding,
        cases="texts: with the mask the probability is the same to five digits, without it, it changes by more than a "
        "tenth of its value",
        reveal=(
            "“{word}” has {alone} by itself, {masked} with padding and mask, and {unmasked} with padding and without "
            "the mask. The scores of padding become minus infinity before the softmax, so that their weights are "
            "0 and the others still sum to 1.",
            "Padding costs time all the same. That is why batches are made of texts of similar length.",
        ),
        proof=(Step("The attention of the text by itself.", Place("attention", _TEAM)),),
        formula="attention(i, j) = softmaxⱼ(score(i, j) + mⱼ),  mⱼ = 0 for tokens, −∞ for padding",
        formula_says="The extended attention mask: added to the scores, it removes padding from every row.",
        source="Devlin et al. 2018, released code; Vaswani et al. 2017, section 3.2.3",
        measured_by="Probability of the word at [MASK]",
        code="model.attention:extended_attention_mask",
        hour=2,
    ),
    Lesson(
        number=12,
        title="BERT beside GPT and T5",
        minutes=6,
        model=ENGLISH,
        idea="GPT is a decoder: it predicts the next token from those before. T5 is an encoder and a decoder: it reads "
        "a text in both directions and writes another one. BERT is an encoder: it reads, and answers with one vector "
        "for each token.",
        look=(Step("The next word of a sentence, asked of BERT.", Place("predictions", f"{STARTS[0]} [MASK]")),),
        example=STARTS[0],
        question="Let BERT write: append `[MASK]`, put the top prediction in its place, append the next `[MASK]`, and "
        "so on, twelve times. What comes out?",
        choices=(
            Choice(
                "A plausible sentence: predicting words is what it was trained for.",
                "It was trained to fill gaps in texts that go on after the gap. Here nothing follows, and a text that "
                "ends after a gap most often ends there.",
            ),
            Choice(
                "Plausible words in no order.",
                "Order is not the problem: with the words on both sides of a gap it does well.",
            ),
            Choice("Full stops and quotation marks."),
        ),
        claim=claims.generation,
        cases="beginnings of sentences: more than half of the twelve tokens are punctuation",
        reveal=(
            "“{start}” goes on: {written}. In the middle of a text the same model gives the right token a probability "
            "of {both} (geometric mean over the tokens of eight sentences); where everything after it is cut off, "
            "{left}.",
            "What each is for: BERT where an existing text has to be understood (classification, entities, "
            "extractive answers, search); GPT where text has to be written; T5 where one text becomes another "
            "(translation, summary). BERT is not for dialogue, summaries or translation, and not for texts longer than "
            "its positions.",
        ),
        proof=(
            Step("With its right context the same gap is easy.", Place("predictions", _TEAM, settings={"word": _WORD})),
            Step(
                "As a GPT reads: the causal mask.",
                Place("attribution", _TEAM, part="intervention", settings={"choice": _WORD, "causal": "1"}),
            ),
        ),
        formula="BERT: p(xᵢ | all others)      GPT: p(xᵢ | x₁ … xᵢ₋₁)      T5: p(yᵢ | x, y₁ … yᵢ₋₁)",
        formula_says="Only GPT's product over i is the probability of a text, and so a way to sample one. T5's is that "
        "of a text y given a text x.",
        source="Radford et al. 2018; Devlin et al. 2018, section 1; Raffel et al. 2020; Wang and Cho 2019",
        measured_by="Mean probability of the right token",
        code="interpret.predictions.predictions:fill_mask",
        hour=2,
    ),
    Lesson(
        number=13,
        title="Pretrain once, fine-tune often",
        minutes=5,
        model=REVIEWS,
        idea="Labels are scarce, plain text is not. So a model is pretrained once on plain text, on tasks that need no "
        "labels, and then fine-tuned again and again, each time on the few labelled examples of one task.",
        look=(Step("The curves of a fine-tuning: how many steps?", Place("run", settings={"id": REVIEWS})),),
        example="",
        question="Pretraining wiki-mini took hours on one processor core. How long did one fine-tuning of it on film "
        "reviews take?",
        choices=(
            Choice("Less than a tenth of that."),
            Choice(
                "About half: the whole model is trained again.",
                "All parameters are trained, but on far fewer tokens: a labelled set is small.",
            ),
            Choice(
                "About as long: there are as many parameters.",
                "The time is the tokens read, times the cost of one. The cost is the same, the tokens are far fewer.",
            ),
        ),
        claim=claims.pretrain_once,
        cases="fine-tuning runs of wiki-mini that come with the lab: less than a tenth of the time of its pretraining",
        reveal=(
            "Pretraining took {pretraining}, for {tokens} million tokens; one fine-tuning on reviews {tuning}, which "
            "is {share}. From the same pretrained model come {models}.",
            "Without pretraining the same examples teach far less: tick “Random-weights baseline” when you fine-tune, "
            "and the difference is measured beside your run.",
        ),
        proof=(Step("Fine-tune on a sample: minutes, not hours.", Place("finetune")),),
        formula="time ≈ 6 · parameters · tokens / speed",
        formula_says="Forward and backward need about 6 operations for each parameter and token (Kaplan et al. 2020); "
        "speed in operations a second.",
        source="Devlin et al. 2018, sections 1 and 4; Howard and Ruder 2018",
        measured_by="Share of the pretraining time",
        code="training.loop.loop:_forward_backward",
        hour=2,
    ),
    Lesson(
        number=14,
        title="The family",
        minutes=6,
        model=ENGLISH,
        idea="What came after BERT kept its encoder and changed a few settings: RoBERTa the data and the objective, "
        "ALBERT and DistilBERT the size, ELECTRA the task, DeBERTa the positions, ModernBERT nearly all of them. "
        "The lab reads all of these as settings of one backbone.",
        look=(
            Step(
                "The input bar states the architecture, vocabulary and size of the model.", Place("predictions", _TEAM)
            ),
        ),
        example="",
        question="ALBERT-base is as deep and as wide as BERT-base. How many parameters does it have?",
        choices=(
            Choice(
                "About as many.",
                "It computes as much. But all of its twelve layers are one and the same set of weights.",
            ),
            Choice("About a tenth."),
            Choice(
                "About half, like DistilBERT.",
                "DistilBERT leaves out half of the layers. ALBERT keeps the depth, and shares one layer's weights.",
            ),
        ),
        claim=claims.family,
        cases="families, each built from its settings: within three percent of the size that was published",
        reveal=(
            "Built from their settings, without the heads: {sizes} (millions of parameters).",
            "ALBERT shares one layer among twelve, and factorises the embedding matrix: smaller to store, not faster. "
            "DistilBERT is faster: it has half of the layers, and learnt from BERT, its teacher.",
        ),
        proof=(Step("Share the layers yourself: the ablation study has a card for it.", Place("ablation")),),
        formula="BERT: V·D + 12 · (12·D²)      ALBERT: V·E + E·D + 12·D²",
        formula_says="V vocabulary, D width, E = 128 the factorised embedding size; 12·D² is one layer without biases.",
        source="Liu et al. 2019; Lan et al. 2019; Sanh et al. 2019; Clark et al. 2020; He et al. 2021; "
        "Warner et al. 2024",
        measured_by="Parameters, relative to the largest",
        code="model.encoder:Encoder.forward",
        hour=2,
    ),
    Lesson(
        number=15,
        title="A task from file to errors",
        minutes=8,
        model=REVIEWS,
        idea="Fine-tuning begins with a file of examples and does not end with a score. A part of the file is held "
        "out; the score on it stands beside that of guessing; then the errors are read, kind by kind.",
        look=(
            Step("Fine-tune a model: choose the sample Sentiment, and press the button.", Place("finetune")),
            Step(
                "A finished run: its scores, its confusion matrix, its errors.", Place("run", settings={"id": REVIEWS})
            ),
        ),
        example=IRONY,
        question="Of plain sentences the model labels about nineteen in twenty correctly. And of ironic ones?",
        choices=(
            Choice(
                "About as many.",
                "Irony says with good words that something is bad; in reviews good words mostly mean a good film.",
            ),
            Choice(
                "About half: it can only guess.",
                "Whoever guesses is right half of the time. To be wrong mostly, one must be misled by something.",
            ),
            Choice("Few: it is wrong more often than by guessing."),
        ),
        claim=claims.kinds_of_error,
        cases="kinds of sentence (negation, irony, comparison and so on): fewer are labelled correctly than plain ones",
        reveal=(
            "Correct: {plain} of the plain sentences, {irony} of the ironic ones, {together} of all. The classifier "
            "follows the words, and the words of an ironic sentence point the other way.",
            "A test set of plain sentences would not have shown it. So a task is done when its errors have been read: "
            "more examples of the kind that fails, or a larger model, is what comes next.",
        ),
        proof=(
            Step("Which words made it decide?", Place("attribution", IRONY)),
            Step("Write a sentence of your own that misleads it.", Place("predictions", IRONY)),
        ),
        formula="accuracy = correct / all;   of a kind: correct of that kind / all of that kind",
        formula_says="Compare each with guessing, and with the same model trained from random weights.",
        source="Devlin et al. 2018, section 4.1; Ribeiro et al. 2020 (CheckList), section 2",
        measured_by="Correct labels, by kind of sentence",
        code="training.finetuning.finetune:_score_test_set",
        hour=2,
    ),
)
