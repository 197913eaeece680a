"""Loss and accuracy over labels are those of all at once, however many are scored at a time."""

import pytest
import torch
import torch.nn.functional as F

from bertviz_lab.training.loop.evaluation import LabelScores


def test_scores_are_those_of_all_labels_at_once() -> None:
    generator = torch.Generator().manual_seed(0)
    logits, labels = (
        torch.randn(2, 40, 30, 2, generator=generator),
        torch.randint(2, (2, 40, 30), generator=generator),
    )
    labels[:, ::7] = -100
    scores = LabelScores()
    for some, wanted in zip(logits, labels, strict=True):
        scores.add(some, wanted)
    known = labels != -100
    expected, predicted = labels[known], logits.argmax(-1)[known]
    assert scores.count == int(known.sum()) > 1024
    assert scores.means("mlm") == {
        "mlm_loss": pytest.approx(float(F.cross_entropy(logits[known], expected)), rel=1e-5),
        "mlm_accuracy": pytest.approx(float((predicted == expected).float().mean())),
    }
    assert scores.positives == int(expected.sum())
    assert scores.true_positives == int((predicted & expected).sum())


def test_without_labels_there_are_no_scores() -> None:
    scores = LabelScores()
    scores.add(torch.zeros(2, 3, 5), torch.full((2, 3), -100))
    assert scores.means("mlm") == {}
