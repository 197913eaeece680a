"""BertViz Lab: train a small BERT on your own text, watch it learn, and look inside it."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# Read when torch is loaded. Its threads wait for each other in a busy loop, by default so long that two trainings on
# two cores run thirty times slower than one alone. Shorter waits cost a tenth of the speed alone, and leave two
# trainings two fifths of it each.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

if TYPE_CHECKING:
    from bertviz_lab import interpret, show
    from bertviz_lab.config import BertConfig, FinetuneConfig, PretrainConfig
    from bertviz_lab.data.loaders import classification_batches, mlm_batches
    from bertviz_lab.errors import InputError
    from bertviz_lab.model import (
        BertForMaskedLM,
        BertForNextSentencePrediction,
        BertForPreTraining,
        BertForQuestionAnswering,
        BertForSequenceClassification,
        BertForTokenClassification,
        BertModel,
    )
    from bertviz_lab.tokenization import Tokenizer
    from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
    from bertviz_lab.training.finetuning.finetune import finetune
    from bertviz_lab.training.finetuning.predict import evaluate
    from bertviz_lab.training.pretraining.pretrain import pretrain

__all__ = [
    "BertConfig",
    "BertForMaskedLM",
    "BertForNextSentencePrediction",
    "BertForPreTraining",
    "BertForQuestionAnswering",
    "BertForSequenceClassification",
    "BertForTokenClassification",
    "BertModel",
    "Checkpoint",
    "FinetuneConfig",
    "InputError",
    "PretrainConfig",
    "Tokenizer",
    "classification_batches",
    "evaluate",
    "finetune",
    "interpret",
    "load_checkpoint",
    "mlm_batches",
    "pretrain",
    "save_checkpoint",
    "show",
]

# Names are looked up when they are first used: torch takes seconds to import, and neither the page nor
# `--help` should wait for it.
_HOMES = {
    "config": ("BertConfig", "FinetuneConfig", "PretrainConfig"),
    "data.loaders": ("classification_batches", "mlm_batches"),
    "errors": ("InputError",),
    "tokenization": ("Tokenizer",),
    "training.finetuning.predict": ("evaluate",),
    "training.finetuning.finetune": ("finetune",),
    "training.pretraining.pretrain": ("pretrain",),
    "training.checkpoints.checkpoint": ("Checkpoint", "load_checkpoint", "save_checkpoint"),
}


def __getattr__(name: str) -> Any:
    if name in ("interpret", "show"):
        return import_module(f"bertviz_lab.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'bertviz_lab' has no attribute {name!r}")
    home = next((home for home, names in _HOMES.items() if name in names), "model")
    return getattr(import_module(f"bertviz_lab.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
