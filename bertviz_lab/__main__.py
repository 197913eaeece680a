"""Train a small BERT on your own text and look inside it. Progress goes to stderr, results to stdout.

`bertviz-lab app` opens the page; `bertviz-lab fill-mask --model wiki-mini "She won a gold [MASK]."` asks a model that
comes with it.
"""

import argparse
import dataclasses
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from bertviz_lab import strict_json
from bertviz_lab.command_result import INTERRUPTED, Result, file_error, stop_on_signals
from bertviz_lab.config import FinetuneConfig, PretrainConfig, RunConfig
from bertviz_lab.config.finetune import require_no_overridden_setting
from bertviz_lab.config.limits import limit_fields
from bertviz_lab.errors import InputError
from bertviz_lab.flags import command_parser, expand_home, given_options
from bertviz_lab.interpret_commands import attention_command, fill_mask_command, next_sentence_command, tokenize_command
from bertviz_lab.task_commands import encode_command, evaluate_command, predict_command

_BAD_INPUT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 2 for bad input, 130 after Ctrl-C."""
    try:
        return _run(expand_home(command_parser(__doc__ or "", _COMMANDS).parse_args(arguments)))
    except InputError as error:
        print(f"bertviz-lab: {error}", file=sys.stderr)
        return _BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # as `bertviz-lab predict ... | head` breaks it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is not flushed at the exit
        return 0
    except Exception as error:
        if not (sentence := file_error(error)):
            raise
        print(f"bertviz-lab: {sentence}", file=sys.stderr)
        return _BAD_INPUT


def _run(options: argparse.Namespace) -> int:
    """Run a command and print what it has found."""
    options.progress = _progress
    result = options.run(options)
    if isinstance(result, int):
        return result
    for note in result.notes:
        print(note, file=sys.stderr)
    if not result.silent and (options.json or result.text):
        print(strict_json.dumps(result.body, ensure_ascii=False) if options.json else result.text, flush=True)
    return result.code


def pretrain_command(options: argparse.Namespace) -> Result:
    """Pretrain a BERT from scratch; Ctrl-C saves a checkpoint and stops."""
    return _train(options, PretrainConfig, PretrainConfig.of_recipe)


def finetune_command(options: argparse.Namespace) -> Result:
    """Fine-tune a model on labelled examples: classes, numbers, token labels, answers to questions or embeddings."""
    require_no_overridden_setting(vars(options))
    return _train(options, FinetuneConfig, FinetuneConfig)


def _train(options: argparse.Namespace, kind: type[RunConfig], settings: Callable[..., RunConfig]) -> Result:
    """Start or resume a run; `settings` supplies the defaults."""
    from bertviz_lab.training import run_training
    from bertviz_lab.training.checkpoints.checkpoint_manager import latest_checkpoint
    from bertviz_lab.training.loop.hardware import start_accelerator
    from bertviz_lab.training.runs.console import final_scores, format_event
    from bertviz_lab.training.runs.events import Event, RunFinished
    from bertviz_lab.training.runs.run_folder import (
        discard_failed_run,
        read_config,
        read_log,
        record,
        require_no_other_files,
    )
    from bertviz_lab.training.runs.trackers import track

    if not options.out:
        raise InputError("--out is empty; name a folder for the run.")
    folder = Path(options.out)
    given = given_options(options, [f.name for f in dataclasses.fields(kind)])
    resume = options.resume and (folder / "config.json").is_file()
    if resume:
        earlier = read_config(folder)
        if not isinstance(earlier, kind):
            raise InputError(f"{folder} holds a run of another kind; name another folder.")
        if "time_budget" in given and (steps := getattr(earlier, "steps", None)):
            raise InputError(
                f"{folder} was started with --steps {steps}: more --steps extend it, a time budget does not."
            )
        config = earlier.resumed_with(**given)
    else:
        config = settings(**given)
        if (folder / "events.jsonl").exists() and not discard_failed_run(folder):
            raise InputError(f"{folder} holds a run already; add --resume to resume it, or name another folder.")
        if latest_checkpoint(folder) is not None or next(folder.glob("*model*"), None):
            raise InputError(f"{folder} holds a model already, which would be lost; name another folder.")
        require_no_other_files(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}.") from error

    stop = stop_on_signals()
    finished: RunFinished | None = None
    accelerator = start_accelerator()
    main = accelerator.is_main_process
    events: Iterable[Event] = run_training(config, folder, resume=resume, should_stop=stop.is_set)
    if main:
        events = track(record(events, folder), config, folder)
    for event in events:
        if main and (line := format_event(event)):
            print(line, file=sys.stderr, flush=True)
        if isinstance(event, RunFinished):
            finished = event
    assert finished is not None
    accelerator.state.destroy_process_group()
    rows, _ = read_log(folder)
    body = {"run": str(folder), **dataclasses.asdict(finished), **final_scores(folder, rows)}
    text = (
        f"Your model is in {finished.path}"
        if finished.path
        else "Stopped before the first checkpoint; resume with --resume"
    )
    return Result(body, text, INTERRUPTED if stop.is_set() else 0, silent=not main)


def export_command(options: argparse.Namespace) -> Result:
    """Export a model as a Hugging Face folder."""
    from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
    from bertviz_lab.training.checkpoints.export import export_checkpoint

    path = Path(options.out)
    report = export_checkpoint(load_checkpoint(options.model), path, onnx=options.onnx)
    if not report:
        return Result({"path": str(path)}, f"Written to {path}; transformers can load it")
    body = dataclasses.asdict(report) | {"path": str(path), "onnx": str(report.path)}
    return Result(body, f"Written to {path}; transformers and onnxruntime can load it\n\n{report.card_section()}")


def push_command(options: argparse.Namespace) -> Result:
    """Publish a model on the Hugging Face hub; --dry-run shows what would be sent."""
    from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
    from bertviz_lab.training.checkpoints.hub_upload import push_to_hub

    publication = push_to_hub(
        load_checkpoint(options.model),
        options.repo,
        private=not options.public,
        dry_run=options.dry_run,
        license=options.license,
        language=tuple(options.language),
        datasets=tuple(options.datasets),
        base_model=options.base_model,
    )
    files = "\n".join(f"{size:>12,}  {name}" for name, size in publication.bytes.items())
    seen = "private" if publication.private else "public"
    head = f"Sent to {publication.url}" if publication.url else "Nothing was sent (--dry-run); this would be"
    body = dataclasses.asdict(publication)
    return Result(body, f"{head}\n{options.repo}, {seen}:\n{files}\n\n{publication.card}")


def runs_command(options: argparse.Namespace) -> Result:
    """List the runs of a folder, newest first."""
    from bertviz_lab.jobs import Runs

    if Path(options.runs_dir).is_file():
        raise InputError(f"{options.runs_dir} is not a folder.")
    runs = Runs(Path(options.runs_dir))
    states = {run_id: runs.state(run_id) for run_id in runs.ids()}
    body = {"runs": [{"run": run_id, **dataclasses.asdict(state)} for run_id, state in states.items()]}
    lines = [f"{run_id:40} {s.status:10} step {s.step:<8} {s.model}" for run_id, s in states.items()]
    return Result(body, "\n".join(lines) or f"There are no runs in {options.runs_dir}.")


def app_command(options: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C, and print its address."""
    from bertviz_lab.ui.app import serve_until_stopped
    from bertviz_lab.ui.guard.passwords import hash_password, read_password, users_of
    from bertviz_lab.ui.operations.event_log import start_log
    from bertviz_lab.ui.settings import Settings
    from bertviz_lab.ui.workshop.address import checked_address, participants_address
    from bertviz_lab.ui.workshop.leader_key import new_key

    if options.hash_password:
        print(f"{options.hash_password}:{hash_password(read_password())}")
        return 0
    seen = "Note: Everybody on this machine sees {} in the list of processes; {} is safer."
    if options.auth:
        _progress(seen.format("--auth", "--auth-file"))
    if options.leader_key and options.leader_key != os.environ.get("BERTVIZ_LAB_LEADER_KEY"):
        _progress(seen.format("--leader-key", "BERTVIZ_LAB_LEADER_KEY"))
    limits = {field.name: text for field in limit_fields() if (text := getattr(options, field.name))}
    given = {
        name: getattr(options, name) for name in ("shared", "allowed_hosts", "trusted_proxies", "metrics", "language")
    }
    users = users_of(options.auth, options.auth_file, os.environ)
    given |= {"workshop": options.workshop.strip(), "public_url": checked_address(options.public_url)}
    given |= {"leader_key": new_key(options.leader_key)} if given["workshop"] else {}
    behind_proxy = options.shared or options.trusted_proxies
    host = options.host or ("0.0.0.0" if given["workshop"] and not behind_proxy else "127.0.0.1")
    settings = Settings.for_host(host, options.runs_dir, options.max_runs, limits=limits, users=users, **given)
    start_log(options.log)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C
    for address in serve_until_stopped(settings, host, options.port, open_browser=options.open):
        print(f"BertViz Lab is open at {address}", flush=True)
        if settings.workshop:
            room = participants_address(settings.public_url, address)
            print(f"Participants open {room}")
            print(f"The leader opens {room}leader?key={quote(settings.leader_key)}", flush=True)
    return 0


