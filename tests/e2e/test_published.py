"""A published page: a folder or a single file that answers without a server what the server would answer."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Page, expect

from bertviz_lab import load_checkpoint
from bertviz_lab.browser.causes_graph import CausesGraph
from bertviz_lab.browser.export import _export as export_graph
from bertviz_lab.browser.graph import BrowserGraph
from bertviz_lab.browser.recorded import recorded_corpus
from bertviz_lab.browser.site import publish
from bertviz_lab.interpret.corpora.tuned_lens import TunedLens
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Input
from bertviz_lab.ui.views.layers.view import kept_lens
from tests.browser import PageLog, complaints
from tests.family_checkpoints import MODEL_TYPES, family_folder
from tests.firefox import ENTER, RIGHT, Firefox, find, firefox
from tests.little import little_folder
from tests.published import (
    MORE_TEXTS,
    TEXTS,
    asked,
    by_server,
    causes_questions,
    differences,
    disagreements,
    drawn,
    first_questions,
    open_published,
    questions,
    served,
)
from tests.ui.pages import little_settings, serve

_FP16, _FP32 = 1e-3, 1e-4


@pytest.fixture(scope="module", autouse=True)
def graphs_are_exported_once() -> Iterator[None]:
    """The model that is published from the lab's page is the first of the site: an export takes many seconds."""
    exported: dict[tuple[type, tuple[float, ...]], bytes] = {}

    def export_once(graph: BrowserGraph | CausesGraph, path: Path) -> None:
        known = type(graph), tuple(float(weight.sum()) for weight in graph.state_dict().values())
        if known not in exported:
            export_graph(graph, path)
            exported[known] = path.read_bytes()
        path.write_bytes(exported[known])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bertviz_lab.browser.export._export", export_once)
        yield


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two little models of the same shape."""
    root = tmp_path_factory.mktemp("models")
    folders = [little_folder(root / name, seed=seed) for seed, name in enumerate(("first", "second"))]
    lens = TunedLens.identity(load_checkpoint(folders[1]))
    generator = torch.Generator().manual_seed(0)
    weights, biases = (torch.rand(part.shape, generator=generator) for part in (lens.weights, lens.biases))
    replace(lens, weights=weights, biases=biases).save(folders[1])
    return [str(folder) for folder in folders]


@pytest.fixture(scope="module")
def site(models: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In 32 bits: random weights have near ties, whose order 16 bits would change."""
    return publish(models, tmp_path_factory.mktemp("site") / "page", precision="fp32").path


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with served(site) as address:
        yield address


@pytest.fixture(scope="module")
def single_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page on a disk."""
    file = tmp_path_factory.mktemp("file") / "model.html"
    return publish(["tiny-town"], file, single_file=True, snapshots=3).path.as_uri()


def hold_to_server(
    page: Page, folder: str, name: str, scratch: Path, tolerance: float, more: Sequence[tuple[str, str]] = MORE_TEXTS
) -> None:
    """Ask engine and server the same about sixty texts; a text's answers at a time, which may be tens of megabytes."""
    state = AppState(Settings(runs_dir=scratch))
    for asked_about, all_texts in ((questions, TEXTS), (first_questions, more)):
        for texts in all_texts:
            assert list(disagreements(page, state, folder, list(asked_about(name, *texts)), tolerance)) == []


def test_the_engine_answers_as_the_server_does(page: Page, models: list[str], address: str, tmp_path: Path) -> None:
    open_published(page, address)
    hold_to_server(page, models[0], "first", tmp_path, _FP32)


def test_two_models_of_a_page_are_compared_as_by_the_server(
    page: Page, models: list[str], address: str, tmp_path: Path
) -> None:
    open_published(page, address)
    state = AppState(Settings(runs_dir=tmp_path))
    text = {"text_a": "The red [MASK] sat on the mat.", "text_b": ""}
    given = text | {"model": "first", "other": "second"}
    theirs = text | {"model": models[0], "other": models[1]}
    against = {"against": "model", "other_text": ""}
    for view, question, more in (("predictions", "compare", {}), ("attention", "difference", against)):
        ours = asked(page, view, question, given | more)
        (server,) = drawn(page, [by_server(state, view, question, theirs | more)])
        assert list(differences(server, ours, _FP32)) == []


