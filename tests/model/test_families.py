"""BERT and every family are those of transformers: outputs, losses and gradients on the same weights within 1e-5."""

import pytest
import torch
from torch import Tensor

from bertviz_lab.model.weight_names import belongs_to_backbone, place_of
from tests.model.families import VARIANTS, every_head, inputs, is_tied, our_model, pair
from tests.model.support import gradients, largest_difference

TOLERANCE = 1e-5

every_family = pytest.mark.parametrize("variant", VARIANTS)
OUTPUTS = {
    "Model": ("last_hidden_state", "pooler_output"),
    "PreTraining": ("prediction_logits", "seq_relationship_logits"),
    "QuestionAnswering": ("start_logits", "end_logits"),
}
THEIR_NAMES = {"seq_relationship_logits": "sop_logits"}


def objective(head: str, out: object, mask: Tensor) -> Tensor:
    """The loss, or for the bare model a sum that every parameter has a part in."""
    if head != "Model":
        return out.loss
    weights = torch.linspace(-1, 1, out.last_hidden_state.shape[-1])
    pooled = getattr(out, "pooler_output", None)
    total = (out.last_hidden_state * weights * mask[..., None]).mean()
    return total if pooled is None else total + (pooled * weights).mean()


def by_their_names(model: torch.nn.Module, gradients: dict[str, Tensor]) -> dict[str, Tensor]:
    """Gradients by the names of the family's files: parts joined, those of shared layers added up by autograd."""
    family, kind = model.config.family, type(model).__name__
    parts: dict[str, dict[int, Tensor]] = {}
    for name, gradient in gradients.items():
        place = place_of(name, family.model_type, kind)
        is_backbone = kind != "BertModel" and belongs_to_backbone(name, family.model_type, kind)
        prefix = family.weight_prefix if is_backbone else ""
        parts.setdefault(prefix + place.name, {})[place.part] = gradient
    return {name: torch.cat([part for _, part in sorted(tensors.items())]) for name, tensors in parts.items()}


@every_head
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_outputs_losses_and_gradients_are_those_of_transformers(variant, head, attention):
    both = pair(variant, head, attention)
    ours, theirs = both.call(explicit=attention == "eager")
    mask = inputs(both.ours.config)["attention_mask"]
    for name in OUTPUTS.get(head, ("logits",)):
        a, b = getattr(ours, name), getattr(theirs, name, getattr(theirs, THEIR_NAMES.get(name, name), None))
        if b is None:
            assert a is None, "a family without a pooler"
            continue
        if a.shape[:2] == mask.shape:  # what stands at padding is nobody's
            shown = mask.bool()
            a, b = a[shown], b[shown]
        assert largest_difference(a, b) < TOLERANCE, name

    a, b = objective(head, ours, mask), objective(head, theirs, mask)
    assert largest_difference(a, b) < TOLERANCE
    expected = gradients(both.theirs, b)
    actual = by_their_names(both.ours, gradients(both.ours, a))
    assert {name for name in expected if not is_tied(name)} <= actual.keys()
    for name, gradient in actual.items():
        counted = slice(None)
        if name.endswith(("word_embeddings.weight", "tok_embeddings.weight", "position_embeddings.weight")):
            counted = torch.arange(len(gradient)) != both.ours.config.pad_token_id  # transformers never trains that row
        assert largest_difference(gradient[counted], expected[name][counted]) < TOLERANCE, name
    # A softmax does not change when all its inputs shift, so that what shifts them has no gradient.
    shifts = (
        ("key.bias", "qa_outputs.bias", "layer.1.output.LayerNorm.bias") if head == "QuestionAnswering" else "key.bias"
    )
    silent = [name for name, g in actual.items() if float(g.abs().max()) < 1e-6 and not name.endswith(shifts)]
    assert not silent or variant != "bert"


@every_family
def test_hidden_states_and_attentions_are_those_of_transformers(variant):
    both = pair(variant, "Model")
    wanted = {"output_hidden_states": True, "output_attentions": True}
    given = inputs(both.ours.config)
    given["attention_mask"] = torch.ones_like(given["attention_mask"])
    a, b = both.ours(**given, **wanted), both.theirs(**given, **wanted)
    assert len(a.attentions) == len(b.attentions) == both.ours.config.num_hidden_layers
    assert len(a.hidden_states) == len(a.attentions) + 1
    for mine, other in zip(a.attentions, b.attentions, strict=True):
        assert largest_difference(mine, other) < TOLERANCE
    shown = slice(1, None) if variant == "albert" else slice(None)
    for mine, other in zip(a.hidden_states[shown], b.hidden_states[shown], strict=True):
        assert largest_difference(mine, other) < TOLERANCE
    assert a.attentions[0].std() > 0.01, "attention to everything alike proves nothing"


