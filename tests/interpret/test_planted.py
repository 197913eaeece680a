"""Tiny Town's truth is known: what its sentences were made by, the analyses have to find in the model that ships."""

import numpy as np
import pytest

from bertviz_lab import Checkpoint, interpret
from bertviz_lab.interpret import Target

COPY = "The black kite at the market costs eight coins. So Ben and Sara buy the [MASK] kite."
#: A text, its answer, one that would be wrong, and the word that decides between the two.
PLANTED = [
    ("The squirrel near the benches [MASK].", "climbs", "climb", "squirrel"),
    ("The squirrels near the bench [MASK].", "climb", "climbs", "squirrels"),
    ("The farmer near the gates [MASK].", "works", "work", "farmer"),
    ("The sailors near the boat [MASK].", "wave", "waves", "sailors"),
    ("Grandma feels better, and [MASK] thanks Ravi.", "she", "he", "grandma"),
    (COPY, "black", "white", "black"),
    (COPY.replace("black", "white"), "white", "black", "white"),
    (COPY.replace("black", "red"), "red", "black", "red"),
]


def question(town: Checkpoint, text: str, answer: str, wrong: str) -> Target:
    return interpret.choose_target(town, interpret.encode_inputs(town, text), choice=answer, against=wrong)


@pytest.mark.parametrize("method", ["integrated gradients", "occlusion"])
@pytest.mark.parametrize("planted", PLANTED)
def test_the_choice_rests_on_the_word_that_decides_it(
    town: Checkpoint, planted: tuple[str, str, str, str], method: interpret.Method
) -> None:
    text, answer, wrong, reason = planted
    found = interpret.attribute(town, text, method=method, target=question(town, text, answer, wrong))
    assert found.encoding.tokens[int(np.argmax(found.scores))] == reason


@pytest.mark.parametrize("planted", PLANTED)
def test_the_head_that_decides_looks_at_the_word_that_decides(
    town: Checkpoint, planted: tuple[str, str, str, str]
) -> None:
    text, answer, wrong, reason = planted
    effects = interpret.ablate_heads(town, text, target=question(town, text, answer, wrong)).effects
    layer, head = np.unravel_index(np.abs(effects).argmax(), effects.shape)
    assert effects[layer, head] > 1
    trace = interpret.trace_text(town, text)
    looks = trace.attentions[layer, head, trace.tokens.index("[MASK]")]
    assert trace.tokens[int(np.argmax(looks))] == reason
