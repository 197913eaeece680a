"""Every catalogue has all that the course says, and its translations keep what is not language."""

import re
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

from bertviz_lab.ui.languages import languages, script_texts
from docs.make_catalogue import FOLDER, collected, update

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


def test_german_is_there() -> None:
    assert languages() == {"en": "English", "de": "Deutsch"}


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


@each_catalogue
def test_a_translation_begins_and_ends_as_its_text_does(path: Path) -> None:
    """Texts are put together with others: what is a sentence stays one, and what is none gets no full stop."""

    def is_sentence(text: str) -> bool:
        return text.endswith((".", "?", "…"))

    assert [text for text, said in pairs(path) if is_sentence(text) != is_sentence(said)] == []
    assert [text for text, said in pairs(path) if text != text.strip() or said != said.strip()] == []


def test_german_has_its_own_quotation_marks_and_numbers() -> None:
    german = [translation for _, translation in pairs(FOLDER / "de.po")]
    assert [said for said in german if re.search("[“”]", said.replace("“", "", said.count("„")))] == []
    assert [said for said in german if said.count("„") != said.count("“")] == []
    labels = re.compile("„[^“]+“")  # of the page, which is English
    counted = [said for said in german if "et al." not in said]  # sections of papers have numbers of their own
    assert [said for said in counted if re.search(r"\d%|\d\.\d(?!\d\d)", labels.sub("", said))] == []


def test_nobody_is_addressed_in_german() -> None:
    """Instructions are infinitives; a sentence may still begin with "Ihre" or "Sie" for something that was named."""
    german = [translation for _, translation in pairs(FOLDER / "de.po")]
    addressed = r"\b(Ihnen|[Dd]u|[Dd]ich|[Dd]ir|[Dd]eine?[nmrs]?|[Ee]uch|[Ee]ure?)\b|[a-zäöüß,] (Sie|Ihr\w*)\b"
    assert [said for said in german if re.search(addressed, said)] == []


def test_scripts_are_given_only_what_they_say(texts: Catalog) -> None:
    """What a lesson says, its answers above all, is not in a file that every visitor loads."""
    german = script_texts()["de"]
    assert german["Start again"] == "Von vorn beginnen"
    assert 10 < len(german) < 60
    lessons = {str(message.id) for message in texts if any(line.startswith("Lesson") for line in message.auto_comments)}
    assert len(lessons) > 250
    assert not lessons & german.keys()


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
