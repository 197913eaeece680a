import numpy as np
import pytest
import torch

from bertviz_lab import InputError
from bertviz_lab.interpret import compare_contexts, embedding_sum, nearest_tokens, similarity, trace_text
from bertviz_lab.interpret.embeddings import cosine, plane
from tests.little import little_checkpoint

TEXT_A, TEXT_B = "the red cat sat", "a small dog ran"


def test_token_segment_and_position_add_up_to_what_the_encoder_gets() -> None:
    checkpoint = little_checkpoint()
    found = embedding_sum(checkpoint, TEXT_A, TEXT_B)
    np.testing.assert_allclose(found.token + found.segment + found.position, found.total, atol=1e-6)
    np.testing.assert_allclose(found.normalized, trace_text(checkpoint, TEXT_A, TEXT_B).hidden_states[0], atol=1e-6)
    assert set(found.norms()) == {"token", "segment", "position", "sum"}
    assert found.cosines()["token"].shape == (len(found.encoding),)


def test_all_tokens_of_a_sentence_get_the_same_segment_vector() -> None:
    found = embedding_sum(little_checkpoint(), TEXT_A, TEXT_B)
    types = np.array(found.encoding.token_type_ids)
    for segment in (0, 1):
        rows = found.segment[types == segment]
        assert (rows == rows[0]).all()


def test_the_cosine_of_known_vectors() -> None:
    assert cosine(np.array([1.0, 0.0]), np.array([1.0, 1.0])) == pytest.approx(2**-0.5)
    assert cosine(np.array([1.0, 0.0]), np.array([0.0, 0.0])) == 0


def test_a_sentence_is_most_like_itself() -> None:
    found = similarity(little_checkpoint(), [TEXT_A, TEXT_B, TEXT_A])
    assert found.cosines[0, 2] == pytest.approx(1, abs=1e-5)
    assert found.cosines[0, 1] < 1
    np.testing.assert_allclose(found.cosines, found.cosines.T, atol=1e-6)
    np.testing.assert_allclose(found.map[0], found.map[2], atol=1e-4)


def test_the_vector_of_a_text_is_the_mean_of_its_own_tokens_or_that_of_cls() -> None:
    checkpoint = little_checkpoint()
    states = trace_text(checkpoint, TEXT_A).hidden_states
    mean, cls = (similarity(checkpoint, [TEXT_A], pooling=p).vectors[0] for p in ("mean", "cls"))
    np.testing.assert_allclose(mean, states[-1, 1:-1].mean(0), atol=1e-5)
    np.testing.assert_allclose(cls, states[-1, 0], atol=1e-5)


def test_points_in_a_plane_are_found_again() -> None:
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(20, 2)) * [3, 1]
    basis = np.linalg.qr(rng.normal(size=(8, 2)))[0]
    points, explained = plane(flat @ basis.T)
    assert explained == pytest.approx(1)
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    np.testing.assert_allclose(distances, np.linalg.norm(flat[:, None] - flat[None], axis=-1), atol=1e-5)


@pytest.mark.parametrize("count", [1, 2])
def test_few_points_have_a_plane_too(count: int) -> None:
    points, explained = plane(np.eye(count, 5))
    assert points.shape == (count, 2)
    assert explained == pytest.approx(1)


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


def test_a_word_in_two_sentences_begins_almost_alike_and_parts() -> None:
    checkpoint = little_checkpoint()
    found = compare_contexts(checkpoint, "the red cat sat", "a small red dog ran", "red")
    assert found.cosines.shape == (3,)
    assert found.map_a.shape == found.map_b.shape == (3, 2)
    same = compare_contexts(checkpoint, "the red cat sat", "the red cat sat", "RED")
    np.testing.assert_allclose(same.cosines, 1, atol=1e-5)
    np.testing.assert_allclose(same.map_a, same.map_b, atol=1e-4)


@pytest.mark.parametrize("word", ["zebra", "", "re"])
def test_a_word_that_is_not_in_the_sentence_is_refused(word: str) -> None:
    with pytest.raises(InputError, match="not in the sentence"):
        compare_contexts(little_checkpoint(), TEXT_A, TEXT_B, word)


def test_a_word_of_several_tokens_has_no_neighbours() -> None:
    with pytest.raises(InputError, match="not one token"):
        nearest_tokens(little_checkpoint(), "unbelievably red")
