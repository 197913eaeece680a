"""What the lessons say is true of the models that ship, and every place that they lead to is there."""

import dataclasses
import html
import json
import re
from importlib import resources
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest

from bertviz_lab import InputError
from bertviz_lab.data.pretraining.batches import masking_rule
from bertviz_lab.data.samples.task_samples import TASK_SAMPLES
from bertviz_lab.interpret import fill_mask, mask_text, masked_loss, trace_text, untrained
from bertviz_lab.ui.lessons import LESSONS, Choice, Lesson, Place, claims, encoder_claims, training_claims
from bertviz_lab.ui.lessons.lesson import CASES
from bertviz_lab.ui.lessons.measuring import CLAIMS, Measured, handout_page, measure
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.attribution import view as attribution_view
from bertviz_lab.ui.views.lessons import view as lessons_view
from tests.charts import shown
from tests.ui.pages import PageReader, little_settings

each_lesson = pytest.mark.parametrize("each", LESSONS, ids=lambda each: f"lesson {each.number}")


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> AppState:
    """The models that come with the lab."""
    return AppState(Settings(runs_dir=tmp_path_factory.mktemp("runs")))


def asked(state: AppState, name: str, **arguments: Any) -> Any:
    """The answer to a question of Learn."""
    return lessons_view.QUESTIONS[name].ask(state, arguments)


@each_lesson
def test_a_lesson_s_claim_is_measured_on_its_own_text_and_holds_on_most_others(shipped: AppState, each: Lesson) -> None:
    found = measure(shipped, each)
    assert found.answer == each.answer
    assert [text for text in found.paragraphs if "{" in text or not text] == []
    assert all(0 <= share <= 1 and name and words for name, share, words in found.finding.bars)
    held = found.finding.held
    assert sum(held) >= 0.8 * len(held)
    assert len(held) >= 3
    assert found.paragraphs[-1].startswith(f"This holds for {sum(held)} of {len(held)} ")


def test_samples_have_the_names_that_fine_tune_shows() -> None:
    steps = [step.text for each in LESSONS for step in (*each.look, *each.proof) if "sample" in step.text]
    named = [name for text in steps for name in re.findall("“(.+?)”", text) if name != "Fine-tune"]
    assert set(named) <= {sample.title for sample in TASK_SAMPLES.values()}
    assert "Named entities" in named


@pytest.mark.parametrize("number", [1, 2, 3, 5, 8, 11])
def test_it_would_not_be_measured_on_a_model_that_has_learnt_nothing(shipped: AppState, number: int) -> None:
    each = LESSONS[number - 1]
    random = untrained(shipped.models.open(each.model))
    stranger: Any = SimpleNamespace(
        models=SimpleNamespace(open=lambda _: random), snapshots=SimpleNamespace(choices=lambda own: [])
    )
    finding = CLAIMS[each.number](stranger, each)
    assert finding.answer != each.answer
    assert not finding.held or fmean(finding.held) < 0.8  # it predicts no pair as next
    assert "with other predictions" in Measured(each, finding).paragraphs[0]


def test_the_numbers_of_the_first_lesson_are_what_fill_mask_says(shipped: AppState) -> None:
    found, english = measure(shipped, LESSONS[0]), shipped.models.open("wiki-mini")
    place = found.lesson.look[0].place
    for causal in (False, True):
        word = fill_mask(english, place.text_a, 1, word=place.settings["word"], causal=causal).masks[0].asked
        assert word is not None
        assert f"{word.probability:.1%}" in found.paragraphs[0], causal


def test_the_page_shows_what_the_lesson_says_of_tokens_that_are_not_masked(shipped: AppState) -> None:
    """The two steps lead to nine in ten tokens of its sentence, each of them unchanged."""
    found = measure(shipped, LESSONS[1])
    shares = []
    for step in found.proof[:2]:
        checkpoint = shipped.models.open(step.place.model or found.lesson.model)
        rate, mask, random = (float(step.place.settings[name]) / 100 for name in ("rate", "mask", "random"))
        rule = masking_rule(checkpoint.tokenizer, rate, mask_share=mask, random_share=random)
        masked = mask_text(checkpoint.tokenizer, step.place.text_a, seed=int(step.place.settings["seed"]), rule=rule)
        assert masked.input_ids == masked.encoding.ids
        losses = masked_loss(checkpoint, masked)
        shares.append(np.mean([at.guess.token == masked.encoding.tokens[at.position] for at in losses.positions]))
    only, own = shares
    told_own, told_only = (share for _, share, _ in found.finding.bars)
    assert (own, only) == pytest.approx((told_own, told_only), abs=0.1)


