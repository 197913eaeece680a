"""Training dynamics: everything that one snapshot of a training run computes for a text."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.attention.head_metrics import HeadMetrics, measure_heads
from bertviz_lab.interpret.inputs import ModelInputs, backbone, encode_inputs
from bertviz_lab.interpret.predictions.predictions import (
    Candidate,
    LabelScore,
    RankedCandidate,
    candidates_of,
    classify_vector,
    ranked,
)
from bertviz_lab.interpret.predictions.token_labels import PassageAnswer, WordLabel, answer_question, label_words
from bertviz_lab.interpret.targets import head_logits
from bertviz_lab.model import (
    BertForMaskedLM,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
)
from bertviz_lab.tokenization import Encoding
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

#: Masked tokens of a text that are followed, and in how many parts its words are masked: a seventh at a time.
MOST_MASKS, _PARTS = 6, 7


@dataclass(frozen=True)
class MaskedToken:
    """The predictions for one [MASK], at the last layer and by the logit lens."""

    position: int
    candidates: tuple[Candidate, ...]  # the likeliest first
    watched: tuple[RankedCandidate, ...]  # the words that were asked about, in their order
    layers: tuple[Candidate, ...]  # the likeliest at the embeddings and after each layer (the logit lens)


@dataclass(frozen=True)
class SnapshotAnalysis:
    """Everything that one snapshot computes for a text; what its model has no head for is None or empty.

    - `attentions`: (layers, heads, tokens, tokens), rows sum to 1; `heads` has their metrics.
    - `is_next`: probability that B follows A.
    - `losses`: (tokens,), -log of each token's probability when masked, in nats; NaN at special tokens and [MASK].
    - `labels`: a classifier's, in the order of its configuration; `words`: a tagger's; `answer`: of an answer finder.
    - `vectors`: (mapped words, hidden), their word embeddings scaled to length 1.
    """

    encoding: Encoding
    attentions: NDArray[np.float32]
    heads: HeadMetrics
    masked_tokens: tuple[MaskedToken, ...]
    is_next: float | None
    losses: NDArray[np.float32] | None
    labels: tuple[LabelScore, ...]
    words: tuple[WordLabel, ...]
    answer: PassageAnswer | None
    vectors: NDArray[np.float32]

    @property
    def loss(self) -> float | None:
        """Mean of `losses`; None where there are none."""
        scored = None if self.losses is None else self.losses[~np.isnan(self.losses)]
        return float(scored.mean()) if scored is not None and scored.size else None


@torch.inference_mode()
def analyze_snapshot(
    checkpoint: Checkpoint,
    text_a: str,
    text_b: str | None = None,
    *,
    watched: Sequence[int] = (),
    mapped: Sequence[int] = (),
    top_k: int = 8,
) -> SnapshotAnalysis:
    """Analyze a text with one model; `watched` and `mapped` are ids of tokens that are followed in every snapshot.

    Two passes give all of it: one over the text, and one over the text with a seventh of its words masked, seven
    times. Raises `InputError` when there is no text or the vocabulary has no such token.
    """
    if any(not 0 <= token < checkpoint.config.vocab_size for token in (*watched, *mapped)):
        raise InputError("A word that is to be followed is not in this model's vocabulary.")
    inputs = encode_inputs(checkpoint, text_a, text_b)
    encoding, model = inputs.encoding, checkpoint.model
    out = backbone(checkpoint)(**inputs.arguments(), output_attentions=True, output_hidden_states=True)
    attentions = np.stack([layer[0].float().numpy() for layer in out.attentions])
    special = np.array(encoding.special_tokens_mask) == 1
    words = isinstance(model, (BertForPreTraining, BertForMaskedLM))
    classifies = isinstance(model, BertForSequenceClassification)
    follows = isinstance(model, (BertForPreTraining, BertForNextSentencePrediction)) and 1 in encoding.token_type_ids
    states_SLD = torch.cat(out.hidden_states)
    next_logits = head_logits(model, "next", states_SLD[-1, :1])[0].float() if follows else None
    return SnapshotAnalysis(
        encoding=encoding,
        attentions=attentions,
        heads=HeadMetrics(measure_heads(attentions, np.array(encoding.token_type_ids), special)),
        masked_tokens=_masked_tokens(checkpoint, encoding, states_SLD, watched, top_k) if words else (),
        is_next=None if next_logits is None else float(next_logits.softmax(-1)[0]),
        losses=_losses(checkpoint, inputs) if words else None,
        labels=classify_vector(checkpoint, states_SLD[-1, :1]) if classifies else (),
        words=label_words(checkpoint, text_a).words if isinstance(model, BertForTokenClassification) else (),
        answer=_answer(checkpoint, text_a, text_b),
        vectors=word_embeddings(checkpoint, mapped),
    )


def _masked_tokens(
    checkpoint: Checkpoint, encoding: Encoding, states_SLD: torch.Tensor, watched: Sequence[int], top_k: int
) -> tuple[MaskedToken, ...]:
    """The predictions at each [MASK], read from the vectors around every layer, (layers + 1, tokens, hidden)."""
    tokenizer = checkpoint.tokenizer
    positions = encoding.mask_positions(tokenizer.mask_id)[:MOST_MASKS]
    masked_tokens = []
    for position in positions:
        rows_SV = head_logits(checkpoint.model, "token", states_SLD[:, position]).float().softmax(-1)
        best = [candidates_of(tokenizer, row_V, 1)[0] for row_V in rows_SV]
        likeliest = candidates_of(tokenizer, rows_SV[-1], min(top_k, checkpoint.config.vocab_size))
        asked = tuple(ranked(tokenizer, rows_SV[-1], token) for token in watched)
        masked_tokens.append(MaskedToken(position, likeliest, asked, tuple(best)))
    return tuple(masked_tokens)


def _losses(checkpoint: Checkpoint, inputs: ModelInputs) -> NDArray[np.float32]:
    """The loss of every token of the text: each is masked once, always together with the same others."""
    encoding, mask = inputs.encoding, checkpoint.tokenizer.mask_id
    own = [
        at
        for at, (token, special) in enumerate(zip(encoding.ids, encoding.special_tokens_mask, strict=True))
        if not special and token != mask
    ]
    losses = np.full(len(encoding), np.nan, dtype=np.float32)
    parts = [own[start::_PARTS] for start in range(_PARTS) if own[start::_PARTS]]
    if not parts:
        return losses
    ids_PL = inputs.input_ids.repeat(len(parts), 1)
    for row, part in enumerate(parts):
        ids_PL[row, part] = mask
    last_PLD = backbone(checkpoint)(**inputs.variants(ids_PL)).last_hidden_state
    hidden_ND = torch.cat([last_PLD[row, part] for row, part in enumerate(parts)])
    places = [place for part in parts for place in part]
    wanted_N = torch.tensor([encoding.ids[place] for place in places])
    logits_NV = head_logits(checkpoint.model, "token", hidden_ND).float()
    losses[places] = torch.nn.functional.cross_entropy(logits_NV, wanted_N, reduction="none").numpy()
    return losses


def _answer(checkpoint: Checkpoint, question: str, passage: str | None) -> PassageAnswer | None:
    """What an answer finder says, where there are a question and a passage."""
    if (
        not isinstance(checkpoint.model, BertForQuestionAnswering)
        or not question.strip()
        or not (passage or "").strip()
    ):
        return None
    return answer_question(checkpoint, question, passage or "", n_best=1)


@torch.inference_mode()
def word_embeddings(checkpoint: Checkpoint, tokens: Sequence[int]) -> NDArray[np.float32]:
    """The word embeddings of some tokens scaled to length 1, (tokens, hidden): where they point is what tells."""
    table = backbone(checkpoint).embeddings.word.weight[torch.tensor(list(tokens), dtype=torch.long)]
    return torch.nn.functional.normalize(table.float(), dim=-1).numpy()


@torch.inference_mode()
def related_tokens(checkpoint: Checkpoint, seeds: Sequence[int], count: int = 40) -> tuple[int, ...]:
    """The seeds and the words whose embeddings lie nearest to one of them, `count` at most, without repetition.

    Special tokens, single characters and pieces inside a word are left out.
    """
    tokenizer = checkpoint.tokenizer
    table = torch.nn.functional.normalize(backbone(checkpoint).embeddings.word.weight.float(), dim=-1)
    chosen = [token for token in dict.fromkeys(seeds) if _is_word(tokenizer.token(token))]
    if not chosen:
        return ()
    nearness = (table @ table[chosen].T).max(-1).values[: tokenizer.vocab_size]
    for token in nearness.argsort(descending=True).tolist():
        if len(chosen) >= count:
            break
        if token not in chosen and _is_word(tokenizer.token(token)):
            chosen.append(token)
    return tuple(chosen[:count])


def _is_word(token: str) -> bool:
    """Byte-level pieces begin a word with a mark of their own; WordPiece marks what does not begin one."""
    return len(token.lstrip("Ġ▁")) > 1 and token.lstrip("Ġ▁").isalpha()
