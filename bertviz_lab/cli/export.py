"""The commands that hand models on, and `runs`: `export`, `publish`, `push` and `runs`."""

import argparse
import dataclasses
from pathlib import Path

import bertviz_lab as lab
from bertviz_lab.cli.options import AddCommand
from bertviz_lab.cli.result import Result, notice, write_file
from bertviz_lab.errors import InputError


def add_commands(command: AddCommand) -> None:
    """Add `export`, `publish`, `push` and `runs`."""
    export = command("export", export_command)
    export.add_argument("--out", required=True, help="A new folder")
    export.add_argument("--onnx", action="store_true", help="Also as ONNX graphs, in 32 bits and with 8-bit weights")

    publish = command("publish", publish_command, model=False)
    publish.add_argument(
        "--model", required=True, nargs="+", metavar="MODEL", help="Folders, shipped models or hub ids; the first opens"
    )
    publish.add_argument("--out", required=True, help="A new folder, or a new file that ends in .html")
    publish.add_argument("--name", nargs="+", default=(), help="Names of the models on the page (default: their own)")
    publish.add_argument("--single-file", action="store_true", help="One HTML file that opens from a disk")
    publish.add_argument(
        "--snapshots", type=int, default=0, metavar="N", help="Also the training dynamics of N snapshots of the run"
    )
    publish.add_argument("--precision", choices=("fp16", "fp32"), default="fp16", help="Of the weights (default: fp16)")

    push = command("push", push_command)
    push.add_argument("--repo", required=True, metavar="USER/NAME", help="The model's name on the hub")
    push.add_argument("--public", action="store_true", help="For everybody to see; a new model is private otherwise")
    push.add_argument("--dry-run", action="store_true", help="Send nothing; print the files and the card")
    push.add_argument("--license", help="Such as apache-2.0")
    push.add_argument("--language", nargs="*", default=(), help="Such as en")
    push.add_argument("--datasets", nargs="*", default=(), help="Ids of the hub")
    push.add_argument("--base-model", help="The hub id of the model that it was fine-tuned from")

    runs = command("runs", runs_command, model=False)
    runs.add_argument(
        "action",
        nargs="?",
        choices=("list", "check", "report"),
        default="list",
        help="check: the labels of a run; report: a run as a web page",
    )
    runs.add_argument("name", nargs="?", metavar="NAME", help="The run to check or report, in --runs-dir")
    runs.add_argument("--out", metavar="FILE.html", help="With report: the page, which needs no network")
    runs.add_argument("--runs-dir", default="runs", help="Folder that holds the runs (default: runs)")
    runs.add_argument("--first", type=int, default=20, metavar="N", help="Doubted labels to print (default: 20)")
    runs.add_argument("--accept", type=int, default=0, metavar="N", help="Accept the suggestions of the first N doubts")
    runs.add_argument("--corrected", metavar="DIR", help="Write the training files there, with the corrected labels")


def export_command(options: argparse.Namespace) -> Result:
    """Export a model as a Hugging Face folder."""
    from bertviz_lab.training.checkpoints.onnx_export import export_checkpoint

    path = Path(options.out)
    report = export_checkpoint(lab.load_checkpoint(options.model), path, onnx=options.onnx)
    if not report:
        return Result({"path": str(path)}, f"Written to {path}; transformers can load it")
    body = dataclasses.asdict(report) | {"path": str(path), "onnx": str(report.path)}
    return Result(body, f"Written to {path}; transformers and onnxruntime can load it\n\n{report.card_section()}")


def publish_command(options: argparse.Namespace) -> Result:
    """Publish models as a web page that computes in the browser and needs no server."""
    from bertviz_lab.browser.site import publish

    path = Path(options.out)
    single_file = options.single_file or path.suffix.lower() == ".html"
    given = {name: getattr(options, name) for name in ("precision", "snapshots")}
    page = publish(options.model, path, single_file=single_file, names=options.name, report=notice, **given)
    how = "Open it in a browser" if single_file else f"Try it with: python -m http.server --directory {path}"
    body = {"path": str(page.path), "bytes": page.bytes, "models": list(page.models)}
    return Result(body, f"Written to {path}, {page.bytes / 1e6:.1f} MB\n{how}")


