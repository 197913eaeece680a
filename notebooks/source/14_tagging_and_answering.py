# %% [markdown]
# # Tagging and answering
#
# A label for each word (named entities), and an answer marked in a passage (extractive question answering): the two
# tasks of BERT's paper that are not about whole texts. Both train the pretrained model with one new layer; what is new
# is the alignment of words, or of characters, with tokens. Both are trained by hand here, each with a control.
#
# *In the paper*: Devlin et al. 2018, sections 4.2 (SQuAD) and 5.3 (CoNLL-2003), figure 4. *On the page*: Train,
# Fine-tune; Explore, panel Predictions. *In the code*: `bertviz_lab/training/finetuning/tasks/`,
# `bertviz_lab/metrics/entities.py`, `bertviz_lab/metrics/squad.py`.

# %% tags=["parameters"]
EPOCHS_TAGGING = 8
EPOCHS_ANSWERING = 3
QUESTIONS = 1500  # of the training questions, with and without an answer
EPOCHS = 4  # of the lab's fine-tuning

# %%
import tempfile
from pathlib import Path

import torch

from bertviz_lab import (
    BertForQuestionAnswering,
    BertForTokenClassification,
    FinetuneConfig,
    finetune,
    interpret,
    load_checkpoint,
    show,
)
from bertviz_lab.data.formats.read import read_task
from bertviz_lab.data.samples.task_samples import sample_path
from bertviz_lab.exercise import check
from bertviz_lab.metrics.entities import entity_report
from bertviz_lab.metrics.squad import exact_match

wiki = load_checkpoint("wiki-tiny")
tokenizer = wiki.tokenizer
tagged = read_task([sample_path("entities")])
sentences = list(tagged.examples)
names = sorted(tagged.labels)
print(f"{len(sentences)} sentences; labels: {', '.join(names)}")
for word, label in zip(sentences[1].words, sentences[1].labels, strict=True):
    print(f"{word:<12}{label}")

# %% [markdown]
# The labels are BIO: `B-` begins an entity, `I-` continues it, `O` is outside of all. That way two names in a row stay
# two.
#
# ## Words and tokens
#
# A label belongs to a word, and a word may be several tokens. BERT's rule: the *first* token of a word has its label,
# the others have none (-100), and so do the special tokens.
#
# ### Exercise 1
#
# Write it: token ids and labels of a sentence, with `[CLS]` and `[SEP]`. `tokenizer.ids([word])[0]` are the tokens of
# one word, `names.index(label)` is the number of a label.

# %%


def align(words: list[str], labels: list[str]) -> tuple[list[int], list[int]]: ...


# %% tags=["check"]
_ids, _labels = align(["Unbelievable", "London"], ["O", "B-LOC"]) or (None, None)
_first = tokenizer.ids(["Unbelievable"])[0]
_second = tokenizer.ids(["London"])[0]
check(
    _ids and [list(_ids), list(_labels)],
    [
        [tokenizer.cls_id, *_first, *_second, tokenizer.sep_id],
        [-100, names.index("O"), *[-100] * (len(_first) - 1), names.index("B-LOC"), *[-100] * len(_second)],
    ],
    "Go through the words, and add their tokens and as many labels to two lists.",
    "[names.index(label)] + [-100] * (len(tokens) - 1) for each word; one -100 at either end.",
)

# %% tags=["solution"]


def align(words: list[str], labels: list[str]) -> tuple[list[int], list[int]]:
    ids, targets = [tokenizer.cls_id], [-100]
    for word, label in zip(words, labels, strict=True):
        tokens = tokenizer.ids([word])[0]
        ids += tokens
        targets += [names.index(label), *[-100] * (len(tokens) - 1)]
    return [*ids, tokenizer.sep_id], [*targets, -100]


# %% [markdown]
# (The notebook goes on with a version of its own, so that it runs without your solution.)

# %%


def aligned(words: list[str], labels: list[str]) -> tuple[list[int], list[int]]:
    pieces = [tokenizer.ids([word])[0] for word in words]
    targets = [[names.index(label), *[-100] * (len(piece) - 1)] for piece, label in zip(pieces, labels, strict=True)]
    return [tokenizer.cls_id, *sum(pieces, []), tokenizer.sep_id], [-100, *sum(targets, []), -100]  # noqa: RUF017


def pad(rows: list[list[int]], value: int) -> torch.Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [value] * (width - len(row)) for row in rows])


