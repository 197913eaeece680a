"""From text to the input tensors of a model, and what an analysis will cost, computed before it starts.

A shared page sets `Checkpoint.limits`; without them nothing is refused. Operations are multiplications and additions:
two for each weight that a token meets (Kaplan et al. 2020, section 2.1), and those of attention; a gradient takes three
times a forward pass.
"""

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Concatenate, Literal, ParamSpec, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lab.config import BertConfig
from bertviz_lab.config.limits import words_of
from bertviz_lab.data.batches import padded_rows
from bertviz_lab.errors import InputError
from bertviz_lab.model import BertModel
from bertviz_lab.tokenization import Encoding, check_several, ids_named
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.loop.evaluation import evaluating

P = ParamSpec("P")
Result = TypeVar("Result")

GRADIENT = 3  # forward passes that one with its gradient takes
_KEPT_BY_HEADS = 3  # matrices (tokens, tokens) of a head at a time: scores, mask or copy, weights
_KEPT_BY_TRACE = 4  # of each head in a trace: scores, weights, and copies as arrays
_KEPT_BY_TERMS = 6  # the same of the three terms of disentangled attention


def forward_operations(config: BertConfig, tokens: int) -> float:
    """Return the operations of one forward pass over a text of so many tokens, without a head."""
    hidden, layers = config.hidden_size, config.num_hidden_layers
    weights = 4 * hidden**2 + 2 * hidden * config.intermediate_size
    return 2.0 * tokens * layers * (weights + 2 * hidden * tokens)


def affordable_passes(checkpoint: Checkpoint, tokens: int) -> float:
    """Return the number of forward passes over a text of so many tokens that one question may take."""
    return checkpoint.limits.operations / forward_operations(checkpoint.config, tokens)


def check_passes(checkpoint: Checkpoint, tokens: int, passes: float, what: str) -> None:
    """Raise `InputError` if so many forward passes are more than one question may take; `what` takes them."""
    allowed = affordable_passes(checkpoint, tokens)
    if passes > allowed:
        raise InputError(
            f"{what} for {tokens:,} tokens takes {passes:,.0f} passes through this model, and one question may take "
            f"{math.floor(allowed):,}: shorten the text, or choose a smaller model."
        )


def check_memory(checkpoint: Checkpoint, tokens: int, *, traced: bool = False) -> None:
    """Raise `InputError` if the attention of a text, or its whole trace, takes more memory than it may."""
    config = checkpoint.config
    matrices = config.num_attention_heads * _KEPT_BY_HEADS
    if traced:
        kept = _KEPT_BY_TRACE + (_KEPT_BY_TERMS if config.position_embedding_type == "disentangled" else 0)
        matrices += config.num_attention_heads * config.num_hidden_layers * kept
    size = 4 * matrices * tokens**2 + 4 * tokens * (6 * config.hidden_size + 2 * config.intermediate_size)
    if size > checkpoint.limits.memory_bytes:
        raise InputError(
            f"The attention of this model to {tokens:,} tokens needs {words_of('bytes', size)} of memory, and one "
            f"question may take {words_of('bytes', checkpoint.limits.memory_bytes)}: shorten the text."
        )


#: Called with the share that is done, 0 to 1, at the end with 1; an exception that it raises ends the computation.
OnProgress = Callable[[float], None]


def nothing(share: float) -> None:
    """Ignore progress."""


def part_of(on_progress: OnProgress, start: float, share: float) -> OnProgress:
    """Return what reports the progress of a part of the whole, `share` of it, which begins at `start`."""
    return lambda done: on_progress(start + share * done)


def in_evaluation_mode(
    function: Callable[Concatenate[Checkpoint, P], Result],
) -> Callable[Concatenate[Checkpoint, P], Result]:
    """Run a function with its checkpoint's model in evaluation mode, then put the model back into its own mode.

    A model in training has dropout, so each call would return other numbers.
    """

    @functools.wraps(function)
    def evaluated(checkpoint: Checkpoint, *args: P.args, **options: P.kwargs) -> Result:
        with evaluating(checkpoint.model):
            return function(checkpoint, *args, **options)

    return evaluated


def analysis(function: Callable[Concatenate[Checkpoint, P], Result]) -> Callable[Concatenate[Checkpoint, P], Result]:
    """Run a function as `in_evaluation_mode` does, without gradients."""
    return torch.inference_mode()(in_evaluation_mode(function))


_TOKENS_PER_BATCH = 1024  # when a model is run on many variants of a text


