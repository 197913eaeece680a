"""The commands that use a model on files: `evaluate`, `predict` and `encode`."""

import argparse
import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bertviz_lab as lab
from bertviz_lab import strict_json
from bertviz_lab.cli.options import AddCommand, add_options, given_options
from bertviz_lab.cli.result import INTERRUPTED, Result, notes_of, notice, write_file
from bertviz_lab.config import FinetuneConfig
from bertviz_lab.config.finetune import READING, READING_TEXTS, SUITE_SETTINGS, TASKS, require_no_overridden_setting
from bertviz_lab.config.options import flag_of
from bertviz_lab.errors import InputError
from bertviz_lab.metrics.names import NAMES, format_score
from bertviz_lab.training import stop_on_signals

if TYPE_CHECKING:
    from bertviz_lab.data.formats.reading import Reading


#: What a pretrained model is evaluated on, before any fine-tuning.
_PRETRAINED_TASKS = ("mlm", "nsp", "probes", "minimal-pairs")


def add_commands(command: AddCommand) -> None:
    """Add `evaluate`, `predict` and `encode`."""
    evaluate = command("evaluate", evaluate_command)
    what, tasks = evaluate.add_mutually_exclusive_group(), (*_PRETRAINED_TASKS, *TASKS)
    what.add_argument("--task", choices=tasks, default="mlm", help="What to evaluate (default: mlm)")
    what.add_argument("--suite", choices=("glue",), help="Fine-tune and score the model on each task of a suite")
    files = "Text or labeled files; for probes tiny-town or english; for minimal-pairs files or folders in BLiMP's "
    files += "format; for a suite the folder with a folder for each task"
    evaluate.add_argument("--data", nargs="+", default=[], help=files)
    length = "Max sequence length in tokens; by default the model's trained length, at most 128 for mlm and nsp"
    evaluate.add_argument("--seq-len", type=int, help=length)
    evaluate.add_argument(
        "--balanced-pairs",
        action=argparse.BooleanOptionalAction,
        help="NSP on as many true as random next sentences, or as Google draws them (default: as it was trained)",
    )
    evaluate.add_argument(
        "--seed", type=int, default=0, help="Seed of the masking, or the first one of a suite's runs (default: 0)"
    )
    add_options(evaluate, FinetuneConfig, READING)
    suite = evaluate.add_argument_group("suites", "How the runs of a suite are fine-tuned, and where they are kept.")
    suite.add_argument(
        "--out", help="Folder of the suite's runs and results; called again, it goes on where it stopped"
    )
    add_options(suite, FinetuneConfig, ("seeds", *SUITE_SETTINGS))

    predict = command("predict", predict_command)
    predict.add_argument("--data", required=True, help="A file with one text per line, or a table of texts")
    predict.add_argument("--out", help="The .csv to write; printed if not given")
    add_options(predict, FinetuneConfig, READING_TEXTS)

    encode = command("encode", encode_command)
    encode.add_argument("--data", required=True, help="A file with one text per line, or a table of texts")
    encode.add_argument("--out", required=True, help="The .npy or .jsonl to write")
    add_options(encode, FinetuneConfig, [name for name in READING_TEXTS if name != "text_b"])
    encode.add_argument("--normalize", action="store_true", help="Vectors of length 1, whose products are cosines")


def evaluate_command(options: argparse.Namespace) -> Result:
    """Evaluate a model on texts or labeled examples."""
    if options.suite:
        return _evaluate_suite(options)
    if given := given_options(options, ("seeds", *SUITE_SETTINGS)):
        raise InputError(f"{flag_of(next(iter(given)))} goes with --suite.")
    if options.out:
        raise InputError("--out goes with --suite; to keep these scores, write --json > scores.json in its place.")
    from bertviz_lab.training.finetuning.predict import evaluate_task
    from bertviz_lab.training.pretraining.evaluate import evaluate_text

    model, length = lab.load_checkpoint(options.model), options.seq_len
    remarks = [model.length_warning(length or 0)]
    if options.task == "probes":
        scores = dict(lab.interpret.probe(model, " ".join(options.data) or "auto").right)
    elif not options.data:
        raise InputError("Name the files to evaluate on, for example --data other.txt.")
    elif options.task == "minimal-pairs":
        return _evaluate_minimal_pairs(model, options, notes_of(*remarks))
    elif options.task in TASKS:
        more = given_options(options, READING) | {"max_length": length, "on_note": remarks.append, "on_reading": _print}
        scores = evaluate_task(model, options.data, options.task, **more)
    elif options.seed < 0:
        raise InputError("--seed is a whole number from 0 on.")
    else:
        more = {"seq_len": length, "seed": options.seed, "balanced": options.balanced_pairs, "on_note": remarks.append}
        scores = evaluate_text(model, options.data, options.task, **more)
    names = {name: NAMES.get(name, name.replace("_", " ")) for name in scores}
    width = max(map(len, names.values()))
    lines = [f"{names[name]:{width}} {format_score(name, value)}" for name, value in scores.items()]
    return Result(scores, "\n".join(lines), notes=notes_of(*remarks))


def _print(reading: "Reading") -> None:
    """Print how a file was read. Raises `InputError` where that is not sure."""
    reading.require_sure()
    for line in reading.lines():
        notice(line)


