"""The recipes that are compared: the lab's own, and others that differ from it in one thing each."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

#: What all have in common: the lab's recipe as it was before this comparison.
SHARED: dict[str, Any] = {
    "recipe": "lab",
    "causal_share": 0.25,
    "mask_probability": 0.15,
    "shallow_share": 0.0,
    "unigram_bias": False,
    "word_vectors": False,
}


@dataclass(frozen=True)
class Variant:
    """A recipe: settings of `PretrainConfig`, and what can be tried besides."""

    name: str
    question: str  # what it is about: the variants of one question stand together in the table
    settings: dict[str, Any] = field(default_factory=dict)
    rate: float = 1.0  # of the learning rate that the lab has for the size of the model
    only: str = ""  # the model size that it is meant for, where it is not all
    shape: tuple[int, int, int] | None = None  # layers, hidden size, heads, where no preset has them
    schedule: str = "linear"  # of the learning rate, one of `training.SCHEDULES`
    continues_positions: bool = True  # where sequences become longer, as the lab does; else positions begin at random
    sinusoidal_positions: float = 0.0  # standard deviation of position embeddings that begin as sines; 0: random
    is_untied: bool = False  # the decoder is a table of its own, which begins as the word embeddings
    embedding_scale: float = 1.0  # of the word embeddings at the start, relative to positions and segments
    embedding_rate: float = 1.0  # learning rate of the embedding tables, in terms of the others'
    embedding_size: int = 0  # of word vectors that a matrix projects to the hidden size, as in ALBERT; 0: no matrix
    causal_throughout: float = 0.0  # fraction of all batches that ask for the next token, besides the warm-up
    prefers_rare_tokens: bool = False  # masks, which are as many as before
    predicts_bags: bool = False  # in causal batches each position predicts the next few tokens in any order, too
    weighs_layers: bool = False  # a layer reads a learned mixture of all before it
    simple_text: bool = False  # captions and novels are added to the text
    averaging: float = 0.0  # decay of an average of the weights over ten steps, which is then the model; 0 is none
    latest: int = 0  # the model is the mean of so many sets of weights, 1% of the run apart, as in LAWA; 0 is none
    optimizer: str = ""  # one of pytorch-optimizer in place of the lab's, with the options that follow
    optimizer_options: dict[str, Any] = field(default_factory=dict)
    #: From these fractions of the run on: "seq_len", "batch" (times the settings'), "mask_probability". A longer
    #: sequence comes in smaller batches, so that a step has as many tokens.
    changes: tuple[tuple[float, dict[str, float]], ...] = ()


BASE = Variant("lab", "base")
_TOGETHER: dict[str, Any] = {"mask_probability": 0.3, "shallow_share": 0.75, "causal_share": 0.2, "unigram_bias": True}

#: In the order in which they are run: what decides most comes first.
VARIANTS = (
    BASE,
    Variant("no causal warm-up", "causal warm-up", {"causal_share": 0.0}),
    Variant("causal for half of the run", "causal warm-up", {"causal_share": 0.5}),
    Variant("causal for 15% of the run", "causal warm-up", {"causal_share": 0.15}),
    Variant("AdamW", "optimizer", {"optimizer": "adamw"}),
    Variant("V 16,384", "vocabulary", {"vocab_size": 16384}),
    Variant("MLM only, no sentence pairs", "objective", {"objective": "mlm"}),
    Variant("30% masked", "masking", {"mask_probability": 0.3}),
    Variant("batch of 32", "batch size", {"batch_size": 32}),
    Variant("twice the learning rate", "learning rate", rate=2.0),
    Variant("distilled from wiki-mini", "distillation", {"objective": "mlm", "teacher": "wiki-mini"}, only="tiny"),
    Variant("128 tokens throughout", "sequence length", {"short_seq_len": 0}),
    Variant("positions beyond 32 begin at random", "sequence length", continues_positions=False),
    Variant("sinusoidal positions at the start", "positions", sinusoidal_positions=0.05),
    Variant("4 x 128", "shape", only="tiny", shape=(4, 128, 2)),
    Variant("V 30,522", "vocabulary", {"vocab_size": 30522}),
    Variant("warm-up, constant, decay (WSD)", "schedule", schedule="wsd"),
    Variant("V 4,096", "vocabulary", {"vocab_size": 4096}),
    Variant("cosine", "schedule", schedule="cosine"),
    Variant(
        "40%, 30%, 15% masked",
        "masking",
        changes=(
            (0.0, {"mask_probability": 0.4}),
            (0.5, {"mask_probability": 0.3}),
            (0.75, {"mask_probability": 0.15}),
        ),
    ),
    Variant("4 x 96", "shape", {"learning_rate": 2e-3}, only="tiny", shape=(4, 96, 3)),
    Variant("1 x 192", "shape", {"learning_rate": 2e-3}, only="tiny", shape=(1, 192, 3)),
    Variant(
        "batch of 8, 16, 32", "batch size", changes=((0.0, {"batch": 0.5}), (0.33, {"batch": 1}), (0.67, {"batch": 2}))
    ),
    Variant("replaced-token detection (RTD)", "objective", {"recipe": "electra"}),
    Variant("32, 128, then 512 tokens for a tenth", "sequence length", changes=((0.9, {"seq_len": 512}),)),
    Variant("weight averaging (EMA)", "averaging", averaging=0.98),
    Variant("half the learning rate", "learning rate", rate=0.5),
    Variant("sentence order (SOP)", "objective", {"objective": "mlm+sop"}),
    Variant("40% masked", "masking", {"mask_probability": 0.4}),
    Variant("32 tokens for 70%", "sequence length", {"short_share": 0.7}),
    Variant("4 x 256", "shape", {"preset": "mini"}, only="tiny"),
    Variant("batch of 8", "batch size", {"batch_size": 8}),
    Variant("weight averaging (EMA), WSD", "averaging", schedule="wsd", averaging=0.98),
    Variant("whole-word masking", "masking", {"whole_word": True}),
    Variant("Lion", "optimizer", rate=0.2, optimizer="Lion"),
    Variant("SOAP", "optimizer", optimizer="SOAP", optimizer_options={"max_precondition_dim": 512}),
    Variant("mean of the latest weights (LAWA)", "averaging", latest=6),
    Variant("mean of the latest weights (LAWA), WSD", "averaging", schedule="wsd", latest=6),
    Variant("disentangled attention (DeBERTa)", "architecture", {"family": "deberta-v2"}),
    Variant("pre-norm, RoPE and GeGLU (ModernBERT)", "architecture", {"family": "modernbert"}),
    Variant("span masking", "masking", {"span_masking": True}),
    Variant("30% masked, twice the learning rate", "together", {"mask_probability": 0.3}, rate=2.0),
    Variant("[MASK] only, no random tokens", "masking", {"mask_split": "100/0/0"}),
    Variant("dropout 0.1", "regularisation", {"dropout": 0.1}),
    Variant("weight decay 0.1", "regularisation", {"weight_decay": 0.1}),
    Variant("few layers for 75% (progressive stacking)", "layers", {"shallow_share": 0.75}),
    Variant("few layers for 50%", "layers", {"shallow_share": 0.5}),
    Variant("2 x 256", "shape", only="mini", shape=(2, 256, 4)),
    Variant("untied decoder", "embeddings", is_untied=True),
    Variant("word embeddings begin three times as large", "embeddings", embedding_scale=3.0),
    Variant("embeddings at three times the rate", "embeddings", embedding_rate=3.0),
    Variant("MLM bias begins as log token frequencies (unigram bias)", "embeddings", {"unigram_bias": True}),
    Variant("few layers for 75%, no causal warm-up", "layers", {"shallow_share": 0.75, "causal_share": 0.0}),
    Variant(
        "30% masked, few layers for 75%, causal for 20%",
        "together",
        {"mask_probability": 0.3, "shallow_share": 0.75, "causal_share": 0.2},
    ),
    Variant(
        "30% masked, few layers for 75%, causal for 20%, unigram bias",
        "together",
        _TOGETHER,
    ),
    Variant(
        "30% masked, few layers for 75%, causal for 20%, unigram bias, word vectors",
        "together",
        _TOGETHER | {"word_vectors": True},
    ),
    Variant(
        "30% masked, few layers for 75%, unigram bias, word vectors",
        "together",
        _TOGETHER | {"causal_share": 0.0, "word_vectors": True},
    ),
    Variant(
        "30% masked, few layers for 80%, unigram bias, word vectors (the lab since 2026-11-30)",
        "together",
        _TOGETHER | {"causal_share": 0.0, "shallow_share": 0.8, "word_vectors": True},
    ),
    Variant("word embeddings begin as word vectors of the text", "embeddings", {"word_vectors": True}),
    Variant("half of all batches causal (GPT-BERT)", "causal throughout", {"causal_share": 0.0}, causal_throughout=0.5),
    Variant(
        "an eighth of all batches causal (GPT-BERT)",
        "causal throughout",
        {"causal_share": 0.0},
        causal_throughout=0.125,
    ),
    Variant("warm-up, then an eighth causal", "causal throughout", causal_throughout=0.125),
    Variant("rare tokens masked more often (frequency-informed)", "masking", prefers_rare_tokens=True),
    Variant("15 to 40% of each text masked", "masking", {"mask_probability_to": 0.4}),
    Variant("bag of next tokens in the causal warm-up", "objective", predicts_bags=True),
    Variant("layers weighted (ELC-BERT)", "architecture", weighs_layers=True),
    Variant("V 30,522, factorized to 64", "vocabulary", {"vocab_size": 30522}, embedding_size=64),
    Variant("captions and novels added", "text", simple_text=True),
    Variant("6 x 80", "shape", {"learning_rate": 2e-3}, only="tiny", shape=(6, 80, 5)),
    Variant("8 x 64", "shape", {"learning_rate": 2e-3}, only="tiny", shape=(8, 64, 4)),
    Variant("6 x 208", "shape", only="mini", shape=(6, 208, 4)),
    Variant("8 x 176", "shape", only="mini", shape=(8, 176, 4)),
    Variant(
        "relations of wiki-mini distilled",
        "distillation",
        {"objective": "mlm", "teacher": "wiki-mini", "distillation": "relations"},
        only="tiny",
    ),
    # These two are compared with each other: the base begins with random weights.
    Variant("wiki-tiny trained on", "continued", {"init_from": "wiki-tiny"}, only="tiny"),
    Variant(
        "wiki-tiny trained on, causal for 20% (CLM detour)",
        "continued",
        {"init_from": "wiki-tiny", "causal_detour": 0.2},
        only="tiny",
    ),
)


def suited(preset: str, variants: Sequence[Variant] = VARIANTS) -> tuple[Variant, ...]:
    """The variants for a model size."""
    return tuple(variant for variant in variants if variant.only in ("", preset))
