"""Every setting, declared once, checked on construction.

In reading order: `model` (the shape of a BERT), `families` (the models that followed it), `family_notes` (how they
differ from BERT, in sentences), `options` (what a setting needs besides its value, and what all runs share),
`pretrain`, `finetune`, `ablations` (settings of the ablation study), `limits` (what visitors of a page may use),
`cores` (the number of CPU cores). Here: which models ship, and where they are.
"""

from pathlib import Path

from bertviz_lab.config.ablations import ABLATIONS, Ablation, ablated, ablation_of
from bertviz_lab.config.finetune import FinetuneConfig
from bertviz_lab.config.model import ACTIVATIONS, IGNORE_INDEX, PRESETS, BertConfig
from bertviz_lab.config.options import SHORTEST_SEQUENCE, parse_duration
from bertviz_lab.config.pretrain import RECIPES, PretrainConfig

_PACKAGE = Path(__file__).resolve().parents[1]
_INSTALLED = _PACKAGE / "checkpoints"  # setup.py maps the checkout's folder here

#: The Hugging Face folders of the shipped models: in the installed package, or in `checkpoints/` of a checkout.
SHIPPED = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent / "checkpoints"

#: The order in which shipped models are offered; the page begins with the first that is there.
_OFFERED = (
    *("wiki-mini", "wiki-small", "wiki-tiny", "tiny-town", "tiny-town-mask-only", "tiny-town-writer"),
    *("sentiment-mini", "emotions-mini", "entities-mini", "answers-mini", "answers-town", "embed-mini"),
)

#: The settings of a run, whatever it does.
RunConfig = PretrainConfig | FinetuneConfig


def shipped_models(folder: Path = SHIPPED) -> tuple[str, ...]:
    """Return the names of the models in the folder of shipped ones, in the order in which they are offered."""
    names = sorted(path.parent.name for path in folder.glob("*/config.json"))
    return tuple(sorted(names, key=lambda name: _OFFERED.index(name) if name in _OFFERED else len(_OFFERED)))


def run_config(body: dict) -> RunConfig:
    """Return the settings in a run's `config.json`. Raises `InputError` where a value is out of range."""
    return FinetuneConfig.from_dict(body) if body.get("kind") == "finetune" else PretrainConfig.from_dict(body)