def push_command(options: argparse.Namespace) -> Result:
    """Publish a model on the Hugging Face hub; --dry-run shows what would be sent."""
    from bertviz_lab.training.checkpoints.hub_upload import push_to_hub

    model, private = lab.load_checkpoint(options.model), not options.public
    metadata = {name: getattr(options, name) for name in ("license", "language", "datasets", "base_model")}
    publication = push_to_hub(model, options.repo, private=private, dry_run=options.dry_run, **metadata)
    files = "\n".join(f"{size:>12,}  {name}" for name, size in publication.bytes.items())
    seen = "private" if publication.private else "public"
    head = f"Sent to {publication.url}" if publication.url else "Nothing was sent (--dry-run); this would be"
    body = dataclasses.asdict(publication)
    return Result(body, f"{head}\n{options.repo}, {seen}:\n{files}\n\n{publication.card}")


def runs_command(options: argparse.Namespace) -> Result:
    """List the runs of a folder, newest first; with check, doubt the labels that a classifier was trained on; with
    report, write the curves, results, predictions and settings of a run as one web page."""
    from bertviz_lab.jobs import Runs

    if options.action == "check":
        return _check_labels(options)
    if options.action == "report":
        return _write_report(options)

    if Path(options.runs_dir).is_file():
        raise InputError(f"{options.runs_dir} is not a folder.")
    runs = Runs(Path(options.runs_dir))
    states = {run_id: runs.state(run_id) for run_id in runs.ids()}
    body = {"runs": [{"run": run_id, **dataclasses.asdict(state)} for run_id, state in states.items()]}
    lines = [f"{run_id:40} {s.status:10} step {s.step:<8} {s.model}" for run_id, s in states.items()]
    return Result(body, "\n".join(lines) or f"There are no runs in {options.runs_dir}.")


def _write_report(options: argparse.Namespace) -> Result:
    """Write a run as one web page."""
    from bertviz_lab.ui.views.publish.report import report_of_folder

    if not options.name or not options.out:
        raise InputError("Name the run and the page: bertviz-lab runs report NAME --out page.html.")
    page = report_of_folder(Path(options.runs_dir) / options.name).encode()
    write_file(Path(options.out), page)
    body = {"path": options.out, "bytes": len(page)}
    return Result(body, f"Written to {options.out}, {len(page) / 1e6:.1f} MB\nOpen it in a browser")


def _check_labels(options: argparse.Namespace) -> Result:
    """Print the doubted labels of a run, accept suggestions, and write the corrected files."""
    from bertviz_lab.config import FinetuneConfig
    from bertviz_lab.data.examples import LabelledText
    from bertviz_lab.data.tasks.corrections import CORRECTIONS_FILE, Correction, append_correction
    from bertviz_lab.figures.training.label_check import label_words
    from bertviz_lab.training.finetuning.label_check import label_check_of
    from bertviz_lab.training.finetuning.task_data import corrected_train_files, read_task_splits
    from bertviz_lab.training.runs.run_folder import read_config

    folder = Path(options.runs_dir) / (options.name or "")
    config = read_config(folder) if (folder / "report.json").is_file() else None
    if not isinstance(config, FinetuneConfig):
        raise InputError(f"{folder} is no fine-tuning with a result; name one of `bertviz-lab runs`.")
    check = label_check_of(folder)
    texts = [text for text in read_task_splits(folder).train if isinstance(text, LabelledText)]
    for doubt in check.doubts[: options.accept]:
        append_correction(folder / CORRECTIONS_FILE, Correction(texts[doubt.place], doubt.suggested))
    files = corrected_train_files(folder, config) if options.corrected else []
    for file in files:
        Path(options.corrected).mkdir(parents=True, exist_ok=True)
        write_file(Path(options.corrected) / file.name, file.content)
    shown = [{**dataclasses.asdict(texts[d.place]), **dataclasses.asdict(d)} for d in check.doubts[: options.first]]
    lines = [
        f"row {row['row']:<7} {label_words(row['label'])} -> {label_words(row['suggested'])} "
        f"({row['suggested_share']:.0%})  {' '.join(row['text_a'].split())[:90]}"
        for row in shown
    ]
    lines += [f"{file.name}: {file.changed:,} labels were corrected. {file.note}".strip() for file in files]
    head = f"Confident learning estimates {check.estimated:,} wrong labels among {len(texts):,} training examples."
    head += f" {len(check.conflicts):,} near-duplicates have different labels; {check.leaked:,} examples leak."
    counts = {"estimated": check.estimated, "conflicts": len(check.conflicts), "leaked": check.leaked}
    body = {"run": str(folder), "examples": len(texts), **counts, "doubts": shown}
    body["files"] = [str(Path(options.corrected) / file.name) for file in files]
    return Result(body, "\n".join([head, *lines]))
