"""BERT from scratch, to be read in this order: `layers`, `embeddings`, `attention`, `encoder`, `bert`, `heads`,
`losses`. A `trace` holds what a layer computed, a `Patch` what replaces it; `weights` and `weight_names` read and
write Hugging Face's files.

The families that came after it are settings (docs/families.md); what they compute otherwise is in `families/`.

Tensors carry their shape as a suffix, one letter per dimension:

    B  examples in the batch        H  attention heads
    L  tokens of the sequence       K  size of one head (D = H x K)
    Q  query positions              F  width of the feed-forward layer
    D  hidden size                  V  vocabulary
    P  masked positions             C  classes

so `q_BHQK` holds, for each example and head, one vector of size K per query position. Usually Q = L; only the
last layer of pretraining has fewer queries (see `encoder.py`). The fields of a `LayerTrace` give theirs beside them.

Source: Devlin et al. 2018, "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding".
"""

from bertviz_lab.model.bert import BertModel, BertModelOutput
from bertviz_lab.model.families.replaced_tokens import BertForReplacedTokenDetection
from bertviz_lab.model.heads import (
    BertForMaskedLM,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
)
from bertviz_lab.model.trace import LayerTrace, Patch
