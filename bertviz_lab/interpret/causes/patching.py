"""Activation patching (causal tracing): which activations carry what a prediction depends on.

A model reads a clean text and a corrupted one with as many tokens. One activation of the one run is then put into the
other: denoising puts what the clean run computed into the corrupted run and asks what restores the prediction, noising
the reverse and asks what breaks it. Sources: Vig et al. 2020; Meng et al. 2022, section 2; Zhang and Nanda 2024,
"Towards Best Practices of Activation Patching".
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.causes.attribution import attribute
from bertviz_lab.interpret.embeddings import nearest_tokens
from bertviz_lab.interpret.inputs import (
    ModelInputs,
    OnProgress,
    analysis,
    backbone,
    check_memory,
    check_passes,
    encode_inputs,
    nothing,
    single_token,
    variants_per_batch,
)
from bertviz_lab.interpret.targets import (
    Target,
    final_vectors,
    head_logits,
    head_scores,
    inputs_and_target,
    target_kinds,
)
from bertviz_lab.model import Patch
from bertviz_lab.model.attention import extended_attention_mask
from bertviz_lab.tokenization import Encoding
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

Component = Literal["residual", "attention", "feed_forward", "head"]
#: What can be patched. "residual" is the hidden state that enters a layer, and at last the final one.
COMPONENTS: tuple[Component, ...] = ("residual", "attention", "feed_forward", "head")
Direction = Literal["denoising", "noising"]
CorruptionKind = Literal["word", "mask", "noise"]

_SUBSTITUTES = 20  # tokens of which the one that changes the prediction most is proposed
_NOISE = 3.0  # standard deviations of the word embeddings (Meng et al. 2022, section 2.1)


@dataclass(frozen=True, eq=False)
class Corruption:
    """What replaces some tokens of a clean text; the number of tokens stays the same."""

    positions: tuple[int, ...]  # of the tokens that are replaced
    names: tuple[str, ...]  # what replaces each: a token, or the same one "+ noise"
    words: Tensor  # (1, tokens, hidden): the word embeddings of the corrupted text

    def title(self, encoding: Encoding) -> str:
        """Return the change in words, such as "black → white"."""
        pairs = zip(self.positions, self.names, strict=True)
        return ", ".join(f"{encoding.tokens[position]} → {name}" for position, name in pairs)


@analysis
def propose_corruption(
    checkpoint: Checkpoint,
    text_a: str,
    text_b: str | None = None,
    *,
    target: Target | None = None,
    position: int | None = None,
    kind: CorruptionKind = "word",
    word: str | None = None,
    seed: int = 0,
) -> Corruption:
    """Return a change of one token: at `position`, or where occlusion lowers the target's score most.

    - "word": `word`, or of the likeliest substitutes the one with the lowest score of the target. Substitutes are the
      model's own predictions at that position or, without a masked-LM head, the nearest word embeddings.
    - "mask": [MASK], a cue that is hidden.
    - "noise": Gaussian noise of three standard deviations on the word embedding (Meng et al. 2022), drawn from `seed`.

    Raises `InputError` for a position without a token of the text, a word that is not one token, and as `choose_target`
    does.
    """
    inputs, target = inputs_and_target(checkpoint, text_a, text_b, target)
    changeable = inputs.encoding.unmasked_positions(checkpoint.tokenizer.mask_id)
    if not changeable:
        raise InputError("The text has no token that could be changed: type a word beside the one to predict.")
    if position is None:
        scores = attribute(checkpoint, text_a, text_b, method="occlusion", target=target).scores
        position = changeable[int(np.argmax(scores[changeable]))]
    if position not in changeable:
        raise InputError("Choose a token of the text to change, not a masked or special one.")
    if kind == "noise":
        words = backbone(checkpoint).embeddings.word(inputs.input_ids)
        words[0, position] += noise_of(checkpoint, seed)
        return Corruption((position,), (f"{inputs.encoding.tokens[position]} + noise",), words)
    ids = inputs.input_ids.clone()
    if kind == "mask":
        ids[0, position] = checkpoint.tokenizer.mask_id
    elif word:
        ids[0, position] = single_token(checkpoint, word)
    else:
        variants = _substitutes(checkpoint, inputs, position)
        vectors = final_vectors(checkpoint, target.read_position, inputs.variants(variants))
        ids = variants[target.score(checkpoint.model, vectors).argmin()][None]
    return _corruption(checkpoint, inputs, ids)


def noise_of(checkpoint: Checkpoint, seed: int = 0) -> Tensor:
    """Return the noise that corrupts a word embedding, (embedding size,): always the same of a seed."""
    table = backbone(checkpoint).embeddings.word
    noise = torch.randn(table.embedding_dim, generator=torch.Generator().manual_seed(seed))
    return _NOISE * table.weight.std() * noise


@analysis
def corruption_of(
    checkpoint: Checkpoint, text_a: str, text_b: str | None, corrupted_a: str, corrupted_b: str | None = None
) -> Corruption:
    """Return the change from a text, or a pair, to another that a person has written.

    Raises `InputError` where they differ in the number of their tokens, in segments or in the place of [MASK], or in
    no token.
    """
    inputs, others = encode_inputs(checkpoint, text_a, text_b), encode_inputs(checkpoint, corrupted_a, corrupted_b)
    clean, corrupted, mask = inputs.encoding, others.encoding, checkpoint.tokenizer.mask_id
    if len(clean) != len(corrupted) or clean.token_type_ids != corrupted.token_type_ids:
        raise InputError(
            f"The corrupted text has {len(corrupted)} tokens and the clean one {len(clean)}: replace words by "
            "others of as many tokens."
        )
    if not set(clean.mask_positions(mask)) <= set(corrupted.mask_positions(mask)):
        raise InputError("The corrupted text must have its [MASK] where the clean one has it.")
    if clean.ids == corrupted.ids:
        raise InputError("Both texts have the same tokens: change a word in the corrupted one.")
    return _corruption(checkpoint, inputs, others.input_ids)


def _corruption(checkpoint: Checkpoint, inputs: ModelInputs, ids_1L: Tensor) -> Corruption:
    positions = (ids_1L != inputs.input_ids)[0].nonzero()[:, 0].tolist()
    names = tuple(checkpoint.tokenizer.token(ids_1L[0, position]) for position in positions)
    return Corruption(tuple(positions), names, backbone(checkpoint).embeddings.word(ids_1L))


def _substitutes(checkpoint: Checkpoint, inputs: ModelInputs, position: int) -> Tensor:
    """Return the ids of the text with other tokens of the same kind at one position, (substitutes, tokens)."""
    tokenizer, own = checkpoint.tokenizer, int(inputs.input_ids[0, position])
    if "token" in target_kinds(checkpoint):
        masked_ids = inputs.input_ids.clone()
        masked_ids[0, position] = tokenizer.mask_id
        vectors = final_vectors(checkpoint, position, inputs.variants(masked_ids))
        order = head_logits(checkpoint.model, "token", vectors)[0].argsort(descending=True).tolist()
    else:
        order = [near.id for near in nearest_tokens(checkpoint, tokenizer.token(own), top_k=10 * _SUBSTITUTES)]

    tokens = ((at, tokenizer.token(at)) for at in order if at < tokenizer.vocab_size and at != own)
    alike = (
        token_id
        for token_id, token in tokens
        if token not in tokenizer.special.all
        and any(map(str.isalnum, token))
        and tokenizer.continuation[token_id] == tokenizer.continuation[own]
    )
    ids = list(itertools.islice(alike, _SUBSTITUTES))
    variants = inputs.input_ids.repeat(len(ids), 1)
    variants[:, position] = torch.tensor(ids)
    return variants


@dataclass(frozen=True)
class Cell:
    """One activation: `index` is that of a token, or of a head at all tokens; layers are counted from 0.

    The residual state of layer 0 is the embeddings, that of the number of layers the final state.
    """

    component: Component
    layer: int
    index: int


@dataclass(frozen=True, eq=False)
class ActivationPatching:
    """The target's score with one activation patched; see `Target.score` for its unit."""

    encoding: Encoding
    target: Target
    corruption: Corruption
    direction: Direction
    clean: float  # the score in the clean run
    corrupted: float  # the score in the corrupted run
    #: "residual" (layers + 1, tokens), "attention" and "feed_forward" (layers, tokens), "head" (layers, heads)
    scores: Mapping[Component, NDArray[np.float64]]

    @property
    def total(self) -> float:
        """The change of the score from the run that is patched to the run that activations are taken from."""
        return (self.clean - self.corrupted) * (1 if self.direction == "denoising" else -1)

    def effects(self, component: Component) -> NDArray[np.float64]:
        """Return the change of the score by each patch; `total` where it does all that the other text does."""
        return self.scores[component] - (self.corrupted if self.direction == "denoising" else self.clean)

    @property
    def strongest_head(self) -> tuple[int, int]:
        """Layer and number of the head whose patch does most of what the other text does."""
        effects = self.effects("head") * np.sign(self.total)
        layer, head = np.unravel_index(int(effects.argmax()), effects.shape)
        return int(layer), int(head)


