"""A fine-tuning from files to a model: what it keeps, what it repeats, and how it goes on when it was interrupted."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from bertviz_lab.training.checkpoints.checkpoint_manager import latest_checkpoint
from bertviz_lab.training.finetuning.finetune import finetune
from bertviz_lab.training.finetuning.predict import evaluate_task
from bertviz_lab.training.finetuning.setup import trials_of
from bertviz_lab.training.finetuning.tasks.classification import Classification
from bertviz_lab.training.loop.loop import LoopConfig
from bertviz_lab.training.runs.events import EvalDone, RunFinished, RunStarted, StepDone, TrialDone, TrialStarted
from bertviz_lab.training.runs.run_folder import read_log, record
from tests.little import little_checkpoint
from tests.training.finetuning.support import finish
from tests.training.support import after, identical, weights

TOLD = ("TrialStarted", "StepDone", "EvalDone", "SnapshotSaved", "TrialDone")
CLOCK = ("seconds", "tokens_per_second", "eta_seconds")


def of(kind: type, events: list) -> list:
    return [event for event in events if isinstance(event, kind)]


def report(folder: Path) -> dict:
    body = json.loads((folder / "report.json").read_text())
    for row in body["trials"]:
        del row["seconds"]
    return body


def story(folder: Path) -> list[dict]:
    """What the log tells, the clock, the sittings and the places of checkpoints aside."""
    rows = [row for row in read_log(folder)[0] if row["event"] in TOLD]
    told = [{name: value for name, value in row.items() if name not in CLOCK} for row in rows]
    return [row | {"path": Path(row["path"]).name} if "path" in row else row for row in told]


@pytest.fixture
def save_always(monkeypatch) -> None:
    """A checkpoint after every step."""
    plan = LoopConfig.of
    monkeypatch.setattr(LoopConfig, "of", lambda config, **others: replace(plan(config, **others), checkpoint_every=0))


def sit(config, folder: Path, **options) -> list:
    """A sitting whose events are recorded."""
    folder.mkdir(exist_ok=True)
    return list(record(finetune(config, folder, **options), folder))


def same_run(a: Path, b: Path) -> bool:
    assert story(a) == story(b)
    assert report(a) == report(b)
    for name in ("predictions.jsonl", "dynamics.safetensors"):
        assert [path.read_bytes() for path in a.glob(name)] == [path.read_bytes() for path in b.glob(name)]
    last = [latest_checkpoint(folder) for folder in (a, b)]
    assert last[0].name == last[1].name
    for name in ("model.safetensors", "optimizer.safetensors", "best.safetensors"):
        assert identical(*(load_file(folder / name) for folder in last))
    return identical(weights(a / "model"), weights(b / "model"))


def test_a_run_tells_its_story_in_order(files, tmp_path, report_always):
    events = finish(files.config("tokens", seeds=2), tmp_path)
    names = [type(event).__name__ for event in events if type(event).__name__ in TOLD]
    trial = ["TrialStarted", *["StepDone"] * 2, "EvalDone"]
    assert [n for n in names if n != "SnapshotSaved"] == (
        trial + [*["StepDone"] * 2, "EvalDone"] * 3 + ["TrialDone"]
    ) * 2
    steps = [event.step for event in of(StepDone, events)]
    assert steps == list(range(1, 17))
    assert [event.step for event in of(TrialStarted, events)] == [0, 8]
    assert [event.name for event in of(TrialDone, events)] == ["seed 0", "seed 1"]
    (started,) = of(RunStarted, events)
    assert (started.objective, started.step, started.total_steps) == ("tokens", 0, 16)
    assert events[-1] == RunFinished(16, events[-1].seconds, "finished", str(tmp_path / "model"), "")
    tokens = [event.tokens for event in of(StepDone, events)]
    assert tokens == sorted(set(tokens))


def test_a_diverged_run_is_advised_to_start_anew_since_its_learning_rate_cannot_change_on_resume(
    files, tmp_path, report_always, save_always, monkeypatch
):
    good, steps = Classification.loss, iter(range(1, 4))

    def diverging(*logits_and_batch, training=False):
        return good(*logits_and_batch) * (1.0 if not training or next(steps, None) else math.nan)

    monkeypatch.setattr(Classification, "loss", diverging)
    config = files.config()
    with pytest.raises(
        InputError,
        match=r"Step 4.*: the loss is infinite or NaN\. Start a new run with a lower learning rate than 0\.0",
    ) as told:
        sit(config, tmp_path / "run")
    assert "resume" not in str(told.value)
    assert latest_checkpoint(tmp_path / "run") is not None
    with pytest.raises(InputError, match="`learning_rate` cannot change"):
        config.resumed_with(learning_rate=1e-6)


def test_a_trial_does_not_depend_on_those_before_it(files, tmp_path):
    for name, changes in (("both", {"seeds": 2}), ("second", {"seed": 1})):
        finish(files.config(precision="fp16", **changes), tmp_path / name)
    first, second = (report(tmp_path / name)["trials"][-1] for name in ("both", "second"))
    assert first["scores"] == second["scores"]
    assert identical(*(weights(latest_checkpoint(tmp_path / name)) for name in ("both", "second")))


@pytest.mark.parametrize("task", ["classification", "qa"])
def test_the_model_of_a_run_is_its_best_one_and_repeats_its_scores(task, files, tmp_path):
    # Once all is right nothing is better: the first such model stays.
    config = files.config(task, eval=(files.train(task),), epochs=24, dropout=0.0, learning_rate=5e-3, batch_size=8)
    events = finish(config, tmp_path)
    (done,) = of(TrialDone, events)
    scores = {event.step: event.metrics for event in of(EvalDone, events)}
    best = report(tmp_path)["metric"]
    assert done.best_step == min(scores, key=lambda step: (-scores[step][best], step)) < done.step
    assert report(tmp_path)["scores"] == scores[done.best_step] == done.metrics
    assert scores[done.best_step][best] > 0.95, "sixteen examples are learnt by heart"
    checkpoint = load_checkpoint(tmp_path / "model")
    for file in (files.train(task), tmp_path / "examples" / "held_out.jsonl"):
        assert evaluate_task(checkpoint, [file], task, max_length=48, threads=1) == done.metrics
    assert not identical(weights(tmp_path / "model"), weights(latest_checkpoint(tmp_path)))
    assert identical(weights(tmp_path / "model"), load_file(latest_checkpoint(tmp_path) / "best.safetensors"))


@pytest.mark.parametrize(("metric", "sign"), [("loss", -1), ("mcc", 1)])
def test_the_best_model_is_that_of_the_score_that_was_named(metric, sign, files, tmp_path):
    events = finish(files.config(metric=metric, epochs=4, seeds=2), tmp_path)
    found = report(tmp_path)
    assert found["metric"] == metric
    every = [event.metrics[metric] for event in of(EvalDone, events)]
    assert found["scores"][metric] == sign * max(sign * value for value in every)


def test_the_macro_f1_selects_the_model_of_unbalanced_classes(files, tmp_path):
    lines = [f"the day {n} was,{'few' if n % 12 == 0 else 'many'}" for n in range(48)]
    (tmp_path / "rows.csv").write_text("\n".join(["text,label", *lines]), encoding="utf-8")
    events = finish(files.config(train=(str(tmp_path / "rows.csv"),), eval=(), epochs=1), tmp_path / "run")
    assert of(RunStarted, events)[0].metric == report(tmp_path / "run")["metric"] == "macro_f1"


def test_random_weights_are_compared_with_and_never_chosen(files, tmp_path, monkeypatch):
    # However well random weights do, a person asked for the model they named.
    options = {"learning_rate": 1e-7, "epochs": 12, "dropout": 0.0, "seed": 5}
    config = files.config(random_baseline=True, eval=(files.train("classification"),), **options)

    def uneven(*arguments):
        return tuple(replace(t, learning_rate=5e-3) if t.random else t for t in trials_of(*arguments))

    monkeypatch.setattr("bertviz_lab.training.finetuning.finetune.trials_of", uneven)
    finish(config, tmp_path)
    pretrained, random = report(tmp_path)["trials"]
    assert (pretrained["random"], random["random"]) == (False, True)
    assert random["scores"]["accuracy"] > pretrained["scores"]["accuracy"]
    assert report(tmp_path)["scores"] == pretrained["scores"]
    table = "bert.embeddings.word_embeddings.weight"
    theirs, ours = (weights(Path(folder))[table] for folder in (files.model, tmp_path / "model"))
    assert torch.allclose(theirs, ours, atol=1e-5)
    assert not torch.allclose(theirs, weights(latest_checkpoint(tmp_path))[table], atol=1e-2)


def test_a_random_start_is_a_model_of_its_own_vocabulary_or_of_another_model_s_shape(files, tmp_path):
    finish(files.config(model="random", vocab_size=90, epochs=1), tmp_path / "own")
    own = load_checkpoint(tmp_path / "own" / "model")
    assert own.tokenizer.vocab_size <= 90
    finish(files.config(model="random", like=files.model, epochs=1, seed=5), tmp_path / "like")
    like = load_checkpoint(tmp_path / "like" / "model")
    assert like.config.vocab_size == load_checkpoint(files.model).config.vocab_size
    table = "bert.embeddings.word_embeddings.weight"
    assert not torch.allclose(weights(tmp_path / "like" / "model")[table], weights(Path(files.model))[table], atol=0.1)


def test_the_head_of_a_model_fine_tuned_for_the_same_labels_is_kept(files, tmp_path):
    finish(files.config(), tmp_path / "first")
    again = files.config(model=str(tmp_path / "first" / "model"), learning_rate=1e-7, epochs=1, dropout=0.0)
    events = finish(again, tmp_path / "second")
    first = evaluate_task(
        load_checkpoint(tmp_path / "first" / "model"), [files.held("classification")], "classification"
    )
    assert of(EvalDone, events)[0].metrics == pytest.approx(first, abs=1e-4)
    other = finish(files.config("tokens", model=str(tmp_path / "first" / "model"), epochs=1), tmp_path / "other")
    assert of(TrialDone, other)


def test_dropout_is_what_was_asked_for_whatever_the_model_had(files, tmp_path):
    odd = save_checkpoint(little_checkpoint(classifier_dropout=0.7), tmp_path / "odd")
    finish(files.config(model=str(odd), dropout=0.0, epochs=1), tmp_path / "run")
    config = load_checkpoint(tmp_path / "run" / "model").config
    assert config.hidden_dropout_prob == config.attention_probs_dropout_prob == 0.0
    assert config.classifier_dropout is None


def test_without_a_dropout_the_model_keeps_that_of_its_own_training(files, tmp_path):
    """As in transformers. A small model that was pretrained without loses much by it: see Results."""
    own = save_checkpoint(little_checkpoint(hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3), tmp_path / "m")
    finish(files.config(model=str(own), epochs=1), tmp_path / "run")
    config = load_checkpoint(tmp_path / "run" / "model").config
    assert (config.hidden_dropout_prob, config.attention_probs_dropout_prob) == (0.2, 0.3)


@pytest.fixture(scope="module")
def whole(files, tmp_path_factory) -> Path:
    """Three trials of eight steps in one go; the last from random weights."""
    folder = tmp_path_factory.mktemp("whole") / "whole"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bertviz_lab.training.loop.loop._report_due", lambda window, progress: True)
        torch.manual_seed(0)
        sit(files.config(seeds=2, random_baseline=True), folder)
    return folder


#: `should_stop` is asked once before a trial's first step, after each step, and between two trials.
@pytest.mark.parametrize(
    "looks", [[0], [8], [9], [22], [28], [3, 0, 3, 5]], ids=["first", "last step", "between", "random", "end", "often"]
)
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(looks, files, whole, tmp_path, report_always):
    config = files.config(seeds=2, random_baseline=True)
    for number, look in enumerate(looks):
        events = sit(config, tmp_path / "torn", resume=number > 0, should_stop=after(look))
        assert events[-1].reason == ("stopped" if look < 28 else "finished")
    events = sit(config, tmp_path / "torn", resume=True)
    assert (events[-1].reason, events[-1].step) == ("finished", 24)
    assert same_run(whole, tmp_path / "torn")


def test_a_run_that_was_killed_after_any_event_goes_on_as_if_it_had_not_been(
    files, tmp_path, report_always, save_always
):
    config = files.config("tokens", seeds=2, epochs=1)
    sit(config, tmp_path / "whole")
    for count in (10, 35):
        torn = tmp_path / f"torn-{count}"
        torn.mkdir()
        for resume in (False, True):
            killed = record(finetune(config, torn, resume=resume), torn)
            for _ in zip(range(count), killed, strict=False):
                pass
            killed.close()
        sit(config, torn, resume=True)
        assert same_run(tmp_path / "whole", torn), count


@pytest.mark.parametrize(
    ("task", "changes", "message"),
    [
        ("tokens", {"metric": "pearson"}, '`metric="pearson"` is no score of tokens; choose one of auto, loss, acc'),
        ("regression", {"metric": "accuracy"}, "choose one of auto, loss, pearson, spearman"),
        ("classification", {"model": "no/such/folder"}, "no model folder 'no/such/folder'"),
    ],
)
def test_settings_that_do_not_go_with_the_examples_are_refused_before_training(task, changes, message, files, tmp_path):
    with pytest.raises(InputError, match=message):
        finish(files.config(task, **changes), tmp_path / "run")
    assert not (tmp_path / "run" / "checkpoints").exists()


def test_a_model_with_one_segment_reads_no_pairs(files, tmp_path):
    single = little_checkpoint(type_vocab_size=1)
    save_checkpoint(single, tmp_path / "single")
    with pytest.raises(InputError, match="one segment only and cannot read pairs"):
        finish(files.config(model=str(tmp_path / "single")), tmp_path / "run")
    assert finish(files.config("tokens", model=str(tmp_path / "single"), epochs=1), tmp_path / "run")


def test_a_step_that_cannot_fit_into_memory_is_refused_before_it_starts(files, tmp_path, monkeypatch):
    monkeypatch.setattr("bertviz_lab.training.loop.memory.available_memory", lambda device=None, processes=1: 10**6)
    with pytest.raises(InputError, match="choose a smaller `model`, `max_length` or `batch_size`"):
        finish(files.config("classification"), tmp_path / "run")