def tensors(some: list) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids, attention mask and labels of sentences, (batch, tokens) each."""
    rows = [aligned(list(sentence.words), list(sentence.labels)) for sentence in some]
    ids = pad([row for row, _ in rows], tokenizer.pad_id)
    return ids, pad([[1] * len(row) for row, _ in rows], 0), pad([targets for _, targets in rows], -100)


train, held_out = sentences[80:], sentences[:80]
outside = sum(label == "O" for sentence in held_out for label in sentence.labels)
words = sum(len(sentence.labels) for sentence in held_out)
print(f"the answer O for every word is right for {outside / words:.0%} of them, and finds no entity")

# %% [markdown]
# That is why tagging is scored by *entities*: precision, recall and F1 of whole spans with their type.


# %%
@torch.no_grad()
def tags(model: BertForTokenClassification, some: list) -> list[list[str]]:
    """The predicted label of each word."""
    ids, mask, labels = tensors(some)
    best = model.eval()(ids, mask).logits.argmax(-1)
    return [
        [names[p] for p, t in zip(row, target, strict=True) if t != -100]
        for row, target in zip(best.tolist(), labels.tolist(), strict=True)
    ]


def fit(model: torch.nn.Module, count: int, epochs: int, loss_of, report, rate: float = 1e-3) -> None:
    """Train on batches of 16 rows; `loss_of(rows)` is their loss, `report(epoch)` prints scores."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    generator = torch.Generator().manual_seed(0)
    for epoch in range(1, epochs + 1):
        model.train()
        for rows in torch.randperm(count, generator=generator).split(16):
            optimizer.zero_grad()
            loss_of(rows.tolist()).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        report(epoch)


def tagging_loss(model: BertForTokenClassification, rows: list[int]) -> torch.Tensor:
    ids, mask, labels = tensors([train[row] for row in rows])
    return model(ids, mask, labels=labels).loss


truth = [list(sentence.labels) for sentence in held_out]
taggers = {}
for start in ("pretrained", "random weights"):
    torch.manual_seed(0)
    tagger = BertForTokenClassification(wiki.config, num_labels=len(names))
    if start == "pretrained":
        tagger.bert.load_state_dict(wiki.model.bert.state_dict(), strict=False)  # this head has no pooler
    taggers[start] = tagger

    def report(epoch: int, start: str = start, tagger: BertForTokenClassification = tagger) -> None:
        scores = entity_report(truth, tags(tagger, held_out))
        print(f"{start:<15} epoch {epoch}: entity F1 {scores.f1:.1%}, words right {scores.token_accuracy:.1%}")

    fit(tagger, len(train), EPOCHS_TAGGING, lambda rows, tagger=tagger: tagging_loss(tagger, rows), report)

# %% [markdown]
# ### Exercise 2
#
# Truth and prediction of one sentence, word by word. How many true entities are there, how many are predicted, and how
# many of these are right (same words *and* same type)? Then F1.

# %%
print("truth      B-PER I-PER O B-LOC")
print("predicted  B-PER O     O B-LOC")
f1 = ...

# %% tags=["check"]
check(
    f1,
    entity_report([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "O", "O", "B-LOC"]]).f1,
    "Half a name is not the name.",
    "Two entities on either side, one in common: precision 1/2, recall 1/2.",
)

# %% tags=["solution"]
f1 = 2 * (1 / 2) * (1 / 2) / (1 / 2 + 1 / 2)

# %% [markdown]
# ## Answers
#
# The answer is marked by *characters* in the passage; the model scores *tokens* as its start and its end. Here:
# questions on the stories of Tiny Town, and `tiny-town` to start from.

# %%
town = load_checkpoint("tiny-town")
questions = list(read_task([sample_path("town-questions")]).examples)
print(len(questions), "questions;", questions[0].question, "|", questions[0].answers[0].text, "|", questions[0].passage)

# %% [markdown]
# ### Exercise 3
#
# `encoding.offsets` has, for each token, where it begins and ends in its text (characters, the end not included), and
# `encoding.token_type_ids` is 1 for those of the passage. Find the first and the last token of an answer that begins at
# character `start` and is `length` characters long.

# %%


def token_span(encoding, start: int, length: int) -> tuple[int, int]: ...


