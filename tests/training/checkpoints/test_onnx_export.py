"""ONNX graphs compute what their models do, in onnxruntime, whatever the batch and the length."""

import numpy as np
import onnxruntime
import pytest
import torch

from bertviz_lab import (
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    InputError,
)
from bertviz_lab.cli.main import main
from bertviz_lab.training.checkpoints import onnx_export
from bertviz_lab.training.checkpoints.onnx_export import export_onnx
from tests.little import little_checkpoint, little_folder

TORCH_RUN = onnx_export._torch_run
HEADS = {
    BertForPreTraining: ("prediction_logits", "seq_relationship_logits"),
    BertForSequenceClassification: ("logits",),
    BertForQuestionAnswering: ("start_logits", "end_logits"),
}


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.__name__)
def test_the_graph_gives_the_outputs_of_the_model_at_every_length_and_with_padding(head, tmp_path):
    checkpoint = little_checkpoint(kind=head)
    report = export_onnx(checkpoint, tmp_path)
    assert report.difference < 1e-4
    session = onnxruntime.InferenceSession(report.path / "model.onnx")
    assert [output.name for output in session.get_outputs()] == list(HEADS[head])
    for texts, length in ((1, 1), (2, 7), (5, checkpoint.config.max_position_embeddings)):
        ids = np.random.default_rng(length).integers(0, checkpoint.config.vocab_size, (texts, length))
        mask = np.ones_like(ids)
        mask[-1, length // 2 + 1 :] = 0
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.arange(length)[None] // 4 % 2 + 0 * ids}
        with torch.no_grad():
            out = checkpoint.model(**{name: torch.from_numpy(array) for name, array in given.items()})
        for name, graph in zip(HEADS[head], session.run(None, given), strict=True):
            np.testing.assert_allclose(graph, getattr(out, name).numpy(), atol=1e-4)


def test_export_writes_a_folder_with_both_graphs_and_their_figures_in_the_card(tmp_path, capsys):
    model = little_folder(tmp_path / "model")
    assert main(["export", "--model", str(model), "--out", str(tmp_path / "out"), "--onnx"]) == 0
    out = tmp_path / "out"
    sizes = {path.name: path.stat().st_size for path in (out / "onnx").iterdir()}
    assert sizes["model_quantized.onnx"] < sizes["model.onnx"]
    card = (out / "README.md").read_text(encoding="utf-8")
    assert f"| model.onnx | {sizes['model.onnx'] / 1e6:.1f} |" in card
    assert "8-bit weights" in card
    assert str(out) in capsys.readouterr().out


def test_without_the_library_one_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"pip install 'bertviz-lab\[onnx\]'"):
        export_onnx(little_checkpoint(), tmp_path)


def test_a_graph_that_computes_something_else_is_refused(tmp_path, monkeypatch):
    checkpoint, other = little_checkpoint(), little_checkpoint(seed=1)
    monkeypatch.setattr(onnx_export, "_torch_run", lambda model, outputs: TORCH_RUN(other.model, outputs))
    with pytest.raises(InputError, match="differs from the model"):
        export_onnx(checkpoint, tmp_path)
