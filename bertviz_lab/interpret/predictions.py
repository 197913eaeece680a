"""What a model says: words for the blanks, whether B follows A, the label of a text."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.inputs import encode_for
from bertviz_lab.model import (
    BertForMaskedLM,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForSequenceClassification,
)
from bertviz_lab.tokenization import Encoding, check_mask_spelling
from bertviz_lab.training.checkpoint import Checkpoint


@dataclass(frozen=True)
class Candidate:
    """A token that could stand in a blank."""

    token: str
    id: int
    probability: float


@dataclass(frozen=True)
class MaskPrediction:
    """The candidates for one blank, most probable first."""

    position: int  # of the [MASK], counting [CLS] as 0
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class FillMask:
    """The predictions for each [MASK] of a text, each made independently of the others."""

    encoding: Encoding
    masks: tuple[MaskPrediction, ...]


@dataclass(frozen=True)
class NextSentence:
    """Whether B follows A, as the model sees it."""

    encoding: Encoding
    is_next: float  # probability that B is the next sentence
    is_random: float  # probability that B comes from elsewhere; the two sum to 1


@dataclass(frozen=True)
class LabelScore:
    """A label and its probability; for a regression model, the number it predicts."""

    label: str
    score: float


@dataclass(frozen=True)
class Classification:
    """The labels of a text, most probable first."""

    encoding: Encoding
    labels: tuple[LabelScore, ...]


@torch.inference_mode()
def fill_mask(checkpoint: Checkpoint, text: str, top_k: int = 5, text_b: str | None = None) -> FillMask:
    """Predict every [MASK] in a text. Probabilities are over the whole vocabulary.

    Raises `InputError` when there is no [MASK] (with advice if it was spelt otherwise), when all were cut off
    because the text is too long, or when the model has no masked-word head.
    """
    model = _with_head(checkpoint, (BertForPreTraining, BertForMaskedLM), "masked-word")
    if not 1 <= top_k <= checkpoint.config.vocab_size:
        raise InputError(f"top_k must lie between 1 and the vocabulary's {checkpoint.config.vocab_size}.")
    tokenizer = checkpoint.tokenizer
    inputs = encode_for(checkpoint, text, text_b)
    positions = inputs.encoding.mask_positions(tokenizer.mask_id)
    if not positions:
        mask = tokenizer.token(tokenizer.mask_id)
        if inputs.encoding.dropped_a and mask in text:
            raise InputError(
                f"The text is longer than the model's {checkpoint.config.max_position_embeddings} tokens, "
                f"and every {mask} lies in the part that is cut off."
            )
        advice = check_mask_spelling(text, tokenizer)
        raise InputError(advice or f"Put {mask} where a word is to be guessed.")
    out = model(**inputs.arguments(), positions=torch.tensor([positions]))
    logits: Tensor = out.prediction_logits if isinstance(model, BertForPreTraining) else out.logits
    probabilities, ids = logits[0].float().softmax(-1).topk(top_k)
    return FillMask(
        inputs.encoding,
        tuple(
            MaskPrediction(
                position,
                tuple(Candidate(tokenizer.token(int(i)), int(i), float(p)) for p, i in zip(ps, row, strict=True)),
            )
            for position, ps, row in zip(positions, probabilities, ids, strict=True)
        ),
    )


@torch.inference_mode()
def next_sentence(checkpoint: Checkpoint, text_a: str, text_b: str) -> NextSentence:
    """Predict whether B follows A. Raises `InputError` when either is empty or the model has no such head."""
    model = _with_head(checkpoint, (BertForPreTraining, BertForNextSentencePrediction), "next-sentence")
    if not text_a.strip() or not text_b.strip():
        raise InputError("Type both sentence A and sentence B.")
    inputs = encode_for(checkpoint, text_a, text_b)
    out = model(**inputs.arguments())
    logits = out.seq_relationship_logits if isinstance(model, BertForPreTraining) else out.logits
    is_next, is_random = logits[0].float().softmax(-1).tolist()
    return NextSentence(inputs.encoding, is_next, is_random)


@torch.inference_mode()
def classify(checkpoint: Checkpoint, text_a: str, text_b: str | None = None) -> Classification:
    """Label a text or a pair. Raises `InputError` when the model is no sequence classifier."""
    model = _with_head(checkpoint, (BertForSequenceClassification,), "classification")
    inputs = encode_for(checkpoint, text_a, text_b)
    logits = model(**inputs.arguments()).logits[0].float()
    scores = logits if len(logits) == 1 else logits.softmax(-1)
    labelled = [LabelScore(*pair) for pair in zip(checkpoint.config.labels, scores.tolist(), strict=True)]
    return Classification(inputs.encoding, tuple(sorted(labelled, key=lambda s: -s.score)))


def _with_head(checkpoint: Checkpoint, kinds: tuple[type, ...], head: str) -> nn.Module:
    if not isinstance(checkpoint.model, kinds):
        raise InputError(
            f"{checkpoint.name or 'This model'} has no {head} head: it is a {checkpoint.architecture}. "
            "Choose another model."
        )
    return checkpoint.model
