"""What ships, and the data that it was trained on, are what their programs give."""

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import reproduce
from benchmarks.reproduce import averaged, pack, score, train
from benchmarks.training_data import film_reviews, held_out_sentences
from benchmarks.training_data.town_questions import lines_of, write_questions
from benchmarks.training_data.unanswerable_questions import changed_question
from bertviz_lab import load_checkpoint
from bertviz_lab.data.samples.task_samples import sample_path
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.checkpoint import save_checkpoint
from bertviz_lab.training.runs.snapshot_reader import open_snapshots
from tests.little import little_checkpoint

RECIPE: dict[str, Any] = {
    "command": [
        *("pretrain", "--corpus", "sample:tiny-town", "--preset", "tiny", "--steps", "30", "--seq-len", "32"),
        *("--short-seq-len", "0", "--vocab-size", "600", "--batch-size", "4", "--eval-every", "1000"),
    ],
    "weights": "float16", "snapshots": [0, 5, 20], "pipeline": "fill-mask", "licence": "apache-2.0",
    "about": ["A model for this test."], "data": ["Text: Tiny Town"], "limits": ["It knows next to nothing."],
    "scores": [{"title": "held out", "task": "pretraining", "data": ["sample:tiny-town:held-out"]}],
}  # fmt: skip


@pytest.fixture(autouse=True)
def one_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models that know nothing need no three scores."""
    monkeypatch.setattr(reproduce, "_DRAWS", (0,))


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("reproduce")
    train(RECIPE, folder / "run", ["--threads", "1"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduce, "MOST_BYTES", 1_000_000)
        patch.setattr(reproduce, "_DRAWS", (0, 1))
        scores = pack("little", RECIPE, folder / "run", folder / "little")
    return folder / "little", scores


def test_no_file_is_larger_than_it_may_be_and_the_model_opens(packed: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = packed
    assert len(list(folder.glob("model-*.safetensors"))) > 1
    assert all(path.stat().st_size < 1_100_000 for path in folder.rglob("*") if path.is_file())
    assert load_checkpoint(folder).config.hidden_size == 128


def test_some_snapshots_ship_with_it_and_each_is_whole(packed: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = packed
    past, whole = open_snapshots(folder), open_snapshots(folder.parent / "run")
    assert past.steps() == (0, 5, 20, 30), "the last one is the model itself"
    for step in past.steps():
        shipped, original = (one.open(step).model.state_dict() for one in (past, whole))
        assert all(torch.equal(tensor, original[name]) for name, tensor in shipped.items())


def test_the_card_has_the_scores_of_the_weights_that_ship(packed: tuple[Path, dict[str, Any]]) -> None:
    folder, scores = packed
    for title, draws in score(load_checkpoint(folder), RECIPE).items():
        assert draws == scores[title][:1]
    (draws,) = scores.values()
    card = (folder / "README.md").read_text(encoding="utf-8")
    for draw in draws:
        assert f"{draw['mlm_accuracy']:.1%}" in card
        assert f"{draw['nsp_accuracy']:.1%}" in card
    assert "30 steps" in card
    assert re.search(r"commit [0-9a-f]{7}", card)


def test_the_log_names_no_folder_of_the_machine_it_was_made_on(packed: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = packed
    text = (folder / "training.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    assert [row["event"] for row in rows].count("RunStarted") == 1
    assert rows[-1]["event"] == "RunFinished"
    assert str(folder.parent) not in text
    assert "curves.svg" in (folder / "README.md").read_text(encoding="utf-8")
    assert "<svg" in (folder / "curves.svg").read_text(encoding="utf-8")


def test_the_mean_of_several_models_has_of_each_its_share_and_its_trained_positions(tmp_path: Path) -> None:
    models = [replace(little_checkpoint(seed), trained_length=length) for seed, length in ((1, 24), (2, 48), (3, 64))]
    folders = [save_checkpoint(model, tmp_path / str(place)) for place, model in enumerate(models)]
    shares = (0.2, 0.3, 0.5)
    soup = averaged(folders, shares)
    assert soup.trained_length == 64
    states = [model.model.state_dict() for model in models]
    for name, tensor in soup.model.state_dict().items():
        rows = torch.tensor([shares] * len(tensor))
        if name.endswith("embeddings.position.weight"):
            rows[24:, 0], rows[48:, 1] = 0, 0
            assert torch.equal(tensor[48:], states[2][name][48:])
        wanted = sum(
            (rows[:, place] / rows.sum(1)).view(-1, *[1] * (tensor.dim() - 1)) * state[name]
            for place, state in enumerate(states)
        )
        assert torch.allclose(tensor, wanted, atol=1e-6), name  # type: ignore[arg-type]
    last = averaged(folders, None).model.state_dict()
    assert all(torch.equal(tensor, states[2][name]) for name, tensor in last.items())


@pytest.mark.slow
def test_the_files_that_ship_are_what_the_program_writes() -> None:
    assert sample_path("town-questions").read_text(encoding="ascii") == lines_of(write_questions())
    held = sample_path("town-questions:held-out").read_text(encoding="ascii")
    assert held == lines_of(write_questions(count=100, held_out=True))
    with pytest.raises(InputError, match='has no part "held-out"'):
        sample_path("topics:held-out")


@pytest.fixture
def reviews(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of data with two reviews, one of which has a sentence that is scored."""
    monkeypatch.setenv("BERTVIZ_LAB_DATA", str(tmp_path))
    monkeypatch.setattr(held_out_sentences, "_HELD_OUT", 1)
    monkeypatch.setattr(film_reviews, "_SENTENCES", 2)
    files = {
        "sst2_glue/train.tsv": "sentence\tlabel\na film that nobody will forget \t1\n",
        "sst2_glue/dev.tsv": "sentence\tlabel\nit 's a dull and endless story . \t0\n",
        "sst2_glue/test.tsv": "index\tsentence\n0\twhat a waste of time !\n",
        "aclImdb/train/pos/0_9.txt": "I liked the first half.<br /><br />The second one is better.",
        "aclImdb/train/neg/0_2.txt": "It's a dull and endless story. I left before the end.",
        "aclImdb/test/neg/0_1.txt": "A FILM THAT NOBODY WILL FORGET!",
        "aclImdb/train/unsup/0_0.txt": "It has no label.",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    for module, name in ((film_reviews, "_tested"), (held_out_sentences, "_split")):
        monkeypatch.setattr(module, name, getattr(module, name).__wrapped__)  # other data was read before
    return tmp_path


def test_no_review_with_a_sentence_that_is_scored_is_read(reviews: Path) -> None:
    film_reviews.write_film_reviews(reviews / "text.txt")
    text = (reviews / "text.txt").read_text(encoding="utf-8")
    assert text == "I liked the first half. The second one is better.\n\nIt has no label.\n"


def test_sentences_have_the_label_of_their_review(reviews: Path) -> None:
    film_reviews.write_review_sentences(reviews / "sentences.tsv")
    rows = (reviews / "sentences.tsv").read_text(encoding="utf-8").splitlines()
    assert sorted(rows) == ["I liked the first half.\t1", "The second one is better.\t1", "sentence\tlabel"]


@pytest.mark.parametrize(
    ("question", "changed"),
    [
        ("Where did the north team play?", {"Where did the south team play?"}),
        ("In what town did Ada Byron live in 1835?", {"In what town did Mary Somerville live in 1835?"}),
        ("What began in 1835?", {"What ended in 1835?", "What began in 1831?"}),
        ("How long is it?", {"How long isn't it?", None}),
        ("Which way?", {None}),
    ],
)
def test_a_changed_question_has_another_name_or_a_word_s_opposite(question, changed) -> None:
    passage = "In 1831 Mary Somerville wrote a book. Ada Byron read it in 1835 in London."
    if "Ada" in question:
        passage = passage.replace("1831", "that year")
    answerable = {"question": question, "answers": [{"text": "London"}]}
    assert {changed_question(answerable, passage, random.Random(seed)) for seed in range(40)} == changed
