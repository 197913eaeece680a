"""What the panel Causes answers: patches, components of a logit, and the flow of information."""

from typing import Any

import pytest

from bertviz_lab import BertForSequenceClassification, InputError, interpret
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.causes.view import QUESTIONS
from tests.charts import shown
from tests.little import little_folder

TEXT = "the red [MASK] sat on the mat"
A, B = "the red cat sat", "she gave him the book"


def ask(session: AppState, name: str, text_a: str = TEXT, text_b: str = "", **chosen: Any) -> Any:
    given = {"model": "", "text_a": text_a, "text_b": text_b, "component": "residual", "layer": 0, "index": 2}
    given |= {"kind": "", "position": None, "choice": "", "contrast": "", "corruption": "word", "changed": None}
    given |= {"replacement": "", "direction": "denoising", "method": "value zeroing", "threshold": 0.05} | chosen
    question = QUESTIONS[name]
    answer = question.ask(session, {key: value for key, value in given.items() if key in question.arguments})
    return shown(answer) if isinstance(answer, str) else answer


def test_the_map_has_a_row_for_each_layer_and_a_column_for_each_token_or_head(session: AppState) -> None:
    checkpoint = session.models.open()
    answer = ask(session, "patching", choice="cat", contrast="book")
    truth = interpret.encode_inputs(checkpoint, TEXT)
    target = interpret.choose_target(checkpoint, truth, choice="cat", against="book")
    found = interpret.patch_activations(checkpoint, TEXT, target=target)
    facts = dict(shown(answer["facts"])["items"])
    assert facts["Prediction explained"] == "cat rather than book"
    assert facts["Corruption"] == found.corruption.title(truth.encoding)
    assert facts["Clean text"] == f"log-ratio {found.clean:+.2f} nats"
    table = shown(answer["map"])
    assert (table["rows"], table["columns"]) == (["embeddings", "layer 1", "layer 2"], list(truth.encoding.tokens))
    (changed,) = found.corruption.positions
    assert table["texts"][0][changed] == table["texts"][2][target.position] == "100"
    heads = shown(ask(session, "patching", component="head", direction="noising")["map"])
    assert (heads["rows"], heads["columns"]) == (["layer 1", "layer 2"], ["1", "2"])
    assert "how much of the prediction is lost" in heads["sentence"]


@pytest.mark.parametrize(
    ("chosen", "corruption"),
    [
        ({"changed": 2, "replacement": "old"}, "red → old"),
        ({"changed": 2, "corruption": "mask"}, "red → [MASK]"),
        ({"changed": 2, "corruption": "noise"}, "red → red + noise"),
        ({"corruption": "text", "replacement": "an old [MASK] sat on the mat"}, None),
    ],
)
def test_the_corrupted_text_is_chosen(session: AppState, chosen: dict[str, Any], corruption: str | None) -> None:
    if corruption is None:
        with pytest.raises(InputError, match="tokens and the clean one"):
            ask(session, "patching", **chosen)
        chosen = chosen | {"replacement": TEXT.replace("red", "old")}
    facts = dict(shown(ask(session, "patching", **chosen)["facts"])["items"])
    assert facts["Corruption"] == (corruption or "red → old")


def test_a_cell_is_the_prediction_with_that_patch(session: AppState) -> None:
    facts = dict(shown(ask(session, "patching")["facts"])["items"])
    bars = ask(session, "patched", layer=2, index=3)  # the final state of [MASK] decides all
    assert bars["title"] == "Prediction with a patch: residual state, layer 2, [MASK] (3)"
    assert [series["name"] for series in bars["series"]] == ["clean text", "corrupted text", "with this patch"]
    clean, corrupted, patched = (series["values"] for series in bars["series"])
    assert patched == pytest.approx(clean, abs=1e-5)
    assert f"{clean[0]:.1%}" == facts["Clean text"]
    assert f"{corrupted[0]:.1%}" == facts["Corrupted text"]
    assert "head 2" in ask(session, "patched", component="head", layer=1, index=1)["title"]
    with pytest.raises(InputError, match="not there"):
        ask(session, "patched", layer=3)


