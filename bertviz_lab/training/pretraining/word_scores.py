"""Bits per character of masked words: a score of models whose vocabularies differ."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from bertviz_lab.config import BertConfig
from bertviz_lab.data.batches import padded_rows
from bertviz_lab.data.pretraining.tokenized_corpus import CorpusView
from bertviz_lab.model.heads import token_logits
from bertviz_lab.tokenization import Encoding, Tokenizer
from bertviz_lab.training.loop.evaluation import EVAL_BATCH_SIZE, evaluating

_PASSAGES, _CHARACTERS = 300, 350  # of a held-out text: passages of about so many characters
_SHARE = 0.15  # of a passage's words that are masked
_MOST_TOKENS = 512


@dataclass(frozen=True)
class MaskedPassage:
    """A passage and the words of it that are asked: for each the positions of its tokens."""

    encoding: Encoding
    words: tuple[tuple[int, ...], ...]
    characters: int  # of these words


def passages_of(documents: CorpusView, tokenizer: Tokenizer) -> list[str]:
    """Return passages of documents as text, from evenly spaced sentences on; lowercased if the tokenizer does so."""
    ends = documents.corpus.sentence_ends
    sentences = np.concatenate([np.arange(first, end) for first, end in documents.spans])
    last = np.repeat(documents.spans[:, 1], documents.spans[:, 1] - documents.spans[:, 0])  # of its document
    passages = []
    for place in np.linspace(0, len(sentences) - 1, min(_PASSAGES, len(sentences)), dtype=np.int64).tolist():
        sentence, text = int(sentences[place]), ""
        while sentence < last[place] and len(text) < _CHARACTERS:
            start = int(ends[sentence - 1]) if sentence else 0
            text = f"{text} {tokenizer.decode(documents.corpus.ids[start : ends[sentence]])}".strip()
            sentence += 1
        passages.append(text[: 2 * _CHARACTERS])
    return passages


def masked_passages(texts: Sequence[str], tokenizer: Tokenizer, longest: int = _MOST_TOKENS) -> list[MaskedPassage]:
    """Return the same words of each passage for every vocabulary, those of plain letters: none has an unknown one.

    Passages of more than `longest` tokens are cut.
    """
    passages = []
    for number, text in enumerate(texts):
        encoding = tokenizer.encode(text, max_length=longest)
        spelled = {positions: text[slice(*encoding.span(positions))] for positions in encoding.words}
        words = [positions for positions, word in spelled.items() if word.isascii() and word.isalpha()]
        if not words:
            continue
        count = max(1, round(_SHARE * len(words)))
        chosen = np.random.default_rng((0, number)).choice(len(words), count, replace=False)
        asked = tuple(words[index] for index in sorted(chosen))
        passages.append(MaskedPassage(encoding, asked, sum(len(spelled[positions]) for positions in asked)))
    return passages


@torch.no_grad()
def bits_per_character(model: nn.Module, tokenizer: Tokenizer, texts: Sequence[str]) -> float:
    """Return the bits that the masked words of some passages cost, for each of their characters; NaN without words.

    All of a passage's words are masked together; the tokens of a word are predicted from left to right, each with
    those before it in place, so that the probabilities of its tokens multiply to that of the word (as in Kauf and
    Ivanova 2023). That is what different vocabularies can be compared by.
    """
    assert isinstance(model.config, BertConfig)
    longest = min(_MOST_TOKENS, model.config.max_position_embeddings)
    passages, nats = masked_passages(texts, tokenizer, longest), 0.0
    if not passages:
        return math.nan
    with evaluating(model):
        for piece in range(max(len(word) for passage in passages for word in passage.words)):
            asked = [passage for passage in passages if any(len(word) > piece for word in passage.words)]
            asked.sort(key=lambda passage: len(passage.encoding))
            for start in range(0, len(asked), EVAL_BATCH_SIZE):
                nats += _nats(model, asked[start : start + EVAL_BATCH_SIZE], piece, tokenizer)
    return nats / math.log(2) / sum(passage.characters for passage in passages)


def _nats(model: nn.Module, passages: Sequence[MaskedPassage], piece: int, tokenizer: Tokenizer) -> float:
    """Return the negative log-likelihood of the tokens with this number in their words, summed."""
    ids, mask = padded_rows([passage.encoding.ids for passage in passages], tokenizer.pad_id)
    positions, rows = [], []
    for row, passage in enumerate(passages):
        for word in passage.words:
            ids[row, list(word[piece:])] = tokenizer.mask_id
        asked = [word[piece] for word in passage.words if len(word) > piece]
        positions.append(asked)
        rows += [(row, place) for place in range(len(asked))]
    device = next(model.parameters()).device
    answers = torch.tensor([passages[row].encoding.ids[positions[row][place]] for row, place in rows]).to(device)
    places, _ = padded_rows(positions, 0)
    ids, mask, places = ids.to(device), mask.to(device), places.to(device)
    logits_BPV = token_logits(model(ids, mask, torch.zeros_like(ids), masked_positions=places))
    logits_NV = logits_BPV[[row for row, _ in rows], [place for _, place in rows]]
    return float(nn.functional.cross_entropy(logits_NV.float(), answers, reduction="sum"))
