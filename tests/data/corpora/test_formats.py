"""Formats of text: dumps, books, Markdown, tables, JSON, and markup that is left out."""

import bz2
import json
import textwrap
import time

import pytest

from bertviz_lab.data.corpora.formats.layout import is_wrapped
from bertviz_lab.data.corpora.health import examine_files
from bertviz_lab.data.corpora.health_report import writing_system
from bertviz_lab.data.corpora.read import read_documents
from bertviz_lab.data.corpora.reading_notes import ReadingNotes
from bertviz_lab.errors import InputError
from tests.data.support import PROSE, read, text_of, written


def test_a_wiki_dump_has_a_paragraph_a_line_and_an_article_a_block(tmp_path):
    text = f"{PROSE}\n{PROSE}\n\n{PROSE}\n\n{PROSE}\n{PROSE}\n{PROSE}\n\n{PROSE}\n{PROSE}\n"
    documents = read(written(tmp_path, "wiki.txt", text))
    assert [len(document.sentences) for document in documents] == [4, 2, 6, 4]
    assert [document.name for document in documents] == ["wiki.txt", "wiki.txt #2", "wiki.txt #3", "wiki.txt #4"]


def wrapped(text: str) -> str:
    return textwrap.fill(text, 70)


def test_a_hard_wrapped_book_is_joined_and_split_at_its_chapters(tmp_path):
    chapter = "\n\n".join(wrapped(PROSE * n) for n in (1, 2, 1, 3))
    documents = read(written(tmp_path, "book.txt", f"{chapter}\n\n\n\n{chapter}\n\n\n\n{chapter}\n"))
    assert [len(document.sentences) for document in documents] == [14, 14, 14]
    assert documents[0].sentences[:2] == tuple(f"{s}." for s in PROSE.strip(". ").split(". "))
    (whole,) = read(written(tmp_path, "book.txt", "\n\n".join(wrapped(PROSE) for _ in range(20))))
    assert len(whole.sentences) == 40


@pytest.mark.parametrize(("hyphens", "word"), [(9, "nobody"), (1, "no-body")])
def test_hyphens_at_the_ends_of_lines_divide_words_where_there_are_many(hyphens, word, tmp_path):
    line = "The old mill by the river was closed, and for years there was "
    paragraphs = [f"{line}no-\nbody in it, first-\nand second-hand. {line}sand in it and {line}sand in it."] * hyphens
    others = [wrapped(line * 3)] * 9
    documents = read(written(tmp_path, "a.txt", "\n\n".join(paragraphs + others)))
    assert f"was {word} in it, first- and second-hand." in text_of(documents)


def test_wrapped_lines_are_told_from_sentences_and_verse(tmp_path):
    text = "\n\n".join("\n".join(f"The cat number {d}{s} sat on the mat today." for s in range(5)) for d in range(9))
    assert [len(document.sentences) for document in read(written(tmp_path, "toy.txt", text))] == [5] * 9
    sentences = [f"Sentence number {n} has {'quite ' * (n % 7)}a few words." for n in range(60)]
    assert not is_wrapped(sentences)
    assert is_wrapped(wrapped(PROSE * 5).splitlines())
    assert not is_wrapped([PROSE * 3] * 30)


def test_after_single_sentences_a_wider_gap_ends_a_document(tmp_path):
    block = "\n\n".join(f"This is sentence number {n}." for n in range(10))
    documents = read(written(tmp_path, "trap.txt", "\n\n\n".join([block] * 5)))
    assert [len(document.sentences) for document in documents] == [10] * 5


def test_asked_for_files_a_file_is_a_document(tmp_path):
    paths = [written(tmp_path, f"{n}.txt", f"{PROSE}\n\n{PROSE}") for n in range(3)]
    assert [len(d.sentences) for d in read_documents(paths, documents="file")] == [4, 4, 4]


