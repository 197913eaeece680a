import dataclasses

import gradio as gr
import pytest

from bertviz_lab import FinetuneConfig, InputError, PretrainConfig
from bertviz_lab.config import RECIPES
from bertviz_lab.ui.forms import controls, options

FIELDS = [f.name for f in dataclasses.fields(PretrainConfig) if f.name != "corpus"]


def test_every_option_gets_an_input_that_suits_it() -> None:
    with gr.Blocks():
        drawn = controls.draw(PretrainConfig, FIELDS, {"preset": "tiny"})
    kinds = {name: type(component).__name__ for name, component in drawn.items()}
    assert list(kinds) == FIELDS
    assert kinds["preset"] == "Radio"
    assert kinds["lowercase"] == "Checkbox"
    assert kinds["seq_len"] == kinds["dropout"] == "Number"
    # Gradio turns an empty number into 0 as soon as it is seen.
    assert kinds["learning_rate"] == kinds["steps"] == "Textbox"
    assert kinds["time_budget"] == "Dropdown"
    assert drawn["preset"].value == "tiny"
    assert all(component.label and component.info for component in drawn.values())


def test_untouched_inputs_give_the_defaults() -> None:
    with gr.Blocks():
        drawn = controls.draw(PretrainConfig, FIELDS, {})
    values = controls.collect(PretrainConfig, FIELDS, [component.value for component in drawn.values()])
    assert PretrainConfig(corpus=("x",), **values) == PretrainConfig(corpus=("x",))


def test_an_emptied_field_is_left_to_the_recipe_unless_it_may_be_empty() -> None:
    assert controls.collect(PretrainConfig, ["steps", "seq_len", "text_field"], [None, None, ""]) == {"steps": None}
    assert controls.collect(PretrainConfig, ["learning_rate"], [""]) == {"learning_rate": None}


def test_numbers_may_come_as_text() -> None:
    names = ["steps", "learning_rate", "seq_len"]
    assert controls.collect(PretrainConfig, names, ["500", " 1e-3 ", 64.0]) == {
        "steps": 500,
        "learning_rate": 0.001,
        "seq_len": 64,
    }


@pytest.mark.parametrize("sent", ["many", [1], {"a": 1}])
def test_what_the_browser_sends_is_checked_again(sent: object) -> None:
    with pytest.raises(InputError, match='"Max sequence length" must be a number'):
        controls.collect(PretrainConfig, ["seq_len"], [sent])


def test_every_setting_has_words_for_the_page() -> None:
    on_the_page = set(FIELDS) - set(options.NOT_ON_THE_PAGE)
    tuning = {f.name for f in dataclasses.fields(FinetuneConfig)} - set(options.TUNING_NOT_ON_THE_PAGE)
    assert set(options.LABELS) == set(options.HELP) == on_the_page | tuning
    assert set(options.RECIPES) == set(RECIPES)
    grouped = [name for _, _, names in options.GROUPS for name in names]
    assert sorted([*grouped, *options.IN_VIEW]) == sorted(on_the_page)
    assert all(text.endswith(".") for text in (*options.HELP.values(), *options.RECIPES.values()))


def test_a_complaint_speaks_of_labels_not_of_flags() -> None:
    said = controls.in_page_words(PretrainConfig, "--short-seq-len 9 is longer than --seq-len; go on with --resume.")
    assert said == '"Initial sequence length" 9 is longer than "Max sequence length"; go on with "Resume training".'
