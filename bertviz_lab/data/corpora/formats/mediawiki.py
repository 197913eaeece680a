"""A dump of a MediaWiki (Wikipedia's `pages-articles.xml`) as paragraphs: a page is a document.

Only pages of the main namespace that are no redirects. Of their wiki markup the text of links, headings and lists is
kept; templates, tables, references, files and categories are left out (by `mwparserfromhell`).
"""

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING
from xml.etree import ElementTree

from bertviz_lab.data.corpora.formats.text import Paragraphs
from bertviz_lab.data.corpora.reading_notes import FileNotes

if TYPE_CHECKING:
    from mwparserfromhell.wikicode import Wikicode

#: Of links to these nothing is text; a dump also names them in its own language.
_FILE, _CATEGORY = 6, 14
_ENGLISH = {"file", "image", "category"}
#: What stands between these is no text either.
_TAGS = {"table", "ref", "gallery", "math", "timeline", "score", "syntaxhighlight", "source"}


def is_mediawiki(head: bytes) -> bool:
    """Return whether a file that begins like this is a dump."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<mediawiki")


def mediawiki_paragraphs(stream: IO[bytes], notes: FileNotes) -> Paragraphs:
    """Yield the paragraphs of a dump, None after each page.

    What follows after XML that is not well-formed, such as where a part of a dump ends, is left out and noted.
    """
    notes.layout = "Each page is a document."
    notes.markup = "Templates, tables, references, files, categories and redirects were left out."
    import mwparserfromhell

    try:
        for markup, not_text in _pages(stream):
            lines = _plain(mwparserfromhell.parse(markup), not_text).splitlines()
            yield from filter(None, map(str.strip, lines))
            yield None
    except ElementTree.ParseError as error:
        notes.markup += f" The dump was read up to where it is no XML ({error})."


def _pages(stream: IO[bytes]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the markup of each page, and the names of namespaces that hold no text."""
    not_text = set(_ENGLISH)
    events = ElementTree.iterparse(stream, events=("start", "end"))
    _, root = next(events)
    for event, element in events:
        name = element.tag.rpartition("}")[2]  # without the version of the format
        if event == "start":
            continue
        if name == "namespace" and element.get("key") in (str(_FILE), str(_CATEGORY)):
            not_text.add((element.text or "").lower())
        elif name == "page":
            if element.findtext("{*}ns", "0") == "0" and element.find("{*}redirect") is None:
                yield element.findtext("{*}revision/{*}text") or "", frozenset(not_text)
            root.clear()  # the pages before, too


def _plain(code: "Wikicode", not_text: frozenset[str]) -> str:
    """Return the text of parsed markup: of links, headings and styles what they show, of all else nothing."""
    from mwparserfromhell import nodes

    parts: list[str] = []
    for node in code.nodes:
        shown = None
        if isinstance(node, nodes.Text):
            parts.append(node.value)
        elif isinstance(node, nodes.HTMLEntity):
            parts.append(node.normalize())
        elif isinstance(node, nodes.Wikilink):
            namespace = str(node.title).partition(":")[0].strip().lower()
            shown = None if namespace in not_text else node.text or node.title
        elif isinstance(node, (nodes.Heading, nodes.ExternalLink)):
            shown = node.title
        elif isinstance(node, nodes.Tag) and str(node.tag).lower() not in _TAGS:
            shown = node.contents
        if shown:
            parts.append(_plain(shown, not_text))
    return "".join(parts)
