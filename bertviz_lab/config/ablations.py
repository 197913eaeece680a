"""The recipe taken apart: short runs that differ from the whole recipe in one thing each.

What belongs together is known by its settings: the whole recipe and its ablations are equal in text, seed, steps and
all else but the one change. Steps, not seconds, decide how long they train, so that all see the same number of
examples however busy the machine is; and the part that reads forwards first, if there is one, stays as it is in all
of them, so that an ablation without looking ahead differs in what its tokens see and in nothing that it is asked.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bertviz_lab.config.pretrain import PretrainConfig

#: The name of the whole recipe, beside which the ablations are set.
WHOLE = "whole"
#: What a held-out accuracy may differ by and still count as about the same: a percentage point or two is luck.
SAME = 0.02
#: What a person may predict of an ablated run, as it compares with the whole recipe's.
PREDICTIONS = {"better": "better", "same": "about the same", "worse": "worse"}
#: Measure -> what it is called.
MEASURES = {"mlm_accuracy": "masked words", "nsp_accuracy": "next sentences"}


@dataclass(frozen=True)
class Ablation:
    """One thing that is done otherwise.

    Attributes:
        title: a few words.
        about: a sentence that says what is different.
        changes: the settings that are changed, by name.
        asks: the measures that a person predicts, keys of `MEASURES`.
        teaches: what is behind the outcome, told after it.
    """

    title: str
    about: str
    changes: Mapping[str, Any]
    asks: tuple[str, ...]
    teaches: str


_BOTH = ("mlm_accuracy", "nsp_accuracy")

#: Name -> what it leaves out or does otherwise; the parts of the input first, then the questions, then the model.
ABLATIONS: dict[str, Ablation] = {
    "no-positions": Ablation(
        "No positions",
        "The model is not told where a token stands: a sentence becomes a bag of words.",
        {"position_embeddings": False},
        _BOTH,
        "Attention itself knows no order: it takes a weighted mean, and a mean is the same in whatever order it is "
        "taken. The position embeddings are all that tells “the dog bit the man” from “the man bit the dog”. Whether "
        "two sentences belong together shows in their words already, in whatever order.",
    ),
    "no-segments": Ablation(
        "No segments",
        "The model is not told which of the two sentences a token is in.",
        {"segment_embeddings": False},
        _BOTH,
        "The [SEP] between the sentences and the positions tell nearly as much as the segment ids do; RoBERTa does "
        "without them.",
    ),
    "causal": Ablation(
        "Forwards only",
        "Each token sees those before it and nothing after it, as in GPT.",
        {"bidirectional": False},
        _BOTH,
        "What comes after a blank often decides it, and this model cannot see that. And [CLS] stands first: with "
        "nothing before it, it sees itself alone. A question that is answered from [CLS] gets the same answer for "
        "every pair, which is right as often as that answer is the commoner one. Models of this kind sum a text up "
        "at its last token instead.",
    ),
    "no-nsp": Ablation(
        "No next sentence",
        "Masked words are all that is asked; examples are one stretch of a story, not two pieces.",
        {"objective": "mlm"},
        ("mlm_accuracy",),
        "Its held-out examples are whole stretches as well, where the others read pairs of which half do not belong "
        "together: a part of the difference is in the examples. RoBERTa found the question dispensable for most tasks; "
        "what is lost is [CLS] as a summary of the pair.",
    ),
    "all-masks": Ablation(
        "100 % [MASK]",
        "Every token that is asked for stands as [MASK]: none is replaced by another, none left as it is.",
        {"mask_split": "100/0/0"},
        _BOTH,
        "The 10 % random and 10 % unchanged tokens matter where no [MASK] stands, as in fine-tuning: with them the "
        "model must keep a good vector of every token, since any might be wrong. Held-out text is masked 80/10/10 "
        "here as for all, so that this model meets questions it was never asked.",
    ),
    "one-head": Ablation(
        "One head",
        "One wide attention head in each layer in place of several narrow ones; as many weights.",
        {"heads": 1},
        _BOTH,
        "One head can look in one way at a time: it has to mix looking at the neighbour, at the subject and at the "
        "other sentence. But there were two to begin with, not BERT's twelve, so little is lost; and of trained heads "
        "most can often be cut (Michel et al. 2019).",
    ),
    "one-layer": Ablation(
        "One layer",
        "One layer in place of two: half the encoder's weights.",
        {"layers": 1},
        _BOTH,
        "One layer looks once. What takes two looks, such as first finding an earlier word like this one and then what "
        "stood beside it, needs a second layer that reads what the first has gathered (induction, Olsson et al. 2022). "
        "That is learnt late: where the whole recipe copies no colour yet, see its probes, one layer does as well.",
    ),
    "shared-layers": Ablation(
        "Shared layers",
        "Both layers have the same weights, as in ALBERT: half the encoder's weights, as much work.",
        {"share_layers": True},
        _BOTH,
        "Depth and number of weights are two things: the same layer applied twice still looks twice. ALBERT saves "
        "memory so, not time.",
    ),
}

#: How each of them is trained: Tiny Town's own settings, and nothing that is chosen by a clock.
_SETTINGS: dict[str, Any] = {
    "corpus": ("sample:tiny-town",),
    "preset": "tiny",
    "seq_len": 64,
    "short_seq_len": 32,
    "short_share": 0.25,
    "batch_size": 32,
    "causal_share": 0.0,
    "precision": "fp32",
    "eval_every": 3.0,
    "checkpoint_every": 30.0,
}
#: Steps of a run that takes about a minute on two idle cores.
STEPS = 2000
#: What may differ between runs that belong together: it changes what is reported, not what is learnt.
_ASIDE = (
    *(
        "threads",
        "eval_every",
        "checkpoint_every",
        "keep_checkpoints",
        "snapshot_room",
        "tracker",
        "time_budget",
        "probes",
    ),
)


def ablated(name: str, *, steps: int = STEPS, seed: int = 0, threads: int = 0) -> PretrainConfig:
    """The settings of the whole recipe, or of one of its ablations. Raises `InputError` for steps out of range."""
    changes = {} if name == WHOLE else dict(ABLATIONS[name].changes)
    return PretrainConfig(**(_SETTINGS | {"steps": steps, "seed": seed, "threads": threads} | changes))


def ablation_of(config: PretrainConfig) -> str | None:
    """Which of them a run's settings are, `WHOLE` among them; None for a run of another kind."""
    if config.steps is None or config.corpus != _SETTINGS["corpus"]:
        return None
    essence = _essence(config)
    for name in (WHOLE, *ABLATIONS):
        if _essence(ablated(name, steps=config.steps, seed=config.seed)) == essence:
            return name
    return None


def _essence(config: PretrainConfig) -> PretrainConfig:
    """The settings with those that decide nothing about what is learnt at their defaults."""
    fields: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(config) if field.name in _ASIDE}
    return dataclasses.replace(config, **fields)
