import pytest
import torch

from bertviz_lab.data.pretraining.batches import masking_rule
from bertviz_lab.interpret import mask_epochs, mask_text, masked_loss, masking_statistics
from tests.little import little_checkpoint

TEXT = "the old man reads a book near the river in the morning and they walk to the house"


@pytest.fixture(scope="module")
def tokenizer():
    return little_checkpoint().tokenizer


def test_what_the_model_is_given_agrees_with_what_became_of_each_token(tokenizer) -> None:
    masked = mask_text(tokenizer, TEXT, "she gave him the red book", seed=3, rule=masking_rule(tokenizer, 0.6))
    for before, after, outcome, label in zip(
        masked.encoding.ids, masked.input_ids, masked.outcomes, masked.labels, strict=True
    ):
        assert (label == before) == (outcome in ("mask", "random", "kept"))
        assert (after == tokenizer.mask_id) == (outcome == "mask")
        if outcome in ("special", "not chosen", "kept"):
            assert after == before


@pytest.mark.parametrize(
    "options",
    [{}, {"probability": 0.3, "mask_share": 0.5, "random_share": 0.25}, {"whole_word": True}, {"spans": True}],
)
def test_a_hundred_thousand_draws_keep_to_the_rule(tokenizer, options: dict) -> None:
    counts = masking_statistics(tokenizer, TEXT, draws=100_000, seed=0, rule=masking_rule(tokenizer, **options))
    assert sum(outcome.observed for outcome in counts.outcomes) == counts.chosen
    for outcome in counts.outcomes:
        assert outcome.low < outcome.observed < outcome.high
        assert outcome.high - outcome.low < 0.05 * counts.chosen


def test_static_masks_repeat_and_epochs_differ_also_from_those_of_the_next_seed(tokenizer) -> None:
    static = mask_epochs(tokenizer, TEXT, epochs=6, repeat_after=3, seed=0)
    assert static[:3] == static[3:]
    dynamic = mask_epochs(tokenizer, TEXT, epochs=6, repeat_after=None, seed=0)
    assert len({masked.outcomes for masked in dynamic}) > 3
    first, second = (mask_epochs(tokenizer, TEXT, epochs=4, repeat_after=None, seed=seed) for seed in (1, 2))
    assert first[1:] != second[:-1]
    assert first[0] == mask_text(tokenizer, TEXT, seed=1)  # what the page shows of one draw


def test_the_loss_of_a_masked_text_is_that_of_the_model() -> None:
    checkpoint = little_checkpoint()
    masked = mask_text(checkpoint.tokenizer, TEXT, seed=1, rule=masking_rule(checkpoint.tokenizer, 0.4))
    with torch.no_grad():
        out = checkpoint.model(torch.tensor([masked.input_ids]), labels=torch.tensor([masked.labels]))
    found = masked_loss(checkpoint, masked)
    assert [p.position for p in found.positions] == [i for i, label in enumerate(masked.labels) if label != -100]
    assert found.mean == pytest.approx(float(out.mlm_loss), abs=1e-5)