def doctor_command(options: argparse.Namespace) -> Result:
    """Check before a workshop whether this machine can carry the page."""
    from bertviz_lab.doctor import examine_machine, summary_of

    checks = []
    for check in examine_machine(options.host, options.port, options.runs_dir, visitors=options.visitors):
        checks.append(check)
        print(f"{check.outcome:8} {check.name:16} {check.sentence}", file=sys.stderr if options.json else sys.stdout)
    ready, text = summary_of(checks)
    return Result({"ready": ready, "checks": [dataclasses.asdict(check) for check in checks]}, text, int(not ready))


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


_COMMANDS: dict[str, Callable[..., Result | int]] = {
    "pretrain": pretrain_command,
    "finetune": finetune_command,
    "evaluate": evaluate_command,
    "predict": predict_command,
    "fill-mask": fill_mask_command,
    "next-sentence": next_sentence_command,
    "attention": attention_command,
    "tokenize": tokenize_command,
    "encode": encode_command,
    "export": export_command,
    "push": push_command,
    "runs": runs_command,
    "app": app_command,
    "doctor": doctor_command,
}


if __name__ == "__main__":
    code = main()
    if "TORCHELASTIC_RUN_ID" in os.environ:  # under a launcher PyTorch's threads may abort a process at its end
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
