"""Text to token ids and back: train or load a WordPiece or BPE tokenizer, and see how it splits a text."""

from bertviz_lab.tokenization.encoding import Encoding, truncated_lengths
from bertviz_lab.tokenization.explain import MergeStep, SplitStep, WordSplit, explain
from bertviz_lab.tokenization.mask_spelling import check_mask_spelling
from bertviz_lab.tokenization.pipeline import SpecialTokens
from bertviz_lab.tokenization.tokenizer import Algorithm, Tokenizer

__all__ = [
    "Algorithm",
    "Encoding",
    "MergeStep",
    "SpecialTokens",
    "SplitStep",
    "Tokenizer",
    "WordSplit",
    "check_mask_spelling",
    "explain",
    "truncated_lengths",
]
