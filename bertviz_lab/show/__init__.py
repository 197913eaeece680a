"""The page's pictures in a notebook: each function gives HTML that runs by itself, in Jupyter, Colab or a file.

from bertviz_lab import interpret, load_checkpoint, show
show.attention(interpret.trace_text(load_checkpoint("wiki-tiny"), "The cat sat.", "It slept."))

`inputs`, `predictions`, `layers` and `training` have those of the page's panels; `view` is what all of them give. What
needs a server is left to the page: the snapshots of a run under one slider, and a run that still trains.
"""

from bertviz_lab.show.inputs import mask_epochs, masked_loss, masking, masking_statistics, tokens, word_splits
from bertviz_lab.show.layers import (
    attention,
    attention_comparison,
    attention_scores,
    context_paths,
    context_similarity,
    difference,
    embedding_sum,
    heads,
    logit_lens,
    neighbours,
    norms,
    query_key,
    sentence_map,
    similarity,
    token_norms,
)
from bertviz_lab.show.predictions import (
    answer,
    attribution,
    classification,
    entities,
    fill_comparison,
    fill_mask,
    head_ablation,
    intervention,
    joint_fill,
    next_sentence,
    next_sentences,
    pseudo_log_likelihood,
)
from bertviz_lab.show.training import (
    compare_runs,
    confusion_matrix,
    examples,
    label_scores,
    learning_curves,
    probes,
    reliability,
    slices,
    trials,
)
from bertviz_lab.show.view import View

__all__ = [
    "View",
    "answer",
    "attention",
    "attention_comparison",
    "attention_scores",
    "attribution",
    "classification",
    "compare_runs",
    "confusion_matrix",
    "context_paths",
    "context_similarity",
    "difference",
    "embedding_sum",
    "entities",
    "examples",
    "fill_comparison",
    "fill_mask",
    "head_ablation",
    "heads",
    "intervention",
    "joint_fill",
    "label_scores",
    "learning_curves",
    "logit_lens",
    "mask_epochs",
    "masked_loss",
    "masking",
    "masking_statistics",
    "neighbours",
    "next_sentence",
    "next_sentences",
    "norms",
    "probes",
    "pseudo_log_likelihood",
    "query_key",
    "reliability",
    "sentence_map",
    "similarity",
    "slices",
    "token_norms",
    "tokens",
    "trials",
    "word_splits",
]
