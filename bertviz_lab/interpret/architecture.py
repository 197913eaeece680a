"""What a model consists of, in the order of computation: the facts that its picture is drawn from, and its code.

The picture is that of Vaswani et al. 2017, figure 1 (left), and of Devlin et al. 2018, figures 1 and 2.
"""

import inspect
import pkgutil
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from bertviz_lab.config import family_notes
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

#: The parts of the picture: the code that computes each, as "module:name" within the package, and an expression that
#: finds its lines in there; "" where it is all of them.
CODE: dict[str, tuple[str, str]] = {
    "text": ("interpret.inputs:encode_inputs", ""),
    "tokens": ("tokenization.tokenizer:Tokenizer.encode", ""),
    "embeddings": ("model.embeddings:Embeddings.forward", r"sum_BLD|self\.norm|self\.projection"),
    "layers": ("model.encoder:Encoder.forward", r"for index in|hidden_BLD = layer\("),
    "layer": ("model.encoder:EncoderLayer.forward", ""),
    "attention": ("model.encoder:EncoderLayer.forward", r"self\.attention\("),
    "residual": ("model.encoder:EncoderLayer.forward", r"= \w+_BQD \+ "),
    "norm": ("model.encoder:EncoderLayer.forward", r"_norm\((x|attention|output)_"),
    "feed_forward": ("model.encoder:EncoderLayer.expand", ""),
    "final_norm": ("model.bert:BertModel.as_final", ""),
    "projections": ("model.attention:SelfAttention.forward", r"_split_heads\("),
    "positions": ("model.attention:SelfAttention.forward", r"self\.positions|bias_BHQL is not None:|\+ bias_BHQL"),
    "scores": ("model.attention:SelfAttention.forward", r"scores_BHQL = \(q"),
    "weights": ("model.attention:SelfAttention.forward", r"masked_fill|softmax"),
    "context": ("model.attention:SelfAttention.forward", r"@ v_BHLK"),
    "output": ("model.attention:SelfAttention.forward", r"self\.output\("),
    "mlm": ("model.heads:MaskedLMHead.forward", ""),
    "pooler": ("model.bert:BertModel.pool", r"pooled_BD ="),
    "nsp": ("model.heads:BertForPreTraining.forward", r"self\.nsp\("),
}
_POSITIONS = {
    "rotary": "model.families.rotary:turn_states",
    "disentangled": "model.families.disentangled:DisentangledAttention.forward",
    "relative_bias": "model.families.relative_bias:RelativeBias.forward",
}
Task = Literal["classification", "tokens", "qa", "rtd", "embedding", ""]
_TASKS: dict[str, Task] = {
    "BertForSequenceClassification": "classification",
    "BertForTokenClassification": "tokens",
    "BertForQuestionAnswering": "qa",
    "BertForReplacedTokenDetection": "rtd",
}


@dataclass(frozen=True)
class Source:
    """The source text of a function or class, as it is in the package."""

    file: str  # from the repository's root
    name: str
    line: int  # of its first line in the file, from 1
    text: str


@dataclass(frozen=True)
class Code:
    """The code of a part: one of the `sources` of an `Architecture`, and the lines in it, from 0, that compute it."""

    source: str
    marked: tuple[int, ...]


@dataclass(frozen=True)
class Architecture:
    """What a model consists of; sizes have the letters of `bertviz_lab.model` in their comments."""

    name: str
    family: str
    tokenizer: str  # "WordPiece", "BPE" or "Unigram"
    layers: int
    heads: int  # H
    hidden: int  # D
    head_size: int  # K
    feed_forward: int  # F
    vocabulary: int  # V
    embedding_size: int  # of factorized embeddings; the hidden size where there are none
    has_positions: bool  # whether position embeddings are added to the input
    has_segments: bool
    positions: Literal["absolute", "rotary", "disentangled", "relative_bias"]
    is_prenorm: bool
    is_causal: bool
    is_shared: bool  # whether all layers are one (ALBERT)
    is_gated: bool
    activation: str
    windows: tuple[int | None, ...]  # of each layer's local attention
    has_mlm: bool
    pooler: str  # its activation, "" where there is none
    pooling: str  # what a text's vector is made of: "cls", "mean" ...
    pair_objective: Literal["nsp", "sop", ""]  # of the head over a pair
    task: Task
    labels: tuple[str, ...]  # of the task
    differences: tuple[str, ...]  # from BERT, in sentences
    code: Mapping[str, Code]  # of each part
    sources: Mapping[str, Source]  # by "module:name" within the package


def describe_architecture(checkpoint: Checkpoint) -> Architecture:
    """Describe the architecture of a model by its configuration, its heads, and the code that computes each part."""
    config, model = checkpoint.config, checkpoint.model
    has_pair = hasattr(model, "nsp")
    task: Task = _TASKS.get(checkpoint.kind, "embedding" if checkpoint.pooling else "")
    places = dict(CODE)
    if config.position_embedding_type != "absolute":
        places["positions"] = (_POSITIONS[config.position_embedding_type], "")
    if task and task != "embedding":
        places["task"] = (f"model:{checkpoint.kind}", "")
    sources = {place: _source(place) for place, _ in places.values()}
    return Architecture(
        name=checkpoint.name,
        family=config.family.title,
        tokenizer={"wordpiece": "WordPiece", "bpe": "BPE", "unigram": "Unigram"}[checkpoint.tokenizer.algorithm],
        layers=config.num_hidden_layers,
        heads=config.num_attention_heads,
        hidden=config.hidden_size,
        head_size=config.head_size,
        feed_forward=config.intermediate_size,
        vocabulary=config.vocab_size,
        embedding_size=config.embedding_size or config.hidden_size,
        has_positions=config.position_biased_input,
        has_segments=config.has_segments,
        positions=config.position_embedding_type,
        is_prenorm=config.is_prenorm,
        is_causal=config.is_decoder,
        is_shared=config.share_layers,
        is_gated=config.gated_feed_forward,
        activation=config.hidden_act,
        windows=config.windows,
        has_mlm=hasattr(model, "mlm"),
        pooler=config.pooler_act if getattr(model, "pooling", False) else "",
        pooling=checkpoint.pooling or config.classifier_pooling,
        pair_objective=("sop" if config.has_sop else "nsp") if has_pair else "",
        task=task,
        labels=config.labels if hasattr(model, "classifier") else (),
        differences=family_notes.differences(config),
        code={part: Code(place, _matching(sources[place].text, lines)) for part, (place, lines) in places.items()},
        sources=sources,
    )


@cache
def _source(place: str) -> Source:
    function = pkgutil.resolve_name(f"bertviz_lab.{place}")
    lines, first = inspect.getsourcelines(function)
    file = inspect.unwrap(function).__module__.replace(".", "/")
    return Source(f"{file}.py", place.split(":")[1], first, textwrap.dedent("".join(lines)).rstrip())


def _matching(text: str, lines: str) -> tuple[int, ...]:
    """Return the lines that match an expression, counted from 0; none for an empty expression."""
    return tuple(at for at, line in enumerate(text.splitlines()) if lines and re.search(lines, line))
