"""BertViz Lab: train a small BERT on your own text, watch it learn, and look inside it."""

from bertviz_lab import interpret
from bertviz_lab.config import BertConfig, PretrainConfig
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
from bertviz_lab.training.checkpoint import Checkpoint, load_checkpoint, save_checkpoint

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
    "InputError",
    "PretrainConfig",
    "Tokenizer",
    "interpret",
    "load_checkpoint",
    "save_checkpoint",
]
