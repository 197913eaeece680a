"""Attribution: what each token contributes to a prediction, by three methods, and each head, by its ablation.

Attention weights show from where a head gathers information, not its effect on the prediction: tokens with large
weights may contribute nothing, and others contribute through other heads or the residual path (Jain and Wallace 2019).
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lab.data.examples import Example, LabelledText, LabelledWords, Question, RelatedTexts
from bertviz_lab.errors import InputError
from bertviz_lab.interpret.inputs import (
    GRADIENT,
    ModelInputs,
    OnProgress,
    affordable_passes,
    analysis,
    backbone,
    check_passes,
    encode_inputs,
    in_evaluation_mode,
    nothing,
    part_of,
    variants_per_batch,
)
from bertviz_lab.interpret.targets import Target, check_target, choose_target, final_vectors, inputs_and_target
from bertviz_lab.interpret.token_labels import answer_question
from bertviz_lab.model.attention import extended_attention_mask
from bertviz_lab.tokenization import Encoding
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.finetuning.tasks.base import Prediction

Method = Literal["integrated gradients", "gradient x input", "occlusion"]
METHODS: tuple[Method, ...] = ("integrated gradients", "gradient x input", "occlusion")

_MIN_STEPS, _MAX_STEPS = 16, 256
_TOLERANCE = 0.02  # relative error of the sum


@dataclass(frozen=True, eq=False)
class Attribution:
    """Attribution of a prediction to its tokens, in nats of log-probability, or of the log-ratio to another class.

    `change` is the score of the text minus that of the text with every token masked. The scores of integrated
    gradients sum to it up to `error`; the other methods have no such property, and their `error` is None.
    """

    encoding: Encoding
    target: Target
    method: Method
    scores: NDArray[np.float64]  # (tokens,)
    change: float
    error: float | None
    steps: int = 0  # points of the quadrature


@torch.inference_mode(False)  # gradients are needed, whatever mode the caller is in
@in_evaluation_mode
def attribute(
    checkpoint: Checkpoint,
    text_a: str,
    text_b: str | None = None,
    *,
    method: Method = "integrated gradients",
    target: Target | None = None,
    on_progress: OnProgress = nothing,
) -> Attribution:
    """Attribute a prediction to the tokens; by default the most probable token of the first [MASK].

    - integrated gradients: the gradient with respect to the word embeddings, integrated on the straight line from an
      all-[MASK] baseline to this text (Sundararajan et al. 2017); the baseline keeps special tokens, so they get 0.
    - gradient x input: the gradient times the word embedding.
    - occlusion: the loss in score when one token alone is replaced by [MASK] (Zeiler and Fergus 2014).

    `on_progress` is called with the share that is done, and may raise an exception to end. Where a question may take
    few passes, the quadrature stops earlier; its `error` says how far it is off. Raises `InputError` for an unknown
    method, for more than a question may take, for a target of another text or model, and as `choose_target` does.
    """
    if method not in METHODS:
        raise InputError(f"Unknown method {method}: choose one of {', '.join(METHODS)}.")
    inputs = encode_inputs(checkpoint, text_a, text_b)
    check_passes(checkpoint, len(inputs.encoding), _passes(inputs, method), method.capitalize())
    target = check_target(checkpoint, inputs, target) if target else choose_target(checkpoint, inputs)
    with torch.inference_mode():
        arguments = inputs.variants(torch.cat([inputs.input_ids, _baseline_ids(checkpoint, inputs)]))
        vectors_2D = final_vectors(checkpoint, target.read_position, arguments)
        score, baseline_score = target.score(checkpoint.model, vectors_2D)
        change = float(score - baseline_score)
    error, steps = None, 0
    if method == "occlusion":
        scores = _occlusion(checkpoint, inputs, target, float(score), on_progress)
    elif method == "gradient x input":
        words_LD = _word_embeddings(checkpoint, inputs.input_ids)
        scores = (_gradients(checkpoint, inputs, target, words_LD[None])[0] * words_LD).sum(-1)
    else:
        scores, steps = _integrated(checkpoint, inputs, target, change, on_progress)
        error = change - float(scores.sum())
    on_progress(1.0)
    return Attribution(inputs.encoding, target, method, scores.double().numpy(), change, error, steps)


def attribute_by_all(
    checkpoint: Checkpoint, inputs: ModelInputs, target: Target, on_progress: OnProgress = nothing
) -> list[Attribution]:
    """Attribute a prediction to the tokens of a text by every method, as `attribute` does.

    Raises `InputError` before the first one if one of them takes more than a question may.
    """
    for method in METHODS:
        check_passes(checkpoint, len(inputs.encoding), _passes(inputs, method), method.capitalize())
    texts, share = inputs.encoding.texts, 1 / len(METHODS)
    return [
        attribute(
            checkpoint, *texts, method=method, target=target, on_progress=part_of(on_progress, place * share, share)
        )
        for place, method in enumerate(METHODS)
    ]


def _passes(inputs: ModelInputs, method: Method) -> int:
    """Return the least number of forward passes that a method takes."""
    steps = {"integrated gradients": _MIN_STEPS * GRADIENT, "gradient x input": GRADIENT}
    return steps.get(method, len(inputs.encoding))


def _baseline_ids(checkpoint: Checkpoint, inputs: ModelInputs) -> Tensor:
    """Return the ids with [MASK] for every token but the special ones."""
    special = torch.tensor([inputs.encoding.special_tokens_mask]).bool()
    return inputs.input_ids.masked_fill(~special, checkpoint.tokenizer.mask_id)


def _integrated(
    checkpoint: Checkpoint, inputs: ModelInputs, target: Target, change: float, on_progress: OnProgress
) -> tuple[Tensor, int]:
    """Integrate by Gauss-Legendre quadrature; the number of points doubles until the scores sum to `change`."""
    # Doubling from the first number of points to the last takes twice the last.
    most = min(_MAX_STEPS, affordable_passes(checkpoint, len(inputs.encoding)) / GRADIENT / 2)
    baseline_LD = _word_embeddings(checkpoint, _baseline_ids(checkpoint, inputs))
    path_LD = _word_embeddings(checkpoint, inputs.input_ids) - baseline_LD
    done, steps = 0, _MIN_STEPS
    while True:
        nodes, weights = np.polynomial.legendre.leggauss(steps)
        points_S2 = torch.tensor(np.stack([(nodes + 1) / 2, weights / 2], axis=1), dtype=torch.float32)
        total_LD = torch.zeros_like(path_LD)
        for points_B2 in points_S2.split(variants_per_batch(len(path_LD))):
            alpha_B11, weight_B11 = points_B2[..., None, None].unbind(1)
            words_BLD = baseline_LD + alpha_B11 * path_LD
            total_LD += (weight_B11 * _gradients(checkpoint, inputs, target, words_BLD)).sum(0)
            done += len(points_B2)
            on_progress(min(1.0, done / (2 * _MAX_STEPS)))
        scores = (total_LD * path_LD).sum(-1)
        if abs(change - float(scores.sum())) <= max(_TOLERANCE * abs(change), 1e-3) or 2 * steps > most:
            return scores, steps
        steps *= 2


def _word_embeddings(checkpoint: Checkpoint, ids: Tensor) -> Tensor:
    """Return (1, tokens) to (tokens, hidden): the word embeddings, without position and segment."""
    return backbone(checkpoint).embeddings.word(ids)[0].detach().float()


def _gradients(checkpoint: Checkpoint, inputs: ModelInputs, target: Target, words_BLD: Tensor) -> Tensor:
    """Return the gradient of the target's score with respect to the word vectors, (batch, tokens, hidden)."""
    dtype = backbone(checkpoint).embeddings.word.weight.dtype
    words_BLD = words_BLD.detach().clone().requires_grad_()
    with torch.enable_grad():
        arguments = inputs.variants(words_BLD.to(dtype), "inputs_embeds")
        vectors = final_vectors(checkpoint, target.read_position, arguments)
        (gradient,) = torch.autograd.grad(target.score(checkpoint.model, vectors).sum(), words_BLD)
    return gradient


