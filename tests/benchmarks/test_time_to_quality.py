import numpy as np
import torch

from benchmarks.hf_reference import huggingface_config
from benchmarks.time_to_quality import _as_ours, _packed
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus
from tests.model.support import MASKED_LM, as_huggingface, build, inputs, largest_difference


def test_packing_wastes_no_place_and_loses_no_token_but_the_last() -> None:
    documents = [[[10 + i] * 40, [30 + i] * 50] for i in range(5)]
    rows = _packed(TokenizedCorpus.from_sentences(documents), cls_id=2, sep_id=3)
    table = torch.stack([row["input_ids"] for row in rows]).numpy()
    assert table.shape == (3, 128)
    assert (table[:, 0] == 2).all()
    assert (table[:, -1] == 3).all()
    inside = table[:, 1:-1].ravel()
    expected = np.concatenate([[10] * 40 + [30] * 50 + [3], [11] * 40 + [31] * 50 + [3], [12] * 40])
    assert (inside[: len(expected)] == expected).all()


def test_a_model_of_transformers_scores_as_it_does_there() -> None:
    ours = build(MASKED_LM)
    theirs = as_huggingface(MASKED_LM, ours)
    copy = _as_ours(theirs, ours.config)
    assert largest_difference(copy(**inputs(0)).logits, ours(**inputs(0)).logits) == 0


def test_the_reference_has_the_lab_s_shape() -> None:
    config = build(MASKED_LM).config
    theirs = huggingface_config(config)
    for name in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"):
        assert getattr(theirs, name) == getattr(config, name)
