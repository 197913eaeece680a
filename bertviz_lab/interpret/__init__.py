"""Looking inside: a model and a text in, frozen labelled values out."""

from bertviz_lab.interpret.attention.head_ablation import HeadEffects, head_effects
from bertviz_lab.interpret.attention.head_metrics import (
    METRICS,
    HeadMap,
    QueryKey,
    head_map,
    measure_heads,
    query_key,
    rollout,
)
from bertviz_lab.interpret.attention.trace import TextTrace, trace_text
from bertviz_lab.interpret.attribution.attribution import METHODS, Attribution, Method, attribute
from bertviz_lab.interpret.attribution.example_attribution import explain_example, texts_of_example
from bertviz_lab.interpret.embeddings import (
    EmbeddingSum,
    Movement,
    Neighbour,
    Similarity,
    embedding_sum,
    nearest_tokens,
    similarity,
    word_movement,
)
from bertviz_lab.interpret.inputs import encode_for
from bertviz_lab.interpret.logit_lens import LogitLens, logit_lens
from bertviz_lab.interpret.masking import MaskedLoss, MaskedText, mask_epochs, mask_text, masked_loss
from bertviz_lab.interpret.masking_statistics import MaskingCounts, count_masks
from bertviz_lab.interpret.predictions.joint_fill import Filling, JointFilling, fill_jointly
from bertviz_lab.interpret.predictions.model_comparison import (
    FillComparison,
    attention_difference,
    compare_fills,
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
    fill_mask,
    next_sentence,
)
from bertviz_lab.interpret.predictions.probing import ProbeReport, probe
from bertviz_lab.interpret.predictions.pseudo_likelihood import Surprise, surprise
from bertviz_lab.interpret.predictions.token_labels import (
    Entity,
    PassageAnswer,
    WordLabel,
    WordLabels,
    answer_question,
    label_words,
)
from bertviz_lab.interpret.results import Results, Slice, read_results
from bertviz_lab.interpret.targets import Target, choose_target
from bertviz_lab.interpret.training_dynamics import Blank, Frame, Plane, frame, related_tokens, word_plane

__all__ = [
    "METHODS",
    "METRICS",
    "Attribution",
    "Blank",
    "Candidate",
    "Classification",
    "EmbeddingSum",
    "Entity",
    "FillComparison",
    "FillMask",
    "Filling",
    "Frame",
    "HeadEffects",
    "HeadMap",
    "JointFilling",
    "LabelScore",
    "LogitLens",
    "MaskPrediction",
    "MaskedLoss",
    "MaskedText",
    "MaskingCounts",
    "Method",
    "Movement",
    "Neighbour",
    "NextSentence",
    "PassageAnswer",
    "Plane",
    "ProbeReport",
    "QueryKey",
    "RankedCandidate",
    "Results",
    "Similarity",
    "Slice",
    "Surprise",
    "Target",
    "TextTrace",
    "WordLabel",
    "WordLabels",
    "answer_question",
    "attention_difference",
    "attribute",
    "choose_target",
    "classify",
    "compare_fills",
    "count_masks",
    "embedding_sum",
    "encode_for",
    "explain_example",
    "fill_jointly",
    "fill_mask",
    "frame",
    "head_effects",
    "head_map",
    "label_words",
    "logit_lens",
    "mask_epochs",
    "mask_text",
    "masked_loss",
    "measure_heads",
    "nearest_tokens",
    "next_sentence",
    "probe",
    "query_key",
    "read_results",
    "related_tokens",
    "rollout",
    "similarity",
    "surprise",
    "texts_of_example",
    "trace_text",
    "untrained",
    "word_movement",
    "word_plane",
]
