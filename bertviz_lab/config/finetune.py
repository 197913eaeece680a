"""Every setting of fine-tuning, declared once: the command line, the page and the documentation are drawn from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from bertviz_lab.config.model import SIZES
from bertviz_lab.config.options import (
    COMMAND,
    RECIPE,
    SHORTEST_SEQUENCE,
    TrainingConfig,
    optimization,
    option,
    reporting,
    snapshots,
    warmup_fraction,
)
from bertviz_lab.errors import InputError

Task = Literal["classification", "multilabel", "regression", "tokens", "qa", "embeddings"]
TASKS: tuple[Task, ...] = get_args(Task)
#: How labeled files are read.
READING = ("text_a", "text_b", "label", "delimiter", "quoting", "header", "encoding", "sheet")
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


#: What those grids set.
GRID_SETTINGS = ("learning_rate", "batch_size", "epochs")
data, main = partial(option, group="Data"), partial(option, group="Model and training")
parsing, length = partial(option, group="Parsing options"), partial(option, group="Sequence length")
random_init = partial(option, group="Random initialization")


def require_no_overridden_setting(given: Mapping[str, Any]) -> None:
    """Raise `InputError` where a grid would override one of the settings that are `given`, too."""
    grid = given.get("grid")
    for name in GRID_SETTINGS if grid in GRIDS else ():
        if name in given:
            raise InputError(f'`grid="{grid}"` sets `{name}` itself: leave that out, or use `grid="rates"`.')


@dataclass(frozen=True)
class FinetuneConfig(TrainingConfig):
    """Everything that decides a fine-tuning; saved as the run's `config.json`, enough to repeat it.

    Raises `InputError` naming the option when a value is out of range.
    """

    adjustable: ClassVar[frozenset[str]] = frozenset(
        "gradient_checkpointing threads checkpoint_every keep_checkpoints tracker".split()
    )

    train: tuple[str, ...] = data(
        (),
        "Training files",
        "Labeled files (.csv, .xlsx, .jsonl, .parquet, label-text lines, CoNLL, SQuAD), sample:NAME or dataset:NAME",
        by=COMMAND,
    )
    eval: tuple[str, ...] = data(
        (), "Validation files", "Labeled validation files; without any, part of --train is held out", by=COMMAND
    )
    test: tuple[str, ...] = data(
        (), "Test files", "Labeled test set, scored once by the selected model, never used for any choice", by=COMMAND
    )
    corrections: str = data(
        "", "Corrections", "Corrected labels of training examples: corrections.jsonl of a run's label check", by=COMMAND
    )
    model: str = main(
        "wiki-tiny", "Start from", "Encoder that gets a new task head: a folder, a shipped model, a hub id, or random"
    )
    teacher: str = main(
        "",
        "Teacher",
        "Fine-tuned model whose predictions, or cosines of texts, count as much as the labels (distillation)",
        by=COMMAND,
    )
    epochs: Annotated[int, 1, 1000] = main(4, "Epochs", "Passes over the training examples")
    seeds: Annotated[int, 1, 100] = main(1, "Random seeds", "Number of random seeds to train with, to see the variance")
    random_baseline: bool = main(
        False, "Random-weights baseline", "Also train the same model from random weights, to see what pretraining adds"
    )

    task: str = parsing("auto", "Task", "Task to train; auto infers it from the data", choices=("auto", *TASKS))
    text_a: str = parsing("", "Text column", "Column of the text; inferred if empty")
    text_b: str = parsing(
        "", "Second text column", "Column of the second text of a pair; inferred if empty, none for single texts"
    )
    label: str = parsing("", "Label column", "Column of the label; inferred if empty")
    delimiter: str = parsing("", "Delimiter", "Delimiter of the table, such as a comma or tab; inferred if empty")
    quoting: Literal["auto", "yes", "no"] = parsing(
        "auto", "Quoted cells", "Whether cells are quoted; choose no if quotation marks are part of the texts"
    )
    header: Literal["auto", "yes", "no"] = parsing(
        "auto", "Header row", "Whether the first row holds column names; auto infers it"
    )
    encoding: str = parsing("", "Encoding", "Encoding of the files, such as utf-8 or cp1252; detected if empty")
    sheet: str = parsing("", "Sheet", "Sheet of a workbook; needed if several are tables")
    eval_share: Annotated[float, 0.01, 0.5] = parsing(
        0.1, "Validation split", "Fraction of the examples held out if there is no validation file"
    )
    max_train_examples: Annotated[int | None, 2, 100_000_000] = parsing(
        None, "Max training examples", "Train on a random subset of this size; all if empty"
    )

    batch_size: Annotated[int, 1, 4096] = optimization(32, "Batch size", "Examples per optimizer step")
    warmup: Annotated[float, 0.0, 0.9] = warmup_fraction(0.1)
    dropout: Annotated[float | None, 0.0, 0.9] = optimization(
        None, "Dropout", "Fraction of activations zeroed at random; if empty, that of the model's own training"
    )
    class_weights: Literal["none", "balanced"] = optimization(
        "none", "Class weights", "Class weights in the loss; balanced upweights rare classes"
    )
    freeze_layers: Annotated[int, 0, 48] = optimization(
        0, "Frozen layers", "Number of lowest layers, with the embeddings, that are not trained; 0 trains all"
    )
    lora: Annotated[int, 0, 256] = optimization(
        0, "LoRA rank", "Rank of LoRA adapters trained in place of the backbone (needs PEFT); 0 trains all of it"
    )
    layerwise_lr_decay: Annotated[float, 0.1, 1.0] = optimization(
        1.0, "Layer-wise LR decay", "Learning rate of each layer as a fraction of the layer above; 1 is off"
    )
    max_length: Annotated[int | None, SHORTEST_SEQUENCE, 512] = length(
        None, "Max sequence length", "In tokens; if empty 128 (384 for questions), at most the model's trained length"
    )
    stride: Annotated[int, 0, 500] = length(
        128, "Stride (overlap)", "Tokens that consecutive windows of a long passage share"
    )
    max_question_length: Annotated[int, 4, 400] = length(
        64, "Max question length", "Max question length in tokens; longer questions are truncated", by=COMMAND
    )
    metric: str = reporting(
        "auto",
        "Model selection metric",
        "Keep the checkpoint with the best score by this metric; auto takes macro F1 for unbalanced classes",
        choices=METRIC_NAMES,
    )
    evals_per_epoch: Annotated[int, 1, 1000] = reporting(
        2, "Evaluations per epoch", "How often the held-out set is evaluated in an epoch"
    )
    grid: str = reporting(
        "none",
        "Hyperparameter search",
        "Train every setting of a grid and keep the best: 3 learning rates (rates), or 6 (small) or 18 (paper) "
        "settings of learning rate, batch size and epochs",
        choices=("none", "rates", *GRIDS),
    )
    thresholds: Literal["one", "per-label"] = reporting(
        "one", "Decision thresholds", "For several labels, chosen on the validation set: one for all, or one per label"
    )
    no_answer_recall: Annotated[float | None, 0.01, 1.0] = reporting(
        None,
        "No-answer recall",
        "For questions: fraction of the unanswerable validation questions that the saved threshold leaves unanswered; "
        "if empty the threshold is 0",
    )
    keep_checkpoints: Annotated[int, 1, 1000] = reporting(
        1, "Checkpoints kept", "Number of latest checkpoints to keep", by=RECIPE
    )
    snapshot_room: Annotated[int, 0, 1_000_000] = snapshots(100)
    preset: str = random_init("tiny", "Model size", "Layers x hidden size, for random initialization", choices=SIZES)
    vocab_size: Annotated[int, 64, 100_000] = random_init(
        8192, "Vocabulary size", "Vocabulary size for random initialization"
    )
    like: str = random_init(
        "", "Like", "Random initialization with the architecture and tokenizer of this model", by=COMMAND
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        changed = {name for name in GRID_SETTINGS if getattr(self, name) != getattr(FinetuneConfig, name)}
        require_no_overridden_setting(dict.fromkeys(changed) | {"grid": self.grid})
        if self.lora and (self.freeze_layers or self.layerwise_lr_decay != 1.0 or self.model == RANDOM):
            raise InputError('`lora` goes with no `freeze_layers`, `layerwise_lr_decay` or `model="random"`.')
        if self.like and self.model != RANDOM:
            raise InputError('`like` goes with `model="random"`.')

    def length_for(self, task: str, positions: int, trained_length: int | None = None) -> int:
        """Max sequence length in tokens, at most the model's `positions`.

        By default 128, or 384 for questions, as in google-research/bert, but no more than the model was trained on.
        """
        usual = min(384 if task == "qa" else 128, trained_length or positions)
        return min(self.max_length or usual, positions)

    @property
    def reading(self) -> dict[str, Any]:
        """How the files are to be read, for `data.formats.read`."""
        return {name: getattr(self, name) for name in READING}

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Self:
        """As `TrainingConfig.from_dict`; older runs may hold settings that their grid overrode."""
        overridden = GRID_SETTINGS if body.get("grid") in GRIDS else ()
        return super().from_dict({name: value for name, value in body.items() if name not in overridden})

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "finetune", **super().to_dict()}