def variants_per_batch(length: int) -> int:
    """Return the number of variants of a text of `length` tokens in a batch."""
    return max(1, _TOKENS_PER_BATCH // length)


_CORPUS_TOKENS = 4096  # when it is run on many texts


@analysis
def states_at(
    checkpoint: Checkpoint,
    rows: Sequence[Sequence[int] | NDArray[np.integer]],
    places: Sequence[Sequence[int] | NDArray[np.integer]],
    on_progress: OnProgress,
) -> list[Tensor]:
    """Return the hidden states of each layer at some places of each row of ids, (places of all rows, hidden).

    The embeddings come first, and the state of the last layer is final.
    """
    states: list[list[Tensor]] = [[] for _ in range(checkpoint.config.num_hidden_layers + 1)]
    size = max(1, _CORPUS_TOKENS // max(map(len, rows)))
    for start in range(0, len(rows), size):
        inputs = padded_rows(rows[start : start + size], checkpoint.tokenizer.pad_id)
        of_rows = [(row, place) for row, some in enumerate(places[start : start + size]) for place in some]
        at = torch.tensor(of_rows, dtype=torch.long).reshape(-1, 2).unbind(1)
        out = backbone(checkpoint)(*inputs, output_hidden_states=True)
        for of_layer, state in zip(states, out.hidden_states, strict=True):
            of_layer.append(state[at].float())
        on_progress(min(1.0, (start + size) / len(rows)))
    return [torch.cat(of_layer) for of_layer in states]


def several_texts(texts: Iterable[str]) -> list[str]:
    """Return the texts as a list.

    Raises `InputError` where there is none or one of them is empty, and `TypeError` for one string.
    """
    check_several(texts)
    listed = list(texts)
    if not listed:
        raise InputError("Give at least one text.")
    for place, text in enumerate(listed):
        if not text.strip():
            raise InputError(f"Text {place + 1} of {len(listed)} is empty. Type a sentence there, or leave it out.")
    return listed


@dataclass(frozen=True, eq=False)
class ModelInputs:
    """One encoded text as a batch of one: each tensor (1, tokens)."""

    encoding: Encoding
    input_ids: Tensor
    attention_mask: Tensor
    token_type_ids: Tensor

    def arguments(self) -> dict[str, Tensor]:
        return self.variants(self.input_ids)

    def variants(self, tokens_BL: Tensor, name: str = "input_ids") -> dict[str, Tensor]:
        """Return the model's arguments for other ids, or other "inputs_embeds", with the same mask and segments."""
        return {
            name: tokens_BL,
            "attention_mask": self.attention_mask.expand(len(tokens_BL), -1),
            "token_type_ids": self.token_type_ids.expand(len(tokens_BL), -1),
        }


def with_segment_ids(inputs: ModelInputs, kind: Literal["zero", "swapped"]) -> ModelInputs:
    """Return the same text with all segment ids 0, or with those of the two texts swapped: an intervention."""
    ids_1L = inputs.token_type_ids
    return replace(inputs, token_type_ids=torch.zeros_like(ids_1L) if kind == "zero" else 1 - ids_1L)


def encode_inputs(checkpoint: Checkpoint, text_a: str, text_b: str | None = None) -> ModelInputs:
    """Tokenize for a model; a text that is too long is truncated, and the encoding has the dropped tokens.

    Raises `InputError` when there is no text, a pair is given to a model with one segment only, or the text is more
    than a question may be about (`Checkpoint.limits`).
    """
    if not text_a.strip() and not (text_b or "").strip():
        raise InputError("Type a sentence first.")
    if text_b and not checkpoint.config.reads_pairs:
        raise InputError("This model was made for single texts; leave sentence B empty.")
    limit = checkpoint.max_length
    encoding = checkpoint.tokenizer.encode(text_a, text_b or None, max_length=limit)
    if encoding.dropped and limit == checkpoint.limits.tokens:  # the model itself would take more
        tokens = len(encoding) + encoding.dropped
        raise InputError(f"This text has {tokens:,} tokens, and this page takes up to {limit:,}: shorten it.")
    check_memory(checkpoint, len(encoding))
    return ModelInputs(
        encoding, *(torch.tensor([row]) for row in (encoding.ids, encoding.attention_mask, encoding.token_type_ids))
    )


def single_token(checkpoint: Checkpoint, word: str) -> int:
    """Return the id of a word that is one token, or else of a piece spelt as in the vocabulary.

    Raises `InputError` for an empty word, or one of several pieces.
    """
    tokenizer = checkpoint.tokenizer
    word = word.strip()
    if not word:
        raise InputError("Name a word.")
    (ids,) = tokenizer.ids_of_words([word])  # a whole word takes precedence over a piece with its spelling
    if len(ids) != 1 or ids[0] == tokenizer.unk_id:
        if named := ids_named(tokenizer, word):
            return named[0]
        pieces = " ".join(tokenizer.token(token_id) for token_id in ids)
        raise InputError(f"{word} is not one token of this model's vocabulary, but {pieces}: name a shorter word.")
    return ids[0]


def backbone(checkpoint: Checkpoint) -> BertModel:
    """Return the backbone of a checkpoint, without its head."""
    model = checkpoint.model
    return model if isinstance(model, BertModel) else model.get_submodule("bert")  # type: ignore[return-value]


def head_mask_for(checkpoint: Checkpoint, head_mask: NDArray[np.floating] | None) -> Tensor | None:
    """Return the head mask as a tensor, (layers, heads)."""
    if head_mask is None:
        return None
    return torch.as_tensor(np.asarray(head_mask), dtype=backbone(checkpoint).embeddings.word.weight.dtype)
