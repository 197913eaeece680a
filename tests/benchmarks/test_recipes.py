"""Each recipe changes what it says, a run goes on where it stopped, and old results stay readable."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.corpus import Text, with_simple_text
from benchmarks.recipe_sweep import RUNS, comparisons, kept_runs, pending
from benchmarks.recipes import scores, training
from benchmarks.recipes.objectives import BagOfNextTokens, preferring_rare_tokens, varied, weigh_layers
from benchmarks.recipes.scores import (
    Examples,
    blimp_accuracy,
    fine_tuned_predictions,
    glue_scores,
    missing_data,
    sentiment_examples,
)
from benchmarks.recipes.table import summarised, table
from benchmarks.recipes.variants import BASE, VARIANTS, Variant
from bertviz_lab import BertForPreTraining
from bertviz_lab.config import IGNORE_INDEX
from bertviz_lab.training.checkpoints.checkpoint import parameter_count
from tests.benchmarks.test_modules import line
from tests.little import little_checkpoint, little_folder, little_text, little_tokenizer
from tests.training.support import small_data

SETTING = {"preset": "tiny", "seconds": 0.5, "precision": "fp32"}


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Text:
    monkeypatch.setattr("benchmarks.corpus.cache", lambda: tmp_path)
    monkeypatch.setattr("benchmarks.recipes.training.cache", lambda: tmp_path)
    monkeypatch.setattr("benchmarks.recipes.clock._EXAMPLES", 1)
    monkeypatch.setenv("BERTVIZ_LAB_DATA", str(tmp_path))
    (tmp_path / "a").mkdir()
    for name in ("train", "valid"):
        (tmp_path / "a" / f"{name}.txt").write_text(little_text(), encoding="utf-8")
    return Text("little", tmp_path / "a" / "train.txt", tmp_path / "a" / "valid.txt")


def test_causal_batches_are_spread_over_the_whole_run() -> None:
    data = varied(small_data(little_tokenizer()), 0.25)
    rows = next(iter(data.epoch(0)))
    assert [data.batch_at(rows, 0, number).causal for number in range(8)] == 2 * [False, False, False, True]


def test_rare_tokens_are_masked_more_often_and_as_many_in_all() -> None:
    plain = small_data(little_tokenizer(), batch_size=32)
    counts = plain.documents.corpus.counts(little_tokenizer().vocab_size)
    rare, rows = preferring_rare_tokens(varied(plain), counts), next(iter(plain.epoch(0)))
    rng = np.random.default_rng(0)
    batches = {name: [data.batch(rows, rng) for _ in range(40)] for name, data in (("plain", plain), ("rare", rare))}
    labels = {
        name: torch.cat([batch.labels[batch.labels != IGNORE_INDEX] for batch in of]) for name, of in batches.items()
    }
    assert len(labels["rare"]) == pytest.approx(len(labels["plain"]), rel=0.1)
    frequency = {name: counts[of.numpy()].mean() for name, of in labels.items()}
    assert frequency["rare"] < 0.95 * frequency["plain"]
    ids, _, _ = plain._write_out(rows)
    batch = batches["rare"][0]
    untouched = np.ones_like(ids, dtype=bool)
    np.put_along_axis(untouched, batch.masked_positions.numpy(), False, 1)
    assert (batch.input_ids.numpy() == ids)[untouched].all()  # what is not asked is as it was
    asked = batch.labels != IGNORE_INDEX
    assert (batch.labels[asked] == torch.from_numpy(ids).gather(1, batch.masked_positions)[asked]).all()


def test_a_bag_is_the_next_four_tokens() -> None:
    checkpoint = little_checkpoint()
    model, data = checkpoint.model, small_data(checkpoint.tokenizer)
    bag, batch = BagOfNextTokens(model), data.causal_batch(next(iter(data.epoch(0))))
    model(batch.input_ids, batch.attention_mask, batch.token_type_ids, masked_positions=batch.masked_positions)
    model.mlm.bias.data.fill_(0.0)
    model.mlm.norm.weight.data.fill_(0.0)
    model.mlm.norm.bias.data.fill_(0.0)  # all tokens are equally likely: each costs ln V
    labels = batch.labels != IGNORE_INDEX
    asked = sum(int(labels[:, skip:].sum()) for skip in range(4))
    expected = asked / (4 * batch.label_count) * np.log(checkpoint.config.vocab_size)
    assert bag.loss(batch).item() == pytest.approx(expected, rel=1e-4)
    bag.loss(batch).backward()
    assert model.mlm.bag.weight.grad is not None


def test_weighted_layers_read_all_layers_below() -> None:
    ids = torch.arange(5, 15)[None]
    model = little_checkpoint(kind=BertForPreTraining).model
    weigh_layers(model)
    first = model.bert.encoder.layers[0]
    plain = little_checkpoint(kind=BertForPreTraining).model(ids).prediction_logits
    first.shares.data = torch.tensor([-100.0, 100.0])
    torch.testing.assert_close(model(ids).prediction_logits, plain)
    first.shares.data = torch.tensor([100.0, -100.0])  # only the embeddings: the first layer is as if it were not there
    without = model(ids).prediction_logits
    first.output_norm.weight.data.mul_(2.0)
    torch.testing.assert_close(model(ids).prediction_logits, without)
    assert not torch.allclose(without, plain)


def test_a_recipe_of_all_changes_trains_and_goes_on_where_it_stopped(
    text: Text, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {"causal_throughout": 0.25, "prefers_rare_tokens": True, "predicts_bags": True, "weighs_layers": True}
    variant = Variant("all", "", {"vocab_size": 200}, embedding_size=16, simple_text=True, latest=3, **changes)
    for n in range(1, 6):
        (text.train.parents[1] / "multi30k_captions").mkdir(exist_ok=True)
        (text.train.parents[1] / f"multi30k_captions/train.{n}.en").write_text("A red cat.\nTwo dogs run.\n")
    (text.train.parents[1] / "classic_books").mkdir()
    (text.train.parents[1] / "classic_books/train_60mb.txt").write_text("'You walk,' she said.\nHe ran.\n")
    monkeypatch.setattr(training, "_SAVED_EVERY", 0.0)
    step, calls = training._step, []

    def interrupted(*args: object) -> None:
        calls.append(args)
        if len(calls) == 4:
            raise KeyboardInterrupt
        step(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(training, "_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        training.train(variant, text, 0, {**SETTING, "seconds": 100.0})
    kept = torch.load(training.state_file(variant, 0, {**SETTING, "seconds": 100.0}))
    assert kept["steps"] == 3
    file = training.state_file(variant, 0, SETTING)
    training._save({**kept, "clock": {"seconds": 0.4, "cpu_seconds": 0.3}}, file)
    trained = training.train(variant, text, 0, SETTING)
    assert trained.steps > 3
    assert trained.cpu_seconds > 0.3
    assert trained.model.bert.embeddings.word.weight.shape[1] == 16
    assert trained.model.bert.encoder.layers[0].shares.shape == (2,)
    assert training.train(variant, text, 0, SETTING).steps == trained.steps  # until it is scored
    assert "'You walk,' she said." in with_simple_text(text).train.read_text()


def test_a_model_is_trained_on(text: Text, tmp_path: Path) -> None:
    start = little_folder(tmp_path / "little")
    variant = Variant("on", "", {"init_from": str(start), "causal_detour": 0.5, "seq_len": 32})
    trained = training.train(variant, text, 0, SETTING)
    assert trained.steps > 0
    assert trained.parameters == parameter_count(little_checkpoint().model)


def test_fine_tuning_learns_and_leaves_the_model_as_it_was() -> None:
    checkpoint = little_checkpoint()
    texts = [(f"the {word} cat", None) for word in ("red", "old") for _ in range(32)]
    examples = Examples(texts, np.repeat([1.0, 0.0], 32).astype(np.float32))
    before = {name: value.clone() for name, value in checkpoint.model.state_dict().items()}
    predicted = fine_tuned_predictions(checkpoint.model, checkpoint.tokenizer, examples, examples, epochs=60)
    assert ((predicted > 0) == (examples.targets > 0.5)).all()
    assert all(torch.equal(value, before[name]) for name, value in checkpoint.model.state_dict().items())


def test_grammar_is_judged_by_every_fifth_pair(text: Text, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint, asked = little_checkpoint(), []
    monkeypatch.setattr(
        scores, "score_minimal_pairs", lambda checkpoint, pairs, **options: asked.append(pairs) or replaced
    )
    replaced = type("Report", (), {"accuracy": 0.5})
    assert blimp_accuracy(checkpoint.model, checkpoint.tokenizer) is None
    assert glue_scores(checkpoint.model, checkpoint.tokenizer) == {"sst2": None, "stsb": None}
    assert "lacks BLiMP, SST-2, STS-B" in missing_data()
    (tmp_path / "blimp").mkdir()
    rows = [{"sentence_good": f"a {n}", "sentence_bad": f"b {n}", "linguistics_term": "x"} for n in range(11)]
    (tmp_path / "blimp" / "one.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert blimp_accuracy(checkpoint.model, checkpoint.tokenizer) == 0.5
    assert [pair.good for pair in asked[0]] == ["a 0", "a 5", "a 10"]


def test_sentiment_is_trained_on_no_phrase_of_the_held_out_sentences(text: Text, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(scores, "_SENTENCES", 1)
    (tmp_path / "sst2_glue").mkdir()
    long = " ".join(f"word{n}" for n in range(25))
    rows = ["sentence\tlabel", f"{long} \t1", "word3 word4 \t1", "something else \t0"]
    (tmp_path / "sst2_glue" / "train.tsv").write_text("\n".join(rows))
    train, held_out = sentiment_examples()
    assert [texts[0].strip() for texts in train.texts] == ["something else"]
    assert [texts[0].strip() for texts in held_out.texts] == [long]


def test_kept_runs_are_readable_without_the_columns_that_are_new() -> None:
    assert len(kept_runs()) == len(RUNS.read_text().splitlines())
    text = table({"sweeps": comparisons(), "unigram_baseline": 2.9})
    assert "BLiMP" in text


def test_the_base_is_run_again_where_it_lacks_the_new_columns() -> None:
    old = [line(BASE, seed, 2.0) for seed in range(2)]
    assert [seed for variant, seed in pending(old) if variant is BASE] == [2, 3, 4]
    judged = [run | {"blimp": None, "sst2": None, "stsb": None} for run in old]
    assert [seed for variant, seed in pending(judged) if variant is BASE] == [2]


def test_the_noise_of_each_score_is_that_of_its_seeds() -> None:
    runs = [line(BASE, seed, 2.0) | {"blimp": 0.5 + 0.01 * seed} for seed in range(3)]
    result = summarised([*runs, line(VARIANTS[1], 0, 2.0)])
    assert result["noise_of"]["blimp"] == pytest.approx(0.01)
    assert result["noise_of"]["stsb"] is None
