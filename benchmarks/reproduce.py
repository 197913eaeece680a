"""Trains a shipped model again by its own recipe, and compares its scores with the card: `make reproduce MODEL=NAME`.

The recipe lies beside the model (`checkpoints/NAME/recipe.json`); texts that do not ship are looked for in
$BERTVIZ_LAB_DATA. The training is a run as any other, in the folder `--out`: interrupted, it goes on at the next call.
A recipe may train in stages, `earlier` commands before its `command`, which name each other's models as {stage-1}, and
the mean of the first two of them, of which the second counts 70%, as {mean-0.3-0.7}.
What comes of it is packed as it ships: weights in 16 bits and small files, some snapshots, a thinned log, the card.
Another machine gives other last digits: new scores stand beside old ones. `--keep` puts the model into `checkpoints/`.
"""

import argparse
import copy
import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import save_torch_state_dict, split_torch_state_dict_into_shards

from benchmarks.machine import markdown
from benchmarks.model_cards import card_of, picture_of, stage_folders
from benchmarks.task_datasets import folder as data_folder
from benchmarks.training_data.made_data import MADE, missing_data
from bertviz_lab.config import SHIPPED, FinetuneConfig, PretrainConfig
from bertviz_lab.data.examples import read_examples
from bertviz_lab.data.probes import probes_for
from bertviz_lab.interpret import probe
from bertviz_lab.model.weights import read_tensors, state_for_huggingface, write_tensors
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, load_checkpoint, save_checkpoint, write_checkpoint
from bertviz_lab.training.checkpoints.snapshots import LENGTHS, list_snapshots, read_lengths, snapshot_files
from bertviz_lab.training.finetuning.predict import evaluate_task, predict_with, task_with
from bertviz_lab.training.pretraining.evaluate import evaluate_text
from bertviz_lab.training.pretraining.probe_scorer import ProbeScorer, probe_accuracy
from bertviz_lab.training.runs.events import ProbesDone, to_json
from bertviz_lab.training.runs.run_folder import read_config, read_log, read_state
from bertviz_lab.training.runs.snapshot_reader import open_snapshots

MOST_BYTES = 9_000_000  # of a file that ships
_DRAWS = (0, 1, 2)  # seeds of the masks that a model is scored with
_POINTS = 250  # training points that are kept of a log


_STAGE = re.compile(r"\{(stage-\d+|mean(?:-[\d.]+)+)\}")


def filled(words: Sequence[str], out: Path = Path()) -> list[str]:
    """A recipe's words with what is on this machine: published data, and under `out` made data and models of stages."""
    on_machine = {"{data}": str(data_folder())} | {made.word: str(out / made.file) for made in MADE}
    return [_STAGE.sub(lambda match: str(out / match[1] / "model"), _replaced(word, on_machine)) for word in words]


def _replaced(word: str, by: Mapping[str, str]) -> str:
    for name, value in by.items():
        word = word.replace(name, value)
    return word


def train(recipe: dict[str, Any], run: Path, more: Sequence[str]) -> None:
    """Run the recipe's commands, or go on with them, until the last has finished; `run` is its folder."""
    commands = [*recipe.get("earlier", []), recipe["command"]]
    folders = [*stage_folders(recipe, run), run]
    run.parent.mkdir(parents=True, exist_ok=True)
    for command, folder in zip(commands, folders, strict=True):
        if (folder / "state.json").is_file() and read_state(folder).status == "finished":
            continue
        for made in MADE:  # some of it by the model of an earlier stage
            if made.word in command and not (run.parent / made.file).is_file():
                made.write(run.parent / made.file)
        for mean in (name for name in _STAGE.findall(" ".join(command)) if name.startswith("mean-")):
            shares = [float(share) for share in mean.split("-")[1:]]
            stages = [folder / "model" for folder in folders[: len(shares)]]
            save_checkpoint(averaged(stages, shares), run.parent / mean / "model")
        words = [*filled(command, run.parent), "--out", str(folder), "--resume", *more]
        if subprocess.run([sys.executable, "-m", "bertviz_lab", *words], check=False).returncode:
            sys.exit(f"The training has not finished; the same command goes on with it. It is in {folder}.")


