"""The attention view under real mouse and keyboard."""

import csv
import json
import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from bertviz_lab.figures.attention import attention_body, attention_payload
from bertviz_lab.interpret import head_metrics
from tests.browser import eventually
from tests.ui.components.harness import SENTENCE, Desk, Feed, Visit, attention, encoding, saved, sentence_attention

PARTS = ["attention"]

READOUT = re.compile(r"from (.+) \((\d+)\) to (.+) \((\d+)\): (about )?([\d.]+)")
SIZE = len(SENTENCE)


def cell(page: Page) -> tuple[int, int, float, str]:
    """Row, column, weight and wording of the read-out."""
    text = page.locator("#attention .readout").inner_text()
    found = READOUT.match(text)
    assert found, text
    assert found[1] == SENTENCE[int(found[2])] or "tok" in found[1]
    return int(found[2]), int(found[4]), float(found[6]), text


def head_name(page: Page) -> str:
    return page.locator("#attention .one .heading").first.inner_text()


def choose(page: Page, layer: int, head: int) -> None:
    page.locator(f'#attention .grid canvas[data-layer="{layer}"][data-head="{head}"]').click()


def walk(page: Page, *keys: str) -> None:
    """Go from the first cell of the heat map by these keys."""
    page.locator("#attention .map .top").focus()
    for key in ("PageUp", "Home", *keys):
        page.keyboard.press(key)


def pixel(page: Page, layer: int, head: int, row: int, column: int) -> tuple[int, int, int]:
    script = (
        "([selector, x, y]) => [...document.querySelector(selector).getContext('2d').getImageData(x, y, 1, 1).data]"
    )
    selector = f'#attention .grid canvas[data-layer="{layer}"][data-head="{head}"]'
    red, green, blue, _ = page.evaluate(script, [selector, column, row])
    return red, green, blue


