# %% [markdown]
# # Sentence pairs and batches
#
# BERT's second pretraining task is *next-sentence prediction* (NSP): given A and B, did B follow A in the text, or is
# it from elsewhere? This notebook builds a batch by hand, as many positive pairs as negative ones, with masks,
# labels, segment ids and padding, feeds it to a model, and then looks at how the lab builds the same at full speed.
#
# *In the paper*: Devlin et al. 2018, section 3.1 (task 2) and appendix A.2. *On the page*: Learn, lessons 3 and 11;
# Train, Pretrain. *In the code*: `bertviz_lab/data/pretraining/sentence_pairs.py`, `batches.py`.

# %%
import numpy as np
import torch

from bertviz_lab import interpret, load_checkpoint, show
from bertviz_lab.data.samples import SAMPLES
from bertviz_lab.exercise import check

checkpoint = load_checkpoint("tiny-town")
tokenizer = checkpoint.tokenizer
stories = [document.sentences for document in SAMPLES["tiny-town"].held_out()]
print(len(stories), "stories that the model was not trained on; the first:")
for sentence in stories[0]:
    print("  ", sentence)

# %% [markdown]
# ## Step 1: pairs
#
# *Positive*: two sentences that follow each other in one story (label 0, "is next"). *Negative*: B is from another
# story (label 1, "is random"). We draw until there are as many of one kind as of the other.

# %%
rng = np.random.default_rng(0)


def draw_pairs(batch_size: int) -> list[tuple[str, str, int]]:
    """(A, B, label): half of them positive."""
    pairs: list[tuple[str, str, int]] = []
    positives = negatives = 0
    while positives + negatives < batch_size:
        story, other = rng.choice(len(stories), size=2, replace=False)
        at = int(rng.integers(len(stories[story]) - 1))
        is_positive = rng.random() < 0.5
        if is_positive and positives < batch_size // 2:
            pairs.append((stories[story][at], stories[story][at + 1], 0))
            positives += 1
        elif not is_positive and negatives < batch_size // 2:
            pairs.append((stories[story][at], str(rng.choice(stories[other])), 1))
            negatives += 1
    return pairs


pairs = draw_pairs(6)
for a, b, label in pairs:
    print(("is next  " if label == 0 else "is random"), "|", a, "|", b)

# %% [markdown]
# ## Step 2: one sequence each
#
# `[CLS] A [SEP] B [SEP]`, with segment id 0 through the first `[SEP]` and 1 after it.
#
# ### Exercise 1
#
# Write it from lists of ids. It returns the ids and the segment ids.

# %%


def join_pair(a: list[int], b: list[int]) -> tuple[list[int], list[int]]: ...


# %% tags=["check"]
_a, _b = (tokenizer.ids([text])[0] for text in pairs[0][:2])
_expected = tokenizer.encode(*pairs[0][:2])
check(
    join_pair(_a, _b) and [list(part) for part in join_pair(_a, _b)],
    [list(_expected.ids), list(_expected.token_type_ids)],
    "Put the special tokens in place first, then count how many positions are 0.",
    "[CLS] and the first [SEP] belong to A, the second [SEP] to B.",
)

# %% tags=["solution"]


def join_pair(a: list[int], b: list[int]) -> tuple[list[int], list[int]]:
    ids = [tokenizer.cls_id, *a, tokenizer.sep_id, *b, tokenizer.sep_id]
    return ids, [0] * (len(a) + 2) + [1] * (len(b) + 1)


# %% [markdown]
# (The notebook goes on with the tokenizer's own, so that it runs without your solution.)
#
# ## Step 3: masks and labels
#
# 15% of the tokens, never `[CLS]` or `[SEP]`, by the 80/10/10 rule of the notebook before. We keep the *positions* of
# the selected tokens and their true ids: that is all that the MLM head has to look at.

