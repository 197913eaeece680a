"""From labelled examples to rows of token ids: what each row holds, and what is asked of it."""

from itertools import chain

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab import Tokenizer
from bertviz_lab.config import IGNORE_INDEX
from bertviz_lab.data.examples import Answer, LabelledText, LabelledWords, Question
from bertviz_lab.data.tasks.batches import Limits, encode_examples
from tests.little import little_text

TOKENIZER = Tokenizer.train(little_text().splitlines(), vocab_size=150)
LABELS = ("A", "B", "O")
LONG = "riverhousecats"  # many pieces

words = st.sampled_from(["the", "cat", "river", "house", LONG, "\x00", "\u200b", "U.S.", "[MASK]", "日本", "x" * 90])
sentences = st.lists(
    st.lists(st.tuples(words, st.sampled_from([*LABELS, "new"])), min_size=1, max_size=40), min_size=1, max_size=4
)


def pieces(text: str) -> list[int]:
    return list(TOKENIZER.ids([text])[0])


def sentence(pairs) -> LabelledWords:
    return LabelledWords(tuple(word for word, _ in pairs), tuple(label for _, label in pairs), 1)


def row(features, index: int) -> str:
    return " ".join(TOKENIZER.token(i) for i in features.ids[index])


@given(sentences, st.integers(8, 40))
def test_every_word_is_read_in_order_and_has_exactly_one_label_whatever_the_length(sentences, length) -> None:
    examples = [sentence(pairs) for pairs in sentences]
    features = encode_examples(examples, "tokens", TOKENIZER, LABELS, Limits(length))
    assert features.examples.tolist() == sorted(features.examples.tolist())
    read_labels: list[list[int]] = [[] for _ in examples]
    read_ids: list[list[int]] = [[] for _ in examples]
    rows = zip(features.examples, features.ids, features.targets, features.word_starts, strict=True)
    for owner, ids, target, word_starts in rows:
        assert len(ids) <= length
        assert (ids[0], ids[-1]) == (TOKENIZER.cls_id, TOKENIZER.sep_id)
        assert len(word_starts) == len(set(word_starts.tolist())) > 0
        others = np.setdiff1d(np.arange(len(ids)), word_starts)
        assert (target[others] == IGNORE_INDEX).all()
        read_labels[owner] += target[word_starts].tolist()
        read_ids[owner] += ids[1:-1].tolist()
    known = {label: n for n, label in enumerate(LABELS)}
    assert read_labels == [[known.get(label, IGNORE_INDEX) for label in e.labels] for e in examples]
    pieces_of = [[(pieces(f" {word}") or [TOKENIZER.unk_id])[: length - 2] for word in e.words] for e in examples]
    assert read_ids == [list(chain(*each)) for each in pieces_of]


def test_a_word_has_its_label_at_its_first_piece_also_when_it_is_unknown() -> None:
    examples = [sentence([("the", "O"), (LONG, "A"), ("cat", "B")])]
    features = encode_examples(examples, "tokens", TOKENIZER, LABELS, Limits(40))
    count = len(pieces(LONG))
    assert count > 1
    assert features.word_starts[0].tolist() == [1, 2, 2 + count]
    assert features.targets[0].tolist() == [IGNORE_INDEX, 2, 0, *[IGNORE_INDEX] * (count - 1), 1, IGNORE_INDEX]
    features = encode_examples([sentence([("\x00", "A"), ("cat", "B")])], "tokens", TOKENIZER, LABELS, Limits(16))
    assert row(features, 0) == "[CLS] [UNK] cat [SEP]"
    assert features.targets[0].tolist() == [IGNORE_INDEX, 0, 1, IGNORE_INDEX]


def test_texts_and_pairs_are_rows_with_their_classes_and_unknown_labels_are_ignored() -> None:
    examples = [LabelledText("the cat", None, "A", 1), LabelledText("the cat", "a dog", "O", 2)]
    features = encode_examples(examples, "classification", TOKENIZER, LABELS, Limits(16))
    assert [row(features, n) for n in (0, 1)] == ["[CLS] the cat [SEP]", "[CLS] the cat [SEP] a dog [SEP]"]
    assert features.segment_b.tolist() == [4, 4]
    assert features.targets.tolist() == [0, 2]
    assert features.examples.tolist() == [0, 1]
    examples = [LabelledText("the cat", None, "new", 1), LabelledText("the cat", None, "B", 2)]
    features = encode_examples(examples, "classification", TOKENIZER, LABELS, Limits(16))
    assert features.targets.tolist() == [IGNORE_INDEX, 1]


@given(st.integers(0, 30), st.integers(0, 30), st.integers(8, 40))
def test_a_row_is_what_the_tokenizer_makes_of_a_pair(a, b, length) -> None:
    first, second = " ".join(["river"] * a), " ".join(["dog"] * b)
    features = encode_examples([LabelledText(first, second, 0.0, 1)], "regression", TOKENIZER, (), Limits(length))
    ids = features.ids[0].tolist()
    assert len(ids) <= length
    kept = [ids.count(i) for i in (pieces("river")[0], pieces("dog")[0])]
    if a + b + 3 <= length:
        assert kept == [a, b]
    else:
        assert sum(kept) == length - 3
        assert min(kept) >= min(a, b, (length - 3) // 2), "the longer one is cut"
    assert features.segment_b[0] == 2 + kept[0]
    reference = TOKENIZER.encode(first, second, max_length=length)
    if b:
        assert ids == list(reference.ids)
        assert [int(n >= features.segment_b[0]) for n in range(len(ids))] == list(reference.token_type_ids)


def test_the_targets_of_questions_are_those_of_their_windows() -> None:
    passage = "the old man reads a book near the river"
    examples = [
        Question("a", "what", passage, (Answer("a book", passage.index("a book")),), 1),
        Question("b", "who", passage, (), 2),
    ]
    features = encode_examples(examples, "qa", TOKENIZER, (), Limits(14, stride=4, max_question_length=4))
    assert len(features) > 2
    for window, ids, segment, target, owner in zip(
        features.windows, features.ids, features.segment_b, features.targets, features.examples, strict=True
    ):
        assert ids is window.ids
        assert (segment, owner) == (window.passage_start, window.question)
        assert target.tolist() == [window.start, window.end]
        if target[0]:
            assert passage[slice(*window.span(*target))] == "a book"
    assert any(target[0] for target in features.targets)
    assert not features.targets[features.examples == 1].any()
