"""A frame says of a snapshot what the other analyses say of the same model."""

import numpy as np
import pytest
import torch

from bertviz_lab import (
    BertForMaskedLM,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    Tokenizer,
    interpret,
)
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import token_text
from bertviz_lab.training.loop.growth import ProgressiveStacking, joined_layers, joining_note
from tests.family_checkpoints import family_checkpoint
from tests.little import little_checkpoint

TEXT, SECOND = "the red [MASK] sat on the [MASK]", "she gave him the red book"


@pytest.fixture(scope="module")
def checkpoint():
    return little_checkpoint()


def ids(checkpoint, *words):
    return [checkpoint.tokenizer.id(word) for word in words]


@pytest.mark.parametrize("second", [None, SECOND])
def test_attention_is_that_of_a_trace(checkpoint, second):
    found, trace = interpret.analyze_snapshot(checkpoint, TEXT, second), interpret.trace_text(checkpoint, TEXT, second)
    np.testing.assert_allclose(found.attentions, trace.attentions, atol=1e-6)
    metrics = interpret.head_metrics(trace.attentions, trace.encoding)
    for name in metrics:
        np.testing.assert_allclose(found.heads[name], metrics[name], atol=1e-6)


def test_a_layer_that_adds_nothing_has_not_joined_and_is_named():
    checkpoint = little_checkpoint()
    assert interpret.analyze_snapshot(checkpoint, TEXT).joined == (True, True)
    assert joining_note(joined_layers(checkpoint.model)) == ""
    ProgressiveStacking(checkpoint.model, 0.9, lambda: 0.0, is_new=True)
    assert interpret.analyze_snapshot(checkpoint, TEXT).joined == (True, False)
    note = "Layer 2 has not joined the training (progressive stacking): its heads are as they began, and add nothing."
    assert joining_note(joined_layers(checkpoint.model)) == note


def test_masked_tokens_are_those_of_fill_mask_and_of_the_lens(checkpoint):
    tracked = ids(checkpoint, "cat", "mat")
    found = interpret.analyze_snapshot(checkpoint, TEXT, tracked=tracked)
    truth = interpret.fill_mask(checkpoint, TEXT, 8)
    assert [masked.position for masked in found.masked_tokens] == [mask.position for mask in truth.masks]
    for masked, mask in zip(found.masked_tokens, truth.masks, strict=True):
        assert [one.id for one in masked.candidates] == [one.id for one in mask.candidates]
        np.testing.assert_allclose(
            [one.probability for one in masked.candidates], [one.probability for one in mask.candidates], atol=1e-6
        )
        for asked in masked.tracked:
            ranked = (
                interpret.fill_mask(checkpoint, TEXT, 8, word=asked.id).masks[found.masked_tokens.index(masked)].asked
            )
            assert ranked is not None
            assert (asked.token, asked.rank) == (ranked.token, ranked.rank)
    lens = interpret.logit_lens(checkpoint, TEXT, top_k=1)
    assert [one.id for one in found.masked_tokens[0].layers] == [guess.candidates[0].id for guess in lens.layers]
    assert found.masked_tokens[0].layers[-1] == found.masked_tokens[0].candidates[0]


def test_next_sentence_is_asked_where_there_is_one(checkpoint):
    truth = interpret.next_sentence(checkpoint, TEXT, SECOND)
    assert interpret.analyze_snapshot(checkpoint, TEXT, SECOND).is_next == pytest.approx(truth.is_next, abs=1e-6)
    assert interpret.analyze_snapshot(checkpoint, TEXT).is_next is None
    assert interpret.analyze_snapshot(little_checkpoint(kind=BertForMaskedLM), TEXT, SECOND).is_next is None


