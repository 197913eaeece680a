"""Continued pretraining on two domains with and without words added to the vocabulary, after equal time.

`pretrain --init-from wiki-tiny` reads medical articles of Wikipedia and the docstrings of installed Python packages,
neither of which wiki-tiny was trained on. One arm keeps its vocabulary; the other adds the pieces that save the most
tokens (`--add-vocabulary`). The arms of a domain train at the same time, a thread each, so that a busy machine slows
them alike. Both are scored on documents held out beforehand, in bits per character: 15% of the words are masked, a
word's tokens together, so that vocabularies can be compared.
"""

import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import arguments, markdown, report, run_at_once
from benchmarks.recipes.scores import held_out_passages
from benchmarks.task_datasets import wiki2015
from bertviz_lab.data.samples import docstrings
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from bertviz_lab.training.pretraining.word_scores import bits_per_character
from bertviz_lab.training.runs.run_folder import read_log

BASE = "wiki-tiny"
_MOST_CHARACTERS = 12_000_000  # of a domain's text
_HELD_OUT = 10  # every so many documents one
_MEDICAL = re.compile(
    r"\b(?:patients?|disease|diseases|syndrome|symptoms?|diagnosis|treatment|therapy|clinical|surgery|infection|"
    r"disorders?|cancer|drug|tumou?rs?|chronic|acute|medication|physicians?)\b"
)
_LEAST_MEDICAL = 0.012  # of a document's words


def medical_documents() -> Iterator[str]:
    """Yield articles of Wikipedia (2015) in which so many words are medical."""
    with wiki2015() as file:
        for article in _blocks(file):
            if len(_MEDICAL.findall(article)) >= _LEAST_MEDICAL * len(article.split()):
                yield article


def _blocks(lines: Iterable[str]) -> Iterator[str]:
    block: list[str] = []
    for line in lines:
        if line.strip():
            block.append(line)
        elif block:
            yield "".join(block)
            block = []


def code_documents() -> Iterator[str]:
    """Yield the docstrings of each module of the installed packages."""
    for document in docstrings.documents(Path(np.__file__).parents[1]):
        yield "\n".join(document.sentences) + "\n"


DOMAINS = {"medical articles": medical_documents, "docstrings of packages": code_documents}


def write_text(documents: Iterable[str], folder: Path) -> dict[str, int]:
    """Write every tenth document to valid.txt and the others to train.txt; returns the characters of each."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes, seen = {"train": 0, "valid": 0}, set[str]()
    with (
        (folder / "train.txt").open("w", encoding="utf-8") as train,
        (folder / "valid.txt").open("w", encoding="utf-8") as valid,
    ):
        for number, document in enumerate(documents):
            if document in seen:
                continue
            seen.add(document)
            part, file = ("valid", valid) if number % _HELD_OUT == 0 else ("train", train)
            file.write(document + "\n")
            sizes[part] += len(document)
            if sum(sizes.values()) > _MOST_CHARACTERS:
                break
    return sizes


def measure(name: str, folder: Path, budget: str, pieces: int, seeds: int) -> dict[str, Any]:
    """Train both arms of a domain with some seeds, all at once, and score them."""
    sizes = write_text(DOMAINS[name](), folder)
    shared = [sys.executable, "-m", "bertviz_lab", "pretrain", "--init-from", BASE]
    shared += ["--corpus", str(folder / "train.txt")]
    shared += ["--batch-size", "32", "--threads", "1", "--no-probes", "--snapshot-room", "0", "--eval-every", "60"]
    arms = {"its vocabulary": [], f"{pieces:,} more pieces": ["--add-vocabulary", str(pieces)]}
    for number, options in enumerate(arms.values()):  # the text is read and tokenized before any clock runs
        prepared = folder / f"prepared-{number}"
        subprocess.run([*shared, *options, "--steps", "1", "--out", str(prepared)], check=True)
    runs = {(arm, seed): folder / f"run-{number}-{seed}" for number, arm in enumerate(arms) for seed in range(seeds)}
    run_at_once(
        [*shared, *arms[arm], "--time-budget", budget, "--seed", str(seed), "--out", str(out)]
        for (arm, seed), out in runs.items()
    )
    passages = held_out_passages(folder / "valid.txt")
    base = load_checkpoint(BASE)
    found: dict[str, Any] = {"characters": sizes, "passages": len(passages), "arms": {}}
    found["before"] = bits_per_character(base.model, base.tokenizer, passages)
    for arm in arms:
        bits, steps, tokens, parts = [], [], [], 0
        for seed in range(seeds):
            model = load_checkpoint(runs[arm, seed] / "model")
            bits.append(bits_per_character(model.model, model.tokenizer, passages))
            last = [row for row in read_log(runs[arm, seed])[0] if row["event"] == "StepDone"][-1]
            steps.append(last["step"])
            tokens.append(last["tokens"])
            parts = sum(map(len, model.tokenizer.ids(passages)))
        found["arms"][arm] = {"bits": bits, "steps": steps, "tokens": tokens, "passage_tokens": parts}
    return found


def table(result: dict[str, Any]) -> str:
    rows = []
    for name, domain in result["domains"].items():
        rows.append([name, domain["passages"], "before", "", "", "", f"{domain['before']:.3f}"])
        for arm, found in domain["arms"].items():
            bits = found["bits"]
            spread = f" ({', '.join(f'{value:.3f}' for value in bits)})" if len(bits) > 1 else ""
            rows.append(
                [
                    name,
                    domain["passages"],
                    arm,
                    f"{statistics.fmean(found['steps']):,.0f}",
                    f"{statistics.fmean(found['tokens']) / 1e6:.2f}M",
                    f"{found['passage_tokens']:,}",
                    f"{statistics.fmean(bits):.3f}{spread}",
                ]
            )
    about = (
        f"{BASE} trained on for {result['budget']} of one thread for each run, all runs of a domain at the same time, "
        f"{result['seeds']} seeds. Bits per character: less is better."
    )
    header = [
        "domain",
        "held-out passages",
        "vocabulary",
        "steps",
        "tokens seen",
        "tokens of the held-out passages",
        "bits per character",
    ]
    return f"{about}\n\n{markdown(header, rows)}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--budget", default="5m", help="how long each run trains")
    parser.add_argument("--pieces", type=int, default=1000, help="that the vocabulary gains at most")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--work", type=Path, help="folder for texts and runs; a temporary one by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        domains = {
            name: measure(name, work / name.split()[0], options.budget, options.pieces, options.seeds)
            for name in DOMAINS
        }
    body = {"budget": options.budget, "pieces": options.pieces, "seeds": options.seeds, "domains": domains}
    report("added_vocabulary", body, table)


if __name__ == "__main__":
    main()
