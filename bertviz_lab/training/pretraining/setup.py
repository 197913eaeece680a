"""What a pretraining run is made of: the objective that its text allows, its data, their baselines, its first model."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import entr
from torch import nn

from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.config.families import FAMILIES
from bertviz_lab.data.pretraining.batches import PretrainingData, masking_rule
from bertviz_lab.data.pretraining.masking import MaskingRule
from bertviz_lab.data.pretraining.split import split_corpus
from bertviz_lab.data.pretraining.tokenized_corpus import CorpusView, TokenizedCorpus
from bertviz_lab.data.pretraining.word_vectors import word_vectors
from bertviz_lab.errors import InputError
from bertviz_lab.model import BertForMaskedLM, BertForPreTraining
from bertviz_lab.model.embeddings import Embeddings
from bertviz_lab.model.heads import MaskedLMHead
from bertviz_lab.model.weights import load_state, state_for_huggingface
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.tokenization.added_pieces import NewPiece
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, load_checkpoint
from bertviz_lab.training.checkpoints.model_card import source_name
from bertviz_lab.training.loop.evaluation import EVAL_BATCH_SIZE
from bertviz_lab.training.loop.growth import extend_positions, widened, wider_config, with_more_tokens
from bertviz_lab.training.loop.hardware import Hardware
from bertviz_lab.training.loop.memory import MemoryEstimate, StepShape, forward_memory, require_memory, training_memory
from bertviz_lab.training.loop.optim import ablate_embeddings
from bertviz_lab.training.pretraining.curriculum import phases, stacking_note
from bertviz_lab.training.pretraining.distillation import can_start_from, start_from_teacher
from bertviz_lab.training.pretraining.evaluate import FULL_EVAL
from bertviz_lab.training.pretraining.replaced_tokens import GENERATOR, GeneratorAndDiscriminator

#: Google's code writes the text out this many times, each time cut and masked differently, and then repeats these.
_DUPE_FACTOR = 10
#: objective -> what is asked about the two texts of an example.
PAIRS = {"mlm+nsp": "nsp", "mlm+sop": "sop"}
_EXAMPLES = 8  # of new pieces
_MLM_ONLY = "sentence pairs are left out and the model is trained on masked language modeling only."


@dataclass(frozen=True)
class RunData:
    """The data of a run."""

    objective: str  # mlm, mlm+nsp, mlm+sop or rtd: the one asked for, or mlm where the text has no sentence pairs
    training: PretrainingData
    held_out: PretrainingData
    notes: tuple[str, ...]  # what a person should know of it


def build_data(config: PretrainConfig, tokenizer: Tokenizer, corpus: TokenizedCorpus) -> RunData:
    """Split the corpus and say how batches are drawn from each part; without sentence pairs the objective is mlm.

    Of a streamed text `corpus` is the held-out documents, and the training documents are read later.
    """
    objective: str = config.objective
    notes = []
    family = FAMILIES[config.family]
    if objective == "mlm+nsp" and family.pretraining != "nsp":
        objective = {"sop": "mlm+sop", "rtd": "rtd"}.get(family.pretraining, "mlm")
        notes.append(f"{family.title} has no next-sentence prediction: this run trains {objective}.")
    if objective == "mlm+nsp" and corpus.documents < 2:
        objective = "mlm"
        why = "The text is a single document, so there is no other to draw a random next sentence from"
        notes.append(f"{why}: {_MLM_ONLY}")
    if config.streaming:  # the corpus is what was held out of it
        train_view = held_out_view = corpus.select(np.arange(corpus.documents))
        notes.append(f"The text is read as it is trained on; its first {corpus.documents:,} documents are held out.")
    else:
        train_view, held_out_view = split_corpus(corpus, min_documents=2 if objective == "mlm+nsp" else 1)
    pairs = PAIRS.get(objective, "")
    if pairs and not train_view.has_sentence_pairs:
        objective, pairs = "mlm", ""
        notes.append(f"Every document is a single sentence, so no sentence has a next one: {_MLM_ONLY}")
    held_out_pairs = pairs if held_out_view.has_sentence_pairs else ""
    if pairs and not held_out_pairs:
        notes.append("No held-out document has two sentences: sentence pairs are trained on, but not scored.")
    if not config.streaming and np.array_equal(held_out_view.spans, train_view.spans):
        notes.append("The text is too short to hold some of it out: the scores are on text that is also trained on.")
    mask_share, random_share = config.mask_shares
    rule = masking_rule(
        tokenizer,
        config.mask_probability,
        config.whole_word,
        config.span_masking,
        probability_to=config.mask_probability_to,
        mask_share=mask_share,
        random_share=random_share,
    )
    training = PretrainingData(
        documents=train_view,
        tokenizer=tokenizer,
        rule=rule,
        seq_len=config.seq_len,
        batch_size=config.batch_size,
        short_seq_probability=config.short_seq_probability,
        pairs=pairs,
        seed=config.seed,
        repeat_after=_DUPE_FACTOR if config.masking == "static" else None,
        balanced=config.balanced_pairs,
        single_share=config.single_share,
    )
    # Scored by the paper's rule whatever the run trains with, so that the scores of all runs can be compared.
    held_out = replace(
        training,
        documents=held_out_view,
        rule=masking_rule(tokenizer),
        batch_size=EVAL_BATCH_SIZE,
        pairs=held_out_pairs,
        seed=config.seed + 1,
        repeat_after=None,
        single_share=0.0,
    )
    return RunData(objective, training, held_out, tuple(notes))


def baselines(counts: np.ndarray, tokenizer: Tokenizer, data: RunData) -> dict[str, float]:
    """Return scores without a model; losses in nats.

    Of masked tokens: the uniform baseline ln V, and by token frequency (`counts`, (vocab,)) the unigram entropy and the
    share of the most frequent one. Of pairs: the uniform baseline ln 2, and of the held-out pairs the entropy of the
    labels and the share of the more frequent label: a half, but in runs without `balanced_pairs`.
    """
    shares = counts / counts.sum()
    values = {
        "mlm_loss": math.log(tokenizer.vocab_size),
        "unigram_entropy": float(entr(shares).sum()),
        "unigram_accuracy": float(shares.max()),
    }
    if data.training.pairs:
        values["nsp_loss"] = math.log(2)
    if data.held_out.pairs:
        labels = np.bincount(data.held_out.pair_labels(FULL_EVAL.pairs))
        shares = labels / labels.sum()
        values |= {"nsp_entropy": float(entr(shares).sum()), "nsp_majority": float(shares.max())}
    return values


def estimate_memory(
    model: BertConfig,
    settings: PretrainConfig,
    precision: str = "fp32",
    processes: int = 1,
    device: str = "cpu",
    teacher: BertConfig | None = None,
    *,
    sharded: bool = False,
) -> MemoryEstimate:
    """Return the peak memory of each process of a run; each of the `processes` has the `teacher`."""
    length, rtd = settings.seq_len, settings.replaces_tokens
    rows = -(-settings.batch_size // (settings.gradient_accumulation_steps * processes))
    masked = max(1, round(settings.mean_mask_probability * length))
    steps = []
    for phase in phases(settings, model.num_hidden_layers):
        # A discriminator reads every token, and its logits are one number each.
        predicted = rows * (length if rtd else length - 1 if phase.causal else masked)
        steps.append(StepShape(rows, length, predicted, 0 if rtd else predicted * model.vocab_size, phase.layers))
    # An evaluation masks by the paper's rule whatever the run's is.
    scored = 0 if rtd else EVAL_BATCH_SIZE * round(MaskingRule.probability * length)
    tables = {"position": settings.position_embeddings, "token_type": settings.segment_embeddings}
    estimate = training_memory(
        model,
        steps,
        StepShape(EVAL_BATCH_SIZE, length, scored, scored * model.vocab_size),
        precision=precision,
        device=device,
        dropout=settings.dropout,
        moments=1 if settings.optimizer == "muon" else 2,
        frozen=[f"bert.embeddings.{name}.weight" for name, is_trained in tables.items() if not is_trained],
        gradient_checkpointing=settings.gradient_checkpointing,
        processes=processes,
        sharded=sharded,
    )
    if teacher:
        estimate = estimate.plus(forward_memory(teacher, rows * length, rows * masked))
    if rtd:
        generator, mlm = settings.generator_config(model), replace(settings, family="electra", objective="mlm")
        own = estimate_memory(generator, replace(mlm, causal_share=0.0), precision, processes, device)
        estimate = estimate.plus(own)
    return estimate


def require_pretraining_memory(
    model: BertConfig, settings: PretrainConfig, hardware: Hardware, teacher: BertConfig | None = None
) -> None:
    """Raise `InputError` where a run cannot fit into the memory that is free."""

    def needed(parts: int) -> MemoryEstimate:
        shared = (hardware.precision, hardware.processes, hardware.device.type, teacher)
        changed = replace(settings, gradient_accumulation_steps=parts)
        return estimate_memory(model, changed, *shared, sharded=hardware.is_sharded)

    advice = "choose a smaller `preset`, `vocab_size`, `seq_len` or `batch_size`"
    require_memory(needed, hardware, settings.batch_size, settings.gradient_accumulation_steps, advice)


@dataclass(frozen=True)
class InitialModel:
    """A model before the first step of a session, in training mode."""

    model: BertForPreTraining | BertForMaskedLM | GeneratorAndDiscriminator
    positions_of_teacher: int  # position embeddings that a student has from its teacher
    notes: tuple[str, ...]  # what a person should know of it


def initial_model(
    config: PretrainConfig,
    data: RunData,
    model_config: BertConfig,
    start: Checkpoint | None,
    teacher: Checkpoint | None,
    *,
    is_resumed: bool,
    added: Sequence[NewPiece] = (),
) -> InitialModel:
    """Return the model of a run, from its data.

    `start` is the model that is trained further, or the run's own checkpoint where it `is_resumed`; `added` are the
    pieces that the vocabulary has gained since.
    """
    notes = []
    if start and config.init_from:
        name = source_name(config.init_from)
        notes.append(f"Continues pretraining {name}, with its tokenizer; the first evaluation is its starting point.")
        if (times := config.width_factor) > 1:
            notes.append(f"The model is {times} times as wide as that one, with the same predictions at first.")
        if (known := start.trained_length) and (length := config.seq_len) > known:
            notes.append(f"{start.name} was trained on up to {known} tokens: this run extends that to {length}.")
    if start and not is_resumed and config.width_factor > 1:
        start = replace(start, model=widened(start.model, config.width_factor, config.seed))
    if start and added:
        useful = sorted(added, key=lambda piece: -piece.saved)  # in the order of the tokens that they save
        named = ", ".join(piece.piece for piece in useful[:_EXAMPLES]) + (" ..." if len(added) > _EXAMPLES else "")
        begun = "each begun as the mean of its parts"
        notes.append(f"The vocabulary has {len(added):,} new pieces, {begun}: {named}")
        if not is_resumed:
            old, parts = start.tokenizer, dict[int, list[int]]()
            for token_id, new in enumerate(added, old.vocab_size):
                ids = [old.id(part) for part in new.parts]
                parts[token_id] = [old.unk_id if part is None else part for part in ids]
            start = replace(start, model=with_more_tokens(start.model, parts, model_config.vocab_size))
    model = build_model(config, data.objective, model_config, start)
    if start is None and config.starts_from_scratch:
        documents = data.training.documents
        if config.unigram_bias:
            begin_with_frequencies(model, documents.corpus.counts(model_config.vocab_size))
        if config.word_vectors:
            begin_with_word_vectors(model, documents, config.seed)
            notes.append(
                "The word embeddings begin as word vectors of the text: tokens with the same neighbors are alike."
            )
    known = start.trained_length if start and not is_resumed else None
    if known and extend_positions(model, known, config.seq_len):
        notes.append(f"The position embeddings from {known} on begin as a continuation of those before.")
    taken_over = 0
    if teacher and not config.init_from and can_start_from(model_config, teacher):
        taken_over = teacher.known_length
    if teacher and start is None and taken_over:
        start_from_teacher(model, model_config, teacher)
        notes.append(f"The student begins with layers of its teacher, {source_name(config.teacher)}.")
    ablate_embeddings(model, positions=not config.position_embeddings, segments=not config.segment_embeddings)
    notes.append(stacking_note(config, model_config.num_hidden_layers))
    return InitialModel(model, taken_over, tuple(filter(None, notes)))


def build_model_config(
    config: PretrainConfig, objective: str, tokenizer: Tokenizer, start: Checkpoint | None, *, is_resumed: bool
) -> BertConfig:
    """Return the shape of the model: the preset's, or that of the model it starts from, which may be widened."""
    if start is None:
        return _with_pairs(config.model_config(tokenizer.vocab_size), objective, config)
    if config.seq_len > (longest := start.config.max_position_embeddings):
        raise InputError(f"{start.name} reads at most {longest} tokens; lower `seq_len` to that.")
    if objective in PAIRS and start.config.type_vocab_size < 2:
        raise InputError(f"{start.name} knows one segment only; choose the objective mlm.")
    if objective == "mlm+nsp" and start.config.family.pretraining != "nsp":
        raise InputError(f"{start.name} is {start.config.family.title}, which has no NSP; choose the objective mlm.")
    shape = start.config if is_resumed else wider_config(start.config, config.width_factor)
    shape = shape.replace(vocab_size=max(shape.vocab_size, tokenizer.vocab_size))  # which may have gained words
    return _with_pairs(shape, objective, config).replace(
        hidden_dropout_prob=config.dropout,
        attention_probs_dropout_prob=config.dropout,
        is_decoder=start.config.is_decoder or not config.bidirectional,  # a causal model stays causal
    )


