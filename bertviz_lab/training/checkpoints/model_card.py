"""The card of a model: what it was trained on, how, and how well it does, written from measured values only."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bertviz_lab.config import BertConfig, FinetuneConfig, PretrainConfig, RunConfig
from bertviz_lab.config.finetune import RANDOM
from bertviz_lab.config.options import options_of
from bertviz_lab.config.pretrain import RECIPES
from bertviz_lab.data.examples import Task
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus
from bertviz_lab.metrics.names import NAMES, format_score
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, model_name
from bertviz_lab.training.finetuning.task_data import TaskSplits
from bertviz_lab.training.finetuning.trials import Trial
from bertviz_lab.training.loop.hardware import Hardware
from bertviz_lab.training.loop.loop import Progress

_DISCRIMINATOR = (
    "it is a discriminator: it tells which tokens of a text were replaced, and fills no masks; the generator that it "
    "was trained with is in a folder of its own"
)
_PIPELINES: dict[Task, str] = {
    "classification": "text-classification",
    "multilabel": "text-classification",
    "regression": "text-classification",
    "tokens": "token-classification",
    "qa": "question-answering",
    "embeddings": "sentence-similarity",
}
_TASK_NAMES: dict[Task, str] = {
    "classification": "classification",
    "multilabel": "multi-label classification",
    "regression": "rating",
    "tokens": "labeling words",
    "qa": "finding answers",
    "embeddings": "sentence embeddings",
}


_CARD = """\
---
library_name: transformers
pipeline_tag: {pipeline}
tags: [bert, bertviz-lab]
---

# {title}

{about}

## Training

{training}
- Command: {command}

## {scored}

{scores}
"""


def pretraining_card(
    config: PretrainConfig,
    checkpoint: Checkpoint,
    corpus: TokenizedCorpus,
    progress: Progress,
    scores: Mapping[str, float],
    hardware: Hardware,
    objective: str,
) -> str:
    """A Hugging Face model card in Markdown."""
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
    return _CARD.format(
        pipeline="feature-extraction" if objective == "rtd" else "fill-mask",
        title=f"A small BERT ({origin})",
        about=_size(checkpoint, f"{tokenizer.algorithm} tokens, {case}")
        + (f"\n\nUnlike BERT, {differs}." if differs else ""),
        training=f"- Text: {_file_names(config.corpus)} ({size})\n"
        f"- Objective: {objective}; {progress.step:,} steps, {progress.tokens:,} tokens seen, "
        f"{progress.seconds:,.0f} s on {hardware.threads} threads of {hardware.device} in {hardware.precision}",
        command=_command("pretrain", config),
        scored="Scores on held-out documents",
        scores=_table(scores, names),
    )


def _unlike_bert(config: PretrainConfig, model: BertConfig) -> str:
    """What the model was built or trained without, in words; "" for a BERT like any other."""
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


def finetuning_card(
    config: FinetuneConfig,
    checkpoint: Checkpoint,
    data: TaskSplits,
    trial: Trial,
    scores: Mapping[str, float],
    metric: str,
) -> str:
    """A Hugging Face model card in Markdown; `metric` is the score by which the best model was kept."""
    origin = "random weights" if trial.random or config.model == RANDOM else source_name(config.model)
    validation = _file_names(config.eval) or f"{len(data.held_out):,} examples held out of it"
    labels = ", ".join(_plain(label) for label in data.labels)
    output = f"Labels: {labels}" if labels else f"Answers: {_PIPELINES[data.task]}"
    if thresholds := checkpoint.config.decision_thresholds:
        output += f"\n- A label applies from a probability of {', '.join(map('{:.2f}'.format, thresholds))} on"
    return _CARD.format(
        pipeline=_PIPELINES[data.task],
        title=f"A small BERT fine-tuned for {_TASK_NAMES[data.task]} (from {origin})",
        about=_size(checkpoint, "tokens"),
        training=f"- Text: {_file_names(config.train)} ({len(data.train):,} examples)\n"
        f"- {output}\n"
        f"- Settings: {trial.epochs} epochs, {trial.batch_size} examples a step, peak rate "
        f"{trial.learning_rate:.2g}, seed {trial.seed}; the best of its models by {NAMES[metric]}",
        command=_command("finetune", config),
        scored=f"Validation scores on {validation}\n\n"
        "The checkpoint and the trial were chosen by these scores, which are therefore optimistic.",
        scores=_table(scores),
    )


def _size(checkpoint: Checkpoint, tokens: str) -> str:
    model = checkpoint.config
    return (
        f"{model.num_hidden_layers} layers, hidden size {model.hidden_size}, {model.num_attention_heads} heads; "
        f"{checkpoint.tokenizer.vocab_size:,} {tokens}; trained on up to {checkpoint.trained_length} tokens."
    )


_TEST_SCORES = "## Test scores"


def with_test_scores(card: str, files: Sequence[str], scores: Mapping[str, float]) -> str:
    """A card with the scores on a test set, by which nothing was chosen."""
    title = f"{_TEST_SCORES} on {_file_names(files)}"
    return f"{card.split(_TEST_SCORES)[0].rstrip()}\n\n{title}\n\n{_table(scores)}\n"


def _table(scores: Mapping[str, float], names: Mapping[str, str] = NAMES) -> str:
    rows = (f"| {names[name]} | {format_score(name, score)} |" for name, score in scores.items())
    return "\n".join(["| score | value |", "|---|---|", *rows])


def _command(name: str, config: RunConfig) -> str:
    """The command that repeats a run, as Markdown code: it can be pasted into a shell where the files are."""
    words = ["python", "-m", "bertviz_lab", name, *_arguments(config), "--out", "run"]
    code = "".join(c if c.isprintable() else "_" for c in shlex.join(words))
    return f"`` {code} ``" if "`" in code else f"`{code}`"


def _arguments(config: RunConfig) -> Iterator[str]:
    """The options that differ from their defaults, as they are typed; a recipe's own are defaults too."""
    recipe = RECIPES[config.recipe] if isinstance(config, PretrainConfig) else {}
    for field in options_of(type(config), "page", "command line"):
        name, value, flag = field.name, getattr(config, field.name), field.name.replace("_", "-")
        if value is None or value == recipe.get(name, field.default):
            continue
        if isinstance(value, bool):
            yield f"--{flag}" if value else f"--no-{flag}"
            continue
        yield f"--{flag}"
        if isinstance(value, tuple):
            yield from map(_file_name, value)
        elif name in ("init_from", "teacher", "tokenizer", "model", "like"):
            yield model_name(value)
        else:
            yield "tab" if value == "\t" else str(value)


def source_name(source: str) -> str:
    """What a model to start from is called: a shipped name, a hub id, or the run that its folder `model` is of."""
    return _plain(model_name(source))


def _file_name(name: str) -> str:
    """`sample:NAME` and `dataset:NAME` as they are; of a local file its own name without its folder."""
    if name.startswith("sample:") or (name.startswith("dataset:") and not Path(name.removeprefix("dataset:")).exists()):
        return name
    return name.replace("\\", "/").rstrip("/").split("/")[-1]


def _file_names(names: Sequence[str]) -> str:
    return ", ".join(_plain(_file_name(name)) for name in names)


def _plain(name: str) -> str:
    """A name without characters that Markdown would act on."""
    return "".join(c if c.isalnum() or c in "-_.:/@ " else "_" for c in name)
