"""The losses are those of sentence-transformers, gradients too."""

import pytest
import torch
from sentence_transformers.sentence_transformer import losses as theirs

from bertviz_lab.training.finetuning.embeddings import cosine_loss, ranking_loss


def vectors(count: int, seed: int = 0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(6, 16, generator=generator, requires_grad=True) for _ in range(count)]


def assert_equal(ours, reference, inputs) -> None:
    torch.testing.assert_close(ours, reference, atol=1e-6, rtol=1e-5)
    mine, other = (torch.autograd.grad(loss, inputs, retain_graph=True) for loss in (ours, reference))
    for a, b in zip(mine, other, strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("count", [2, 3, 4])  # pairs, triplets, two negatives
def test_multiple_negatives_ranking_is_that_of_sentence_transformers(count) -> None:
    inputs = vectors(count)
    reference = theirs.MultipleNegativesRankingLoss(torch.nn.Identity()).compute_loss_from_embeddings(inputs, None)
    assert_equal(ranking_loss(inputs), reference, inputs)


def test_the_cosine_loss_is_that_of_sentence_transformers() -> None:
    inputs, scores = vectors(2), torch.linspace(0, 1, 6)
    reference = theirs.CosineSimilarityLoss(torch.nn.Identity()).compute_loss_from_embeddings(inputs, scores)
    assert_equal(cosine_loss(inputs, scores, 6), reference, inputs)


def test_the_cosine_loss_of_parts_adds_up() -> None:
    inputs, scores = vectors(2), torch.linspace(0, 1, 6)
    parts = [cosine_loss([v[start::2] for v in inputs], scores[start::2], 6) for start in (0, 1)]
    torch.testing.assert_close(sum(parts), cosine_loss(inputs, scores, 6))
