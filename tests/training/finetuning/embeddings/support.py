"""Texts that belong together, and short trainings of their embeddings."""

from pathlib import Path

from bertviz_lab.config import FinetuneConfig
from tests.training.finetuning.support import Files

_THINGS = ("cat", "dog", "river", "house", "man", "book", "garden", "mat", "day", "boy")
_PLACES = ("red", "old", "small", "big")


def pairs(count: int = 24) -> list[tuple[str, str]]:
    said = [(thing, place) for place in _PLACES for thing in _THINGS][:count]
    return [(f"where is the {place} {thing}", f"the {thing} that is {place} sat here") for thing, place in said]


def write_related(folder: Path, kind: str, count: int = 24) -> Path:
    """A table of "pairs", "triplets" or pairs with "scores" from 0 to 5."""
    rows = pairs(count)
    if kind == "pairs":
        lines = ["anchor\tpositive", *(f"{a}\t{b}" for a, b in rows)]
    elif kind == "triplets":
        others = [b for _, b in rows[1:]] + [rows[0][1]]
        lines = ["anchor\tpositive\tnegative", *(f"{a}\t{b}\t{c}" for (a, b), c in zip(rows, others, strict=True))]
    else:
        lines = ["sentence1\tsentence2\tscore"]
        for n, (a, b) in enumerate(rows):
            lines.append(f"{a}\t{b if n % 2 else rows[(n + 3) % len(rows)][1]}\t{5.0 if n % 2 else n % 3 / 2}")
    path = folder / f"{kind}-{count}.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def config_for(files: Files, folder: Path, kind: str, **changes: object) -> FinetuneConfig:
    options: dict = {
        "task": "embeddings", "train": (str(write_related(folder, kind)),), "eval_share": 0.25,
        "model": files.model, "epochs": 2, "batch_size": 6, "max_length": 24, "learning_rate": 2e-3,
        "precision": "fp32", "threads": 1,
    }  # fmt: skip
    return FinetuneConfig(**(options | changes))