def test_occlusion_and_attention_are_those_of_the_server_and_gradients_are_refused(
    page: Page, models: list[str], address: str, tmp_path: Path
) -> None:
    open_published(page, address)
    given = {"text_a": TEXTS[0][0], "text_b": "", "kind": "", "position": None, "choice": "", "contrast": ""}
    ours = asked(page, "attribution", "attribution", given | {"model": "first"})
    state = AppState(Settings(runs_dir=tmp_path))
    (theirs,) = drawn(page, [by_server(state, "attribution", "attribution", given | {"model": models[0]})])
    assert [row["label"] for row in ours["tokens"]["rows"]] == ["occlusion", "attention"]
    rows = [row for row in theirs["tokens"]["rows"] if row["label"] in ("occlusion", "attention")]
    assert list(differences(rows, ours["tokens"]["rows"], _FP32)) == []
    assert list(differences(theirs["facts"], ours["facts"], _FP32)) == []
    assert ours["tokens"]["note"].endswith("are computed in the lab only.")


def test_causes_are_those_of_the_server(page: Page, models: list[str], address: str, tmp_path: Path) -> None:
    open_published(page, address)
    state = AppState(Settings(runs_dir=tmp_path))
    given = [*causes_questions("first", *TEXTS[0]), *causes_questions("first", *TEXTS[2], kind="next")]
    given += list(causes_questions("first", *TEXTS[3]))
    assert list(disagreements(page, state, models[0], given, _FP32)) == []
    _, _, about = given[-1]
    for method in ("attention", "value zeroing"):
        asked_of = about | {"method": method, "threshold": 0.05}
        ours = asked(page, "causes", "flow", asked_of)
        (theirs,) = drawn(page, [by_server(state, "causes", "flow", asked_of | {"model": models[0]})])
        rows = [row for row in theirs["methods"]["rows"] if row["label"] not in ("norm", "ALTI")]
        assert list(differences(theirs | {"methods": theirs["methods"] | {"rows": rows}}, ours, _FP32)) == []


def test_the_tuned_lens_is_that_of_the_server(page: Page, models: list[str], address: str, tmp_path: Path) -> None:
    open_published(page, address)
    state, (text_a, text_b) = AppState(Settings(runs_dir=tmp_path)), TEXTS[0]
    kept_lens(state, Input(models[1], "", ""))[:] = [TunedLens.load(Path(models[1]), state.models.open(models[1]))]
    given = {"model": "second", "text_a": text_a, "text_b": text_b, "position": None}
    assert list(disagreements(page, state, models[1], [("layers", "tuned", given)], _FP32)) == []
    assert asked(page, "layers", "tuned", given | {"model": "first"}) == {"lens": None, "fit": None}


def test_heads_on_a_corpus_are_recorded(page: Page, models: list[str], address: str) -> None:
    """Of a sample that comes with the lab, whatever the model was trained on."""
    open_published(page, address)
    checkpoint = load_checkpoint(models[0])
    recorded = recorded_corpus(checkpoint)
    given = {"model": "first", "x": "entropy", "y": "previous", "layer": 1, "head": 1, "text_a": "", "text_b": ""}
    ours = asked(page, "corpus", "heads", given)
    assert ours["chosen"] == [1, 1]
    each = checkpoint.config.num_attention_heads
    answer = recorded["answers"][each + 1]
    axes = [{"name": name, "values": recorded["metrics"][name]} for name in ("entropy", "previous")]
    (theirs,) = drawn(page, [answer | {"map": answer["map"] | {"axes": axes}}])
    assert list(differences(theirs, ours, 1e-3)) == []
    first = asked(page, "corpus", "heads", given | {"layer": None})
    assert first["chosen"] == list(divmod(recorded["first"], each))
    assert first["map"] != ours["map"]  # another head is marked
    assert asked(page, "corpus", "pairs", given) == {"error": "Such a search reads the corpus: use the lab for it."}


@pytest.mark.thorough
@pytest.mark.timeout(900)  # on a busy machine
def test_wiki_mini_in_16_bits_is_answered_as_by_the_server(page: Page, tmp_path: Path) -> None:
    with served(publish(["wiki-mini"], tmp_path / "page").path) as address:
        open_published(page, address)
        hold_to_server(page, "wiki-mini", "wiki-mini", tmp_path / "runs", _FP16)


@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["answers-mini", "emotions-mini", "entities-mini", "sentiment-mini", "tiny-town"])
def test_shipped_models_and_their_tasks_are_answered_as_by_the_server(page: Page, name: str, tmp_path: Path) -> None:
    with served(publish([name], tmp_path / "page", precision="fp32").path) as address:
        open_published(page, address)
        hold_to_server(page, name, name, tmp_path / "runs", _FP32, more=())  # their tokenizers have been held


@pytest.mark.thorough
@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_every_family_is_answered_as_by_the_server(page: Page, model_type: str, tmp_path: Path) -> None:
    folder = str(family_folder(model_type, tmp_path / model_type))
    site = publish([folder], tmp_path / "page", precision="fp32").path
    with served(site) as address:
        open_published(page, address)
        hold_to_server(page, folder, model_type, tmp_path / "runs", _FP32)


