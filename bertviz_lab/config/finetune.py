"""Every setting of fine-tuning, declared once: the command line, the page and the documentation are drawn from it."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Self

from bertviz_lab.config.model import PRESETS
from bertviz_lab.config.options import changed_settings, check_options, known_settings, option
from bertviz_lab.errors import InputError

TASKS = ("classification", "regression", "tokens", "qa")
#: How files of labelled examples are to be read.
READING = ("text_a", "text_b", "label", "delimiter", "quoting", "header", "encoding")
#: What a run of `model` "random" starts from.
RANDOM = "random"
#: Scores by which models can be compared; which there are depends on the task.
METRIC_NAMES = ("auto", "loss", "accuracy", "f1", "macro_f1", "mcc", "pearson", "spearman", "exact_match")

#: name -> (learning rates, batch sizes, epochs): all combinations are tried.
GRIDS: dict[str, tuple[tuple[float, ...], tuple[int, ...], tuple[int, ...]]] = {
    # Devlin et al. 2018, appendix A.3.
    "paper": ((5e-5, 3e-5, 2e-5), (16, 32), (2, 3, 4)),
    # For the small models of Turc et al. 2019, whose card names these rates.
    "small": ((3e-4, 1e-4, 5e-5), (16, 64), (4,)),
}

#: What may change when a run is gone on with: it stays the same run.
_ADJUSTABLE = frozenset("threads checkpoint_every keep_checkpoints tracker".split())


@dataclass(frozen=True)
class FinetuneConfig:
    """Everything that decides a fine-tuning; saved as the run's `config.json`, enough to repeat it.

    Raises `InputError` naming the option when a value is out of range.
    """

    task: str = option("auto", "What is to be learnt; auto looks at the data", choices=("auto", *TASKS))
    train: tuple[str, ...] = option(
        (), "Labelled files (.csv, .tsv, .jsonl, .parquet, label-text lines, CoNLL, SQuAD), sample:NAME or dataset:NAME"
    )
    eval: tuple[str, ...] = option((), "Labelled files to score on; without any a part of the first is held out")
    model: str = option("wiki-tiny", "Model to start from: a folder, a shipped model, a hub id, or random")
    epochs: int = option(4, "How many times the examples are gone through", low=1, high=1000)
    seeds: int = option(1, "How often it is done again with another seed, to see how much is luck", low=1, high=100)
    random_baseline: bool = option(False, "Also train the same model from random weights, to see what it knew before")
    grid: str = option("none", "Try all of several settings and keep the best", choices=("none", *GRIDS))

    text_a: str = option("", "Column of the text; empty guesses it", group="data")
    text_b: str = option("", 'Column of a second text; empty guesses it, "none" says that there is none', group="data")
    label: str = option("", "Column of the label; empty guesses it", group="data")
    delimiter: str = option("", "What stands between the cells of a table; empty guesses it", group="data")
    header: str = option("auto", "Whether the first row names the columns", group="data", choices=("auto", "yes", "no"))
    quoting: str = option("auto", "Whether quotation marks wrap cells", group="data", choices=("auto", "yes", "no"))
    encoding: str = option("", "Encoding of the files, such as utf-8 or cp1252; empty guesses it", group="data")
    eval_share: float = option(
        0.1, "Share of the examples held out where no file to score on is given", group="data", low=0.01, high=0.5
    )
    max_train_examples: int | None = option(
        None, "At most so many examples to train on, drawn at random", group="data", low=2, high=100_000_000
    )

    learning_rate: float | None = option(
        None, "Peak learning rate; empty chooses one for the model size", group="advanced", low=1e-7, high=1.0
    )
    batch_size: int = option(32, "Examples in one step", group="advanced", low=1, high=4096)
    max_length: int | None = option(
        None,
        "Tokens of an example that are read; empty takes 128, for questions 384, at most what the model was trained on",
        group="advanced",
        low=8,
        high=512,
    )
    stride: int = option(128, "Tokens that two windows on a long passage share", group="advanced", low=0, high=500)
    max_question_length: int = option(64, "Tokens of a question that are read", group="advanced", low=4, high=400)
    warmup: float = option(0.1, "Share of the run in which the rate rises", group="advanced", low=0.0, high=0.9)
    weight_decay: float = option(
        0.01, "AdamW weight decay, on all but biases and LayerNorm", group="advanced", low=0.0, high=1.0
    )
    dropout: float = option(0.1, "Dropout while fine-tuning", group="advanced", low=0.0, high=0.9)
    layerwise_lr_decay: float = option(
        1.0, "Each layer learns this much slower than the one above it", group="advanced", low=0.1, high=1.0
    )
    freeze_layers: int = option(
        0,
        "Lowest layers that stay as they are, with the embeddings; 0 lets all learn",
        group="advanced",
        low=0,
        high=48,
    )
    class_weights: str = option(
        "none", "Whether rare classes weigh more", group="advanced", choices=("none", "balanced")
    )
    metric: str = option(
        "auto",
        "Score by which the best model is kept",
        group="advanced",
        choices=METRIC_NAMES,
    )
    evals_per_epoch: int = option(
        2, "How often the held-out examples are scored in an epoch", group="advanced", low=1, high=1000
    )
    patience: int = option(
        0, "Scores in a row without a better one after which it ends early; 0 never", group="advanced", low=0, high=1000
    )
    max_grad_norm: float = option(1.0, "Longest gradient that is let through", group="advanced", low=1e-3, high=1000.0)
    gradient_accumulation_steps: int = option(
        1,
        "Parts in which a step is computed one after the other, to need less memory",
        group="advanced",
        low=1,
        high=4096,
    )
    preset: str = option("tiny", "Size of a model that starts from random weights", choices=tuple(PRESETS))
    like: str = option("", "Random weights, but shape and tokenizer of this model", group="advanced")
    vocab_size: int = option(
        8192, "Size of the vocabulary of a model that starts from nothing", group="advanced", low=64, high=100_000
    )
    precision: str = option(
        "auto", "Number format of the arithmetic", group="advanced", choices=("auto", "fp32", "bf16", "fp16")
    )
    seed: int = option(0, "Start of every random stream", group="advanced", low=0, high=2**31 - 1)
    threads: int = option(0, "CPU threads; 0 takes all cores", group="advanced", low=0, high=1024)
    checkpoint_every: float = option(60.0, "Seconds between checkpoints", group="advanced", low=0.1, high=86_400.0)
    keep_checkpoints: int = option(1, "How many of the last checkpoints are kept", group="advanced", low=1, high=1000)
    snapshot_room: int = option(
        100,
        "Megabytes for the weights of steps 0, 1, 2, 5, 10 and so on, to look back at; 0 keeps none",
        group="advanced",
        low=0,
        high=1_000_000,
    )
    tracker: str = option(
        "", "Also log to this tracker, such as tensorboard, by its name in Accelerate", group="advanced"
    )

    def __post_init__(self) -> None:
        for name in ("train", "eval"):
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
        """Tokens of an example that are read, at most the model's `positions`.

        By default the paper's 128, or 384 for questions, but no more than the model was trained on.
        """
        usual = min(384 if task == "qa" else 128, trained_length or positions)
        return min(self.max_length or usual, positions)

    @property
    def reading(self) -> dict[str, Any]:
        """How the files are to be read, for `data.tasks.read_task`."""
        return {name: getattr(self, name) for name in READING}

    def resumed_with(self, **given: Any) -> Self:
        """The settings of a run that is gone on with. Raises `InputError` naming one that would make it another."""
        return changed_settings(self, given, _ADJUSTABLE)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "finetune", **dataclasses.asdict(self)}

    @classmethod
    def from_dict(cls, body: dict[str, Any]) -> Self:
        values = known_settings(cls, body)
        return cls(**(values | {name: tuple(values.get(name, ())) for name in ("train", "eval")}))
