"""What a model is worth, whatever its vocabulary: bits per character of held-out words, and a probe of its vectors."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from benchmarks.task_datasets import folder as data_folder
from bertviz_lab.data.batches import padded_rows
from bertviz_lab.data.corpora.read import read_documents
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.pretraining.word_scores import masked_passages

_PASSAGES, _CHARACTERS = 800, 350  # passages of about so many characters: 128 tokens of a small vocabulary
_SHARE = 0.15  # of a passage's words that are masked
_BATCH = 32
_FITTED, _SCORED = 6_000, 4_000  # phrases of SST-2's training set


def held_out_passages(path: Path, passages: int = _PASSAGES) -> list[str]:
    """The first sentences of each document of a held-out text, in one piece."""
    found: list[str] = []
    for document in read_documents([path]):
        sentences: list[str] = []
        for sentence in document.sentences:
            if sum(map(len, sentences)) + len(sentence) > _CHARACTERS:
                break
            sentences.append(sentence)
        if sentences:
            found.append(" ".join(sentences))
        if len(found) == passages:
            break
    return found


def unigram_bits_per_character(counts: np.ndarray, tokenizer: Tokenizer, texts: Sequence[str]) -> float:
    """The same for a model that knows only how frequent each token is: what one on the plateau comes to."""
    bits = -np.log2((counts + 1) / (counts + 1).sum())
    passages = masked_passages(texts, tokenizer)
    asked = [passage.encoding.ids[place] for passage in passages for word in passage.words for place in word]
    return float(bits[asked].sum() / sum(passage.characters for passage in passages))


def sentiment_probe(model: nn.Module, tokenizer: Tokenizer) -> float | None:
    """Accuracy of a logistic regression on the mean vectors of phrases: SST-2's training set, of which a part is held
    out. None where the data is not at hand."""
    path = data_folder() / "sst2_glue" / "train.tsv"
    if not path.is_file():
        return None
    lines = path.read_text(encoding="utf-8").splitlines()[1 : 1 + _FITTED + _SCORED]
    phrases, labels = zip(*(line.split("\t") for line in lines), strict=True)
    vectors = np.concatenate(list(_vectors(model, tokenizer, phrases)))
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    classifier.fit(vectors[:_FITTED], labels[:_FITTED])
    return float(classifier.score(vectors[_FITTED:], labels[_FITTED:]))


@torch.inference_mode()
def _vectors(model: nn.Module, tokenizer: Tokenizer, texts: Sequence[str]) -> Iterator[np.ndarray]:
    """The mean of each text's last hidden states, (texts, hidden), a batch at a time."""
    backbone: Any = model.bert
    for start in range(0, len(texts), 4 * _BATCH):
        ids, mask = padded_rows(
            [tokenizer.encode(text).ids for text in texts[start : start + 4 * _BATCH]], tokenizer.pad_id
        )
        hidden_BLD = backbone(ids, mask, torch.zeros_like(ids)).last_hidden_state
        yield ((hidden_BLD * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)).numpy()
