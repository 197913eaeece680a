import dataclasses

import gradio as gr
import pytest

from bertviz_lab import InputError, PretrainConfig
from bertviz_lab.ui import controls
from bertviz_lab.ui.session import Session
from bertviz_lab.ui.tabs.pretrain import _NOT_ON_THE_PAGE, config_from, create_pretrain
from bertviz_lab.ui.texts import Text

FIELDS = [f.name for f in dataclasses.fields(PretrainConfig) if f.name != "corpus"]
TEXT = Text("Tiny Town", ("sample:tiny-town",), ())


def test_every_option_gets_an_input_that_suits_it() -> None:
    with gr.Blocks():
        drawn = controls.draw(PretrainConfig, FIELDS, {"preset": "tiny"})
    kinds = {name: type(component).__name__ for name, component in drawn.items()}
    assert list(kinds) == FIELDS
    assert kinds["preset"] == "Radio"
    assert kinds["lowercase"] == "Checkbox"
    assert kinds["seq_len"] == kinds["learning_rate"] == kinds["steps"] == "Number"
    assert kinds["time_budget"] == "Dropdown"
    assert drawn["preset"].value == "tiny"
    assert all(component.label and component.info for component in drawn.values())


def test_untouched_inputs_give_the_defaults() -> None:
    with gr.Blocks():
        drawn = controls.draw(PretrainConfig, FIELDS, {})
    values = controls.collect(PretrainConfig, FIELDS, [component.value for component in drawn.values()])
    assert PretrainConfig(corpus=("x",), **values) == PretrainConfig(corpus=("x",))


def test_an_emptied_number_means_its_default() -> None:
    assert controls.collect(PretrainConfig, ["steps", "seq_len"], [None, None]) == {"steps": None, "seq_len": 128}


def test_what_the_browser_sends_is_checked_again() -> None:
    with pytest.raises(InputError, match="Seq len must be a number"):
        controls.collect(PretrainConfig, ["seq_len"], ["many"])


def test_a_complaint_speaks_of_labels_not_of_flags(session: Session) -> None:
    names = ("preset", "seq_len")
    for values, words in ((("gigantic", 128), "Model size must be one of"), (("tiny", 10**9), "Seq len must lie")):
        with pytest.raises(InputError, match=words) as refused:
            config_from(session, TEXT, names, values)
        assert "--" not in str(refused.value)


def test_the_machine_is_not_the_visitors_to_set(session: Session) -> None:
    with gr.Blocks():
        form = create_pretrain(session)
    assert not set(form.names) & set(_NOT_ON_THE_PAGE)
    assert set(form.names) | set(_NOT_ON_THE_PAGE) == {f.name for f in dataclasses.fields(PretrainConfig)}
    defaults = [component.value for component in form.inputs[2:]]
    config = config_from(session, TEXT, form.names, defaults)
    assert config.threads == session.settings.threads
    assert (config.preset, config.time_budget) == ("tiny", "2m")


def test_a_short_run_is_saved_and_scored_often_enough_to_be_seen(session: Session) -> None:
    config = config_from(session, TEXT, ("time_budget",), ("30s",))
    assert config.checkpoint_every == 5.0
    assert config.eval_every == 3.0
    long = config_from(session, TEXT, ("time_budget",), ("3h",))
    assert long.checkpoint_every == PretrainConfig(corpus=("x",)).checkpoint_every
    wanted = config_from(session, TEXT, ("time_budget", "checkpoint_every"), ("30s", 20.0))
    assert wanted.checkpoint_every == 20.0
