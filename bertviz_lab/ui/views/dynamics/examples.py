"""Texts to look at in the snapshots of a training run, each with the words that are worth tracking in it."""

from typing import TYPE_CHECKING

from bertviz_lab.config import PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.examples import GENERAL, PYTHON, TOWN, examples_for, examples_from, task_examples

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.tokenization import Tokenizer
    from bertviz_lab.ui.state.app_state import AppState

#: Text A, text B, words to track; the words that should win come first.
TrackedExample = tuple[str, str, str]

_TOWN: tuple[TrackedExample, ...] = (
    ("The black kite at the market costs eight coins. So Ben and Sara buy the [MASK] kite.", "", "black, white, red"),
    ("The squirrels near the bench [MASK].", "", "climb, climbs, run"),
    ("Grandma feels better, and [MASK] thanks Ravi.", "", "she, he, they"),
    ("Amara wants the red drum. Now the red [MASK] belongs to Amara.", "", "drum, kite, bike"),
    ("Today is the birthday of Mia.", "Leo wants to give [MASK] a gift.", "mia, leo, anna"),
)
_GENERAL: tuple[TrackedExample, ...] = (
    ("She won a gold [MASK] at the Olympic Games.", "", "medal, cup, player"),
    ("Two of the houses [MASK] built in 1890.", "", "were, was, is"),
    ("She was born in 1950. [MASK] was an actress.", "", "she, he, it"),
    ("He was born in Berlin in 1950.", "He studied [MASK] at the university.", "music, law, water"),
)
_PYTHON: tuple[TrackedExample, ...] = (
    ("Return a [MASK] of the list.", "", "copy, list, string"),
    ("If the file does not exist, [MASK] an error.", "", "raise, return, the"),
    ("Open the file for [MASK].", "Return a file object.", "reading, writing, the"),
)
_SETS: dict[int, tuple[TrackedExample, ...]] = {id(TOWN): _TOWN, id(GENERAL): _GENERAL, id(PYTHON): _PYTHON}


def tracked_examples(session: "AppState", visitor: Visitor, name: str) -> list[TrackedExample]:
    """Return texts for a run: of its own text or task where it is the visitor's, else of a set that it knows."""
    own = session.models.owns(visitor, name)
    key = ("tracked examples", name, own, session.snapshots.reader(name).kind.__name__)
    return session.remembered(key, lambda: _examples(session, name, own))


def _examples(session: "AppState", name: str, own: bool) -> list[TrackedExample]:
    snapshots = session.snapshots.reader(name)
    config = session.runs.config(name) if own else None
    if snapshots.kind.__name__ not in ("BertForPreTraining", "BertForMaskedLM"):
        folder = snapshots.folder if config is not None else None
        try:
            texts = task_examples(snapshots.open(snapshots.steps()[-1]), folder)
        except InputError:
            texts = []
        return [(a, b, "") for a, b in texts or GENERAL.pairs]
    if isinstance(config, PretrainConfig) and not any(corpus.startswith("sample:") for corpus in config.corpus):
        own_examples = examples_from(config.corpus, snapshots.tokenizer, config.documents)
        if own_examples is not None:
            pairs = [(a, b, "") for a, b in own_examples.pairs[:1] if b]
            return [*((text, "", "") for text in own_examples.masked[:4]), *pairs]
    known = _SETS[id(examples_for(snapshots.tokenizer))]
    return [(a, b, _words(snapshots.tokenizer, words)) for a, b, words in known]


def _words(tokenizer: "Tokenizer", words: str) -> str:
    """Return those of some words that the vocabulary has as a whole."""
    names = [word.strip() for word in words.split(",") if word.strip()]
    pieces = tokenizer.ids([f" {name}" for name in names]) if names else []
    unknown = tokenizer.unk_id
    return ", ".join(name for name, ids in zip(names, pieces, strict=True) if len(ids) == 1 and ids[0] != unknown)
