"""What a newcomer comes for, at 1440 x 900: at most five clicks on what is in sight, and the answer in sight."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, Page, expect

from bertviz_lab import FinetuneConfig, PretrainConfig, interpret
from bertviz_lab.training.checkpoints.atomic_io import write_json
from bertviz_lab.training.finetuning.finetune import finetune
from bertviz_lab.training.runs.run_folder import RunState, record, write_state
from bertviz_lab.ui.settings import Settings
from tests.browser import at_rest
from tests.little import little_text
from tests.ui.finetuned import write_reviews
from tests.ui.pages import Served, serve

WINDOW = (1440, 900)
MOST_CLICKS = 5
TRAINING = 120_000  # milliseconds until a short training on a busy machine has ended
VERB = "The two dogs of the old man [MASK] in the garden."


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page with the models that come with the lab."""
    with serve(Settings(runs_dir=tmp_path_factory.mktemp("goals"))) as served:
        yield served


@dataclass
class Newcomer:
    """Somebody who clicks on what is in the window."""

    page: Page
    clicks: int = 0

    def visit(self, address: str, **query: str) -> None:
        self.page.set_viewport_size(dict(zip(("width", "height"), WINDOW, strict=True)))  # type: ignore[arg-type]
        self.page.goto(f"{address}?{urlencode(query)}")

    def click(self, target: Locator) -> None:
        self.see(target)
        target.click()
        self.clicks += 1

    def click_cell(self, picture: Locator, across: float, down: float) -> None:
        """Click at shares of the width and of the height of a picture."""
        box = self.see(picture)
        self.page.mouse.click(box["x"] + across * box["width"], box["y"] + down * box["height"])
        self.clicks += 1

    def see(self, target: Locator) -> dict[str, float]:
        """Find all of it in the window as it is, and return its box."""
        expect(target).to_be_visible(timeout=TRAINING)
        at_rest(self.page)
        box = target.bounding_box()
        assert box
        assert box["x"] >= 0, (target, box)
        assert box["y"] >= 0, (target, box)
        assert box["x"] + box["width"] <= WINDOW[0], (target, box)
        assert box["y"] + box["height"] <= WINDOW[1], (target, box)
        return dict(box)

    def has_arrived(self) -> None:
        assert self.clicks <= MOST_CLICKS
        assert self.page.evaluate("() => scrollY") < WINDOW[1]


@pytest.fixture
def newcomer(page: Page) -> Newcomer:
    return Newcomer(page)


def test_the_verb_is_masked_and_the_head_that_looks_at_the_subject_is_found(newcomer: Newcomer, served: Served) -> None:
    address, session = served
    page = newcomer.page
    newcomer.visit(address, model="wiki-mini", text_a=VERB.replace("[MASK]", "sleep"))
    newcomer.click(page.locator("#fill-bars").get_by_role("button", name="sleep", exact=True))
    expect(page.locator("#text-a")).to_have_value(VERB)
    grid = page.locator("#attention-grid")
    newcomer.see(grid.locator(".all .grid"))
    trace = interpret.trace_text(session.models.open("wiki-mini"), VERB)
    verb, subject, size = trace.tokens.index("[MASK]"), trace.tokens.index("dogs"), len(trace.tokens)
    newcomer.click_cell(grid.locator(".map > canvas"), (subject + 0.5) / size, (verb + 0.5) / size)
    expect(grid.locator(".readout")).to_contain_text(f"from [MASK] ({verb}) to dogs ({subject})")
    sort = grid.get_by_label("Sort heads")
    newcomer.click(sort)
    page.keyboard.press("Escape")
    sort.select_option(f"weight from [MASK] ({verb}) to dogs ({subject})")
    newcomer.clicks += 1  # on the option
    weights = trace.attentions[:, :, verb, subject]
    layer, head = divmod(int(weights.argmax()), weights.shape[1])
    first = grid.locator(".ranked").first
    expect(first.locator(".name")).to_have_text(f"{layer + 1}.{head + 1} · {weights.max():.2f}")
    newcomer.see(first)
    newcomer.click(first.locator("canvas"))
    name = grid.locator(".one .heading").first
    expect(name).to_have_text(f"Layer {layer + 1} of {len(weights)}, head {head + 1} of {weights.shape[1]}")
    for answer in (name, grid.locator(".map > canvas"), grid.locator(".readout")):
        newcomer.see(answer)
    newcomer.has_arrived()


