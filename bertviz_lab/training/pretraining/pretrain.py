"""Pretraining from a text to a model: read, learn a vocabulary, tokenize, train, save. A stream of events."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import torch

from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.pretraining.streaming import ChunkReader
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus
from bertviz_lab.data.probes import probes_for
from bertviz_lab.errors import InputError
from bertviz_lab.model.encoder import set_gradient_checkpointing
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.atomic_io import remove_partial_writes, write_json
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint, parameter_count, save_checkpoint
from bertviz_lab.training.checkpoints.checkpoint_manager import CheckpointManager, SavedCheckpoint, latest_checkpoint
from bertviz_lab.training.checkpoints.model_card import pretraining_card
from bertviz_lab.training.checkpoints.snapshots import SnapshotWriter
from bertviz_lab.training.checkpoints.training_state import load_training_state, read_training_state
from bertviz_lab.training.loop.compilation import compile_layers
from bertviz_lab.training.loop.hardware import broadcast_object, choose_hardware, start_accelerator
from bertviz_lab.training.loop.longer_positions import extend_positions
from bertviz_lab.training.loop.loop import LoopConfig, Progress, train
from bertviz_lab.training.loop.memory import require_memory
from bertviz_lab.training.loop.optim import build_optimizers
from bertviz_lab.training.loop.progressive_stacking import ProgressiveStacking
from bertviz_lab.training.loop.schedule import default_learning_rate
from bertviz_lab.training.loop.sharding import is_sharded
from bertviz_lab.training.pretraining.curriculum import Curriculum, DataPosition, stages
from bertviz_lab.training.pretraining.distillation import Distillation, require_teacher
from bertviz_lab.training.pretraining.initial_model import build_model_config, initial_model
from bertviz_lab.training.pretraining.objective import PretrainingTask
from bertviz_lab.training.pretraining.phases import shallow_share, work_done
from bertviz_lab.training.pretraining.prepare import PreparationStoppedError, left_out_files, prepare, prepared_stream
from bertviz_lab.training.pretraining.probe_scorer import ProbeScorer
from bertviz_lab.training.pretraining.replaced_tokens import GENERATOR
from bertviz_lab.training.pretraining.setup import baselines, build_data
from bertviz_lab.training.runs.events import EvalDone, Event, Preparing, RunFinished, RunStarted
from bertviz_lab.training.runs.run_folder import require_no_other_files, with_chosen_precision, write_config

#: A model that knows a language already is led on more gently: this share of the peak learning rate.
CONTINUED = 0.4


def pretrain(
    config: PretrainConfig, folder: str | Path, *, resume: bool = False, should_stop: Callable[[], bool] = lambda: False
) -> Iterator[Event]:
    """Run a pretraining in `folder`, or resume it with `resume`.

    Under `accelerate launch` or `torchrun` every process calls this; all see the same events, one writes.
    Raises `InputError` when the text, the settings or the folder cannot be used, before anything is trained: files
    that are of no run are not overwritten.
    """
    if config.recipe == "distil" and not config.teacher:
        raise InputError("The recipe distil needs a model to learn from: name it with --teacher.")
    accelerator = start_accelerator()
    if config.replaces_tokens and is_sharded(accelerator):
        raise InputError("Replaced-token detection is not trained in shards: leave --use_fsdp out of the launcher.")
    folder = Path(folder)
    store = CheckpointManager(folder / "checkpoints", config.keep_checkpoints)
    saved: SavedCheckpoint | None = None
    stopped = False
    if accelerator.is_main_process:
        kept = folder / "corpus" / "corpus.json"
        if not resume:
            require_no_other_files(folder)
            kept.unlink(missing_ok=True)  # or a later resume would find the corpus of an earlier run
        prepared = kept.is_file()
        if resume and not prepared:
            _require_no_checkpoint(folder)
        folder.mkdir(parents=True, exist_ok=True)
        config = with_chosen_precision(config, folder) if resume else config
        write_config(folder, config)
        if prepared:
            saved = store.newest()
            if saved is None:
                yield Preparing("resume", 0, 0, "No checkpoint was saved yet; starting from the first step")
            elif saved.damaged:
                skipped = "; ".join(saved.damaged)
                yield Preparing("resume", 0, 0, f"Skipped {skipped}. Resuming from step {saved.step}")
        else:
            try:
                yield from prepare(config, folder, should_stop)
            except PreparationStoppedError:
                stopped = True
    config, saved, stopped = broadcast_object(accelerator, (config, saved, stopped))
    if stopped:
        yield RunFinished(0, 0.0, "stopped", "", "")
        return
    tokenizer = Tokenizer.load(folder / "tokenizer")
    corpus = TokenizedCorpus.open(folder / "corpus", verify=resume)
    data = build_data(config, tokenizer, corpus)
    objective = data.objective

    start = load_checkpoint(saved.path if saved else config.init_from) if saved or config.init_from else None
    model_config = build_model_config(config, objective, tokenizer, start, is_resumed=saved is not None)
    teacher = load_checkpoint(config.teacher) if config.teacher else None
    if teacher:
        require_teacher(teacher, tokenizer, config.seq_len)
        model_config = model_config.replace(vocab_size=teacher.config.vocab_size)
    # A resumed run keeps its precision: in another it would not be the same run.
    state = read_training_state(saved.path) if saved else {}
    hardware = choose_hardware(state.get("precision", config.precision), config.threads, accelerator)
    config = replace(config, precision=hardware.precision)
    if hardware.is_main:
        write_config(folder, config)
    require_memory(model_config, config, hardware, teacher=teacher.config if teacher else None)
    torch.manual_seed(config.seed + hardware.rank)
    counts = corpus.counts(tokenizer.vocab_size)
    initial = initial_model(config, objective, model_config, counts, start, teacher, is_resumed=saved is not None)
    raw_model = initial.model
    distillation = None
    if teacher:
        distillation = Distillation(teacher.model.to(hardware.device), config.distillation, config.temperature)
    set_gradient_checkpointing(raw_model, config.gradient_checkpointing)
    if config.compile:
        compile_layers(raw_model, hardware.device)
    peak = config.learning_rate or default_learning_rate(model_config) * (CONTINUED if config.init_from else 1.0)
    progress = Progress(**state.get("progress", {}))
    loop = LoopConfig(
        learning_rate=peak,
        warmup=config.warmup,
        steps=config.steps,
        seconds=config.time_budget_seconds,
        max_grad_norm=config.max_grad_norm,
        gradient_accumulation_steps=config.gradient_accumulation_steps,
        eval_every=config.eval_every,
        checkpoint_every=config.checkpoint_every,
        work_done=partial(work_done, config, model_config),
    )
    stacking = ProgressiveStacking(
        raw_model, shallow_share(config), lambda: loop.fraction_done(progress), is_new=start is None
    )
    model = hardware.prepare(raw_model, find_unused_parameters=stacking.is_growing)
    optimizers = build_optimizers(raw_model, config, peak)
    if saved:
        load_training_state(saved.path, optimizers, hardware, config.seed)

    position = DataPosition(**state.get("position", {}))
    reader = None
    if config.streaming:
        reader = ChunkReader(prepared_stream(config, folder), tokenizer, position.epoch, position.place)
    curriculum = Curriculum(
        stages(config, data.training),
        lambda: loop.fraction_done(progress),
        position,
        reader,
        on_longer=lambda before, after: extend_positions(raw_model, max(before, initial.positions_of_teacher), after),
    )
    snapshots = SnapshotWriter(folder / "snapshots", config.snapshot_room * 1_000_000)
    # Of replaced tokens a discriminator tells, which no probe asks about.
    probes = probes_for(config.corpus, tokenizer) if config.probes and objective != "rtd" else None
    probe_scorer = ProbeScorer(probes, tokenizer, model_config.max_position_embeddings) if probes else None
    task = PretrainingTask(
        raw_model,
        model_config,
        tokenizer,
        curriculum,
        data.held_out,
        optimizers,
        hardware,
        store,
        snapshots,
        probe_scorer,
        distillation,
        stacking,
        start_length=(start.trained_length or 0) if start else 0,
    )
    yield RunStarted(
        run=folder.name,
        step=progress.step,
        total_steps=config.steps,
        time_budget=config.time_budget_seconds,
        parameters=parameter_count(raw_model),
        vocab_size=tokenizer.vocab_size,
        objective=objective,
        precision=hardware.precision,
        device=str(hardware.device),
        threads=hardware.threads,
        baselines=baselines(counts, tokenizer, data),
        notes=(*left_out_files(folder), *data.notes, *initial.notes),
    )
    if config.init_from and not saved:  # what the model knew before, to compare with at the end
        yield EvalDone(0, 0.0, 0, task.evaluate(model, final=True))
    scores: dict[str, float] = {}
    resumed_from = str(saved.path) if saved else ""
    with closing(curriculum):
        for event in train(model, task, curriculum, optimizers, loop, hardware, progress, should_stop, resumed_from):
            if isinstance(event, EvalDone):
                scores = dict(event.metrics)
            if isinstance(event, RunFinished):
                trained = task.checkpoint()
                if hardware.is_main:
                    remove_partial_writes(folder / "model")
                    trained.model.cpu().eval()
                    card = pretraining_card(config, trained, corpus, progress, scores, hardware, objective)
                    save_checkpoint(replace(trained, card=card), folder / "model")
                    if generator := task.generator_checkpoint():
                        remove_partial_writes(folder / GENERATOR)
                        save_checkpoint(generator, folder / GENERATOR)
                    write_json(folder / "report.json", {"scores": scores, **asdict(progress), "reason": event.reason})
                event = replace(event, path=str(folder / "model"), message=stacking.note)
            yield event


def _require_no_checkpoint(folder: Path) -> None:
    """Raises `InputError` for a run that has checkpoints and no prepared text to resume them on."""
    if checkpoint := latest_checkpoint(folder):
        raise InputError(
            f"The prepared text of this run, {folder / 'corpus'}, is gone, so {checkpoint.name} cannot be resumed: "
            "put that folder back, or start another run with --init-from and this checkpoint."
        )
