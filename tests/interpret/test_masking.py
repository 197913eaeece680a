import pytest

from bertviz_lab import InputError
from bertviz_lab.interpret import mask_text
from tests.little import little_checkpoint

TEXT = "the old man reads a book near the river in the morning and they walk to the house"


@pytest.fixture(scope="module")
def tokenizer():
    return little_checkpoint().tokenizer


def test_the_same_seed_gives_the_same_masks_and_another_seed_others(tokenizer) -> None:
    one, same, other = (mask_text(tokenizer, TEXT, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one.outcomes != other.outcomes


def test_what_the_model_is_given_agrees_with_what_became_of_each_token(tokenizer) -> None:
    masked = mask_text(tokenizer, TEXT, "she gave him the red book", seed=3, mask_probability=0.6)
    for before, after, outcome, label in zip(
        masked.encoding.ids, masked.input_ids, masked.outcomes, masked.labels, strict=True
    ):
        assert (label == before) == (outcome in ("mask", "random", "kept"))
        assert (after == tokenizer.mask_id) == (outcome == "mask")
        if outcome in ("special", "not chosen", "kept"):
            assert after == before


def test_special_tokens_are_never_chosen(tokenizer) -> None:
    for seed in range(200):
        masked = mask_text(tokenizer, TEXT, seed=seed, mask_probability=1.0)
        assert masked.outcomes[0] == masked.outcomes[-1] == "special"


def test_a_share_of_one_masks_everything_and_of_zero_nothing_becomes_a_mask(tokenizer) -> None:
    everything = mask_text(tokenizer, TEXT, seed=0, mask_probability=1.0, mask_share=1.0, random_share=0.0)
    assert set(everything.outcomes) == {"special", "mask"}
    nothing = mask_text(tokenizer, TEXT, seed=0, mask_probability=1.0, mask_share=0.0, random_share=0.0)
    assert set(nothing.outcomes) == {"special", "kept"}


def test_whole_words_are_chosen_together(tokenizer) -> None:
    text = "unbelievably unbelievably dogs rivers unbelievably"
    for seed in range(50):
        masked = mask_text(tokenizer, text, seed=seed, mask_probability=0.5, whole_word=True)
        chosen_by_word: dict[int, set[bool]] = {}
        for word, label in zip(masked.encoding.word_ids, masked.labels, strict=True):
            if word is not None:
                chosen_by_word.setdefault(word, set()).add(label != -100)
        assert all(len(chosen) == 1 for chosen in chosen_by_word.values())


@pytest.mark.parametrize(
    "options", [{"mask_probability": 0.0}, {"mask_probability": 1.5}, {"mask_share": 0.9, "random_share": 0.2}]
)
def test_shares_that_are_none_are_refused(tokenizer, options: dict) -> None:
    with pytest.raises(InputError, match="share"):
        mask_text(tokenizer, TEXT, seed=0, **options)


def test_no_text_is_refused(tokenizer) -> None:
    with pytest.raises(InputError, match="Type a sentence"):
        mask_text(tokenizer, " ", seed=0)