def test_mouse_and_keys_read_the_exact_weight_of_a_cell_and_choose_its_row(visit: Visit):
    page = visit()
    choose(page, 1, 2)
    truth = attention(4, 4, SIZE)[1, 2]

    def read() -> tuple[int, int]:
        row, column, weight, text = cell(page)
        assert "about" not in text
        assert weight == pytest.approx(float(truth[row, column]), abs=6e-5)
        return row, column

    heatmap = page.locator("#attention .map .top")
    box = heatmap.bounding_box()
    assert box
    seen = set()
    for across in (0.35, 0.55, 0.75, 0.985):
        for down in (0.3, 0.5, 0.985):
            heatmap.hover(position={"x": across * box["width"], "y": down * box["height"]})
            seen.add(read())
    assert len(seen) == 12
    assert (SIZE - 1, SIZE - 1) in seen
    heatmap.click(position={"x": 0.6 * box["width"], "y": 0.7 * box["height"]})
    row, _ = read()
    page.locator("#attention .foot").hover()
    assert read()[0] == row
    rows = page.locator("#attention .strongest tbody tr")
    expect(rows).to_have_count(5)
    for place, column in enumerate(np.argsort(-truth[row])[:5]):
        token, position, weight = rows.nth(place).locator("th, td").all_inner_texts()
        assert (token, int(position)) == (SENTENCE[column], column)
        assert float(weight) == pytest.approx(float(truth[row, column]), abs=6e-5)
    expect(page.locator("#attention .strongest caption")).to_contain_text(SENTENCE[row])
    walk(page, "ArrowDown", "ArrowDown", "ArrowRight")
    assert read() == (2, 1)
    for key in ("End", "PageDown", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    assert read() == (SIZE - 1, SIZE - 1)


def test_heads_are_chosen_by_click_and_by_arrow_keys(visit: Visit):
    page = visit()
    assert head_name(page) == "Layer 1 of 4, head 1 of 4"
    choose(page, 2, 1)
    assert head_name(page) == "Layer 3 of 4, head 2 of 4"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert head_name(page) == "Layer 4 of 4, head 3 of 4"
    page.keyboard.press("ArrowDown")
    assert head_name(page) == "Layer 4 of 4, head 3 of 4"
    page.keyboard.press("Home")
    assert head_name(page) == "Layer 1 of 4, head 1 of 4"
    page.keyboard.press("Enter")
    chosen = page.locator('#attention .grid canvas[aria-selected="true"]')
    expect(chosen).to_have_count(1)
    expect(chosen).to_be_focused()


def test_the_names_under_the_heads_are_not_cut(visit: Visit):
    body = attention_body(encoding(SENTENCE), attention(4, 4, SIZE), "named")
    page = visit(attention=attention_payload(body | {"roles": [["previous", "position", "special", ""]] * 4}))
    page.locator("#attention .grid").evaluate("grid => { grid.style.width = '300px' }")  # as wide as beside the text
    roles = page.locator("#attention .role")
    expect(roles).to_have_text(["previous token", "position-based", "special tokens"] * 4)
    assert roles.evaluate_all("all => all.every((role) => role.scrollWidth <= role.clientWidth)")
    assert roles.evaluate_all("all => all.every((role) => role.scrollHeight <= role.clientHeight)")


def test_grid_paints_rows_as_the_attending_tokens_on_a_scale_that_is_stated(visit: Visit):
    page = visit()
    weights = attention(4, 4, SIZE)
    for layer, head in ((1, 3), (3, 0)):
        truth = weights[layer, head]
        row, column = divmod(int(truth.argmax()), SIZE)
        dark_row, dark_column = divmod(int(truth.argmin()), SIZE)
        bright = sum(pixel(page, layer, head, row, column))
        assert bright > sum(pixel(page, layer, head, dark_row, dark_column))
        assert row == column or bright > sum(pixel(page, layer, head, column, row))
    legend = page.locator("#attention .legend")
    expect(legend).to_contain_text("square-root scale from 0 to 1")
    page.get_by_role("radio", name="per head").click()
    expect(legend).to_contain_text("largest weight of each head")
    eventually(page, lambda: pixel(page, 3, 0, row, column) == (253, 231, 37))
    page.get_by_role("radio", name="linear").click()
    expect(legend).to_contain_text("linear scale from 0 to 1")
    eventually(page, lambda: pixel(page, 3, 0, row, column) != (253, 231, 37))


def test_lines_show_the_row_of_the_chosen_token_or_the_sum_of_several(visit: Visit):
    page = visit()
    page.get_by_role("radio", name="Single tokens").click()
    items, caption = page.locator("#attention .from .item"), page.locator("#attention .strongest caption")
    items.nth(3).click()
    truth = attention(4, 4, SIZE)[0, 0].astype(float)
    drawn = page.locator("#attention .frame path").evaluate_all(
        "paths => paths.map(path => Number(path.getAttribute('stroke-opacity')))"
    )
    assert drawn == pytest.approx(np.sqrt(truth[3]).tolist(), abs=1e-3)
    items.nth(5).click(modifiers=["Control"])
    expect(caption).to_contain_text("2 tokens together")
    both = truth[3] + truth[5]
    _, position, weight = page.locator("#attention .strongest tbody tr").first.locator("th, td").all_inner_texts()
    assert int(position) == int(both.argmax())
    assert float(weight) == pytest.approx(both.max(), abs=2e-4)
    page.keyboard.press("Space")
    expect(caption).to_contain_text("cat (3)")
    page.keyboard.press("ArrowUp")
    expect(caption).to_have_text("sat (4) attends most to")
    expect(page.locator('#attention .from [aria-selected="true"]')).to_have_text("sat")


def test_another_text_keeps_the_readers_place_and_a_smaller_model_takes_the_nearest(visit: Visit, feed: Feed):
    page = visit()
    choose(page, 2, 3)
    page.locator("#attention .map .top").focus()
    page.keyboard.press("ArrowDown")
    row, column, *_ = cell(page)
    feed("attention", sentence_attention(seed=9))
    truth = attention(4, 4, SIZE, 9)[2, 3]
    expect(page.locator("#attention .readout")).to_contain_text(f"{truth[row, column]:.4f}"[:5])
    assert cell(page)[:2] == (row, column)
    assert head_name(page) == "Layer 3 of 4, head 4 of 4"
    feed("attention", sentence_attention(layers=2, heads=2))
    expect(page.locator("#attention .one .heading").first).to_have_text("Layer 2 of 2, head 2 of 2")
    expect(page.locator("#attention .grid canvas")).to_have_count(4)


def test_saved_numbers_are_the_weights_and_formulas_are_disarmed(visit: Visit, feed: Feed):
    page = visit()
    choose(page, 3, 1)
    truth = attention(4, 4, SIZE)[3, 1]
    body = json.loads(saved(page, "attention", "json"))
    assert (body["layer"], body["head"], body["tokens"]) == (4, 2, SENTENCE)
    assert np.abs(np.array(body["weights"]) - truth).max() < 3e-5
    rows = list(csv.DictReader(saved(page, "attention", "csv").decode().splitlines()))
    assert len(rows) == SIZE * SIZE
    weights = {(int(row["from_position"]), int(row["to_position"])): float(row["weight"]) for row in rows}
    assert weights[3, 5] == pytest.approx(float(truth[3, 5]), abs=3e-5)
    feed("attention", attention_payload(attention_body(encoding(["=1+1", "tok"]), attention(1, 1, 2), "formulas")))
    expect(page.locator("#attention .heading").first).to_have_text("formulas")
    assert b"0,'=1+1,0,'=1+1," in saved(page, "attention", "csv")


def test_long_text_fetches_layers_and_exact_weights(visit: Visit, desk: Desk, feed: Feed):
    page = visit()
    size = 300
    truth = attention(6, 8, size)
    desk.attentions["k1"] = truth
    feed(
        "attention",
        attention_payload(attention_body(encoding([f"tok{index}" for index in range(size)]), truth, "long", key="k1")),
    )
    expect(page.locator("#attention .one .heading").first).to_have_text("Layer 6 of 6, head 1 of 8")
    expect(page.locator("#attention .grid canvas")).to_have_count(8)
    page.get_by_role("button", name="Show layer 2").click()
    expect(page.locator("#attention .one .heading").first).to_have_text("Layer 2 of 6, head 1 of 8")
    expect(page.locator("#attention .grid canvas")).to_have_count(16)
    expect(page.locator("#attention .readout")).not_to_contain_text("about")
    row, column, weight, _ = cell(page)
    assert weight == pytest.approx(float(truth[1, 0, row, column]), abs=5.1e-5)


def more(page: Page) -> None:
    page.locator("#attention .knobs summary").click()


def test_heads_are_sorted_by_a_metric_and_opened_by_a_click(visit: Visit):
    page = visit()
    sort = page.locator("#attention").get_by_label("Sort heads")
    cells = page.locator("#attention .grid canvas")
    metrics = head_metrics(attention(4, 4, SIZE), encoding(SENTENCE, second=10))
    for name in ("entropy", "distance", "previous", "next", "same", "across", "special"):
        sort.select_option(name)
        expect(cells).to_have_count(16)
        numbers = [text.split(" · ") for text in page.locator("#attention .ranked .name").all_inner_texts()]
        heads = [[int(part) - 1 for part in head.split(".")] for head, _ in numbers]
        values = [metrics[name][layer, head] for layer, head in heads]
        assert [float(value) for _, value in numbers] == pytest.approx(values, abs=0.0051)
        assert values == pytest.approx(sorted(values, reverse=True), abs=1e-4)
    order = [divmod(int(i), 4) for i in np.argsort(-metrics["special"], axis=None, kind="stable")]
    expect(cells).to_have_count(16)
    shown = cells.evaluate_all("nodes => nodes.map(node => [Number(node.dataset.layer), Number(node.dataset.head)])")
    assert [tuple(place) for place in shown] == order
    top = cells.evaluate_all("nodes => nodes.map(node => node.getBoundingClientRect().top)")
    assert top[0] == top[1], "heads share a line"
    cells.nth(2).click()
    assert head_name(page) == f"Layer {order[2][0] + 1} of 4, head {order[2][1] + 1} of 4"
    page.keyboard.press("ArrowRight")
    assert head_name(page) == f"Layer {order[3][0] + 1} of 4, head {order[3][1] + 1} of 4"
    expect(page.locator("#attention .legend")).to_contain_text("share of attention to special tokens")


def test_heads_are_sorted_by_the_weight_of_the_cell_that_is_selected(visit: Visit):
    page = visit()
    weights = attention(4, 4, SIZE)
    sort = page.locator("#attention").get_by_label("Sort heads")
    for row, column in ((4, 3), (8, 6)):
        walk(page, *["ArrowDown"] * row, *["ArrowRight"] * column)
        sort.select_option(f"weight from {SENTENCE[row]} ({row}) to {SENTENCE[column]} ({column})")
        order = [divmod(int(i), 4) for i in np.argsort(-weights[..., row, column], axis=None, kind="stable")]
        cells = page.locator("#attention .grid canvas")
        shown = cells.evaluate_all(
            "nodes => nodes.map(node => [Number(node.dataset.layer), Number(node.dataset.head)])"
        )
        assert [tuple(place) for place in shown] == order
        best = weights[(*order[0], row, column)]
        expect(page.locator("#attention .ranked .name").first).to_contain_text(f"{best:.2f}")


def test_averages_and_rollout_are_those_of_the_weights(visit: Visit):
    page = visit()
    more(page)
    truth = attention(4, 4, SIZE).astype(float)
    choose(page, 2, 1)
    flow = np.eye(SIZE)
    for layer in (truth.mean(1) + np.eye(SIZE))[:3] / 2:
        flow = layer @ flow
    wanted = {"layer": truth[2].mean(0), "all": truth.mean((0, 1)), "rollout": flow}
    for of, weights in wanted.items():
        page.locator("#attention .knobs select").select_option(of)
        walk(page, "ArrowDown", "ArrowRight")
        row, column, weight, _ = cell(page)
        assert weight == pytest.approx(weights[row, column], abs=1e-4), of


def test_special_tokens_and_other_sentences_are_hidden_and_the_rest_scaled_up(visit: Visit):
    page = visit()
    more(page)
    truth = attention(4, 4, SIZE)[0, 0].astype(float)
    special = [token in ("[CLS]", "[SEP]") for token in SENTENCE]
    share = truth[:, special].sum() / SIZE
    expect(page.locator("#attention .one .small").first).to_contain_text(f"{100 * share:.1f}%")
    page.get_by_role("radio", name="renormalised").click()
    walk(page, "ArrowDown")
    expect(page.locator("#attention .readout")).to_contain_text("hidden")
    page.keyboard.press("ArrowRight")
    row, column, weight, _ = cell(page)
    rest = np.where(special, 0, truth[row])
    assert weight == pytest.approx(rest[column] / rest.sum(), abs=1e-4)
    page.get_by_role("radio", name="shown", exact=True).check(force=True)
    page.get_by_role("radio", name="A → B").click()
    walk(page)
    expect(page.locator("#attention .readout")).to_contain_text("hidden")
    page.keyboard.press("End")
    row, column, weight, _ = cell(page)
    assert weight == pytest.approx(truth[row, column], abs=1e-4)


def test_the_products_behind_a_weight_are_shown(visit: Visit):
    page = visit()
    page.get_by_text("Why this weight?").click()
    pair = page.locator("#attention .pair")
    expect(pair).to_contain_text("4 products sum to a score of")
    expect(pair).to_contain_text("Largest: dimension 3")
    expect(pair.locator(".barlayer .point")).to_have_count(4)
    pair.get_by_text("Data table").click()
    expect(pair.locator("tbody tr")).to_have_count(4)


def test_differences_have_a_sign_and_a_middle_and_are_not_scaled_up(visit: Visit, feed: Feed):
    page = visit()
    more(page)
    scaled = page.get_by_role("radio", name="renormalised")
    scaled.check(force=True)
    expect(page.locator("#attention .one")).to_contain_text("which are left out")
    difference = attention(4, 4, SIZE, seed=1) - attention(4, 4, SIZE)
    feed(
        "attention",
        attention_payload(
            attention_body(encoding(SENTENCE, second=10), difference, "Second less first", number="difference")
        ),
    )
    expect(page.locator("#attention .heading").first).to_have_text("Second less first")
    expect(scaled).to_be_hidden()
    expect(page.get_by_role("radio", name="hidden", exact=True)).to_be_checked()
    page.get_by_role("radio", name="shown", exact=True).check(force=True)
    walk(page, "ArrowDown")
    weight = float(re.search(r"\): ([+-][\d.]+)$", page.locator("#attention .readout").inner_text())[1])
    assert weight == pytest.approx(float(difference[0, 0, 1, 0]), abs=2e-4)
    expect(page.locator("#attention .legend")).to_contain_text("blue")


def test_what_a_layer_of_local_attention_cannot_see_is_left_out(visit: Visit):
    weights = attention(2, 2, SIZE)
    near = np.abs(np.arange(SIZE)[:, None] - np.arange(SIZE)) <= 2
    weights[1] = weights[1] * near / (weights[1] * near).sum(-1, keepdims=True)
    body = attention_body(encoding(SENTENCE), weights, "local", windows=[None, 4], note="Layer 2 is local.")
    page = visit(attention=attention_payload(body))
    expect(page.locator("#attention .foot")).to_contain_text("Layer 2 is local. Gray cells are outside")
    opaque = "canvas => [0, 1, 2, 3].map((column) => canvas.getContext('2d').getImageData(column, 0, 1, 1).data[3] > 0)"
    for layer, seen in ((0, [True] * 4), (1, [True, True, True, False])):
        canvas = page.locator(f'#attention .grid canvas[data-layer="{layer}"][data-head="0"]')
        eventually(page, lambda canvas=canvas, seen=seen: canvas.evaluate(opaque) == seen)
    choose(page, 1, 0)
    assert head_name(page) == "Layer 2 of 2 (local attention, window 4), head 1 of 2"
    walk(page, "ArrowRight", "ArrowRight")
    row, column, weight, _ = cell(page)
    assert (row, column) == (0, 2)
    assert weight == pytest.approx(float(weights[1, 0, 0, 2]), abs=6e-5)
    page.keyboard.press("ArrowRight")
    expect(page.locator("#attention .readout")).to_contain_text("outside the window of local attention")


def test_scores_are_read_in_their_own_unit(visit: Visit):
    scores = np.random.default_rng(0).normal(0, 5, (2, 2, SIZE, SIZE)).astype(np.float32)
    page = visit(attention=attention_payload(attention_body(encoding(SENTENCE), scores, "Scores", number="score")))
    expect(page.locator("#attention .heading").first).to_have_text("Scores")
    walk(page, "ArrowDown")
    text = page.locator("#attention .readout").inner_text()
    assert float(re.search(r"\): ([+-][\d.]+)$", text)[1]) == pytest.approx(float(scores[0, 0, 1, 0]), abs=2e-3)
    expect(page.locator("#attention .strongest caption")).to_contain_text("scores furthest from 0 with")
    largest = float(scores[0, 0, 1][np.abs(scores[0, 0, 1]).argmax()])
    first = page.locator("#attention .strongest tbody tr").first.locator("td").last.inner_text()
    assert float(first) == pytest.approx(largest, abs=2e-3)
