import json
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from transformers import AutoTokenizer

from bertviz_lab.confined import Confinement, run_confined
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import SpecialTokens, Tokenizer
from bertviz_lab.tokenization.tokenizer import try_tokenizer
from tests.little import little_tokenizer
from tests.tokenization.strategies import texts

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def write_vocab(folder: Path, tokens: list[str], ending: str = "\n") -> Path:
    path = folder / "vocab.txt"
    path.write_bytes("".join(token + ending for token in tokens).encode())
    return path


def test_saving_and_loading_gives_the_same_tokenizer(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "new" / "folder")
    loaded = Tokenizer.load(tmp_path / "new" / "folder")
    assert loaded.fingerprint == tokenizer.fingerprint
    assert loaded.tokens == tokenizer.tokens
    assert (loaded.algorithm, loaded.lowercase) == (tokenizer.algorithm, tokenizer.lowercase)


def test_saved_folder_has_four_files_and_saving_is_repeatable(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "one")
    Tokenizer.load(tmp_path / "one").save(tmp_path / "two")
    names = {"tokenizer.json", "vocab.txt", "tokenizer_config.json", "special_tokens_map.json"}
    assert {path.name for path in (tmp_path / "one").iterdir()} == names
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.fixture(scope="session")
def in_transformers(tokenizer, tmp_path_factory):
    """The saved tokenizer as Hugging Face loads it from a model's folder."""
    folder = tmp_path_factory.mktemp("saved")
    tokenizer.save(folder, max_length=128)
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", "vocab_size": tokenizer.vocab_size}))
    return AutoTokenizer.from_pretrained(folder)


@settings(max_examples=60)
@given(text=texts, other=texts)
def test_transformers_gives_the_same_ids_and_segments(tokenizer, in_transformers, text, other):
    ours, theirs = tokenizer.encode(text, other), in_transformers(text, other)
    assert list(ours.ids) == theirs["input_ids"]
    assert list(ours.token_type_ids) == theirs["token_type_ids"]
    assert list(ours.attention_mask) == theirs["attention_mask"]


@pytest.fixture(scope="session")
def published(shared_data, tmp_path_factory):
    """The published uncased tokenizer, from its vocab.txt and from its tokenizer.json."""
    folder = tmp_path_factory.mktemp("published")
    (folder / "tokenizer.json").write_bytes((shared_data / "vocab" / "bert-base-uncased-tokenizer.json").read_bytes())
    return Tokenizer.from_vocab(shared_data / "vocab" / "bert-base-uncased-vocab.txt"), Tokenizer.load(folder)


@given(text=texts, other=texts)
def test_published_json_and_vocabulary_agree(published, text, other):
    from_vocab, from_json = published
    assert from_vocab.ids([text]) == from_json.ids([text])
    assert from_vocab.encode(text, other) == from_json.encode(text, other)


def test_vocabulary_of_another_model_loads(tmp_path):
    write_vocab(tmp_path, ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s"])
    tokenizer = Tokenizer.load(tmp_path)
    assert (tokenizer.pad_id, tokenizer.unk_id, tokenizer.mask_id) == (0, 2, 5)
    assert tokenizer.encode("The cats [MASK]").ids == (3, 6, 7, 8, 5, 4)


def test_vocabulary_with_windows_line_ends_and_byte_order_mark_loads(tmp_path):
    tokens = [*SPECIAL, "the", "a\u2028b"]
    path = tmp_path / "vocab.txt"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(tokens).encode())
    assert Tokenizer.from_vocab(path).tokens == tuple(tokens)


def test_blank_lines_of_a_vocabulary_count_and_trailing_blanks_do_not(tmp_path):
    write_vocab(tmp_path, [*SPECIAL, "", "the  ", " \t", "cat", "", ""], ending="\r\n")
    tokenizer = Tokenizer.load(tmp_path)
    assert tokenizer.encode("the cat").ids == (2, 6, 8, 3)
    assert tokenizer.vocab_size == 9
    (tmp_path / "added_tokens.json").write_text('{"<user>": 9}')
    assert Tokenizer.load(tmp_path).encode("<user>").ids == (2, 9, 3)


def test_vocabulary_saved_alone_still_gives_the_same_ids(wordpiece, cased, corpus, tmp_path):
    for number, tokenizer in enumerate((wordpiece, cased)):
        tokenizer.save(tmp_path / str(number))
        (tmp_path / str(number) / "tokenizer.json").unlink()
        assert Tokenizer.load(tmp_path / str(number)).ids(corpus) == tokenizer.ids(corpus)


def test_settings_beside_a_vocabulary_are_obeyed_or_told_by_its_capitals(tmp_path):
    write_vocab(tmp_path, [*SPECIAL, "The", "the", "Cat"])
    assert not Tokenizer.load(tmp_path).lowercase
    write_vocab(tmp_path, [*SPECIAL, "the", "cat"])
    assert Tokenizer.load(tmp_path).lowercase
    write_vocab(tmp_path, [*SPECIAL, "the", "café", "中文"])
    config = {"do_lower_case": False, "tokenize_chinese_chars": 0, "strip_accents": []}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    tokens = Tokenizer.load(tmp_path).encode("The the café 中文").tokens
    assert tokens == ("[CLS]", "[UNK]", "the", "café", "中文", "[SEP]")


