"""Looking inside: a model and a text in, frozen labelled values out."""

from bertviz_lab.interpret.ablation import HeadEffects, head_effects
from bertviz_lab.interpret.attention import TextTrace, trace_text
from bertviz_lab.interpret.attribution import METHODS, Attribution, Method, attribute
from bertviz_lab.interpret.compare import FillComparison, attention_difference, compare_fills, untrained
from bertviz_lab.interpret.draws import MaskingCounts, count_masks
from bertviz_lab.interpret.dynamics import Blank, Frame, Plane, frame, related_tokens, word_plane
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
from bertviz_lab.interpret.explaining import explain_example, texts_of_example
from bertviz_lab.interpret.filling import Filling, JointFilling, fill_jointly
from bertviz_lab.interpret.heads import METRICS, HeadMap, QueryKey, head_map, measure_heads, query_key, rollout
from bertviz_lab.interpret.inputs import encode_for
from bertviz_lab.interpret.labelling import (
    Entity,
    PassageAnswer,
    WordLabel,
    WordLabels,
    answer_question,
    label_words,
)
from bertviz_lab.interpret.lens import LogitLens, logit_lens
from bertviz_lab.interpret.masking import MaskedLoss, MaskedText, mask_epochs, mask_text, masked_loss
from bertviz_lab.interpret.predictions import (
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
from bertviz_lab.interpret.probing import ProbeReport, probe
from bertviz_lab.interpret.results import Results, Slice, read_results
from bertviz_lab.interpret.surprise import Surprise, surprise
from bertviz_lab.interpret.targets import Target, choose_target

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
