"""Recipes are compared at equal cost, by scores that do not depend on the vocabulary, and against the noise."""

import copy
import json
import math
import time
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks import recipe_sweep
from benchmarks.corpus import Text
from benchmarks.recipe_sweep import as_json, finished, pending, sweep
from benchmarks.recipes.clock import NOMINAL, Clock
from benchmarks.recipes.embeddings import begin_with_sines, scale_words, untie_decoder
from benchmarks.recipes.scores import bits_per_character, masked_passages, unigram_bits_per_character
from benchmarks.recipes.table import summarised, table
from benchmarks.recipes.training import SCHEDULES, changed, configuration, mean_of, optimizers_of
from benchmarks.recipes.variants import BASE, VARIANTS, Variant, suited
from bertviz_lab import Tokenizer
from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.pretraining.batches import PretrainingData, masking_rule
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus
from bertviz_lab.model import BertForMaskedLM
from bertviz_lab.training.loop.optim import set_learning_rate
from bertviz_lab.training.pretraining.curriculum import Stage
from tests.little import little_checkpoint, little_text, little_tokenizer

SETTING = {"text": "wiki_en", "preset": "tiny", "seconds": 0.2, "precision": "fp32"}
PASSAGES = [passage.replace("\n", " ") for passage in little_text(6).split("\n\n")]


class FixedStep:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def cpu_seconds(self) -> float:
        return self.seconds


