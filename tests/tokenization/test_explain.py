import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import (
    MergeStep,
    SplitStep,
    Tokenizer,
    check_mask_spelling,
    explain,
    ids_named,
    token_name,
    token_text,
)
from tests.family_checkpoints import family_tokenizer
from tests.tokenization.strategies import texts


def pieces(tokenizer: Tokenizer, text: str) -> tuple[str, ...]:
    return tuple(piece for word in explain(tokenizer, text) for piece in word.pieces)


@settings(max_examples=200)
@given(text=texts | st.text(alphabet="aeghinplstuwyé A[]MSK'.", max_size=40))
def test_explanation_ends_where_the_library_ends(wordpiece, cased, bpe, text):
    for tokenizer in (wordpiece, cased, bpe):
        assert pieces(tokenizer, text) == tokenizer.encode(text).tokens[1:-1]


@given(text=texts)
def test_words_stand_where_the_encoding_says(wordpiece, bpe, text):
    for tokenizer in (wordpiece, bpe):
        encoding = tokenizer.encode(text)
        splits = explain(tokenizer, text)
        positions = iter(range(1, len(encoding) - 1))
        for number, split in enumerate(splits):
            assert split.word == text[split.start : split.end]
            for _ in split.pieces:
                position = next(positions)
                start, end = encoding.offsets[position]
                assert encoding.word_ids[position] == number
                if text[start:end].strip():  # not the space before a word, where BPE makes it a token of its own
                    assert split.start <= start < end <= split.end


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Tokenizer:
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "u", "##aff", "##able", "##a", "##n"]
    path = tmp_path_factory.mktemp("tiny") / "vocab.txt"
    path.write_text("\n".join(tokens))
    return Tokenizer.from_vocab(path)


def test_longest_match_is_tried_first(tiny):
    (word,) = explain(tiny, "UNaffable")
    assert (word.word, word.normalized, word.start, word.end) == ("UNaffable", "unaffable", 0, 9)
    assert word.pieces == ("un", "##aff", "##able")
    first, second, third = word.steps
    assert first == SplitStep(0, tuple("unaffable"[:end] for end in range(9, 1, -1)), "un")
    assert second == SplitStep(2, ("##affable", "##affabl", "##affab", "##affa", "##aff"), "##aff")
    assert third == SplitStep(5, ("##able",), "##able")


def test_one_unknown_rest_makes_the_whole_word_unknown(tiny):
    (word,) = explain(tiny, "una!z"[:3] + "z")
    assert word.pieces == ("[UNK]",)
    assert [step.match for step in word.steps] == ["un", "##a", None]
    assert word.steps[-1].candidates == ("##z",)


def test_special_tokens_and_words_that_are_too_long_are_not_searched(tiny):
    assert explain(tiny, "un" + "a" * 98)[0].pieces == ("un", *["##a"] * 98)
    (word,) = explain(tiny, "un" + "a" * 99)
    assert word.pieces == ("[UNK]",)
    assert word.steps == ()
    words = explain(tiny, "un[MASK]a")
    assert [(word.word, word.pieces, word.start, word.end) for word in words] == [
        ("un", ("un",), 0, 2),
        ("[MASK]", ("[MASK]",), 2, 8),
        ("a", ("[UNK]",), 8, 9),
    ]
    assert words[1].steps == ()


def test_merges_follow_the_order_in_which_they_were_learnt(bpe):
    words = explain(bpe, "walking unhappily")
    for word in words:
        assert word.steps[0].pieces_before == tuple(word.normalized)
        pieces_after = [*(step.pieces_before for step in word.steps[1:]), word.pieces]
        for step, pieces in zip(word.steps, pieces_after, strict=True):
            assert isinstance(step, MergeStep)
            assert bpe.merge_ranks[step.pair] == step.rank
            known = [
                bpe.merge_ranks[pair]
                for pair in zip(step.pieces_before, step.pieces_before[1:], strict=False)
                if pair in bpe.merge_ranks
            ]
            assert step.rank == min(known)
            assert len(pieces) == len(step.pieces_before) - 1
            assert "".join(pieces) == word.normalized
            assert "".join(step.pair) in pieces


