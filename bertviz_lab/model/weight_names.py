"""What each family's files call the parameters: one table a family (`weight_names.toml`), read in both directions.

A parameter is named by its module here; the tables give the module's name there, without the backbone's prefix. Where
a file keeps several of the lab's matrices in one tensor, as ModernBERT's query, key and value, a name is a triple:
the tensor, and which of how many parts of its rows.
"""

import re
import tomllib
from pathlib import Path
from typing import Any, NamedTuple


class Place(NamedTuple):
    """Where a parameter is in a file."""

    name: str
    part: int = 0
    parts: int = 1


_TABLES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
#: model_type -> names, which are BERT's but for those of its table.
WEIGHT_NAMES = {
    model_type: _TABLES["bert"] | _TABLES.get(table.get("like", ""), {}) | table
    for model_type, table in _TABLES.items()
}
_LAYER = re.compile(r"encoder\.layers\.(\d+)\.(.*)")


def place_of(name: str, model_type: str = "bert", kind: str = "") -> Place:
    """Return the name of a parameter of the lab's class `kind` in the family's files, without the backbone's prefix."""
    names, prefix = WEIGHT_NAMES[model_type], ""
    module, _, parameter = name.removeprefix("bert.").rpartition(".")
    if layer := _LAYER.fullmatch(module):
        prefix, module = names["layer"].format(layer[1]), f"layer.{layer[2]}"
    theirs = names.get(f"{kind}.{module}") or names[module]
    place = Place(theirs) if isinstance(theirs, str) else Place(*theirs)
    return place._replace(name=f"{prefix}{place.name}.{parameter}")


def belongs_to_backbone(name: str, model_type: str, kind: str) -> bool:
    """Return whether a parameter's name in the file has the backbone's prefix: a classifier may own the pooler."""
    module = name.rpartition(".")[0].removeprefix("bert.")
    return name.startswith("bert.") and f"{kind}.{module}" not in WEIGHT_NAMES[model_type]
