"""The model that a run begins with: random weights, a model that is trained further, or layers of a teacher."""

from dataclasses import dataclass, replace

import torch
from numpy.typing import NDArray
from torch import nn

from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.model import BertForMaskedLM, BertForPreTraining
from bertviz_lab.model.heads import MaskedLMHead
from bertviz_lab.model.weights import load_state, state_for_huggingface
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, load_checkpoint
from bertviz_lab.training.checkpoints.model_card import source_name
from bertviz_lab.training.loop.growth import extend_positions, widened, wider_config
from bertviz_lab.training.loop.optim import ablate_embeddings
from bertviz_lab.training.pretraining.curriculum import stacking_note
from bertviz_lab.training.pretraining.distillation import can_start_from, start_from_teacher
from bertviz_lab.training.pretraining.replaced_tokens import GENERATOR, GeneratorAndDiscriminator
from bertviz_lab.training.pretraining.setup import PAIRS


@dataclass(frozen=True)
class InitialModel:
    """A model before the first step of a session, in training mode."""

    model: BertForPreTraining | BertForMaskedLM | GeneratorAndDiscriminator
    positions_of_teacher: int  # position embeddings that a student has from its teacher
    notes: tuple[str, ...]  # what a person should know of it


def initial_model(
    config: PretrainConfig,
    objective: str,
    model_config: BertConfig,
    counts: NDArray,
    start: Checkpoint | None,
    teacher: Checkpoint | None,
    *,
    is_resumed: bool,
) -> InitialModel:
    """Return the model of a run, from how often each token occurs in its text, (vocabulary).

    `start` is the model that is trained further, or the run's own checkpoint where it `is_resumed`.
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
    model = build_model(config, objective, model_config, start)
    if start is None and config.unigram_bias and config.starts_from_scratch:
        begin_with_frequencies(model, counts)
    known = start.trained_length if start and not is_resumed else None
    if known and extend_positions(model, known, config.seq_len):
        notes.append(f"The position embeddings from {known} on begin as a continuation of those before.")
    taken_over = 0
    if teacher and not config.init_from and can_start_from(model_config, teacher):
        taken_over = teacher.trained_length or teacher.config.max_position_embeddings
    if teacher and start is None and taken_over:
        start_from_teacher(model, model_config, teacher)
        notes.append(f"The student begins with layers of its teacher, {source_name(config.teacher)}.")
    ablate_embeddings(model, positions=not config.position_embeddings, segments=not config.segment_embeddings)
    notes.append(stacking_note(config, model_config.num_hidden_layers))
    return InitialModel(model, taken_over, tuple(filter(None, notes)))


def build_model_config(
    config: PretrainConfig, objective: str, tokenizer: Tokenizer, start: Checkpoint | None, *, is_resumed: bool
) -> BertConfig:
    """The shape of the model: the preset's, or that of the model the run starts from, which may be made wider."""
    if start is None:
        return _with_pairs(config.model_config(tokenizer.vocab_size), objective)
    if config.seq_len > start.config.max_position_embeddings:
        raise InputError(
            f"{start.name} reads at most {start.config.max_position_embeddings} tokens; lower --seq-len to that."
        )
    if objective in PAIRS and start.config.type_vocab_size < 2:
        raise InputError(f"{start.name} knows one segment only; choose the objective mlm.")
    if objective == "mlm+nsp" and start.config.family.pretraining != "nsp":
        raise InputError(f"{start.name} is {start.config.family.title}, which has no NSP; choose the objective mlm.")
    shape = start.config if is_resumed else wider_config(start.config, config.width_factor)
    return _with_pairs(shape, objective).replace(
        hidden_dropout_prob=config.dropout,
        attention_probs_dropout_prob=config.dropout,
        is_decoder=start.config.is_decoder or not config.bidirectional,  # a causal model stays causal
    )


def _with_pairs(config: BertConfig, objective: str) -> BertConfig:
    """Return the settings with what the head over pairs is trained on; without pairs it stays what it was."""
    pairs = PAIRS.get(objective, config.pair_objective)
    return config.replace(pair_objective="" if pairs == config.family.pretraining else pairs)


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
