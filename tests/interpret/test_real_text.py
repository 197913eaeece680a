"""The analyses on articles that nobody here wrote, with the smaller of the models that read English."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from bertviz_lab import Checkpoint, interpret, load_checkpoint
from bertviz_lab.data.corpora.read import read_documents


@pytest.fixture(scope="module")
def wiki() -> Checkpoint:
    return load_checkpoint(Path(__file__).parents[2] / "checkpoints" / "wiki-tiny")


@pytest.fixture(scope="module")
def sentences(shared_data: Path) -> list[tuple[str, str]]:
    """Pairs that follow each other, one of each of some articles."""
    documents = islice(read_documents((str(shared_data / "wiki_en" / "valid.txt"),)), 12)
    return [(d.sentences[0], d.sentences[1]) for d in documents if len(d.sentences) > 1]


def hidden(sentence: str) -> str:
    words = sentence.split()
    words[len(words) // 2] = "[MASK]"
    return " ".join(words)


def test_every_row_of_attention_sums_to_one_and_every_metric_is_a_number(wiki, sentences) -> None:
    assert len(sentences) >= 10
    for pair in sentences:
        trace = interpret.trace_text(wiki, *pair)
        np.testing.assert_allclose(trace.attentions.sum(-1), 1, atol=1e-5)
        assert all(np.isfinite(values).all() for values in interpret.head_metrics(trace).metrics.values())


def test_what_tokens_add_sums_to_the_whole_and_the_last_layer_is_the_answer(wiki, sentences) -> None:
    for sentence, _ in sentences:
        text = hidden(sentence)
        found = interpret.attribute(wiki, text)
        assert abs(found.error) <= max(0.03 * abs(found.change), 2e-3), text
        best = interpret.fill_mask(wiki, text).masks[0].candidates[0]
        last = interpret.logit_lens(wiki, text).layers[-1]
        assert (last.candidates[0].token, last.probability) == (best.token, pytest.approx(best.probability, abs=1e-5))


def test_switching_a_head_off_gives_what_the_map_of_heads_says(wiki, sentences) -> None:
    for sentence, _ in sentences[:4]:
        text = hidden(sentence)
        effects = interpret.ablate_heads(wiki, text)
        for layer, head, effect in effects.top(2):
            head_mask = np.ones((2, 2))
            head_mask[layer, head] = 0
            changed = interpret.fill_mask(wiki, text, word=effects.target.index, head_mask=head_mask).masks[0].asked
            assert np.log(changed.probability) == pytest.approx(effects.baseline - effect, abs=1e-3)


def test_a_causal_mask_costs_the_model_its_answers(wiki, sentences) -> None:
    """It has learnt from both sides: most hidden words are less likely to it without the right one."""
    worse = []
    for sentence, _ in sentences:
        words = sentence.split()
        word = words[len(words) // 2]
        if len(wiki.tokenizer.ids([f" {word}"])[0]) == 1:
            both, forwards = (
                interpret.fill_mask(wiki, hidden(sentence), word=word, causal=causal).masks[0].asked.probability
                for causal in (False, True)
            )
            worse.append(forwards < both)
    assert len(worse) >= 5
    assert sum(worse) > len(worse) / 2


def test_sentences_that_follow_are_told_from_strangers(wiki, sentences) -> None:
    follows = [interpret.next_sentence(wiki, a, b).is_next for a, b in sentences]
    strangers = [
        interpret.next_sentence(wiki, a, b).is_next
        for (a, _), (_, b) in zip(sentences, sentences[1:] + sentences[:1], strict=True)
    ]
    assert np.mean(follows) > np.mean(strangers) + 0.2
