"""Every analysis takes whatever a person may paste, or says in one sentence why not."""

from collections.abc import Callable
from typing import Any

import pytest

from bertviz_lab import (
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    Checkpoint,
    InputError,
    interpret,
    load_checkpoint,
)
from bertviz_lab.data.probes import PROBES
from tests.little import little_checkpoint

AWKWARD = {
    "right to left, no spaces, combining marks": "مرحبا 你好世界 e\u0301\u0301",
    "emoji": "🙂 👩‍👩‍👧",
    "markup": "<img src=x onerror=alert(1)> {{7*7}} ${alert(1)} \\ `",
    "too long": "the red cat " * 300,
    "lone surrogate": "\ud800 red",
    "control characters": "a\x00\x07b",
}
ANALYSES: dict[str, Callable[[Checkpoint, str], Any]] = {
    "trace": lambda c, t: interpret.attention_scores(interpret.trace_text(c, t)),
    "embeddings": lambda c, t: interpret.embedding_sum(c, t).norms(),
    "similarity": lambda c, t: interpret.similarity(c, [t, "the red cat"]),
    "pseudo-log-likelihood": interpret.pseudo_log_likelihood,
    "masking": lambda c, t: interpret.masked_loss(c, interpret.mask_text(c.tokenizer, t, seed=0, max_length=64)),
    "draws": lambda c, t: interpret.masking_statistics(c.tokenizer, t, draws=10, seed=0),
    "next sentence": lambda c, t: interpret.next_sentence(c, "the red cat sat", t),
    "fill-mask": lambda c, t: interpret.fill_mask(c, f"[MASK] {t}"),
    "joint": lambda c, t: interpret.joint_fill(c, f"[MASK] {t}", beams=2),
    "lens": lambda c, t: interpret.logit_lens(c, f"[MASK] {t}"),
    "attribution": lambda c, t: interpret.attribute(c, f"[MASK] {t}"),
    "heads": lambda c, t: interpret.ablate_heads(c, f"[MASK] {t}"),
    "patching": lambda c, t: interpret.patch_activations(c, f"the [MASK] {t}"),
    "decomposition": lambda c, t: interpret.decompose_logit(c, f"[MASK] {t}"),
    "flow": interpret.information_flow,
}


@pytest.mark.parametrize("text", list(AWKWARD))
@pytest.mark.parametrize("analysis", list(ANALYSES))
def test_any_text_is_analysed(analysis: str, text: str) -> None:
    ANALYSES[analysis](little_checkpoint(), AWKWARD[text])


@pytest.mark.parametrize("analysis", list(ANALYSES))
def test_nothing_is_refused_or_has_its_masked_token(analysis: str) -> None:
    if analysis in ("fill-mask", "joint", "lens", "attribution", "heads", "patching", "decomposition"):
        ANALYSES[analysis](little_checkpoint(), "")  # the blank alone
        return
    with pytest.raises(InputError, match="Type"):
        ANALYSES[analysis](little_checkpoint(), "  ")


@pytest.mark.parametrize(
    ("analyze", "head"),
    [
        *((ANALYSES[name], "masked-LM") for name in ("pseudo-log-likelihood", "masking", "fill-mask", "joint", "lens")),
        *((ANALYSES[name], "masked-LM") for name in ("attribution", "heads", "patching", "decomposition")),
        (lambda c, t: interpret.probe(c), "masked-LM"),
        (lambda c, t: interpret.score_minimal_pairs(c, PROBES["english"].pairs[:1]), "masked-LM"),
        (ANALYSES["next sentence"], "next-sentence"),
        (interpret.classify, "classification"),
        (interpret.label_words, "token-classification"),
        (lambda c, t: interpret.answer_question(c, "who", t), "question-answering"),
    ],
)
def test_a_missing_head_is_named(analyze: Callable[[Checkpoint, str], Any], head: str) -> None:
    with pytest.raises(InputError, match=f"has no {head} head"):
        analyze(little_checkpoint(kind=BertModel), "the red cat sat")


FINETUNED: dict[str, tuple[type, Callable[[Checkpoint, str], Any]]] = {
    "classify": (BertForSequenceClassification, interpret.classify),
    "label words": (BertForTokenClassification, interpret.label_words),
    "answer": (BertForQuestionAnswering, lambda c, t: interpret.answer_question(c, "who sat", t)),
}
MORE: dict[str, Callable[[Checkpoint, str], Any]] = {
    "norms": interpret.norms_by_layer,
    "contexts": lambda c, t: interpret.compare_contexts(c, t, "a red dog", "red"),
    "search": lambda c, t: interpret.semantic_search(c, t, ["a dog"]),
    "compared": lambda c, t: interpret.compare_fill_mask([c], f"[MASK] {t}"),
    "attention compared": lambda c, t: interpret.compare_attention(c, c, t),
    "snapshot": interpret.analyze_snapshot,
    "probes": lambda c, t: interpret.probe(c, "tiny-town"),
}


@pytest.mark.parametrize("analysis", [name for name in ANALYSES if name != "draws"] + [*FINETUNED, *MORE])
def test_a_model_in_training_is_analyzed_in_evaluation_mode_and_left_in_training(analysis: str) -> None:
    kind, analyze = FINETUNED.get(analysis) or (BertForPreTraining, (ANALYSES | MORE).get(analysis))
    checkpoint = little_checkpoint(kind=kind)
    if analysis == "probes":
        checkpoint = load_checkpoint("tiny-town")
    modes: list[bool] = []
    for module in checkpoint.model.train().modules():
        module.register_forward_pre_hook(lambda module, _: modes.append(module.training))
    analyze(checkpoint, "the red cat sat")
    assert modes
    assert not any(modes)
    assert checkpoint.model.training
