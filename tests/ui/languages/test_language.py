"""A language says texts, numbers and what was measured, and its catalogue has all that the course says."""

import html
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

from bertviz_lab.errors import InputError
from bertviz_lab.ui.languages import ENGLISH, Language, Message, Number, Series, language_of, script_texts, translated
from bertviz_lab.ui.lessons import LESSONS, Choice, Lesson
from bertviz_lab.ui.lessons.measuring import measure
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.lessons.view import QUESTIONS
from docs.make_catalogue import FOLDER, collected, update
from tests.ui.pages import little_settings

GERMAN = language_of("de")
with (FOLDER / "de.po").open("rb") as file:
    PAIRS = {str(message.id): str(message.string) for message in read_po(file, locale="de") if message.id}
#: English texts that German does not share, without their names in braces: what must not be left on a German page.
FOREIGN = sorted({text for text, said in PAIRS.items() if text != said and len(text) > 12}, key=len)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> AppState:
    return AppState(Settings(runs_dir=tmp_path_factory.mktemp("runs")))


def english_in(text: str) -> list[str]:
    """Texts of the catalogue that stand in a text untranslated, each in its longest piece between names in braces."""
    plain = text.replace("`", "")
    longest = {each: max(re.split(r"\{\w+\}", each.replace("`", "")), key=len).strip() for each in FOREIGN}
    return [each for each, piece in longest.items() if len(piece) > 12 and piece in plain]


def words_of(page: str) -> str:
    """The text of a lesson's page, without lines of the package."""
    return html.unescape(re.sub(r'(?s)<pre[^>]* lang="en">.*?</pre>|<[^>]+>', "", page))


def test_boxes_are_checked_in_american_english() -> None:
    assert [text for text in PAIRS if re.search(r"\b(un)?tick", text, re.IGNORECASE)] == []


def test_german_addresses_nobody() -> None:
    addressed = re.compile(r"[^.:?!„] (Sie|Ihnen|Ihr(e[mnrs]?)?)\b|\b([Ee]uch|[Ee]uer|[Ee]ure[mnrs]?)\b")
    assert [said for said in PAIRS.values() if addressed.search(said)] == []


def test_numbers_are_written_as_the_language_writes_them() -> None:
    assert GERMAN.translate(Number(0.3891, ".1%")) == "38,9\N{NO-BREAK SPACE}%"
    assert GERMAN.translate(Number(1234567.5, ",.1f")) == "1.234.567,5"
    assert ENGLISH.translate(Number(0.3891, ".1%")) == "38.9%"
    assert GERMAN.translate(Series([Number(0.5, ".2f"), Number(1.25, ".2f")])) == "0,50; 1,25"
    assert ENGLISH.translate(Series([Number(0.5, ".2f"), "b"])) == "0.50, b"


def test_a_message_is_english_until_it_is_told_in_another_language() -> None:
    message = Message("{count} million", count=Number(1.5, ".1f"))
    assert message == "1.5 million"
    assert GERMAN.translate(message).startswith("1,5 Mi")
    assert GERMAN.translate(Message("Lesson {number}: {title}", number=3, title="play")) == "Lektion 3: play"


def test_what_is_no_message_is_told_as_it_is() -> None:
    """A word of an example may happen to be a text of the catalogue."""
    assert GERMAN.translate("plain") == "plain"
    assert GERMAN("{count} of {total}", count="irony", total=2) == "irony von 2"


@pytest.mark.parametrize("asked", [None, "", "xx", "../de", "DE", "de.po"])
def test_a_language_that_there_is_not_is_the_server_s(asked: str | None) -> None:
    assert language_of(asked) == ENGLISH
    assert language_of(asked, "de") == Language("de")


def test_an_address_names_a_language_that_is_not_the_server_s() -> None:
    assert language_of("de").address("leader") == "leader?lang=de"
    assert language_of("de").address("./?lesson=5") == "./?lesson=5&lang=de"
    assert language_of("de", "de").address("leader") == "leader"
    assert language_of("en", "de").address("leader") == "leader?lang=en"


@pytest.mark.parametrize("code", ["xx", "de_DE"])
def test_a_server_speaks_languages_that_there_are(code: str) -> None:
    with pytest.raises(InputError, match="--language must be one of en, de"):
        Settings(language=code)


def test_the_environment_names_the_language_of_a_server(tmp_path: Path) -> None:
    assert Settings.for_host("localhost", tmp_path, 1, {}).language == "en"
    assert Settings.for_host("localhost", tmp_path, 1, {"BERTVIZ_LAB_LANGUAGE": "de"}).language == "de"
    assert Settings.for_host("localhost", tmp_path, 1, {"BERTVIZ_LAB_LANGUAGE": "de"}, language="en").language == "en"


def test_only_the_texts_of_a_lesson_are_translated() -> None:
    lesson = LESSONS[2]
    german = translated(lesson, GERMAN)
    assert german.title == "Segmente und Next Sentence Prediction"
    assert german.choices[0] == Choice(*map(PAIRS.get, (lesson.choices[0].text, lesson.choices[0].why)))  # type: ignore[arg-type]
    assert [step.place for step in german.steps] == [step.place for step in lesson.steps]
    assert (german.example, german.code, german.answer) == (lesson.example, lesson.code, lesson.answer)


