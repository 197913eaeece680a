"""BLiMP (Warstadt et al. 2020): the share of minimal pairs of which a model prefers the acceptable sentence.

A masked language model scores a sentence by its pseudo-log-likelihood (Salazar et al. 2020), as in `evaluate --task
minimal-pairs`. `--data` is a folder of BLiMP's files, one a paradigm, whole or in part; how much of it there was is in
the result. Standard errors take pairs as independent.
"""

import math
from pathlib import Path
from typing import Any

from benchmarks.machine import arguments, markdown, report
from benchmarks.task_datasets import folder
from bertviz_lab import load_checkpoint
from bertviz_lab.data.probes.probe_sets import read_minimal_pairs
from bertviz_lab.interpret import score_minimal_pairs

PARADIGMS = 67
GOAL = 70  # of wiki-mini


def measure(names: list[str], data: Path) -> dict[str, Any]:
    pairs = read_minimal_pairs(data)
    scores = {name: score_minimal_pairs(load_checkpoint(name), pairs).to_dict() for name in names}
    return {"paradigms": len(list(data.glob("*.jsonl"))), "models": scores}


def table(result: dict[str, Any]) -> str:
    """Each phenomenon with its number of pairs, and all of them, in hundredths."""
    models = result["models"]
    some = next(iter(models.values()))
    rows = [
        [name.replace("_", " "), f"{of['pairs']:,}", *(_share(m["phenomena"][name]) for m in models.values())]
        for name, of in some["phenomena"].items()
    ]
    rows.append(["**all**", f"{some['pairs']:,}", *(f"**{_share(model)}**" for model in models.values())])
    about = (
        f"Accuracy ± standard error; chance is 50, the goal of wiki-mini {GOAL}. {result['paradigms']} of {PARADIGMS} "
        f"paradigms, on average the first {some['pairs'] / result['paradigms']:.0f} of 1,000 pairs of each."
    )
    return f"{about}\n\n" + markdown(["phenomenon", "pairs", *models], rows)


def _share(of: dict[str, Any]) -> str:
    share = of["accuracy"]
    return f"{100 * share:.1f} ± {100 * math.sqrt(share * (1 - share) / of['pairs']):.1f}"


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--models", nargs="+", default=["wiki-mini", "wiki-tiny"])
    parser.add_argument("--data", type=Path, default=folder() / "blimp", help="folder of BLiMP's .jsonl files")
    given = parser.parse_args()
    report("blimp", measure(given.models, given.data), table)
