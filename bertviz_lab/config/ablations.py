"""The ablation study: short runs that differ from the full recipe in one component each.

Runs are matched by their settings: the full recipe and its ablations share text, seed, steps and everything but the
one change. Length is given in steps, not seconds, so that all see the same number of examples however busy the machine
is. None has a causal-LM warm-up, so that the causal ablation differs in its attention mask and not in its objective.
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
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
    """One component removed or changed."""

    title: str  # a few words
    about: str  # a sentence that says what is different
    changes: Mapping[str, Any]  # settings by name
    asks: tuple[str, ...]  # the measures that a person predicts, keys of `MEASURES`
    teaches: str  # the explanation, shown after the outcome


#: Name -> what it removes or changes: the input first, then the objective, then the model. The texts are data.
ABLATIONS: dict[str, Ablation] = {
    name: Ablation(body["title"], body["about"], body["changes"], tuple(body["asks"]), body["teaches"])
    for name, body in json.loads(Path(__file__).with_name("ablations.json").read_text(encoding="utf-8")).items()
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
    "shallow_share": 0.0,
    "unigram_bias": False,
    "word_vectors": False,
    "precision": "fp32",
    "eval_every": 3.0,
    "checkpoint_every": 30.0,
}
#: Steps of a run that takes about a minute on two idle cores.
STEPS = 2000
#: What may differ between runs of one study: it changes what is reported, not what is learned.
_ASIDE = "threads eval_every checkpoint_every keep_checkpoints snapshot_room tracker time_budget probes".split()


def ablated(name: str, *, steps: int = STEPS, seed: int = 0, threads: int = 0) -> PretrainConfig:
    """Return the settings of the full recipe or of an ablation. Raises `InputError` for steps out of range."""
    changes = {} if name == WHOLE else dict(ABLATIONS[name].changes)
    return PretrainConfig(**(_SETTINGS | {"steps": steps, "seed": seed, "threads": threads} | changes))


def ablation_of(config: PretrainConfig) -> str | None:
    """Return which of them a run's settings are, `WHOLE` among them; None for a run of another kind."""
    if config.steps is None or config.corpus != _SETTINGS["corpus"]:
        return None
    essence = _essence(config)
    for name in (WHOLE, *ABLATIONS):
        if _essence(ablated(name, steps=config.steps, seed=config.seed)) == essence:
            return name
    return None


def _essence(config: PretrainConfig) -> PretrainConfig:
    """Return the settings, each option that does not affect training reset to its default."""
    fields: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(config) if field.name in _ASIDE}
    return dataclasses.replace(config, **fields)
