"""Batches for a training loop of one's own, and the scores of a classifier on texts in memory."""

import numpy as np
import pytest
import torch

from bertviz_lab import BertConfig, BertForPreTraining, classification_batches, evaluate, load_checkpoint, mlm_batches
from bertviz_lab.data.pretraining.sentence_pairs import IS_NEXT, LABEL, plan_epoch
from tests.data.support import corpus_of_ids

STORY = "The cat sat on the mat. It slept all day. Then it rained. The dog ran home. Nobody saw it leave."


@pytest.fixture(scope="module")
def tokenizer():
    return load_checkpoint("wiki-tiny").tokenizer


def test_a_batch_is_the_keyword_arguments_of_a_model(tokenizer):
    model = BertForPreTraining(BertConfig.preset("tiny", vocab_size=tokenizer.vocab_size))
    batch = next(iter(mlm_batches([STORY, STORY.upper(), "A bird sang. The sun rose."], tokenizer)))
    assert set(batch) == {"input_ids", "attention_mask", "token_type_ids", "labels", "next_sentence_label"}
    assert batch["labels"].shape == batch["input_ids"].shape
    assert torch.isfinite(model(**batch).loss)


def test_labels_are_the_true_ids_and_only_chosen_tokens_differ(tokenizer):
    for batch in mlm_batches([STORY] * 20, tokenizer, mask_probability=0.3, nsp=False):
        chosen = batch["labels"] != -100
        assert not (chosen & (batch["attention_mask"] == 0)).any()
        shares = chosen.sum(1) / batch["attention_mask"].sum(1)
        assert shares.mean() == pytest.approx(0.3, abs=0.03)
        original = torch.where(chosen, batch["labels"], batch["input_ids"])
        assert not (original == tokenizer.mask_id).any()


def test_a_file_and_a_sample_are_corpora(tokenizer, tmp_path):
    (tmp_path / "story.txt").write_text(f"{STORY}\n\n{STORY}\n", encoding="utf-8")
    assert len(list(mlm_batches(tmp_path / "story.txt", tokenizer))) == 1
    assert next(iter(mlm_batches("sample:tiny-town", tokenizer)))["input_ids"].shape[0] == 8


@pytest.mark.parametrize("texts", [[STORY], ["One sentence.", "Another one.", "A third."]])
def test_without_pairs_to_draw_there_is_no_next_sentence_label(tokenizer, texts):
    assert "next_sentence_label" not in next(iter(mlm_batches(texts, tokenizer)))


def test_texts_without_words_and_other_numbers_of_labels_are_refused(tokenizer):
    with pytest.raises(ValueError, match="no words"):
        mlm_batches(["", " "], tokenizer)
    with pytest.raises(ValueError, match="shorter"):
        classification_batches(["a", "b"], [0], tokenizer)


@pytest.mark.parametrize("seq_len", [12, 40, 128])
@pytest.mark.parametrize("sentences", [(2, 3), (2, 30), (1, 6)])
def test_balanced_pairs_are_half_true_and_half_random(seq_len, sentences):
    rng = np.random.default_rng(1)
    lengths = [[int(n) for n in rng.integers(3, 30, rng.integers(*sentences))] for _ in range(300)]
    corpus = corpus_of_ids([[[1] * n for n in document] for document in lengths])
    view = corpus.select(np.arange(corpus.documents))
    labels = np.concatenate([t[:, LABEL] for t in plan_epoch(view, rng, seq_len=seq_len, balanced=True)])
    assert (labels == IS_NEXT).mean() == pytest.approx(0.5, abs=0.02)
    pairs = sum(len(document) // 2 for document in lengths)
    assert len(labels) > (0.8 if seq_len == 12 else 0.1) * pairs


def test_classes_of_strings_are_alphabetical_and_whole_numbers_keep_their_value(tokenizer):
    texts = ["good", "bad", "fine"]
    named = classification_batches(texts, ["pos", "neg", "pos"], tokenizer)
    assert named.classes == ("neg", "pos")
    assert sorted(next(iter(named))["labels"].tolist()) == [0, 1, 1]
    assert sorted(next(iter(classification_batches(texts, [2, 0, 2], tokenizer)))["labels"].tolist()) == [0, 2, 2]
    pair = next(iter(classification_batches([("a cat", "a dog")], [1], tokenizer)))
    assert pair["token_type_ids"].max() == 1


def test_evaluate_scores_names_and_indices_alike():
    texts = ["A wonderful film.", "A dreadful, boring film.", "I loved it."]
    names = ["positive", "negative", "negative"]
    model = load_checkpoint("sentiment-mini")
    report = evaluate(model, texts, names)
    assert report.accuracy == pytest.approx(2 / 3)
    assert report.confusion.tolist() == [[1, 1], [0, 1]]
    indices = [model.config.labels.index(name) for name in names]
    assert evaluate(model, texts, indices).f1 == report.f1
    with pytest.raises(ValueError, match="no label 'great'"):
        evaluate(model, texts, ["great"] * 3)
    with pytest.raises(Exception, match="not been fine-tuned"):
        evaluate("wiki-tiny", texts, names)


@pytest.mark.parametrize(
    ("name", "layers", "vocabulary"), [("bert-base-uncased", 12, 30_522), ("bert-large-cased", 24, 28_996)]
)
def test_published_names_are_presets(name, layers, vocabulary):
    config = BertConfig.preset(name)
    assert (config.num_hidden_layers, config.vocab_size) == (layers, vocabulary)
    assert BertConfig.preset(name, vocab_size=100).vocab_size == 100