def compute(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_waiting_costs_nothing_and_computing_costs_cpu_seconds() -> None:
    clock = Clock(FixedStep(NOMINAL))
    time.sleep(0.3)
    assert clock.read() < 0.1
    compute(0.2)
    assert 0.2 <= clock.read() < 0.4


def test_a_second_of_a_machine_that_is_twice_as_slow_counts_half() -> None:
    slow = Clock(FixedStep(2 * NOMINAL))
    compute(0.2)
    seconds = slow.read()
    assert seconds == pytest.approx(slow.cpu_seconds / 2)


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_every_schedule_rises_to_the_peak_and_ends_at_zero(schedule: Any) -> None:
    assert schedule(0.03, 0.06) == pytest.approx(0.5)
    assert schedule(0.06, 0.06) == pytest.approx(1.0)
    assert schedule(1.0, 0.06) == pytest.approx(0.0)
    after = [schedule(progress, 0.06) for progress in np.linspace(0.06, 1.0, 50)]
    assert after == sorted(after, reverse=True)


def test_the_stable_phase_of_wsd_is_at_the_peak_until_the_last_fifth() -> None:
    assert SCHEDULES["wsd"](0.79, 0.06) == 1.0
    assert SCHEDULES["wsd"](0.9, 0.06) == pytest.approx(0.5)


def stage(until: float, seq_len: int, batch_size: int) -> Stage:
    tokenizer = little_tokenizer()
    corpus = TokenizedCorpus.from_sentences([[[10, 11, 12]] * 3] * 3)
    data = PretrainingData(
        documents=corpus.select(np.arange(3)),
        tokenizer=tokenizer,
        rule=masking_rule(tokenizer),
        seq_len=seq_len,
        batch_size=batch_size,
        short_seq_probability=0.0,
        pairs="",
        seed=3,
    )
    return Stage(until, data)


def test_stages_are_cut_where_something_changes_and_keep_their_tokens_a_step() -> None:
    plan = (stage(0.45, 32, 64), stage(1.0, 128, 16))
    assert changed(plan, ()) == plan
    parts = changed(
        plan, ((0.0, {"mask_probability": 0.4}), (0.7, {"mask_probability": 0.15}), (0.9, {"seq_len": 512}))
    )
    assert [part.until for part in parts] == [0.45, 0.7, 0.9, 1.0]
    assert [part.data.seq_len for part in parts] == [32, 128, 128, 512]
    assert [part.data.rule.probability for part in parts] == [0.4, 0.4, 0.15, 0.15]
    assert {part.data.seq_len * part.data.batch_size for part in parts} == {2048}
    assert len({part.data.seed for part in parts}) == len(parts), "no part repeats the examples of another"


def test_a_batch_grows_by_its_factor() -> None:
    parts = changed((stage(1.0, 128, 16),), ((0.0, {"batch": 0.5}), (0.5, {"batch": 2})))
    assert [part.data.batch_size for part in parts] == [8, 32]


def test_every_vocabulary_is_asked_the_same_words() -> None:
    texts = ["The red cat, unbelievably, sat on day 7 of the café's year near rivers."]
    fine = Tokenizer.train(little_text().splitlines(), vocab_size=100)
    asked = []
    for tokenizer in (little_tokenizer(), fine):
        (passage,) = masked_passages(texts, tokenizer)
        offsets = [
            (passage.encoding.offsets[word[0]][0], passage.encoding.offsets[word[-1]][1]) for word in passage.words
        ]
        words = [texts[0][start:end] for start, end in offsets]
        assert passage.characters == sum(map(len, words))
        assert all(word.isalpha() and word.isascii() for word in words)
        asked.append(words)
    assert asked[0] == asked[1]
    assert len(little_tokenizer().encode(texts[0])) < len(fine.encode(texts[0]))


def test_a_model_without_knowledge_pays_the_uniform_price_for_each_token() -> None:
    checkpoint = little_checkpoint(kind=BertForMaskedLM)
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    passages = masked_passages(PASSAGES, tokenizer)
    tokens = sum(len(word) for passage in passages for word in passage.words)
    expected = tokens * math.log2(tokenizer.vocab_size) / sum(passage.characters for passage in passages)
    assert bits_per_character(model, tokenizer, PASSAGES) == pytest.approx(expected, rel=1e-5)


def test_the_unigram_baseline_is_what_token_frequencies_alone_cost() -> None:
    tokenizer = little_tokenizer()
    counts = np.zeros(tokenizer.vocab_size, dtype=np.int64)
    (the,) = tokenizer.encode("the").ids[1:-1]
    counts[the] = 3 * tokenizer.vocab_size
    share = (counts[the] + 1) / (4 * tokenizer.vocab_size)  # each token is counted once more than it was seen
    assert unigram_bits_per_character(counts, tokenizer, ["the"]) == pytest.approx(-math.log2(share) / 3)


def test_pieces_of_a_word_are_predicted_with_those_before_them_in_place() -> None:
    checkpoint = little_checkpoint(kind=BertForMaskedLM)
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    text = "riverhouse"
    (passage,) = masked_passages([text], tokenizer)
    (word,) = passage.words
    assert len(word) > 1
    bits = 0.0
    for piece, position in enumerate(word):
        ids = torch.tensor([passage.encoding.ids])
        answer = int(ids[0, position])
        ids[0, list(word[piece:])] = tokenizer.mask_id
        with torch.no_grad():
            bits -= float(model(ids).logits[0, position].log_softmax(-1)[answer]) / math.log(2)
    assert bits_per_character(model, tokenizer, [text]) == pytest.approx(bits / len(text), rel=1e-4)


def line(variant: Variant, seed: int, bits: float | None) -> dict[str, Any]:
    at = {"processor": "x", "load_before": 1.0, "commit": "abc"}
    body = {"steps": 10, "tokens": 1000, "parameters": 5, "cpu_seconds": 1.0, "reference_seconds": 0.05}
    scores = {"bits_per_character": bits, "sentiment": 0.7}
    return {"variant": as_json(variant), "seed": seed, "setting": SETTING, "machine": at} | body | scores


def names(runs: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(variant.name, seed) for variant, seed in pending(runs, VARIANTS[:4])]


def test_the_seeds_of_the_base_come_first_then_every_variant_then_another_seed_of_those_that_lead() -> None:
    first, second, third = VARIANTS[1:4]
    base = [(BASE.name, seed) for seed in range(3)]
    assert names([]) == [*base, (first.name, 0), (second.name, 0), (third.name, 0)]
    runs = [line(BASE, 0, 2.0), line(BASE, 1, 2.1), line(first, 0, 2.2), line(second, 0, 1.8), line(third, 0, 1.9)]
    assert names(runs) == [(BASE.name, 2), (second.name, 1), (third.name, 1), (first.name, 1)]


def test_names_of_variants_are_unique_and_each_differs_from_the_base() -> None:
    assert len({variant.name for variant in VARIANTS}) == len(VARIANTS)
    bodies = [asdict(replace(variant, name="", question="")) for variant in VARIANTS]
    assert all(bodies.count(body) == 1 for body in bodies)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_every_variant_has_valid_settings(variant: Variant, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.recipes.training.tokenizer_folder", lambda path, size: tmp_path)
    config = configuration(variant, Text("text", tmp_path / "train.txt", tmp_path / "valid.txt"), 1, SETTING)
    assert (config.seed, config.threads, config.precision) == (1, 1, "fp32")
    assert config.preset == variant.settings.get("preset", "tiny")
    assert config.mask_probability == variant.settings.get("mask_probability", 0.15)
    assert variant.schedule in SCHEDULES


def test_the_mean_of_weights_leaves_counters_as_they_are() -> None:
    assert mean_of([torch.tensor([1.0, 4.0]), torch.tensor([3.0, 0.0])]).tolist() == [2.0, 2.0]
    assert mean_of([torch.tensor(3), torch.tensor(7)]).item() == 7


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v.optimizer], ids=lambda variant: variant.name)
def test_another_optimizer_trains_every_parameter_at_the_rate_that_is_asked_for(variant: Variant) -> None:
    model = little_checkpoint(kind=BertForMaskedLM).model
    (optimizer,) = optimizers_of(variant, model, PretrainConfig(corpus=("text",)), 1e-3)
    assert {id(p) for group in optimizer.param_groups for p in group["params"]} == set(map(id, model.parameters()))
    assert {group["lr"] for group in optimizer.param_groups} == {1e-3}
    before = [parameter.clone() for parameter in model.parameters()]
    for _ in range(3):  # SOAP's first step only prepares
        ids = torch.randint(5, 20, (2, 8))
        model(ids, labels=ids).loss.backward()
        optimizer.step()
    moved = [not torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True) if b.grad is not None]
    assert all(moved)