def pack(name: str, recipe: dict[str, Any], run: Path, folder: Path) -> dict[str, Any]:
    """Write the model of a run as it ships; returns its scores, which are those of the weights that ship."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "recipe.json").write_text(json.dumps(recipe, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    stages = [*stage_folders(recipe, run), run]
    parts = stages if isinstance(read_config(run), PretrainConfig) else [run]
    counted = [(stage, share) for stage, share in zip(stages, recipe.get("average", []), strict=False) if share]
    models, shares = zip(*counted, strict=True) if counted else ([run], None)
    trained = replace(averaged([stage / "model" for stage in models], shares), card="")
    if counted and isinstance(read_config(run), FinetuneConfig):
        trained = with_thresholds(trained, run)
    if names := tuple(recipe.get("labels", ())):  # of classes that the data gives as 0, 1 ...
        trained = replace(trained, config=trained.config.replace(id2label=names))
    write_checkpoint(trained, folder)
    (folder / "model.safetensors").unlink()
    dtype = getattr(torch, recipe["weights"])  # bfloat16 makes a wheel smaller, which is compressed
    state = {name: tensor.to(dtype) for name, tensor in state_for_huggingface(trained.model).items()}
    save_torch_state_dict(state, folder, max_shard_size=MOST_BYTES)
    logs = [probed(read_log(part)[0], part) for part in parts]
    if recipe.get("average"):
        logs[-1] = with_probes(logs[-1], load_checkpoint(folder))
    kept = thinned(joined(logs))
    keep_snapshots(parts, [_end(joined(logs[:place]))["step"] for place in range(len(parts))], folder, recipe)
    lines = [json.dumps(row, ensure_ascii=False) for row in kept]
    (folder / "training.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "curves.svg").write_text(picture_of(kept), encoding="utf-8")
    scores = score(load_checkpoint(folder), recipe)
    card = card_of(name, recipe, trained, run, logs[-1], scores)
    (folder / "README.md").write_text(card, encoding="utf-8")
    return scores


@torch.no_grad()
def averaged(folders: Sequence[Path], shares: Sequence[float] | None) -> Checkpoint:
    """The last of these models, or the weighted mean of all (model soups, Wortsman et al. 2022).

    Of its position embeddings a model counts as far as it was trained.
    """
    if not shares:
        return load_checkpoint(folders[-1])
    models = [load_checkpoint(folder) for folder in folders]
    states = [copy.deepcopy(checkpoint.model.state_dict()) for checkpoint in models]
    lengths = [checkpoint.trained_length or checkpoint.config.max_position_embeddings for checkpoint in models]
    for name, tensor in models[-1].model.state_dict().items():
        of_rows = torch.tensor(shares).repeat(len(tensor), 1)  # (rows, models)
        if name.endswith("embeddings.position.weight"):
            for place, length in enumerate(lengths):
                of_rows[length : max(lengths), place] = 0
        of_rows /= of_rows.sum(1, keepdim=True)
        tensor.copy_(torch.einsum("rm,mr...->r...", of_rows, torch.stack([state[name] for state in states])))
    return models[-1]


def with_thresholds(trained: Checkpoint, run: Path) -> Checkpoint:
    """A mean of models with its own thresholds, chosen on the run's held-out examples by the run's settings."""
    held_out = read_examples(run / "examples" / "held_out.jsonl")
    task = task_with(trained).tune(held_out, predict_with(trained, held_out)[0], read_config(run))
    return replace(trained, config=trained.config.replace(**task.model_settings(held_out)))


def probed(rows: list[dict[str, Any]], run: Path) -> list[dict[str, Any]]:
    """The log of a pretraining with the probes of snapshots, if it has any, that were not asked at the time.

    Snapshots are fp16, so an accuracy can differ by one pair from the one that the run would have measured.
    """
    config = read_config(run)
    if not isinstance(config, PretrainConfig) or not list_snapshots(run / "snapshots"):
        return rows
    probes = probes_for(config.corpus, Tokenizer.load(run / "tokenizer"))
    if not probes:
        return rows
    asked, snapshots = {row["step"] for row in rows if row["event"] == "ProbesDone"}, open_snapshots(run)
    scorer = ProbeScorer(probes, snapshots.tokenizer, snapshots.config.max_position_embeddings)
    completed = list(rows)
    for step in sorted(set(snapshots.steps()) - asked):
        right = probe_accuracy(scorer.score(snapshots.open(step).model))
        before = [row for row in rows if row["event"] in ("StepDone", "EvalDone") and row["step"] <= step]
        seconds, tokens = (before[-1][name] if before else 0 for name in ("seconds", "tokens"))
        event = ProbesDone(step, float(seconds), int(tokens), probes.name, right)
        completed.insert(_place_in(completed, step), json.loads(to_json(event)))
    return completed


def _place_in(rows: Sequence[Mapping[str, Any]], step: int) -> int:
    """Where an event of this step belongs: after its snapshot, else before the next step, else before the end."""
    for place, row in enumerate(rows):
        if row["event"] == "SnapshotSaved" and row["step"] == step:
            return place + 1
    for place, row in enumerate(rows):
        if row["event"] == "RunFinished" or (row["event"] == "StepDone" and row["step"] > step):
            return place
    return len(rows)


def with_probes(rows: Sequence[dict[str, Any]], checkpoint: Checkpoint) -> list[dict[str, Any]]:
    """The log of a run that ends with the probes of this model, where it has any."""
    asked = [place for place, row in enumerate(rows) if row["event"] == "ProbesDone"]
    if not asked:
        return list(rows)
    last = rows[asked[-1]] | {"right": probe(checkpoint).right}
    return [*rows[: asked[-1]], last, *rows[asked[-1] + 1 :]]


def joined(logs: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The logs of a pretraining in stages as one: steps, tokens and seconds go on from the stage before."""
    found: list[dict[str, Any]] = []
    for rows in logs:
        before = _end(found)
        found += [row | {key: row[key] + value for key, value in before.items() if key in row} for row in rows]
    return found


