"""What a prediction is caused by: patching, decomposition and flow, against `transformers` and planted truths."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from bertviz_lab import (
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    Checkpoint,
    InputError,
    interpret,
)
from bertviz_lab.interpret import COMPONENTS, FLOW_METHODS, Cell, Direction, Target
from tests.family_checkpoints import MODEL_TYPES, family_checkpoint
from tests.interpret.test_planted import COPY, PLANTED, question
from tests.little import little_checkpoint
from tests.model.support import PRETRAINING, as_huggingface, random_checkpoint

TEXT, OTHER = "the red [MASK] sat on the mat", "the old [MASK] sat on the mat"
KINDS = {
    "token": (BertForPreTraining, (TEXT, None)),
    "next": (BertForNextSentencePrediction, ("the red cat sat", "a small dog ran")),
    "label": (BertForSequenceClassification, ("the red cat sat", None)),
    "word": (BertForTokenClassification, ("the red cat sat", None)),
    "start": (BertForQuestionAnswering, ("the red cat", "a small dog ran")),
}


def model_of(kind: str = "token", **shape: Any) -> Checkpoint:
    """A model whose every parameter is at random, biases and LayerNorms too."""
    return random_checkpoint(kind=KINDS[kind][0], **shape)


def target_of(checkpoint: Checkpoint, kind: Any) -> Target:
    return interpret.choose_target(checkpoint, interpret.encode_inputs(checkpoint, *KINDS[kind][1]), kind)


@contextmanager
def hook(module: nn.Module, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Change what a module of `transformers` returns."""

    def changed(module: nn.Module, arguments: Any, output: Any) -> Any:
        return (change(output[0]), *output[1:]) if isinstance(output, tuple) else change(output)

    handle = module.register_forward_hook(changed)
    try:
        yield
    finally:
        handle.remove()


# ---- activation patching