def test_each_word_is_hidden_once_with_the_same_others(checkpoint):
    found = interpret.analyze_snapshot(checkpoint, TEXT, SECOND)
    encoding, tokenizer = found.encoding, checkpoint.tokenizer
    own = [
        at
        for at, token in enumerate(encoding.ids)
        if not encoding.special_tokens_mask[at] and token != tokenizer.mask_id
    ]
    assert found.losses is not None
    assert [at for at in range(len(encoding)) if np.isfinite(found.losses[at])] == own
    part = own[2::7]  # hidden together
    given = torch.tensor([encoding.ids])
    given[0, part] = tokenizer.mask_id
    with torch.inference_mode():
        logits = checkpoint.model(given, token_type_ids=torch.tensor([encoding.token_type_ids])).prediction_logits[0]
    for at in part:
        assert found.losses[at] == pytest.approx(-float(logits[at].log_softmax(-1)[encoding.ids[at]]), abs=1e-5)
    assert found.loss == pytest.approx(float(np.nanmean(found.losses)))


def test_models_of_a_task_say_what_they_are_asked_for():
    labels = {"num_labels": 3, "id2label": ("a", "b", "c")}
    classifier = little_checkpoint(kind=BertForSequenceClassification, **labels)
    found = interpret.analyze_snapshot(classifier, SECOND)
    assert [one.label for one in found.labels] == ["a", "b", "c"]
    truth = {one.label: one.score for one in interpret.classify(classifier, SECOND).labels}
    assert {one.label: one.score for one in found.labels} == pytest.approx(truth, abs=1e-6)
    assert (found.masked_tokens, found.losses, found.loss, found.is_next) == ((), None, None, None)
    tagger = little_checkpoint(kind=BertForTokenClassification, **labels)
    assert interpret.analyze_snapshot(tagger, SECOND).words == interpret.label_words(tagger, SECOND).words
    finder = little_checkpoint(kind=BertForQuestionAnswering)
    assert interpret.analyze_snapshot(finder, "who sat ?").answer is None
    answer = interpret.analyze_snapshot(finder, "who sat ?", SECOND).answer
    assert answer is not None
    assert answer.best == interpret.answer_question(finder, "who sat ?", SECOND, n_best=1).best


def test_a_snapshot_is_asked_about_a_text(checkpoint):
    with pytest.raises(InputError, match="Type a sentence"):
        interpret.analyze_snapshot(checkpoint, " ")


def test_related_words_begin_with_the_seeds_and_are_words(checkpoint):
    seeds = ids(checkpoint, "cat", ".", "river")
    found = interpret.related_tokens(checkpoint, seeds, 12)
    words = [checkpoint.tokenizer.token(token) for token in found]
    assert words[:2] == ["cat", "river"]
    assert len(set(words)) == len(words) <= 12
    assert all(word.isalpha() and len(word) > 1 for word in words)
    assert interpret.related_tokens(checkpoint, ids(checkpoint, ".")) == ()


FRENCH = "the café près de la forêt, they walk and were walking and talking"


def of_vocabulary(algorithm):
    tokenizer = Tokenizer.train([FRENCH] * 200, vocab_size=400, algorithm=algorithm, lowercase=False)
    return little_checkpoint(tokenizer=tokenizer)


@pytest.mark.parametrize(("algorithm", "mark"), [("wordpiece", ""), ("bpe", "Ġ"), ("unigram", "▁")])
def test_related_words_are_no_pieces_inside_a_word(algorithm, mark, tmp_path):
    checkpoint = family_checkpoint("xlm-roberta", tmp_path) if algorithm == "unigram" else of_vocabulary(algorithm)
    tokenizer = checkpoint.tokenizer
    found = interpret.related_tokens(checkpoint, tokenizer.ids([f"the {FRENCH}"])[0], 1000)
    tokens = [tokenizer.token(token) for token in found]
    assert all(token.startswith(mark) and not token.startswith("##") for token in tokens)
    words = [token_text(tokenizer, token) for token in found]
    assert all(word.isalpha() and len(word) > 1 for word in words)
    assert "the" in words
    assert algorithm == "unigram" or {"café", "près", "forêt"} <= set(words)
