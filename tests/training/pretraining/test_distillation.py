"""Distillation: the losses of the papers, exact resume, and teachers that cannot teach."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bertviz_lab import BertForMaskedLM, BertForSequenceClassification, InputError, save_checkpoint
from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.pretraining.batches import PretrainingBatch
from bertviz_lab.training.pretraining.distillation import (
    Distillation,
    can_start_from,
    cosine_loss,
    relation_loss,
    soft_target_loss,
    start_from_teacher,
)
from bertviz_lab.training.runs.events import EvalDone, StepDone
from tests.little import little_checkpoint, little_text
from tests.training.support import finish, resumes_exactly, short_run

METHODS = ("soft-targets", "relations")


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    """A little model with an MLM head, saved."""
    folder = tmp_path_factory.mktemp("teacher") / "teacher"
    return save_checkpoint(little_checkpoint(kind=BertForMaskedLM, num_hidden_layers=3), folder)


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(little_text(), encoding="utf-8")
    return path


def student_run(corpus, teacher, **changes) -> PretrainConfig:
    options = {"recipe": "distil", "objective": "mlm", "causal_share": 0.0, "teacher": str(teacher)}
    return short_run(corpus, **(options | changes))


def batch(vocab: int, examples: int = 4) -> PretrainingBatch:
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, vocab, (examples, 12), generator=generator)
    mask = torch.ones_like(ids)
    mask[-1, 8:] = 0
    labels = torch.randint(5, vocab, (examples, 3), generator=generator)
    labels[0, 2] = -100
    positions = torch.tensor([[1, 4, 0], [2, 3, 5], [1, 6, 7], [1, 2, 3]])[:examples]
    return PretrainingBatch(
        input_ids=ids,
        attention_mask=mask.bool(),
        token_type_ids=torch.zeros_like(ids),
        masked_positions=positions,
        labels=labels,
        draws=torch.rand(labels.shape, generator=generator),
        next_sentence_label=None,
        label_count=int((labels >= 0).sum()),
        pair_count=0,
        token_count=int(mask.sum()),
        real_tokens=int(mask.sum()),
    )


def test_soft_targets_are_those_of_distilbert_and_hidden_states_follow_in_direction():
    own, theirs, temperature = torch.randn(7, 50), torch.randn(7, 50), 2.0
    divergence = nn.KLDivLoss(reduction="batchmean")
    reference = divergence(F.log_softmax(own / temperature, -1), F.softmax(theirs / temperature, -1)) * temperature**2
    assert torch.allclose(soft_target_loss(own, theirs, temperature) / 7, reference, atol=1e-6)
    own, theirs = torch.randn(7, 16), torch.randn(7, 16)
    reference = nn.CosineEmbeddingLoss(reduction="sum")
    assert torch.allclose(cosine_loss(own, theirs), reference(own, theirs, torch.ones(7)), atol=1e-5)
    assert cosine_loss(theirs, 3 * theirs) == pytest.approx(0.0, abs=1e-6)


def test_with_equal_heads_the_relations_of_queries_and_keys_are_the_attention_maps():
    given = batch(100)
    traces = []
    for seed in (1, 2):
        checkpoint = little_checkpoint(seed=seed)
        with torch.no_grad():
            out = checkpoint.model(given.input_ids, given.attention_mask, given.token_type_ids, output_trace=True)
        traces.append(out.trace[-1])
    own, theirs = traces
    loss = relation_loss(
        [own.query_states, theirs.query_states], [own.key_states, theirs.key_states], given.attention_mask
    )
    divergence = F.kl_div(own.attention_probs.clamp_min(1e-30).log(), theirs.attention_probs, reduction="none").sum(-1)
    shown = given.attention_mask[:, None].expand_as(divergence)
    assert loss == pytest.approx(float(divergence[shown].mean() * given.attention_mask.sum()), rel=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_the_losses_of_micro_batches_add_up(method):
    teacher, student, whole = little_checkpoint(seed=1).model, little_checkpoint(seed=2).model, batch(100)
    parts = [whole.micro_batch(index, 5) for index in range(5)]  # the last one is empty
    distillation = Distillation(teacher, method, 2.0)
    once = distillation.step(student, whole)[2]
    twice = [distillation.step(student, part)[2] for part in parts]
    for name, loss in once.items():
        total = sum(float(part[name].detach()) for part in twice)
        assert total == pytest.approx(float(loss.detach()), rel=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_a_smaller_student_of_any_width_comes_nearer_to_its_teacher(corpus, teacher, tmp_path, method):
    events = finish(student_run(corpus, teacher, steps=80, distillation=method, learning_rate=3e-3), tmp_path / "run")
    name = "soft_target_loss" if method == "soft-targets" else "value_relation_loss"
    losses = [event.metrics[name] for event in events if isinstance(event, StepDone)]
    assert losses[-1] < losses[0]
    assert isinstance(next(event for event in events if isinstance(event, EvalDone)).metrics["mlm_loss"], float)


def test_resume_is_exact(corpus, teacher, tmp_path):
    assert resumes_exactly(student_run(corpus, teacher, distillation="relations", dropout=0.1), tmp_path)


def test_a_student_of_the_same_width_begins_with_evenly_spaced_layers_of_its_teacher():
    teacher = little_checkpoint(seed=3, kind=BertForMaskedLM, num_hidden_layers=5)
    student = little_checkpoint(seed=4, kind=BertForMaskedLM, num_hidden_layers=3)
    assert can_start_from(student.config, teacher)
    start_from_teacher(student.model, student.config, teacher)
    for own, theirs in ((0, 0), (1, 2), (2, 4)):
        ours = student.model.bert.encoder.layers[own].state_dict()
        assert all(
            torch.equal(ours[name], tensor)
            for name, tensor in teacher.model.bert.encoder.layers[theirs].state_dict().items()
        )
    assert torch.equal(student.model.bert.embeddings.word.weight, teacher.model.bert.embeddings.word.weight)
    narrow = little_checkpoint(kind=BertForMaskedLM, hidden_size=16)
    assert not can_start_from(narrow.config, teacher)


def test_a_teacher_that_cannot_teach_is_refused_in_one_sentence(corpus, teacher, tmp_path):
    with pytest.raises(InputError, match="has another vocabulary than the student"):
        finish(student_run(corpus, "tiny-town", init_from=str(teacher)), tmp_path / "run")
    classifier = save_checkpoint(little_checkpoint(kind=BertForSequenceClassification), tmp_path / "classifier")
    with pytest.raises(InputError, match="has no head for masked tokens"):
        finish(student_run(corpus, classifier), tmp_path / "a")
    short = save_checkpoint(replace(little_checkpoint(), trained_length=16), tmp_path / "short")
    with pytest.raises(InputError, match="was trained on up to 16 tokens"):
        finish(student_run(corpus, short), tmp_path / "b")
    with pytest.raises(InputError, match="no model folder"):
        finish(student_run(corpus, tmp_path / "nothing"), tmp_path / "c")