def test_the_view_shows_what_the_lesson_says_of_segment_ids(shipped: AppState) -> None:
    numbers, (text_a, text_b) = measure(shipped, LESSONS[2]).finding.numbers, CASES["pairs"][0]
    named = {"model": LESSONS[2].model, "text_a": text_a, "text_b": text_b, "kind": "next", "position": None}
    named |= {"choice": "", "contrast": "", "ablated": [], "causal": False}
    for segments, name in (("zero", "zero"), ("swapped", "swapped")):
        answer = attribution_view.QUESTIONS["intervention"].ask(shipped, named | {"segments": segments})
        body = json.dumps(shown(answer["chart"]))
        assert numbers["own"] in body
        assert numbers[name] in body


def test_what_a_head_reads_is_its_weights_times_the_value_vectors(shipped: AppState) -> None:
    """They are what the layer adds up: with one token all weight, its vector is the projection."""
    english = shipped.models.open("wiki-mini")
    trace = trace_text(english, CASES["plain"][0])
    model: Any = english.model
    vectors = claims.value_vectors(english, trace)
    for number, (layer, of_layer) in enumerate(zip(model.bert.encoder.layers, trace.layers, strict=True)):
        alone = of_layer.value_states.clone()
        alone[:, 1:] = 0  # the first head, each token attending to itself alone
        read = alone.transpose(1, 2).flatten(2) @ layer.attention.output.weight.detach().T
        assert vectors[number, 0] == pytest.approx(read[0].numpy(), abs=1e-4)
        whole = (trace.attentions[number][..., None] * vectors[number][:, None]).sum((0, 2))  # of all heads
        bias = layer.attention.output.bias.detach().numpy()
        assert whole + bias == pytest.approx(of_layer.attention_projection[0].numpy(), abs=1e-3)


def test_a_model_without_its_log_has_no_curve(shipped: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AppState, "log_of", lambda *_: [])
    with pytest.raises(InputError, match="no training log"):
        training_claims.curves(shipped, LESSONS[6])


def test_each_lesson_has_its_number_and_its_claim() -> None:
    assert [each.number for each in LESSONS] == list(range(1, len(LESSONS) + 1)) == list(CLAIMS)


@each_lesson
def test_every_place_is_on_the_page(shipped: AppState, each: Lesson) -> None:
    """The view, the fold and the settings are those that the view's script has."""
    for step in measure(shipped, each).steps:
        place = step.place
        if place.space == "train":  # where nothing is filled in
            assert place == Place(place.view)
            continue
        ui = resources.files("bertviz_lab.ui")
        script = (ui / "views" / place.view / "view.js").read_text(encoding="utf-8")
        if place.view == "attention":  # whose grid keeps settings of its own
            script += (ui / "components" / "attention" / "attention_grid.js").read_text(encoding="utf-8")
        if place.view in ("attribution", "causes"):
            script += (ui / "views" / "attribution" / "target.js").read_text(encoding="utf-8")
        named = (f"panel.fold('{place.part}'", f"panel.foldOf('{place.part}'", f", '{place.part}');")
        assert not place.part or any(words in script for words in named)
        assert [name for name in place.settings if not re.search(rf"\b{name}\b", script)] == []
        assert place.space == "explore" or (place.text_a, place.text_b, place.other) == ("", "", "")


@each_lesson
def test_the_code_of_a_lesson_is_the_package_s_own_and_its_notebook_is_there(shipped: AppState, each: Lesson) -> None:
    place, lines = each.source_code()
    assert lines in html.unescape(asked(shipped, "measured", number=each.number))
    named = re.fullmatch(r"(\S+), line (\d+)\. Step by step: (\S+\.ipynb)", place)
    assert named
    path, line, notebook = named.groups()
    root = Path(__file__).parents[2]
    assert (root / notebook).is_file()
    written = (root / path).read_text(encoding="utf-8").splitlines()[int(line) - 1 :]
    assert [row.strip() for row in lines.splitlines()] == [row.strip() for row in written[: len(lines.splitlines())]]
    assert 3 < len(lines.splitlines()) < 60  # a page, not a chapter


