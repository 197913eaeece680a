"""What the settings of pretraining and fine-tuning share."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from bertviz_lab.config.options import SetBy, check_options, option, plain
from bertviz_lab.errors import InputError

#: The smallest max sequence length: the special tokens, and a word or two of each text.
SHORTEST_SEQUENCE = 8
#: Headings of options that pretraining and fine-tuning share.
OPTIMIZATION, REPORTING = "Optimization", "Evaluation and checkpoints"
COMMAND: SetBy = "command line"
RECIPE: SetBy = "recipe"


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """The settings of a run that do not depend on its task; the base of `PretrainConfig` and `FinetuneConfig`."""

    #: What may change when a run is resumed.
    adjustable: ClassVar[frozenset[str]]

    batch_size: int
    learning_rate: float | None = option(
        None,
        "Peak learning rate",
        "Highest learning rate of the run; if empty, one suited to the model size",
        group=OPTIMIZATION,
        low=1e-7,
        high=1.0,
    )
    weight_decay: float = option(
        0.01,
        "Weight decay",
        "Decoupled weight decay of AdamW, on all but biases and LayerNorm",
        group=OPTIMIZATION,
        low=0.0,
        high=1.0,
    )
    max_grad_norm: float = option(
        1.0,
        "Gradient clipping (max norm)",
        "Scale down gradients with a larger norm than this",
        group=OPTIMIZATION,
        low=1e-3,
        high=1000.0,
    )
    gradient_accumulation_steps: int = option(
        1,
        "Gradient accumulation",
        "Micro-batches of an optimizer step, which take less memory",
        group=OPTIMIZATION,
        low=1,
        high=4096,
    )
    gradient_checkpointing: bool = option(
        False,
        "Gradient checkpointing",
        "Keep less in memory and compute each layer twice: the same result, a third slower",
        group=OPTIMIZATION,
    )
    precision: str = option(
        "auto",
        "Precision",
        "Floating-point format; auto picks the fastest that the hardware supports",
        group=OPTIMIZATION,
        choices=("auto", "fp32", "bf16", "fp16"),
    )
    seed: int = option(
        0,
        "Seed",
        "Seed of every random stream: the same seed repeats the same run",
        group=REPORTING,
        low=0,
        high=2**31 - 1,
    )
    checkpoint_every: float = option(
        60.0, "Checkpoint every", "Seconds between checkpoints", group=REPORTING, low=0.1, high=86_400.0, by=COMMAND
    )
    tracker: str = option(
        "",
        "Tracker",
        "Also log to this tracker, such as tensorboard, by its name in Accelerate",
        group=REPORTING,
        by=COMMAND,
    )
    threads: int = option(
        0, "Threads", "CPU threads; 0 uses all cores", group=OPTIMIZATION, low=0, high=1024, by=COMMAND
    )

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
