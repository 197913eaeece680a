"""Every setting, declared once, checked on construction.

In reading order: `model` (the shape of a BERT; `family` and `families`, those that came after it), `options` (what a
setting needs besides its value, and what all runs share), `pretrain`, `finetune`, `ablations` (settings of the ablation
study), `limits` (what visitors of a page may use), `shipped` (where the models that ship are).
"""

from bertviz_lab.config.ablations import ABLATIONS, Ablation, ablated, ablation_of
from bertviz_lab.config.finetune import FinetuneConfig
from bertviz_lab.config.model import ACTIVATIONS, IGNORE_INDEX, PRESETS, BertConfig
from bertviz_lab.config.options import SHORTEST_SEQUENCE, parse_duration
from bertviz_lab.config.pretrain import RECIPES, PretrainConfig
from bertviz_lab.config.shipped import SHIPPED

#: The settings of a run, whatever it does.
RunConfig = PretrainConfig | FinetuneConfig


def run_config(body: dict) -> RunConfig:
    """The settings in a run's `config.json`. Raises `InputError` where a value is out of range."""
    return FinetuneConfig.from_dict(body) if body.get("kind") == "finetune" else PretrainConfig.from_dict(body)
