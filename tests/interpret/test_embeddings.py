import json

import numpy as np
import pytest
import torch

from bertviz_lab import InputError, load_checkpoint, save_checkpoint
from bertviz_lab.interpret import (
    compare_contexts,
    embedding_sum,
    encode,
    nearest_tokens,
    semantic_search,
    similarity,
    trace_text,
)
from bertviz_lab.interpret.embeddings import embedding_plane
from bertviz_lab.training.checkpoints.sentence_transformers_files import POOLINGS
from tests.family_checkpoints import family_checkpoint
from tests.little import little_checkpoint, little_folder

TEXT_A, TEXT_B = "the red cat sat", "a small dog ran"


def test_token_segment_and_position_add_up_to_what_the_encoder_gets() -> None:
    checkpoint = little_checkpoint()
    found = embedding_sum(checkpoint, TEXT_A, TEXT_B)
    np.testing.assert_allclose(found.token + found.segment + found.position, found.total, atol=1e-6)
    np.testing.assert_allclose(found.normalized, trace_text(checkpoint, TEXT_A, TEXT_B).hidden_states[0], atol=1e-6)
    assert set(found.norms()) == {"token", "segment", "position", "sum"}
    assert found.cosines()["token"].shape == (len(found.encoding),)


TEXTS = (TEXT_A, "cat", "a small dog ran to the house near the river in the morning", TEXT_B)


def test_texts_come_in_anything_that_can_be_gone_through() -> None:
    checkpoint, expected = little_checkpoint(), encode(little_checkpoint(), TEXTS)
    assert np.array_equal(encode(checkpoint, np.array(TEXTS)), expected)
    assert np.array_equal(encode(checkpoint, (text for text in TEXTS)), expected)
    assert similarity(checkpoint, np.array(TEXTS)).texts == TEXTS
    assert similarity(checkpoint, iter(TEXTS)).texts == TEXTS


@pytest.mark.parametrize("embed", [encode, similarity, lambda c, texts: semantic_search(c, "cat", texts)])
def test_one_string_no_text_and_an_empty_one_are_refused(embed) -> None:
    with pytest.raises(TypeError, match="not one string"):
        embed(little_checkpoint(), "cat")
    with pytest.raises(InputError, match="at least one text"):
        embed(little_checkpoint(), [])
    with pytest.raises(InputError, match=r"^Text 2 of 3 is empty"):
        embed(little_checkpoint(), ["the cat", " ", "the dog"])


def test_layers_are_counted_from_either_end_and_an_unknown_pooling_is_refused() -> None:
    for embed in (encode, similarity):
        with pytest.raises(InputError, match="no pooling 'median': choose one of mean, cls, max"):
            embed(little_checkpoint(), TEXTS, pooling="median")
    first, last = (similarity(little_checkpoint(), TEXTS, layer=layer).vectors for layer in (-3, 2))
    assert np.array_equal(first, similarity(little_checkpoint(), TEXTS, layer=0).vectors)
    assert np.array_equal(last, similarity(little_checkpoint(), TEXTS).vectors)


def test_a_search_gives_the_nearest_texts_and_at_most_all() -> None:
    checkpoint = little_checkpoint()
    assert [hit.index for hit in semantic_search(checkpoint, TEXT_B, TEXTS, 1)] == [3]
    assert len(semantic_search(checkpoint, "cat", TEXTS, 100)) == len(TEXTS)
    with pytest.raises(InputError, match="query"):
        semantic_search(checkpoint, " ", TEXTS)


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_batched_pooling_is_that_of_each_text_over_all_its_tokens(pooling: str) -> None:
    checkpoint = little_checkpoint()
    vectors = similarity(checkpoint, TEXTS, pooling=pooling).vectors
    for text, vector in zip(TEXTS, vectors, strict=True):
        states = trace_text(checkpoint, text).hidden_states[-1]  # [CLS] and [SEP] included
        expected = {"mean": states.mean(0), "cls": states[0], "max": states.max(0)}[pooling]
        np.testing.assert_allclose(vector, expected, atol=1e-5)


@pytest.mark.parametrize("mode", ["mean", "cls", "max"])
@pytest.mark.parametrize("newer", [True, False])
def test_the_pooling_that_a_sentence_transformers_model_declares_is_the_default(mode, newer, tmp_path) -> None:
    folder = little_folder(tmp_path / "model")
    (folder / "1_Pooling").mkdir()
    flags = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token", "max": "pooling_mode_max_tokens"}
    body = {"pooling_mode": mode} if newer else {flag: name == mode for name, flag in flags.items()}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(body | {"word_embedding_dimension": 32}))
    checkpoint = load_checkpoint(folder)
    assert checkpoint.pooling == mode
    declared, explicit = similarity(checkpoint, TEXTS), similarity(checkpoint, TEXTS, pooling=mode)
    assert np.array_equal(declared.vectors, explicit.vectors)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("mode", POOLINGS)
