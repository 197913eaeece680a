"""The picture of a model: its order of computation and its shapes are those of the model, in every family."""

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Page

from bertviz_lab import BertForPreTraining, BertForSequenceClassification, Checkpoint, interpret, show
from bertviz_lab.figures.payload import figure
from tests.family_checkpoints import MODEL_TYPES, family_checkpoint
from tests.little import little_checkpoint

TEXT = "the red cat sat"
LAYOUT = """async ([payload, layer, levels]) => {
  const { architecture, shapeOf, stepsOf } = await import('lab/components/figures/architecture.js');
  const { layoutOf } = await import('lab/components/architecture/layout.js');
  const { wordsOf } = await import('lab/components/architecture/words.js');
  const say = (text, values = {}) => text.replace(/\\{(\\w+)\\}/g, (_, name) => values[name]);
  const model = architecture(payload);
  const words = wordsOf(model, say);
  const view = { levels, layer, head: 1, position: 1, mask: 0, row: [['a', 0.5]] };
  const { items, width, height } = layoutOf(model, view, words, say);
  const shapes = Object.fromEntries(Object.entries(words).filter(([, word]) => word).map(([part, word]) =>
    [part, word.shapes.map((letters) => shapeOf(model, letters).numbers)]));
  return { steps: stepsOf(model, layer), items, width, height, shapes };
}"""
#: The modules of a layer, by the parts of the picture that they are.
MODULES = {"attention": "attention", "attention_norm": "norm", "output_norm": "norm", "intermediate": "feed_forward"}


@pytest.fixture
def laid_out(page: Page, tmp_path: Path) -> Any:
    """Return what the page lays out of a model: steps, items and shapes."""
    page.goto(show.architecture(little_checkpoint()).save(tmp_path / "picture.html").as_uri())

    def lay_out(checkpoint: Checkpoint, layer: int = 0, levels: tuple[str, ...] = ("model", "layer", "head")) -> Any:
        norms = interpret.norms_by_layer(checkpoint, TEXT)
        given = vars(interpret.describe_architecture(checkpoint))
        payload = json.loads(figure("architecture", encoding=norms.encoding, norms=norms, **given))
        del payload["picture"]
        return page.evaluate(LAYOUT, [payload, layer, list(levels)])

    return lay_out


def run_order(checkpoint: Checkpoint, layer: int) -> list[str]:
    """Return the parts of a layer in the order in which its modules run."""
    order: list[str] = []
    hooks = [
        module.register_forward_hook(lambda *_, part=MODULES[name]: order.append(part))
        for name, module in checkpoint.model.bert.encoder.layers[layer].named_children()
        if name in MODULES and not isinstance(module, torch.nn.Identity)
    ]
    interpret.trace_text(checkpoint, TEXT)
    for hook in hooks:
        hook.remove()
    if checkpoint.config.share_layers:  # one module, which has run for every layer
        order = order[: len(order) // checkpoint.config.num_hidden_layers]
    return [part for part, _ in groupby(order)]  # a pre-norm layer normalizes queries and keys apart


def holds_together(laid: Any) -> None:
    """Boxes of a column are under each other, and all is inside the picture."""
    boxes = [item for item in laid["items"] if item["kind"] == "box" and item.get("number")]
    for box in boxes:
        assert min(box["x"], box["y"]) >= 0
        assert box["x"] + box["width"] <= laid["width"]
        assert box["y"] + box["height"] <= laid["height"]
    for one in boxes:
        for other in boxes:
            beside = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
            apart = one["y"] + one["height"] <= other["y"] or other["y"] + other["height"] <= one["y"]
            assert one is other or beside or apart, (one["part"], other["part"])


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_a_layer_is_drawn_in_the_order_in_which_its_modules_run(laid_out: Any, model_type: str, tmp_path: Path) -> None:
    checkpoint = family_checkpoint(model_type, tmp_path)
    for layer in range(2):
        laid = laid_out(checkpoint, layer)
        steps = laid["steps"]["layer"]
        assert [part for part in steps if part != "residual"] == run_order(checkpoint, layer)
        assert steps.count("residual") == 2
        holds_together(laid)
    absent = {item["text"] for item in laid["items"] if "absent" in item.get("class", "")}
    config = checkpoint.config
    assert ("no segment embeddings" in absent) == (not config.has_segments)
    assert ("no position embeddings" in absent) == (not config.position_biased_input)
    assert ("positions" in laid["steps"]["head"]) == (config.position_embedding_type != "absolute")
    assert ("final_norm" in laid["steps"]["model"]) == config.is_prenorm


def test_shapes_are_those_of_the_tensors(laid_out: Any) -> None:
    checkpoint = little_checkpoint(kind=BertForPreTraining)
    shapes = laid_out(checkpoint)["shapes"]
    trace, out = interpret.trace_text(checkpoint, TEXT), checkpoint.model(**_inputs(checkpoint), output_trace=True)
    layer = trace.layers[0]
    tensors = {
        "projections": layer.query_states, "scores": layer.attention_scores, "weights": layer.attention_probs,
        "context": layer.context, "output": layer.attention_projection, "attention": layer.attention_projection,
        "layer": layer.layer_output, "embeddings": torch.as_tensor(trace.hidden_states[:1]),
        "mlm": out.prediction_logits, "nsp": out.seq_relationship_logits, "pooler": out.pooler_output,
        "tokens": _inputs(checkpoint)["input_ids"],
    }  # fmt: skip
    for part, tensor in tensors.items():
        assert shapes[part][-1] == " × ".join(map(str, tensor.shape)), part
    assert shapes["feed_forward"][1] == " × ".join(map(str, layer.intermediate_output.shape))


def _inputs(checkpoint: Checkpoint) -> dict[str, torch.Tensor]:
    return {"input_ids": torch.tensor([checkpoint.tokenizer.encode(TEXT).ids])}


def test_heads_of_a_task_take_the_place_of_those_of_pretraining(laid_out: Any) -> None:
    assert laid_out(little_checkpoint(kind=BertForPreTraining))["steps"]["branches"] == [
        ["mlm", "predictions"],
        ["pooler", "nsp"],
    ]
    classifier = little_checkpoint(kind=BertForSequenceClassification, id2label=("bad", "good"))
    laid = laid_out(classifier, levels=("model",))
    assert laid["steps"]["branches"] == [["pooler", "task"]]
    assert laid["shapes"]["task"] == ["1 × 32", "1 × 2"]


def test_a_deep_model_leaves_layers_out(laid_out: Any) -> None:
    deep = little_checkpoint(num_hidden_layers=20)
    items = laid_out(deep, 10)["items"]
    rows = [
        item["layer"] for item in items if item["kind"] == "box" and item["part"] == "layer" and "title" not in item
    ]
    assert rows == [0, 1, 2, 9, 10, 11, 18, 19]
    assert sum(item.get("text") == "⋮" for item in items) == 2
