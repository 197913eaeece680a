"""What linear probes read off each layer, with control tasks and random weights: Tiny Town's labels and English ones.

Labels of Tiny Town are those of generated sentences; part of speech and number of English are those of the English Web
Treebank (UD_English-EWT), of which nothing ships with the lab.
"""

import time
from typing import Any

import torch

from benchmarks.machine import arguments, markdown, report
from benchmarks.task_datasets import folder
from bertviz_lab import interpret, load_checkpoint
from bertviz_lab.config import SHIPPED
from bertviz_lab.data.probes.probing_tasks import PROBING_TASKS, LabeledSentence
from bertviz_lab.training.runs.snapshot_reader import open_snapshots

_TREEBANK = "en_ewt-ud-dev.conllu"
_TOWN = SHIPPED / "tiny-town"


def treebank(column: str) -> tuple[LabeledSentence, ...]:
    """Return the sentences of the treebank with the part of speech of each word, or the number of each noun."""
    sentences = []
    for block in (folder() / "ud_ewt" / _TREEBANK).read_text(encoding="utf-8").split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line and not line.startswith("#")]
        rows = [row for row in rows if row[0].isdigit()]
        if not rows:
            continue
        sentence = tuple(row[1] for row in rows)
        numbers = [dict(part.split("=") for part in row[5].split("|") if "=" in part).get("Number") for row in rows]
        number = tuple(
            value if row[3] == "NOUN" and value in ("Sing", "Plur") else None
            for row, value in zip(rows, numbers, strict=True)
        )
        labels = tuple(row[3] for row in rows) if column == "pos" else number
        sentences.append(LabeledSentence(sentence, labels, tuple(word.lower() for word in sentence)))
    return tuple(sentences)


def measure(name: str, title: str, sentences: tuple[LabeledSentence, ...]) -> dict[str, Any]:
    """Probe a model and its random weights."""
    checkpoint = load_checkpoint(name)
    began = time.perf_counter()
    probes = interpret.probe_layers(checkpoint, sentences)
    seconds = time.perf_counter() - began
    random = interpret.probe_layers(interpret.untrained(checkpoint), sentences)
    return {
        "model": name,
        "task": title,
        "accuracy": probes.accuracy.tolist(),
        "control": probes.control.tolist(),
        "random": random.accuracy.tolist(),
        "random_control": random.control.tolist(),
        "majority": probes.majority,
        "by_type": probes.by_type,
        "words": probes.trained + probes.tested,
        "seconds": round(seconds, 1),
    }


def over_training(task: str) -> dict[str, Any]:
    """Probe the last layer of each snapshot of tiny-town."""
    snapshots = open_snapshots(_TOWN)
    began = time.perf_counter()
    of_steps = interpret.probe_snapshots(snapshots.open, snapshots.steps(), PROBING_TASKS[task].read())
    accuracies = [of_step.accuracy[-1] for of_step in of_steps]
    first = next(
        step for step, value in zip(snapshots.steps(), accuracies, strict=True) if value >= 0.9 * max(accuracies)
    )
    return {
        "task": PROBING_TASKS[task].title,
        "first": float(accuracies[0]),
        "last": float(accuracies[-1]),
        "step": first,
        "seconds": round(time.perf_counter() - began, 1),
    }


def table(result: dict[str, Any]) -> str:
    rows = []
    for of_task in result["probes"]:
        scores = zip(of_task["accuracy"], of_task["control"], strict=True)
        cells = [f"{accuracy:.0%} ({accuracy - control:+.0%})" for accuracy, control in scores]
        middle = cells[1:-1] + ["–"] * (3 - len(cells[1:-1]))
        random = max(zip(of_task["random"], of_task["random_control"], strict=True))
        rows.append(
            (
                f"{of_task['model']}, {of_task['task'][:1].lower()}{of_task['task'][1:]}",
                cells[0],
                *middle,
                cells[-1],
                f"{random[0]:.0%} ({random[0] - random[1]:+.0%})",
                f"{of_task['by_type']:.0%}",
                f"{of_task['majority']:.0%}",
                f"{of_task['seconds']:.1f}",
            )
        )
    header = ["accuracy (selectivity)", "embeddings", "layer 1", "layer 2", "layer 3", "last layer"]
    header += ["random weights, best layer", "word type alone", "majority", "seconds"]
    steps = "; ".join(
        f"{of_task['task'][:1].lower()}{of_task['task'][1:]} {of_task['first']:.0%} to {of_task['last']:.0%}, nine "
        f"tenths of the best from step {of_task['step']:,} ({of_task['seconds']:.0f} s)"
        for of_task in result["over_training"]
    )
    about = (
        f"Logistic regression on up to 3,000 words, a quarter of the sentences held out; {result['threads']} thread(s)"
        f". Selectivity is accuracy minus that on the control task. Last layer of tiny-town over its snapshots: {steps}"
    )
    return f"{about}.\n\n{markdown(header, rows)}"


if __name__ == "__main__":
    arguments(__doc__).parse_args()
    town = [measure("tiny-town", task.title, task.read()) for task in PROBING_TASKS.values() if task.name != "entities"]
    english = [
        measure(name, title, treebank(column))
        for name in ("wiki-tiny", "wiki-mini")
        for column, title in (("pos", "Part of speech (EWT)"), ("number", "Number of nouns (EWT)"))
    ]
    english.append(measure("wiki-mini", PROBING_TASKS["entities"].title, PROBING_TASKS["entities"].read()))
    english.append(measure("wiki-mini", PROBING_TASKS["subject"].title, PROBING_TASKS["subject"].read()))
    tracked = [over_training(task) for task in ("pos", "subject", "gender")]
    report(
        "probing", {"threads": torch.get_num_threads(), "probes": [*town, *english], "over_training": tracked}, table
    )