def test_markdown_loses_its_markup_and_keeps_its_words(tmp_path):
    text = (
        "---\ntitle: front matter\n---\n# A *title*\n\nSee [the **page**](http://x.y/z) and ![a picture](p.png).\n"
        "It has `code` and <b>tags</b>,\nover two lines.\n\n```python\nsecret = 1\n```\n\n"
        "- first item\n- second _item_\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted words\n\n***\n"
        "snake_case_name stays.\n\n[ref]: http://x.y\n<!-- hidden -->\n"
    )
    (document,) = read(written(tmp_path, "notes.md", text))
    assert document.sentences == (
        "A title", "See the page and a picture.", "It has code and tags, over two lines.", "first item", "second item",
        "quoted words", "snake_case_name stays.",
    )  # fmt: skip


@pytest.mark.parametrize("unit", ["# ", "# a ", "> ", "- ", "* ", "`", "[a](", "<a ", "_a"])
def test_markdown_is_read_in_time_that_grows_linearly_with_its_lines(tmp_path, unit):
    def seconds(size: int) -> float:
        path = written(tmp_path, "a.md", f"Words.\n\n# {unit * (size // len(unit))}x\n")
        began = time.process_time()
        read(path)
        return time.process_time() - began

    small, large = (min(seconds(size) for _ in range(2)) for size in (8_000, 64_000))
    assert large < 24 * small + 0.1


def test_markdown_is_split_at_headings_of_the_second_level_and_a_lone_rule_is_no_front_matter(tmp_path):
    text = f"# Book\n\n## One\n\n{PROSE}\n\n### Part\n\n{PROSE}\n\nTwo\n---\n\n{PROSE}\n"
    documents = read(written(tmp_path, "book.md", text))
    assert [document.sentences[0] for document in documents] == ["Book", "One", "Two"]
    assert text_of(read(written(tmp_path, "a.md", "---\nHello there.\n"))) == "Hello there."


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("a.csv", 'id,text\n1,"Hello, there. You."\n2,Bye now\n', ["Hello, there. You.", "Bye now"]),
        ("a.csv", "nr;Satz\n1;Das ist ein Satz, ja.\n2;Noch einer.\n", ["Das ist ein Satz, ja.", "Noch einer."]),
        ("a.tsv", 'ham\tGo on, "dear.\nspam\tWin 5,000 now\n', ['Go on, "dear.', "Win 5,000 now"]),
        ("a.tsv", 'A sentence, here.\tSci\nOne more "of them.\tBiz\n', ["A sentence, here.", 'One more "of them.']),
        ("a.csv", "text\nHello, you.\nBye, me.\n", ["Hello, you.", "Bye, me."]),
        ("a.csv", 'text,label\n"one\ntwo",1\n"three ""3""",0\n', ["one two", 'three "3"']),
        ("a.csv", "a,b,c\n1,2,the longest column\n1,2,of them all here\n", ["the longest column", "of them all here"]),
        ("a.csv", "id,text\n1,fine here\n2,has, a, comma\n", ["fine here", "has, a, comma"]),
        ("a.csv", "b,\u200btext\u00a0\nthe longest column,fine here\nof them all,bye\n", ["fine here", "bye"]),
        ("a.csv", 'id, text\n1, "spaced, out"\n2, "more, here"\n', ["spaced, out", "more, here"]),
        ("a.tsv", 'a\tone "is" here\nb\t"Said aloud."\nc\tHe said "no\nd\tx\ne\ty\nf\tz\n', None),
        ("a.csv", "review|stars\nVery good film|5\nVery bad film|1\n", ["Very good film", "Very bad film"]),
    ],
)
def test_the_dialect_and_the_text_column_are_guessed(tmp_path, name, content, texts):
    documents = read(written(tmp_path, name, content))
    if texts is None:  # marks that quote speech, not cells
        texts = [line.split("\t")[1] for line in content.splitlines()]
    assert [" ".join(document.sentences) for document in documents] == texts


def test_columns_can_be_named_and_ragged_rows_are_counted(tmp_path):
    notes = ReadingNotes()
    path = written(tmp_path, "r.csv", "id,text,label\n1,hello there,a\n2,more words\n3\n4,some words,b,c,d\n5,x y,z\n")
    assert [d.sentences[0] for d in read(path, notes)] == ["hello there", "more words", "some words", "x y"]
    assert notes.files[0].ragged_rows == 3
    assert notes.files[0].skipped_rows == 1
    path = written(tmp_path, "a.csv", "id,text,title\n1,the text here,The Title\n2,more text,Other\n")
    assert [d.sentences[0] for d in read(path, text_field="title")] == ["The Title", "Other"]
    with pytest.raises(InputError, match='no column "body"; it has "id", "text", "title"'):
        read(path, text_field="body")


