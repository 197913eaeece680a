"""Writes benchmarks/README.md from benchmarks/results/*.json: each claim with its figures, command and machine."""

import importlib
import json
from pathlib import Path
from typing import Any

from benchmarks.machine import RESULTS

PAGE = Path(__file__).parent / "README.md"

#: What comes first on the page; the rest follows by name.
_ORDER = (
    "pretraining",
    "cost",
    "forecast",
    "time_to_quality",
    "recipe_sweep",
    "task_scores",
    "glue",
    "dropout",
    "blimp",
    "finetuning",
    "distillation",
    "tiny_town",
    "startup",
    "page_latency",
    "published_page",
    "engine_load",
    "data_path",
    "memory",
    "resume",
    "load",
    "hostile",
)

#: Headings that are no sentence-case form of the script's name.
_HEADINGS = {"blimp": "BLiMP", "glue": "GLUE"}

_INTRODUCTION = """\
# Benchmarks

Written by `python -m benchmarks.results_page` from the files in `results/`, each of which a script wrote with `--keep`:
no figure on this page was typed in. `python -m benchmarks` lists the scripts.

How figures are taken:

- Contenders run in turns within seconds of each other, never on different days, because a shared machine varies. Every
  turn gives one ratio; minimum, median and maximum are reported.
- Other libraries run with their defaults, as people run them. They get batches that are ready; the lab's time includes
  making its own.
- One-time costs such as kernel compilation do not count towards a speed, but do count towards a waiting time.
- Quality is measured on held-out text, under the same masks for all.
- Each section names its command, processor and commit. `load` is the machine's load average when the result was written
  (1 per busy core).
- Virtual machines give processors of several generations one name. Family and model tell them apart; where a section
  names none, they were not recorded. A claim measured on two of them has a table for each.
- The lab's recipe masks 30% of the tokens from commit d27522d on; what was taken before masks 15%, as do the papers'
  recipes. It trains few layers first from commit 7c21353 on (a quarter of them for longer from 1d49cd10 on), begins
  with word vectors from 96dd3ec4 on, and has no causal-LM warm-up from 50daaa85 on. Shipped models are those of the
  section's commit: wiki-tiny was replaced in 587b989, wiki-mini in f030905 and dda82ad, and both it and wiki-small on
  2026-11-27.
"""


def section(results: list[dict[str, Any]]) -> str:
    """One claim: what was measured, and for each processor its table and where it was taken."""
    name = results[0]["name"]
    module = importlib.import_module(f"benchmarks.{name}")
    claim = (module.__doc__ or "").splitlines()[0].rstrip(".:")
    heading = f"## {_HEADINGS.get(name) or name.replace('_', ' ').capitalize()}\n\n{claim}.\n\n"
    models = {result.get("model") for result in results}
    titles = [result["machine"]["processor"] if len(models) == 1 else result["model"] for result in results]
    titles = titles if len(results) > 1 else [""]
    taken = (_taken(result, module.table(result), title) for result, title in zip(results, titles, strict=True))
    return heading + "\n".join(taken)


def _taken(result: dict[str, Any], table: str, title: str) -> str:
    """A table, where there are several under its model's or processor's name, and how and where it was taken."""
    command = result.get("command", f"python -m benchmarks.{result['name']}")
    at = result["machine"]
    machine = f"{at['processor']}, {at['cores']} cores, load {at['load_before']:g}, torch {at['torch']}"
    heading = f"### {title}\n\n" if title else ""
    return f"{heading}{table}\n\n`{command}` on {machine}; {at['date']}, commit {at['commit']}.\n"


def page(results: list[dict[str, Any]]) -> str:
    """The whole page, in the order that a reader wants to know."""
    ranks = {name: rank for rank, name in enumerate(_ORDER)}
    names = sorted({result["name"] for result in results}, key=lambda name: (ranks.get(name, len(ranks)), name))
    results = sorted(results, key=lambda result: (result["machine"]["processor"], result.get("model", "")))
    sections = [section([result for result in results if result["name"] == name]) for name in names]
    return "\n".join([_INTRODUCTION, *sections])


def main() -> None:
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))]
    PAGE.write_text(page(results), encoding="utf-8")
    print(f"{PAGE}: {len(results)} results")


if __name__ == "__main__":
    main()
