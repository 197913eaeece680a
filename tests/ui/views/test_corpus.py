"""What Corpus search answers: an index of all heads and neurons, examples of one, and searches in both directions."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertviz_lab import InputError, interpret, pretrain
from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.samples.corpus_texts import CORPORA, suited_corpus
from bertviz_lab.interpret import CorpusIndex
from bertviz_lab.ui.server.uploads import UploadedFile
from bertviz_lab.ui.server.visitors import NOBODY
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.attention.view import QUESTIONS as ATTENTION
from bertviz_lab.ui.views.corpus.view import QUESTIONS
from tests.charts import shown
from tests.little import little_text
from tests.ui.pages import OWNER
from tests.ui.snapshots import STEPS, little_history

TEXT = "the red cat sat on the mat"
RUN = "calm-otter-0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def short_corpora(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Indexes of few texts, kept in a folder of the test."""
    monkeypatch.setattr("bertviz_lab.interpret.MOST_TEXTS", 60)
    monkeypatch.setenv("BERTVIZ_LAB_CACHE", str(tmp_path / "cache"))


def ask(session: AppState, name: str, visitor: Any = OWNER, **chosen: Any) -> Any:
    given: dict[str, Any] = {"model": "", "text_a": TEXT, "text_b": "", "file": "", "layer": None, "head": 0}
    given |= {"corpus": "", "extent": "some", "x": "position", "y": "content"}
    given |= {"query": None, "key": None, "position": None, "neuron": ""} | chosen
    question = QUESTIONS[name]
    return question.ask(session, {key: given[key] for key in question.arguments & given.keys()}, visitor)


def test_all_heads_are_shown_by_two_metrics_and_the_most_content_based_in_detail(session: AppState) -> None:
    answer = ask(session, "heads", x="entropy", y="distance")
    index = session.corpora.index("little", OWNER, "")
    assert len(index.texts) <= 60
    chart = shown(answer["map"])
    assert chart["columns"][:2] == ["attention entropy", "distance"]
    values = [row[1:3] for row in chart["table"]["rows"]]
    np.testing.assert_allclose(
        values, np.stack([index.metrics["entropy"].ravel(), index.metrics["distance"].ravel()], 1), atol=1e-5
    )
    layer, head = answer["chosen"]
    assert index.metrics["content"][layer, head] == index.metrics["content"].max()
    assert dict(shown(answer["role"])["items"])["Head"] == f"{layer + 1}.{head + 1}"
    assert "Each of them" not in chart["sentence"]
    groups = shown(answer["examples"])["groups"]
    text, query, key, weight = index.heads[layer, head][0][0].tolist()
    first = groups[0]["items"][0]
    assert first["pick"] == [index.texts[text], query]
    assert first["value"] == pytest.approx(weight)
    marked = [part for part, mark in first["parts"] if mark]
    tokens = interpret.encode_inputs(session.models.open(), index.texts[text]).encoding.tokens
    assert [part.lower() for part in marked] == [tokens[at].removeprefix("##") for at in sorted({query, key})]
    assert "".join(part for part, _ in first["parts"]) == index.texts[text]
    assert ask(session, "heads", layer=1, head=1)["chosen"] == [1, 1]
    with pytest.raises(InputError, match="Choose two of"):
        ask(session, "heads", x="beauty")


