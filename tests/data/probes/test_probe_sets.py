"""The probes: pairs that no habit answers, those of Tiny Town, and those of files in BLiMP's format."""

import json
import re
import zipfile
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from bertviz_lab import InputError
from bertviz_lab.data.probes import PROBES, MinimalPair, probes_for, probes_that_fit, read_minimal_pairs
from bertviz_lab.data.probes.minimal_pairs import KINDS, minimal_pairs, words
from bertviz_lab.data.probes.probe_sets import contrast_of
from bertviz_lab.data.samples.tiny_town.stories import imagine, stories
from bertviz_lab.data.samples.tiny_town.world import COLOURS, FUR
from bertviz_lab.tokenization import Tokenizer

EVERY_KIND = [(name, kind) for name, probes in PROBES.items() for kind in probes.kinds]


@pytest.mark.parametrize("name", PROBES)
def test_every_kind_has_a_title_and_at_least_ten_different_pairs(name: str) -> None:
    probes = PROBES[name]
    assert len(set(probes.pairs)) == len(probes.pairs)
    counts = Counter(pair.kind for pair in probes.pairs)
    assert counts.keys() == probes.kinds.keys()
    assert min(counts.values()) >= 10
    assert all(re.fullmatch(r"[a-z].*[^.]", title) for title in probes.kinds.values()), "goes on after 'It can'"


@pytest.mark.parametrize(("name", "kind"), EVERY_KIND)
def test_of_two_words_each_is_the_right_one_equally_often(name: str, kind: str) -> None:
    contrasts = Counter(contrast_of(pair) for pair in PROBES[name].pairs if pair.kind == kind)
    if kind in ("word_order", "plot_order"):
        assert list(contrasts) == [()]
    else:
        assert all(contrasts[one, other] == contrasts[other, one] for one, other in contrasts)


def test_tiny_town_is_asked_a_dozen_pairs_of_each_kind_from_held_out_stories() -> None:
    pairs = PROBES["tiny-town"].pairs
    assert set(Counter(pair.kind for pair in pairs).values()) == {12}
    assert set(pairs) <= set(minimal_pairs(0, 80))


ENGLISH_SENTENCES = [sentence for pair in PROBES["english"].pairs for sentence in (pair.good, pair.bad)]
FRENCH = ["Le chat dort sur le tapis.", "Une fille lit un livre rouge dans le jardin.", "Il a vu six chiens."]


def learnt_from(texts: list[str], **options) -> Tokenizer:
    return Tokenizer.train(texts * 3, **options)


@pytest.fixture(scope="module")
def english() -> Tokenizer:
    return learnt_from(ENGLISH_SENTENCES, vocab_size=4000)


@pytest.fixture(scope="module")
def town() -> Tokenizer:
    return Tokenizer.train(
        (sentence for document in stories(0, 600) for sentence in document.sentences), vocab_size=2000
    )


def test_an_english_vocabulary_can_be_asked_every_english_pair(english: Tokenizer) -> None:
    found, probes = probes_for(["book.txt"], english), PROBES["english"]
    assert found is not None
    assert (found.name, found.pairs, found.kinds) == ("english", probes.pairs, probes.kinds)


def test_a_run_on_tiny_town_alone_is_asked_about_tiny_town(town: Tokenizer) -> None:
    found = probes_for(["sample:tiny-town"], town)
    assert found is not None
    assert (found.name, found.pairs) == ("tiny-town", PROBES["tiny-town"].pairs)
    other = probes_for(["sample:tiny-town", "book.txt"], town)
    assert other is None or other.name == "english"


@pytest.mark.parametrize("text", ["livre.txt", "sample:tiny-town"])
def test_a_text_in_another_language_is_asked_nothing(text: str) -> None:
    assert probes_for([text], learnt_from(FRENCH, vocab_size=400)) is None


