"""From labelled examples to rows of token ids and batches: what each holds, and what is asked of it."""

from itertools import chain

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab import Tokenizer
from bertviz_lab.config import IGNORE_INDEX
from bertviz_lab.data.examples import Answer, LabelledText, LabelledWords, Question, RelatedTexts
from bertviz_lab.data.tasks.batches import Limits, encode_examples
from tests.little import little_text, little_tokenizer
from tests.training.finetuning.support import TASKS, batch_of, batches_of, features_of

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


LITTLE = little_tokenizer()


@pytest.mark.parametrize("task", TASKS)
def test_a_batch_is_its_rows_and_padding(task) -> None:
    features = features_of(task, LITTLE)
    batch = batch_of(features, LITTLE)
    width = batch.input_ids.shape[1]
    assert width == features.longest == max(map(len, features.ids))
    assert batch.attention_mask is not None
    for n, ids in enumerate(features.ids):
        assert batch.input_ids[n].tolist() == [*ids, *[LITTLE.pad_id] * (width - len(ids))]
        assert batch.attention_mask[n].tolist() == [p < len(ids) for p in range(width)]
        segments = [int(features.segment_b[n] <= p < len(ids)) for p in range(width)]
        assert batch.token_type_ids[n].tolist() == segments
        target = features.targets[n]
        if task == "tokens":
            assert batch.targets[n].tolist() == [*target, *[IGNORE_INDEX] * (width - len(ids))]
        else:
            assert np.array_equal(batch.targets[n].numpy(), target)
    assert batch.real_tokens == sum(map(len, features.ids)) == int(batch.attention_mask.sum())
    asked = {"tokens": sum(map(len, features.word_starts)), "qa": len(features)}.get(task, 16)
    assert (batch.count, batch.total) == (asked, asked)


def test_rows_of_one_length_that_need_no_padding_have_no_mask() -> None:
    features = features_of("classification", LITTLE)
    features.ids[:] = [np.resize(ids, 16) for ids in features.ids]
    batch = batch_of(features, LITTLE)
    assert batch.attention_mask is None
    assert batch.micro_batch(1, 3).real_tokens == 5 * 16


def test_the_weight_of_a_batch_is_that_of_its_classes() -> None:
    features = features_of("classification", LITTLE)
    weights = np.array([1.0, 2.0, 5.0], dtype=np.float32)
    assert batch_of(features, LITTLE, weights).total == sum(weights[c] for c in features.targets)
    features.targets[3] = IGNORE_INDEX
    batch = batch_of(features, LITTLE, weights)
    assert batch.count == 15
    assert batch.total == sum(weights[c] for c in features.targets if c != IGNORE_INDEX)


@pytest.mark.parametrize("size", [1, 4, 5, 100])
def test_an_epoch_has_every_row_once(size) -> None:
    data = batches_of(features_of("tokens", LITTLE), LITTLE, size)
    for number in range(3):
        rows = list(data.epoch(number))
        assert len(rows) == data.in_an_epoch
        assert sorted(np.concatenate(rows).tolist()) == list(range(len(data.features)))
        assert max(map(len, rows)) <= size
    assert sorted(torch.cat([batch.rows for batch in data.in_order()]).tolist()) == list(range(len(data.features)))


def test_long_rows_have_few_widths() -> None:
    """A CPU prepares kernels for each, and what it keeps of them is in the way of later tensors."""
    features = features_of("classification", LITTLE, count=400)
    features.ids[:] = [np.resize(ids, 101 + n) for n, ids in enumerate(features.ids)]
    batches = batches_of(features, LITTLE, 1)
    widths = [batches.batch_at(np.array([n])).input_ids.shape[1] for n in range(400)]
    assert all(length <= width <= 1.125 * length + 1 for length, width in enumerate(widths, 101))
    assert len(set(widths)) <= 8 * 3, "of the powers of two to 128, 256 and 512"
    assert widths[-1] == 500, "no wider than the longest: a model may have no more positions"


def test_of_long_rows_fewer_are_scored_at_once() -> None:
    features = features_of("classification", LITTLE, count=64)
    assert [len(batch.rows) for batch in batches_of(features, LITTLE, 64).in_order()] == [64]
    features = features_of("classification", LITTLE, count=64)
    features.ids[0] = np.resize(features.ids[0], 512)
    assert [len(batch.rows) for batch in batches_of(features, LITTLE, 64).in_order()] == [16, 48]


def test_rows_of_like_length_are_together() -> None:
    features = features_of("classification", LITTLE, count=64)
    rows = list(batches_of(features, LITTLE, 8).epoch(0))
    lengths = np.array([len(ids) for ids in features.ids])
    assert sum(np.ptp(lengths[some]) for some in rows) < len(rows) * np.ptp(lengths) / 2
    in_order = [len(batch.input_ids[0]) for batch in batches_of(features, LITTLE, 8).in_order()]
    assert in_order == sorted(in_order, reverse=True)


def test_pairs_of_like_length_are_together_and_hardly_a_text_is_twice_in_a_batch() -> None:
    words = "the red cat sat on the mat near the river".split()
    texts = [" ".join(words[: 1 + n % 10]) + f" {n % 50}" for n in range(60)]  # of which ten are equal to others
    pairs = [RelatedTexts(text, f"{text} today", (), None, n) for n, text in enumerate(texts)]
    features = encode_examples(pairs, "embeddings", LITTLE, (), Limits(48))
    lengths = np.array([len(ids) for ids in features.ids]).reshape(-1, 2)
    batches = list(batches_of(features, LITTLE, 6).epoch(0))
    assert sorted(np.concatenate(batches).tolist()) == list(range(60))
    spread = [np.ptp(lengths[rows].max(1)) for rows in batches]
    assert np.mean(spread) < np.ptp(lengths.max(1)) / 2
    repeated = [rows for rows in batches if len({pairs[row].anchor for row in rows}) < len(rows)]
    assert len(repeated) <= 1, "the last batches have no other place for a text"