def test_json_lines_are_documents_and_hard_wrapped_text_in_them_is_joined(tmp_path):
    path = written(tmp_path, "a.jsonl", '{"id": "x", "text": "One. Two."}\n\n{"text": "Three."}\n"a bare string"\n')
    assert [d.sentences for d in read(path)] == [("One.", "Two."), ("Three.",), ("a bare string",)]
    once = tuple(f"{s}." for s in PROSE.strip(". ").split(". "))
    text = wrapped(PROSE * 3)
    (record,) = read(written(tmp_path, "a.jsonl", json.dumps({"text": text})))
    (row, _) = read(written(tmp_path, "a.csv", f'id,text\n1,"{text}"\n2,"Another row."\n'))
    assert record.sentences == row.sentences == 3 * once


WORDS = " ".join(["word"] * 30)


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (["One. Two.", "Three."], ["One. Two.", "Three."]),
        ([{"text": "One."}, {"text": "Two."}], ["One.", "Two."]),
        ({"version": "1", "data": [{"text": "One."}, {"text": "Two."}]}, ["One.", "Two."]),
        ({"a1": {"text": "One.", "by": "Ann"}, "a2": {"text": "Two."}}, ["One.", "Two."]),
        ({"data": {"a1": {"text": "One.", "by": "Ann"}, "a2": {"text": "Two."}}}, ["One. Two."]),
        ({"text": "Just one. Record."}, ["Just one. Record."]),
        ({"title": "One thing", "author": "Ann", "tale": f"{WORDS}."}, [f"{WORDS}."]),
        ({"One": f"{WORDS}.", "Two": f"{WORDS}!", "Three": WORDS}, [f"{WORDS}.", f"{WORDS}!", WORDS]),
        ({f"doc{n}": f"The text {n}." for n in range(21)}, [f"The text {n}." for n in range(21)]),
        ([{"text": ["One.", "Two."]}], ["One. Two."]),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_list_is_read_in_any_layout(tmp_path, value, texts, indent):
    path = written(tmp_path, "a.json", json.dumps(value, indent=indent))
    assert [" ".join(document.sentences) for document in read(path)] == texts


def test_of_texts_by_title_one_can_be_named(tmp_path):
    path = written(tmp_path, "a.json", json.dumps({"One": f"{WORDS}.", "Two": f"{WORDS}!", "Three": WORDS}))
    assert [" ".join(document.sentences) for document in read(path, text_field="Two")] == [f"{WORDS}!"]


def test_a_list_in_one_line_of_json_lines_is_read(tmp_path):
    path = written(tmp_path, "a.jsonl", json.dumps([{"text": "One."}, {"text": "Two."}]))
    assert [document.sentences for document in read(path)] == [("One.",), ("Two.",)]


def test_of_a_notebook_the_cells_are_read(tmp_path):
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Rivers\n", "\n", "They flow to the sea.\n"]},
        {"cell_type": "code", "metadata": {}, "outputs": [{"text": ["1\n"]}], "source": ["print(1)"]},
    ]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1))
    assert [document.sentences for document in read_documents(path)] == [
        ("# Rivers", "They flow to the sea."),
        ("print(1)",),
    ]


@pytest.mark.parametrize(
    "content", ['[{"text": "a"},\n{"text": "b"}', "[" * 100_000, '{"text": "a"', "[1, 2", "{} x", "not json"]
)
def test_broken_json_is_refused_with_a_line(tmp_path, content):
    with pytest.raises(InputError, match="is not JSON from line"):
        read(written(tmp_path, "a.json", content))


def test_a_long_json_list_is_decoded_piece_by_piece(tmp_path):
    records = [{"id": n, "text": f"This is record number {n}. " * (1 + 300 * (n % 97 == 0))} for n in range(5_000)]
    documents = read(written(tmp_path, "a.json", json.dumps(records)))
    assert len(documents) == 5_000
    assert documents[97].sentences == ("This is record number 97.",) * 301
    assert documents[-1].sentences == ("This is record number 4999.",)


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