def test_sentence_transformers_gives_the_same_vectors(mode: str, normalize: bool, tmp_path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    modules = [Transformer(str(little_folder(tmp_path / "model"))), Pooling(32, mode)]
    theirs = SentenceTransformer(modules=[*modules, Normalize()] if normalize else modules, device="cpu")
    theirs.save(str(tmp_path / "saved"))
    expected = theirs.encode(list(TEXTS))
    ours = load_checkpoint(tmp_path / "saved")
    np.testing.assert_allclose(encode(ours, TEXTS), expected, atol=1e-5)
    again = save_checkpoint(ours, tmp_path / "again")
    np.testing.assert_allclose(encode(load_checkpoint(again), TEXTS), expected, atol=1e-5)
    np.testing.assert_allclose(SentenceTransformer(str(again), device="cpu").encode(list(TEXTS)), expected, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("modes", "dense", "named"), [("mean", True, "Dense"), (("mean", "max"), False, "mean and max")]
)
def test_modules_that_the_lab_does_not_have_are_refused_by_name(modes, dense, named, tmp_path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer

    modules = [Transformer(str(little_folder(tmp_path / "model"))), Pooling(32, modes)]
    theirs = SentenceTransformer(modules=[*modules, Dense(32, 16)] if dense else modules, device="cpu")
    theirs.save(str(tmp_path / "saved"))
    ours = load_checkpoint(tmp_path / "saved")
    with pytest.raises(InputError, match=named):
        encode(ours, TEXTS)
    assert encode(ours, TEXTS, pooling="mean").shape == (len(TEXTS), 32)
    assert load_checkpoint(save_checkpoint(ours, tmp_path / "again")).pooling is None


def test_points_in_a_plane_are_found_again() -> None:
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(20, 2)) * [3, 1]
    basis = np.linalg.qr(rng.normal(size=(8, 2)))[0]
    vectors = flat @ basis.T
    plane = embedding_plane(vectors)
    points = plane.project(vectors)
    assert plane.explained == pytest.approx(1)
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    np.testing.assert_allclose(distances, np.linalg.norm(flat[:, None] - flat[None], axis=-1), atol=1e-5)


def test_the_nearest_tokens_are_those_with_the_largest_cosine() -> None:
    checkpoint = little_checkpoint()
    table = checkpoint.model.bert.embeddings.word.weight.detach()
    token_id = checkpoint.tokenizer.id("red")
    with torch.no_grad():
        table[checkpoint.tokenizer.id("cat")] = 3 * table[token_id]  # the same direction
    nearest = nearest_tokens(checkpoint, "red", 5)
    assert (nearest[0].token, nearest[0].cosine) == ("cat", pytest.approx(1, abs=1e-5))
    assert "red" not in [n.token for n in nearest]
    assert [n.cosine for n in nearest] == sorted((n.cosine for n in nearest), reverse=True)
    assert len(nearest_tokens(checkpoint, "red", 10**6)) == checkpoint.tokenizer.vocab_size - 1


def test_a_word_in_two_sentences_begins_alike_and_parts_and_must_be_in_both() -> None:
    checkpoint = little_checkpoint()
    found = compare_contexts(checkpoint, "the red cat sat", "a small red dog ran", "red")
    assert found.cosines.shape == (3,)
    assert found.vectors_a.shape == found.vectors_b.shape == (3, 32)
    np.testing.assert_allclose(np.diagonal(found.products)[:3], (found.vectors_a**2).sum(-1), rtol=1e-5)
    same = compare_contexts(checkpoint, "the red cat sat", "the red cat sat", "RED")
    np.testing.assert_allclose(same.cosines, 1, atol=1e-5)
    np.testing.assert_allclose(same.vectors_a, same.vectors_b, atol=1e-4)
    with pytest.raises(InputError, match=r"sentence “.{80}…” .*longer than the model reads"):
        compare_contexts(little_checkpoint(), TEXT_A, "the red cat " * 100 + "sat", "sat")


@pytest.mark.parametrize(("word", "there"), [("don't", "don't"), ("RED cat", "red cat "), ("New  York", "new york")])
@pytest.mark.parametrize("model_type", ["electra", "roberta", "xlm-roberta"])
def test_a_word_with_punctuation_and_several_words_are_found(model_type: str, word: str, there: str, tmp_path) -> None:
    checkpoint = family_checkpoint(model_type, tmp_path)
    text = "the new red cats don't like the red cat in new york"
    same = compare_contexts(checkpoint, text, text, word)
    np.testing.assert_allclose(same.cosines, 1, atol=1e-5)
    trace = trace_text(checkpoint, text)
    start = text.index(there)
    end = start + len(there.strip())
    inside = [place for place, (a, b) in enumerate(trace.encoding.offsets) if start <= a < b <= end]
    assert len(inside) > 1
    np.testing.assert_allclose(same.vectors_a, trace.hidden_states[:, inside].mean(1), atol=1e-5)


@pytest.mark.parametrize("word", ["zebra", "", "re"])
def test_a_word_that_is_not_in_the_sentence_is_refused(word: str) -> None:
    with pytest.raises(InputError, match="not in the sentence"):
        compare_contexts(little_checkpoint(), TEXT_A, TEXT_B, word)
