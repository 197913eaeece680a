# %% [markdown]
# # Masked language modeling
#
# A bidirectional model cannot be trained to predict the next word: it would see it. *Masked language modeling* (MLM)
# masks some tokens of a text and predicts those. This notebook masks them by hand, by the 80/10/10 rule, computes the
# loss, and shows what a model predicts for each kind of selected token.
#
# *In the paper*: Devlin et al. 2018, section 3.1 (task 1) and appendices A.1 and C.2. *On the page*: Learn, lesson 2;
# Explore, panel Tokens. *In the code*: `bertviz_lab/data/pretraining/masking.py`, `bertviz_lab/model/losses.py`.

# %%
import math

import numpy as np
import torch

from bertviz_lab import interpret, load_checkpoint, show
from bertviz_lab.data.pretraining.batches import masking_rule
from bertviz_lab.exercise import check

checkpoint = load_checkpoint("wiki-mini")
tokenizer = checkpoint.tokenizer
text = (
    "The church was built in the 12th century by monks who lived in the valley. Its tower was destroyed by a fire, "
    "and the people of the town built it again."
)

# %% [markdown]
# ## The rule
#
# 15% of the tokens are *selected*; these are what the model has to predict. Of the selected tokens
#
# - 80% are replaced by `[MASK]`,
# - 10% by a random token,
# - 10% stay as they are.
#
# Why not always `[MASK]`? Because no text outside of pretraining has one. With the other 20% the model cannot know
# which of its input tokens are original, so it has to keep a good vector for *every* token.

# %%
masked = interpret.mask_text(tokenizer, text, seed=3)
show.masking(masked)

# %% [markdown]
# ## By hand
#
# `labels` holds the true id at selected positions and -100 elsewhere, the number that PyTorch's cross-entropy leaves
# out. One uniform draw per selected token decides which case applies.

# %%


def mask_tokens(ids: list[int], rng: np.random.Generator) -> tuple[list[int], list[int]]:
    """The model's input, and its labels."""
    candidates = [position for position, token_id in enumerate(ids) if token_id not in tokenizer.special_ids]
    selected = rng.choice(candidates, size=max(1, round(0.15 * len(ids))), replace=False)
    inputs, labels = list(ids), [-100] * len(ids)
    for position in selected:
        labels[position] = ids[position]
        draw = rng.random()
        if draw < 0.8:
            inputs[position] = tokenizer.mask_id
        elif draw < 0.9:
            inputs[position] = int(rng.integers(len(tokenizer.special_ids), tokenizer.vocab_size))
    return inputs, labels


ids = list(tokenizer.encode(text).ids)
inputs, labels = mask_tokens(ids, np.random.default_rng(1))
for position, label in enumerate(labels):
    if label != -100:
        given, truth = tokenizer.token(inputs[position]), tokenizer.token(label)
        print(f"position {position:>2}: the model reads {given:<10} and has to say {truth}")

# %% [markdown]
# Does it keep the shares? Masked 2,000 times, and counted:

# %%
counts = {"[MASK]": 0, "random": 0, "unchanged": 0}
rng = np.random.default_rng(0)
for _ in range(2000):
    inputs, labels = mask_tokens(ids, rng)
    for before, after, label in zip(ids, inputs, labels, strict=True):
        if label != -100:
            counts["[MASK]" if after == tokenizer.mask_id else "unchanged" if after == before else "random"] += 1
total = sum(counts.values())
for name, count in counts.items():
    print(f"{name:<10}{count / total:>7.1%}")

# %% [markdown]
# The lab's own, which masks whole batches at once, with the 99% interval of each share:

# %%
show.masking_statistics(interpret.masking_statistics(tokenizer, text, draws=2000, seed=0))

# %% [markdown]
# ### Exercise 1
#
# In a text of 512 tokens, how many `[MASK]` are to be expected, how many positions are predicted, and how many of all
# tokens are replaced by a random one? (Count every token; the number selected is rounded.)

# %%
expected_masks = ...
predicted_positions = ...
random_tokens = ...

# %% tags=["check"]
check(
    None if expected_masks is ... else [expected_masks, predicted_positions, random_tokens],
    [61.6, 77, 7.7],
    "First the selected tokens; the shares are shares of these.",
    "Round 15% of 512, and leave the other two as they come out.",
)

# %% tags=["solution"]
predicted_positions = round(0.15 * 512)
expected_masks = 0.8 * predicted_positions
random_tokens = 0.1 * predicted_positions

# %% [markdown]
# ## The loss
#
# At each selected position the model assigns a probability to every entry of its vocabulary. The loss is the mean of
# -ln p(true token) over the *selected positions only*; other positions do not count.

