# %% [markdown]
# # Pretraining
#
# From random weights to a model that fills gaps, in about two minutes. First the training loop, written out;
# then the lab's own, with held-out scores, curves, and the change of predictions over training.
#
# *In the paper*: Devlin et al. 2018, section 3.1 and appendix A.2. *On the page*: Learn, lesson 7; Train, Pretrain;
# Runs, panel Training dynamics. *In the code*: `bertviz_lab/training/loop/loop.py`, `training/pretraining/`.

# %% tags=["parameters"]
STEPS_BY_HAND = 800  # steps of our own loop
STEPS = 900  # steps of the lab's

# %%
import json
import math
import tempfile
from pathlib import Path

import numpy as np
import torch

from bertviz_lab import (
    BertConfig,
    BertForPreTraining,
    PretrainConfig,
    Tokenizer,
    interpret,
    load_checkpoint,
    pretrain,
    show,
)
from bertviz_lab.data.batches import BatchStream
from bertviz_lab.data.pretraining.batches import PretrainingBatch, PretrainingData, masking_rule
from bertviz_lab.data.pretraining.tokenized_corpus import CachedTokenizer, TokenizedCorpus
from bertviz_lab.data.samples import SAMPLES
from bertviz_lab.exercise import check
from bertviz_lab.model.heads import PreTrainingOutput

# %% [markdown]
# ## Text, vocabulary, batches
#
# Tiny Town: 4,000 stories with few words and firm rules (a thing keeps its color, a verb agrees with its subject), so
# that a small model can learn them within minutes. The batches are those of the notebook before.

# %%
stories = [document.sentences for document in SAMPLES["tiny-town"].documents()]
tokenizer = Tokenizer.train([" ".join(story) for story in stories], vocab_size=800)
corpus = TokenizedCorpus.of_texts(stories, CachedTokenizer(tokenizer))
data = PretrainingData(
    documents=corpus.select(np.arange(corpus.documents)),
    tokenizer=tokenizer,
    rule=masking_rule(tokenizer),
    seq_len=32,
    batch_size=32,
    short_seq_probability=0.1,
    pairs="nsp",
    seed=0,
    balanced=True,  # as many true as random next sentences
)
config = BertConfig.preset("tiny", vocab_size=tokenizer.vocab_size)
model = BertForPreTraining(config, generator=torch.Generator().manual_seed(0))
print(f"{sum(parameter.numel() for parameter in model.parameters()):,} parameters; {tokenizer}")

# %% [markdown]
# Before the first step the model knows nothing, and its losses should be those of guessing: ln V for a masked token,
# ln 2 for a pair. If they are not, something is wrong with the initial weights or the labels.

# %%
batch = next(BatchStream(data))


def both_losses(batch: PretrainingBatch) -> PreTrainingOutput:
    return model(
        batch.input_ids,
        batch.attention_mask,
        batch.token_type_ids,
        labels=batch.labels,
        next_sentence_label=batch.next_sentence_label,
        masked_positions=batch.masked_positions,
    )


model.eval()
with torch.no_grad():
    out = both_losses(batch)
print(f"MLM loss {out.mlm_loss:.2f}, and ln {tokenizer.vocab_size} = {math.log(tokenizer.vocab_size):.2f}")
print(f"NSP loss {out.nsp_loss:.2f}, and ln 2 = {math.log(2):.2f}")

# %% [markdown]
# A model that has learned how frequent each token is, and nothing of context, does better: its MLM loss is the
# *unigram entropy*, -Σ p ln p over the shares p of the tokens. Where pairs are balanced, NSP has no such step: without
# context its loss is ln 2. These two numbers are the baselines that a loop has to leave.

# %%
shares = corpus.counts(tokenizer.vocab_size) / corpus.tokens
unigram_entropy = -float((shares[shares > 0] * np.log(shares[shares > 0])).sum())
print(f"unigram entropy {unigram_entropy:.2f}, ln 2 {math.log(2):.2f}")

# %% [markdown]
# ## The learning-rate schedule
#
# Large steps at the very beginning, when Adam's averages are still empty, can move the weights far off. So the rate
# rises linearly to its peak (*warm-up*), and then falls linearly to zero.
#
# ### Exercise 1
#
# Write it: `progress` runs from 0 to 1 over the training, `warmup` is the share of it in which the rate rises. Return
# the share of the peak rate.

# %%


def schedule(progress: float, warmup: float) -> float: ...


# %% tags=["check"]
from bertviz_lab.training.loop.optim import lr_schedule

check(
    None if schedule(0.05, 0.1) is None else [schedule(p, 0.1) for p in (0.0, 0.05, 0.1, 0.55, 1.0)],
    [lr_schedule(p, 0.1) for p in (0.0, 0.05, 0.1, 0.55, 1.0)],
    "Two straight lines: from (0, 0) to (warmup, 1), and from there to (1, 0).",
    "On the way up it is a fraction of `warmup`; on the way down, what is left, as a fraction of all "
    "that was left at the peak.",
)

# %% tags=["solution"]


def schedule(progress: float, warmup: float) -> float:
    return progress / warmup if progress < warmup else (1 - progress) / (1 - warmup)


# %% [markdown]
# ## The loop
#
# Six lines do all the work. Gradients *add up* in PyTorch, so they are zeroed first; clipping scales a gradient down
# whose norm is above 1, so that one odd batch cannot ruin the weights.

# %%
PEAK = 2e-3
optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK, betas=(0.9, 0.98), weight_decay=0.01)
model.train()  # dropout on
history = []
for step, batch in zip(range(1, STEPS_BY_HAND + 1), BatchStream(data), strict=False):
    for group in optimizer.param_groups:
        group["lr"] = PEAK * lr_schedule(step / STEPS_BY_HAND, warmup=0.1)
    optimizer.zero_grad()
    out = both_losses(batch)  # forward
    out.loss.backward()  # MLM loss + NSP loss, backward
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()  # update
    history.append((float(out.mlm_loss.detach()), float(out.nsp_loss.detach()), float(norm)))

