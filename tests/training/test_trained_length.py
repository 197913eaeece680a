"""The trained length of a model: saved as the tokenizer's `model_max_length`, and honoured where inputs are longer."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import transformers

from bertviz_lab.interpret import classify, encode_inputs, fill_mask
from bertviz_lab.model import BertForSequenceClassification
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from bertviz_lab.training.checkpoints.checkpoint_manager import latest_checkpoint
from bertviz_lab.training.checkpoints.onnx_export import export_checkpoint
from bertviz_lab.training.finetuning import setup
from bertviz_lab.training.finetuning.predict import truncation_warning
from bertviz_lab.training.pretraining.curriculum import Curriculum, DataPosition, Stage
from bertviz_lab.training.pretraining.evaluate import evaluate_text
from bertviz_lab.training.runs.events import RunStarted
from bertviz_lab.training.runs.snapshot_reader import open_snapshots
from tests.little import little_checkpoint
from tests.training import support
from tests.training.finetuning.support import examples, finish


def limited(folder: Path, trained_length: int, **options: object) -> str:
    """The little model of 64 positions, of which so many are trained."""
    checkpoint = replace(little_checkpoint(**options), trained_length=trained_length)
    return str(save_checkpoint(checkpoint, folder))


def notes_of(events: list) -> str:
    return " ".join(note for event in events if isinstance(event, RunStarted) for note in event.notes)


def test_a_pretrained_model_is_saved_with_the_sequence_length_of_its_run(text, tmp_path):
    support.finish(support.short_run(text), tmp_path)
    for folder in (tmp_path / "model", latest_checkpoint(tmp_path)):
        saved = load_checkpoint(folder)
        assert (saved.trained_length, saved.config.max_position_embeddings) == (24, 512)
    export_checkpoint(load_checkpoint(tmp_path / "model"), tmp_path / "exported")
    assert transformers.AutoTokenizer.from_pretrained(tmp_path / "exported").model_max_length == 24
    assert open_snapshots(tmp_path).open(0).trained_length == 24
    assert "trained on up to 24 tokens" in load_checkpoint(tmp_path / "model").card


@pytest.mark.parametrize(("done", "stage", "length"), [(0.0, 0, 12), (0.5, 0, 12), (0.52, 1, 12), (0.53, 1, 24)])
def test_the_trained_length_of_a_curriculum_follows_its_progress(done, stage, length, tokenizer):
    stages = tuple(Stage(until, support.small_data(tokenizer, seq_len=n)) for until, n in ((0.5, 12), (1.0, 24)))
    with closing(Curriculum(stages, lambda: done, DataPosition(stage))) as curriculum:
        assert curriculum.trained_length == length


@pytest.mark.parametrize(("seq_len", "length"), [(32, 32), (16, 24)])
def test_continued_pretraining_extends_the_trained_length_and_never_shortens_it(seq_len, length, text, tmp_path):
    support.finish(support.short_run(text, steps=2), tmp_path / "first")
    config = support.short_run(text, init_from=str(tmp_path / "first" / "model"), seq_len=seq_len, steps=2)
    events = support.finish(config, tmp_path / "second")
    assert load_checkpoint(tmp_path / "second" / "model").trained_length == length
    assert ("trained on up to 24 tokens: this run extends that to 32" in notes_of(events)) == (length == 32)


def test_evaluation_uses_the_trained_length_where_none_is_given(text, tmp_path):
    checkpoint = load_checkpoint(limited(tmp_path / "m", 24))
    scores = [evaluate_text(checkpoint, [str(text)], "mlm", seq_len=n) for n in (None, 24, 64)]
    assert scores[0] == scores[1] != scores[2]


@pytest.mark.parametrize(("task", "asked", "length"), [("classification", None, 24), ("qa", None, 24), ("qa", 40, 40)])
def test_fine_tuning_reads_the_trained_length_unless_more_is_asked_for(task, asked, length, files, tmp_path):
    model = limited(tmp_path / "start", 24)
    config = files.config(task, model=model, max_length=asked, max_question_length=8, stride=4, epochs=1)
    events = finish(config, tmp_path / "run")
    run = setup.Setup(config, tmp_path / "run", support.CPU)
    rows = [len(ids) for features in (run.train, run.held_out) for ids in features.ids]
    assert max(rows) <= length
    assert (max(rows) > 24) == (asked is not None)
    tuned = load_checkpoint(tmp_path / "run" / "model")
    assert tuned.trained_length == max(24, *map(len, run.train.ids))
    assert f"trained on up to {tuned.trained_length} tokens" in tuned.card
    told = (
        f"this run extends that to {asked}" if asked else "trained on up to 24 tokens: longer examples are cut to that"
    )
    assert told in notes_of(events)


def test_a_longer_input_is_read_with_a_warning_up_to_the_position_embeddings(tmp_path):
    checkpoint = load_checkpoint(limited(tmp_path / "m", 24))
    assert checkpoint.length_warning(len(fill_mask(checkpoint, "the red [MASK] sat").encoding.ids)) == ""
    encoding = fill_mask(checkpoint, "the cat " * 20 + "[MASK]").encoding
    assert len(encoding.ids) == 43
    assert "was trained on up to 24 tokens and this input has 43" in checkpoint.length_warning(43)
    cut = encode_inputs(checkpoint, "the cat " * 40).encoding
    assert len(cut.ids) == 64
    assert checkpoint.encoding_warning(cut) == "m reads up to 64 tokens and this text has 18 more, which are cut off."
    foreign = encode_inputs(checkpoint, "the 猫 [MASK]").encoding
    assert checkpoint.encoding_warning(foreign).startswith("The vocabulary of m cannot represent 1 word of this text")


def test_a_fine_tuned_model_truncates_at_its_trained_length_and_says_so(tmp_path):
    checkpoint = load_checkpoint(limited(tmp_path / "m", 24, kind=BertForSequenceClassification))
    assert len(classify(checkpoint, "the cat " * 20).encoding.ids) == 24
    rows = tuple(replace(row, text_a=f"{row.text_a} {'cat ' * 30 * (row.row == 2)}") for row in examples("regression"))
    assert "24 tokens: 1 of 16 texts are longer and lose 12 tokens" in truncation_warning(checkpoint, rows)
    assert truncation_warning(checkpoint, examples("regression")) == ""
