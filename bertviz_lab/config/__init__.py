"""Every setting, declared once, checked on construction."""

from bertviz_lab.config.model import ACTIVATIONS, PRESETS, BertConfig
from bertviz_lab.config.options import parse_duration
from bertviz_lab.config.pretrain import RECIPES, PretrainConfig

__all__ = ["ACTIVATIONS", "PRESETS", "RECIPES", "BertConfig", "PretrainConfig", "parse_duration"]