# %%
rows = []
for number, (a, b, label) in enumerate(pairs):
    masked = interpret.mask_text(tokenizer, a, b, seed=number)
    positions = [position for position, true_id in enumerate(masked.labels) if true_id != -100]
    rows.append(
        {
            "ids": list(masked.input_ids),
            "segments": list(masked.encoding.token_type_ids),
            "positions": positions,
            "labels": [masked.labels[position] for position in positions],
            "next": label,
        }
    )
first = rows[0]
print("input:    ", " ".join(tokenizer.token(i) for i in first["ids"]))
print("segments: ", first["segments"])
print("positions:", first["positions"], "labels:", [tokenizer.token(i) for i in first["labels"]])

# %% [markdown]
# ## Step 4: padding
#
# Tensors are rectangles. Shorter rows are filled up with `[PAD]`, whose id is 0 here, and the *attention mask* says
# which positions are real. Unused places among the labels get -100, which the loss leaves out.

# %%


def pad(lists: list[list[int]], value: int) -> torch.Tensor:
    width = max(map(len, lists))
    return torch.tensor([row + [value] * (width - len(row)) for row in lists])


input_ids = pad([row["ids"] for row in rows], tokenizer.pad_id)  # (batch, tokens)
token_type_ids = pad([row["segments"] for row in rows], 0)
attention_mask = pad([[1] * len(row["ids"]) for row in rows], 0)
masked_positions = pad([row["positions"] for row in rows], 0)  # (batch, predictions)
labels = pad([row["labels"] for row in rows], -100)
next_sentence_label = torch.tensor([row["next"] for row in rows])  # (batch,)

for name in "input_ids token_type_ids attention_mask masked_positions labels next_sentence_label".split():
    print(f"{name:<20}{tuple(globals()[name].shape)}")
print("\nattention mask:\n", attention_mask)
print("share of padding:", f"{1 - attention_mask.float().mean():.0%}")

# %% [markdown]
# ## Step 5: through the model
#
# Both tasks at once. The loss of a step is the sum of the two means; the MLM head only computes the masked positions.

# %%
model = checkpoint.model
with torch.no_grad():
    out = model(
        input_ids,
        attention_mask,
        token_type_ids,
        labels=labels,
        next_sentence_label=next_sentence_label,
        masked_positions=masked_positions,
    )
print("MLM logits", tuple(out.prediction_logits.shape), "  NSP logits", tuple(out.seq_relationship_logits.shape))
print(f"MLM loss {out.mlm_loss:.3f} + NSP loss {out.nsp_loss:.3f} = {out.loss:.3f}")
assert torch.allclose(out.mlm_loss + out.nsp_loss, out.loss)

# %% [markdown]
# Its predictions for each pair, and for the masked words:

# %%
is_next = out.seq_relationship_logits.softmax(-1)[:, 0]
for (a, b, label), probability in zip(pairs, is_next.tolist(), strict=True):
    verdict = "right" if (probability > 0.5) == (label == 0) else "WRONG"
    print(f"{verdict:<6}{probability:>6.1%} next | {a} | {b}")

hits = (out.prediction_logits.argmax(-1) == labels)[labels != -100]
print(f"\n{int(hits.sum())} of {len(hits)} masked tokens right")

# %% [markdown]
# ### Exercise 2
#
# Compute the NSP loss yourself from `out.seq_relationship_logits` (batch, 2) and `next_sentence_label`: the mean of
# -ln of the probability of the true class.

# %%
nsp_loss = ...

# %% tags=["check"]
check(
    nsp_loss,
    out.nsp_loss,
    "From logits to log-probabilities, and of each row the one of its label.",
    "log_softmax(-1), then index with torch.arange(...) and the labels; the loss is a mean, with a minus.",
)

# %% tags=["solution"]
log_probabilities = out.seq_relationship_logits.log_softmax(-1)
nsp_loss = -log_probabilities[torch.arange(len(rows)), next_sentence_label].mean()

