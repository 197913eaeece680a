"""The card of a pretrained model: its text, its training and its scores, from measured values only."""

from collections.abc import Mapping

from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus
from bertviz_lab.metrics.names import NAMES
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.checkpoints.model_card import CARD, file_names, run_command, score_table, size_of, source_name
from bertviz_lab.training.loop.hardware import Hardware
from bertviz_lab.training.loop.loop import Progress

_DISCRIMINATOR = (
    "it is a discriminator: it tells which tokens of a text were replaced, and fills no masks; the generator that it "
    "was trained with is in a folder of its own"
)


def pretraining_card(
    config: PretrainConfig,
    checkpoint: Checkpoint,
    corpus: TokenizedCorpus,
    progress: Progress,
    scores: Mapping[str, float],
    hardware: Hardware,
    objective: str,
) -> str:
    """Return a Hugging Face model card in Markdown."""
    tokenizer = checkpoint.tokenizer
    case = "lower-cased" if tokenizer.lowercase else "cased"
    origin = f"continued from {source_name(config.init_from)}" if config.init_from else config.preset
    if config.width_factor > 1:
        origin += f", made {config.width_factor} times as wide"
    if config.teacher:
        origin += f", distilled from {source_name(config.teacher)}"
    differs = _unlike_bert(config, checkpoint.config)
    size = f"{corpus.documents:,} documents, {corpus.sentences:,} sentences, {corpus.tokens:,} tokens"
    if config.streaming:
        size = f"streamed; held out: {size}"
    names = NAMES
    if objective == "rtd":
        differs = "; ".join([*([differs] if differs else []), _DISCRIMINATOR])
        names = NAMES | {name: f"{NAMES[name]} of the generator" for name in ("mlm_loss", "mlm_accuracy")}
    if objective == "mlm+sop":
        names = {name: words.replace("NSP", "SOP") for name, words in NAMES.items()}
    return CARD.format(
        pipeline="feature-extraction" if objective == "rtd" else "fill-mask",
        title=f"A small BERT ({origin})",
        about=size_of(checkpoint, f"{tokenizer.algorithm} tokens, {case}")
        + (f"\n\nUnlike BERT, {differs}." if differs else ""),
        training=f"- Text: {file_names(config.corpus)} ({size})\n"
        f"- Objective: {objective}; {progress.step:,} steps, {progress.tokens:,} tokens seen, "
        f"{progress.seconds:,.0f} s on {hardware.threads} threads of {hardware.device} in {hardware.precision}",
        command=run_command("pretrain", config),
        scored="Scores on held-out documents",
        scores=score_table(scores, names),
    )


def _unlike_bert(config: PretrainConfig, model: BertConfig) -> str:
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
    return "; ".join(differences)
