"""What ships, and the data that it was trained on, are what their programs give."""

import json
import lzma
import math
import random
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import reproduce
from benchmarks.reproduce import averaged, keep_snapshots, pack, score, train, with_thresholds
from benchmarks.training_data import (
    film_reviews,
    held_out_sentences,
    made_data,
    sentence_questions,
    squad_questions,
)
from benchmarks.training_data.town_questions import lines_of, write_questions
from benchmarks.training_data.unanswerable_questions import (
    SQUAD2_TRAIN,
    changed_question,
    write_articles,
    write_left_out_questions,
)
from benchmarks.training_data.unanswerable_questions import write_questions as write_asked
from bertviz_lab import load_checkpoint
from bertviz_lab.config import SHIPPED, FinetuneConfig
from bertviz_lab.data.examples import Answer, write_examples
from bertviz_lab.data.samples.task_samples import sample_path
from bertviz_lab.errors import InputError
from bertviz_lab.model import BertForQuestionAnswering
from bertviz_lab.training.checkpoints.checkpoint import save_checkpoint
from bertviz_lab.training.checkpoints.snapshots import list_snapshots, read_lengths
from bertviz_lab.training.finetuning.predict import predict_with
from bertviz_lab.training.runs.snapshot_reader import open_snapshots
from tests.little import little_checkpoint
from tests.training.finetuning.support import examples

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


