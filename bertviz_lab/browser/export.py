"""The graphs of a model as files: exported, optimized, checked against the model, and their weights stored once."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from bertviz_lab.browser.causes_graph import CausesGraph
from bertviz_lab.browser.graph import BrowserGraph
from bertviz_lab.errors import InputError
from bertviz_lab.interpret.corpora.tuned_lens import TunedLens
from bertviz_lab.interpret.inputs import backbone
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.checkpoints.onnx_export import require_libraries, save_program

Precision = Literal["fp16", "fp32"]

#: The files of the graphs, and of the weights of both.
GRAPH, CAUSES, WEIGHTS = "model.onnx", "causes.onnx", "weights.bin"
_TRIED_TOKENS, _OTHER_TOKENS = 9, 21
_MOST_DIFFERENCE = 1e-3  # of an exported graph from the model, both in 32 bits
_SMALLEST_MATRIX = 4096  # numbers; what is smaller stays in 32 bits


def export_graphs(
    checkpoint: Checkpoint,
    folder: Path,
    precision: Precision = "fp16",
    *,
    lens: TunedLens | None = None,
    causes: bool = True,
) -> dict[str, Any]:
    """Write the graph of a model with its tuned lens, with `causes` that of Causes, and their weights into a folder.

    Returns what the engine has to know of the weights: `bits` of each, and where the word embeddings are among them:
    `start`, counted in weights, `rows` and `size`. The graphs are optimized by ONNX Runtime, so that a browser need
    not. Raises `InputError` where libraries are missing, or a graph does not compute what the model does.
    """
    require_libraries()
    graphs: dict[str, BrowserGraph | CausesGraph] = {GRAPH: BrowserGraph(checkpoint, lens)}
    if causes:
        graphs[CAUSES] = CausesGraph(checkpoint)
    for name, graph in graphs.items():
        _export(graph, folder / name)
    return _store_weights(checkpoint, [folder / name for name in graphs], precision)


def _export(graph: BrowserGraph | CausesGraph, path: Path) -> None:
    import onnxruntime

    graph.eval()
    inputs, shapes = graph.inputs(_TRIED_TOKENS)
    save_program(graph, inputs, shapes, path)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED  # for any processor
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    inputs, _ = graph.inputs(_OTHER_TOKENS)
    taken = {value.name for value in session.get_inputs()}
    ours = session.run(None, {name: value.numpy() for name, value in inputs.items() if name in taken})
    with torch.no_grad():
        theirs = graph(*inputs.values()).values()
    for mine, true in zip(ours, theirs, strict=True):
        scale = max(1.0, float(true.abs().max()))
        if not float(np.abs(mine - true.numpy()).max()) < _MOST_DIFFERENCE * scale:
            raise InputError("The ONNX graph does not compute what the model does; it was not published.")


def _store_weights(checkpoint: Checkpoint, paths: Sequence[Path], precision: Precision) -> dict[str, Any]:
    """Move the matrices of the graphs to `WEIGHTS`, each once; the engine makes numbers of 32 bits of them."""
    import onnx
    from onnx import TensorProto, external_data_helper, numpy_helper

    stored: list[np.ndarray] = []
    places: dict[bytes, int] = {}  # of matrices by their content, counted in weights

    def place_of(values: np.ndarray) -> int:
        key = hashlib.sha256(values.tobytes()).digest()
        if key not in places:
            places[key] = sum(map(len, stored))
            stored.append(values.ravel())
        return places[key]

    for path in paths:
        graph = onnx.load(path)
        for tensor in graph.graph.initializer:
            if tensor.data_type != TensorProto.FLOAT or np.prod(tensor.dims) < _SMALLEST_MATRIX:
                continue
            values = numpy_helper.to_array(tensor)
            tensor.raw_data = b""  # which the next line wants to be there
            external_data_helper.set_external_data(tensor, WEIGHTS, offset=4 * place_of(values), length=4 * values.size)
            tensor.ClearField("raw_data")
        onnx.save(graph, path)
    words = backbone(checkpoint).embeddings.word.weight.detach().numpy()
    start, (rows, size) = place_of(words), words.shape
    kind = np.float16 if precision == "fp16" else np.float32
    weights = np.concatenate(stored).astype(kind)
    if precision == "fp16":  # all low bytes, then all high ones: the latter are alike, which saves 7% when compressed
        weights = weights.view(np.uint8).reshape(-1, 2).T
    paths[0].with_name(WEIGHTS).write_bytes(weights.tobytes())
    return {"bits": 16 if precision == "fp16" else 32, "start": start, "rows": rows, "size": size}
