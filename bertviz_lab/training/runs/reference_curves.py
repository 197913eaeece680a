"""Reference curves: held-out losses of runs of the lab, to compare one's own run with.

`reference_runs.json` is written by `python -m benchmarks.reference_curves` and ships with the package. Held-out text is
masked by the paper's rule whatever a run trains with, so losses can be compared between settings; between vocabularies
they are compared as multiples of the unigram entropy. How long the text and the run are is known from its log, so
`ui/components/charts/reference_curves.js` chooses by these.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from bertviz_lab.config import PretrainConfig
from bertviz_lab.config.model import PRESETS
from bertviz_lab.config.options import options_of

FILE = Path(__file__).with_name("reference_runs.json")
#: The settings that bend a curve. Where some of them differ, the page names them.
COMPARED = (
    "objective algorithm lowercase tokenizer batch_size seq_len short_seq_len short_share short_seq_probability "
    "mask_probability mask_probability_to mask_split masking whole_word span_masking single_share balanced_pairs "
    "causal_share shallow_share unigram_bias word_vectors optimizer learning_rate warmup dropout weight_decay "
    "adam_beta2 max_grad_norm family heads share_layers segment_embeddings position_embeddings bidirectional"
).split()
_MOST_WARM_UP = 0.1  # that the causal-LM warm-up of a reference is longer or shorter, as a fraction of the run
_TOWN = "sample:tiny-town"
#: What the page calls their texts.
_TITLES = {"wiki_en": "Wikipedia", "classic_books": "novels", _TOWN: "Tiny Town"}
_LABELS = {option.name: option.metadata["label"] for option in options_of(PretrainConfig)}


@cache
def _kept() -> dict[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8"))


def references_for(config: PretrainConfig) -> dict[str, Any] | None:
    """Return the curves of runs of the same size on the same kind of text; None for a run that has no like.

    {"preset": ..., "curves": [...]}, each curve {text, text_tokens, unigram_entropy, points, differs, pairs}: points
    are (tokens seen, MLM loss, NSP loss), losses in nats; `differs` are the labels of the settings that are not those
    of the run; `pairs` says whether NSP losses can be compared. Only a masked language model that starts from random
    weights is compared, after a causal-LM warm-up about as long, and the generated stories of Tiny Town with themselves
    only.
    """
    if not config.starts_from_scratch:
        return None
    is_usual_depth = config.layers in (None, PRESETS[config.preset][0])
    curves = []
    for run in _kept()["runs"] if is_usual_depth else ():
        sample = run["text"] if run["text"].startswith("sample:") else ""
        if run["preset"] != config.preset or (sample not in config.corpus if sample else _TOWN in config.corpus):
            continue
        theirs = _kept()["defaults"] | run["settings"]
        if abs(config.causal_share - theirs["causal_share"]) > _MOST_WARM_UP:  # the losses fall elsewhere
            continue
        differing = [name for name in COMPARED if getattr(config, name) != theirs[name]]
        curve = {name: run[name] for name in ("text_tokens", "unigram_entropy", "points")}
        curve |= {"text": _TITLES[run["text"]], "differs": [_LABELS[name] for name in differing]}
        curves.append(curve | {"pairs": not {"objective", "balanced_pairs"} & {*differing}})
    return {"preset": config.preset, "curves": curves}
