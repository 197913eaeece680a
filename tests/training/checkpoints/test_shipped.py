"""What the cards of shipped models claim, computed again."""

import re
from pathlib import Path
from typing import Any

import pytest

from bertviz_lab import load_checkpoint
from bertviz_lab.config import SHIPPED
from bertviz_lab.metrics.names import NAMES, format_score
from bertviz_lab.training.checkpoints.model_card import python_use
from bertviz_lab.training.finetuning.predict import evaluate_task
from bertviz_lab.training.pretraining.evaluate import evaluate_text
from bertviz_lab.training.runs.snapshot_reader import open_snapshots


def card_row(score: str, value: float) -> str:
    """A line of a card's table."""
    return f"| {NAMES[score]} | {format_score(score, value)} |"


@pytest.mark.parametrize(
    ("name", "task", "data"),
    [("entities-mini", "tokens", "sample:entities:held-out"), ("answers-town", "qa", "sample:town-questions:held-out")],
)
def test_evaluating_a_fine_tuned_model_repeats_its_card(name: str, task: str, data: str) -> None:
    checkpoint = load_checkpoint(name)
    found = evaluate_task(checkpoint, [data], task)
    for score, value in found.items():
        assert card_row(score, value) in checkpoint.card


def test_the_card_of_answers_mini_says_how_it_answers_the_questions_of_the_lab() -> None:
    checkpoint = load_checkpoint("answers-mini")
    scores = evaluate_task(checkpoint, ["sample:questions"], "qa")
    answered, noticed = (f"{100 * scores[name]:.0f}%" for name in ("has_answer_f1", "no_answer_accuracy"))
    said = f"F1 is {answered} on those with an answer, and it notices {noticed}\nof those without one."
    assert said in checkpoint.card.split("(`sample:questions`), ")[1]


@pytest.mark.thorough
def test_the_card_of_entities_mini_has_its_scores_on_text_of_others(shared_data: Path, tmp_path: Path) -> None:
    types = {"person": "PER", "location": "LOC", "corporation": "ORG", "group": "ORG"}
    text = (shared_data / "wnut17" / "emerging.test.annotated").read_text(encoding="utf-8")
    text = re.sub(r"\t([BI])-(\S+)", lambda tag: f"\t{tag[1]}-{types[tag[2]]}" if tag[2] in types else "\tO", text)
    (tmp_path / "wnut.conll").write_text(text, encoding="utf-8")
    checkpoint = load_checkpoint("entities-mini")
    found = evaluate_task(checkpoint, [str(tmp_path / "wnut.conll")], "tokens")
    for score in ("f1", "precision", "recall"):
        assert f"{found[score]:.1%}" in checkpoint.card.split("test set of WNUT17")[1]


@pytest.mark.parametrize(
    ("name", "task", "files"),
    [
        ("embed-mini", "embeddings", ("stsb/stsb-en-dev.csv",)),
        pytest.param("embed-mini", "embeddings", ("stsb/stsb-en-test.csv",), marks=pytest.mark.thorough),
        pytest.param("embed-mini", "embeddings", ("reqa_squad/test.json",), marks=pytest.mark.thorough),
        pytest.param(
            "emotions-mini", "multilabel", ("goemotions/dev.tsv", "goemotions/test.tsv"), marks=pytest.mark.thorough
        ),
        pytest.param("sentiment-mini", "classification", ("sst2_glue/dev.tsv",), marks=pytest.mark.thorough),
        pytest.param("answers-mini", "qa", ("squad2_half_dev/dev-v2.0.json",), marks=pytest.mark.thorough),
    ],
)
def test_evaluating_on_published_data_repeats_the_card(
    name: str, task: str, files: tuple[str, ...], shared_data: Path
) -> None:
    if missing := [file for file in files if not (shared_data / file).is_file()]:
        pytest.skip(f"{', '.join(missing)} is not in the shared data")
    checkpoint = load_checkpoint(name)
    for file in files:
        for score, value in evaluate_task(checkpoint, [shared_data / file], task).items():
            assert card_row(score, value) in checkpoint.card


def first_draws(card: str, title: str) -> list[str]:
    """The first of the draws in each cell of a line of a card's table: loss, masked words, pairs."""
    (line,) = [line for line in card.splitlines() if line.startswith(f"| {title}")]
    return [found[1] for cell in line.split("|")[2:] if (found := re.search(r"\(([\d.]+)", cell))]


def scores_of(name: str, path: str) -> list[str]:
    checkpoint = load_checkpoint(name)
    found = [evaluate_text(checkpoint, [path], task) for task in ("mlm", "nsp")]
    shares = [found[0]["mlm_accuracy"], found[1]["nsp_accuracy"]]
    return [f"{found[0]['mlm_loss']:.3f}", *(f"{100 * share:.1f}" for share in shares)]


@pytest.mark.parametrize("name", ["tiny-town", "tiny-town-mask-only", "tiny-town-writer"])
def test_tiny_town_scores_what_its_card_says(name: str) -> None:
    assert scores_of(name, "sample:tiny-town:held-out") == first_draws(load_checkpoint(name).card, "500 stories")


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["wiki-mini", "wiki-small"])
def test_a_model_of_english_scores_what_its_card_says(name: str, shared_data: Path) -> None:
    checkpoint = load_checkpoint(name)  # of a text of this length its words alone: the pairs take half a minute
    found = evaluate_text(checkpoint, [str(shared_data / "wiki_en" / "valid.txt")], "mlm")
    told = [f"{found['mlm_loss']:.3f}", f"{100 * found['mlm_accuracy']:.1f}"]
    assert told == first_draws(checkpoint.card, "Wikipedia")[:2]


@pytest.mark.parametrize(("name", "steps"), [("tiny-town", 10), ("wiki-mini", 2)])
def test_a_shipped_history_begins_with_chance_and_ends_with_the_model_itself(name: str, steps: int) -> None:
    checkpoint = load_checkpoint(name)
    assert checkpoint.path is not None
    past = open_snapshots(checkpoint.path)
    assert len(past.steps()) == steps
    assert past.steps()[0] == 0
    last = dict(past.open(past.steps()[-1]).model.named_parameters())
    assert all(bool((p == last[key]).all()) for key, p in checkpoint.model.named_parameters())


@pytest.mark.parametrize(("name", "task"), [("wiki-tiny", "fill-mask"), ("answers-town", "question-answering")])
def test_the_lines_of_python_of_a_card_use_the_model(name: str, task: str) -> None:
    *lines, call = python_use(task, str(SHIPPED / name)).splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    answer = eval(call, names)
    assert answer[0]["token_str"] if task == "fill-mask" else answer.text
