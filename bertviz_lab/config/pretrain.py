"""Every setting of pretraining, declared once: the command line, the page and the documentation are drawn from it."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, Self

from bertviz_lab.config.model import PRESETS, BertConfig
from bertviz_lab.config.options import changed_settings, check_options, known_settings, option, parse_duration
from bertviz_lab.errors import InputError

#: name -> what it sets other than the defaults below, which are the lab's own.
RECIPES: dict[str, dict[str, Any]] = {
    # What measured best for minutes on small machines: benchmarks/README.md has the figures.
    "lab": {},
    # Devlin et al. 2018, appendix A.2, with the static masks of google-research/bert.
    "paper": {
        "optimizer": "adamw",
        "causal_share": 0.0,
        "seq_len": 512,
        "short_seq_len": 128,
        "short_share": 0.9,
        "batch_size": 256,
        "gradient_accumulation_steps": 8,
        "masking": "static",
        "dropout": 0.1,
        "learning_rate": 1e-4,
        "warmup": 0.01,
        "adam_beta2": 0.999,
    },
    # Liu et al. 2019, with the paper's batch: theirs of 8,192 is batch_size 8192, gradient_accumulation_steps 256.
    "roberta": {
        "objective": "mlm",
        "algorithm": "bpe",
        "lowercase": False,
        "optimizer": "adamw",
        "causal_share": 0.0,
        "seq_len": 512,
        "short_seq_len": 0,
        "batch_size": 256,
        "gradient_accumulation_steps": 8,
        "short_seq_probability": 0.0,
        "dropout": 0.1,
        "learning_rate": 6e-4,
        "warmup": 0.048,
        "adam_beta2": 0.98,
    },
}

#: What may change when a run is gone on with: how long it takes, how fast it learns, where and how often it reports.
ADJUSTABLE = frozenset(
    "steps time_budget learning_rate max_grad_norm gradient_accumulation_steps threads eval_every checkpoint_every "
    "keep_checkpoints snapshot_room probes tracker".split()
)


@dataclass(frozen=True)
class PretrainConfig:
    """Everything that decides a pretraining run; saved as the run's `config.json`, enough to repeat it.

    Raises `InputError` naming the option when a value is out of range.
    """

    corpus: tuple[str, ...] = option(
        (), "Text files, folders, patterns such as 'books/*.txt', sample:tiny-town, or dataset:NAME from the hub"
    )
    recipe: str = option("lab", "Where the settings come from that are not given", choices=tuple(RECIPES))
    preset: str = option("mini", "Size of the model", choices=tuple(PRESETS), label="Model size")
    init_from: str = option(
        "", "Go on training this model, with its tokenizer, instead of starting from random weights"
    )
    steps: int | None = option(None, "Optimiser steps; leave empty to use the time budget", low=1, high=10_000_000)
    time_budget: str = option("2m", "How long to train, such as 90s, 10m or 2h; used when steps is empty")
    objective: str = option("mlm+nsp", "What the model learns from", choices=("mlm+nsp", "mlm", "mlm+sop"))
    vocab_size: int = option(8192, "Size of the vocabulary learnt from the text", group="text", low=64, high=100_000)
    tokenizer: str = option("", "Folder with a tokenizer to use instead of training one", group="text")
    algorithm: Literal["wordpiece", "bpe"] = option(
        "wordpiece", "How words are split", group="text", choices=("wordpiece", "bpe")
    )
    lowercase: bool = option(True, "Fold case and strip accents", group="text")
    documents: str = option("auto", "Where a document ends", group="text", choices=("auto", "blank-line", "file"))
    text_field: str = option("", "Column or field of a table that holds the text; empty guesses it", group="text")
    seq_len: int = option(128, "Tokens in one example", group="advanced", low=8, high=512)
    short_seq_len: int = option(
        32, "Tokens in one example of the first part of a run, if that is shorter", group="advanced", low=0, high=512
    )
    short_share: float = option(
        0.45, "Share of the run that has the shorter examples", group="advanced", low=0.0, high=1.0
    )
    batch_size: int = option(16, "Examples in one step", group="advanced", low=1, high=65_536)
    gradient_accumulation_steps: int = option(
        1,
        "Parts in which a step is computed one after the other, to need less memory",
        group="advanced",
        low=1,
        high=4096,
    )
    causal_share: float = option(
        0.25,
        "Share of the run, at its start, in which the model predicts each next word from those before it",
        group="advanced",
        low=0.0,
        high=0.9,
    )
    mask_probability: float = option(0.15, "Share of the tokens to be predicted", group="advanced", low=0.01, high=0.9)
    masking: str = option(
        "dynamic",
        "Fresh masks at every pass over the text, or ten passes that repeat, as in Google's code",
        group="advanced",
        choices=("dynamic", "static"),
    )
    mask_split: str = option(
        "80/10/10",
        "What becomes of the chosen tokens, in percent: [MASK], a random token, or left as it is",
        group="advanced",
        choices=("80/10/10", "100/0/0"),
    )
    whole_word: bool = option(False, "Choose whole words for masking, not word pieces", group="advanced")
    span_masking: bool = option(
        False, "Choose runs of up to ten neighbouring words for masking, as SpanBERT does", group="advanced"
    )
    short_seq_probability: float = option(
        0.1, "Share of examples that are made shorter at random", group="advanced", low=0.0, high=1.0
    )
    layers: int | None = option(
        None, "Layers of the model; empty takes the model size's", group="advanced", low=1, high=48
    )
    heads: int | None = option(
        None, "Attention heads in each layer; empty takes the model size's", group="advanced", low=1, high=64
    )
    share_layers: bool = option(False, "One set of weights for all layers, as in ALBERT", group="advanced")
    segment_embeddings: bool = option(True, "Tell the model which of the two sentences a token is in", group="advanced")
    position_embeddings: bool = option(True, "Tell the model where in the text a token stands", group="advanced")
    bidirectional: bool = option(
        True, "Let each token see what comes after it as well; without, the model reads forwards only", group="advanced"
    )
    optimizer: str = option(
        "muon",
        "Update rule: AdamW for all weights, or Muon for the encoder's matrices and AdamW for the rest",
        group="advanced",
        choices=("adamw", "muon"),
    )
    learning_rate: float | None = option(
        None, "Peak learning rate; empty chooses one for the model size", group="advanced", low=1e-7, high=1.0
    )
    warmup: float = option(
        0.06, "Share of the run in which the learning rate rises", group="advanced", low=0.0, high=0.9
    )
    weight_decay: float = option(
        0.01, "AdamW weight decay, on all but biases and LayerNorm", group="advanced", low=0.0, high=1.0
    )
    adam_beta2: float = option(
        0.98,
        "How slowly AdamW forgets the size of past gradients (the paper: 0.999)",
        group="advanced",
        low=0.5,
        high=0.99999,
    )
    dropout: float = option(0.0, "Dropout while pretraining (the paper: 0.1)", group="advanced", low=0.0, high=0.9)
    max_grad_norm: float = option(1.0, "Longest gradient that is let through", group="advanced", low=1e-3, high=1000.0)
    precision: str = option(
        "auto", "Number format of the arithmetic", group="advanced", choices=("auto", "fp32", "bf16", "fp16")
    )
    seed: int = option(0, "Start of every random stream", group="advanced", low=0, high=2**31 - 1)
    threads: int = option(0, "CPU threads; 0 takes all cores", group="advanced", low=0, high=1024)
    eval_every: float = option(
        15.0, "Seconds between looks at the held-out text", group="advanced", low=0.1, high=86_400.0
    )
    checkpoint_every: float = option(60.0, "Seconds between checkpoints", group="advanced", low=0.1, high=86_400.0)
    keep_checkpoints: int = option(
        2, "How many of the last checkpoints are kept, besides the best", group="advanced", low=1, high=1000
    )
    snapshot_room: int = option(
        200,
        "Megabytes for the weights of steps 0, 1, 2, 5, 10 and so on, to look back at; 0 keeps none",
        group="advanced",
        low=0,
        high=1_000_000,
    )
    probes: bool = option(True, "Ask at snapshots what the model can do already", group="advanced")
    tracker: str = option(
        "", "Also log to this tracker, such as tensorboard, by its name in Accelerate", group="advanced"
    )

    def __post_init__(self) -> None:
        if isinstance(self.corpus, str) or not self.corpus:
            raise InputError("Name at least one text to train on, for example --corpus book.txt.")
        check_options(self)
        if self.gradient_accumulation_steps > self.batch_size:
            steps = self.gradient_accumulation_steps
            raise InputError(f"--gradient-accumulation-steps {steps} is more than the batch size, {self.batch_size}.")
        if self.init_from and self.tokenizer:
            raise InputError("--init-from brings its model's tokenizer; leave --tokenizer out.")
        width = PRESETS[self.preset][1]
        if self.heads and width % self.heads:
            known = [str(heads) for heads in (1, 2, 4, 8, 12, 16, 32) if width % heads == 0]
            raise InputError(
                f"--heads {self.heads} cannot share the {width} numbers of a {self.preset} model's vectors equally; "
                f"choose {', '.join(known[:-1])} or {known[-1]}."
            )
        parse_duration(self.time_budget)

    @classmethod
    def of_recipe(cls, recipe: str = "lab", **given: Any) -> Self:
        """The settings of a recipe, with those given put in their place. Raises `InputError`."""
        return cls(**(RECIPES.get(recipe, {}) | given | {"recipe": recipe}))

    def resumed_with(self, **given: Any) -> Self:
        """The settings of a run that is gone on with, with those changed that leave it the same run.

        Raises `InputError` naming one that would make it another.
        """
        return changed_settings(self, given, ADJUSTABLE)

    @property
    def time_budget_seconds(self) -> float | None:
        """Length of the run in seconds, or None where the number of steps decides."""
        return None if self.steps is not None else parse_duration(self.time_budget)

    @property
    def uses_pairs(self) -> bool:
        """Whether an example is two segments, with a question about them: next or random, in order or swapped."""
        return self.objective != "mlm"

    def model_config(self, vocab_size: int) -> BertConfig:
        """The model this run trains, for the vocabulary its tokenizer turned out to have."""
        layers, _, heads = PRESETS[self.preset]
        return BertConfig.preset(
            self.preset,
            vocab_size=vocab_size,
            num_hidden_layers=self.layers or layers,
            num_attention_heads=self.heads or heads,
            hidden_dropout_prob=self.dropout,
            attention_probs_dropout_prob=self.dropout,
            share_layers=self.share_layers,
            is_decoder=not self.bidirectional,
        )

    @property
    def mask_shares(self) -> tuple[float, float]:
        """Of the chosen tokens the shares that become [MASK] and a random token; the others stay as they are."""
        masked, random, _ = (int(part) / 100 for part in self.mask_split.split("/"))
        return masked, random

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, body: dict[str, Any]) -> Self:
        values = known_settings(cls, body)
        return cls(**(values | {"corpus": tuple(values.get("corpus", ()))}))
