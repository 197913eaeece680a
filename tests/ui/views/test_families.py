"""Every question of the page about a model has an answer on every family, or one sentence that says what is lacking."""

from typing import Any

import pytest

from bertviz_lab import InputError
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views import VIEWS
from tests.family_checkpoints import MODEL_TYPES, family_folder

#: What a view may ask of a model, by the arguments' names. A question with another one needs a run or a click.
GIVEN: dict[str, Any] = {
    "text_b": "the small dog ran",
    "position": 2,
    "top_k": 3,
    "word": "the",
    "of": "hidden",
    "pooling": "auto",
    "kind": "token",
    "against": "causal",
    "draws": "100",
    "masks": "dynamic",
    "settings": {"rate": 15, "mask": 80, "random": 10, "unit": "words", "seed": 0},
    "lines": "the cat\na dog",
    "lines_a": "the cat\na dog",
    "other": "little",
    "hidden": [],
}
#: What is refused for a reason that a family gives.
LACKING = ("not pretrained on next-sentence prediction", "has not been fine-tuned for a task")


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_every_view_answers(model_type, session: AppState):
    folder = family_folder(model_type, session.settings.checkpoints / model_type)
    mask = session.models.open(str(folder.name)).tokenizer.special.mask
    given = GIVEN | {"model": model_type, "text_a": f"the red {mask} sat"}
    asked, refused = [], {}
    for view in VIEWS:
        for name, question in view.questions.items():
            if "model" not in question.arguments or not question.arguments <= given.keys():
                continue
            asked.append(f"{view.id}.{name}")
            try:
                question.ask(session, {key: given[key] for key in question.arguments})
            except InputError as error:
                refused[asked[-1]] = str(error)
    assert len(asked) > 15
    unexplained = {name: text for name, text in refused.items() if not any(reason in text for reason in LACKING)}
    assert not unexplained
    assert {"attention.attention", "predictions.mlm", "layers.lens", "tokens.split"} <= {*asked} - refused.keys()