def _with_pairs(shape: BertConfig, objective: str, config: PretrainConfig) -> BertConfig:
    """Return the settings with what the head over pairs is trained on; without pairs it stays what it was."""
    pairs = PAIRS.get(objective, shape.pair_objective)
    balanced = (config.balanced_pairs or None) if objective == "mlm+nsp" else shape.balanced_pairs
    return shape.replace(pair_objective="" if pairs == shape.family.pretraining else pairs, balanced_pairs=balanced)


def build_model(
    settings: PretrainConfig, objective: str, config: BertConfig, start: Checkpoint | None
) -> BertForPreTraining | BertForMaskedLM | GeneratorAndDiscriminator:
    """Return a model with the heads of the objective; what `start` has of it is taken over, the rest begins at random.

    For replaced-token detection `start` is a checkpoint of the run, which has the generator too.
    """
    if objective == "rtd":
        both = GeneratorAndDiscriminator(config, settings.generator_config(config), settings.seed)
        if start is not None and start.path is not None:
            load_state(both.discriminator, state_for_huggingface(start.model))
            load_state(both.generator, state_for_huggingface(load_checkpoint(start.path / GENERATOR).model))
        return both.train()
    kind = BertForMaskedLM if objective == "mlm" else BertForPreTraining
    model = kind(config, generator=torch.Generator().manual_seed(settings.seed))
    if start is not None:
        load_state(model, state_for_huggingface(start.model))
    return model.train()


