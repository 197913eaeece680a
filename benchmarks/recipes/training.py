"""A run of a recipe for some seconds of the clock: the lab's own parts, and the few that are only tried here."""

import hashlib
import json
import math
import os
import statistics
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from benchmarks.corpus import EVERYTHING, Text, cache, tokenized, tokenizer_folder, with_simple_text
from benchmarks.recipes.clock import Clock, ReferenceStep
from benchmarks.recipes.embeddings import begin_with_sines, scale_rate, scale_words, untie_decoder
from benchmarks.recipes.objectives import BagOfNextTokens, preferring_rare_tokens, varied, weigh_layers
from benchmarks.recipes.variants import SHARED, Variant
from bertviz_lab.config import PretrainConfig
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint, parameter_count
from bertviz_lab.training.checkpoints.checkpoint_manager import CheckpointManager
from bertviz_lab.training.checkpoints.snapshots import SnapshotWriter
from bertviz_lab.training.loop.early_stopping import EarlyStopping
from bertviz_lab.training.loop.growth import ProgressiveStacking, extend_positions
from bertviz_lab.training.loop.hardware import Hardware, choose_hardware
from bertviz_lab.training.loop.loop import Progress
from bertviz_lab.training.loop.optim import (
    build_optimizers,
    clip_and_step,
    default_learning_rate,
    lr_schedule,
    parameter_groups,
    set_learning_rate,
)
from bertviz_lab.training.pretraining.curriculum import Curriculum, DataPosition, Stage, shallow_share, stages
from bertviz_lab.training.pretraining.distillation import Distillation
from bertviz_lab.training.pretraining.objective import PretrainingTask
from bertviz_lab.training.pretraining.pretrain import CONTINUED
from bertviz_lab.training.pretraining.setup import build_data, build_model_config, initial_model

_AVERAGED_EVERY = 10  # steps
_KEPT_EVERY = 0.01  # of the run: how far apart the latest weights are whose mean is taken
_SAVED_EVERY = 60.0  # seconds of the clock
_DECAY_FROM = 0.8  # of the run, where a constant rate begins to fall


def cosine(progress: float, warmup: float) -> float:
    """Linear warm-up, then half a cosine down to zero (Loshchilov and Hutter 2017)."""
    if progress < warmup:
        return progress / warmup
    return 0.5 * (1 + math.cos(math.pi * (progress - warmup) / (1 - warmup)))


def warmup_stable_decay(progress: float, warmup: float) -> float:
    """Linear warm-up, constant, and a linear way down to zero at the end (Hu et al. 2024)."""
    return min(1.0, progress / warmup if warmup else 1.0, (1 - progress) / (1 - _DECAY_FROM))


#: Fraction of the peak learning rate by progress and warm-up.
SCHEDULES: dict[str, Callable[[float, float], float]] = {
    "linear": lr_schedule,
    "cosine": cosine,
    "wsd": warmup_stable_decay,
}


@dataclass(frozen=True)
class TrainedModel:
    """What came of a run, and what it took."""

    model: nn.Module  # in evaluation mode
    tokenizer: Tokenizer
    steps: int
    tokens: int
    parameters: int
    cpu_seconds: float
    reference_seconds: float  # CPU seconds of the clock's fixed step, the median of the run


