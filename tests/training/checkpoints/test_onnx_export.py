"""ONNX graphs compute what their models do, in onnxruntime, whatever the batch and the length."""

import errno
import os
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from bertviz_lab import BertForPreTraining, BertForQuestionAnswering, InputError
from bertviz_lab.cli.main import main
from bertviz_lab.training.checkpoints import onnx_export
from bertviz_lab.training.checkpoints.onnx_export import OnnxReport, export_checkpoint, export_onnx
from tests.little import little_checkpoint, little_folder

TORCH_RUN = onnx_export._torch_run
HEADS = {
    BertForPreTraining: ("prediction_logits", "seq_relationship_logits"),
    BertForQuestionAnswering: ("start_logits", "end_logits"),
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[type], OnnxReport]:
    """The little model of each head, exported when it is first asked for."""
    return cache(lambda head: export_onnx(little_checkpoint(kind=head), tmp_path_factory.mktemp("graph")))


@pytest.fixture
def _copied_graph(exported, monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of another export, the graph that is there."""

    def copy(graph: object, inputs: object, shapes: object, path: Path) -> None:
        shutil.copy(exported(BertForPreTraining).path / "model.onnx", path)

    monkeypatch.setattr(onnx_export, "save_program", copy)


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.__name__)
def test_the_graph_gives_the_outputs_of_the_model_at_every_length_and_with_padding(head, exported):
    checkpoint, report = little_checkpoint(kind=head), exported(head)
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


@pytest.mark.usefixtures("_copied_graph")
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


@pytest.mark.usefixtures("_copied_graph")
def test_a_graph_that_computes_something_else_is_refused(tmp_path, monkeypatch):
    checkpoint, other = little_checkpoint(), little_checkpoint(seed=1)
    monkeypatch.setattr(onnx_export, "_torch_run", lambda graph: TORCH_RUN(onnx_export._Graph(other.model)))
    with pytest.raises(InputError, match="differs from the model"):
        export_onnx(checkpoint, tmp_path)


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), RuntimeError("I/O error: No space left (os error 28)")],
    ids=["python", "rust"],
)
@pytest.mark.parametrize("step", ["write_checkpoint", "_require_tensors", "export_onnx"])
def test_a_full_disk_is_told_in_one_sentence_and_leaves_no_folder(tmp_path, monkeypatch, step, error):
    def fails(*arguments: object) -> None:
        folder = next(a for a in arguments if isinstance(a, Path))
        (folder / "half").write_bytes(b"x")
        raise error

    monkeypatch.setattr(onnx_export, step, fails)
    with pytest.raises(InputError, match=r"exported cannot be written: No space left on device\.$"):
        export_checkpoint(little_checkpoint(), tmp_path / "exported", onnx=True)
    assert list(tmp_path.iterdir()) == []