def test_special_tokens_are_found_under_the_names_that_the_files_give(tmp_path):
    write_vocab(tmp_path, ["<pad>", "[UNK]", "<begin>", "</s>", "<hide>", "the"])
    (tmp_path / "special_tokens_map.json").write_text(
        json.dumps({"cls_token": "<begin>", "mask_token": {"content": "<hide>"}})
    )
    tokenizer = Tokenizer.load(tmp_path)
    assert tokenizer.special == SpecialTokens("<pad>", "[UNK]", "<begin>", "</s>", "<hide>")
    assert tokenizer.encode("the <hide>").tokens == ("<begin>", "the", "<hide>", "</s>")


def test_baked_in_truncation_and_padding_are_taken_out(wordpiece, tmp_path):
    state = json.loads(wordpiece.backend.to_str())
    state["truncation"] = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    state["padding"] = {"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": None}
    state["padding"] |= {"pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(state))
    loaded = Tokenizer.load(tmp_path)
    assert loaded.encode("the cat sat under the tree") == wordpiece.encode("the cat sat under the tree")
    assert loaded.ids(["the cat sat under the tree", "a"]) == wordpiece.ids(["the cat sat under the tree", "a"])


def test_special_tokens_that_the_file_does_not_mark_are_still_special(wordpiece, tmp_path):
    state = json.loads(wordpiece.backend.to_str())
    state["added_tokens"] = []
    state["post_processor"] = None
    (tmp_path / "tokenizer.json").write_text(json.dumps(state))
    loaded = Tokenizer.load(tmp_path)
    assert loaded.encode("the [MASK]", "a") == wordpiece.encode("the [MASK]", "a")
    assert loaded.decode(loaded.encode("the").ids) == "the"
    assert loaded.ids(["[MASK]"]) == wordpiece.ids(["[MASK]"])


def test_a_missing_folder_and_one_without_a_tokenizer_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"There is no folder .*nowhere"):
        Tokenizer.load(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"tokenizer\.json and vocab\.txt are both missing"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is not JSON"),
        ("{ broken", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[1, 2]", "holds no JSON object"),
        ("{}", 'it has no "model"'),
        ('{"model": {"type": "WordPiece"}}', 'it has no "model" with a vocabulary'),
        ('{"model": {"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": 0}}', r"lacks \[PAD\]"),
        ('{"model": {"type": "WordPiece", "vocab": {"a": "b"}}}', "not a tokenizer that can be read"),
        ('{"model": {"type": "WordPiece", "vocab": {"a": 0}}, "added_tokens": 9}', "not a tokenizer that can be read"),
    ],
)
def test_damaged_tokenizer_json_is_refused_in_one_sentence(tmp_path, content, says):
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(InputError, match=says) as caught:
        Tokenizer.load(tmp_path)
    assert "\n" not in str(caught.value)


def test_missing_special_tokens_are_named(wordpiece, tmp_path):
    path = write_vocab(tmp_path, ["[PAD]", "[UNK]", "[CLS]", "the"])
    with pytest.raises(InputError, match=r"lacks \[SEP\] and \[MASK\]"):
        Tokenizer.from_vocab(path)
    state = json.loads(wordpiece.backend.to_str())
    state["added_tokens"] = [token for token in state["added_tokens"] if token["content"] != "[MASK]"]
    state["model"]["vocab"]["[OTHER]"] = state["model"]["vocab"].pop("[MASK]")
    (tmp_path / "tokenizer.json").write_text(json.dumps(state))
    with pytest.raises(InputError, match=r"lacks \[MASK\], which"):
        Tokenizer.load(tmp_path)


