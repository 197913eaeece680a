"""Held-out losses of runs of the lab, which the page draws behind the curve of one's own run.

    python -m benchmarks.reference_curves --runs FOLDER

trains each model that is not kept yet with one thread, and adds its curve to the file that ships with the package. Its
settings are the lab's recipe with what the page fills in for a text and a size. The length of a run is a number of
steps, so that a busy machine changes no curve; a run that was cut short is resumed from its folder. The logs of shipped
models that were trained from random weights on one text are taken over as they are.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.task_datasets import folder as data_folder
from bertviz_lab.config import SHIPPED, PretrainConfig
from bertviz_lab.data.corpora.read import read_documents
from bertviz_lab.data.pretraining.tokenized_corpus import CachedTokenizer, TokenizedCorpus
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.pretraining.pretrain import pretrain
from bertviz_lab.training.runs.reference_curves import COMPARED, FILE
from bertviz_lab.training.runs.run_folder import read_log, record
from bertviz_lab.training.runs.training_text import shipped_config
from bertviz_lab.ui.views.pretrain.run_settings import recommended

#: Texts of $BERTVIZ_LAB_DATA: the file, and the seed of the run on it.
PROSE = {"wiki_en": ("wiki_en/train.txt", 0), "classic_books": ("classic_books/train_60mb.txt", 1)}
#: Steps of short runs, and of runs as long as a few minutes take on two cores: one is compared with those like itself.
STEPS = ({"tiny": 800, "mini": 320}, {"tiny": 4000, "mini": 1600})
_LIKE = {"tiny": 64, "mini": 128}  # sequence length: what the page fills in, and the command line's default
_SHIPPED = {"wiki-tiny": "wiki_en"}
_POINTS = 20  # of a curve


def cases() -> list[dict[str, Any]]:
    """Return what is trained: short runs first, of these the texts that people most often have."""
    town: list[dict[str, Any]] = [{"text": "sample:tiny-town", "megabytes": None, "seed": seed} for seed in (0, 1)]
    prose: list[dict[str, Any]] = [
        {"text": text, "megabytes": megabytes, "seed": seed}
        for megabytes in (1.0, 0.1, 10.0)
        for text, (_, seed) in PROSE.items()
    ]
    texts = (*town, *prose)
    return [
        {"preset": preset, **text, "steps": count}
        for steps in STEPS
        for text in texts
        for preset, count in steps.items()
    ]


def train(case: dict[str, Any], data: Path, runs: Path) -> dict[str, Any]:
    """Train one model, or go on with it, and return its curve."""
    name, size = case["text"], case["megabytes"]
    corpus = name
    if size:
        corpus = str(runs / f"{name}-{size:g}.txt")
        with (data / PROSE[name][0]).open("rb") as file:
            Path(corpus).write_bytes(file.read(int(1e6 * size)).rpartition(b"\n")[0] + b"\n")
    length = _LIKE[case["preset"]]
    settings = {"seq_len": length, "batch_size": 2048 // length} | recommended(name.removeprefix("sample:"))
    config = PretrainConfig.of_recipe(
        "lab",
        **(settings | {"preset": case["preset"], "seq_len": length, "batch_size": 2048 // length}),
        corpus=(corpus,),
        steps=case["steps"],
        seed=case["seed"],
        threads=1,
        eval_every=2.0,
        checkpoint_every=60.0,
        probes=False,
        snapshot_room=0,
    )
    folder = runs / f"{case['preset']}-{name.removeprefix('sample:')}-{size}-{case['seed']}-{case['steps']}"
    for _ in record(pretrain(config, folder, resume=(folder / "state.json").is_file()), folder):
        pass  # the events are in the log
    rows = read_log(folder)[0]
    tokens = next(row["text_tokens"] for row in rows if row["event"] == "RunStarted")
    return case | {"text_tokens": tokens, "machine": machine()} | curve(config, rows)


def shipped(name: str, data: Path) -> dict[str, Any]:
    """Return the curve of a shipped model, from its log and recipe."""
    config = shipped_config(SHIPPED / name)
    assert config
    text = _SHIPPED[name]
    documents = [document.sentences for document in read_documents([data / PROSE[text][0]])]
    tokens = TokenizedCorpus.of_texts(documents, CachedTokenizer(Tokenizer.load(SHIPPED / name))).tokens
    case = {"model": name, "preset": config.preset, "text": text, "seed": config.seed, "steps": config.steps}
    return case | {"text_tokens": tokens} | curve(config, read_log(SHIPPED / name, name="training.jsonl")[0])


def curve(config: PretrainConfig, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the held-out losses of a log with what they are compared by, settings where they are not the defaults."""
    started = next(row for row in reversed(rows) if row["event"] == "RunStarted")
    losses = {row["tokens"]: (row["mlm_loss"], row["nsp_loss"]) for row in rows if row["event"] == "EvalDone"}
    points = sorted(losses.items())[:: -max(1, -(-len(losses) // _POINTS))][::-1]  # the last among them
    usual = PretrainConfig()
    return {
        "vocab_size": started["vocab_size"],
        "unigram_entropy": round(started["baselines"]["unigram_entropy"], 4),
        "settings": {n: getattr(config, n) for n in COMPARED if getattr(config, n) != getattr(usual, n)},
        "points": [[tokens, round(mlm, 3), round(nsp, 3)] for tokens, (mlm, nsp) in points],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=Path, required=True, help="folder of the runs, which is kept to resume them")
    parser.add_argument("--shipped", action="store_true", help="take over the logs of shipped models, train nothing")
    parser.add_argument("--data", type=Path, default=data_folder())
    given = parser.parse_args()
    given.runs.mkdir(parents=True, exist_ok=True)
    if given.shipped:
        keep([shipped(name, given.data) for name in _SHIPPED])
        return
    for case in cases():
        if not any(case.items() <= run.items() for run in kept()):
            keep([train(case, given.data, given.runs)])
            print(*case.values(), "kept", flush=True)


def kept() -> list[dict[str, Any]]:
    """Return the runs of the file that ships."""
    return json.loads(FILE.read_text(encoding="utf-8"))["runs"] if FILE.is_file() else []


def keep(added: list[dict[str, Any]]) -> None:
    """Add runs to the file that ships: the defaults that their settings are unlike, and a line for each run."""
    names = [run.get("model") for run in added]
    runs = [run for run in kept() if "model" not in run or run["model"] not in names] + added
    usual = PretrainConfig()
    lines = ",\n".join(json.dumps(run, ensure_ascii=False) for run in runs)
    defaults = json.dumps({name: getattr(usual, name) for name in COMPARED})
    FILE.write_text(f'{{"defaults": {defaults},\n"runs": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
