"""What a view of the page is, and how the questions that it asks are declared and checked.

A view is a folder of `ui/views`: `view.py` answers questions, `view.js` draws, `view.css` has its rules, and
`explanation.html` says how it is computed, with the formula and its source. It has a table in `ui/views/views.toml`;
nothing else has to know of it.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field, InstanceOf, StringConstraints, ValidationError, validate_call

from bertviz_lab.errors import InputError, panics_as_errors
from bertviz_lab.ui.server.uploads import UploadedFile
from bertviz_lab.ui.server.visitors import NOBODY, Visitor

if TYPE_CHECKING:
    from bertviz_lab.ui.state.app_state import AppState

Workspace = Literal["explore", "train", "runs"]

# ---- types of arguments: all that a browser can send is checked against them

#: The longest text that is accepted, in characters.
MOST_CHARACTERS = 50_000
#: What somebody typed.
Text = Annotated[str, StringConstraints(max_length=MOST_CHARACTERS)]
#: A word, a file's name, a key: something short.
Word = Annotated[str, StringConstraints(max_length=200)]
#: A shipped model, the id of a run, a hub id or, on one's own machine, a folder: what `Models.locate` finds. "" is the
#: default model.
ModelName = Annotated[str, StringConstraints(max_length=500)]
#: A layer, head, position or other index.
Index = Annotated[int, Field(ge=0, le=1_000_000)]
#: How many predictions, neighbours or examples.
Count = Annotated[int, Field(ge=1, le=50)]
#: [[layer, head], ...] of heads that are ablated.
Heads = Annotated[list[tuple[Index, Index]], Field(max_length=1024)]
#: Ids of runs.
RunIds = Annotated[list[Word], Field(max_length=50)]
#: A file that the visitor uploaded. A browser sends its token (`lab/upload`); the function gets the `UploadedFile`. The
#: token "" is no file: declare `Upload | None`.
Upload = InstanceOf[UploadedFile]
#: Several of them.
Uploads = Annotated[list[Upload], Field(max_length=50)]


@dataclass(frozen=True)
class Input:
    """The input of Explore, which a question takes as its argument `asked`."""

    model: ModelName
    text_a: Text
    text_b: Text

    @property
    def texts(self) -> tuple[str, str]:
        return self.text_a, self.text_b

    def name(self, state: "AppState") -> str:
        """Return the name of the model, which may be the default one."""
        return self.model.strip() or state.models.default()

    def checkpoint(self, state: "AppState") -> Any:
        """Return the model. Raises `InputError` where it cannot be opened."""
        return state.models.open(self.model)


@dataclass(frozen=True)
class Question:
    """Something that a view asks Python: a function of the page's state and of arguments with checked types."""

    answer: Callable[..., Any]  # answer(state, **arguments) returns a payload, or anything that JSON can hold
    slow: bool  # can take seconds; slow questions wait for each other only
    arguments: frozenset[str]  # names that a browser may send
    shared: frozenset[str]  # those of them that are fields of one argument, `asked`: what several questions take
    arrays: bool  # the answer is a dictionary with large arrays, which travel as raw bytes
    depends_on_visitor: bool  # takes `visitor` too, which comes from the server, never from a browser
    uploads: frozenset[str]  # arguments that are uploads, for which a browser sends tokens

    def ask(self, state: "AppState", arguments: Mapping[str, Any], visitor: Visitor = NOBODY) -> Any:
        """Return the answer. Raises `InputError` for arguments that are none of its own or of another type."""
        unknown = arguments.keys() - self.arguments
        if unknown:
            raise InputError(f"This question has no argument {sorted(unknown)[0]!r}.")
        given = dict(arguments)
        for name in self.uploads & arguments.keys():
            given[name] = _files_of(state, visitor, arguments[name])
        if self.shared:
            given["asked"] = {name: given.pop(name) for name in self.shared & given.keys()}
        if self.depends_on_visitor:
            given["visitor"] = visitor
        try:
            with panics_as_errors():
                return self.answer(state, **given)
        except ValidationError as error:
            (first, *_) = error.errors(include_url=False, include_input=False)
            name = next((str(part) for part in first["loc"] if part != "asked"), "argument")
            if first["type"] == "string_too_long":
                label = {"text_a": "Text A", "text_b": "Text B"}.get(name, "This text")
                most = first["ctx"]["max_length"]
                raise InputError(f"{label} is too long; shorten it to {most:,} characters.") from None
            raise InputError(f"{name.replace('_', ' ')}: {first['msg'][:1].lower()}{first['msg'][1:]}.") from None


def question(answer: Callable[..., Any], *, slow: bool = False, arrays: bool = False) -> Question:
    """Declare a question: `answer(state, ...)`, whose arguments have types from this module, or are the `visitor`.

    An argument `asked` is a frozen dataclass: a browser sends its fields like other arguments.
    """
    _, *parameters = inspect.signature(answer).parameters.values()
    types = {parameter.name: parameter.annotation for parameter in parameters}
    depends_on_visitor = types.pop("visitor", None) is not None
    shared = {field.name: field.type for field in fields(types.pop("asked"))} if "asked" in types else {}
    types |= shared
    uploads = frozenset(name for name, of_type in types.items() if _holds_upload(of_type))
    checked = validate_call(config=ConfigDict(arbitrary_types_allowed=True))(answer)
    return Question(checked, slow, frozenset(types), frozenset(shared), arrays, depends_on_visitor, uploads)


def questions(
    *quick: Callable[..., Any], slow: Iterable[Callable[..., Any]] = (), arrays: Iterable[Callable[..., Any]] = ()
) -> dict[str, Question]:
    """Declare questions under the names of the functions that answer them; one with arrays may be slow, too."""
    answers = dict.fromkeys((*quick, *slow, *arrays))
    return {answer.__name__: question(answer, slow=answer in slow, arrays=answer in arrays) for answer in answers}


def _files_of(state: "AppState", visitor: Visitor, sent: Any) -> UploadedFile | list[UploadedFile] | None:
    """Return the file of a token, or the files of several; "" and None are no file."""
    if isinstance(sent, list):
        return [state.uploads.file(visitor, token) for token in sent[:51]]  # one more than allowed is refused later
    return state.uploads.file(visitor, sent) if sent else None


def _holds_upload(annotation: Any) -> bool:
    return annotation is UploadedFile or any(map(_holds_upload, get_args(annotation)))


@dataclass(frozen=True)
class View:
    """A view of the page."""

    id: str  # the name of its folder, also used in addresses
    title: str  # the field's standard term
    gloss: str  # one plain sentence on what it shows
    questions: Mapping[str, Question]
    workspace: Workspace | None = None  # whose panel it is; None for what a workspace itself asks
    slot: Literal[0, 1] = 1  # of the two beside each other in the workspace: left or right
