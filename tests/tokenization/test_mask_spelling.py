import pytest

from bertviz_lab.tokenization import Tokenizer, check_mask_spelling

ATTEMPTS = "[mask] [Mask] <mask> (MASK) [MASK MASK] {mask} <MASK/> ___ __ MASK [MAKS] [blank] 【MASK】".split()


@pytest.mark.parametrize("attempt", [*ATTEMPTS, "[ MASK ]"])
def test_near_misses_are_noticed(wordpiece, attempt):
    sentence = check_mask_spelling(f"The {attempt} sat.", wordpiece)
    assert sentence is not None
    assert "write [MASK] in place of" in sentence
    assert "\n" not in sentence


def test_the_attempt_is_quoted(wordpiece):
    expected = 'To let the model fill in a word, write [MASK] in place of "<mask>".'
    assert check_mask_spelling("The <mask> sat", wordpiece) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "The [MASK] sat.", "[MASK][MASK]", "She wore a mask.", "a snake_case_name", "un[MASK]able"),
        *("The masked [man] sat (down).", "WEAR A MASK TODAY", "Mask up"),
    ],
)
def test_right_spelling_and_ordinary_text_pass(wordpiece, text):
    assert check_mask_spelling(text, wordpiece) is None


def test_the_tokenizers_own_spelling_counts(tmp_path):
    (tmp_path / "vocab.txt").write_text("<pad>\n<unk>\n<s>\n</s>\n<mask>\nthe")
    tokenizer = Tokenizer.load(tmp_path)
    assert check_mask_spelling("the <mask>", tokenizer) is None
    assert "write <mask>" in (check_mask_spelling("the [MASK]", tokenizer) or "")