def _end(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Steps, tokens and seconds at the end of a log; zeros of an empty one."""
    last = next((row for row in reversed(rows) if row["event"] == "StepDone"), {})
    return {key: last.get(key, 0) for key in ("step", "tokens", "seconds")}


def thinned(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every score, probe and snapshot of a log, and so many of its training points; no paths of this machine."""
    steps = [place for place, row in enumerate(rows) if row["event"] == "StepDone"]
    points = set(steps[:: max(1, math.ceil(len(steps) / _POINTS))]) | set(steps[-1:])
    kinds = {"RunStarted", "TrialStarted", "EvalDone", "ProbesDone", "TrialDone"}
    found = []
    for place, row in enumerate(rows):
        last = place == len(rows) - 1 and row["event"] == "RunFinished"
        sittings = row["event"] == "RunStarted" and any(earlier["event"] == "RunStarted" for earlier in found)
        if place in points or last or (row["event"] in kinds and not sittings):
            found.append({key: value for key, value in row.items() if key not in ("path", "run")})
    for row in found:
        if row["event"] == "RunStarted":
            row["run"] = ""
        elif row["event"] == "RunFinished":
            row["path"] = ""
    return found


def keep_snapshots(parts: Sequence[Path], starts: Sequence[int], folder: Path, recipe: dict[str, Any]) -> None:
    """Those snapshots of a run, and of its stages, that are wanted, all where nothing is said; the last is the model.

    `starts` are the steps that had been made when a stage began: where one ends and the next begins, that of its end.
    """
    wanted = recipe.get("snapshots")
    stages = [*zip(parts, starts, strict=True)][::-1]
    there = {start + step: path for part, start in stages for step, path in list_snapshots(part / "snapshots")}
    chosen = [(step, path) for step, path in sorted(there.items())[:-1] if wanted is None or step in wanted]
    if chosen:
        (folder / "snapshots").mkdir()
        lengths = {
            start + step: length for part, start in stages for step, length in read_lengths(part / "snapshots").items()
        }
        (folder / "snapshots" / LENGTHS).write_text(json.dumps(lengths), encoding="utf-8")
    for step, path in chosen:
        state = {name: tensor.half() for name, tensor in read_tensors(snapshot_files(path)).items()}
        plan = split_torch_state_dict_into_shards(state, max_shard_size=MOST_BYTES)
        for place, names in enumerate(plan.filename_to_tensors.values(), 1):
            part = f"step-{step:08d}{f'.{place}' if place > 1 else ''}.safetensors"
            write_tensors({name: state[name] for name in names}, folder / "snapshots" / part)


def score(checkpoint: Checkpoint, recipe: dict[str, Any]) -> dict[str, list[dict[str, float]]]:
    """For each of the recipe's data, its scores: of a text with three draws of masks, of labelled data once."""
    found = {}
    for about in recipe["scores"]:
        data = filled(about["data"])
        if about["task"] == "pretraining":
            found[about["title"]] = [evaluate_text(checkpoint, data, "mlm+nsp", seed=seed) for seed in _DRAWS]
        else:
            found[about["title"]] = [evaluate_task(checkpoint, data, about["task"], **about.get("reading", {}))]
    return found


def beside(scores: dict[str, Any], shipped: dict[str, Any]) -> str:
    """New scores beside those of the model that ships, as a table."""
    return markdown(
        ["scored on", "score", "new", "shipped"],
        (
            [title, key, f"{_mean(draws, key):.4f}", f"{_mean(shipped.get(title, []), key):.4f}"]
            for title, draws in scores.items()
            for key in draws[0]
        ),
    )


def _mean(draws: Sequence[dict[str, float]], key: str) -> float:
    values = [draw[key] for draw in draws if key in draw]
    return sum(values) / len(values) if values else math.nan


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Train a shipped model again by its recipe, and compare its scores.",
        epilog="Further options go to the training, such as --threads 1.",
    )
    parser.add_argument("model", help="A shipped model, or a folder with a recipe.json")
    parser.add_argument("--out", type=Path, help="Folder of the run and of what comes of it; runs/reproduce-NAME")
    parser.add_argument("--keep", action="store_true", help="Put the new model into checkpoints/")
    options, more = parser.parse_known_args()
    source = SHIPPED / options.model if (SHIPPED / options.model).is_dir() else Path(options.model)
    if not (source / "recipe.json").is_file():
        sys.exit(f"{source} has no recipe.json.")
    recipe = json.loads((source / "recipe.json").read_text(encoding="utf-8"))
    name = source.name
    out = options.out or Path("runs") / f"reproduce-{name}"
    scored_on = [word for about in recipe["scores"] for word in about["data"]]
    if lines := missing_data(sum([*recipe.get("earlier", []), recipe["command"]], scored_on)):
        sys.exit("\n- ".join([f"{name} needs published data that {data_folder()} ($BERTVIZ_LAB_DATA) lacks:", *lines]))
    train(recipe, out / "run", more)
    scores = pack(name, recipe, out / "run", out / name)
    shipped = score(load_checkpoint(source), recipe) if (source / "config.json").is_file() else {}
    print(beside(scores, shipped))
    if options.keep:
        shutil.rmtree(SHIPPED / name, ignore_errors=True)
        shutil.copytree(out / name, SHIPPED / name)


if __name__ == "__main__":
    main()
