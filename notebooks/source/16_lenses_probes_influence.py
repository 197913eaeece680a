# %% [markdown]
# # Lenses, probes, influence
#
# Three more questions about a model: what does a layer *predict* already (logit lens, tuned lens), what does it *hold*
# (probing classifiers), and which training sentences *taught* it a prediction (TracIn)? Each has a control without
# which its answer says little.
#
# *In the papers*: nostalgebraist 2020 and Belrose et al. 2023; Hewitt and Liang 2019; Pruthi et al. 2020. *On the
# page*: Explore, panels Layers and Influence. *In the code*: `bertviz_lab/interpret/corpora/tuned_lens.py`,
# `bertviz_lab/interpret/corpora/probing.py`, `bertviz_lab/interpret/corpora/training_influence.py`.

# %%
import numpy as np
import torch

from bertviz_lab import interpret, load_checkpoint, show
from bertviz_lab.data.probes.probing_tasks import PROBING_TASKS
from bertviz_lab.exercise import check
from bertviz_lab.training.runs.snapshot_reader import open_snapshots
from bertviz_lab.training.runs.training_text import read_training_text

town = load_checkpoint("tiny-town")
text = "Ben gets the [MASK] from the shed."

# %% [markdown]
# ## Logit lens and tuned lens
#
# The *logit lens* puts the MLM head on the state of an earlier layer. But a layer in the middle was never trained to be
# read by that head. The *tuned lens* learns one affine map a layer, from its states to the last ones, such that the
# predictions agree; the distance that is left (KL divergence) is what the layer does not know yet.

# %%
tuned = interpret.TunedLens.load(town.path, town)
show.logit_lens(interpret.logit_lens(town, text, tuned=tuned))

# %%
show.lens_fit(tuned.fit)

# %% [markdown]
# ### Exercise 1
#
# The logit lens by hand: the five most probable tokens after layer 1 at `[MASK]`, as a list.

# %%
trace = interpret.trace_text(town, text)
mask = trace.tokens.index("[MASK]")
state_D = torch.from_numpy(trace.hidden_states[1])[mask]

tokens = ...

# %% tags=["check"]
check(
    tokens,
    [candidate.token for candidate in interpret.logit_lens(town, text).layers[1].candidates],
    "The head of the model, town.model.mlm, takes a state and the table of the word embeddings.",
    "topk(5).indices of the logits, each through town.tokenizer.token.",
)

# %% tags=["solution"]
logits = town.model.mlm(state_D, town.model.bert.embeddings.word.weight)
tokens = [town.tokenizer.token(i) for i in logits.topk(5).indices.tolist()]

# %% [markdown]
# ## Probes
#
# A *probe* is a linear classifier from a state to a property, here whether the subject of a sentence is singular or
# plural, read at its masked verb. High accuracy alone proves little: with enough numbers a probe learns by heart. The
# *control task* gives each word a random label; *selectivity* is the accuracy minus that on the control task.

# %%
task = PROBING_TASKS["subject"]
probes, random = (interpret.probe_layers(model, task.read()) for model in (town, interpret.untrained(town)))
for layer, (accuracy, selectivity) in enumerate(zip(probes.accuracy, probes.selectivity, strict=True)):
    print(
        f"layer {layer}: accuracy {accuracy:.1%}, selectivity {selectivity:+.1%}, random {random.accuracy[layer]:.1%}"
    )
show.layer_probes(probes, random, task.title)

# %% [markdown]
# What a probe finds, the model need not *use*: it reads, it does not intervene (compare `12_causes_and_corpus`).
#
# ### Exercise 2
#
# At which layer is the selectivity highest? (0 is the embeddings.)

# %%
most_selective = ...

# %% tags=["check"]
check(
    most_selective,
    max(range(len(probes.selectivity)), key=lambda layer: probes.selectivity[layer]),
    "One number for each layer, in probes.selectivity.",
    "np.argmax has the index of the largest.",
)

# %% tags=["solution"]
most_selective = int(np.argmax(probes.selectivity))

# %% [markdown]
# ## Influence
#
# A training step on sentence z moves the weights against the gradient of its loss. So the loss of a prediction z'
# changes by about minus the learning rate times the *product of both gradients*: positive where they point the same
# way, and z helps. TracIn sums these products over snapshots of the training. By hand, for two sentences and one
# snapshot:

# %%
QUESTION, ANSWER = "Ben brings [MASK] for the pony.", "hay"


def gradient(text: str, answer: str) -> torch.Tensor:
    """The gradient of the loss of one masked token, with respect to all weights, as one vector."""
    town.model.zero_grad()
    encoding = town.tokenizer.encode(text)
    position = encoding.tokens.index("[MASK]")
    logits = town.model(torch.tensor([encoding.ids])).prediction_logits[0, position]
    torch.nn.functional.cross_entropy(logits, torch.tensor(town.tokenizer.id(answer))).backward()
    return torch.cat([p.grad.flatten() for p in town.model.parameters() if p.grad is not None])


of_question = gradient(QUESTION, ANSWER)
for sentence, answer in (("Ella brings [MASK] for the white pony.", "hay"), ("Grandpa is [MASK] today.", "ill")):
    product = float(of_question @ gradient(sentence, answer))
    print(f"{product:>9.4f}  {sentence.replace('[MASK]', answer)}")

# %% [markdown]
# The lab does it for many sentences at once, over the snapshots of the run that are there, with *BM25* as the control:
# a measure of shared words that knows no model.

# %%
history = open_snapshots(town.path)
training = read_training_text(town.path, history.tokenizer)
steps = history.steps()
found = interpret.training_influence(
    history.open,
    steps[-3:],
    training.sentences,
    QUESTION,
    counts=training.counts,
    learning_rate=training.learning_rate,
    candidates=100,
)
show.training_influence(found)

# %% [markdown]
# ### Exercise 3
#
# Of the five sentences with the most positive influence, how many are among the five that BM25 ranks first?
# `found.helpful` and `found.nearest` take a count and return places in `found.sentences`.

# %%
shared = ...

# %% tags=["check"]
check(
    shared,
    sum(place in found.nearest(5) for place in found.helpful(5)),
    "Two lists of places; how many are in both?",
    "Make sets of them, and intersect with &.",
)

# %% tags=["solution"]
shared = len(set(found.helpful(5)) & set(found.nearest(5)))

# %% [markdown]
# The more they overlap, the less TracIn says beyond shared words. And it is an estimate: the test is to train again
# without the sentences (`bertviz-lab pretrain --without`), as the lab's benchmark does.
#
# ## Where to go on
#
# - `12_causes_and_corpus`: interventions.
# - `docs/python.md`: the same in a few lines, and all arguments in `docs/api.md`.
