"""What a session remembers, its examples, and what it says of runs."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bertviz_lab import InputError, PretrainConfig, Tokenizer, load_checkpoint
from bertviz_lab.config.limits import Limits
from bertviz_lab.model import BertForQuestionAnswering
from bertviz_lab.training.runs.run_folder import RunState, write_state
from bertviz_lab.ui.operations.housekeeping import sweep
from bertviz_lab.ui.server.visitors import NOBODY
from bertviz_lab.ui.state.app_state import AppState, CachedTrace
from bertviz_lab.ui.state.examples import GENERAL, PYTHON, TOWN, examples_for, examples_from, task_examples
from bertviz_lab.ui.views.run.view import follow
from bertviz_lab.ui.views.runs.view import current, glance, newest
from tests.little import little_checkpoint, little_text
from tests.ui.pages import OWNER, STRANGER
from tests.ui.state.test_models import RUN, make_run


def test_a_computation_is_kept_for_a_while_and_found_again(session: AppState) -> None:
    trace = CachedTrace(np.full((2, 2, 4, 4), 0.25, np.float32))
    key = session.keep_trace("little", ("a", "b"), trace)
    assert session.trace(key) is trace
    assert session.keep_trace("little", ("a", "b"), trace) == key
    assert session.keep_trace("little", ("a", "c"), trace) != key
    session._traces._most = 2 * trace.bytes
    session.keep_trace("little", ("d", ""), trace)
    assert session.trace(key) is None
    assert session.trace("no such key") is None


def test_examples_for_a_run_come_from_its_own_text(session: AppState) -> None:
    folder = make_run(session)
    text = folder / "01-story.txt"
    text.write_text(little_text(), encoding="utf-8")
    body = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(body | {"corpus": [str(text)]}))
    found = session.examples(RUN)
    assert len(found.masked) == 5
    for sentence in found.masked:
        before, after = sentence.split("[MASK]")
        line = next(line for line in little_text().splitlines() if line.startswith(before) and line.endswith(after))
        hidden = line[len(before) : len(line) - len(after)]
        assert len(session.models.open(RUN).tokenizer.ids([hidden])[0]) == 1
    assert all(first in little_text() and second in little_text() for first, second in found.pairs)
    assert session.examples(RUN) is found


def test_a_run_whose_text_is_gone_still_has_examples(session: AppState) -> None:
    folder = make_run(session)
    body = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(body | {"corpus": [str(folder / "gone.txt")]}))
    assert all("[MASK]" in text for text in session.examples(RUN).masked)


def test_a_text_is_examined_once(session: AppState, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text(little_text(), encoding="utf-8")
    assert session.examine((text,), vocab_size=200) is session.examine((text,), vocab_size=200)
    assert session.examine((text,), vocab_size=200) is not session.examine((text,), vocab_size=100)


def test_the_strip_is_told_where_a_model_is_only_on_ones_own_machine(session: AppState) -> None:
    make_run(session)
    found = glance(session, NOBODY, RUN)
    assert found is not None
    assert found["status"] == "finished"
    assert found["path"].endswith("/model")
    assert 0 <= found["ended"] < 60
    shared = AppState(replace(session.settings, limits=Limits.of(shared=True)))
    hidden = glance(shared, OWNER, RUN)
    assert hidden is not None
    assert hidden["path"] == ""
    assert hidden["saved"]


def test_a_page_opens_with_the_visitors_newest_run_or_ones_own_active_one(session: AppState) -> None:
    assert newest(session, OWNER) == ""
    make_run(session)
    assert newest(session, NOBODY) == newest(session, STRANGER) == ""
    assert newest(session, OWNER) == RUN
    other = make_run(session, "calm-fox-fedcba9876543210", "training")
    (other / "owner").unlink()  # it was started by the command line
    assert current(session, OWNER) == [RUN, other.name]


def test_why_a_run_failed_is_told_in_the_words_of_the_page(session: AppState) -> None:
    told = "This run needs more memory than is free: choose a smaller --batch-size, then resume with --resume."
    folder = make_run(session)
    write_state(folder, RunState(status="failed", message=told))
    (folder / "events.jsonl").write_text(
        json.dumps({"event": "RunFinished", "reason": "failed", "message": told}) + "\n"
    )
    followed, glanced = follow(session, NOBODY, RUN, 0), glance(session, NOBODY, RUN)
    assert followed is not None
    assert glanced is not None
    for message in (followed["rows"][0]["message"], followed["state"]["message"], glanced["message"]):
        assert 'choose a smaller "Batch size", then resume with "Resume training".' in message


@pytest.mark.parametrize("content", ["", "[]", "{}", "nul", '{"status": 7, "step": "x", "preset": 3}', "\0"])
@pytest.mark.parametrize("file", ["state.json", "config.json", "events.jsonl", "notes.json", "owner"])
def test_a_damaged_run_harms_no_other(
    session: AppState, monkeypatch: pytest.MonkeyPatch, file: str, content: str
) -> None:
    """An empty state.json ended the start of the page, and refused all others a run in words with its secret id."""
    folder = make_run(session)
    (folder / file).write_text(content)
    monkeypatch.setattr("bertviz_lab.jobs.runs.Runs._launch", lambda self, folder: None)
    shared = AppState(replace(session.settings, limits=Limits.of(shared=True)))
    other = shared.quota.start(STRANGER, PretrainConfig(corpus=("sample:tiny-town",), preset="tiny", steps=10))
    for visitor in (OWNER, STRANGER):
        shared.models.choices(visitor)
        shared.snapshots.choices(visitor)
        newest(shared, visitor, PretrainConfig)
        glance(shared, visitor, RUN)
        follow(shared, visitor, RUN, 0)
    sweep(shared)
    assert shared.runs.state(other).status == "waiting"
    with pytest.raises(InputError) as refused:
        shared.quota.start(STRANGER, PretrainConfig(corpus=("sample:tiny-town",), init_from=str(folder / "model")))
    assert RUN not in str(refused.value)


@pytest.mark.parametrize("own", [GENERAL, PYTHON, TOWN], ids=["general", "python", "town"])
def test_a_model_gets_the_examples_whose_words_it_knows(own: object) -> None:
    assert own in (GENERAL, PYTHON, TOWN)
    texts = [*own.singles(), *(text.replace("[MASK]", "") for text in own.masked)]
    tokenizer = Tokenizer.train(texts * 3, vocab_size=1000)
    assert examples_for(tokenizer) is own


@pytest.mark.parametrize("examples", [GENERAL, PYTHON, TOWN], ids=["general", "python", "town"])
def test_every_example_has_a_masked_token_and_every_pair_two_sentences(examples: object) -> None:
    assert all("[MASK]" in text for text in examples.masked)
    assert all(first.strip() and second.strip() for first, second in examples.pairs)
    assert len(examples.singles()) == len(examples.pairs)


def test_a_text_without_suitable_sentences_gives_no_examples(tmp_path) -> None:
    text = tmp_path / "short.txt"
    text.write_text("One. Two. Three words here.", encoding="utf-8")
    tokenizer = Tokenizer.train(["One. Two. Three words here."], vocab_size=100)
    assert examples_from([str(text)], tokenizer) is None
    assert examples_from([str(tmp_path / "gone.txt")], tokenizer) is None


@pytest.mark.parametrize(
    "lines",
    [
        ["今天的天气很好,我们去公园散步。", "明天的天气不好,我们在家里看书。", "他们在公园里看见了很多人。"],
        ["きょうはとてもいい天気ですね。", "あしたはとてもさむい天気です。", "いい天気の日はさんぽをします。"],
        ["วันนี้อากาศดีมากเราไปเดินเล่น", "พรุ่งนี้อากาศไม่ดีเราอยู่บ้าน", "วันนี้เราไปเดินเล่นที่บ้าน"],
        ["😀 😂 😍 😀 😂 🎉", "🎉 😀 😂 😍 😀 😂", "😍 😀 😂 🎉 😀 😂"],
    ],
    ids=["Chinese", "Japanese", "Thai", "emoji"],
)
def test_texts_without_letters_or_spaces_give_examples_too(tmp_path, lines: list[str]) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(lines), encoding="utf-8")
    tokenizer = Tokenizer.train(lines, vocab_size=50)  # no word of many characters
    own = examples_from([str(text)], tokenizer)
    assert own is not None
    for masked in own.masked:
        before, after = masked.split("[MASK]")
        assert before
        assert any(line.startswith(before) and line.endswith(after) for line in lines)


def test_a_model_of_tiny_town_is_asked_about_tiny_town() -> None:
    checkpoint = load_checkpoint("answers-town")
    examples = task_examples(checkpoint, None)
    assert len(examples) == 5
    for texts in examples:
        for text in texts:
            known = checkpoint.tokenizer.encode(text.rstrip("?")).ids  # its stories ask nothing
            assert checkpoint.tokenizer.unk_id not in known, text


@pytest.mark.parametrize(("words", "town"), [(30_522, False), (811, True)])
def test_another_question_answering_model_is_asked_in_ordinary_english(words: int, town: bool) -> None:
    examples = task_examples(little_checkpoint(kind=BertForQuestionAnswering, vocab_size=words), None)
    assert len(examples) == 5
    assert any("Marrowby" in passage for _, passage in examples) != town
    assert all(question.endswith("?") and len(question) + len(passage) <= 1200 for question, passage in examples)