@torch.no_grad()
def begin_with_frequencies(model: nn.Module, counts: NDArray) -> None:
    """Set the bias of a model's MLM head, if it has one, from how often each token occurs, (vocabulary).

    A natural bias for language models (Meister et al. 2023): by training, a bias moves by no more than the learning
    rate in a step, and frequencies differ by factors of ten thousand. The logarithms are shifted to a mean of
    zero, as softmax allows; a token that does not occur counts once.
    """
    logarithms = torch.from_numpy(counts).clamp(min=1).log()
    for head in (module for module in model.modules() if isinstance(module, MaskedLMHead)):
        if head.bias is not None:
            head.bias.copy_(logarithms - logarithms.mean())


@torch.no_grad()
def begin_with_word_vectors(model: nn.Module, documents: CorpusView, seed: int) -> None:
    """Set the word embeddings of a model from the neighbors of each token in its text, as large as random ones are.

    Half as large, the random vectors stay in them: by their neighbors alone "black" and "white" begin alike, and are
    learned apart slowly. Tokens that the text does not have, the special ones among them, stay random.
    """
    for embeddings in (module for module in model.modules() if isinstance(module, Embeddings)):
        words_VE = embeddings.word.weight
        vocab_size, size = words_VE.shape
        vectors = torch.from_numpy(word_vectors(documents, vocab_size, size, seed))
        known = vectors.any(1)
        words_VE[known] = (words_VE[known] / 2 + words_VE.std() * vectors[known]) / math.sqrt(1.25)
