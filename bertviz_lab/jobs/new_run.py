"""What a new run needs: a name that is easy to say and impossible to guess, and copies of its files."""

import re
import secrets
import shutil
from collections.abc import Container
from dataclasses import replace
from pathlib import Path

from bertviz_lab.config import FinetuneConfig, PretrainConfig, RunConfig

_ADJECTIVES = """
    amber brave calm clever eager fair gentle happy jolly keen kind lively lucky merry mild neat
    noble plucky proud quick quiet rapid ready sharp shiny silver smart snowy steady sunny swift
    tidy warm wise witty young
""".split()
_ANIMALS = """
    badger beaver bear crane deer dove duck eagle falcon finch fox gull hare hawk heron horse ibis
    koala lark lynx mole moose otter owl panda puffin raven robin seal stork swan tiger trout turtle
    whale wolf wren yak
""".split()


def new_run_id(taken: Container[str] = ()) -> str:
    """Return an id such as "kind-otter-9f86d081884c7d65"; its 64 random bits make it a secret of its owner.

    The name is none of those `taken`, unless all are.
    """
    names = [f"{adjective}-{animal}" for adjective in _ADJECTIVES for animal in _ANIMALS]
    free = [name for name in names if name not in taken]
    return f"{secrets.choice(free or names)}-{secrets.token_hex(8)}"


def is_run_id(name: str) -> bool:
    """Return whether a name has the form of a run's id, whether or not there is such a run."""
    return re.fullmatch(r"[a-z]+-[a-z]+-[0-9a-f]{16}", name) is not None


def short_name(run_id: str) -> str:
    """Return the part for display: "kind-otter"."""
    return run_id.rsplit("-", 1)[0]


def with_copies(
    config: RunConfig, folder: Path, texts: tuple[Path, ...], scored: tuple[Path, ...]
) -> PretrainConfig | FinetuneConfig:
    """Return the settings with the files replaced by copies in the run's folder."""
    copies = _copy_in(texts, folder / "texts")
    if isinstance(config, PretrainConfig):
        return replace(config, corpus=(*_not_files(config.corpus), *copies) if copies else config.corpus)
    train = (*_not_files(config.train), *copies) if copies else config.train
    tested = tuple(Path(name) for name in config.test if name not in _not_files(config.test))
    test = (*_not_files(config.test), *_copy_in(tested, folder / "tested"))
    applied = shutil.copyfile(config.corrections, folder / "applied_corrections.jsonl") if config.corrections else ""
    evaluated = _copy_in(scored, folder / "scored") or config.eval
    return replace(config, train=train, eval=evaluated, test=test, corrections=str(applied))


def _not_files(entries: tuple[str, ...]) -> tuple[str, ...]:
    """Return the entries that name a sample or a dataset."""
    return tuple(name for name in entries if name.startswith(("sample:", "dataset:")))


def _copy_in(texts: tuple[Path, ...], folder: Path) -> tuple[str, ...]:
    """Copy files under their own names; one whose name is taken gets its number in front."""
    copies: list[str] = []
    if not texts:
        return ()
    folder.mkdir()
    for number, text in enumerate(texts, 1):
        name = re.sub(r"[^\w.-]+", "_", text.name)[-80:].lstrip(".") or "text.txt"
        name = f"{number:02d}-{name}" if (folder / name).exists() else name
        copies.append(str(shutil.copyfile(text, folder / name)))
    return tuple(copies)
