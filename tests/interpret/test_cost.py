"""Questions are weighed before they are computed: by tokens, by memory of attention, and by passes."""

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bertviz_lab import BertForQuestionAnswering, BertForTokenClassification, Checkpoint, InputError
from bertviz_lab.config.limits import QuestionLimits
from bertviz_lab.interpret import (
    ablate_heads,
    analyze_snapshot,
    answer_question,
    attribute,
    encode_inputs,
    fill_mask,
    information_flow,
    joint_fill,
    label_words,
    masking_statistics,
    patch_activations,
    pseudo_log_likelihood,
    similarity,
    trace_text,
)
from bertviz_lab.interpret.inputs import backbone, forward_operations
from tests.little import little_checkpoint, little_tokenizer

TEXT = "the red [MASK] sat on the mat and " * 3


def limited(
    seed: int = 0, kind: type | None = None, shape: dict[str, int] | None = None, **limits: float
) -> Checkpoint:
    options = {"kind": kind} if kind else {}
    return replace(little_checkpoint(seed, **options, **(shape or {})), limits=QuestionLimits(**limits))


def test_the_operations_of_a_forward_pass_are_those_that_torch_counts():
    checkpoint = little_checkpoint(intermediate_size=96)
    inputs = encode_inputs(checkpoint, TEXT)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        backbone(checkpoint)(**inputs.arguments(), explicit=True)
    pooler = 2 * checkpoint.config.hidden_size**2
    expected = forward_operations(checkpoint.config, len(inputs.encoding)) + pooler
    assert counter.get_total_flops() == pytest.approx(expected, rel=0.01)


def test_a_text_of_more_tokens_than_the_page_takes_is_refused_with_both_numbers():
    checkpoint = limited(tokens=20)
    with pytest.raises(InputError, match=r"^This text has 26 tokens, and this page takes up to 20: shorten it\.$"):
        fill_mask(checkpoint, TEXT)
    assert len(encode_inputs(checkpoint, "the red cat").encoding) == 5


def test_attention_is_sized_before_it_is_computed():
    checkpoint = limited(shape={"max_position_embeddings": 4000, "num_attention_heads": 32}, memory_bytes=2_000_000_000)
    start = time.monotonic()
    with pytest.raises(InputError, match=r"attention of this model to 2,0\d\d tokens needs .* GB of memory, .* 2 GB"):
        trace_text(checkpoint, "the red cat sat on the mat " * 288)
    with pytest.raises(InputError, match="shorten the text"):
        analyze_snapshot(checkpoint, "the red cat sat on the mat " * 288)
    assert time.monotonic() - start < 2
    assert trace_text(checkpoint, TEXT).attentions.shape[-1] == 26


QUESTIONS: dict[str, Callable[..., object]] = {
    "attribution": lambda limits, **options: attribute(limited(**limits), TEXT, **options),
    "occlusion": lambda limits, **options: attribute(limited(**limits), TEXT, method="occlusion", **options),
    "surprisal": lambda limits, **options: pseudo_log_likelihood(limited(**limits), TEXT, **options),
    "head ablation": lambda limits, **options: ablate_heads(limited(**limits), TEXT, **options),
    "patching": lambda limits, **options: patch_activations(limited(**limits), TEXT, **options),
    "flow": lambda limits, **options: information_flow(limited(**limits), TEXT, **options),
    "joint filling": lambda limits, **options: joint_fill(limited(**limits), TEXT, **options),
    "words": lambda limits, **options: label_words(
        limited(kind=BertForTokenClassification, **limits), TEXT * 20, **options
    ),
    "answers": lambda limits, **options: answer_question(
        limited(kind=BertForQuestionAnswering, **limits), "the red cat?", TEXT * 20, **options
    ),
}

one_question = pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)


@one_question
def test_a_question_of_too_many_passes_is_refused_at_once(ask):
    one_pass = forward_operations(little_checkpoint().config, 64)
    with pytest.raises(InputError, match=r"passes through this model, and one question may take \d+: shorten the text"):
        ask({"operations": one_pass})
    ask({"operations": 1e12})


class Left(Exception):  # noqa: N818
    """Whoever asked is gone."""


@one_question
def test_a_question_ends_where_nobody_waits_for_it_any_more(ask, monkeypatch):
    monkeypatch.setattr("bertviz_lab.interpret.inputs._TOKENS_PER_BATCH", 52)
    shares: list[float] = []

    def leave(share: float) -> None:
        shares.append(share)
        if len(shares) == 2:
            raise Left

    with pytest.raises(Left):
        ask({}, on_progress=leave)
    assert 0 <= shares[0] <= shares[1] <= 1


def test_many_texts_to_embed_are_weighed_together():
    one_pass = forward_operations(little_checkpoint().config, 26)
    with pytest.raises(InputError, match="Embedding these texts"):
        similarity(limited(operations=2 * one_pass), [TEXT] * 5)
    similarity(limited(operations=6 * one_pass), [TEXT] * 5)


def test_integrated_gradients_take_fewer_steps_where_few_are_allowed():
    steep = {"initializer_range": 1.5}
    far = attribute(limited(shape=steep), TEXT)
    assert far.steps > 32
    one_pass = forward_operations(little_checkpoint().config, 26)
    near = attribute(limited(shape=steep, operations=2 * 3 * 32 * one_pass), TEXT)
    assert near.steps == 32
    assert near.error is not None


def test_draws_are_limited_by_their_tokens_and_can_be_ended():
    tokenizer = little_tokenizer()
    with pytest.raises(InputError, match=r"^100,000 draws of 20\d tokens are too many: draw 9\d,\d{3} times"):
        masking_statistics(tokenizer, "the red cat sat on " * 40, draws=100_000, seed=0)

    def leave(share: float) -> None:
        raise Left

    with pytest.raises(Left):
        masking_statistics(tokenizer, TEXT, draws=1000, seed=0, on_progress=leave)


@one_question
def test_the_share_that_is_done_ends_at_all(ask):
    shares: list[float] = []
    ask({}, on_progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1
