# %% [markdown]
# # Feed-forward network, pooler, heads
#
# Attention moves information between tokens. What is done with it there is the work of the *feed-forward network*, two
# thirds of a layer's parameters. And what a model is used for is decided at its end, by a *head*: one thin layer that
# reads one vector, or each. This notebook takes all of them apart.
#
# *In the paper*: Vaswani et al. 2017, section 3.3; Devlin et al. 2018, section 3 and figure 4; Geva et al. 2021. *On
# the page*: Learn, lessons 6 and 10; Explore, panels Layers and Predictions. *In the code*:
# `bertviz_lab/model/encoder.py`, `bertviz_lab/model/heads.py`.

# %%
import copy

import torch
import torch.nn.functional as F

from bertviz_lab import interpret, load_checkpoint
from bertviz_lab.exercise import check

checkpoint = load_checkpoint("wiki-mini")
bert = checkpoint.model.bert
text = "The river flows through the city into the [MASK]."
trace = interpret.trace_text(checkpoint, text)
layer = bert.encoder.layers[1]
x_LD = trace.layers[1].attention_output[0]  # what the feed-forward network of layer 2 reads
print(f"{len(trace.tokens)} tokens, D = {x_LD.shape[1]}, F = {layer.intermediate.weight.shape[0]} neurons")

# %% [markdown]
# ## A sum over neurons
#
# Two matrices with GELU between them: from D numbers to F, and back. Read by rows and columns it is a sum over F
# *neurons*: row f of the first matrix is a pattern (the *key*) that is compared with the vector, GELU of the result is
# how active the neuron is, and column f of the second matrix (the *value*) is what it then adds.

# %%
with torch.no_grad():
    active_LF = F.gelu(layer.intermediate(x_LD))
    by_matrix_LD = layer.output(active_LF)
    values_FD = layer.output.weight.T
    by_neurons_LD = sum(active_LF[:, f, None] * values_FD[f] for f in range(len(values_FD))) + layer.output.bias
assert torch.allclose(by_matrix_LD, by_neurons_LD, atol=1e-4)

mask = trace.tokens.index("[MASK]")
strongest = active_LF[mask].topk(5)
print(f"at [MASK] {int((active_LF[mask] > 0.1).sum())} of {len(values_FD)} neurons are above 0.1; the most active:")
for f, activity in zip(strongest.indices.tolist(), strongest.values.tolist(), strict=True):
    print(f"  neuron {f:>4}: {activity:.2f}")

# %% [markdown]
# ### Exercise 1
#
# What does the most active neuron add to the vector of `[MASK]`? Compute it: a vector of D numbers.

# %%
f = int(strongest.indices[0])

added_D = ...

# %% tags=["check"]
check(
    added_D,
    active_LF[mask, f] * layer.output.weight[:, f].detach(),
    "A number times a vector: how active the neuron is, and its value.",
    "The value of neuron f is row f of values_FD.",
)

# %% tags=["solution"]
added_D = active_LF[mask, f] * values_FD[f].detach()

# %% [markdown]
# ## What depends on it?
#
# Leave one sub-layer out (its output set to zero) and measure the MLM loss on masked texts; with the other kind of
# sub-layer as the control. The numbers are of this model and these texts; another model may differ.

# %%
texts = [
    "The church was built in the 12th century by monks who lived in the valley.",
    "She was born in London and studied law at the university.",
    "The river flows through the city into the sea.",
    "The team won the championship in the last game of the season.",
    "He served as the president of the country for four years.",
]
masked = [interpret.mask_text(checkpoint.tokenizer, each, seed=seed) for seed, each in enumerate(texts * 4)]


def mean_loss(model: torch.nn.Module) -> float:
    """MLM loss over all masked texts."""
    total = count = 0.0
    with torch.no_grad():
        for each in masked:
            labels = torch.tensor(each.labels)
            logits = model(torch.tensor([each.input_ids])).prediction_logits[0]
            total += float(F.cross_entropy(logits, labels, ignore_index=-100, reduction="sum"))
            count += int((labels != -100).sum())
    return total / count


def without(sub_layer: str, number: int) -> torch.nn.Module:
    """The model with one sub-layer that adds nothing."""
    model = copy.deepcopy(checkpoint.model)
    changed = model.bert.encoder.layers[number]
    last = changed.output if sub_layer == "feed-forward" else changed.attention.output
    torch.nn.init.zeros_(last.weight)
    torch.nn.init.zeros_(last.bias)
    return model


print(f"whole model: loss {mean_loss(checkpoint.model):.2f}\nwithout         attention   feed-forward")
for number in range(len(bert.encoder.layers)):
    losses = [mean_loss(without(kind, number)) for kind in ("attention", "feed-forward")]
    print(f"of layer {number + 1}{losses[0]:>15.2f}{losses[1]:>15.2f}")

# %% [markdown]
# ## The pooler
#
# A task about a whole text needs one vector. BERT takes the last vector of `[CLS]`, through one dense layer with tanh.
# In pretraining only the NSP head reads it, so without NSP (RoBERTa) it is not trained before fine-tuning.
#
# ### Exercise 2
#
# Write it: from the final states of a batch, (batch, tokens, D), with the weight (D, D) and the bias (D) of
# `bert.pooler`. Careful: only one of the tokens is read.

