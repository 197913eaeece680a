"""The findings report: sentences that the numbers carry, on models that have something to find, and on random ones."""

import json
import re
from typing import Any

import numpy as np
import pytest

from bertviz_lab import BertForSequenceClassification, Checkpoint, interpret, load_checkpoint
from bertviz_lab.config import SHIPPED
from bertviz_lab.data.samples.corpus_texts import sample_texts
from bertviz_lab.figures.findings import findings_payload, findings_text
from bertviz_lab.interpret import Findings
from tests.interpret.test_planted import COPY, question
from tests.little import little_checkpoint

TEXTS: dict[str, list[tuple[str, str | None]]] = {
    "tiny-town": [(COPY, None), ("The squirrels near the bench [MASK].", None)],
    "wiki-tiny": [("She won a gold [MASK] at the Olympic Games.", None), ("The river rises.", "It flows to the sea.")],
    "sentiment-mini": [("A dull film with a wonderful ending.", None)],
    "answers-mini": [("Who lives in Marrowby?", "About nine thousand people live in Marrowby.")],
    "entities-mini": [("Anna lives in Berlin.", None)],
}


def sentences(found: Findings) -> list[str]:
    return [item["sentence"] for item in json.loads(findings_payload(found))["items"]]


def kind_of(checkpoint: Checkpoint, text_b: str | None) -> Any:
    kinds = interpret.target_kinds(checkpoint)
    return "next" if text_b and "next" in kinds else kinds[0]


def find(checkpoint: Checkpoint, text_a: str, text_b: str | None, **more: Any) -> Findings:
    inputs = interpret.encode_inputs(checkpoint, text_a, text_b)
    target = interpret.choose_target(checkpoint, inputs, kind_of(checkpoint, text_b))
    return interpret.measure_findings(checkpoint, text_a, text_b, target=target, **more)


@pytest.mark.parametrize("model", TEXTS)
def test_with_random_weights_there_is_nothing_to_find(model: str) -> None:
    random = interpret.untrained(load_checkpoint(model), seed=3)
    for texts in TEXTS[model]:
        _, tokens, causes, components, head = sentences(find(random, *texts))
        assert tokens.startswith("No single token decides it")
        assert causes.startswith("Changing one token hardly matters")
        assert components.startswith("No component adds much")
        assert head.startswith("No single head carries")
    if interpret.target_kinds(random)[0] == "token":
        assert sentences(find(random, *TEXTS[model][0]))[0].startswith("No prediction stands out")


@pytest.mark.parametrize("model", TEXTS)
def test_each_sentence_has_its_numbers_from_the_measurements(model: str) -> None:
    checkpoint = load_checkpoint(model)
    for texts in TEXTS[model]:
        found = find(checkpoint, *texts)
        prediction, tokens, causes, components, _ = sentences(found)
        assert f"{found.score:.1%}" in prediction or f"{found.score:.2%}" in prediction
        at = int(np.abs(found.occlusion.scores).argmax())
        assert f"{found.occlusion.encoding.tokens[at]} ({at})" in tokens
        if found.sizes.token < max(0.5, 2 * found.random.token):
            assert tokens.startswith("No single token")
        else:
            times = np.exp(abs(found.occlusion.scores[at]))
            assert f"{times:,.1f} times {'less' if found.occlusion.scores[at] > 0 else 'more'} likely" in tokens
        assert found.patching.corruption.title(found.patching.encoding) in causes
        assert found.parts is not None
        if not components.startswith("No component"):
            assert f"the logit is {found.parts.logit:.2f}" in components
            assert f"{found.parts.heads.sum():+.2f}" in components


def test_the_planted_copy_is_found_from_the_prediction_to_the_corpus() -> None:
    town = load_checkpoint("tiny-town")
    index = interpret.index_corpus(town, sample_texts("tiny-town", 600), name="stories", neurons=False)
    found = interpret.measure_findings(town, COPY, target=question(town, COPY, "black", "white"), index=index)
    prediction, tokens, causes, _, head = sentences(found)
    cue = found.patching.corruption.positions[0]
    assert found.lens is not None
    first = [layer.rank for layer in found.lens.layers].index(1)
    assert f"by the logit lens it ranks first from layer {first} of 2 on" in prediction
    tuned = interpret.TunedLens.load(SHIPPED / "tiny-town", town)
    again = interpret.measure_findings(town, COPY, target=found.target, patching=found.patching, tuned=tuned)
    assert "by the tuned lens it ranks first" in sentences(again)[0]
    assert tokens.startswith(f"It rests most on black ({cue})")
    assert f"in the state of black ({cue}) up to layer 1" in causes
    assert "in that of [MASK] (17) from layer 2 on" in causes
    name = "{}.{}".format(*(at + 1 for at in found.head))
    assert f"head {name} alone carries" in causes
    assert f"Head {name}" in head
    assert "It links such tokens there too" in head
    assert re.search(r"have a mean weight of 0\.[5-9]", head)
    assert found.search is not None
    assert np.unravel_index(found.search.lift.argmax(), found.search.lift.shape) == found.head


def test_without_an_index_the_report_says_so_and_text_has_the_caveats() -> None:
    town = load_checkpoint("tiny-town")
    report = json.loads(findings_payload(interpret.measure_findings(town, COPY)))
    assert "has not been looked up" in report["items"][4]["sentence"]
    text = findings_text(report)
    assert text.count("\n") == 11
    assert "Zhang and Nanda 2024" in text


def test_a_regression_and_a_classifier_that_reads_all_tokens_are_described() -> None:
    regression = little_checkpoint(kind=BertForSequenceClassification, num_labels=1, id2label=("stars",))
    prediction, *_ = sentences(find(regression, "the red cat sat", None))
    assert re.fullmatch(r"The model predicts -?\d\.\d\d as stars\.", prediction)
