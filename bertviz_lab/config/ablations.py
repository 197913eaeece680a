"""The ablation study: short runs that differ from the full recipe in one component each.

Runs are matched by their settings: the full recipe and its ablations share text, seed, steps and everything but the
one change. Length is given in steps, not seconds, so that all see the same number of examples however busy the machine
is. None has a causal-LM warm-up, so that the causal ablation differs in its attention mask and not in its objective.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bertviz_lab.config.pretrain import PretrainConfig

#: The name of the full recipe, to which the ablations are compared.
WHOLE = "whole"
#: Differences in held-out accuracy below this count as no difference: a percentage point or two is noise.
SAME = 0.02
#: What a person may predict of an ablated run, compared with the full recipe.
PREDICTIONS = {"better": "better", "same": "about the same", "worse": "worse"}
#: Measure -> what it is called.
MEASURES = {"mlm_accuracy": "MLM accuracy", "nsp_accuracy": "NSP accuracy"}


@dataclass(frozen=True)
class Ablation:
    """One component removed or changed.

    Attributes:
        title: a few words.
        about: a sentence that says what is different.
        changes: the settings that are changed, by name.
        asks: the measures that a person predicts, keys of `MEASURES`.
        teaches: the explanation, shown after the outcome.
    """

    title: str
    about: str
    changes: Mapping[str, Any]
    asks: tuple[str, ...]
    teaches: str


_BOTH = ("mlm_accuracy", "nsp_accuracy")

#: Name -> what it removes or changes: the input first, then the objective, then the model.
ABLATIONS: dict[str, Ablation] = {
    "no-positions": Ablation(
        "No position embeddings",
        "The model does not know the order of the tokens: a sentence becomes a bag of words.",
        {"position_embeddings": False},
        _BOTH,
        "Self-attention is permutation-invariant: it takes a weighted mean, whatever the order of the tokens. Only the "
        "position embeddings tell “the dog bit the man” from “the man bit the dog”. Whether two sentences belong "
        "together mostly shows in their words, in any order.",
    ),
    "no-segments": Ablation(
        "No segment embeddings",
        "The model does not know which of the two sentences a token belongs to.",
        {"segment_embeddings": False},
        _BOTH,
        "The [SEP] between the sentences and the positions carry nearly the same information as the segment ids; "
        "RoBERTa does without them.",
    ),
    "causal": Ablation(
        "Causal attention",
        "A causal mask: each token attends only to itself and those before it, as in GPT.",
        {"bidirectional": False},
        _BOTH,
        "The right context often decides what a masked token is, and this model cannot see it. And [CLS] comes first: "
        "with nothing before it, it attends only to itself, so NSP gets the same answer for every pair and is right as "
        "often as that answer is the more frequent one. Causal models pool at the last token instead.",
    ),
    "no-nsp": Ablation(
        "No NSP",
        "MLM is the only pretraining objective; each example is one contiguous text, not two segments.",
        {"objective": "mlm"},
        ("mlm_accuracy",),
        "Its held-out examples are contiguous texts as well, while the others see pairs of which half do not belong "
        "together: part of the difference is in the examples. RoBERTa found NSP unnecessary for most tasks; what is "
        "lost is [CLS] as a summary of the pair.",
    ),
    "all-masks": Ablation(
        "100% [MASK]",
        "Every selected token is replaced by [MASK]: none by a random token, none left unchanged.",
        {"mask_split": "100/0/0"},
        _BOTH,
        "The 10% random and 10% unchanged tokens matter where there is no [MASK], as in fine-tuning: with them the "
        "model must keep a good representation of every token, since any might be wrong. Held-out text is masked "
        "80/10/10 here as for all, so that this model meets inputs it was never trained on.",
    ),
    "one-head": Ablation(
        "One head",
        "Single-head instead of multi-head attention, with as many parameters.",
        {"heads": 1},
        _BOTH,
        "One head has one attention pattern at a time: it has to mix attending to the neighbour, to the subject and to "
        "the other sentence. But there were two to begin with, not BERT's twelve, so little is lost; and most heads of "
        "a trained model can often be pruned (Michel et al. 2019).",
    ),
    "one-layer": Ablation(
        "One layer",
        "One layer instead of two: half the encoder's parameters.",
        {"layers": 1},
        _BOTH,
        "Some computations take two layers: an induction head finds an earlier occurrence of the current token, then "
        "copies what came next to it, which needs a second layer that reads what the first has written (Olsson et al. "
        "2022). That is learned late: where the full recipe does not copy colours yet, see its probes, one layer does "
        "as well.",
    ),
    "shared-layers": Ablation(
        "Shared parameters",
        "Both layers use the same weights, as in ALBERT: half the encoder's parameters, the same compute.",
        {"share_layers": True},
        _BOTH,
        "Depth and number of parameters are two things: a layer applied twice is still two layers deep. ALBERT saves "
        "memory this way, not time.",
    ),
}

#: How each of them is trained: Tiny Town's settings, nothing that depends on wall-clock time.
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
#: What may differ between runs of one study: it changes what is reported, not what is learned.
_ASIDE = "threads eval_every checkpoint_every keep_checkpoints snapshot_room tracker time_budget probes".split()


def ablated(name: str, *, steps: int = STEPS, seed: int = 0, threads: int = 0) -> PretrainConfig:
    """The settings of the full recipe, or of one of its ablations. Raises `InputError` for steps out of range."""
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
    """The settings, with those that do not affect the training at their defaults."""
    fields: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(config) if field.name in _ASIDE}
    return dataclasses.replace(config, **fields)