def test_a_person_explores_a_published_model(page: Page, address: str) -> None:
    open_published(page, address)
    page.get_by_label("Text A").fill("The red [MASK] sat on the mat.")
    expect(page.locator("#fill-bars .bar-row")).to_have_count(5)
    expect(page.locator("#attention-grid canvas").first).to_be_visible()
    page.get_by_role("button", name="cat", exact=True).first.or_(page.locator("#fill-bars .word").first).click()
    expect(page.locator("#fill-bars .blank")).to_have_count(2)
    for view, mark in {
        "tokens": "#token-strip .token",
        "architecture": "#architecture-picture .cells .followed",
        "embeddings": "#similarity .plotly-host svg",
        "attribution": "#attribution-tokens .token",
        "layers": "#lens .plotly-host svg",
    }.items():
        page.locator(f"#tab-{view}").click()
        expect(page.locator(mark).first).to_be_visible()
    page.get_by_role("tab", name="About").click()
    expect(page.locator(".about")).to_contain_text("first")


def test_one_view_is_shown_without_the_frame(page: Page, address: str) -> None:
    page.add_init_script("addEventListener('message', ({ data }) => { window.told = data.labHeight; })")
    open_published(page, f"{address}?view=layers&text_a=The+red+%5BMASK%5D+sat.&bare=1")
    expect(page.locator("#lens .plotly-host svg").first).to_be_visible()
    expect(page.locator("#text-a, .title, [role=tablist]").locator("visible=true")).to_have_count(0)
    page.wait_for_function("() => window.told > 200")


def test_axe_finds_nothing_on_a_published_page(page: Page, address: str) -> None:
    open_published(page, address)
    expect(page.locator("#fill-bars .bar-row").first).to_be_visible()
    page.set_viewport_size({"width": 400, "height": 800})
    assert complaints(page) == []


def test_masks_follow_the_rule(page: Page, address: str) -> None:
    """The engine draws other numbers than numpy; their statistics are those of the rule."""
    open_published(page, address)
    settings = {"rate": 30, "mask": 80, "random": 10, "unit": "tokens", "seed": 1}
    text = {"model": "first", "text_a": "the red cat sat on the mat near the river", "text_b": "", "settings": settings}
    drawn = asked(page, "tokens", "masking", text)
    assert drawn["title"] == "4 of 10 tokens must be predicted"
    assert asked(page, "tokens", "masking", text) == drawn
    chart = asked(page, "tokens", "statistics", text | {"draws": "10000"})
    for _, counted, expected in chart["table"]["rows"]:
        assert counted == pytest.approx(expected, abs=0.02)
    for unit in ("words", "spans"):
        outcomes = [
            column["outcome"]
            for column in asked(page, "tokens", "masking", text | {"settings": settings | {"unit": unit}})["columns"]
        ]
        assert set(outcomes) >= {"special", "not chosen"}


def test_what_needs_a_server_is_refused_in_a_sentence(page: Page, address: str) -> None:
    open_published(page, address)
    assert asked(page, "runs", "runs", {}) == {"error": "A published page has no server: use the lab for this."}
    given = {"model": "first", "text_a": "the [MASK]", "text_b": "", "other": "before"}
    answer = asked(page, "predictions", "compare", given)
    assert answer["error"].startswith("The weights before training are not part of this page")


def test_a_model_that_the_page_does_not_have_is_a_sentence(page: Page, address: str) -> None:
    open_published(page, f"{address}?model=third&text_a=the+red+%5BMASK%5D")
    expect(page.locator("#panel-predictions")).to_contain_text("This page has no model third: it has first, second.")


@pytest.mark.parametrize("lacking", ["WebAssembly", "DecompressionStream", "Worker"])
def test_an_old_browser_is_a_sentence(page: Page, address: str, lacking: str) -> None:
    page.add_init_script(f"delete globalThis.{lacking}")
    open_published(page, f"{address}?text_a=the+red+%5BMASK%5D")
    expect(page.locator("#panel-predictions")).to_contain_text("open it in a current Chrome, Edge, Firefox or Safari")


def test_a_damaged_model_is_a_sentence(page: Page, page_log: PageLog, site: Path, tmp_path: Path) -> None:
    copy = tmp_path / "page"
    shutil.copytree(site, copy)
    (graph,) = copy.glob("models/first/model-*.onnx")
    graph.write_bytes(graph.read_bytes()[:5000])
    with served(copy) as address:
        open_published(page, address)
        given = {"model": "first", "text_a": "the [MASK]", "text_b": ""}
        assert asked(page, "explore", "encode", given) == {
            "error": "The file of the model first is damaged or incomplete: reload the page."
        }
        graph.unlink()
        answer = asked(page, "explore", "encode", given)
        assert answer["error"].startswith("The file models/first/model-")
    page.goto("about:blank")
    page_log.clear()  # the browser notes the missing file


