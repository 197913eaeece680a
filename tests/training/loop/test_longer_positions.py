"""Position embeddings beyond the trained length continue those before."""

import math

import pytest
import torch

from bertviz_lab.config import BertConfig, FinetuneConfig
from bertviz_lab.model import BertForMaskedLM, BertForPreTraining
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from bertviz_lab.training.finetuning.setup import Setup, build_model
from bertviz_lab.training.finetuning.task_data import load_task_splits
from bertviz_lab.training.finetuning.trials import trials_of
from bertviz_lab.training.loop.growth import continued, extend_positions
from bertviz_lab.training.loop.optim import ablate_embeddings
from bertviz_lab.training.runs.snapshot_reader import open_snapshots
from tests.little import little_checkpoint
from tests.training.support import after, finish, identical, record_extensions, short_run, started, weights


def waves(positions: int, hidden: int, seed: int = 0) -> torch.Tensor:
    """Vectors (positions, hidden) that are sums of two waves, in a random basis, about a mean."""
    generator = torch.Generator().manual_seed(seed)
    angles = torch.arange(positions)[:, None] * torch.tensor([0.1, 0.5])
    basis, _ = torch.linalg.qr(torch.randn(hidden, 4, generator=generator, dtype=torch.float64))
    return torch.cat([angles.sin(), angles.cos()], 1).double() @ basis.T + torch.randn(hidden, generator=generator)


def test_waves_go_on() -> None:
    whole, known = waves(512, 32), 128
    further = continued(whole[:known], 512 - known)
    off = (further - whole[known:]).norm(dim=1) / (whole - whole.mean(0)).norm(dim=1).mean()
    assert off[:64].max() < 0.35, "the first of them almost exactly"
    steps = [(part[1:] - part[:-1]).norm(dim=1).mean() for part in (whole[:known], further)]
    assert math.isclose(*steps, rel_tol=0.1), "neighbours are as far from each other as before"


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_neighbours_are_found_by_what_finds_them_among_trained_positions(noise: float) -> None:
    clean = waves(128, 32)
    trained = clean + noise * torch.randn(clean.shape, generator=torch.Generator().manual_seed(1))
    to_next = torch.linalg.lstsq(trained[:-1], trained[1:]).solution  # a head that looks to the next position
    further = continued(trained, 200)
    nearest = torch.cdist(further[:-1] @ to_next, further).argmin(1)
    assert (nearest == torch.arange(1, 200)).double().mean() > 0.95


def test_only_positions_beyond_the_trained_ones_change() -> None:
    model = little_checkpoint().model
    before = model.bert.embeddings.position.weight.clone()
    assert extend_positions(model, 24, 48)
    after = model.bert.embeddings.position.weight
    changed = (before != after).any(1)
    assert changed.nonzero().flatten().tolist() == list(range(24, 48))


def test_a_family_that_counts_from_another_row_is_extended_from_there() -> None:
    config = BertConfig(
        model_type="roberta", vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=40, pad_token_id=1, type_vocab_size=1, position_offset=2,
    )  # fmt: skip
    model = BertForMaskedLM(config)
    table = next(m for m in model.modules() if type(m).__name__ == "Embeddings")
    before = table.position.weight.clone()
    assert extend_positions(model, 20, 40)
    changed = (before != table.position.weight).any(1).nonzero().flatten()
    assert changed.tolist() == list(range(22, 42))


@pytest.mark.parametrize("case", ["too few", "ablated"])
def test_without_positions_to_go_on_from_nothing_changes(case: str) -> None:
    model = little_checkpoint(kind=BertForPreTraining).model
    ablate_embeddings(model, positions=case == "ablated")
    before = model.bert.embeddings.position.weight.clone()
    assert not extend_positions(model, 8 if case == "too few" else 24, 48)
    assert torch.equal(before, model.bert.embeddings.position.weight)


def test_a_run_on_longer_sequences_begins_with_them_and_a_resumed_one_keeps_what_it_learnt(text, tmp_path):
    finish(short_run(text), tmp_path / "first")
    source = tmp_path / "first" / "model"
    config = short_run(text, init_from=str(source), seq_len=40)
    events = finish(config, tmp_path / "whole")
    assert any("embeddings from 24 on begin as a continuation" in note for note in started(events).notes)
    first = open_snapshots(tmp_path / "whole").open(0).model.bert.embeddings.position.weight
    given = load_checkpoint(source).model.bert.embeddings.position.weight
    near = (first - given).norm(dim=1) < 1e-2 * given.norm(dim=1).mean()  # snapshots have 16 bits
    assert near.nonzero().flatten().tolist() == [*range(24), *range(40, 512)]
    finish(config, tmp_path / "halves", should_stop=after(6))
    events = finish(config, tmp_path / "halves", resume=True)
    assert not any("continuation" in note for note in started(events).notes)
    assert identical(weights(tmp_path / "whole" / "model"), weights(tmp_path / "halves" / "model"))


def test_positions_that_short_sequences_do_not_train_begin_with_them_when_the_sequences_become_longer(
    text, tmp_path, monkeypatch
):
    config = short_run(text, short_seq_len=16, short_share=0.5, seq_len=32)
    extensions = record_extensions(monkeypatch)
    finish(config, tmp_path / "whole")
    assert {(known, length) for known, length, _ in extensions} == {(16, 32)}
    assert set().union(*(changed for _, _, changed in extensions)) == set(range(16, 32))
    finish(config, tmp_path / "halves", should_stop=after(9))
    finish(config, tmp_path / "halves", resume=True)
    assert identical(weights(tmp_path / "whole" / "model"), weights(tmp_path / "halves" / "model"))


def test_whoever_looks_at_a_model_while_sequences_are_short_finds_positions_for_the_longer_ones(text, tmp_path):
    config = short_run(text, short_seq_len=24, short_share=0.9, seq_len=48)
    saved = load_checkpoint(finish(config, tmp_path, should_stop=after(4))[-1].path)
    assert saved.trained_length == 24
    for model in (saved.model, open_snapshots(tmp_path).open(2).model):
        rows = model.bert.embeddings.position.weight[:48]
        torch.testing.assert_close(rows[24:], continued(rows[2:22], 26)[2:], rtol=0, atol=1e-3)
    begin = open_snapshots(tmp_path).open(0).model.bert.embeddings.position.weight[:48]
    assert (begin[24:] - continued(begin[2:22], 26)[2:]).norm() > 0.1 * begin[24:].norm(), "random weights stay so"


def test_fine_tuning_on_longer_texts_begins_with_them(text, tmp_path):
    finish(short_run(text), tmp_path / "first")
    start = load_checkpoint(tmp_path / "first" / "model")
    rows = "".join(f"{n} {'the cat sat on the mat ' * 9}\t{n % 2}\n" for n in range(40))
    (tmp_path / "long.tsv").write_text(f"text\tlabel\n{rows}")
    tables = {}
    for length in (24, 40):
        config = FinetuneConfig(
            train=(str(tmp_path / "long.tsv"),), model=str(start.path), max_length=length, eval_share=0.3
        )
        _, data = load_task_splits(config)
        setup = Setup.prepared(config, data, start, tmp_path)
        (trial,) = trials_of(config, 1e-3)
        tables[length] = build_model(setup, trial).bert.embeddings.position.weight
    changed = (tables[24] != tables[40]).any(1).nonzero().flatten()
    assert changed.tolist() == list(range(24, 40))
