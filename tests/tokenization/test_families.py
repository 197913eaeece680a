"""The tokenizers of every family: what transformers makes of a text, and what is said where there is none."""

import base64
import json
import struct
from pathlib import Path

import pytest
from tokenizers import models as backend_models
from transformers.utils.sentencepiece_model_pb2_new import ModelProto

from bertviz_lab import InputError, Tokenizer
from bertviz_lab.tokenization import PathStep, explain
from tests.tokenization.families import FAMILIES, bpe_files, their_tokenizer, tokenizer_folder, unigram_pieces

every_family = pytest.mark.parametrize("model_type", FAMILIES)
TEXTS = ("the red cat sat on the mat", "She ran, unbelievably!", " rivers  and dogs ", "naïve café 漢字 🦙", "x")
UNIGRAM = ("xlm-roberta", "camembert", "albert", "deberta-v2")


@pytest.fixture(scope="module")
def ours(tmp_path_factory) -> dict[str, Tokenizer]:
    root = tmp_path_factory.mktemp("tokenizers")
    return {name: Tokenizer.load(tokenizer_folder(name, root / name)) for name in FAMILIES}


@every_family
@pytest.mark.parametrize("text", TEXTS)
def test_ids_and_masks_are_those_of_transformers(model_type, text, ours):
    theirs, tokenizer = their_tokenizer(model_type), ours[model_type]
    assert list(tokenizer.encode(text).ids) == theirs(text)["input_ids"]
    pair = tokenizer.encode(text, TEXTS[0])
    expected = theirs(text, TEXTS[0])
    assert list(pair.ids) == expected["input_ids"]
    masked = f"the {tokenizer.special.mask} sat"
    assert list(tokenizer.encode(masked).ids) == theirs(masked)["input_ids"]
    assert len(tokenizer.encode(masked).mask_positions(tokenizer.mask_id)) == 1


@every_family
def test_offsets_are_the_characters_of_each_token(model_type, ours):
    tokenizer = ours[model_type]
    text = "the red cat sat, unbelievably"
    encoding = tokenizer.encode(text)
    shown = [
        text[start:end]
        for (start, end), special in zip(encoding.offsets, encoding.special_tokens_mask, strict=True)
        if not special
    ]
    assert "".join(shown) == text.replace(" ", "")
    assert "the" in shown


@every_family
def test_punctuation_is_no_part_of_a_word(model_type, ours):
    tokenizer = ours[model_type]
    texts = ("the cat, the dog (a mat).", f"don't… {tokenizer.special.mask}!")
    encoding = tokenizer.encode(*texts)
    of_texts = [[word for word in encoding.words if encoding.token_type_ids[word[0]] == side] for side in (0, 1)]
    in_a, in_b = (
        [text[slice(*encoding.span(word))] for word in words] for text, words in zip(texts, of_texts, strict=True)
    )
    assert in_a[:8] == ["the", "cat", ",", "the", "dog", "(", "a", "mat"]
    assert "".join(in_a[8:]) == ")."
    assert in_b[0] == "don"
    assert in_b[-2:] == [tokenizer.special.mask, "!"]
    for words in of_texts:
        assert [encoding.word_ids[word[0]] for word in words] == list(range(len(words)))


@every_family
def test_the_special_tokens_are_known_by_their_roles(model_type, ours):
    theirs, tokenizer = their_tokenizer(model_type), ours[model_type]
    for role in ("pad", "unk", "cls", "sep", "mask"):
        assert getattr(tokenizer, f"{role}_id") == getattr(theirs, f"{role}_token_id"), role
        assert getattr(tokenizer.special, role) == getattr(theirs, f"{role}_token")


