"""Every setting of pretraining, declared once: the command line, the page and the documentation are drawn from it."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

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
    snapshots,
    warmup_fraction,
)
from bertviz_lab.errors import InputError

#: Of the lab's own defaults what the published recipes do without, and their masking.
_AS_PUBLISHED = dict[str, Any](shallow_share=0.0, unigram_bias=False, word_vectors=False, mask_probability=0.15)
_TABLES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("recipes.toml").read_text(encoding="utf-8"))
#: name -> what it is called on the page.
RECIPE_TITLES: dict[str, str] = {name: table.pop("title") for name, table in _TABLES.items()}
#: name -> what it sets other than the defaults below, which are the lab's own.
RECIPES = {name: table if name == "lab" else _AS_PUBLISHED | table for name, table in _TABLES.items()}
main, corpora = partial(option, group="Model and training"), partial(option, group="Corpus and objective")
sequences = partial(option, group="Sequences and masking")
architecture, teaching = partial(option, group="Architecture"), partial(option, group="Distillation")


_MOST_ADDED = 50_000  # pieces of a vocabulary


@dataclass(frozen=True)
class PretrainConfig(TrainingConfig):
    """Everything that decides a pretraining run; saved as the run's `config.json`, enough to repeat it.

    Raises `InputError` naming the option when a value is out of range.
    """

    #: What may change when a run is resumed: its length, its learning rate, where and how often it reports.
    adjustable: ClassVar[frozenset[str]] = frozenset(
        "steps time_budget learning_rate max_grad_norm gradient_accumulation_steps gradient_checkpointing compile "
        "threads patience eval_every checkpoint_every keep_checkpoints snapshot_room probes tracker".split()
    )

    corpus: tuple[str, ...] = main(
        (),
        "Corpus",
        "Text files, folders, patterns such as 'books/*.txt', sample:tiny-town, sample:docstrings, or "
        "dataset:NAME from the hub",
        by=COMMAND,
    )
    time_budget: str = main(
        "2m",
        "Time budget",
        "How long to train, such as 90s, 10m or 2h; ignored with --steps",
        examples=("30s", "1m", "2m", "5m", "10m", "30m", "1h", "3h"),
    )
    init_from: str = main(
        "", "Start from", "Continue pretraining this model, with its tokenizer, instead of training from scratch"
    )
    add_vocabulary: str = main(
        "",
        "New words",
        "With --init-from: add the pieces that save the most tokens of the text to its vocabulary: this many, or on "
        "the command line the words of a file, one a line",
        examples=("200", "500", "1000", "2000"),
    )
    preset: str = main(
        "mini", "Model size", "Layers x hidden size; a larger model learns more and trains more slowly", choices=SIZES
    )
    recipe: str = main(
        "lab", "Recipe", "Defaults of the other options, which can still be changed", choices=RECIPE_TITLES
    )

    objective: Literal["mlm+nsp", "mlm", "mlm+sop", "rtd"] = corpora(
        "mlm+nsp",
        "Pretraining objective",
        "Masked language modeling (MLM), alone or with next-sentence (NSP) or sentence-order prediction (SOP), or "
        "ELECTRA's replaced-token detection (RTD)",
    )
    documents: Literal["auto", "blank-line", "file"] = corpora(
        "auto", "Document boundary", "What ends a document: a blank line or the end of a file; auto infers it"
    )
    text_field: str = corpora(
        "",
        "Text column",
        "Column of a table, or field of a .jsonl file, with the text, such as `messages.content`; inferred if empty",
    )
    streaming: bool = corpora(
        False,
        "Streaming",
        "Read a table, a folder of them or dataset:NAME while training, without a copy on disk; a row is a document",
        by=COMMAND,
    )
    held_out_documents: Annotated[int, 2, 100_000] = corpora(
        1000, "Held-out documents", "With --streaming: how many of the first documents are held out", by=COMMAND
    )
    without: tuple[str, ...] = corpora(
        (),
        "Sentences left out",
        "Sentences of the corpus that are not trained on, each in quotes: what did they teach?",
        by=COMMAND,
    )
    algorithm: Literal["wordpiece", "bpe"] = corpora(
        "wordpiece", "Tokenizer algorithm", "WordPiece as in BERT, or byte-level BPE as in RoBERTa"
    )
    vocab_size: Annotated[int, 64, 100_000] = corpora(
        8192, "Vocabulary size", "Number of tokens (words and subwords) that the tokenizer learns from the corpus"
    )
    lowercase: bool = corpora(
        True, "Lowercase and strip accents", "Train an uncased model, which has fewer distinct words to learn"
    )
    tokenizer: str = corpora("", "Tokenizer", "Folder of an existing tokenizer, instead of training one", by=COMMAND)

    causal_share: Annotated[float, 0.0, 0.9] = sequences(
        0.0,
        "Causal-LM warm-up (fraction)",
        "Fraction at the start that trains next-token prediction: from random embeddings, MLM alone is slow to start",
    )
    causal_detour: Annotated[float, 0.0, 0.9] = sequences(
        0.0,
        "Causal-LM detour (fraction)",
        "With --init-from: fraction at the start that trains next-token prediction before MLM goes on",
        by=COMMAND,
    )
    mask_probability: Annotated[float, 0.01, 0.9] = sequences(
        0.3, "Masking probability", "Fraction of the tokens selected for prediction (the paper: 0.15)"
    )
    mask_probability_to: Annotated[float, 0.0, 1.0] = sequences(
        0.0,
        "Largest masking probability",
        "Draw each text's fraction between --mask-probability and this, as in masked diffusion; 0: all the same",
        by=COMMAND,
    )
    masking: Literal["dynamic", "static"] = sequences(
        "dynamic", "Static or dynamic masking", "New masks each epoch, or static: ten sets that repeat (Google's code)"
    )
    mask_split: Literal["80/10/10", "100/0/0", "80/20/0", "80/0/20"] = sequences(
        "80/10/10",
        "Mask / random / unchanged",
        "Percent of the selected tokens that become [MASK], a random token, or stay (the paper: 80/10/10)",
    )
    whole_word: bool = sequences(False, "Whole-word masking", "Mask all subwords of a word together")
    span_masking: bool = sequences(False, "Span masking", "Mask spans of up to ten adjacent words, as in SpanBERT")
    seq_len: Annotated[int, SHORTEST_SEQUENCE, 512] = sequences(
        128, "Max sequence length", "In tokens; longer sequences have more context and take more time"
    )
    short_seq_len: Annotated[int, 0, 512] = sequences(
        32, "Initial sequence length", "In tokens; shorter sequences train faster at first; 0 uses --seq-len throughout"
    )
    short_share: Annotated[float, 0.0, 1.0] = sequences(
        0.45, "Short-sequence phase (fraction)", "Fraction of the run that uses --short-seq-len"
    )
    short_seq_probability: Annotated[float, 0.0, 1.0] = sequences(
        0.1,
        "Short-sequence probability",
        "Fraction of examples cut at random, to train on short inputs too",
        by=COMMAND,
    )
    single_share: Annotated[float, 0.0, 1.0] = sequences(
        0.0,
        "Single-text examples (fraction)",
        "With NSP: fraction of the examples that are one text without a second, of one sentence or more",
        by=COMMAND,
    )
    balanced_pairs: bool = sequences(
        True,
        "Balanced pairs",
        "With NSP: as many true as random next sentences; off, as Google's code draws them, which has more random ones",
        by=COMMAND,
    )

    batch_size: Annotated[int, 1, 65_536] = optimization(
        16, "Batch size", "Sequences per optimizer step; larger batches are less noisy and slower"
    )
    optimizer: Literal["adamw", "muon"] = optimization(
        "muon", "Optimizer", "AdamW as in the paper, or Muon for the encoder's matrices and AdamW for the rest"
    )
    shallow_share: Annotated[float, 0.0, 0.95] = optimization(
        0.8, "Progressive stacking (fraction)", "Fraction of the run that trains a quarter, then half of the layers"
    )
    warmup: Annotated[float, 0.0, 0.9] = warmup_fraction(0.06)
    dropout: Annotated[float, 0.0, 0.9] = optimization(
        0.0, "Dropout", "Fraction of activations zeroed at random (the paper: 0.1)"
    )
    adam_beta2: Annotated[float, 0.5, 0.99999] = optimization(
        0.98, "Adam beta2", "Decay rate of AdamW's second-moment estimate (the paper: 0.999)", by=RECIPE
    )
    unigram_bias: bool = optimization(
        True, "Unigram bias", "Start the MLM head's bias at the log frequencies of the tokens, not at zero", by=COMMAND
    )
    word_vectors: bool = optimization(
        True,
        "Word vectors",
        "Start the word embeddings as word vectors counted in the text: tokens with the same neighbors are alike",
    )
    compile: bool = optimization(
        False, "Compile", "Use torch.compile: a minute before the first steps, then faster ones on a GPU", by=COMMAND
    )

    family: str = architecture(
        "bert", "Model family", "BERT, or what a later family changed in it (docs/families.md)", choices=FROM_SCRATCH
    )
    layers: Annotated[int | None, 1, 48] = architecture(None, "Layers", "Number of layers; if empty, those of --preset")
    heads: Annotated[int | None, 1, 64] = architecture(
        None, "Attention heads per layer", "Heads that split the hidden size equally; if empty, those of --preset"
    )
    share_layers: bool = architecture(
        False, "Parameter sharing across layers", "Same weights in all layers (ALBERT): fewer parameters, same compute"
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
    width_factor: Annotated[int, 1, 8] = architecture(
        1, "Width factor", "Widen the model of --init-from this many times first; predictions stay the same", by=COMMAND
    )
    generator_size: Annotated[float, 0.05, 1.0] = architecture(
        0.25, "Generator size", "Width of the generator of replaced-token detection, relative to the model", by=COMMAND
    )

    teacher: str = teaching(
        "", "Teacher", "Model to learn from, whose tokenizer is used (shipped, folder, hub id)", by=COMMAND
    )
    distillation: Literal["soft-targets", "relations"] = teaching(
        "soft-targets",
        "Distillation",
        "What the student learns from: soft MLM targets and hidden states (DistilBERT), or attention and value "
        "relations of the last layer (MiniLM)",
        by=COMMAND,
    )
    temperature: Annotated[float, 0.1, 100.0] = teaching(
        2.0, "Temperature", "Temperature of the soft targets", by=RECIPE
    )

    steps: Annotated[int | None, 1, 10_000_000] = reporting(
        None, "Steps", "Optimizer steps; if empty, --time-budget decides"
    )
    eval_every: Annotated[float, 0.1, 86_400.0] = reporting(
        15.0, "Evaluate every (s)", "Seconds between evaluations on the held-out set", by=COMMAND
    )
    probes: bool = reporting(
        True, "Minimal-pair probes", "Test in training whether the model prefers the right sentence of minimal pairs"
    )
    keep_checkpoints: Annotated[int, 1, 1000] = reporting(
        2, "Checkpoints kept", "Number of latest checkpoints to keep, besides the best", by=RECIPE
    )
    snapshot_room: Annotated[int, 0, 1_000_000] = snapshots(200)

    def __post_init__(self) -> None:
        super().__post_init__()
        title = FAMILIES[self.family].title
        if self.objective == "rtd" and self.family not in ("bert", "electra"):
            raise InputError(f'{title} is not trained by replaced-token detection: choose `family="electra"`.')
        given = "`init_from`" if self.init_from else "`teacher`" if self.teacher else ""
        if given and self.replaces_tokens:
            raise InputError(
                f'Replaced-token detection starts from scratch: leave {given} out or choose `objective="mlm"`.'
            )
        if self.family not in ("bert", "albert") and (self.objective == "mlm+sop" or self.share_layers):
            raise InputError(f'{title} has no sentence-order prediction or shared layers: choose `family="albert"`.')
        if self.init_from and self.family != "bert":
            raise InputError("`init_from` brings its model's family; leave `family` out.")
        if given and self.tokenizer:
            raise InputError(f"{given} brings its model's tokenizer; leave `tokenizer` out.")
        object.__setattr__(self, "add_vocabulary", str(self.add_vocabulary))
        if self.add_vocabulary and (not self.init_from or self.teacher):
            raise InputError("`add_vocabulary` adds to the vocabulary of a model that is trained on: use `init_from`.")
        if self.add_vocabulary.lstrip("-").isdecimal() and not 1 <= int(self.add_vocabulary) <= _MOST_ADDED:
            raise InputError(f"`add_vocabulary` is a number between 1 and {_MOST_ADDED:,}, or a file of words.")
        if self.causal_detour and (not self.init_from or self.teacher):
            raise InputError("`causal_detour` is for a model that is trained on: use `init_from`, or `causal_share`.")
        if self.width_factor > 1 and not self.init_from:
            raise InputError("`width_factor` makes a trained model wider; name it with `init_from`.")
        if 0 < self.short_seq_len < SHORTEST_SEQUENCE:
            least = f"at least {SHORTEST_SEQUENCE} tokens, or 0 for the same length throughout"
            raise InputError(f"`short_seq_len` is {self.short_seq_len}: choose {least}.")
        if self.streaming and (len(self.corpus) != 1 or not _holds_rows(self.corpus[0])):
            raise InputError(
                "`streaming` reads one data set: a Parquet or JSONL file, a folder of them, or dataset:NAME."
            )
        if self.streaming and self.documents != "auto":
            raise InputError("With `streaming` each row is a document; leave `documents` out.")
        if self.streaming and self.without:
            raise InputError("`without` leaves sentences out of a text that is prepared; leave `streaming` out.")
        if self.streaming and self.masking == "static":
            raise InputError("Static masking repeats passes over a text, which `streaming` has not; choose dynamic.")
        width = PRESETS[self.preset][1]
        if self.heads and width % self.heads:
            *others, last = (str(heads) for heads in (1, 2, 4, 8, 12, 16, 32) if width % heads == 0)
            wrong = f"`heads={self.heads}` does not divide the hidden size {width} of a {self.preset} model"
            raise InputError(f"{wrong}; choose {', '.join(others)} or {last}.")
        if 0 < self.mask_probability_to < self.mask_probability:
            raise InputError(f"`mask_probability_to` is at least `mask_probability`, {self.mask_probability}, or 0.")
        parse_duration(self.time_budget)

    @classmethod
    def of_recipe(cls, recipe: str = "lab", **given: Any) -> Self:
        """Return the settings of a recipe, with those given put in their place. Raises `InputError`."""
        return cls(**(RECIPES.get(recipe, {}) | given | {"recipe": recipe}))

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Self:
        """As `TrainingConfig.from_dict`; for older runs, what was not optional yet is as it was."""
        return super().from_dict(
            {"shallow_share": 0.0, "unigram_bias": False, "word_vectors": False, "balanced_pairs": False, **body}
        )

    @property
    def time_budget_seconds(self) -> float | None:
        """Length of the run in seconds, or None where the number of steps decides."""
        return None if self.steps is not None else parse_duration(self.time_budget)

    @property
    def added_pieces(self) -> int:
        """How many pieces the vocabulary gains at most; 0 where a file names the words, or none are added."""
        return int(self.add_vocabulary) if self.add_vocabulary.isdecimal() else 0

    def model_config(self, vocab_size: int) -> BertConfig:
        """Return the model this run trains, for the vocabulary its tokenizer turned out to have."""
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
        """Return the generator of replaced-token detection: a narrower `model` on the same embeddings (section 3.2)."""
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
    def mean_mask_probability(self) -> float:
        """Fraction of the tokens that is selected for prediction, over all texts."""
        return (self.mask_probability + max(self.mask_probability, self.mask_probability_to)) / 2

    @property
    def mask_shares(self) -> tuple[float, float]:
        """Of the chosen tokens the shares that become [MASK] and a random token; the others stay as they are."""
        masked, random, _ = (int(part) / 100 for part in self.mask_split.split("/"))
        return masked, random


def _holds_rows(entry: str) -> bool:
    """Return whether a corpus is read row by row: a data set, a table, or a folder of tables."""
    endings = (".parquet", ".jsonl", ".json", ".csv", ".tsv")
    return entry.startswith("dataset:") or Path(entry).suffix.lower() in endings or Path(entry).is_dir()
