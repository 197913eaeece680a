"""The files that a run is trained on, copied into its folder: it can be repeated when the originals are gone."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

from bertviz_lab.config import FinetuneConfig, PretrainConfig, RunConfig


def with_copies(
    config: RunConfig, folder: Path, texts: tuple[Path, ...], scored: tuple[Path, ...]
) -> PretrainConfig | FinetuneConfig:
    """The settings with the files replaced by copies in the run's folder."""
    copies = _copy_in(texts, folder / "texts")
    if isinstance(config, PretrainConfig):
        return replace(config, corpus=(*_not_files(config.corpus), *copies) if copies else config.corpus)
    train = (*_not_files(config.train), *copies) if copies else config.train
    tested = tuple(Path(name) for name in config.test if name not in _not_files(config.test))
    test = (*_not_files(config.test), *_copy_in(tested, folder / "tested"))
    return replace(config, train=train, eval=_copy_in(scored, folder / "scored") or config.eval, test=test)


def _not_files(entries: tuple[str, ...]) -> tuple[str, ...]:
    """The entries that name a sample or a dataset."""
    return tuple(name for name in entries if name.startswith(("sample:", "dataset:")))


def _copy_in(texts: tuple[Path, ...], folder: Path) -> tuple[str, ...]:
    """Copy files under their own names, numbered so that two of the same name stay apart."""
    copies: list[str] = []
    if not texts:
        return ()
    folder.mkdir()
    for number, text in enumerate(texts, 1):
        name = re.sub(r"[^\w.-]+", "_", text.name)[-80:].lstrip(".") or "text.txt"
        copies.append(str(shutil.copyfile(text, folder / f"{number:02d}-{name}")))
    return tuple(copies)
