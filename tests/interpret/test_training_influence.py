"""TracIn against gradients of single sentences and against a step of gradient descent, BM25 against its formula."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from bertviz_lab import BertModel, Checkpoint, InputError, interpret
from bertviz_lab.config.limits import QuestionLimits
from bertviz_lab.interpret.corpora.training_influence import bm25, choose_snapshots, gradient_products
from bertviz_lab.interpret.inputs import forward_operations
from bertviz_lab.training.runs.snapshot_reader import open_snapshots
from bertviz_lab.training.runs.training_text import read_training_text
from tests.family_checkpoints import family_checkpoint
from tests.little import SENTENCES, little_checkpoint
from tests.model.support import random_checkpoint

TEXT = "the red [MASK] sat on the mat"
TOWN = Path(__file__).parents[2] / "checkpoints" / "tiny-town"


def sentences_of(checkpoint: Checkpoint) -> list[np.ndarray]:
    return [np.array(ids) for ids in checkpoint.tokenizer.ids([*SENTENCES, "cat", "the red red red dog ran and ran"])]


def loss_of_sentence(checkpoint: Checkpoint, ids: np.ndarray) -> Tensor:
    """Each token masked once, with every fourth one: the sum of their losses, copy by copy and without padding."""
    tokenizer, total = checkpoint.tokenizer, torch.zeros(())
    framed = torch.tensor([[tokenizer.cls_id, *ids, tokenizer.sep_id]])
    for group in range(4):
        places = torch.arange(1, framed.shape[1] - 1)[group::4]
        if len(places):
            masked = framed.clone()
            masked[0, places] = tokenizer.mask_id
            logits = checkpoint.model(masked, torch.ones_like(masked)).prediction_logits[0, places]
            total = total + torch.nn.functional.cross_entropy(logits, framed[0, places], reduction="sum")
    return total


def test_products_are_those_of_the_gradients_of_single_sentences() -> None:
    checkpoint = random_checkpoint()
    parameters = dict(checkpoint.model.named_parameters())
    generator = torch.Generator().manual_seed(3)
    direction = {name: torch.randn(value.shape, generator=generator) for name, value in parameters.items()}
    sentences = sentences_of(checkpoint)
    products = gradient_products(checkpoint, sentences, direction)
    for ids, product in zip(sentences, products, strict=True):
        loss = loss_of_sentence(checkpoint, ids)
        gradients = torch.autograd.grad(loss, [*parameters.values()], materialize_grads=True)
        pairs = zip(gradients, direction.values(), strict=True)
        expected = sum(float((gradient * along).sum()) for gradient, along in pairs)
        assert product == pytest.approx(expected, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("model_type", ["albert", "deberta-v2", "modernbert"])
def test_families_have_products_too(model_type: str, tmp_path: Path) -> None:
    checkpoint = family_checkpoint(model_type, tmp_path)
    direction = {name: torch.ones_like(value) for name, value in checkpoint.model.named_parameters()}
    (ids,) = checkpoint.tokenizer.ids(["the red cat"])
    (product,) = gradient_products(checkpoint, [np.array(ids)], direction)
    assert math.isfinite(product)
    assert product != 0


def test_influence_is_how_a_small_step_on_the_sentence_moves_the_prediction() -> None:
    checkpoint = random_checkpoint()
    sentences = sentences_of(checkpoint)
    found = interpret.training_influence(lambda step: checkpoint, [7], sentences, TEXT, learning_rate=lambda step: 0.5)
    assert found.steps == (7,)
    inputs = interpret.encode_inputs(checkpoint, TEXT)

    def loss() -> float:
        return -math.log(interpret.class_scores(checkpoint, inputs, found.target)[found.target.index])

    before = loss()
    at, rate = int(np.argmax(np.abs(found.tracin))), 1e-5
    parameters = [*checkpoint.model.parameters()]
    gradients = torch.autograd.grad(loss_of_sentence(checkpoint, sentences[at]), parameters, materialize_grads=True)
    with torch.no_grad():
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter -= rate * gradient
    assert (before - loss()) / rate == pytest.approx(found.tracin[at] / 0.5, rel=0.05)


def test_snapshots_add_up_with_their_learning_rates() -> None:
    models = {step: random_checkpoint(seed) for step, seed in enumerate((2, 3, 4))}
    sentences = sentences_of(models[0])
    found = interpret.training_influence(models.__getitem__, [0, 1, 2], sentences, TEXT, learning_rate=float)
    parts = [
        step * interpret.training_influence(models.__getitem__, [step], sentences, TEXT, target=found.target).tracin
        for step in found.steps
    ]
    assert found.tracin == pytest.approx(sum(parts), rel=1e-5)


def test_snapshots_part_the_fall_of_the_loss_equally() -> None:
    assert choose_snapshots([5.0, 5.0, 3.9, 1.0, 2.0, 1.0], 2) == [2, 3]
    assert choose_snapshots([5.0, 4.0, 3.0, 2.0, 1.0], 5) == [1, 2, 3, 4]
    assert choose_snapshots([1.0, 2.0], 5) == [1]
    assert choose_snapshots([1.0], 5) == [0]


def test_relevance_is_the_sum_of_bm25_over_the_words_of_the_query() -> None:
    sentences = [np.array(row) for row in ([1, 2, 2, 3], [2, 4], [5, 6, 7])]
    # Of three sentences two have token 2 and one has 3; a sentence has three tokens on average.
    rare, common = math.log(1 + 2.5 / 1.5), math.log(1 + 1.5 / 2.5)
    longer, shorter = 1.2 * (0.25 + 0.75 * 4 / 3), 1.2 * (0.25 + 0.75 * 2 / 3)
    first = common * 2 * 2.2 / (2 + longer) + rare * 2.2 / (1 + longer)
    assert bm25(sentences, [2, 3, 3, 9]) == pytest.approx([first, common * 2.2 / (1 + shorter), 0])


def test_of_many_sentences_the_most_relevant_and_an_even_spread_are_compared() -> None:
    checkpoint = random_checkpoint()
    sentences = sentences_of(checkpoint)
    found = interpret.training_influence(lambda step: checkpoint, [1], sentences, TEXT, candidates=4)
    assert found.total == len(sentences)
    assert len(found.sentences) == 4
    assert found.sentences[found.nearest(1)[0]] == SENTENCES[0]
    one_pass = forward_operations(checkpoint.config, 10)
    limited = replace(checkpoint, limits=QuestionLimits(operations=3 * 4 * 3 * one_pass))
    assert len(interpret.training_influence(lambda step: limited, [1], sentences, TEXT).sentences) in (2, 3)


def test_what_cannot_be_traced_is_one_sentence() -> None:
    checkpoint = random_checkpoint()
    with pytest.raises(InputError, match="needs snapshots"):
        interpret.training_influence(lambda step: checkpoint, [], sentences_of(checkpoint), TEXT)
    with pytest.raises(InputError, match=r"Put \[MASK\]"):
        interpret.training_influence(lambda step: checkpoint, [1], sentences_of(checkpoint), "the red cat")
    encoder = little_checkpoint(kind=BertModel)
    with pytest.raises(InputError, match="no masked-LM head"):
        interpret.training_influence(lambda step: encoder, [1], sentences_of(encoder), TEXT)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Ben gets the spade from the [MASK].", "the spade from the garden"),
        ("Ben gets the net from the [MASK].", "the net from the harbour"),
    ],
)
def test_the_sentences_that_state_a_planted_fact_come_first(text: str, fact: str) -> None:
    snapshots = open_snapshots(TOWN)
    town = read_training_text(TOWN, snapshots.tokenizer)
    found = interpret.training_influence(
        snapshots.open,
        snapshots.steps(),
        town.sentences,
        text,
        counts=town.counts,
        learning_rate=town.learning_rate,
        candidates=200,
    )
    first = [found.sentences[at] for at in found.helpful(10)]
    assert sum(fact in sentence for sentence in first) >= 8
    assert not any(fact in found.sentences[at] for at in found.harmful(5))