print(f"baselines: MLM loss {unigram_entropy:.2f}, NSP loss {math.log(2):.2f}")
for step in range(STEPS_BY_HAND // 8 or 1, STEPS_BY_HAND + 1, STEPS_BY_HAND // 8 or 1):
    mlm, nsp, norm = np.mean(history[max(0, step - 20) : step], axis=0)
    print(f"step {step:>4}: MLM loss {mlm:.2f}, NSP loss {nsp:.2f}, gradient norm {norm:.2f}")

# %% [markdown]
# First the MLM loss falls to its baseline and stays there for a while: the model knows frequencies, and guesses the
# same tokens everywhere. Then both losses leave their baselines. A run that ends *at* the two has learned nothing from
# context, however smooth its curve looks: train longer, or look for an error in labels and masks.
# `00_bert_in_150_lines` goes on from here.

# %% [markdown]
# ### Exercise 2
#
# A gradient has the norm 4.0, and the limit is 1.0. By what is each of its numbers multiplied? And with a norm of
# 0.5?

# %%
factor_of_large, factor_of_small = ..., ...

# %% tags=["check"]
check(
    None if factor_of_large is ... else [factor_of_large, factor_of_small],
    [0.25, 1.0],
    "After clipping the first has the norm 1.0.",
    "A gradient within the limit is left alone.",
)

# %% tags=["solution"]
factor_of_large, factor_of_small = 1.0 / 4.0, 1.0

# %% [markdown]
# ## The lab's own run
#
# `pretrain` is a stream of typed events: what the command line prints, the page draws and a log keeps is this same
# stream. Along the way it evaluates on held-out stories, saves checkpoints and snapshots, and scores minimal-pair
# probes. (It also uses Muon, a newer optimizer, for the matrices of the layers.)

# %%
run = Path(tempfile.mkdtemp(prefix="bertviz-lab-")) / "town"
settings = PretrainConfig(
    corpus=("sample:tiny-town",),
    preset="tiny",
    vocab_size=800,
    steps=STEPS,
    seq_len=32,
    short_seq_len=0,
    causal_share=0.0,
    shallow_share=0.0,
    batch_size=32,
    eval_every=6.0,
)

# %%
from bertviz_lab.training.runs.events import EvalDone, RunFinished, RunStarted, to_json

rows = []
for event in pretrain(settings, run):
    rows.append(json.loads(to_json(event)))
    if isinstance(event, RunStarted):
        print(f"{event.parameters:,} parameters on {event.device}, {event.precision}")
    elif isinstance(event, EvalDone):
        scores = event.metrics
        print(f"step {event.step:>5}: MLM {scores['mlm_accuracy']:.1%}, NSP {scores['nsp_accuracy']:.1%} held-out")
    elif isinstance(event, RunFinished):
        print(f"{event.reason} after {event.seconds:.0f} s; the model is in {event.path}")

# %% [markdown]
# Training is noisy (each point is another batch), held-out scores are what counts. Watch for the dashed lines: they
# are the baselines, without which a curve says little.

# %%
show.learning_curves(rows, "Tiny Town")

# %% [markdown]
# ### Exercise 3
#
# Find the highest held-out MLM accuracy of the run in `rows`: a list of dictionaries, where those with `row["event"]
# == "EvalDone"` have the key `"mlm_accuracy"`.

# %%
best = ...

# %% tags=["check"]
check(
    best,
    sorted(row.get("mlm_accuracy", 0.0) for row in rows if row["event"] == "EvalDone")[-1],
    "Go through `rows`, and keep those of evaluations.",
    "max(row[...] for row in rows if row['event'] == ...)",
)

# %% tags=["solution"]
best = max(row["mlm_accuracy"] for row in rows if row["event"] == "EvalDone")

# %% [markdown]
# ## What it learns, and when
#
# Snapshots are the weights at steps 0, 1, 2, 5, 10 and so on. The same gap at each of them: first frequencies ("the",
# "."), then the kind of word that fits. *Which* color it is, the sentence before says; copying it takes thousands of
# steps, which this run does not have. `tiny-town`, the last line, is the same model after 12,000.

# %%
from bertviz_lab.training.runs.snapshot_reader import open_snapshots

snapshots = open_snapshots(run)
text = "The black kite is new. Ben likes the [MASK] kite."
for step in snapshots.steps():
    filled = interpret.fill_mask(snapshots.open(step), text, top_k=3)
    print(f"step {step:>5}:", ", ".join(f"{c.token} {c.probability:.0%}" for c in filled.masks[0].candidates))
filled = interpret.fill_mask(load_checkpoint("tiny-town"), text, top_k=3)
print("tiny-town: ", ", ".join(f"{c.token} {c.probability:.0%}" for c in filled.masks[0].candidates))

# %% [markdown]
# The minimal-pair probes test the same systematically: two sentences that differ in one word, of which one is
# correct.

# %%
show.probes(rows)

# %% [markdown]
# ## Save and load
#
# What was trained is a Hugging Face folder, which `transformers` opens as well (see `10_transformers`).

# %%
trained = load_checkpoint(run / "model")
interpret.fill_mask(trained, "The dog [MASK] in the garden.", top_k=3).masks[0].candidates

# %% [markdown]
# ## Where to go on
#
# - `08_fine_tuning`: a trained model applied to a task.
# - Train longer: the shipped `tiny-town` had 12,000 steps (11 minutes on one thread).
# - `docs/recipes.md`: a text of your own, and the recipes of the papers.
