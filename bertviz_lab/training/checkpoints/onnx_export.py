"""ONNX: a model as a graph for runtimes without PyTorch, checked against the model that it came from.

The layout is that of Optimum and transformers.js: `onnx/model.onnx`, and `onnx/model_quantized.onnx` with the weights
of its matrices in 8 bits (dynamic quantization: activations are quantized while it runs).
"""

import errno
import importlib.util
import io
import logging
import os
import shutil
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bertviz_lab.data.probes import PROBES
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.atomic_io import atomic_folder, disk_error
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, parameter_count, write_checkpoint

FOLDER = "onnx"
_OUTPUTS = ("prediction_logits", "seq_relationship_logits", "start_logits", "end_logits", "logits")
_MOST_DIFFERENCE = 1e-3  # between outputs, which are sums of a thousand products in 32 bits
_TEXTS, _LATENCY_TOKENS, _REPEATS = 64, 64, 15

Arrays = dict[str, NDArray[Any]]
Run = Callable[[Arrays], list[NDArray[Any]]]


@dataclass(frozen=True)
class OnnxReport:
    """What was written and measured."""

    path: Path
    bytes: dict[str, int]  # of each file, and of the PyTorch weights in 32 bits under "PyTorch"
    difference: float  # the largest between outputs of the graph and of the model
    agreement: float  # share of outputs whose highest class is the same in 8 bits
    milliseconds: dict[str, float]  # median for one text of 64 tokens, by file and for "PyTorch"

    def card_section(self) -> str:
        """Return a section of the model card, in Markdown."""
        rows = [f"| {name} | {self.bytes[name] / 1e6:.1f} | {self.milliseconds[name]:.1f} |" for name in self.bytes]
        about = (
            f"`{FOLDER}/model.onnx` differs from the PyTorch model by at most {self.difference:.1e}. "
            f"`{FOLDER}/model_quantized.onnx` has 8-bit weights (dynamic quantization) and gives the same highest "
            f"class for {self.agreement:.1%} of outputs on {_TEXTS} sentences."
        )
        head = [f"| model | MB | ms for {_LATENCY_TOKENS} tokens |", "|---|---|---|"]
        return "\n".join(["## ONNX", "", about, "", *head, *rows])


