"""The standard terms stand on the page, in the help, in the documents and on the cards; home-made ones nowhere."""

import ast
import contextlib
import html
import io
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from bertviz_lab.cli.main import main
from bertviz_lab.ui.app import build
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.views import VIEWS
from tests.ui.pages import event_loops

__all__ = ["event_loops"]

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = (
    "pretrain finetune evaluate predict fill-mask next-sentence attention tokenize export runs app doctor".split()
)
#: Modules whose string literals a person reads: on the page, in a figure, in a lesson, in a message or a card.
SOURCES = ("ui", "figures", "config", "data/samples", "data/probes", "data/corpora", "interpret", "jobs", "training")

#: Home-made phrase -> the standard term in its place.
FORBIDDEN = {
    r"masked words right|masked-word (loss|accuracy)|masked words alone": "MLM accuracy, MLM loss, MLM only",
    r"next sentences? right|pairs right|next-sentence (loss|accuracy)": "NSP accuracy, NSP loss",
    r"questions asked|a game of blanks|(second|this|by a) game\b": "pretraining objective",
    r"reads? (mostly )?forwards|reading forwards|forwards (only|mostly)": "causal mask, causal-LM warm-up",
    r"looks? (most )?at whom|who looks at|looks? most (at|narrowly)|(is|are) looked at|tokens? that looks?\b": (
        "attends to"
    ),
    r"(?<!['\".])\bblanks?\b(?!['\"])(?![ -](lines?|between|may|or\b)|\)')": "masked token",
    r"hidden words?|(word|token) (is|was) hidden|hide a word|hides words|every word hidden": "masked token",
    r"it would write|would write\b|could stand there|to be guessed": "predictions",
    r"what it can do|it can now|what each can do": "minimal-pair probes, passes",
    r"blind guess|loss of guessing|word frequencies alone|without reading|always the commonest|coin toss|a coin\b": (
        "uniform baseline, unigram-entropy baseline, class-prior baseline, majority-class baseline"
    ),
    r"kept aside|never trains on": "held-out set, validation set",
    r"tokens in one example|examples in one step|parts of a step|tokens? that (is|are) read": (
        "max sequence length, batch size, gradient accumulation steps"
    ),
    r"longest gradient|update rule|memory for past gradients|number format": (
        "gradient clipping (max norm), optimizer, Adam beta2, precision"
    ),
    r"word splitting|mask neighbouring words|neighbouring words": "tokenizer, span masking",
    r"same weights in every layer|layers that stay as they are|slower in lower layers": (
        "parameter sharing, frozen layers, layer-wise LR decay"
    ),
    r"two windows share|grid of settings|scores in an epoch": (
        "stride (overlap), hyperparameter search, evaluations per epoch"
    ),
    r"at most so many examples|between the cells": "max training examples, delimiter",
    r"takes? the recipe apart|recipe apart\.|switch(ed|es)? (off )?(a |all )?heads? (off|on)?|switch(ed)? off": (
        "ablation study, head ablation"
    ),
    r"what each (token|head|word) adds|which words say so|words an answer rests on|what makes the model say": (
        "attribution, effect of each head"
    ),
    r"(answer|predictions?),? layer by layer'|how surprising": "logit lens, surprisal",
    r"width of view|length of the (sum|token|segment|position)": "attention entropy, norm",
    r"small lifted|\bacross', named|place among all words": "square-root scale, x-axis, rank in vocabulary",
    r"what is taken for what|\btaken for\b|right when it is sure|short and long, easy": (
        "confusion matrix, predicted as, calibration, slice analysis"
    ),
    r"what it came to|whose training|go(es)? on training|go on with|goes on from": (
        "results, training run, resume training"
    ),
    r"for a stranger": "not next",
    r"less as it is|\bless before\b|second less the first": "causal minus bidirectional",
    r"nothing is lost|stop(s|ped) being a number": "fault tolerance, NaN or infinite loss",
    r"what it was asked|answers programs": "input, API",
    r"where an answer stands|which words could stand|flatters a little|left to a look|it wants days": "idiom",
    r"\d %": "39.4%, without a space",
}

#: Terms that stand on the page at least once.
EXPECTED_ON_PAGE = (
    *("masked language modeling", "self-attention", "multi-head", "next-sentence prediction", "logit lens"),
    *(
        "MLM loss",
        "MLM accuracy",
        "NSP accuracy",
        "causal-LM warm-up",
        "minimal-pair probes",
        "unigram-entropy baseline",
    ),
    *("uniform baseline", "attends to", "max sequence length", "batch size", "gradient accumulation steps"),
    *(
        "gradient clipping",
        "optimizer",
        "Adam beta2",
        "precision",
        "span masking",
        "parameter sharing",
        "frozen layers",
    ),
    *("layer-wise LR decay", "stride", "hyperparameter search", "evaluations per epoch", "max training examples"),
    *("delimiter", "ablation study", "head ablation", "attribution", "integrated gradients", "surprisal", "embeddings"),
    *("attention entropy", "rank in vocabulary", "confusion matrix", "calibration", "slice analysis", "results"),
    *("training dynamics", "training run", "inference", "resume training", "held-out"),
    "causal minus bidirectional",
)
EXPECTED_IN_HELP = (
    *("masked language model", "causal-LM warm-up", "gradient clipping", "gradient accumulation"),
    *("optimizer", "max sequence length", "batch size", "span masking", "whole-word masking", "parameter sharing"),
    *("frozen layers", "layer-wise LR decay", "stride", "hyperparameter search", "evaluations per epoch", "delimiter"),
    *("class weights", "early-stopping patience", "validation split", "precision"),
)