@pytest.mark.parametrize(
    "time", ["00:00:{n:02},100 --> 00:00:{n:02},900", "00:{n:02}.100 --> 00:{n:02}.900 align:start"]
)
def test_subtitles_lose_their_numbers_and_times(time, tmp_path):
    subtitles = "".join(f"{n}\n{time.format(n=n)}\n<i>It is late.</i>\n1984\n\n" for n in range(20))
    (document,) = read(written(tmp_path, "a.srt", f"WEBVTT\n\n{subtitles}"))
    assert document.sentences == ("It is late.", "1984") * 20


@pytest.mark.parametrize(
    "time",
    ["[12.01.24, 10:{n:02}:03] ", "1/12/24, 10:{n:02} PM - ", "2024-01-12T10:{n:02}:03Z ", "10:{n:02}:03 ",
     "2024-01-12 10:{n:02}:03,120 ", "[00:{n:02}.50]", "\u200e[12/01/2024, 10:{n:02}:03\u202fam] "],
)  # fmt: skip
def test_lines_lose_the_times_that_they_begin_with_and_are_paragraphs(time, tmp_path):
    said = [f"Ann: we meet at 10:30 or so by gate {'1' * (n % 3)}." for n in range(30)]
    notes = ReadingNotes()
    chat = "\n".join(time.format(n=n) + line for n, line in enumerate(said))
    (document,) = read(written(tmp_path, "chat.txt", f"{chat}\nwithout a time"), notes)
    assert document.sentences == (*said, "without a time")
    assert "timestamps at the start" in notes.files[0].markup


def test_sentences_lose_their_numbers(tmp_path):
    notes = ReadingNotes()
    lines = [f"{n}\tIn {1900 + n} it rained." for n in range(1, 30)]
    (document,) = read(written(tmp_path, "sentences.txt", "\n".join(lines)), notes)
    assert document.sentences == tuple(f"In {1900 + n} it rained." for n in range(1, 30))
    assert "numbers at the start" in notes.files[0].markup


def test_verses_are_no_times(tmp_path):
    verses = [f"1:{n} And it was so." for n in range(10, 40)]
    notes = ReadingNotes()
    (document,) = read(written(tmp_path, "a.txt", "\n".join(verses)), notes)
    assert document.sentences == tuple(verses)
    assert not notes.files[0].markup


def test_html_tags_scripts_styles_and_licenses_are_left_out(tmp_path):
    lines = "<p>The <b>cat</b> ran &amp; sat.<br/>The dog sat.</p>\n\n" * 9
    notes = ReadingNotes()
    documents = read(written(tmp_path, "a.txt", lines), notes)
    assert documents[0].sentences == ("The cat ran & sat.", "The dog sat.")
    assert "HTML tags were left out" in next(notes.descriptions())
    line = "<p>A cat <script src='a'>if (a < b) {}</script>ran <style>p {}</STYLE>home <script>alone.</p>\n"
    documents = read(written(tmp_path, "a.txt", line * 9))
    assert documents[0].sentences[0] == "A cat ran home alone."
    cells = "<?xml version='1.0'?><!-- b --><row><name>H<sub>2</sub>O</name><is>wet</is> <!-- a --></row>\n"
    assert read(written(tmp_path, "a.xml", cells * 9))[0].sentences[0].split() == ["H2O", "wet"]
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


@pytest.mark.parametrize(
    ("record", "field"),
    [
        ({"messages": [{"role": "user", "content": "A cat ran."}, {"role": "bot", "content": "It sat."}]}, ".content"),
        ({"id": "17", "conversations": [{"from": "gpt", "value": "A cat ran."}, {"value": "It sat."}]}, "s.value"),
        ({"tweet": {"lang": "en", "full_text": "A cat ran. It sat."}}, "tweet.full_text"),
        ({"title": "T", "paragraphs": [{"context": "A cat ran. It sat.", "qas": [{"text": "What?"}]}]}, ".context"),
    ],
)
def test_texts_within_lists_and_objects_are_found_and_their_field_named(record, field, tmp_path):
    notes = ReadingNotes()
    documents = read(written(tmp_path, "a.jsonl", (json.dumps(record) + "\n") * 3), notes)
    assert [document.sentences for document in documents] == [("A cat ran.", "It sat.")] * 3
    assert f'{field}"' in next(notes.descriptions())