# %% tags=["check"]
_encoding = town.tokenizer.encode("Where?", "Mia takes the kite to the beach.")
_answers = [token_span(_encoding, 19, 12), token_span(_encoding, 0, 3)]
check(
    None if _answers[0] is None else [[_encoding.tokens[i] for i in answer] for answer in _answers],
    [["to", "beach"], ["mia", "mia"]],
    "A token belongs to the answer if it lies within its characters, and in the passage.",
    "Keep the positions with segment 1, begin >= start and end <= start + length; not [SEP], whose offsets are empty.",
)

# %% tags=["solution"]


def token_span(encoding, start: int, length: int) -> tuple[int, int]:
    inside = [
        position
        for position, ((begin, end), segment) in enumerate(zip(encoding.offsets, encoding.token_type_ids, strict=True))
        if segment == 1 and begin < end and start <= begin and end <= start + length
    ]
    return inside[0], inside[-1]


# %%


def features(question) -> tuple[list[int], list[int], int, int]:
    """Ids, segment ids, and the first and the last token of the answer."""
    encoding, answer = town.tokenizer.encode(question.question, question.passage), question.answers[0]
    inside = [
        position
        for position, ((begin, end), segment) in enumerate(zip(encoding.offsets, encoding.token_type_ids, strict=True))
        if segment and begin < end and answer.start <= begin and end <= answer.start + len(answer.text)
    ]
    return list(encoding.ids), list(encoding.token_type_ids), inside[0], inside[-1]


def batch_of(rows: list[tuple[list[int], list[int], int, int]]) -> dict[str, torch.Tensor]:
    ids, segments, starts, ends = zip(*rows, strict=True)
    return {
        "input_ids": pad(list(ids), town.tokenizer.pad_id),
        "attention_mask": pad([[1] * len(row) for row in ids], 0),
        "token_type_ids": pad(list(segments), 0),
        "start_positions": torch.tensor(starts),
        "end_positions": torch.tensor(ends),
    }


fitting = [features(question) for question in questions[: QUESTIONS + 200] if question.answers]
test_rows, train_rows = fitting[:150], fitting[150:]


@torch.no_grad()
def right(model: BertForQuestionAnswering) -> float:
    """Share of held-out answers whose first and last token are both right."""
    batch = batch_of(test_rows)
    out = model.eval()(**{name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")})
    hidden = batch["attention_mask"] == 0
    starts, ends = (logits.masked_fill(hidden, -torch.inf).argmax(-1) for logits in (out.start_logits, out.end_logits))
    return float(((starts == batch["start_positions"]) & (ends == batch["end_positions"])).float().mean())


print(f"{len(train_rows)} questions to train on, {len(test_rows)} held out")
for start in ("pretrained", "random weights"):
    torch.manual_seed(0)
    reader = BertForQuestionAnswering(town.config)
    if start == "pretrained":
        reader.bert.load_state_dict(town.model.bert.state_dict(), strict=False)

    def answering_loss(rows: list[int], reader: BertForQuestionAnswering = reader) -> torch.Tensor:
        return reader(**batch_of([train_rows[row] for row in rows])).loss

    def report(epoch: int, start: str = start, reader: BertForQuestionAnswering = reader) -> None:
        print(f"{start:<15} epoch {epoch}: {right(reader):.1%} of the held-out answers")

    fit(reader, len(train_rows), EPOCHS_ANSWERING, answering_loss, report)

# %% [markdown]
# ## With the lab
#
# `finetune` recognizes both kinds of file by their form. It cuts long passages into overlapping windows, leaves a
# question without an answer to `[CLS]`, chooses the best *allowed* span, and keeps the checkpoint with the best score.

# %%
from bertviz_lab.training.runs.events import TrialDone

run = Path(tempfile.mkdtemp(prefix="bertviz-lab-")) / "entities"
settings = FinetuneConfig(train="sample:entities", model="wiki-tiny", epochs=EPOCHS, batch_size=16, snapshot_room=0)
for event in finetune(settings, run):
    if isinstance(event, TrialDone):
        print("held out:", {name: round(value, 3) for name, value in event.metrics.items()})
show.entities(interpret.label_words(load_checkpoint(run), "Queen Victoria opened the bridge in London in May."))

# %%
answer = interpret.answer_question(
    load_checkpoint("answers-town"),
    "Who is afraid of the dark?",
    "In the evening Ada and Hugo sleep in a blue tent. Ada is afraid of the dark. Hugo is brave.",
)
print(exact_match(answer.text, ["Ada"]))
show.answer(answer)

# %% [markdown]
# ## Where to go on
#
# - `09_evaluation`: what a score has to beat.
# - `docs/recipes.md`: files of your own, in every usual format.
