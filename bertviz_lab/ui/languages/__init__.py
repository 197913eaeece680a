"""The course in other languages: lessons, handouts, and the pages of a workshop. The analytic workspaces are English.

English texts stand in the code; a gettext catalogue for each language, `de.po`, has what they are in it. `language`
reads the catalogues; `collect` brings them up to date with the code (`make catalogue`).
"""

from bertviz_lab.ui.languages.language import (
    ENGLISH,
    Language,
    Message,
    Number,
    Series,
    language_of,
    languages,
    script_texts,
    translated,
)

__all__ = [
    "ENGLISH",
    "Language",
    "Message",
    "Number",
    "Series",
    "language_of",
    "languages",
    "script_texts",
    "translated",
]
