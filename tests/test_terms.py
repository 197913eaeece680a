"""The field's standard terms are on the page and in the help of the commands that train."""

import ast
import contextlib
import html
import io
import re
from collections.abc import Iterator
from pathlib import Path

from bertviz_lab.cli.main import main
from bertviz_lab.ui.app import build
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.views import VIEWS
from tests.ui.pages import event_loops

__all__ = ["event_loops"]

ROOT = Path(__file__).resolve().parents[1]
ON_PAGE = (
    "masked language modeling, self-attention, multi-head, next-sentence prediction, logit lens, MLM loss, MLM "
    "accuracy, NSP accuracy, causal-LM warm-up, minimal-pair probes, unigram-entropy baseline, uniform baseline, "
    "attends to, max sequence length, batch size, gradient accumulation steps, gradient clipping, optimizer, Adam "
    "beta2, precision, span masking, parameter sharing, frozen layers, layer-wise LR decay, stride, "
    "hyperparameter search, evaluations per epoch, max training examples, delimiter, ablation study, head "
    "ablation, attribution, integrated gradients, surprisal, embeddings, attention entropy, rank in vocabulary, "
    "confusion matrix, calibration, slice analysis, training dynamics, training run, inference, resume training, "
    "held-out, causal minus bidirectional"
).split(", ")
IN_HELP = (
    "masked language model, causal-LM warm-up, gradient clipping, gradient accumulation, optimizer, max sequence "
    "length, batch size, span masking, whole-word masking, parameter sharing, frozen layers, layer-wise LR decay, "
    "stride, hyperparameter search, evaluations per epoch, delimiter, class weights, early-stopping patience, "
    "validation split, precision"
).split(", ")


def texts_of(value: object) -> Iterator[str]:
    """Every text in a part of Gradio's config."""
    if isinstance(value, str):
        yield re.sub(r"<[^>]+>", "", html.unescape(value))
    elif isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts_of(inner)


def literals(path: Path) -> Iterator[str]:
    """The string literals of a module without its docstrings; of another file, all of it."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield text
        return
    tree = ast.parse(text)
    docstrings = [id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def missing(terms: list[str], texts: str) -> list[str]:
    words = re.sub(r"\s+", " ", texts).lower()
    return [term for term in terms if term.lower() not in words]


def test_the_standard_terms_are_on_the_page(tmp_path: Path) -> None:
    config = build(Settings(runs_dir=tmp_path)).get_config_file()
    built = [f"{view.title}: {view.gloss}" for view in VIEWS]
    built += [text for part in config["components"] for text in texts_of(part["props"])]
    assert missing(["masked language modeling", "self-attention", "multi-head"], " ".join(built)) == []
    sources = [path for kind in ("py", "js", "html", "toml") for path in (ROOT / "bertviz_lab").rglob(f"*.{kind}")]
    code = [text for path in sources if "vendor" not in path.parts for text in literals(path)]
    assert missing(ON_PAGE, " ".join([*built, *code])) == []


def test_the_standard_terms_are_in_the_help_of_training() -> None:
    printed = io.StringIO()
    for command in ("pretrain", "finetune"):
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            main([command, "--help"])
    assert missing(IN_HELP, printed.getvalue()) == []
