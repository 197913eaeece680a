"""The fields of a form, described for `client/form.js` from the declaration of each option in a config."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from bertviz_lab.config.limits import Limits, words_of
from bertviz_lab.config.options import from_form, grouped_options, in_page_words, kind_of, options_of
from bertviz_lab.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

#: What a form sends of its fields, by name.
Values = Annotated[dict[str, str | int | float | bool | None], Field(max_length=100)]
_FEW = 6  # choices that fit next to each other


def describe(
    config: type["DataclassInstance"], defaults: Mapping[str, Any], choices: Mapping[str, Sequence[tuple[str, str]]]
) -> list[dict[str, Any]]:
    """Return the groups of the page's fields, in declared order; `choices` are (label, value) of fields by name."""

    def field(f: Any) -> dict[str, Any]:
        kind, meta = kind_of(config, f.name), f.metadata
        listed = choices.get(f.name) or [(meta["titles"].get(name, name), name) for name in meta["choices"]]
        few = f.name not in choices and len(listed) <= _FEW
        drawn = ("radio" if few else "select") if listed else "switch" if kind is bool else "text"
        return {
            "name": f.name,
            "kind": "number" if drawn == "text" and kind in (int, float) else drawn,
            "label": meta["label"],
            "help": in_page_words(config, meta["help"]) + ".",
            "value": defaults.get(f.name, f.default),
            "options": [[value, label] for label, value in listed],
            "examples": meta["examples"],
        }

    groups = grouped_options(config, "page").items()
    return [{"title": title, "fields": [field(f) for f in fields]} for title, fields in groups]


def read(config: type["DataclassInstance"], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a form sent as arguments of the config. Raises `InputError`, also for an option not on the page."""
    unknown = values.keys() - {f.name for f in options_of(config, "page")}
    if unknown:
        raise InputError(f"The page has no option {sorted(unknown)[0][:40]!r}.")
    return from_form(config, values)


def upload_size(limits: Limits) -> str:
    """Return the size of the largest file that may be uploaded, such as "50 MB"."""
    return words_of("bytes", limits.upload_bytes)