@every_family
def test_a_pair_has_its_familys_separators_and_says_which_text_a_token_is_of(model_type, ours):
    tokenizer = ours[model_type]
    two = model_type in ("roberta", "xlm-roberta", "camembert", "mpnet")
    assert tokenizer.pair_separators == (2 if two else 1)
    encoding = tokenizer.encode("the cat", "the dog")
    sides = [
        side for side, special in zip(encoding.token_type_ids, encoding.special_tokens_mask, strict=True) if not special
    ]
    assert sides == sorted(sides)
    assert set(sides) == {0, 1}
    first_separator = encoding.ids.index(tokenizer.sep_id)
    assert set(encoding.token_type_ids[: first_separator + 1]) == {0}
    assert set(encoding.token_type_ids[first_separator + 1 :]) == {1}


@every_family
def test_what_is_saved_opens_in_transformers_with_the_same_ids(model_type, ours, tmp_path):
    from transformers import AutoTokenizer

    has_segments = model_type in ("albert", "electra")
    ours[model_type].save(tmp_path, token_types=has_segments)
    again = AutoTokenizer.from_pretrained(tmp_path)
    encoded = again(TEXTS[0], TEXTS[1])
    assert encoded["input_ids"] == list(ours[model_type].encode(TEXTS[0], TEXTS[1]).ids)
    assert ("token_type_ids" in encoded) == has_segments
    assert Tokenizer.load(tmp_path).fingerprint == ours[model_type].fingerprint


@pytest.mark.parametrize("model_type", UNIGRAM)
@pytest.mark.parametrize("text", TEXTS)
def test_the_best_path_of_unigram_ends_where_the_library_ends(model_type, text, ours):
    tokenizer = ours[model_type]
    pieces = [piece for word in explain(tokenizer, text) for piece in word.pieces]
    assert pieces == [
        token
        for token, special in zip(
            tokenizer.encode(text).tokens, tokenizer.encode(text).special_tokens_mask, strict=True
        )
        if not special
    ]


def test_a_step_of_unigram_has_the_pieces_that_end_there_with_their_sums(ours):
    tokenizer = ours["xlm-roberta"]
    scores = dict(unigram_pieces())
    (word,) = explain(tokenizer, "cat")
    assert word.normalized == "▁cat"
    assert all(isinstance(step, PathStep) for step in word.steps)
    assert [step.candidates[0].piece for step in word.steps] == list(word.pieces)
    assert word.steps[-1].end == 4
    best, *others = word.steps[-1].candidates
    assert best.total == pytest.approx(sum(scores[piece] for piece in word.pieces))
    assert all(best.total >= other.total for other in others)
    assert all("▁cat".endswith(other.piece) for other in others)


def test_unigram_tokens_that_continue_a_word_have_no_mark_of_a_space(ours):
    tokenizer = ours["albert"]
    continues = dict(zip(tokenizer.tokens, tokenizer.continuation.tolist(), strict=True))
    assert not continues["▁the"]
    assert not continues["[CLS]"]
    assert any(flag for token, flag in continues.items() if token.isalpha())
    assert tokenizer.algorithm == "unigram"


def without_json(model_type: str, folder: Path) -> Path:
    """A folder of a family without tokenizer.json."""
    tokenizer_folder(model_type, folder)
    (folder / "tokenizer.json").unlink()
    return folder


def test_robertas_older_files_are_read(tmp_path, ours):
    folder = without_json("roberta", tmp_path)
    vocab, merges = bpe_files()
    (folder / "vocab.json").write_text(json.dumps(vocab))
    lines = [" ".join(pair) for pair in merges]
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *lines, ""]))
    read = Tokenizer.load(folder)
    for text in TEXTS:
        assert read.encode(text, TEXTS[0]) == ours["roberta"].encode(text, TEXTS[0])


def sentencepiece_model(pieces: list[tuple[str, float, int]], algorithm: int = 1) -> bytes:
    messages = [{"piece": piece, "score": score, "type": kind} for piece, score, kind in pieces]
    normalizer = {"name": "identity"}
    model = ModelProto(pieces=messages, trainer_spec={"model_type": algorithm}, normalizer_spec=normalizer)
    return model.SerializeToString()


