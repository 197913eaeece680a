# %% [markdown]
# # Causes, and heads on a corpus
#
# Attention shows where a head gathers information, on one text. Two questions are left: does the prediction depend on
# it, and does the head do the same elsewhere? The first is answered by intervention, here activation patching by hand;
# the second by counting over a corpus.
#
# *In the paper*: Vig et al. 2020; Zhang and Nanda 2024; Clark et al. 2019; Geva et al. 2022. *On the page*: Learn,
# lesson 8; Explore, panels Causes and Corpus search. *In the code*: `bertviz_lab/interpret/causes/patching.py`,
# `bertviz_lab/interpret/corpora/corpus_index.py`.

# %%
import numpy as np
import torch

from bertviz_lab import interpret, load_checkpoint, show
from bertviz_lab.data.samples.corpus_texts import sample_texts
from bertviz_lab.exercise import check
from bertviz_lab.model import Patch

town = load_checkpoint("tiny-town")
CLEAN = "The black kite is new. Ben likes the [MASK] kite."
CORRUPTED = "The white kite is new. Ben likes the [MASK] kite."
clean, corrupted = (interpret.encode_inputs(town, text) for text in (CLEAN, CORRUPTED))
target = interpret.choose_target(town, clean, choice="black", against="white")
mask, color = target.position, clean.encoding.tokens.index("black")

# %% [markdown]
# ## Patching by hand
#
# The same model reads a clean text and a corrupted one. Between them only the color differs, and the score, the
# log-ratio of "black" to "white" at `[MASK]`, changes its sign.


# %%
@torch.no_grad()
def score(inputs, patches=()):
    hidden_BLD = town.model.bert(**inputs.arguments(), patches=patches).last_hidden_state
    return float(target.score(town.model, hidden_BLD[:, mask]))


print(f"clean {score(clean):+.2f}, corrupted {score(corrupted):+.2f} nats")

# %% [markdown]
# Now one activation of the clean run is put into the corrupted run: what layer 1 outputs at one token. If that brings
# the prediction back, the state of that token carries what decides it.

# %%
with torch.no_grad():
    trace = town.model.bert(**clean.arguments(), output_trace=True).trace


def patched(layer, position):
    where = torch.zeros(1, len(clean.encoding), 1, dtype=torch.bool)
    where[0, position] = True
    return score(corrupted, [Patch(layer, "layer_output", where, trace[layer].layer_output)])


for layer in (0, 1):
    print(f"layer {layer + 1}: at the color {patched(layer, color):+.2f}, at [MASK] {patched(layer, mask):+.2f}")

# %% [markdown]
# After layer 1 the color's own token carries it, after layer 2 `[MASK]` does: a head of layer 2 has copied it. The lab
# computes the whole map, for states, attention outputs, feed-forward outputs and heads:

# %%
corruption = interpret.corruption_of(town, CLEAN, None, CORRUPTED)
patching = interpret.patch_activations(town, CLEAN, target=target, corruption=corruption)
assert np.isclose(patching.scores["residual"][1, color], patched(0, color), atol=1e-4)
show.activation_patching(patching, "head")

# %% [markdown]
# **Exercise.** Which head copies the color? Give layer and head, counted from 0.

# %%
copying = ...

# %% tags=["check"]
_heads = patching.effects("head")
check(
    copying,
    max(np.ndindex(_heads.shape), key=lambda at: _heads[at]),
    "Which head brings the prediction back when it is patched?",
    "patching.effects('head') is (layers, heads); np.unravel_index finds the place of argmax().",
)

# %% tags=["solution"]
effects = patching.effects("head")
copying = tuple(int(at) for at in np.unravel_index(effects.argmax(), effects.shape))

# %% [markdown]
# What flows between the tokens, as a graph: each line is what one token contributes to another in a layer, times what
# reaches `[MASK]`.

# %%
show.flow_graph(interpret.information_flow(town, CLEAN), mask)

# %% [markdown]
# ## The same head on a corpus
#
# One text is one text. An index of a corpus has averages over all tokens: the share of attention to the previous token,
# to the token itself, to other places of the same word, and how much of a head's weights distance explains.

# %%
index = interpret.index_corpus(town, sample_texts("tiny-town", 1000), name="held-out stories of Tiny Town")
for layer, row in enumerate(interpret.head_roles(index)):
    for head, role in enumerate(row):
        print(f"head {layer + 1}.{head + 1}: {role or 'no single role'}")
show.corpus_heads(index)

# %% [markdown]
# The mean weight at each distance says what a head does by position alone. By hand, for two texts:

# %%
texts = index.texts[:2]
pairs = [
    (j - i, trace.attentions[1, 0, i, j])
    for trace in (interpret.trace_text(town, text) for text in texts)
    for i in range(1, len(trace.encoding) - 1)
    for j in range(1, len(trace.encoding) - 1)
]
before = np.mean([weight for distance, weight in pairs if distance == -1])
small = interpret.index_corpus(town, texts)
middle = small.profile.shape[-1] // 2
assert np.isclose(small.profile[1, 0, middle - 1], before, atol=1e-5)
print(f"mean weight of head 2.1 to the token before: {before:.3f}")

# %% [markdown]
# **Search by an example.** Which heads link a masked color to its earlier mention, in all stories? The tokens that are
# like the example's are masked in the corpus, and what distance explains is subtracted.

# %%
found = interpret.find_heads(town, index, CLEAN, query=mask, key=color)
show.head_search(found)

# %% [markdown]
# **Exercise.** How much weight does the best head give to such pairs on average, more than it gives to the same
# distances anyway? Round it to two digits.

# %%
more = ...

# %% tags=["check"]
check(
    more,
    round(float((found.weights - found.expected).max()), 2),
    "`found.weights` and `found.expected` have a number for each head.",
    "The largest of their differences; or look what `found.lift` is.",
)

# %% tags=["solution"]
more = round(float(found.lift.max()), 2)

# %% [markdown]
# ## Neurons
#
# A feed-forward neuron is a key and a value: it fires at some tokens, and then adds its column of the second matrix to
# the state. What it promotes is measured where it is most active, by leaving it out.

# %%
neuron = interpret.find_neurons(town, index, CLEAN, position=color)[0]
show.neuron_examples(index, town.tokenizer, neuron.layer, neuron.neuron)

# %%
show.promoted_tokens(interpret.promoted_tokens(town, index, 1, 7), 1, 7)

# %% [markdown]
# ## All of it in five sentences
#
# The findings report runs these methods, and says of each what it does not show. An effect counts only where it is more
# than twice that of the same model with random weights.

# %%
show.findings(interpret.measure_findings(town, CLEAN, target=target, index=index))
