"""The command line on a folder of each family: it answers, or says in a sentence why it does not."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForMaskedLM

from bertviz_lab import load_checkpoint
from bertviz_lab.cli.main import main
from bertviz_lab.config.families import FROM_SCRATCH
from tests.family_checkpoints import MODEL_TYPES, family_folder
from tests.little import SENTENCES, little_text

every_family = pytest.mark.parametrize("model_type", MODEL_TYPES)
_MASKS = {"roberta": "<mask>", "xlm-roberta": "<mask>", "camembert": "<mask>", "mpnet": "<mask>"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("families")
    return {model_type: str(family_folder(model_type, root / model_type)) for model_type in MODEL_TYPES}


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@every_family
def test_fill_mask_attention_and_tokenize_answer(model_type, folders, capsys, tmp_path: Path):
    model = folders[model_type]
    mask = _MASKS.get(model_type, "[MASK]")
    filled = answer(capsys, "fill-mask", "--model", model, f"the red {mask} sat", "--top-k", "2")
    assert len(filled["masks"][0]["candidates"]) == 2
    out = tmp_path / "attention.json"
    texts = ("--text-a", "the red cat", "--text-b", "a dog ran")
    drawn = answer(capsys, "attention", "--model", model, *texts, "--out", str(out))
    assert drawn["layers"] == drawn["heads"] == 2
    assert json.loads(out.read_text())["tokens"] == drawn["tokens"]
    tokens = answer(capsys, "tokenize", "--model", model, "the red cat", "--text-b", "a dog ran")
    assert tokens["tokens"] == drawn["tokens"]


def test_next_sentence_is_refused_in_a_sentence(folders, capsys):
    assert main(["next-sentence", "--model", folders["roberta"], "--text-a", "a cat", "--text-b", "it sat"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "was not pretrained on next-sentence prediction" in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("model_type", ["electra", "deberta-v2", "modernbert"])
def test_training_goes_on_from_a_family_and_leaves_one_of_it(model_type, folders, capsys, tmp_path: Path):
    text = tmp_path / "text.txt"
    text.write_text(little_text())
    options = ("--seq-len", "16", "--batch-size", "4", "--threads", "1", "--steps", "2", "--objective", "mlm")
    start = ("--init-from", folders[model_type], "--corpus", str(text), "--out", str(tmp_path / "run"))
    trained = answer(capsys, "pretrain", *start, *options)
    assert trained["mlm_loss"] > 0
    config = json.loads((Path(trained["path"]) / "config.json").read_text())
    assert config["model_type"] == model_type
    scores = answer(capsys, "evaluate", "--model", trained["path"], "--task", "mlm", "--data", str(text))
    assert scores["mlm_loss"] > 0

    rows = [f"{sentence} {number},{'cat' in sentence}" for number in range(6) for sentence in SENTENCES]
    data = tmp_path / "rows.csv"
    data.write_text("\n".join(["text,label", *rows]))
    tuning = ("--task", "classification", "--train", str(data), "--model", trained["path"])
    limits = ("--epochs", "1", "--max-length", "16", "--out", str(tmp_path / "tuned"), "--threads", "1")
    tuned = answer(capsys, "finetune", *tuning, *limits)
    named = json.loads((Path(tuned["path"]) / "config.json").read_text())["architectures"]
    assert named[0].endswith("ForSequenceClassification")
    assert named[0] != "BertForSequenceClassification"


@pytest.mark.parametrize("model_type", [name for name in FROM_SCRATCH if name != "electra"])
def test_a_small_one_is_trained_from_random_weights_and_opens_in_transformers(model_type, capsys, tmp_path: Path):
    text = tmp_path / "text.txt"
    text.write_text(little_text())
    options = ("--preset", "tiny", "--vocab-size", "200", "--seq-len", "16", "--batch-size", "4", "--threads", "1")
    run = ("--corpus", str(text), "--out", str(tmp_path / "run"), "--steps", "3")
    trained = answer(capsys, "pretrain", "--family", model_type, *run, *options)
    assert trained["mlm_loss"] > 0
    assert ("nsp_loss" in trained) == (model_type in ("bert", "albert"))
    checkpoint = load_checkpoint(trained["path"])
    assert checkpoint.config.model_type == model_type
    theirs = AutoModelForMaskedLM.from_pretrained(trained["path"]).eval()
    ids = torch.tensor([checkpoint.tokenizer.encode("the red [MASK] sat").ids])
    with torch.no_grad():
        ours = checkpoint.model(ids)
        logits = ours.logits if hasattr(ours, "logits") else ours.prediction_logits
        torch.testing.assert_close(logits, theirs(ids).logits, rtol=0, atol=1e-4)