# %% [markdown]
# ### Exercise 3
#
# What does guessing cost? Compute the NSP loss of a model that always predicts 50%, and the MLM loss of one that
# assigns every entry of the vocabulary (`tokenizer.vocab_size`) the same probability.

# %%
nsp_guess, mlm_guess = ..., ...

# %% tags=["check"]
check(
    None if nsp_guess is ... else [nsp_guess, mlm_guess],
    [float(-torch.zeros(n).log_softmax(-1)[0]) for n in (2, tokenizer.vocab_size)],
    "What is -ln p for p = 1/2?",
    "And for p = 1/V? np.log is the natural logarithm.",
)

# %% tags=["solution"]
nsp_guess, mlm_guess = np.log(2), np.log(tokenizer.vocab_size)

# %% [markdown]
# ## The same at full speed
#
# The paper's A and B are not single sentences but *runs* of sentences that fill the length; in Google's code a tenth
# of the examples are cut shorter so that short inputs occur too. In the lab an example is five numbers (where A and B
# begin and end, and the label), and only its batch writes it out, with examples of similar length together.

# %%
from bertviz_lab.data.pretraining.batches import PretrainingData, masking_rule
from bertviz_lab.data.pretraining.tokenized_corpus import CachedTokenizer, TokenizedCorpus

corpus = TokenizedCorpus.of_texts(stories, CachedTokenizer(tokenizer))
data = PretrainingData(
    documents=corpus.select(np.arange(corpus.documents)),
    tokenizer=tokenizer,
    rule=masking_rule(tokenizer),
    seq_len=64,
    batch_size=32,
    short_seq_probability=0.1,
    pairs="nsp",
    seed=0,
)
plan = list(data.epoch(0))
batches = [data.batch_at(examples, 0, number) for number, examples in enumerate(plan)]
ours = float(attention_mask.float().mean())
theirs = sum(batch.real_tokens for batch in batches) / sum(batch.input_ids.numel() for batch in batches)
print(f"{len(batches)} batches of up to 32; one of them: {tuple(batches[0].input_ids.shape)}")
print(f"padding: {1 - ours:.0%} in ours, {1 - theirs:.0%} in these")
random_share = np.mean(np.concatenate([batch.next_sentence_label.numpy() for batch in batches]))
print(f"share of random pairs: {random_share:.0%}")

# %% [markdown]
# More than half are random: at the end of a story there is often no sentence left that could follow, and then B is
# taken from elsewhere, as in Google's code. Over all of them: how good is the model at both tasks?

# %%
from bertviz_lab.training.loop.hardware import choose_hardware
from bertviz_lab.training.pretraining.evaluate import evaluate_pretraining

scores = evaluate_pretraining(model, batches, choose_hardware("fp32"))
for name in ("mlm_loss", "mlm_accuracy", "nsp_loss", "nsp_accuracy"):
    print(f"{name:<14}{scores[name]:.3f}")

# %% [markdown]
# ## Does NSP teach anything?
#
# A random sentence is mostly about something else, so the *topic* reveals it: NSP is easier than it sounds. RoBERTa
# dropped it and lost nothing. ALBERT made it harder: both sentences always follow each other, and the model has to
# say whether they were *swapped* (SOP). Try both tricks on this model, which was trained on NSP alone:

# %%
first_of_it, second_of_it = stories[0][0], stories[0][1]
show.next_sentences(
    {
        "in order": interpret.next_sentence(checkpoint, first_of_it, second_of_it),
        "swapped": interpret.next_sentence(checkpoint, second_of_it, first_of_it),
        "from another story": interpret.next_sentence(checkpoint, first_of_it, stories[7][2]),
    }
)

# %% [markdown]
# ## Where to go on
#
# - `07_pretraining`: thousands of such batches.
# - Liu et al. 2019 (RoBERTa), section 4.2; Lan et al. 2019 (ALBERT), section 3.1.
