"""What the cards of shipped models claim, computed again."""

import csv
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bertviz_lab import load_checkpoint
from bertviz_lab.data.examples import LabelledText
from bertviz_lab.data.pretraining.batches import masking_rule
from bertviz_lab.data.samples.task_samples import sample_path
from bertviz_lab.interpret import semantic_search
from bertviz_lab.metrics.names import NAMES, format_score
from bertviz_lab.training.finetuning.predict import evaluate_task, predict_with
from bertviz_lab.training.pretraining import evaluate
from bertviz_lab.training.pretraining.evaluate import evaluate_text
from bertviz_lab.training.runs.snapshot_reader import open_snapshots

_TOWNS = ("tiny-town-mask-only", "tiny-town")


def card_row(score: str, value: float) -> str:
    """A line of a card's table."""
    return f"| {NAMES[score]} | {format_score(score, value)} |"


def test_sentiment_mini_knows_plain_words_and_misses_irony_as_its_card_says() -> None:
    checkpoint = load_checkpoint("sentiment-mini")
    with sample_path("sentiment").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    examples = [LabelledText(row["text"], None, row["label"], n) for n, row in enumerate(rows)]
    predictions, _ = predict_with(checkpoint, examples)
    right = np.array([p.label == row["label"] for p, row in zip(predictions, rows, strict=True)])
    shares = [
        round(100 * right[[row["kind"] == kind for row in rows]].mean()) for kind in ("plain", "negation", "irony")
    ]
    told = re.search(r"(\d+)% of\s+the plain ones, (\d+)% of .*? and (\d+)% of the ironic", checkpoint.card, re.DOTALL)
    assert told is not None
    assert [int(share) for share in told.groups()] == shares
    assert f"{len(rows)} sentences" in checkpoint.card


@pytest.mark.parametrize(
    ("name", "task", "data"),
    [
        ("entities-mini", "tokens", "sample:entities:held-out"),
        ("answers-town", "qa", "sample:town-questions:held-out"),
    ],
)
def test_evaluating_a_fine_tuned_model_repeats_its_card(name: str, task: str, data: str) -> None:
    checkpoint = load_checkpoint(name)
    found = evaluate_task(checkpoint, [data], task)
    for score, value in found.items():
        assert card_row(score, value) in checkpoint.card


@pytest.mark.thorough
def test_the_card_of_entities_mini_has_its_scores_on_text_of_others(shared_data: Path, tmp_path: Path) -> None:
    types = {"person": "PER", "location": "LOC", "corporation": "ORG", "group": "ORG"}
    text = (shared_data / "wnut17" / "emerging.test.annotated").read_text(encoding="utf-8")
    text = re.sub(r"\t([BI])-(\S+)", lambda tag: f"\t{tag[1]}-{types[tag[2]]}" if tag[2] in types else "\tO", text)
    (tmp_path / "wnut.conll").write_text(text, encoding="utf-8")
    checkpoint = load_checkpoint("entities-mini")
    found = evaluate_task(checkpoint, [str(tmp_path / "wnut.conll")], "tokens")
    for score in ("f1", "precision", "recall"):
        assert f"{found[score]:.1%}" in checkpoint.card.split("WNUT17")[1]


@pytest.mark.parametrize(
    ("name", "task", "files"),
    [
        ("embed-mini", "embeddings", ("stsb/stsb-en-dev.csv",)),
        pytest.param("embed-mini", "embeddings", ("reqa_squad/test.json",), marks=pytest.mark.thorough),
        pytest.param(
            "emotions-mini", "multilabel", ("goemotions/dev.tsv", "goemotions/test.tsv"), marks=pytest.mark.thorough
        ),
        pytest.param("answers-mini", "qa", ("squad2_half_dev/dev-v2.0.json",), marks=pytest.mark.thorough),
    ],
)
def test_evaluating_on_published_data_repeats_the_card(
    name: str, task: str, files: tuple[str, ...], shared_data: Path
) -> None:
    checkpoint = load_checkpoint(name)
    for file in files:
        for score, value in evaluate_task(checkpoint, [shared_data / file], task).items():
            assert card_row(score, value) in checkpoint.card


