"""Every question of the page about a model has an answer on every family, and what a family lacks is said."""

from typing import Any

import pytest

from bertviz_lab import InputError
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views import VIEWS
from tests.charts import shown
from tests.family_checkpoints import MODEL_TYPES, family_folder
from tests.little import little_folder
from tests.ui.pages import little_settings

pytestmark = pytest.mark.slow

A, B = "the red {mask} sat on the mat", "the small dog ran"

#: What a view may ask of a model, by the arguments' names.
GIVEN: dict[str, Any] = {
    "text_b": B, "position": 2, "top_k": 3, "word": "the", "of": "hidden", "pooling": "auto", "kind": "token",
    "shown": "score", "against": "model", "other_text": "", "choice": "", "contrast": "", "ablated": [[0, 1]],
    "causal": True, "segments": "swapped", "draws": "100", "masks": "dynamic", "lines": "the cat\na dog",
    "settings": {"rate": 15, "mask": 80, "random": 10, "unit": "words", "seed": 0}, "other": "little",
    "corruption": "mask", "changed": 1, "replacement": "", "direction": "noising",
    "component": "head", "layer": 0, "index": 1, "method": "ALTI", "positions": 9,
    "texts": [], "task": "subject", "measure": "accuracy",
    "prediction": {"kind": "token", "position": 2, "choice": "", "contrast": "", "candidates": 100},
    "by": "random", "count": 1, "steps": None, "threshold": 0.05,
}  # fmt: skip
#: Of a model with an MLM head alone: what is refused, and the reason that its family gives.
REFUSED = {
    "predictions.nsp": "was not pretrained on next-sentence prediction",
    "predictions.task": "has not been fine-tuned for a task",
}
#: Questions about the hub, about runs and their snapshots, about a file, one that trains for seconds, and those about a
#: corpus, of which tests/interpret/test_corpus.py makes an index with every family.
NOT_OF_A_MODEL = {
    *("corpus.corpora", "corpus.heads", "corpus.pairs", "corpus.neurons", "corpus.training"),
    *("publish.page", "publish.push"),
    *("influence.influence", "influence.leave_out", "influence.retrained"),
    *("layers.probes_over_training", "layers.fit_lens"),
    *("explore.download", "compare.comparison", "compare.probes", "ablation.train", "batch.predict"),
}
TERMS = {
    "deberta-v2": ("content_to_content", "content_to_position", "position_to_content"),
    "mpnet": ("query_key", "relative_bias"),
}
QUESTIONS = {f"{view.id}.{name}": question for view in VIEWS for name, question in view.questions.items()}
every_family = pytest.mark.parametrize("model_type", MODEL_TYPES)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> AppState:
    """One for all tests: none of them changes anything, and models are opened once."""
    return AppState(little_settings(tmp_path_factory.mktemp("families")))


class Lab:
    """The page's questions about one model, beside the little BERT."""

    def __init__(self, session: AppState, model_type: str, head: str = "MaskedLM", **changes: Any) -> None:
        folder = session.settings.checkpoints / f"{model_type}-{head}"
        if not folder.exists():
            family_folder(model_type, folder, head, **changes)
        self.session, self.model = session, folder.name
        self.checkpoint = session.models.open(self.model)
        self.config, self.tokenizer = self.checkpoint.config, self.checkpoint.tokenizer
        self.given = GIVEN | {"model": self.model, "text_a": A.format(mask=self.tokenizer.special.mask)}
        self.given["names"] = [self.model, "little"]

    def ask(self, name: str, **more: Any) -> Any:
        arguments = {key: value for key, value in (self.given | more).items() if key in QUESTIONS[name].arguments}
        assert arguments.keys() == QUESTIONS[name].arguments, name
        answer = QUESTIONS[name].ask(self.session, arguments)
        return shown(answer) if isinstance(answer, dict) or str(answer).startswith("{") else answer

    def refusals(self) -> dict[str, str]:
        """Ask everything that is about a model; the sentence of each question that is refused."""
        about = {name for name, question in QUESTIONS.items() if {"model", "names"} & question.arguments}
        refused = {}
        for name in sorted(about - NOT_OF_A_MODEL):
            try:
                self.ask(name)
            except InputError as error:
                refused[name] = str(error)
        return refused


@every_family
def test_every_view_answers(model_type: str, session: AppState) -> None:
    refused = Lab(session, model_type).refusals()
    assert refused.keys() == REFUSED.keys(), refused
    for name, reason in REFUSED.items():
        assert reason in refused[name]