@every_family
def test_the_mask_may_be_left_out_and_words_may_be_given_as_vectors(variant):
    both = pair(variant, "Model")
    ids = inputs(both.ours.config)["input_ids"][:1]
    assert largest_difference(both.ours(ids).last_hidden_state, both.theirs(ids).last_hidden_state) < TOLERANCE
    vectors = both.ours.embeddings.word(ids)
    a, b = both.ours(inputs_embeds=vectors), both.theirs(inputs_embeds=vectors)
    assert largest_difference(a.last_hidden_state, b.last_hidden_state) < TOLERANCE


@every_family
def test_masked_positions_alone_are_predicted_as_among_all(variant):
    model = our_model(variant, "MaskedLM")
    given = inputs(model.config)
    positions = torch.tensor([[1, 3], [2, 4], [4, 0]])
    few = model(**given, masked_positions=positions, explicit=True).logits
    all_logits = model(**given, explicit=True).logits
    chosen = all_logits.gather(1, positions[..., None].expand(-1, -1, all_logits.shape[-1]))
    assert largest_difference(few, chosen) < TOLERANCE


@every_family
def test_a_trace_adds_up_to_the_layer(variant):
    model = our_model(variant, "Model")
    given = inputs(model.config)
    is_text = given["attention_mask"].bool()
    out = model(**given, output_trace=True, output_hidden_states=True)
    for index, (layer, trace) in enumerate(zip(model.encoder.layers, out.trace, strict=True)):
        entering, leaving = out.hidden_states[index], trace.layer_output
        rows = trace.attention_probs.sum(-1)
        assert largest_difference(rows, torch.ones_like(rows)) < TOLERANCE
        before = entering + trace.attention_projection
        after = trace.attention_output + layer.output(trace.intermediate_output)
        if not model.config.is_prenorm:
            before, after = layer.attention_norm(before), layer.output_norm(after)
        assert largest_difference(before[is_text], trace.attention_output[is_text]) < TOLERANCE
        assert largest_difference(after[is_text], leaving[is_text]) < TOLERANCE
        assert trace.window == (model.config.local_attention if model.config.is_local(index) else None)
    last = out.trace[-1].layer_output
    last = last if model.final_norm is None else model.final_norm(last)
    assert largest_difference(last, out.last_hidden_state) < TOLERANCE
    assert largest_difference(last, out.hidden_states[-1]) < TOLERANCE


@pytest.mark.parametrize("variant", ["deberta-v3", "deberta-v2"])
def test_the_three_terms_of_disentangled_attention_add_up_to_its_scores(variant):
    model = our_model(variant, "Model")
    ids = inputs(model.config)["input_ids"][:1]
    (trace, *_) = model(ids, output_trace=True).trace
    terms = (trace.content_to_content, trace.content_to_position, trace.position_to_content)
    assert all(term.std() > 0.001 for term in terms)
    assert largest_difference(sum(terms), trace.attention_scores) < TOLERANCE


def test_local_layers_of_modernbert_attend_within_their_window():
    model = our_model("modernbert", "Model")
    config = model.config
    out = model(inputs(config)["input_ids"], output_trace=True)
    assert [config.is_local(layer) for layer in range(3)] == [False, True, False]
    assert [trace.window for trace in out.trace] == [None, 12, None]
    distance = (torch.arange(11)[:, None] - torch.arange(11)).abs()
    local = out.trace[1].attention_probs
    assert local[..., distance > 6].max() == 0
    assert local[..., distance <= 6].min() > 0
    assert out.trace[0].attention_probs[..., distance > 6].min() > 0


@every_family
def test_a_text_beyond_the_positions_is_refused(variant):
    model = our_model(variant, "Model")
    longest = model.config.max_position_embeddings
    assert model(torch.full((1, longest), 7)).last_hidden_state.shape[1] == longest
    with pytest.raises(ValueError, match=f"{longest + 1} tokens; this model has learned {longest} positions"):
        model(torch.full((1, longest + 1), 7))
