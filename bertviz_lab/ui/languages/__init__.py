"""The course in other languages: lessons, handouts, and the pages of a workshop. The other workspaces are English.

English texts are in the code; a gettext catalogue for each language, such as `de.po`, has their translations, and
`make catalogue` brings it up to date.

Where the language is known, a text is `say("Lesson {number}", number=5)`. Where it is not, as in a measurement that is
cached for all visitors, it is a `Message`, a `Number` or a `Series`: English text that is translated later.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, is_dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, Self, TypeVar, cast

from babel import Locale
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

_SOURCE = "en"  # the language of the code

ValueT = TypeVar("ValueT")


@dataclass(frozen=True)
class Language:
    """A language; call it with a text to translate it."""

    code: str = _SOURCE  # such as "de"
    query: str = ""  # the end of an address that selects it; "" for the server's own language

    def __call__(self, text: str, /, **values: object) -> str:
        """Return a text in this language, with `values` in place of the names in braces."""
        known = _texts(self.code).get(text, text)
        return known.format_map({name: self.translate(value) for name, value in values.items()}) if values else known

    def translate(self, value: object) -> str:
        """Return a message, a number or a series in this language, anything else as it is."""
        return value.in_language(self) if isinstance(value, Translatable) else str(value)

    def number(self, text: str) -> str:
        """Format a number for this language: "1,024.5" and "38.9%" are "1.024,5" and "38,9 %" in German."""
        return text.translate(_signs(self.code))

    @property
    def between_numbers(self) -> str:
        """The separator of a list whose members may be numbers, which may have a comma themselves."""
        return "; " if self.number(".") == "," else ", "

    def address(self, path: str) -> str:
        """Return a relative address that leads to a page in this language."""
        return f"{path}{'&' if '?' in path else '?'}{self.query}" if self.query else path


ENGLISH = Language()


class Translatable(str):
    """An English text that can be translated later: `in_language` returns the same in a language."""

    in_language: Callable[[Language], str]


class Message(Translatable):
    """A text of the catalog, with values in place of the names in braces."""

    def __new__(cls, text: str, /, **values: object) -> Self:
        message = super().__new__(cls, text.format_map(values) if values else text)
        message.in_language = lambda say: say(text, **values)
        return message


class Number(Translatable):
    """A number in a format of Python's, such as ".1%"."""

    def __new__(cls, value: float, format_spec: str) -> Self:
        number = super().__new__(cls, format(value, format_spec))
        number.in_language = lambda say: say.number(str(number))
        return number


class Series(Translatable):
    """Numbers or messages one after the other."""

    def __new__(cls, members: Iterable[object]) -> Self:
        kept = tuple(members)
        series = super().__new__(cls, ", ".join(map(str, kept)))
        series.in_language = lambda say: say.between_numbers.join(map(say.translate, kept))
        return series


def translated(value: ValueT, say: Callable[[str], str]) -> ValueT:
    """Translate the fields of a dataclass that its class lists in TEXTS, also inside tuples."""
    changed: Any = value
    if isinstance(value, str):
        changed = say(value) if value else value
    elif isinstance(value, tuple):
        changed = tuple(translated(member, say) for member in value)
    elif is_dataclass(value):
        texts: tuple[str, ...] = cast(Any, value).TEXTS
        changed = replace(cast(Any, value), **{name: translated(getattr(value, name), say) for name in texts})
    return cast(ValueT, changed)


def language_of(asked: str | None, default: str = _SOURCE) -> Language:
    """Return the language with a code, or the server's if there is none."""
    code = asked if asked in languages() else default
    return Language(code or default, "" if code == default else f"lang={code}")


@cache
def languages() -> Mapping[str, str]:
    """Return the codes of all languages, each with its name in that language."""
    codes = sorted(file.name[:-3] for file in resources.files(__package__).iterdir() if file.name.endswith(".po"))
    return {code: (Locale.parse(code).get_display_name(code) or code).capitalize() for code in (_SOURCE, *codes)}


@cache
def script_texts() -> Mapping[str, Mapping[str, str]]:
    """Return the texts of browser scripts by language. Others, such as answers, stay on the server."""
    return {
        code: {
            str(message.id): str(message.string)
            for message in _catalog(code)
            if message.id and message.string and any(place.endswith(".js") for place, _ in message.locations)
        }
        for code in languages()
    }


@cache
def _catalog(code: str) -> Catalog:
    if code == _SOURCE:
        return Catalog(_SOURCE)
    with (resources.files(__package__) / f"{code}.po").open("rb") as file:
        return read_po(file, locale=code)


@cache
def _texts(code: str) -> Mapping[str, str]:
    return {str(message.id): str(message.string) for message in _catalog(code) if message.id and message.string}


@cache
def _signs(code: str) -> Mapping[int, str]:
    locale = Locale.parse(code)
    symbols = locale.number_symbols["latn"]
    _, percent = locale.percent_formats[None].suffix
    return str.maketrans({",": symbols["group"], ".": symbols["decimal"], "%": percent})
