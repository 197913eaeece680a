"""What the settings of pretraining and fine-tuning share."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from bertviz_lab.config.options import check_options, option, plain
from bertviz_lab.errors import InputError

#: The smallest max sequence length: the special tokens, and a word or two of each text.
SHORTEST_SEQUENCE = 8


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """The settings of a run that do not depend on its task; the base of `PretrainConfig` and `FinetuneConfig`."""

    #: What may change when a run is resumed.
    adjustable: ClassVar[frozenset[str]]

    batch_size: int
    gradient_accumulation_steps: int = option(
        1, "Gradient accumulation: micro-batches per optimizer step, to use less memory", low=1, high=4096
    )
    gradient_checkpointing: bool = option(
        False, "Gradient checkpointing: keep less in memory and compute each layer twice, a third slower"
    )
    learning_rate: float | None = option(
        None, "Peak learning rate; by default one suited to the model size", low=1e-7, high=1.0
    )
    weight_decay: float = option(0.01, "AdamW weight decay, on all but biases and LayerNorm", low=0.0, high=1.0)
    max_grad_norm: float = option(1.0, "Gradient clipping: max norm", low=1e-3, high=1000.0)
    precision: str = option(
        "auto",
        "Floating-point precision; auto picks the fastest that the hardware supports",
        choices=("auto", "fp32", "bf16", "fp16"),
    )
    seed: int = option(0, "Seed of every random stream", low=0, high=2**31 - 1)
    threads: int = option(0, "CPU threads; 0 takes all cores", low=0, high=1024)
    checkpoint_every: float = option(60.0, "Seconds between checkpoints", low=0.1, high=86_400.0)
    tracker: str = option("", "Also log to this tracker, such as tensorboard, by its name in Accelerate")

    def __post_init__(self) -> None:
        check_options(self)
        if self.gradient_accumulation_steps > self.batch_size:
            steps = self.gradient_accumulation_steps
            raise InputError(f"--gradient-accumulation-steps {steps} is more than the batch size, {self.batch_size}.")

    def resumed_with(self, **given: Any) -> Self:
        """The settings of a resumed run. Raises `InputError` naming a setting that may not change."""
        if given.get("precision") == "auto":  # the one that was chosen at the start
            del given["precision"]
        for name, value in given.items():
            if name not in self.adjustable and plain(value) != getattr(self, name):
                raise InputError(
                    f"--{name.replace('_', '-')} cannot change when a run is resumed (it is {getattr(self, name)!r}); "
                    "use another --out to start a new run."
                )
        return dataclasses.replace(self, **given)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Self:
        """The settings in a run's `config.json`; what another version of the lab wrote beside them is passed over."""
        names = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in body.items() if name in names})