def test_a_file_is_trained_on_and_the_page_says_since_when_it_is_better_than_guessing(
    newcomer: Newcomer, served: Served, tmp_path: Path
) -> None:
    page = newcomer.page
    newcomer.visit(served[0])
    newcomer.click(page.locator("#space-tabs").get_by_role("tab", name="Train", exact=True))
    path = tmp_path / "book.txt"
    path.write_text(little_text(400), encoding="utf-8")
    file = page.locator("#text-files input[type=file]")
    with page.expect_file_chooser() as chooser:
        newcomer.click(file)
    chooser.value.set_files(path)
    expect(page.locator("#text-health")).to_contain_text("Sentences", timeout=TRAINING)
    page.locator("#option-time_budget input").fill("20s")  # the default is two minutes
    newcomer.click(page.locator("#train"))
    chart = page.locator("#pretrain-chart")
    expect(chart.locator(".state")).to_contain_text(re.compile(r"MLM accuracy since step \d"), timeout=TRAINING)
    for answer in (chart.locator(".state"), chart.locator("[data-panel=accuracy]")):
        newcomer.see(answer)
    expect(chart.locator(".stage")).to_contain_text("Finished", timeout=TRAINING)
    expect(chart.locator(".state")).to_contain_text(re.compile(r"Better than guessing: MLM accuracy since step \d"))
    newcomer.see(chart.locator(".state"))
    newcomer.has_arrived()


def test_the_worst_mistake_of_a_classifier_is_explained(newcomer: Newcomer, served: Served, tmp_path: Path) -> None:
    address, session = served
    page = newcomer.page
    folder = session.settings.runs_dir / "sharp-otter-0123456789abcdef"
    folder.mkdir(parents=True)
    path = write_reviews(tmp_path / "reviews.csv", 80)
    lines = path.read_text(encoding="utf-8").splitlines()
    wrong = {"good": "bad", "bad": "good"}
    lines[1::9] = [f"{text},{wrong[label]}" for text, label in (line.split(",") for line in lines[1::9])]
    path.write_text("\n".join(lines), encoding="utf-8")
    config = FinetuneConfig(train=(str(path),), model="wiki-tiny", epochs=2, batch_size=8, eval_share=0.4, threads=1)
    for _ in record(finetune(config, folder), folder):
        pass
    results = interpret.read_results(folder)
    worst = results.picked()[0]
    assert results.example_scores[worst] == 0
    newcomer.visit(address)
    newcomer.click(page.locator("#space-tabs").get_by_role("tab", name="Runs", exact=True))
    newcomer.click(page.locator("#runs-table .name", has_text="sharp-otter"))
    first = page.locator("#run-list [role=option]").first
    expect(first).to_contain_text(results.examples[worst].text_a)
    newcomer.click(first)
    why = page.locator("#run-attribution")
    expect(why).to_contain_text("rather than", timeout=TRAINING)
    for answer in (page.locator("#run-summary .lead"), first, why.locator(".heading").first, why.locator(".lines")):
        newcomer.see(answer)
    newcomer.has_arrived()


def test_of_two_runs_the_better_one_is_named_and_since_when(newcomer: Newcomer, served: Served) -> None:
    address, session = served
    page = newcomer.page
    for name, accuracies in (("calm-fox", (0.1, 0.3, 0.31)), ("kind-otter", (0.2, 0.25, 0.42))):
        write_run(session.settings.runs_dir / f"{name}-0123456789abcdef", accuracies)
    newcomer.visit(address)
    newcomer.click(page.locator("#space-tabs").get_by_role("tab", name="Runs", exact=True))
    newcomer.click(page.locator("#tab-compare"))
    comparison = page.locator("#compare-runs")
    verdict = comparison.locator(".lead")
    expect(verdict).to_have_text(
        "kind-otter is better by MLM accuracy: kind-otter 42.0%, calm-fox 31.0%. "
        "It has been ahead since step 300 (5 min 0 s)."
    )
    newcomer.see(verdict)
    newcomer.see(comparison.locator(".plotly-host"))
    newcomer.has_arrived()


def write_run(folder: Path, accuracies: tuple[float, ...]) -> None:
    """Write a pretraining run that was evaluated every hundred steps."""
    folder.mkdir(parents=True)
    config = PretrainConfig(corpus=("sample:tiny-town",), preset="tiny" if "fox" in folder.name else "mini")
    write_json(folder / "config.json", config.to_dict())
    rows = [{"event": "RunStarted", "step": 0, "objective": "mlm+nsp", "parameters": 1000, "baselines": {}}]
    for place, accuracy in enumerate(accuracies, 1):
        at = {"step": 100 * place, "seconds": 100.0 * place, "tokens": 1000 * place, "mlm_accuracy": accuracy}
        rows += [{"event": "StepDone", **at}, {"event": "EvalDone", **at}]
    (folder / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    write_state(folder, RunState("finished", step=100 * len(accuracies)))
