# %% [markdown]
# # Fine-tuning
#
# Pretraining costs much and is done once. Fine-tuning puts one new layer on top, and trains the whole model on a few
# hundred labeled examples for seconds. This notebook does it by hand, then with the lab, and measures how much the
# pretraining helps.
#
# *In the paper*: Devlin et al. 2018, section 3.2, figure 4 and appendix A.3. *On the page*: Learn, lessons 6 and 13;
# Train, Fine-tune. *In the code*: `bertviz_lab/model/heads.py`, `bertviz_lab/training/finetuning/`.

# %% tags=["parameters"]
EPOCHS_BY_HAND = 4  # of our own loop, on wiki-tiny
EPOCHS = 5  # of the lab's fine-tuning
MODEL = "wiki-mini"  # and what it starts from

# %%
import json
import tempfile
from pathlib import Path

import torch

from bertviz_lab import BertForSequenceClassification, FinetuneConfig, finetune, interpret, load_checkpoint, show
from bertviz_lab.data.formats.read import read_task
from bertviz_lab.data.samples.task_samples import sample_path
from bertviz_lab.exercise import check

task = read_task([sample_path("topics")])
examples = list(task.examples)
print(f"{len(examples)} sentences, {len(task.labels)} labels: {', '.join(task.labels)}")
for example in examples[:4]:
    print(f"  {example.label:<10}{example.text_a}")

# %% [markdown]
# ## A classifier is one matrix
#
# The pooled vector of `[CLS]` (see `04_encoder_layer`) goes through a new linear layer with one row per label. The
# backbone starts from the pretrained weights, the new layer from random ones.

# %%
pretrained = load_checkpoint("wiki-tiny")
tokenizer = pretrained.tokenizer
config = pretrained.config.replace(num_labels=len(task.labels), id2label=tuple(task.labels), hidden_dropout_prob=0.1)


def new_classifier(start_from_pretrained: bool) -> BertForSequenceClassification:
    model = BertForSequenceClassification(config, generator=torch.Generator().manual_seed(0))
    if start_from_pretrained:
        model.bert.load_state_dict(pretrained.model.bert.state_dict())
    return model


model = new_classifier(True)
new = sum(parameter.numel() for parameter in model.classifier.parameters())
total = sum(parameter.numel() for parameter in model.parameters())
print(f"{new:,} new parameters of {total:,}")

# %% [markdown]
# ### Exercise 1
#
# How many parameters has the new layer for hidden size D and C labels, bias included? Write the formula for this
# model, from `config.hidden_size` and `config.num_labels`.

# %%
new_parameters = ...

# %% tags=["check"]
check(
    new_parameters,
    new,
    "What does a linear layer need for each of its outputs?",
    "A row of weights, as many as the input has numbers, and one bias, for each label.",
)

# %% tags=["solution"]
new_parameters = config.hidden_size * config.num_labels + config.num_labels

# %% [markdown]
# ## Train and held-out
#
# A fifth of the examples is held out. Without it, generalization cannot be told from memorization.