def literals(path: Path) -> Iterator[str]:
    """The string literals of a module that people may read: neither docstrings nor single identifiers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {id(node.body[0].value) for node in ast.walk(tree)
                  if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield "" if re.fullmatch(r"[a-z_][a-z0-9_-]*", node.value) else node.value


def script_texts(path: Path) -> Iterator[str]:
    """The lines of a script or style that hold a quoted text, without comments and docstrings."""
    for line in path.read_text(encoding="utf-8").splitlines():
        code = line.split(" // ")[0]
        if not code.strip().startswith(("//", "*", "/*")):
            for quoted in re.findall(r"'(?:[^'\\]|\\.)*'|`[^`]*`?|\"[^\"]*\"|^[^'`]*`", code):
                yield re.sub(r"\$\{[^}]*\}?", "0", quoted)


def component_texts(value: object) -> Iterator[str]:
    """Every text in a part of Gradio's config."""
    if isinstance(value, str):
        yield re.sub(r"<[^>]+>", "", html.unescape(value)) if len(value) < 20_000 else ""
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name not in ("css_template", "js_on_load", "html_template", "theme_css"):
                yield from component_texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from component_texts(inner)


@lru_cache
def page_texts() -> tuple[tuple[str, str], ...]:
    """(place, text) of everything that the page may show."""
    found = []
    for folder in SOURCES:
        for path in sorted((ROOT / "bertviz_lab" / folder).rglob("*.py")):
            found += [(str(path.relative_to(ROOT)), text) for text in literals(path)]
    for ending in ("js", "css"):
        for path in sorted((ROOT / "bertviz_lab" / "ui").rglob(f"*.{ending}")):
            if path.parent.name == "vendor":
                continue  # not our words
            found += [(str(path.relative_to(ROOT)), text) for text in script_texts(path)]
    return tuple(found)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[tuple[str, str], ...]:
    """(place, text) of the labels, values, infos and tabs of the built page."""
    config = build(Settings(runs_dir=tmp_path_factory.mktemp("runs"))).get_config_file()
    headings = [("page", f"{view.title}: {view.gloss}") for view in VIEWS]
    return (*headings, *(("page", text) for part in config["components"] for text in component_texts(part["props"])))


def help_of(command: str) -> str:
    """What `bertviz-lab COMMAND --help` prints, "" for a command that this version does not have."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
        main([*([command] if command else []), "--help"])
    return re.sub(r"\s+", " ", told.getvalue())


def documents() -> list[Path]:
    notebooks = [ROOT / "notebooks" / "README.md", *(ROOT / "notebooks" / "source").glob("*.py")]
    cards = (ROOT / "checkpoints").glob("*/README.md")
    return [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *cards, *notebooks]


def occurrences(texts: tuple[tuple[str, str], ...], pattern: str) -> list[str]:
    """Where a phrase occurs, with a little of what is around it."""
    wanted = re.compile(pattern, re.IGNORECASE)
    running = [(place, re.sub(r"\s+", " ", text)) for place, text in texts]
    return sorted({f"{place}: …{text[max(0, m.start() - 30) : m.end() + 30]!r}"
                   for place, text in running for m in wanted.finditer(text)})  # fmt: skip


@pytest.mark.parametrize("pattern", FORBIDDEN)
def test_the_page_uses_standard_terms(built: tuple[tuple[str, str], ...], pattern: str) -> None:
    assert occurrences((*page_texts(), *built), pattern) == [], f"write: {FORBIDDEN[pattern]}"


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_the_help_of_every_command_uses_standard_terms(command: str) -> None:
    texts = (("help", help_of(command)),)
    assert [found for pattern in FORBIDDEN for found in occurrences(texts, pattern)] == []


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_and_cards_use_standard_terms(path: Path) -> None:
    texts = ((path.name, path.read_text(encoding="utf-8")),)
    assert [found for pattern in FORBIDDEN for found in occurrences(texts, pattern)] == []


@pytest.mark.parametrize("term", EXPECTED_ON_PAGE)
def test_the_standard_term_stands_on_the_page(built: tuple[tuple[str, str], ...], term: str) -> None:
    assert any(term.lower() in re.sub(r"\s+", " ", text).lower() for _, text in (*page_texts(), *built))


@pytest.mark.parametrize("term", EXPECTED_IN_HELP)
def test_the_standard_term_stands_in_the_help_of_training(term: str) -> None:
    assert term.lower() in f"{help_of('pretrain')} {help_of('finetune')}".lower()


@pytest.mark.parametrize("term", ["masked language modeling", "self-attention", "multi-head"])
def test_central_terms_are_in_the_built_page_itself(built: tuple[tuple[str, str], ...], term: str) -> None:
    assert any(term in re.sub(r"\s+", " ", text).lower() for _, text in built)
