"""A model as an ONNX graph for a browser: every intermediate result of one text, with interventions as inputs.

Inputs: `input_ids` and `token_type_ids` (1, tokens); `attention_mask` (1, queries, keys), which holds padding, causal
masks and whatever else; `head_mask` (layers, heads); and, for a model with an MLM head, `rows` (P,), the hidden states
that the head reads, counted layer by layer: layer x tokens + position, layer 0 being the embeddings.

Outputs, without the batch of one: `hidden` (layers + 1, tokens, hidden), `attentions`, `queries` and `keys`
(layers, heads, tokens, ...), `updates` (2, layers, tokens), the norms of what attention and feed-forward network add,
`summands` (3, tokens, size), the token, segment and position embeddings, `added` (terms, layers, heads, tokens, tokens)
where relative positions add terms to the scores, and the logits of the heads that there are (`HEADS`).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.attention import ADDED_TERMS
from bertviz_lab.interpret.inputs import backbone
from bertviz_lab.interpret.targets import head_logits, target_kinds
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.checkpoints.onnx_export import require_libraries, save_program

Precision = Literal["fp16", "fp32"]

#: The file of the weights, next to that of the graph.
WEIGHTS = "weights.bin"
_TRIED_TOKENS, _OTHER_TOKENS = 9, 21
_MOST_DIFFERENCE = 1e-3  # of the exported graph from the model, both in 32 bits
_SMALLEST_MATRIX = 4096  # numbers; what is smaller stays in 32 bits


def heads_of(checkpoint: Checkpoint) -> tuple[str, ...]:
    """Return the outputs of the heads that a model has: of `token`, `next`, `label`, `word`, `answer`."""
    kinds = ("answer" if kind in ("start", "end") else kind for kind in target_kinds(checkpoint))
    return tuple(dict.fromkeys(kinds))


class BrowserGraph(nn.Module):
    """A model whose forward pass returns what the engine in a browser works with."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__()
        self.model, self.bert, self.heads = checkpoint.model, backbone(checkpoint), heads_of(checkpoint)

    def forward(
        self,
        input_ids: Tensor,
        token_type_ids: Tensor,
        attention_mask: Tensor,
        head_mask: Tensor,
        rows: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Return the outputs by name."""
        bert: Any = self.bert
        out = bert(
            input_ids, attention_mask, token_type_ids, head_mask=head_mask, output_trace=True, output_hidden_states=True
        )
        *earlier, last = out.hidden_states
        layers = zip(bert.encoder.layers, out.trace, strict=True)
        updates = [
            torch.cat([layer.attention_projection for layer in out.trace]),
            torch.cat([layer.output(of.intermediate_output) for layer, of in layers]),
        ]
        token, position, segment = bert.embeddings.summands(input_ids, token_type_ids)
        parts = (torch.zeros_like(token) if part is None else part.expand_as(token) for part in (segment, position))
        outputs = {
            "hidden": torch.cat([*earlier, last]),
            "attentions": torch.cat([layer.attention_probs for layer in out.trace]),
            "queries": torch.cat([layer.query_states for layer in out.trace]),
            "keys": torch.cat([layer.key_states for layer in out.trace]),
            "updates": torch.stack(updates).norm(dim=-1),
            "summands": torch.cat([token, *parts]),
        }
        added = [[getattr(layer, name) for layer in out.trace] for name in ADDED_TERMS]
        if terms := [torch.cat(of_layers) for of_layers in added if of_layers[0] is not None]:
            outputs["added"] = torch.stack(terms)
        if rows is not None:
            read = torch.cat([*map(bert.as_final, earlier), last]).flatten(0, 1)[rows]
            outputs["token"] = head_logits(self.model, "token", read)
        if "next" in self.heads:
            outputs["next"] = self.model.nsp(out.pooler_output)[0]  # type: ignore[operator]
        if "label" in self.heads:
            outputs["label"] = self.model.classify(out.pooler_output)[0]  # type: ignore[operator]
        for head in {"word", "answer"} & set(self.heads):
            outputs[head] = self.model.classify(last)[0]  # type: ignore[operator]
        return outputs


def export_graph(checkpoint: Checkpoint, path: Path, precision: Precision = "fp16") -> dict[str, Any]:
    """Write the graph of a model, and its weights beside it in `WEIGHTS`; return what the engine has to know of these.

    `bits` of a weight, and where the word embeddings are among them: `start`, counted in weights, `rows` and `size`.
    The graph is one that ONNX Runtime has optimized, so that a browser need not. Raises `InputError` where libraries
    are missing, or the graph does not compute what the model does.
    """
    require_libraries()
    graph = BrowserGraph(checkpoint).eval()
    inputs = _inputs(checkpoint, _TRIED_TOKENS)
    with torch.no_grad():
        names = list(graph(**inputs))
    length = torch.export.Dim("tokens", min=3, max=checkpoint.config.max_position_embeddings)
    shapes = {
        "input_ids": {1: length}, "token_type_ids": {1: length}, "attention_mask": {1: length, 2: length},
        "head_mask": None, "rows": {0: torch.export.Dim("rows", min=1)},
    }  # fmt: skip
    save_program(graph, inputs, names, {name: shapes[name] for name in inputs}, path)
    _optimize(path)
    _check(graph, _inputs(checkpoint, _OTHER_TOKENS), path)
    return _store_weights(checkpoint, path, precision)


def _inputs(checkpoint: Checkpoint, tokens: int) -> dict[str, Tensor]:
    """Return inputs of a text of random tokens."""
    config = checkpoint.config
    generator = torch.Generator().manual_seed(0)
    inputs = {
        "input_ids": torch.randint(config.vocab_size, (1, tokens), generator=generator),
        "token_type_ids": torch.zeros(1, tokens, dtype=torch.long),
        "attention_mask": torch.ones(1, tokens, tokens).tril(),
        "head_mask": torch.ones(config.num_hidden_layers, config.num_attention_heads),
    }
    return inputs | ({"rows": torch.arange(3)} if "token" in heads_of(checkpoint) else {})


def _optimize(path: Path) -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED  # for any processor
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])


def _check(graph: Callable[..., dict[str, Tensor]], inputs: dict[str, Tensor], path: Path) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    taken = {value.name for value in session.get_inputs()}
    ours = session.run(None, {name: value.numpy() for name, value in inputs.items() if name in taken})
    with torch.no_grad():
        theirs = graph(**inputs).values()
    for mine, true in zip(ours, theirs, strict=True):
        scale = max(1.0, float(true.abs().max()))
        if not float(np.abs(mine - true.numpy()).max()) < _MOST_DIFFERENCE * scale:
            raise InputError("The ONNX graph does not compute what the model does; it was not published.")


def _store_weights(checkpoint: Checkpoint, path: Path, precision: Precision) -> dict[str, Any]:
    """Move the matrices from the graph to `WEIGHTS`; the engine makes numbers of 32 bits of them."""
    import onnx
    from onnx import TensorProto, external_data_helper, numpy_helper

    graph = onnx.load(path)
    words = backbone(checkpoint).embeddings.word.weight.detach().numpy()
    stored, place, start = [], 0, None
    for tensor in graph.graph.initializer:
        if tensor.data_type != TensorProto.FLOAT or np.prod(tensor.dims) < _SMALLEST_MATRIX:
            continue
        values = numpy_helper.to_array(tensor)
        if start is None and np.array_equal(values, words):
            start = place
        tensor.raw_data = b""  # which the next line wants to be there
        external_data_helper.set_external_data(tensor, WEIGHTS, offset=4 * place, length=4 * values.size)
        tensor.ClearField("raw_data")
        stored.append(values.ravel())
        place += values.size
    if start is None:
        start = place
        stored.append(words.ravel())
    onnx.save(graph, path)
    kind = np.float16 if precision == "fp16" else np.float32
    path.with_name(WEIGHTS).write_bytes(np.concatenate(stored).astype(kind).tobytes())
    rows, size = words.shape
    return {"bits": 8 * np.dtype(kind).itemsize, "start": start, "rows": rows, "size": size}
