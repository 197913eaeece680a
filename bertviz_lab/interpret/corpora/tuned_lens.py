"""The tuned lens: an affine translator for each layer, so that the masked-LM head can read its hidden states.

Belrose et al. 2023, "Eliciting Latent Predictions from Transformers with the Tuned Lens", section 3. The translator
of a layer, h + A h + b, starts as the identity, which is the logit lens, and is trained to make the head's output as
near as possible to that of the last layer, in KL divergence. The model itself does not change.
"""

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import TypeAdapter
from safetensors import SafetensorError, safe_open
from torch import Tensor

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.inputs import (
    GRADIENT,
    OnProgress,
    analysis,
    backbone,
    forward_operations,
    nothing,
    part_of,
    states_at,
)
from bertviz_lab.interpret.targets import head_logits, require_head
from bertviz_lab.model.weights import write_tensors
from bertviz_lab.training.checkpoints.atomic_io import atomic_folder
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

#: The folder of a model's lens, in that of the model or of its run, and the file in it.
LENS_FOLDER, _FILE = "tuned_lens", "lens.safetensors"
_POSITIONS, _HELD_OUT = 16_000, 2_000  # masked tokens to train on, and to measure on
_STEPS, _BATCH, _LEARNING_RATE = 300, 256, 1e-3
_MASKED = 0.15  # of the tokens of a sentence, one at least
_LONGEST = 64  # tokens of a sentence
_AT_ONCE = 512  # positions whose logits are held at a time


@dataclass(frozen=True)
class LensFit:
    """How well a lens predicts the model's own output on held-out text: KL divergences in nats, layer by layer.

    The embeddings come first; the last layer, whose translator is the identity, is left out.
    """

    logit_lens: tuple[float, ...]
    tuned_lens: tuple[float, ...]
    positions: int  # masked tokens that were trained on
    held_out: int  # masked tokens that were measured
    seconds: float


