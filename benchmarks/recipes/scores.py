"""What a model is worth, whatever its vocabulary: bits per character of held-out words, and a probe of its vectors."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

from benchmarks.task_datasets import folder as data_folder
from bertviz_lab.data.corpora.read import read_documents
from bertviz_lab.model.heads import token_logits
from bertviz_lab.tokenization import Encoding, Tokenizer

_PASSAGES, _CHARACTERS = 800, 350  # passages of about so many characters: 128 tokens of a small vocabulary
_SHARE = 0.15  # of a passage's words that are masked
_BATCH = 32
_FITTED, _SCORED = 6_000, 4_000  # phrases of SST-2's training set


@dataclass(frozen=True)
class MaskedPassage:
    """A passage and the words of it that are asked: for each the positions of its tokens."""

    encoding: Encoding
    words: tuple[tuple[int, ...], ...]
    characters: int  # of these words


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


def masked_passages(texts: Sequence[str], tokenizer: Tokenizer) -> list[MaskedPassage]:
    """The same words of each passage for every vocabulary, those of plain letters: none has an unknown one."""
    passages = []
    for number, text in enumerate(texts):
        encoding = tokenizer.encode(text, max_length=512)
        places: dict[int, list[int]] = {}
        for position, word in enumerate(encoding.word_ids):
            if word is not None:
                places.setdefault(word, []).append(position)
        words = []
        for positions in places.values():
            start, end = encoding.offsets[positions[0]][0], encoding.offsets[positions[-1]][1]
            if text[start:end].isascii() and text[start:end].isalpha():
                words.append((tuple(positions), end - start))
        if not words:
            continue
        count = max(1, round(_SHARE * len(words)))
        chosen = np.random.default_rng((0, number)).choice(len(words), count, replace=False)
        asked = [words[index] for index in sorted(chosen)]
        passages.append(MaskedPassage(encoding, tuple(p for p, _ in asked), sum(n for _, n in asked)))
    return passages


@torch.inference_mode()
def bits_per_character(model: nn.Module, tokenizer: Tokenizer, texts: Sequence[str]) -> float:
    """Bits that the masked words of some passages cost, for each of their characters.

    All of a passage's words are masked together; the tokens of a word are predicted from left to right, each with
    those before it in place, so that the probabilities of its tokens multiply to that of the word (as in Kauf and
    Ivanova 2023). That is what different vocabularies can be compared by.
    """
    passages = masked_passages(texts, tokenizer)
    nats = 0.0
    for piece in range(max(len(word) for passage in passages for word in passage.words)):
        asked = [passage for passage in passages if any(len(word) > piece for word in passage.words)]
        asked.sort(key=lambda passage: len(passage.encoding))
        for start in range(0, len(asked), _BATCH):
            nats += _nats(model, asked[start : start + _BATCH], piece, tokenizer)
    return nats / math.log(2) / sum(passage.characters for passage in passages)


def unigram_bits_per_character(counts: np.ndarray, tokenizer: Tokenizer, texts: Sequence[str]) -> float:
    """The same for a model that knows only how frequent each token is: what one on the plateau comes to."""
    bits = -np.log2((counts + 1) / (counts + 1).sum())
    passages = masked_passages(texts, tokenizer)
    asked = [passage.encoding.ids[place] for passage in passages for word in passage.words for place in word]
    return float(bits[asked].sum() / sum(passage.characters for passage in passages))


def _nats(model: nn.Module, passages: Sequence[MaskedPassage], piece: int, tokenizer: Tokenizer) -> float:
    """The negative log-likelihood of the tokens with this number in their words, summed."""
    ids, mask = _padded([passage.encoding.ids for passage in passages], tokenizer.pad_id)
    positions, rows = [], []
    for row, passage in enumerate(passages):
        for word in passage.words:
            ids[row, list(word[piece:])] = tokenizer.mask_id
        asked = [word[piece] for word in passage.words if len(word) > piece]
        positions.append(asked)
        rows += [(row, place) for place in range(len(asked))]
    answers = torch.tensor([passages[row].encoding.ids[positions[row][place]] for row, place in rows])
    places, _ = _padded(positions, 0)
    logits_BPV = token_logits(model(ids, mask, torch.zeros_like(ids), masked_positions=places))
    logits_NV = logits_BPV[[row for row, _ in rows], [place for _, place in rows]]
    return float(nn.functional.cross_entropy(logits_NV.float(), answers, reduction="sum"))


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
        ids, mask = _padded(
            [tokenizer.encode(text).ids for text in texts[start : start + 4 * _BATCH]], tokenizer.pad_id
        )
        hidden_BLD = backbone(ids, mask, torch.zeros_like(ids)).last_hidden_state
        yield ((hidden_BLD * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)).numpy()


def _padded(rows: Sequence[Sequence[int]], filler: int) -> tuple[Tensor, Tensor]:
    """Rows as a matrix, and where it has something of them."""
    table = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], True, filler)
    lengths = torch.tensor([len(row) for row in rows])
    return table, torch.arange(table.shape[1]) < lengths[:, None]