def test_two_tokens_with_one_id_are_refused(wordpiece, tmp_path):
    state = json.loads(wordpiece.backend.to_str())
    state["model"]["vocab"]["extra"] = 7
    (tmp_path / "tokenizer.json").write_text(json.dumps(state))
    with pytest.raises(InputError, match="two tokens the same id"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("\n".join([*SPECIAL, "the", "cat", "the"]), "'the' twice, in lines 6 and 8"),
        ("", "is empty: it must have one token a line"),
        ("[PAD]\ncaf\xe9\n", "is not UTF-8 text"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_vocabulary_that_cannot_be_used_is_refused(tmp_path, content, says):
    if content is not None:
        (tmp_path / "vocab.txt").write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match=says):
        Tokenizer.from_vocab(tmp_path / "vocab.txt")


def test_vocabulary_of_bpe_without_its_merges_is_refused(bpe, tmp_path):
    bpe.save(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"put the tokenizer\.json next to it"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_a_class_that_splits_text_by_rules_of_its_own_is_refused(file, wordpiece, tmp_path):
    write_vocab(tmp_path, [*SPECIAL, "the"])
    (tmp_path / file).write_text('{"tokenizer_class": "BertTokenizerFast"}')
    assert Tokenizer.load(tmp_path).vocab_size == 6
    (tmp_path / file).write_text('{"tokenizer_class": "BertJapaneseTokenizer"}')
    with pytest.raises(InputError, match="is a BertJapaneseTokenizer, which splits text by more than its files say"):
        Tokenizer.load(tmp_path)
    (tmp_path / "tokenizer.json").write_text(wordpiece.backend.to_str())
    assert Tokenizer.load(tmp_path).vocab_size == wordpiece.vocab_size


@pytest.mark.parametrize("file", ["added_tokens.json", "tokenizer_config.json"])
def test_added_tokens_without_tokenizer_json_have_their_ids_and_survive_a_save(file, tmp_path):
    write_vocab(tmp_path, [*SPECIAL, "the", "cat"])
    decoder = {"7": {"content": "<user>", "special": True}, "8": {"content": "covid19", "special": False}}
    listed = {"covid19": 8, "<user>": 7} if file.startswith("added") else {"added_tokens_decoder": decoder}
    (tmp_path / file).write_text(json.dumps(listed))
    tokenizer = Tokenizer.load(tmp_path)
    assert tokenizer.encode("the <user> covid19 cat").ids == (2, 5, 7, 8, 6, 3)
    tokenizer.save(tmp_path / "saved")
    theirs = AutoTokenizer.from_pretrained(tmp_path / "saved")
    assert theirs("the <user> covid19 cat")["input_ids"] == [2, 5, 7, 8, 6, 3]
    assert ("<user>" in theirs.all_special_tokens) == (file == "tokenizer_config.json")


def test_an_added_token_that_cannot_have_its_id_is_refused(tmp_path):
    write_vocab(tmp_path, [*SPECIAL, "the"])
    (tmp_path / "added_tokens.json").write_text('{"<user>": 9}')
    with pytest.raises(InputError, match=r"'<user>' the id 9, and its vocabulary has 6"):
        Tokenizer.load(tmp_path)


def test_a_tokenizer_is_loaded_by_the_name_of_a_shipped_model_or_a_folder(wordpiece, tmp_path):
    shipped = Tokenizer.from_pretrained("wiki-mini")
    assert shipped.vocab_size > 1_000
    wordpiece.save(tmp_path / "model")
    assert Tokenizer.from_pretrained(tmp_path).fingerprint == wordpiece.fingerprint
    with pytest.raises(InputError, match=r"There is no model 'no-such-model': .* \(.*wiki-mini"):
        Tokenizer.from_pretrained("no-such-model")


SPLIT = {"type": "Split", "pattern": {"Regex": "(a|aa)+$"}, "behavior": "Isolated", "invert": False}
CATASTROPHIC = {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": ""}


def saved(folder: Path, **changes: object) -> Path:
    """The little tokenizer with parts of its tokenizer.json replaced."""
    little_tokenizer().save(folder)
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"normalizer": CATASTROPHIC}, "regular expression"),
        ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, CATASTROPHIC]}}, "regular expr"),
        ({"pre_tokenizer": SPLIT}, "regular expression"),
        ({"decoder": {"type": "Replace", "pattern": {"Regex": "(x*)*y"}, "content": ""}}, "regular expression"),
        ({"normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}}, "longer text"),
        ({"normalizer": {"type": "Prepend", "prepend": "a" * 100}}, "longer text"),
        ({"normalizer": {"type": "Lua"}}, "stage 'Lua'"),
    ],
    ids=["normalizer", "in a sequence", "split", "decoder", "growing", "prepending", "unknown"],
)
def test_a_stage_that_could_freeze_the_page_is_refused_at_once(changes, reason, tmp_path):
    with pytest.raises(InputError, match=reason):
        Tokenizer.load(saved(tmp_path, **changes))


def test_words_and_files_of_any_length_are_refused(tmp_path):
    model = json.loads(little_tokenizer().backend.to_str())["model"]
    with pytest.raises(InputError, match="more than 1,000 characters"):
        Tokenizer.load(saved(tmp_path, model=model | {"max_input_chars_per_word": 10**6}))
    saved(tmp_path)
    with (tmp_path / "tokenizer.json").open("ab") as file:
        file.truncate(60_000_000)
    with pytest.raises(InputError, match="60 MB: no tokenizer of BERT has that many"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize(
    "stage",
    [
        *(
            {"type": "Replace", "pattern": pattern, "content": " "}
            for pattern in ({"Regex": " {2,}"}, {"String": "``"})
        ),
        {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]},
    ],
    ids=["spaces", "quotes", "sequence"],
)
def test_stages_of_published_pipelines_are_welcome(stage, tmp_path):
    assert Tokenizer.load(saved(tmp_path, normalizer=stage)).encode("the  cat").tokens


def test_texts_of_the_worst_shapes_are_tried_in_a_confined_process(tmp_path):
    limits = Confinement(memory_bytes=1_000_000_000, seconds=20)
    assert run_confined(partial(try_tokenizer, saved(tmp_path)), limits) == little_tokenizer().vocab_size
