import base64
import dataclasses
import json
import time

import gradio as gr
import numpy as np
import pytest

from bertviz_lab import BertForMaskedLM, Tokenizer, interpret, save_checkpoint
from bertviz_lab.figures.payload import Payload, message_payload, to_json
from bertviz_lab.interpret import METHODS
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.comparison_model import BEFORE
from bertviz_lab.ui.error_handling import picked, picture
from bertviz_lab.ui.tabs import attention, input, masking, next_sentence, vectors, why
from tests.little import little_folder

A, B = "the red cat sat", "she gave him the book"


def test_the_grid_can_ask_for_the_exact_weights_of_a_head(session: AppState) -> None:
    body = json.loads(attention.attention(session, "", A, B))
    trace = interpret.trace_text(session.models.open(), A, B)
    assert tuple(body["tokens"]) == trace.tokens
    exact = np.frombuffer(base64.b64decode(attention.exact_values(session, body["key"], 1, 0)), "<f4")
    np.testing.assert_array_equal(exact.reshape(len(trace.tokens), -1), trace.attentions[1, 0])
    assert attention.layer_values(session, body["key"], 1)
    for layer, head in ((2, 0), (0, 2), (-1, 0)):
        assert attention.exact_values(session, body["key"], layer, head) == ""
    assert attention.exact_values(session, "unknown", 0, 0) == attention.layer_values(session, "unknown", 0) == ""


def test_the_grid_can_ask_why_one_token_looks_at_another(session: AppState) -> None:
    body = json.loads(attention.attention(session, "", A, B))
    trace = interpret.trace_text(session.models.open(), A, B)
    found = json.loads(attention.query_key(session, body["key"], 1, 0, 2, 3))
    truth = interpret.query_key(trace, 1, 0, 2, 3)
    assert found["products"] == pytest.approx(truth.products.tolist(), abs=1e-5)
    assert (found["score"], found["weight"]) == pytest.approx((truth.score, truth.weight), abs=1e-5)
    for place in ((2, 0, 0, 0), (0, 2, 0, 0), (0, 0, 99, 0), (0, 0, 0, -1)):
        assert attention.query_key(session, body["key"], *place) == ""


def test_heads_come_with_their_metrics(session: AppState) -> None:
    metrics = json.loads(attention.attention(session, "", A, B))["metrics"]
    truth = interpret.head_metrics(interpret.trace_text(session.models.open(), A, B)).metrics
    assert set(metrics) == set(truth)
    for name, values in truth.items():
        assert metrics[name]["says"]
        np.testing.assert_allclose(metrics[name]["values"], values, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "model"),
    [(attention.MODEL, BEFORE), (attention.MODEL, "other"), (attention.CAUSAL, None), (attention.TEXT, None)],
)
def test_attention_is_set_beside_another(session: AppState, kind: str, model: str | None) -> None:
    little_folder(session.settings.checkpoints / "other", seed=1)
    body = json.loads(attention.differ(session, "", A, "", kind, "the old man ran", model))
    assert body["signed"]
    codes = np.frombuffer(base64.b64decode(body["cells"]), "<u2").astype(float)
    roots = (codes - 32767) / 32767
    size = len(body["tokens"])
    rows = (np.sign(roots) * roots**2).reshape(-1, size).sum(-1)
    np.testing.assert_allclose(rows, 0, atol=2e-3)


def test_texts_of_unequal_length_are_not_set_beside_each_other(session: AppState) -> None:
    for other, words in (("the cat", "equal length"), ("", "Type the other sentence")):
        body = json.loads(picture(attention.differ)(session, "", A, "", attention.TEXT, other, None))
        assert words in body["message"]


def test_the_next_sentence_is_answered_explained_swapped_and_replaced(session: AppState) -> None:
    body = json.loads(next_sentence.answer(session, "", A, B))
    truth = interpret.next_sentence(session.models.open(), A, B)
    assert body["series"][0]["values"] == pytest.approx([truth.is_next, truth.is_random])
    assert ("not next" in body["title"]) == (truth.is_next <= 0.5)
    rows = json.loads(next_sentence.words(session, "", A, B))["rows"]
    assert [row["label"] for row in rows] == list(METHODS)
    first, second, swapped = next_sentence.swapped(session, "", A, B)
    assert (first, second) == (B, A)
    back = interpret.next_sentence(session.models.open(), B, A)
    assert json.loads(swapped)["series"][0]["values"] == pytest.approx([back.is_next, back.is_random])
    _, other, _ = next_sentence.other_b(session, "", A, B)
    assert other
    assert other not in (A, B)


