"""Real prose that is always there: documentation of the Python that runs this program, read from its source files.

That is the docstrings of the standard library and the language reference that `help()` shows (`pydoc_data`).
Nothing is imported and nothing is executed: the files are parsed (`ast`), and of each text the paragraphs of
plain prose are kept. Doctests, signatures, tables, field lists and code are left out, and reST markup is removed.
The text belongs to Python (Python Software Foundation License) and stays where it is installed.
"""

import ast
import inspect
import re
import sysconfig
import threading
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from bertviz_lab.data.documents import Document, split_sentences
from bertviz_lab.errors import InputError

#: Folders of the library without prose about it: tests, other people's packages, tables of characters.
_SKIPPED_FOLDERS = frozenset(
    {"test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__", "encodings", "lib-dynload"}
)
#: Modules whose long strings are the text, not their docstrings.
_TOPICS = "pydoc_data/topics.py"
#: Two threads of Python 3.11 that parse at once confuse each other's depth (python/cpython, issue 106905).
_PARSING = threading.Lock()

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def documents(folder: Path | None = None) -> Iterator[Document]:
    """Yield a document for each module: the prose of its docstrings in the order of the file.

    `folder` is the library to read; without it, the standard library of the running Python. Raises `InputError` where
    it holds no Python source with docstrings.
    """
    root = folder or Path(sysconfig.get_path("stdlib"))
    any_document = False
    for path in _sources(root):
        name = path.relative_to(root).as_posix()
        try:
            with _PARSING, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # such as old escape sequences in library files
                tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue  # a file for another Python, or one that may not be read, is no reason to stop
        seen: set[str] = set()  # methods often repeat a line, and topics a passage
        for number, texts in enumerate(_topics(tree) if name == _TOPICS else [_docstrings(tree)], start=1):
            sentences = tuple(_sentences(texts, seen))
            if len(sentences) > 1:  # a single sentence has no next one
                any_document = True
                yield Document(name if number == 1 else f"{name} #{number}", sentences)
    if not any_document:
        raise InputError(
            f"There are no Python source files with documentation in {root}; "
            "choose another sample, or upload a text of your own."
        )


def _sources(folder: Path) -> Iterator[Path]:
    """Yield the source files in and under a folder by name, so that every run reads the same text."""
    entries = sorted(folder.iterdir()) if folder.is_dir() else []
    for path in entries:
        if path.suffix == ".py":
            yield path
        elif path.name not in _SKIPPED_FOLDERS and not path.suffix and not path.is_symlink():
            yield from _sources(path)


def _sentences(texts: Iterable[str], seen: set[str]) -> Iterator[str]:
    """Yield the prose sentences of these texts that have not been seen yet."""
    for text in texts:
        for paragraph in prose(text):
            for sentence in split_sentences(paragraph):
                if sentence not in seen and _reads_as_prose(sentence):
                    seen.add(sentence)
                    yield sentence


def _topics(tree: ast.Module) -> Iterator[list[str]]:
    """Yield the strings of the dictionary of help topics, each a text of its own."""
    values = (value for node in ast.walk(tree) if isinstance(node, ast.Dict) for value in node.values)
    yield from ([v.value] for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str))


def _docstrings(tree: ast.Module) -> Iterator[str]:
    """Yield the docstrings of the module, its classes and functions, in the order of the file."""
    # A walk over statements that hold others: much quicker than `ast.walk`, which visits every expression.
    stack: list[ast.stmt | ast.Module] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, _DOCUMENTED):
            docstring = ast.get_docstring(node, clean=False)
            if docstring:
                yield docstring
        children: list[ast.stmt] = []
        for block in ("body", "orelse", "finalbody"):
            children.extend(getattr(node, block, ()))
        for handler in getattr(node, "handlers", ()):
            children.extend(handler.body)
        stack.extend(reversed(children))


_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_ROLE = re.compile(r":[\w+:.-]+:`~?([^`<]*?)(?:\s*<[^`>]*>)?`")
_LITERAL = re.compile(r"``([^`]*)``|`([^`<]+?)(?:\s*<[^`>]*>)?`_{0,2}")
_EMPHASIS = re.compile(r"(?<![\w*])\*{1,2}(\S(?:[^*\n]*\S)?)\*{1,2}(?![\w*])")
_BULLET = re.compile(r"^\s*(?:[-*+•]|\(?\w{1,2}[.)])\s+")
_NOT_PROSE = re.compile(
    r"^\s*(?:>>>|\.\.\.(?:\s|$)|\$ |\.\. |:[\w ]+:|@param|@return|\||\+[-=+]|[-=~^*#_]{3,}|%\w|#|[A-Z_]{2,}\s*=)"
)
_CODE_SIGNS = re.compile(r"[{}\[\]=<>|\\^#@$%&*~]|--|::")
_HYPHEN = re.compile(r"(?<=[a-z])-\n(?=[a-z])(?!and |or |to )")  # a compound broken at the end of a line
_WORD = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*")


def prose(docstring: str) -> Iterator[str]:
    """Yield the paragraphs of a docstring that are prose, each on one line and without reST markup.

    Left out are doctests, directives, field lists, tables, underlines, signatures and blocks that are indented
    under a line that ends in "::".
    """
    code_indent = -1  # in a literal block: what is indented deeper than this belongs to it
    for block in _PARAGRAPH.split(inspect.cleandoc(docstring)):
        lines = block.strip("\n").split("\n")
        indent = len(lines[0]) - len(lines[0].lstrip())
        if code_indent >= 0 and indent > code_indent:
            continue
        code_indent = indent if lines[-1].rstrip().endswith("::") else -1
        yield from _paragraphs(lines, indent)


def _paragraphs(lines: list[str], indent: int) -> Iterator[str]:
    """Yield the items of a list, or the one paragraph, in a block of lines without a blank one."""
    items: list[list[str]] = [[]]
    for line in lines:
        is_deeper = len(line) - len(line.lstrip()) > indent + 1
        if _NOT_PROSE.match(line) or (items[-1] and is_deeper and _CODE_SIGNS.search(line)):
            items.append([])
            continue
        if _BULLET.match(line):
            items.append([])
        items[-1].append(_BULLET.sub("", line).strip())
    for item in items:
        text = _HYPHEN.sub("-", "\n".join(filter(None, item))).replace("\n", " ")
        if len(text) >= 20:
            text = _ROLE.sub(r"\1", text)
            text = _LITERAL.sub(lambda match: match[1] or match[2] or "", text)
            text = _EMPHASIS.sub(r"\1", text)
            text = text.removesuffix("::").rstrip() + ("." if text.endswith("::") else "")
            yield text.replace("`", "'")


def _reads_as_prose(sentence: str) -> bool:
    """At least four words, ended as sentences are (or six, begun as they are), and far more letters than signs."""
    words = _WORD.findall(sentence)
    ended = sentence[-1] in ".!?:)\"'" or (len(words) >= 6 and sentence[0].isupper())
    if len(words) < 4 or not ended:
        return False
    letters = sum(map(len, words))
    return letters >= 0.75 * (len(sentence) - sentence.count(" ")) and len(_CODE_SIGNS.findall(sentence)) <= 2
