"""The forms of Train: the fields that `client/form.js` draws, what they send, and the samples and files to train on."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from bertviz_lab.config.limits import Limits, words_of
from bertviz_lab.config.options import choices_of, from_form, grouped_options, in_page_words, kind_of, options_of
from bertviz_lab.errors import InputError
from bertviz_lab.ui.server.uploads import UploadedFile

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

#: What a form sends of its fields, by name.
Values = Annotated[dict[str, str | int | float | bool | None], Field(max_length=100)]
#: The source of a form that is no sample but files.
OWN = "own"
_FEW, _SHORT = 6, 24  # choices that fit next to each other, and characters of one


@dataclass(frozen=True)
class Source:
    """What a person trains on: a sample by its name, or uploaded files, some of which may be for evaluation."""

    title: str
    samples: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    scored: tuple[Path, ...] = ()


def chosen_source(
    kind: str,
    samples: Mapping[str, Any],
    source: str,
    files: Sequence[UploadedFile],
    scored: Sequence[UploadedFile] = (),
) -> Source:
    """Return what a form names. Raises `InputError` while there is none; `kind` says what is in a file."""
    if source in samples:
        return Source(samples[source].title, (f"sample:{source}",))
    if not files:
        raise InputError(f"Drop a {kind} file into the box, paste below it, or choose one of the samples.")
    title = files[0].path.name + (f" and {len(files) - 1} more" if len(files) > 1 else "")
    return Source(title, (), *(tuple(file.path for file in sent) for sent in (files, scored)))


def source_choices(samples: Mapping[str, Any], own: str) -> list[list[str]]:
    """Return the samples, and the files called `own`, as [value, label]."""
    return [*([name, sample.title] for name, sample in samples.items()), [OWN, own]]


@contextlib.contextmanager
def words_of_page(config: type) -> Iterator[None]:
    """Let an `InputError` name options as the page does."""
    try:
        yield
    except InputError as error:
        raise InputError(in_page_words(config, str(error))) from error


def describe(
    config: type["DataclassInstance"], defaults: Mapping[str, Any], choices: Mapping[str, Sequence[tuple[str, str]]]
) -> list[dict[str, Any]]:
    """Return the groups of the page's fields, in declared order; `choices` are (value, label) of fields by name."""

    def field(f: Any) -> dict[str, Any]:
        kind, meta = kind_of(config, f.name), f.metadata
        listed = list(choices.get(f.name) or choices_of(f).items())
        few = f.name not in choices and len(listed) <= _FEW and all(len(label) <= _SHORT for _, label in listed)
        drawn = ("radio" if few else "select") if listed else "checkbox" if kind is bool else "text"
        return {
            "name": f.name,
            "kind": "number" if drawn == "text" and kind in (int, float) else drawn,
            "label": meta["label"],
            "help": in_page_words(config, meta["help"]) + ".",
            "value": defaults.get(f.name, f.default),
            "options": listed,
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