def test_snapshots_ship_of_the_stages_that_have_some(packed: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    run, later = packed[0].parent / "run", tmp_path / "later"
    keep_snapshots([run, later], [0, 30], tmp_path, RECIPE)
    assert [step for step, _ in list_snapshots(tmp_path / "snapshots")] == RECIPE["snapshots"]
    assert read_lengths(tmp_path / "snapshots") == read_lengths(run / "snapshots")


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


def test_a_mean_of_models_has_thresholds_of_its_own(tmp_path: Path) -> None:
    questions = examples("qa", 16)
    unanswerable = [question for question in questions if not question.answers]
    config = FinetuneConfig(train=("questions.json",), task="qa", no_answer_recall=0.5)
    (tmp_path / "config.json").write_text(json.dumps(config.to_dict()))
    (tmp_path / "examples").mkdir()
    write_examples(tmp_path / "examples" / "held_out.jsonl", questions)
    trained = little_checkpoint(kind=BertForQuestionAnswering, handle_impossible_answer=True, initializer_range=0.5)
    tuned = with_thresholds(trained, tmp_path)
    assert tuned.config.null_score_diff_threshold is not None
    withheld = sum(not said.label for said in predict_with(tuned, unanswerable)[0])
    assert withheld == math.ceil(len(unanswerable) / 2)


@pytest.mark.slow
def test_the_files_that_ship_are_what_the_program_writes() -> None:
    assert sample_path("town-questions").read_text(encoding="ascii") == lines_of(write_questions())
    held = sample_path("town-questions:held-out").read_text(encoding="ascii")
    assert held == lines_of(write_questions(count=100, held_out=True))
    with pytest.raises(InputError, match='has no part "held-out"'):
        sample_path("topics:held-out")


def test_published_data_that_is_missing_is_named_with_its_source(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("BERTVIZ_LAB_DATA", str(tmp_path))
    published = tomllib.loads(Path(made_data.__file__).with_name("published.toml").read_text(encoding="utf-8"))
    recipes = {path.parent.name: path.read_text(encoding="utf-8") for path in SHIPPED.glob("*/recipe.json")}
    needed = {path for made in made_data.MADE for path in made.needs}
    needed |= {path for recipe in recipes.values() for path in re.findall(r'\{data\}/([^"]+)', recipe)}
    assert {path.split("/")[0] for path in needed} == set(published)
    assert all(made.word in "".join(recipes.values()) for made in made_data.MADE)
    monkeypatch.setattr("sys.argv", ["reproduce", "entities-mini"])
    with pytest.raises(
        SystemExit, match=r"lacks:\n- wiki_en/train.txt: .*, https://.*\n- .*\n- wnut17/wnut17train.conll"
    ):
        reproduce.main()
    for path in ("wiki_en/train.txt", "ag_news/alps_dev.tsv"):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).touch()
    with pytest.raises(SystemExit, match=r"lacks:\n- wnut17/wnut17train.conll: WNUT 2017 .*, https://[^\n]*$"):
        reproduce.main()


def test_of_the_first_articles_of_squad_two_are_left_out(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("BERTVIZ_LAB_DATA", str(tmp_path))
    titles = [f"Article {n}" for n in range(9)] + ["Spectre_(2015_film)", "Article 10"]
    for folder, name, some in (("squad2_train", "train", titles), ("squad2_half_dev", "dev", ["Article 5"])):
        (tmp_path / folder).mkdir()
        write_articles(tmp_path / folder / f"{name}-v2.0.json", [_article(title) for title in some])
    trained, left_out = tmp_path / "trained.json", tmp_path / "left_out.json"
    write_asked(trained, [SQUAD2_TRAIN])
    write_left_out_questions(left_out)
    assert _passages(trained) == {f"About {title}." for title in titles[:9] if title != "Article 5"}
    assert _passages(left_out) == {"About Spectre_(2015_film)."}


def _passages(file: Path) -> set[str]:
    articles = json.loads(file.read_text(encoding="utf-8"))["data"]
    return {paragraph["context"] for article in articles for paragraph in article["paragraphs"]}


def _article(title: str) -> dict[str, Any]:
    question = {"id": title, "question": "What?", "answers": [{"text": "About", "answer_start": 0}]}
    return {"title": title, "paragraphs": [{"context": f"About {title}.", "qas": [question]}]}


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


def test_questions_of_sentences_have_the_answer_that_most_marked_in_a_passage(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("BERTVIZ_LAB_DATA", str(tmp_path))
    (tmp_path / "qamr").mkdir()
    (tmp_path / "qamr" / "wiki-sentences.tsv").write_text(
        "Wiki1k:wikipedia:7:2:1\tShe did n't stop -LRB- in 1843 -RRB- .\nWiki1k:wikipedia:7:2:0\tAda wrote notes .\n"
        "Wiki1k:wikipedia:7:2:2\tThe river Cam is cold and long in winter and not so long in summer .\n"
    )
    of_sentence, of_tested = "Wiki1k:wikipedia:7:2:1\t1\t9\t0\t5\t", "Wiki1k:wikipedia:7:2:2\t1\t9\t0\t5\t"
    lines = [
        of_sentence + "In what year did she not stop?\t6\t1:5 6\t2:6",
        of_sentence + "When did she stop?\t6\t1:5 6\t2:0",  # all differ
        of_sentence + "Who?\t0\t1:0\t2:0",  # of whom?
    ]
    (tmp_path / "qamr" / "dev.tsv").write_text("\n".join(lines))
    (tmp_path / "qamr" / "test.tsv").write_text(of_tested + "What is cold and long?\t0 1 2\t1:0 1 2\t2:0 1 2")
    monkeypatch.setattr(sentence_questions, "tested_passages", lambda: ["A text of its own."])
    sentence_questions.write_sentence_questions(tmp_path / "questions.json")
    first, _ = json.loads((tmp_path / "questions.json").read_text())["data"]
    (passage,) = first["paragraphs"]
    assert passage["context"].startswith("Ada wrote notes. She didn't stop (in 1843). The river Cam")
    ((answer,),) = [question["answers"] for question in passage["qas"]]
    assert (answer["text"], answer["answer_start"]) == ("1843", passage["context"].index("1843"))
    scored = "It rained. The river Cam is cold and long in winter and not so long in summer. It froze."
    monkeypatch.setattr(sentence_questions, "tested_passages", lambda: [scored])
    sentence_questions.write_sentence_questions(tmp_path / "questions.json")
    assert json.loads((tmp_path / "questions.json").read_text())["data"] == []


def test_a_sentence_stands_in_its_paragraph_or_among_the_nearest_others(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("BERTVIZ_LAB_DATA", str(tmp_path))
    (tmp_path / "wiki2015").mkdir()
    known = "The bridge over the wide river was opened in 1831 by the mayor."
    with lzma.open(tmp_path / "wiki2015" / "train.txt.xz", "wt") as text:
        text.write(f"It was long. {known} It fell.\n")
    sentences = [known, "A mayor of Ghent was born in Bruges.", "Who was the mayor of Bruges in 1900?", "Cats purr."]
    passages = list(sentence_questions.passages_of(sentences))
    assert passages[0] == f"It was long. {known} It fell."
    assert all(sentence in passage for sentence, passage in zip(sentences, passages, strict=True))
    assert sentences[2] in passages[1]
    assert passages[3] == "Cats purr."


_PASSAGE = """Ada Lovelace wrote notes on the Analytical Engine in 1843, and its inventor Charles Babbage, who had asked
her to translate a paper by Luigi Menabrea, called her the Enchantress of Numbers."""


@pytest.fixture
def squad_without_passages(tmp_path, monkeypatch):
    """Two people's questions, a passage in wiki2015 and one in UnAnsQ that they are about, and others."""
    monkeypatch.setenv("BERTVIZ_LAB_DATA", str(tmp_path))
    filler = [
        f"The {n}th of the towns lay by a river, and some of its many mills were burnt down in the year {n}."
        for n in range(40)
    ]
    files = {
        "squad2_cr/rationales/word_att_gold_train.tsv": "qid\tquestion\tword_att\n"
        "5a000000aa\tWhat did Lovelace n't translate for Babbage ?\t0\n5a000000ab\tWho called Menabrea Enchantress ?\t",
        "squad2_cr/rationales/word_att_extended.tsv": "qid\tquestion\tword_att\n"
        "5a000001aa\tWhich purring cats hunt sparrows ?\t0\n5a000002aa\tWhat of the dev set ?\t0",
        "squad2_cr/rationales/word_att_gold_test.tsv": "qid\tquestion\tword_att\n5a000002ab\tWho ?\t0",
        "unansq/QG/train-answerable-questions.txt": "56a0\twhat did lovelace write notes on in 1843 ?\t5\t7",
        "unansq/QG/train-unanswerable-questions.txt": "5a000000aa\t\t5\t7",
        "unansq/QG/dev-answerable-questions.txt": "56a1\twhat do purring cats hunt ?\t3\t3",
        "unansq/QG/dev-unanswerable-questions.txt": "5a000001aa\t\t3\t3",
        "unansq/QG/dev-context.txt": "purring cats hunt mice , and birds such as sparrows do n't like them at all , as "
        "the people of the towns say .\t0\t9",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "wiki2015").mkdir()
    with lzma.open(tmp_path / "wiki2015" / "train.txt.xz", "wt") as text:
        text.write("\n\n".join([*filler, _PASSAGE.replace("\n", " ")]))


def test_questions_find_the_passages_that_they_are_about(squad_without_passages, monkeypatch) -> None:
    monkeypatch.setattr(squad_questions, "tested_passages", lambda: ["Nothing that they are about."])
    monkeypatch.setattr(squad_questions, "tested_questions", lambda: ["Who?"])
    cats, ada = sorted(squad_questions.find_passages(), key=lambda found: found.passage, reverse=True)
    assert ada.passage == _PASSAGE.replace("\n", " ")
    assert ada.unanswerable["5a000000aa"] == "What did Lovelacen't translate for Babbage?"
    assert len(ada.unanswerable) == 2
    assert [question.id for question in ada.answerable] == ["56a0"]
    assert cats.passage.startswith("purring cats hunt mice, and birds such as sparrows don't")
    assert list(cats.unanswerable) == ["5a000001aa"]  # none of the dev set
    monkeypatch.setattr(squad_questions, "tested_questions", lambda: ["Which PURRING cats hunt sparrows"])
    assert [found.passage for found in squad_questions.find_passages()] == [ada.passage]
    monkeypatch.setattr(squad_questions, "tested_questions", lambda: ["Who?"])
    monkeypatch.setattr(squad_questions, "tested_passages", lambda: [_PASSAGE])
    assert [found.passage for found in squad_questions.find_passages()] == [cats.passage]


def test_an_answer_is_where_it_is_said_to_be_or_close_to_it(squad_without_passages, monkeypatch) -> None:
    monkeypatch.setattr(squad_questions, "tested_passages", lambda: [])
    monkeypatch.setattr(squad_questions, "tested_questions", lambda: [])
    ada = next(found for found in squad_questions.find_passages() if found.passage.startswith("Ada"))
    (asked,) = ada.answerable
    engine = Answer("Analytical Engine", ada.passage.index("Analytical"))
    assert squad_questions.confirmed(ada.passage, asked, [engine]) == Answer("the Analytical Engine", 28)
    beside = Answer("notes", ada.passage.index("notes"))
    assert squad_questions.confirmed(ada.passage, asked, [beside]) == beside  # the words were counted otherwise
    far = Answer("Enchantress", ada.passage.index("Enchantress"))
    assert squad_questions.confirmed(ada.passage, asked, [far, engine]) == Answer("the Analytical Engine", 28)
    assert squad_questions.confirmed(ada.passage, asked, [far]) is None
    assert squad_questions.confirmed(ada.passage, asked._replace(last=900), [far]) is None
