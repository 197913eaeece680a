"""Targets of an explanation: one class of one head, computed from the final hidden state at one position.

The start or end of an answer is a choice among all tokens, and is computed from all their hidden states.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.inputs import ModelInputs, analysis, backbone, encode_inputs, head_mask_for, single_token
from bertviz_lab.model import (
    BertForMaskedLM,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
)
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

#: The heads for masked LM, next sentence, sequence and token classification, and both outputs of question answering.
TargetKind = Literal["token", "next", "label", "word", "start", "end"]

_HEADS: dict[TargetKind, tuple[tuple[type, ...], str]] = {
    "token": ((BertForPreTraining, BertForMaskedLM), "masked-LM"),
    "next": ((BertForPreTraining, BertForNextSentencePrediction), "next-sentence"),
    "label": ((BertForSequenceClassification,), "classification"),
    "word": ((BertForTokenClassification,), "token-classification"),
    "start": ((BertForQuestionAnswering,), "question-answering"),
    "end": ((BertForQuestionAnswering,), "question-answering"),
}
NEXT_NAMES = ("B follows A", "B comes from elsewhere")


@dataclass(frozen=True)
class Target:
    """A prediction to explain."""

    kind: TargetKind
    position: int  # of the predicted token: a [MASK], a word's first, an answer's; else that of [CLS], 0
    index: int  # the class: a token's id; 0 is next and 1 is random; a label; for an answer `position` again
    name: str
    against: "Target | None" = None  # another class of the same head and position, as contrast

    is_regression: bool = False  # the model has one label and predicts a number
    is_multi_label: bool = False  # each label has a probability of its own
    reads_all: bool = False  # the head reads the mean of all tokens, as ModernBERT's classifiers may

    @property
    def title(self) -> str:
        """The class, with its contrast."""
        return f"{self.name} rather than {self.against.name}" if self.against else self.name

    @property
    def quantity(self) -> str:
        """What `score` is, in words."""
        if self.is_regression:
            return "predicted value"
        return "log-ratio" if self.against else "log-probability"

    @property
    def read_position(self) -> int | None:
        """The position whose final hidden state the head reads; None where it reads all."""
        return None if self.reads_all or is_answer(self.kind) else self.position

    def read(self, hidden_BLD: Tensor) -> Tensor:
        """Return the final hidden states that the head reads, (batch, [tokens,] hidden)."""
        return hidden_BLD if self.read_position is None else hidden_BLD[:, self.read_position]

    def score(self, model: nn.Module, hidden_BD: Tensor) -> Tensor:
        """Return the score of this class in nats, (batch,), from the final hidden states at its `read_position`.

        Its log-probability; with `against`, the log-ratio to the other class (Yin and Neubig 2022). For a regression,
        the predicted number.
        """
        logits_BC = head_logits(model, self.kind, hidden_BD).float()
        if logits_BC.shape[-1] == 1 and not self.is_multi_label:
            return logits_BC[:, 0]
        logs_BC = torch.nn.functional.logsigmoid(logits_BC) if self.is_multi_label else logits_BC.log_softmax(-1)
        return logs_BC[:, self.index] - (0 if self.against is None else logs_BC[:, self.against.index])


def target_kinds(checkpoint: Checkpoint) -> tuple[TargetKind, ...]:
    """Return the kinds of predictions that a model has a head for; none for an encoder alone."""
    return tuple(
        kind
        for kind, (models, _) in _HEADS.items()
        if isinstance(checkpoint.model, models) and (kind != "next" or checkpoint.config.has_nsp)
    )


def require_head(checkpoint: Checkpoint, kind: TargetKind) -> nn.Module:
    """Return the model. Raises `InputError` if it has no head of this kind."""
    kinds, name = _HEADS[kind]
    if kind == "next" and not checkpoint.config.has_nsp:
        instead = ", but on the order of two passages (SOP)" if checkpoint.config.has_sop else ""
        raise InputError(
            f"{checkpoint.name or 'This model'} was not pretrained on next-sentence prediction{instead}; choose a "
            "model that was, such as wiki-mini."
        )
    if not isinstance(checkpoint.model, kinds):
        raise InputError(
            f"{checkpoint.name or 'This model'} has no {name} head: it is a {checkpoint.architecture}. Its tokens, "
            "attention and vectors can be looked at all the same; for this choose another model."
        )
    return checkpoint.model


def is_answer(kind: TargetKind) -> bool:
    """Return whether the classes are the tokens themselves: the start or the end of an answer."""
    return kind in ("start", "end")


def head_logits(model: Any, kind: TargetKind, hidden_BD: Tensor) -> Tensor:
    """Return the logits of a head, (batch, hidden) to (batch, classes), from the hidden states of any layer.

    For an answer's start or end, (batch, tokens, hidden) to (batch, tokens): the tokens are the classes.
    """
    if kind == "token":
        return model.mlm(hidden_BD, model.bert.embeddings.word.weight)
    if kind == "word":
        return model.classify(hidden_BD)
    if is_answer(kind):
        return model.classify(hidden_BD)[..., int(kind == "end")]
    if kind == "label":
        if hidden_BD.dim() == 3:  # a classifier that reads the mean of all tokens
            hidden_BD = hidden_BD.mean(1)
        return model.classify(model.bert.pool(hidden_BD))
    return model.nsp(model.bert.pool(hidden_BD))


def text_position(checkpoint: Checkpoint) -> int | None:
    """Return the position that a text's classifier reads, that of [CLS]; None for the mean of all tokens."""
    return 0 if checkpoint.config.classifier_pooling == "cls" else None


