"""Lessons 9 to 12: WordPiece, an encoder layer, padding, BERT compared with GPT and T5.

No number about a model is written here: names in braces are measured on demand.
"""

from bertviz_lab.ui.lessons import second_hour_claims as claims
from bertviz_lab.ui.lessons.cases import PLAIN, RARE_WORDS, RIGHT_CONTEXT, STARTS
from bertviz_lab.ui.lessons.lesson import ENGLISH, Choice, Lesson, Place, Step

_WORDS = f"The {RARE_WORDS[0]} of the child and the {RARE_WORDS[1]} of the text."
_TEAM, _WORD = RIGHT_CONTEXT[0]
_PADDED = _TEAM + " [PAD]" * 20

ENCODER = (
    Lesson(
        number=9,
        title="WordPiece",
        minutes=5,
        model=ENGLISH,
        idea="BERT's vocabulary is fixed before training. A word that is in it is one token; any other word is split "
        "into pieces that are. A piece that does not begin its word is written with ##.",
        look=(Step("How the tokenizer splits two of these words.", Place("tokens", _WORDS)),),
        example=" ".join(RARE_WORDS[:6]),
        question="Take a word that is not in the vocabulary. Which piece does WordPiece cut off first?",
        choices=(
            Choice(
                "Its grammatical stem.",
                "WordPiece knows no grammar. A stem comes out only where it happens to be a long entry of the "
                "vocabulary.",
            ),
            Choice("The longest prefix (beginning) of the word that is in the vocabulary."),
            Choice(
                "Its first syllable.",
                "It knows nothing of syllables either, only which strings are in the vocabulary.",
            ),
        ),
        claim=claims.wordpiece,
        cases="words: the first piece is the longest prefix in the vocabulary, and the pieces together are the word",
        reveal=(
            "“{word}” becomes {pieces}: the longest prefix that is in the vocabulary, then the longest continuation "
            "that is in it with ##, to the end. Where no piece fits, the whole word becomes `[UNK]`.",
            "The vocabulary of this model has {vocabulary} entries; they were chosen so that frequent words are one "
            "token. A larger vocabulary makes texts shorter and the embedding matrix larger: here it has {matrix} "
            "of {total} parameters.",
        ),
        proof=(
            Step(
                "Open a word to see the pieces that were tried. Then type words of your own in Text A.",
                Place("tokens", _WORDS, part="split"),
            ),
        ),
        formula="piece = longest entry of the vocabulary with which the rest of the word begins",
        formula_says="Greedy longest-match-first: how BERT uses a vocabulary. Google trained it by merging the pairs "
        "that raise the likelihood of the corpus most; Hugging Face's tokenizers library, used here, merges the most "
        "frequent pairs.",
        source="Schuster and Nakajima 2012; Wu et al. 2016, section 4.1; Devlin et al. 2018, section 3",
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
                "The norms (lengths) of what self-attention adds to each token; then choose “feed-forward output”.",
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
        cases="texts: the mean cosine of input and output of a layer is above one half, and in each layer lower "
        "without the residual connections",
        reveal=(
            "The cosine of input and output is {alike} on average over the layers ({by_layer}); without the residual "
            "connections the same layers give {without}. The last layer changes most: there the vector of a token "
            "turns into the prediction.",
            "How much is added differs from layer to layer: what self-attention adds is {ratios} times as long as what "
            "comes in. Where it is longer the sum has mostly its direction, and less of the input is kept.",
            "In layer 1 the vector of “{token}” comes in with length {came}; self-attention adds a vector of length "
            "{attention}, and the sum has {summed} (lengths add up only where directions agree); LayerNorm makes it "
            "{normed}; the feed-forward network adds {feed_forward}, and after LayerNorm the layer gives {gives}. The "
            "vectors do add up: computed again from the parts, each number of the output differs by {error}.",
        ),
        proof=(
            Step("What would be predicted at `[MASK]` after each layer: the logit lens.", Place("layers", _TEAM)),
            Step(
                "The vector that enters layer 1, and the three of which it is the normalized sum.",
                Place("layers", PLAIN[0], part="sum"),
            ),
        ),
        formula="a = LayerNorm(x + SelfAttention(x))      y = LayerNorm(a + W₂ · GELU(W₁ · a + b₁) + b₂)",
        formula_says="The feed-forward network widens each vector fourfold and narrows it again. BERT normalizes after "
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
        look=(
            Step("Ids, segment ids and attention mask of a text by itself: the mask is all 1.", Place("tokens", _TEAM)),
        ),
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
        cases="texts: with the mask all probabilities stay the same; without it, over a twentieth of the probability "
        "moves to other tokens",
        reveal=(
            "“{word}” has {alone} by itself, {masked} with padding and mask, and {unmasked} with padding and without "
            "the mask: {moved} of all probability moved to other tokens. The scores of padding become minus infinity "
            "before the softmax, so that their weights are 0 and the others still sum to 1.",
            "Padding costs time all the same. That is why batches are often made of texts of similar length.",
        ),
        proof=(
            Step("`[PAD]` typed into a text has mask 1: the prediction changes.", Place("predictions", _PADDED)),
            Step("Which heads attend to these `[PAD]`?", Place("attention", _PADDED)),
        ),
        formula="attention(i, j) = softmaxⱼ(score(i, j) + mⱼ),  mⱼ = 0 for tokens, −∞ for padding",
        formula_says="The extended attention mask, added to the scores. The released code adds −10,000; the lab's "
        "mask is boolean, with the same effect.",
        source="Devlin et al. 2018, released code; Vaswani et al. 2017, section 3.2.3",
        measured_by="Probability of the word at [MASK]",
        code="model.attention:extended_attention_mask",
        hour=2,
    ),
    Lesson(
        number=12,
        title="BERT compared with GPT and T5",
        minutes=6,
        model=ENGLISH,
        idea="GPT is a decoder: it predicts the next token from those before. T5 is an encoder and a decoder: it reads "
        "a text in both directions and writes another one. BERT is an encoder: it reads, and answers with one vector "
        "for each token.",
        look=(Step("A gap with text on both sides.", Place("predictions", _TEAM, settings={"word": _WORD})),),
        example=STARTS[0],
        question="Let BERT write from left to right: append `[MASK]`, put the top prediction in its place, append the "
        "next `[MASK]`, and so on, twelve times. What comes out?",
        choices=(
            Choice(
                "A plausible sentence: predicting words is what it was trained for.",
                "It was trained to fill gaps in texts that go on after the gap. Here nothing follows, and the "
                "last token of a text is most often a full stop.",
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
            "“{start}” goes on: {written}. With the text on both sides the same model gives the right token a "
            "probability of {both} (geometric mean over the tokens of eight sentences); where everything after it is "
            "cut off, {left}.",
            "What each is for: BERT where an existing text has to be understood (classification, entities, "
            "extractive answers, search); GPT where text has to be written; T5 where one text becomes another "
            "(translation, summary). BERT is not for dialogue, summaries or translation, and not for texts longer than "
            "its position embeddings reach (512 tokens in the released models).",
        ),
        proof=(
            Step("The first step of this writing: one `[MASK]` appended.", Place("predictions", f"{STARTS[0]} [MASK]")),
            Step(
                "As GPT reads: the causal mask. From “The” alone it can only guess.",
                Place("attribution", _TEAM, part="intervention", settings={"choice": _WORD, "causal": "1"}),
            ),
        ),
        formula="BERT: p(xᵢ | all others)      GPT: p(xᵢ | x₁ … xᵢ₋₁)      T5: p(yᵢ | x, y₁ … yᵢ₋₁)",
        formula_says="Only GPT's product over i is the probability of a text; T5's is that of a text y given a text x. "
        "BERT's conditionals define no such distribution (Torroba Hennigen and Kim 2023); text can be sampled from "
        "them all the same, token by token and many times over (Wang and Cho 2019).",
        source="Radford et al. 2018; Devlin et al. 2018, section 1; Raffel et al. 2020; Wang and Cho 2019",
        measured_by="Probability of the right token (geometric mean)",
        code="interpret.predictions:fill_mask",
        hour=2,
    ),
)
