# %% [markdown]
# # Attention
#
# In self-attention each token attends to all tokens: it decides how much each matters to it, and takes a weighted
# mean of what they offer. This notebook computes one head by hand from the weights of a trained model, then all of
# them, and introduces the two masks that decide which tokens may attend to which.
#
# *In the paper*: Vaswani et al. 2017, section 3.2. *On the page*: Learn, lessons 1, 5 and 8; Explore, panel
# Attention. *In the code*: `bertviz_lab/model/attention.py`.

# %%
import math

import numpy as np
import torch

from bertviz_lab import interpret, load_checkpoint, show
from bertviz_lab.exercise import check

town = load_checkpoint("tiny-town")
trace = interpret.trace_text(town, "The black kite is new. Ben likes the [MASK] kite.")
mask, black = trace.tokens.index("[MASK]"), trace.tokens.index("black")
interpret.fill_mask(town, trace.encoding.text_a, top_k=3).masks[0].candidates

# %% [markdown]
# The model is `tiny-town`: 2 layers of 2 heads, trained on the stories of a small town, in which a thing keeps its
# color. It fills the gap with "black", a word of the sentence before, so something must have carried it there. We
# take the head in which `[MASK]` attends most to "black":

# %%
layer, head = np.unravel_index(trace.attentions[:, :, mask, black].argmax(), trace.attentions.shape[:2])
print(f"layer {layer + 1}, head {head + 1}: weight {trace.attentions[layer, head, mask, black]:.1%}")

# %% [markdown]
# ## One head by hand
#
# A layer has three matrices, *query*, *key* and *value*, and its input, one vector of 128 numbers per token. Every
# token gets a query (what it looks for), a key (what it can be found by) and a value (what it passes on). With 2
# heads, each head has 64 of the 128 numbers. Shapes as suffixes: L tokens, D hidden size, H heads, K head size.

# %%
attention = town.model.bert.encoder.layers[layer].attention
input_LD = torch.from_numpy(trace.hidden_states[layer])  # what enters this layer
heads = attention.heads
K = input_LD.shape[1] // heads
one_head = slice(head * K, (head + 1) * K)

with torch.no_grad():
    q_LK = attention.query(input_LD)[:, one_head]
    k_LK = attention.key(input_LD)[:, one_head]
    v_LK = attention.value(input_LD)[:, one_head]
print("queries, keys and values of this head:", tuple(q_LK.shape))

# %% [markdown]
# **Scores**: every query times every key. **Scaling**: divided by √K. **Softmax**: each row becomes weights that sum
# to 1. **Context**: each token's weighted mean of the values.

# %%
scores_LL = q_LK @ k_LK.T / math.sqrt(K)
weights_LL = scores_LL.softmax(-1)
context_LK = weights_LL @ v_LK

stages = trace.layers[layer]
assert torch.allclose(scores_LL, stages.attention_scores[0, head], atol=1e-4)
assert torch.allclose(weights_LL, stages.attention_probs[0, head], atol=1e-5)
assert torch.allclose(context_LK, stages.context[0, head], atol=1e-4)
print("scores, weights and context are those that the model computes")

# %% [markdown]
# One row, written out: what `[MASK]` attends to in this head. The weights add up to 1.

# %%
for token, score, weight in zip(trace.tokens, scores_LL[mask].tolist(), weights_LL[mask].tolist(), strict=True):
    print(f"{token:<10}{score:>7.2f}  {weight:>6.1%}  {'█' * round(40 * weight)}")
print(f"{'sum':<17}  {weights_LL[mask].sum():>6.1%}")

# %% [markdown]
# And one score, dimension by dimension: 64 products that sum to it.

# %%
show.query_key(interpret.query_key(trace, int(layer), int(head), mask, black))

# %% [markdown]
# ### Exercise 1
#
# Write attention as a function: queries, keys and values in (any number of leading dimensions, then tokens and K),
# context out. `allowed`, if given, is True where a query may attend to a key; elsewhere the score becomes the
# smallest number there is *before* the softmax, so that the weight is 0 and the others still sum to 1.

# %%


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, allowed: torch.Tensor | None = None) -> torch.Tensor: ...


# %% tags=["check"]
_q, _k, _v = torch.randn(3, 2, 4, 5, 8, generator=torch.Generator().manual_seed(0)).unbind()
_allowed = torch.ones(5, 5, dtype=torch.bool).tril()
check(
    attend(_q, _k, _v, _allowed),
    torch.nn.functional.scaled_dot_product_attention(_q, _k, _v, _allowed),
    "Scores, scaling, softmax, context: the four lines of the section above, with one more for `allowed`.",
    "k.transpose(-1, -2) for any number of dimensions, and scores.masked_fill(~allowed, ...) before the softmax.",
)

# %% tags=["solution"]


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, allowed: torch.Tensor | None = None) -> torch.Tensor:
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if allowed is not None:
        scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
    return scores.softmax(-1) @ v


# %% [markdown]
# ## Why √K?
#
# The dot product of two random vectors of K numbers has a standard deviation of √K. Without the division, long
# vectors give large scores, softmax puts all weight on one token, and its gradient vanishes.

# %%
generator = torch.Generator().manual_seed(0)
print("   K   deviation of q·k   largest of 10 weights, unscaled   scaled")
for size in (4, 16, 64, 256):
    q = torch.randn(1000, size, generator=generator)
    k = torch.randn(1000, 10, size, generator=generator)
    products = torch.einsum("nk,njk->nj", q, k)
    unscaled, scaled = (s.softmax(-1).amax(-1).mean() for s in (products, products / math.sqrt(size)))
    print(f"{size:>4}{products.std():>19.1f}{unscaled:>34.0%}{scaled:>9.0%}")