# %%
order = torch.randperm(len(examples), generator=torch.Generator().manual_seed(0)).tolist()
held_out = [examples[index] for index in order[: len(order) // 5]]
train = [examples[index] for index in order[len(order) // 5 :]]
label_ids = {label: index for index, label in enumerate(task.labels)}


def batch_of(some: list) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids, attention mask and labels."""
    rows = [tokenizer.encode(example.text_a, max_length=64).ids for example in some]
    width = max(map(len, rows))
    ids = torch.tensor([[*row, *[tokenizer.pad_id] * (width - len(row))] for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
    return ids, mask, torch.tensor([label_ids[example.label] for example in some])


@torch.no_grad()
def accuracy(model: BertForSequenceClassification, some: list) -> float:
    model.eval()
    ids, mask, labels = batch_of(some)
    return float((model(ids, mask).logits.argmax(-1) == labels).float().mean())


# %% [markdown]
# ## By hand
#
# The loop is that of pretraining; only the head, the labels and the learning rate differ.

# %%


def fit(model: BertForSequenceClassification, epochs: int, rate: float = 1e-3) -> list[tuple[float, float]]:
    """Train in place; accuracy on both parts after each epoch."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)  # dropout
    curve = []
    for _ in range(epochs):
        model.train()
        for rows in torch.randperm(len(train), generator=generator).split(16):
            ids, mask, labels = batch_of([train[row] for row in rows])
            optimizer.zero_grad()
            model(ids, mask, labels=labels).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        curve.append((accuracy(model, train), accuracy(model, held_out)))
    return curve


print(f"before: {accuracy(model, held_out):.1%} held-out; guessing one of five: 20%")
for epoch, (on_train, on_held_out) in enumerate(fit(model, EPOCHS_BY_HAND), 1):
    print(f"epoch {epoch}: training {on_train:.1%}, held-out {on_held_out:.1%}")

# %% [markdown]
# The gap between the columns is the *generalization gap*: the model soon fits its 320 training sentences almost
# perfectly. As long as the held-out accuracy still rises, training longer helps all the same; *overfitting* is when
# it falls, or the held-out loss rises, while training improves further.
#
# ## How much did pretraining help?
#
# The same model, data and steps, from random weights:

# %%
from_random = new_classifier(False)
for epoch, (on_train, on_held_out) in enumerate(fit(from_random, EPOCHS_BY_HAND), 1):
    print(f"epoch {epoch}: training {on_train:.1%}, held-out {on_held_out:.1%}")

# %% [markdown]
# ### Exercise 2
#
# How does your sentence come out? Give the probabilities of all labels, (labels,), for `mine` by `model`, with
# softmax, in evaluation mode and without gradients.

# %%
mine = "The orchestra played a slow piece for strings."

probabilities = ...

# %% tags=["check"]
_ids = torch.tensor([tokenizer.encode(mine).ids])
check(
    probabilities,
    model.eval()(_ids).logits[0].softmax(-1).detach(),
    "A batch of one: the ids need a first dimension. Dropout has to be off.",
    "torch.tensor([tokenizer.encode(mine).ids]), and softmax over the last dimension of the logits.",
)

# %% tags=["solution"]
model.eval()
with torch.no_grad():
    probabilities = model(torch.tensor([tokenizer.encode(mine).ids])).logits[0].softmax(-1)

# %% [markdown]
# ## With the lab
#
# `finetune` reads files, splits them, schedules the learning rate, evaluates twice per epoch, keeps the best model,
# and reports how much the score varies with the seed. Here with the larger `wiki-mini`, compared with random weights.

# %%
from bertviz_lab.training.runs.events import TrialDone, to_json

run = Path(tempfile.mkdtemp(prefix="bertviz-lab-")) / "topics"
settings = FinetuneConfig(
    train=("sample:topics",),
    model=MODEL,
    epochs=EPOCHS,
    batch_size=16,
    eval_share=0.2,
    random_baseline=True,
    snapshot_room=0,
)
rows = []
for event in finetune(settings, run):
    rows.append(json.loads(to_json(event)))
    if isinstance(event, TrialDone):
        print(f"{event.name or 'fine-tuned'}: held-out accuracy {event.metrics['accuracy']:.1%}")

# %%
show.learning_curves(rows, "Topics")

# %% [markdown]
# ## Results
#
# Which labels are confused? The diagonal is correct. Below, the held-out sentences, errors first.

# %%
results = interpret.read_results(run)
show.confusion_matrix(results)

# %%
show.examples(results)

# %% [markdown]
# ### Exercise 3
#
# From `results.report.confusion` (rows true, columns predicted), compute the accuracy and the *recall* of the first
# label: of the examples that have it, the share that was predicted to.

# %%
confusion = results.report.confusion

accuracy_of_all, recall_of_first = ..., ...

# %% tags=["check"]
check(
    None if accuracy_of_all is ... else [accuracy_of_all, recall_of_first],
    [results.report.accuracy, results.report.per_class[0].recall],
    "Rows are true labels: correct predictions are on the diagonal.",
    "confusion.trace() sums the diagonal; a recall looks at one row.",
)

# %% tags=["solution"]
accuracy_of_all = confusion.trace() / confusion.sum()
recall_of_first = confusion[0, 0] / confusion[0].sum()

# %% [markdown]
# ## Other tasks, same recipe
#
# A label per word (named entities), an answer's start and end (questions), several labels at once: each is one thin
# layer on the same backbone. Three that ship with the lab:

# %%
show.entities(
    interpret.label_words(load_checkpoint("entities-mini"), "Queen Victoria opened the bridge in London in May.")
)

# %%
story = "Mia takes the red kite to the beach. The wind is strong. Mia flies the red kite by herself."
answer = interpret.answer_question(load_checkpoint("answers-town"), "Where does Mia take the kite?", story)
assert answer.text == "to the beach"
show.answer(answer)

# %%
show.classification(interpret.classify(load_checkpoint("sentiment-mini"), "A slow film, and I loved every minute."))

# %% [markdown]
# ## Where to go on
#
# - `09_evaluation`: how good is it really?
# - `docs/recipes.md`: files of your own, hyperparameter search, LoRA.