@torch.inference_mode()
def _occlusion(
    checkpoint: Checkpoint, inputs: ModelInputs, target: Target, score: float, on_progress: OnProgress
) -> Tensor:
    """Return the loss in score when a token is masked; 0 for [MASK] and special tokens."""
    baseline_ids = _baseline_ids(checkpoint, inputs)[0]
    positions = (baseline_ids != inputs.input_ids[0]).nonzero()[:, 0]
    scores = torch.zeros(len(baseline_ids))
    for batch in positions.split(variants_per_batch(len(baseline_ids))):
        ids_BL = inputs.input_ids.repeat(len(batch), 1)
        ids_BL[torch.arange(len(batch)), batch] = checkpoint.tokenizer.mask_id
        vectors = final_vectors(checkpoint, target.read_position, inputs.variants(ids_BL))
        scores[batch] = score - target.score(checkpoint.model, vectors)
        on_progress(int((positions <= batch[-1]).sum()) / len(positions))
    return scores


@dataclass(frozen=True, eq=False)
class HeadAblation:
    """The score of one prediction (see `Target.score`), with all heads and with some ablated."""

    encoding: Encoding
    target: Target
    baseline: float  # with all heads
    without_head: NDArray[np.float64]  # (layers, heads): with that head ablated
    without_layer: NDArray[np.float64]  # (layers,): with all heads of that layer ablated

    @property
    def effects(self) -> NDArray[np.float64]:
        """The effect of each head on the score, in nats, (layers, heads): negative where the head lowers it."""
        return self.baseline - self.without_head


