"""Folders of every family, from transformers to the lab and back: the same model, and one sentence for what is none."""

import functools
import json
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from bertviz_lab import Checkpoint, InputError, Tokenizer, load_checkpoint, save_checkpoint
from bertviz_lab.config.families import FAMILIES
from tests.model.families import VARIANTS, every_head, inputs, our_model, pair
from tests.model.support import largest_difference, same_weights
from tests.training.support import rewrite_config

OUTPUTS = {"Model": "last_hidden_state", "PreTraining": "seq_relationship_logits", "QuestionAnswering": "end_logits"}


@pytest.fixture(autouse=True)
def _tiny_tokenizer(monkeypatch):
    """The models here know 53 tokens; their folders have the little tokenizer cut to as many."""
    monkeypatch.setattr("bertviz_lab.training.checkpoints.checkpoint.Tokenizer.load", lambda folder: _tokenizer())


@functools.cache
def _tokenizer() -> Tokenizer:
    return Tokenizer.train(["the red cat sat on the mat"], vocab_size=40, min_frequency=1)


def difference(ours: torch.nn.Module, theirs: torch.nn.Module, head: str) -> float:
    """Of the first logits of both at the texts' tokens."""
    given = inputs(ours.config)
    name = OUTPUTS.get(head, "logits")
    a, b = getattr(ours(**given), name), theirs(**given)
    b = b["sop_logits"] if "sop_logits" in b else b[name]  # as ALBERT calls them
    shown = given["attention_mask"].bool()
    return largest_difference(a[shown], b[shown]) if a.shape[:2] == shown.shape else largest_difference(a, b)


@every_head
def test_a_folder_of_transformers_opens_with_the_same_outputs(variant, head, tmp_path):
    both = pair(variant, head)
    both.theirs.save_pretrained(tmp_path)
    checkpoint = load_checkpoint(tmp_path)
    assert type(checkpoint.model) is type(both.ours)
    assert checkpoint.report.missing == checkpoint.report.unexpected == ()
    assert checkpoint.architecture == type(both.theirs).__name__
    assert difference(checkpoint.model, both.theirs, head) < 1e-5


