"""The memory of a pretraining: the shapes of its steps, its teacher and its generator (`loop/memory`)."""

from dataclasses import replace

from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.data.pretraining.masking import MaskingRule
from bertviz_lab.training.loop.evaluation import EVAL_BATCH_SIZE
from bertviz_lab.training.loop.hardware import Hardware
from bertviz_lab.training.loop.memory import (
    MemoryEstimate,
    StepShape,
    forward_memory,
    require_memory,
    training_memory,
)
from bertviz_lab.training.pretraining.phases import phases

_SMALLER = "choose a smaller --preset, --vocab-size, --seq-len or --batch-size"


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
    masked = max(1, round(settings.mask_probability * length))
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
        estimate = estimate.plus(
            estimate_memory(generator, replace(mlm, causal_share=0.0), precision, processes, device)
        )
    return estimate


def require_pretraining_memory(
    model: BertConfig, settings: PretrainConfig, hardware: Hardware, teacher: BertConfig | None = None
) -> None:
    """Raise `InputError` where a run cannot fit into the memory that is free."""

    def needed(parts: int) -> MemoryEstimate:
        shared = (hardware.precision, hardware.processes, hardware.device.type, teacher)
        changed = replace(settings, gradient_accumulation_steps=parts)
        return estimate_memory(model, changed, *shared, sharded=hardware.is_sharded)

    require_memory(needed, hardware, settings.batch_size, settings.gradient_accumulation_steps, _SMALLER)