class _Graph(nn.Module):
    """The model with its inputs by position and its outputs by name: of its heads, or without any the hidden states."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs: Tensor) -> dict[str, Tensor]:
        out = self.model(*inputs)
        outputs = {name: getattr(out, name) for name in _OUTPUTS if getattr(out, name, None) is not None}
        return outputs or {"last_hidden_state": out.last_hidden_state}


def export_onnx(checkpoint: Checkpoint, folder: Path) -> OnnxReport:
    """Write `onnx/model.onnx` and its quantized variant below `folder`, and compare both with the model.

    Raises `InputError` where the libraries are missing or the graph does not compute what the model does, and `OSError`
    where the disk is full.
    """
    require_libraries()
    from onnxruntime.quantization import QuantType, quantize_dynamic

    place = folder / FOLDER
    place.mkdir(parents=True, exist_ok=True)
    plain, quantized = place / "model.onnx", place / "model_quantized.onnx"
    batch = _batch(checkpoint, [pair.good for pair in PROBES["english"].pairs[:3]])
    graph = _Graph(checkpoint.model).eval()
    longest = checkpoint.config.max_position_embeddings
    axes = {0: torch.export.Dim("batch_size"), 1: torch.export.Dim("sequence_length", max=longest)}
    save_program(graph, batch, {"inputs": (axes,) * len(batch)}, plain)
    try:
        with _quiet():
            quantize_dynamic(plain, quantized, weight_type=QuantType.QInt8)
    except Exception as error:  # it writes a copy, and on a full disk reads half of it again
        if shutil.disk_usage(place).free < plain.stat().st_size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(quantized)) from error
        raise

    runs: dict[str, Run] = {"PyTorch": _torch_run(graph)}
    runs |= {path.name: _onnx_run(path) for path in (plain, quantized)}
    difference, agreement = _compare(checkpoint, runs["PyTorch"], runs[plain.name], runs[quantized.name])
    if not difference < _MOST_DIFFERENCE:
        raise InputError(f"The ONNX graph differs from the model by {difference:.2g}: the export has failed.")
    weights = {"PyTorch": 4 * parameter_count(checkpoint.model)}
    return OnnxReport(
        path=place,
        bytes=weights | {path.name: path.stat().st_size for path in (plain, quantized)},
        difference=difference,
        agreement=agreement,
        milliseconds=_latencies(checkpoint, runs),
    )


def require_libraries() -> None:
    """Raise `InputError` with what to install where a library of the export is missing."""
    for name in ("onnx", "onnxruntime", "onnxscript"):
        if importlib.util.find_spec(name) is None:
            raise InputError(f"ONNX export needs {name}: pip install 'bertviz-lab[onnx]'.")


def save_program(graph: nn.Module, inputs: Mapping[str, Any], dynamic_shapes: dict[str, Any], path: Path) -> None:
    """Write a module as an ONNX graph: `inputs` are examples, tensors or arrays, by name, as its outputs are."""
    examples = tuple(map(torch.as_tensor, inputs.values()))
    with _quiet():
        with torch.no_grad():
            outputs = list(graph(*examples))
        program = torch.onnx.export(
            graph,
            examples,
            input_names=list(inputs),
            output_names=outputs,
            dynamic_shapes=dynamic_shapes,
            dynamo=True,
            verbose=False,
        )
        assert program is not None
        program.save(path)


@contextmanager
def _quiet() -> Iterator[None]:
    """Libraries tell about each other and about themselves."""
    disabled = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


def _torch_run(graph: _Graph) -> Run:
    def run(batch: Arrays) -> list[NDArray[Any]]:
        with torch.no_grad():
            return [output.numpy() for output in graph(*map(torch.from_numpy, batch.values())).values()]

    return run


def _onnx_run(path: Path) -> Run:
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return lambda batch: session.run(None, batch)


def _compare(checkpoint: Checkpoint, model: Run, plain: Run, quantized: Run) -> tuple[float, float]:
    """Return the largest difference to the graph, and the share of equal classes in 8 bits, over varied lengths."""
    sentences = [pair.good for pair in PROBES["english"].pairs][:_TEXTS]
    difference, equal, total = 0.0, 0, 0
    for start in range(0, len(sentences), 8):
        batch = _batch(checkpoint, sentences[start : start + 8])
        shown = batch["attention_mask"].astype(bool)
        for true, graph, small in zip(model(batch), plain(batch), quantized(batch), strict=True):
            if true.shape[:2] == shown.shape:  # one output a token: padding does not count
                true, graph, small = true[shown], graph[shown], small[shown]
            difference = max(difference, float(np.abs(true - graph).max()))
            if true.ndim > 1 and true.shape[-1] > 1:
                equal += int((true.argmax(-1) == small.argmax(-1)).sum())
                total += int(np.prod(true.shape[:-1]))
    return difference, equal / total if total else 1.0


def _latencies(checkpoint: Checkpoint, runs: dict[str, Run]) -> dict[str, float]:
    """Median milliseconds of each, in turns."""
    sentences = " ".join(pair.good for pair in PROBES["english"].pairs[:_LATENCY_TOKENS])
    batch = {name: array[:, :_LATENCY_TOKENS].copy() for name, array in _batch(checkpoint, [sentences]).items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(_REPEATS):
        for name, run in runs.items():
            start = time.perf_counter()
            run(batch)
            times[name].append(1000 * (time.perf_counter() - start))
    return {name: statistics.median(taken[1:]) for name, taken in times.items()}


def _batch(checkpoint: Checkpoint, sentences: Sequence[str]) -> Arrays:
    """Padded inputs, (texts, tokens) each, in the order of the model's arguments."""
    encode = partial(checkpoint.tokenizer.encode, max_length=checkpoint.max_length)
    longest = max(len(encode(text)) for text in sentences)
    rows = [encode(text, pad_to=longest) for text in sentences]
    ids, mask = np.array([row.ids for row in rows]), np.array([row.attention_mask for row in rows])
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


def export_checkpoint(checkpoint: Checkpoint, folder: Path, *, onnx: bool = False) -> OnnxReport | None:
    """Write a new folder and open it with `transformers`, which must find exactly the tensors it expects.

    With `onnx` the graphs are in it, and what was measured of them in its card. Raises `InputError` where the folder
    is not empty or cannot be written, `transformers` misses a tensor, or the graphs are refused; then nothing is left.
    """
    if not folder.name or (folder.exists() and not (folder.is_dir() and not any(folder.iterdir()))):
        raise InputError(f"{folder} is not an empty folder; name a new one.")
    report, folder = None, folder.resolve()  # where it is a link to a folder, that is filled
    try:
        with atomic_folder(folder) as fresh:
            write_checkpoint(checkpoint, fresh)
            _require_tensors(checkpoint, fresh, folder)
            if onnx:
                report = export_onnx(checkpoint, fresh)
                card = f"{checkpoint.card.rstrip()}\n\n{report.card_section()}\n".lstrip()
                (fresh / "README.md").write_text(card, encoding="utf-8")
            if folder.exists():
                folder.rmdir()  # fails if something has been put there meanwhile
    except Exception as error:
        reason = disk_error(error) or (isinstance(error, OSError) and error.strerror)
        if not reason:
            raise
        raise InputError(f"{folder} cannot be written: {reason}.") from error
    return replace(report, path=folder / FOLDER) if report else None


def _require_tensors(checkpoint: Checkpoint, written: Path, folder: Path) -> None:
    """Raises `InputError` where `transformers` misses a tensor or has no place for it."""
    import transformers  # takes seconds

    transformers.logging.set_verbosity_error()
    _, info = getattr(transformers, checkpoint.architecture).from_pretrained(written, output_loading_info=True)
    if problems := [*info["missing_keys"], *info["unexpected_keys"]]:
        raise InputError(f"transformers does not find its tensors in {folder}: {', '.join(map(str, problems[:3]))}.")
