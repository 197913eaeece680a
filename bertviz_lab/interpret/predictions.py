"""Predictions: fill-mask, next sentence, and the labels of a text."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lab.errors import InputError
from bertviz_lab.interpret import targets
from bertviz_lab.interpret.inputs import (
    ModelInputs,
    OnProgress,
    analysis,
    backbone,
    check_passes,
    encode_inputs,
    head_mask_for,
    in_evaluation_mode,
    nothing,
    single_token,
)
from bertviz_lab.tokenization import Encoding, Tokenizer, check_mask_spelling
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint


@dataclass(frozen=True)
class Candidate:
    """A predicted token."""

    token: str
    id: int
    probability: float


@dataclass(frozen=True)
class RankedCandidate(Candidate):
    """A requested token, with its rank in the vocabulary; 1 is the most probable."""

    rank: int


@dataclass(frozen=True)
class MaskPrediction:
    """The predictions for one masked token, most probable first."""

    position: int  # of the [MASK], counting [CLS] as 0
    candidates: tuple[Candidate, ...]
    asked: RankedCandidate | None = None  # the requested token


@dataclass(frozen=True)
class FillMask:
    """The predictions for each [MASK] of a text, each made independently of the others."""

    encoding: Encoding
    masks: tuple[MaskPrediction, ...]


@dataclass(frozen=True)
class NextSentence:
    """The prediction whether B follows A."""

    encoding: Encoding
    is_next: float  # probability that B is the next sentence
    is_random: float  # probability that B comes from elsewhere; the two sum to 1


@dataclass(frozen=True)
class LabelScore:
    """A label and its probability; for a regression model, the predicted number."""

    label: str
    score: float


@dataclass(frozen=True)
class Classification:
    """The labels of a text, most probable first; for a multi-label model the probabilities do not sum to 1.

    `predicted` are those that apply: the most probable, or of a multi-label model those that reach their threshold.
    """

    encoding: Encoding
    labels: tuple[LabelScore, ...]
    multi_label: bool = False
    predicted: tuple[str, ...] = ()


@torch.inference_mode()
def fill_mask(
    checkpoint: Checkpoint,
    text: str,
    top_k: int = 5,
    text_b: str | None = None,
    *,
    word: str | int | None = None,
    head_mask: NDArray[np.floating] | None = None,
    causal: bool = False,
) -> FillMask:
    """Predict every [MASK] in a text. Probabilities are over the whole vocabulary.

    `word`, or the id of a token, is ranked at every [MASK], whether or not it is among the top k; `head_mask` and
    `causal` as in `trace_text`. Unlike elsewhere the second text comes after `top_k`: give it by its name. Raises
    `InputError` when there is no [MASK] (with advice if it was misspelt), when all were truncated, when `word` is not
    one token of the vocabulary, when `top_k` is below 1 or above the vocabulary, or when the model has no masked-LM
    head.
    """
    if not 1 <= top_k <= checkpoint.config.vocab_size:
        raise InputError(f"top_k must lie between 1 and the vocabulary's {checkpoint.config.vocab_size}.")
    token_id = None if word is None or word == "" else word
    if isinstance(token_id, str):
        token_id = single_token(checkpoint, token_id)
    mask = head_mask_for(checkpoint, head_mask)
    inputs, positions, probabilities_PV = mask_probabilities(checkpoint, text, text_b, head_mask=mask, causal=causal)
    return FillMask(
        inputs.encoding,
        tuple(
            MaskPrediction(
                position,
                candidates_of(checkpoint.tokenizer, row_V, top_k),
                None if token_id is None else ranked(checkpoint.tokenizer, row_V, token_id),
            )
            for position, row_V in zip(positions, probabilities_PV, strict=True)
        ),
    )


@in_evaluation_mode
def mask_probabilities(
    checkpoint: Checkpoint, text: str, text_b: str | None = None, **options: Any
) -> tuple[ModelInputs, tuple[int, ...], Tensor]:
    """Return the inputs, the positions of the [MASK]s, and their probabilities, (masks, vocabulary).

    `options` are passed to the model. Raises `InputError` as `fill_mask` does.
    """
    targets.require_head(checkpoint, "token")
    inputs, positions = encode_masked(checkpoint, text, text_b)
    out = backbone(checkpoint)(**inputs.arguments(), masked_positions=torch.tensor([positions]), **options)
    return inputs, positions, targets.head_scores(checkpoint, "token", out.last_hidden_state[0])


def encode_masked(checkpoint: Checkpoint, text: str, text_b: str | None) -> tuple[ModelInputs, tuple[int, ...]]:
    """Return the inputs and the positions of the [MASK]s. Raises `InputError`, with advice, where there is none."""
    tokenizer = checkpoint.tokenizer
    inputs = encode_inputs(checkpoint, text, text_b)
    positions = inputs.encoding.mask_positions(tokenizer.mask_id)
    if not positions:
        mask = tokenizer.token(tokenizer.mask_id)
        if mask in (*inputs.encoding.dropped_a, *inputs.encoding.dropped_b):
            raise InputError(
                f"The text is longer than the model's {checkpoint.max_length} tokens, "
                f"and every {mask} lies in the part that is cut off."
            )
        advice = check_mask_spelling(text, tokenizer) or check_mask_spelling(text_b or "", tokenizer)
        raise InputError(advice or f"Put {mask} in place of a word to predict it.")
    return inputs, positions


def candidates_of(tokenizer: Tokenizer, probabilities_V: Tensor, top_k: int) -> tuple[Candidate, ...]:
    """Return the most probable tokens of one prediction, (vocabulary,), at most all."""
    values, ids = probabilities_V.topk(min(top_k, len(probabilities_V)))
    return tuple(Candidate(tokenizer.token(i), i, p) for i, p in zip(ids.tolist(), values.tolist(), strict=True))


def ranked(tokenizer: Tokenizer, probabilities_V: Tensor, token_id: int) -> RankedCandidate:
    """Return one token of a prediction, (vocabulary,), with its rank."""
    probability = probabilities_V[token_id]
    rank = int((probabilities_V > probability).sum()) + 1
    return RankedCandidate(tokenizer.token(token_id), token_id, float(probability), rank)


@analysis
def next_sentence(checkpoint: Checkpoint, text_a: str, text_b: str) -> NextSentence:
    """Predict whether B follows A. Raises `InputError` when either is empty or the model has no such head."""
    targets.require_head(checkpoint, "next")
    if not text_a.strip() or not text_b.strip():
        raise InputError("Type both text A and text B.")
    inputs = encode_inputs(checkpoint, text_a, text_b)
    vector_1D = targets.final_vectors(checkpoint, 0, inputs.arguments())
    is_next, is_random = targets.head_scores(checkpoint, "next", vector_1D)[0].tolist()
    return NextSentence(inputs.encoding, is_next, is_random)


@analysis
def classify(checkpoint: Checkpoint, text_a: str, text_b: str | None = None) -> Classification:
    """Label a text or a pair. Raises `InputError` when the model is not a sequence classifier."""
    targets.require_head(checkpoint, "label")
    inputs = encode_inputs(checkpoint, text_a, text_b)
    labels = classify_vector(
        checkpoint, targets.final_vectors(checkpoint, targets.text_position(checkpoint), inputs.arguments())
    )
    ranking = sorted(labels, key=lambda label: -label.score)
    if not targets.is_multi_label(checkpoint):
        return Classification(inputs.encoding, tuple(ranking), predicted=(ranking[0].label,))
    limits = np.broadcast_to(np.array(checkpoint.config.decision_thresholds or (0.5,)), len(labels))
    predicted = {label.label for label, limit in zip(labels, limits, strict=True) if label.score >= limit}
    reached = tuple(label.label for label in ranking if label.label in predicted)
    return Classification(inputs.encoding, tuple(ranking), True, reached)


def classify_vector(checkpoint: Checkpoint, states: Tensor) -> tuple[LabelScore, ...]:
    """Return the labels of a classifier in their order, or the number of a regression, from the final state of [CLS].

    `states` is (1, hidden), or (1, tokens, hidden) for a classifier that reads the mean.
    """
    scores = targets.head_scores(checkpoint, "label", states)[0]
    return tuple(LabelScore(*pair) for pair in zip(checkpoint.config.labels, scores.tolist(), strict=True))


_MAX_MASKS = 20


@dataclass(frozen=True)
class FilledSequence:
    """Tokens for all [MASK]s of a text, in the order of their positions."""

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    probabilities: tuple[float, ...]  # of each token when it was filled in
    order: tuple[int, ...]  # in which they were filled, as indices into the masked tokens
    log_probability: float  # the sum of the logarithms, in nats


@dataclass(frozen=True)
class JointFill:
    """Masked tokens filled jointly, the best sequence first, and independently.

    `independent` has the most probable token at every position and the product of their probabilities.
    """

    encoding: Encoding
    positions: tuple[int, ...]
    joint: tuple[FilledSequence, ...]
    independent: FilledSequence


@dataclass(frozen=True)
class _Beam:
    ids: Tensor  # (tokens,)
    filled: tuple[tuple[int, int, float], ...]  # (index among the masked tokens, id, probability), in order of filling
    score: float


@analysis
def joint_fill(
    checkpoint: Checkpoint, text: str, text_b: str | None = None, *, beams: int = 5, on_progress: OnProgress = nothing
) -> JointFill:
    """Repeatedly fill in the most confident prediction, keeping the `beams` best sequences.

    BERT is trained to predict masked tokens independently, so the sum of the log-probabilities depends on the order:
    it ranks sequences but is not an exact probability. Raises `InputError` as `fill_mask` does.
    """
    model = targets.require_head(checkpoint, "token")
    inputs, positions = encode_masked(checkpoint, text, text_b)
    if len(positions) > _MAX_MASKS:
        raise InputError(f"{len(positions)} masked tokens are too many to fill jointly: leave {_MAX_MASKS} at most.")
    check_passes(checkpoint, len(inputs.encoding), 1 + beams * (len(positions) - 1), "Joint filling")

    def predict(ids_BL: Tensor) -> Tensor:
        """Return log-probabilities of all tokens at all masked positions: (batch, masks, vocabulary)."""
        masked_positions = torch.tensor([positions]).expand(len(ids_BL), -1)
        out = backbone(checkpoint)(**inputs.variants(ids_BL), masked_positions=masked_positions)
        return targets.head_logits(model, "token", out.last_hidden_state).float().log_softmax(-1)

    first_PV = predict(inputs.input_ids)[0]
    best = first_PV.max(-1)
    likeliest = tuple((index, int(i), float(p.exp())) for index, (p, i) in enumerate(zip(*best, strict=True)))
    independent = _Beam(inputs.input_ids[0], likeliest, float(best.values.sum()))
    candidates = [_Beam(inputs.input_ids[0], (), 0.0)]
    for step in range(len(positions)):
        tables = first_PV[None] if step == 0 else predict(torch.stack([beam.ids for beam in candidates]))
        extended = [
            extension
            for beam, table in zip(candidates, tables, strict=True)
            for extension in _extend(beam, table, positions, beams)
        ]
        # Several orders may give the same sequence: keep the best.
        distinct = {tuple(beam.ids.tolist()): beam for beam in sorted(extended, key=lambda beam: beam.score)}
        candidates = sorted(distinct.values(), key=lambda beam: -beam.score)[:beams]
        on_progress((step + 1) / len(positions))
    first, *joint = (_finish(checkpoint, beam) for beam in (independent, *candidates))
    return JointFill(inputs.encoding, positions, tuple(joint), first)


def _extend(beam: _Beam, table_PV: Tensor, positions: tuple[int, ...], beams: int) -> list[_Beam]:
    """Return the sequences that extend a beam by its most confident prediction."""
    filled_indices = {index for index, _, _ in beam.filled}
    index = max((p for p in range(len(positions)) if p not in filled_indices), key=lambda p: float(table_PV[p].max()))
    extended = []
    for score, token_id in zip(*table_PV[index].topk(min(beams, table_PV.shape[1])), strict=True):
        ids = beam.ids.clone()
        ids[positions[index]] = token_id
        filled = (*beam.filled, (index, int(token_id), float(score.exp())))
        extended.append(_Beam(ids, filled, beam.score + float(score)))
    return extended


def _finish(checkpoint: Checkpoint, beam: _Beam) -> FilledSequence:
    order = tuple(index for index, _, _ in beam.filled)
    _, ids, probabilities = zip(*sorted(beam.filled), strict=True)
    return FilledSequence(tuple(map(checkpoint.tokenizer.token, ids)), ids, probabilities, order, beam.score)
