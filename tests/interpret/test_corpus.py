"""The corpus index against plain attention text by text, and searches in it against planted truths."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bertviz_lab import BertModel, Checkpoint, InputError, interpret, load_checkpoint
from bertviz_lab.data.documents import Document
from bertviz_lab.data.samples.corpus_texts import CORPORA, corpus_texts, sample_texts, suited_corpus
from bertviz_lab.interpret import INTERVALS, CorpusIndex
from bertviz_lab.interpret.corpora import corpus_index
from tests.family_checkpoints import MODEL_TYPES, family_checkpoint
from tests.interpret.test_planted import COPY, question
from tests.little import SENTENCES, little_checkpoint

REACH = corpus_index.REACH
TEXTS = [f"{first} and {second}" for first in SENTENCES for second in SENTENCES]


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    return little_checkpoint(initializer_range=0.6)  # sharp enough that all intervals have examples


@pytest.fixture(scope="module")
def index(checkpoint: Checkpoint) -> CorpusIndex:
    return interpret.index_corpus(checkpoint, TEXTS, name="little")


# ---- against plain attention, one text at a time


def test_metrics_are_means_over_all_tokens_of_the_corpus(checkpoint: Checkpoint, index: CorpusIndex) -> None:
    sums: dict[str, Any] = dict.fromkeys([*index.metrics, "queries"], 0.0)
    weights: dict[int, list[np.ndarray]] = {}
    counts = dict.fromkeys(index.metrics, 0)
    for text in TEXTS:
        trace = interpret.trace_text(checkpoint, text)
        attention, length = trace.attentions.astype(float), len(trace.encoding)
        metrics = interpret.head_metrics(attention, trace.encoding)
        for name, theirs, count in (
            ("entropy", "entropy", length), ("distance", "distance", length), ("previous", "previous", length - 1),
            ("next", "next", length - 1), ("same", "same", length),
        ):  # fmt: skip
            sums[name] += count * metrics[theirs]
            counts[name] += count
        for name, place in (("cls", 0), ("separator", length - 1)):
            sums[name] += attention[..., place].sum(-1)
            counts[name] += length
        for i in range(1, length - 1):
            others = [j for j in range(1, length - 1) if j != i and trace.encoding.ids[j] == trace.encoding.ids[i]]
            sums["same_word"] += attention[..., i, others].sum(-1)
            counts["same_word"] += bool(others)
            sums["queries"] += 1
            for j in range(1, length - 1):
                weights.setdefault(int(np.clip(j - i, -REACH, REACH)), []).append(attention[..., i, j])
    for name, count in counts.items():
        if count:
            np.testing.assert_allclose(index.metrics[name], sums[name] / count, atol=1e-5)
    means = {offset: np.mean(found, 0) for offset, found in weights.items()}
    for offset in range(-REACH, REACH + 1):
        np.testing.assert_allclose(index.profile[..., offset + REACH], means.get(offset, 0), atol=1e-6)
    by_distance = sum(len(found) * means[offset] ** 2 for offset, found in weights.items()) / sums["queries"]
    np.testing.assert_allclose(index.metrics["position"], by_distance, atol=1e-5)
    squares = sum((np.array(found) ** 2).sum(0) for found in weights.values()) / sums["queries"]
    np.testing.assert_allclose(index.metrics["content"], squares - by_distance, atol=1e-5)
    assert index.tokens == sums["queries"]


def others(attentions: np.ndarray) -> np.ndarray:
    """The weights between different tokens of a text."""
    inner = attentions[..., 1:-1, 1:-1].copy()
    inner[..., range(inner.shape[-1]), range(inner.shape[-1])] = 0
    return inner


def test_examples_are_the_strongest_pairs_of_their_texts_and_lie_in_their_intervals(
    checkpoint: Checkpoint, index: CorpusIndex
) -> None:
    largest: dict[tuple[int, int], list[tuple[float, int, int, int]]] = {}
    every: dict[tuple[int, int], list[float]] = {}
    for at, text in enumerate(TEXTS):
        inner = others(interpret.trace_text(checkpoint, text).attentions)
        for layer, head in np.ndindex(inner.shape[:2]):
            query, key = np.unravel_index(inner[layer, head].argmax(), inner.shape[2:])
            weight = float(inner[layer, head].max())
            largest.setdefault((layer, head), []).append((weight, at, int(query) + 1, int(key) + 1))
            every.setdefault((layer, head), []).extend(inner[layer, head].max(-1).tolist())
    for (layer, head), found in largest.items():
        strongest, *intervals = index.heads[layer, head]
        expected = sorted(found, reverse=True)[: len(strongest)]
        np.testing.assert_allclose(strongest["weight"], [weight for weight, *_ in expected], atol=1e-5)
        for example in strongest:
            weight, text, query, key = (example[name].item() for name in ("weight", "text", "query", "key"))
            assert any((text, query, key) == one[1:] for one in found if one[0] == pytest.approx(weight, abs=1e-5))
        counts, _ = np.histogram(every[layer, head], np.linspace(0, 1, 11))
        assert np.abs(index.histogram[layer, head] - counts).sum() <= 2  # weights at the edge of a bin
        for (low, high), examples in zip(INTERVALS, intervals, strict=True):
            kept = examples[examples["text"] >= 0]
            assert ((kept["weight"] >= low) & (kept["weight"] < high)).all()
            assert len(kept) == min(len(examples), sum(low <= weight < high for weight in every[layer, head]))
            for text, query, key, weight in kept.tolist():
                inner = others(interpret.trace_text(checkpoint, index.texts[text]).attentions)[layer, head]
                assert inner[query - 1, key - 1] == pytest.approx(weight, abs=1e-5)
                assert inner[query - 1].argmax() + 1 == key


def test_neurons_have_their_most_activating_tokens(checkpoint: Checkpoint, index: CorpusIndex) -> None:
    activations = [
        torch.stack([layer.intermediate_output[0, 1:-1] for layer in interpret.trace_text(checkpoint, text).layers])
        for text in TEXTS
    ]
    active = sum((of_text > 0).sum(1) for of_text in activations) / sum(of_text.shape[1] for of_text in activations)
    np.testing.assert_allclose(index.active, active.numpy(), atol=1e-3)
    best = torch.stack([of_text.amax(1) for of_text in activations])  # texts, layers, neurons
    expected = best.sort(0, descending=True).values[: index.neurons.shape[-1]].permute(1, 2, 0)
    np.testing.assert_allclose(index.neurons["activation"], expected.numpy(), atol=1e-4)
    for layer, neuron in ((0, 3), (1, 60)):
        for text, position, activation in index.neurons[layer, neuron].tolist():
            assert activations[text][layer, position - 1, neuron] == pytest.approx(activation, abs=1e-4)


def test_in_16_bits_an_index_is_nearly_that_in_32(monkeypatch: pytest.MonkeyPatch) -> None:
    mini = load_checkpoint(Path(__file__).parents[2] / "checkpoints" / "wiki-mini")
    texts = sample_texts("sentences", 60)
    indexes = []
    for multiplies_bf16 in (False, True):
        monkeypatch.setattr(
            "bertviz_lab.interpret.corpora.corpus_index.cpu_multiplies_bf16", lambda fast=multiplies_bf16: fast
        )
        indexes.append(interpret.index_corpus(mini, texts))
    exact, rounded = indexes
    assert (exact.heads["weight"] != rounded.heads["weight"]).any()
    for name, values in exact.metrics.items():
        np.testing.assert_allclose(rounded.metrics[name], values, atol=0.05 if name == "distance" else 0.005)
    np.testing.assert_allclose(rounded.profile, exact.profile, atol=0.005)
    np.testing.assert_allclose(rounded.heads["weight"][:, :, 0], exact.heads["weight"][:, :, 0], atol=0.03)
    strongest = [index.neurons["activation"][..., 0] for index in indexes]
    np.testing.assert_allclose(strongest[1], strongest[0], rtol=0.05, atol=0.05)


def test_an_index_is_kept_whole_in_a_file(index: CorpusIndex, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "index.npz"
    assert CorpusIndex.load(path) is None
    index.save(path)
    again = CorpusIndex.load(path)
    assert again is not None
    assert (again.name, again.texts, again.tokens) == (index.name, index.texts, index.tokens)
    np.testing.assert_array_equal(again.heads, index.heads)
    np.testing.assert_array_equal(again.metrics["content"], index.metrics["content"])
    path.write_bytes(path.read_bytes()[:-40])
    assert CorpusIndex.load(path) is None


def test_an_index_takes_what_a_question_may_cost(checkpoint: Checkpoint) -> None:
    some = interpret.index_corpus(checkpoint, TEXTS, operations=2e7, neurons=False)
    assert 0 < len(some.texts) < len(TEXTS)
    assert set(some.texts) <= set(TEXTS)
    assert some.neurons.size == 0
    with pytest.raises(InputError, match="at least two tokens"):
        interpret.index_corpus(checkpoint, ["", "cat"])


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_heads_and_neurons_of_every_family_are_indexed(model_type: str, tmp_path: Path) -> None:
    family = family_checkpoint(model_type, tmp_path)
    index = interpret.index_corpus(family, TEXTS[:6])
    trace = interpret.trace_text(family, TEXTS[0])
    for text, position, activation in index.neurons[1, 5].tolist():
        if text == 0:
            assert trace.layers[1].intermediate_output[0, position, 5] == pytest.approx(activation, abs=1e-4)
    one = interpret.index_corpus(family, TEXTS[:1])
    expected = interpret.head_metrics(trace.attentions, trace.encoding)
    np.testing.assert_allclose(one.metrics["entropy"], expected["entropy"], atol=1e-4)
    found = interpret.find_heads(family, index, TEXTS[0], query=3, key=2)
    assert found.weights.shape == (2, 2)


# ---- planted truths


@pytest.fixture(scope="module")
def planted() -> Checkpoint:
    """In layer 1 head 1 attends to the token before, head 2 to the same token; neuron 8 fires at "cat"."""
    checkpoint = little_checkpoint(hidden_size=96, num_attention_heads=2, intermediate_size=64)
    layer, embeddings = checkpoint.model.bert.encoder.layers[0], checkpoint.model.bert.embeddings
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in (embeddings.word.weight, embeddings.position.weight, embeddings.token_type.weight):
            parameter.zero_()
        embeddings.position.weight[:48, :48] = 2 * torch.eye(48)
        words = torch.randn(len(embeddings.word.weight), 48, generator=generator)
        embeddings.word.weight[:, 48:] = 3 * torch.nn.functional.normalize(words, dim=-1)
        for linear in (layer.attention.query, layer.attention.key):
            linear.weight.zero_()
            linear.bias.zero_()
        layer.attention.key.weight.copy_(5 * torch.eye(96))
        layer.attention.query.weight[:48, :48] = 5 * torch.eye(48).roll(-1, 0)
        layer.attention.query.weight[48:, 48:] = 5 * torch.eye(48)
        layer.attention.output.weight.zero_()
        layer.intermediate.weight[8].zero_()
        layer.intermediate.weight[8, 48:] = embeddings.word.weight[checkpoint.tokenizer.id("cat"), 48:]
        layer.intermediate.bias[8] = -2
    return checkpoint


def test_planted_heads_have_their_roles_and_random_ones_have_none(planted: Checkpoint) -> None:
    index = interpret.index_corpus(planted, TEXTS)
    roles = interpret.head_roles(index)
    assert roles[0][0] == "previous"
    assert index.metrics["position"][0, 0] > 0.8 > 0.1 > index.metrics["content"][0, 0]
    assert index.metrics["same_word"][0, 1] > 0.4
    shipped = load_checkpoint(Path(__file__).parents[2] / "checkpoints" / "wiki-tiny")
    random = interpret.index_corpus(interpret.untrained(shipped), TEXTS)
    assert not any(role in ("position", "content") for row in interpret.head_roles(random) for role in row)


def test_an_example_finds_the_head_that_was_planted_and_distance_explains_the_other(planted: Checkpoint) -> None:
    index = interpret.index_corpus(planted, TEXTS)
    text = "the cat sat on the mat"
    same = interpret.find_heads(planted, index, text, query=5, key=1)
    assert np.unravel_index(same.lift.argmax(), same.lift.shape) == (0, 1)
    assert same.weights[0, 1] > 0.3 > 0.05 > same.weights[0, 0]
    assert "the" in same.alike[0]
    assert same.alike[1] == ()
    before = interpret.find_heads(planted, index, text, query=2, key=1)
    assert before.example_weights[0, 0] > 0.8
    assert abs(before.lift[0, 0]) < 0.1 < before.weights[0, 0]
    for query, key, complaint in ((2, 2, "two different"), (2, 99, "two different"), (1, 3, "no such pair")):
        with pytest.raises(InputError, match=complaint):
            interpret.find_heads(planted, interpret.index_corpus(planted, ["a dog ran"]), text, query=query, key=key)
    with pytest.raises(InputError, match="must not be masked"):
        interpret.find_heads(planted, index, "the [MASK] sat", query=1, key=2)


def test_the_neuron_that_fires_at_a_word_is_found_from_the_word_and_the_word_from_it(planted: Checkpoint) -> None:
    index = interpret.index_corpus(planted, TEXTS)
    cats = [text for text in TEXTS if "cat" in text]
    for text, position, _ in index.neurons[0, 8].tolist():
        assert planted.tokenizer.encode(index.texts[text]).tokens[position] == "cat"
    found = interpret.find_neurons(planted, index, cats[0], position=3, top_k=64)
    assert any((each.layer, each.neuron) == (0, 8) and each.share > 0.95 for each in found)


def test_what_a_neuron_of_the_last_layer_promotes_is_exactly_what_the_model_loses_without_it(
    checkpoint: Checkpoint, index: CorpusIndex
) -> None:
    found = interpret.promoted_tokens(checkpoint, index, 1, 7)
    assert found is not None
    assert found.is_exact
    examples = [example.tolist()[:2] for example in index.neurons[1, 7]]

    def log_probabilities() -> torch.Tensor:
        rows = []
        for text, position in examples:
            out = checkpoint.model(**interpret.encode_inputs(checkpoint, index.texts[text]).arguments())
            rows.append(out.prediction_logits[0, position].log_softmax(-1))
        return torch.stack(rows)

    weight = checkpoint.model.bert.encoder.layers[1].output.weight
    with torch.no_grad():
        with_it, kept = log_probabilities(), weight[:, 7].clone()
        weight[:, 7] = 0
        change = (with_it - log_probabilities()).mean(0)
        weight[:, 7] = kept
    for token, value in (*found.promoted, *found.suppressed):
        assert change[checkpoint.tokenizer.id(token)] == pytest.approx(value, abs=1e-4)
    assert found.promoted[0][1] == pytest.approx(float(change.max()), abs=1e-4)
    assert not interpret.promoted_tokens(checkpoint, index, 0, 7).is_exact  # type: ignore[union-attr]
    encoder = little_checkpoint(kind=BertModel)
    assert interpret.promoted_tokens(encoder, interpret.index_corpus(encoder, TEXTS[:3]), 1, 7) is None


def test_the_head_that_copies_a_color_links_repeated_words_in_all_of_tiny_town() -> None:
    town = load_checkpoint(Path(__file__).parents[2] / "checkpoints" / "tiny-town")
    index = interpret.index_corpus(town, sample_texts("tiny-town", 800), neurons=False)
    encoding = interpret.encode_inputs(town, COPY).encoding
    mask = encoding.tokens.index("[MASK]")
    found = interpret.find_heads(town, index, COPY, query=mask, key=encoding.tokens.index("black"))
    effects = interpret.ablate_heads(town, COPY, target=question(town, COPY, "black", "white")).effects
    assert found.masked == "black"
    assert found.lift.argmax() == effects.argmax()
    assert found.lift.max() > 0.5


# ---- texts


def test_short_sentences_are_joined_and_long_ones_are_not() -> None:
    long = " ".join(["word"] * 20)
    documents = [Document("one", ("A b.", "C d.", long)), Document("two", ("E f.", "E f."))]
    assert corpus_texts(documents, 10) == ["A b. C d. " + long, "E f. E f."]
    assert corpus_texts([Document("one", (long, long + "s"))], 10) == [long, long + "s"]
    assert corpus_texts(documents, 1) == ["A b. C d. " + long]


def test_a_vocabulary_gets_the_corpus_that_it_knows(checkpoint: Checkpoint) -> None:
    folder = Path(__file__).parents[2] / "checkpoints"
    assert suited_corpus(load_checkpoint(folder / "tiny-town").tokenizer) == "tiny-town"
    assert suited_corpus(load_checkpoint(folder / "wiki-tiny").tokenizer) == "sentences"
    assert all(len(sample_texts(name, 50)) == 50 for name in CORPORA)