# %%


def pool(hidden_BLD: torch.Tensor) -> torch.Tensor: ...


# %% tags=["check"]
_states = torch.randn(2, 5, bert.config.hidden_size, generator=torch.Generator().manual_seed(0))
check(
    pool(_states),
    bert.pool(_states[:, 0]),
    "First choose the token, then a linear layer, then a function between -1 and 1.",
    "hidden_BLD[:, 0]; F.linear with bert.pooler.weight and bert.pooler.bias; torch.tanh.",
)

# %% tags=["solution"]


def pool(hidden_BLD: torch.Tensor) -> torch.Tensor:
    return torch.tanh(F.linear(hidden_BLD[:, 0], bert.pooler.weight, bert.pooler.bias))


# %% [markdown]
# ## Five heads
#
# | head | reads | returns | loss |
# |---|---|---|---|
# | masked language modeling | every masked token | V logits each | cross-entropy at selected tokens |
# | next sentence | pooled `[CLS]` | 2 logits: is next, is random | cross-entropy |
# | sequence classification | pooled `[CLS]` | one logit a label | cross-entropy |
# | token classification | every token | one logit a label, each | cross-entropy at first subwords |
# | question answering | every token | a start and an end score, each | mean of two cross-entropies over positions |
#
# Each by hand, from the final states of three models that ship with the lab:

# %%
film = load_checkpoint("sentiment-mini")
states = torch.from_numpy(interpret.trace_text(film, "A slow film, and I loved every minute.").hidden_states[-1])
with torch.no_grad():
    logits = film.model.classifier(film.model.bert.pool(states[None, 0]))[0]  # pooled [CLS], one linear layer
print(dict(zip(film.config.labels, [round(p, 3) for p in logits.softmax(-1).tolist()], strict=True)))

# %%
names = load_checkpoint("entities-mini")
sentence = interpret.trace_text(names, "Queen Victoria opened the bridge in London in May.")
with torch.no_grad():
    logits_LC = names.model.classifier(torch.from_numpy(sentence.hidden_states[-1]))  # the same layer for each token
for token, best in zip(sentence.tokens, logits_LC.argmax(-1).tolist(), strict=True):
    print(f"{token:<12}{names.config.labels[best]}")

# %%
answers = load_checkpoint("answers-town")
question = "Where does Mia take the kite?"
passage = "Mia takes the red kite to the beach. The wind is strong. Mia flies the red kite by herself."
asked = interpret.trace_text(answers, question, passage)
with torch.no_grad():
    start_L, end_L = answers.model.answer(torch.from_numpy(asked.hidden_states[-1])).T
in_passage = torch.tensor(asked.encoding.token_type_ids).bool()
for scores, name in ((start_L, "start"), (end_L, "end")):
    best = int(scores.masked_fill(~in_passage, -torch.inf).argmax())
    print(f"most probable {name}: {asked.tokens[best]}, score {float(scores[best]):.1f}")

# %% [markdown]
# ### Exercise 3
#
# An answer is a *span*: the pair (start, end) with the highest sum of both scores, where the end is not before the
# start and a span has at most `longest` tokens. Write it for two lists of scores; it returns the positions (start,
# end).

# %%


def best_span(start: list[float], end: list[float], longest: int) -> tuple[int, int]: ...


# %% tags=["check"]
_answers = [best_span([0, 5, 1, 2], [6, 0, 1, 3], 3), best_span([9, 0, 0, 8], [0, 0, 0, 9], 2)]
check(
    None if _answers[0] is None else [list(answer) for answer in _answers],
    [[1, 3], [3, 3]],
    "Try all pairs, and keep the best of those that are allowed.",
    "max(..., key=...) over the pairs (i, j) with i <= j < i + longest.",
)

# %% tags=["solution"]


def best_span(start: list[float], end: list[float], longest: int) -> tuple[int, int]:
    pairs = [(i, j) for i in range(len(start)) for j in range(i, min(i + longest, len(end)))]
    return max(pairs, key=lambda pair: start[pair[0]] + end[pair[1]])


# %% [markdown]
# ### Exercise 4
#
# How many parameters does fine-tuning *add* to a pretrained BERT-base (D = 768): for 2 classes, for 9 labels of tokens,
# and for answers to questions? (The pooler comes from pretraining.)

# %%
added = ..., ..., ...

# %% tags=["check"]
check(
    None if added[0] is ... else list(added),
    [sum(p.numel() for p in torch.nn.Linear(768, outputs).parameters()) for outputs in (2, 9, 2)],
    "One linear layer each: a row of D weights and a bias for each output.",
    "How many outputs has each? Question answering has two scores for every token.",
    tolerance=0,
)

# %% tags=["solution"]
added = 2 * 768 + 2, 9 * 768 + 9, 2 * 768 + 2

# %% [markdown]
# ## Where to go on
#
# - `14_tagging_and_answering`: train the last two heads.
# - `12_causes_and_corpus`: on which words of a corpus a neuron fires, and which tokens it promotes.