@dataclass(frozen=True, eq=False)
class TunedLens:
    """The translators of all layers but the last, the embeddings first: h + weights h + biases."""

    weights: Tensor  # (layers, hidden, hidden)
    biases: Tensor  # (layers, hidden)
    fingerprint: str  # of the model that they were trained for
    fit: LensFit | None = None

    @classmethod
    def identity(cls, checkpoint: Checkpoint) -> "TunedLens":
        """Return the lens before its training, which is the logit lens."""
        layers, hidden = checkpoint.config.num_hidden_layers, checkpoint.config.hidden_size
        return cls(torch.zeros(layers, hidden, hidden), torch.zeros(layers, hidden), fingerprint(checkpoint))

    def translate(self, states: Sequence[Tensor]) -> list[Tensor]:
        """Return the states of each layer, (..., hidden), as the last layer would have them; the last as it is."""
        *earlier, last = states
        pairs = zip(earlier, self.weights, self.biases, strict=True)
        return [*(state + state @ weight.T + bias for state, weight, bias in pairs), last]

    def save(self, folder: Path) -> None:
        """Write the lens into a folder of its own below `folder`, in 16 bits."""
        with atomic_folder(folder / LENS_FOLDER) as fresh:
            tensors = {"weights": self.weights.half().contiguous(), "biases": self.biases.half().contiguous()}
            write_tensors(tensors, fresh / _FILE)
            about = {"fingerprint": self.fingerprint, "fit": asdict(self.fit) if self.fit else None}
            (fresh / "about.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, checkpoint: Checkpoint) -> "TunedLens | None":
        """Return the lens that was saved below `folder`; None where there is none of this very model."""
        try:
            about = json.loads((folder / LENS_FOLDER / "about.json").read_text(encoding="utf-8"))
            if about["fingerprint"] != fingerprint(checkpoint):
                return None
            with safe_open(folder / LENS_FOLDER / _FILE, "pt") as file:
                weights, biases = (file.get_tensor(name).float() for name in ("weights", "biases"))
            fit = about["fit"] and TypeAdapter(LensFit).validate_python(about["fit"])
            return cls(weights, biases, about["fingerprint"], fit)
        except (OSError, ValueError, KeyError, TypeError, SafetensorError):
            return None


def fingerprint(checkpoint: Checkpoint) -> str:
    """Return what tells the weights of a model from those before another step of training."""
    digest = hashlib.sha256()
    for name, value in checkpoint.model.state_dict().items():
        if value.dim() == 1:  # biases and LayerNorms of all layers: every step changes them, and they are small
            digest.update(name.encode() + value.detach().float().cpu().numpy().tobytes())
    return digest.hexdigest()[:32]


def fit_tuned_lens(
    checkpoint: Checkpoint,
    sentences: Sequence[NDArray[np.integer]],
    *,
    positions: int = _POSITIONS,
    held_out: int = _HELD_OUT,
    steps: int = _STEPS,
    seed: int = 0,
    on_progress: OnProgress = nothing,
) -> TunedLens:
    """Train the translators of all layers at once, on masked tokens of sentences (token ids without special tokens).

    Every n-th sentence is read until there are `positions` masked tokens to train on and `held_out` to measure on.
    Raises `InputError` for a model without a masked-LM head, too few sentences, or more than a question may take.
    """
    began = time.perf_counter()
    model = require_head(checkpoint, "token")
    _check_cost(checkpoint, positions, steps)
    most = positions + held_out
    rows, places = _masked_rows(checkpoint, sentences, most, np.random.default_rng(seed))
    count = min(most, sum(map(len, places)))
    measured = count // 9 if count < most else held_out
    if measured < 1:
        raise InputError("A tuned lens is fitted on a text of at least nine masked tokens: give more sentences.")
    states = states_at(checkpoint, rows, places, part_of(on_progress, 0.0, 0.3))
    kept, training = [state[:measured] for state in states], [state[measured:count] for state in states]
    lens = TunedLens.identity(checkpoint)
    as_logit_lens = _divergences(checkpoint, lens, kept)
    with torch.enable_grad():
        weights, biases = lens.weights.clone().requires_grad_(), lens.biases.clone().requires_grad_()
        optimizer = torch.optim.Adam([weights, biases], lr=_LEARNING_RATE)
        generator = torch.Generator().manual_seed(seed)
        encoder = backbone(checkpoint)
        for step in range(steps):
            for group in optimizer.param_groups:
                group["lr"] = _LEARNING_RATE * (1 - step / steps)
            chosen = torch.randint(len(training[0]), (_BATCH,), generator=generator)
            *earlier, last = (state[chosen] for state in training)
            with torch.no_grad():
                wanted_BV = head_logits(model, "token", last).float().log_softmax(-1)
            at_last = TunedLens(weights, biases, "").translate([*earlier, last])[:-1]
            losses = [
                _kl(wanted_BV, head_logits(model, "token", encoder.as_final(state_BD)).float()).mean()
                for state_BD in at_last
            ]
            gradients = torch.autograd.grad(torch.stack(losses).sum(), [weights, biases])
            weights.grad, biases.grad = gradients
            optimizer.step()
            on_progress(0.3 + 0.7 * (step + 1) / steps)
    tuned = TunedLens(weights.detach(), biases.detach(), lens.fingerprint)
    divergences, seconds = _divergences(checkpoint, tuned, kept), round(time.perf_counter() - began, 1)
    return replace(tuned, fit=LensFit(as_logit_lens, divergences, len(training[0]), measured, seconds))


def _kl(wanted_BV: Tensor, logits_BV: Tensor) -> Tensor:
    """Return KL(model || lens) in nats, (batch,), from the model's log-probabilities and the lens's logits."""
    return (wanted_BV.exp() * (wanted_BV - logits_BV.log_softmax(-1))).sum(-1)


@analysis
def _divergences(checkpoint: Checkpoint, lens: TunedLens, states: Sequence[Tensor]) -> tuple[float, ...]:
    """Return the mean KL divergence of each layer's prediction but the last one's, in nats."""
    sums = torch.zeros(len(states) - 1, dtype=torch.float64)
    encoder = backbone(checkpoint)
    for start in range(0, len(states[0]), _AT_ONCE):
        *earlier, last = lens.translate([state[start : start + _AT_ONCE] for state in states])
        wanted_BV = head_logits(checkpoint.model, "token", last).float().log_softmax(-1)
        for layer, state_BD in enumerate(earlier):
            logits_BV = head_logits(checkpoint.model, "token", encoder.as_final(state_BD)).float()
            sums[layer] += _kl(wanted_BV, logits_BV).sum().double()
    return tuple(round(value, 4) for value in (sums / len(states[0])).tolist())


def _masked_rows(
    checkpoint: Checkpoint, sentences: Sequence[NDArray[np.integer]], most: int, rng: np.random.Generator
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """Return ids of sentences in a random order, and the places that are masked in each, `most` or a few more."""
    tokenizer, longest = checkpoint.tokenizer, min(_LONGEST, checkpoint.max_length) - 2
    rows, places, count = [], [], 0
    for at in rng.permutation(len(sentences)):
        if count >= most:
            break
        if len(sentence := sentences[at][:longest]):
            row = np.concatenate(([tokenizer.cls_id], sentence, [tokenizer.sep_id]))
            masked = 1 + rng.choice(len(sentence), max(1, round(_MASKED * len(sentence))), replace=False)
            row[masked] = tokenizer.mask_id
            rows.append(row)
            places.append(masked)
            count += len(masked)
    return rows, places


def _check_cost(checkpoint: Checkpoint, positions: int, steps: int) -> None:
    """Raise `InputError` where reading the text and training the translators is more than a question may take."""
    config = checkpoint.config
    reading = positions / _MASKED * forward_operations(config, 1)
    head = 2.0 * config.vocab_size * (config.embedding_size or config.hidden_size) + 4.0 * config.hidden_size**2
    needed = reading + steps * _BATCH * (1 + GRADIENT * config.num_hidden_layers) * head
    if needed > checkpoint.limits.operations:
        raise InputError(
            f"Fitting a tuned lens for this model takes {needed / 1e9:,.0f} billion operations, and one question may "
            f"take {checkpoint.limits.operations / 1e9:,.0f}: choose a smaller model, or one that ships with its lens."
        )