def test_a_place_sets_the_whole_input_of_explore_and_leaves_it_alone_elsewhere() -> None:
    """What it does not name is empty, not what was there before."""
    place = Place("attribution", "A [MASK].", part="heads", settings={"choice": "x", "ablated": "0.1"}, other="before")
    assert place.opening("toy") == {
        "space": "explore",
        "show": "attribution",
        "part": "heads",
        "input": {"model": "toy", "other": "before", "text_a": "A [MASK].", "text_b": ""},
        "settings": {"attribution.choice": "x", "attribution.ablated": "0.1"},
    }
    assert Place("dynamics", settings={"run": "toy"}).opening("toy") == {
        "space": "runs", "show": "dynamics", "part": "", "settings": {"dynamics.run": "toy"}
    }  # fmt: skip


def test_a_place_is_filled_in_with_what_was_measured(shipped: AppState) -> None:
    heads = measure(shipped, LESSONS[4])
    ablated = [step.place.settings["ablated"] for step in heads.steps if "ablated" in step.place.settings]
    assert ablated == [heads.finding.numbers["ablated"]]
    assert re.fullmatch(r"[01]\.[01]", ablated[0])
    trap = measure(shipped, LESSONS[5])
    assert trap.proof[-1].place.text_a == trap.finding.numbers["trap"]


def test_a_place_has_an_address() -> None:
    place = Place("attribution", "A [MASK].", part="heads", settings={"choice": "x"})
    assert dict(parse_qsl(place.address("toy").removeprefix("?"))) == {
        "space": "explore", "model": "toy", "text_a": "A [MASK].", "explore.open": "attribution",
        "attribution.choice": "x", "attribution.heads": "open", "show": "attribution", "part": "heads",
    }  # fmt: skip


def test_without_its_model_a_lesson_can_be_read_and_says_so(tmp_path: Path) -> None:
    state = AppState(little_settings(tmp_path))
    assert all("has no model" in each["page"] for each in asked(state, "lessons"))
    with pytest.raises(InputError, match="has no model wiki-mini"):
        asked(state, "measured", number=1)


@pytest.mark.parametrize("number", ["x", 99, 0])
def test_a_number_that_is_none_is_answered_in_a_sentence(shipped: AppState, number: Any) -> None:
    with pytest.raises(InputError, match="number: "):
        asked(shipped, "measured", number=number)


def test_the_leaders_handout_asks_everything_before_it_answers(shipped: AppState) -> None:
    answers = [measure(shipped, each) for each in LESSONS]
    page = PageReader(handout_page(LESSONS, answers, "http://lab.example:7860/"))
    questions, answered = page.words.split("Answers", 1)
    for each in LESSONS:
        assert each.example in questions
        assert each.question.replace("`", "") in questions
        assert each.choices[each.answer].text.replace("`", "") in answered
        assert measure(shipped, each).paragraphs[0].replace("`", "") in answered
    assert "http://lab.example:7860/?lesson=1" in questions
    assert page.addresses == []  # nothing from outside


def test_a_text_in_the_handout_is_only_text() -> None:
    each = dataclasses.replace(LESSONS[0], title="<b>x</b>", question="`a` < b & c", choices=(Choice("<u>"),))
    page = handout_page([each], [])
    assert "<b>x</b>" not in page
    assert "<code>a</code> &lt; b &amp; c" in page
    assert "<u>" not in page


def test_counting_operations_hooks_into_no_other_model(shipped: AppState, monkeypatch) -> None:
    """The library's tracker of modules would follow what other threads compute, and make that fail."""
    monkeypatch.setattr("torch.utils.module_tracker.ModuleTracker.__enter__", lambda self: pytest.fail("hooks"))
    assert any(encoder_claims.family(shipped, LESSONS[13]).held)
