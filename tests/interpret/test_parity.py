"""What is shown is what `transformers` computes with the same weights and its written-out attention."""

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from bertviz_lab import BertConfig, BertForPreTraining, load_checkpoint, save_checkpoint
from bertviz_lab.interpret import fill_mask, logit_lens, next_sentence, trace_text
from tests.little import little_folder

TEXT_A, TEXT_B = "the red [MASK] sat on the mat", "she gave him the red book"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with random weights, biases and scales included."""
    torch.manual_seed(0)
    shape = {"hidden_size": 96, "num_hidden_layers": 5, "num_attention_heads": 6}
    path = little_folder(tmp_path_factory.mktemp("parity") / "model", **shape)
    checkpoint = load_checkpoint(path)
    with torch.no_grad():
        for parameter in checkpoint.model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return save_checkpoint(checkpoint, path)


@pytest.fixture(scope="module")
def theirs(folder: Path) -> dict[str, np.ndarray]:
    model = transformers.BertForPreTraining.from_pretrained(folder, attn_implementation="eager").eval()
    inputs = load_checkpoint(folder).tokenizer.encode(TEXT_A, TEXT_B)
    with torch.no_grad():
        out = model(
            input_ids=torch.tensor([inputs.ids]),
            token_type_ids=torch.tensor([inputs.token_type_ids]),
            output_attentions=True,
            output_hidden_states=True,
        )
    return {
        "attentions": torch.stack(out.attentions)[:, 0].numpy(),
        "hidden_states": torch.stack(out.hidden_states)[:, 0].numpy(),
        "words": out.prediction_logits[0].softmax(-1).numpy(),
        "next": out.seq_relationship_logits[0].softmax(-1).numpy(),
    }


def test_attention_and_hidden_states_are_theirs(folder: Path, theirs: dict[str, np.ndarray]) -> None:
    trace = trace_text(load_checkpoint(folder), TEXT_A, TEXT_B)
    np.testing.assert_allclose(trace.attentions, theirs["attentions"], atol=1e-5)
    np.testing.assert_allclose(trace.hidden_states, theirs["hidden_states"], atol=1e-5)
    np.testing.assert_allclose(trace.attentions.sum(-1), 1, atol=1e-5)


def test_predictions_are_theirs(folder: Path, theirs: dict[str, np.ndarray]) -> None:
    checkpoint = load_checkpoint(folder)
    (blank,) = fill_mask(checkpoint, TEXT_A, 20, TEXT_B).masks
    row = theirs["words"][blank.position]
    assert [c.id for c in blank.candidates] == np.argsort(-row, kind="stable")[:20].tolist()
    np.testing.assert_allclose([c.probability for c in blank.candidates], np.sort(row)[::-1][:20], atol=1e-5)
    found = next_sentence(checkpoint, TEXT_A, TEXT_B)
    np.testing.assert_allclose([found.is_next, found.is_random], theirs["next"], atol=1e-5)
    lens = logit_lens(checkpoint, TEXT_A, TEXT_B)
    assert lens.layers[-1].probability == pytest.approx(float(row.max()), abs=1e-5)


def test_a_closed_head_is_theirs_too(folder: Path) -> None:
    """`transformers` no longer takes a head mask: their output matrix without the head's columns does the same."""
    checkpoint = load_checkpoint(folder)
    config: BertConfig = checkpoint.config
    assert isinstance(checkpoint.model, BertForPreTraining)
    model = transformers.BertForPreTraining.from_pretrained(folder, attn_implementation="eager").eval()
    size = config.hidden_size // config.num_attention_heads
    head_mask = np.ones((config.num_hidden_layers, config.num_attention_heads))
    head_mask[1, 1] = 0
    with torch.no_grad():
        model.bert.encoder.layer[1].attention.output.dense.weight[:, size : 2 * size] = 0
        out = model(torch.tensor([checkpoint.tokenizer.encode(TEXT_A).ids]), output_hidden_states=True)
    ours = trace_text(checkpoint, TEXT_A, head_mask=head_mask).hidden_states
    np.testing.assert_allclose(ours, torch.stack(out.hidden_states)[:, 0].numpy(), atol=1e-5)