def test_a_model_without_the_head_says_so(session: AppState) -> None:
    little_folder(session.settings.checkpoints / "mlm", kind=BertForMaskedLM)
    assert "no next-sentence head" in json.loads(picture(next_sentence.answer)(session, "mlm", A, B))["message"]
    assert json.loads(attention.attention(session, "mlm", A, B))["cells"]


def test_an_answer_is_explained_token_by_token_and_head_by_head(session: AppState) -> None:
    text = "the red [MASK] sat on the mat"
    verdict, strip = why.explain(session, "", text, "", "")
    items = dict(json.loads(verdict)["items"])
    body = json.loads(strip)
    assert [row["label"] for row in body["rows"]] == [*interpret.METHODS, "attention"]
    assert body["link"] == {"tab": "why", "model": "", "part": "", "text": text, "word": "", "against": ""}
    checkpoint = session.models.open()
    assert items["Prediction explained"] == interpret.fill_mask(checkpoint, text).masks[0].candidates[0].token
    shown = json.loads(why.effects(session, "", text, "", "", "[[0, 1]]"))
    truth = interpret.ablate_heads(checkpoint, text)
    np.testing.assert_allclose(np.array(shown["values"])[:, :-1], truth.effects, atol=1e-6)
    assert shown["texts"][0][1] == "off"


def test_heads_are_switched_off_and_on_and_the_answer_changes(session: AppState) -> None:
    text = "the red [MASK] sat on the mat"
    off = why.toggle(session, {"row": 1, "column": 0}, "", "[]")
    assert off == "[[1, 0]]"
    assert why.toggle(session, {"row": 1, "column": 0}, "", off) == "[]"
    _, same = why.changed(session, "", text, "", "", "[]", False)
    _, other = why.changed(session, "", text, "", "", off, False)
    _, causal = why.changed(session, "", text, "", "", "[]", True)
    for payload, differs in ((same, False), (other, True), (causal, True)):
        before, after = json.loads(payload)["series"]
        assert (before["values"] != after["values"]) == differs
    gates = np.array([[1, 1], [0, 1]])
    truth = interpret.fill_mask(session.models.open(), text, 1, head_mask=gates).masks[0].candidates[0]
    body = json.loads(other)
    place = body["groups"].index(truth.token)
    assert body["series"][1]["values"][place] == pytest.approx(truth.probability, abs=1e-6)


@pytest.mark.parametrize("off", ["", "nonsense", "[[9, 9]]", "[[-1, 0]]", '["x"]', "{}", "null"])
def test_what_the_page_says_is_off_may_be_anything(session: AppState, off: str) -> None:
    verdict, change = why.changed(session, "", "the [MASK] sat", "", "", off, False)
    assert json.loads(change)["kind"] == "bars"
    assert json.loads(verdict)["items"]


def test_vectors_of_sentences_words_and_a_word_in_two_sentences(session: AppState) -> None:
    lines = f"{A}\n\n{B}\n{A}"
    body = json.loads(vectors.alike(session, "", lines, "mean"))
    assert len(body["rows"]) == 3
    assert body["values"][0][2] == pytest.approx(1, abs=1e-5)
    assert len(json.loads(vectors.mapped(session, "", lines, "cls"))["points"]) == 3
    assert len(json.loads(vectors.neighbours(session, "", "red"))["groups"]) == 10
    moved, way = vectors.moved(session, "", A, "a small red dog ran", "red")
    assert json.loads(moved)["places"][0] == "embeddings"
    assert len(json.loads(way)["points"]) == 6


