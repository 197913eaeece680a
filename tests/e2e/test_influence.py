"""Influence, the tuned lens and probes on the real page: what a person presses, waits for and sees."""

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.browser import PageLog, at_rest, complaints, data_table, expect_marks, reload
from tests.training.support import finish, short_run, write_text
from tests.ui.pages import Served, little_settings, serve

RUN = "calm-otter-0123456789abcdef"
TEXT = "The cat sat on the [MASK]."


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A page with a short run that has snapshots, on which lenses are fitted on the stories."""
    scratch = tmp_path_factory.mktemp("influence")
    settings = little_settings(scratch)
    finish(short_run(write_text(scratch / "text.txt"), steps=20), settings.runs_dir / RUN)
    with pytest.MonkeyPatch.context() as patch, serve(settings) as served:
        patch.setattr("bertviz_lab.ui.views.layers.view._SAMPLE", "sample:tiny-town")
        yield served


def visit(page: Page, served: Served, view: str, model: str = RUN, **more: str) -> None:
    asked = {"model": model, "text_a": TEXT, "explore.open": view} | more
    page.goto(f"{served[0]}?{urlencode(asked)}")
    page.locator(f"#tab-{view}").click(timeout=60_000)
    expect(page.locator(f"#panel-{view}")).to_be_visible()


def test_sentences_are_found_left_out_and_both_predictions_shown(page: Page, page_log: PageLog, served: Served) -> None:
    visit(page, served, "influence")
    facts, tracin, bm25 = (page.locator(f"#influence-{name}") for name in ("facts", "tracin", "bm25"))
    expect(tracin).to_be_hidden()
    page.locator("#influence-choice").fill("mat")
    page.locator("#influence-choice").press("Enter")
    page.locator("#influence-find").focus()
    page.keyboard.press("Enter")
    expect(tracin).to_contain_text("TracIn: sentences that taught mat", timeout=60_000)
    expect(facts).to_contain_text("Prediction explained")
    expect_marks(tracin, 20)
    expect(data_table(bm25).locator("tr").first).to_contain_text("the cat sat on the mat.")
    # Another prediction has other sentences, and until they are asked for there are none.
    page.locator("#influence-choice").fill("river")
    page.locator("#influence-choice").press("Enter")
    expect(tracin).to_be_hidden()
    page.locator("#influence-find").click()
    expect(tracin).to_contain_text("sentences that taught river", timeout=60_000)
    page.locator("#influence-count").fill("3")
    page.locator("#influence-steps").fill("4")
    page.locator("#influence-steps").press("Enter")
    page.locator("#influence-train").click()
    after = page.locator("#influence-after")
    expect(after).to_contain_text("3 left out by TracIn", timeout=120_000)
    expect(after).to_contain_text("river")
    reload(page, page_log)
    expect(page.locator("#influence-after")).to_contain_text("3 left out by TracIn", timeout=60_000)


def test_a_model_without_snapshots_says_which_has_some(page: Page, served: Served) -> None:
    visit(page, served, "influence", model="little")
    page.locator("#influence-find").click()
    expect(page.locator("#influence-facts")).to_contain_text("choose tiny-town, or a model that you pretrained here")


def test_the_lens_is_switched_and_fitted_and_layers_are_probed(page: Page, page_log: PageLog, served: Served) -> None:
    visit(page, served, "layers")
    lens, fit = page.locator("#lens"), page.locator("#lens-fit")
    expect(lens).to_contain_text("Logit lens: the prediction at every layer", timeout=60_000)
    page.locator("#lens-kind").focus()
    page.keyboard.press("End")
    expect(page.locator("#lens-offer")).to_be_visible()
    expect(lens).to_be_hidden()
    page.locator("#lens-fit-button").click()
    expect(lens).to_contain_text("Tuned lens: the prediction at every layer", timeout=60_000)
    expect(fit).to_contain_text("KL divergence in nats")
    reload(page, page_log)
    expect(page.locator("#lens")).to_contain_text("Tuned lens", timeout=60_000)
    page.locator("#lens-kind").select_option("logit")
    expect(lens).to_contain_text("Logit lens: the prediction at every layer")
    expect(fit).to_be_hidden()
    page.locator("#layers-probes > summary").click()
    probes = page.locator("#probes-by-layer")
    expect(probes).to_contain_text("Probes: Number of the subject", timeout=60_000)
    page.locator("#layers-probes_training > summary").click()
    training = page.locator("#probes-over-training")
    expect(training).to_contain_text("Probes over training: Number of the subject", timeout=60_000)
    page.locator("#probes-task").select_option("gender")
    expect(probes).to_contain_text("Probes: Gender of a person", timeout=60_000)
    expect(training).to_contain_text("Probes over training: Gender of a person", timeout=60_000)
    page.locator("#probes-measure").select_option("accuracy")
    expect(training).to_contain_text("Accuracy in percent")


def test_axe_finds_nothing(page: Page, served: Served, screen: str) -> None:
    folds = dict.fromkeys(("layers.probes", "layers.probes_training"), "open")
    visit(page, served, "layers", **folds, **{"__theme": screen})
    expect(page.locator("#probes-over-training .heading")).to_be_visible(timeout=60_000)
    at_rest(page)
    assert complaints(page, "panel-layers") == []
    visit(page, served, "influence", **{"__theme": screen})
    page.locator("#influence-find").click()
    expect(page.locator("#influence-bm25 .heading")).to_be_visible(timeout=60_000)
    at_rest(page)
    assert complaints(page, "panel-influence") == []
