"""What the cards of all models share: the template, tables of scores, and the command that repeats a run."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bertviz_lab.config import PretrainConfig, RunConfig
from bertviz_lab.config.options import options_of
from bertviz_lab.config.pretrain import RECIPES
from bertviz_lab.metrics.names import NAMES, format_score
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, model_name

CARD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")


_PIPELINE = """from transformers import pipeline

pipeline("{task}", model="{folder}")("A text.")"""
#: Lines of Python by the hub's name of a task, where they are others.
_USES = {
    "fill-mask": _PIPELINE.replace("A text.", "The [MASK] sat."),
    "sentence-similarity": """from sentence_transformers import SentenceTransformer

SentenceTransformer("{folder}").encode(["A sentence.", "Another one."])""",
    # transformers 5 has no pipeline for it
    "question-answering": """from bertviz_lab import interpret, load_checkpoint

interpret.answer_question(load_checkpoint("{folder}"), "Who has the red kite?", "Emma has the red kite.")""",
}


def python_use(task: str, folder: str = ".") -> str:
    """Return the lines of Python that use a model in a folder, by the hub's name of its task."""
    return _USES.get(task, _PIPELINE).format(task=task, folder=folder)


def onnx_command(folder: str = ".") -> str:
    """Return the command that writes a model in a folder as ONNX."""
    return f"bertviz-lab export --model {shlex.quote(folder)} --out onnx --onnx"


def use_section(task: str) -> str:
    """Return how to use a model in the folder of its card, in Markdown."""
    return f"In this folder:\n\n```python\n{python_use(task)}\n```\n\nAs ONNX: `{onnx_command()}`"


def size_of(checkpoint: Checkpoint, tokens: str) -> str:
    """Return layers, hidden size, heads, vocabulary and length in a sentence."""
    model = checkpoint.config
    return (
        f"{model.num_hidden_layers} layers, hidden size {model.hidden_size}, {model.num_attention_heads} heads; "
        f"{checkpoint.tokenizer.vocab_size:,} {tokens}; trained on up to {checkpoint.trained_length} tokens."
    )


def score_table(scores: Mapping[str, float], names: Mapping[str, str] = NAMES) -> str:
    """Return scores as a Markdown table."""
    rows = (f"| {names[name]} | {format_score(name, score)} |" for name, score in scores.items())
    return "\n".join(["| score | value |", "|---|---|", *rows])


def run_command(name: str, config: RunConfig) -> str:
    """Return the command that repeats a run, as Markdown code: it can be pasted into a shell where the files are."""
    words = ["python", "-m", "bertviz_lab", name, *_arguments(config), "--out", "run"]
    code = "".join(c if c.isprintable() else "_" for c in shlex.join(words))
    return f"`` {code} ``" if "`" in code else f"`{code}`"


def _arguments(config: RunConfig) -> Iterator[str]:
    """Yield the options that differ from their defaults, as they are typed; a recipe's own are defaults too."""
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
        elif name == "add_vocabulary":
            yield _file_name(value)
        else:
            yield "tab" if value == "\t" else str(value)


def source_name(source: str) -> str:
    """Return the name of a model to start from: a shipped name, a hub id, or the run whose folder `model` it is."""
    return plain_text(model_name(source))


def _file_name(name: str) -> str:
    """`sample:NAME` and `dataset:NAME` as they are; of a local file its own name without its folder."""
    if name.startswith("sample:") or (name.startswith("dataset:") and not Path(name.removeprefix("dataset:")).exists()):
        return name
    return name.replace("\\", "/").rstrip("/").split("/")[-1]


def file_names(names: Sequence[str]) -> str:
    """Return the names of files without their folders."""
    return ", ".join(plain_text(_file_name(name)) for name in names)


def plain_text(name: str) -> str:
    """Return a name without characters that Markdown would act on."""
    return "".join(c if c.isalnum() or c in "-_.:/@ " else "_" for c in name)