def test_word_too_long_for_its_merges_to_be_shown_is_refused(bpe, wordpiece):
    with pytest.raises(InputError, match="too long to show"):
        explain(bpe, "a" * 100_000)
    assert explain(wordpiece, "a" * 100_000)[0].pieces == ("[UNK]",)


ATTEMPTS = "[mask] [Mask] <mask> (MASK) [MASK MASK] {mask} <MASK/> ___ __ MASK [MAKS] [blank] 【MASK】".split()


@pytest.mark.parametrize("attempt", [*ATTEMPTS, "[ MASK ]"])
def test_near_misses_are_noticed(wordpiece, attempt):
    sentence = check_mask_spelling(f"The {attempt} sat.", wordpiece)
    assert sentence is not None
    assert "write [MASK] in place of" in sentence
    assert "\n" not in sentence


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


SAMPLE = "the café près de la forêt, walking and talking: naïve 🦙"


@pytest.fixture(scope="module", params=["wordpiece", "bpe", "xlm-roberta", "deberta-v2", "roberta"])
def any_tokenizer(request, tmp_path_factory) -> Tokenizer:
    if request.param in ("wordpiece", "bpe"):
        return Tokenizer.train([SAMPLE] * 200, vocab_size=400, algorithm=request.param, lowercase=False)
    return family_tokenizer(request.param, tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize("algorithm", ["wordpiece", "bpe"])
def test_a_token_says_the_word_of_the_text(algorithm):
    tokenizer = Tokenizer.train([SAMPLE] * 200, vocab_size=400, algorithm=algorithm, lowercase=False)
    said = [token_text(tokenizer, token_id) for token_id in tokenizer.ids(["the café forêt, 🦙"])[0]]
    assert said == ["the", "café", "forêt", ",", "🦙"]


def test_tokens_are_read_without_the_marks_of_their_vocabulary(any_tokenizer):
    tokenizer = any_tokenizer
    for token_id in range(tokenizer.vocab_size):
        said = token_text(tokenizer, token_id)
        assert said == said.strip()
        assert not said.startswith(("Ġ", "▁"))
        assert not (tokenizer.algorithm == "wordpiece" and said.startswith("##"))
    assert token_text(tokenizer, tokenizer.mask_id) == tokenizer.special.mask
    assert token_text(tokenizer, tokenizer.vocab_size) == ""


def test_every_token_is_among_those_with_its_name(any_tokenizer):
    tokenizer = any_tokenizer
    for token_id in range(tokenizer.vocab_size):
        assert token_id in ids_named(tokenizer, token_name(tokenizer, token_id))
    assert ids_named(tokenizer, "zebra") == ()


def test_what_is_no_word_is_named_as_it_is_spelt():
    bpe = Tokenizer.train([SAMPLE] * 200, vocab_size=400, algorithm="bpe", lowercase=False)
    assert [token_name(bpe, bpe.id(token)) for token in ("Ġ", "Ã", "Ā")] == ["Ġ", "Ã", "Ā"]
    assert token_name(bpe, bpe.vocab_size) == f"[id {bpe.vocab_size}]"
    pieces = Tokenizer.train(["walking talking running"] * 200, vocab_size=30)
    continuations = [token for token in pieces.tokens if token.startswith("##")]
    assert [token_name(pieces, pieces.id(token)) for token in continuations] == continuations


def test_a_word_after_a_space_comes_before_the_same_without_one():
    bpe = Tokenizer.train([f"{SAMPLE}. The\nThe the"] * 200, vocab_size=400, algorithm="bpe", lowercase=False)
    assert [bpe.token(token_id) for token_id in ids_named(bpe, "The")] == ["ĠThe", "The"]
