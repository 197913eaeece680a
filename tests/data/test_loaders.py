"""Examples come back from a file the same, and batches are made of them, ahead of time too."""

import gc
import multiprocessing
import threading
from concurrent.futures import wait
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab import (
    BertConfig,
    BertForPreTraining,
    FinetuneConfig,
    InputError,
    PretrainConfig,
    classification_batches,
    evaluate,
    finetune,
    load_checkpoint,
    mlm_batches,
    pretrain,
)
from bertviz_lab.data.batches import Batch, BatchStream, Prefetcher
from bertviz_lab.data.examples import (
    Answer,
    LabelledText,
    LabelledWords,
    Question,
    holds_examples,
    read_examples,
    write_examples,
)
from bertviz_lab.data.formats.read import read_task
from bertviz_lab.data.loaders import write_rows
from bertviz_lab.data.pretraining.batches import PretrainingData, masking_rule
from bertviz_lab.data.pretraining.sentence_pairs import B_END, B_START, IS_NEXT, IS_RANDOM, LABEL, NO_LABEL, plan_epoch
from tests.data.support import corpus_of_ids
from tests.training.finetuning.support import TASKS, examples

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
    with pytest.raises(ValueError, match="2 texts and 1 labels; give one label for each text"):
        classification_batches(["a", "b"], [0], tokenizer)
    with pytest.raises(ValueError, match="not one text"):
        classification_batches("ab", [0, 1], tokenizer)
    with pytest.raises(ValueError, match="There are no texts"):
        evaluate("sentiment-mini", [], [])


@pytest.mark.parametrize("batch_size", [0, -1])
def test_a_batch_without_rows_is_refused(tokenizer, batch_size):
    with pytest.raises(ValueError, match=f"at least one row, not {batch_size}"):
        next(iter(classification_batches(["a", "b"], [0, 1], tokenizer, batch_size)))
    with pytest.raises(ValueError, match=f"at least one row, not {batch_size}"):
        next(iter(mlm_batches(["One sentence. Another.", "A third. A fourth."], tokenizer, batch_size)))


@pytest.mark.parametrize(
    ("labels", "task"),
    [([1, 0], "classification"), (["good", "bad"], "classification"), ([0.5, 1.25], "regression"),
     ([["a", "b"], ["b"]], "multilabel")],
)  # fmt: skip
@pytest.mark.parametrize(
    "texts", [["A good film.", "A bad one."], [("A cat sat.", "A dog ran."), ("It rained.", "So.")]]
)
def test_lists_are_read_as_the_file_that_a_run_keeps(texts, labels, task, tmp_path):
    file = write_rows(
        tmp_path / "texts.jsonl", texts * 20, np.array(labels * 20) if task != "multilabel" else labels * 20
    )
    data = read_task([file], text_a="text_a", label="label", text_b="none" if isinstance(texts[0], str) else "text_b")
    assert (data.task, len(data.examples)) == (task, 40)
    assert {(e.text_a, e.text_b) if e.text_b else e.text_a for e in data.examples} == set(texts)


@pytest.mark.parametrize("run", [pretrain(PretrainConfig(), "run"), finetune(FinetuneConfig(), "run")])
def test_a_run_without_a_text_is_refused_before_it_writes(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="Name at least one"):
        next(run)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("seq_len", [12, 40, 128])