def test_an_index_is_made_once_kept_in_the_cache_and_names_the_heads_of_the_grid(
    session: AppState, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def attention() -> dict[str, Any]:
        return ATTENTION["attention"].ask(session, {"model": "", "text_a": TEXT, "text_b": ""}, OWNER)

    assert "roles" not in attention()
    ask(session, "heads")
    assert len(list((tmp_path / "cache").rglob("*.npz"))) == 1
    monkeypatch.setattr("bertviz_lab.interpret.index_corpus", lambda *_, **__: pytest.fail("made again"))
    ask(session, "heads")
    session = AppState(session.settings)  # another start of the page
    ask(session, "heads")
    body = attention()
    assert np.shape(body["roles"]) == (2, 2)
    assert "The names under heads are what they do on" in body["note"]


def test_heads_are_found_by_an_example_and_the_example_is_proposed(session: AppState) -> None:
    answer = ask(session, "pairs")
    encoding = interpret.encode_inputs(session.models.open(), TEXT).encoding
    assert [words for _, words in answer["tokens"]][:3] == ["[CLS] (0)", "the (1)", "red (2)"]
    assert answer["query"] == len(encoding) - 2
    assert 0 < answer["key"] < len(encoding) - 1
    found = shown(ask(session, "pairs", query=6, key=1)["map"])  # the, the
    assert found["title"] == "Heads that link the to the"
    assert "the same twice: the" in found["sentence"]
    assert np.shape(found["values"]) == (2, 2)
    assert "two tokens" in shown(ask(session, "pairs", text_a="[MASK]")["map"])["message"]
    assert "two different tokens" in shown(ask(session, "pairs", query=3, key=3)["map"])["message"]


def test_neurons_fire_at_a_token_and_one_of_them_is_shown(session: AppState) -> None:
    answer = ask(session, "neurons", position=3)
    firing = shown(answer["firing"])
    assert firing["title"] == "Neurons that fire at cat (3)"
    name = firing["groups"][0]["items"][0]["pick"]
    assert shown(answer["examples"])["title"].startswith(f"Neuron {name}: most activating")
    assert shown(answer["promoted"])["title"].startswith(f"Neuron {name}: tokens that it promotes")
    other = ask(session, "neurons", neuron="2.64")
    assert shown(other["examples"])["title"].startswith("Neuron 2.64:")
    assert "skipped" not in shown(other["promoted"])["sentence"]
    for wrong in ("3.1", "2.65", "x", "1", "0.1"):
        with pytest.raises(InputError, match=r"from 1\.1 to 2\.64"):
            ask(session, "neurons", neuron=wrong)


def test_a_head_is_followed_through_the_snapshots_of_a_run(session: AppState) -> None:
    with pytest.raises(InputError, match="no snapshots"):
        ask(session, "training", layer=0)
    little_history(session.settings.checkpoints / "history")
    lines = shown(ask(session, "training", model="history", layer=1, head=1))
    assert lines["places"] == [f"{step:,}" for step in STEPS]
    last = session.corpora.index("history", OWNER, "")
    values = {series["name"]: series["values"] for series in lines["series"]}
    assert values["[CLS]"][-1] == pytest.approx(last.metrics["cls"][1, 1], abs=0.2)  # of fewer texts
    with pytest.raises(InputError, match="not there"):
        ask(session, "training", model="history", layer=2)


def test_a_run_is_searched_in_its_own_held_out_text_by_its_owner_alone(session: AppState, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(little_text(), encoding="utf-8")
    folder = session.settings.runs_dir / RUN
    shape = {"preset": "tiny", "vocab_size": 200, "seq_len": 32, "threads": 1}
    *_, _ = pretrain(PretrainConfig(corpus=(str(tmp_path / "text.txt"),), steps=2, **shape), folder)
    (folder / "owner").write_text(OWNER.owner)
    assert session.corpora.choices(RUN, OWNER)[0] == ("own", "the held-out text of this run")
    index = session.corpora.index(RUN, OWNER, "own")
    sentences = set(little_text().split("\n"))
    assert all(any(text.startswith(sentence.rstrip(".")[:20]) for sentence in sentences) for text in index.texts)
    assert list((folder / "corpus_indexes").glob("own-*.npz"))
    assert "own" in dict(session.corpora.choices(RUN, NOBODY))  # at one's own machine everybody is the owner
    shutil.rmtree(folder / "corpus")
    assert "own" not in dict(session.corpora.choices(RUN, OWNER))


def test_a_text_of_ones_own_is_searched_and_kept_in_memory_only(session: AppState, tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(little_text(4), encoding="utf-8")
    index = session.corpora.index("little", OWNER, "file", UploadedFile(path, "mine.txt", 1, OWNER.owner))
    assert index.name == "mine.txt"
    assert "the red cat sat on the mat on day 0." in index.texts[0]
    assert not list((tmp_path / "cache").rglob("*.npz"))
    with pytest.raises(InputError, match="Choose a file"):
        ask(session, "heads", corpus="file")
    with pytest.raises(InputError, match="from the list"):
        ask(session, "heads", corpus="web")
    assert suited_corpus(session.models.open().tokenizer) in CORPORA
    assert isinstance(index, CorpusIndex)
