"""Published data sets in their own formats, from the command line to a model that `transformers` loads."""

import json
from pathlib import Path

import pytest
import torch
import transformers

from bertviz_lab.cli.main import main
from bertviz_lab.interpret import read_results
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint

SETS = {
    "mrpc": (
        "mrpc/msr_paraphrase_train.txt",
        "mrpc/msr_paraphrase_test.txt",
        "classification",
        "AutoModelForSequenceClassification",
    ),
    "stsb": ("stsb/stsb-en-train.csv", "stsb/stsb-en-dev.csv", "regression", "AutoModelForSequenceClassification"),
    "wnut17": ("wnut17/wnut17train.conll", "wnut17/emerging.dev.conll", "tokens", "AutoModelForTokenClassification"),
    "squad2": ("squad2_half_dev/dev-v2.0.json", "", "qa", "AutoModelForQuestionAnswering"),
}


@pytest.mark.parametrize("name", SETS)
def test_a_published_data_set_gives_a_model_that_transformers_loads(
    name: str, shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train, held, task, kind = SETS[name]
    out = tmp_path / "run"
    command = ["finetune", "--train", str(shared_data / train), "--out", str(out), "--model", "wiki-tiny", "--json"]
    command += ["--eval", str(shared_data / held)] if held else ["--eval-share", "0.02"]
    assert main([*command, "--max-train-examples", "64", "--epochs", "1", "--max-length", "96", "--threads", "1"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["task"], told["reason"]) == (task, "finished")
    results = read_results(out)
    assert results.train_count == 64
    assert len(results.predictions) == len(results.examples) > 50
    assert told["loss"] == results.scores["loss"]

    transformers.logging.set_verbosity_error()
    theirs, info = getattr(transformers, kind).from_pretrained(out / "model", output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    ours = load_checkpoint(out / "model")
    assert tuple(theirs.config.id2label.values()) == ours.config.labels
    ids = torch.randint(5, ours.config.vocab_size, (2, 24), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        a, b = ours.model(ids), theirs.eval()(ids)
    for field in ("start_logits", "end_logits") if task == "qa" else ("logits",):
        assert torch.allclose(getattr(a, field), getattr(b, field), atol=1e-5)
