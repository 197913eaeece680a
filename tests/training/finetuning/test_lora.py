"""LoRA: adapters are trained, and what is saved is a plain model."""

import importlib.util
import json
from dataclasses import replace

import pytest
import torch
import transformers

from bertviz_lab import BertForSequenceClassification, load_checkpoint
from bertviz_lab.errors import InputError
from bertviz_lab.model.weights import state_for_huggingface
from bertviz_lab.training.finetuning.lora import add_adapters, merged
from bertviz_lab.training.finetuning.predict import evaluate_task
from tests.little import little_checkpoint
from tests.training.finetuning.support import finish
from tests.training.support import resumes_exactly

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the libraries that PEFT imports


def test_the_merged_model_is_plain_and_computes_the_same() -> None:
    model = little_checkpoint(kind=BertForSequenceClassification, num_labels=3).model
    add_adapters(model, 4)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".lora_" in name:
                parameter.normal_(std=0.3)
    plain = merged(model)
    reference = little_checkpoint(kind=BertForSequenceClassification, num_labels=3).model
    assert state_for_huggingface(plain).keys() == state_for_huggingface(reference).keys()
    ids = torch.randint(5, 60, (4, 7))
    with torch.no_grad():
        torch.testing.assert_close(plain.eval()(ids).logits, model.eval()(ids).logits, atol=1e-5, rtol=0)
        assert not torch.allclose(plain(ids).logits, reference.eval()(ids).logits, atol=1e-3)
    assert merged(plain) is plain


def test_a_run_leaves_a_folder_that_transformers_opens_whole(files, tmp_path) -> None:
    finish(files.config(lora=4), tmp_path / "run")
    folder = tmp_path / "run" / "model"
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    ours, start = load_checkpoint(folder), load_checkpoint(files.model)
    ids = torch.tensor([ours.tokenizer.encode("the red cat").ids])
    with torch.no_grad():
        torch.testing.assert_close(ours.model(ids).logits, theirs.eval()(ids).logits, atol=1e-5, rtol=0)
    before, after_it = (dict(c.model.bert.named_parameters()) for c in (start, ours))
    moved = {name for name in before if not torch.equal(before[name], after_it[name])}
    assert moved
    assert all(name.endswith(("query.weight", "value.weight")) for name in moved)
    scores = evaluate_task(ours, [tmp_path / "run" / "examples" / "held_out.jsonl"], "classification", threads=1)
    best = json.loads((tmp_path / "run" / "report.json").read_text())["scores"]
    assert scores == {name: best[name] for name in scores}


def test_a_stopped_run_resumes_to_the_same_model(files, tmp_path) -> None:
    assert resumes_exactly(files.config("regression", lora=2), tmp_path, steps=3, run=finish)


def test_lora_needs_peft_and_nothing_else_that_freezes(files, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"`lora` needs the PEFT library: pip install"):
        finish(files.config(lora=4), tmp_path / "run")
    for changes in ({"freeze_layers": 1}, {"layerwise_lr_decay": 0.9}, {"model": "random"}):
        with pytest.raises(InputError, match="`lora` goes with no `freeze_layers`"):
            replace(files.config(lora=4), **changes)
