"""BertViz Lab: train a small BERT on your own text, watch it learn, and look inside it."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# Read when torch is loaded. Its threads wait for each other in a busy loop, by default so long that two trainings on
# two cores run thirty times slower than one alone. Shorter waits cost a tenth of the speed alone, a fifth where a small
# model is fine-tuned, and leave two trainings two fifths of it each.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
# oneDNN compiles a kernel for every shape of bf16 matrices, up to 0.6 MB each, and keeps 1024 by default. Fine-tuning
# on sentences of all lengths has about 450: with 128 they were compiled again and again, for a fifth of the time.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "512")

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

# Names are looked up when they are first used: torch takes seconds to import, and neither the page nor
# `--help` should wait for it.
_HOMES = {
    "config": ("BertConfig", "FinetuneConfig", "PretrainConfig"),
    "data.loaders": ("classification_batches", "mlm_batches"),
    "errors": ("InputError",),
    "model": (
        *("BertForMaskedLM", "BertForNextSentencePrediction", "BertForPreTraining", "BertForQuestionAnswering"),
        *("BertForSequenceClassification", "BertForTokenClassification", "BertModel"),
    ),
    "tokenization": ("Tokenizer",),
    "training.checkpoints.checkpoint": ("Checkpoint", "load_checkpoint", "save_checkpoint"),
    "training.finetuning.finetune": ("finetune",),
    "training.finetuning.predict": ("evaluate",),
    "training.pretraining.pretrain": ("pretrain",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = ["interpret", "show", *_HOME_OF]


def __getattr__(name: str) -> Any:
    if name in ("interpret", "show"):
        return import_module(f"bertviz_lab.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'bertviz_lab' has no attribute {name!r}")
    return getattr(import_module(f"bertviz_lab.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
