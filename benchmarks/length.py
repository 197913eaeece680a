"""Held-out loss by position in texts of 512 tokens: does a model predict as well at the end as near the beginning?

15% of the tokens of held-out articles are masked, all with [MASK]; the same words for every model of one vocabulary.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks.corpus import find_text
from benchmarks.machine import arguments, markdown, report
from bertviz_lab import load_checkpoint
from bertviz_lab.data.corpora.read import read_documents
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

LENGTH, TEXTS, BATCH = 512, 256, 16
NEAR, FAR = (50, 150), (400, 500)
GOAL = 1.02  # loss far over loss near
_SHARE = 0.15


def passages(tokenizer: Tokenizer) -> np.ndarray:
    """Ids (texts, 512) of the beginnings of held-out articles; only articles that are long enough."""
    beginnings = []
    for document in read_documents([find_text().valid], max_bytes=math.inf):
        ids = tokenizer.encode(" ".join(document.sentences), max_length=LENGTH).ids
        if len(ids) == LENGTH:
            beginnings.append(ids)
        if len(beginnings) == TEXTS:
            break
    return np.asarray(beginnings)


def losses(checkpoint: Checkpoint) -> np.ndarray:
    """Cross-entropy in nats (texts, 512) at the masked positions, nan elsewhere."""
    ids = passages(checkpoint.tokenizer)
    masked = np.random.default_rng(0).random(ids.shape) < _SHARE
    masked[:, [0, -1]] = False  # [CLS] and [SEP]
    loss = np.full(ids.shape, np.nan)
    for rows in _batches(len(ids)):
        labels = torch.from_numpy(ids[rows])
        inputs = labels.masked_fill(torch.from_numpy(masked[rows]), checkpoint.tokenizer.mask_id)
        with torch.inference_mode():
            out = checkpoint.model(inputs)
        logits = getattr(out, "prediction_logits", None)
        logits = out.logits if logits is None else logits
        loss[rows] = F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), reduction="none").view_as(labels)
    return np.where(masked, loss, np.nan)


def _batches(count: int) -> Iterator[slice]:
    for start in range(0, count, BATCH):
        yield slice(start, start + BATCH)


def measure(name: str) -> dict[str, Any]:
    """Mean loss near the beginning, far from it, and by hundreds."""
    loss = losses(load_checkpoint(name))
    near, far = (float(np.nanmean(loss[:, first:last])) for first, last in (NEAR, FAR))
    return {
        "model": name,
        "texts": len(loss),
        "near": near,
        "far": far,
        "ratio": far / near,
        "standard_error": float(_standard_error(loss[:, slice(*FAR)], loss[:, slice(*NEAR)])),
        "by_hundred": [float(np.nanmean(loss[:, first : first + 100])) for first in range(0, 500, 100)],
    }


def _standard_error(far: np.ndarray, near: np.ndarray) -> float:
    """Of the ratio of means, over texts."""
    difference = np.nanmean(far, axis=1) - np.nanmean(near, axis=1)
    return float(np.std(difference, ddof=1) / math.sqrt(len(difference)) / np.nanmean(near))


def table(result: dict[str, Any]) -> str:
    models = result["models"]
    rows = [
        (
            model["model"],
            *(f"{loss:.3f}" for loss in model["by_hundred"]),
            f"{model['ratio']:.3f} ± {model['standard_error']:.3f}",
        )
        for model in models
    ]
    header = ["model", *(f"{first} to {first + 99}" for first in range(0, 500, 100)), f"far / near (goal {GOAL:g})"]
    note = (
        f"Mean loss of masked tokens by their position in {models[0]['texts']} held-out articles of {result['text']}; "
        f"far is {FAR[0]} to {FAR[1]}, near {NEAR[0]} to {NEAR[1]}, with a standard error over articles."
    )
    return f"{note}\n\n{markdown(header, rows)}"


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--models", nargs="+", default=["wiki-mini"])
    report(
        "length", {"text": find_text().name, "models": [measure(name) for name in parser.parse_args().models]}, table
    )
