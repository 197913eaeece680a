"""Names and tensors between the lab and Hugging Face's files."""

import json

import pytest
import torch

from bertviz_lab.errors import InputError
from bertviz_lab.model.weights import (
    load_state,
    normalize_names,
    read_tensors,
    state_for_huggingface,
    weight_files,
    write_tensors,
)
from tests.model.support import (
    MASKED_LM,
    PRETRAINING,
    SEQUENCE,
    as_huggingface,
    build,
    every_kind,
    inputs,
    same_weights,
    small_config,
)


@every_kind
def test_the_names_are_those_that_transformers_saves(kind, tmp_path):
    model = build(kind)
    as_huggingface(kind, model).save_pretrained(tmp_path)
    theirs = read_tensors(weight_files(tmp_path))
    ours = state_for_huggingface(model)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@every_kind
@pytest.mark.parametrize("prefixed", [True, False])
def test_weights_load_with_the_prefix_and_without(kind, prefixed):
    model, other = build(kind), build(kind, seed=1)
    state = state_for_huggingface(model)
    plain = {name.removeprefix("bert."): tensor for name, tensor in state.items()}
    if prefixed:
        plain = {name if name.startswith(("cls", "qa", "class")) else f"bert.{name}": t for name, t in plain.items()}
    assert not same_weights(model, other)
    report = load_state(other, plain)
    assert report.missing == report.unexpected == ()
    assert same_weights(model, other)


@pytest.mark.parametrize("wrapped", ["module.", "_orig_mod.", "model.", "module._orig_mod.", "model.module.", "bert."])
def test_weights_load_with_the_prefixes_of_wrappers(wrapped):
    model, other = build(SEQUENCE), build(SEQUENCE, seed=1)
    state = {f"{wrapped}{name}": tensor for name, tensor in state_for_huggingface(model).items()}
    state = {name.replace("encoder.layer", "encoder._orig_mod.layer"): tensor for name, tensor in state.items()}
    assert load_state(other, state).unexpected == ()
    assert same_weights(model, other)


def test_older_names_of_layer_norm_and_of_the_decoder_s_bias_are_understood():
    model, other = build(PRETRAINING), build(PRETRAINING, seed=1)
    old = {}
    for name, tensor in state_for_huggingface(model).items():
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        old[name] = tensor
    assert sum("gamma" in name for name in old) == 8
    old["bert.embeddings.position_ids"] = torch.arange(19)[None]
    old["cls.predictions.decoder.weight"] = old["bert.embeddings.word_embeddings.weight"].clone()
    old["cls.predictions.decoder.bias"] = old["cls.predictions.bias"].clone()
    report = load_state(other, old)
    assert report.missing == report.unexpected == ()
    assert same_weights(model, other)
    model, other = build(MASKED_LM), build(MASKED_LM, seed=1)
    state = state_for_huggingface(model)
    state["cls.predictions.decoder.bias"] = state.pop("cls.predictions.bias")
    assert load_state(other, state).missing == ()
    assert same_weights(model, other)


def test_what_is_missing_and_what_is_left_over_is_named():
    model = build(MASKED_LM)
    state = state_for_huggingface(model)
    del state["cls.predictions.bias"], state["cls.predictions.transform.dense.weight"]
    state["bert.pooler.dense.weight"] = torch.zeros(24, 24)
    other = build(MASKED_LM, seed=1)
    before = other.mlm.bias.clone()
    report = load_state(other, state)
    assert set(report.missing) == {"cls.predictions.bias", "cls.predictions.transform.dense.weight"}
    assert report.unexpected == ("pooler.dense.weight",)
    assert torch.equal(other.mlm.bias, before)


def test_the_decoder_stays_tied_after_loading():
    model = build(MASKED_LM)
    table = model.bert.embeddings.word.weight
    address = table.data_ptr()
    load_state(model, state_for_huggingface(build(MASKED_LM, seed=1)))
    assert model.bert.embeddings.word.weight is table
    assert table.data_ptr() == address
    with torch.no_grad():
        table[5] = 0.0
    assert torch.equal(model(**inputs()).logits[..., 5], model.mlm.bias[5].expand(3, 11))