@every_head
def test_a_saved_folder_opens_in_transformers_with_the_same_outputs(variant, head, tmp_path):
    model = our_model(variant, head)
    folder = save_checkpoint(Checkpoint(model, _tokenizer(), model.config), tmp_path / "model")
    autos = {"Model": "AutoModel", "PreTraining": "AutoModelForPreTraining"}
    autos["ReplacedTokenDetection"] = "AutoModelForPreTraining"
    auto = getattr(transformers, autos.get(head, f"AutoModelFor{head}"))
    theirs, info = auto.from_pretrained(folder, output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert type(theirs).__name__ == json.loads((folder / "config.json").read_text())["architectures"][0]
    ids = _tokenizer().cls_id, _tokenizer().sep_id
    assert (
        tuple(getattr(theirs.config, f"{name}_token_id", id) for name, id in zip(("cls", "sep"), ids, strict=True))
        == ids
    )
    assert difference(model, theirs.eval(), head) < 1e-5
    again = load_checkpoint(folder)
    assert again.config == model.config
    assert same_weights(model, again.model)


def saved(folder: Path, variant: str, head: str = "MaskedLM", **claims: object) -> Path:
    """A folder of a small model whose config.json claims something else."""
    model = our_model(variant, head)
    save_checkpoint(Checkpoint(model, _tokenizer(), model.config), folder)
    rewrite_config(folder, **claims)
    return folder


def test_unknown_families_and_settings_of_others_are_told_apart(tmp_path):
    folder = saved(tmp_path / "model", "roberta", model_type="t5")
    names = "bert, roberta, xlm-roberta, camembert, distilbert, albert, electra, deberta-v2, modernbert, mpnet"
    with pytest.raises(InputError, match=f"^This checkpoint is a 't5' model; the lab reads {names}.$"):
        load_checkpoint(folder)
    folder = saved(tmp_path / "model", "roberta", norm_position="pre", gated_feed_forward=True, local_attention=4)
    assert load_checkpoint(folder).config == our_model("roberta", "MaskedLM").config


def test_every_family_of_the_table_is_tested():
    assert {model_type for model_type, _ in VARIANTS.values()} | {"bert"} == FAMILIES.keys()


@pytest.mark.parametrize("variant", ["roberta", "distilbert", "albert", "deberta-v3", "modernbert", "mpnet"])
@pytest.mark.parametrize("layers", [10**6, 500], ids=["a-million-layers", "more-layers-than-tensors"])
def test_a_config_that_claims_more_layers_is_refused_before_memory_is_taken(variant, layers, tmp_path):
    folder = tmp_path / "model"
    name = FAMILIES[VARIANTS[variant][0]].names.get("num_hidden_layers", "num_hidden_layers")
    saved(folder, variant, **{name: layers}, layer_types=None)
    if variant == "albert" and layers == 500:  # all of them are the same one
        assert load_checkpoint(folder).config.num_hidden_layers == 500
        return
    reason = "num_hidden_layers must lie between 1 and 512" if layers > 512 else "The weights in model lack .*more"
    with pytest.raises(InputError, match=reason):
        load_checkpoint(folder)


def test_a_family_in_name_with_the_tensors_of_another_is_refused(tmp_path):
    folder = saved(tmp_path / "model", "roberta", model_type="bert")
    with pytest.raises(InputError, match=r"^config.json says bert, but the tensors are named as in RoBERTa\.$"):
        load_checkpoint(folder)
    albert = saved(tmp_path / "albert", "albert")
    bare = {name.removeprefix("albert."): t for name, t in load_file(albert / "model.safetensors").items()}
    save_file(bare, albert / "model.safetensors")
    rewrite_config(albert, model_type="electra", architectures=None)
    with pytest.raises(
        InputError, match=r"^The weights in albert lack embeddings_project.weight, embeddings_project.bias, "
    ):
        load_checkpoint(albert)


@pytest.mark.parametrize(
    ("variant", "claims", "reason"),
    [
        ("albert", {"num_hidden_groups": 2}, "2 groups of 1 layers"),
        ("deberta-v3", {"conv_kernel_size": 3}, "convolution"),
        ("deberta-v3", {"relative_attention": False}, "no relative positions"),
        ("deberta-v3", {"pos_att_type": ["p2p"]}, "c2p or p2c"),
        ("modernbert", {"layer_types": ["full_attention"]}, "layer_types names 1 layers of 3"),
        ("modernbert", {"rope_parameters": {"full_attention": {"rope_type": "yarn"}}}, "rope_scaling"),
        ("modernbert", {"global_attn_every_n_layers": 0, "layer_types": None}, "at least 1, not 0"),
        ("roberta", {"position_embedding_type": "relative_key"}, "relative positions"),
        ("roberta", {"max_position_embeddings": 1}, "max_position_embeddings must lie between 1 and"),
        ("roberta", {"max_position_embeddings": "a"}, "cannot be used"),
        ("electra", {"embedding_size": 0}, "embedding_size must lie between 1 and"),
        ("roberta", {"architectures": ["RobertaForMultipleChoice"]}, "of RoBERTa it opens RobertaModel, RobertaFor"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_variant_that_cannot_be_read_is_refused_in_a_sentence(variant, claims, reason, tmp_path):
    folder = saved(tmp_path / "model", variant, "SequenceClassification", **claims)
    with pytest.raises(InputError, match=reason) as caught:
        load_checkpoint(folder)
    assert "\n" not in str(caught.value)


def test_the_head_of_deberta_is_found_under_both_of_its_names(tmp_path):
    folder = saved(tmp_path / "model", "deberta-v3")
    before = load_checkpoint(folder).model
    path = folder / "model.safetensors"
    renamed = {
        name.replace("cls.predictions.transform", "lm_predictions.lm_head").replace(
            "cls.predictions", "lm_predictions.lm_head"
        ): tensor
        for name, tensor in load_file(path).items()
    }
    save_file(renamed, path)
    after = load_checkpoint(folder)
    assert after.report.missing == ()
    ids = inputs(before.config)["input_ids"]
    assert torch.equal(after.model(ids).logits, before(ids).logits)
