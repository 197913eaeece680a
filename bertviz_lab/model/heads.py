"""The tasks: one thin head each on the shared backbone (section 3.1 for pretraining, figure 4 for the rest).

`options` of a forward pass are the other arguments of `BertModel`, passed on unchanged.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.model.bert import BertModel, BertModelOutput
from bertviz_lab.model.layers import ACTIVATION_FUNCTIONS, LayerNorm, Linear, dropout, initialize
from bertviz_lab.model.losses import cross_entropy, label_loss, span_loss


@dataclass(frozen=True, kw_only=True)
class LogitsOutput(BertModelOutput):
    """One array of logits, (batch, classes) or (batch, tokens, classes), and the loss if there were labels."""

    loss: Tensor | None
    logits: Tensor


@dataclass(frozen=True, kw_only=True)
class PreTrainingOutput(BertModelOutput):
    """Both pretraining tasks; `loss` is the sum of the two means."""

    loss: Tensor | None
    prediction_logits: Tensor  # (batch, tokens or masked positions, vocabulary)
    seq_relationship_logits: Tensor  # (batch, 2): is next, is random
    mlm_loss: Tensor | None
    nsp_loss: Tensor | None


def token_logits(out: PreTrainingOutput | LogitsOutput) -> Tensor:
    """Return the masked-LM logits, which Hugging Face names otherwise where the model has an NSP head too."""
    return out.prediction_logits if isinstance(out, PreTrainingOutput) else out.logits


@dataclass(frozen=True, kw_only=True)
class QuestionAnsweringOutput(BertModelOutput):
    """Scores for each token to be the first or the last of the answer, each (batch, tokens)."""

    loss: Tensor | None
    start_logits: Tensor
    end_logits: Tensor


class MaskedLMHead(nn.Module):
    """Dense, activation, LayerNorm, then the word-embedding table itself as the decoder, with its own bias."""

    def __init__(self, config: BertConfig):
        super().__init__()
        size = config.embedding_size or config.hidden_size
        self.transform = Linear(config.hidden_size, size, config.classifier_bias)
        self.norm = LayerNorm(size, config.layer_norm_eps, bias=config.norm_bias)
        self.bias = nn.Parameter(torch.empty(config.vocab_size)) if config.decoder_bias else None
        self.activation = config.mlm_act or config.hidden_act

    def forward(self, hidden_BLD: Tensor, word_VD: Tensor) -> Tensor:
        x_BLD = self.norm(ACTIVATION_FUNCTIONS[self.activation](self.transform(hidden_BLD)))
        return F.linear(x_BLD, word_VD, self.bias)


class BertHead(nn.Module):
    """A task on a backbone: each adds its own parameters, and says whether it uses the pooled [CLS]."""

    pooling = False

    def __init__(self, config: BertConfig, *, num_labels: int | None = None, generator: torch.Generator | None = None):
        """Build the model; `num_labels` replaces that of `config`."""
        super().__init__()
        if num_labels not in (None, config.num_labels):
            config = config.replace(num_labels=num_labels, id2label=())
        self.config = config
        self.bert = BertModel(config, add_pooling_layer=self.pooling, generator=generator)
        self.add_head(config)
        for child in self.children():
            if child is not self.bert:
                initialize(child, config.initializer_range, generator)

    def add_head(self, config: BertConfig) -> None:
        raise NotImplementedError

    def drop(self, x: Tensor) -> Tensor:
        """Apply dropout before a fine-tuning classifier: `classifier_dropout`, else the hidden dropout."""
        return dropout(x, self.config.head_dropout, self.training)


class BertForPreTraining(BertHead):
    """Masked language modeling and next-sentence prediction together (section 3.1)."""

    pooling = True

    def add_head(self, config: BertConfig) -> None:
        self.mlm = MaskedLMHead(config)
        self.nsp = Linear(config.hidden_size, 2)

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        labels: Tensor | None = None,
        next_sentence_label: Tensor | None = None,
        **options: Any,
    ) -> PreTrainingOutput:
        """Predict masked tokens and whether B follows A.

        `labels` (batch, tokens): the true id at predicted positions, -100 elsewhere. `next_sentence_label`
        (batch,): 0 is next, 1 is random. With `masked_positions` (batch, P) only those are predicted, and `labels`
        and `prediction_logits` are (batch, P, ...): the same loss and gradients for a fraction of the work.
        """
        out = self.bert(input_ids, attention_mask, token_type_ids, **options)
        logits = self.mlm(out.last_hidden_state, self.bert.embeddings.word.weight)
        next_logits = self.nsp(out.pooler_output)
        mlm_loss = None if labels is None else cross_entropy(logits, labels)
        nsp_loss = None if next_sentence_label is None else cross_entropy(next_logits, next_sentence_label)
        parts = [part for part in (mlm_loss, nsp_loss) if part is not None]
        return PreTrainingOutput(
            **vars(out),
            loss=torch.stack(parts).sum() if parts else None,
            prediction_logits=logits,
            seq_relationship_logits=next_logits,
            mlm_loss=mlm_loss,
            nsp_loss=nsp_loss,
        )


class LabelHead(BertHead):
    """A task with one set of labels: logits from the backbone's output, and a loss against the labels."""

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        return cross_entropy(logits, labels)

    def logits(self, out: BertModelOutput) -> Tensor:
        raise NotImplementedError

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        labels: Tensor | None = None,
        **options: Any,
    ) -> LogitsOutput:
        """Return logits, and the loss if there are `labels`, (batch[, tokens]); -100 marks no label."""
        out = self.bert(input_ids, attention_mask, token_type_ids, **options)
        logits = self.logits(out)
        loss = None if labels is None else self.loss(logits, labels)
        return LogitsOutput(**vars(out), loss=loss, logits=logits)


