"""What a model consists of: held against the model itself, and the code of each part against the files."""

from pathlib import Path

import pytest

import bertviz_lab.model as lab
from bertviz_lab import interpret
from bertviz_lab.interpret.architecture import CODE
from tests.family_checkpoints import MODEL_TYPES, family_checkpoint
from tests.little import little_checkpoint

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_a_family_is_described_as_its_model_is_built(model_type: str, tmp_path: Path) -> None:
    checkpoint = family_checkpoint(model_type, tmp_path)
    found, encoder = interpret.describe_architecture(checkpoint), checkpoint.model.bert
    embeddings, first = encoder.embeddings, encoder.encoder.layers[0]
    assert found.has_positions == (embeddings.position is not None)
    segments = embeddings.token_type
    assert found.has_segments == (segments is not None and len(segments.weight) > 1)
    assert found.embedding_size == embeddings.word.weight.shape[1]
    assert found.is_prenorm == (encoder.final_norm is not None)
    assert found.is_shared == all(layer is first for layer in encoder.encoder.layers)
    assert found.is_gated == (first.gate is not None)
    assert (found.positions == "absolute") == (first.attention.positions is None)
    assert (found.has_mlm, found.pair_objective, found.task, found.pooler) == (True, "", "", "")
    assert found.family in " ".join(found.differences)


def test_heads_are_those_of_the_model() -> None:
    def described(kind: type, **more: object) -> tuple[object, ...]:
        found = interpret.describe_architecture(little_checkpoint(kind=kind, **more))
        return found.has_mlm, found.pair_objective, found.task, found.pooler, found.labels

    labels = ("bad", "good")
    assert described(lab.BertForPreTraining) == (True, "nsp", "", "tanh", ())
    assert described(lab.BertForMaskedLM) == (True, "", "", "", ())
    assert described(lab.BertForSequenceClassification, id2label=labels) == (
        False,
        "",
        "classification",
        "tanh",
        labels,
    )
    assert described(lab.BertForTokenClassification, id2label=labels) == (False, "", "tokens", "", labels)
    assert described(lab.BertForQuestionAnswering) == (False, "", "qa", "", ())
    assert described(lab.BertModel) == (False, "", "", "", ())


def test_code_is_that_of_the_files_with_the_lines_that_compute_the_part() -> None:
    found = interpret.describe_architecture(little_checkpoint(kind=lab.BertForTokenClassification))
    assert set(found.code) == {*CODE, "task"}
    for part, code in found.code.items():
        source = found.sources[code.source]
        lines = (ROOT / source.file).read_text(encoding="utf-8").splitlines()
        written = source.text.splitlines()
        place = lines[source.line - 1 : source.line - 1 + len(written)]
        assert [line.strip() for line in place] == [line.strip() for line in written], part
        assert source.name.split(".")[-1] in " ".join(written[:2]), part
        assert bool(code.marked) == bool(CODE.get(part, ("", ""))[1]), part


def test_a_bert_differs_from_bert_in_nothing() -> None:
    assert interpret.describe_architecture(little_checkpoint(kind=lab.BertForPreTraining)).differences == ()