def test_embed_mini_hardly_tells_a_negation_or_the_order_of_words_as_its_card_says() -> None:
    checkpoint = load_checkpoint("embed-mini")
    told = re.findall(r'"([^"]+)" and "([^"]+)" (?:have a cosine|one) of ([\d.]+)', " ".join(checkpoint.card.split()))
    assert len(told) == 2
    for first, second, cosine in told:
        (hit,) = semantic_search(checkpoint, first, [second])
        assert f"{hit.cosine:.2f}" == cosine.rstrip(".")


def test_answers_mini_answers_the_labs_questions_as_its_card_says() -> None:
    checkpoint = load_checkpoint("answers-mini")
    scores = evaluate_task(checkpoint, [sample_path("questions")], "qa")
    told = re.search(
        r"(\d+) questions about made-up passages .*? F1 is (\d+)% .*?notices (\d+)% of those without",
        " ".join(checkpoint.card.split()),
    )
    assert told is not None
    shares = (scores["has_answer_f1"], scores["no_answer_accuracy"])
    assert [int(figure) for figure in told.groups()] == [367, *(round(100 * share) for share in shares)]


def first_draws(card: str, title: str) -> list[str]:
    """The first of the draws in each cell of a line of a card's table: loss, masked words, pairs."""
    (line,) = [line for line in card.splitlines() if line.startswith(f"| {title}")]
    return [found[1] for cell in line.split("|")[2:] if (found := re.search(r"\(([\d.]+)", cell))]


def scores_of(name: str, path: str) -> list[str]:
    checkpoint = load_checkpoint(name)
    found = [evaluate_text(checkpoint, [path], task) for task in ("mlm", "nsp")]
    shares = [found[0]["mlm_accuracy"], found[1]["nsp_accuracy"]]
    return [f"{found[0]['mlm_loss']:.3f}", *(f"{100 * share:.1f}" for share in shares)]


@pytest.mark.parametrize("name", ["tiny-town", "tiny-town-mask-only"])
def test_tiny_town_scores_what_its_card_says(name: str) -> None:
    assert scores_of(name, "sample:tiny-town:held-out") == first_draws(load_checkpoint(name).card, "500 stories")


def test_tiny_town_mask_only_predicts_what_its_card_says_by_what_becomes_of_the_tokens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All [MASK], all random and all unchanged, which the table of each card mixes 80/10/10."""
    checkpoints = [load_checkpoint(name) for name in _TOWNS]
    told = re.findall(r"^\| (?:15%|all), .* \| ([\d.]+)% \| ([\d.]+)% \|$", checkpoints[0].card, re.MULTILINE)
    shares = ((0.15, 1.0, 0.0), (0.15, 0.0, 1.0), (1.0, 0.0, 0.0))
    for (selected, mask, random), cells in zip(shares, told, strict=True):
        rule = partial(masking_rule, probability=selected, mask_share=mask, random_share=random)
        monkeypatch.setattr(evaluate, "masking_rule", rule)
        scored = [evaluate_text(checkpoint, ["sample:tiny-town:held-out"], "mlm") for checkpoint in checkpoints]
        assert [f"{100 * scores['mlm_accuracy']:.1f}" for scores in scored] == list(cells)
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    assert all(f"{own}%" in readme and f"{only}%" in readme for only, own in (told[0], told[2]))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["wiki-mini", "wiki-small"])
def test_a_model_of_english_scores_what_its_card_says(name: str, shared_data: Path) -> None:
    checkpoint = load_checkpoint(name)  # of a text of this length its words alone: the pairs take half a minute
    found = evaluate_text(checkpoint, [str(shared_data / "wiki_en" / "valid.txt")], "mlm")
    told = [f"{found['mlm_loss']:.3f}", f"{100 * found['mlm_accuracy']:.1f}"]
    assert told == first_draws(checkpoint.card, "Wikipedia")[:2]


@pytest.mark.parametrize(("name", "steps"), [("tiny-town", 21), ("wiki-mini", 2)])
def test_a_shipped_history_begins_with_chance_and_ends_with_the_model_itself(name: str, steps: int) -> None:
    checkpoint = load_checkpoint(name)
    assert checkpoint.path is not None
    past = open_snapshots(checkpoint.path)
    assert len(past.steps()) == steps
    assert past.steps()[0] == 0
    last = dict(past.open(past.steps()[-1]).model.named_parameters())
    assert all(bool((p == last[key]).all()) for key, p in checkpoint.model.named_parameters())