@pytest.mark.parametrize(
    ("model_type", "head", "changes"),
    [
        ("electra", "ReplacedTokenDetection", {}),
        ("modernbert", "SequenceClassification", {"classifier_pooling": "mean"}),
        ("deberta-v2", "TokenClassification", {}),
    ],
)
def test_what_needs_a_masked_lm_head_says_so(
    model_type: str, head: str, changes: dict[str, Any], session: AppState
) -> None:
    lab = Lab(session, model_type, head, **changes)
    refused = lab.refusals()
    is_task = head != "ReplacedTokenDetection"
    of_predictions = {f"predictions.{name}" for name in ("mlm", "joint", "surprisal", "compare")}
    needs_mlm = {"tokens.loss", "layers.lens", "compare.predictions", *of_predictions}
    assert needs_mlm <= refused.keys()
    assert all("no masked-LM head" in refused[name] for name in needs_mlm)
    assert ("predictions.task" in refused) != is_task
    assert ("attribution.attribution" in refused) != is_task
    assert "attention.attention" not in refused
    assert lab.ask("predictions.heads")["note"].startswith("" if is_task else "This model detects replaced tokens")


@every_family
def test_what_a_family_lacks_is_left_out_and_said(model_type: str, session: AppState) -> None:
    lab = Lab(session, model_type)
    config, no_segments = lab.config, "no segment embeddings"
    strip = lab.ask("tokens.tokens")
    labels = [row["label"] for row in strip["rows"]]
    assert ("segment" in labels, "text" in labels) == (config.has_segments, not config.has_segments)
    assert (no_segments in strip["sentence"]) == (not config.has_segments)
    facts = str(shown(lab.ask("attribution.intervention", ablated=[], causal=False, segments="swapped")["facts"]))
    assert ("segment ids swapped" in facts, no_segments in facts) == (config.has_segments, not config.has_segments)
    summed = lab.ask("layers.embedding_sum")
    parts = ["token", *["segment"] * (config.type_vocab_size > 0), *["position"] * config.position_biased_input]
    assert summed["title"] == (" + ".join(parts) if len(parts) > 1 else "Token embedding")
    assert [row["label"] for row in summed["rows"]][: len(parts)] == [f"norm {part}" for part in parts]
    for name in ("layers.norms", "layers.token_norms"):
        assert ("residual stream" in lab.ask(name)["note"]) == (model_type == "modernbert")
    about = lab.ask("explore.about")
    assert dict(about["items"])["Family"] == config.family.title
    assert about["more"]["lines"][0].startswith(f"What {config.family.title} changed:")


@every_family
def test_examples_have_the_masked_token_of_the_model(model_type: str, session: AppState) -> None:
    lab = Lab(session, model_type)
    masked = [text for text, other in lab.ask("explore.examples") if not other]
    assert masked
    assert all(lab.tokenizer.special.mask in text for text in masked)
    assert "masked" in [column["kind"] for column in lab.ask("tokens.tokens", text_a=masked[0])["columns"]]


@every_family
def test_the_grid_shows_each_term_of_the_scores_and_explains_a_pair(model_type: str, session: AppState) -> None:
    lab = Lab(session, model_type)
    names = [name for name, _ in lab.ask("attention.attention")["choices"]]
    assert names == ["weights", "score", *TERMS.get(model_type, ())]
    bodies = {name: lab.ask("attention.attention", shown=name) for name in names}
    assert [body["shown"] for body in bodies.values()] == names
    assert {name: body["number"] for name, body in bodies.items()} == {name: "score" for name in names} | {
        "weights": "weight"
    }
    chart = lab.ask("attention.query_key", key=bodies["score"]["key"], layer=0, head=1, row=2, column=4)
    assert sum(chart["marked"]) == {"deberta-v2": 2, "mpnet": 1}.get(model_type, 0)
    assert ("rotary" in chart["note"]) == (model_type == "modernbert")
    assert ("√(3 × 16)" in chart["sentence"]) == (model_type == "deberta-v2")
    lacking = lab.ask("attention.attention", shown="content_to_position")
    assert lacking["shown"] == ("content_to_position" if model_type == "deberta-v2" else "weights")


def test_local_attention_is_drawn_and_said(session: AppState) -> None:
    lab = Lab(session, "modernbert")
    body = lab.ask("attention.attention", shown="weights")
    assert body["windows"] == [None, 4]
    assert "Layer 2 has local attention, window 4: a token attends to 2 tokens on either side." in body["guide"]
    assert "Gray cells are outside the window." in body["guide"]
    answer = lab.ask("attention.query_key", key=body["key"], layer=1, head=0, row=0, column=6)
    assert "the key is masked, so the weight is 0" in answer["sentence"]
    (grid, _) = lab.ask("compare.attention")["grids"]
    assert shown(grid)["windows"] == [None, 4]
    assert "Grey" not in lab.ask("attention.attention", shown="weights", text_a="the", text_b="")["guide"]


def test_heads_that_cannot_be_matched_are_named(session: AppState) -> None:
    little_folder(session.settings.checkpoints / "deep", num_hidden_layers=3)
    with pytest.raises(InputError, match=r"2 layers of 2 heads and 3 layers of 2 heads.*their heads cannot"):
        Lab(session, "roberta").ask("attention.difference", other="deep")
