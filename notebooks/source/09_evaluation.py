# %% [markdown]
# # Evaluation
#
# A score means little without its baseline, the examples that it was measured on, and its uncertainty. This notebook
# computes the usual scores by hand, with their baselines, for three things that a BERT does: filling gaps,
# classifying sentence pairs, and labeling texts.
#
# *On the page*: Learn, lesson 15; Runs, panel Training run. *In the code*: `bertviz_lab/metrics/`,
# `bertviz_lab/interpret/predictions.py`.

# %% tags=["parameters"]
MODEL = "wiki-mini"  # the masked language model that is evaluated below

# %%
import math

import numpy as np

from bertviz_lab import interpret, load_checkpoint, show
from bertviz_lab.data.formats.read import read_task
from bertviz_lab.data.samples.task_samples import sample_path
from bertviz_lab.exercise import check
from bertviz_lab.metrics.classification import calibration, classification_report
from bertviz_lab.training.finetuning.predict import predict_with

# %% [markdown]
# ## A classifier and 440 sentences
#
# `sentiment-mini` was fine-tuned on film reviews (SST-2). We test it on sentences written for this project, on films,
# meals and schools; one in four is hard (a negation, a change of mind, irony).

# %%
classifier = load_checkpoint("sentiment-mini")
examples = list(read_task([sample_path("sentiment")], text_a="text", label="label", text_b="none").examples)
names = list(classifier.config.labels)

predictions, _ = predict_with(classifier, examples)
probabilities = np.array([prediction.probabilities for prediction in predictions])  # (examples, labels)
truth = np.array([names.index(example.label) for example in examples])
predicted = probabilities.argmax(1)
print(f"{len(examples)} sentences, labels {names}")

# %% [markdown]
# ## Accuracy, and what it has to beat
#
# The *majority-class baseline* always predicts the most frequent label. And a score on a few hundred examples is
# itself uncertain: its *standard error* is √(a (1 - a) / n), and ± two of these hold the true value 19 times in 20.

# %%
accuracy = float((predicted == truth).mean())
majority = max(np.bincount(truth)) / len(truth)
error = math.sqrt(accuracy * (1 - accuracy) / len(truth))
print(f"accuracy {accuracy:.1%} ± {2 * error:.1%}; majority class {majority:.1%}")

# %% [markdown]
# ### Exercise 1: precision, recall, F1
#
# Of the class with index 1 (`names[1]`): *precision*, the share of its predictions that are correct; *recall*, the
# share of its true examples that are found; *F1*, their harmonic mean.

# %%
precision, recall, f1 = ..., ..., ...

# %% tags=["check"]
_class = classification_report(truth, predicted, names).per_class[1]
check(
    None if f1 is ... else [precision, recall, f1],
    [_class.precision, _class.recall, _class.f1],
    "First count the hits: predicted 1, and truly 1.",
    "Precision divides them by the predictions of 1, recall by the true ones; the harmonic mean of p and "
    "r is 2 p r / (p + r).",
)

# %% tags=["solution"]
hits = ((predicted == 1) & (truth == 1)).sum()
precision, recall = hits / (predicted == 1).sum(), hits / (truth == 1).sum()
f1 = 2 * precision * recall / (precision + recall)

# %%
report = classification_report(truth, predicted, names)
print("rows are true labels, columns predicted ones:")
print(f"{'':<12}" + "".join(f"{name:>10}" for name in report.labels))
for name, row in zip(report.labels, report.confusion, strict=True):
    print(f"{name:<12}" + "".join(f"{count:>10}" for count in row))
print(f"macro F1 {report.macro_f1:.3f}, MCC {report.mcc:.3f} (0 is chance, whatever the classes' shares)")

# %% [markdown]
# ## One number hides many: slices
#
# The file has the kind of each sentence. The mean over all kinds is the score of none of them.

# %%
from collections import Counter

table = [line.split("\t") for line in sample_path("sentiment").read_text(encoding="utf-8").splitlines()[1:]]
kind_by_text = {text: kind for text, _, kind in table}
kind_of = np.array([kind_by_text[example.text_a] for example in examples])
for kind, count in Counter(kind_of.tolist()).most_common():
    print(f"{kind:<12}{count:>4} sentences   accuracy {(predicted == truth)[kind_of == kind].mean():>6.1%}")

# %% [markdown]
# ## Calibration: is it right as often as it is confident?
#
# Put the predictions into bins by confidence (the probability of the predicted class) and compare with the accuracy
# in each bin. Their mean distance is the *expected calibration error* (ECE, Guo et al. 2017).