@analysis
def ablate_heads(
    checkpoint: Checkpoint,
    text_a: str,
    text_b: str | None = None,
    *,
    target: Target | None = None,
    on_progress: OnProgress = nothing,
) -> HeadAblation:
    """Ablate every head in turn, then every layer's heads together; score the same prediction (Michel et al. 2019).

    By default the prediction is the most probable token of the first [MASK]. Layers below a head do not depend on it,
    so each layer's ablations start from the hidden states of the full model there: this is exact, and twice as fast.
    `on_progress` is called with the share that is done. Raises `InputError` for a target of another text or model, and
    as `choose_target` does.
    """
    inputs, target = inputs_and_target(checkpoint, text_a, text_b, target)
    layers, heads = checkpoint.config.num_hidden_layers, checkpoint.config.num_attention_heads
    check_passes(checkpoint, len(inputs.encoding), (layers + 1) * (heads + 1) / 2, "Head ablation")
    model, place, length = backbone(checkpoint), target.read_position, len(inputs.encoding)
    *states, final = model(**inputs.arguments(), output_hidden_states=True).hidden_states
    baseline = float(target.score(checkpoint.model, target.read(final)))
    attn_mask = extended_attention_mask(inputs.attention_mask, length, checkpoint.config.is_decoder, final.device)
    scores = torch.empty(layers, heads + 1, dtype=torch.float64)
    finished, total = 0, layers * (layers + 1) / 2
    for layer, hidden_1LD in enumerate(states):
        head_masks_NLH = torch.ones(heads + 1, layers, heads, dtype=hidden_1LD.dtype)
        head_masks_NLH[:heads, layer] -= torch.eye(heads)
        head_masks_NLH[heads, layer] = 0
        report = part_of(on_progress, finished / total, (layers - layer) / total)
        for batch in torch.arange(heads + 1).split(variants_per_batch(length)):
            hidden_BLD = hidden_1LD.expand(len(batch), -1, -1)
            positions = None if place is None else torch.full((len(batch), 1), place)
            *_, (last, _) = model.encoder(hidden_BLD, attn_mask, head_masks_NLH[batch], positions, start_layer=layer)
            last = model.as_final(last)
            scores[layer, batch] = target.score(checkpoint.model, last if place is None else last[:, 0]).double()
            report((int(batch[-1]) + 1) / (heads + 1))
        finished += layers - layer
    without = scores.numpy()
    return HeadAblation(inputs.encoding, target, baseline, without[:, :heads], without[:, heads])


