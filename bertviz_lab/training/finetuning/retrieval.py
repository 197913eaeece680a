"""A search: how high the right candidates of each question rank by the cosine of their vectors."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bertviz_lab.data.examples import LabelledText
from bertviz_lab.data.tasks.batches import Limits, TaskBatches, encode_examples
from bertviz_lab.errors import InputError
from bertviz_lab.metrics import cosine_ranks, retrieval_scores
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.finetuning.tasks.base import SCORED_AT_ONCE
from bertviz_lab.training.finetuning.tasks.embeddings import pool
from bertviz_lab.training.loop.hardware import choose_hardware

_LARGEST = 500_000_000  # bytes


@dataclass(frozen=True)
class RetrievalSet:
    """Questions, the candidates of all of them, and the indices of each one's right candidates."""

    questions: tuple[str, ...]
    candidates: tuple[str, ...]
    right: tuple[tuple[int, ...], ...]


def read_retrieval_set(paths: Sequence[str | Path]) -> RetrievalSet | None:
    """`{"questions": [...], "candidates": [...], "ground_truths": [[index, ...], ...]}`; None for any other files.

    Raises `InputError` where such a file does not fit together, or is not the only one.
    """
    searches = [search for path in map(Path, paths) if (search := _read(path)) is not None]
    if searches and len(paths) > 1:
        raise InputError("A file of questions with their candidates is scored by itself: give it alone.")
    return searches[0] if searches else None


def _read(path: Path) -> RetrievalSet | None:
    if path.suffix.lower() != ".json" or not path.is_file() or path.stat().st_size > _LARGEST:
        return None
    try:
        body: Any = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None
    if not isinstance(body, dict) or not {"questions", "candidates", "ground_truths"} <= body.keys():
        return None
    questions, candidates, right = (body[name] for name in ("questions", "candidates", "ground_truths"))
    texts = all(isinstance(part, list) and all(isinstance(t, str) and t.strip() for t in part) and part
                for part in (questions, candidates))  # fmt: skip
    if not texts or not isinstance(right, list) or len(right) != len(questions):
        raise InputError(f"{path.name} needs questions, candidates, and for each question a list in ground_truths.")
    for number, wanted in enumerate(right, 1):
        known = isinstance(wanted, list) and all(type(i) is int and 0 <= i < len(candidates) for i in wanted)
        if not known or not wanted:
            raise InputError(
                f"Question {number:,} of {path.name} has no right candidate among the {len(candidates):,}."
            )
    return RetrievalSet(tuple(questions), tuple(candidates), tuple(map(tuple, right)))


@torch.inference_mode()
def search_scores(checkpoint: Checkpoint, search: RetrievalSet, *, max_length: int, threads: int) -> dict[str, float]:
    """Return how high the right candidates of each question rank by cosine: MRR and recall at 1, 5 and 10."""
    texts = list(dict.fromkeys([*search.questions, *search.candidates]))
    examples = [LabelledText(text, None, 0.0, 0) for text in texts]
    features = encode_examples(examples, "regression", checkpoint.tokenizer, (), Limits(max_length))
    hardware = choose_hardware("fp32", threads)
    model, pooling = hardware.borrow(checkpoint.model), checkpoint.pooling or "mean"
    vectors = np.empty((len(texts), checkpoint.config.hidden_size), dtype=np.float32)
    for batch in TaskBatches(features, SCORED_AT_ONCE, checkpoint.tokenizer.pad_id, 0).in_order():
        ids_BL, mask_BL = batch.input_ids.to(hardware.device), batch.attention_mask
        mask_BL = torch.ones_like(ids_BL) if mask_BL is None else mask_BL.to(hardware.device)
        vectors[batch.rows] = pool(model(ids_BL, mask_BL).last_hidden_state.float(), mask_BL, pooling).cpu()
    place = {text: number for number, text in enumerate(texts)}
    questions, candidates = (vectors[[place[text] for text in part]] for part in (search.questions, search.candidates))
    return retrieval_scores(cosine_ranks(questions, candidates, search.right))