# %%
selected = [position for position, label in enumerate(masked.labels) if label != -100]
with torch.no_grad():
    logits_LV = checkpoint.model(torch.tensor([masked.input_ids])).prediction_logits[0]
log_probabilities_LV = logits_LV.log_softmax(-1)

losses = []
for position in selected:
    label = masked.labels[position]
    losses.append(-float(log_probabilities_LV[position, label]))
    print(
        f"{masked.outcomes[position]:<7} reads {masked.input_tokens[position]:<9} truth {tokenizer.token(label):<9} "
        f"p = {math.exp(-losses[-1]):>6.1%}   -ln p = {losses[-1]:.2f}"
    )
mean = sum(losses) / len(losses)
print(f"{'mean':<42}{mean:>24.2f} nats")

by_torch = torch.nn.functional.cross_entropy(logits_LV, torch.tensor(masked.labels), ignore_index=-100)
assert math.isclose(mean, float(by_torch), rel_tol=1e-4)

# %% [markdown]
# Six of 36 tokens gave a training signal; a causal model, which predicts each next token, would have learned from all
# of them. That is why MLM learns more slowly per text: it is the price of bidirectional context.
#
# Where the token stayed as it was (*kept*), the model leans to what it reads; where a random one took its place, it
# has to notice. Compare with guessing: uniformly over 8,192 entries the loss is ln 8192 = 9.01 nats.

# %%
show.masked_loss(masked, interpret.masked_loss(checkpoint, masked))

# %% [markdown]
# ### Exercise 2
#
# *Perplexity* is e to the loss: among how many equally likely tokens the model seems to choose. Compute it for this
# text, and for guessing uniformly.

# %%
perplexity = ...
uniform_perplexity = ...

# %% tags=["check"]
check(
    None if perplexity is ... else [perplexity, uniform_perplexity],
    [float(by_torch.exp()), tokenizer.vocab_size],
    "Both are e to the power of a loss.",
    "The loss of guessing uniformly is ln V: what is e to the power of a logarithm?",
)

# %% tags=["solution"]
perplexity = math.exp(mean)
uniform_perplexity = math.exp(math.log(tokenizer.vocab_size))

# %% [markdown]
# ## Static and dynamic masking
#
# Google's code wrote ten masked copies of the corpus to disk and read them again and again (*static*). RoBERTa drew
# new masks at every visit (*dynamic*), which costs nothing extra in memory, and masks more of each text over time.

# %%
short = "The church was built in the 12th century by monks."
show.mask_epochs(interpret.mask_epochs(tokenizer, short, epochs=6, repeat_after=None, seed=0))

# %% [markdown]
# ## Words and spans
#
# If one piece of a word is masked, the others reveal it. *Whole-word masking* masks all pieces of a word, *span
# masking* (SpanBERT) whole runs of words. The task gets harder, and the model better at tasks about spans, such as
# question answering. Dots are tokens that are not predicted:

# %%
long_words = (
    "The photosynthesis of the rediscovered blackbird was unbelievably misunderstood by grandmotherly xylophonists."
)
for name, rule in [
    ("tokens", masking_rule(tokenizer)),
    ("whole words", masking_rule(tokenizer, whole_word=True)),
    ("spans", masking_rule(tokenizer, spans=True)),
]:
    drawn = interpret.mask_text(tokenizer, long_words, seed=5, rule=rule)
    asked = [token if label != -100 else "·" for token, label in zip(drawn.encoding.tokens, drawn.labels, strict=True)]
    print(f"{name:<12}", " ".join(asked))

# %% [markdown]
# ### Exercise 3
#
# Somebody computes the loss over *all* positions, with the original ids as labels everywhere. Why is that number so
# much smaller, and what does it teach the model? Compute it first.

# %%
loss_everywhere = ...

# %% tags=["check"]
check(
    loss_everywhere,
    -log_probabilities_LV[range(len(masked.encoding.ids)), list(masked.encoding.ids)].mean(),
    "The same function as above, with other labels.",
    "masked.encoding.ids has the ids before masking; make a tensor of them.",
)

# %% tags=["solution"]
loss_everywhere = torch.nn.functional.cross_entropy(logits_LV, torch.tensor(masked.encoding.ids))

# %% [markdown]
# Most positions show their own answer, so copying is nearly all there is to learn: the loss looks good and the model
# learns little. If an MLM loss falls to nearly 0 within a few steps, check the labels first.

# %% [markdown]
# ## Where to go on
#
# - `06_sentence_pairs_and_batches`: from one text to a batch.
# - Wettig et al. 2022, "Should You Mask 15% in Masked Language Modeling?"