class BertForMaskedLM(LabelHead):
    """Predict masked tokens only (task 1 of section 3.1); logits and labels as in `BertForPreTraining`."""

    def add_head(self, config: BertConfig) -> None:
        self.mlm = MaskedLMHead(config)

    def logits(self, out: BertModelOutput) -> Tensor:
        return self.mlm(out.last_hidden_state, self.bert.embeddings.word.weight)


class BertForNextSentencePrediction(LabelHead):
    """Tell whether B follows A (task 2 of section 3.1): logits (batch, 2), class 0 is next, class 1 is random."""

    pooling = True

    def add_head(self, config: BertConfig) -> None:
        self.nsp = Linear(config.hidden_size, 2)

    def logits(self, out: BertModelOutput) -> Tensor:
        return self.nsp(out.pooler_output)


class BertForSequenceClassification(LabelHead):
    """One label for a text or a pair, from the pooled [CLS]: logits (batch, labels)."""

    pooling = True

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """By the config's `problem_type` cross-entropy, mean squared error or multi-label: see `label_loss`."""
        return label_loss(logits, labels, self.config.problem_type)

    def add_head(self, config: BertConfig) -> None:
        self.classifier = Linear(config.hidden_size, config.num_labels)

    def logits(self, out: BertModelOutput) -> Tensor:
        assert out.pooler_output is not None
        return self.classify(out.pooler_output)

    def classify(self, pooled_BD: Tensor) -> Tensor:
        """Return logits (batch, labels) of pooled vectors (batch, hidden)."""
        return self.classifier(self.drop(pooled_BD))


class ClassifierTransform(nn.Module):
    """Dense, activation, LayerNorm before a classifier of tokens, in families with `classifier_transform`."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.dense = Linear(config.hidden_size, config.hidden_size, config.classifier_bias)
        self.norm = LayerNorm(config.hidden_size, config.layer_norm_eps, bias=config.norm_bias)
        self.activation = config.pooler_act

    def forward(self, hidden_BLD: Tensor) -> Tensor:
        return self.norm(ACTIVATION_FUNCTIONS[self.activation](self.dense(hidden_BLD)))


class BertForTokenClassification(LabelHead):
    """One label for each token, from its own hidden state: logits (batch, tokens, labels)."""

    def add_head(self, config: BertConfig) -> None:
        self.transform = ClassifierTransform(config) if config.classifier_transform else nn.Identity()
        self.classifier = Linear(config.hidden_size, config.num_labels)

    def logits(self, out: BertModelOutput) -> Tensor:
        return self.classify(out.last_hidden_state)

    def classify(self, hidden_BLD: Tensor) -> Tensor:
        """Return logits (..., labels) of final hidden states (..., hidden)."""
        return self.classifier(self.drop(self.transform(hidden_BLD)))


class BertForQuestionAnswering(BertHead):
    """Find the answer in a passage: a score for each token to be its start, and one to be its end."""

    def add_head(self, config: BertConfig) -> None:
        self.transform = ClassifierTransform(config) if config.classifier_transform else nn.Identity()
        self.answer = Linear(config.hidden_size, 2)

    def classify(self, hidden_BLD: Tensor) -> Tensor:
        """Return (..., 2): the scores of final hidden states (..., hidden) as an answer's start and end."""
        return self.answer(self.transform(hidden_BLD))

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
        **options: Any,
    ) -> QuestionAnsweringOutput:
        """Start and end logits (batch, tokens); `start_positions` and `end_positions` (batch,) index tokens."""
        out = self.bert(input_ids, attention_mask, token_type_ids, **options)
        start_BL, end_BL = self.classify(out.last_hidden_state).unbind(-1)
        loss = None
        if start_positions is not None and end_positions is not None:
            loss = span_loss(start_BL, end_BL, start_positions, end_positions)
        return QuestionAnsweringOutput(**vars(out), loss=loss, start_logits=start_BL, end_logits=end_BL)