def test_a_difference_within_the_noise_of_the_seeds_is_a_tie() -> None:
    better, tie, other = VARIANTS[1:4]
    runs = [line(BASE, seed, bits) for seed, bits in enumerate((2.00, 2.01, 2.02))]
    runs += [line(better, 0, 1.8), line(tie, 0, 2.03), line(other, 0, None)]
    result = summarised(runs)
    assert result["noise"] == pytest.approx(0.01)
    verdicts = {row["name"]: row["verdict"] for row in result["variants"]}
    assert verdicts == {BASE.name: "", better.name: "better", tie.name: "tie", other.name: "no MLM"}
    (row,) = (row for row in result["variants"] if row["name"] == tie.name)
    assert row["band"] == pytest.approx(4.303 * 0.01 * math.sqrt(1 + 1 / 3), rel=1e-3)  # t, 2 degrees of freedom, 95%
    text = table(json.loads(json.dumps({"sweeps": [result], "unigram_baseline": 2.5})))
    assert "| better | 70.0% |" in text
    assert text.index(better.name) < text.index("the base") < text.index(tie.name)


def test_the_seed_by_which_a_recipe_led_does_not_count_for_it() -> None:
    lucky, led, alone = VARIANTS[1:4]
    runs = [line(BASE, seed, bits) for seed, bits in enumerate((2.00, 2.01, 2.02))]
    runs += [line(lucky, 0, 1.8), line(lucky, 1, 2.01), line(led, 0, 1.5), line(led, 1, 1.6), line(led, 2, 1.7)]
    rows = {row["name"]: row for row in summarised([*runs, line(alone, 0, 1.9)])["variants"]}
    assert rows[lucky.name]["seeds"] == [1]
    assert rows[lucky.name]["bits_per_character"] == 2.01
    assert rows[led.name]["difference"] == pytest.approx(1.65 - 2.01)
    assert rows[alone.name]["seeds"] == [0]
    assert rows[BASE.name]["seeds"] == [0, 1, 2]


def test_a_recipe_for_one_size_is_not_compared_at_another() -> None:
    assert {"4 x 256", "distilled from wiki-mini"} <= {v.name for v in suited("tiny")} - {
        v.name for v in suited("mini")
    }
    assert "twice the learning rate" in {variant.name for variant in suited("mini")}


