"""BERT from scratch, to be read in this order: layers, embeddings, attention, encoder, bert, heads, losses.

Tensors carry their shape as a suffix, one letter a dimension:

    B  examples in the batch        H  attention heads
    L  tokens of the sequence       K  size of one head (D = H x K)
    Q  tokens that ask (queries)    F  width of the feed-forward layer
    D  hidden size                  V  vocabulary
    P  positions to be predicted    C  classes

so `q_BHQK` holds, for each example and head, one vector of size K for every asking token. Almost always
Q = L; only the last layer of pretraining asks for fewer (see `encoder.py`).

Source: Devlin et al. 2018, "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding".
"""

from bertviz_lab.model.bert import BertModel, BertModelOutput
from bertviz_lab.model.heads import (
    BertForMaskedLM,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
)
from bertviz_lab.model.trace import LayerTrace

__all__ = [
    "BertForMaskedLM",
    "BertForNextSentencePrediction",
    "BertForPreTraining",
    "BertForQuestionAnswering",
    "BertForSequenceClassification",
    "BertForTokenClassification",
    "BertModel",
    "BertModelOutput",
    "LayerTrace",
]
