# %% [markdown]
# # The encoder layer
#
# BERT is one kind of layer, stacked. Each has two parts, *self-attention*, in which tokens read from each other, and
# a *feed-forward network*, which works on each token alone. What each part computes is *added* to its input (the
# residual connection), and LayerNorm brings the sum back to a common scale. This notebook computes a layer from end
# to end, then the whole model up to a prediction, with numbers that add up.
#
# *In the paper*: Vaswani et al. 2017, sections 3.1 and 3.3; Devlin et al. 2018, section 3. *On the page*: Learn,
# lesson 10; Explore, panel Layers. *In the code*: `bertviz_lab/model/encoder.py`, `heads.py`.

# %%
import math

import torch

from bertviz_lab import interpret, load_checkpoint, show
from bertviz_lab.exercise import check

checkpoint = load_checkpoint("wiki-mini")
bert = checkpoint.model.bert
text = "The river flows through the city into the [MASK]."
trace = interpret.trace_text(checkpoint, text)
layer = bert.encoder.layers[0]
layer

# %% [markdown]
# ## One layer, step by step
#
# ```
# x ──┬── self-attention ──(+)── LayerNorm ──┬── feed-forward ──(+)── LayerNorm ── output
#     └────────────────────┘                 └──────────────────┘
# ```
#
# `x` is the output of the embeddings. The trace has every stage, so each of our steps can be compared.

# %%
stages = trace.layers[0]
x_LD = torch.from_numpy(trace.hidden_states[0])

with torch.no_grad():
    attended_LD = stages.attention_projection[0]  # computed by hand in the notebook on attention
    summed_LD = x_LD + attended_LD
    middle_LD = layer.attention_norm(summed_LD)
    wide_LF = torch.nn.functional.gelu(layer.intermediate(middle_LD))  # 256 -> 1,024 numbers
    fed_forward_LD = layer.output(wide_LF)  # and back
    output_LD = layer.output_norm(middle_LD + fed_forward_LD)

assert torch.allclose(middle_LD, stages.attention_output[0], atol=1e-4)
assert torch.allclose(output_LD, stages.layer_output[0], atol=1e-4)
print("largest difference from the model's own output:", float((output_LD - stages.layer_output[0]).abs().max()))

# %% [markdown]
# Follow one token, "river", by the length (norm) of its vector, and three of its 256 numbers:

# %%
river = trace.tokens.index("river")
rows = [
    ("comes in", x_LD),
    ("+ self-attention", attended_LD),
    ("= sum", summed_LD),
    ("LayerNorm", middle_LD),
    ("+ feed-forward", fed_forward_LD),
    ("= sum", middle_LD + fed_forward_LD),
    ("LayerNorm: goes out", output_LD),
]
for name, vectors in rows:
    vector = vectors[river]
    print(f"{name:<22}norm {vector.norm():>6.2f}   " + "  ".join(f"{v:+.3f}" for v in vector[:3].tolist()))

# %% [markdown]
# ## GELU
#
# Between its two matrices the feed-forward network needs something that is not linear, or both would be one matrix.
# BERT uses GELU (Hendrycks and Gimpel 2016): x times Φ(x), the probability that a standard normal number is below x.
# It is a ReLU with a soft corner.
#
# ### Exercise 1
#
# Write GELU, using `torch.erf`: Φ(x) = (1 + erf(x / √2)) / 2.

# %%
x = torch.linspace(-3, 3, 7)

gelu = ...

# %% tags=["check"]
check(
    gelu,
    torch.nn.functional.gelu(x),
    "GELU is a product: the number itself, and a probability.",
    "Write Φ(x) first, with torch.erf of x / √2.",
)

# %% tags=["solution"]
gelu = x * (1 + torch.erf(x / math.sqrt(2))) / 2

# %% [markdown]
# ## The feed-forward network sees one token at a time
#
# Only attention moves information between tokens. Reverse the order of the tokens in front of the feed-forward
# network, and its output is reversed, number for number:

# %%
with torch.no_grad():
    reversed_output = layer.output(torch.nn.functional.gelu(layer.intermediate(middle_LD.flip(0))))
assert torch.allclose(reversed_output.flip(0), fed_forward_LD, atol=1e-5)
print("position-wise: the same for each token, wherever it stands")

# %% [markdown]
# ### Exercise 2
#
# How many parameters has one layer of BERT-base (hidden size D = 768, feed-forward size F = 3,072)? Four attention
# matrices with biases, two feed-forward matrices with biases, two LayerNorms with a scale and a shift each. Write a
# function of D and F; it is tested on this model's layer too.

