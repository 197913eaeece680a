"""Every setting of fine-tuning, declared once: the command line, the page and the documentation are drawn from it."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Self

from bertviz_lab.config.model import PRESETS
from bertviz_lab.config.options import changed_settings, check_options, known_settings, option
from bertviz_lab.errors import InputError

TASKS = ("classification", "regression", "tokens", "qa")
#: How labelled files are read.
READING = ("text_a", "text_b", "label", "delimiter", "quoting", "header", "encoding")
#: What a run of `model` "random" starts from.
RANDOM = "random"
#: Metrics for model selection; which are available depends on the task.
METRIC_NAMES = ("auto", "loss", "accuracy", "f1", "macro_f1", "mcc", "pearson", "spearman", "exact_match")

#: name -> (learning rates, batch sizes, epochs): all combinations are tried.
GRIDS: dict[str, tuple[tuple[float, ...], tuple[int, ...], tuple[int, ...]]] = {
    # Devlin et al. 2018, appendix A.3.
    "paper": ((5e-5, 3e-5, 2e-5), (16, 32), (2, 3, 4)),
    # For the small models of Turc et al. 2019, whose card names these rates.
    "small": ((3e-4, 1e-4, 5e-5), (16, 64), (4,)),
}

#: What may change when a run is resumed.
_ADJUSTABLE = frozenset("threads checkpoint_every keep_checkpoints tracker".split())


@dataclass(frozen=True)
class FinetuneConfig:
    """Everything that decides a fine-tuning; saved as the run's `config.json`, enough to repeat it.

    Raises `InputError` naming the option when a value is out of range.
    """

    task: str = option("auto", "Task; auto infers it from the data", choices=("auto", *TASKS))
    train: tuple[str, ...] = option(
        (), "Labelled files (.csv, .tsv, .jsonl, .parquet, label-text lines, CoNLL, SQuAD), sample:NAME or dataset:NAME"
    )
    eval: tuple[str, ...] = option((), "Labelled validation files; without any, part of --train is held out")
    test: tuple[str, ...] = option(
        (), "Labelled files of a test set: scored once at the end by the chosen model, never used for any choice"
    )
    model: str = option("wiki-tiny", "Model to start from: a folder, a shipped model, a hub id, or random")
    epochs: int = option(4, "Passes over the training examples", low=1, high=1000)
    seeds: int = option(1, "Number of random seeds to train with, to see the variance", low=1, high=100)
    random_baseline: bool = option(False, "Also train the same model from random weights, as a baseline")
    grid: str = option(
        "none", "Hyperparameter search: train every setting of a grid and keep the best", choices=("none", *GRIDS)
    )

    text_a: str = option("", "Column of the text; inferred if empty", group="data")
    text_b: str = option(
        "", 'Column of the second text of a pair; inferred if empty, "none" for single texts', group="data"
    )
    label: str = option("", "Column of the label; inferred if empty", group="data")
    delimiter: str = option("", "Delimiter of the table; inferred if empty", group="data")
    header: str = option(
        "auto", "Whether the first row holds column names", group="data", choices=("auto", "yes", "no")
    )
    quoting: str = option("auto", "Whether cells are quoted", group="data", choices=("auto", "yes", "no"))
    encoding: str = option("", "Encoding of the files, such as utf-8 or cp1252; detected if empty", group="data")
    eval_share: float = option(
        0.1,
        "Validation split: fraction of the examples held out when --eval is not given",
        group="data",
        low=0.01,
        high=0.5,
    )
    max_train_examples: int | None = option(
        None, "Max training examples: a random subset of this size", group="data", low=2, high=100_000_000
    )

    learning_rate: float | None = option(
        None, "Peak learning rate; by default one suited to the model size", group="advanced", low=1e-7, high=1.0
    )
    batch_size: int = option(32, "Batch size: examples per optimizer step", group="advanced", low=1, high=4096)
    max_length: int | None = option(
        None,
        "Max sequence length in tokens; by default 128, for question answering 384, at most the model's trained length",
        group="advanced",
        low=8,
        high=512,
    )
    stride: int = option(
        128,
        "Stride (overlap): tokens that consecutive windows of a long passage share",
        group="advanced",
        low=0,
        high=500,
    )
    max_question_length: int = option(64, "Max question length in tokens", group="advanced", low=4, high=400)
    warmup: float = option(0.1, "Learning-rate warm-up as a fraction of the run", group="advanced", low=0.0, high=0.9)
    weight_decay: float = option(
        0.01, "AdamW weight decay, on all but biases and LayerNorm", group="advanced", low=0.0, high=1.0
    )
    dropout: float = option(0.1, "Dropout", group="advanced", low=0.0, high=0.9)
    layerwise_lr_decay: float = option(
        1.0,
        "Layer-wise LR decay: learning rate of each layer as a fraction of the layer above",
        group="advanced",
        low=0.1,
        high=1.0,
    )
    freeze_layers: int = option(
        0,
        "Number of frozen layers from the bottom, with the embeddings; 0 trains all",
        group="advanced",
        low=0,
        high=48,
    )
    class_weights: str = option(
        "none",
        "Class weights in the loss; balanced weighs rare classes up",
        group="advanced",
        choices=("none", "balanced"),
    )
    metric: str = option(
        "auto",
        "Model selection metric",
        group="advanced",
        choices=METRIC_NAMES,
    )
    evals_per_epoch: int = option(2, "Evaluations per epoch", group="advanced", low=1, high=1000)
    patience: int = option(
        0, "Early-stopping patience: evaluations without improvement; 0 is off", group="advanced", low=0, high=1000
    )
    max_grad_norm: float = option(1.0, "Gradient clipping: max norm", group="advanced", low=1e-3, high=1000.0)
    gradient_accumulation_steps: int = option(
        1,
        "Gradient accumulation: micro-batches per optimizer step, to use less memory",
        group="advanced",
        low=1,
        high=4096,
    )
    preset: str = option("tiny", "Model size for random initialisation", choices=tuple(PRESETS))
    like: str = option("", "Random initialisation with the architecture and tokenizer of this model", group="advanced")
    vocab_size: int = option(8192, "Vocabulary size for random initialisation", group="advanced", low=64, high=100_000)
    precision: str = option(
        "auto",
        "Floating-point precision; auto picks the fastest that the hardware supports",
        group="advanced",
        choices=("auto", "fp32", "bf16", "fp16"),
    )
    seed: int = option(0, "Seed of every random stream", group="advanced", low=0, high=2**31 - 1)
    threads: int = option(0, "CPU threads; 0 takes all cores", group="advanced", low=0, high=1024)
    checkpoint_every: float = option(60.0, "Seconds between checkpoints", group="advanced", low=0.1, high=86_400.0)
    keep_checkpoints: int = option(1, "Number of latest checkpoints to keep", group="advanced", low=1, high=1000)
    snapshot_room: int = option(
        100,
        "Megabytes for snapshots of the weights at steps 0, 1, 2, 5, 10 and so on (training dynamics); 0 keeps none",
        group="advanced",
        low=0,
        high=1_000_000,
    )
    tracker: str = option(
        "", "Also log to this tracker, such as tensorboard, by its name in Accelerate", group="advanced"
    )

    def __post_init__(self) -> None:
        for name in ("train", "eval", "test"):
            if isinstance(getattr(self, name), str):
                raise InputError(f"--{name} takes a list of files.")
        if not self.train:
            raise InputError("Name at least one labelled file, for example --train reviews.csv.")
        check_options(self)
        if self.gradient_accumulation_steps > self.batch_size:
            steps = self.gradient_accumulation_steps
            raise InputError(f"--gradient-accumulation-steps {steps} is more than the batch size, {self.batch_size}.")
        if self.like and self.model != RANDOM:
            raise InputError("--like goes with --model random.")

    def length_for(self, task: str, positions: int, trained_length: int | None = None) -> int:
        """Max sequence length in tokens, at most the model's `positions`.

        By default the paper's 128, or 384 for questions, but no more than the model was trained on.
        """
        usual = min(384 if task == "qa" else 128, trained_length or positions)
        return min(self.max_length or usual, positions)

    @property
    def reading(self) -> dict[str, Any]:
        """How the files are to be read, for `data.tasks.read_task`."""
        return {name: getattr(self, name) for name in READING}

    def resumed_with(self, **given: Any) -> Self:
        """The settings of a resumed run. Raises `InputError` naming a setting that may not change."""
        return changed_settings(self, given, _ADJUSTABLE)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "finetune", **dataclasses.asdict(self)}

    @classmethod
    def from_dict(cls, body: dict[str, Any]) -> Self:
        values = known_settings(cls, body)
        return cls(**(values | {name: tuple(values.get(name, ())) for name in ("train", "eval", "test")}))