def _evaluate_minimal_pairs(model: "lab.Checkpoint", options: argparse.Namespace, notes: tuple[str, ...]) -> Result:
    """Evaluate the accuracy per phenomenon on files in BLiMP's format."""
    from bertviz_lab.data.probes import read_minimal_pairs

    pairs, began = read_minimal_pairs(options.data), time.monotonic()

    def tell(done: int, total: int) -> None:
        rate = 2 * done / (time.monotonic() - began)
        notice(f"{done:,} of {total:,} pairs, {rate:,.0f} sentences/s")

    body = lab.interpret.score_minimal_pairs(model, pairs, max_length=options.seq_len, on_progress=tell).to_dict()
    rows = [*body["phenomena"].items(), ("all", body)]
    width = max(len(name) for name, _ in rows)
    lines = [f"{name:{width}} {row['accuracy']:8.1%} {row['pairs']:8,}" for name, row in rows]
    return Result(body, "\n".join([f"{'':{width}} accuracy    pairs", *lines]), notes=notes)


def _evaluate_suite(options: argparse.Namespace) -> Result:
    """Evaluate on GLUE: a table with the official metrics of each task that the folder has."""
    from bertviz_lab.training.finetuning.glue import glue_results, plan_glue, run_glue
    from bertviz_lab.training.runs.events import format_event

    if len(options.data) != 1 or not options.out:
        raise InputError("--suite needs --data, the folder with a folder for each task, and --out for the results.")
    out, first = Path(options.out), options.seed
    seeds = range(first, first + getattr(options, "seeds", 1))
    settings = given_options(options, SUITE_SETTINGS)
    require_no_overridden_setting(settings)
    runs, notes = plan_glue(options.model, Path(options.data[0]), out, seeds, settings)
    stop = stop_on_signals()
    for run, event in run_glue(runs, out, stop.is_set):
        for line in format_event(event).splitlines():
            notice(f"{run.name}: {line}")
    body = {"suite": options.suite, "model": options.model, "out": str(out), **glue_results(runs)}
    return Result(body, suite_table(body), INTERRUPTED if stop.is_set() else 0, notes=tuple(notes))


def suite_table(results: dict[str, Any]) -> str:
    """Return the results of a suite in percent: mean and standard deviation over seeds, and the majority baseline."""
    rows = [("task", "split", "examples", "metric", "score", "majority"), *suite_rows(results)]
    if results["average"] is not None:
        rows.append((f"average of {len(results['tasks'])}", "", "", "", f"{100 * results['average']:.1f}", ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, *(f"{name} is not finished." for name in results["unfinished"])])


def suite_rows(results: dict[str, Any]) -> Iterator[tuple[str, str, str, str, str, str]]:
    """Yield of each score its task, split, examples, metric, value and majority baseline."""
    for task, splits in results["tasks"].items():
        for split, row in splits.items():
            examples = f"{row['examples']['train']:,} / {row['examples'][split]:,}"
            for metric, mean in row["mean"].items():
                spread = f" ± {100 * row['deviation'][metric]:.1f}" if "deviation" in row else ""
                majority = f"{100 * row['baselines'][metric]:.1f}"
                yield task, split, examples, metric, f"{100 * mean:.1f}{spread}", majority


def predict_command(options: argparse.Namespace) -> Result:
    """Predict every text of a file with a fine-tuned model."""
    from bertviz_lab.data.formats.reading import Reading
    from bertviz_lab.data.tasks.unlabeled_inputs import read_inputs
    from bertviz_lab.training.finetuning import predict

    model = lab.load_checkpoint(options.model)
    data = read_inputs(options.data, predict.prediction_task(model), **given_options(options, READING_TEXTS))
    _print(Reading.of(data, labelled=False))
    examples = data.examples
    notes = notes_of(predict.truncation_warning(model, examples))
    head, *rows = predict.task_with(model).table(examples, predict.predict_with(model, examples)[0])
    body = {"predictions": [dict(zip(head, row, strict=True)) for row in rows], "left_out": data.dropped_rows}
    table = predict.csv_text([head, *rows])
    if options.out is None:
        return Result(body, table.rstrip("\n"), notes=notes)
    write_file(Path(options.out), table.encode())
    done = f"{len(examples):,} predictions, written to {options.out}"
    return Result(body | {"path": options.out}, done, notes=notes)


def encode_command(options: argparse.Namespace) -> Result:
    """Write the sentence embedding of every text of a file."""
    import numpy as np

    from bertviz_lab.data.examples import LabelledText
    from bertviz_lab.data.formats.raw import NO_TEXT
    from bertviz_lab.data.tasks.unlabeled_inputs import read_inputs
    from bertviz_lab.training.finetuning.predict import truncation_warning

    path = Path(options.out)
    if path.suffix.lower() not in (".npy", ".jsonl"):
        raise InputError(f"--out {path} must end in .npy or .jsonl.")
    model = lab.load_checkpoint(options.model)
    reading = given_options(options, READING_TEXTS) | {"text_b": NO_TEXT}
    data = read_inputs(options.data, "classification", **reading)
    texts = [example for example in data.examples if isinstance(example, LabelledText)]
    vectors = lab.interpret.encode(model, [text.text_a for text in texts], normalize=options.normalize)
    if path.suffix.lower() == ".npy":
        content = io.BytesIO()
        np.save(content, vectors)
        write_file(path, content.getvalue())
    else:
        pairs = zip(texts, vectors, strict=True)
        rows = (strict_json.dumps({"row": t.row, "text": t.text_a, "vector": v.tolist()}) for t, v in pairs)
        write_file(path, "".join(f"{row}\n" for row in rows).encode())
    body = {"path": str(path), "texts": len(texts), "dimension": vectors.shape[1], "pooling": model.pooling or "mean"}
    body |= {"rows": [text.row for text in texts], "left_out": data.dropped_rows}
    done = f"{len(texts):,} vectors of {vectors.shape[1]} numbers, written to {path}"
    return Result(body, done, notes=notes_of(*data.remarks, truncation_warning(model, texts)))
