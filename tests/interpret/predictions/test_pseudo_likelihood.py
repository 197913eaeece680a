import math

import numpy as np
import pytest

from bertviz_lab.interpret import fill_mask, pseudo_log_likelihood
from tests.little import little_checkpoint

TEXT = "the red cat sat"


def test_each_token_scores_what_fill_mask_gives_it() -> None:
    checkpoint = little_checkpoint()
    found = pseudo_log_likelihood(checkpoint, TEXT)
    words = TEXT.split()
    for place, word in enumerate(words):
        hidden = " ".join("[MASK]" if at == place else other for at, other in enumerate(words))
        asked = fill_mask(checkpoint, hidden, word=word).masks[0].asked
        assert found.log_probabilities[place + 1] == pytest.approx(math.log(asked.probability), abs=1e-4)
        assert found.expected[place + 1].token == fill_mask(checkpoint, hidden, 1).masks[0].candidates[0].token


def test_total_and_perplexity_come_from_the_same_numbers() -> None:
    found = pseudo_log_likelihood(little_checkpoint(), TEXT)
    own = found.log_probabilities[1:-1]
    assert found.total == pytest.approx(own.sum())
    assert found.perplexity == pytest.approx(math.exp(-own.mean()))


def test_the_rest_of_a_word_is_hidden_with_its_beginning() -> None:
    checkpoint = little_checkpoint()
    text = "catsunbelievably"
    pieces = checkpoint.tokenizer.encode(text).tokens[1:-1]
    assert len(pieces) > 1
    found = pseudo_log_likelihood(checkpoint, text)
    all_hidden = fill_mask(checkpoint, " ".join(["[MASK]"] * len(pieces)), word=pieces[0]).masks[0].asked
    assert found.log_probabilities[1] == pytest.approx(math.log(all_hidden.probability), abs=1e-4)


def test_a_typed_mask_stays_in_the_context_and_is_not_scored() -> None:
    checkpoint = little_checkpoint()
    scored = pseudo_log_likelihood(checkpoint, "the [MASK] cat sat")
    at = scored.encoding.tokens.index("[MASK]")
    assert np.isnan(scored.log_probabilities[at])
    assert scored.expected[at] is None
    others = [score for place, score in enumerate(scored.log_probabilities[1:-1], 1) if place != at]
    assert scored.total == pytest.approx(sum(others))
    asked = fill_mask(checkpoint, "the [MASK] cat [MASK]", word="sat").masks[1].asked
    assert others[-1] == pytest.approx(math.log(asked.probability), abs=1e-4)
