# %% [markdown]
# # Tokenization
#
# BERT never sees letters or words. It sees *token ids*: numbers of entries in a fixed vocabulary. This notebook
# follows a text from characters to ids and back, splits words by hand, and trains a vocabulary of its own.
#
# *In the paper*: Devlin et al. 2018, section 3; Wu et al. 2016, section 4.1 (WordPiece). *On the page*: Learn, lesson
# 9; Explore, panel Tokens. *In the code*: `bertviz_lab/tokenization/`.

# %%
from bertviz_lab import Tokenizer, load_checkpoint, show
from bertviz_lab.exercise import check
from bertviz_lab.tokenization import explain

tokenizer = load_checkpoint("wiki-mini").tokenizer
tokenizer

# %% [markdown]
# ## From a text to ids
#
# `encode` returns everything that a model reads. A word that is an entry of the vocabulary is one token; any other
# word is cut into *word pieces*, of which all but the first begin with `##`. Two *special tokens* surround the text:
# `[CLS]`, whose vector later represents the whole text, and `[SEP]`, which ends it.

# %%
encoding = tokenizer.encode("The unbelievable astronaut slept.")
for position, (token, token_id) in enumerate(zip(encoding.tokens, encoding.ids, strict=True)):
    print(f"{position:>2}  {token_id:>5}  {token}")

# %% [markdown]
# A pair of texts is one sequence, `[CLS] A [SEP] B [SEP]`. The *segment ids* (`token_type_ids` in `transformers`) say
# which text a token belongs to: 0 through the first `[SEP]`, 1 after it.

# %%
show.tokens(tokenizer.encode("The astronaut slept.", "She dreamed of Mars."))

# %% [markdown]
# Back to text: ids are looked up, and `##` glues a piece to the one before it. What the tokenizer dropped is lost:
# this one is *uncased*, so capitals and accents are gone.

# %%
print(tokenizer.decode(tokenizer.encode("Café Zürich, UNBELIEVABLE!").ids))

# %% [markdown]
# ## WordPiece by hand: greedy longest match first
#
# Given a vocabulary, WordPiece needs no statistics at all. It takes the longest entry that the word begins with, then
# the longest entry, written with `##`, that the rest begins with, and so on. Where nothing fits, not even one
# character, the *whole word* becomes `[UNK]`.

# %%
vocabulary = set(tokenizer.tokens)


def word_piece(word: str) -> list[str]:
    """The pieces of one lower-cased word."""
    pieces: list[str] = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):  # the longest first
            if prefix + word[start:end] in vocabulary:
                pieces.append(prefix + word[start:end])
                start = end
                break
        else:
            return ["[UNK]"]
    return pieces


for word in "house houses housewarming unbelievable tokenization antidisestablishmentarianism".split():
    print(f"{word:<30}{' '.join(word_piece(word))}")

# %% [markdown]
# The lab uses the `tokenizers` library, written in Rust. Ours is slower and returns the same:

# %%
words = "the unhappiest jugglers reconsidered seventeen flugelhorns yesterday".split()
for word in words:
    (split,) = explain(tokenizer, word)
    assert list(split.pieces) == word_piece(word)
print(f"{len(words)} words, split alike by both")

# %% [markdown]
# The same, candidate by candidate. Note what WordPiece does *not* know: stems, syllables, meaning. "un" and "##able"
# happen to be parts of English grammar, "##bel" and "##iev" are not; only the vocabulary decides.

# %%
show.word_splits(tokenizer, "unbelievable houses")

# %% [markdown]
# ### Exercise 1
#
# The average number of tokens per word is called *fertility*. Compute it for `words` above, with `word_piece`.

# %%
fertility = ...

# %% tags=["check"]
check(
    fertility,
    sum(len(split.pieces) for split in explain(tokenizer, " ".join(words))) / len(words),
    "Count the pieces of every word, and the words.",
    "sum(len(word_piece(word)) ...), over len(words).",
)

# %% tags=["solution"]
fertility = sum(len(word_piece(word)) for word in words) / len(words)

# %% [markdown]
# ### Exercise 2
#
# Write the way back: from pieces to a text with a space between words. (Punctuation may keep its space.)

# %%


def join(pieces: list[str]) -> str: ...


# %% tags=["check"]
check(
    join(["the", "house", "##boat", "un", "##do", "##es"]),
    "the houseboat undoes",
    "What does ## say about the space before a piece?",
    "Put a space between all pieces first; which of these spaces, with the marks after them, have to go?",
)

# %% tags=["solution"]


def join(pieces: list[str]) -> str:
    return " ".join(pieces).replace(" ##", "")


# %% [markdown]
# ## Where a vocabulary comes from
#
# It is trained, once, before the model. WordPiece and BPE both begin with single characters and merge the pair of
# neighbors that scores best, again and again, until the vocabulary is full. BPE takes the most *frequent* pair.
# Google's WordPiece takes the pair whose merge raises the likelihood of the corpus most, roughly the frequency of the
# pair over those of its parts (Schuster and Nakajima 2012); its code was never released. The `tokenizers` library,
# used here, trains WordPiece by frequency as well and differs from BPE in the `##` marks and in how it splits words.
# Our corpus is Tiny Town, 4,000 little stories that the lab generates.

# %%
from bertviz_lab.data.samples import SAMPLES

stories = [" ".join(document.sentences) for document in SAMPLES["tiny-town"].documents()]
print(f"{len(stories):,} stories, {sum(len(story.split()) for story in stories):,} words. The first:\n")
print(stories[0])

# %%
probe = " ".join(stories[:200])
print("vocabulary   tokens for 200 stories   tokens per word")
for size in (60, 100, 200, 400, 800):
    trained = Tokenizer.train(stories, vocab_size=size)
    count = len(trained.ids([probe])[0])
    print(f"{trained.vocab_size:>10}   {count:>22,}   {count / len(probe.split()):>15.2f}")

# %% [markdown]
# A larger vocabulary makes texts shorter, and attention's cost grows with the square of the length. The price is the
# embedding matrix, one row per entry: in BERT-base, 30,522 x 768 = 23.4 million of 110 million parameters.
#
# The first merges of BPE show what the corpus repeats most (`Ġ` is a space in front of a word):

# %%
bpe = Tokenizer.train(stories, vocab_size=400, algorithm="bpe")
for pair, rank in sorted(bpe.merge_ranks.items(), key=lambda entry: entry[1])[:8]:
    print(rank, " + ".join(pair), "->", "".join(pair))

# %% [markdown]
# ## Long and short texts
#
# A model has learned a fixed number of positions. A longer text is *truncated*; in a batch, shorter ones are filled
# up with `[PAD]`, which the *attention mask* marks with 0 so that no token attends to it.

# %%
short = tokenizer.encode("It rained.", pad_to=10)
print(short.tokens)
print(short.attention_mask)
long = tokenizer.encode("one two three four five six seven eight", max_length=6)
print(long.tokens, "dropped:", long.dropped_a)

# %% [markdown]
# ### Exercise 3
#
# A model takes 128 positions, and A and B are both longer than that. How many positions are left for the tokens of A
# and B together?

# %%
room = ...

# %% tags=["check"]
check(
    room,
    128 - tokenizer.encode("a", "b").special_tokens_mask.count(1),
    "The text is not all that is in the sequence.",
    "[CLS] A [SEP] B [SEP]: how many of these are special?",
)

# %% tags=["solution"]
room = 128 - 3

# %% [markdown]
# ## Where to go on
#
# - `02_embeddings`: what becomes of the ids.
# - `bertviz_lab/tokenization/explain.py`: the reference of WordPiece, BPE and Unigram, step by step.