class _Runs:
    """The run that is patched and the run that activations are taken from: batch 0 and 1 of one pass."""

    def __init__(
        self, checkpoint: Checkpoint, inputs: ModelInputs, target: Target, corruption: Corruption, direction: Direction
    ) -> None:
        self._checkpoint, self._target, length = checkpoint, target, len(inputs.encoding)
        check_memory(checkpoint, length, traced=True)
        model = backbone(checkpoint)
        pair = [corruption.words, model.embeddings.word(inputs.input_ids)]
        words = torch.cat(pair if direction == "denoising" else pair[::-1])
        arguments = inputs.variants(words, "inputs_embeds")
        self._out: Any = model(**arguments, output_trace=True, output_hidden_states=True)
        device = self._out.last_hidden_state.device
        self._mask = extended_attention_mask(inputs.attention_mask, length, checkpoint.config.is_decoder, device)

    def unpatched(self) -> Tensor:
        """Return the final hidden states of both runs that the target's head reads, (2, [tokens,] hidden)."""
        return self._target.read(self._out.hidden_states[-1])

    def patched(self, cells: Sequence[Cell]) -> Tensor:
        """Return the same with one cell patched each, all of the same layer: (cells, [tokens,] hidden).

        Layers below a cell do not depend on it, so the pass starts from the states that enter its layer: this is exact.
        """
        model, layer, config = backbone(self._checkpoint), cells[0].layer, self._checkpoint.config
        base, source = self._out.hidden_states[layer].split(1)

        def where(component: Component, size: int) -> Tensor:
            """Return the place of each cell of a component, (cells, size)."""
            indices = [cell.index if cell.component == component else -1 for cell in cells]
            return torch.tensor(indices)[:, None] == torch.arange(size)  # none of -1

        length = base.shape[1]
        hidden_BLD = torch.where(where("residual", length)[..., None], source, base)
        if layer < config.num_hidden_layers:
            trace, heads = self._out.trace[layer], config.num_attention_heads
            attention, feed_forward = (where(name, length)[..., None] for name in COMPONENTS[1:3])
            patches = [
                Patch(layer, "context", where("head", heads)[..., None, None], trace.context[1:]),
                Patch(layer, "attention_projection", attention, trace.attention_projection[1:]),
                Patch(layer, "feed_forward_projection", feed_forward, trace.feed_forward_projection[1:]),
            ]
            *_, (hidden_BLD, _) = model.encoder(hidden_BLD, self._mask, start_layer=layer, patches=patches)
            hidden_BLD = model.as_final(hidden_BLD)
        return self._target.read(hidden_BLD)