def test_vectors_of_nothing_and_of_too_much_are_one_sentence(session: AppState) -> None:
    for text, words in (("", "Type some sentences"), ("a\n" * 21, "too many"), ("x" * 60_000, "shorten")):
        assert words in json.loads(picture(vectors.alike)(session, "", text, "mean"))["message"]
    assert "not in the sentence" in json.loads(vectors.moved(session, "", A, B, "zebra")[0])["message"]


def test_sentences_that_the_page_filled_in_give_way_to_another_models(session: AppState) -> None:
    shown, sentences, *own, table = vectors.follow_model(session, "", "", "", "mean", "", "", "", "")
    assert json.loads(table)["kind"] == "matrix"
    _, kept, *_ = vectors.follow_model(session, "", shown, "my own", "mean", *own)
    assert not isinstance(kept, str)
    assert sentences


def test_the_masks_are_counted_repeated_and_paid_for(session: AppState) -> None:
    knobs = (15, 80, 10, "tokens", 1)
    counts = json.loads(masking.counted(session, "", A, *knobs, 1000))
    assert sum(counts["series"][0]["values"]) == pytest.approx(1, abs=1e-6)
    passes = json.loads(masking.over_passes(session, "", A, *knobs, "static"))
    assert passes["link"] | {"part": "passes", "unit": "tokens", "seed": "1", "static": "static"} == passes["link"]
    assert passes["values"][0] == passes["values"][3]
    paid = json.loads(masking.cost(session, "", A, *knobs))
    losses = [value for value in paid["rows"][1]["values"] if value is not None]
    assert len(losses) == 1
    assert f"{np.mean(losses):.2f} nats" in paid["title"]


def test_the_three_vectors_of_each_token_are_shown(session: AppState) -> None:
    body = json.loads(input.embeddings(session, "", A, B))
    labels = [row["label"] for row in body["rows"]]
    assert labels == ["token", "segment", "position", "sum", "cos token", "cos segment", "cos position"]


def test_a_text_of_thousands_of_words_is_cut_not_refused(session: AppState) -> None:
    longest = session.models.open().config.max_position_embeddings
    assert len(json.loads(attention.attention(session, "", "word " * 5000, ""))["tokens"]) == longest
    body = json.loads(input.tokens(session, "", "word " * 5000, ""))
    assert len(body["columns"]) == longest
    assert len(body["dropped"][0]) > 4000


def test_the_words_of_both_sentences_are_explained(session: AppState) -> None:
    body = json.loads(input.splitting(session, "", "unbelievably red", "cats"))
    assert [word["word"] for word in body["words"]] == ["unbelievably", "red", "cats"]
    for word in body["words"]:
        for step in word["steps"]:
            assert step["tried"][-1] == step["found"]


def test_long_words_and_texts_are_explained_in_part(session: AppState) -> None:
    body = json.loads(input.splitting(session, "", "x" * 90, ""))
    assert all(len(step["tried"]) <= 12 for word in body["words"] for step in word["steps"])
    body = json.loads(input.splitting(session, "", "red " * 500, ""))
    assert body["more"] == 440


def test_the_same_seed_gives_the_same_masks_and_the_button_another(session: AppState) -> None:
    knobs = (15, 80, 10, "tokens", 3)
    first = masking.masked(session, "", A, *knobs)
    assert first == masking.masked(session, "", A, *knobs)
    seed, second = masking.mask_again(session, "", A, *knobs)
    assert seed == 4
    again = json.loads(masking.masked(session, "", A, 15, 80, 10, "tokens", 4))
    assert json.loads(second) == again | {"asked": json.loads(second)["asked"]}


def test_a_picture_knows_when_it_was_asked_for() -> None:
    moments = []

    def slow() -> Payload:
        moments.append(1000 * time.time())
        return to_json({"title": "x"})

    early = json.loads(picture(slow)())["asked"]
    late = json.loads(picture(picture(slow))())["asked"]
    assert moments[0] - 1000 < early <= moments[0] < late <= moments[1]


