"""A test set is scored once, at the end, by the chosen model; no weight and no choice depends on it."""

import json
from dataclasses import replace

from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from bertviz_lab.training.finetuning.predict import evaluate_task
from bertviz_lab.training.runs.console import final_scores, format_event
from tests.training.finetuning.support import examples, finish, write
from tests.training.support import after, identical, weights


def report(folder):
    return json.loads((folder / "report.json").read_text())


def chosen(body):
    """All of a report that a choice is made by."""
    trials = [{name: value for name, value in row.items() if name != "seconds"} for row in body["trials"]]
    return body["scores"], trials, body["metric"], body["labels"], body["guess"]


def test_another_test_file_changes_no_weight_and_no_choice(files, tmp_path):
    rows = examples("classification", 48)[24:]
    wrong = [replace(row, label={"good": "bad", "bad": "so so", "so so": "good"}[row.label]) for row in rows]
    for name, tested in (("right", rows), ("wrong", tuple(wrong)), ("short", rows[:3]), ("none", ())):
        test = (str(write(tmp_path / f"{name}.tsv", tested)),) if tested else ()
        finish(files.config(test=test, seeds=2, epochs=4, dropout=0.0), tmp_path / name)
    plain = report(tmp_path / "none")
    for name in ("right", "wrong", "short"):
        assert identical(weights(tmp_path / name / "model"), weights(tmp_path / "none" / "model"))
        assert chosen(report(tmp_path / name)) == chosen(plain)
    assert plain["test"] is None
    assert report(tmp_path / "right")["test"]["scores"] != report(tmp_path / "wrong")["test"]["scores"]


def test_the_test_scores_are_those_of_the_saved_model_and_every_score_names_its_split(files, tmp_path):
    test = str(write(tmp_path / "test.tsv", examples("classification", 48)[24:]))
    events = finish(files.config(test=(test,)), tmp_path / "run")
    body = report(tmp_path / "run")
    assert (body["split"], body["test"]["split"]) == ("validation", "test")
    assert body["examples"]["test"] == 24
    checkpoint = load_checkpoint(tmp_path / "run" / "model")
    assert evaluate_task(checkpoint, [test], "classification", threads=1) == body["test"]["scores"]
    assert final_scores(tmp_path / "run", [])["test"] == body["test"]
    names = [type(event).__name__ for event in events]
    assert names[-2:] == ["FinalTestDone", "RunFinished"]
    assert names.count("FinalTestDone") == 1
    lines = [format_event(event) for event in events]
    assert any(line.startswith("validation accuracy") or line.startswith("validation loss") for line in lines)
    assert any(line.startswith("best validation ") for line in lines)
    assert lines[-2].startswith("test loss")
    validation, tested = checkpoint.card.split("## Test scores on test.tsv")
    assert "## Validation scores on" in validation
    assert f"| Accuracy | {body['test']['scores']['accuracy']:.1%} |" in tested


def test_a_run_that_was_stopped_tests_its_model_only_when_it_has_finished(files, tmp_path):
    test = str(write(tmp_path / "test.tsv", examples("classification", 48)[24:]))
    config = files.config(test=(test,))
    finish(config, tmp_path / "halves", should_stop=after(3))
    assert not (tmp_path / "halves" / "report.json").is_file()
    finish(config, tmp_path / "halves", resume=True)
    finish(config, tmp_path / "whole")
    assert report(tmp_path / "halves")["test"] == report(tmp_path / "whole")["test"]
    assert load_checkpoint(tmp_path / "halves" / "model").card.count("## Test scores") == 1
