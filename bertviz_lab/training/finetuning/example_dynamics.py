"""How training examples were predicted while a model was trained on them, recorded from the logits of its steps.

Nothing is computed twice: each example is in one batch of every epoch, and its probabilities there are kept. They are
those of a model with dropout that has not seen the example in this epoch yet.
"""

from pathlib import Path
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lab.errors import InputError
from bertviz_lab.model.weights import read_tensors, write_tensors

#: Of a run, in its folder.
DYNAMICS_FILE = "dynamics.safetensors"
_MOST_NUMBERS = 20_000_000  # that are kept of all examples: 80 MB


class ExampleDynamics:
    """Probabilities of each training example over the epochs, recorded step by step.

    `given_EN` has the probability of the given label in each epoch, NaN where there is none yet; of several labels that
    of the one which the model is least sure of. `right_EN` is 1 where the prediction was the given label, or all of
    them. `sum_NC` is the sum over the epochs of the probabilities of all classes.
    """

    def __init__(self, epochs: int, examples: int, classes: int, device: torch.device) -> None:
        self.given_EN = torch.full((epochs, examples), torch.nan, device=device)
        self.right_EN = torch.zeros(epochs, examples, device=device)
        self.sum_NC = torch.zeros(examples, classes, device=device)

    @staticmethod
    def fits(epochs: int, examples: int, classes: int) -> bool:
        """Return whether that is little enough to be kept."""
        return examples * (2 * epochs + classes) <= _MOST_NUMBERS

    @torch.no_grad()
    def record(self, epoch: int, rows_B: Tensor, logits_BC: Tensor, targets: Tensor) -> None:
        """Record a batch; `targets` are classes, (batch,), or 0 and 1, (batch, classes). It does not wait for a GPU."""
        logits_BC = logits_BC.float()
        if targets.ndim == 1:
            shares_BC = logits_BC.softmax(-1)
            given_B = shares_BC.gather(1, targets.clamp(min=0)[:, None])[:, 0]
            right_B = logits_BC.argmax(-1) == targets
        else:
            shares_BC = logits_BC.sigmoid()
            given_B = torch.where(targets > 0, shares_BC, 1 - shares_BC).min(-1).values
            right_B = given_B >= 0.5
        self.given_EN[epoch, rows_B] = given_B
        self.right_EN[epoch, rows_B] = right_B.float()
        self.sum_NC[rows_B] += shares_BC

    def save(self, path: Path) -> None:
        """Write what was recorded to a file."""
        write_tensors({name: tensor.cpu() for name, tensor in vars(self).items()}, path)

    def load(self, path: Path) -> None:
        """Go on from what `save` wrote."""
        for name, tensor in read_tensors([path]).items():
            getattr(self, name).copy_(tensor)


class DataMap:
    """The dynamics of each training example of a run (Swayamdipta et al. 2020), over the epochs that were completed.

    `confidence` is the mean probability of the given label over the epochs, `variability` its standard deviation, and
    `correctness` the share of epochs in which it was predicted, each (examples,); `probabilities` are the means of all
    classes, (examples, classes).
    """

    def __init__(self, given_EN: NDArray[np.floating], right_EN: NDArray[np.floating], sum_NC: NDArray[np.floating]):
        epochs = ~np.isnan(given_EN).any(axis=1)
        self.epochs = int(epochs.sum())
        if not self.epochs:
            raise InputError("Not one epoch was completed: train longer to see training dynamics.")
        self.confidence = given_EN[epochs].mean(axis=0)
        self.variability = given_EN[epochs].std(axis=0)
        self.correctness = right_EN[epochs].mean(axis=0)
        seen = (~np.isnan(given_EN)).sum(axis=0)[:, None]
        self.probabilities = sum_NC / seen

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the dynamics of a run. Raises `InputError` where there are none."""
        path = folder / DYNAMICS_FILE
        if not path.is_file():
            raise InputError("The training dynamics of this run were not recorded.")
        return cls(**{name: tensor.numpy() for name, tensor in read_tensors([path]).items()})