@pytest.mark.parametrize("sentences", [(2, 3), (2, 30), (1, 6)])
def test_balanced_pairs_are_half_true_and_half_random_in_every_batch(tokenizer, seq_len, sentences):
    rng = np.random.default_rng(1)
    lengths = [[int(n) for n in rng.integers(3, 30, rng.integers(*sentences))] for _ in range(300)]
    corpus = corpus_of_ids([[[1] * n for n in document] for document in lengths])
    view = corpus.select(np.arange(corpus.documents))
    data = PretrainingData(view, tokenizer, masking_rule(tokenizer), seq_len, 32, 0.1, "nsp", 1, balanced=True)
    batches = [batch[:, LABEL] for batch in data.epoch(0)]
    labels = np.concatenate(batches)
    assert (labels != NO_LABEL).sum() > (0.8 if seq_len == 12 else 0.1) * sum(len(d) // 2 for d in lengths)
    assert (labels[labels != NO_LABEL] == IS_NEXT).mean() == pytest.approx(0.5, abs=0.005)
    assert all(abs(int((some == IS_NEXT).sum()) - int((some == IS_RANDOM).sum())) <= 2 for some in batches)


def test_sentences_that_no_true_pair_balances_are_texts_without_a_second():
    corpus = corpus_of_ids([[[1, 1, 1]]] * 20 + [[[1, 1], [1, 1]]] * 5)
    view = corpus.select(np.arange(corpus.documents))
    (table,) = plan_epoch(view, np.random.default_rng(0), seq_len=16, balanced=True)
    counts = {label: int((table[:, LABEL] == label).sum()) for label in (IS_NEXT, IS_RANDOM, NO_LABEL)}
    assert counts[IS_NEXT] == counts[IS_RANDOM] > 0
    alone = table[table[:, LABEL] == NO_LABEL]
    assert len(alone) >= 15
    assert (alone[:, B_START] == alone[:, B_END]).all()


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


text = st.one_of(st.text(), st.sampled_from(["a\u2028b", "a\x85b", "a\r\nb", "\ud800", "\ufeff", "日本"]))
label = st.one_of(text, st.floats(allow_nan=False, allow_infinity=False))
texts = st.builds(LabelledText, text, st.none() | text, label, st.integers(1, 10**9))
words = st.lists(st.tuples(text, text), min_size=1).map(
    lambda pairs: LabelledWords(tuple(w for w, _ in pairs), tuple(t for _, t in pairs), 3)
)
answers = st.lists(st.builds(Answer, text, st.integers(0, 99)), max_size=3).map(tuple)
questions = st.builds(Question, text, text, text, answers, st.integers(1, 99), text)


@given(written=st.one_of(st.lists(kind) for kind in (texts, words, questions)))
def test_any_example_round_trips_through_its_file(written, tmp_path_factory) -> None:
    path = tmp_path_factory.mktemp("kept") / "train.jsonl"
    write_examples(path, written)
    assert list(read_examples(path)) == written
    assert path.read_bytes().count(b"\n") == len(written)
    assert [type(example.label) for example in read_examples(path) if isinstance(example, LabelledText)] == [
        type(example.label) for example in written if isinstance(example, LabelledText)
    ]


def test_a_passage_that_questions_share_is_written_once_and_shared_when_read(tmp_path) -> None:
    written = [Question(str(n), "which", "a long passage " * 1_000 + str(n // 50), (), n) for n in range(100)]
    write_examples(tmp_path / "train.jsonl", written)
    assert (tmp_path / "train.jsonl").stat().st_size < 45_000
    read = read_examples(tmp_path / "train.jsonl")
    assert list(read) == written
    assert len({id(question.passage) for question in read}) == 2


@pytest.mark.parametrize("task", TASKS)
def test_a_file_of_written_examples_is_recognised(task, tmp_path) -> None:
    write_examples(tmp_path / "held_out.jsonl", examples(task))
    assert holds_examples(tmp_path / "held_out.jsonl")


@pytest.mark.parametrize(
    "content", [b"", b"text\tlabel\n", b'{"text": "a", "kind": "b"}\n', b"[1]\n", b"\xff\xfe\n", b"{"]
)
def test_other_files_are_not_taken_for_written_examples(content, tmp_path) -> None:
    (tmp_path / "other.jsonl").write_bytes(content)
    assert not holds_examples(tmp_path / "other.jsonl")
    assert not holds_examples(tmp_path / "missing.jsonl")


@dataclass(frozen=True)
class Numbers:
    """Three batches an epoch; each holds its epoch and its number."""

    fails_at: tuple[int, int] = (-1, -1)

    def epoch(self, number: int):
        return iter(range(3))

    def batch_at(self, rows: int, epoch: int, number: int) -> Batch:
        if (epoch, number) == self.fails_at:
            raise RuntimeError("a broken batch")
        ids = torch.tensor([[epoch, rows]])
        return Batch(input_ids=ids, token_type_ids=ids, attention_mask=None, real_tokens=2)


@pytest.fixture(autouse=True)
def _no_thread_is_left_behind():
    before = set(threading.enumerate())
    yield
    assert not set(threading.enumerate()) - before
    assert not multiprocessing.active_children()


def prefetching() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("prefetch")]


@pytest.mark.parametrize("in_process", [False, True])
def test_batches_come_in_the_order_of_the_stream_with_its_places(in_process):
    plain, ahead = BatchStream(Numbers()), Prefetcher(BatchStream(Numbers()), in_process=in_process)
    for _ in range(10):
        assert next(ahead).input_ids.tolist() == next(plain).input_ids.tolist()
        assert (ahead.epoch, ahead.number) == (plain.epoch, plain.number)
    ahead.close()


def test_the_place_is_that_of_the_next_batch_to_be_taken_and_not_of_the_next_to_be_made():
    ahead = Prefetcher(BatchStream(Numbers(), 1, 2), ahead=8)
    assert (ahead.epoch, ahead.number) == (1, 2)
    assert next(ahead).name == "epoch 2, batch 3"
    wait(ahead._ready)  # the thread is far ahead
    assert (ahead.epoch, ahead.number) == (1, 3)
    resumed = Prefetcher(BatchStream(Numbers(), ahead.epoch, ahead.number))
    assert next(resumed).name == next(ahead).name == "epoch 3, batch 1"
    ahead.close()
    resumed.close()


@pytest.mark.parametrize("in_process", [False, True])
def test_an_error_comes_where_its_batch_would_have_come_and_ends_the_thread(in_process):
    ahead = Prefetcher(BatchStream(Numbers(fails_at=(0, 2))), in_process=in_process)
    assert [next(ahead).name, next(ahead).name] == ["epoch 1, batch 1", "epoch 1, batch 2"]
    with pytest.raises(RuntimeError, match="a broken batch"):
        next(ahead)
    with pytest.raises(StopIteration):
        next(ahead)


@pytest.mark.parametrize("taken", [0, 1, 5])
def test_close_ends_the_thread_even_while_it_waits_for_room(taken):
    ahead = Prefetcher(BatchStream(Numbers()), ahead=1)
    for _ in range(taken):
        next(ahead)
    ahead.close()
    assert not prefetching()
    ahead.close()


def test_the_thread_of_a_forgotten_prefetcher_ends():
    ahead = Prefetcher(BatchStream(Numbers()), ahead=1)
    next(ahead)
    (thread,) = prefetching()
    del ahead
    gc.collect()
    thread.join(5)
    assert not thread.is_alive()
