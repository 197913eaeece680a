"""Looking inside: a model and a text in, frozen labelled values out."""

from bertviz_lab.interpret.attention import TextTrace, trace_text
from bertviz_lab.interpret.masking import MaskedText, mask_text
from bertviz_lab.interpret.predictions import (
    Candidate,
    Classification,
    FillMask,
    LabelScore,
    MaskPrediction,
    NextSentence,
    classify,
    fill_mask,
    next_sentence,
)

__all__ = [
    "Candidate",
    "Classification",
    "FillMask",
    "LabelScore",
    "MaskPrediction",
    "MaskedText",
    "NextSentence",
    "TextTrace",
    "classify",
    "fill_mask",
    "mask_text",
    "next_sentence",
    "trace_text",
]
