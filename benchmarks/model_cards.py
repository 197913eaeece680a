"""The card of a shipped model: its recipe's words, and measured values."""

import json
import shlex
import statistics
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from benchmarks.machine import machine, markdown
from benchmarks.training_data.made_data import MADE
from bertviz_lab.data.corpora.reading_notes import pluralized
from bertviz_lab.metrics.names import NAMES, format_score
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, parameter_count
from bertviz_lab.training.runs.run_folder import read_config, read_log

_ORDER = {
    "mlm_loss": "MLM loss (nats)",
    "mlm_accuracy": "MLM accuracy",
    "nsp_accuracy": "NSP accuracy",
    "nsp_majority": "NSP, majority class",
}


def card_of(
    name: str,
    recipe: dict[str, Any],
    model: Checkpoint,
    run: Path,
    rows: Sequence[dict[str, Any]],
    scores: dict[str, list[dict[str, float]]],
) -> str:
    """A Hugging Face model card in Markdown; `rows` is the run's log and `scores` are of the weights that ship."""
    library = "sentence-transformers" if recipe["pipeline"] == "sentence-similarity" else "transformers"
    header = {"library_name": library, "pipeline_tag": recipe["pipeline"], "license": recipe["licence"]}
    header |= {"language": "en", "tags": "[bert, bertviz-lab]"}
    tokenizer, shape = model.tokenizer, model.config
    heads = pluralized(shape.num_attention_heads, "head<s>")
    return "\n".join(
        [
            "---",
            *(f"{key}: {value}" for key, value in header.items() if value),
            "---",
            "",
            f"# {name}",
            "",
            *recipe["about"],
            "",
            f"{shape.num_hidden_layers} layers, hidden size {shape.hidden_size}, {heads}, "
            f"{parameter_count(model.model) / 1e6:.1f} million parameters; {tokenizer.vocab_size:,} "
            f"{'WordPiece' if tokenizer.algorithm == 'wordpiece' else 'BPE'} tokens, "
            f"{'lower-cased' if tokenizer.lowercase else 'cased'}; trained on up to {model.trained_length} tokens.",
            "",
            "## Training",
            "",
            *(f"- {line}" for line in recipe["data"]),
            *_stages(recipe, run),
            *_average(recipe),
            f"- `make reproduce MODEL={name}` trains by the same commands and compares the scores; `training.jsonl` is "
            "the log of the run, with every evaluation and some of the training points",
            f"- {datetime.now(UTC):%Y-%m-%d}, commit {machine()['commit']}, torch {torch.__version__}",
            "",
            "![Training curves](curves.svg)",
            "",
            "## Scores",
            "",
            *recipe.get("before_scores", []),
            *_tables(scores),
            *_probes(rows),
            *_chosen(run, rows, chosen_by_scored=_is_scored(recipe)),
            "",
            "## Limits",
            "",
            *recipe["limits"],
            "",
        ]
    )


def stage_folders(recipe: dict[str, Any], run: Path) -> list[Path]:
    """The folders of the runs before the last one, `run`, of a recipe that trains in stages."""
    return [run.with_name(f"stage-{number}") for number in range(1, 1 + len(recipe.get("earlier", [])))]


def _stages(recipe: dict[str, Any], run: Path) -> Iterable[str]:
    """What was done, stage by stage where there are several, and the command of each."""
    commands, folders = [*recipe.get("earlier", []), recipe["command"]], [*stage_folders(recipe, run), run]
    for number, (command, folder) in enumerate(zip(commands, folders, strict=True), 1):
        rows, _ = read_log(folder)
        work, typed = _work(rows, folder, recipe.get("hardware", "")), f"`python -m bertviz_lab {_typed(command)}`"
        several = len(commands) > 1
        yield f"- Stage {number}: {work}" if several else f"- {work}"
        yield f"- Command of stage {number}: {typed}" if several else f"- Command: {typed}"