@pytest.mark.parametrize("algorithm", ["wordpiece", "bpe"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_pairs_whose_words_are_not_whole_are_left_out_in_both_directions(algorithm: str, lowercase: bool) -> None:
    without = [sentence for sentence in ENGLISH_SENTENCES if not {"himself", "herself"} & set(words(sentence))]
    tokenizer = learnt_from(without, vocab_size=4000, algorithm=algorithm, lowercase=lowercase)
    found = probes_that_fit("english", tokenizer)
    assert found is not None
    asked = {word for pair in found.pairs for word in words(pair.good) + words(pair.bad)}
    assert asked.isdisjoint({"himself", "herself"})
    assert "reflexive" not in found.kinds, "too few of its pairs are left"
    assert {pair.kind for pair in found.pairs} == set(found.kinds)
    for pair in found.pairs:
        good, bad = tokenizer.ids([pair.good, pair.bad])
        differs = [ids for ids in zip(good, bad, strict=True) if ids[0] != ids[1]]
        assert len(differs) == (2 if pair.kind == "word_order" else 1)
        assert tokenizer.unk_id not in {token for ids in differs for token in ids}


def test_shipped_models_are_asked_what_they_were_trained_on() -> None:
    folder = Path(__file__).parents[3] / "checkpoints"
    for model, corpus, name in (("tiny-town", "sample:tiny-town", "tiny-town"), ("wiki-tiny", "wiki.txt", "english")):
        found = probes_for([corpus], Tokenizer.load(folder / model))
        assert found is not None
        assert found.name == name


def line(good: str, bad: str, phenomenon: str = "agreement", **others: object) -> str:
    return json.dumps({"sentence_good": good, "sentence_bad": bad, "linguistics_term": phenomenon, **others})


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


CATS = line("The cats sleep.", "The cats sleeps.", field="syntax", UID="plain_agreement", pairID="0")
HERSELF = line("She washed herself.", "She washed himself.", "anaphora")


def test_a_line_is_a_pair_and_its_kind_the_phenomenon(tmp_path: Path) -> None:
    assert read_minimal_pairs(write(tmp_path / "a.jsonl", CATS, "", HERSELF)) == (
        MinimalPair("agreement", "", "The cats sleep.", "The cats sleeps.", 2),
        MinimalPair("anaphora", "", "She washed herself.", "She washed himself.", 2),
    )


def test_a_folder_and_a_zip_are_read_file_by_file_in_the_order_of_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    write(folder / "b.jsonl", CATS)
    write(folder / "a.jsonl", HERSELF)
    write(folder / "README.md", "not a pair")
    pairs = read_minimal_pairs(folder)
    assert [pair.kind for pair in pairs] == ["anaphora", "agreement"]
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, f"data/{path.name}")
    assert read_minimal_pairs(tmp_path / "data.zip") == pairs
    assert read_minimal_pairs([folder / "b.jsonl", folder / "a.jsonl"]) == pairs[::-1]


@pytest.mark.parametrize(
    "lines",
    [
        ("Phenomenon,good,bad", "agreement,The cats sleep.,The cats sleeps."),
        ("sentence_good;sentence_bad;linguistics_term", "The cats sleep.;The cats sleeps.;agreement"),
        ("The cats sleep.\tThe cats sleeps.\tagreement",),
    ],
    ids=["comma", "semicolon", "without a header"],
)
def test_a_table_of_a_spreadsheet_holds_pairs_too(tmp_path: Path, lines: tuple[str, ...]) -> None:
    expected = MinimalPair("agreement", "", "The cats sleep.", "The cats sleeps.", 2)
    assert read_minimal_pairs(write(tmp_path / "a.csv", *lines)) == (expected,)
    with pytest.raises(InputError, match=r'"b\.csv" row 2 has no text in the field "sentence_bad"'):
        read_minimal_pairs(write(tmp_path / "b.csv", "good,bad", "a b,"))


def test_sentences_may_differ_in_length_and_in_more_than_one_word(tmp_path: Path) -> None:
    longer = line("No one has ever left.", "Someone has ever left.")
    shorter = line("He left", "He left them")
    assert [pair.position for pair in read_minimal_pairs(write(tmp_path / "a.jsonl", longer, shorter))] == [0, 2]


def test_a_pair_of_equal_sentences_is_kept_since_blimp_has_seven(tmp_path: Path) -> None:
    assert read_minimal_pairs(write(tmp_path / "a.jsonl", CATS, line("a b", "a b ")))[1].bad == "a b"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("not json", 'Line 2 of "a.jsonl" is not JSON'),
        ("[1, 2]", 'Record 2 of "a.jsonl" is not an object with the fields sentence_good, sentence_bad'),
        ('{"sentence_good": "a b"}', 'Record 2 of "a.jsonl" has no text in the field "sentence_bad"'),
        (line("a b", " "), 'has no text in the field "sentence_bad"'),
        (line("a b", "a c", ""), 'has no text in the field "linguistics_term"'),
        (json.dumps({"sentence_good": 3}), 'has no text in the field "sentence_good"'),
    ],
)
def test_a_line_that_is_no_pair_is_refused_in_a_sentence(tmp_path: Path, bad: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_minimal_pairs(write(tmp_path / "a.jsonl", CATS, bad))
    assert message in str(error.value).replace("“", '"').replace("”", '"')
    assert "\n" not in str(error.value)


def test_json_lines_are_read_in_their_encoding(tmp_path: Path) -> None:
    (tmp_path / "latin.jsonl").write_bytes(CATS.replace("cats", "pinguïns").encode("latin-1"))
    (pair,) = read_minimal_pairs(tmp_path / "latin.jsonl")
    assert "pinguïns" in pair.good


def test_files_that_hold_no_pairs_or_are_empty_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no minimal pairs"):
        read_minimal_pairs(write(tmp_path / "blank.jsonl", "", ""))
    with pytest.raises(InputError, match="There is no file"):
        read_minimal_pairs(tmp_path / "absent.jsonl")
    (tmp_path / "data").mkdir()
    write(tmp_path / "data" / "a.jsonl", CATS)
    (tmp_path / "data" / "b.jsonl").touch()
    with pytest.raises(InputError, match="is empty"):
        read_minimal_pairs(tmp_path / "data")


PAIRS = minimal_pairs(0, 60)
HELD_OUT = [story.sentences for story in islice(imagine(0, held_out=True), 1500)]
TOLD = [*HELD_OUT, *(document.sentences for document in stories(0, 4000))]
SENTENCES = {sentence for sentences in TOLD for sentence in sentences}


def of(kind: str) -> list[MinimalPair]:
    return [pair for pair in PAIRS if pair.kind == kind]


def test_each_kind_has_as_many_different_pairs_as_asked_for() -> None:
    assert [len(set(of(kind))) for kind in KINDS] == [60] * len(KINDS)
    assert len(PAIRS) == 60 * len(KINDS)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "plot_order"])
