"""Every setting of pretraining, declared once: the command line, the page and the documentation are drawn from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Self

from bertviz_lab.config.families import FAMILIES, FROM_SCRATCH
from bertviz_lab.config.model import PRESETS, SIZES, BertConfig
from bertviz_lab.config.options import (
    COMMAND,
    RECIPE,
    SHORTEST_SEQUENCE,
    TrainingConfig,
    optimization,
    option,
    parse_duration,
    reporting,
)
from bertviz_lab.errors import InputError

#: Of the lab's own defaults what the published recipes do without, and their masking.
_AS_PUBLISHED = {"causal_share": 0.0, "shallow_share": 0.0, "unigram_bias": False, "mask_probability": 0.15}
#: name -> what it sets other than the defaults below, which are the lab's own.
RECIPES: dict[str, dict[str, Any]] = {
    # For minutes on small machines, by the comparisons in benchmarks/README.md. That more than 15% may be masked is of
    # Wettig et al. 2022; in equal time 30% are a tie here. Few layers first gain most, the unigram bias in short runs.
    "lab": {},
    # Devlin et al. 2018, appendix A.2, with the static masks of google-research/bert.
    "paper": {
        **_AS_PUBLISHED,
        "optimizer": "adamw",
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
        **_AS_PUBLISHED,
        "objective": "mlm",
        "algorithm": "bpe",
        "lowercase": False,
        "optimizer": "adamw",
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
    # A smaller student of --teacher: Sanh et al. 2019, section 3, with the lab's optimizer and lengths.
    "distil": {**_AS_PUBLISHED, "objective": "mlm"},
    # Replaced-token detection: Clark et al. 2020, sections 2 and 3.2, with the lab's optimizer and lengths.
    "electra": {**_AS_PUBLISHED, "family": "electra", "objective": "rtd"},
}


#: What they are called on the page.
RECIPE_TITLES = {
    "lab": "The lab's own: causal-LM warm-up, short sequences and few layers first. For minutes on a small machine.",
    "paper": "BERT (2018): MLM from the first step, long sequences, dropout. For days on many accelerators.",
    "roberta": "RoBERTa (2019): MLM only, byte-level BPE, a higher learning rate. For days on many accelerators.",
    "distil": "DistilBERT (2019): a smaller student learns from the predictions of a teacher, chosen under Start from.",
    "electra": "ELECTRA (2020): a small generator fills masked tokens, the model detects which tokens were replaced.",
}
main, corpora = partial(option, group="Model and training"), partial(option, group="Corpus and objective")
sequences = partial(option, group="Sequences and masking")
architecture, teaching = partial(option, group="Architecture"), partial(option, group="Distillation")


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

    corpus: tuple[str, ...] = main(
        (),
        "Corpus",
        "Text files, folders, patterns such as 'books/*.txt', sample:tiny-town, sample:docstrings, or "
        "dataset:NAME from the hub",
        by=COMMAND,
    )
    preset: str = main(
        "mini",
        "Model size",
        "Layers x hidden size; a larger model learns more and trains more slowly",
        choices=tuple(PRESETS),
        titles=SIZES,
    )
    recipe: str = main(
        "lab",
        "Recipe",
        "Defaults of the other options, which can still be changed",
        choices=tuple(RECIPES),
        titles=RECIPE_TITLES,
    )
    init_from: str = main(
        "", "Start from", "Continue pretraining this model, with its tokenizer, instead of starting from random weights"
    )
    time_budget: str = main(
        "2m",
        "Time budget",
        "How long to train, such as 90s, 10m or 2h; ignored with --steps",
        examples=("30s", "1m", "2m", "5m", "10m", "30m", "1h", "3h"),
    )

    objective: str = corpora(
        "mlm+nsp",
        "Pretraining objective",
        "Masked language modeling (MLM), alone or with next-sentence (NSP) or sentence-order prediction (SOP), or "
        "ELECTRA's replaced-token detection (RTD)",
        choices=("mlm+nsp", "mlm", "mlm+sop", "rtd"),
    )
    documents: str = corpora(
        "auto",
        "Document boundary",
        "What ends a document: a blank line or the end of a file; auto infers it",
        choices=("auto", "blank-line", "file"),
    )
    text_field: str = corpora(
        "", "Text column", "Column or field of a table, such as .csv or .jsonl, that holds the text; inferred if empty"
    )
    streaming: bool = corpora(
        False,
        "Streaming",
        "Read one dataset:NAME while training on it, without a copy on disk; a row is a document, in order",
        by=COMMAND,
    )
    held_out_documents: int = corpora(
        1000,
        "Held-out documents",
        "With --streaming: how many of the first documents are held out",
        between=(2, 100_000),
        by=COMMAND,
    )
    algorithm: Literal["wordpiece", "bpe"] = corpora(
        "wordpiece",
        "Tokenizer algorithm",
        "WordPiece as in BERT, or byte-level BPE as in RoBERTa",
        choices=("wordpiece", "bpe"),
    )
    vocab_size: int = corpora(
        8192,
        "Vocabulary size",
        "Number of tokens (words and subwords) that the tokenizer learns from the corpus",
        between=(64, 100_000),
    )
    lowercase: bool = corpora(
        True, "Lowercase and strip accents", "Train an uncased model, which has fewer distinct words to learn"
    )
    tokenizer: str = corpora("", "Tokenizer", "Folder of an existing tokenizer, instead of training one", by=COMMAND)

    causal_share: float = sequences(
        0.2,
        "Causal-LM warm-up (fraction)",
        "Fraction of the run, at its start, that trains next-token prediction; 0 trains MLM from the first step",
        between=(0.0, 0.9),
    )
    mask_probability: float = sequences(
        0.3,
        "Masking probability",
        "Fraction of the tokens selected for prediction (the paper: 0.15)",
        between=(0.01, 0.9),
    )
    masking: str = sequences(
        "dynamic",
        "Static or dynamic masking",
        "New masks in every epoch (dynamic), or ten sets that repeat, as in Google's code (static)",
        choices=("dynamic", "static"),
    )
    mask_split: str = sequences(
        "80/10/10",
        "Mask / random / unchanged",
        "Percent of the selected tokens that become [MASK], a random token, or stay (the paper: 80/10/10)",
        choices=("80/10/10", "100/0/0"),
    )
    whole_word: bool = sequences(False, "Whole-word masking", "Mask all subwords of a word together")
    span_masking: bool = sequences(False, "Span masking", "Mask spans of up to ten adjacent words, as in SpanBERT")
    seq_len: int = sequences(
        128,
        "Max sequence length",
        "In tokens; longer sequences have more context and take more time",
        between=(SHORTEST_SEQUENCE, 512),
    )
    short_seq_len: int = sequences(
        32,
        "Initial sequence length",
        "In tokens; shorter sequences train faster at first, and 0 uses --seq-len throughout",
        between=(0, 512),
    )
    short_share: float = sequences(
        0.45, "Short-sequence phase (fraction)", "Fraction of the run that uses --short-seq-len", between=(0.0, 1.0)
    )
    short_seq_probability: float = sequences(
        0.1,
        "Short-sequence probability",
        "Fraction of examples shortened at random, so that the model is trained on short inputs too",
        between=(0.0, 1.0),
        by=COMMAND,
    )
    single_share: float = sequences(
        0.0,
        "Single-text examples (fraction)",
        "With NSP: fraction of the examples that are one text without a second, of one sentence or more",
        between=(0.0, 1.0),
        by=COMMAND,
    )

    batch_size: int = optimization(
        16, "Batch size", "Sequences per optimizer step; larger batches are less noisy and slower", between=(1, 65_536)
    )
    optimizer: str = optimization(
        "muon",
        "Optimizer",
        "AdamW as in the paper, or Muon for the encoder's matrices and AdamW for the rest",
        choices=("adamw", "muon"),
    )
    shallow_share: float = optimization(
        0.75,
        "Progressive stacking (fraction)",
        "Fraction of the run that trains a quarter, then half of the layers, in faster steps",
        between=(0.0, 0.95),
    )
    warmup: float = optimization(
        0.06,
        "LR warm-up (fraction)",
        "Fraction of the run over which the learning rate rises to its peak",
        between=(0.0, 0.9),
    )
    dropout: float = optimization(
        0.0, "Dropout", "Fraction of activations zeroed at random (the paper: 0.1)", between=(0.0, 0.9)
    )
    adam_beta2: float = optimization(
        0.98,
        "Adam beta2",
        "Decay rate of AdamW's second-moment estimate (the paper: 0.999)",
        between=(0.5, 0.99999),
        by=RECIPE,
    )
    unigram_bias: bool = optimization(
        True,
        "Unigram bias",
        "Start the bias of the MLM head at the log frequencies of the tokens, instead of zero",
        by=COMMAND,
    )
    compile: bool = optimization(
        False,
        "Compile",
        "Compile the layers with torch.compile: a minute before the first steps, and faster ones on a GPU",
        by=COMMAND,
    )

    family: str = architecture(
        "bert",
        "Model family",
        "BERT, or what RoBERTa, ALBERT, ELECTRA, DeBERTa and ModernBERT changed in it (docs/families.md)",
        choices=FROM_SCRATCH,
    )
    layers: int | None = architecture(None, "Layers", "Number of layers; if empty, those of --preset", between=(1, 48))
    heads: int | None = architecture(
        None,
        "Attention heads per layer",
        "Number of heads that split the hidden size equally; if empty, those of --preset",
        between=(1, 64),
    )
    share_layers: bool = architecture(
        False,
        "Parameter sharing across layers",
        "Use the same weights in all layers, as in ALBERT: fewer parameters, the same compute",
    )
    segment_embeddings: bool = architecture(
        True, "Segment embeddings", "Distinguish sentence A from sentence B by segment (token type) embeddings"
    )
    position_embeddings: bool = architecture(
        True, "Position embeddings", "Mark the order of the tokens by position embeddings"
    )
    bidirectional: bool = architecture(
        True, "Bidirectional attention", "Let each token attend to both sides; off uses a causal mask, as in GPT"
    )
    width_factor: int = architecture(
        1,
        "Width factor",
        "Make the model of --init-from this many times as wide first; its predictions stay the same",
        between=(1, 8),
        by=COMMAND,
    )
    generator_size: float = architecture(
        0.25,
        "Generator size",
        "Width of the generator of replaced-token detection as a fraction of the model's",
        between=(0.05, 1.0),
        by=COMMAND,
    )

    teacher: str = teaching(
        "", "Teacher", "Model to learn from, whose tokenizer is used (shipped, folder, hub id)", by=COMMAND
    )
    distillation: str = teaching(
        "soft-targets",
        "Distillation",
        "What the student learns from: soft MLM targets and hidden states (DistilBERT), or attention and value "
        "relations of the last layer (MiniLM)",
        choices=("soft-targets", "relations"),
        by=COMMAND,
    )
    temperature: float = teaching(
        2.0, "Temperature", "Temperature of the soft targets", between=(0.1, 100.0), by=RECIPE
    )

    steps: int | None = reporting(
        None, "Steps", "Optimizer steps; if empty, --time-budget decides", between=(1, 10_000_000)
    )
    eval_every: float = reporting(
        15.0, "Evaluate every", "Seconds between evaluations on the held-out set", between=(0.1, 86_400.0), by=COMMAND
    )
    probes: bool = reporting(
        True,
        "Minimal-pair probes",
        "Test during training whether the model prefers the correct sentence of each minimal pair",
    )
    keep_checkpoints: int = reporting(
        2, "Checkpoints kept", "Number of latest checkpoints to keep, besides the best", between=(1, 1000), by=RECIPE
    )
    snapshot_room: int = reporting(
        200,
        "Room for snapshots",
        "Megabytes for snapshots of the weights at steps 0, 1, 2, 5, 10 and so on (training dynamics); 0 keeps none",
        between=(0, 1_000_000),
        by=COMMAND,
    )

    def __post_init__(self) -> None:
        if not self.corpus:
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
