"""What a model is, as facts: its size, its vocabulary, and what it was trained on."""

import re
from pathlib import Path

from bertviz_lab.config import PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import facts_payload, message_payload
from bertviz_lab.metrics.names import NAMES
from bertviz_lab.training.runs.run_folder import ACTIVE
from bertviz_lab.ui.server.error_handling import sentence_of
from bertviz_lab.ui.server.visitors import NOBODY, Visitor
from bertviz_lab.ui.state.app_state import AppState


def describe(session: AppState, model: str | None, visitor: Visitor = NOBODY) -> str:
    """Return the facts about a model, or the sentence that says why it cannot be opened."""
    from bertviz_lab.interpret.family_notes import explained_differences
    from bertviz_lab.training.checkpoints.checkpoint import parameter_count

    try:
        checkpoint = session.models.open(model or "")
        config, tokenizer = checkpoint.config, checkpoint.tokenizer
        kind = {"wordpiece": "WordPiece", "bpe": "BPE", "unigram": "Unigram"}[tokenizer.algorithm]
        items = [
            ("Layers", f"{config.num_hidden_layers}"),
            ("Hidden size", f"{config.hidden_size}"),
            ("Heads", f"{config.num_attention_heads} per layer"),
            *([("Attention", "causal")] if config.is_decoder else []),
            ("Vocabulary", f"{tokenizer.vocab_size:,} ({kind}, {'lower-cased' if tokenizer.lowercase else 'cased'})"),
            ("Parameters", _millions(parameter_count(checkpoint.model))),
            ("Architecture", checkpoint.architecture),
        ]
        trained_on = _trained_on(session, model or session.models.default(), checkpoint.card, visitor)
        if trained_on:
            items.append(("Trained on", trained_on))
        missing = checkpoint.report.missing
        note = f"Missing from its files: {', '.join(missing[:3])}; randomly initialized." if missing else ""
        lines = explained_differences(config)
        if lines:
            items.insert(0, ("Family", config.family.title))
        more = ("What differs from BERT", lines) if lines else None
        return facts_payload(items, note=note or _progress(session, model or ""), more=more)
    except InputError as error:
        sentence = sentence_of(error, shared=session.settings.shared)
        return facts_payload([], note=sentence, tone="error") if model else message_payload(sentence)


def _trained_on(session: AppState, model: str, card: str, visitor: Visitor) -> str:
    """Return the names of its texts; a visitor's files are named to that visitor alone."""
    if session.models.is_run(model):
        if not session.models.owns(visitor, model):
            return ""
        config = session.runs.config(model)
        names = [_text_name(name) for name in (config.corpus if isinstance(config, PretrainConfig) else config.train)]
        return ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
    line = next((line for line in card.splitlines() if line.startswith("- Text:")), "")
    return line.removeprefix("- Text:").split("(")[0].replace("`", "").strip()


def _text_name(path: str) -> str:
    """Return the name under which a person knows a text; the copies in a run's folder are numbered."""
    return re.sub(r"^\d\d-|^sample:", "", path.replace("\\", "/").split("/")[-1])


def _progress(session: AppState, model: str) -> str:
    if not session.models.is_run(model):
        return ""
    state = session.runs.state(model)
    if state.status not in ACTIVE:
        return ""
    return "Still training: this is its latest checkpoint; everything below is updated with the next one."


def _millions(count: int) -> str:
    return f"{count / 1e6:.1f} million" if count >= 1e5 else f"{count:,}"


def card_score(folder: Path, measure: str) -> float | None:
    """Return a score on a model's card, MLM accuracy on the first text, of a task that on the test set; or None."""
    try:
        card = (folder / "README.md").read_text(encoding="utf-8")
    except OSError:
        return None
    rows = [[cell.strip() for cell in line.split("|")] for line in card.splitlines() if line.startswith("|")]
    header = next((row for row in rows if NAMES[measure] in row[2:]), None)
    if header is not None:
        first = rows[rows.index(header) + 2]  # behind the line of dashes
        return _number(first[header.index(NAMES[measure])])
    scores = [row[2] for row in rows if row[1] == NAMES[measure]]
    return _number(scores[-1]) if scores else None


def _number(cell: str) -> float:
    """Return the first number of a cell such as "43.6% (43.7%, 43.5%)", a percentage as a share."""
    first = cell.split()[0]
    return float(first.removesuffix("%")) / 100 if first.endswith("%") else float(first)