@pytest.mark.thorough
def test_a_finished_run_is_a_line_and_is_not_run_again(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = tmp_path / "data" / "wiki_en"
    texts.mkdir(parents=True)
    (texts / "train.txt").write_text(little_text(60), encoding="utf-8")
    (texts / "valid.txt").write_text(little_text(20), encoding="utf-8")
    monkeypatch.setenv("BERTVIZ_LAB_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("benchmarks.corpus._cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(recipe_sweep, "RUNS", tmp_path / "runs.jsonl")
    cut = Variant("half of the tokens", "masking", changes=((0.5, {"mask_probability": 0.5}),), averaging=0.5)
    monkeypatch.setattr(recipe_sweep, "VARIANTS", (BASE, cut))
    monkeypatch.setattr(recipe_sweep, "_BASE_SEEDS", 2)
    monkeypatch.setattr(recipe_sweep, "_LEADERS_SEEDS", 1)
    sweep(SETTING, [])
    runs = finished(SETTING)
    assert [(run["variant"]["name"], run["seed"]) for run in runs] == [(BASE.name, 0), (BASE.name, 1), (cut.name, 0)]
    assert all(run["steps"] >= 1 and run["tokens"] > 0 and 0 < run["bits_per_character"] < 20 for run in runs)
    sweep(SETTING, [])
    assert finished(SETTING) == runs
    assert finished(SETTING | {"seconds": 1.0}) == []


def test_every_setting_has_a_comparison_of_its_own(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe_sweep, "RUNS", tmp_path / "runs.jsonl")
    few = [line(BASE, 0, 2.0) | {"setting": SETTING | {"preset": "mini"}}]
    many = [line(BASE, 0, 2.5), line(VARIANTS[1], 0, 2.4), line(replace(BASE, name="a former one"), 0, 2.3)]
    recipe_sweep.RUNS.write_text("".join(json.dumps(run) + "\n" for run in few + many), encoding="utf-8")
    sweeps = recipe_sweep.comparisons()
    assert [sweep["setting"]["preset"] for sweep in sweeps] == ["tiny", "mini"]
    assert [len(sweep["variants"]) for sweep in sweeps] == [2, 1]
    text = table({"sweeps": sweeps, "unigram_baseline": 3.0})
    assert text.index("**tiny models**") < text.index("**mini models**")


def test_an_untied_decoder_begins_as_the_word_embeddings_and_learns_apart_from_them() -> None:
    tied = little_checkpoint(kind=BertForMaskedLM).model
    untied = copy.deepcopy(tied)
    untie_decoder(untied)
    ids = torch.randint(5, 20, (2, 8))
    assert torch.equal(tied.eval()(ids).logits, untied.eval()(ids).logits)
    tied(ids, labels=ids).loss.backward()
    untied(ids, labels=ids).loss.backward()
    read, written = untied.bert.embeddings.word.weight.grad, untied.mlm.decoder.weight.grad
    assert read.abs().sum() > 0
    assert torch.allclose(read + written, tied.bert.embeddings.word.weight.grad, atol=1e-6)


def test_word_embeddings_are_scaled_alone() -> None:
    model = little_checkpoint(kind=BertForMaskedLM).model
    before = copy.deepcopy(dict(model.named_parameters()))
    scale_words(model, 3.0)
    factors = {name: 3.0 if "embeddings.word" in name else 1.0 for name in before}
    assert all(torch.equal(p, factors[name] * before[name]) for name, p in model.named_parameters())


def test_embedding_tables_learn_at_a_rate_of_their_own() -> None:
    model = little_checkpoint(kind=BertForMaskedLM).model
    variant = Variant("fast", "embeddings", embedding_rate=3.0)
    optimizers = optimizers_of(variant, model, PretrainConfig(corpus=("text",)), 1e-3)
    set_learning_rate(optimizers, 1e-3)
    rates = {id(p): group["lr"] for group in optimizers[0].param_groups for p in group["params"]}
    tables = {name: rates.pop(id(p)) for name, p in model.named_parameters() if "embeddings" in name and p.dim() == 2}
    assert len(tables) == 3
    assert all(rate == pytest.approx(3e-3) for rate in tables.values())
    assert set(rates.values()) == {1e-3}


def test_runs_are_known_that_are_older_than_a_kind_of_variation(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe_sweep, "RUNS", tmp_path / "runs.jsonl")
    run = line(BASE, 0, 2.0)
    del run["variant"]["embedding_rate"]
    recipe_sweep.RUNS.write_text(json.dumps(run) + "\n", encoding="utf-8")
    assert recipe_sweep.kept_runs() == [line(BASE, 0, 2.0)]


def test_positions_that_begin_as_sines_are_alike_where_they_are_near() -> None:
    model = little_checkpoint(kind=BertForMaskedLM).model
    begin_with_sines(model, 0.05)
    (positions,) = [weight.detach() for name, weight in model.named_parameters() if "position" in name]
    assert positions.pow(2).mean().sqrt() == pytest.approx(0.05, rel=1e-3)
    similarity = positions @ positions.T
    for offset in (0, 1, 5):  # depends on how far apart two are alone
        diagonal = similarity.diagonal(offset)
        assert torch.allclose(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-5)
    assert similarity[3, 3] > similarity[3, 4] > similarity[3, 8]
