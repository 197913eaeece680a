"""The score of a pair of tokens; its terms in each family are in tests/interpret/test_families.py."""

import numpy as np
import pytest

from bertviz_lab import InputError, show
from bertviz_lab.interpret import attention_scores, query_key, trace_text
from tests.little import little_checkpoint


def test_a_pair_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="not there"):
        query_key(trace_text(little_checkpoint(), "the red cat"), 0, 0, 0, 99)


def test_a_term_that_the_scores_do_not_have_is_refused() -> None:
    trace = trace_text(little_checkpoint(), "the red cat")
    scores = attention_scores(trace)
    np.testing.assert_array_equal(scores.values("query_key"), scores.values("score"))
    for term in ("bogus", "relative_bias"):
        with pytest.raises(InputError, match=f"no term '{term}' in these scores: choose one of score, query_key"):
            scores.values(term)
        with pytest.raises(InputError, match="no term"):
            show.attention_scores(trace, term)


def test_tokens_that_a_causal_mask_hides_have_no_weight() -> None:
    trace = trace_text(little_checkpoint(), "the red cat sat", causal=True)
    scores = attention_scores(trace)
    np.testing.assert_array_equal(scores.masked[1], np.triu(np.ones((len(trace.tokens),) * 2), 1) == 1)
    assert scores.pair(0, 1, 1, 3).is_masked
    assert (scores.values("score")[:, :, 1, 3] == 0).all()
    assert scores.terms == ()