def deberta_pieces() -> list[tuple[str, float, int]]:
    special = [("[PAD]", 0.0, 3), ("[CLS]", 0.0, 3), ("[SEP]", 0.0, 3), ("[UNK]", 0.0, 2)]
    return [*special, *((piece, score, 1) for piece, score in unigram_pieces())]


def test_debertas_sentencepiece_model_is_read_as_transformers_reads_it(tmp_path, ours):
    folder = without_json("deberta-v2", tmp_path)
    (folder / "spm.model").write_bytes(sentencepiece_model(deberta_pieces()))
    read = Tokenizer.load(folder)
    assert read.tokens == ours["deberta-v2"].tokens
    for text in ("the red cat sat on the mat", "She ran, unbelievably!", "a [MASK] here"):
        assert read.encode(text, TEXTS[0]).ids == ours["deberta-v2"].encode(text, TEXTS[0]).ids


@pytest.mark.parametrize(
    "data",
    [b"", b"hello", sentencepiece_model(deberta_pieces())[:-9], b"\xff" * 40, b"\n\x05abcde", b"\n\x04\n\x02\xff\xfe"],
)  # fmt: skip
def test_a_damaged_sentencepiece_model_is_one_sentence(data, tmp_path):
    folder = without_json("deberta-v2", tmp_path)
    (folder / "spm.model").write_bytes(data)
    with pytest.raises(InputError, match=r"spm\.model (is damaged or is not|is not one of)") as caught:
        Tokenizer.load(folder)
    assert "\n" not in str(caught.value)


def test_a_sentencepiece_model_of_bpe_is_refused(tmp_path):
    folder = without_json("deberta-v2", tmp_path)
    (folder / "spm.model").write_bytes(sentencepiece_model(deberta_pieces(), algorithm=2))
    with pytest.raises(InputError, match="not one of Unigram pieces"):
        Tokenizer.load(folder)


@pytest.mark.parametrize("name", ["sentencepiece.bpe.model", "spiece.model"])
def test_other_sentencepiece_models_are_to_be_converted(name, tmp_path):
    folder = without_json("xlm-roberta", tmp_path)
    (folder / name).write_bytes(b"")
    with pytest.raises(InputError, match=rf"has only {name} of its tokenizer: save it with transformers"):
        Tokenizer.load(folder)


def changed(folder: Path, **stages: object) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | stages))
    return folder


def charsmap(longest: int) -> str:
    """A table of replacements with an empty trie, and one replacement of some bytes."""
    return base64.b64encode(struct.pack("<I", 0) + b"x" * longest + b"\0").decode()


@pytest.mark.parametrize(
    ("stage", "reason"),
    [
        ({"type": "Precompiled", "precompiled_charsmap": charsmap(5000)}, "replaces text by longer text"),
        ({"type": "Precompiled", "precompiled_charsmap": "AAAA"}, "table of character replacements is damaged"),
        ({"type": "Precompiled", "precompiled_charsmap": "?"}, "table of character replacements is damaged"),
        ({"type": "Precompiled"}, "table of character replacements is damaged"),
    ],
)
def test_a_table_of_replacements_that_could_flood_a_page_is_refused(stage, reason, tmp_path):
    with pytest.raises(InputError, match=reason):
        Tokenizer.load(changed(tokenizer_folder("xlm-roberta", tmp_path), normalizer=stage))


def test_other_models_and_endless_pieces_are_refused(tmp_path):
    folder = tokenizer_folder("xlm-roberta", tmp_path)
    model = json.loads((folder / "tokenizer.json").read_text())["model"]
    with pytest.raises(InputError, match="has a piece of more than 1,000 characters"):
        Tokenizer.load(changed(folder, model=model | {"vocab": [*model["vocab"], ["a" * 1001, -3.0]]}))
    folder = tokenizer_folder("electra", tmp_path)
    model = json.loads(backend_models.WordLevel({"[UNK]": 0}, "[UNK]").__getstate__())
    with pytest.raises(InputError, match="is of the kind WordLevel: WordPiece, BPE and Unigram can be used here"):
        Tokenizer.load(changed(folder, model=model))
