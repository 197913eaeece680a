"""Every analysis answers on every family, and what a family lacks is said."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertviz_lab import InputError, interpret
from bertviz_lab.config.family_notes import differences
from tests.family_checkpoints import MODEL_TYPES, family_checkpoint
from tests.little import little_checkpoint

every_family = pytest.mark.parametrize("model_type", MODEL_TYPES)
TEXT_B = "a small dog ran"


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    root = tmp_path_factory.mktemp("families")
    return {model_type: family_checkpoint(model_type, root / model_type) for model_type in MODEL_TYPES}


def masked(checkpoint) -> str:
    return f"the red {checkpoint.tokenizer.special.mask} sat on the mat"


@every_family
def test_the_last_layer_of_the_lens_is_the_prediction(model_type, checkpoints):
    checkpoint = checkpoints[model_type]
    (prediction,) = interpret.fill_mask(checkpoint, masked(checkpoint), top_k=3, text_b=TEXT_B).masks
    lens = interpret.logit_lens(checkpoint, masked(checkpoint), TEXT_B, top_k=3)
    assert len(lens.layers) == 3
    assert [c.token for c in lens.layers[-1].candidates] == [c.token for c in prediction.candidates]
    assert lens.layers[-1].probability == pytest.approx(prediction.candidates[0].probability, abs=1e-5)


@every_family
def test_ablation_without_its_effect_would_be_the_baseline(model_type, checkpoints):
    checkpoint = checkpoints[model_type]
    ablation = interpret.ablate_heads(checkpoint, masked(checkpoint))
    inputs = interpret.encode_inputs(checkpoint, masked(checkpoint))
    mask = torch.ones(1, 2, 2)
    mask[0, 1, 0] = 0
    with torch.no_grad():
        out = checkpoint.model(**inputs.arguments(), head_mask=mask)
    expected = out.logits[0, ablation.target.position].log_softmax(-1)[ablation.target.index]
    assert ablation.without_head[1, 0] == pytest.approx(float(expected), abs=1e-4)


@every_family
def test_the_parts_of_the_embeddings_that_a_family_lacks_are_zero(model_type, checkpoints):
    parts = interpret.embedding_sum(checkpoints[model_type], "the red cat", TEXT_B)
    has_positions = model_type not in ("deberta-v2", "modernbert")
    assert parts.position.any() == has_positions
    np.testing.assert_allclose(parts.token + parts.segment + parts.position, parts.total, atol=1e-6)


@every_family
def test_next_sentence_says_that_the_family_was_not_trained_for_it(model_type, checkpoints):
    with pytest.raises(InputError, match=r"was not pretrained on next-sentence prediction.*such as wiki-mini"):
        interpret.next_sentence(checkpoints[model_type], "the red cat sat", TEXT_B)
    assert interpret.target_kinds(checkpoints[model_type]) == ("token",)
    assert interpret.analyze_snapshot(checkpoints[model_type], masked(checkpoints[model_type]), TEXT_B).is_next is None


def test_the_prediction_of_a_classifier_that_reads_the_mean_is_explained_by_all_its_tokens(tmp_path):
    checkpoint = family_checkpoint("modernbert", tmp_path, "SequenceClassification", classifier_pooling="mean")
    best, *_ = interpret.classify(checkpoint, "the red cat").labels
    inputs = interpret.encode_inputs(checkpoint, "the red cat")
    target = interpret.choose_target(checkpoint, inputs, "label")
    assert target.name == best.label
    assert interpret.class_scores(checkpoint, inputs, target)[target.index] == pytest.approx(best.score, abs=1e-5)
    ablation = interpret.ablate_heads(checkpoint, "the red cat", target=target)
    assert ablation.baseline == pytest.approx(np.log(best.score), abs=1e-4)


def test_two_families_fill_the_same_mask_and_their_words_are_matched(checkpoints):
    unigram, pieces = checkpoints["xlm-roberta"], checkpoints["electra"]
    for text in ("the red [MASK] sat", "the red <mask> sat"):
        comparison = interpret.compare_fill_mask([unigram, pieces], text, top_k=5)
        (candidates,) = comparison.masks
        assert not any(candidate.token.startswith("▁") for candidate in candidates if candidate.token != "▁")
        in_both = [candidate for candidate in candidates if None not in candidate.probabilities]
        for candidate in in_both:
            ids = [unigram.tokenizer.id(spelling) for spelling in (f"▁{candidate.token}", candidate.token)]
            probabilities = [
                interpret.fill_mask(unigram, "the red <mask> sat", word=token_id).masks[0].asked.probability
                for token_id in ids
                if token_id is not None
            ]
            assert max(probabilities) == pytest.approx(candidate.probabilities[0], abs=1e-6)
        assert in_both


@every_family
def test_the_terms_of_every_score_sum_to_what_the_softmax_sees(model_type, checkpoints):
    trace = interpret.trace_text(checkpoints[model_type], masked(checkpoints[model_type]), TEXT_B)
    scores = interpret.attention_scores(trace)
    traced = np.stack([layer.attention_scores[0].numpy() for layer in trace.layers])
    is_seen = ~np.broadcast_to(scores.masked[:, None], traced.shape)
    assert is_seen.any(-1).all()
    np.testing.assert_allclose(scores.values("score")[is_seen], traced[is_seen], atol=1e-4)
    sums = sum(scores.values(term) for term in scores.terms) if scores.terms else scores.values("query_key")
    np.testing.assert_allclose(sums[is_seen], traced[is_seen], atol=1e-4)
    assert scores.terms == {
        "deberta-v2": ("content_to_content", "content_to_position", "position_to_content"),
        "mpnet": ("query_key", "relative_bias"),
    }.get(model_type, ())


@every_family
def test_the_products_and_terms_of_a_pair_sum_to_its_score_and_the_scores_give_the_weights(model_type, checkpoints):
    trace = interpret.trace_text(checkpoints[model_type], masked(checkpoints[model_type]), TEXT_B)
    scores = interpret.attention_scores(trace)
    for layer, head, query in ((0, 0, 1), (1, 1, 4)):
        pairs = [scores.pair(layer, head, query, key) for key in range(len(trace.tokens))]
        for key, pair in enumerate(pairs):
            assert pair.products.sum() + sum(pair.added.values()) == pytest.approx(pair.score, abs=1e-4)
            if not pair.is_masked:
                assert pair.score == pytest.approx(
                    float(trace.layers[layer].attention_scores[0, head, query, key]), abs=1e-4
                )
        exponentials = np.array([0 if pair.is_masked else np.exp(pair.score) for pair in pairs])
        np.testing.assert_allclose(exponentials / exponentials.sum(), [pair.weight for pair in pairs], atol=1e-5)


def test_keys_outside_the_window_of_local_attention_are_masked(checkpoints):
    checkpoint = checkpoints["modernbert"]
    trace = interpret.trace_text(checkpoint, "the red cat sat on the mat", TEXT_B)
    scores = interpret.attention_scores(trace)
    assert scores.windows == checkpoint.config.windows == (None, 4)
    positions = np.arange(len(trace.tokens))
    np.testing.assert_array_equal(scores.masked[1], np.abs(positions[:, None] - positions) > 2)
    assert not scores.masked[0].any()
    assert scores.pair(1, 0, 0, 5).is_masked
    assert scores.pair(1, 0, 0, 5).weight == 0


@every_family
def test_attention_of_any_family_is_compared_with_that_of_bert(model_type, checkpoints):
    bert, other = little_checkpoint(), checkpoints[model_type]
    compared = interpret.compare_attention(bert, other, "the red [MASK] sat on unbelievably", TEXT_B)
    count = len(compared.alignment.tokens)
    assert compared.first.shape == compared.second.shape == (2, 2, count, count)
    for weights in (compared.first, compared.second):
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
    # BERT's tokens are whole words here, which every other tokenizer splits or has.
    words = ("[CLS]", "the", "red", "[MASK]", "sat", "on", "unbelievably", "[SEP]", "a", "small", "dog", "ran", "[SEP]")
    assert compared.alignment.tokens == words
    assert compared.alignment.token_type_ids == (0,) * 8 + (1,) * 5
    np.testing.assert_array_equal(
        compared.first, interpret.trace_text(bert, "the red [MASK] sat on unbelievably", TEXT_B).attentions
    )


@every_family
def test_what_a_family_lacks_is_a_sentence(model_type, checkpoints):
    config = checkpoints[model_type].config
    notes = " ".join(differences(config))
    assert ("no segment embeddings" in notes) == (not config.has_segments)
    assert "next-sentence prediction (NSP)" in notes
    assert ("no position embeddings" in notes) == (not config.position_biased_input)
    assert ("pre-norm" in notes) == (model_type == "modernbert")
    assert ("Layer 2 has local attention, window 4" in notes) == (model_type == "modernbert")
    assert ("share their parameters" in notes) == (model_type == "albert")


TEXT = "the red [MASK] sat on the mat"
HEADS = np.array([[0, 1], [1, 1]])

NUMBERS = {
    "embedding sum": lambda c, _: interpret.embedding_sum(c, TEXT).normalized,
    "contexts": lambda c, _: interpret.compare_contexts(c, TEXT, "the red cat", "red").cosines,
    "head ablation": lambda c, target: interpret.ablate_heads(c, TEXT, target=target).effects,
    "fill-mask with a head mask": lambda c, target: np.array(
        interpret.fill_mask(c, TEXT, word=target.index, head_mask=HEADS).masks[0].asked.probability
    ),
    "trace with a head mask": lambda c, _: interpret.trace_text(c, TEXT, head_mask=HEADS).hidden_states,
    **{
        method: lambda c, target, method=method: interpret.attribute(c, TEXT, method=method, target=target).scores
        for method in interpret.METHODS
    },
}


@pytest.mark.parametrize("analysis", NUMBERS.values(), ids=NUMBERS)
def test_a_bf16_model_is_analyzed_as_one_of_fp32(analysis) -> None:
    exact = little_checkpoint()
    target = interpret.choose_target(exact, interpret.encode_inputs(exact, TEXT))
    half = replace(little_checkpoint(), model=little_checkpoint().model.to(torch.bfloat16))
    expected, values = analysis(exact, target), analysis(half, target)
    assert values.dtype == expected.dtype
    np.testing.assert_allclose(values, expected, atol=0.1)
