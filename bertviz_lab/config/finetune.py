"""Every setting of fine-tuning, declared once: the command line, the page and the documentation are drawn from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from bertviz_lab.config.model import PRESETS
from bertviz_lab.config.options import option
from bertviz_lab.config.training import SHORTEST_SEQUENCE, TrainingConfig
from bertviz_lab.errors import InputError

TASKS = ("classification", "multilabel", "regression", "tokens", "qa", "embeddings")
#: How labelled files are read.
READING = ("text_a", "text_b", "label", "delimiter", "quoting", "header", "encoding")
#: How files of texts without labels are read.
READING_TEXTS = tuple(name for name in READING if name != "label")
#: What may be set for the runs of a suite of tasks.
SUITE_SETTINGS = ("epochs", "batch_size", "learning_rate", "grid", "max_train_examples", "precision", "threads")
#: What a run of `model` "random" starts from.
RANDOM = "random"
#: Metrics for model selection; which are available depends on the task.
METRIC_NAMES = (
    *("auto", "loss", "accuracy", "f1", "macro_f1", "micro_f1", "mcc"),
    *("pearson", "spearman", "exact_match", "mrr", "recall_at_1", "recall_at_10"),
)

#: The grid "rates" tries the learning rate of a run times these, with the run's batch size and epochs.
RATE_FACTORS = (1.0, 0.5, 0.25)
#: name -> (learning rates, batch sizes, epochs) of the others: all combinations are tried.
GRIDS: dict[str, tuple[tuple[float, ...], tuple[int, ...], tuple[int, ...]]] = {
    # Devlin et al. 2018, appendix A.3.
    "paper": ((5e-5, 3e-5, 2e-5), (16, 32), (2, 3, 4)),
    # For the small models of Turc et al. 2019, whose card names these rates.
    "small": ((3e-4, 1e-4, 5e-5), (16, 64), (4,)),
}


def require_no_overridden_setting(given: Mapping[str, Any]) -> None:
    """Raises `InputError` where what a person has set would be overridden by the grid that they have set, too."""
    grid = given.get("grid")
    for name in ("learning_rate", "batch_size", "epochs") if grid in GRIDS else ():
        if name in given:
            raise InputError(
                f"--grid {grid} has learning rates, batch sizes and epochs of its own: leave "
                f"--{name.replace('_', '-')} out, or use --grid rates."
            )


@dataclass(frozen=True)
class FinetuneConfig(TrainingConfig):
    """Everything that decides a fine-tuning; saved as the run's `config.json`, enough to repeat it.

    Raises `InputError` naming the option when a value is out of range.
    """

    adjustable: ClassVar[frozenset[str]] = frozenset(
        "gradient_checkpointing threads checkpoint_every keep_checkpoints tracker".split()
    )

    task: str = option("auto", "Task; auto infers it from the data", choices=("auto", *TASKS))
    train: tuple[str, ...] = option(
        (), "Labeled files (.csv, .tsv, .jsonl, .parquet, label-text lines, CoNLL, SQuAD), sample:NAME or dataset:NAME"
    )
    eval: tuple[str, ...] = option((), "Labeled validation files; without any, part of --train is held out")
    test: tuple[str, ...] = option(
        (), "Labeled files of a test set: scored once at the end by the chosen model, never used for any choice"
    )
    model: str = option("wiki-tiny", "Model to start from: a folder, a shipped model, a hub id, or random")
    epochs: int = option(4, "Passes over the training examples", low=1, high=1000)
    seeds: int = option(1, "Number of random seeds to train with, to see the variance", low=1, high=100)
    random_baseline: bool = option(False, "Also train the same model from random weights, as a baseline")
    grid: str = option(
        "none",
        "Hyperparameter search: train every setting of a grid and keep the best; small and paper set learning rate, "
        "batch size and epochs themselves",
        choices=("none", "rates", *GRIDS),
    )

    text_a: str = option("", "Column of the text; inferred if empty")
    text_b: str = option("", 'Column of the second text of a pair; inferred if empty, "none" for single texts')
    label: str = option("", "Column of the label; inferred if empty")
    delimiter: str = option("", "Delimiter of the table; inferred if empty")
    header: str = option("auto", "Whether the first row holds column names", choices=("auto", "yes", "no"))
    quoting: str = option("auto", "Whether cells are quoted", choices=("auto", "yes", "no"))
    encoding: str = option("", "Encoding of the files, such as utf-8 or cp1252; detected if empty")
    eval_share: float = option(
        0.1, "Validation split: fraction of the examples held out when --eval is not given", low=0.01, high=0.5
    )
    max_train_examples: int | None = option(
        None, "Max training examples: a random subset of this size", low=2, high=100_000_000
    )

    batch_size: int = option(32, "Batch size: examples per optimizer step", low=1, high=4096)
    max_length: int | None = option(
        None,
        "Max sequence length in tokens; by default 128, for question answering 384, at most the model's trained length",
        low=SHORTEST_SEQUENCE,
        high=512,
    )
    stride: int = option(
        128, "Stride (overlap): tokens that consecutive windows of a long passage share", low=0, high=500
    )
    max_question_length: int = option(64, "Max question length in tokens", low=4, high=400)
    warmup: float = option(0.1, "Learning-rate warm-up as a fraction of the run", low=0.0, high=0.9)
    dropout: float = option(0.1, "Dropout", low=0.0, high=0.9)
    layerwise_lr_decay: float = option(
        1.0, "Layer-wise LR decay: learning rate of each layer as a fraction of the layer above", low=0.1, high=1.0
    )
    freeze_layers: int = option(
        0, "Number of frozen layers from the bottom, with the embeddings; 0 trains all", low=0, high=48
    )
    lora: int = option(
        0,
        "Rank of LoRA adapters, which are trained in place of the backbone (needs PEFT); 0 trains all",
        low=0,
        high=256,
    )
    class_weights: str = option(
        "none", "Class weights in the loss; balanced weighs rare classes up", choices=("none", "balanced")
    )
    thresholds: str = option(
        "one",
        "Decision threshold of several labels, chosen on the validation set: one for all, or one per label",
        choices=("one", "per-label"),
    )
    metric: str = option("auto", "Model selection metric", choices=METRIC_NAMES)
    evals_per_epoch: int = option(2, "Evaluations per epoch", low=1, high=1000)
    patience: int = option(0, "Early-stopping patience: evaluations without improvement; 0 is off", low=0, high=1000)
    preset: str = option("tiny", "Model size for random initialization", choices=tuple(PRESETS))
    like: str = option("", "Random initialization with the architecture and tokenizer of this model")
    vocab_size: int = option(8192, "Vocabulary size for random initialization", low=64, high=100_000)
    keep_checkpoints: int = option(1, "Number of latest checkpoints to keep", low=1, high=1000)
    snapshot_room: int = option(
        100,
        "Megabytes for snapshots of the weights at steps 0, 1, 2, 5, 10 and so on (training dynamics); 0 keeps none",
        low=0,
        high=1_000_000,
    )

    def __post_init__(self) -> None:
        if not self.train:
            raise InputError("Name at least one labeled file, for example --train reviews.csv.")
        super().__post_init__()
        if self.lora and (self.freeze_layers or self.layerwise_lr_decay != 1.0 or self.model == RANDOM):
            raise InputError(
                "--lora trains adapters of a model's layers: it goes with no --freeze-layers, --layerwise-lr-decay or "
                "random model."
            )
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
        """How the files are to be read, for `data.formats.read`."""
        return {name: getattr(self, name) for name in READING}

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "finetune", **super().to_dict()}