@analysis
def patch_activations(
    checkpoint: Checkpoint,
    text_a: str,
    text_b: str | None = None,
    *,
    target: Target | None = None,
    corruption: Corruption | None = None,
    direction: Direction = "denoising",
    on_progress: OnProgress = nothing,
) -> ActivationPatching:
    """Patch every activation in turn: layer by token, and layer by head at all tokens; score the same prediction.

    By default the prediction is the most probable token of the first [MASK] of the clean text, and the corruption that
    of `propose_corruption`. `on_progress` is called with the share that is done. Raises `InputError` for more than a
    question may take, and as `choose_target` and `propose_corruption` do.
    """
    inputs, target = inputs_and_target(checkpoint, text_a, text_b, target)
    corruption = corruption or propose_corruption(checkpoint, text_a, text_b, target=target)
    layers, heads = checkpoint.config.num_hidden_layers, checkpoint.config.num_attention_heads
    length = len(inputs.encoding)
    sizes: dict[Component, int] = dict.fromkeys(COMPONENTS, length) | {"head": heads}
    check_passes(checkpoint, length, 2 + sum(sizes.values()) * (layers + 1) / 2, "Activation patching")
    runs = _Runs(checkpoint, inputs, target, corruption, direction)
    base, source = target.score(checkpoint.model, runs.unpatched()).tolist()
    scores = {name: np.full((layers + (name == "residual"), size), base) for name, size in sizes.items()}
    finished, total = 0, sum(sizes.values()) * layers * (layers + 1) / 2
    for layer in range(layers + 1):
        of_layer = COMPONENTS if layer < layers else COMPONENTS[:1]
        cells = [Cell(name, layer, index) for name in of_layer for index in range(sizes[name])]
        batch = variants_per_batch(length)
        for some in (cells[start : start + batch] for start in range(0, len(cells), batch)):
            values = target.score(checkpoint.model, runs.patched(some)).tolist()
            for cell, value in zip(some, values, strict=True):
                scores[cell.component][layer, cell.index] = value
            finished += len(some) * (layers - layer)
            on_progress(min(1.0, finished / total))
    clean, corrupted = (source, base) if direction == "denoising" else (base, source)
    return ActivationPatching(inputs.encoding, target, corruption, direction, clean, corrupted, scores)