@in_evaluation_mode
def explain_example(
    checkpoint: Checkpoint, example: Example, prediction: Prediction, on_progress: OnProgress = nothing
) -> list[Attribution]:
    """Return attribution of a prediction to its tokens, by every method.

    A wrong label is contrasted with the true one. For labelled words, the first wrong label is explained, or else the
    first other than "O"; for an answer, its first token. `on_progress` is called with the share of all methods that is
    done. Raises `InputError` for a model of another task.
    """
    text_a, text_b = example.inputs
    inputs = encode_inputs(checkpoint, text_a, text_b)
    if isinstance(example, LabelledWords):
        target = _word_target(checkpoint, inputs, example, prediction)
    elif isinstance(example, LabelledText):
        choice, against = None, None
        if isinstance(example.label, tuple):
            true, predicted = example.label, prediction.labels  # of which a wrong or missing one is explained first
            wrong = [label for label in (*predicted, *true) if (label in true) != (label in predicted)]
            choice = next((label for label in (*wrong, *predicted) if label in checkpoint.config.labels), None)
        elif isinstance(example.label, str):
            choice, against = prediction.label, _contrast(checkpoint, example.label, prediction.label)
        target = choose_target(checkpoint, inputs, "label", choice=choice, against=against)
    elif isinstance(example, RelatedTexts):
        raise InputError("Embeddings predict no label that tokens could be credited with.")
    else:
        text_b, start = _answer_window(checkpoint, example, prediction)
        inputs = encode_inputs(checkpoint, text_a, text_b)
        rows = zip(inputs.encoding.token_type_ids, inputs.encoding.offsets, strict=True)
        of_passage = (n for n, (segment, (a, b)) in enumerate(rows) if segment == 1 and a <= (start or 0) < b)
        position = 0 if start is None else next(of_passage, None)
        target = choose_target(checkpoint, inputs, "start", position=position)
    return attribute_by_all(checkpoint, inputs, target, on_progress)


def _contrast(checkpoint: Checkpoint, true: str, predicted: str) -> str | None:
    """Return the true label where another was predicted, and the model knows it."""
    return true if true != predicted and true in checkpoint.config.labels else None


def _answer_window(checkpoint: Checkpoint, example: Question, prediction: Prediction) -> tuple[str, int | None]:
    """Return the window of the passage around the answer, and the answer's offset in it; None for no answer."""
    if not prediction.label:
        return example.passage, None
    answer = answer_question(checkpoint, example.question, example.passage, threshold=math.inf)
    first, end = answer.window_of(prediction.start, prediction.end)
    return example.passage[first:end], prediction.start - first


def _word_target(checkpoint: Checkpoint, inputs: ModelInputs, example: LabelledWords, prediction: Prediction) -> Target:
    """Return the label to explain: the first wrong one, else the first other than "O"."""
    pairs = list(zip(example.labels, prediction.labels, strict=True))
    errors = [index for index, (true, predicted) in enumerate(pairs) if true != predicted]
    index = (errors or [index for index, (_, predicted) in enumerate(pairs) if predicted != "O"] or [0])[0]
    start = len(" ".join(example.words[:index])) + bool(index)
    positions = [n for n, (first, end) in enumerate(inputs.encoding.offsets) if first <= start < end]
    if not positions:  # a word that the tokenizer dropped, or that was truncated
        return choose_target(checkpoint, inputs, "word")
    true, predicted = pairs[index]
    against = _contrast(checkpoint, true, predicted)
    return choose_target(checkpoint, inputs, "word", position=positions[0], choice=predicted, against=against)
