"""Which of the lab's classes a checkpoint is: by the heads among its tensors, else by the name in its config.json."""

from torch import Tensor

from bertviz_lab.config import BertConfig
from bertviz_lab.errors import InputError
from bertviz_lab.model import (
    BertForMaskedLM,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForReplacedTokenDetection,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
)
from bertviz_lab.model.weight_names import place_of

#: The lab's classes by name; `Family.class_name` has that of transformers.
ARCHITECTURES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        BertModel,
        BertForPreTraining,
        BertForMaskedLM,
        BertForNextSentencePrediction,
        BertForReplacedTokenDetection,
        BertForSequenceClassification,
        BertForTokenClassification,
        BertForQuestionAnswering,
    )
}


def architecture_of(body: dict, state: dict[str, Tensor], config: BertConfig) -> type:
    """The class with every head that the weights have; published models name one head and hold two."""
    family = config.family

    def has(name: str) -> bool:
        return place_of(name, family.model_type).name in state

    mlm, pairs = has("mlm.bias"), family.pretraining in ("nsp", "sop") and has("nsp.weight")
    if mlm or (pairs and config.has_nsp):
        return BertForPreTraining if mlm and pairs else BertForMaskedLM if mlm else BertForNextSentencePrediction
    if family.pretraining == "rtd" and has("detector.output.weight"):
        return BertForReplacedTokenDetection
    named = (body.get("architectures") or [family.class_name("BertModel")])[0]
    kind = family.kind_name(str(named))
    if kind is None:
        known = [family.class_name(name) for name in ARCHITECTURES if family.kind_name(family.class_name(name)) == name]
        raise InputError(f"The lab cannot open a {named}; of {family.title} it opens {', '.join(known)}.")
    return ARCHITECTURES[kind]