@pytest.mark.parametrize(
    ("text", "knobs", "words"),
    [
        ("", (15, 80, 10, "tokens", 0), "Type a sentence"),
        (A, (15, 80, 30, "tokens", 0), "exceed 100 percent"),
        (A, (0, 80, 10, "tokens", 0), "above 0"),
        (A, (15, 80, 10, "tokens", None), ""),
        (A, (15, 80, 10, "words", -7), ""),
    ],
)
def test_impossible_rules_are_one_sentence(session: AppState, text: str, knobs: tuple, words: str) -> None:
    body = json.loads(picture(masking.masked)(session, "", text, *knobs))
    assert words in body.get("message", "")
    assert bool(words) == ("message" in body)


def test_every_tab_says_what_is_wrong_with_a_model_and_leaves_the_fields_alone(session: AppState) -> None:
    for follow, fields in (
        (attention.follow_model, ("", A, B)),
        (input.follow_model, ("", A, B)),
        (masking.follow_model, ("", A, 15, 80, 10, "tokens", 0)),
    ):
        answers = [answer for answer in follow(session, "/no/such/folder", *fields) if isinstance(answer, str)]
        assert any("no model" in json.loads(answer)["message"] for answer in answers if answer)
        assert A not in answers


def test_a_mistake_of_the_page_is_a_sentence_too_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> str:
        raise KeyError("oh")

    answer = picture(broken)()
    assert "KeyError" in answer
    assert "still alive" in answer
    assert "failed" in caplog.text
    assert answer.startswith(message_payload("")[:11])


def test_what_a_click_brings_is_only_ever_text() -> None:
    assert picked({"texts": ["a"]}, 2) == ("a", "")
    assert picked({"texts": ["a", "b", "c"]}, 2) == ("a", "b")
    assert picked({"texts": [1, None, "b"]}, 1) == ("b",)
    assert picked({}, 1) == ("",)


def test_a_whole_layer_is_switched_off_and_on_again(session: AppState) -> None:
    off = why.toggle(session, {"row": 1, "column": 2}, "", "[[0, 1], [1, 0]]")
    assert json.loads(off) == [[0, 1], [1, 0], [1, 1]]
    assert json.loads(why.toggle(session, {"row": 1, "column": 2}, "", off)) == [[0, 1]]


def test_heads_stay_off_until_another_model_is_asked(session: AppState) -> None:
    little_folder(session.settings.checkpoints / "other", seed=1)
    text = "the red [MASK] sat on the mat"
    for before, model, kept in (("", "little", True), ("little", "little", True), ("other", "little", False)):
        _, asked_model, *_, off, _, strip = why.follow_model(session, model, "", before, text, "", "")
        assert asked_model == model
        assert (off == gr.skip()) == kept
        assert json.loads(strip)["rows"]
    assert off == "[]"


def test_what_each_head_adds_is_computed_once_whichever_are_off(session: AppState, monkeypatch) -> None:
    text = "the red [MASK] sat on the mat"
    first = json.loads(why.effects(session, "", text, "", "", "[]"))
    monkeypatch.setattr(interpret, "ablate_heads", lambda *_, **__: pytest.fail("computed again"))
    again = json.loads(why.effects(session, "", text, "", "", "[[0, 0]]"))
    assert again["values"] == first["values"]
    assert again["texts"][0][0] == "off"


def test_two_models_that_split_a_text_differently_are_not_subtracted(session: AppState) -> None:
    other = Tokenizer.train(["she slept", "he ran"] * 50, vocab_size=60)
    checkpoint = session.models.open()
    apart = dataclasses.replace(checkpoint, tokenizer=other, name="apart")
    save_checkpoint(apart, session.settings.checkpoints / "apart")
    body = json.loads(picture(attention.differ)(session, "little", "cat", "", attention.MODEL, "", "apart"))
    assert "differ" in body["message"] or "equal length" in body["message"]


def test_a_model_of_few_positions_masks_what_it_reads(session: AppState) -> None:
    longest = session.models.open().config.max_position_embeddings
    knobs = (15, 80, 10, "tokens", 1)
    text = "the red cat " * 400
    assert len(json.loads(masking.masked(session, "", text, *knobs))["columns"]) == longest
    assert json.loads(masking.cost(session, "", text, *knobs))["rows"]
    assert json.loads(masking.counted(session, "", text, *knobs, 100))["series"]
    assert len(json.loads(masking.over_passes(session, "", text, *knobs, "static"))["columns"]) == longest
