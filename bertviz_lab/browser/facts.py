"""What the engine in a page knows of a model besides its graph, as Python has it: facts and texts to try.

Answers that depend on a model alone are recorded: the page's own questions are asked once, when it is published.
"""

import json
from collections.abc import Sequence
from typing import Any, get_args

from bertviz_lab.config import family_notes
from bertviz_lab.errors import InputError
from bertviz_lab.figures.probing import lens_fit_payload
from bertviz_lab.interpret.causes.decomposition import summed_embeddings
from bertviz_lab.interpret.corpora.tuned_lens import TunedLens
from bertviz_lab.interpret.targets import TargetKind, is_multi_label, require_head
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.tokenization.explain import MASK_ATTEMPTS
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, parameter_count
from bertviz_lab.training.loop.growth import joined_layers, joining_note
from bertviz_lab.ui.server.visitors import NOBODY
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.architecture.view import architecture
from bertviz_lab.ui.views.attribution.view import LARGE
from bertviz_lab.ui.views.explore.view import about, examples
from bertviz_lab.ui.views.predictions.view import heads

#: What is said below attributions.
NO_GRADIENTS = "Gradients, which integrated gradients and gradient x input need, are computed in the lab only."
_NO_SERVER = "A published page has no server: use the lab for this."
#: What an engine without gradients, data and training cannot answer, by "view.question".
UNAVAILABLE = {
    "any": _NO_SERVER,
    "explore.download": "A published page has the models that it was published with; use the lab for others.",
    "corpus.pairs": "Such a search reads the corpus: use the lab for it.",
    "corpus.neurons": "Neurons are searched in the lab.",
    "corpus.training": "The snapshots of a run are searched in the lab.",
    "layers.fit_lens": "A lens is trained: fit it in the lab, on the model of a run, and publish that again.",
    "layers.tasks": "Probes are trained: use the lab for them.",
    "causes.findings": "The findings report needs every method, also those by gradients and training: use the lab.",
}

#: What it answers in part, so that the lab's page leaves it to its server, by "view.question".
PARTIAL = ("attribution.attribution", "layers.tuned")


def model_facts(state: AppState, model: str, checkpoint: Checkpoint, lens: TunedLens | None = None) -> dict[str, Any]:
    """Return the facts of a model, which `checkpoint` is under its name on the page, and of its tuned lens."""
    config, known = checkpoint.config, state.examples(model)
    notes = {
        "segments": family_notes.segments_note(config),
        "positions": family_notes.positions_note(config),
        "windows": family_notes.windows_note(config),
        "norm": family_notes.norm_note(config),
        "factorization": family_notes.factorization_note(config),
        "sharing": family_notes.sharing_note(config),
        "joining": joining_note(joined_layers(checkpoint.model)),
    }
    added = _added_terms(checkpoint)
    return {
        "name": checkpoint.name,
        "card": checkpoint.card,
        "parts": json.loads(architecture(state, model)) | {"name": checkpoint.name},
        "about": json.loads(about(state, NOBODY, model)),
        "examples": examples(state, NOBODY, model),
        "others": known.others,
        "singles": known.singles(),
        "contrast": known.contrast,
        "heads": heads(state, model),
        "missing_heads": _missing_heads(checkpoint),
        "layers": config.num_hidden_layers,
        "heads_each": config.num_attention_heads,
        "vocab_size": config.vocab_size,
        "max_length": checkpoint.max_length,
        "trained_length": checkpoint.trained_length,
        "reads_pairs": config.reads_pairs,
        "has_segments": config.has_segments,
        "reads_all": config.classifier_pooling != "cls",
        "is_large": parameter_count(checkpoint.model) > LARGE,
        "is_prenorm": config.is_prenorm,
        "embeddings": summed_embeddings(checkpoint),
        "tuned_lens": lens and {"fit": json.loads(lens_fit_payload(lens.fit)) if lens.fit else None},
        "windows": config.windows,
        "added_terms": added,
        "score_terms": 1 + len(added) if config.position_embedding_type == "disentangled" else 1,
        "labels": config.labels,
        "is_multi_label": is_multi_label(checkpoint),
        "thresholds": list(config.decision_thresholds or ()),
        "no_answer_threshold": config.no_answer_threshold,  # infinity becomes null: every question is answered
        "pooling": checkpoint.pooling,
        "unsupported_modules": checkpoint.unsupported_modules,
        "notes": notes,
        "tokenizer": _tokenizer_facts(checkpoint.tokenizer),
    }


def _added_terms(checkpoint: Checkpoint) -> list[str]:
    """Return what relative positions add to the scores, in the order of the graph's output."""
    config = checkpoint.config
    if config.position_embedding_type == "relative_bias":
        return ["relative_bias"]
    if config.position_embedding_type != "disentangled":
        return []
    kinds = {"c2p": "content_to_position", "p2c": "position_to_content"}
    return [name for kind, name in kinds.items() if kind in config.pos_att_type]


def _missing_heads(checkpoint: Checkpoint) -> dict[str, str]:
    """Return, for each head that a model lacks, the sentence that says so."""
    sentences = {}
    for kind in get_args(TargetKind):
        try:
            require_head(checkpoint, kind)
        except InputError as error:
            sentences[kind] = str(error)
    return sentences


def _tokenizer_facts(tokenizer: Tokenizer) -> dict[str, Any]:
    special = tokenizer.special
    return {
        "algorithm": tokenizer.algorithm,
        "special": {"unk": special.unk, "mask": special.mask},
        "special_ids": sorted(tokenizer.special_ids),
        "mask_id": tokenizer.mask_id,
        "unk_id": tokenizer.unk_id,
        "cls_id": tokenizer.cls_id,
        "sep_id": tokenizer.sep_id,
        "prefix": tokenizer.continuation_prefix,
        "longest_word": tokenizer.max_word_length,
        "fingerprint": tokenizer.fingerprint,
        "attempts": MASK_ATTEMPTS.pattern,
        "layout": {"single": _layout(tokenizer, "a", None), "pair": _layout(tokenizer, "a", "a")},
    }


def _layout(tokenizer: Tokenizer, text_a: str, text_b: str | None) -> Sequence[Any]:
    """Return how texts are wrapped: "A" and "B" in their places, and [id, segment] of each added token."""
    encoding = tokenizer.encode(text_a, text_b)
    places: list[Any] = []
    for token_id, side, special in zip(
        encoding.ids, encoding.token_type_ids, encoding.special_tokens_mask, strict=True
    ):
        item: Any = [token_id, side] if special else "AB"[side]
        if special or item not in places:
            places.append(item)
    return places