@pytest.mark.parametrize("each", LESSONS, ids=lambda each: f"lesson {each.number}")
def test_a_lesson_has_no_english_left_in_german(shipped: AppState, each: Lesson) -> None:
    bodies = QUESTIONS["lessons"].ask(shipped, {"language": "de"})
    told = QUESTIONS["measured"].ask(shipped, {"number": each.number, "language": "de"})
    assert english_in(words_of(bodies[each.number - 1]["page"]) + words_of(told)) == []
    english = QUESTIONS["lessons"].ask(shipped, {"language": "en"})[each.number - 1]
    assert len(english_in(words_of(english["page"]))) > 5  # they would be seen
    result = re.sub(r'(?s)<ol class="steps">.*?</ol>', "", told)  # where a card is named as the page names it
    texts = re.findall(r"(?s)<p>.*?</p>|<span class=\"share\">.*?</span>", result)
    assert re.findall(r"\d%|\d\.\d(?!\d\d)|\{\w+\}", " ".join(texts)) == []


def test_both_languages_tell_one_measurement(shipped: AppState) -> None:
    for lesson in (LESSONS[0], LESSONS[12]):
        english, german = measure(shipped, lesson), measure(shipped, lesson, GERMAN)
        assert english.finding is german.finding
        assert english.answer == german.answer
        assert str(sum(english.finding.held)) in german.paragraphs[-1]
    share = measure(shipped, LESSONS[0]).finding.numbers["both"]
    assert GERMAN.translate(share) == share.replace(".", ",").replace("%", "\N{NO-BREAK SPACE}%")
    assert GERMAN.translate(share) in measure(shipped, LESSONS[0], GERMAN).paragraphs[0]


def test_visitors_who_ask_at_once_in_different_languages_do_not_mix(shipped: AppState) -> None:
    def ask(number: int) -> tuple[str, str, Any]:
        code = ("de", "en")[number % 2]
        told = QUESTIONS["measured"].ask(shipped, {"number": 1, "language": code})
        return code, told, QUESTIONS["lessons"].ask(shipped, {"language": code})[0]["title"]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(64)))
    begins = {"de": ("Das gilt für ", "Bidirektionaler Kontext"), "en": ("This holds for ", "Bidirectional context")}
    assert all(f"<p>{begins[code][0]}" in said and title == begins[code][1] for code, said, title in answers)


def test_a_server_s_language_is_that_of_visitors_who_ask_for_none(tmp_path: Path) -> None:
    state = AppState(Settings(runs_dir=tmp_path, checkpoints=tmp_path, language="de"))
    titles = [QUESTIONS["lessons"].ask(state, {"language": code})[0]["title"] for code in ("", "xx", "en")]
    assert titles == ["Bidirektionaler Kontext", "Bidirektionaler Kontext", "Bidirectional context"]


def test_what_cannot_be_measured_is_told_in_the_language(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="fehlt das Modell wiki-mini"):
        QUESTIONS["measured"].ask(AppState(little_settings(tmp_path)), {"number": 1, "language": "de"})


CATALOGUES = sorted(FOLDER.glob("*.po"))
each_catalogue = pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.stem)

#: What stays as it is in every language: names in braces, code, and references to parts of a formula.
KEPT = re.compile(r"\{\w+\}|`[^`]+`|\[(?:CLS|SEP|MASK|PAD|UNK)\]|##")


@pytest.fixture(scope="module")
def texts() -> Catalog:
    return collected()


def read(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale=path.stem)


def pairs(path: Path) -> list[tuple[str, str]]:
    return [(str(message.id), str(message.string)) for message in read(path) if message.id]


@each_catalogue
def test_a_catalogue_has_the_texts_of_the_course_and_no_others(path: Path, texts: Catalog) -> None:
    """`make catalogue` brings it up to date."""
    assert {text for text, _ in pairs(path)} == {str(message.id) for message in texts if message.id}


@each_catalogue
def test_every_text_is_translated(path: Path) -> None:
    assert [text for text, translation in pairs(path) if not translation] == []


@each_catalogue
def test_a_translation_keeps_names_and_code(path: Path) -> None:
    assert [
        (text, translation)
        for text, translation in pairs(path)
        if set(KEPT.findall(text)) != set(KEPT.findall(translation))
    ] == []


def test_scripts_are_given_only_what_they_say(texts: Catalog) -> None:
    """What a lesson says, its answers above all, is not in a file that every visitor loads."""
    german = script_texts()["de"]
    assert german["Start again"] == "Von vorn beginnen"
    assert 10 < len(german) < 150
    lessons = {str(message.id) for message in texts if any(line.startswith("Lesson") for line in message.auto_comments)}
    assert len(lessons) > 250
    assert not {text for text in lessons if " " in text} & german.keys()  # not a table's heading, such as “model”


def test_a_new_catalogue_has_all_texts_and_keeps_what_was_filled_in(tmp_path: Path, texts: Catalog) -> None:
    path = tmp_path / "fr.po"
    update(path)
    empty = read(path)
    assert {message.id for message in empty} == {message.id for message in texts}
    assert not any(message.string for message in empty if message.id)
    word = 'msgid "WordPiece"\nmsgstr "'
    filled = path.read_text(encoding="utf-8").replace(word, f"{word}WP")
    path.write_text(f'{filled}\nmsgid "Gone"\nmsgstr "Parti"\n', encoding="utf-8")
    update(path)
    kept = dict(pairs(path))
    assert kept["WordPiece"] == "WP"
    assert "Gone" not in path.read_text(encoding="utf-8")
    before = path.read_bytes()
    update(path)
    assert path.read_bytes() == before