def train(variant: Variant, text: Text, seed: int, setting: dict[str, Any]) -> TrainedModel:
    """Train a variant for the setting's seconds of the clock; tokenizing the text is not counted.

    Every minute of the clock, and at the end, the run is kept in `state_file`, from where the next call goes on.
    """
    config = configuration(variant, text, seed, setting)
    seconds, precision = setting["seconds"], config.precision
    teacher = load_checkpoint(config.teacher) if config.teacher else None
    start = load_checkpoint(config.init_from) if config.init_from else None
    given = teacher or start
    tokenizer = given.tokenizer if given else Tokenizer.load(config.tokenizer)
    read = with_simple_text(text) if variant.simple_text else text
    corpus = tokenized(read.train, tokenizer, EVERYTHING)
    counts = corpus.counts(tokenizer.vocab_size)
    data = build_data(config, tokenizer, corpus)
    training = varied(data.training, variant.causal_throughout)
    if variant.prefers_rare_tokens:
        training = preferring_rare_tokens(training, counts)
    model_config = build_model_config(config, data.objective, tokenizer, start, is_resumed=False)
    if variant.embedding_size:
        model_config = model_config.replace(embedding_size=variant.embedding_size)
    if variant.shape:
        layers, hidden, heads = variant.shape
        model_config = model_config.replace(
            num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, intermediate_size=4 * hidden
        )
    hardware = choose_hardware(precision, threads=1)
    torch.manual_seed(seed)
    model = initial_model(config, data, model_config, start, None, is_resumed=False).model
    change_model(model, variant)
    bag = BagOfNextTokens(model) if variant.predicts_bags else None
    default = default_learning_rate(model_config) * (CONTINUED if start else 1.0)
    peak = variant.rate * (config.learning_rate or default)
    optimizers = optimizers_of(variant, model, config, peak)
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(variant.averaging))
    latest: deque[dict[str, Tensor]] = deque(maxlen=variant.latest)
    steps = tokens = 0
    done = saved = 0.0
    file, position, so_far = state_file(variant, seed, setting), None, {"seconds": 0.0, "cpu_seconds": 0.0}
    if file.is_file():
        state = torch.load(file)
        model.load_state_dict(state["model"])
        average.load_state_dict(state["average"])
        latest.extend(state["latest"])
        for optimizer, kept in zip(optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(kept)
        position, steps, tokens = DataPosition(**state["position"]), state["steps"], state["tokens"]
        so_far = state["clock"]
        done = saved = so_far["seconds"] / seconds
    on_longer = partial(extend_positions, model) if variant.continues_positions else lambda before, after: None
    plan = changed(stages(config, training), variant.changes)
    curriculum = Curriculum(plan, lambda: done, position, on_longer=on_longer)
    with tempfile.TemporaryDirectory() as folder, closing(curriculum):
        task = PretrainingTask(
            model,
            model_config,
            tokenizer,
            curriculum,
            Progress(),
            data.held_out,
            optimizers,
            hardware,
            CheckpointManager(Path(folder) / "checkpoints", 1),
            SnapshotWriter(Path(folder) / "snapshots", 0),
            ProgressiveStacking(model, shallow_share(config), lambda: done, is_new=position is None),
            EarlyStopping("mlm_loss"),
            distillation=Distillation(teacher.model, config.distillation, config.temperature) if teacher else None,
        )
        clock = Clock(ReferenceStep(precision), **so_far)
        while done < 1.0:
            rate = peak * SCHEDULES[variant.schedule](min(0.999, done) or 0.002, config.warmup)
            set_learning_rate(optimizers, rate)
            batch = next(curriculum)
            _step(task, batch, hardware, config.max_grad_norm, bag)
            steps, tokens = steps + 1, tokens + batch.real_tokens
            if variant.averaging and steps % _AVERAGED_EVERY == 0:
                average.update_parameters(model)
            before, done = done, clock.read() / seconds
            if variant.latest and int(done / _KEPT_EVERY) > int(before / _KEPT_EVERY):
                latest.append({name: value.clone() for name, value in model.state_dict().items()})
            if done >= min(1.0, saved + _SAVED_EVERY / seconds):
                saved = done
                state = {"model": model.state_dict(), "average": average.state_dict(), "latest": list(latest)}
                state |= {"optimizers": [optimizer.state_dict() for optimizer in optimizers]}
                so_far = {"seconds": done * seconds, "cpu_seconds": clock.cpu_seconds}
                state |= {"steps": steps, "tokens": tokens, "clock": so_far}
                _save(state | {"position": asdict(curriculum.position)}, file)
        if latest:
            model.load_state_dict({name: mean_of([weights[name] for weights in latest]) for name in latest[0]})
    return TrainedModel(
        model=(average.module if variant.averaging else task.kept_model).eval(),
        tokenizer=tokenizer,
        steps=steps,
        tokens=tokens,
        parameters=parameter_count(task.kept_model),
        cpu_seconds=clock.cpu_seconds,
        reference_seconds=statistics.median(clock.timings),
    )


def change_model(model: nn.Module, variant: Variant) -> None:
    """Change what a variant has other than the lab in a model before its first step."""
    scale_words(model, variant.embedding_scale)
    if variant.is_untied:
        untie_decoder(model)
    if variant.sinusoidal_positions:
        begin_with_sines(model, variant.sinusoidal_positions)
    if variant.weighs_layers:
        weigh_layers(model)


def state_file(variant: Variant, seed: int, setting: dict[str, Any]) -> Path:
    """Return where a run is kept that is not scored yet."""
    decisive = json.dumps([asdict(variant), seed, setting], sort_keys=True)
    return cache() / f"recipe-{hashlib.sha256(decisive.encode()).hexdigest()[:16]}.pt"


def _save(state: dict[str, Any], file: Path) -> None:
    fresh = file.with_suffix(".new")
    torch.save(state, fresh)
    os.replace(fresh, file)


def mean_of(values: Sequence[Tensor]) -> Tensor:
    """The mean of tensors of one shape; of such as hold no weights, the last."""
    return torch.stack(list(values)).mean(0) if values[0].is_floating_point() else values[-1]


def configuration(variant: Variant, text: Text, seed: int, setting: dict[str, Any]) -> PretrainConfig:
    """A variant's settings, with a vocabulary learnt from the text unless it has that of another model."""
    settings = SHARED | {name: setting[name] for name in ("preset", "precision")} | variant.settings
    if not {"teacher", "init_from"} & set(settings):
        settings["tokenizer"] = str(tokenizer_folder(text.train, settings.get("vocab_size", 8192)))
    return PretrainConfig.of_recipe(corpus=(str(text.train),), threads=1, seed=seed, **settings)


def optimizers_of(
    variant: Variant, model: nn.Module, config: PretrainConfig, learning_rate: float
) -> list[torch.optim.Optimizer]:
    """The lab's, or one of pytorch-optimizer for all parameters, with the lab's groups and weight decay."""
    if not variant.optimizer:
        optimizers = build_optimizers(model, config, learning_rate)
        if variant.embedding_rate != 1.0:
            scale_rate(optimizers[0], model, variant.embedding_rate)
        return optimizers
    import pytorch_optimizer  # takes seconds, and few recipes need it

    groups = parameter_groups(model, config.weight_decay)
    return [getattr(pytorch_optimizer, variant.optimizer)(groups, lr=learning_rate, **variant.optimizer_options)]


def changed(plan: tuple[Stage, ...], changes: Sequence[tuple[float, dict[str, float]]]) -> tuple[Stage, ...]:
    """The stages of a run with what changes from some fractions of it on."""
    if not changes:
        return plan
    result: list[Stage] = []
    start = 0.0
    for until in sorted({stage.until for stage in plan} | {begin for begin, _ in changes if begin > 0}):
        data = next(stage.data for stage in plan if stage.until > start)
        now: dict[str, Any] = {}
        for begin, change in changes:
            now |= change if begin <= start else {}
        seq_len = now.get("seq_len", data.seq_len)
        data = replace(
            data,
            seq_len=seq_len,
            batch_size=max(1, round(data.batch_size * now.get("batch", 1) * data.seq_len / seq_len)),
            rule=replace(data.rule, probability=now.get("mask_probability", data.rule.probability)),
            seed=data.seed + 15_485_863 * len(result),  # the parts of a stage do not begin with the same examples
        )
        result.append(Stage(until, data))
        start = until
    return tuple(result)


def _step(
    task: PretrainingTask, batch: Any, hardware: Hardware, max_grad_norm: float, bag: BagOfNextTokens | None
) -> None:
    with hardware.autocast():
        loss = task.training_step(task.model, batch, measure=False).loss
        if bag and batch.causal:
            loss = loss + bag.loss(batch)
    hardware.backward(loss)
    clip_and_step(task.model, task.optimizers, max_grad_norm, hardware.scaler)