def test_weights_that_do_not_fit_or_are_not_tied_are_refused():
    model = build(MASKED_LM, small_config(vocab_size=54))
    with pytest.raises(InputError, match=r"word_embeddings.weight has shape \(53, 24\) .* asks for \(54, 24\)"):
        load_state(model, state_for_huggingface(build(MASKED_LM)))
    state = state_for_huggingface(build(MASKED_LM))
    state["cls.predictions.decoder.weight"] = torch.zeros(53, 24)
    with pytest.raises(InputError, match="not tied"):
        normalize_names(state)


def test_missing_shards_and_weights_are_named(tmp_path):
    with pytest.raises(InputError, match=r"lacks model\.safetensors"):
        weight_files(tmp_path)
    as_huggingface(MASKED_LM, build(MASKED_LM)).save_pretrained(tmp_path, max_shard_size="10KB")
    gone = weight_files(tmp_path)[1]
    gone.unlink()
    with pytest.raises(InputError, match=f"lacks {gone.name}"):
        weight_files(tmp_path)


@pytest.mark.parametrize("name", ["../secret.safetensors", "/etc/passwd", 3])
def test_an_index_cannot_point_out_of_its_folder(name, tmp_path):
    (tmp_path / "secret.safetensors").write_bytes(b"")
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": name}}))
    with pytest.raises(InputError, match="lacks"):
        weight_files(folder)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"weight_map": 3}'])
def test_a_damaged_index_is_said_to_be_damaged(text, tmp_path):
    (tmp_path / "model.safetensors.index.json").write_text(text)
    with pytest.raises(InputError, match=r"model\.safetensors\.index\.json in .* is damaged"):
        weight_files(tmp_path)


def test_safetensors_come_before_pickles_and_pickles_may_be_in_shards(tmp_path):
    (tmp_path / "pytorch_model-2.bin").touch()
    (tmp_path / "pytorch_model-1.bin").touch()
    (tmp_path / "pytorch_model.bin.index.json").write_text(
        json.dumps({"weight_map": {"a": "pytorch_model-2.bin", "b": "pytorch_model-1.bin"}})
    )
    assert [path.name for path in weight_files(tmp_path)] == ["pytorch_model-1.bin", "pytorch_model-2.bin"]
    (tmp_path / "model.safetensors").touch()
    assert [path.name for path in weight_files(tmp_path)] == ["model.safetensors"]


@pytest.mark.parametrize("damage", [b"", b"\xff" * 8, b"\x02\x00\x00\x00\x00\x00\x00\x00{}tail", b"hello world!"])
def test_a_damaged_file_is_named(damage, tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(damage)
    with pytest.raises(InputError, match=r"model\.safetensors is damaged"):
        read_tensors([path])


@every_kind
def test_layers_that_share_weights_are_one_set_and_saved_one_by_one(kind, tmp_path):
    config = small_config(share_layers=True, num_hidden_layers=3)
    model = build(kind, config)
    different = build(kind, small_config(num_hidden_layers=1))
    assert sum(p.numel() for p in model.parameters()) == sum(p.numel() for p in different.parameters())
    write_tensors(state_for_huggingface(model), tmp_path / "model.safetensors")
    state = read_tensors([tmp_path / "model.safetensors"])
    names = [name for name in state if name.endswith("attention.self.query.weight")]
    assert len(names) == 3
    assert all(torch.equal(state[name], state[names[0]]) for name in names)
    other = build(kind, config, seed=1)
    assert not same_weights(model, other)
    assert load_state(other, state).missing == ()
    assert same_weights(model, other)
    theirs, outputs = as_huggingface(kind, model), kind.outputs
    assert all(
        torch.allclose(getattr(model(**inputs()), n), getattr(theirs(**inputs()), n), atol=1e-5) for n in outputs
    )
