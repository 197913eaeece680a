"""Pretraining recipes at equal cost on one thread: what beats the lab's recipe, what loses, what is a tie.

    python -m benchmarks.recipe_sweep --seconds 90s
    python -m benchmarks.recipe_sweep --preset mini --seconds 300s --only "30% masked"
    nohup nice python -m benchmarks.recipe_sweep --preset mini --seconds 3600s --only "30% masked" &
    python -m benchmarks.recipe_sweep --table --keep

The first call runs the variants of `benchmarks/recipes/variants.py` one after another: three seeds of the base, one
seed of each other variant, then a second seed of the leading ones. Each finished run is appended to
`benchmarks/results/recipe_sweep.jsonl`. Call it again after an interruption: it resumes the interrupted run, at most a
minute of its clock earlier, and then trains the missing ones.
"""

import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import count, islice
from typing import Any

import torch

from benchmarks.corpus import EVERYTHING, find_text, learnt_tokenizer, tokenized
from benchmarks.machine import RESULTS, arguments, machine, report
from benchmarks.recipes.scores import (
    blimp_accuracy,
    glue_scores,
    held_out_passages,
    missing_data,
    sentiment_probe,
    unigram_bits_per_character,
)
from benchmarks.recipes.table import summarised, table
from benchmarks.recipes.training import state_file, train
from benchmarks.recipes.variants import BASE, VARIANTS, Variant, suited
from bertviz_lab.config.options import parse_duration
from bertviz_lab.model import BertForMaskedLM, BertForPreTraining
from bertviz_lab.training.pretraining.word_scores import bits_per_character

RUNS = RESULTS / "recipe_sweep.jsonl"
_BASE_SEEDS, _LEADERS, _LEADERS_SEEDS = 3, 6, 2


def finished(setting: dict[str, Any]) -> list[dict[str, Any]]:
    """The runs that are kept of this setting, of variants that are still the same."""
    return [run for run in kept_runs() if run["setting"] == setting]


def kept_runs() -> list[dict[str, Any]]:
    """Those of all settings."""
    lines = RUNS.read_text(encoding="utf-8").splitlines() if RUNS.is_file() else []
    known = [as_json(variant) for variant in VARIANTS]
    defaults = as_json(Variant("", ""))  # for what could not be varied yet when a run was made
    runs = [run | {"variant": defaults | run["variant"]} for run in map(json.loads, lines)]
    return [run for run in runs if run["variant"] in known]


def comparisons() -> list[dict[str, Any]]:
    """A summary of each setting, the longest list of recipes first."""
    settings = {json.dumps(run["setting"]): run["setting"] for run in kept_runs()}
    sweeps = [summarised(finished(setting)) for setting in settings.values()]
    return sorted(sweeps, key=lambda sweep: -len(sweep["variants"]))


def as_json(variant: Variant) -> dict[str, Any]:
    """A variant as its run's line has it."""
    return json.loads(json.dumps(asdict(variant)))


def pending(runs: Sequence[dict[str, Any]], variants: Sequence[Variant] = VARIANTS) -> Iterator[tuple[Variant, int]]:
    """The variants and seeds that have no run yet, the most telling first."""
    scores: dict[str, list[float]] = {}
    unjudged = {run["seed"] for run in runs if run["variant"]["name"] == BASE.name and "blimp" not in run}
    base_seeds = islice((seed for seed in count() if seed not in unjudged), _BASE_SEEDS)
    for run in runs:
        if run["bits_per_character"] is not None:
            scores.setdefault(run["variant"]["name"], []).append(run["bits_per_character"])
    means = {name: statistics.fmean(values) for name, values in scores.items()}
    ranked = sorted((variant for variant in variants if variant.name in means), key=lambda v: means[v.name])
    leaders = [variant for variant in ranked if variant is not BASE][:_LEADERS]
    wanted = [(BASE, seed) for seed in base_seeds] + [(variant, 0) for variant in variants]
    wanted += [(variant, seed) for seed in range(_LEADERS_SEEDS) for variant in leaders]
    done = {(run["variant"]["name"], run["seed"]) for run in runs}
    for variant, seed in dict.fromkeys((variant.name, seed) for variant, seed in wanted):
        if (variant, seed) not in done:
            yield next(v for v in variants if v.name == variant), seed


def run_one(variant: Variant, seed: int, setting: dict[str, Any]) -> dict[str, Any]:
    """Train and score a variant."""
    text, at = find_text(), machine()
    trained = train(variant, text, seed, setting)
    model, tokenizer = trained.model, trained.tokenizer
    predicts = isinstance(model, (BertForPreTraining, BertForMaskedLM))
    bits = bits_per_character(model, tokenizer, held_out_passages(text.valid)) if predicts else None
    return {
        "variant": as_json(variant),
        "seed": seed,
        "setting": setting,
        "steps": trained.steps,
        "tokens": trained.tokens,
        "parameters": trained.parameters,
        "cpu_seconds": round(trained.cpu_seconds, 2),
        "reference_seconds": round(trained.reference_seconds, 5),
        "bits_per_character": None if bits is None else round(bits, 5),
        "sentiment": sentiment_probe(model, tokenizer),
        "blimp": blimp_accuracy(model, tokenizer) if predicts else None,
        **glue_scores(model, tokenizer),
        "machine": at,
    }


def unigram_baseline() -> float:
    """Bits per character of the base's vocabulary where only token frequencies are known."""
    text = find_text()
    tokenizer = learnt_tokenizer(text.train, 8192)
    counts = tokenized(text.train, tokenizer, EVERYTHING).counts(tokenizer.vocab_size)
    return unigram_bits_per_character(counts, tokenizer, held_out_passages(text.valid))


def sweep(setting: dict[str, Any], names: Sequence[str]) -> None:
    """Run what is missing, until nothing is."""
    variants = [v for v in suited(setting["preset"], VARIANTS) if not names or v.name in names or v is BASE]
    while (todo := next(pending(finished(setting), variants), None)) is not None:
        variant, seed = todo
        run = run_one(variant, seed, setting)
        RUNS.parent.mkdir(exist_ok=True)
        with RUNS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(run) + "\n")
        state_file(variant, seed, setting).unlink(missing_ok=True)
        print(
            f"{variant.name} (seed {seed}): {run['steps']} steps, {run['tokens']} tokens, {run['cpu_seconds']} CPU s, "
            f"reference {1e3 * run['reference_seconds']:.1f} ms, bits per character {run['bits_per_character']}, "
            f"SST-2 probe {run['sentiment']}, BLiMP {run['blimp']}, SST-2 {run['sst2']}, STS-B {run['stsb']}",
            flush=True,
        )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", default="90s", help="how long each is trained, by the clock of recipes/clock.py")
    parser.add_argument("--preset", default="tiny", help="model size of all")
    parser.add_argument("--precision", choices=("bf16", "fp32"), default="bf16", help="floating-point precision of all")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these variants, beside the base")
    parser.add_argument("--table", action="store_true", help="compare the runs that are kept")
    given = parser.parse_args()
    if given.table:
        report("recipe_sweep", {"sweeps": comparisons(), "unigram_baseline": unigram_baseline()}, table)
        return
    setting = {
        "text": find_text().name,
        "preset": given.preset,
        "seconds": parse_duration(given.seconds),
        "precision": given.precision,
    }
    torch.set_num_threads(1)
    if sentence := missing_data():
        print(sentence, flush=True)
    sweep(setting, given.only)


if __name__ == "__main__":
    main()