def test_components_sum_to_the_logit_next_to_the_effect_of_patching(session: AppState) -> None:
    bars = ask(session, "decomposition", choice="cat")
    found = interpret.decompose_logit(
        session.models.open(),
        TEXT,
        target=interpret.choose_target(
            session.models.open(), interpret.encode_inputs(session.models.open(), TEXT), choice="cat"
        ),
    )
    added, restored = (series["values"] for series in bars["series"])
    assert sum(added) == pytest.approx(found.logit, abs=1e-4)
    assert f"the model computes {found.logit:.4f}" in bars["sentence"]
    assert len(added) == 3 + 2 * 3 + 1
    assert [value is None for value in restored] == [True] * 3 + [False] * 6 + [True]


def test_the_flow_to_a_prediction_is_a_row_for_each_method_and_each_layer(session: AppState) -> None:
    answer = ask(session, "flow", method="ALTI")
    rows = shown(answer["methods"])["rows"]
    assert [row["label"] for row in rows] == ["raw attention", "rollout", "value zeroing", "norm", "ALTI"]
    assert all(sum(row["values"]) == pytest.approx(1, abs=1e-4) for row in rows)
    layers = shown(answer["layers"])
    assert layers["title"] == "Contributions to [MASK] (3) layer by layer: ALTI"
    assert [row["label"] for row in layers["rows"]] == ["layer 1", "layer 2"]
    with pytest.raises(InputError, match="Choose one of attention"):
        ask(session, "flow", method="guess")


def test_paths_are_a_graph_without_the_edges_under_a_threshold(session: AppState) -> None:
    graph = shown(ask(session, "flow", threshold=0.1)["graph"])
    flow = interpret.information_flow(session.models.open(), TEXT)
    edges = flow.paths("value zeroing", 3)
    assert graph["table"]["header"] == ["layer", "from", "to", "share"]
    assert len(graph["table"]["rows"]) == (edges >= 0.1).sum() > 0
    layer, source, target, share = graph["table"]["rows"][0]
    assert (layer, target) == (2, "[MASK] (3)")
    assert share == pytest.approx(edges[1, 3].max(), abs=1e-5)
    assert source == f"{flow.encoding.tokens[edges[1, 3].argmax()]} ({edges[1, 3].argmax()})"
    drawn = sum(1 for trace in graph["figure"]["data"] if trace["mode"] == "lines" for x in trace["x"] if x is None)
    assert drawn == len(graph["table"]["rows"])
    assert ask(session, "flow", threshold=1)["graph"]
    with pytest.raises(InputError, match="threshold"):
        ask(session, "flow", threshold=0)


def test_the_findings_are_five_sentences_each_with_its_caveat_and_place(session: AppState) -> None:
    report = ask(session, "findings")
    assert len(report["items"]) == 5
    assert all(item["caveat"] and item["sentence"].endswith(".") for item in report["items"])
    assert [item["place"]["show"] for item in report["items"]] == [
        *("layers", "attribution", "causes", "causes", "corpus"),
    ]
    assert report["items"][4]["picture"] is None


def test_other_heads_are_traced_and_what_has_none_says_so(session: AppState) -> None:
    labels = {"id2label": ("bad", "good", "so-so"), "num_labels": 3}
    folder = little_folder(session.settings.checkpoints / "labels", kind=BertForSequenceClassification, **labels)
    for texts, chosen in (((A, B), {"kind": "next"}), ((A, ""), {"model": folder.name})):
        assert shown(ask(session, "patching", *texts, **chosen)["map"])["rows"][0] == "embeddings"
        assert "sum to" in ask(session, "decomposition", *texts, **chosen)["sentence"]
    with pytest.raises(InputError, match=r"Put \[MASK\] in place"):
        ask(session, "patching", A, model="little")