def test_the_field_of_a_text_may_be_given_with_the_names_that_lead_to_it(tmp_path):
    rows = json.dumps({"a.b": "A cat ran.", "a": {"c": "It sat."}, "text": "It slept."}) + "\n"
    path = written(tmp_path, "a.jsonl", rows * 3)
    for field, text in (("a.b", "A cat ran."), ("a.c", "It sat.")):
        assert next(iter(read_documents([path], text_field=field))).sentences == (text,)
    with pytest.raises(InputError, match=r'no field "b"; it has "a\.b", "a\.c", "text"'):
        [*read_documents([path], text_field="b")]


def test_plain_text_with_a_few_signs_is_left_as_it_is(tmp_path):
    text = f"{PROSE}\nIf a < b and c > d, then AT&T; so 1 = 1.\n{PROSE}\n"
    assert "a < b and c > d, then AT&T; so 1 = 1." in text_of(read(written(tmp_path, "a.txt", text)))


@pytest.mark.parametrize(
    "unit",
    ["<doc ", "<p ", "= ", "<script>", "<script ", "<style><script>", "<a ", "&a", " @-@", "<|endoftext"],
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


DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="de"><siteinfo>
<namespaces><namespace key="6">Datei</namespace><namespace key="14">Kategorie</namespace></namespaces></siteinfo>
<page><title>Mill</title><ns>0</ns><revision><text>{{Infobox|name=Mill|built={{year|1835}}}}
The '''old''' [[mill (building)|mill]] is by the [[river]].&lt;ref&gt;A book.&lt;/ref&gt;
It is &amp;quot;closed&amp;quot;.
[[Datei:Mill.jpg|mini|The [[mill]] in winter.]]
== History ==
It was built of stone.
{| class="wikitable"
! Year !! Sacks
|-
| 1835 || 12
|}
* Its [http://example.org owner] was a baker.
[[Kategorie:Mills]]</text></revision></page>
<page><title>Old mill</title><ns>0</ns><redirect title="Mill" />
<revision><text>#REDIRECT [[Mill]]</text></revision></page>
<page><title>Talk:Mill</title><ns>1</ns><revision><text>Is it true?</text></revision></page>
<page><title>River</title><ns>0</ns><revision><text>A river flows. It never stops.</text></revision></page>
</mediawiki>
"""  # fmt: skip


@pytest.mark.parametrize("name", ["dump.xml", "dump.xml.bz2", "wiki.txt"])
def test_a_dump_of_a_mediawiki_is_read_as_the_text_of_its_pages(name, tmp_path):
    path = written(tmp_path, name, bz2.compress(DUMP.encode()) if name.endswith("bz2") else DUMP)
    notes = ReadingNotes()
    mill, river = read_documents(path, notes=notes)
    assert mill.sentences == (
        *("The old mill is by the river.", 'It is "closed".', "History", "It was built of stone."),
        "Its owner was a baker.",
    )
    assert river.sentences == ("A river flows.", "It never stops.")
    assert "redirects were left out. Each page is a document." in next(notes.descriptions())


def test_a_part_of_a_dump_is_read_up_to_its_end(tmp_path):
    notes = ReadingNotes()
    (mill,) = read_documents(written(tmp_path, "part.xml", DUMP[: DUMP.index("A river")]), notes=notes)
    assert mill.sentences[0] == "The old mill is by the river."
    assert "The dump was read up to where it is no XML (no element found: line 19" in next(notes.markup())
    with pytest.raises(InputError, match="holds no words"):
        read(written(tmp_path, "start.xml", DUMP[:200]))


@pytest.mark.parametrize("mark", ["[[", "{{", "'''"])
def test_markup_that_never_ends_is_text(mark, tmp_path):
    dump = DUMP.replace("A river flows.", f"A river flows. {mark * 20_000}")
    assert read(written(tmp_path, "deep.xml", dump))[1].sentences[0] == "A river flows."
