"""Held-out loss of the same words near the beginning of a text of 512 tokens and far from it.

Where the two differ, not all positions are trained. Each passage is read in two windows that overlap: its words in the
middle lie at positions 50 to 149 of one and at 400 to 499 of the other, with as much context on one side as before on
the other. Other words would not do: articles begin with sentences that are easier to predict. 15% of the words are
masked, all with [MASK].
"""

import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks.corpus import find_text
from benchmarks.machine import arguments, markdown, report
from bertviz_lab import load_checkpoint
from bertviz_lab.data.corpora.read import read_documents
from bertviz_lab.model.heads import token_logits
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

LENGTH, PASSAGES, BATCH = 512, 400, 16
NEAR, FAR = range(50, 150), range(400, 500)  # positions of the same words in the two windows
GOAL = 1.02  # loss far over loss near
_SHARE = 0.15
_WORDS = LENGTH - 2  # of a window, besides [CLS] and [SEP]
_SHIFT = FAR.start - NEAR.start  # of the second window against the first
PASSAGE = _WORDS + _SHIFT


def passages(tokenizer: Tokenizer) -> np.ndarray:
    """Ids (passages, 860), without special tokens: consecutive pieces of held-out articles that are long enough."""
    found: list[list[int]] = []
    for document in read_documents([find_text().valid], max_bytes=math.inf):
        ids = tokenizer.encode(" ".join(document.sentences), max_length=10**9).ids[1:-1]
        found += [ids[start : start + PASSAGE] for start in range(0, len(ids) - PASSAGE + 1, PASSAGE)]
    return np.asarray(found[:PASSAGES]).reshape(-1, PASSAGE)


def losses(checkpoint: Checkpoint) -> tuple[np.ndarray, np.ndarray]:
    """Cross-entropy in nats of the words in the middle, near and far: (passages, 100) each, nan where not masked."""
    ids = passages(checkpoint.tokenizer)
    masked = np.random.default_rng(0).random(ids.shape) < _SHARE
    windows = {FAR: slice(0, _WORDS), NEAR: slice(_SHIFT, PASSAGE)}
    loss = {at: _window_losses(checkpoint, ids[:, cut], masked[:, cut]) for at, cut in windows.items()}
    near, far = (loss[at][:, at.start - 1 : at.stop - 1] for at in (NEAR, FAR))  # [CLS] is at position 0
    return near, far


def _window_losses(checkpoint: Checkpoint, ids: np.ndarray, masked: np.ndarray) -> np.ndarray:
    """(passages, 510) for `ids` and `masked` of that shape."""
    tokenizer, losses = checkpoint.tokenizer, np.full(ids.shape, np.nan)
    for start in range(0, len(ids), BATCH):
        rows = slice(start, start + BATCH)
        labels = torch.from_numpy(ids[rows])
        inputs = labels.masked_fill(torch.from_numpy(masked[rows]), tokenizer.mask_id)
        inputs = F.pad(F.pad(inputs, (1, 0), value=tokenizer.cls_id), (0, 1), value=tokenizer.sep_id)
        with torch.inference_mode():
            out = checkpoint.model(inputs)
        logits = token_logits(out)[:, 1:-1]
        losses[rows] = F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), reduction="none").view_as(labels)
    return np.where(masked, losses, np.nan)


def measure(name: str) -> dict[str, Any]:
    """Mean loss of the same words near the beginning and far from it."""
    near, far = losses(load_checkpoint(name))
    return {
        "model": name,
        "passages": len(near),
        "words": int(np.isfinite(near).sum()),
        "near": float(np.nanmean(near)),
        "far": float(np.nanmean(far)),
        "ratio": float(np.nanmean(far) / np.nanmean(near)),
        "standard_error": _standard_error(near, far),
    }


def _standard_error(near: np.ndarray, far: np.ndarray) -> float:
    """Of the ratio of means, over passages."""
    difference = np.nanmean(far - near, axis=1)
    return float(np.std(difference, ddof=1) / math.sqrt(len(difference)) / np.nanmean(near))


def table(result: dict[str, Any]) -> str:
    models = result["models"]
    rows = [
        (
            model["model"],
            f"{model['near']:.3f}",
            f"{model['far']:.3f}",
            f"{model['ratio']:.3f} ± {model['standard_error']:.3f}",
        )
        for model in models
    ]
    header = [
        "model",
        *(f"at {at.start} to {at.stop - 1}" for at in (NEAR, FAR)),
        f"far / near (goal {GOAL:g})",
    ]
    note = (
        f"Mean loss of the same {models[0]['words']:,} masked words at two places, in {models[0]['passages']} passages "
        f"of held-out articles of {result['text']}, with a standard error over passages."
    )
    return f"{note}\n\n{markdown(header, rows)}"


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--models", nargs="+", default=["wiki-mini"])
    report(
        "length", {"text": find_text().name, "models": [measure(name) for name in parser.parse_args().models]}, table
    )