def test_good_and_bad_differ_in_one_place(kind: str) -> None:
    width = 2 if kind == "word_order" else 1
    for pair in of(kind):
        good, bad = words(pair.good), words(pair.bad)
        assert pair.position is not None
        assert len(good) == len(bad)
        at = slice(pair.position, pair.position + width)
        assert good[: at.start] == bad[: at.start]
        assert good[at.stop :] == bad[at.stop :]
        assert good[at] != bad[at]
        assert sorted(good[at]) == sorted(bad[at]) or kind != "word_order"


def test_good_sentences_stand_after_their_context_in_a_held_out_story() -> None:
    told = [" ".join(sentences) for sentences in HELD_OUT]
    text = "\n".join(told)
    for pair in PAIRS:
        if pair.kind == "colour_copy":  # other sentences may stand between
            assert any(0 <= story.find(pair.context) < story.rfind(pair.good) for story in told)
        else:
            assert f"{pair.context} {pair.good}".strip() in text


@pytest.mark.parametrize("kind", ["agreement", "agreement_distractor", "pronoun", "reflexive", "word_order"])
def test_a_bad_sentence_that_needs_no_context_is_never_said(kind: str) -> None:
    for pair in of(kind):
        assert pair.context == ""
        assert pair.bad not in SENTENCES
        assert pair.good in SENTENCES


def test_the_right_colour_stands_in_the_context_and_the_wrong_one_nowhere() -> None:
    for pair in of("colour_copy"):
        right, wrong = (words(text)[pair.position or 0] for text in (pair.good, pair.bad))
        assert right in words(pair.context)
        assert wrong not in words(pair.context + " " + pair.good)
        assert right in COLOURS or right in FUR
        assert wrong in COLOURS or wrong in FUR


def test_what_happens_next_is_told_after_and_the_other_before() -> None:
    for pair in of("plot_order"):
        assert pair.position is None
        assert any(
            (pair.bad, pair.context, pair.good) == sentences[k - 1 : k + 2]
            for sentences in TOLD
            if pair.context in sentences
            for k in [sentences.index(pair.context)]
        )