# %% [markdown]
# ## All heads at once
#
# *Multi-head* attention is the same computation on several slices of the vectors at once. The contexts are put side
# by side again, and one more matrix, `output`, mixes them.

# %%
with torch.no_grad():
    q_HLK, k_HLK, v_HLK = (
        project(input_LD).unflatten(-1, (heads, K)).transpose(0, 1)  # (L, D) -> (L, H, K) -> (H, L, K)
        for project in (attention.query, attention.key, attention.value)
    )
    context_HLK = (q_HLK @ k_HLK.transpose(-1, -2) / math.sqrt(K)).softmax(-1) @ v_HLK
    projected_LD = attention.output(context_HLK.transpose(0, 1).flatten(1))  # back to (L, D)

assert torch.allclose(projected_LD, stages.attention_projection[0], atol=1e-4)
print("all heads, concatenated and projected:", tuple(projected_LD.shape))

# %% [markdown]
# Heads do different things. Here are the sixteen (4 layers of 4) of `wiki-mini`, a model of real English: some attend
# to the next word, some to `[SEP]`, some far away. Click a head, then a token.

# %%
english = load_checkpoint("wiki-mini")
sentence = interpret.trace_text(english, "The cat sat on the mat because it was tired.")
show.attention(sentence)

# %% [markdown]
# ### Exercise 2
#
# The *entropy* of a row of weights, -Σ w ln w in nats, says how spread out it is: 0 where one token has all, ln L
# where all have the same. Compute the mean entropy of each head, (layers, heads), from `sentence.attentions` (layers,
# heads, queries, keys). Weights may be 0; treat 0 ln 0 as 0.

# %%
weights = torch.from_numpy(sentence.attentions)

entropy = ...

# %% tags=["check"]
check(
    entropy,
    torch.distributions.Categorical(weights).entropy().mean(-1),
    "Sum over the keys, then average over the queries.",
    "torch.special.entr(w) is -w ln w, and 0 at 0.",
)

# %% tags=["solution"]
entropy = torch.special.entr(weights).sum(-1).mean(-1)

# %% [markdown]
# ## Bidirectional or causal
#
# BERT's tokens attend to both sides. A *causal mask* hides what comes later: that is GPT's attention. With it a model
# can be *trained* to predict the next token; BERT's weights were not (those of `wiki-mini` only in its
# warm-up), and lose context under it. See what it does to a gap whose answer is to its right.

# %%
text = "The [MASK] flows through the city into the sea."
both = interpret.fill_mask(english, text, top_k=20)
left_only = interpret.fill_mask(english, text, top_k=20, causal=True)
for name, filled in (("both sides", both), ("left only", left_only)):
    print(f"{name:<12}", ", ".join(f"{c.token} {c.probability:.1%}" for c in filled.masks[0].candidates[:5]))

# %%
causal = interpret.trace_text(english, sentence.encoding.text_a, causal=True)
show.difference(sentence, causal, "Causal minus bidirectional")

# %% [markdown]
# ## Padding
#
# In a batch, short texts are padded to a common length. The *attention mask* gives padding a weight of exactly 0, so
# a text's vectors do not depend on the other texts of its batch.

# %%
encoding = english.tokenizer.encode("It rained.")
padded = english.tokenizer.encode("It rained.", pad_to=12)
with torch.no_grad():
    model = english.model.bert
    alone = model(torch.tensor([encoding.ids])).last_hidden_state[0]
    masked = model(torch.tensor([padded.ids]), torch.tensor([padded.attention_mask])).last_hidden_state[0]
    unmasked = model(torch.tensor([padded.ids])).last_hidden_state[0]

count = len(encoding)
print("largest change by padding, with the mask:   ", float((masked[:count] - alone).abs().max()))
print("largest change by padding, without the mask:", float((unmasked[:count] - alone).abs().max()))

# %% [markdown]
# ### Exercise 3
#
# From ids alone, make the boolean mask that attention takes: (batch, queries, keys), True where the *key* is no
# padding. It is the same for all queries.

# %%
ids_BL = torch.tensor([[2, 17, 30, 3], [2, 17, 3, 0]])
pad_id = 0

allowed_BLL = ...

# %% tags=["check"]
check(
    allowed_BLL,
    [[[True] * 4] * 4, [[True, True, True, False]] * 4],
    "Which keys may be attended to does not depend on the query.",
    "Compare with pad_id, insert an axis with [:, None], and repeat it with expand.",
)

# %% tags=["solution"]
allowed_BLL = (ids_BL != pad_id)[:, None].expand(-1, ids_BL.shape[1], -1)

# %% [markdown]
# ## Does attention explain?
#
# A large weight shows where a head *reads*, not that the prediction *depends* on it: values may be small, and other
# layers may carry the same information. To see what a prediction depends on, remove something and measure. Here each
# head of `tiny-town` is ablated alone, with the change in the log-probability of "black". Is it the head from above?

# %%
show.head_ablation(interpret.ablate_heads(town, trace.encoding.text_a))

# %% [markdown]
# ## Where to go on
#
# - `04_encoder_layer`: what happens to the projected context.
# - Lesson 8 on the page: attention against attribution, and where methods disagree.
# - Jain and Wallace 2019, "Attention is not Explanation"; Wiegreffe and Pinter 2019, "Attention is not not
#   Explanation".
