"""Pretraining from a text to a model: read, learn a vocabulary, tokenize, train, save. A stream of events."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import torch
from torch import nn

from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.data.corpora.reading_notes import pluralized
from bertviz_lab.data.loaders import write_rows
from bertviz_lab.data.pretraining.streaming import ChunkReader
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus
from bertviz_lab.data.probes import probes_for
from bertviz_lab.errors import InputError
from bertviz_lab.metrics.names import NAMES
from bertviz_lab.model.encoder import set_gradient_checkpointing
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints import model_card
from bertviz_lab.training.checkpoints.atomic_io import clean_up, write_json
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, load_checkpoint, parameter_count, save_checkpoint
from bertviz_lab.training.checkpoints.checkpoint_manager import latest_checkpoint
from bertviz_lab.training.checkpoints.snapshots import SnapshotWriter
from bertviz_lab.training.loop.early_stopping import EarlyStopping, stopped_learning
from bertviz_lab.training.loop.growth import ProgressiveStacking, extend_positions
from bertviz_lab.training.loop.hardware import broadcast_object, compile_layers
from bertviz_lab.training.loop.loop import LoopConfig, Progress, train
from bertviz_lab.training.loop.optim import build_optimizers, default_learning_rate
from bertviz_lab.training.loop.sharding import is_sharded
from bertviz_lab.training.loop.training_run import TrainingRun, load_training_state
from bertviz_lab.training.pretraining.curriculum import Curriculum, DataPosition, shallow_share, stages, work_done
from bertviz_lab.training.pretraining.distillation import Distillation, require_teacher
from bertviz_lab.training.pretraining.objective import PretrainingTask
from bertviz_lab.training.pretraining.prepare import (
    PreparationStoppedError,
    added_vocabulary,
    left_out_files,
    prepare,
    prepared_stream,
)
from bertviz_lab.training.pretraining.probe_scorer import ProbeScorer
from bertviz_lab.training.pretraining.replaced_tokens import GENERATOR
from bertviz_lab.training.pretraining.setup import (
    baselines,
    build_data,
    build_model_config,
    initial_model,
    require_pretraining_memory,
)
from bertviz_lab.training.pretraining.word_scores import bits_per_character, passages_of
from bertviz_lab.training.runs.events import EvalDone, Event, Preparing, RunFinished, RunStarted

#: Peak learning rate multiplier when continuing from a pretrained model.
CONTINUED = 0.4
_COUNTED_CHARACTERS = 10_000_000  # of a streamed text: a second or two of a core


def pretrain(
    config: PretrainConfig,
    folder: str | Path,
    *,
    texts: Sequence[str] | None = None,
    resume: bool = False,
    should_stop: Callable[[], bool] = lambda: False,
    notify: str = "",
) -> Iterator[Event]:
    """Run a pretraining in `folder`, or resume it with `resume`; its metrics also go to `config.tracker`.

    The end is reported to the webhook `notify`, an address of ntfy, Slack or Discord or one that takes JSON; it is kept
    in no file of the run, since anyone who knows it can post there.

    The corpus is that of `config`, or `texts`, a list of documents, which the folder then keeps as a file.
    Under `accelerate launch` or `torchrun` every process calls this; all see the same events, one writes.
    Raises `InputError` when the text, the settings or the folder cannot be used, before anything is trained: files
    that do not belong to a run are not overwritten.
    """
    run = _Pretraining(config, folder, resume, should_stop)
    run.texts = texts
    yield from run.reported_events(notify)


class _Pretraining(TrainingRun[PretrainConfig]):
    """A run: prepare the text, set up model and data, resume, train, finish."""

    texts: Sequence[str] | None = None  # in place of the corpus of the settings

    def events(self) -> Iterator[Event]:
        """Run from the text to the model."""
        if not self.config.corpus and self.texts is None:
            raise InputError('Name at least one text to train on, for example `corpus="book.txt"`.')
        if self.config.recipe == "distil" and not self.config.teacher:
            raise InputError("The recipe distil needs a model to learn from: name it with `teacher`.")
        if self.config.patience and is_sharded(self.accelerator):
            raise InputError("Early stopping keeps whole models: leave `patience` or --use_fsdp out.")
        if self.config.replaces_tokens and is_sharded(self.accelerator):
            raise InputError("Replaced-token detection is not trained in shards: leave --use_fsdp out of the launcher.")
        stopped = False
        if self.accelerator.is_main_process:
            try:
                yield from self._prepare_text()
            except PreparationStoppedError:
                stopped = True
        if broadcast_object(self.accelerator, stopped):
            yield RunFinished(0, 0.0, "stopped", "", "")
            return
        self.share()
        self._open_data()
        self._choose_model()
        self._build_model()
        self._build_task()
        yield self._started()
        if self.config.init_from and not self.saved:  # what the model knew before, to compare with at the end
            scores = self.task.evaluate(self.model, final=True)
            if self.added and self.start:  # with its own vocabulary
                scores["bits_per_character"] = bits_per_character(self.start.model, self.start.tokenizer, self.passages)
            yield EvalDone(0, 0.0, 0, scores)
        yield from self._train()

    def _prepare_text(self) -> Iterator[Event]:
        """Tokenize the text, or find the checkpoint to resume from; the main process does this."""
        marker = self.folder / "corpus" / "corpus.json"
        if self.resume and not marker.is_file() and (checkpoint := latest_checkpoint(self.folder)):
            raise InputError(
                f"The prepared text of this run, {marker.parent}, is gone, so {checkpoint.name} cannot be resumed: "
                "put that folder back, or start another run with `init_from` and this checkpoint."
            )
        self.open_folder(marker)
        if self.texts is not None:
            self.change_settings(corpus=write_rows(self.folder / "texts.jsonl", self.texts))
        if not marker.is_file():
            yield from prepare(self.config, self.folder, self.should_stop)
            return
        self.saved = self.checkpoints.newest()
        if self.saved is None:
            yield Preparing("resume", 0, 0, "No checkpoint was saved yet; starting from the first step")
        elif self.saved.damaged:
            skipped = "; ".join(self.saved.damaged)
            yield Preparing("resume", 0, 0, f"Skipped {skipped}. Resuming from step {self.saved.step}")

    def _open_data(self) -> None:
        self.tokenizer = Tokenizer.load(self.folder / "tokenizer")
        self.corpus = TokenizedCorpus.open(self.folder / "corpus", verify=self.resume)
        self.data = build_data(self.config, self.tokenizer, self.corpus)
        self.objective = self.data.objective
        self.progress = Progress(**self.state.get("progress", {}))
        self.added = added_vocabulary(self.config, self.folder)
        # The held-out text by which models are compared whose vocabularies differ.
        self.passages = passages_of(self.data.held_out.documents, self.tokenizer) if self.config.init_from else []

    def _choose_model(self) -> None:
        """Choose the shape of the model and what it runs on. Raises `InputError` where it does not fit."""
        config = self.config
        source = self.saved.path if self.saved else config.init_from
        self.start = load_checkpoint(source) if source else None
        self.teacher = load_checkpoint(config.teacher) if config.teacher else None
        self.is_resumed = self.saved is not None
        self.shape = build_model_config(config, self.objective, self.tokenizer, self.start, is_resumed=self.is_resumed)
        if self.teacher:
            require_teacher(self.teacher, self.tokenizer, config.seq_len)
            self.shape = self.shape.replace(vocab_size=self.teacher.config.vocab_size)
        self.choose_hardware()
        require_pretraining_memory(self.shape, config, self.hardware, self.teacher.config if self.teacher else None)

    def _build_model(self) -> None:
        """Build the model and its optimizers, as they were where the run resumes."""
        config, hardware = self.config, self.hardware
        torch.manual_seed(config.seed + hardware.rank)
        data, models = self.data, (self.shape, self.start, self.teacher)
        if config.streaming and self.start is None:  # tokens and their neighbors are counted in its first documents
            first = ChunkReader(prepared_stream(config, self.folder), self.tokenizer, characters=_COUNTED_CHARACTERS)
            data = replace(data, training=replace(data.training, documents=first.read(0)))
        self.initial = initial_model(config, data, *models, is_resumed=self.is_resumed, added=self.added)
        self.raw_model = self.initial.model  # not wrapped for several processes
        self.distillation = None
        if self.teacher:
            teacher = self.teacher.model.to(hardware.device)
            self.distillation = Distillation(teacher, config.distillation, config.temperature)
        set_gradient_checkpointing(self.raw_model, config.gradient_checkpointing)
        if config.compile:
            compile_layers(self.raw_model, hardware.device)
        peak = config.learning_rate or default_learning_rate(self.shape) * (CONTINUED if config.init_from else 1.0)
        length = {"steps": config.steps, "seconds": config.time_budget_seconds, "eval_every": config.eval_every}
        work = partial(work_done, config, self.shape)
        self.loop = LoopConfig.of(config, learning_rate=peak, work_done=work, **length)
        self.stacking = ProgressiveStacking(
            self.raw_model, shallow_share(config), self._fraction_done, is_new=self.start is None
        )
        self.model: nn.Module = hardware.prepare(self.raw_model, find_unused_parameters=self.stacking.is_growing)
        self.optimizers = build_optimizers(self.raw_model, config, peak)
        if self.saved:
            load_training_state(self.saved.path, self.optimizers, hardware, config.seed)

    def _build_task(self) -> None:
        """Build what the loop asks for: batches from where the run is, evaluations, checkpoints, probes."""
        config, position = self.config, DataPosition(**self.state.get("position", {}))
        reader = None
        if config.streaming:
            stream = prepared_stream(config, self.folder)
            reader = ChunkReader(stream, self.tokenizer, position.epoch, position.place)
        parts = (stages(config, self.data.training), self._fraction_done, position, reader, self._extend_positions)
        self.curriculum = Curriculum(*parts, in_process=self.hardware.device.type == "cuda")
        # A discriminator predicts which tokens were replaced, which no probe measures.
        probes = probes_for(config.corpus, self.tokenizer) if config.probes and self.objective != "rtd" else None
        stopping = EarlyStopping("rtd_loss" if self.objective == "rtd" else "mlm_loss", config.patience)
        if self.saved and "best" in self.state:
            stopping.restore(self.saved.path, self.state["best"])
        self.task = PretrainingTask(
            self.raw_model,
            self.shape,
            self.tokenizer,
            self.curriculum,
            self.progress,
            self.data.held_out,
            self.optimizers,
            self.hardware,
            self.checkpoints,
            SnapshotWriter(self.folder / "snapshots", config.snapshot_room * 1_000_000),
            self.stacking,
            stopping,
            ProbeScorer(probes, self.tokenizer, self.shape.max_position_embeddings) if probes else None,
            self.distillation,
            passages=self.passages,
            start_length=(self.start.trained_length or 0) if self.start else 0,
        )

    def _fraction_done(self) -> float:
        return self.loop.fraction_done(self.progress)

    def _extend_positions(self, before: int, after: int) -> None:
        extend_positions(self.raw_model, max(before, self.initial.positions_of_teacher), after)

    def _started(self) -> RunStarted:
        return self.started(
            step=self.progress.step,
            total_steps=self.config.steps,
            time_budget=self.config.time_budget_seconds,
            parameters=parameter_count(self.raw_model),
            vocab_size=self.tokenizer.vocab_size,
            objective=self.objective,
            baselines=baselines(self.corpus.counts(self.tokenizer.vocab_size), self.tokenizer, self.data),
            text_tokens=0 if self.config.streaming else self.corpus.tokens,
            notes=(*left_out_files(self.folder), *self.data.notes, *self.initial.notes),
        )

    def _train(self) -> Iterator[Event]:
        scores: Mapping[str, float] = {}
        losses: list[tuple[int, float]] = []  # held-out, of the same text each time
        parts = (self.model, self.task, self.curriculum, self.optimizers, self.loop, self.hardware, self.progress)
        steps = train(*parts, self.should_stop, str(self.saved.path) if self.saved else "")
        with closing(self.curriculum):
            for event in steps:
                if isinstance(event, EvalDone):
                    scores = event.metrics
                    # The evaluations at the start and at the end are of more text than those between.
                    if event.step and self._fraction_done() < 1.0 and self.task.is_settled:
                        losses.append((event.step, scores.get("mlm_loss", math.nan)))
                if isinstance(event, RunFinished):
                    said = [self.stacking.note, stopped_learning(losses, "held-out MLM loss")]
                    if self.config.patience and event.reason == "finished":
                        best, scores = self.task.keep_best(self.model)
                        said = [self.stacking.note, self._best_note(best)]
                    self._finish(self.task.checkpoint(), event.reason, scores)
                    message = " ".join(filter(None, said))
                    event = replace(event, path=str(self.folder / "model"), message=message)
                yield event

    def _best_note(self, step: int) -> str:
        """Return which weights early stopping has kept, and why the run is over."""
        stopping = self.task.early_stopping
        name = NAMES[stopping.metric].partition(" (")[0]  # without the unit
        best = f"step {step:,} (held-out {name} {stopping.scores[stopping.metric]:.3f})"
        if not stopping.should_stop:
            return f"The model is the best one of the run, from {best}."
        waited = pluralized(stopping.waited, "evaluation<s> <was|were>")
        return f"This run has stopped learning: {waited} no better than that of {best}, whose weights are the model."

    def _finish(self, trained: Checkpoint, reason: str, scores: Mapping[str, float]) -> None:
        """Save the model with its card, the generator of a discriminator, and the report."""
        if not self.hardware.is_main:
            return
        clean_up(self.folder, "model")
        trained.model.cpu().eval()
        save_checkpoint(replace(trained, card=self._card(trained, scores)), self.folder / "model")
        if generator := self.task.generator_checkpoint():
            clean_up(self.folder, GENERATOR)
            save_checkpoint(generator, self.folder / GENERATOR)
        report = {"scores": scores, **asdict(self.progress), "reason": reason}
        if self.added:
            report["added_vocabulary"] = [asdict(piece) | {"saved": piece.saved} for piece in self.added]
        write_json(self.folder / "report.json", report)

    def _card(self, checkpoint: Checkpoint, scores: Mapping[str, float]) -> str:
        """Return a Hugging Face model card in Markdown."""
        config, tokenizer, corpus, progress = self.config, checkpoint.tokenizer, self.corpus, self.progress
        machine = f"{self.hardware.threads} threads of {self.hardware.device} in {self.hardware.precision}"
        case = "lower-cased" if tokenizer.lowercase else "cased"
        origin = f"continued from {model_card.source_name(config.init_from)}" if config.init_from else config.preset
        if config.width_factor > 1:
            origin += f", made {config.width_factor} times as wide"
        if self.added:
            origin += f", with {len(self.added):,} pieces added to its vocabulary"
        if config.teacher:
            origin += f", distilled from {model_card.source_name(config.teacher)}"
        differs = _unlike_bert(config, checkpoint.config, self.objective)
        size = f"{corpus.documents:,} documents, {corpus.sentences:,} sentences, {corpus.tokens:,} tokens"
        if config.streaming:
            size = f"streamed; held out: {size}"
        names = NAMES
        if self.objective == "rtd":
            names = NAMES | {name: f"{NAMES[name]} of the generator" for name in ("mlm_loss", "mlm_accuracy")}
        if self.objective == "mlm+sop":
            names = {name: words.replace("NSP", "SOP") for name, words in NAMES.items()}
        pipeline = "feature-extraction" if self.objective == "rtd" else "fill-mask"
        return model_card.CARD.format(
            pipeline=pipeline,
            use=model_card.use_section(pipeline),
            title=f"A small BERT ({origin})",
            about=model_card.size_of(checkpoint, f"{tokenizer.algorithm} tokens, {case}")
            + (f"\n\nUnlike BERT, {differs}." if differs else ""),
            training=f"- Text: {model_card.file_names(config.corpus)} ({size})\n"
            f"- Objective: {self.objective}; {progress.step:,} steps, {progress.tokens:,} tokens seen, "
            f"{progress.seconds:,.0f} s on {machine}",
            command=model_card.run_command("pretrain", config),
            scored="Scores on held-out documents",
            scores=model_card.score_table(scores, names),
        )


def _unlike_bert(config: PretrainConfig, model: BertConfig, objective: str) -> str:
    """Return what the model was built or trained without, in words; "" for a BERT like any other."""
    differences = []
    if model.is_decoder:
        differences.append("it has a causal mask (`is_decoder`): tokens attend only to those before them")
    if not config.position_embeddings:
        differences.append("it was trained without position embeddings (that table is zero)")
    if not config.segment_embeddings:
        differences.append("it was trained without segment embeddings (that table is zero)")
    if model.share_layers:
        differences.append("its layers share their parameters")
    if config.mask_shares[0] == 1.0:
        differences.append("every selected token was replaced by [MASK] (100/0/0)")
    if objective == "rtd":
        differences.append(
            "it is a discriminator: it tells which tokens of a text were replaced, and fills no masks; the generator "
            "that it was trained with is in a folder of its own"
        )
    return "; ".join(differences)
