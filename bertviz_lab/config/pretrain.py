"""Every setting of pretraining, declared once: the command line, the page and the documentation are drawn from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from bertviz_lab.config.families import FAMILIES, FROM_SCRATCH
from bertviz_lab.config.model import PRESETS, BertConfig
from bertviz_lab.config.options import option, parse_duration
from bertviz_lab.config.training import SHORTEST_SEQUENCE, TrainingConfig
from bertviz_lab.errors import InputError

#: name -> what it sets other than the defaults below, which are the lab's own.
RECIPES: dict[str, dict[str, Any]] = {
    # For minutes on small machines, by the comparisons in benchmarks/README.md. That more than 15% may be masked is of
    # Wettig et al. 2022; in equal time 30% are a tie here. Few layers first gain most, the unigram bias in short runs.
    "lab": {},
    # Devlin et al. 2018, appendix A.2, with the static masks of google-research/bert.
    "paper": {
        "optimizer": "adamw",
        "causal_share": 0.0,
        "shallow_share": 0.0,
        "unigram_bias": False,
        "seq_len": 512,
        "short_seq_len": 128,
        "short_share": 0.9,
        "batch_size": 256,
        "gradient_accumulation_steps": 8,
        "masking": "static",
        "mask_probability": 0.15,
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
        "shallow_share": 0.0,
        "unigram_bias": False,
        "seq_len": 512,
        "short_seq_len": 0,
        "batch_size": 256,
        "gradient_accumulation_steps": 8,
        "short_seq_probability": 0.0,
        "mask_probability": 0.15,
        "dropout": 0.1,
        "learning_rate": 6e-4,
        "warmup": 0.048,
        "adam_beta2": 0.98,
    },
    # A smaller student of --teacher: Sanh et al. 2019, section 3, with the lab's optimizer and lengths.
    "distil": {
        "objective": "mlm",
        "causal_share": 0.0,
        "shallow_share": 0.0,
        "unigram_bias": False,
        "mask_probability": 0.15,
    },
    # Replaced-token detection: Clark et al. 2020, sections 2 and 3.2, with the lab's optimizer and lengths.
    "electra": {
        "family": "electra",
        "objective": "rtd",
        "causal_share": 0.0,
        "shallow_share": 0.0,
        "unigram_bias": False,
        "mask_probability": 0.15,
    },
}


@dataclass(frozen=True)
class PretrainConfig(TrainingConfig):
    """Everything that decides a pretraining run; saved as the run's `config.json`, enough to repeat it.

    Raises `InputError` naming the option when a value is out of range.
    """

    #: What may change when a run is resumed: its length, its learning rate, where and how often it reports.
    adjustable: ClassVar[frozenset[str]] = frozenset(
        "steps time_budget learning_rate max_grad_norm gradient_accumulation_steps gradient_checkpointing compile "
        "threads eval_every checkpoint_every keep_checkpoints snapshot_room probes tracker".split()
    )

    corpus: tuple[str, ...] = option(
        (),
        "Text files, folders, patterns such as 'books/*.txt', sample:tiny-town, sample:docstrings, or "
        "dataset:NAME from the hub",
    )
    recipe: str = option("lab", "Supplies the defaults", choices=tuple(RECIPES))
    preset: str = option("mini", "Model size: layers and hidden size", choices=tuple(PRESETS), label="Model size")
    family: str = option(
        "bert",
        "Architecture: BERT, or one of its family, trained by its objective (docs/families.md)",
        choices=FROM_SCRATCH,
        label="Model family",
    )
    init_from: str = option(
        "", "Continue pretraining this model, with its tokenizer, instead of starting from random weights"
    )
    width_factor: int = option(
        1,
        "Make the model of --init-from this many times as wide first; its predictions stay as they are",
        low=1,
        high=8,
    )
    teacher: str = option(
        "", "Distillation: the model to learn from, whose tokenizer is used (shipped, folder, hub id)"
    )
    distillation: str = option(
        "soft-targets",
        "What the student follows: soft MLM targets and hidden states (DistilBERT), or attention and value relations "
        "of the last layer (MiniLM)",
        choices=("soft-targets", "relations"),
    )
    temperature: float = option(2.0, "Temperature of the soft targets", low=0.1, high=100.0)
    steps: int | None = option(None, "Optimizer steps; if not given, the time budget decides", low=1, high=10_000_000)
    time_budget: str = option("2m", "How long to train, such as 90s, 10m or 2h; ignored with --steps")
    objective: str = option(
        "mlm+nsp",
        "Pretraining objective: masked language modeling (MLM), alone or with next-sentence (NSP) or "
        "sentence-order prediction (SOP), or ELECTRA's replaced-token detection (RTD)",
        choices=("mlm+nsp", "mlm", "mlm+sop", "rtd"),
    )
    generator_size: float = option(
        0.25,
        "Replaced-token detection: width of the generator as a fraction of the model's",
        low=0.05,
        high=1.0,
    )
    vocab_size: int = option(8192, "Vocabulary size of the tokenizer to be trained", low=64, high=100_000)
    tokenizer: str = option("", "Folder of an existing tokenizer, instead of training one")
    algorithm: Literal["wordpiece", "bpe"] = option(
        "wordpiece", "Tokenizer: WordPiece or byte-level BPE", choices=("wordpiece", "bpe")
    )
    lowercase: bool = option(True, "Lowercase and strip accents (uncased)")
    documents: str = option("auto", "Document boundary", choices=("auto", "blank-line", "file"))
    streaming: bool = option(
        False, "Read one dataset:NAME while training on it, without a copy on disk; a row is a document, in order"
    )
    held_out_documents: int = option(
        1000, "With --streaming: how many of the first documents are held out", low=2, high=100_000
    )
    text_field: str = option("", "Column or field of a table that holds the text; inferred if empty")
    seq_len: int = option(128, "Max sequence length in tokens", low=SHORTEST_SEQUENCE, high=512)
    short_seq_len: int = option(
        32, "Sequence length of the first part of a run; 0 uses --seq-len throughout", low=0, high=512
    )
    short_share: float = option(0.45, "Fraction of the run that uses the shorter sequences", low=0.0, high=1.0)
    batch_size: int = option(16, "Batch size: sequences per optimizer step", low=1, high=65_536)
    causal_share: float = option(
        0.2,
        "Causal-LM warm-up: fraction of the run, at its start, that trains next-token prediction",
        low=0.0,
        high=0.9,
    )
    shallow_share: float = option(
        0.75,
        "Progressive stacking: fraction of the run that trains part of the layers, first a quarter, then half of them",
        low=0.0,
        high=0.95,
    )
    unigram_bias: bool = option(
        True, "Unigram bias: the bias of the MLM head begins as the log frequencies of the tokens, instead of zero"
    )
    mask_probability: float = option(
        0.3, "Fraction of the tokens selected for prediction (the paper: 0.15)", low=0.01, high=0.9
    )
    masking: str = option(
        "dynamic",
        "New masks in every epoch (dynamic), or ten sets that repeat, as in Google's code (static)",
        choices=("dynamic", "static"),
    )
    mask_split: str = option(
        "80/10/10", "Percent of the selected tokens: [MASK] / random token / unchanged", choices=("80/10/10", "100/0/0")
    )
    whole_word: bool = option(False, "Whole-word masking: mask all subwords of a word together")
    span_masking: bool = option(False, "Span masking: mask spans of up to ten adjacent words, as in SpanBERT")
    short_seq_probability: float = option(0.1, "Fraction of examples that are shortened at random", low=0.0, high=1.0)
    layers: int | None = option(None, "Number of layers; by default those of --preset", low=1, high=48)
    heads: int | None = option(None, "Attention heads per layer; by default those of --preset", low=1, high=64)
    share_layers: bool = option(False, "Cross-layer parameter sharing, as in ALBERT")
    segment_embeddings: bool = option(True, "Add segment (token type) embeddings")
    position_embeddings: bool = option(True, "Add position embeddings")
    bidirectional: bool = option(True, "Bidirectional self-attention; without it a causal mask, as in GPT")
    optimizer: str = option(
        "muon", "Optimizer: AdamW, or Muon for the encoder's matrices and AdamW for the rest", choices=("adamw", "muon")
    )
    compile: bool = option(
        False, "Compile the layers with torch.compile: a minute before the first steps, and faster ones on a GPU"
    )
    warmup: float = option(0.06, "Learning-rate warm-up as a fraction of the run", low=0.0, high=0.9)
    adam_beta2: float = option(
        0.98, "Adam beta2: decay rate of the second-moment estimate (the paper: 0.999)", low=0.5, high=0.99999
    )
    dropout: float = option(0.0, "Dropout (the paper: 0.1)", low=0.0, high=0.9)
    eval_every: float = option(15.0, "Seconds between evaluations on the held-out set", low=0.1, high=86_400.0)
    keep_checkpoints: int = option(2, "Number of latest checkpoints to keep, besides the best", low=1, high=1000)
    snapshot_room: int = option(
        200,
        "Megabytes for snapshots of the weights at steps 0, 1, 2, 5, 10 and so on (training dynamics); 0 keeps none",
        low=0,
        high=1_000_000,
    )
    probes: bool = option(True, "Score minimal-pair probes at each snapshot")

    def __post_init__(self) -> None:
        if isinstance(self.corpus, str) or not self.corpus:
            raise InputError("Name at least one text to train on, for example --corpus book.txt.")
        super().__post_init__()
        if self.objective == "rtd" and self.family not in ("bert", "electra"):
            title = FAMILIES[self.family].title
            raise InputError(f"{title} is not trained by replaced-token detection: choose --family electra.")
        if self.replaces_tokens and (self.init_from or self.teacher):
            given = "--init-from" if self.init_from else "--teacher"
            raise InputError(
                f"Replaced-token detection trains two models from random weights; leave {given} out, or choose "
                "--objective mlm."
            )
        if self.family not in ("bert", "albert") and (self.objective == "mlm+sop" or self.share_layers):
            title = FAMILIES[self.family].title
            raise InputError(
                f"{title} has neither sentence-order prediction nor shared layers: choose --family albert."
            )
        if self.init_from and self.family != "bert":
            raise InputError("--init-from brings its model's family; leave --family out.")
        if self.init_from and self.tokenizer:
            raise InputError("--init-from brings its model's tokenizer; leave --tokenizer out.")
        if self.width_factor > 1 and not self.init_from:
            raise InputError("--width-factor makes a trained model wider; name it with --init-from.")
        if self.teacher and self.tokenizer:
            raise InputError("--teacher brings its tokenizer; leave --tokenizer out.")
        if 0 < self.short_seq_len < SHORTEST_SEQUENCE:
            raise InputError(
                f"--short-seq-len is {self.short_seq_len}: choose at least {SHORTEST_SEQUENCE} tokens, or 0 for "
                "the same length throughout."
            )
        if self.streaming:
            self._check_streaming()
        width = PRESETS[self.preset][1]
        if self.heads and width % self.heads:
            known = [str(heads) for heads in (1, 2, 4, 8, 12, 16, 32) if width % heads == 0]
            raise InputError(
                f"--heads {self.heads} does not divide the hidden size {width} of a {self.preset} model; "
                f"choose {', '.join(known[:-1])} or {known[-1]}."
            )
        parse_duration(self.time_budget)

    def _check_streaming(self) -> None:
        if len(self.corpus) != 1 or not self.corpus[0].startswith("dataset:"):
            raise InputError("--streaming reads one data set: name it as --corpus dataset:NAME.")
        if self.documents != "auto":
            raise InputError("With --streaming each row is a document; leave --documents out.")
        if self.masking == "static":
            raise InputError("Static masking repeats passes over a text, which --streaming has not; choose dynamic.")

    @classmethod
    def of_recipe(cls, recipe: str = "lab", **given: Any) -> Self:
        """The settings of a recipe, with those given put in their place. Raises `InputError`."""
        return cls(**(RECIPES.get(recipe, {}) | given | {"recipe": recipe}))

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Self:
        """As `TrainingConfig.from_dict`; for older runs, what was not optional yet is as it was."""
        return super().from_dict({"shallow_share": 0.0, "unigram_bias": False, **body})

    @property
    def time_budget_seconds(self) -> float | None:
        """Length of the run in seconds, or None where the number of steps decides."""
        return None if self.steps is not None else parse_duration(self.time_budget)

    def model_config(self, vocab_size: int) -> BertConfig:
        """The model this run trains, for the vocabulary its tokenizer turned out to have."""
        layers, _, heads = PRESETS[self.preset]
        return BertConfig.preset(
            self.preset,
            family="electra" if self.objective == "rtd" else self.family,
            vocab_size=vocab_size,
            num_hidden_layers=self.layers or layers,
            num_attention_heads=self.heads or heads,
            hidden_dropout_prob=self.dropout,
            attention_probs_dropout_prob=self.dropout,
            share_layers=self.share_layers or self.family == "albert",
            is_decoder=not self.bidirectional,
        )

    @property
    def replaces_tokens(self) -> bool:
        """Whether ELECTRA's objective is trained: it was chosen, or its family, which has no next-sentence head."""
        return self.objective == "rtd" or (self.family == "electra" and self.objective == "mlm+nsp")

    @property
    def starts_from_scratch(self) -> bool:
        """Whether a masked language model begins with random weights: not one that is trained further, or a student."""
        return not (self.init_from or self.teacher or self.replaces_tokens)

    def generator_config(self, model: BertConfig) -> BertConfig:
        """The generator of replaced-token detection: a narrower `model` on the same embeddings (section 3.2)."""
        heads = max(1, round(self.generator_size * model.num_attention_heads))
        hidden = heads * (model.hidden_size // model.num_attention_heads)
        embedding = model.embedding_size or model.hidden_size
        return model.replace(
            hidden_size=hidden,
            num_attention_heads=heads,
            intermediate_size=hidden * model.intermediate_size // model.hidden_size,
            embedding_size=None if embedding == hidden else embedding,
        )

    @property
    def mask_shares(self) -> tuple[float, float]:
        """Of the chosen tokens the shares that become [MASK] and a random token; the others stay as they are."""
        masked, random, _ = (int(part) / 100 for part in self.mask_split.split("/"))
        return masked, random