# %%
measured = calibration(probabilities, truth)
print("confidence   predictions   mean confidence    right")
for b in measured.bins:
    if b.count:
        print(f"{b.low:>4.0%} to {b.high:>4.0%}{b.count:>13}{b.confidence:>18.1%}{b.accuracy:>9.1%}")
print(f"ECE {measured.ece:.3f}")

# %% [markdown]
# ### Exercise 2
#
# Compute the ECE yourself: the sum over all bins of count times |confidence - accuracy|, over the number of
# predictions.

# %%
ece = ...

# %% tags=["check"]
check(
    ece,
    measured.ece,
    "A mean over the predictions: a bin with twice as many counts twice.",
    "Sum b.count times the distance over measured.bins, then divide once.",
)

# %% tags=["solution"]
ece = sum(b.count * abs(b.confidence - b.accuracy) for b in measured.bins) / len(examples)

# %% [markdown]
# ## Masked language models: loss, perplexity, baselines
#
# A text of our own, masked once, and the loss at each position. Guessing uniformly costs ln V; always giving each
# token its overall frequency costs the *unigram entropy*, a better baseline that knows no context. (The shipped
# models' cards have scores over 100,000 masked tokens; a few positions are only an example.)

# %%
checkpoint = load_checkpoint(MODEL)
text = "She was born in London, studied law at the university and worked as a judge until her death in 1994."
masked = interpret.mask_text(checkpoint.tokenizer, text, seed=1)
loss = interpret.masked_loss(checkpoint, masked)
uniform = math.log(checkpoint.tokenizer.vocab_size)
print(f"MLM loss {loss.mean:.2f} nats, perplexity {math.exp(loss.mean):.0f}; guessing uniformly {uniform:.2f} nats")
show.masked_loss(masked, loss)

# %% [markdown]
# ## Whole sentences: pseudo-log-likelihood
#
# BERT defines no probability of a sentence. But one can mask each token in turn, take its log-probability, and add
# them up (Salazar et al. 2020). Large *surprisal* (-log p) marks what does not fit.

# %%
show.pseudo_log_likelihood(
    interpret.pseudo_log_likelihood(checkpoint, "The river flows through the piano into the sea.")
)

# %% [markdown]
# Comparing two sentences that differ in one word gives a test of grammar, a *minimal pair*. Chance is 50%.

# %%
for good, bad in [
    ("The authors of the book are famous.", "The authors of the book is famous."),
    ("He saw them at the station.", "He saw they at the station."),
    ("This is an old house.", "This is a old house."),
]:
    better, worse = (interpret.pseudo_log_likelihood(checkpoint, sentence).total for sentence in (good, bad))
    print(f"{'right' if better > worse else 'WRONG':<6}{better:>7.1f} and {worse:>6.1f}   {good} / {bad}")

# %%
probes = interpret.probe(checkpoint)
for kind, share in probes.right.items():
    print(f"{share:>5.0%}  {probes.kinds[kind]}")

# %% [markdown]
# A *distractor* is hard, as in the first pair above: "authors" is the subject, but "book" is nearer to the
# verb and has the other number. A small model often agrees with the nearest noun.
#
# ### Exercise 3: answers to questions
#
# SQuAD scores an answer by *F1 over words*: precision and recall of the words of the prediction in those of the
# truth. What is it for the prediction "the red kite" and the truth "a red paper kite"? SQuAD drops the articles (a,
# an, the).

# %%
answer_score = ...

# %% tags=["check"]
from bertviz_lab.metrics.squad import answer_f1

check(
    answer_score,
    answer_f1("the red kite", ["a red paper kite"]),
    "Drop the articles, then count words.",
    "How many of the predicted words are in the truth, and how many of the true ones are predicted? F1 "
    "is the harmonic mean.",
)

# %% tags=["solution"]
answer_score = 2 * (2 / 2) * (2 / 3) / (2 / 2 + 2 / 3)

# %% [markdown]
# ## Before you trust a score
#
# - Was anything chosen by these examples (the best epoch, the best of three seeds)? Then the score is optimistic.
# - Would another seed give the same? With few examples it moves by several points.
# - Are the examples what the model will meet? Film reviews are not school reports.
#
# ## Where to go on
#
# - `10_transformers`: do other implementations agree?
# - `docs/command-line.md`: `bertviz-lab evaluate` on files of your own.
