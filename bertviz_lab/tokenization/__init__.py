"""Tokenization: text to token ids and back, by WordPiece, byte-level BPE or Unigram.

In reading order: `tokenizer` (train, load, encode, decode), `encoding` (its result, truncation), `pipeline`
(normalizer, pre-tokenizer, post-processor), `trainers` (the WordPiece and the BPE trainer), `added_pieces` (words of a
domain for a trained vocabulary), `tokenizer_files` (Hugging Face folders; `foreign`: what untrusted ones may hold, and
DeBERTa's SentencePiece models), `explain` (tokenization step by step, the text of a token).
"""

from bertviz_lab.tokenization.encoding import Encoding, truncated_lengths
from bertviz_lab.tokenization.explain import (
    MergeStep,
    PathStep,
    PieceScore,
    SplitStep,
    WordSplit,
    check_mask_spelling,
    explain,
    ids_named,
    token_name,
    token_text,
)
from bertviz_lab.tokenization.pipeline import SpecialTokens, check_several
from bertviz_lab.tokenization.tokenizer import Algorithm, Tokenizer
