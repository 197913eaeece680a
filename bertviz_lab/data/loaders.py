"""Batches for a training loop of one's own, in one call: `mlm_batches` and `classification_batches`; lists as files.

The two are iterables that start a new epoch each time they are iterated, and yield dictionaries of tensors under the
names of `transformers`, so that `model(**batch)` returns a loss.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bertviz_lab.config import IGNORE_INDEX
from bertviz_lab.config.options import plain
from bertviz_lab.data.batches import Batch
from bertviz_lab.data.corpora.read import read_documents
from bertviz_lab.data.documents import split_sentences
from bertviz_lab.data.examples import LabelledText
from bertviz_lab.data.pretraining.batches import PretrainingBatch, PretrainingData, masking_rule
from bertviz_lab.data.pretraining.tokenized_corpus import CachedTokenizer, TokenizedCorpus
from bertviz_lab.data.tasks.batches import Limits, TaskBatches, encode_examples
from bertviz_lab.tokenization import Tokenizer

ModelInputs = dict[str, Tensor]


@dataclass
class MLMBatches:
    """Masked batches of a corpus; iterating again masks again, and pairs the sentences again.

    Each batch holds `input_ids`, `attention_mask`, `token_type_ids` and `labels`, all (batch, tokens); labels are -100
    where nothing is predicted. With sentence pairs it also holds `next_sentence_label`, (batch,): 0 for the true next
    sentence, 1 for a random one, as in `transformers`, and -100 for one text without a second.
    """

    data: PretrainingData
    epoch: int = 0

    def __iter__(self) -> Iterator[ModelInputs]:
        data, epoch = self.data, self.epoch
        self.epoch += 1
        for number, rows in enumerate(data.epoch(epoch)):
            yield masked_inputs(data.batch_at(rows, epoch, number))


@dataclass
class ClassificationBatches:
    """Shuffled batches of labeled texts; iterating again shuffles again.

    Each batch holds `input_ids`, `attention_mask` and `token_type_ids`, (batch, tokens), and `labels`, (batch,):
    indices into `classes`.
    """

    batches: TaskBatches
    classes: tuple[str, ...]
    epoch: int = 0

    def __len__(self) -> int:
        return self.batches.in_an_epoch

    def __iter__(self) -> Iterator[ModelInputs]:
        epoch = self.epoch
        self.epoch += 1
        for number, rows in enumerate(self.batches.epoch(epoch)):
            batch = self.batches.batch_at(rows, epoch, number)
            yield _model_inputs(batch, batch.targets)


def mlm_batches(
    texts: str | Path | Sequence[str],
    tokenizer: Tokenizer,
    batch_size: int = 8,
    mask_probability: float = 0.15,
    nsp: bool = True,
    balanced: bool = True,
    *,
    seq_len: int = 128,
    whole_word: bool = False,
    seed: int = 0,
) -> MLMBatches:
    """Return batches for masked language modeling and next-sentence prediction (Devlin et al. 2018, section 3.1).

    Of the tokens, `mask_probability` are predicted: 80% of them are replaced by [MASK], 10% by a random token, and 10%
    are left unchanged.

    Args:
        texts: documents, each a string of one or more sentences; or a file, a folder or `sample:NAME`, as
            `PretrainConfig.corpus` takes them.
        tokenizer: splits the texts.
        batch_size: sequences in a batch.
        mask_probability: fraction of the tokens that is predicted.
        nsp: build sentence pairs. A corpus of one document has no random next sentence to draw, and documents of one
            sentence have no true one: then the batches have no `next_sentence_label`.
        balanced: draw as many true as random next sentences; where too many sentences have no next one, the rest of
            them are one text without a second. Google's code draws more random ones.
        seq_len: longest sequence in tokens, [CLS] and [SEP] included.
        whole_word: mask all subwords of a word together.
        seed: of shuffling, pairing and masking.

    Raises:
        InputError: a file cannot be read, or the texts hold no words.
        ValueError: the `batch_size` is below 1.
    """
    if isinstance(texts, (str, Path)):
        documents = [list(document.sentences) for document in read_documents(texts)]
    else:
        documents = [split_sentences(text) for text in texts]
    corpus = TokenizedCorpus.of_texts(documents, CachedTokenizer(tokenizer))
    if not corpus.documents:
        raise ValueError("The texts hold no words to train on.")
    view = corpus.select(np.arange(corpus.documents))
    data = PretrainingData(
        documents=view,
        tokenizer=tokenizer,
        rule=masking_rule(tokenizer, mask_probability, whole_word),
        seq_len=seq_len,
        batch_size=batch_size,
        short_seq_probability=0.1,
        pairs="nsp" if nsp and len(view) > 1 and view.has_sentence_pairs else "",
        seed=seed,
        balanced=balanced,
    )
    return MLMBatches(data)


def classification_batches(
    texts: Sequence[str] | Sequence[tuple[str, str]],
    labels: Sequence[int] | Sequence[str],
    tokenizer: Tokenizer,
    batch_size: int = 8,
    *,
    max_length: int = 128,
    seed: int = 0,
) -> ClassificationBatches:
    """Return batches of `[CLS] text [SEP]`, or of `[CLS] a [SEP] b [SEP]` for pairs, with their labels.

    Whole numbers are class indices; strings become indices in alphabetical order. Raises `ValueError` where there are
    no texts or not as many labels, and for a `batch_size` below 1.
    """
    check_labels(texts, labels)
    names = [str(label) for label in labels]
    if all(isinstance(label, (int, np.integer)) for label in labels):
        classes = tuple(map(str, range(max(map(int, labels), default=-1) + 1)))
    else:
        classes = tuple(sorted(set(names)))
    pairs = [(text, None) if isinstance(text, str) else tuple(text) for text in texts]
    examples = [LabelledText(a, b, name, row) for row, ((a, b), name) in enumerate(zip(pairs, names, strict=True), 1)]
    features = encode_examples(examples, "classification", tokenizer, classes, Limits(max_length))
    return ClassificationBatches(TaskBatches(features, batch_size, tokenizer.pad_id, seed), classes)


def write_rows(
    path: Path, texts: Sequence[str] | Sequence[tuple[str, str]], labels: Sequence[Any] | None = None
) -> str:
    """Write texts, or pairs of texts, as JSON lines with the fields `text_a`, `text_b` and `label`; return the file.

    Raises `ValueError` where there are not as many labels as texts.
    """
    if labels is not None:
        check_labels(texts, labels)
    rows = [dict(zip(("text_a", "text_b"), [text] if isinstance(text, str) else text, strict=False)) for text in texts]
    for row, label in zip(rows, () if labels is None else labels, strict=False):
        row["label"] = plain(label)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return str(path)


def check_labels(texts: Sequence[Any], labels: Sequence[Any]) -> None:
    """Raise `ValueError` unless these are lists of texts and of labels, one for each text, and at least one."""
    if isinstance(texts, str) or isinstance(labels, str):
        raise ValueError("Give a list of texts and a list of labels, not one text.")
    if not len(texts):
        raise ValueError("There are no texts; give at least one, with its label.")
    if len(texts) != len(labels):
        raise ValueError(f"There are {len(texts)} texts and {len(labels)} labels; give one label for each text.")


def masked_inputs(batch: PretrainingBatch) -> ModelInputs:
    """Return a batch of pretraining as `transformers` has it: with a label of every token, not of masked positions."""
    used = batch.labels != IGNORE_INDEX
    labels = torch.full_like(batch.input_ids, IGNORE_INDEX)
    labels[used.nonzero(as_tuple=True)[0], batch.masked_positions[used]] = batch.labels[used]
    inputs = _model_inputs(batch, labels)
    if batch.next_sentence_label is not None:
        inputs["next_sentence_label"] = batch.next_sentence_label
    return inputs


def _model_inputs(batch: Batch, labels: Tensor) -> ModelInputs:
    """Return a batch as `transformers` has it, its mask as ones and zeros, also where there is no padding."""
    mask = torch.ones_like(batch.input_ids) if batch.attention_mask is None else batch.attention_mask.long()
    tensors = {"input_ids": batch.input_ids, "attention_mask": mask, "token_type_ids": batch.token_type_ids}
    return tensors | {"labels": labels}