def _average(recipe: dict[str, Any]) -> Iterable[str]:
    """Of which models the one that ships is the mean."""
    if counted := {stage: share for stage, share in enumerate(recipe.get("average", []), 1) if share}:
        yield (
            f"- Its weights are the mean of those at the end of stages {', '.join(map(str, counted))}, which count "
            f"{', '.join(f'{share:.0%}' for share in counted.values())} (a model soup, Wortsman et al. 2022); the "
            f"shares were chosen {recipe.get('shares_chosen', 'by texts held out of the training data')}"
        )


def _typed(words: Sequence[str]) -> str:
    """A command as a person types it, where the data is at hand."""
    files = {made.word: made.file for made in MADE}
    return shlex.join(files.get(word, word.replace("{data}/", "")).strip("{}") for word in words)


def _probes(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The minimal-pair probes at the end of a pretraining."""
    probes = [row for row in rows if row["event"] == "ProbesDone"]
    if not probes:
        return []
    shares = ", ".join(f"{kind.replace('_', ' ')} {share:.0%}" for kind, share in probes[-1]["right"].items())
    return [
        "",
        f"Minimal-pair probes (`--task probes`), share of pairs in which it prefers the correct sentence: {shares}.",
    ]


def _trials(run: Path) -> tuple[str, list[dict[str, Any]]]:
    """The score by which a fine-tuning chose, and its trials; ("", []) for a pretraining."""
    path = run / "report.json"
    report = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return report.get("metric", ""), report.get("trials", [])


def _is_scored(recipe: dict[str, Any]) -> bool:
    """Whether a recipe chooses its model by what the card scores it on."""
    command, scored = recipe["command"], {word for about in recipe["scores"] for word in about["data"]}
    return any(option == "--eval" and word in scored for option, word in pairwise(command))


def _chosen(run: Path, rows: Sequence[dict[str, Any]], chosen_by_scored: bool) -> list[str]:
    """How a fine-tuned model was chosen, and what each of several trainings came to that differ in their seed."""
    metric, trials = _trials(run)
    if not trials:
        return []
    count = sum(row["event"] == "EvalDone" for row in rows)
    told = ["", f"The best of {count} models was chosen by examples held out of the training data; these were not."]
    if chosen_by_scored:
        told = [
            "",
            f"These are validation scores: the best of {count} models was chosen by them, so they are optimistic.",
        ]
    found = [trial["scores"][metric] for trial in trials]
    if len(found) < 2:
        return told
    each = ", ".join(f"{score:.1%}" for score in found)
    spread = f"mean {statistics.fmean(found):.1%}, standard deviation {statistics.stdev(found):.1%}"
    seed = max(trials, key=lambda trial: trial["scores"][metric])["seed"]
    told.append(
        f"On those, {len(found)} trials that differ only in the seed scored {metric.replace('_', ' ')} {each} "
        f"({spread}); that with seed {seed} ships."
    )
    return told


def _work(rows: Sequence[dict[str, Any]], run: Path, hardware: str) -> str:
    """How long, on what: on this processor, or on the `hardware` that is named."""
    last = [row for row in rows if row["event"] == "StepDone"][-1]
    started = [row for row in rows if row["event"] == "RunStarted"][-1]
    threads = {row["threads"] for row in rows if row["event"] == "RunStarted"}
    spread = f"{min(threads)} to {max(threads)} threads" if len(threads) > 1 else pluralized(max(threads), "thread<s>")
    hours = last["seconds"] / 3600
    took = f"{hours:.1f} hours" if hours >= 1 else f"{last['seconds'] / 60:.0f} minutes"
    took = f"{last['seconds']:.0f} seconds" if last["seconds"] < 300 else took
    where = hardware or f"{spread} of an {machine()['processor']} ({started['device']})"
    work = f"{last['step']:,} steps, {last['tokens']:,} tokens, {took} of training on {where}, {started['precision']}"
    count = len(_trials(run)[1])
    return f"{count} trainings, together {work}" if count > 1 else f"{work}; seed {read_config(run).seed}"


def _tables(scores: dict[str, list[dict[str, float]]]) -> Iterable[str]:
    """One table for texts, with the mean of the draws and each of them; one for each labelled data, apart."""
    texts = {title: draws for title, draws in scores.items() if any(key in draws[0] for key in _ORDER)}
    if texts:
        rows = ([title, *(_draws(draws, key) for key in _ORDER)] for title, draws in texts.items())
        yield markdown(["text", *_ORDER.values()], rows)
    for place, (title, draws) in enumerate((title, draws) for title, draws in scores.items() if title not in texts):
        if texts or place:
            yield ""
        yield markdown(["score", title], ([NAMES[key], format_score(key, value)] for key, value in draws[0].items()))


def _draws(draws: Sequence[dict[str, float]], key: str) -> str:
    values = [draw[key] for draw in draws if key in draw]
    if not values:
        return "–"
    if key == "nsp_majority":
        return f"{statistics.fmean(values):.1%}"
    if key.endswith("loss"):
        return f"{statistics.fmean(values):.3f} ({', '.join(f'{value:.3f}' for value in values)})"
    return f"{statistics.fmean(values):.1%} ({', '.join(f'{value:.1%}' for value in values)})"


_WIDE, _HIGH, _MARGIN = 720, 260, 44
_CURVES = {  # the first two of these that a log has are drawn
    "mlm_accuracy": "MLM accuracy",
    "nsp_accuracy": "NSP accuracy",
    "spearman": "Spearman correlation",
    "mrr": "MRR",
    "accuracy": "accuracy",
    "micro_f1": "micro F1",
    "f1": "F1",
    "macro_f1": "macro F1",
}
_COLOURS = ("#3730a3", "#b45309")


def _parts(rows: Sequence[dict[str, Any]]) -> Iterable[list[dict[str, Any]]]:
    """The scores of each trial of a log, in its order; all of them where there are no trials."""
    part: list[dict[str, Any]] = []
    for row in rows:
        if row["event"] == "TrialStarted":
            yield part
            part = []
        elif row["event"] == "EvalDone":
            part.append(row)
    yield part


def picture_of(rows: Sequence[dict[str, Any]]) -> str:
    """The scores of a log over the tokens seen, as an SVG picture that needs nothing else."""
    scored = [row for row in rows if row["event"] == "EvalDone"]
    most = max((row["tokens"] for row in scored), default=1) or 1
    across, up = _WIDE - 2 * _MARGIN, _HIGH - 2 * _MARGIN
    lines = [
        f'<text x="{_MARGIN}" y="{_HIGH - 10}">0</text><text x="{_WIDE - _MARGIN}" y="{_HIGH - 10}" '
        f'text-anchor="end">{most / 1e6:.1f} million tokens</text>'
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _HIGH - _MARGIN - up * share
        lines.append(f'<path d="M{_MARGIN} {y:.1f}H{_WIDE - _MARGIN}" stroke="#94a3b8" stroke-width=".5"/>')
        lines.append(f'<text x="{_MARGIN - 6}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    place = 0
    for key, title in _CURVES.items():
        curves = [
            [(row["tokens"], row[key]) for row in part if isinstance(row.get(key), float)] for part in _parts(rows)
        ]
        curves = [points for points in curves if len(points) > 1]
        if not curves:
            continue
        colour = _COLOURS[place]
        for points in curves:
            path = " ".join(f"{_MARGIN + across * x / most:.1f},{_HIGH - _MARGIN - up * y:.1f}" for x, y in points)
            lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        lines.append(f'<text x="{_MARGIN + 250 * place}" y="24" style="fill:{colour}">{title}, held out</text>')
        place += 1
        if place == len(_COLOURS):
            break
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {_HIGH}" role="img" '
        'aria-label="Training curves">'
        "<style>text{font:13px system-ui,sans-serif;fill:#64748b}</style>" + "".join(lines) + "</svg>\n"
    )