def test_a_single_file_opens_from_a_disk_and_holds_the_lessons_on_its_model(page: Page, single_file: str) -> None:
    """`page` fails the test for any request to another machine, and any violated policy."""
    page.add_init_script("delete Uint8Array.fromBase64")  # a browser of 2024
    open_published(page, single_file)
    page.get_by_label("Text A").fill("Grandma feels better, and [MASK] thanks Ravi.")
    expect(page.locator("#fill-bars .bar-row")).to_have_count(5)
    page.locator("#tab-layers").click()
    expect(page.locator("#lens .plotly-host svg").first).to_be_visible()
    page.get_by_role("tab", name="Learn").click()
    lesson = page.locator(".lab-lessons .one")
    lesson.locator(".choice").first.click()
    lesson.get_by_role("button", name="Reveal").click()
    expect(lesson.locator(".told .bar-row").first).to_be_visible()
    lesson.locator("button.set-up").first.click()
    expect(page.locator("#lesson-bar .bar-line")).to_be_visible()
    expect(page.locator("#space-explore")).to_be_visible()

    page.get_by_role("tab", name="Training dynamics").first.click()
    scrubber = page.locator("#dynamics-scrubber")
    expect(scrubber.locator(".where")).to_contain_text("Step 12,000")
    slider = scrubber.get_by_label("Training step")
    slider.press("Home")
    expect(scrubber.locator(".where")).to_contain_text("Step 0")
    expect(slider).to_have_attribute("max", "2")
    page.locator("#dynamics-a").fill("Grandma is [MASK].")
    page.locator("#dynamics-a").press("Enter")
    expect(scrubber).to_contain_text("choose one of them")


@pytest.fixture(scope="module")
def other_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    path = find()
    if path is None:
        pytest.skip("Firefox is not installed")
    with firefox(path, tmp_path_factory.mktemp("firefox") / "profile") as browser:
        yield browser


@pytest.mark.parametrize("width", [1280, 400])
def test_a_page_from_a_server_and_from_a_disk_is_explored_by_keyboard_in_firefox(
    other_browser: Firefox, address: str, single_file: str, width: int
) -> None:
    """A text is typed, a word of it masked, and another view looked at."""
    browser = other_browser
    browser.set_width(width)
    for opened, text in ((address, "the red [MASK] sat"), (single_file, "ravi has a [MASK]")):
        browser.open(opened)
        browser.wait("document.querySelectorAll('#fill-bars .bar-row').length === 5")
        browser.tab_to("#text-a")
        browser.evaluate("document.activeElement.select()")
        browser.press(*text, ENTER)
        tokens = f"[CLS]{text.replace(' ', '')}"
        browser.wait(f"document.querySelector('#tokens-strip').textContent.startsWith('{tokens}')")
        browser.wait("document.querySelectorAll('#attention-grid canvas').length > 1")
        browser.tab_to("#tab-attention")
        browser.press(RIGHT)
        browser.wait("document.querySelectorAll('#attribution-tokens .token').length > 3")
        browser.wait("!document.querySelector('[aria-busy=true]')")  # which is pale
        assert browser.complaints() == []


def test_a_model_is_published_from_the_page_and_opens_without_it(page: Page, tmp_path: Path) -> None:
    with serve(little_settings(tmp_path)) as (address, _):
        page.goto(f"{address}?space=runs&run.id=little")
        page.get_by_role("tab", name="Settings and files").click()
        page.locator("#run-publish > summary").click()
        with page.expect_download(timeout=240_000) as download:
            page.get_by_role("button", name="Publish as a web page").click()
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        expect(page.get_by_text("is among your downloads")).to_be_visible()
        assert file.name == "little.html"
        page.goto(f"{address}?model=little")  # in Explore the same file is there at once
        expect(page.locator("#fill-bars .bar-row").first).to_be_visible()  # the first example has closed the menus
        page.get_by_text("More", exact=True).click()
        page.get_by_text("Publish", exact=True).click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Publish as a web page").click()
        assert Path(download.value.path()).read_bytes() == file.read_bytes()
    open_published(page, file.as_uri())
    page.get_by_label("Text A").fill("The red [MASK] sat on the mat.")
    expect(page.locator("#fill-bars .bar-row")).to_have_count(5)
