"""What a model is worth, whatever its vocabulary: held-out words, a probe of its vectors, grammar and fine-tuning.

Nothing here reads what the lab reports its models on: of BLiMP a fixed fifth decides, and the examples of GLUE are held
out of its training sets.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

from benchmarks.task_datasets import folder as data_folder
from bertviz_lab.data.batches import batches_by_length, padded_rows
from bertviz_lab.data.corpora.read import read_documents
from bertviz_lab.data.probes.probe_sets import read_minimal_pairs
from bertviz_lab.interpret import score_minimal_pairs
from bertviz_lab.tokenization import Encoding, Tokenizer
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.finetuning.tasks.embeddings import pool
from bertviz_lab.training.loop.hardware import choose_hardware
from bertviz_lab.training.loop.optim import default_learning_rate, lr_schedule
from bertviz_lab.training.pretraining.word_scores import masked_passages

_PASSAGES, _CHARACTERS = 800, 350  # passages of about so many characters: 128 tokens of a small vocabulary
_SHARE = 0.15  # of a passage's words that are masked
_BATCH = 32
_FITTED, _SCORED = 6_000, 4_000  # phrases of SST-2's training set
_EVERY = 5  # of the pairs of BLiMP, and of the pairs of STS-B that are held out
_LONG, _SENTENCES, _PHRASES = 20, 2_000, 8_000  # words of SST-2's held-out sentences, their number, shorter ones
_LONGEST = 128  # tokens of an example that is fine-tuned on


#: Where the data of each score lies in the folder of data.
_FILES = {"BLiMP": "blimp", "SST-2": "sst2_glue/train.tsv", "STS-B": "stsb/stsb-en-train.csv"}


def missing_data() -> str:
    """Return a sentence about the data that is not at hand; "" where all is."""
    missing = [name for name, file in _FILES.items() if not (data_folder() / file).exists()]
    if not missing:
        return ""
    return (
        f"{data_folder()} lacks {', '.join(missing)}, whose columns stay empty; BERTVIZ_LAB_DATA names another folder."
    )


def held_out_passages(path: Path) -> list[str]:
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
        if len(found) == _PASSAGES:
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
    path = data_folder() / _FILES["SST-2"]
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
        yield pool(hidden_BLD, mask, "mean").numpy()


def blimp_accuracy(model: nn.Module, tokenizer: Tokenizer) -> float | None:
    """Return the share of every fifth pair of BLiMP of which a model prefers the acceptable sentence.

    The other pairs decide nothing, so that what is chosen here can be scored on them. None where the data is not at
    hand.
    """
    folder = data_folder() / _FILES["BLiMP"]
    if not folder.is_dir():
        return None
    config: Any = model.config
    pairs = read_minimal_pairs(folder)[::_EVERY]
    return score_minimal_pairs(Checkpoint(model, tokenizer, config), pairs, threads=1).accuracy


@dataclass(frozen=True)
class Examples:
    """Texts or pairs of texts, and for each a target between 0 and 1."""

    texts: Sequence[tuple[str, str | None]]
    targets: np.ndarray


def sentiment_examples() -> tuple[Examples, Examples] | None:
    """Return phrases of SST-2's training set to train on, and long ones that contain none of them; None without it."""
    path = data_folder() / _FILES["SST-2"]
    if not path.is_file():
        return None
    rows = [line.rsplit("\t", 1) for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    sentences = [row for row in rows if len(row[0].split()) >= _LONG]
    held_out = sentences[:: len(sentences) // _SENTENCES]
    joined = "\n".join(text for text, _ in held_out)
    phrases = (row for row in rows if len(row[0].split()) < _LONG and row[0].strip() not in joined)
    return _examples([row for row, _ in zip(phrases, range(_PHRASES), strict=False)]), _examples(held_out)


def similarity_examples() -> tuple[Examples, Examples] | None:
    """Return STS-B's training pairs without every fifth, and these; None where the data is not at hand."""
    path = data_folder() / _FILES["STS-B"]
    if not path.is_file():
        return None
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    held_out = rows[::_EVERY]
    del rows[::_EVERY]
    return _examples(rows, 5.0), _examples(held_out, 5.0)


def _examples(rows: Sequence[Sequence[str]], largest: float = 1.0) -> Examples:
    texts = [(row[0], row[1] if len(row) > 2 else None) for row in rows]
    return Examples(texts, np.array([float(row[-1]) / largest for row in rows], dtype=np.float32))


def glue_scores(model: nn.Module, tokenizer: Tokenizer) -> dict[str, float | None]:
    """Return the accuracy on SST-2 and Spearman's correlation on STS-B after fine-tuning; None for data not at hand.

    Of GLUE's five small tasks these two separate models best for their cost, see the table of the results.
    """
    scores: dict[str, float | None] = {"sst2": None, "stsb": None}
    if sentiment := sentiment_examples():
        predicted = fine_tuned_predictions(model, tokenizer, *sentiment)
        scores["sst2"] = float(((predicted > 0) == (sentiment[1].targets > 0.5)).mean())
    if similarity := similarity_examples():
        predicted = fine_tuned_predictions(model, tokenizer, *similarity)
        scores["stsb"] = float(spearmanr(predicted, similarity[1].targets)[0])
    return scores


def fine_tuned_predictions(
    model: Any, tokenizer: Tokenizer, train: Examples, held_out: Examples, *, epochs: int = 3, seed: int = 0
) -> np.ndarray:
    """Return a logit of each held-out example after fine-tuning by binary cross-entropy; the model stays as it was.

    A linear layer reads the mean of the last hidden states, and all weights are trained. The loop is not the lab's
    fine-tuning, which starts from a checkpoint: some variants have layers that no checkpoint can hold.
    """
    torch.manual_seed(seed)
    rng, hardware = np.random.default_rng(seed), choose_hardware("auto", threads=1)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    head = nn.Linear(model.config.hidden_size, 1)
    parameters = [*model.bert.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, weight_decay=0.01)
    peak = default_learning_rate(model.config, finetuning=True)
    encoded, asked = (
        [tokenizer.encode(*texts, max_length=_LONGEST) for texts in part.texts] for part in (train, held_out)
    )
    lengths = np.array([len(encoding) for encoding in encoded])

    def logits(encodings: Sequence[Encoding]) -> Tensor:
        ids, mask = padded_rows([encoding.ids for encoding in encodings], tokenizer.pad_id)
        segments, _ = padded_rows([encoding.token_type_ids for encoding in encodings], 0)
        with hardware.autocast():
            hidden_BLD = model.bert(ids, mask, segments).last_hidden_state.float()
        return head(pool(hidden_BLD, mask, "mean"))[:, 0]

    steps, step = epochs * -(-len(lengths) // _BATCH), 0
    for _ in range(epochs):
        for rows in batches_by_length(lengths, _BATCH, rng):
            step += 1
            optimizer.param_groups[0]["lr"] = peak * lr_schedule(step / (steps + 1), 0.1)
            targets = torch.from_numpy(train.targets[rows])
            loss = nn.functional.binary_cross_entropy_with_logits(logits([encoded[row] for row in rows]), targets)
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            optimizer.zero_grad()
    with torch.inference_mode():
        parts = [logits(asked[start : start + _BATCH]) for start in range(0, len(asked), _BATCH)]
    model.load_state_dict(before)
    return torch.cat(parts).numpy()
