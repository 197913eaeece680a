import pytest

from bertviz_lab import Tokenizer, load_checkpoint
from bertviz_lab.model import BertForQuestionAnswering
from bertviz_lab.ui.state.examples import GENERAL, PYTHON, TOWN, examples_for, examples_from, task_examples
from tests.little import little_checkpoint


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
