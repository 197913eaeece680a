"""Interpretation of a model on a text; results are frozen dataclasses, those with arrays equal to themselves alone.

In reading order: `inputs` (text -> tensors), `cost` (what it takes) and `targets` (which prediction is explained);
`predictions/` (fill-mask, next sentence, classes, answers, pseudo-log-likelihood, probes), `attention/` (trace,
scores, head metrics, ablation, alignment of two models), `attribution/`, `logit_lens`, `norms`, `embeddings`,
`masking` and `masking_statistics`; `training_dynamics` (one text through the snapshots of a run), `results` (of a
fine-tuning) and `family_notes` (what a model has otherwise than BERT).
"""

from bertviz_lab.data.tasks.examples import texts_of_example
from bertviz_lab.interpret.attention.alignment import Alignment, align, merge_attention
from bertviz_lab.interpret.attention.head_ablation import HeadAblation, ablate_heads
from bertviz_lab.interpret.attention.head_metrics import (
    METRICS,
    HeadMetrics,
    head_metrics,
    measure_heads,
    rollout,
)
from bertviz_lab.interpret.attention.scores import AttentionScores, QueryKey, attention_scores, query_key
from bertviz_lab.interpret.attention.trace import TextTrace, trace_text
from bertviz_lab.interpret.attribution.attribution import METHODS, Attribution, Method, attribute, check_attribution
from bertviz_lab.interpret.attribution.example_attribution import explain_example
from bertviz_lab.interpret.embeddings import (
    ContextComparison,
    EmbeddingPlane,
    EmbeddingSum,
    Neighbour,
    SearchHit,
    Similarity,
    compare_contexts,
    embedding_plane,
    embedding_sum,
    encode,
    nearest_tokens,
    semantic_search,
    similarity,
)
from bertviz_lab.interpret.inputs import encode_inputs
from bertviz_lab.interpret.logit_lens import LogitLens, logit_lens
from bertviz_lab.interpret.masking import MaskedLoss, MaskedText, mask_epochs, mask_text, masked_loss
from bertviz_lab.interpret.masking_statistics import MaskingStatistics, masking_statistics
from bertviz_lab.interpret.norms import NormsByLayer, norms_by_layer
from bertviz_lab.interpret.predictions.joint_fill import FilledSequence, JointFill, joint_fill
from bertviz_lab.interpret.predictions.minimal_pairs import MinimalPairReport, score_minimal_pairs
from bertviz_lab.interpret.predictions.model_comparison import (
    AttentionComparison,
    FillComparison,
    attention_difference,
    compare_attention,
    compare_fill_mask,
    untrained,
)
from bertviz_lab.interpret.predictions.predictions import (
    Candidate,
    Classification,
    FillMask,
    LabelScore,
    MaskPrediction,
    NextSentence,
    RankedCandidate,
    classify,
    encode_masked,
    fill_mask,
    next_sentence,
)
from bertviz_lab.interpret.predictions.probing import ProbeReport, probe
from bertviz_lab.interpret.predictions.pseudo_likelihood import PseudoLogLikelihood, pseudo_log_likelihood
from bertviz_lab.interpret.predictions.token_labels import (
    Entity,
    PassageAnswer,
    WordLabel,
    WordLabels,
    answer_question,
    label_words,
)
from bertviz_lab.interpret.results import Results, Slice, read_results
from bertviz_lab.interpret.targets import NEXT_NAMES, Target, choose_target, class_name, class_scores, target_kinds
from bertviz_lab.interpret.training_dynamics import (
    MaskedToken,
    SnapshotAnalysis,
    analyze_snapshot,
    related_tokens,
)

__all__ = [
    "METHODS",
    "METRICS",
    "NEXT_NAMES",
    "Alignment",
    "AttentionComparison",
    "AttentionScores",
    "Attribution",
    "Candidate",
    "Classification",
    "ContextComparison",
    "EmbeddingPlane",
    "EmbeddingSum",
    "Entity",
    "FillComparison",
    "FillMask",
    "FilledSequence",
    "HeadAblation",
    "HeadMetrics",
    "JointFill",
    "LabelScore",
    "LogitLens",
    "MaskPrediction",
    "MaskedLoss",
    "MaskedText",
    "MaskedToken",
    "MaskingStatistics",
    "Method",
    "MinimalPairReport",
    "Neighbour",
    "NextSentence",
    "NormsByLayer",
    "PassageAnswer",
    "ProbeReport",
    "PseudoLogLikelihood",
    "QueryKey",
    "RankedCandidate",
    "Results",
    "SearchHit",
    "Similarity",
    "Slice",
    "SnapshotAnalysis",
    "Target",
    "TextTrace",
    "WordLabel",
    "WordLabels",
    "ablate_heads",
    "align",
    "analyze_snapshot",
    "answer_question",
    "attention_difference",
    "attention_scores",
    "attribute",
    "check_attribution",
    "choose_target",
    "class_name",
    "class_scores",
    "classify",
    "compare_attention",
    "compare_contexts",
    "compare_fill_mask",
    "embedding_plane",
    "embedding_sum",
    "encode",
    "encode_inputs",
    "encode_masked",
    "explain_example",
    "fill_mask",
    "head_metrics",
    "joint_fill",
    "label_words",
    "logit_lens",
    "mask_epochs",
    "mask_text",
    "masked_loss",
    "masking_statistics",
    "measure_heads",
    "merge_attention",
    "nearest_tokens",
    "next_sentence",
    "norms_by_layer",
    "probe",
    "pseudo_log_likelihood",
    "query_key",
    "read_results",
    "related_tokens",
    "rollout",
    "score_minimal_pairs",
    "semantic_search",
    "similarity",
    "target_kinds",
    "texts_of_example",
    "trace_text",
    "untrained",
]
