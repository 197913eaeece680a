"""Which tokens are hidden and how: 15%, of these 80% [MASK], 10% a random token, 10% as they were."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.config import IGNORE_INDEX
from bertviz_lab.data.pretraining import masking
from bertviz_lab.data.pretraining.masking import KEPT, MASKED, NOT_CHOSEN, REPLACED, SPECIAL, MaskingRule, mask_batch

PAD, UNK, CLS, SEP, MASK, VOCAB = 0, 1, 2, 3, 4, 200
SPECIAL_IDS = frozenset({PAD, UNK, CLS, SEP, MASK})
RULE = MaskingRule(mask_id=MASK, vocab_size=VOCAB, special_ids=SPECIAL_IDS)
RNG = np.random.default_rng(0)


def pairs(count: int, width: int = 40, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """[CLS] A [SEP] B [SEP] and padding, of different lengths, with an [UNK] here and there."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(8, width + 1, size=count)
    ids = rng.integers(5, VOCAB, size=(count, width))
    ids[rng.random(ids.shape) < 0.02] = UNK
    at = np.arange(width)[None]
    ids[:, 0] = CLS
    ids[at == (lengths // 2)[:, None]] = SEP
    ids[at == (lengths - 1)[:, None]] = SEP
    ids[at >= lengths[:, None]] = PAD
    return ids, lengths


def test_special_tokens_and_padding_are_never_hidden():
    ids, lengths = pairs(10_000)
    masked = mask_batch(ids, lengths, RULE, np.random.default_rng(1))
    special = np.isin(ids, list(SPECIAL_IDS))
    assert special.sum() > 100_000
    assert (masked.input_ids[special] == ids[special]).all()
    assert (masked.outcomes[special] == SPECIAL).all()
    assert (masked.outcomes[~special] != SPECIAL).all()
    used = masked.labels != IGNORE_INDEX
    chosen = np.take_along_axis(special, masked.positions, axis=1)[used]
    assert len(chosen) > 30_000
    assert not chosen.any()


def test_of_the_chosen_eighty_percent_are_hidden_ten_replaced_and_ten_kept():
    ids, lengths = pairs(30_000)
    masked = mask_batch(ids, lengths, RULE, np.random.default_rng(2))
    count = int((masked.labels != IGNORE_INDEX).sum())
    assert count > 100_000
    for outcome, share in ((MASKED, 0.8), (REPLACED, 0.1), (KEPT, 0.1)):
        deviation = (share * (1 - share) / count) ** 0.5
        assert (masked.outcomes == outcome).sum() / count == pytest.approx(share, abs=5 * deviation)
    # Two draws instead of one would keep 0.2 x 0.1 = 2% too few: far outside these bounds.
    assert 5 * (0.1 * 0.9 / count) ** 0.5 < 0.005


def test_each_outcome_does_to_the_token_what_it_says():
    ids, lengths = pairs(5_000)
    masked = mask_batch(ids, lengths, RULE, np.random.default_rng(3))
    assert (masked.input_ids[masked.outcomes == MASKED] == MASK).all()
    for outcome in (KEPT, NOT_CHOSEN, SPECIAL):
        assert (masked.input_ids == ids)[masked.outcomes == outcome].all()
    replaced = masked.input_ids[masked.outcomes == REPLACED]
    assert len(replaced) > 1_000
    assert not np.isin(replaced, list(SPECIAL_IDS)).any()
    assert len(np.unique(replaced)) > 0.95 * (VOCAB - 5)
    assert (replaced != ids[masked.outcomes == REPLACED]).mean() > 0.98


def test_the_number_of_predictions_is_the_share_of_the_length_and_at_least_one():
    ids, lengths = pairs(2_000)
    masked = mask_batch(ids, lengths, RULE, np.random.default_rng(4))
    chosen = (masked.labels != IGNORE_INDEX).sum(axis=1)
    assert (chosen == [max(1, round(0.15 * length)) for length in lengths]).all()
    assert RULE.predictions(np.array([2, 5, 128]), RNG).tolist() == [1, 1, 19]


def test_a_text_s_own_share_is_drawn_evenly_between_two():
    ids, lengths = pairs(2_000)
    rule = replace(RULE, probability=0.15, probability_to=1.0)
    masked = mask_batch(ids, lengths, rule, np.random.default_rng(4))
    ordinary = (~np.isin(ids, list(SPECIAL_IDS))).sum(axis=1)
    shares = np.minimum(1, (masked.labels != IGNORE_INDEX).sum(axis=1) / lengths)
    assert (shares >= 0.1).all()
    assert shares.mean() == pytest.approx(0.55, abs=0.03)  # a little less: special tokens are never chosen
    assert ((masked.labels != IGNORE_INDEX).sum(axis=1) == ordinary).mean() > 0.05  # all of a text's tokens


def test_labels_are_the_true_tokens_at_the_positions_in_rising_order():
    ids, lengths = pairs(500)
    masked = mask_batch(ids, lengths, RULE, np.random.default_rng(5))
    used = masked.labels != IGNORE_INDEX
    assert (np.take_along_axis(ids, masked.positions, axis=1)[used] == masked.labels[used]).all()
    assert (masked.positions[~used] == 0).all()
    for row in range(500):
        positions = masked.positions[row][used[row]]
        assert (np.diff(positions) > 0).all()
        assert set(positions) == set(np.flatnonzero(np.isin(masked.outcomes[row], [MASKED, REPLACED, KEPT])))


def test_the_shares_can_be_set_and_hide_at_most_what_there_is():
    ids, lengths = pairs(3_000)
    rule = MaskingRule(MASK, VOCAB, SPECIAL_IDS, probability=0.4, mask_share=0.5, random_share=0.5)
    masked = mask_batch(ids, lengths, rule, np.random.default_rng(8))
    chosen = masked.labels != IGNORE_INDEX
    assert not (masked.outcomes == KEPT).any()
    assert (masked.outcomes == MASKED).sum() / chosen.sum() == pytest.approx(0.5, abs=0.02)
    assert chosen.sum() / lengths.sum() == pytest.approx(0.4, abs=0.02)
    rule = MaskingRule(MASK, VOCAB, SPECIAL_IDS, probability=0.9)
    ids = np.array([[CLS, 9, SEP, 8, 8], [CLS, 9, 8, 7, SEP], [CLS, UNK, SEP, 0, 0]])  # padding, whatever its ids are
    masked = mask_batch(ids, np.array([3, 5, 3]), rule, np.random.default_rng(9))
    labels = [row[row != IGNORE_INDEX].tolist() for row in masked.labels]
    assert labels == [[9], [9, 8, 7], []]


# Whole words: ids from 100 on continue the word before them.

CONTINUATION = np.arange(VOCAB) >= 100
WHOLE = MaskingRule(MASK, VOCAB, SPECIAL_IDS, whole_word=True, continuation=CONTINUATION)


def words_of(ids: np.ndarray, length: int) -> list[list[int]]:
    words: list[list[int]] = []
    for position in range(1, length):
        if ids[position] in SPECIAL_IDS:
            words.append([])
        elif CONTINUATION[ids[position]] and words and words[-1]:
            words[-1].append(position)
        else:
            words.append([position])
    return [word for word in words if word]


def test_the_outcome_is_drawn_for_each_piece_of_a_whole_word():
    ids = np.tile([CLS, 50, 150, 151, 60, 160, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, SEP], (4_000, 1))
    masked = mask_batch(ids, np.full(4_000, 20), WHOLE, np.random.default_rng(1))
    word = masked.outcomes[:, 1:4]
    whole = word[(word != NOT_CHOSEN).all(axis=1)]
    assert len(whole) > 200
    assert 0.3 < (whole == MASKED).all(axis=1).mean() < 0.75, "0.8 cubed is 0.51"


@pytest.mark.parametrize("rule", [RULE, WHOLE], ids=["tokens", "words"])
def test_every_position_is_equally_likely(rule):
    ids = np.full((20_000, 22), 50)
    ids[:, 0], ids[:, -1] = CLS, SEP
    masked = mask_batch(ids, np.full(20_000, 22), rule, np.random.default_rng(6))
    share = np.isin(masked.outcomes, [MASKED, REPLACED, KEPT]).mean(axis=0)[1:-1]
    assert share == pytest.approx(np.full(20, 3 / 20), abs=5 * (0.15 * 0.85 / 20_000) ** 0.5)


# Spans: runs of whole words (SpanBERT).

SPANS = replace(WHOLE, whole_word=False, spans=True)


@given(st.integers(0, 2**32), st.sampled_from([0.02, 0.15, 0.6]), st.sampled_from([WHOLE, SPANS]))
def test_whole_words_are_hidden_whole_and_within_the_predictions(seed, probability, rule):
    rule = replace(rule, probability=probability)
    ids, lengths = pairs(20, seed=seed)
    before = ids.copy()
    masked = mask_batch(ids, lengths, rule, np.random.default_rng(seed))
    assert (ids == before).all()
    for row in range(20):
        chosen = set(masked.positions[row][masked.labels[row] != IGNORE_INDEX].tolist())
        assert len(chosen) <= rule.predictions(lengths, RNG)[row]
        for word in words_of(ids[row], int(lengths[row])):
            assert chosen.issuperset(word) or chosen.isdisjoint(word)


@pytest.mark.parametrize("rule", [WHOLE, SPANS], ids=["words", "spans"])
def test_no_word_is_left_that_would_still_have_fitted(rule):
    ids, lengths = pairs(300)
    masked = mask_batch(ids, lengths, rule, np.random.default_rng(1))
    for row in range(300):
        chosen = set(masked.positions[row][masked.labels[row] != IGNORE_INDEX].tolist())
        room = rule.predictions(lengths, RNG)[row] - len(chosen)
        assert all(len(word) > room for word in words_of(ids[row], int(lengths[row])) if chosen.isdisjoint(word))


def spans_in(row_of_starts: np.ndarray, chosen: np.ndarray) -> list[list[int]]:
    spans: dict[int, list[int]] = {}
    for position in np.flatnonzero(chosen):
        spans.setdefault(int(row_of_starts[position]), []).append(int(position))
    return list(spans.values())


def test_a_span_has_one_to_ten_words_shorter_ones_more_often():
    ids = np.full((300, 2_000), 50)
    lengths = np.full(300, 2_000)
    real = np.ones(ids.shape, dtype=bool)
    rule = replace(SPANS, probability=0.02)
    chosen, starts = masking._choose_words(ids, real, lengths // 50, rule, np.random.default_rng(2))
    found = [len(span) for row in range(300) for span in spans_in(starts[row], chosen[row])]
    count = np.bincount(found, minlength=11) / len(found)
    assert max(found) == 10
    # Geometric up to ten words: 3.8 on average, a little less where a span meets another or the room ends.
    assert 3.4 < np.mean(found) < 3.85
    assert count[1] == pytest.approx(0.2 / (1 - 0.8**10), abs=0.05)
    assert (np.diff(count[1:9]) < 0).all()


def test_a_span_is_a_run_that_no_separator_interrupts():
    ids, _ = pairs(500)
    special = np.isin(ids, list(SPECIAL_IDS))
    wanted = np.full(500, 12)
    chosen, starts = masking._choose_words(ids, ~special, wanted, SPANS, np.random.default_rng(3))
    longest = 0
    for row in range(500):
        for span in spans_in(starts[row], chosen[row]):
            assert span == list(range(span[0], span[0] + len(span)))
            assert starts[row, span[0]] == span[0]
            longest = max(longest, len(span))
    assert longest > 5


def test_what_becomes_of_a_span_is_drawn_once():
    ids = np.tile([CLS, 50, 150, 151, 152, 153, 154, SEP], (20_000, 1))
    rule = replace(SPANS, probability=0.75)
    masked = mask_batch(ids, np.full(20_000, 8), rule, np.random.default_rng(5))
    span = masked.outcomes[:, 1:7]
    assert (span == span[:, :1]).all()
    assert [(span[:, 0] == o).mean() for o in (MASKED, REPLACED, KEPT)] == pytest.approx([0.8, 0.1, 0.1], abs=0.015)
    replaced = masked.input_ids[span[:, 0] == REPLACED][:, 1:7]
    assert (replaced != replaced[:, :1]).any(), "the random tokens of a span are not all the same"