def final_vectors(
    checkpoint: Checkpoint, positions: int | Tensor | None, arguments: dict[str, Tensor], **options: Any
) -> Tensor:
    """Return the final hidden states, (batch, hidden), at one position or at one for each example, (batch,).

    Those of other tokens are not computed. Without a position, all of them, (batch, tokens, hidden).
    """
    if positions is None:
        return backbone(checkpoint)(**arguments, **options).last_hidden_state
    (first, *_) = arguments.values()
    positions_B1 = torch.as_tensor(positions).expand(len(first))[:, None]
    return backbone(checkpoint)(**arguments, masked_positions=positions_B1, **options).last_hidden_state[:, 0]


@analysis
def choose_target(
    checkpoint: Checkpoint,
    inputs: ModelInputs,
    kind: TargetKind = "token",
    *,
    position: int | None = None,
    choice: str | None = None,
    against: str | None = None,
) -> Target:
    """Return the prediction to explain: the class `choice`, or the most probable; `against` names its contrast.

    `position` is that of a [MASK], by default the first; for a word's label that of one of its tokens, by default of
    the first word with a predicted label other than "O"; for an answer's start or end that of the token, 0 for no
    answer, by default of the most probable in the passage. Raises `InputError` when the model has no such head, there
    is no such token or class, or a class is its own contrast.
    """
    model = require_head(checkpoint, kind)
    if is_answer(kind):
        if choice or against:
            raise InputError("An answer's first or last token is named by its position, and set against nothing.")
        return _answer_target(checkpoint, inputs, kind, position)
    names: tuple[str, ...] = NEXT_NAMES if kind == "next" else () if kind == "token" else checkpoint.config.labels
    if kind == "token":
        masks = _positions(checkpoint, inputs, "token")
        position = masks[0] if position is None and masks else position
        if position is None or position not in masks:
            raise InputError(f"Put {checkpoint.tokenizer.special.mask} in place of a word to predict it.")
    elif kind == "word":
        position = _word_position(checkpoint, inputs, position)
    else:
        position = 0
        if not _positions(checkpoint, inputs, kind):
            raise InputError("Type both text A and text B.")
    reads_all = kind == "label" and text_position(checkpoint) is None
    if choice is None:
        vectors = final_vectors(checkpoint, None if reads_all else position, inputs.arguments())
        index = int(head_logits(model, kind, vectors)[0].argmax())
    elif kind == "token":
        index = single_token(checkpoint, choice)
    elif choice in names:
        index = names.index(choice)
    else:
        raise InputError(f"{choice} is not one of {', '.join(names)}.")
    name = checkpoint.tokenizer.token(index) if kind == "token" else names[index]
    contrast = choose_target(checkpoint, inputs, kind, position=position, choice=against) if against else None
    if contrast and contrast.index == index:
        raise InputError(f"{name} cannot be set against itself: name another one.")
    multi_label = kind == "label" and is_multi_label(checkpoint)
    regression = kind == "label" and len(names) == 1 and not multi_label
    return Target(
        kind, position, index, name, contrast, is_regression=regression, is_multi_label=multi_label, reads_all=reads_all
    )


def check_target(checkpoint: Checkpoint, inputs: ModelInputs, target: Target) -> Target:
    """Return the target. Raises `InputError` if it was chosen for another text or model."""
    require_head(checkpoint, target.kind)
    sizes: dict[str, int] = {"token": checkpoint.config.vocab_size, "next": len(NEXT_NAMES)}
    size = sizes.get(target.kind, len(inputs.encoding) if is_answer(target.kind) else checkpoint.config.num_labels)
    if target.position not in _positions(checkpoint, inputs, target.kind) or not 0 <= target.index < size:
        raise InputError(f"The target {target.name} was chosen for another text or model: choose it for this one.")
    if target.against:
        check_target(checkpoint, inputs, target.against)
    return target