@torch.no_grad()
@pytest.mark.parametrize("direction", ["denoising", "noising"])
def test_every_cell_is_what_hooks_on_transformers_make_of_it(direction: Direction) -> None:
    checkpoint = model_of()
    theirs, target = as_huggingface(PRETRAINING, checkpoint.model), target_of(checkpoint, "token")
    corruption = interpret.corruption_of(checkpoint, TEXT, None, OTHER)
    found = interpret.patch_activations(checkpoint, TEXT, target=target, corruption=corruption, direction=direction)
    clean, corrupted = (interpret.encode_inputs(checkpoint, text).arguments() for text in (TEXT, OTHER))
    base, source = (corrupted, clean) if direction == "denoising" else (clean, corrupted)
    layers = theirs.bert.encoder.layer
    modules = {
        **{Cell("residual", n, 0): m for n, m in enumerate((theirs.bert.embeddings, *layers))},
        **{Cell("attention", n, 0): layer.attention.output.dense for n, layer in enumerate(layers)},
        **{Cell("feed_forward", n, 0): layer.output.dense for n, layer in enumerate(layers)},
        **{Cell("head", n, 0): layer.attention.self for n, layer in enumerate(layers)},
    }
    size, heads = checkpoint.config.hidden_size, checkpoint.config.num_attention_heads

    def score(given: dict[str, Tensor]) -> float:
        return float(theirs(**given).prediction_logits[0, target.position].log_softmax(-1)[target.index])

    kept: dict[Cell, Tensor] = {}
    for cell, module in modules.items():
        with hook(module, lambda x, cell=cell: kept.setdefault(cell, x)):
            score(source)
    for cell, module in modules.items():
        for index in range(heads if cell.component == "head" else len(found.encoding)):
            where = torch.zeros(len(found.encoding), size, dtype=torch.bool)
            part = slice(index * size // heads, (index + 1) * size // heads)
            where[(slice(None), part) if cell.component == "head" else index] = True
            with hook(module, lambda x, where=where, cell=cell: torch.where(where, kept[cell], x)):
                assert found.scores[cell.component][cell.layer, index] == pytest.approx(score(base), abs=1e-5)
    assert (found.clean, found.corrupted) == pytest.approx((score(clean), score(corrupted)), abs=1e-5)
    assert found.total == pytest.approx(score(source) - score(base), abs=2e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cell_predicts_what_it_scores(kind: str) -> None:
    checkpoint, texts = model_of(kind), KINDS[kind][1]
    target = target_of(checkpoint, kind)
    found = interpret.patch_activations(checkpoint, *texts, target=target)
    asked: dict[str, Any] = {"target": target, "corruption": found.corruption}
    for name in COMPONENTS:
        patched = interpret.predict_patched(checkpoint, *texts, cell=Cell(name, 1, 1), **asked)
        scores = (found.clean, found.corrupted, found.scores[name][1, 1])
        for probabilities, score in zip((patched.clean, patched.corrupted, patched.patched), scores, strict=True):
            assert np.log(probabilities[target.index]) == pytest.approx(score, abs=1e-5)
    for cell in (Cell("head", 0, 2), Cell("attention", 2, 0), Cell("residual", 0, 99)):
        with pytest.raises(InputError, match="not there"):
            interpret.predict_patched(checkpoint, *texts, cell=cell, **asked)


@pytest.mark.parametrize("colors", [("black", "white"), ("white", "black"), ("red", "black")])
def test_a_color_is_carried_by_its_mention_until_the_last_layer_copies_it(
    town: Checkpoint, colors: tuple[str, str]
) -> None:
    text = COPY.replace("black", colors[0])
    target = question(town, text, *colors)
    corruption = interpret.corruption_of(town, text, None, COPY.replace("black", colors[1]))
    for direction in ("denoising", "noising"):
        found = interpret.patch_activations(town, text, target=target, corruption=corruption, direction=direction)
        (mention,), mask = corruption.positions, target.position
        share = {name: found.effects(name) / found.total for name in COMPONENTS}
        assert found.clean > 2 > -2 > found.corrupted
        for layer, carrier in ((0, mention), (1, mention), (2, mask)):
            others = np.delete(share["residual"][layer], carrier)
            assert share["residual"][layer, carrier] == pytest.approx(1, abs=0.05)
            assert np.abs(others).max() < 0.05
        assert share["attention"][1, mask] == pytest.approx(1, abs=0.05)
        assert share["head"].max() > 0.9  # one head copies it
        assert np.sort(share["head"], axis=None)[-2] < 0.1


@pytest.mark.parametrize("planted", PLANTED)
def test_the_proposed_corruption_changes_the_word_that_decides(
    town: Checkpoint, planted: tuple[str, str, str, str]
) -> None:
    text, answer, wrong, reason = planted
    target = question(town, text, answer, wrong)
    encoding = interpret.encode_inputs(town, text).encoding
    for kind in ("word", "mask", "noise"):
        proposed = interpret.propose_corruption(town, text, target=target, kind=kind)
        assert [encoding.tokens[position] for position in proposed.positions] == [reason]
        changed = interpret.patch_activations(town, text, target=target, corruption=proposed)
        assert changed.corrupted < changed.clean - 0.5
        assert (changed.corrupted < 0) or kind != "word"  # the other word turns the choice around


def test_a_corrupted_text_is_aligned_with_the_clean_one() -> None:
    checkpoint = little_checkpoint()
    for other, complaint in (
        ("the old red [MASK] sat on the mat", "has 10 tokens and the clean one 9"),
        ("the [MASK] red sat on the mat", r"\[MASK\] where the clean one"),
        (TEXT, "the same tokens"),
    ):
        with pytest.raises(InputError, match=complaint):
            interpret.corruption_of(checkpoint, TEXT, None, other)
    encoding = interpret.encode_inputs(checkpoint, TEXT).encoding
    assert interpret.corruption_of(checkpoint, TEXT, None, OTHER).title(encoding) == "red → old"
    given = interpret.propose_corruption(checkpoint, TEXT, position=2, word="old")
    assert (given.positions, given.names) == ((2,), ("old",))
    for position in (0, 3):  # [CLS] and [MASK]
        with pytest.raises(InputError, match="not a masked or special one"):
            interpret.propose_corruption(checkpoint, TEXT, position=position)
    with pytest.raises(InputError, match="no token that could be changed"):
        interpret.propose_corruption(checkpoint, "[MASK]")


# ---- decomposition of a logit


@pytest.mark.parametrize("kind", KINDS)
def test_the_components_sum_to_the_logit(kind: str) -> None:
    checkpoint, texts = model_of(kind), KINDS[kind][1]
    found = interpret.decompose_logit(checkpoint, *texts, target=target_of(checkpoint, kind))
    assert found.total == pytest.approx(found.logit, abs=1e-4)
    assert found.heads.shape == (2, 2)
    assert found.feed_forward.shape == (2,)
    assert np.abs(found.heads).min() > 1e-5


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_the_components_of_every_family_sum_to_the_logit(model_type: str, tmp_path: Path) -> None:
    checkpoint = family_checkpoint(model_type, tmp_path)
    text = TEXT.replace("[MASK]", checkpoint.tokenizer.special.mask)
    found = interpret.decompose_logit(checkpoint, text)
    assert found.total == pytest.approx(found.logit, abs=1e-4)
    assert interpret.patch_activations(checkpoint, text).scores["head"].shape == (2, 2)
    for method in FLOW_METHODS:
        rows = interpret.information_flow(checkpoint, text).flow(method).sum(-1)
        np.testing.assert_allclose(rows, 1, atol=1e-5)


def test_a_component_that_writes_nothing_contributes_nothing() -> None:
    checkpoint = model_of()
    layer = checkpoint.model.bert.encoder.layers[1]
    with torch.no_grad():
        layer.attention.output.weight[:, :16] = 0
        layer.output.weight.zero_()
    found = interpret.decompose_logit(checkpoint, TEXT)
    assert found.heads[1, 0] == found.feed_forward[1] == 0
    assert found.total == pytest.approx(found.logit, abs=1e-4)


def test_the_head_that_copies_a_color_is_what_decides_directly(town: Checkpoint) -> None:
    found = interpret.decompose_logit(town, COPY, target=question(town, COPY, "black", "white"))
    assert found.total == pytest.approx(found.logit, abs=1e-4)
    assert found.feed_forward[1] > 0.9 * found.logit  # the last feed-forward layer reads what the head has copied


# ---- information flow


@torch.no_grad()
def test_value_zeroing_is_that_of_its_authors_on_transformers() -> None:
    checkpoint = model_of()
    theirs, given = as_huggingface(PRETRAINING, checkpoint.model), interpret.encode_inputs(checkpoint, TEXT).arguments()
    found = interpret.information_flow(checkpoint, TEXT).contributions["value zeroing"]
    whole = theirs(**given, output_hidden_states=True).hidden_states
    for layer, module in enumerate(theirs.bert.encoder.layer):
        expected = np.zeros(found.shape[1:])
        for token in range(len(expected)):
            keeps = torch.ones(len(expected), 1)
            keeps[token] = 0
            with hook(module.attention.self.value, lambda x, keeps=keeps: x * keeps):
                zeroed = theirs(**given, output_hidden_states=True).hidden_states[layer + 1]
            expected[:, token] = 1 - torch.cosine_similarity(zeroed, whole[layer + 1], dim=-1)[0]
        np.testing.assert_allclose(found[layer], expected / expected.sum(-1, keepdims=True), atol=1e-4)


def test_what_tokens_bring_sums_to_the_output_of_the_attention_block() -> None:
    """The formulas of Kobayashi et al. 2021 and Ferrando et al. 2022, with LayerNorm as matrices."""
    checkpoint = model_of()
    trace = interpret.trace_text(checkpoint, TEXT)
    found = interpret.information_flow(checkpoint, TEXT).contributions
    for layer, (module, stages) in enumerate(zip(checkpoint.model.bert.encoder.layers, trace.layers, strict=True)):
        x = torch.tensor(trace.hidden_states[layer])
        size = x.shape[-1]
        centering = torch.eye(size) - torch.full((size, size), 1 / size)
        sigma = (x + stages.attention_projection[0]).var(-1, correction=0).add(1e-12).sqrt()
        by_head = module.attention.output.weight.T.reshape(2, size // 2, size)
        brought = torch.einsum("hij,hjk,hkd->ijd", stages.attention_probs[0], stages.value_states[0], by_head)
        brought = brought + torch.diag_embed(x.T).permute(1, 2, 0)
        vectors = brought @ centering @ module.attention_norm.weight.diag() / sigma[:, None, None]
        bias = module.attention.output.bias @ centering @ module.attention_norm.weight.diag() / sigma[:, None]
        output = stages.attention_output[0]
        torch.testing.assert_close(vectors.sum(1) + bias + module.attention_norm.bias, output, atol=1e-4, rtol=0)
        near = (output.norm(p=1, dim=-1)[:, None] - (output[:, None] - vectors).norm(p=1, dim=-1)).clamp(min=0)
        for method, expected in (("norm", vectors.norm(dim=-1)), ("ALTI", near)):
            expected = (expected / expected.sum(-1, keepdim=True)).detach().numpy()
            np.testing.assert_allclose(found[method][layer], expected, atol=1e-4)


def test_flow_is_the_product_of_the_layers() -> None:
    flow = interpret.information_flow(little_checkpoint(), TEXT)
    trace = interpret.trace_text(little_checkpoint(), TEXT)
    np.testing.assert_allclose(flow.flow("attention"), interpret.rollout(trace.attentions), atol=1e-6)
    for method in FLOW_METHODS[1:]:
        first, second = flow.contributions[method]
        np.testing.assert_allclose(flow.flow(method)[1], second @ first)


@pytest.mark.parametrize("method", FLOW_METHODS)
def test_paths_end_in_the_flow_of_their_position(method: Any) -> None:
    flow = interpret.information_flow(little_checkpoint(), TEXT)
    first, last = flow.paths(method, 3)
    assert not last[np.arange(len(last)) != 3].any()
    np.testing.assert_allclose([first.sum(), last.sum()], 1)
    np.testing.assert_allclose(last.sum(0), first.sum(1))
    np.testing.assert_allclose(first.sum(0), flow.flow(method)[-1, 3], atol=1e-6)
