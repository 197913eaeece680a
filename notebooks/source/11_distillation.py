# %% [markdown]
# # Distillation
#
# A large model predicts more than the right answer: its probabilities show which wrong answers are nearly right.
# *Distillation* trains a small *student* on the whole distribution of a trained *teacher*. This notebook computes the
# loss by hand, then trains two students that differ only in the teacher, and compares them.
#
# *In the papers*: Hinton et al. 2015; Sanh et al. 2019 (DistilBERT), section 3. *On the page*: Learn, lesson 14;
# Train, Pretrain. *In the code*: `bertviz_lab/training/pretraining/distillation.py`.

# %% tags=["parameters"]
STEPS = 300

# %%
import json
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F

from bertviz_lab import PretrainConfig, interpret, load_checkpoint, pretrain, show
from bertviz_lab.exercise import check

teacher = load_checkpoint("tiny-town")
text = "Ben takes the red kite to the [MASK]."
show.fill_mask(interpret.fill_mask(teacher, text, top_k=8))

# %% [markdown]
# ## Soft targets
#
# The text that the sentence was taken from has *one* word at this place. The teacher predicts several, with their
# probabilities: "dark knowledge" about which words are similar. A *temperature* T above 1, by which the logits are
# divided, raises the small probabilities.

# %%
encoding = teacher.tokenizer.encode(text)
mask = encoding.tokens.index("[MASK]")
with torch.no_grad():
    logits_V = teacher.model(torch.tensor([encoding.ids])).prediction_logits[0, mask]

for temperature in (0.5, 1.0, 2.0, 5.0):
    top = (logits_V / temperature).softmax(-1).topk(5)
    words = "  ".join(
        f"{teacher.tokenizer.token(i)} {p:.1%}" for i, p in zip(top.indices.tolist(), top.values.tolist(), strict=True)
    )
    print(f"T = {temperature}: {words}")

# %% [markdown]
# ### Exercise 1
#
# The loss is the Kullback-Leibler divergence of the student's softened distribution from the teacher's, Σ p (ln p -
# ln q), with p the teacher's and q the student's softmax of logits / T; and times T², which keeps the size of the
# gradients when T changes. Write it for logits of shape (positions, vocabulary), summed over both.

# %%


def soft_target_loss(student_NV: torch.Tensor, teacher_NV: torch.Tensor, T: float) -> torch.Tensor: ...


# %% tags=["check"]
from bertviz_lab.training.pretraining import distillation

_a, _b = torch.randn(2, 3, 10, generator=torch.Generator().manual_seed(0)).unbind()
check(
    soft_target_loss(_a, _b, 2.0),
    distillation.soft_target_loss(_a, _b, 2.0),
    "Divide both by T before the softmax; the teacher's is the p of the formula.",
    "log_softmax is more exact than the logarithm of softmax; T² comes last.",
)

# %% tags=["solution"]


def soft_target_loss(student_NV: torch.Tensor, teacher_NV: torch.Tensor, T: float) -> torch.Tensor:
    log_p, log_q = F.log_softmax(teacher_NV / T, -1), F.log_softmax(student_NV / T, -1)
    return (log_p.exp() * (log_p - log_q)).sum() * T**2


# %% [markdown]
# DistilBERT's loss is a sum of three: 5 times the soft targets, 2 times the usual MLM loss, and the distance (1 -
# cosine) of the last hidden states. Its student is initialized with every second layer of its teacher.
#
# ## A student with one layer
#
# The teacher `tiny-town` has two layers. Two students with one layer, the same text, vocabulary, steps and seed: the
# first learns from the text alone, the second from the teacher as well.

# %%
from bertviz_lab.training.runs.events import EvalDone, to_json

folder = Path(tempfile.mkdtemp(prefix="bertviz-lab-"))


def train(name: str, **options: str) -> list[dict]:
    """The events of a run; the model is in `folder / name / "model"`."""
    settings = PretrainConfig.of_recipe(
        corpus=("sample:tiny-town",),
        preset="tiny",
        layers=1,
        steps=STEPS,
        seq_len=32,
        short_seq_len=0,
        batch_size=32,
        causal_share=0.0,
        objective="mlm",
        eval_every=5.0,
        snapshot_room=0,
        **options,
    )
    rows = []
    for event in pretrain(settings, folder / name):
        rows.append(json.loads(to_json(event)))
        if isinstance(event, EvalDone):
            print(f"{name:<12}step {event.step:>4}: held-out MLM accuracy {event.metrics['mlm_accuracy']:.1%}")
    return rows


from_text = train("from text", recipe="lab", tokenizer=str(teacher.path))
from_teacher = train("distilled", recipe="distil", teacher="tiny-town")

# %%
show.learning_curves(from_teacher, "Distilled")

# %% [markdown]
# ### Exercise 2
#
# By how many *points* (percentage points) is the distilled student's last held-out accuracy above the other's? Both
# lists of events hold it under `"mlm_accuracy"` in their last `"EvalDone"`.

# %%
gain = ...

# %% tags=["check"]
_last = [
    next(row["mlm_accuracy"] for row in reversed(rows) if "mlm_accuracy" in row and row["event"] == "EvalDone")
    for rows in (from_teacher, from_text)
]
check(
    gain, 100 * (_last[0] - _last[1]), "The last evaluation of each list; then a difference.", "A share of 0.25 is 25%."
)

# %% tags=["solution"]
accuracies = [
    [row["mlm_accuracy"] for row in rows if row["event"] == "EvalDone"][-1] for rows in (from_teacher, from_text)
]
gain = 100 * (accuracies[0] - accuracies[1])

# %% [markdown]
# Not all of it is the soft targets: the distilled student was also initialized with the teacher's embeddings and one
# of its layers, as DistilBERT was.
#
# ## Size, and both predictions
#
# Half of the layers, and a part of the parameters only: the embeddings are as large as before.

# %%
students = {name: load_checkpoint(folder / name / "model") for name in ("from text", "distilled")}
for name, checkpoint in {"teacher": teacher, **students}.items():
    count = sum(parameter.numel() for parameter in checkpoint.model.parameters())
    print(f"{name:<12}{checkpoint.config.num_hidden_layers} layers, {count:,} parameters")

# %%
show.fill_comparison(interpret.compare_fill_mask([teacher, *students.values()], text, top_k=3))

# %% [markdown]
# ### Exercise 3
#
# How near is each student to the teacher *as a distribution*? Compute the KL divergence (T = 1, in nats) of each
# student from the teacher at this one `[MASK]`: first of the one from text, then of the distilled one.

# %%
student_logits = []
for checkpoint in students.values():
    with torch.no_grad():
        out = checkpoint.model(torch.tensor([encoding.ids]))
    student_logits.append((out.logits if hasattr(out, "logits") else out.prediction_logits)[0, mask])

divergences = ...

# %% tags=["check"]
check(
    divergences,
    [float(distillation.soft_target_loss(logits[None], logits_V[None], 1.0)) for logits in student_logits],
    "You have written this divergence already: exercise 1, with T = 1.",
    "It takes (positions, vocabulary): give each vector a first dimension with [None].",
)

# %% tags=["solution"]
divergences = [float(soft_target_loss(logits[None], logits_V[None], 1.0)) for logits in student_logits]

# %% [markdown]
# ## Where to go on
#
# - `distillation="relations"` in `PretrainConfig`: MiniLM's loss, for students of another width than their teacher.
# - DistilBERT kept 97% of BERT-base's score on GLUE with 40% fewer parameters.