def inputs_and_target(
    checkpoint: Checkpoint, text_a: str, text_b: str | None, target: Target | None
) -> tuple[ModelInputs, Target]:
    """Return the inputs of a text and the target in it, by default the most probable token of the first [MASK].

    Raises `InputError` as `check_target` and `choose_target` do.
    """
    inputs = encode_inputs(checkpoint, text_a, text_b)
    return inputs, check_target(checkpoint, inputs, target) if target else choose_target(checkpoint, inputs)


def is_multi_label(checkpoint: Checkpoint) -> bool:
    """Return whether several labels of a classifier may apply, each with its own probability."""
    return checkpoint.config.problem_type == "multi_label_classification"


def head_scores(checkpoint: Checkpoint, kind: TargetKind, hidden_BD: Tensor) -> Tensor:
    """Return the probabilities of a head's classes, (batch, classes), or the number of a regression, (batch, 1).

    Those of several labels that may apply do not sum to 1. The hidden states are as in `head_logits`.
    """
    logits_BC = head_logits(checkpoint.model, kind, hidden_BD).float()
    if kind == "label" and is_multi_label(checkpoint):
        return logits_BC.sigmoid()
    return logits_BC if kind == "label" and logits_BC.shape[-1] == 1 else logits_BC.softmax(-1)


@analysis
def class_scores(
    checkpoint: Checkpoint,
    inputs: ModelInputs,
    target: Target,
    *,
    head_mask: NDArray[np.floating] | None = None,
    causal: bool = False,
) -> NDArray[np.float32]:
    """Return the probabilities of the target's classes, (classes,), or the number of a regression.

    `head_mask` and `causal` as in `trace_text`. Raises `InputError` for a target of another text or model.
    """
    check_target(checkpoint, inputs, target)
    mask = head_mask_for(checkpoint, head_mask)
    vectors = final_vectors(checkpoint, target.read_position, inputs.arguments(), head_mask=mask, causal=causal)
    return head_scores(checkpoint, target.kind, vectors)[0].numpy()


def class_name(checkpoint: Checkpoint, inputs: ModelInputs, target: Target, index: int) -> str:
    """Return one of the classes that the target's head chooses among, in words."""
    if target.kind == "token":
        return checkpoint.tokenizer.token(index)
    if is_answer(target.kind):
        return f"{inputs.encoding.tokens[index]} ({index})" if index else "no answer"
    return NEXT_NAMES[index] if target.kind == "next" else checkpoint.config.labels[index]


def _positions(checkpoint: Checkpoint, inputs: ModelInputs, kind: TargetKind) -> Sequence[int]:
    """Return the positions of possible targets: [MASK]s, words, tokens of the passage, or [CLS]."""
    encoding = inputs.encoding
    if kind == "token":
        return encoding.mask_positions(checkpoint.tokenizer.mask_id)
    if kind == "word":
        return [positions[0] for positions in encoding.words]
    if is_answer(kind):
        columns = zip(encoding.token_type_ids, encoding.special_tokens_mask, strict=True)
        return [0, *(at for at, (segment, special) in enumerate(columns) if segment == 1 and not special)]
    return [0] if kind == "label" or 1 in encoding.token_type_ids else []


def _word_position(checkpoint: Checkpoint, inputs: ModelInputs, position: int | None) -> int:
    """Return the first token of a word, at which its label is predicted."""
    encoding = inputs.encoding
    firsts = _positions(checkpoint, inputs, "word")
    if position is None and firsts:
        vectors_LD = final_vectors(checkpoint, None, inputs.arguments())[0]
        labels = head_logits(checkpoint.model, "word", vectors_LD[firsts]).argmax(-1).tolist()
        named = zip(firsts, (checkpoint.config.labels[label] for label in labels), strict=True)
        return next((first for first, label in named if label != "O"), firsts[0])
    word = () if position is None else encoding.word_at(position)
    if not word:
        raise InputError("There is no word at this place: choose a token of the text.")
    return word[0]


def _answer_target(checkpoint: Checkpoint, inputs: ModelInputs, kind: TargetKind, position: int | None) -> Target:
    encoding = inputs.encoding
    if encoding.text_b is None:
        raise InputError("Type a question as text A and a passage as text B.")
    _, *passage = _positions(checkpoint, inputs, kind)
    if position is None and passage:
        scores_L = head_logits(checkpoint.model, kind, final_vectors(checkpoint, None, inputs.arguments()))[0]
        position = passage[int(scores_L[passage].argmax())]
    if position is None or position not in (0, *passage):
        raise InputError("An answer starts and ends in the passage: choose one of its tokens, or 0 for no answer.")
    return Target(kind, position, position, encoding.tokens[position] if position else "no answer")