# %%


def layer_parameters(D: int, F: int) -> int: ...


# %% tags=["check"]
check(
    [layer_parameters(256, 1024), layer_parameters(768, 3072)] if layer_parameters(256, 1024) else None,
    [sum(parameter.numel() for parameter in layer.parameters()), 7_087_872],
    "Count a matrix with its bias: rows × columns, and one number a row.",
    "Query, key, value and output are D × D; the feed-forward matrices are F × D and D × F; a LayerNorm has 2 D.",
)

# %% tags=["solution"]


def layer_parameters(D: int, F: int) -> int:
    return 4 * (D * D + D) + (D * F + F) + (F * D + D) + 4 * D


# %% [markdown]
# Two thirds of a layer are its feed-forward network (with F = 4 D, 8 D² of 12 D²). It is often read as a memory: rows
# of the first matrix detect a pattern, columns of the second write what goes with it (Geva et al. 2021).

# %% [markdown]
# ## The stack is a residual stream
#
# Each layer adds to a vector that runs through all of them. How much is left of it? Compare the cosine of the vectors
# before and after each layer, and below it the norms of what attention and the feed-forward network add: the largest
# update is several times as long as the vector that it is added to. BERT is *post-norm*: LayerNorm rescales the sum
# after every addition, so the stream is rescaled as well. In pre-norm models it is not, and there the picture of
# layers that each add a little fits better.

# %%
states = torch.from_numpy(trace.hidden_states)
cosines = torch.cosine_similarity(states[:-1], states[1:], dim=-1).mean(-1)
for number, cosine in enumerate(cosines.tolist(), 1):
    print(f"layer {number}: mean cosine of input and output {cosine:.2f}")

# %%
show.norms(interpret.norms_by_layer(checkpoint, text))

# %% [markdown]
# ## From the last vector to a word
#
# The MLM head is one more dense layer with GELU and LayerNorm, and then the *word embeddings themselves*: the logit
# of a token is the dot product with its row of the table (plus a bias). Reading and writing share one table, which is
# called *weight tying*.

# %%
mask = trace.tokens.index("[MASK]")
head = checkpoint.model.mlm
with torch.no_grad():
    last_D = states[-1, mask]
    transformed_D = head.norm(torch.nn.functional.gelu(head.transform(last_D)))
    logits_V = bert.embeddings.word.weight @ transformed_D + head.bias
probabilities_V = logits_V.softmax(-1)

top = probabilities_V.topk(3)
for probability, token_id in zip(top.values.tolist(), top.indices.tolist(), strict=True):
    print(f"{checkpoint.tokenizer.token(token_id):<8}{probability:.1%}")

predicted = interpret.fill_mask(checkpoint, text, top_k=1).masks[0].candidates[0]
assert math.isclose(predicted.probability, top.values[0], rel_tol=1e-3)

# %% [markdown]
# ### Exercise 3: the logit lens
#
# The head can be put on any layer: what would the model predict if it ended there? Compute the most probable token
# after each layer, from `states[1]` to `states[-1]`, at the position `mask`: a list of tokens.

# %%
lens = ...

# %% tags=["check"]
check(
    lens,
    [after.candidates[0].token for after in interpret.logit_lens(checkpoint, text).layers[1:]],
    "Take the vector of [MASK] from each state after the first.",
    "head(vector, bert.embeddings.word.weight) has the logits; checkpoint.tokenizer.token(int(...)) names the largest.",
)

# %% tags=["solution"]
lens = [
    checkpoint.tokenizer.token(int(head(state[mask], bert.embeddings.word.weight).argmax())) for state in states[1:]
]

# %%
show.logit_lens(interpret.logit_lens(checkpoint, text))

# %% [markdown]
# ## The pooler
#
# For whole texts BERT reads the last vector of `[CLS]` through one dense layer with tanh, the *pooler*. In
# pretraining the NSP head reads it; in fine-tuning a classifier does.

# %%
with torch.no_grad():
    pooled_D = torch.tanh(bert.pooler(states[-1, 0]))
    encoding = trace.encoding
    out = bert(torch.tensor([encoding.ids]), token_type_ids=torch.tensor([encoding.token_type_ids]))
assert torch.allclose(pooled_D, out.pooler_output[0], atol=1e-4)
print("pooled [CLS]:", tuple(pooled_D.shape), "all between -1 and 1")

# %% [markdown]
# ## Where to go on
#
# - `05_masking`: the task that all of these weights were learned from.
# - Xiong et al. 2020: why later models put LayerNorm *before* each part (pre-norm).
