"""Markup in plain text is left out or ends documents, and the report says so; the writing system is looked at."""

import json
import time

import pytest

from bertviz_lab.data.corpora.health import examine_files
from bertviz_lab.data.corpora.health_report import writing_system
from bertviz_lab.data.corpora.reading_notes import ReadingNotes
from tests.data.support import PROSE, read, text_of, written

ARTICLE = "The mill closed early. It fell down later.\n\nThe owner left the town. Nobody came back.\n"
WRITERS = {
    "WikiExtractor": lambda n: f'<doc id="{n}" url="https://x/{n}" title="T{n}">\nMill {n}\n\n{ARTICLE}</doc>\n\n',
    "WikiText": lambda n: f" = Mill {n} = \n \n {ARTICLE} \n = = Part = = \n \n It was well @-@ known <unk> .\n",
    "|endoftext|": lambda n: f"Mill {n}. {ARTICLE}<|endoftext|>",
}


@pytest.mark.parametrize("kind", WRITERS)
def test_articles_are_documents_without_their_markup(kind, tmp_path):
    notes = ReadingNotes()
    documents = read(written(tmp_path, "a.txt", "".join(map(WRITERS[kind], range(5)))), notes)
    assert len(documents) == 5
    assert [document.sentences[0].rstrip(".") for document in documents] == [f"Mill {n}" for n in range(5)]
    text = text_of(documents)
    assert not any(mark in text for mark in ("<", ">", "=", "@"))
    assert kind.strip("|") in notes.files[0].markup


def test_html_tags_scripts_styles_and_licenses_are_left_out(tmp_path):
    lines = "<p>The <b>cat</b> ran &amp; sat.<br/>The dog sat.</p>\n\n" * 9
    notes = ReadingNotes()
    documents = read(written(tmp_path, "a.txt", lines), notes)
    assert documents[0].sentences == ("The cat ran & sat.", "The dog sat.")
    assert "HTML tags were left out" in next(notes.descriptions())
    line = "<p>A cat <script src='a'>if (a < b) {}</script>ran <style>p {}</STYLE>home <script>alone.</p>\n"
    documents = read(written(tmp_path, "a.txt", line * 9))
    assert documents[0].sentences[0] == "A cat ran home alone."
    start, end = (f"*** {mark} OF THE PROJECT GUTENBERG EBOOK X ***" for mark in ("START", "END"))
    body = f"A license.\n\n{start}\n{PROSE}\nEnd of Project Gutenberg's X\n{end}\nMore."
    assert not {"license.", "Gutenberg's", "More."} & set(text_of(read(written(tmp_path, "a.txt", body))).split())


def test_markup_in_cells_and_records_is_left_out_too(tmp_path):
    text = "A <b>cat</b> ran.<br /><br />It sat.<|endoftext|>A dog ran &amp; sat."
    table = "label,text\n" + f'1,"{text}"\n' * 9
    for name, content in (("a.csv", table), ("a.jsonl", (json.dumps({"text": text}) + "\n") * 9)):
        notes = ReadingNotes()
        documents = read(written(tmp_path, name, content), notes)
        assert [document.sentences for document in documents[:2]] == [("A cat ran.", "It sat."), ("A dog ran & sat.",)]
        assert len(documents) == 18
        assert "HTML" in next(notes.markup())


def test_plain_text_with_a_few_signs_is_left_as_it_is(tmp_path):
    text = f"{PROSE}\nIf a < b and c > d, then AT&T; so 1 = 1.\n{PROSE}\n"
    assert "a < b and c > d, then AT&T; so 1 = 1." in text_of(read(written(tmp_path, "a.txt", text)))


@pytest.mark.parametrize(
    "unit", ["<doc ", "<p ", "= ", "<script>", "<script ", "<style><script>", "&a", " @-@", "<|endoftext"]
)
def test_markup_is_stripped_in_time_that_grows_linearly(tmp_path, unit):
    def seconds(size: int) -> float:
        line = unit * (size // len(unit))
        path = written(tmp_path, "a.txt", f"<p>Words.</p>\n= A =\n= = B = =\n{line}\n<doc id=1>\n</doc>\n")
        began = time.process_time()
        read(path)
        return time.process_time() - began

    small, large = (min(seconds(size) for _ in range(3)) for size in (8_000, 64_000))
    assert large < 16 * small + 0.1


@pytest.mark.parametrize(
    ("sentence", "name", "settings"),
    [
        ("The old mill was closed in the café.", "Latin", {}),
        ("दादी बाज़ार में कहानी बेचती है।", "Devanagari", {"lowercase": False}),
        ("Їжак читає новий журнал, а Йосип їсть.", "Cyrillic", {"lowercase": False}),
        ("Bố hát một bài và cô giáo đi chợ.", "Latin", {"lowercase": False}),
        ("Güneş doğdu ve çocuklar şarkı söyledi.", "Latin", {"lowercase": False}),
        ("كتب الولد رسالة طويلة إلى أمه", "Arabic", {"lowercase": False}),
        ("แมวนั่งอยู่บนเสื่อ", "Thai", {"lowercase": False, "algorithm": "bpe"}),
        ("猫坐在垫子上。", "Chinese", {}),
        ("猫がマットの上に座った。", "Japanese", {"lowercase": False, "algorithm": "bpe"}),
    ],
)
def test_settings_suit_the_writing_system(sentence, name, settings):
    found = writing_system([sentence] * 20)
    assert (found.name, found.settings) == (name, settings)


def test_the_health_report_warns_of_letters_that_are_lost(tmp_path):
    path = written(tmp_path, "a.txt", "Їжак читає новий журнал. Йосип їсть яблуко. Наталія йде в ліс.\n\n" * 60)
    report = examine_files([path], vocab_size=300)
    assert "mostly Cyrillic" in report.warnings[0]
    assert report.recommended == {"lowercase": False}
    assert not any("mostly" in warning for warning in examine_files([path], vocab_size=300, lowercase=False).warnings)
