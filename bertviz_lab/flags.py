"""The options of every command; those of a training run are the fields of its config."""

import argparse
import os
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bertviz_lab.config import FinetuneConfig, PretrainConfig
from bertviz_lab.config.finetune import READING, READING_TEXTS, SUITE_SETTINGS, TASKS
from bertviz_lab.config.limits import flag_of, limit_fields, words_of
from bertviz_lab.config.options import options_of

#: What a pretrained model is evaluated on, before any fine-tuning.
PRETRAINED_TASKS = ("mlm", "nsp", "probes", "minimal-pairs")
#: Options of all commands that are files, folders, or names that may be those of folders.
_PATHS = (
    *("out", "data", "corpus", "train", "eval", "test", "model", "init_from", "teacher", "tokenizer", "like"),
    *("runs_dir", "auth_file"),
)


def command_parser(description: str, commands: Mapping[str, Callable[..., Any]]) -> argparse.ArgumentParser:
    """The parser of `bertviz-lab COMMAND`; the chosen command's function, of these, is in `run`."""
    parser = argparse.ArgumentParser(prog="bertviz-lab", description=description)
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, *, json: bool = True, model: bool = True) -> argparse.ArgumentParser:
        run = commands[name]
        sub = subparsers.add_parser(name, help=run.__doc__, description=run.__doc__)
        sub.set_defaults(run=run)
        if json:
            sub.add_argument("--json", action="store_true", help="Print one JSON document")
        if model:
            sub.add_argument("--model", required=True, help="Folder, shipped model or hub id")
        return sub

    def pair_of_texts(sub: argparse.ArgumentParser, *, both: bool = False) -> None:
        sub.add_argument("--text-a", required=True, help="Sentence A")
        sub.add_argument("--text-b", required=both, help="Sentence B")

    for name, kind in (("pretrain", PretrainConfig), ("finetune", FinetuneConfig)):
        training = command(name, model=False)
        training.add_argument("--out", required=True, help="Folder for the run")
        training.add_argument("--resume", action="store_true", help="Resume the run in --out")
        add_options(training, kind)

    fill = command("fill-mask")
    fill.add_argument("--top-k", type=int, default=5, help="Predictions for each masked token (default: 5)")
    fill.add_argument("text", help="A text with one or more masked tokens, [MASK]")

    pair_of_texts(command("next-sentence"), both=True)

    tokenize = command("tokenize")
    tokenize.add_argument("text", help="Sentence A")
    tokenize.add_argument("--text-b", help="Sentence B")

    attention = command("attention")
    pair_of_texts(attention)
    attention.add_argument("--out", required=True, help="File to write: .html, .png or .json")

    evaluate = command("evaluate")
    what = evaluate.add_mutually_exclusive_group()
    what.add_argument(
        "--task", choices=(*PRETRAINED_TASKS, *TASKS), default="mlm", help="What to evaluate (default: mlm)"
    )
    what.add_argument("--suite", choices=("glue",), help="Fine-tune and score the model on each task of a suite")
    evaluate.add_argument(
        "--data",
        nargs="+",
        default=[],
        help="Text or labelled files; for probes tiny-town or english; for minimal-pairs files or folders in BLiMP's "
        "format; for a suite the folder with a folder for each task",
    )
    evaluate.add_argument(
        "--seq-len",
        type=int,
        help="Max sequence length in tokens; by default the model's trained length, at most 128 for mlm and nsp",
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

    predict = command("predict")
    predict.add_argument("--data", required=True, help="A file with one text per line, or a table of texts")
    predict.add_argument("--out", help="The .csv to write; printed if not given")
    add_options(predict, FinetuneConfig, READING_TEXTS)

    encode = command("encode")
    encode.add_argument("--data", required=True, help="A file with one text per line, or a table of texts")
    encode.add_argument("--out", required=True, help="The .npy or .jsonl to write")
    add_options(encode, FinetuneConfig, [name for name in READING_TEXTS if name != "text_b"])
    encode.add_argument("--normalize", action="store_true", help="Vectors of length 1, whose products are cosines")

    export = command("export")
    export.add_argument("--out", required=True, help="A new folder")
    export.add_argument("--onnx", action="store_true", help="Also as ONNX graphs, in 32 bits and with 8-bit weights")

    push = command("push")
    push.add_argument("--repo", required=True, metavar="USER/NAME", help="The model's name on the hub")
    push.add_argument("--public", action="store_true", help="For everybody to see; a new model is private otherwise")
    push.add_argument("--dry-run", action="store_true", help="Send nothing; print the files and the card")
    push.add_argument("--license", help="Such as apache-2.0")
    push.add_argument("--language", nargs="*", default=(), help="Such as en")
    push.add_argument("--datasets", nargs="*", default=(), help="Ids of the hub")
    push.add_argument("--base-model", help="The hub id of the model that it was fine-tuned from")

    runs = command("runs", model=False)
    runs.add_argument("--runs-dir", default="runs", help="Folder that holds the runs (default: runs)")

    app = command("app", json=False, model=False)
    app.add_argument(
        "--host",
        default=os.environ.get("GRADIO_SERVER_NAME"),
        help="Address to listen at; 0.0.0.0 admits other machines (default: 127.0.0.1, with --workshop 0.0.0.0)",
    )
    app.add_argument("--port", type=int, help="Default: the first free port from 7860")
    app.add_argument("--auth", metavar="USER:PASSWORD", help="Ask visitors for this name and password")
    app.add_argument("--auth-file", type=Path, metavar="FILE", help="Who may log in, with a line USER:HASH for each")
    app.add_argument("--hash-password", metavar="USER", help="Read a password, print the line for --auth-file, and end")
    app.add_argument("--runs-dir", type=Path, default=Path("runs"), help="Folder that holds the runs (default: runs)")
    app.add_argument("--max-runs", type=int, help="Concurrent training runs; default: one per two cores")
    app.add_argument(
        "--metrics",
        action="store_true",
        help="Serve /metrics for Prometheus to this machine, or with BERTVIZ_LAB_METRICS_TOKEN to who sends that token",
    )
    app.add_argument(
        "--log", choices=("json", "plain", "off"), default="off", help="How events are logged (default: off)"
    )
    app.add_argument("--open", action="store_true", help="Open the page in a browser")
    app.add_argument(
        "--shared",
        action="store_true",
        help="Strangers reach this page, for example through a proxy; implied by any other host and by a Space",
    )
    app.add_argument(
        "--language",
        metavar="CODE",
        default="",
        help="Language of lessons, handouts and workshop: en or de; also BERTVIZ_LAB_LANGUAGE (default: en)",
    )
    app.add_argument("--allowed-hosts", metavar="NAMES", help="Further names of this server, with commas between them")
    app.add_argument(
        "--trusted-proxies",
        metavar="ADDRESSES",
        help="Proxies whose forwarding headers are believed, as addresses or networks; default: this machine",
    )
    workshop = app.add_argument_group(
        "workshop", "A leader's page at /leader, and a room that predicts (docs/workshop.md)."
    )
    workshop.add_argument(
        "--workshop", metavar="NAME", default="", help="Give a workshop of this name; implies --shared"
    )
    workshop.add_argument(
        "--leader-key",
        metavar="KEY",
        default=os.environ.get("BERTVIZ_LAB_LEADER_KEY", ""),
        help="What opens the leader's page, also BERTVIZ_LAB_LEADER_KEY; default: a random one, printed at the start",
    )
    workshop.add_argument(
        "--public-url",
        metavar="URL",
        default="",
        help="Where participants find the page, for links and QR codes; default: this machine's address",
    )
    limits = app.add_argument_group(
        "limits", "What visitors may use. Each can also be set by an environment variable, BERTVIZ_LAB_ and its name."
    )
    for field in limit_fields():
        local, shared = (words_of(field.metadata["kind"], field.metadata[mode]) for mode in ("local", "shared"))
        default = local if local == shared else f"{local}, shared page {shared}"
        limits.add_argument(flag_of(field.name), metavar="LIMIT", help=f"{field.metadata['help']} (default: {default})")

    doctor = command("doctor", model=False)
    doctor.add_argument("--visitors", type=int, default=30, help="People who will use the page at a time (default: 30)")
    doctor.add_argument("--host", default="0.0.0.0", help="Address that the page will listen at (default: 0.0.0.0)")
    doctor.add_argument("--port", type=int, default=7860, help="Port of the page (default: 7860)")
    doctor.add_argument(
        "--runs-dir", type=Path, default=Path("runs"), help="Folder that will hold the runs (default: runs)"
    )
    return parser


def add_options(parser: argparse._ActionsContainer, config: type, names: Sequence[str] = ()) -> None:
    """Add a flag for each field of a config (or for `names`); an option that is not given is not set."""
    hints = typing.get_type_hints(config)
    for field in options_of(config):
        if names and field.name not in names:
            continue
        flag, hint = "--" + field.name.replace("_", "-"), hints[field.name]
        kinds = [kind for kind in typing.get_args(hint) if kind is not types.NoneType] or [hint]
        default = "" if field.default in (None, "", ()) else f" (default: {field.default})"
        keywords: dict[str, Any] = {"default": argparse.SUPPRESS, "help": field.metadata["help"] + default}
        if hint is bool:
            keywords["action"] = argparse.BooleanOptionalAction
        elif typing.get_origin(hint) is tuple:
            keywords |= {"nargs": "+", "metavar": "FILE"}
        else:
            keywords |= {"type": kinds[0] if isinstance(kinds[0], type) else str, "metavar": field.name.upper()}
            if field.metadata["choices"]:
                keywords["metavar"] = "{" + ",".join(field.metadata["choices"]) + "}"
        parser.add_argument(flag, **keywords)


def given_options(options: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    """Those of these fields that were given; lists become tuples."""
    given = {name: getattr(options, name) for name in names if name in options}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def expand_home(options: argparse.Namespace) -> argparse.Namespace:
    """Expand a leading ~ of paths, in place: a shell does so in `--corpus ~/texts`, but not in `--corpus=~/texts`."""
    for name in _PATHS:
        value = getattr(options, name, None)
        if isinstance(value, list):
            setattr(options, name, [os.path.expanduser(entry) for entry in value])
        elif value is not None:
            setattr(options, name, type(value)(os.path.expanduser(value)))
    return options