class PatchedPrediction(NamedTuple):
    """The probabilities of all classes of the target's head, (classes,) each, or the number of a regression."""

    clean: NDArray[np.float32]
    corrupted: NDArray[np.float32]
    patched: NDArray[np.float32]


@analysis
def predict_patched(
    checkpoint: Checkpoint,
    text_a: str,
    text_b: str | None = None,
    *,
    target: Target,
    corruption: Corruption,
    cell: Cell,
    direction: Direction = "denoising",
) -> PatchedPrediction:
    """Return the prediction for both texts, and with one activation patched.

    Raises `InputError` for a layer, token or head that the model or text does not have, and for a target of another
    text or model.
    """
    inputs, target = inputs_and_target(checkpoint, text_a, text_b, target)
    config = checkpoint.config
    size = config.num_attention_heads if cell.component == "head" else len(inputs.encoding)
    layers = config.num_hidden_layers + (cell.component == "residual")
    if not (0 <= cell.layer < layers and 0 <= cell.index < size):
        raise InputError("That layer, head or token is not there.")
    runs = _Runs(checkpoint, inputs, target, corruption, direction)
    vectors = (*runs.unpatched().split(1), runs.patched([cell]))
    before, other, patched = (head_scores(checkpoint, target.kind, of_run)[0].numpy() for of_run in vectors)
    clean, corrupted = (other, before) if direction == "denoising" else (before, other)
    return PatchedPrediction(clean, corrupted, patched)
